"""The optimizer of black boxes: ask, tell, run, resume, and what is refused."""

import contextlib
import copy
import itertools
import pickle
import threading
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint

import skmohn
from skmohn import MOHNRegressor
from skmohn.optimize import BlackBoxOptimizer, _sparse_search, minimize_black_box

N = 6
WEIGHTS = np.random.default_rng(0).normal(size=N)
MIXED = {"flag": [False, True], "level": (0, 4), "unit": ["a", "b", None, 2.5]}


def pairs(x):
    """Neighbors of bits agree or differ, and each bit has a weight."""
    return float(WEIGHTS @ x + 2.0 * np.sum(x[1:] * x[:-1]))


def cost(point):
    """A function of MIXED."""
    match = 3 * (point["unit"] == "b") * point["flag"]
    return (point["level"] - 3) ** 2 + (point["unit"] is None) - match


class Flaky:
    """A function whose calls of some numbers do not end well."""

    def __init__(self, f, failing, error=KeyboardInterrupt):
        self.f, self.failing, self.error = f, set(failing), error
        self.points = []

    def __call__(self, x):
        self.points.append(x)
        if len(self.points) in self.failing:
            raise self.error
        return self.f(x)


def make(space=N, **parameters):
    return BlackBoxOptimizer(space, **{"random_state": 0, **parameters})


def same(history, other):
    """Whether the same points were told in the same order, with the same values."""
    return repr(list(history)) == repr(list(other))


def assert_best(result, values):
    """The result is the lowest of all values, a dict by points."""
    assert result.fun == min(values.values())
    assert values[tuple(result.x)] == result.fun


# ---------------------------------------------------------------------- what f returns


@pytest.mark.parametrize(
    "value",
    [[1.0], np.array([1.0]), None, "1.0", b"1", 1j, np.complex128(1), {}, object, []],
    ids=repr,
)
def test_values_that_are_no_numbers(value):
    with pytest.raises(ValueError, match=r"f must return a number, got .* for "):
        minimize_black_box(lambda x: value, 4, 10, random_state=0)


@pytest.mark.parametrize(
    "value", [np.inf, -np.inf, 1e308, 10**400, np.float32(np.inf)], ids=str
)
def test_values_that_are_not_finite_or_too_large(value):
    with pytest.raises(ValueError, match=r"the value of \[.*is not finite or too larg"):
        minimize_black_box(lambda x: value, 4, 10, random_state=0)
    if not isinstance(value, int):
        with pytest.raises(ValueError, match="pass nan for points that cannot be eval"):
            make(4).tell([[0, 1, 0, 1]], [value])


@pytest.mark.slow_cases("bool1|uint8|Fraction|<lambda>3")
@pytest.mark.parametrize(
    "kind",
    [
        int,
        bool,
        np.bool_,
        np.uint8,
        np.float16,
        np.array,
        Decimal,
        Fraction,
        lambda value: 2**70 + int(value),
        lambda value: 1e149 * value,
        lambda value: -1e149 * value,
        lambda value: 1e-300 * value,
        lambda value: 5e-324 * value,
        lambda value: 1e149 if value else 1e-300,
        lambda value: 1e9 + 1e-6 * value,
    ],
)
def test_kinds_of_numbers(kind):
    values = {
        x: float(kind(int(sum(x[:3]) + 2 * x[1] * x[4] + x[5])))
        for x in itertools.product([0, 1], repeat=N)
    }
    result = minimize_black_box(
        lambda x: kind(int(sum(x[:3]) + 2 * x[1] * x[4] + x[5])),
        N,
        14,
        noise=0,
        random_state=0,
    )
    assert result.fun == values[tuple(result.x)]
    assert np.isfinite(result.model.predict(result.x[None])).all()


@pytest.mark.parametrize(("space", "noise"), [(5, 0), (5, "auto"), (20, 0)])
def test_constant_functions(space, noise):
    result = minimize_black_box(lambda x: 3, space, 35, noise=noise, random_state=0)
    assert result.fun == 3.0
    # With "auto" the eight best of 32 points are to have the same value twice.
    assert result.nfev == (32 if (space, noise) == (5, 0) else 35)
    assert np.all([record["best"] == 3.0 for record in result.history])


