"""The compiled searches, against full evaluations and enumeration."""

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest, chisquare

from skmohn._core._kernel_args import Borrowable
from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize import _kernels
from skmohn.optimize._methods import make_memory
from skmohn.optimize._polynomial import make_polynomial, make_state


def graph_of(terms):
    return WalshPolynomial.sort(list(terms), list(terms.values()), 0.0)


def ready(problems, seed=0, n_variables=12, n_terms=40):
    """A random function, laid out, with a search at a random point."""
    rng = np.random.default_rng(seed)
    terms = problems.random_terms(rng, n_variables, n_terms)
    terms.pop(())
    polynomial = make_polynomial(graph_of(terms), n_variables)
    spins = rng.choice([-1, 1], n_variables)
    return rng, terms, polynomial, make_state(polynomial, spins, seed)


def call(kernel, *arguments):
    """Call a kernel with the address of what it borrows."""
    given = (
        each.address if isinstance(each, Borrowable) else each for each in arguments
    )
    return kernel(*given)


def gains_by_definition(problems, terms, spins):
    flipped = spins * (1 - 2 * np.eye(len(spins)))
    return problems.evaluate(terms, flipped) - problems.evaluate(terms, spins[None])


def assert_consistent(problems, terms, state, tolerance=1e-9):
    spins = state.spins.astype(float)
    value = problems.evaluate(terms, spins[None])[0]
    gains = gains_by_definition(problems, terms, spins)
    assert_allclose(state.totals[0], value, atol=tolerance)
    assert_allclose(state.gains, gains, atol=tolerance)


@pytest.mark.parametrize("seed", range(3))
def test_gains_are_differences_of_values(problems, seed):
    _, terms, _, state = ready(problems, seed)
    assert_consistent(problems, terms, state)


def test_a_million_random_flips_keep_value_and_gains(problems):
    rng, terms, polynomial, state = ready(problems, n_variables=60, n_terms=200)
    moves = rng.integers(60, size=10**6).astype(np.int32)
    call(_kernels.flip_all, polynomial, state, moves)
    odd = np.bincount(moves, minlength=60) % 2 == 1
    assert odd.any()
    assert_array_equal(
        state.spins,
        np.where(odd, -1, 1) * ready(problems, n_variables=60, n_terms=200)[3].spins,
    )
    assert_consistent(problems, terms, state)


@pytest.mark.parametrize("search", ["climb", "anneal", "satisfy", "tabu"])
def test_searches_keep_value_gains_and_best(problems, search):
    _, terms, polynomial, state = ready(problems, n_variables=30, n_terms=90)
    if search == "climb":
        call(
            _kernels.climb,
            polynomial,
            state,
            np.arange(30, dtype=np.int32),
            1e-9,
            10**9,
        )
        assert np.all(state.gains <= 1e-9)
    elif search == "anneal":
        call(_kernels.anneal, polynomial, state, np.geomspace(0.1, 5, 300), 1e-9)
    elif search == "satisfy":
        order = np.arange(len(polynomial.coef), dtype=np.int32)
        changed = True
        while changed:
            _, changed = call(
                _kernels.satisfy, polynomial, state, order, 12, 1e-9, 10**9
            )
        assert np.all(state.gains <= 1e-9)
    else:
        memory = make_memory(30, 7)
        _kernels.start_tabu(state, memory)
        # In parts: what is tabu carries over.
        for n_steps in (1, 500, 1500):
            call(_kernels.tabu, polynomial, state, memory, n_steps, 2, 7, 1e-9)
    assert_consistent(problems, terms, state)
    best = problems.evaluate(terms, state.best[None])[0]
    assert_allclose(state.totals[1], best, atol=1e-9)
    assert best >= state.totals[0] - 1e-9


def test_term_is_given_its_best_setting(problems):
    # Both variables must change, and each change alone is a loss.
    terms = {(0, 1): 3.0, (0,): 1.0, (1,): 1.0}
    polynomial = make_polynomial(graph_of(terms), 2)
    state = make_state(polynomial, [-1, -1], 0)
    order = np.arange(3, dtype=np.int32)
    call(_kernels.climb, polynomial, state, order[:2], 1e-9, 10**9)
    assert_array_equal(state.spins, [-1, -1])
    _, changed = call(_kernels.satisfy, polynomial, state, order, 12, 1e-9, 10**9)
    assert changed
    assert_array_equal(state.best, [1, 1])


