"""Sparse Walsh models: mixed order hyper networks."""

from skmohn.mohn._association import AssociationScan, association_scan
from skmohn.mohn._classifier import MOHNClassifier
from skmohn.mohn._density import MOHNDensity
from skmohn.mohn._genotypes import Genotypes
from skmohn.mohn._glm import MOHNGLMRegressor
from skmohn.mohn._interaction_graph import InteractionGraph
from skmohn.mohn._options import DeltaOptions, GPOptions, MSDAOptions
from skmohn.mohn._regressor import MOHNRegressor
from skmohn.mohn._transformer import MOHNTransformer

__all__ = [
    "AssociationScan",
    "DeltaOptions",
    "GPOptions",
    "Genotypes",
    "InteractionGraph",
    "MOHNClassifier",
    "MOHNDensity",
    "MOHNGLMRegressor",
    "MOHNRegressor",
    "MOHNTransformer",
    "MSDAOptions",
    "association_scan",
]
