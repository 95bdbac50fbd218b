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
    "sympy": "sympy",
}


def import_optional(package: str, caller: str) -> ModuleType:
    """Import a package, or name what `caller` needs: its extra, if there is one."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        # One that is installed, but lacks something itself, has its own error.
        if error.name != package:
            raise
        extra = EXTRAS.get(package)
        what = f'"skmohn[{extra}]"' if extra else package
        raise ImportError(
            f"{caller} needs {package}: pip install {what}", name=package
        ) from error
