"""Elimination of variables, against enumeration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn.mohn._design.hypergraph import WalshPolynomial
from skmohn.optimize import _elimination


def plan_and_run(graph, n_variables, spins, seed=0, **limits):
    rng = np.random.default_rng(seed)
    neighbors = _elimination.neighbors_of(graph, n_variables)
    plan = _elimination.make_plan(neighbors, rng, **limits)
    schedule = _elimination.make_schedule(graph, plan)
    ties = rng.random(len(schedule.order)) < 0.5
    entries = _elimination.eliminate(schedule, ties, spins)
    assert entries == plan.cost
    return plan


def graph_of(terms):
    return WalshPolynomial.sort(list(terms), list(terms.values()), 0.0)


@pytest.mark.parametrize("n_terms", [4, 20, 200])
@pytest.mark.parametrize("seed", range(4))
def test_all_eliminated_is_the_maximum(problems, seed, n_terms):
    rng = np.random.default_rng(seed)
    terms = problems.random_terms(rng, 12, n_terms)
    spins = np.ones(12, dtype=np.int8)
    plan_and_run(graph_of(terms), 12, spins, seed)
    values = problems.evaluate(terms, problems.all_points(12))
    assert_allclose(problems.evaluate(terms, spins[None]), values.max(), atol=1e-12)


def test_a_full_function_goes_through_the_transform(problems):
    rng = np.random.default_rng(0)
    points = problems.all_points(9)
    terms = {
        tuple(np.flatnonzero(chosen > 0).tolist()): rng.normal() for chosen in points
    }
    spins = np.ones(9, dtype=np.int8)
    plan_and_run(graph_of(terms), 9, spins)
    values = problems.evaluate(terms, points)
    assert_array_equal(spins, points[np.argmax(values)])


@pytest.mark.parametrize("max_width", [0, 1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_held_variables_stay_and_others_are_the_best_for_them(
    problems, seed, max_width
):
    rng = np.random.default_rng(seed)
    terms = problems.random_terms(rng, 12, 30)
    spins = rng.choice([-1, 1], 12).astype(np.int8)
    before = spins.copy()
    plan = plan_and_run(graph_of(terms), 12, spins, seed, max_width=max_width)
    held = sorted(plan.held)
    assert held
    assert plan.width <= max_width
    assert_array_equal(spins[held], before[held])
    points = problems.all_points(12)
    points = points[(points[:, held] == before[held]).all(axis=1)]
    values = problems.evaluate(terms, points)
    assert_allclose(problems.evaluate(terms, spins[None]), values.max(), atol=1e-12)


def test_width_of_known_graphs():
    rng = np.random.default_rng(0)
    cases = {
        "chain": ([(i, i + 1) for i in range(19)], 1),
        "ring": ([(i, (i + 1) % 20) for i in range(20)], 2),
        "clique": ([(i, j) for i in range(20) for j in range(i)], 19),
        "one term": ([tuple(range(20))], 19),
    }
    for name, (sets, width) in cases.items():
        graph = WalshPolynomial.sort(sets, np.ones(len(sets)), 0.0)
        neighbors = _elimination.neighbors_of(graph, 20)
        assert _elimination.make_plan(neighbors, rng).width == width, name


def test_ties_go_either_way():
    graph = WalshPolynomial.sort([(0, 1)], [1.0], 0.0)
    ends = set()
    for seed in range(20):
        spins = np.ones(2, dtype=np.int8)
        plan_and_run(graph, 2, spins, seed)
        ends.add(tuple(spins.tolist()))
    assert ends == {(1, 1), (-1, -1)}


def test_symmetry_is_seen_in_even_orders_only():
    even = WalshPolynomial.sort([(0, 1), (1, 2), (0, 1, 2, 3)], np.ones(3), 0.0)
    odd = WalshPolynomial.sort([(0, 1), (2,)], np.ones(2), 0.0)
    assert len(_elimination.symmetric_variables(even, [set()] * 4)) == 1
    assert _elimination.symmetric_variables(odd, [set()] * 3) == []


@pytest.mark.parametrize("seed", range(5))
def test_messages_that_wait_do_not_share_memory(problems, seed):
    rng = np.random.default_rng(seed)
    graph = graph_of(problems.random_terms(rng, 40, 60))
    plan = _elimination.make_plan(_elimination.neighbors_of(graph, 40), rng)
    schedule = _elimination.make_schedule(graph, plan)
    sizes = 2 ** np.diff(schedule.scope_ptr)
    owner = np.full((schedule.slot + sizes).max(), -1)
    for v in range(schedule.size):
        first, end = schedule.message_ptr[v], schedule.message_ptr[v + 1]
        for child in schedule.messages[first:end]:
            kept = slice(schedule.slot[child], schedule.slot[child] + sizes[child])
            assert np.all(owner[kept] == child)
            owner[kept] = -1
        kept = slice(schedule.slot[v], schedule.slot[v] + sizes[v])
        assert np.all(owner[kept] == -1)
        owner[kept] = v


def test_memory_of_messages_is_used_again():
    # Along a chain one message waits at a time, here and there a wide one.
    terms = {(i, i + 1): 1.0 for i in range(300)}
    terms |= {tuple(range(i, i + 6)): 1.0 for i in range(0, 300, 50)}
    graph = graph_of(terms)
    order = {i: {j for j in graph_neighbors(graph, i) if j > i} for i in range(301)}
    plan = _elimination.Plan(order, set(), 5, 0)
    schedule = _elimination.make_schedule(graph, plan)
    sizes = 2 ** np.diff(schedule.scope_ptr)
    assert sizes.max() == 32
    # Pieces are not put together again: narrow messages have cut up as much at most.
    assert (schedule.slot + sizes).max() <= 2 * 32


def graph_neighbors(graph, i):
    return set().union(*(term for term in graph.terms if i in term))
