"""Choose among estimators: searches of hyperparameters."""

from skmohn.model_selection._search import BlackBoxSearchCV

__all__ = ["BlackBoxSearchCV"]