def test_points_that_cannot_be_evaluated():
    """They are not asked for again, and cannot be the best."""
    seen = []

    def f(x):
        seen.append(tuple(x))
        return np.nan if x[0] == x[1] else pairs(x)

    result = minimize_black_box(f, N, 99, noise=0, random_state=0)
    assert len(seen) == len(set(seen)) == 2**N == result.nfev
    assert_best(result, {x: pairs(np.array(x)) for x in seen if x[0] != x[1]})
    assert result.optimal
    assert result.message == "every point was evaluated"


def test_where_every_evaluation_fails():
    optimizer = make()
    progress = []
    with pytest.raises(ValueError, match="none of 20 evaluations has a value"):
        optimizer.run(
            lambda x: np.nan,
            20,
            callback=lambda intermediate_result: progress.append(intermediate_result),
        )
    assert len(optimizer.history_) == len(progress) == 20
    assert progress[0].x is None
    assert np.isnan(progress[0].fun)
    assert np.isnan(optimizer.history_[-1]["best"])
    assert optimizer.run(pairs, 5).nfev == 25


def test_a_function_cannot_change_points():
    given = []

    def f(x):
        given.append(x.copy())
        x.fill(7)
        return float(given[-1].sum())

    result = minimize_black_box(f, N, 20, noise=0, random_state=0)
    assert_array_equal([record["point"] for record in result.history], given)


def test_noise_is_noticed_and_its_points_repeated():
    rng = np.random.default_rng(0)
    result = minimize_black_box(
        lambda x: pairs(x) + rng.normal(scale=0.5), N, 40, random_state=0
    )
    n_repeats = [record["source"] for record in result.history].count("replicate")
    assert 4 <= n_repeats < 15
    assert not result.optimal
    values = [r["value"] for r in result.history if tuple(r["point"]) == (*result.x,)]
    assert len(values) > 1
    assert result.fun == pytest.approx(np.mean(values))


def test_values_that_differ_without_noise_are_refused():
    optimizer = make(noise=0)
    optimizer.tell([[0] * N], [1.0])
    before = pickle.dumps(optimizer)
    for X, y in [
        ([[0] * N], [2.0]),
        ([[1] * N] * 2, [1.0, 2.0]),
        ([[1] * N, [0] * N], [5.0, 2.0]),
    ]:
        with pytest.raises(
            ValueError, match=r'had the value 1.0 before .* use noise="auto"'
        ):
            optimizer.tell(X, y)
    assert pickle.dumps(optimizer) == before
    optimizer.tell([[0] * N] * 2, [1.0, np.nan])
    assert optimizer.result().fun == 1.0


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]", object])
def test_na_of_pandas_is_a_point_that_failed(dtype):
    optimizer = BlackBoxOptimizer(2, noise=0, random_state=0)
    values = pd.Series([pd.NA, 1.0], dtype=dtype)
    optimizer.tell([[0, 0], [0, 1]], values)
    assert_array_equal([r["value"] for r in optimizer.history_], [np.nan, 1.0])
    optimizer.tell([[1, 0]], values.array[:1])
    assert optimizer.ask(4).tolist() == [[1, 1]]


# ------------------------------------------------------------------------- bad settings


