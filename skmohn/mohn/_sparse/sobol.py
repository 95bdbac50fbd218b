"""Sobol decomposition of a function's variance over its variables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial, flatten_sets
from skmohn.mohn._table.term_names import TermNames
from skmohn.mohn._table.variables import Contrast, Variable, input_moments


@dataclass(frozen=True)
class SobolConstants:
    """Indices of products of dependent columns."""

    # Most subsets of all products together, and those that take no longer than sums
    # over pairs: always so many, and one per so many updates of a pair by an input.
    max_subsets: float = tuned(2.0**20, "cost")
    n_easy_subsets: float = tuned(200.0, "cost")
    updates_per_subset: float = tuned(1500.0, "cost")


_SOBOL = SobolConstants()

# Numbers of subsets as powers of two are floats up to here and beyond what is counted.
_MAX_EXPONENT: Final = 64


def split_variance(
    graph: WalshPolynomial, variables: list[Variable]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Variance of a sum of products; first and total Sobol variances of variables."""
    # In independent standardized inputs, ``x = mean + std z``, products are orthogonal:
    # the variance is the sum of the squares of their weights. In units of the square of
    # the largest weight: squares of weights themselves may overflow or underflow.
    n_inputs = max(graph.n_variables, _n_inputs(variables))
    means, variances = input_moments(n_inputs, variables)
    weights = graph.weights / power_of_two_scale(graph.weights)
    if _is_expanded(graph.terms, means):
        centered = standardize_terms(graph.terms, weights, means)
        variance, first, total = _sum_squares(*centered, variances)
    else:
        variance, first, total = _sum_pairs(graph.terms, weights, means, variances)
    parts = np.zeros((2, len(variables)))
    for k, variable in enumerate(variables):
        if variable.input is not None:
            parts[:, k] = first[variable.input], total[variable.input]
    return variance, parts[0], parts[1]


def standardize_terms(
    terms: Sequence[Term], weights: NDArray[np.float64], means: NDArray[np.float64]
) -> tuple[list[Term], NDArray[np.float64]]:
    """Expand a sum of products in inputs less their means."""
    # Weights are (n_terms,) or (n_terms, n_functions). Returned are all subsets of the
    # products except the empty one, as far as means are not 0, and their weights.
    found: dict[Term, Any] = dict(zip(terms, weights, strict=True))
    with_input: dict[int, list[Term]] = {}
    for term in found:
        for i in term:
            with_input.setdefault(i, []).append(term)
    for i in sorted(with_input):
        if means[i] == 0.0:
            continue
        for term in with_input[i]:
            rest = tuple(m for m in term if m != i)
            if rest and rest not in found:
                found[rest] = 0.0
                for m in rest:
                    if m > i:
                        with_input[m].append(rest)
            if rest:
                found[rest] = found[rest] + means[i] * found[term]
    return list(found), np.array(list(found.values()))


def contrast_rows(
    n_inputs: int, variables: list[Variable], wanted: Sequence[Contrast]
) -> NDArray[np.float64]:
    """Rows between which one input moves, and all others are at their means."""
    # `n_inputs` are those of the function; see `Model.contrasts`. Starts and ends of
    # shape (2, n_wanted, n_inputs).
    n_inputs = max(n_inputs, _n_inputs(variables))
    means, _ = input_moments(n_inputs, variables)
    rows = np.tile(means, (2, len(wanted), 1))
    for k, (number, start, end) in enumerate(wanted):
        i = variables[number].input
        if i is not None:
            rows[:, k, i] = start[0], end[0]
    return rows


def _n_inputs(variables: list[Variable]) -> int:
    return 1 + max((v.input for v in variables if v.input is not None), default=-1)


def _is_expanded(terms: Sequence[Term], means: NDArray[np.float64]) -> bool:
    """Whether the subsets of the products are few, beside pairs of the products."""
    moved = [[i for i in term if means[i]] for term in terms]
    all_of_them = len(set(chain.from_iterable(moved)))
    max_subsets = sum(2.0 ** min(len(term), _MAX_EXPONENT) for term in moved)
    n_subsets = min(max_subsets, 2.0 ** min(all_of_them, _MAX_EXPONENT))
    n_updates = len(set(chain.from_iterable(terms))) * len(terms) ** 2
    as_fast = _SOBOL.n_easy_subsets + n_updates / _SOBOL.updates_per_subset
    return n_subsets <= min(as_fast, _SOBOL.max_subsets)


