"""What is called optimal is so, and nothing ends before it is known what is best."""

import numpy as np
import pytest

from skmohn.optimize import BlackBoxOptimizer, minimize_black_box
from skmohn.optimize._portfolio import (
    EXTERNAL,
    LOCAL_SEARCH,
    SURROGATE,
    UNIFORM,
    Portfolio,
)
from skmohn.optimize._space import Space

N = 12


def flags(x):
    """A function of few weights, least at -6, where x[1] is 1."""
    return float(3 * x[0] - 5 * x[1] + 2 * x[2] * x[3] - x[4])


def both(x):
    """The same where one flag is worth nothing without another."""
    return float(3 * x[0] - 5 * x[1] * x[5] + 2 * x[2] - x[4])


def rows(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n, N))


def never_on(X):
    X[:, 1] = 0


def once_on(X):
    X[:, 1] = 0
    X[0, 1] = 1


def alike(X):
    X[:, 1] = X[:, 0]


def opposite(X):
    X[:, 1] = 1 - X[:, 6]


def never_together(X):
    X[X[:, 1] == 1, 5] = 0


def mostly_on(X):
    X[3:, 2:4] = 1


@pytest.mark.slow_cases(".*auto|(never_on|once_on|alike|opposite|mostly_on)-both.*")
@pytest.mark.parametrize("noise", [0, "auto"])
@pytest.mark.parametrize("f", [flags, both])
@pytest.mark.parametrize(
    "change", [never_on, once_on, alike, opposite, never_together, mostly_on]
)
def test_told_rows_prove_nothing_of_what_they_do_not_show(change, f, noise):
    X = rows(80)
    change(X)
    optimizer = BlackBoxOptimizer(N, random_state=0, noise=noise)
    optimizer.tell(X, [f(x) for x in X])
    assert not optimizer.result().optimal
    first = optimizer.run(f, 10)
    assert not first.optimal
    result = optimizer.run(f, 110)
    assert result.fun == -6.0
    assert result.success


def test_a_model_of_told_rows_is_checked_with_the_budget_left():
    """Of order 2, so that weights of order 3 would show, at odds of 1000 to 1."""
    X = rows(120)
    optimizer = BlackBoxOptimizer(N, random_state=0, noise=0)
    optimizer.tell(X, [flags(x) for x in X])
    result = optimizer.run(flags, 30)
    assert (result.optimal, result.status, result.nfev) == (False, 1, 30)
    result = optimizer.run(flags, 100)
    n_needed = int(np.ceil(np.log(1000) / -np.log(1 - 2.0**-3)))
    assert (result.optimal, result.status) == (True, 0)
    assert result.nfev == n_needed + 1  # and the best point
    assert result.fun == -6.0
    sources = [record["source"] for record in result.history[120:]]
    assert sources == ["verification"] + ["uniform"] * n_needed


def test_points_that_others_have_drawn_count_as_drawn():
    X = rows(120)
    optimizer = BlackBoxOptimizer(N, random_state=0, noise=0)
    optimizer.tell(X, [flags(x) for x in X], ["uniform"] * 120)
    result = optimizer.run(flags, 100)
    assert (result.optimal, result.nfev) == (True, 1)


def test_a_constant_is_no_optimum_after_a_few_rows():
    """Of a function that differs at half of all points, none of them told."""
    X = rows(60)
    X[:, 3] = 0
    optimizer = BlackBoxOptimizer(N, random_state=0, noise=0)
    optimizer.tell(X, np.zeros(60))
    result = optimizer.run(lambda x: -float(x[3]), 60)
    assert result.fun == -1.0


# ------------------------------------------------------------------------------- noise

SPACE = {"a": ["x", "y", "z"], "b": [True, False], "c": (0, 5)}


def distance(point):
    """Zero at one of the 36 points of SPACE, 1 at three of them."""
    return abs(point["c"] - 3) + 2 * (point["a"] != "y") + point["b"]