@pytest.mark.parametrize(
    "settings",
    [
        {"n_evaluations": 0},
        {"n_evaluations": -1},
        {"n_evaluations": 1.5},
        {"batch_size": 0},
        {"n_jobs": 0},
        {"time_limit": 0},
        {"time_limit": np.nan},
        {"callback": 3},
        {"f": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("maximize", [False, True])
def test_settings_of_a_run_are_named(maximize, settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"The '{name}' parameter of run must be"):
        minimize_black_box(
            **{"f": pairs, "space": N, "n_evaluations": 9, **settings},
            maximize=maximize,
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"noise": -1},
        {"noise": "x"},
        {"noise": None},
        {"noise": np.nan},
        {"noise": np.inf},
        {"maximize": 1},
        {"random_state": "a"},
        {"random_state": -1},
        {"random_state": np.random.default_rng(0)},
    ],
    # An address would differ from process to process.
    ids=" ".join,
)
def test_settings_of_an_optimizer_are_named(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"The '{name}' parameter of BlackBoxOptim"):
        make(**settings)


def test_asking_for_no_point():
    with pytest.raises(ValueError, match="The 'n' parameter of ask must be an int"):
        make().ask(0)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1.0], "y must have one value for each point of X: got 1 values for 2 points"),
        ([[1.0], [2.0]], "y must be a list of numbers"),
        (1.0, "y must be a list of numbers"),
        (["1", "2"], "y must be a list of numbers"),
        ([None, 1.0], "y must be a list of numbers"),
        ([1.0, 1j], "y must be a list of numbers"),
    ],
)
def test_told_values_that_make_no_sense(y, words):
    optimizer = make()
    with pytest.raises(ValueError, match=words):
        optimizer.tell(np.eye(2, N, dtype=int), y)
    assert not optimizer.history_


def test_points_with_other_fixed_values_are_refused():
    with pytest.raises(
        ValueError, match="other values of 3, which is fixed at 1: drop"
    ):
        make(fixed={3: 1}).tell([[0] * N], [1.0])


def test_a_result_needs_a_value():
    with pytest.raises(ValueError, match="none of 0 evaluations has a value"):
        make().result()


def test_workers_that_have_nothing_to_do():
    with (
        pytest.warns(UserWarning, match="raise batch_size"),
        parallel_config("threading"),
    ):
        make().run(pairs, 3, n_jobs=2)


@pytest.mark.parametrize("which", [BlackBoxOptimizer, minimize_black_box])
def test_black_boxes_are_in_the_top_package(which):
    assert which.__name__ in skmohn.__all__
    assert getattr(skmohn, which.__name__) is which


# ---------------------------------------------------------------------- asking, telling


def test_points_of_mixed_values():
    """None, numbers and text in one variable; the model knows them as text."""
    result = minimize_black_box(cost, MIXED, 60, noise=0, random_state=0)
    assert result.x == {"flag": True, "level": 3, "unit": "b"}
    assert result.optimal
    assert result.nfev == 40
    row = pd.DataFrame({"flag": [1.0], "level": [3.0], "unit": ["b"]})
    assert_allclose(result.model.predict(row), -3.0, atol=0.3)


def test_variables_of_one_value():
    space = {"a": [7], "b": (3, 3), "c": [1, 2]}
    result = minimize_black_box(lambda p: p["c"], space, 9, random_state=0)
    assert result.x == {"a": 7, "b": 3, "c": 1}
    assert result.optimal
    result = minimize_black_box(lambda p: 4.0, {"a": [7]}, 9, random_state=0)
    assert (result.x, result.fun, result.nfev) == ({"a": 7}, 4.0, 1)
    assert result.optimal
    assert result.model is None


def test_names_of_any_kind():
    space = {0: [1, 2], ("a", 1): ["x", "y", "z"], None: (0, 3)}
    result = minimize_black_box(lambda p: p[0] + p[None], space, 30, random_state=0)
    assert result.x[0] == 1
    assert result.x[None] == 0
    assert list(result.model.feature_names_in_) == ["0", "('a', 1)", "None"]


@pytest.mark.parametrize(
    "table",
    [
        np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        np.array([["a", 1, None], ["b", 2, 0.5], ["a", 3, "x"]], dtype=object),
        pd.DataFrame({"u": [1, 2, 3], "v": ["x", "y", "x"]}),
        pl.DataFrame({"u": [1, 2, 3], "v": ["x", "y", "x"]}),
    ],
    ids=["int", "object", "pandas", "polars"],
)
def test_tables_of_candidates(table):
    seen = []

    def f(point):
        seen.append(repr(point))
        return len(seen)

    result = minimize_black_box(f, table, 9, maximize=True, noise=0, random_state=0)
    assert len(seen) == len(set(seen)) == 3
    assert result.fun == 3.0
    assert result.optimal
    assert repr(result.x) == seen[-1]


