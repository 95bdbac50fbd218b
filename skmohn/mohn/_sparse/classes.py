"""Class models of few weights: logistic regression on products of inputs."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from skmohn._core._types import Term
from skmohn.mohn._design.design import product_columns
from skmohn.mohn._sparse.given import TrainingData
from skmohn.mohn._sparse.logistic import SEARCH_C

# Many small steps are cheap on few columns.
_TOLERANCE = 1e-6
_MOST_STEPS = 1000


class LogisticModel(NamedTuple):
    """Log odds that are sums of products of inputs.

    Attributes
    ----------
    terms : list of tuples of int

    weights : ndarray of shape (1, n_terms) or (n_classes, n_terms)
        Of two classes, for the second one.

    constants : ndarray of shape (1,) or (n_classes,)

    C : float
        Inverse strength of the penalty.
    """

    terms: list[Term]
    weights: np.ndarray
    constants: np.ndarray
    C: float
    name = "sparse"

    @classmethod
    def learn(
        cls, samples: TrainingData, terms: list[Term], C: float = SEARCH_C
    ) -> "LogisticModel":
        """Fit weights of products of one-hot inputs; constants alone without terms."""
        inputs, labels, sample_weight = samples.data
        n_classes = len(samples.classes)
        n_rows = 1 if n_classes == 2 else n_classes
        if not terms:
            priors = np.bincount(labels, sample_weight, n_classes)
            log_priors = np.log(priors / priors.sum())
            if n_rows == 1:
                log_priors = log_priors[1:] - log_priors[:1]
            return cls(terms, np.zeros((n_rows, 0)), log_priors, C)
        model: Any = LogisticRegression(C=C, tol=_TOLERANCE, max_iter=_MOST_STEPS)
        model.fit(product_columns(inputs, terms), labels, sample_weight=sample_weight)
        return cls(terms, model.coef_, model.intercept_, C)

    def log_odds(self, inputs: NDArray) -> NDArray[np.float64]:
        """Log probabilities up to a constant per row, (n_rows, n_classes)."""
        scores = product_columns(inputs, self.terms) @ self.weights.T + self.constants
        if scores.shape[1] > 1:
            return scores
        return np.hstack([np.zeros_like(scores), scores])

    def log_proba(self, inputs: NDArray) -> NDArray[np.float64]:
        """Log probabilities of the classes."""
        return log_softmax(self.log_odds(inputs), axis=1)
