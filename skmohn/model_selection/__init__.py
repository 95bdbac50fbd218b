"""Search hyperparameters, and compare estimators by cross-validation."""

from skmohn.model_selection._comparison import Comparison
from skmohn.model_selection._cross_validation import compare_estimators, compare_on
from skmohn.model_selection._search import BlackBoxSearchCV

__all__ = ["BlackBoxSearchCV", "Comparison", "compare_estimators", "compare_on"]