def test_told_points_are_not_asked_for():
    optimizer = make(4, noise=0)
    X = list(itertools.product([0, 1], repeat=4))
    optimizer.tell(X[:10], np.arange(10.0))
    asked = optimizer.ask(100)
    assert sorted(map(tuple, asked)) == X[10:]
    assert not len(optimizer.ask(1))
    assert not len(optimizer.ask(1))
    optimizer.tell(asked[::-1], np.arange(6.0) - 3)
    result = optimizer.result()
    assert result.optimal
    assert result.fun == -3.0
    assert_array_equal(result.x, asked[-1])
    assert result.nfev == 0
    sources = [record["source"] for record in result.history]
    assert sources[:10] == ["external"] * 10
    assert "external" not in sources[10:]


def test_points_that_break_constraints_teach_but_are_not_the_best():
    optimizer = make(4, constraints=lambda x: x[0] == 1, noise=0)
    optimizer.tell([[0, 1, 0, 1]], [-5.0])
    with pytest.raises(ValueError, match="has a value and satisfies the constraints"):
        optimizer.result()
    optimizer.tell([[1, 1, 0, 1]], [3.0])
    result = optimizer.result()
    assert result.fun == 3.0
    assert [record["best"] for record in result.history][1] == 3.0
    assert np.isnan(result.history[0]["best"])
    assert all(x[0] == 1 for x in optimizer.ask(8))


def test_nothing_told_is_nothing_learned():
    optimizer = make()
    optimizer.tell([], [])
    optimizer.tell(np.empty((0, N)), np.empty(0))
    assert not optimizer.history_


@pytest.mark.parametrize("maximize", [False, True])
def test_history_and_result_agree(maximize):
    optimizer = make(maximize=maximize)
    result = optimizer.run(pairs, 20)
    better = max if maximize else min
    best = None
    for record in result.history:
        assert record["value"] == pairs(record["point"])
        best = record["value"] if best is None else better(best, record["value"])
        assert record["best"] == best
    assert result.fun == best == pairs(result.x)
    assert result.nfev == len(result.history)


def test_results_are_not_changed_by_what_follows():
    optimizer = make()
    first = optimizer.run(pairs, 10)
    optimizer.run(pairs, 5)
    assert len(first.history) == 10
    assert first.nfev == 10


def test_maximum_is_the_minimum_of_the_negative():
    lowest = minimize_black_box(lambda x: -pairs(x), N, 24, random_state=3)
    highest = minimize_black_box(pairs, N, 24, maximize=True, random_state=3)
    assert_array_equal(lowest.x, highest.x)
    assert lowest.fun == -highest.fun
    assert lowest.message == highest.message
    x = highest.x[None]
    assert_allclose(highest.model.predict(x), -lowest.model.predict(x))


def sparse(n, n_terms):
    """A function of bits with so many pairs, and its values at all points."""
    rng = np.random.default_rng(n)
    sets = [rng.choice(n, 2, replace=False) for _ in range(n_terms)]
    weights = rng.integers(1, 9, n_terms) * rng.choice([-1, 1], n_terms)

    def f(x):
        return sum(
            w * (-1) ** x[..., t].sum(-1) for w, t in zip(weights, sets, strict=True)
        )

    return f, np.indices((2,) * n).reshape(n, -1).T


def test_an_exact_model_has_the_optimum_of_all_points():
    f, points = sparse(13, 6)
    result = minimize_black_box(f, 13, 120, batch_size=60, random_state=0)
    assert result.optimal
    assert result.success
    assert "is exact, and none of its points is better" in result.message
    assert result.fun == f(result.x) == f(points).min()
    assert_allclose(result.model.predict(points[::7]), f(points[::7]), atol=1e-6)


def test_exact_models_heed_constraints_and_fixed_values():
    """No point is proved the best where neighbors alone were tried."""
    f, _ = sparse(14, 6)
    result = minimize_black_box(
        f,
        14,
        120,
        batch_size=60,
        constraints=LinearConstraint(np.ones((1, 14)), 7, 7),
        fixed={2: 1},
        random_state=0,
    )
    assert "is exact" in result.message
    assert not result.optimal
    assert all(r["point"].sum() == 7 and r["point"][2] == 1 for r in result.history)


