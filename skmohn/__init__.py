"""Which settings interact, how sure is it, what to try next: for scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

# Public names and where they live. They are imported at first use, so that importing
# the package costs next to nothing and compiles nothing.
_HOMES = {
    "BLMClassifier": "skmohn.blm",
    "BLMController": "skmohn.blm",
    "BLMRegressor": "skmohn.blm",
    "BlackBoxOptimizer": "skmohn.optimize",
    "BlackBoxSearchCV": "skmohn.model_selection",
    "DeltaOptions": "skmohn.mohn",
    "GPOptions": "skmohn.mohn",
    "EnergyNetClassifier": "skmohn.energynet",
    "EnergyNetImputer": "skmohn.energynet",
    "EnergyNetOutlierDetector": "skmohn.energynet",
    "EnergyNetRegressor": "skmohn.energynet",
    "EnergyNetTransformer": "skmohn.energynet",
    "Genotypes": "skmohn.mohn",
    "MOHNClassifier": "skmohn.mohn",
    "MOHNDensity": "skmohn.mohn",
    "MOHNFeatureSelector": "skmohn.optimize",
    "MOHNGLMRegressor": "skmohn.mohn",
    "MOHNRegressor": "skmohn.mohn",
    "MOHNTransformer": "skmohn.mohn",
    "MSDAOptions": "skmohn.mohn",
    "InfiniteRBMOptions": "skmohn.energynet",
    "SearchOptions": "skmohn.blm",
    "minimize_black_box": "skmohn.optimize",
    "warm_up": "skmohn._warm_up",
}

__all__ = [
    "BLMClassifier",
    "BLMController",
    "BLMRegressor",
    "BlackBoxOptimizer",
    "BlackBoxSearchCV",
    "DeltaOptions",
    "EnergyNetClassifier",
    "EnergyNetImputer",
    "EnergyNetOutlierDetector",
    "EnergyNetRegressor",
    "EnergyNetTransformer",
    "GPOptions",
    "Genotypes",
    "InfiniteRBMOptions",
    "MOHNClassifier",
    "MOHNDensity",
    "MOHNFeatureSelector",
    "MOHNGLMRegressor",
    "MOHNRegressor",
    "MOHNTransformer",
    "MSDAOptions",
    "SearchOptions",
    "__version__",
    "minimize_black_box",
    "warm_up",
]


if TYPE_CHECKING:  # what the names are, for editors and type checkers
    from skmohn._warm_up import warm_up
    from skmohn.blm import BLMClassifier, BLMController, BLMRegressor, SearchOptions
    from skmohn.energynet import (
        EnergyNetClassifier,
        EnergyNetImputer,
        EnergyNetOutlierDetector,
        EnergyNetRegressor,
        EnergyNetTransformer,
        InfiniteRBMOptions,
    )
    from skmohn.model_selection import BlackBoxSearchCV
    from skmohn.mohn import (
        DeltaOptions,
        Genotypes,
        GPOptions,
        MOHNClassifier,
        MOHNDensity,
        MOHNGLMRegressor,
        MOHNRegressor,
        MOHNTransformer,
        MSDAOptions,
    )
    from skmohn.optimize import (
        BlackBoxOptimizer,
        MOHNFeatureSelector,
        minimize_black_box,
    )
else:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'skmohn' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
