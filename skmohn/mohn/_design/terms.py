"""Sets of inputs: counts by order, description lengths, parents and children."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._types import Term


def in_order(terms: Iterable[Term]) -> list[Term]:
    """Sort sets by their size, then by their inputs, into a list."""
    # Two sorts, of which the second keeps the order of the first, need no Python code.
    return sorted(sorted(terms), key=len)


def count_orders(terms: Iterable[Term], highest: int = 0) -> NDArray[np.intp]:
    """Count sets by their order: 1, 2, ... up to the highest there is, or `highest`."""
    orders = [len(term) for term in terms] or [0]
    return np.bincount(orders, minlength=highest + 1)[1:]


def with_kept(
    coverage: Iterable[dict[str, Any]], terms: Iterable[Term]
) -> list[dict[str, Any]]:
    """Add the kept sets of a model to a search's coverage, which has a row by order."""
    coverage = sorted(coverage, key=lambda row: row["order"])
    kept = count_orders(terms, coverage[-1]["order"] if coverage else 0)
    kept = kept.tolist()
    return [{**row, "kept": kept[row["order"] - 1]} for row in coverage]


def choice_length(
    terms: Sequence[Term], n_inputs: int, variants: NDArray[np.intp] | None = None
) -> float:
    """Description length, in nats, of terms among all sets of their orders."""
    # Where inputs code variants, of products of two variants first which pairs these
    # are, then which products of each.
    length = 0.0
    if variants is not None:
        n_columns = Counter(variants.tolist())
        pairs = (pair_of(term, variants) for term in terms)
        subsets = Counter(pair for pair in pairs if pair is not None)
        terms = [term for term in terms if pair_of(term, variants) is None]
        length = log_comb(math.comb(len(n_columns), 2), len(subsets))
        for (first, second), size in subsets.items():
            length += log_comb(n_columns[first] * n_columns[second], size)
    orders = [len(term) for term in terms]
    return length + sum(
        log_comb(math.comb(n_inputs, order), orders.count(order))
        for order in set(orders)
    )


def pair_of(term: Term, variants: NDArray[np.intp]) -> tuple[int, int] | None:
    """Pair of variants that the columns of a product code; None of others."""
    if len(term) != 2:
        return None
    first, second = sorted(variants[list(term)].tolist())
    return None if first == second else (first, second)


def log_comb(n: int, k: int) -> float:
    """Logarithm of the number of ways to choose k of n."""
    # By integers: there are so many sets of a high order that differences of logarithms
    # of factorials have no digits left.
    return math.log(math.comb(n, k))


def count_parents(term: Term, present: set[Term]) -> int:
    """Count the sets in ``present`` that lack just one member of a term."""
    return len(present.intersection(combinations(term, len(term) - 1)))


def count_children(parents: Iterable[Term], order: int, n_features: int) -> int:
    """Number of sets of one order that have one of the given sets within them."""
    parents = [parent for parent in parents if len(parent) == order - 1]
    return len(_find_children(parents, n_features)[0]) if parents else 0


def count_holding(
    inputs: Collection[int], parents: Iterable[Term], order: int, n_features: int
) -> int:
    """Number of sets of one order that hold one of some inputs, or a given set."""
    others = [i for i in range(n_features) if i not in inputs]
    index = {i: k for k, i in enumerate(others)}
    # What holds none of the inputs is a set of the others.
    parents = [
        tuple(index[i] for i in parent)
        for parent in parents
        if index.keys() >= set(parent)
    ]
    n_holding = math.comb(n_features, order) - math.comb(len(others), order)
    return n_holding + count_children(parents, order, len(others))


def shared_children(parents: Sequence[Term], n_features: int) -> list[Term]:
    """Find the sets that extend two or more of some sets of one order."""
    if not parents:
        return []
    first, counts = _find_children(parents, n_features)
    parent, added = np.divmod(first[counts > 1], n_features)
    children = np.column_stack([np.array(parents)[parent], added])
    return list(map(tuple, np.sort(children, axis=1).tolist()))


def _find_children(
    parents: Sequence[Term], n_features: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the different sets that extend one of some sets of one order by an input."""
    # The first that makes each, as ``parent * n_features + input``, and how many do.
    members = np.array(parents)
    # A set is known by the exclusive or of its members' random 64-bit names.
    names = np.random.default_rng(0).integers(2**64, size=n_features, dtype=np.uint64)
    children = np.bitwise_xor.reduce(names[members], axis=1)[:, None] ^ names
    is_new = np.ones(children.shape, dtype=bool)
    np.put_along_axis(is_new, members, False, axis=1)
    _, first, counts = np.unique(
        children[is_new], return_index=True, return_counts=True
    )
    return np.flatnonzero(is_new)[first], counts


def count_sets(n_inputs: int, max_order: int) -> int:
    """Number of nonempty sets of inputs up to an order."""
    return sum(math.comb(n_inputs, k) for k in range(1, max_order + 1))
