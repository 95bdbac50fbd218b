"""Searching models of categories and levels, against all that they predict."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skmohn import GPOptions, MOHNRegressor
from skmohn.mohn._design.products import ProductSum
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.target import Unchanged
from skmohn.optimize import maximize, minimize
from skmohn.optimize._methods import Budget
from skmohn.optimize._models import read_model
from skmohn.optimize._product_sums import (
    DiscreteProductSum,
    GPMean,
    _State,
    hill_climb,
    tabu,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:every column may be moved", "ignore:column grade has ordered categories"
)
METHODS = ["auto", "exact", "tabu", "hill_climb"]
both = pytest.mark.parametrize(
    ("search", "extreme"), [(maximize, np.max), (minimize, np.min)]
)
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(40), unit="D")
NO_LIMIT = Budget(np.inf, np.inf)


def make_frame(n_rows=120):
    """Columns of every kind, and a target with steps in the numbers."""
    rng = np.random.default_rng(0)
    grades = pd.Categorical(
        rng.choice(["low", "mid", "high"], n_rows),
        categories=["low", "mid", "high"],
        ordered=True,
    )
    frame = pd.DataFrame(
        {
            "color": rng.choice(["blue", "green", "red"], n_rows),
            "dose": rng.uniform(-2.0, 5.0, n_rows),
            "layers": rng.integers(1, 9, n_rows),
            "flag": rng.integers(0, 2, n_rows).astype(bool),
            "day": rng.choice(DAYS, n_rows),
            "answer": rng.choice(["no", "yes"], n_rows),
            "grade": grades,
            "lab": 3,
            "site": "here",
        }
    )
    y = 2.0 * (frame["color"] == "red") * (frame["dose"] > 1.0)
    y += -0.3 * (frame["layers"] - 4) ** 2 + np.sin(3.0 * frame["dose"])
    y += frame["flag"] * (frame["answer"] == "yes") + 1.0 * (frame["grade"] == "mid")
    y += (frame["day"] > DAYS[25]) * (frame["color"] == "blue")
    return frame, y.to_numpy() + 0.1 * rng.standard_normal(n_rows)


def fit(X, y, numeric="thermometer", **control):
    control = GPOptions(numeric=numeric, **control)
    return MOHNRegressor("gp", gp_options=control, random_state=0).fit(X, y)


def all_rows(columns):
    """A frame of all combinations of some values of each column."""
    return pd.DataFrame(list(itertools.product(*columns.values())), columns=columns)


def as_frame(result):
    return pd.DataFrame([result.x], columns=result.variables)


@pytest.fixture(scope="module")
def mixed():
    """A model of columns of every kind."""
    model = fit(*make_frame())
    # Dose, layers and day.
    assert sorted(model.coding_.thresholds) == [1, 2, 4]
    return model


@pytest.fixture(scope="module")
def small():
    """A model of a category, a number and an integer, all of them with steps."""
    frame, y = make_frame()
    return fit(frame[["color", "dose", "layers"]], y, clip=False)


# ------------------------------------------------------------------ the best of all


@both
@pytest.mark.parametrize("method", METHODS)
def test_no_value_is_better_than_an_end_of_a_level(small, search, extreme, method):
    grid = all_rows(
        {
            "color": ["blue", "green", "red"],
            "dose": np.linspace(*make_frame()[0]["dose"].agg(["min", "max"]), 300),
            "layers": range(1, 9),
        }
    )
    result = search(small, method, random_state=0)
    best = extreme(small.predict(grid))
    sign = 1.0 if search is maximize else -1.0
    # Ends of levels are none of the 300 values.
    assert sign * result.fun >= sign * best - 1e-9
    assert result.fun == pytest.approx(best, rel=0.02)
    assert small.predict(as_frame(result))[0] == pytest.approx(result.fun, rel=1e-9)
    assert result.optimal == (method in ("auto", "exact"))
    assert result.x.dtype == object
    assert [*map(type, result.x)] == [str, float, int]


@both
def test_ends_of_levels_are_all_that_matters(small, search, extreme):
    ends = {
        "color": ["blue", "green", "red"],
        "dose": small.coding_.level_ends(1),
        "layers": small.coding_.level_ends(2),
    }
    result = search(small, "exact")
    assert result.nfev == 3 * len(ends["dose"]) * len(ends["layers"])
    assert_allclose(result.fun, extreme(small.predict(all_rows(ends))), rtol=1e-9)


@pytest.mark.parametrize("search", [maximize, minimize])
def test_columns_of_every_kind(mixed, search):
    found = search(mixed, "auto")
    assert found.optimal
    for method in ("tabu", "hill_climb"):
        assert_allclose(search(mixed, method, random_state=0).fun, found.fun)
    assert_allclose(mixed.predict(as_frame(found)), found.fun, rtol=1e-9)
    values = dict(zip(found.variables, found.x, strict=True))
    assert values["flag"] in (True, False)
    assert isinstance(values["flag"], bool)
    assert values["answer"] in ("no", "yes")
    assert values["grade"] in ("low", "mid", "high")
    assert pd.Timestamp(values["day"]) in DAYS
    assert (values["lab"], values["site"]) == (3, "here")
    assert isinstance(values["lab"], int)
    # What a user could have tried instead: the rows of the table.
    predicted = mixed.predict(make_frame()[0])
    if search is maximize:
        assert found.fun >= predicted.max()
    else:
        assert found.fun <= predicted.min()


def test_lines_of_numbers_beside_categories():
    frame, y = make_frame()
    frame = frame[["color", "dose", "grade"]]
    model = fit(frame, y, numeric="multilinear")
    ends = frame["dose"].agg(["min", "max"]).tolist()
    grid = {"color": ["blue", "green", "red"], "dose": ends}
    grid["grade"] = ["low", "mid", "high"]
    result = maximize(model)
    assert_allclose(result.fun, model.predict(all_rows(grid)).max())
    assert result.x[1] in ends
    fixed = maximize(model, fixed={"dose": 0.7})
    assert_allclose(
        fixed.fun, model.predict(all_rows({**grid, "dose": [0.7]})).max(), rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["unknown", "nystroem"])
def test_any_gaussian_process(kind, replace_constants):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 90), rng.integers(0, 3, (90, 2))])
    y = (X[:, 0] == 2) * (X[:, 1] - 1.0) + X[:, 2] + 0.1 * rng.standard_normal(90)
    grid = np.array(list(itertools.product(range(4), range(3), range(3))))
    if kind == "unknown":
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    else:
        replace_constants("skmohn.mohn._gp.model", max_rows_exact=10)
    model = MOHNRegressor("gp", categorical_features=[0, 1, 2]).fit(X, y)
    result = maximize(model)
    assert result.x.dtype == X.dtype
    assert_allclose(result.fun, model.predict(grid).max(), rtol=1e-9)
    assert_allclose(model.predict(result.x[None]), result.fun, rtol=1e-9)


def test_a_one_hot_group_has_one_category():
    rng = np.random.default_rng(0)
    category, bit = rng.integers(0, 4, 80), rng.integers(0, 2, 80)
    X = np.column_stack([bit, category[:, None] == np.arange(4)]).astype(int)
    y = bit * (category == 2) - (category == 1) + 0.1 * rng.standard_normal(80)
    model = fit(X, y, one_hot="auto")
    assert model.one_hot_groups_ == [(1, 2, 3, 4)]
    rows = np.array([[b, *np.eye(4)[c]] for b in (0, 1) for c in range(4)], dtype=int)
    values = model.predict(rows)
    for method in METHODS:
        result = maximize(model, method, random_state=0)
        assert result.x.dtype == X.dtype
        assert_array_equal(result.x, rows[np.argmax(values)])
        assert_allclose(result.fun, values.max())
    assert maximize(model, "exact").nfev == 8
    # A column of the group fixes its category, or excludes it.
    assert_array_equal(minimize(model, fixed={1: 1, 0: 0}).x, [0, 1, 0, 0, 0])
    without = minimize(model, fixed={2: 0})
    assert_allclose(without.fun, values[rows[:, 2] == 0].min())
    x0 = [1, 0, 0, 0, 1]
    start = maximize(model, "tabu", x0=x0, fixed={0: 1, 4: 1})
    assert_array_equal(start.x, x0)
    ends = maximize(model, "hill_climb", n_restarts=5, return_optima=True)
    assert_array_equal(ends.local_optima[:, 1:].sum(axis=1), 1)


@pytest.mark.parametrize("strategy", ["auto", "pursuit"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_models_of_two_categories(strategy):
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], (80, 6))
    frame = pd.DataFrame(np.where(signs < 0, "off", "on"), columns=list("abcdef"))
    frame["n"] = rng.integers(1, 5, 80)
    y = signs[:, 0] - 2 * signs[:, 1] * signs[:, 2] + frame["n"] * signs[:, 3]
    model = MOHNRegressor(strategy).fit(frame, y)
    assert model.model_.is_sparse
    result = maximize(model, fixed={"b": "off"})
    assert result.x.tolist() == ["on", "off", "on", "on", "off", "off", 4]
    assert_allclose(result.fun, 7.0)
    assert_allclose(model.predict(as_frame(result)), 7.0)
    annealed = maximize(model, "annealing", x0=frame.iloc[0], random_state=0)
    # Columns without a weight stay where they were.
    assert annealed.x[4:6].tolist() == frame.iloc[0, 4:6].tolist()


@pytest.fixture(scope="module")
def nothing():
    """A model of noise, and its table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"base": rng.choice(list("abc"), 400)})
    frame[["u", "v", "w"]] = np.eye(3, dtype=int)[rng.integers(0, 3, 400)]
    frame["dose"] = rng.uniform(2.0, 3.0, 400)
    control = GPOptions(one_hot="auto")
    y = rng.standard_normal(400)
    return MOHNRegressor(gp_options=control).fit(frame, y), frame


