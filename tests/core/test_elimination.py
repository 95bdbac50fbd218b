"""Elimination of variables, against enumeration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import all_points

from skmohn._core import _elimination
from skmohn._core._walsh import WalshPolynomial


def random_polynomial(rng, n_variables, n_terms, max_order=4):
    """Normal weights of every variable and of some sets."""
    sets = [(i,) for i in range(n_variables)]
    for order in rng.integers(1, max_order + 1, n_terms):
        sets.append(rng.choice(n_variables, order, replace=False).tolist())
    return WalshPolynomial.collect(zip(sets, rng.normal(size=len(sets)), strict=True))


def plan_and_run(graph, n_variables, spins, seed=0, **limits):
    rng = np.random.default_rng(seed)
    neighbors = _elimination.find_neighbors(graph, n_variables)
    plan = _elimination.order_by_degree(neighbors, rng, **limits)
    schedule = _elimination.make_schedule(graph, plan)
    ties = rng.random(len(schedule.order)) < 0.5
    entries = _elimination.eliminate(schedule, ties, spins)
    assert entries == plan.cost
    return plan


@pytest.mark.parametrize("n_terms", [4, 20, 200])
@pytest.mark.parametrize("seed", range(4))
def test_all_eliminated_is_the_maximum(seed, n_terms):
    rng = np.random.default_rng(seed)
    graph = random_polynomial(rng, 12, n_terms)
    spins = np.ones(12, dtype=np.int8)
    plan_and_run(graph, 12, spins, seed)
    values = graph.predict(all_points(12))
    assert_allclose(graph.predict(spins[None]), values.max(), atol=1e-12)


def test_a_full_function_goes_through_the_transform():
    rng = np.random.default_rng(0)
    points = all_points(9)
    graph = WalshPolynomial.collect(
        (np.flatnonzero(chosen > 0).tolist(), rng.normal()) for chosen in points
    )
    spins = np.ones(9, dtype=np.int8)
    plan_and_run(graph, 9, spins)
    values = graph.predict(points)
    assert_array_equal(spins, points[np.argmax(values)])


@pytest.mark.parametrize("max_width", [0, 1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_held_variables_stay_and_others_are_the_best_for_them(seed, max_width):
    rng = np.random.default_rng(seed)
    graph = random_polynomial(rng, 12, 30)
    spins = rng.choice([-1, 1], 12).astype(np.int8)
    before = spins.copy()
    plan = plan_and_run(graph, 12, spins, seed, max_width=max_width)
    held = sorted(plan.held)
    assert held
    assert plan.width <= max_width
    assert_array_equal(spins[held], before[held])
    points = all_points(12)
    points = points[(points[:, held] == before[held]).all(axis=1)]
    values = graph.predict(points)
    assert_allclose(graph.predict(spins[None]), values.max(), atol=1e-12)


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
        neighbors = _elimination.find_neighbors(graph, 20)
        assert _elimination.order_by_degree(neighbors, rng).width == width, name


def test_ties_go_either_way():
    graph = WalshPolynomial.sort([(0, 1)], [1.0], 0.0)
    ends = set()
    for seed in range(20):
        spins = np.ones(2, dtype=np.int8)
        plan_and_run(graph, 2, spins, seed)
        ends.add(tuple(spins.tolist()))
    assert ends == {(1, 1), (-1, -1)}


@pytest.mark.parametrize("sign", [-1, 1])
def test_of_equal_values_the_sign_is_taken(sign):
    # Variable 3 is in no term; 0 and 1 may both be flipped; 4 is held.
    graph = WalshPolynomial.collect([((0, 1), 1.0), ((2,), -1.0)])
    neighbors = _elimination.find_neighbors(graph, 5)
    order = _elimination.order_by_degree(neighbors, held=[4])
    spins = _elimination.maximize_by_order(graph, order, sign, "use less")
    assert spins.tolist() == [sign, sign, -1, sign, sign]


def test_without_a_generator_the_index_decides():
    ring = WalshPolynomial.collect(((i, (i + 1) % 6), 1.0) for i in range(6))
    order = _elimination.order_by_degree(_elimination.find_neighbors(ring, 6))
    assert list(order.scopes) == [0, 1, 2, 3, 4, 5]
    assert order.scopes[1] == {2, 5}
    assert (order.width, order.held) == (2, set())


def test_what_does_not_fit_in_memory_is_refused():
    order = _elimination.EliminationOrder({0: set()}, set(), 60, 2**61)
    graph = WalshPolynomial(((0,),), np.ones(1), 0.0)
    with pytest.raises(MemoryError, match=r"tables over 60 variables .*; use less"):
        _elimination.maximize_by_order(graph, order, 1, "use less")


def test_symmetry_is_seen_in_even_orders_only():
    even = WalshPolynomial.sort([(0, 1), (1, 2), (0, 1, 2, 3)], np.ones(3), 0.0)
    odd = WalshPolynomial.sort([(0, 1), (2,)], np.ones(2), 0.0)
    assert len(_elimination.symmetric_variables(even, [set()] * 4)) == 1
    assert _elimination.symmetric_variables(odd, [set()] * 3) == []


@pytest.mark.parametrize("seed", range(5))
def test_messages_that_wait_do_not_share_memory(seed):
    rng = np.random.default_rng(seed)
    graph = random_polynomial(rng, 40, 60)
    plan = _elimination.order_by_degree(_elimination.find_neighbors(graph, 40), rng)
    schedule = _elimination.make_schedule(graph, plan)
    sizes = 2 ** np.diff(schedule.scope_ptr)
    owner = np.full((schedule.offset + sizes).max(), -1)
    for v in range(schedule.size):
        first, end = schedule.message_ptr[v], schedule.message_ptr[v + 1]
        for child in schedule.messages[first:end]:
            kept = slice(schedule.offset[child], schedule.offset[child] + sizes[child])
            assert np.all(owner[kept] == child)
            owner[kept] = -1
        kept = slice(schedule.offset[v], schedule.offset[v] + sizes[v])
        assert np.all(owner[kept] == -1)
        owner[kept] = v


def test_memory_of_messages_is_used_again():
    # Along a chain one message waits at a time, here and there a wide one.
    terms = {(i, i + 1): 1.0 for i in range(300)}
    terms |= {tuple(range(i, i + 6)): 1.0 for i in range(0, 300, 50)}
    graph = WalshPolynomial.collect(terms.items())
    order = {i: {j for j in graph_neighbors(graph, i) if j > i} for i in range(301)}
    plan = _elimination.EliminationOrder(order, set(), 5, 0)
    schedule = _elimination.make_schedule(graph, plan)
    sizes = 2 ** np.diff(schedule.scope_ptr)
    assert sizes.max() == 32
    # Pieces are not put together again: narrow messages have cut up as much at most.
    assert (schedule.offset + sizes).max() <= 2 * 32


def graph_neighbors(graph, i):
    return set().union(*(term for term in graph.terms if i in term))
