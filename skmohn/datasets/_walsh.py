"""Walsh expansions: from tables to weights and from weights to values."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._types import Term


class WalshFunction(NamedTuple):
    """f(x) = intercept + sum_j weights[j] prod_{i in terms[j]} x_i, x in {-1, +1}^n.

    `terms` are sorted tuples in order of (length, members), none of them empty and
    none of them with a zero weight: equal functions have equal fields.
    """

    n_features: int
    terms: list[Term]
    weights: np.ndarray
    intercept: float

    @property
    def variance(self) -> float:
        """Variance of f over uniform x: the weights are orthonormal coordinates."""
        return float(self.weights @ self.weights)

    def value_at(self, x: NDArray[np.float64]) -> float:
        """Value at one input, correctly rounded: for optima to compare with."""
        minus = set(np.flatnonzero(x < 0).tolist())
        odd = (len(minus.intersection(term)) % 2 for term in self.terms)
        signed = (
            -w if o else w for o, w in zip(odd, self.weights.tolist(), strict=True)
        )
        return fsum([self.intercept, *signed])


def walsh_function(
    n_features: int, weights: Iterable[tuple[Sequence[int], float]]
) -> WalshFunction:
    """Sum weights of equal sets of variables into a function."""
    # Members of one weight are distinct, in any order; no members: a constant.
    collected = defaultdict(list)
    for members, weight in weights:
        collected[tuple(sorted(members))].append(weight)
    # fsum rounds once: what cancels is 0, and the order of summing does not matter.
    total = {term: fsum(parts) for term, parts in collected.items()}
    intercept = total.pop((), 0.0)
    terms = sorted((t for t, w in total.items() if w), key=lambda t: (len(t), t))
    sums = np.array([total[t] for t in terms], dtype=np.float64)
    return WalshFunction(n_features, terms, sums, intercept)


def evaluate(
    X: NDArray,
    terms: Sequence[Term],
    weights: NDArray | Sequence[float],
    intercept: float,
) -> NDArray[np.float64]:
    """Evaluate a Walsh expansion at rows of -1 and +1, in any dtype."""
    # O(n_samples) per member of a term.
    columns = np.ascontiguousarray(X.T)
    y = np.full(len(X), intercept, dtype=np.float64)
    for term, weight in zip(terms, weights, strict=True):
        y += weight * columns[list(term)].prod(axis=0, dtype=columns.dtype)
    return y


def table_to_weights(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fast Walsh-Hadamard transform of function tables (..., 2**k), O(k 2**k)."""
    # Bit j of the last index is 1 where variable j is +1; of the weights, where
    # variable j is in the term.
    weights = table
    for j in range(table.shape[-1].bit_length() - 1):
        halves = weights.reshape(*table.shape[:-1], -1, 2, 2**j)
        minus, plus = halves[..., 0, :], halves[..., 1, :]
        pair = np.stack([(minus + plus) / 2, (plus - minus) / 2], axis=-2)
        weights = pair.reshape(table.shape)
    return weights


def sum_of_tables(
    n_features: int, blocks: NDArray[np.intp], tables: NDArray[np.float64]
) -> WalshFunction:
    """Expand f(x) = sum_b tables[b][x restricted to blocks[b]], O(n_blocks k 2**k)."""
    # Bit j of the last index is 1 where variable ``blocks[b, j]`` is +1.
    subsets = [
        [j for j in range(blocks.shape[1]) if index >> j & 1]
        for index in range(tables.shape[1])
    ]
    weights = table_to_weights(tables).tolist()
    return walsh_function(
        n_features,
        (
            ([block[j] for j in subset], weight)
            for block, row in zip(blocks.tolist(), weights, strict=True)
            for subset, weight in zip(subsets, row, strict=True)
        ),
    )