@pytest.mark.parametrize("x0", [None, ["b", 0, 1, 0, 2.5]])
def test_a_model_of_nothing(x0, nothing):
    model, frame = nothing
    assert model.model_.is_sparse
    result = maximize(model, x0=x0)
    assert result.fun == model.intercept_
    assert result.optimal
    base, *group, dose = result.x
    assert base == ("a" if x0 is None else "b")
    assert group == ([1, 0, 0] if x0 is None else [0, 1, 0])
    assert dose in (frame["dose"].min(), frame["dose"].max())


# ------------------------------------------------------------- values as users write


def test_fixed_values(mixed):
    day, frame = pd.Timestamp("2024-01-15"), make_frame()[0]
    fixed = {"color": "blue", "day": day, 2: 5, "flag": True, "lab": 3, "site": "here"}
    result = minimize(mixed, fixed=fixed)
    values = dict(zip(result.variables, result.x, strict=True))
    assert values["color"] == "blue"
    assert values["day"] == np.datetime64("2024-01-15")
    assert values["layers"] == 5
    assert values["flag"] is True
    dose = np.linspace(frame["dose"].min(), frame["dose"].max(), 100)
    grid = all_rows({"dose": dose, "answer": ["no", "yes"], "grade": ["low", "mid"]})
    grid = grid.assign(color="blue", day=day, layers=5, flag=True, lab=3, site="here")
    assert result.fun <= mixed.predict(grid[frame.columns]).min() + 1e-9