def _sum_squares(
    terms: Sequence[Term], weights: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Variance, and the parts of each input, of products that are orthogonal."""
    if not len(terms):
        return 0.0, np.zeros(len(variances)), np.zeros(len(variances))
    starts, members = flatten_sets(terms)
    orders = np.diff(starts)
    squares = weights**2 * np.multiply.reduceat(variances[members], starts[:-1])
    total = np.bincount(members, np.repeat(squares, orders), len(variances))
    alone = members[starts[:-1][orders == 1]]
    first = np.bincount(alone, squares[orders == 1], len(variances))
    return float(squares.sum()), first, total


def _sum_pairs(
    terms: Sequence[Term],
    weights: NDArray[np.float64],
    means: NDArray[np.float64],
    variances: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Sobol variances by sums over pairs of products. O(n_inputs n_terms^2)."""
    members = np.zeros((len(means), len(terms)), dtype=bool)
    for j, term in enumerate(terms):
        members[list(term), j] = True
    squares = means**2 + variances
    used = np.flatnonzero(members.any(axis=1)).tolist()
    joint = np.multiply.outer(weights, weights)
    apart = weights.copy()
    for i in used:
        factors = np.where(members[i], means[i], 1.0)
        apart *= factors
        both = np.logical_and.outer(members[i], members[i])
        joint *= np.where(both, squares[i], np.multiply.outer(factors, factors))
    first, total = np.zeros((2, len(means)))
    for i in used:
        own = np.flatnonzero(members[i])
        among = joint[np.ix_(own, own)]
        total[i] = variances[i] / squares[i] * float(among.sum())
        first[i] = variances[i] * _slope(i, own, members, weights, means) ** 2
    return max(float(joint.sum()) - float(apart.sum()) ** 2, 0.0), first, total


def _slope(
    i: int,
    own: NDArray[np.intp],
    members: NDArray[np.bool_],
    weights: NDArray[np.float64],
    means: NDArray[np.float64],
) -> float:
    """Slope of the function along one input, where all others are at their means."""
    slope = weights[own].copy()
    for other in np.flatnonzero(members[:, own].any(axis=1)).tolist():
        if other != i:
            slope *= np.where(members[other, own], means[other], 1.0)
    return float(slope.sum())


def column_of(label: int | tuple[int, Any]) -> int:
    """Column of an input, or of a category."""
    return label[0] if isinstance(label, tuple) else label


def sobol_variances_of_products(
    terms: Sequence[Term],
    weights: NDArray[np.float64],
    term_names: TermNames,
    variables: list[Variable],
) -> NDArray[np.float64]:
    """Total Sobol indices of sums of products in which categories are inputs."""
    # Categories of a categorical exclude each other, so that products of them are not
    # orthogonal: they are summed to the part of the function that depends on just these
    # variables. A category is +1 where it is present and else -1; weights are
    # (n_functions, n_terms); variables are inputs, then categoricals. Returned is the
    # fraction of the variance of all functions together in which each variable takes
    # part; all are 0 where the functions are constant.
    weights = weights / power_of_two_scale(weights)
    values, chances = _categories_of_categoricals(terms, term_names, variables)
    n_members = len(term_names.groups)
    means, variances = input_moments(n_members, variables)
    is_category = np.isin(term_names.groups, list(chances))
    if not _is_expanded(terms, np.where(is_category, 1.0, means)):
        stds = np.sqrt(variances)
        for m in set(chain.from_iterable(terms)):
            if not is_category[m]:
                # Two values that have the moments of all.
                values[m] = means[m] + np.array([-stds[m], stds[m]])
                chances[int(term_names.groups[m])] = np.full(2, 0.5)
        return _total_by_pairs(terms, weights, term_names.groups, values, chances)
    terms, weights = standardize_terms(terms, weights.T, means)
    parts = {}
    for term, own in zip(terms, weights, strict=True):
        inputs, categoricals = [], {}
        for m in term:
            variable = int(term_names.groups[m])
            if variable in chances:
                categoricals[variable] = categoricals.get(variable, 1.0) * values[m]
            else:
                inputs.append(variable)
        centers = {
            categorical: chances[categorical] @ value
            for categorical, value in categoricals.items()
        }
        for varying in _subsets(sorted(categoricals)):
            factor = np.prod(
                [
                    centers[categorical]
                    for categorical in categoricals
                    if categorical not in varying
                ]
            )
            apart = [
                categoricals[categorical] - centers[categorical]
                for categorical in varying
            ]
            part = factor * reduce(np.multiply.outer, apart, own)
            key = tuple(inputs), varying
            parts[key] = parts.get(key, 0.0) + part
    n_variables, variance = term_names.groups.max(initial=-1) + 1, 0.0
    total = np.zeros(n_variables)
    for (inputs, categoricals), part in parts.items():
        if inputs or categoricals:
            squares = part**2
            for categorical in reversed(categoricals):
                squares = squares @ chances[categorical]
            square = squares.sum() * np.prod(variances[list(inputs)])
            total[[*inputs, *categoricals]] += square
            variance += square
    return total / (variance or 1.0)


def _total_by_pairs(
    terms: Sequence[Term],
    weights: NDArray[np.float64],  # (n_functions, n_terms)
    groups: NDArray[np.intp],  # the variable of each member
    values: dict[int, NDArray[np.float64]],  # of each member, by values of its variable
    chances: dict[int, NDArray[np.float64]],  # probabilities of these
) -> NDArray[np.float64]:
    """Fractions of variance of variables, by sums over pairs of products."""
    factors = {v: np.ones((len(terms), len(own))) for v, own in chances.items()}
    for j, term in enumerate(terms):
        for m in term:
            factors[int(groups[m])][j] *= values[m]
    has = {v: np.any(own != 1.0, axis=1) for v, own in factors.items()}
    joint = weights.T @ weights

    def mean_products(among: NDArray[np.intp], varying: int = -1) -> NDArray[Any]:
        # Means of products of two products, but for the factors of one variable.
        found = joint[np.ix_(among, among)]
        for v, own in factors.items():
            if v != varying and has[v][among].any():
                found *= (own[among] * chances[v]) @ own[among].T
        return found

    apart = np.prod([own @ chances[v] for v, own in factors.items()], axis=0)
    variance = float(mean_products(np.arange(len(terms))).sum())
    variance -= float(np.sum((weights @ apart) ** 2))
    total = np.zeros(groups.max(initial=-1) + 1)
    for v, own in factors.items():
        among = np.flatnonzero(has[v])
        centered = own[among] - (own[among] @ chances[v])[:, None]
        covariance = (centered * chances[v]) @ centered.T
        total[v] = float(np.sum(mean_products(among, v) * covariance))
    return np.maximum(total, 0.0) / (variance if variance > 0.0 else 1.0)


def _categories_of_categoricals(
    terms: Sequence[Term], term_names: TermNames, variables: list[Variable]
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Values of the categories in terms, and the probabilities of these categories."""
    # All other categories of a categorical are equivalent, and are one more, the last.
    used = sorted(set(chain.from_iterable(terms)))
    n_inputs = term_names.n_categoricals - len(term_names.alphabets)
    values, chances, first = {}, {}, n_inputs
    for categorical, (size, *_) in enumerate(term_names.alphabets, start=n_inputs):
        categories = [m for m in used if term_names.groups[m] == categorical]
        columns = 2.0 * np.eye(len(categories) + 1)[:-1] - 1.0
        values.update(zip(categories, columns, strict=True))
        own = variables[categorical].frequency[np.array(categories, dtype=int) - first]
        chances[categorical] = np.append(own, max(1.0 - own.sum(), 0.0))
        first += size
    return values, chances


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    sizes = range(len(items) + 1)
    return chain.from_iterable(combinations(items, size) for size in sizes)
