"""The black boxes of the benchmarks have the optima that they say, and the peers are
what their papers describe."""

from argparse import Namespace

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.shared import black_box_peers as peers
from benchmarks.shared import black_boxes
from benchmarks.shared.black_box_peers import Codes, FinishedError, Population
from benchmarks.shared.black_box_runs import (
    OURS,
    Counted,
    against_peers,
    evaluate,
    first_at,
    quartiles,
    runs,
)

SMALL = {
    "trap": lambda i: black_boxes.trap(4, 3, "trap", i),
    "nearest NK": lambda i: black_boxes.nk(10, 3, "nearest", "nk", i),
    "random NK": lambda i: black_boxes.nk(10, 4, "random", "nk", i),
    "knapsack": lambda i: black_boxes.knapsack(10, "knapsack", i),
    "vertex cover": lambda i: black_boxes.vertex_cover(10, 15, "cover", i),
    "MaxCut": lambda i: black_boxes.max_cut(10, 15, "cut", i),
    "epistasis": lambda i: black_boxes.w_model(10, 1, 4, False, "w", i),
    "neutrality": lambda i: black_boxes.w_model(12, 3, 0, False, "w", i),
    "ruggedness": lambda i: black_boxes.w_model(9, 1, 0, True, "w", i),
    "quadratic": lambda i: black_boxes.quadratic(10, "quadratic", i),
    "all layers": lambda i: black_boxes.w_model(12, 3, 4, True, "w", i),
}


def _all_points(n):
    return np.indices((2,) * n).reshape(n, -1).T


def _all_values(problem):
    return [problem.f(x) for x in _all_points(problem.space)]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("instance", [0, 1])
def test_the_optimum_is_the_lowest_value_of_all_points(name, instance):
    problem = SMALL[name](instance)
    assert min(_all_values(problem)) == pytest.approx(problem.optimum)


@pytest.mark.parametrize("name", ["epistasis", "ruggedness"])
def test_layers_that_reorder_keep_the_numbers_of_points(name):
    """One of the lowest value, as without layers; the layers are one-to-one."""
    values = np.array(_all_values(SMALL[name](0)))
    assert (values == values.min()).sum() == 1


def test_ruggedness_swaps_neighbors_below_the_optimum():
    problem = black_boxes.w_model(5, 1, 0, True, "w", 0)
    plain = black_boxes.w_model(5, 1, 0, False, "w", 0)
    pairs = {(int(plain.f(x)), int(problem.f(x))) for x in _all_points(5)}
    assert pairs == {(0, 0), (1, 2), (2, 1), (3, 4), (4, 3), (5, 5)}


def test_an_instance_is_the_same_each_time_and_others_differ():
    x = np.zeros(12, dtype=int)
    values = [
        [problem.f(x ^ np.eye(12, dtype=int)[k]) for k in range(12)]
        for problem in map(SMALL["trap"], (0, 0, 1))
    ]
    assert values[0] == values[1] != values[2]


def _problem(f, space, optimum=-np.inf, **more):
    return black_boxes.BlackBox("test", 0, space, f, optimum, **more)


def _run(peer, f, space, n_evaluations, seed=0, start=(), optimum=-np.inf):
    counted = Counted(_problem(f, space, optimum), n_evaluations)
    with pytest.raises(FinishedError):
        peer(counted, space, n_evaluations, seed, start)
    return counted


def _one_max(x):
    return float(len(x) - x.sum())


def _mixed(point):
    return float(point["a"] != "z") + abs(point["b"] - 3)


OWN = ("hill climb", "fast GA", "P3")


@pytest.mark.parametrize("name", OWN)
def test_peers_reach_an_easy_optimum_and_stop(name):
    counted = _run(peers.PEERS[name], _one_max, 6, 2000, optimum=0.0)
    assert counted.values[-1] == 0.0
    assert min(counted.values[:-1], default=1.0) > 0.0


@pytest.mark.parametrize("name", OWN)
def test_peers_take_categories_and_integers(name):
    space = {"a": ["x", "y", "z"], "b": (1, 4)}
    counted = _run(peers.PEERS[name], _mixed, space, 500, optimum=0.0)
    assert counted.values[-1] == 0.0


@pytest.mark.parametrize("name", OWN)
def test_peers_evaluate_the_start_first(name):
    start = [np.array([0, 1, 0, 1, 1, 0]), np.array([1, 0, 0, 0, 0, 0])]
    counted = _run(peers.PEERS[name], lambda x: float(x.sum()), 6, 20, start=start)
    assert counted.codes[:2] == [(0, 1, 0, 1, 1, 0), (1, 0, 0, 0, 0, 0)]


@pytest.mark.parametrize("name", ["NGOpt", "TPE", "ours, Optuna"])
def test_peers_of_libraries_evaluate_the_start_and_go_on(name):
    pytest.importorskip("nevergrad" if name == "NGOpt" else "optuna")
    start = [np.array([0, 1, 0, 1])]
    counted = _run(peers.PEERS[name], _one_max, 4, 8, start=start)
    assert counted.codes[0] == (0, 1, 0, 1)
    assert len(counted.values) == 8


def test_a_climb_ends_where_no_change_of_one_variable_helps():
    problem = SMALL["random NK"](0)
    search = peers._Search(problem.f, 10, 0, ())
    code, value = search.climb(*search.best_or_random())
    flips = [problem.f(code ^ np.eye(10, dtype=int)[k]) for k in range(10)]
    assert value == problem.f(code) <= min(flips)


