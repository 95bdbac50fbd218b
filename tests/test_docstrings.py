"""Every public object has a complete numpydoc docstring."""

import importlib
import inspect
import pkgutil
import tomllib
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import ERROR_MSGS, validate

import skmohn

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"

# Asked of classes and functions, not of the methods and properties of a class.
NOT_OF_MEMBERS = {
    "EX01": "the example of the class shows its methods at work",
}


def codes_asked_for():
    """Return the numpydoc codes that pyproject.toml asks for."""
    settings = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    first, *ignored = settings["tool"]["numpydoc_validation"]["checks"]
    assert first == "all"
    return set(ERROR_MSGS) - set(ignored)


def public_packages():
    """Yield skmohn and those of its packages that say what they make public."""
    yield skmohn
    for info in pkgutil.iter_modules(skmohn.__path__, "skmohn."):
        if not info.name.startswith("skmohn._"):
            package = importlib.import_module(info.name)
            if hasattr(package, "__all__"):
                yield package


def is_ours(member):
    """Tell whether the code of a member is in skmohn, not inherited from elsewhere."""
    function = member.fget if isinstance(member, property) else inspect.unwrap(member)
    return getattr(function, "__module__", "").split(".")[0] == "skmohn"


def public_members(cls):
    """Return the names of the public methods and properties written in skmohn."""
    return [
        name
        for name, member in inspect.getmembers(
            cls, lambda m: callable(m) or isinstance(m, property)
        )
        if not name.startswith("_") and is_ours(member)
    ]


def public_objects():
    """Return the dotted names to validate, mapped to the codes asked of each."""
    asked = codes_asked_for()
    names, seen = {}, set()
    for package in public_packages():
        for name in package.__all__:
            obj = getattr(package, name)
            # A class may be public in two places: one is enough.
            if not callable(obj) or id(obj) in seen:
                continue
            seen.add(id(obj))
            dotted = f"{package.__name__}.{name}"
            names[dotted] = asked
            if inspect.isclass(obj):
                for member in public_members(obj):
                    names[f"{dotted}.{member}"] = asked - set(NOT_OF_MEMBERS)
    return names


CLASSES = [
    obj
    for package in public_packages()
    for obj in map(vars(package).get, package.__all__)
    if inspect.isclass(obj)
]


def test_docstrings_are_complete():
    found = [
        f"{name}: {code}: {text}"
        for name, asked in public_objects().items()
        for code, text in validate(name)["errors"]
        if code in asked
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("cls", CLASSES)
def test_attributes_of_a_fit_are_declared_for_type_checkers(cls):
    documented = {
        attribute.strip()
        for entry in ClassDoc(cls)["Attributes"]
        for attribute in entry.name.split(",")
        if entry.name.endswith("_")
    }
    declared = {
        attribute for base in cls.__mro__ for attribute in inspect.get_annotations(base)
    }
    declared = {attribute for attribute in declared if attribute[1:].endswith("_")}
    assert declared <= documented
    assert all(hasattr(cls, attribute) for attribute in documented - declared)


def test_estimators_and_their_methods_are_found():
    names = public_objects()
    assert "skmohn.MOHNRegressor" in names
    assert "skmohn.MOHNRegressor.fit" in names
    assert "skmohn.MOHNRegressor.get_params" not in names
