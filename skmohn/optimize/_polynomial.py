"""Functions of spins in the layout of the compiled searches."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skmohn._core._tuned import tuned
from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize import _kernels
from skmohn.optimize._kernels import FlipTables, State


@dataclass(frozen=True)
class PolynomialConstants:
    """Rounding of sums of weights."""

    # Gains smaller than this fraction of the largest possible one are rounding error.
    rounding: float = tuned(1e-12, "rounding")


_POLYNOMIAL = PolynomialConstants()


def make_polynomial(graph: WalshPolynomial, n_variables: int) -> FlipTables:
    """Lay out a function of at least as many variables as it has for the kernels."""
    indptr, members, coef = graph.indptr, graph.members, graph.weights
    sizes = np.diff(indptr)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    pairs = indptr[:-1][sizes == 2]
    left, right = members[pairs], members[pairs + 1]
    pair_ptr, pair_order = _by_variable(np.concatenate([left, right]), n_variables)
    high = sizes[owners] > 2
    high_ptr, high_order = _by_variable(members[high], n_variables)
    # Without a sign, an index needs no check for being counted from the end.
    return _kernels.FlipTables(
        term_ptr=indptr,
        members=members.astype(np.uint32),
        coef=coef,
        pair_ptr=pair_ptr,
        pair_other=np.concatenate([right, left])[pair_order].astype(np.uint32),
        pair_coef=np.tile(coef[sizes == 2], 2)[pair_order],
        high_ptr=high_ptr,
        high_terms=owners[high][high_order].astype(np.uint32),
        n_variables=n_variables,
        n_terms=len(coef),
    )


def changes_of_flip(polynomial: FlipTables) -> float:
    """Number of gains that a flip changes, in the mean over variables."""
    sizes = np.diff(polynomial.term_ptr)
    n_variables = polynomial.n_variables
    in_high = np.sum(sizes[sizes > 2] ** 2)
    return 1.0 + (len(polynomial.pair_other) + in_high) / n_variables


def _by_variable(
    variables: NDArray[np.integer], n_variables: int
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Start of each variable's entries when sorted by it, and that order."""
    ptr = np.zeros(n_variables + 1, dtype=np.int64)
    np.cumsum(np.bincount(variables, minlength=n_variables), out=ptr[1:])
    return ptr, np.argsort(variables, kind="stable")


def make_state(polynomial: FlipTables, spins: NDArray, seed: int) -> State:
    """Start a search at some spins, which are copied."""
    spins = np.array(spins, dtype=np.int8)
    state = _kernels.State(
        spins=spins,
        gains=np.empty(len(spins)),
        values=np.empty(len(polynomial.coef)),
        best=spins.copy(),
        totals=np.zeros(2),
        rng=np.array([seed], dtype=np.uint64),
        n_variables=len(spins),
    )
    _kernels.refresh(polynomial.address, state.address)
    state.totals[1] = state.totals[0]
    return state


def fields(polynomial: FlipTables) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums, and roots of the sums of squares, of the weights of each variable."""
    # Twice the first is the most that a flip can gain; twice the second is what it
    # gains or loses at a random point (root of the mean square).
    sizes = np.diff(polynomial.term_ptr)
    weights = np.abs(np.repeat(polynomial.coef, sizes))
    n_variables = polynomial.n_variables
    sums = np.bincount(polynomial.members, weights, n_variables)
    return sums, np.sqrt(np.bincount(polynomial.members, weights**2, n_variables))


def tolerance_of(polynomial: FlipTables) -> float:
    """Gain that may be rounding error alone."""
    return _POLYNOMIAL.rounding * fields(polynomial)[0].max(initial=0.0)


def combine(
    polynomial: FlipTables, spins: NDArray, other: NDArray
) -> tuple[NDArray[np.int8], float]:
    """Take from a second point all parts that improve the first one."""
    # Where the two differ, the variables fall into groups that share no term; the gain
    # of each group does not depend on the others. Returned are the best point that
    # takes each group from one of the two, and its gain over the first.
    # Source: Tinos, Whitley and Chicano, Partition crossover for pseudo-Boolean
    # optimization, FOGA, 2015.
    starts = polynomial.term_ptr[:-1]
    sizes = np.diff(polynomial.term_ptr)
    differs = spins != other
    if not np.any(sizes % 2) and 2 * np.count_nonzero(differs) > len(spins):
        differs = ~differs  # all orders are even: the opposite point is as good
    inside = differs[polynomial.members]
    members = polynomial.members[inside]
    owners = np.repeat(np.arange(len(sizes)), sizes)[inside]
    together = owners[1:] == owners[:-1]
    links = coo_array(
        (
            np.ones(np.count_nonzero(together), dtype=np.int8),
            (members[:-1][together], members[1:][together]),
        ),
        shape=(len(spins), len(spins)),
    )
    n_groups, labels = connected_components(links, directed=False)
    values = polynomial.coef * np.multiply.reduceat(
        spins[polynomial.members].astype(float), starts
    )
    # Turning a group changes the sign of the terms that have an odd number of it.
    counts = np.bincount(owners, minlength=len(sizes))
    odd = np.flatnonzero(counts % 2)
    group = np.zeros(len(sizes), dtype=np.int64)
    group[owners] = labels[members]
    gains = np.bincount(group[odd], -2.0 * values[odd], n_groups)
    is_gain = gains > tolerance_of(polynomial)
    better = differs & is_gain[labels]
    gain = float(gains[is_gain].sum())
    return np.where(better, -spins, spins).astype(np.int8), gain


def fix_variables(
    graph: WalshPolynomial, values: Mapping[int, float]
) -> WalshPolynomial:
    """Replace some variables by numbers."""
    # Terms that have become equal are one; those that cancel are gone.
    weights = (
        (
            [i for i in term if i not in values],
            coef * math.prod(values[i] for i in term if i in values),
        )
        for term, coef in zip(graph.terms, graph.weights.tolist(), strict=True)
    )
    return WalshPolynomial.collect(weights, graph.intercept)


def split(
    graph: WalshPolynomial, n_variables: int
) -> list[tuple[NDArray[np.integer], WalshPolynomial]]:
    """Split a function into those whose variables never share a term."""
    # Of each part, its variables in increasing order, and the function of them,
    # numbered from 0. The largest parts come last. The constant is in none of them, nor
    # are variables that no term has.
    sizes = np.diff(graph.indptr)
    first = np.repeat(graph.members[graph.indptr[:-1]], sizes)
    links = coo_array(
        (np.ones(len(first), dtype=np.int8), (first, graph.members)),
        shape=(n_variables, n_variables),
    )
    _, labels = connected_components(links, directed=False)
    used = np.unique(graph.members)
    groups = {}
    for i in used.tolist():
        groups.setdefault(labels[i], []).append(i)
    index = np.zeros(n_variables, dtype=np.int64)
    terms = {label: ([], []) for label in groups}
    for variables in groups.values():
        index[variables] = np.arange(len(variables))
    for term, coef in zip(graph.terms, graph.weights.tolist(), strict=True):
        sets, coefs = terms[labels[term[0]]]
        sets.append(tuple(index[list(term)].tolist()))
        coefs.append(coef)
    parts = [
        (np.array(groups[label]), WalshPolynomial(tuple(sets), np.array(coefs), 0.0))
        for label, (sets, coefs) in terms.items()
    ]
    return sorted(parts, key=lambda part: len(part[0]))
