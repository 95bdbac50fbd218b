"""Sets of inputs: counted by order, priced, parents and children."""

import math
from collections import Counter
from itertools import combinations

import numpy as np


def in_order(terms):
    """Sort sets by their size, then by their inputs, into a list."""
    return sorted(terms, key=lambda term: (len(term), term))


def count_orders(terms, highest=0):
    """Count sets by their order.

    Parameters
    ----------
    terms : sequence of tuples

    highest : int, default=0
        Count at least up to this order.

    Returns
    -------
    counts : ndarray, int
        Of orders 1, 2, ... up to the highest that there is.
    """
    orders = [len(term) for term in terms] or [0]
    return np.bincount(orders, minlength=highest + 1)[1:]


def with_kept(coverage, terms):
    """Say in a search's coverage how many sets of each order the model has.

    Parameters
    ----------
    coverage : iterable of dict
        A row for each order, named ``order``.

    terms : sequence of tuples

    Returns
    -------
    coverage : list of dict
        The same rows with ``kept``, in the order of the orders.
    """
    coverage = sorted(coverage, key=lambda row: row["order"])
    kept = count_orders(terms, coverage[-1]["order"] if coverage else 0)
    kept = kept.tolist()
    return [{**row, "kept": kept[row["order"] - 1]} for row in coverage]


def choice_length(terms, n_inputs, variants=None):
    """Nats that it costs to say which of all sets of their orders the terms are.

    Where inputs code variants, of products of two variants first which pairs these are,
    then which products of each.
    """
    length = 0.0
    if variants is not None:
        n_columns = Counter(variants.tolist())
        subsets = Counter(pair_of(term, variants) for term in terms)
        terms = [term for term in terms if pair_of(term, variants) is None]
        del subsets[None]
        length = log_comb(math.comb(len(n_columns), 2), len(subsets))
        for (first, second), size in subsets.items():
            length += log_comb(n_columns[first] * n_columns[second], size)
    orders = [len(term) for term in terms]
    return length + sum(
        log_comb(math.comb(n_inputs, order), orders.count(order))
        for order in set(orders)
    )


def pair_of(term, variants):
    """The two variants that the columns of a product code; None of others."""
    if len(term) != 2:
        return None
    first, second = sorted(variants[list(term)].tolist())
    return None if first == second else (first, second)


def log_comb(n, k):
    """Logarithm of the number of ways to choose k of n.

    By whole numbers: there are so many sets of a high order that differences of
    logarithms of factorials have no digits left.
    """
    return math.log(math.comb(n, k))


def count_parents(term, present):
    """Count the sets in ``present`` that lack just one member of a term."""
    return len(present.intersection(combinations(term, len(term) - 1)))


def count_children(parents, order, n_features):
    """Number of sets of one order that have one of the given sets within them.

    Parameters
    ----------
    parents : iterable of tuples of int
        Those of other orders than ``order - 1`` do not count.

    order, n_features : int

    Returns
    -------
    n_children : int
    """
    parents = [parent for parent in parents if len(parent) == order - 1]
    return len(_find_children(parents, n_features)[0]) if parents else 0


def count_holding(inputs, parents, order, n_features):
    """Number of sets of one order that hold one of some inputs, or a given set.

    Parameters
    ----------
    inputs : collection of int

    parents : iterable of tuples of int
        As of :func:`count_children`.

    order, n_features : int

    Returns
    -------
    n_sets : int
    """
    others = [i for i in range(n_features) if i not in inputs]
    place = {i: k for k, i in enumerate(others)}
    # What holds none of the inputs is a set of the others.
    parents = [
        tuple(place[i] for i in parent)
        for parent in parents
        if place.keys() >= set(parent)
    ]
    n_holding = math.comb(n_features, order) - math.comb(len(others), order)
    return n_holding + count_children(parents, order, len(others))


def shared_children(parents, n_features):
    """Find the sets that extend two or more of some sets of one order.

    Parameters
    ----------
    parents : list of tuples of int

    n_features : int

    Returns
    -------
    children : list of tuples of int
    """
    if not parents:
        return []
    first, counts = _find_children(parents, n_features)
    parent, added = np.divmod(first[counts > 1], n_features)
    children = np.column_stack([np.array(parents)[parent], added])
    return list(map(tuple, np.sort(children, axis=1).tolist()))


def _find_children(parents, n_features):
    """Find the different sets that extend one of some sets of one order by an input.

    Returns
    -------
    first : ndarray of shape (n_children,)
        ``parent * n_features + input``, the first that makes each.

    counts : ndarray of shape (n_children,)
        How many make each.
    """
    parents = np.array(parents)
    # A set is known by the exclusive or of its members' random 64-bit names.
    names = np.random.default_rng(0).integers(2**64, size=n_features, dtype=np.uint64)
    children = np.bitwise_xor.reduce(names[parents], axis=1)[:, None] ^ names
    is_new = np.ones(children.shape, dtype=bool)
    np.put_along_axis(is_new, parents, False, axis=1)
    _, first, counts = np.unique(
        children[is_new], return_index=True, return_counts=True
    )
    return np.flatnonzero(is_new)[first], counts
