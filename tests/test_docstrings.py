"""Every public object has a complete numpydoc docstring."""

import ast
import importlib
import inspect
import pkgutil
import tomllib
from functools import cached_property
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import ERROR_MSGS, validate

import skmohn

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
PACKAGE = Path(__file__).resolve().parents[1] / "skmohn"

# Asked of classes and functions, not of the methods and properties of a class.
NOT_OF_MEMBERS = {"EX01": "the example of the class shows its methods at work"}

# Private objects whose docstrings have more than a line, and why. Modules have no name.
# Their attributes are those of `model_`, which the estimators document.
MODELS = {
    ("skmohn.mohn._models", "Model"),
    ("skmohn.mohn._gp.model", "GPModel"),
    ("skmohn.mohn._sparse.model", "SparseModel"),
    ("skmohn.mohn._spike_slab.model", "SpikeSlabModel"),
}
LONG_PRIVATE = {
    *MODELS,
    # Lists what it imports of scikit-learn's private names: a test reads it.
    ("skmohn._core._sklearn", ""),
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


def functions_of(member):
    """Return the functions that a class member, as it is written, consists of."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, cached_property):
        member = member.func
    elif isinstance(member, classmethod | staticmethod):
        member = member.__func__
    # Methods that depend on the parameters are descriptors around the function.
    member = getattr(member, "fn", member)
    return [inspect.unwrap(member)] if callable(member) else []


def public_names():
    """Return module and qualified name of all that has a complete docstring."""
    found = set()
    for package in public_packages():
        for name in package.__all__:
            obj = getattr(package, name)
            objects = [inspect.unwrap(obj)] if callable(obj) else []
            for base in getattr(obj, "__mro__", ()):
                objects += [
                    function
                    for name, member in vars(base).items()
                    if not name.startswith("_")
                    for function in functions_of(member)
                    if is_ours(function)
                ]
            found |= {(each.__module__, each.__qualname__) for each in objects}
    return found


def docstrings_of(source):
    """Yield qualified name and docstring of all that a file defines, "" for itself."""

    def visit(node, name):
        opens = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module)
        if opens and (text := ast.get_docstring(node, clean=False)) is not None:
            yield name, text
        for part in ast.iter_child_nodes(node):
            own = getattr(part, "name", "")
            inside = ".<locals>." if isinstance(node, ast.FunctionDef) else "."
            is_named = isinstance(part, ast.ClassDef | ast.FunctionDef)
            whole = f"{name}{inside if name else ''}{own}" if is_named else name
            yield from () if isinstance(part, ast.expr) else visit(part, whole)

    return dict(visit(ast.parse(source), ""))


def test_private_docstrings_have_one_line():
    exceptions = LONG_PRIVATE | public_names()
    found = [
        f"{module}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        # Kernels have shapes, dtypes and cost in their docstrings.
        if not path.stem.endswith("kernels")
        for module in [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)]
        for name, text in docstrings_of(path.read_text(encoding="utf-8")).items()
        if "\n" in text and (module, name) not in exceptions
    ]
    assert not found, "\n".join(found)


def test_exceptions_are_needed():
    for module, name in LONG_PRIVATE:
        path = PACKAGE.parent / f"{module.replace('.', '/')}.py"
        assert "\n" in docstrings_of(path.read_text(encoding="utf-8"))[name]


def test_docstrings_are_found_where_they_are():
    source = '''"""Module."""
class A:
    """Class."""
    if True:
        def f(self):
            """Method
            of two lines."""
            def g():
                """Inner."""
'''
    found = docstrings_of(source)
    assert list(found) == ["", "A", "A.f", "A.f.<locals>.g"]
    assert [name for name, text in found.items() if "\n" in text] == ["A.f"]
