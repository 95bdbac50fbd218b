"""What must hold for every function: symmetries of its optima."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skmohn.optimize import maximize, minimize
from skmohn.optimize._methods import Budget
from skmohn.optimize._product_sums import DiscreteProductSum, solve_product_sum
from skmohn.optimize._solve import SearchProblem

MANY = settings(max_examples=settings.default.max_examples // 4)

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
def test_relabeling_variables_moves_the_optimum(terms, seed):
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


@pytest.mark.slow_cases("tabu|hill_climb|weight_satisfaction")
@every_method
@MANY
@given(terms=functions(), seed=seeds)
def test_minimum_is_the_maximum_of_the_negative(method, terms, seed):
    negative = {term: -weight for term, weight in terms.items()}
    lowest = minimize(terms, method, random_state=seed)
    highest = maximize(negative, method, random_state=seed)
    assert_allclose(lowest.fun, -highest.fun, atol=1e-9)
    assert_allclose(lowest.x, highest.x)


@pytest.mark.slow_cases("hill_climb|tabu")
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


# --------------------------------------------------------- variables of several states


@st.composite
def sums_of_products(draw):
    """Products with factors, and steps, of variables of two to four states."""
    sizes = np.array(draw(st.lists(st.integers(2, 4), min_size=1, max_size=5)))
    n_states, n_products = sizes.sum(), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(seeds))
    factors = rng.choice([-1.0, 1e-15, 0.5, 1.0], (n_states, n_products))
    steps = rng.integers(-2, 3, n_states).astype(float)
    return DiscreteProductSum(rng.normal(size=n_products), factors, steps, sizes)


def search(function, method, seed=0):
    problem = SearchProblem(
        graph=function,
        start=None,
        seed=seed,
        n_restarts=3,
        budget=Budget(np.inf, np.inf),
        n_jobs=None,
        keep_optima=False,
        report=lambda found: False,
    )
    found = solve_product_sum(problem, method, {})
    return function.predict(found.spins[None])[0]


@MANY
@given(function=sums_of_products(), seed=seeds)
def test_nothing_is_better_than_the_best_of_all_points(function, seed):
    points = np.stack(np.meshgrid(*map(np.arange, function.sizes)), axis=-1)
    values = function.predict(points.reshape(-1, function.n_variables))
    best = search(function, "exact")
    assert_allclose(best, values.max(), atol=1e-9)
    for method in ("tabu", "hill_climb"):
        assert search(function, method, seed) <= best + 1e-9


@MANY
@given(function=sums_of_products(), seed=seeds)
def test_another_order_of_states_and_variables_has_the_same_optimum(function, seed):
    rng = np.random.default_rng(seed)
    variables = rng.permutation(function.n_variables)
    states = [function.states_of([i]) for i in variables]
    order = np.concatenate([rng.permutation(own) for own in states])
    moved = DiscreteProductSum(
        function.weights,
        function.factors[order],
        function.steps[order],
        function.sizes[variables],
    )
    best, other = search(function, "exact"), search(moved, "exact")
    assert_allclose(other, best, atol=1e-9)