def test_all_columns_fixed(mixed):
    row = make_frame()[0].iloc[7]
    result = maximize(mixed, fixed=row.to_dict())
    assert_allclose(result.fun, mixed.predict(row.to_frame().T.infer_objects()))
    assert result.optimal
    assert result.x.tolist()[:4] == row.tolist()[:4]
    assert pd.Timestamp(result.x[4]) == row["day"]


def test_the_first_restart_begins_at_x0(mixed):
    seen = []
    best = maximize(mixed, "hill_climb", random_state=0)
    # A climb from the best point stays there, so that none looks at more than once.
    result = maximize(
        mixed,
        "hill_climb",
        x0=best.x,
        n_restarts=1,
        callback=lambda intermediate_result: seen.append(intermediate_result.x),
    )
    sizes = read_model(mixed).function.take(read_model(mixed).function.used(), 1).sizes
    assert result.nfev == np.sum(sizes - 1)
    assert_array_equal(result.x, best.x)
    assert_array_equal(seen[0], best.x)


def test_x0_goes_to_the_nearest_end_of_a_level(small):
    ends = small.coding_.level_ends(1)
    low, high = ends[2:4]
    model = read_model(small)
    for value, level in [(0.7 * low + 0.3 * high, 2), (0.4 * low + 0.6 * high, 3)]:
        assert model.nearest(np.array([2.0, value, 1.0]))[1] == level
    # Of two ends that are as near, the upper one.
    assert read_model({(0,): 1.0}).nearest(np.zeros(1)) == 1


