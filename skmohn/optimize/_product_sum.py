"""Functions that are sums of products with a factor for each variable.

The posterior mean of all weights under the product prior is one: each training row has
a factor for each input. So are the terms of a Walsh model, with factors -1 and +1.
"""

from dataclasses import dataclass, replace

import numpy as np

from skmohn.mohn._dense.covariance import parity
from skmohn.mohn._model import CONSTANT_VARIANCE


@dataclass(frozen=True)
class ProductSum:
    """A function of codes in [-1, 1].

    Attributes
    ----------
    coef : ndarray of shape (n_products,)

    low, high : ndarrays of shape (n_products, n_variables)
        Factors of each variable at -1 and at +1; linear in between.

    intercept : float

    bounds : tuple of float, default=(-inf, inf)
        Where predictions end.
    """

    coef: np.ndarray
    low: np.ndarray
    high: np.ndarray
    intercept: float
    bounds: tuple = (-np.inf, np.inf)

    @classmethod
    def of_posterior(cls, model, columns, n_variables, clip):
        """Write out the mean of a dense model.

        Parameters
        ----------
        model : DenseModel
            Of inputs alone, no letters.

        columns : ndarray of shape (n_inputs,), int
            The variable that each input is.

        n_variables : int

        clip : bool
            Whether predictions stay in the range of the targets.

        Returns
        -------
        function : ProductSum
        """
        rows, alpha = model.posterior.support()
        covariance, prior = model.covariance, model.prior
        scale, n_inputs = model.scale, len(columns)
        products = _Products(n_variables)
        damped = 1.0 + prior.tau
        products.add(
            scale * prior.scale * alpha,
            columns,
            (1.0 - prior.tau * rows.inputs) / damped,
            (1.0 + prior.tau * rows.inputs) / damped,
        )
        linear = scale * prior.linear * prior.tau * (rows.inputs.T @ alpha)
        each = np.eye(n_inputs)
        products.add(linear, columns, 1.0 - 2.0 * each, np.ones_like(each))
        for term, variance in zip(covariance.terms, covariance.variances, strict=True):
            weight = scale * variance * (parity(rows.inputs, term) @ alpha)
            minus = np.ones((1, n_inputs))
            minus[0, list(term)] = -1.0
            products.add([weight], columns, minus, np.ones((1, n_inputs)))
        intercept = model.centre + scale * CONSTANT_VARIANCE * float(alpha.sum())
        bounds = (model.low, model.high) if clip else (-np.inf, np.inf)
        return cls(*products.join(), intercept, bounds)

    @property
    def n_variables(self):
        """How many variables there are, those that do not matter included."""
        return self.low.shape[1]

    def used(self):
        """The variables that matter, in their order."""
        return np.flatnonzero(np.any(self.low != self.high, axis=0))

    def fix(self, codes):
        """Put codes in the place of some variables, whose factors become 1.

        Parameters
        ----------
        codes : dict of int to float

        Returns
        -------
        function : ProductSum
        """
        coef, low, high = self.coef.copy(), self.low.copy(), self.high.copy()
        for i, code in codes.items():
            coef *= _between(low[:, i], high[:, i], code)
            low[:, i] = high[:, i] = 1.0
        return replace(self, coef=coef, low=low, high=high)

    def take(self, variables, factor):
        """The function of some variables, times a factor; all others are fixed."""
        return ProductSum(
            factor * self.coef, self.low[:, variables], self.high[:, variables], 0.0
        )

    def predict(self, points):
        """Values at rows of codes, ndarray of shape (n_rows,)."""
        values = [
            self.coef @ _between(self.low, self.high, point).prod(axis=1)
            for point in points
        ]
        return np.clip(np.array(values) + self.intercept, *self.bounds)


class _Products:
    """Products of some variables, collected as products of all."""

    def __init__(self, n_variables):
        self.n_variables = n_variables
        self.coef, self.low, self.high = [], [], []

    def add(self, coef, columns, low, high):
        for kept, factors in ((self.low, low), (self.high, high)):
            table = np.ones((len(coef), self.n_variables))
            table[:, columns] = factors
            kept.append(table)
        self.coef.append(np.asarray(coef))

    def join(self):
        return (np.concatenate(part) for part in (self.coef, self.low, self.high))


def _between(low, high, code):
    """Factors at a code: on the line through those at -1 and +1."""
    return 0.5 * ((1.0 - code) * low + (1.0 + code) * high)
