"""Pairs of columns whose joint effects have a variance of their own."""

# The part of a pair is ``variance * k_a(z_a, z'_a) * k_b(z_b, z'_b)``. That of a
# categorical of L categories is ``k(c, c') = (1[c = c'] - 1 / L) / (1 - 1 / L)``, so
# that the part averages to 0 over its categories; an unknown category has the mean by
# their probabilities. That of an input is ``x x'``. These are the interactions of an
# analysis of variance with random effects (Searle, Casella and McCulloch, Variance
# Components, 1992). Unlike the covariance of all products they have no hyperparameters
# in common.

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skmohn.mohn._table.rows import Categorical, EncodedRows, pair_blocks


@dataclass(frozen=True)
class Member:
    """Input, or unordered categorical, of a pair."""

    number: int  # of the inputs, or of the categoricals
    alphabet: Categorical | None = None  # None: an input

    @property
    def size(self) -> int:
        """Number of categories; 0: an input."""
        return 0 if self.alphabet is None else self.alphabet.size

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """Features of each category, (size + 1, size); the last are of an unknown."""
        assert self.alphabet is not None
        scale = math.sqrt(self.size / (self.size - 1.0))
        centered = scale * (np.eye(self.size) - 1.0 / self.size)
        return np.vstack([centered, self.alphabet.probability @ centered])

    def features(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Features whose products are the covariances of rows, (n_rows, n_features)."""
        if self.size:
            return self.table[rows.categories[:, self.number]]
        return rows.inputs[:, [self.number]]

    def at(self, x: float, category: int) -> NDArray[np.float64]:
        """Features of one value, (n_features,)."""
        return self.table[category] if self.size else np.array([x])


@dataclass(frozen=True)
class PairVariances:
    """Two members, the second a categorical, and the variance of their joint part."""

    members: tuple[Member, Member]
    variance: float

    def add_to(
        self, covariance: NDArray[np.float64], left: EncodedRows, right: EncodedRows
    ) -> None:
        """Add the covariance of the part between rows, in place."""
        sides = [[m.features(rows) for m in self.members] for rows in (left, right)]
        for part in pair_blocks(*covariance.shape):
            products = [a[part] @ b.T for a, b in zip(*sides, strict=True)]
            covariance[part] += self.variance * products[0] * products[1]

    def own(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Variance of the part at each row."""
        squares = [np.sum(m.features(rows) ** 2, axis=1) for m in self.members]
        return self.variance * squares[0] * squares[1]

    def values_of(
        self, term: tuple[int, ...], categories: dict[int, int]
    ) -> list[NDArray[np.float64]] | None:
        """Features of a weight, see `Covariance.with_weight`; None of another part."""
        inputs = tuple(m.number for m in self.members if not m.size)
        if term != inputs or set(categories) != {
            m.number for m in self.members if m.size
        }:
            return None
        return [m.at(1.0, categories.get(m.number, 0)) for m in self.members]

    def with_weight(
        self, rows: EncodedRows, values: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Covariance of a weight with the function at rows."""
        first, second = (
            m.features(rows) @ value
            for m, value in zip(self.members, values, strict=True)
        )
        return self.variance * first * second

    def joint(
        self, rows: EncodedRows, alpha: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Coefficients of the products of features in the posterior mean."""
        first, second = (m.features(rows) for m in self.members)
        return self.variance * (first * alpha[:, None]).T @ second
