"""Interaction indices of games in closed form, from the weights of Walsh terms."""

# A term is the product of signs, 1 for players in the coalition and -1 for others. By
# linearity, an index of a set S of players is a sum of c(|S|, |Q|) w_Q over the terms Q
# that contain S: the discrete derivative of such a term at S is 2^|S| times the product
# of the signs of the rest, which each index averages over the coalitions of others.

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
from scipy.sparse import csr_array
from scipy.special import bernoulli

from skmohn._core._tuned import tuned
from skmohn._core._types import Term

INDICES: Final = ("SII", "k-SII", "STII", "BII", "Moebius")


@dataclass(frozen=True)
class IndexConstants:
    """How many sets of players a table of interactions may have."""

    max_sets: int = tuned(2_000_000, "cost")


_CONSTANTS = IndexConstants()


def make_index_map(
    terms: Sequence[Term], index: str, max_order: int
) -> tuple[list[Term], csr_array]:
    """Sets of up to `max_order` players, and the map from weights to their index."""
    # The constant is the empty term; only Moebius values have a value of the empty set.
    first = 0 if index == "Moebius" else 1
    orders = [range(first, min(len(term), max_order) + 1) for term in terms]
    n_sets = sum(
        comb(len(term), size)
        for term, sizes in zip(terms, orders, strict=True)
        for size in sizes
    )
    if n_sets > _CONSTANTS.max_sets:
        raise ValueError(
            f"max_order={max_order} needs {n_sets:,} subsets of terms, more than "
            f"{_CONSTANTS.max_sets:,}: choose a smaller one"
        )
    coefficient = _COEFFICIENTS[index](max_order)
    rows, columns, entries = [], [], []
    numbers: dict[Term, int] = {}
    for j, (term, sizes) in enumerate(zip(terms, orders, strict=True)):
        for size in sizes:
            value = coefficient(size, len(term))
            if value:
                for players in combinations(term, size):
                    rows.append(numbers.setdefault(players, len(numbers)))
                    columns.append(j)
                    entries.append(value)
    sets = sorted(numbers, key=lambda players: (len(players), players))
    order = np.empty(len(sets), dtype=np.intp)
    order[[numbers[players] for players in sets]] = np.arange(len(sets))
    shape = len(sets), len(terms)
    index_map = csr_array((entries, (order[rows], columns)), shape=shape)
    return sets, index_map


# A function of the sizes of a set and of a term.
_Coefficient = Callable[[int, int], float]


def _moebius(size: int, order: int) -> float:
    """Part of a term in the Moebius value of a set: signs written as 2 b - 1."""
    return 2.0**size * (-1.0) ** (order - size)


def _banzhaf(size: int, order: int) -> float:
    """Mean over all coalitions of others: 0 but for the term of the set itself."""
    return 2.0**size * (size == order)


def _shapley(size: int, order: int) -> float:
    """Mean where others are present with probability t, over t from 0 to 1."""
    # The mean of (2 t - 1)^k; Grabisch and Roubens (1999), Theorem 2 as an integral.
    n_others = order - size
    return 0.0 if n_others % 2 else 2.0**size / (n_others + 1)


def _shapley_taylor(max_order: int, size: int, order: int) -> float:
    """Shapley-Taylor index of Sundararajan, Dhamdhere and Agarwal (2020)."""
    # Below the largest order it is the discrete derivative at the empty coalition.
    if size < max_order:
        return _moebius(size, order)
    return 2.0**size * _shapley_taylor_mean(max_order, order - size)


@cache
def _shapley_taylor_mean(max_order: int, n_others: int) -> float:
    """Mean of (2 t - 1)^n_others over t of density k (1 - t)^(k - 1), k the order."""
    # Exact for this polynomial, without differences of large numbers.
    n_nodes = (max_order + n_others) // 2 + 1
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    density = max_order * ((1.0 - nodes) / 2.0) ** (max_order - 1)
    return float(np.sum(weights * density * nodes**n_others) / 2.0)


def _k_shapley(max_order: int, size: int, order: int) -> float:
    """Shapley interactions that add up to the game: Bordt and von Luxburg (2023)."""
    numbers = bernoulli(max_order)
    return sum(
        comb(order - size, larger - size)
        * float(numbers[larger - size])
        * _shapley(larger, order)
        for larger in range(size, min(max_order, order) + 1)
    )


_COEFFICIENTS: dict[str, Callable[[int], _Coefficient]] = {
    "SII": lambda max_order: _shapley,
    "k-SII": lambda max_order: partial(_k_shapley, max_order),
    "STII": lambda max_order: partial(_shapley_taylor, max_order),
    "BII": lambda max_order: _banzhaf,
    "Moebius": lambda max_order: _moebius,
}
