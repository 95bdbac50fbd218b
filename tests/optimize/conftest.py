"""Functions of spins, and all their values."""

import numpy as np
import pytest
from support import all_points


def random_terms(rng, n_variables, n_terms, max_order=4):
    """A dict from tuples to normal weights that has every variable."""
    terms = {(i,): rng.normal() for i in range(n_variables)}
    for _ in range(n_terms):
        order = rng.integers(1, min(max_order, n_variables) + 1)
        term = rng.choice(n_variables, order, replace=False)
        terms[tuple(sorted(term.tolist()))] = rng.normal()
    terms[()] = rng.normal()
    return terms


def evaluate(terms, points):
    """Values at rows of -1 and +1, straight from the definition."""
    points = np.asarray(points, dtype=float)
    return sum(weight * points[:, list(t)].prod(axis=1) for t, weight in terms.items())


class Problems:
    """The functions above, for tests, which cannot import them."""

    random_terms = staticmethod(random_terms)
    evaluate = staticmethod(evaluate)
    all_points = staticmethod(all_points)


@pytest.fixture(scope="session")
def problems():
    """Functions of spins, and all their values."""
    return Problems
