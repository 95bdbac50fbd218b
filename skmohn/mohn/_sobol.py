"""How much of a function's variance each variable has to do with."""

from functools import reduce
from itertools import chain, combinations

import numpy as np

from skmohn._core._units import binary_unit


def parts_of_terms(terms, weights, members, columns):
    """Split the variance of a sum of terms that are orthogonal to each other.

    Parameters
    ----------
    terms : list of tuples
        As `terms_` has them.

    weights : ndarray of shape (n_terms,)

    members : Members

    columns : list of tuples of int
        Those of each variable.

    Returns
    -------
    variance : float
        In units of the square of the largest weight, as are the others: squares of
        weights themselves may be too large or too small for a float.

    first, total : ndarrays of shape (n_variables,)
        What each variable explains alone, and all that it takes part in.
    """
    shares = members.share(members.places(terms))
    squares = (weights / binary_unit(weights)) ** 2 * shares
    variable = {column: k for k, own in enumerate(columns) for column in own}
    first, total = np.zeros((2, len(columns)))
    for term, square in zip(terms, squares.tolist(), strict=True):
        own = list({variable[column_of(label)] for label in term})
        total[own] += square
        if len(own) == 1:
            first[own] += square
    return squares.sum(), first, total


def column_of(label):
    """The column of an input, or of a letter."""
    return label[0] if isinstance(label, tuple) else label


def shares_of_products(terms, weights, members):
    """Total Sobol indices of sums of products in which letters are inputs.

    Letters of a site exclude each other, so that products of them are not orthogonal:
    they are summed to the part of the function that depends on just these variables.

    Parameters
    ----------
    terms : list of tuples of int
        Members of each product; a letter is +1 where it is there and else -1.

    weights : ndarray of shape (n_functions, n_terms)

    members : Members

    Returns
    -------
    shares : ndarray of shape (n_variables,)
        Of inputs, then sites: the share of the variance of all functions together that
        each takes part in. All are 0 where the functions are constant.
    """
    weights = weights / binary_unit(weights)
    values, chances = _letters_of_sites(terms, members)
    parts = {}
    for term, own in zip(terms, weights.T, strict=True):
        inputs, sites = [], {}
        for m in term:
            variable = int(members.groups[m])
            if variable in chances:
                sites[variable] = sites.get(variable, 1.0) * values[m]
            else:
                inputs.append(variable)
        means = {site: chances[site] @ value for site, value in sites.items()}
        for varying in _subsets(sorted(sites)):
            factor = np.prod([means[site] for site in sites if site not in varying])
            apart = [sites[site] - means[site] for site in varying]
            part = factor * reduce(np.multiply.outer, apart, own)
            key = tuple(inputs), varying
            parts[key] = parts.get(key, 0.0) + part
    n_variables, variance = members.groups.max(initial=-1) + 1, 0.0
    total = np.zeros(n_variables)
    for (inputs, sites), part in parts.items():
        if inputs or sites:
            squares = part**2
            for site in reversed(sites):
                squares = squares @ chances[site]
            square = squares.sum() * np.prod(members.variances[list(inputs)])
            total[[*inputs, *sites]] += square
            variance += square
    return total / (variance or 1.0)


def _letters_of_sites(terms, members):
    """Values of the letters in terms, and how probable each of these letters is.

    All other letters of a site are alike, and are one more, the last.
    """
    used = sorted(set(chain.from_iterable(terms)))
    n_inputs = members.n_sites - len(members.alphabets)
    values, chances = {}, {}
    for site, (size, _) in enumerate(members.alphabets, start=n_inputs):
        letters = [m for m in used if members.groups[m] == site]
        columns = 2.0 * np.eye(len(letters) + 1)[:-1] - 1.0
        values.update(zip(letters, columns, strict=True))
        rest = (size - len(letters)) / size
        chances[site] = np.array([1.0 / size] * len(letters) + [rest])
    return values, chances


def _subsets(items):
    sizes = range(len(items) + 1)
    return chain.from_iterable(combinations(items, size) for size in sizes)
