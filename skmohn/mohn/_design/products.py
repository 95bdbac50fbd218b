"""Sums of products with a factor for each column, and what each column adds."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class QuadratureConstants:
    """Integrals of polynomials."""

    # Of the quadrature of polynomials in [0, 1]; so many leave only rounding errors.
    max_nodes: int = tuned(40, "rounding")


_QUADRATURE = QuadratureConstants()


class _Rows(Protocol):
    """Inputs and categories, as `EncodedRows` has them."""

    @property
    def inputs(self) -> NDArray: ...

    @property
    def categories(self) -> NDArray: ...


class ProductSum(NamedTuple):
    """Sum of products of a factor for each input and categorical, and of lines."""

    coef: np.ndarray  # (n_products,)
    # (n_inputs, n_products); factors of each input at -1; linear in between.
    low: np.ndarray
    high: np.ndarray  # the same at +1
    # (n_categories + 1, n_products); factors of each categorical, by its category, the
    # last of an unknown one.
    tables: list
    slopes: np.ndarray  # (n_inputs,); what each input adds at +1, and takes at -1
    steps: list  # (n_categories + 1,); what each categorical adds, by its category
    constant: float  # added to the sum

    def scale(self, factor: float, constant: float) -> Self:
        """Function times a number, and another constant added to it."""
        return self._replace(
            coef=factor * self.coef,
            slopes=factor * self.slopes,
            steps=[factor * step for step in self.steps],
            constant=factor * self.constant + constant,
        )

    def split(self, rows: _Rows) -> NDArray[np.float64]:
        """Shapley values of one row's inputs and categoricals, the rest unknown."""
        # By quadrature of the multilinear extension (Owen, Multilinear extensions of
        # games, Management Science 18, 1972): the value of an input is the mean of what
        # it changes where each other one is known with probability t, over t from 0 to
        # 1. In t a product is a polynomial.
        unknown = [np.mean(table[:-1], axis=0) for table in self.tables]
        known, steps = list(unknown), np.zeros(len(unknown))
        columns = zip(rows.categories[0].tolist(), self.tables, self.steps, strict=True)
        for k, (category, table, step) in enumerate(columns):
            known[k], steps[k] = table[category], step[category] - np.mean(step[:-1])
        middle = (self.low + self.high) / 2.0
        at_row = middle + rows.inputs[0][:, None] * (self.high - self.low) / 2.0
        shape = -1, len(self.coef)
        start = np.concatenate([middle, np.reshape(unknown, shape)])
        change = np.concatenate([at_row, np.reshape(known, shape)]) - start
        # What is unknown or does not matter is the same factor in any case.
        is_moved = np.any(change != 0.0, axis=1)
        coef = self.coef * np.prod(start[~is_moved], axis=0)
        start, change = start[is_moved], change[is_moved]
        values = np.zeros(len(is_moved))
        n_nodes = min(len(start) // 2 + 1, _QUADRATURE.max_nodes)
        for node, weight in zip(*np.polynomial.legendre.leggauss(n_nodes), strict=True):
            factors = start + 0.5 * (1.0 + node) * change
            whole = coef * np.prod(factors, axis=0)
            values[is_moved] += 0.5 * weight * ((change / factors) @ whole)
        return values + np.concatenate([self.slopes * rows.inputs[0], steps])