def test_heavy_tailed_mutation_flips_many_bits_now_and_then():
    counted = Counted(_problem(lambda x: 1.0 + x.sum(), 100), 3000)
    steps = []

    def f(x):
        steps.append(x.copy())
        # Nothing but the first point is accepted.
        return counted(x) if len(steps) == 1 else 1e9 + counted(x)

    with pytest.raises(FinishedError):
        peers.fast_ga(f, 100, 3000, 0)
    changed = np.array([(x != steps[0]).sum() for x in steps[1:]])
    strengths = np.arange(1, 51)
    law = strengths**-1.5 / (strengths**-1.5).sum()
    flips = binom(100, strengths / 100)
    # Those that change nothing are drawn again.
    expected = law @ flips.sf(10) / (law @ flips.sf(0))
    assert (changed > 10).mean() == pytest.approx(expected, abs=0.03)
    assert changed.min() == 1
    assert changed.max() > 30


def test_linked_variables_are_a_cluster_and_copies_are_never_parted():
    rng = np.random.default_rng(0)
    population = Population(np.full(6, 2))
    for _ in range(200):
        a, b, c = rng.integers(0, 2, 3)
        # 0 and 3 are copies, 1 and 4 are opposites, 5 mostly follows 2.
        population.add(np.array([a, b, c, a, 1 - b, c if rng.random() < 0.9 else 1]))
    distances = population.distances()
    assert distances[0, 3] == pytest.approx(0.0, abs=1e-12)
    assert distances[1, 4] == pytest.approx(0.0, abs=1e-12)
    assert 0 < distances[2, 5] < 0.7 < distances[0, 1] <= 1
    clusters = [set(c.tolist()) for c in population.clusters(rng)]
    assert {2, 5} in clusters
    assert {0, 3} in clusters
    assert {1, 4} in clusters
    assert not any(c in clusters for c in ({0}, {3}, {1}, {4}, set(range(6))))
    assert [len(c) for c in clusters] == sorted(len(c) for c in clusters)


def test_p3_needs_fewer_evaluations_of_traps_than_climbing():
    problem = black_boxes.trap(4, 5, "trap", 0)
    counted = _run(peers.p3, problem.f, 20, 5000, optimum=problem.optimum)
    assert counted.values[-1] == problem.optimum
    climbed = _run(peers.hill_climb, problem.f, 20, 5000, optimum=problem.optimum)
    assert min(climbed.values) > problem.optimum


def test_known_points_cost_nothing():
    counted = Counted(_problem(_one_max, 3), 4)
    for bits in ([0, 0, 0], [0, 0, 1], [0, 0, 0]):
        counted(np.array(bits))
    assert (len(counted.values), counted.calls) == (2, 3)


def test_where_only_rows_are_measured_the_nearest_one_counts():
    rows = np.array([[0, 0, 0], [1, 1, 1]])
    values = {(0, 0, 0): 1.0, (1, 1, 1): 2.0}
    problem = _problem(lambda x: values[tuple(x.tolist())], 3, rows=rows)
    counted = Counted(problem, 5)
    found = [counted(np.array(x)) for x in ([0, 0, 1], [1, 0, 1], [1, 1, 1])]
    assert found == [1.0, 2.0, 2.0]
    assert counted.codes == [(0, 0, 0), (1, 1, 1)]


def test_codes_turn_points_into_numbers_and_back():
    codes = Codes({"a": ["x", "y"], "b": (2, 4)})
    assert codes.code({"a": "y", "b": 2}).tolist() == [1, 0]
    assert codes.point([0, 2]) == {"a": "x", "b": 4}


def test_ours_begins_with_the_start_and_ends_at_the_optimum():
    problem = _problem(_one_max, 6, optimum=0.0)
    start = [np.array([0, 1, 0, 1, 1, 0]), np.array([1, 0, 0, 0, 0, 0])]
    counted, told = evaluate(problem, OURS, 0, 60, start)
    assert counted.codes[:2] == [(0, 1, 0, 1, 1, 0), (1, 0, 0, 0, 0, 0)]
    assert counted.values.index(0.0) == len(counted.values) - 1
    assert sum(told["sources"].values()) == len(counted.values)
    assert told["sources"]["external"] == 2


def test_evaluations_to_a_value_and_their_quartiles():
    assert first_at([3.0, 1.0, 2.0], 1.0) == 2
    assert first_at([3.0, 1.0], 0.0) is None
    assert quartiles([5, None, 1, 3, 4]) == [3, 4, 5]
    assert quartiles([None, 2, 8, 1])[1] == 5
    assert quartiles([None, 2, None, 1])[1] == np.inf


def test_ours_is_compared_with_the_best_peer():
    medians = {
        "random": (np.inf, 3000),
        "P3": (40, 10_000),
        "fast GA": (np.inf, 10_000),
        "ours, Optuna": (10, 2000),
        OURS: (20, 1000),
    }
    assert against_peers(medians) == ("20", "P3", "40", 0.5)
    # Each that found nothing is above its own budget.
    medians[OURS] = np.inf, 1000
    assert against_peers(medians) == (">1000", "P3", "40", np.inf)
    del medians["P3"]
    assert against_peers(medians) == (">1000", "fast GA", ">10000", np.inf)
    assert against_peers({OURS: (20, 1000), "ours, Optuna": (10, 2000)}) is None


def test_runs_with_and_without_noise_are_kept_apart(tmp_path):
    options = Namespace(budget=None, instances=1, seeds=1, seed=0, keep=tmp_path)

    def best(**how):
        found, _ = runs(
            lambda i: _problem(_one_max, 6), "ones", "random", options, 9, **how
        )
        return found[0]["named"]

    exact = best()
    noisy = best(noise_of=lambda problem: 100.0)
    assert exact != noisy
    assert (best(), best(noise_of=lambda problem: 0.0)) == (exact, noisy)