def test_long_term_is_climbed_on():
    terms = {(0, 1, 2): 1.0, (0,): 0.5}
    polynomial = make_polynomial(graph_of(terms), 3)
    state = make_state(polynomial, [-1, 1, 1], 0)
    order = np.array([1], dtype=np.int32)
    n_evaluations, changed = call(
        _kernels.satisfy, polynomial, state, order, 2, 1e-9, 10**9
    )
    assert changed
    assert state.totals[0] == 1.5
    # Two passes over three variables; all eight settings would take seven flips.
    assert n_evaluations == 6


def test_annealing_at_one_temperature_draws_from_boltzmann(problems):
    """Independent runs end at points in proportion to exp(f / T)."""
    terms = {(0,): 0.3, (0, 1): -0.7, (1, 2, 3): 0.6, (0, 1, 2, 3): -0.4, (2, 3): 0.5}
    polynomial = make_polynomial(graph_of(terms), 4)
    points = problems.all_points(4)
    beta, n_runs = 0.8, 40_000
    probability = np.exp(beta * problems.evaluate(terms, points))
    probability /= probability.sum()
    state = make_state(polynomial, points[0], 12345)
    arrays = polynomial.address, state.address
    sweeps = np.full(40, beta)
    counts = np.zeros(16)
    for _ in range(n_runs):
        state.spins[:] = points[0]
        _kernels.refresh(*arrays)
        _kernels.anneal(*arrays, sweeps, 1e-9)
        counts[((state.spins > 0) * [8, 4, 2, 1]).sum()] += 1
    assert chisquare(counts, probability * n_runs).pvalue > 1e-3
    # The test can tell: a temperature that is a twentieth off fails.
    wrong = np.exp(1.05 * beta * problems.evaluate(terms, points))
    assert chisquare(counts, wrong / wrong.sum() * n_runs).pvalue < 1e-3


# What is for other kernels can not be called from Python.
@njit
def is_accepted(loss, z):
    return _kernels._is_accepted(loss, z)


@pytest.mark.parametrize("loss", [1e-3, 0.5, 2.0, 6.0, 9.0])
def test_acceptance_is_exponential(loss):
    n_draws = 200_000
    seeds = np.random.default_rng(0).integers(2**63, size=n_draws, dtype=np.uint64)
    accepted = sum(is_accepted(loss, seed) for seed in seeds)
    assert binomtest(accepted, n_draws, np.exp(-loss)).pvalue > 1e-4


def tabu_by_definition(problems, terms, spins, tenure, n_steps):
    """Values along a tabu search with one tenure, by full evaluation of all flips.

    The second result is how often a tabu flip was made because it gave the best value.
    """
    spins, expiry = spins.astype(float), np.zeros(len(spins))
    value = problems.evaluate(terms, spins[None])[0]
    best, values, n_aspired = value, [], 0
    for step in range(1, n_steps + 1):
        gains = gains_by_definition(problems, terms, spins)
        free = expiry <= step
        allowed = np.where(free | (value + gains > best + 1e-9), gains, -np.inf)
        if allowed.max() > -np.inf:
            i = int(np.argmax(allowed))
            n_aspired += not free[i]
            spins[i] *= -1
            value += gains[i]
            expiry[i] = step + tenure
            best = max(best, value)
        values.append(value)
    return values, n_aspired


@pytest.mark.parametrize(
    ("seed", "tenure", "aspires"),
    [(3, 0, False), (3, 1, False), (3, 4, False), (3, 9, False), (11, 6, True)],
)
def test_tabu_makes_the_best_flip_that_is_allowed(problems, seed, tenure, aspires):
    _, terms, polynomial, state = ready(problems, seed, n_variables=9, n_terms=30)
    expected, n_aspired = tabu_by_definition(problems, terms, state.spins, tenure, 300)
    assert (n_aspired > 0) == aspires
    memory = make_memory(9, tenure)
    _kernels.start_tabu(state, memory)
    values = []
    for _ in range(300):
        call(_kernels.tabu, polynomial, state, memory, 1, tenure, tenure, 1e-9)
        values.append(state.totals[0])
    assert_allclose(values, expected, atol=1e-9)


def test_tabu_breaks_ties_by_chance():
    terms = {(i,): 1.0 for i in range(8)}
    polynomial = make_polynomial(graph_of(terms), 8)
    first = set()
    for seed in range(200):
        state = make_state(polynomial, -np.ones(8), seed)
        memory = make_memory(8, 2)
        _kernels.start_tabu(state, memory)
        call(_kernels.tabu, polynomial, state, memory, 1, 2, 2, 1e-9)
        first.add(int(np.flatnonzero(state.spins > 0)[0]))
    assert first == set(range(8))
