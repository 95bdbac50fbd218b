"""Class models of few weights: logistic regression on products of inputs."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from skmohn._core._rows import TILE, row_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import ProductIndex, product_columns
from skmohn.mohn._models import JOINT
from skmohn.mohn._sparse.logistic import LOGISTIC_SEARCH
from skmohn.mohn._sparse.newton import add_constant, inverse_root
from skmohn.mohn._training_data import TrainingData


@dataclass(frozen=True)
class SagaConstants:
    """Solver of the logistic models of many classes."""

    # Many small steps are cheap on few columns.
    tol: float = tuned(1e-6, "cost")
    max_iter: int = tuned(1000, "cost")


_SOLVER = SagaConstants()


@dataclass(frozen=True)
class LogisticModel:
    """Log odds that are sums of products of inputs."""

    terms: list[Term]
    weights: np.ndarray  # (1, n_terms); of two classes, for the second one
    constants: np.ndarray  # (1,)
    C: float  # inverse strength of the penalty
    # (n_outputs * (n_terms + 1), rank); times its transpose the covariance of weights,
    # by output, each with its constant last; None where they are too many, or their
    # posterior is not normal.
    root: np.ndarray | None = None
    name = "sparse"

    def __getstate__(self) -> dict[str, Any]:
        """Leave the index, which is soon made again."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def learn(
        cls, samples: TrainingData, terms: list[Term], C: float = LOGISTIC_SEARCH.C
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
        model: Any = LogisticRegression(C=C, tol=_SOLVER.tol, max_iter=_SOLVER.max_iter)
        columns = product_columns(inputs, terms)
        model.fit(columns, labels, sample_weight=sample_weight)
        root = None
        if n_rows * (len(terms) + 1) <= JOINT.max_joint:
            chances = model.predict_proba(columns)
            root = _covariance_root(columns, chances[:, -n_rows:], sample_weight, C)
        return cls(terms, model.coef_, model.intercept_, C, root)

    def log_odds(self, inputs: NDArray) -> NDArray[np.float64]:
        """Log probabilities up to a constant per row, (n_rows, n_classes)."""
        scores = np.empty((len(inputs), len(self.weights)))
        if not hasattr(inputs, "design"):
            inputs = inputs[:, self._index.used]
        # Products of all rows would take many times the memory of the table.
        for part in row_slices((len(inputs), len(self.terms)), TILE):
            columns = product_columns(inputs[part], self.terms, self._index)
            scores[part] = columns @ self.weights.T + self.constants
        if scores.shape[1] > 1:
            return scores
        log_odds = np.zeros((len(scores), 2))
        log_odds[:, 1:] = scores
        return log_odds

    @cached_property
    def _index(self) -> ProductIndex:
        return ProductIndex.of(self.terms)

    def log_proba(self, inputs: NDArray) -> NDArray[np.float64]:
        """Log probabilities of the classes."""
        return log_softmax(self.log_odds(inputs), axis=1)

    def draw(
        self, inputs: NDArray, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw log odds, (n_rows, n_draws, n_classes); NaN without a posterior."""
        log_odds = np.repeat(self.log_odds(inputs)[:, None], n_draws, axis=1)
        n_outputs = len(self.weights)
        if self.root is None:
            log_odds[..., -n_outputs:] = np.nan
            return log_odds
        columns = product_columns(inputs, self.terms, self._index)
        columns = add_constant(columns)
        moved = self.root @ rng.standard_normal((self.root.shape[1], n_draws))
        moved = moved.reshape(n_outputs, -1, n_draws)
        log_odds[..., -n_outputs:] += np.einsum("rj,ojd->rdo", columns, moved)
        return log_odds


def _covariance_root(
    columns: NDArray[np.float64],
    chances: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    C: float,
) -> NDArray[np.float64]:
    """Root of the covariance by Laplace's approximation, see `LogisticModel.root`."""
    wider = add_constant(columns)
    weight = np.ones(len(columns)) if sample_weight is None else sample_weight
    n_columns, n_outputs = wider.shape[1], chances.shape[1]
    curvature = np.empty((n_outputs, n_columns, n_outputs, n_columns))
    for k, own in enumerate(chances.T):
        for m, other in enumerate(chances.T[: k + 1]):
            of_rows = weight * own * ((k == m) - other)
            curvature[k, :, m] = (wider * of_rows[:, None]).T @ wider
            curvature[m, :, k] = curvature[k, :, m].T
    penalty = np.append(np.full(n_columns - 1, 1.0 / C), 0.0)
    curvature = curvature.reshape(n_outputs * n_columns, -1)
    curvature.ravel()[:: len(curvature) + 1] += np.tile(penalty, n_outputs)
    # The constants of all classes together are free, and change nothing.
    return inverse_root(curvature)
