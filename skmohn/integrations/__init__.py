"""Bridges to other packages, imported only when used."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from skmohn.integrations._dimod import from_dimod, to_dimod
from skmohn.integrations._gymnasium import GymnasiumObjective
from skmohn.integrations._networkx import to_networkx
from skmohn.integrations._onnx import to_onnx
from skmohn.integrations._plink import read_plink
from skmohn.integrations._sympy import to_sympy

__all__ = [
    "GymnasiumObjective",
    "MOHNSampler",
    "from_dimod",
    "read_plink",
    "to_dimod",
    "to_networkx",
    "to_onnx",
    "to_sympy",
]


if TYPE_CHECKING:  # what the name is, for editors and type checkers
    from skmohn.integrations._optuna import MOHNSampler
else:
    # A star import takes what is installed; a name alone raises what it needs.
    if find_spec("optuna") is None:
        __all__.remove("MOHNSampler")

    def __getattr__(name: str) -> Any:
        if name != "MOHNSampler":
            raise AttributeError(
                f"module 'skmohn.integrations' has no attribute {name!r}"
            )
        # It derives from a class of Optuna.
        return import_module("skmohn.integrations._optuna").MOHNSampler
