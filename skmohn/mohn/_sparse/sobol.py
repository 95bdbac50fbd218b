"""How much of a function's variance each variable has to do with."""

from functools import reduce
from itertools import chain, combinations

import numpy as np

from skmohn._core._units import binary_unit


def parts_of_terms(terms, weights, vocabulary, columns):
    """Split the variance of a sum of terms that are orthogonal to each other.

    Parameters
    ----------
    terms : list of tuples
        As `terms_` has them.

    weights : ndarray of shape (n_terms,)

    vocabulary : Vocabulary

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
    shares = vocabulary.share(vocabulary.places(terms))
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
    """The column of an input, or of a category."""
    return label[0] if isinstance(label, tuple) else label


def shares_of_products(terms, weights, vocabulary):
    """Total Sobol indices of sums of products in which categories are inputs.

    Categories of a categorical exclude each other, so that products of them are not
    orthogonal: they are summed to the part of the function that depends on just these
    variables.

    Parameters
    ----------
    terms : list of tuples of int
        Members of each product; a category is +1 where it is there and else -1.

    weights : ndarray of shape (n_functions, n_terms)

    vocabulary : Vocabulary

    Returns
    -------
    shares : ndarray of shape (n_variables,)
        Of inputs, then categoricals: the share of the variance of all functions
        together that each takes part in. All are 0 where the functions are constant.
    """
    weights = weights / binary_unit(weights)
    values, chances = _categories_of_categoricals(terms, vocabulary)
    parts = {}
    for term, own in zip(terms, weights.T, strict=True):
        inputs, categoricals = [], {}
        for m in term:
            variable = int(vocabulary.groups[m])
            if variable in chances:
                categoricals[variable] = categoricals.get(variable, 1.0) * values[m]
            else:
                inputs.append(variable)
        means = {
            categorical: chances[categorical] @ value
            for categorical, value in categoricals.items()
        }
        for varying in _subsets(sorted(categoricals)):
            factor = np.prod(
                [
                    means[categorical]
                    for categorical in categoricals
                    if categorical not in varying
                ]
            )
            apart = [
                categoricals[categorical] - means[categorical]
                for categorical in varying
            ]
            part = factor * reduce(np.multiply.outer, apart, own)
            key = tuple(inputs), varying
            parts[key] = parts.get(key, 0.0) + part
    n_variables, variance = vocabulary.groups.max(initial=-1) + 1, 0.0
    total = np.zeros(n_variables)
    for (inputs, categoricals), part in parts.items():
        if inputs or categoricals:
            squares = part**2
            for categorical in reversed(categoricals):
                squares = squares @ chances[categorical]
            square = squares.sum() * np.prod(vocabulary.variances[list(inputs)])
            total[[*inputs, *categoricals]] += square
            variance += square
    return total / (variance or 1.0)


def _categories_of_categoricals(terms, vocabulary):
    """Values of the categories in terms, and how probable each of these categories is.

    All other categories of a categorical are alike, and are one more, the last.
    """
    used = sorted(set(chain.from_iterable(terms)))
    n_inputs = vocabulary.n_categoricals - len(vocabulary.alphabets)
    values, chances = {}, {}
    for categorical, (size, _) in enumerate(vocabulary.alphabets, start=n_inputs):
        categories = [m for m in used if vocabulary.groups[m] == categorical]
        columns = 2.0 * np.eye(len(categories) + 1)[:-1] - 1.0
        values.update(zip(categories, columns, strict=True))
        rest = (size - len(categories)) / size
        chances[categorical] = np.array([1.0 / size] * len(categories) + [rest])
    return values, chances


def _subsets(items):
    sizes = range(len(items) + 1)
    return chain.from_iterable(combinations(items, size) for size in sizes)
