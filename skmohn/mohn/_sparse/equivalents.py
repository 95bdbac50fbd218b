"""Sets of inputs that say nearly the same as those in a model.

Of columns that are alike a search keeps the best, which need not be the cause. So the
others are listed: each member of a set is replaced by inputs that are correlated with
it, and the products are compared with that of the set.
"""

from itertools import product

import numpy as np

# Least correlation, up to its sign, of inputs with a member and of products.
LEAST = 0.9
# Sets listed for each, and products that are made to find them.
MOST_LISTED, _MOST_TRIED = 50, 2**12
# Of columns as numbers that are made at a time.
_BYTES = 2**25


def find_equivalents(design, terms):
    """Find the sets whose products are nearly those of some others.

    Parameters
    ----------
    design : PackedDesign, DenseDesign or PlaneDesign

    terms : sequence of tuples of int

    Returns
    -------
    found : list of list of (tuple of int, float)
        For each of the terms, sets of as many inputs and their correlations with it,
        the closest first, of those that are as close the first.
    """
    members = sorted({i for term in terms for i in term})
    alike = dict(zip(members, _alike(design, members), strict=True))
    return [_equivalents_of(design, term, alike) for term in terms]


def _alike(design, members):
    """Inputs that are correlated with each of some, and how, the closest first."""
    found = [{} for _ in members]
    for own_part in _blocks(design, len(members)):
        some = members[own_part]
        own = design.columns([(i,) for i in some])
        for part in _blocks(design, design.n_features):
            others = range(part.start, part.stop)
            correlations = _correlations(design, own, [(j,) for j in others])
            for row, column in np.argwhere(np.abs(correlations) >= LEAST).tolist():
                if others[column] != some[row]:
                    correlation = float(correlations[row, column])
                    found[own_part.start + row][others[column]] = correlation
    return [dict(_closest_first(alike)) for alike in found]


def _equivalents_of(design, term, alike):
    if len(term) == 1:
        found = {(j,): correlation for j, correlation in alike[term[0]].items()}
        return _closest_first(found)[:MOST_LISTED]
    most = int(_MOST_TRIED ** (1.0 / len(term)) + 1e-9)
    choices = [[i, *list(alike[i])[: most - 1]] for i in term]
    sets = {tuple(sorted(chosen)) for chosen in product(*choices)}
    # Equal members would leave a smaller set.
    sets = sorted(s for s in sets - {term} if len(set(s)) == len(s))
    own, found = design.columns([term]), {}
    for part in _blocks(design, len(sets)):
        (correlations,) = _correlations(design, own, sets[part])
        found |= zip(sets[part], correlations.tolist(), strict=True)
    close = {s: r for s, r in found.items() if abs(r) >= LEAST}
    return _closest_first(close)[:MOST_LISTED]


def _closest_first(correlations):
    # What differs by rounding is as close.
    return sorted(
        correlations.items(), key=lambda item: (-round(abs(item[1]), 9), item[0])
    )


def _correlations(design, left, sets):
    """Correlations of columns with the products of sets; 0 where one is constant."""
    right = design.columns(sets)
    ones = np.ones(design.n_samples)
    sums = [design.project(columns, ones) for columns in (left, right)]
    spreads = [design.spread(columns) for columns in (left, right)]
    inner = design.gram(left, right) - np.outer(*sums) / design.weight_sum
    return np.clip(inner / np.sqrt(np.outer(*spreads)), -1.0, 1.0)


def _blocks(design, n):
    size = max(_BYTES // (8 * design.n_samples), 1)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