@pytest.mark.parametrize("convert", [pl.from_pandas, np.asarray, "lists"])
def test_tables_of_other_libraries(convert):
    frame, y = make_frame(40)
    frame = frame[["color", "layers", "flag", "day"]]
    if convert == "lists":
        rows = frame.to_numpy(dtype=object).tolist()
        table = [[c, n, f, d.to_pydatetime()] for c, n, f, d in rows]
    else:
        table = convert(frame)
    result = maximize(fit(table, y))
    expected = maximize(fit(frame, y))
    assert_allclose(result.fun, expected.fun)
    assert_array_equal(result.x, expected.x)
    assert [*map(type, result.x)] == [str, int, bool, np.datetime64]


def test_durations_and_times_between_seconds():
    rng = np.random.default_rng(0)
    wait = pd.to_timedelta(rng.uniform(0.0, 0.01, 80), unit="s")
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.uniform(0, 9, 80), unit="s")
    y = np.sin(600.0 * wait.total_seconds()) + (at.second > 4)
    model = fit(pd.DataFrame({"wait": wait, "at": at}), y)
    result = maximize(model)
    assert_allclose(model.predict(as_frame(result)), result.fun, rtol=1e-6)
    assert isinstance(result.x[0], np.timedelta64)
    assert wait.min() <= pd.Timedelta(result.x[0]) <= wait.max()
    # Thresholds lie between ticks; no end of a level is written in another level.
    searched = read_model(model)
    points = np.random.default_rng(1).integers(searched.sizes, size=(100, 2))
    written = pd.DataFrame(searched.write(points), columns=["wait", "at"])
    assert_allclose(model.predict(written), searched.predict(points), rtol=1e-6)


