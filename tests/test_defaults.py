"""Defaults are what the docstrings say, of what is public and of what is not."""

import dataclasses
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import skmohn

# A parameter, or some that are alike: "names : type, default=5".
PARAMETER = re.compile(r"^ *(\w+(?:, \w+)*) : .*\bdefault=(.+)$", re.MULTILINE)
MODULES = [info.name for info in pkgutil.walk_packages(skmohn.__path__, "skmohn.")]


def described(module):
    """Return the functions, classes and methods of a module that have a docstring."""
    found = list(vars(module).values())
    for value in vars(module).values():
        if inspect.isclass(value):
            found += vars(value).values()
    return [
        value
        for value in found
        if callable(value)
        and getattr(value, "__module__", None) == module.__name__
        and value.__doc__
    ]


def made_by_factories(value):
    """Return the names of the fields of a data class whose defaults are functions."""
    fields = getattr(value, "__dataclass_fields__", {}).values()
    return {f.name for f in fields if f.default_factory is not dataclasses.MISSING}


@pytest.mark.parametrize("name", MODULES)
def test_defaults_are_those_of_the_docstring(name):
    module = importlib.import_module(name)
    for value in described(module):
        said = [
            (parameter, default)
            for parameters, default in PARAMETER.findall(value.__doc__)
            for parameter in parameters.split(", ")
        ]
        for parameter, default in said:
            expected = eval(default, {**vars(np), **vars(module)})
            if parameter in made_by_factories(value):
                continue
            found = inspect.signature(value).parameters[parameter].default
            place = f"{parameter} of {value.__qualname__}"
            np.testing.assert_equal(found, expected, err_msg=place)
