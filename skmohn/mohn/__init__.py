"""Sparse Walsh models: mixed order hyper networks."""

from skmohn.mohn._classifier import MOHNClassifier
from skmohn.mohn._controls import DeltaControl, DenseControl, MSDAControl
from skmohn.mohn._genotypes import Genotypes
from skmohn.mohn._linkage import Linkage
from skmohn.mohn._regressor import MOHNRegressor
from skmohn.mohn._transformer import MOHNTransformer

__all__ = [
    "DeltaControl",
    "DenseControl",
    "Genotypes",
    "Linkage",
    "MOHNClassifier",
    "MOHNRegressor",
    "MOHNTransformer",
    "MSDAControl",
]