# ----------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ({"color": "pink"}, "value 'pink'; the model takes 'blue', 'green' or 'red'"),
        ({"color": None}, "value None; the model takes 'blue'"),
        ({"color": np.nan}, "value nan"),
        ({"color": pd.NA}, "value <NA>"),
        ({"color": ["red"]}, r"value \['red'\]"),
        ({"color": 1}, "value 1; the model takes 'blue'"),
        ({"answer": "maybe"}, "takes 'no' or 'yes'"),
        ({"grade": "Low"}, "takes 'high', 'low' or 'mid'"),
        ({"flag": "yes"}, "takes False or True"),
        ({"site": "there"}, "takes only 'here'"),
        ({"layers": 9}, "takes from 1 to 8"),
        ({"day": pd.Timestamp("2023-12-31")}, "takes from 2024-01-01T.* to 2024-02-"),
        ({"day": pd.NaT}, "value NaT"),
        ({"day": "2024-01-15"}, "value '2024-01-15'"),
        ({"color": "red", 0: "red"}, "variable 0, twice"),
    ],
)
def test_values_that_a_column_cannot_have(mixed, fixed, words):
    with pytest.raises(ValueError, match=words):
        maximize(mixed, fixed=fixed)
    row = make_frame()[0].iloc[0].tolist()
    name, value = next(iter(fixed.items()))
    row[list(make_frame()[0].columns).index(name)] = value
    if "twice" not in words:
        with pytest.raises(ValueError, match=f"x0 gives .*{words}"):
            maximize(mixed, x0=row)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fixed": {"u": 1, "v": 1}}, r"fixed must .* one-hot columns \['u', 'v', 'w'"),
        ({"fixed": {"u": 0, "v": 0, "w": 0}}, r"fixed must .* 1 in one of"),
        ({"fixed": {"u": 0.5}}, "takes 0 or 1"),
        ({"x0": [0, 0, 0, 1]}, "x0 must .* 1 in one of"),
        ({"x0": [0, 1, 1, 1]}, "x0 must .* 0 in all others"),
    ],
)
def test_one_hot_columns_that_are_none(settings, words):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.eye(3)[rng.integers(0, 3, 40)], rng.integers(0, 2, 40)])
    frame, y = pd.DataFrame(X, columns=list("uvwx")), X[:, 0] - X[:, 1] * X[:, 3]
    model = fit(frame, y, one_hot=[["u", "v", "w"]])
    assert model.one_hot_groups_ == [(0, 1, 2)]
    with pytest.raises(ValueError, match=words):
        maximize(model, **settings)


def test_too_many_points_for_exact(mixed):
    with pytest.raises(
        ValueError, match=r"all points of the 7 .*, more than 2 \*\* max"
    ):
        maximize(mixed, "exact", options={"max_width": 10})
    found = maximize(mixed, options={"max_width": 10}, random_state=0)
    assert not found.optimal
    assert_allclose(found.fun, maximize(mixed).fun)
    with pytest.raises(ValueError, match="values, more than max_evaluations=100"):
        maximize(mixed, "exact", max_evaluations=100)


# -------------------------------------------------------------------- the search


def random_function(rng, n_variables, n_products=12, largest=5):
    """Products with factors of any sign, and steps, of one to several states."""
    sizes = rng.integers(1, largest + 1, n_variables)
    factors = rng.choice([-1.0, 1e-15, 0.2, 1.0], (sizes.sum(), n_products))
    steps = rng.standard_normal(sizes.sum())
    # Some variables have one kind of part alone, or none.
    has_factors, has_steps = np.repeat(
        rng.random((2, n_variables)) < 0.6, sizes, axis=1
    )
    factors[~has_factors] = 1.0
    return DiscreteProductSum(
        rng.standard_normal(n_products), factors, steps * has_steps, sizes
    )


def all_points(function):
    return np.array(list(itertools.product(*map(range, function.sizes))))


