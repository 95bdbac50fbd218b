"""Find the best input: of a model, or of an expensive function that is no model."""

from skmohn.optimize._black_box import BlackBoxOptimizer, minimize_black_box
from skmohn.optimize._feature_selector import MOHNFeatureSelector
from skmohn.optimize._model_search import maximize, minimize

__all__ = [
    "BlackBoxOptimizer",
    "MOHNFeatureSelector",
    "maximize",
    "minimize",
    "minimize_black_box",
]
