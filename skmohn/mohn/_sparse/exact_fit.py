"""Whether a model can have reproduced a target by chance."""

import math
from itertools import chain

import numpy as np
from scipy.special import gammaln

from skmohn.mohn._design.terms import choice_length, log_comb

# An error this small beside the spread of a target is rounding error.
_EXACT = 1e-8
# Fraction of the largest number that sums of numbers may be off.
_ROUNDING = 1e-15
# Nats that naming the terms must save: odds of a thousand to one.
_CLEARLY = math.log(1000.0)


class ExactFitTest:
    """What a target holds, in the order of its rows.

    Of all orders of the same n values, a model with k weights reproduces a fraction of
    about ``exp(-(n - k) / n * information)``: k of the values say what the others must
    be. A search tries many models, and finds one of these orders by chance unless
    naming the model takes clearly fewer nats than that.

    Equal rows with equal targets say that the target is a function of the inputs, but
    not which, and a function of any kind could be found by chance where it is known in
    part. So they count once, unless all rows that there could be are there: then
    nothing but the noise of a target could make a model that reproduces them wrong, and
    each sample is evidence against that.

    Parameters
    ----------
    inputs : ndarray of shape (n_samples, n_features)

    y : ndarray of shape (n_samples,)

    Attributes
    ----------
    n_rows : int
        Number of different rows.

    n_values : int
        Number of targets that count.

    information : float
        Logarithm of the number of ways to order them, in nats.
    """

    def __init__(self, inputs, y):
        rows, first = np.unique(inputs, axis=0, return_index=True)
        self.n_rows, self.n_features = rows.shape
        counting = y if _are_all(rows) else y[first]
        counts = np.unique(_equal_values(counting)[1], return_counts=True)[1]
        self.n_values = len(counting)
        self.information = float(gammaln(self.n_values + 1) - gammaln(counts + 1).sum())

    def is_significant(self, terms):
        """Whether a model with these terms is beyond chance, if it is exact.

        Parameters
        ----------
        terms : sequence of tuples of int
            None is the constant.

        Returns
        -------
        is_significant : bool
        """
        if not terms:  # nothing was chosen
            return True
        left = self.n_values - len(terms) - 1
        # Name the inputs, then which of the products of these.
        n_used = len(set(chain.from_iterable(terms)))
        length = log_comb(self.n_features, n_used) + choice_length(terms, n_used)
        return length + _CLEARLY < left / self.n_values * self.information


def _are_all(rows):
    """Whether different rows are all combinations of two values of each column."""
    n_rows, n_features = rows.shape
    return n_rows == 2.0**n_features and all(
        len(np.unique(column)) == 2 for column in rows.T
    )


def exact_error(y, spread):
    """Error up to which a model reproduces a target.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)

    spread : float
        Standard deviation of the target.

    Returns
    -------
    error : float
    """
    # A target that is constant varies by rounding.
    return max(_EXACT * spread, _ROUNDING * float(np.abs(y).max()))


def rounding_variance(y):
    """Variance that a target has by being known in steps only.

    No model of noisy data explains more, and one that seems to has found the steps.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)

    Returns
    -------
    variance : float
        Of the smallest step as the width of a uniform distribution; 0 for a constant.
    """
    values, _ = _equal_values(y)
    steps = np.diff(values)
    return float(steps.min() ** 2 / 12.0) if steps.size else 0.0


def _equal_values(y):
    """The different values of a target, sorted, and the number of each one's value."""
    order = np.argsort(y)
    ranked = y[order]
    is_new = np.diff(ranked, prepend=-np.inf) > exact_error(y, np.std(y))
    numbers = np.empty(len(y), dtype=np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return ranked[is_new], numbers