@pytest.mark.slow_cases("[4-9]")
@pytest.mark.parametrize("seed", range(10))
def test_moves_equal_full_evaluations(seed):
    rng = np.random.default_rng(seed)
    function = random_function(rng, 6)
    point = function.draw(rng)
    state = _State(function, point)
    for _ in range(300):
        values = state.values()
        reached = np.array(state.targets) - function.first[state.owner]
        neighbors = np.tile(state.point, (len(values), 1))
        neighbors[np.arange(len(values)), state.owner] = reached
        assert_allclose(values, function.predict(neighbors), atol=1e-9)
        moves = {tuple(row) for row in neighbors}
        assert len(moves | {tuple(state.point)}) == np.sum(function.sizes - 1) + 1
        m = int(rng.integers(len(values)))
        state.move(m, values[m])
        assert_array_equal(state.point, neighbors[m])
    assert_allclose(state.value, function.predict(state.point[None])[0], atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_searches_end_at_local_optima(seed):
    rng = np.random.default_rng(seed)
    function = random_function(rng, 6)
    best = function.predict(all_points(function)).max()
    ends = []
    for run in (hill_climb, tabu):
        end = run(function, function.draw(rng), seed, NO_LIMIT)
        assert_allclose(function.predict(end.spins[None])[0], end.value, atol=1e-9)
        state = _State(function, end.spins)
        assert state.values().max() <= end.value + 1e-9
        ends.append(end.value)
    assert ends[1] == pytest.approx(best)


@pytest.mark.parametrize("seed", range(5))
def test_variables_that_matter(seed):
    rng = np.random.default_rng(seed)
    function = random_function(rng, 6)
    points = all_points(function)
    values = function.predict(points).reshape(function.sizes)
    used = function.used()
    for i, size in enumerate(function.sizes):
        same = np.take(values, [0] * size, axis=i)
        assert (i in used) == (not np.array_equal(values, same))
    part = function.take(used, -2.0)
    rest = np.setdiff1d(np.arange(6), used)
    kept = points[np.all(points[:, rest] == 0, axis=1)]
    # But for the constant.
    difference = part.predict(kept[:, used]) + 2.0 * function.predict(kept)
    assert_allclose(np.ptp(difference), 0.0, atol=1e-9)


def test_factors_of_zero():
    """A strong term of a number with levels is 0 at a threshold of 0."""
    X = np.column_stack([np.linspace(-1.0, 1.0, 12), np.tile([-1.0, 1.0], 6)])
    coding = InputCoding.learn(X, max_levels=2)
    assert_array_equal(coding.thresholds[0], [0.0])
    products = ProductSum(
        np.array([1.0]),
        np.array([[-1.0], [-1.0]]),
        np.array([[1.0], [1.0]]),
        [np.ones((2, 1))],
        np.zeros(2),
        [np.array([0.0, 0.0])],
        0.0,
    )
    table = np.column_stack([coding.level_ends(0), [-1.0, 1.0, 1.0, 1.0]])
    mean = GPMean(products, coding, (-np.inf, np.inf), Unchanged())
    function = mean.at(table, np.arange(2), np.array([4, 2]))
    assert_allclose(function.factors[:, 0], [-1, 0, 0, 1, -1, 1], atol=1e-14)
    for start in itertools.product(range(4), range(2)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            end = tabu(function, np.array(start), 0, NO_LIMIT)
        assert end.value == pytest.approx(1.0)


def test_rugged_functions_of_categories():
    """Variables that have moved are forbidden, not only the states they left."""
    rng = np.random.default_rng(0)
    n_variables, size, n_products = 8, 6, 200
    rows = rng.integers(0, size, (n_products, n_variables))
    is_row = rows.T[:, None] == np.arange(size)[:, None]
    factors = np.where(is_row, 1.0, 0.2).reshape(-1, n_products)
    function = DiscreteProductSum(
        rng.standard_normal(n_products),
        factors,
        np.zeros(n_variables * size),
        np.full(n_variables, size),
    )
    ends = [
        tabu(function, function.draw(np.random.default_rng(seed)), seed, NO_LIMIT).value
        for seed in range(10)
    ]
    assert np.sum(np.array(ends) > max(ends) - 1e-9) >= 5


def test_the_same_result_for_every_n_jobs(mixed):
    results = [
        maximize(mixed, "tabu", n_restarts=3, random_state=1, n_jobs=n_jobs)
        for n_jobs in (None, 2)
    ]
    assert_array_equal(results[0].x, results[1].x)
    assert results[0].nfev == results[1].nfev


def test_partial_fits_are_searched():
    frame, y = make_frame()
    frame = frame[["color", "grade"]]
    model = fit(frame[:80], y[:80])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.partial_fit(frame[80:], y[80:])
    grid = {"color": ["blue", "green", "red"], "grade": ["low", "mid", "high"]}
    assert_allclose(maximize(model).fun, model.predict(all_rows(grid)).max())


def test_many_categories_are_not_all_in_the_message():
    letters = np.array(list("abcdefghijklmnop"))
    X = np.column_stack([np.tile(letters, 4), np.repeat(["x", "y"], 32)])
    model = fit(X.astype(object), np.tile(np.arange(16.0), 4))
    with pytest.raises(ValueError, match=r"'h', \.\.\. or 'p'$"):
        maximize(model, fixed={0: "q"})
