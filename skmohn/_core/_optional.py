"""Packages that skmohn can do without until something of theirs is needed."""

from importlib import import_module
from types import ModuleType

# The extra of pyproject.toml that installs each of them.
EXTRAS = {
    "dimod": "integrations",
    "gymnasium": "gymnasium",
    "matplotlib": "plot",
    "networkx": "integrations",
    "onnx": "onnx",
    "optuna": "integrations",
    "pandas": "frames",
    "shapiq": "integrations",
    "sympy": "sympy",
}


def import_optional(package: str, caller: str) -> ModuleType:
    """Import a package of `EXTRAS`, or name the extra that `caller` needs."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        # One that is installed, but lacks something itself, has its own error.
        if error.name != package:
            raise
        raise ImportError(
            f'{caller} needs {package}: pip install "skmohn[{EXTRAS[package]}]"',
            name=package,
        ) from error
