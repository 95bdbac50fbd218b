"""Inputs of a Markov random field, and the rows that it is learned from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skmohn._core._rows import distinct_rows
from skmohn._core._types import Term
from skmohn._core._walsh import flatten_sets
from skmohn.mohn._table.coding import NUMERIC, InputCoding
from skmohn.mohn._table.rows import EncodedRows


@dataclass(frozen=True)
class FieldLayout:
    """Inputs of -1 and +1: one of a column of two values, else one a category."""

    # Inputs of each column that varies. Of several inputs one is +1.
    groups: tuple[NDArray[np.intp], ...]
    # (n_inputs,), int; number of each among the members of `TermNames`.
    members: NDArray[np.intp]

    @classmethod
    def of(cls, coding: InputCoding) -> Self:
        """Lay out the columns of a table; numeric ones are their levels."""
        usable = coding.usable
        members = np.flatnonzero(coding.kind[usable] != NUMERIC).tolist()
        groups, start = [np.array([i]) for i in range(len(members))], len(usable)
        for size, *_ in coding.alphabets:
            groups.append(len(members) + np.arange(size))
            members += range(start, start + size)
            start += size
        return cls(tuple(groups), np.array(members, dtype=np.intp))

    @property
    def group_of(self) -> NDArray[np.intp]:
        """Number of the group of each input."""
        return np.repeat(np.arange(len(self.groups)), [len(g) for g in self.groups])

    @property
    def single(self) -> NDArray[np.intp]:
        """Inputs of columns of two values."""
        return np.array([g[0] for g in self.groups if len(g) == 1], dtype=np.intp)

    @property
    def several(self) -> list[NDArray[np.intp]]:
        """Groups of categories."""
        return [group for group in self.groups if len(group) > 1]

    def read_signs(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Inputs of encoded rows, (n_rows, n_inputs)."""
        signs = np.full((len(rows), len(self.members)), -1.0)
        single = self.single
        signs[:, single] = np.where(rows.inputs[:, self.members[single]] > 0, 1.0, -1.0)
        for group, chosen in zip(self.several, rows.categories.T, strict=True):
            signs[np.arange(len(rows)), group[chosen]] = 1.0
        return signs

    def count(self, max_order: int) -> list[int]:
        """Count the terms of each order, 0 to `max_order`, of different columns."""
        counts = [1] + [0] * max_order
        for group in self.groups:
            for order in range(max_order, 0, -1):
                counts[order] += len(group) * counts[order - 1]
        return counts


@dataclass(frozen=True)
class FieldData:
    """Distinct rows of inputs, and how often each was observed."""

    layout: FieldLayout
    signs: NDArray[np.float64]  # (n_rows, n_inputs), in the order of columns
    weight: NDArray[np.float64]  # (n_rows,)

    @classmethod
    def of(
        cls,
        layout: FieldLayout,
        signs: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> Self:
        """Join equal rows."""
        if not signs.shape[1]:
            return cls(layout, signs[:1], weight.sum(keepdims=True))
        first, index = distinct_rows(signs.astype(np.int8))
        return cls(layout, np.asfortranarray(signs[first]), np.bincount(index, weight))

    @property
    def n_observations(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of each input."""
        return self.weight @ self.signs / self.n_observations


def multiply(signs: NDArray[np.float64], terms: Sequence[Term]) -> NDArray[np.float64]:
    """Products of the inputs of terms, (n_rows, n_terms), in the order of columns."""
    products = np.ones((len(terms), len(signs)))
    columns = np.ascontiguousarray(signs.T)
    for j, term in enumerate(terms):
        for i in term:
            products[j] *= columns[i]
    return products.T


def mark_members(terms: Sequence[Term], n_inputs: int) -> csr_array:
    """Sparse matrix of 1 where a term has an input, (n_terms, n_inputs)."""
    indptr, members = flatten_sets(terms)
    shape = len(terms), n_inputs
    return csr_array((np.ones(len(members)), members, indptr), shape=shape)
