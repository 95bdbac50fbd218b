"""Weights by the pseudo-likelihood: of each column given all others, at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_softmax

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._field.layout import FieldData, FieldLayout, mark_members, multiply

# A function of weights: its value, gradient and negative Hessian.
Objective = Callable[[NDArray[np.float64]], tuple[float, NDArray, NDArray]]


@dataclass(frozen=True)
class NewtonConstants:
    """Newton's method for concave functions."""

    # Gain in nats at which it ends.
    tol: float = tuned(1e-9, "rounding")
    max_steps: int = tuned(100, "cost")
    min_step: float = tuned(1e-6, "rounding")


_NEWTON = NewtonConstants()


@dataclass(frozen=True)
class FieldFit:
    """Weights of terms, and what the pseudo-likelihood is made of there."""

    data: FieldData
    terms: list[Term]
    weights: NDArray[np.float64]
    products: NDArray[np.float64]  # (n_rows, n_terms)
    value: float  # log pseudo-likelihood
    # (n_rows, n_inputs); of each input to be +1, given all other columns.
    probabilities: NDArray[np.float64]

    @property
    def residuals(self) -> NDArray[np.float64]:
        """Inputs less their means given all other columns, (n_rows, n_inputs)."""
        return self.data.signs - (2.0 * self.probabilities - 1.0)

    def scores(
        self, terms: Sequence[Term], products: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Gradient of the log pseudo-likelihood of each row by weights of terms."""
        signed = (self.data.signs * self.residuals).T
        return products * (mark_members(terms, len(signed)) @ signed).T

    def information(
        self, terms: Sequence[Term], products: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Negative Hessian of the log pseudo-likelihood, (n_terms, n_terms)."""
        data, p, rows = self.data, self.probabilities, products.T
        found = np.zeros((len(terms), len(terms)))
        has = mark_members(terms, data.signs.shape[1]).tocsc()
        of_input = np.split(has.indices, has.indptr[1:-1])
        for i in data.layout.single:
            own, part = of_input[i], rows[of_input[i]]
            variance = 4.0 * data.weight * p[:, i] * (1.0 - p[:, i])
            found[np.ix_(own, own)] += (variance * part) @ part.T
        for group in data.layout.several:
            own = np.concatenate([of_input[i] for i in group])
            # Twice the indicator of a category is its input plus one.
            part = [2.0 * data.signs[:, i] * rows[of_input[i]] for i in group]
            weighed = [p[:, i] * x for i, x in zip(group, part, strict=True)]
            for i, x, mean in zip(group, part, weighed, strict=True):
                index = np.ix_(of_input[i], of_input[i])
                found[index] += (data.weight * mean) @ x.T
            mean = np.vstack(weighed)
            found[np.ix_(own, own)] -= (data.weight * mean) @ mean.T
        return found


def fit_pseudo_likelihood(
    data: FieldData, terms: list[Term], start: NDArray[np.float64], l2: float
) -> FieldFit:
    """Maximize the log pseudo-likelihood less the penalty of squared weights."""
    products = multiply(data.signs, terms)
    incidence = mark_members(terms, data.signs.shape[1])

    def evaluate(weights: NDArray[np.float64]) -> FieldFit:
        sums = (incidence.T @ (weights[:, None] * products.T)).T
        values, p = _condition(data.layout, data.signs, data.signs * sums)
        value = float(data.weight @ values)
        return FieldFit(data, terms, weights, products, value, p)

    def objective(weights: NDArray[np.float64]) -> tuple[float, NDArray, NDArray]:
        fit = evaluate(weights)
        gradient = data.weight @ fit.scores(terms, products)
        return fit.value, gradient, fit.information(terms, products)

    return evaluate(maximize_concave(objective, start, l2))


def _condition(
    layout: FieldLayout, signs: NDArray[np.float64], fields: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log pseudo-likelihood of rows; probabilities of inputs given other columns."""
    # The log density of a category over that of another is twice the difference of
    # their fields, that of an input over its opposite twice the field.
    own = layout.single
    of_observed = expit(2.0 * signs * fields)
    probabilities = np.where(signs > 0, of_observed, 1.0 - of_observed)
    with np.errstate(divide="ignore"):
        value = np.log(of_observed[:, own]).sum(axis=1)
    for group in layout.several:
        logs = log_softmax(2.0 * fields[:, group], axis=1)
        probabilities[:, group] = np.exp(logs)
        value += np.sum(logs, axis=1, where=signs[:, group] > 0)
    return value, probabilities


def maximize_concave(
    objective: Objective, start: NDArray[np.float64], l2: float
) -> NDArray[np.float64]:
    """Maximize a concave function less ``l2 / 2`` times the sum of squared weights."""

    def penalized(weights: NDArray[np.float64]) -> tuple[float, NDArray, NDArray]:
        value, gradient, information = objective(weights)
        information[np.diag_indices_from(information)] += l2
        value -= 0.5 * l2 * float(weights @ weights)
        return value, gradient - l2 * weights, information

    weights = start
    value, gradient, information = penalized(weights)
    for _ in range(_NEWTON.max_steps if len(start) else 0):
        direction = cho_solve(cho_factor(information), gradient)
        gain, step = float(gradient @ direction), 1.0
        if gain < _NEWTON.tol:
            break
        found = penalized(weights + direction)
        while not found[0] > value and step > _NEWTON.min_step:
            step /= 2.0
            found = penalized(weights + step * direction)
        if not found[0] > value:
            break
        weights = weights + step * direction
        value, gradient, information = found
    return weights


def sandwich(
    scores: NDArray[np.float64],  # (n_rows, n_terms); gradients of rows
    weight: NDArray[np.float64],  # (n_rows,)
    information: NDArray[np.float64],  # (n_terms, n_terms), with the penalty
) -> NDArray[np.float64]:
    """Standard errors of weights by Godambe's sandwich, whatever the model misses."""
    if not len(information):  # scipy of 2024 refuses it
        return np.zeros(0)
    half = cho_solve(cho_factor(information), scores.T)
    return np.sqrt(half**2 @ weight)