def points():
    return [
        {"a": a, "b": b, "c": c} for a in "xyz" for b in (True, False) for c in range(6)
    ]


@pytest.mark.slow_cases(".*-4")
@pytest.mark.parametrize(
    ("kind", "noise", "n_seeds"),
    [
        ("normal", 1.0, 1),
        ("normal", 1.0, 4),
        ("normal", "auto", 4),
        ("rounded", 1.0, 4),
        ("rounded", "auto", 4),
    ],
)
def test_a_noisy_function_of_few_points_is_evaluated_to_the_end(kind, noise, n_seeds):
    found = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        draw = rng.normal if kind == "normal" else lambda rng=rng: rng.integers(-1, 2)
        result = minimize_black_box(
            lambda p, draw=draw: distance(p) + draw(),
            SPACE, 250, noise=noise, random_state=seed,
        )  # fmt: skip
        assert (result.nfev, result.status) == (250, 1)
        assert result.success
        assert not result.optimal
        found.append(distance(result.x))
    assert found == [0] * n_seeds


def test_every_point_told_proves_nothing_where_there_is_noise():
    for noise, optimal in ((0, True), (0.5, False), ("auto", False)):
        optimizer = BlackBoxOptimizer(SPACE, noise=noise, random_state=0)
        optimizer.tell(points(), [distance(p) for p in points()])
        result = optimizer.result()
        assert result.optimal == optimal
        assert (result.message == "every point was evaluated") == optimal
        assert bool(optimizer.ask()) != optimal


def test_auto_repeats_the_best_points_before_it_takes_noise_for_absent():
    optimizer = BlackBoxOptimizer(SPACE, random_state=0)
    optimizer.tell(points(), [distance(p) for p in points()])
    result = optimizer.run(distance, 100)
    assert (result.optimal, result.nfev) == (True, 8)
    again = sorted(distance(record["point"]) for record in result.history[36:])
    assert again == sorted(map(distance, points()))[:8]
    assert not optimizer.ask()


@pytest.mark.slow
def test_auto_looks_for_noise_again_each_time_the_evaluations_have_doubled():
    optimizer = BlackBoxOptimizer(30, random_state=0)
    result = optimizer.run(lambda x: float((x @ np.arange(30)) ** 2), 70)
    repeats = [i for i, r in enumerate(result.history) if r["source"] == "replicate"]
    assert repeats == [8, 16, 32, 64]


def test_a_single_point_need_not_be_repeated():
    result = minimize_black_box(lambda p: 4.0, {"a": [7]}, 9, noise=1.0)
    assert (result.nfev, result.optimal) == (1, True)


def test_points_that_fail_when_they_are_repeated_are_left_alone():
    seen = []

    def f(x):
        seen.append(tuple(x))
        return np.nan if seen.count(tuple(x)) > 1 and x[0] else float(x.sum())

    for noise in (0.5, "auto"):
        seen.clear()
        result = minimize_black_box(f, 3, 60, noise=noise, random_state=0)
        failed = {x for x in seen if x[0] and seen.count(x) > 1}
        assert all(seen.count(x) == 2 for x in failed)
        assert result.fun == 0.0


def test_the_best_point_and_the_next_best_are_repeated_in_turn():
    """Where their means are far apart, and a third one is farther still."""
    optimizer = BlackBoxOptimizer({"a": [1, 2, 3]}, noise=0.1, random_state=0)
    optimizer.tell([{"a": 1}, {"a": 2}, {"a": 3}], [0.0, 10.0, 99.0])
    asked = []
    for _ in range(40):
        asked += optimizer.ask()
        optimizer.tell(asked[-1:], [{1: 0.0, 2: 10.0, 3: 99.0}[asked[-1]["a"]]])
    counts = [sum(point["a"] == a for point in asked) for a in (1, 2, 3)]
    assert counts[0] > 10 < counts[1]
    assert counts[2] == 0


