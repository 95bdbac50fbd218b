"""The seed problems: functions that the articles learn from samples.

Published numbers of samples are those of Swingler (2020), Learning and searching
pseudo-Boolean surrogate functions from small samples, Evolutionary Computation 28(2).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from skmohn import MOHNRegressor
from skmohn.datasets import make_bmda_quadratic, make_ising, make_mk_trap

# Values of a function that differ by less are equal.
_EQUAL = 1e-6


def function_of(data):
    """Return the function of an instance, without noise: rows to values."""
    return MOHNRegressor.from_terms(
        data.terms,
        data.weights,
        intercept=data.intercept,
        n_features=data.X.shape[1],
    ).predict


def searches_until_best(search, function, best, most=10):
    """Search until the function has its best value where a search ends.

    Parameters
    ----------
    search : callable
        Of the number of the search, from 0; returns an input.
    function : callable
        Evaluated once at the end of each search.
    best : float
        Its lowest or highest value.
    most : int, default=10

    Returns
    -------
    searches : int or None
        Number of searches, None if `most` are not enough.
    """
    for i in range(most):
        if abs(function([search(i)])[0] - best) < _EQUAL:
            return i + 1
    return None


class SeedProblem(NamedTuple):
    """A family of functions with what was published and what is aimed at.

    Attributes
    ----------
    name : str
    make : callable
        Draws an instance, given `n_samples` and `random_state`.
    published_samples : int
    seconds : float
        Aim for the median at that number of samples.
    fewest : int
        Samples that must be enough for every instance.
    fewest_aim : int
        Samples that should be enough.
    """

    name: str
    make: Callable
    published_samples: int
    seconds: float
    fewest: int
    fewest_aim: int


def _ising(couplings, *shape):
    return partial(make_ising, shape, couplings=couplings, optimum=False)


def _trap(k, m):
    return partial(make_mk_trap, k, m, shuffle=True)


def _quadratic(n):
    return partial(make_bmda_quadratic, n)


_ROWS = (
    ("Ising 10x10 pm1", _ising("pm1", 10, 10), 3000, 0.4, 1100, 900),
    ("Ising 10x10 gauss", _ising("gaussian", 10, 10), 3000, 0.4, 800, 600),
    ("Ising 5x5x5 pm1", _ising("pm1", 5, 5, 5), 5000, 2.0, 2000, 2000),
    ("Ising 5x5x5 gauss", _ising("gaussian", 5, 5, 5), 5000, 2.0, 1300, 1300),
    ("4-trap 40", _trap(4, 10), 2000, 0.1, 800, 600),
    ("4-trap 80", _trap(4, 20), 10000, 0.3, 1500, 1500),
    ("5-trap 25", _trap(5, 5), 1000, 0.1, 600, 600),
    ("5-trap 50", _trap(5, 10), 20000, 0.6, 1400, 1400),
    ("quadratic 40", _quadratic(40), 390, 0.1, 180, 180),
    ("quadratic 80", _quadratic(80), 1580, 0.1, 350, 350),
    ("quadratic 120", _quadratic(120), 3570, 0.1, 500, 500),
)
SEED_PROBLEMS = {row[0]: SeedProblem(*row) for row in _ROWS}