def test_an_optimum_of_a_search_that_proves_nothing_is_not_called_so(monkeypatch):
    minimize = _sparse_search.minimize

    def unsure(*args, **kwargs):
        found = minimize(*args, **kwargs)
        found.optimal = False
        return found

    monkeypatch.setattr(_sparse_search, "minimize", unsure)
    f, _ = sparse(13, 6)
    result = minimize_black_box(f, 13, 90, batch_size=60, random_state=0)
    assert result.message.endswith("weights is exact")
    assert not result.optimal


def test_an_exact_model_that_is_refuted_is_given_up():
    """A function that is sparse but for the points that it likes best."""

    def f(x):
        return float(x[:3].sum()) - (10.0 if x.sum() <= 1 else 0.0)

    result = minimize_black_box(f, N, 64, noise=0, random_state=0)
    assert result.fun == -10.0
    assert result.optimal


def test_many_variables():
    optimizer = make(1000, noise=0)
    for _ in range(3):
        points = optimizer.ask(2)
        assert points.shape == (2, 1000)
        optimizer.tell(points, points.sum(axis=1))
    assert len(optimizer.history_) == 6


# ------------------------------------------------------- same seed, same points


def asked_and_told(optimizer, f, n, batch_size=1):
    points = []
    for _ in range(n):
        asked = optimizer.ask(batch_size)
        points.extend(map(tuple, asked))
        optimizer.tell(asked, [f(x) for x in asked])
    return points


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("noise", [0, "auto"])
def test_same_seed_same_asks(noise):
    points = asked_and_told(make(noise=noise), pairs, 24)
    assert asked_and_told(make(noise=noise), pairs, 24) == points
    assert asked_and_told(make(noise=noise, random_state=1), pairs, 9) != points[:9]
    result = make(noise=noise).run(pairs, 24)
    assert [tuple(record["point"]) for record in result.history] == points


def test_forms_of_random_state():
    by_number = [make(random_state=s).ask(9) for s in (7, np.int64(7))]
    states = [np.random.RandomState(7) for _ in range(2)]
    by_state = [make(random_state=s).ask(9) for s in states]
    assert_array_equal(*by_number)
    assert_array_equal(*by_state)
    assert_array_equal(by_number[0], by_state[0])
    again = make(random_state=states[0]).ask(9)
    assert not np.array_equal(again, by_state[0])
    assert make(random_state=None).ask(9).shape == (9, N)
    assert make(random_state=2**32 - 1).ask(9).shape == (9, N)


def test_results_do_not_depend_on_the_number_of_workers():
    with parallel_config("threading"):
        results = [
            make().run(pairs, 20, batch_size=4, n_jobs=n_jobs) for n_jobs in (None, 3)
        ]
    assert all(same(results[0].history, other.history) for other in results[1:])
    assert all(other.nfev == 20 for other in results)


def test_batches_need_not_fit_the_budget():
    result = make().run(pairs, 10, batch_size=4)
    assert result.nfev == len(result.history) == 10
    assert make(2, noise=0).run(lambda x: x[0], 10, batch_size=64).nfev == 4


# ------------------------------------------------------------- interrupted, and resumed


@pytest.mark.slow_cases("1-.*")
@pytest.mark.parametrize(
    ("batch_size", "error"), [(1, KeyboardInterrupt), (5, ZeroDivisionError)]
)
def test_interrupted_runs_go_on_as_if_nothing_had_happened(batch_size, error):
    whole = make().run(pairs, 24, batch_size=batch_size)
    f = Flaky(pairs, [1, 13, 22, 23], error)
    optimizer = make()
    n_left = 24
    for _ in range(4):
        before = len(f.points)
        with pytest.raises(error):
            optimizer.run(f, n_left, batch_size=batch_size)
        n_left -= len(f.points) - before - 1
        optimizer = pickle.loads(pickle.dumps(optimizer))
    result = optimizer.run(f, n_left, batch_size=batch_size)
    assert same(result.history, whole.history)
    assert result.nfev == 24
    assert len(f.points) == 28
    assert_array_equal(result.x, whole.x)


