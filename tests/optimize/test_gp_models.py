"""Searching the posterior mean of all weights, against all its values."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn import GPOptions, MOHNRegressor
from skmohn.mohn._gp import model as dense
from skmohn.optimize import maximize, minimize
from skmohn.optimize._models import read_model
from skmohn.optimize._product_sums import _State

N_INPUTS = 7


def make_data(n_rows=60, seed=0, n_inputs=N_INPUTS):
    """Inputs 0 and 1, a function of all pairs with one strong triple, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_rows, n_inputs)).astype(float)
    signs = 2 * X - 1
    y = np.einsum("di,ij,dj->d", signs, rng.normal(size=(n_inputs, n_inputs)), signs)
    y += 6 * signs[:, 0] * signs[:, 1] * signs[:, 2] + rng.standard_normal(n_rows)
    return X, y


def fit(X, y, numeric="auto", **params):
    control = GPOptions(clip=False, numeric=numeric)
    return MOHNRegressor("gp", gp_options=control, **params).fit(X, y)


@pytest.fixture(scope="module")
def fitted():
    return fit(*make_data())


def all_rows(n_inputs=N_INPUTS):
    return np.array(list(itertools.product([0.0, 1.0], repeat=n_inputs)))


@pytest.mark.parametrize("method", ["auto", "exact", "tabu", "hill_climb"])
@pytest.mark.parametrize("search", [maximize, minimize])
def test_best_of_all_points(fitted, method, search):
    values = fitted.predict(all_rows())
    best = values.max() if search is maximize else values.min()
    result = search(fitted, method, random_state=0)
    assert result.fun == pytest.approx(best)
    assert fitted.predict([result.x])[0] == pytest.approx(result.fun)
    assert result.optimal == (method in ("auto", "exact"))
    assert result.success


@pytest.mark.parametrize("kind", ["unknown", "numbers", "hadamard", "nystroem"])
def test_any_gaussian_process(kind, replace_constants):
    X, y = make_data(100, n_inputs=8)
    params = {}
    if kind == "unknown":
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    elif kind == "numbers":
        X[:, 3] = np.random.default_rng(1).uniform(0, 1, len(X))
        X[:2, 3] = 0, 1
        params["numeric"] = "multilinear"
    elif kind == "hadamard":
        replace_constants(dense, min_rows_hadamard=10)
    elif kind == "nystroem":
        replace_constants(dense, max_rows_exact=10, max_inputs_hadamard=1)
    model = fit(X, y, **params)
    if kind in ("hadamard", "nystroem"):
        assert model.model_.inference == kind
        assert model.model_.covariance.terms == ((0, 1, 2),)
    result = maximize(model)
    assert result.fun == pytest.approx(model.predict(all_rows(8)).max(), rel=1e-9)
    assert result.optimal


def test_fixed_variables_may_lie_between_the_ends():
    X, y = make_data(80)
    X[:, 3] = np.random.default_rng(1).uniform(-2, 5, len(X))
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    model = fit(frame, y, numeric="multilinear")
    result = maximize(model, fixed={"d": 1.25, "a": 0})
    rows = all_rows()
    rows[:, 3], rows[:, 0] = 1.25, 0
    rows = pd.DataFrame(rows, columns=frame.columns)
    assert result.fun == pytest.approx(model.predict(rows).max())
    assert result.x[3] == 1.25
    assert result.variables == list("abcdefg")


def test_constant_columns_and_clipped_predictions():
    X, y = make_data()
    X = np.insert(X, 2, 4.0, axis=1)
    model = MOHNRegressor("gp").fit(X, y)
    result = maximize(model)
    assert result.x[2] == 4.0
    assert result.fun <= y.max()
    assert result.fun == pytest.approx(model.predict([result.x])[0])


def test_gains_equal_full_evaluations(fitted):
    model = read_model(fitted)
    function = model.function.take(model.function.used(), 1.0)
    rng = np.random.default_rng(0)
    state = _State(function, rng.integers(0, 2, N_INPUTS))
    for i in rng.integers(0, N_INPUTS, 2000):
        state.move(i, state.values()[i])
    here = function.predict(state.point[None])[0]
    assert state.value == pytest.approx(here)
    flipped = np.where(np.eye(N_INPUTS, dtype=bool), 1 - state.point, state.point)
    assert_allclose(state.values(), function.predict(flipped), atol=1e-9)
    points = all_rows().astype(int)
    assert_allclose(model.predict(points), fitted.predict(all_rows()), atol=1e-9)


def test_climbs_end_at_local_optima(fitted):
    result = maximize(fitted, "hill_climb", n_restarts=30, return_optima=True)
    for x, fun in zip(result.local_optima, result.local_optima_fun, strict=True):
        neighbors = np.where(np.eye(N_INPUTS, dtype=bool), 1 - x, x)
        assert np.all(fitted.predict(neighbors) < fun + 1e-9)


def test_many_variables_and_the_same_result_for_every_n_jobs():
    model = fit(*make_data(150, n_inputs=30))
    results = [
        maximize(model, n_restarts=4, random_state=0, n_jobs=n_jobs)
        for n_jobs in (None, 2)
    ]
    assert_array_equal(results[0].x, results[1].x)
    assert not results[0].optimal
    climbed = maximize(model, "hill_climb", n_restarts=1, random_state=0)
    assert results[0].fun >= climbed.fun
    again = maximize(model, "tabu", x0=results[0].x, n_restarts=1)
    assert again.fun >= results[0].fun - 1e-9


def test_limits():
    model = fit(*make_data(100, n_inputs=30))
    assert maximize(model, "tabu", max_evaluations=50).status == 1
    assert maximize(model, time_limit=0.05).status == 2
    seen = []

    def stop(intermediate_result):
        seen.append(intermediate_result.fun)
        raise StopIteration

    assert maximize(model, callback=stop).status == 3
    assert len(seen) == 1


@pytest.mark.parametrize("method", ["annealing", "weight_satisfaction"])
def test_methods_that_go_from_weight_to_weight(fitted, method):
    with pytest.raises(ValueError, match="does not work with a Gaussian process: use"):
        maximize(fitted, method)


def test_what_cannot_be_searched(fitted):
    with pytest.raises(ValueError, match="options\\['n_sweeps'\\] does not apply"):
        maximize(fitted, options={"n_sweeps": 10})
    with pytest.raises(ValueError, match="all points of the 7 variables"):
        maximize(fitted, "exact", options={"max_width": 6})
    with pytest.raises(ValueError, match="128 values, more than"):
        maximize(fitted, "exact", max_evaluations=100)


@pytest.mark.parametrize("transform", ["log", "yeo-johnson"])
def test_the_value_of_a_transformed_target_is_its_median(transform):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (100, 3)).astype(float)
    y = np.exp(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=100))
    options = GPOptions(target_transform=transform)
    model = MOHNRegressor("gp", gp_options=options, random_state=0).fit(X, y)
    rows = np.array(list(itertools.product(range(3), repeat=3)), dtype=float)
    medians = model.predict_quantiles(rows, [0.5])[:, 0]
    result = maximize(model)
    assert_allclose(result.fun, medians.max())
    assert_allclose(result.x, rows[medians.argmax()])
    assert result.fun < model.predict([result.x])[0]
