"""Test whether an exact fit is due to chance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.terms import choice_length, log_comb


@dataclass(frozen=True)
class ExactConstants:
    """Fits without error."""

    # Errors below this fraction of a target's standard deviation are rounding errors.
    max_error_fraction: float = tuned(1e-8, "rounding")
    # Relative rounding error of sums.
    rounding: float = tuned(1e-15, "rounding")


_EXACT = ExactConstants()
# The level of the test, as odds against chance, and the nats that naming the terms must
# save for it.
CHANCE_ODDS: Final = 1000.0
_CLEARLY: Final = math.log(CHANCE_ODDS)


class ExactFitTest:
    """Information in a target, against which exact fits are tested."""

    # Of all orders of the same n values, a model with k weights reproduces a fraction
    # of about ``exp(-(n - k) / n * information)``: k of the values determine the
    # others. A search tries many models, and reproduces one of these orders by chance
    # unless naming the model takes clearly fewer nats than that.
    # Equal rows with equal targets show that the target is a function of the inputs,
    # but not which, and a function of any kind could be found by chance where it is
    # known in part. So they count once, unless the rows are all combinations of the
    # inputs: then only noise in the target could make a model that reproduces them
    # wrong, and each sample is evidence against that.

    def __init__(
        self,
        inputs: NDArray,  # (n_samples, n_features)
        y: NDArray[np.float64],  # (n_samples,)
    ) -> None:
        rows, first = np.unique(inputs, axis=0, return_index=True)
        self.n_rows, self.n_features = rows.shape  # number of distinct rows
        counting = y if _are_all(rows) else y[first]
        counts = np.unique(_equal_values(counting)[1], return_counts=True)[1]
        self.n_values = len(counting)  # number of targets that count
        # Logarithm of the number of ways to order them, in nats.
        self.information = float(gammaln(self.n_values + 1) - gammaln(counts + 1).sum())

    def is_significant(self, terms: Sequence[Term]) -> bool:
        """Whether an exact model with these terms and a constant is beyond chance."""
        if not terms:  # nothing was chosen
            return True
        left = self.n_values - len(terms) - 1
        # Name the inputs, then which of the products of these.
        n_used = len(set(chain.from_iterable(terms)))
        length = log_comb(self.n_features, n_used) + choice_length(terms, n_used)
        return length + _CLEARLY < left / self.n_values * self.information


def _are_all(rows: NDArray) -> bool:
    """Whether distinct rows are all combinations of two values of each column."""
    n_rows, n_features = rows.shape
    return n_rows == 1 << n_features and all(
        len(np.unique(column)) == 2 for column in rows.T
    )


def exact_error(y: NDArray[np.float64], spread: float) -> float:
    """Error up to which a model is exact, for a target with a standard deviation."""
    # A target that is constant varies by rounding.
    return max(
        _EXACT.max_error_fraction * spread, _EXACT.rounding * float(np.abs(y).max())
    )


def rounding_variance(y: NDArray[np.float64]) -> float:
    """Variance of rounding a target, uniform over its smallest step; 0 if constant."""
    # A model of noisy data that explains more has fitted the steps.
    values, _ = _equal_values(y)
    steps = np.diff(values)
    return float(steps.min() ** 2 / 12.0) if steps.size else 0.0


def _equal_values(
    y: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Distinct values of a target, sorted, and the index of each sample's value."""
    order = np.argsort(y)
    ranked = y[order]
    is_new = np.diff(ranked, prepend=-np.inf) > exact_error(y, np.std(y))
    numbers = np.empty(len(y), dtype=np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return ranked[is_new], numbers