@pytest.mark.slow_cases("inf")
@pytest.mark.parametrize("value", [np.inf, None])
def test_bad_values_lose_nothing(value):
    """The others of a batch are kept; the run goes on once f is mended."""
    f = Flaky(pairs, [])
    optimizer = make(noise=0)
    with pytest.raises(ValueError, match=r"the value of|f must return a number"):
        optimizer.run(
            lambda x: value if len(f.points) == 12 else f(x), 24, batch_size=5
        )
    result = optimizer.run(f, 12, batch_size=5)
    assert len({tuple(x) for x in f.points}) == len(f.points) == 24
    assert same(result.history, make(noise=0).run(pairs, 24, batch_size=5).history)


def test_points_told_during_an_interruption_are_not_evaluated_again():
    f = Flaky(pairs, [3])
    optimizer = make(noise=0)
    with pytest.raises(KeyboardInterrupt):
        optimizer.run(f, 20, batch_size=6)
    failed = f.points[-1]
    optimizer.tell([failed, f.points[0]], [pairs(failed), pairs(f.points[0])])
    optimizer.run(f, 17, batch_size=6)
    assert [tuple(x) for x in f.points].count(tuple(failed)) == 1
    evaluated = [tuple(record["point"]) for record in optimizer.history_]
    assert len(set(evaluated)) == len(evaluated) == 20


@pytest.mark.slow
def test_interrupts_anywhere_leave_an_optimizer_that_goes_on(run_lines):
    """At lines of its own code, drawn at random, of a run in progress."""
    started = make(noise=0)
    started.run(pairs, 20)
    whole, dry = copy.copy(started), copy.copy(started)
    whole.run(pairs, 3)
    n_lines = run_lines(lambda: dry.run(pairs, 2), within="skmohn.optimize.")
    for last in np.random.default_rng(0).integers(1, n_lines, 10).tolist():
        optimizer = copy.copy(started)
        with contextlib.suppress(KeyboardInterrupt):
            run_lines(partial(optimizer.run, pairs, 2), last, "skmohn.optimize.")
        if len(optimizer.history_) < 22:
            optimizer.run(pairs, 22 - len(optimizer.history_))
        n_told = len(optimizer.history_)
        assert n_told in (22, 23)
        assert same(optimizer.history_, whole.history_[:n_told]), f"line {last}"


def test_pickles_after_any_tell_go_on_alike():
    optimizer = make()
    points = asked_and_told(make(), pairs, 22)
    for i in range(22):
        optimizer = pickle.loads(pickle.dumps(optimizer))
        asked = optimizer.ask()
        assert tuple(asked[0]) == points[i]
        optimizer = pickle.loads(pickle.dumps(optimizer))
        optimizer.tell(asked, [pairs(asked[0])])


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy])
def test_copies_go_on_by_themselves(make_copy):
    optimizer = make()
    asked_and_told(optimizer, pairs, 12)
    other, third = make_copy(optimizer), make_copy(optimizer)
    asked_and_told(other, lambda x: -pairs(x), 4)
    assert len(optimizer.history_) == len(third.history_) == 12
    assert asked_and_told(optimizer, pairs, 6) == asked_and_told(third, pairs, 6)


def test_threads_may_ask_and_tell():
    optimizer = make(noise=0)

    def work():
        for _ in range(4):
            points = optimizer.ask(2)
            optimizer.tell(points, [pairs(x) for x in points])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [tuple(record["point"]) for record in optimizer.history_]
    assert len(told) == len(set(told)) == 32


# ------------------------------------------------------------------ what is shown


def test_what_an_optimizer_shows():
    optimizer = make(MIXED, constraints=lambda p: p["level"] > 1, fixed={"flag": True})
    shown = repr(optimizer)
    assert shown == (
        "<BlackBoxOptimizer: space: 3 variables, 1 fixed, constrained; "
        "goal: the lowest value; evaluations: 0>"
    )
    optimizer.tell([{"flag": True, "level": 3, "unit": None}] * 2, [1.5, 2.5])
    shown = repr(optimizer)
    assert "evaluations: 2 (2 external); best value: 2; best point: {'flag'" in shown
    html = make({"a<b": ["<i>", "&"]}, maximize=True)
    html.tell([{"a<b": "<i>"}], [1.0])
    html = html._repr_html_()
    assert "<td style='text-align:left'>the highest value</td>" in html
    assert "&lt;i&gt;" in html
    assert "<i>" not in html


