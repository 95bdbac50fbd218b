"""How much of a function's variance each variable has to do with."""

from functools import reduce
from itertools import chain, combinations

import numpy as np

from skmohn._core._units import power_of_two_scale
from skmohn.mohn._table.variables import input_moments

# Subsets of all products together that are looked at; that many inputs have more.
_MOST_SUBSETS = 2.0**20
_MANY = 64


def split_variance(graph, variables):
    """Split the variance of a sum of products of independent inputs.

    Written in standardized inputs, ``x = mean + std z``, the products are orthogonal to
    each other, and the variance is the sum of the squares of their weights.

    Parameters
    ----------
    graph : WalshPolynomial

    variables : list of Variable
        Each with an input of its own, or none.

    Returns
    -------
    variance : float
        In units of the square of the largest weight, as are the others: squares of
        weights themselves may be too large or too small for a float.

    first, total : ndarrays of shape (n_variables,)
        What each variable explains alone, and all that it takes part in.
    """
    n_inputs = max(graph.n_variables, _n_inputs(variables))
    means, variances = input_moments(n_inputs, variables)
    weights = graph.coef / power_of_two_scale(graph.coef)
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


def standardize_terms(terms, weights, means):
    """Write a sum of products in inputs less their means.

    Parameters
    ----------
    terms : sequence of tuples of int
        Sorted members of each product.

    weights : ndarray of shape (n_terms,) or (n_terms, n_functions)

    means : ndarray of shape (n_inputs,)

    Returns
    -------
    terms : list of tuples of int
        All subsets of those products but the empty one, as far as means are not 0.

    weights : ndarray of shape (n_sets,) or (n_sets, n_functions)
    """
    found = dict(zip(terms, weights, strict=True))
    with_input = {}
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


def contrast_rows(n_inputs, variables, wanted):
    """Rows between which one input moves, and all others are at their means.

    Parameters
    ----------
    n_inputs : int
        How many the function knows.

    variables, wanted
        See `Model.contrasts`.

    Returns
    -------
    start, end : ndarrays of shape (n_wanted, n_inputs)
    """
    n_inputs = max(n_inputs, _n_inputs(variables))
    means, _ = input_moments(n_inputs, variables)
    rows = np.tile(means, (2, len(wanted), 1))
    for k, (number, start, end) in enumerate(wanted):
        i = variables[number].input
        if i is not None:
            rows[:, k, i] = start[0], end[0]
    return rows


def _n_inputs(variables):
    return 1 + max((v.input for v in variables if v.input is not None), default=-1)


def _is_expanded(terms, means):
    """Whether subsets of the products are few enough to look at each."""
    moved = [[i for i in term if means[i]] for term in terms]
    all_of_them = len(set(chain.from_iterable(moved)))
    most = sum(2.0 ** min(len(term), _MANY) for term in moved)
    return min(most, 2.0 ** min(all_of_them, _MANY)) <= _MOST_SUBSETS


def _sum_squares(terms, weights, variances):
    """Variance, and the parts of each input, of products that are orthogonal."""
    first, total = np.zeros((2, len(variances)))
    variance = 0.0
    for term, weight in zip(terms, weights.tolist(), strict=True):
        square = weight**2 * float(np.prod(variances[list(term)]))
        variance += square
        total[list(term)] += square
        if len(term) == 1:
            first[term[0]] += square
    return variance, first, total


def _sum_pairs(terms, weights, means, variances):
    """The same by sums over pairs of products, of any order. O(n_inputs n_terms^2)."""
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


def _slope(i, own, members, weights, means):
    """Of the function along one input, where all others are at their means."""
    slope = weights[own].copy()
    for other in np.flatnonzero(members[:, own].any(axis=1)).tolist():
        if other != i:
            slope *= np.where(members[other, own], means[other], 1.0)
    return float(slope.sum())


def column_of(label):
    """The column of an input, or of a category."""
    return label[0] if isinstance(label, tuple) else label


def sobol_variances_of_products(terms, weights, term_names, variables):
    """Total Sobol indices of sums of products in which categories are inputs.

    Categories of a categorical exclude each other, so that products of them are not
    orthogonal: they are summed to the part of the function that depends on just these
    variables.

    Parameters
    ----------
    terms : list of tuples of int
        Members of each product; a category is +1 where it is there and else -1.

    weights : ndarray of shape (n_functions, n_terms)

    term_names : Vocabulary

    variables : list of Variable
        Inputs, then categoricals.

    Returns
    -------
    variances : ndarray of shape (n_variables,)
        Of these: the proportion of the variance of all functions
        together that each takes part in. All are 0 where the functions are constant.
    """
    weights = weights / power_of_two_scale(weights)
    values, chances = _categories_of_categoricals(terms, term_names, variables)
    n_members = len(term_names.groups)
    means, variances = input_moments(n_members, variables)
    if not (chances or _is_expanded(terms, means)):
        # Of products of many inputs, in which nothing excludes another.
        found = [_sum_pairs(terms, own, means, variances) for own in weights]
        total = np.sum([part[2] for part in found], axis=0)[: len(variables)]
        return total / (sum(part[0] for part in found) or 1.0)
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


def _categories_of_categoricals(terms, term_names, variables):
    """Values of the categories in terms, and how probable each of these categories is.

    All other categories of a categorical are alike, and are one more, the last.
    """
    used = sorted(set(chain.from_iterable(terms)))
    n_inputs = term_names.n_categoricals - len(term_names.alphabets)
    values, chances, first = {}, {}, n_inputs
    for categorical, (size, _) in enumerate(term_names.alphabets, start=n_inputs):
        categories = [m for m in used if term_names.groups[m] == categorical]
        columns = 2.0 * np.eye(len(categories) + 1)[:-1] - 1.0
        values.update(zip(categories, columns, strict=True))
        own = variables[categorical].frequency[np.array(categories, dtype=int) - first]
        chances[categorical] = np.append(own, max(1.0 - own.sum(), 0.0))
        first += size
    return values, chances


def _subsets(items):
    sizes = range(len(items) + 1)
    return chain.from_iterable(combinations(items, size) for size in sizes)
