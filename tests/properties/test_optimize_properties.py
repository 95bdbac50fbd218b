"""What must hold for every function: symmetries of its optima."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skmohn.optimize import maximize, minimize

MANY = settings(max_examples=25)

N_VARIABLES = 8
seeds = st.integers(0, 2**32 - 1)
every_method = pytest.mark.parametrize(
    "method", ["auto", "hill_climb", "annealing", "tabu", "weight_satisfaction"]
)


@st.composite
def functions(draw):
    """Weights over at most eight variables, as a dict."""
    sets = st.frozensets(st.integers(0, N_VARIABLES - 1), max_size=4)
    weights = st.integers(-5, 5).map(float)
    terms = draw(st.dictionaries(sets, weights, min_size=1, max_size=25))
    return {tuple(sorted(term)): weight for term, weight in terms.items()}


def value(terms, x):
    return sum(weight * np.prod(x[list(term)]) for term, weight in terms.items())


@MANY
@given(terms=functions(), seed=seeds)
def test_relabelling_variables_moves_the_optimum(terms, seed):
    place = np.random.default_rng(seed).permutation(N_VARIABLES).tolist()
    moved = {tuple(place[i] for i in term): w for term, w in terms.items()}
    result, other = maximize(terms), maximize(moved)
    assert_allclose(other.fun, result.fun, atol=1e-9)
    assert_allclose(value(moved, other.x), other.fun, atol=1e-9)


@MANY
@given(terms=functions(), flips=st.sets(st.integers(0, N_VARIABLES - 1)))
def test_flipping_inputs_leaves_the_optimum(terms, flips):
    flipped = {t: w * (-1) ** len(flips & set(t)) for t, w in terms.items()}
    result, other = maximize(terms), maximize(flipped)
    assert_allclose(other.fun, result.fun, atol=1e-9)
    back = other.x.astype(float)
    back[[i for i in flips if i < len(back)]] *= -1
    assert_allclose(value(terms, back), result.fun, atol=1e-9)


@every_method
@MANY
@given(terms=functions(), seed=seeds)
def test_minimum_is_the_maximum_of_the_negative(method, terms, seed):
    negative = {term: -weight for term, weight in terms.items()}
    lowest = minimize(terms, method, random_state=seed)
    highest = maximize(negative, method, random_state=seed)
    assert_allclose(lowest.fun, -highest.fun, atol=1e-9)
    assert_allclose(lowest.x, highest.x)


@every_method
@MANY
@given(terms=functions(), seed=seeds)
def test_nothing_is_better_than_the_exact_optimum(method, terms, seed):
    found = maximize(terms, method, random_state=seed)
    assert_allclose(value(terms, found.x), found.fun, atol=1e-9)
    assert found.fun <= maximize(terms, "exact").fun + 1e-9


@MANY
@given(
    terms=functions(),
    fixed=st.dictionaries(st.integers(0, 3), st.sampled_from([-1, 1])),
)
def test_fixing_is_the_best_of_what_is_left(terms, fixed):
    terms = {**terms, (0, 3): 1.0}
    fixed_best = maximize(terms, fixed=fixed)
    assert all(fixed_best.x[i] == value for i, value in fixed.items())
    assert fixed_best.fun <= maximize(terms).fun + 1e-9
    # Fixing what the optimum has anyway changes nothing.
    best = maximize(terms)
    agreed = {i: best.x[i] for i in fixed}
    assert_allclose(maximize(terms, fixed=agreed).fun, best.fun, atol=1e-9)