def test_rounding_is_no_noise():
    """Values of sums that are added up in another order each time."""
    rng = np.random.default_rng(0)
    result = minimize_black_box(
        lambda p: distance(p) + 1e-13 * rng.random(), SPACE, 100, random_state=0
    )
    assert result.optimal
    assert result.nfev < 50


@pytest.mark.parametrize("penalty", [1e10, 1e13])
def test_penalties_hide_nothing(penalty):
    """Neither what a model leaves of the other values, nor their noise."""
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(10, 10))

    def f(x):
        return penalty if x[0] else float(x @ pairs @ x)

    optimizer = BlackBoxOptimizer(10, noise=0, random_state=0)
    result = optimizer.run(f, 150)
    assert (result.optimal, result.message) == (False, "stopped at n_evaluations")

    def noisy(x):
        return penalty if x[0] and x[1] else float(x.sum() + rng.normal())

    result = minimize_black_box(noisy, 5, 80, random_state=0)
    assert (result.optimal, result.nfev) == (False, 80)


def test_batches_of_repeats_hold_no_point_twice():
    optimizer = BlackBoxOptimizer(3, noise=1.0, random_state=0)
    X = np.indices((2, 2, 2)).reshape(3, -1).T
    optimizer.tell(X, X.sum(axis=1))
    asked = optimizer.ask(20)
    assert len({tuple(x) for x in asked}) == len(asked) == 8
    assert {record["source"] for record in optimizer.pending_} == {"replicate"}
    assert len(optimizer.ask()) == 0


# ------------------------------------------------------------- fractions of the sources


def told(values, sources, **known):
    """Sources of four bits that were told values of points."""
    portfolio = Portfolio(Space(4), 0.0, 0)
    states = np.indices((2,) * 4).reshape(4, -1).T[: len(values)]
    portfolio.tell(states, np.array(values, float), np.ones(len(values), bool), sources)
    return portfolio


def test_a_value_as_good_as_the_best_is_no_improvement():
    base = told([2.0], [UNIFORM])
    tie = told([2.0, 2.0], [UNIFORM, LOCAL_SEARCH])
    better = told([2.0, 1.0], [UNIFORM, LOCAL_SEARCH])
    assert (
        tie._earned[LOCAL_SEARCH][0]
        < base._earned[LOCAL_SEARCH][0]
        < better._earned[LOCAL_SEARCH][0]
    )
    assert (tie._n_without_improvement, better._n_without_improvement) == (1, 0)
    assert (
        told(
            [2.0, 2.0, 2.0], [EXTERNAL, LOCAL_SEARCH, SURROGATE]
        )._n_without_improvement
        == 2
    )


def test_repeats_are_due_below_their_part_of_the_evaluations():
    """With noise of known size: at 20 evaluations 3 repeats are 15 %, and enough."""
    states = np.indices((2,) * 5).reshape(5, -1).T
    for n_repeats, is_due in ((2, True), (3, False)):
        portfolio = Portfolio(Space(5), 1.0, 0)
        X = np.concatenate([states[: 20 - n_repeats], states[:1].repeat(n_repeats, 0)])
        portfolio.tell(X, np.arange(20.0), np.ones(20, bool), [LOCAL_SEARCH] * 20)
        assert (portfolio._next_replicate() is not None) == is_due


def test_first_evaluations_are_uniform():
    """As many as there are variables, from 8 to 16 in a small space."""
    for n, first in ((6, 8), (10, 10), (14, 14), (18, 16)):
        optimizer = BlackBoxOptimizer(n, noise=0, random_state=0)
        result = optimizer.run(
            lambda x: float((x @ np.arange(len(x)) - 7) ** 2), 2 * first, batch_size=1
        )
        sources = [record["source"] for record in result.history]
        assert sources[:first] == ["uniform"] * first
        if n < 18:
            assert sources[first] != "uniform"