def test_a_result_shows_no_record_of_its_history():
    shown = str(make().run(pairs, 9))
    assert "history: <History of 9 records: point, value, best, source>" in shown
    assert len(shown) < 700


# --------------------------------------------------------------- limits and callbacks


def test_a_time_limit_stops_between_batches():
    result = make().run(pairs, 30, batch_size=3, time_limit=1e-9)
    assert result.nfev == 3
    assert result.status == 2
    assert result.message == "stopped at time_limit"
    assert result.success


def test_a_callback_sees_progress_and_may_stop():
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result)
        if len(seen) == 4:
            raise StopIteration

    result = minimize_black_box(
        pairs, N, 30, maximize=True, batch_size=2, callback=callback, random_state=0
    )
    assert [one.nfev for one in seen] == [2, 4, 6, 8]
    assert [one.fun for one in seen] == [pairs(one.x) for one in seen]
    assert result.status == 3
    assert not result.success
    assert result.message == "stopped by the callback"
    assert result.fun == seen[-1].fun


def test_errors_of_a_callback_lose_nothing():
    def callback(intermediate_result):
        raise RuntimeError("mine")

    optimizer = make()
    with pytest.raises(RuntimeError, match="mine"):
        optimizer.run(pairs, 9, callback=callback)
    assert optimizer.run(pairs, 8).nfev == 9


def test_a_budget_that_is_spent():
    result = make(20).run(lambda x: float(x.sum()), 9)
    assert result.status == 1
    assert result.message == "stopped at n_evaluations"
    assert result.success
    assert not result.optimal


@pytest.mark.parametrize("noise", [True, False])
def test_noise_is_a_number(noise):
    with pytest.raises(ValueError, match=r'noise is a standard deviation.* use "auto"'):
        BlackBoxOptimizer(3, noise=noise)


def test_values_and_names_of_equal_text_are_two_in_the_model():
    space = {"kind": ["1", 1, "b"], 1: [0, 1], "1": ["u", "v"]}
    points = [
        dict(zip(space, values, strict=True))
        for values in itertools.product(*space.values())
    ]
    optimizer = BlackBoxOptimizer(space, noise=0, random_state=0)
    optimizer.tell(points, [5.0 * (point["kind"] == 1) for point in points])
    model = optimizer.result().model
    assert list(model.feature_names_in_) == ["kind", "1", "1 (2)"]
    assert model.categories_[0].tolist() == ["1", "1 (2)", "b"]
    rows = [["1", 0, "u"], ["1 (2)", 0, "u"]]
    table = pd.DataFrame(rows, columns=model.feature_names_in_)
    assert_allclose(model.predict(table), [0.0, 5.0], atol=0.1)


def test_a_model_is_fitted_once_for_the_same_evaluations(monkeypatch):
    n_fits, fit = [], MOHNRegressor.fit

    def counted(model, X, y):
        n_fits.append(len(X))
        return fit(model, X, y)

    monkeypatch.setattr(MOHNRegressor, "fit", counted)
    optimizer = BlackBoxOptimizer(6, random_state=0)
    X = np.random.default_rng(0).integers(0, 2, (30, 6))
    optimizer.tell(X, X @ np.arange(6.0))
    first = optimizer.result().model
    expected = first.predict(X)
    # It is the user's, who may change it.
    first.set_params(strategy="pursuit").fit(X, X[:, 0])
    for _ in range(2):
        assert_array_equal(optimizer.result().model.predict(X), expected)
    assert optimizer.result().model.strategy != "pursuit"
    assert n_fits == [30, 30]
    restored = pickle.loads(pickle.dumps(optimizer))
    assert_array_equal(restored.result().model.predict(X), expected)
    optimizer.tell(1 - X[:1], [7.0])
    optimizer.result()
    assert n_fits == [30, 30, 30, 31]
