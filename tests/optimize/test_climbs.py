"""Climbs in small spaces, of which a good part will be seen."""

import numpy as np
import pytest

from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize import BlackBoxOptimizer
from skmohn.optimize._archive import Archive
from skmohn.optimize._local_search import LocalSearch
from skmohn.optimize._space import Space
from skmohn.optimize._surrogate import Surrogate

N = 9


def cube(n):
    return np.arange(2**n)[:, None] >> np.arange(n) & 1


def neighbors(state):
    return {(state ^ change).tobytes() for change in np.eye(len(state), dtype=int)}


def climb_on(values, known, n_proposals, is_small):
    """States that a climb proposes, each told, from some known ones on."""
    archive = Archive(N)
    points = cube(N)
    for k in known:
        archive.add(points[k], values[k], is_feasible=True, is_sample=False)
    space, rng = Space(N), np.random.default_rng(0)
    climb, surrogate = LocalSearch(space), Surrogate(space)
    interactions = WalshPolynomial((), np.empty(0), 0.0)
    proposed = []
    for _ in range(n_proposals):
        taken = set(archive.index)
        state = climb.propose(archive, taken, surrogate, interactions, is_small, rng)
        assert state.tobytes() not in taken
        value = values[state @ (1 << np.arange(N))]
        archive.add(state, value, is_feasible=True, is_sample=False)
        climb.learn(state, value, surrogate, rng)
        proposed.append(state)
    return proposed


@pytest.mark.parametrize("is_small", [True, False])
def test_climbs_in_small_spaces_go_on_beside_the_next_best_point(is_small):
    values = np.random.default_rng(1).uniform(1.0, 2.0, 2**N)
    best, second = 0, 2**N - 1
    # Neither has a better neighbor.
    values[best], values[second] = 0.0, 0.5
    proposed = climb_on(values, [best, second], 2 * N, is_small)
    near_best, near_second = (neighbors(cube(N)[k]) for k in (best, second))
    assert {state.tobytes() for state in proposed[:N]} == near_best
    is_wide = {state.tobytes() for state in proposed[N:]} == near_second
    assert is_wide == is_small


@pytest.mark.parametrize(("n", "first"), [(11, False), (15, True)])
def test_uniform_samples_come_first_where_few_points_will_be_seen(n, first):
    rng = np.random.default_rng(4)
    X = cube(n)[rng.choice(2**n, 80, replace=False)]
    optimizer = BlackBoxOptimizer(n, noise=0.0, random_state=0)
    optimizer.tell(X, rng.normal(size=80))
    optimizer.ask()
    assert (optimizer.pending_[0]["source"] == "uniform") == first


@pytest.mark.parametrize(("n_known", "n_left_out"), [(5 * N, 0), (5 * N + 1, N // 2)])
def test_climbs_in_small_spaces_leave_the_worse_neighbors_out(n_known, n_left_out):
    points, slopes = cube(N), np.arange(1.0, N + 1.0)
    known = np.setdiff1d(np.arange(2**N), [1 << i for i in range(N)])[:n_known]
    archive, space, rng = Archive(N), Space(N), np.random.default_rng(0)
    for k in known:
        archive.add(points[k], points[k] @ slopes, is_feasible=True, is_sample=True)
    climb, surrogate = LocalSearch(space), Surrogate(space)
    surrogate.update(archive.states, archive.values, 0)
    interactions, taken = WalshPolynomial((), np.empty(0), 0.0), set(archive.index)
    climb.propose(archive, taken, surrogate, interactions, True, rng)
    assert len(climb._queue) == N - 1 - n_left_out
