"""MOHNRegressor as its user sees it: attributes, inputs, and other libraries."""

import copy
import itertools
import pickle
from functools import cache, partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from support import multiply_columns

from skmohn import (
    DeltaOptions,
    GPOptions,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
    MSDAOptions,
)
from skmohn.datasets import make_ising, make_sparse_walsh
from skmohn.mohn._options import FitSettings

TERMS = [(0,), (4,), (1, 2), (0, 3, 5)]
COEF = [1.0, -2.0, 0.5, 3.0]
INTERCEPT = 4.0


def function(inputs):
    """The function with TERMS, of inputs in [-1, 1]."""
    products = [inputs[:, list(term)].prod(axis=1) for term in TERMS]
    return INTERCEPT + COEF @ np.array(products)


def signs(n_samples=200, n_features=6, seed=0):
    return np.random.default_rng(seed).choice([-1.0, 1.0], (n_samples, n_features))


def assert_found(model, atol=1e-8):
    assert model.terms_ == TERMS
    assert_allclose(model.weights_, COEF, atol=atol)
    assert model.intercept_ == pytest.approx(INTERCEPT, abs=atol)


# ------------------------------------------------------------- fitted attributes


def test_fitted_attributes_of_an_exact_recovery():
    X = signs()
    model = MOHNRegressor().fit(X, function(X))
    assert_found(model)
    assert all(type(i) is int for term in model.terms_ for i in term)
    assert isinstance(model.intercept_, float)
    assert model.weights_.dtype == np.float64
    assert_array_equal(model.standard_errors_, 0)
    assert model.noise_std_ == 0
    assert model.stopping_reason_ == "exact: the model reproduces every sample"
    assert model.n_features_in_ == 6
    assert not hasattr(model, "feature_names_in_")
    assert model.coding_.kind.tolist() == ["two-valued"] * 6
    assert_array_equal(model.coding_.low, -1)
    assert_array_equal(model.coding_.high, 1)
    assert model.score(X, function(X)) == 1
    coverage = {row["order"]: row for row in model.search_coverage_}
    assert [coverage[k]["possible"] for k in (1, 2, 3)] == [6, 15, 20]
    assert [coverage[k]["kept"] for k in (1, 2, 3)] == [2, 1, 1]
    assert all(
        row["kept"] <= row["tried"] <= row["possible"] for row in coverage.values()
    )


RECORD = {
    "iteration",
    "learned_rmse",
    "training_rmse",
    "validation_rmse",
    "n_weights",
    "weights_per_order",
    "proposed",
    "removed",
    "discarded",
    "seconds",
}

# Of polars 2; of polars 1 older versions read them as well.
POLARS_NAMES = pytest.mark.needs_sklearn("1.9", "names of the columns of polars 2")

EVERY_WAY = {
    "auto": MOHNRegressor(),
    "auto-lasso": MOHNRegressor(learning_rule="lasso", alpha=0.01),
    "pursuit": MOHNRegressor("pursuit"),
    "pursuit-lasso": MOHNRegressor("pursuit", "lasso", alpha=0.01),
    "pursuit-delta": MOHNRegressor("pursuit", "delta", max_iter=1000),
    "msda-ols": MOHNRegressor("msda", "ols", random_state=0),
    "msda": MOHNRegressor("msda", random_state=0),
    "msda-delta": MOHNRegressor("msda", "delta", random_state=0),
    "full-ols": MOHNRegressor("full", max_order=3),
    "full-lasso": MOHNRegressor("full", "lasso", max_order=3, alpha=0.01),
    "full-delta": MOHNRegressor(
        "full",
        "delta",
        max_order=3,
        max_iter=3000,
        delta_options=DeltaOptions(tol=1e-3),
    ),
    "given-ols": MOHNRegressor("given", terms=TERMS),
    "given-lasso": MOHNRegressor("given", "lasso", terms=TERMS, alpha=0.01),
    "given-delta": MOHNRegressor("given", "delta", terms=TERMS),
}


@pytest.mark.parametrize("name", EVERY_WAY)
def test_every_strategy_with_every_rule(name):
    X = signs(400, 8 if name.startswith("full") else 12)
    model = clone(EVERY_WAY[name]).fit(X, function(X))
    tolerance = {"lasso": 0.03, "delta": 0.01}.get(name.split("-")[-1], 1e-8)
    found = dict(zip(model.terms_, model.weights_, strict=True))
    for term, coef in zip(TERMS, COEF, strict=True):
        assert found.pop(term) == pytest.approx(coef, abs=tolerance)
    assert max(map(abs, found.values()), default=0) < tolerance
    assert model.intercept_ == pytest.approx(INTERCEPT, abs=tolerance)
    # Each attribute is there and fits the others, whatever the way.
    assert model.terms_ == sorted(model.terms_, key=lambda term: (len(term), term))
    assert model.weights_.shape == model.standard_errors_.shape == (len(model.terms_),)
    assert model.n_iter_ == max(len(model.history_), 1)
    assert isinstance(model.stopping_reason_, str)
    assert model.stopping_reason_
    assert model.noise_std_ >= 0
    for number, record in enumerate(model.history_, start=1):
        assert set(record) == RECORD
        assert record["iteration"] == number
        assert sum(record["weights_per_order"]) == record["n_weights"]
        assert record["validation_rmse"] is None
    seconds = [record["seconds"] for record in model.history_]
    assert seconds == sorted(seconds)
    assert len(model.history_.to_frame()) == len(model.history_)
    kept = {row["order"]: row["kept"] for row in model.search_coverage_}
    for order in range(1, 4):
        assert kept[order] == sum(len(term) == order for term in model.terms_)


@pytest.mark.slow_cases("pursuit-options0")
@pytest.mark.parametrize(
    ("strategy", "options"), [("pursuit", {"selection": "ebic"}), ("msda", {})]
)
def test_removing_weights_raises_the_error_of_the_round(strategy, options):
    problem = make_ising((5, 5), snr=5, n_samples=350, random_state=0)
    # By the lasso msda removes weights that are zero, which changes no error.
    model = MOHNRegressor(strategy, "ols", **options, random_state=0)
    records = model.fit(problem.X, problem.y).history_
    assert any(record["removed"] for record in records)
    for record in records:
        if record["removed"]:
            assert record["learned_rmse"] < record["training_rmse"]
        else:
            assert record["learned_rmse"] == pytest.approx(record["training_rmse"])


def test_history_holds_what_a_redrawn_figure_needs():
    problem = make_ising((5, 5), n_samples=350, random_state=0)
    X, y = problem.X[:300], problem.y[:300]
    for strategy in ("pursuit", "msda"):
        model = MOHNRegressor(strategy, max_order=2, random_state=0)
        model.fit(X, y, X_val=problem.X[300:], y_val=problem.y[300:])
        frame = model.history_.to_frame()
        assert frame["validation_rmse"].notna().all()
        assert frame["training_rmse"].iloc[-1] < 1e-8
        assert frame["validation_rmse"].iloc[-1] < 1e-8
        assert frame["validation_rmse"].iloc[0] > 1e-3
        assert frame["proposed"].iloc[0] > 0


def test_constant_target():
    X = signs()
    model = MOHNRegressor().fit(X, np.full(len(X), 2.5))
    assert model.terms_ == []
    assert model.intercept_ == 2.5
    assert_array_equal(model.predict(X), 2.5)
    table = model.terms_table()
    assert len(table) == 0


# ------------------------------------------------------------------------ codings

CODINGS = {
    "0 and 1": lambda X: (X + 1) / 2,
    "-1 and 1": lambda X: X,
    "integers": lambda X: X.astype(int),
    "bool": lambda X: X > 0,
    "two floats": lambda X: np.where(X > 0, 0.3, -7.25),
    "a pair per column": lambda X: X * np.arange(1, 7) + np.arange(6),
    "float32": lambda X: X.astype(np.float32),
    "list": lambda X: X.tolist(),
    "fortran order": np.asfortranarray,
    "bool DataFrame": lambda X: pd.DataFrame(X > 0, columns=list("abcdef")),
    "nullable DataFrame": lambda X: pd.DataFrame(X > 0).astype("boolean"),
    "polars": lambda X: pl.DataFrame(X > 0, schema=list("abcdef")),
    "sparse": lambda X: sparse.csr_array((X + 1) / 2),
    "sparse columns": lambda X: sparse.csc_matrix((X + 1) / 2),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=POLARS_NAMES if n == "polars" else ()) for n in CODINGS],
)
def test_two_valued_columns_of_any_kind(name):
    X = signs()
    coded = CODINGS[name](X)
    model = MOHNRegressor().fit(coded, function(X))
    assert_found(model)
    assert model.coding_.kind.tolist() == ["two-valued"] * 6
    new = signs(seed=1)
    assert_allclose(model.predict(CODINGS[name](new)), function(new))
    has_names = name in ("bool DataFrame", "polars")
    assert hasattr(model, "feature_names_in_") == has_names
    if has_names:
        assert model.feature_names_in_.tolist() == list("abcdef")


def test_coding_is_shown():
    X = np.where(signs() > 0, [3.0, 1.0, 9.0, 1.0, 1.0, 1.0], [2.0, 0, -9, -1, 0, 0])
    model = MOHNRegressor().fit(X, function(signs()))
    assert_array_equal(model.coding_.low, [2, 0, -9, -1, 0, 0])
    assert_array_equal(model.coding_.high, [3, 1, 9, 1, 1, 1])
    assert model.coding_.decode(2, -1) == -9


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pytest.param(pl.DataFrame, marks=POLARS_NAMES)]
)
def test_third_value_at_predict_is_on_the_same_line_with_one_warning(frame):
    X = signs()
    names = [f"gene{i}" for i in range(6)]
    make = (
        (lambda X: pd.DataFrame(X, columns=names))
        if frame is pd.DataFrame
        else (lambda X: pl.DataFrame(X, schema=names))
    )
    model = MOHNRegressor().fit(make((X + 1) / 2), function(X))
    new = signs(10, seed=1)
    new[2, 4], new[5, 0] = 0.5, 3.0
    with pytest.warns(UserWarning, match="mapped on the line") as caught:
        prediction = model.predict(make((new + 1) / 2))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    assert "column 'gene4' has 0.75" in message
    assert "column 'gene0' has 2" in message
    assert_allclose(prediction, function(new))


def test_mixed_table():
    rng = np.random.default_rng(0)
    inputs = signs(400)
    inputs[:, [1, 4]] = rng.uniform(-1, 1, (400, 2))
    inputs[0, [1, 4]], inputs[1, [1, 4]] = -1.0, 1.0
    X = inputs.copy()
    X[:, 1] = 20 + 10 * inputs[:, 1]
    X = np.insert(X, 3, 7.0, axis=1)
    model = MOHNRegressor().fit(X, function(inputs))
    kinds = ["two-valued", "numeric", "two-valued", "constant"]
    kinds += ["two-valued", "numeric", "two-valued"]
    assert model.coding_.kind.tolist() == kinds
    assert model.terms_ == [(0,), (5,), (1, 2), (0, 4, 6)]
    assert_allclose(model.weights_, COEF, atol=1e-8)
    assert model.coding_.low[1], model.coding_.high[1] == (10, 30)
    # What lies beyond the range, or in the constant column, is no surprise.
    X[:, 3], X[0, 1] = -1.0, 35.0
    inputs[0, 1] = 1.5
    assert_allclose(model.predict(X), function(inputs))


def test_constant_columns_are_ignored_by_every_strategy():
    inputs = signs(400, 12)
    X = np.insert(inputs, [0, 3], 1.0, axis=1)
    shifted = [tuple(i + 1 if i < 3 else i + 2 for i in term) for term in TERMS]
    for estimator in (
        MOHNRegressor(),
        MOHNRegressor("msda", random_state=0),
        MOHNRegressor("given", terms=shifted),
    ):
        model = estimator.fit(X, function(inputs))
        assert model.terms_ == shifted
        assert_allclose(model.weights_, COEF)
    full = MOHNRegressor("full", max_order=2).fit(X, function(inputs))
    assert len(full.terms_) == 12 + 66


# ------------------------------------------------------------------ unknown values


@settings(max_examples=25)
@given(
    mask=st.lists(
        st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4
    ),
    seed=st.integers(0, 2**16),
)
def test_unknown_value_at_predict_is_the_average_over_both(mask, seed):
    model = MOHNRegressor("given", terms=TERMS)
    model.fit((signs() + 1) / 2, function(signs()))
    unknown = np.array(mask)
    known = signs(len(mask), seed=seed)
    X = np.where(unknown, np.nan, (known + 1) / 2)
    expected = []
    for row, hidden in zip(known, unknown, strict=True):
        # Every way to fill in the schema's unknown places.
        fills = itertools.product(
            *([-1.0, 1.0] if h else [v] for v, h in zip(row, hidden, strict=True))
        )
        expected.append(np.mean(function(np.array(list(fills)))))
    assert_allclose(model.predict(X), expected, atol=1e-10)


def test_unknown_values_in_every_place_predict_the_intercept():
    model = MOHNRegressor().fit(signs(), function(signs()))
    assert_allclose(model.predict(np.full((2, 6), np.nan)), INTERCEPT)


def test_strategies_read_what_the_user_has_set():
    for estimator in (MOHNRegressor(), MOHNTransformer(), MOHNClassifier()):
        assert repr(FitSettings.of(estimator)) == repr(FitSettings())
    model = MOHNRegressor("given", terms=[(0,)], gp_options=GPOptions(clip=False))
    settings = FitSettings.of(model)
    assert (settings.strategy, settings.terms) == ("given", [(0,)])
    assert settings.gp_options is model.gp_options


@pytest.mark.parametrize("estimator", [MOHNRegressor, MOHNTransformer, MOHNClassifier])
@pytest.mark.parametrize("strategy", ["auto", "pursuit", "gp", "msda"])
def test_rule_of_the_stochastic_search_is_the_lasso(estimator, strategy):
    expected = "lasso" if strategy == "msda" else "ols"
    assert FitSettings.of(estimator(strategy)).learning_rule == expected


@pytest.mark.parametrize("learning_rule", ["ols", "lasso", "delta"])
def test_a_rule_that_is_named_is_taken(learning_rule):
    for strategy in ("auto", "msda"):
        settings = FitSettings.of(MOHNRegressor(strategy, learning_rule))
        assert settings.learning_rule == learning_rule


def test_stochastic_search_learns_by_the_lasso():
    X, y = noisy()
    models = [
        MOHNRegressor("msda", *rule, max_iter=30, random_state=0).fit(X, y)
        for rule in ([], ["lasso"], ["ols"])
    ]
    errors = [[r["learned_rmse"] for r in model.history_] for model in models]
    assert errors[0] == errors[1] != errors[2]
    assert models[0].get_params()["learning_rule"] == "auto"


@pytest.mark.parametrize("learning_rule", ["ols", "lasso", "delta"])
@pytest.mark.filterwarnings("ignore:the delta rule stopped")
def test_a_rule_has_all_its_steps_after_a_search_that_took_its_own(learning_rule):
    X = signs(60)
    y = function(X) + np.random.default_rng(0).normal(size=60)
    model = MOHNRegressor("pursuit", learning_rule, max_iter=1, random_state=0)
    model.fit(X, y)
    assert model.n_iter_ == (1 if learning_rule == "ols" else 2)


@pytest.mark.parametrize("learning_rule", ["ols", "delta"])
def test_schemas_with_their_averages_can_be_learned_from(learning_rule):
    rng = np.random.default_rng(0)
    inputs = signs(400)
    inputs[rng.uniform(size=inputs.shape) < 0.1] = 0.0
    X = np.where(inputs == 0, np.nan, inputs > 0)
    model = MOHNRegressor(
        "full",
        learning_rule,
        max_order=3,
        max_iter=2000,
        delta_options=DeltaOptions(tol=1e-9),
    )
    model.fit(X, function(inputs))
    found = dict(zip(model.terms_, model.weights_, strict=True))
    assert_allclose([found[term] for term in TERMS], COEF, atol=1e-5)
    assert model.coding_.kind.tolist() == ["two-valued"] * 6


def test_structure_is_found_among_unknown_values():
    rng = np.random.default_rng(0)
    inputs = signs(400)
    inputs[rng.uniform(size=inputs.shape) < 0.1] = 0.0
    X = np.where(inputs == 0, np.nan, inputs > 0)
    assert_found(MOHNRegressor().fit(X, function(inputs)))
    # Targets of the full rows, with their values hidden, leave an error behind.
    rows = signs(600)
    hidden = np.where(rng.uniform(size=rows.shape) < 0.05, np.nan, rows)
    model = MOHNRegressor("pursuit", random_state=0).fit(hidden, function(rows))
    assert set(TERMS) <= set(model.terms_)
    assert model.noise_std_ > 0


def test_unknown_column_is_ignored():
    X = np.insert(signs(), 6, np.nan, axis=1)
    model = MOHNRegressor().fit(X, function(signs()))
    assert_found(model)
    assert model.coding_.kind[6] == "constant"


# ------------------------------------------------------------------ fixed structures


def noisy(n_samples=150, seed=0):
    X = signs(n_samples, seed=seed)
    rng = np.random.default_rng(seed + 1)
    return X, function(X) + rng.standard_normal(n_samples)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("strategy", ["full", "given"])
def test_lasso_is_scikit_learns(strategy, alpha):
    X, y = noisy()
    terms = [t for k in (1, 2, 3) for t in itertools.combinations(range(6), k)]
    model = MOHNRegressor(
        strategy,
        "lasso",
        alpha=alpha,
        max_order=3,
        terms=terms if strategy == "given" else None,
    ).fit(X, y)
    lasso = Lasso(alpha=alpha, tol=1e-12, max_iter=100_000)
    lasso.fit(multiply_columns(X, terms), y)
    found = dict(zip(model.terms_, model.weights_, strict=True))
    assert_allclose([found.get(t, 0.0) for t in terms], lasso.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(lasso.intercept_, abs=1e-6)
    assert np.isnan(model.standard_errors_).all()


@pytest.mark.parametrize("strategy", ["full", "given"])
def test_least_squares_is_scikit_learns(strategy):
    X, y = noisy()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    terms = [t for k in (1, 2) for t in itertools.combinations(range(6), k)]
    terms = terms if strategy == "full" else terms[::3]
    given = terms if strategy == "given" else None
    model = MOHNRegressor(strategy, max_order=2, terms=given)
    model.fit(X, y, sample_weight=weights)
    linear = LinearRegression().fit(multiply_columns(X, terms), y, weights)
    assert model.terms_ == terms
    assert_allclose(model.weights_, linear.coef_)
    assert model.intercept_ == pytest.approx(linear.intercept_)
    # Weights count repeated rows, also in the errors.
    rows = np.repeat(np.arange(len(y)), weights)
    A = np.column_stack([np.ones(len(rows)), multiply_columns(X[rows], terms)])
    residual = y[rows] - A @ np.append(linear.intercept_, linear.coef_)
    noise = np.sqrt(residual @ residual / (len(rows) - A.shape[1]))
    errors = noise * np.sqrt(np.diag(np.linalg.inv(A.T @ A)))[1:]
    assert model.noise_std_ == pytest.approx(noise)
    assert_allclose(model.standard_errors_, errors)


def test_automatic_penalty_is_the_scaled_lassos():
    X, y = noisy(400)
    model = MOHNRegressor("full", "lasso", max_order=2).fit(X, y)
    assert {(0,), (4,), (1, 2)} <= set(model.terms_)
    alpha = float(model.stopping_reason_.partition("=")[2])
    rmse = model.history_[-1]["training_rmse"]
    assert alpha == pytest.approx(rmse * np.sqrt(2 * np.log(21) / 400), rel=0.01)


@pytest.mark.parametrize(
    "terms",
    [
        [("a",), ("e",), ("b", "c"), ("a", "d", "f")],
        ["a", "e", ("c", "b"), ("f", "d", "a")],
        [(0,), 4, (2, 1), (5, 0, 3)],
        [(0,), "e", ("b", 2), ("a", 3, "f")],
        [np.array([0]), np.int64(4), [1, 2], {0, 3, 5}],
    ],
)
def test_structure_given_by_names_or_numbers(terms):
    frame = pd.DataFrame(signs(), columns=list("abcdef"))
    assert_found(MOHNRegressor("given", terms=terms).fit(frame, function(signs())))


def test_full_without_a_limit_takes_all_orders():
    X = signs(100, 4)
    model = MOHNRegressor("full").fit(X, X[:, 0])
    assert len(model.terms_) == 2**4 - 1


# -------------------------------------------------------- learning on, and weights


ANY_SCALE = {
    "pursuit": MOHNRegressor("pursuit", random_state=0),
    "lasso": MOHNRegressor("pursuit", selection="lasso", random_state=0),
    "msda": MOHNRegressor("msda", random_state=0),
    "msda-ols": MOHNRegressor("msda", "ols", random_state=0),
    "full": MOHNRegressor("full", max_order=2),
    "delta": MOHNRegressor("full", "delta", 2, max_iter=3, random_state=0),
    "gp": MOHNRegressor("gp"),
}


@cache
def of_usual_size(name):
    X = signs(80)
    y = function(X) + np.cos(37.0 * np.arange(80))
    return X, y, clone(ANY_SCALE[name]).fit(X, y)


@pytest.mark.slow_cases(r"1e\+160-(pursuit|gp)|9.*-lasso")
@pytest.mark.filterwarnings("ignore:the delta rule stopped")
@pytest.mark.parametrize("name", ANY_SCALE)
@pytest.mark.parametrize("scale", [2.0**-1000, 1e160])
def test_targets_of_any_size(name, scale):
    """Squares of these are out of range."""
    X, y, usual = copy.deepcopy(of_usual_size(name))
    model = clone(ANY_SCALE[name]).fit(X, scale * y)
    assert model.terms_ == usual.terms_
    close = partial(assert_allclose, rtol=1e-6, atol=1e-12)
    for attribute in ("weights_", "intercept_", "standard_errors_", "noise_std_"):
        close(getattr(model, attribute) / scale, getattr(usual, attribute))
    close(model.predict(X) / scale, usual.predict(X))
    close(model.feature_importances_, usual.feature_importances_)
    rmse = [record.get("training_rmse", 0.0) for record in usual.history_]
    found = [record.get("training_rmse", 0.0) for record in model.history_]
    close(np.array(found) / scale, rmse)
    if name == "gp":
        std = model.predict(X[:5], return_std=True)[1]
        close(std / scale, usual.predict(X[:5], return_std=True)[1])
        close(model.sample_y(X[:5]) / scale, usual.sample_y(X[:5]))
        length = model.log_marginal_likelihood_ + 80 * np.log(scale)
        assert length == pytest.approx(usual.log_marginal_likelihood_)
    for estimator, targets in ((usual, y), (model, scale * y)):
        estimator.partial_fit(X[:9], targets[:9])
    close(model.weights_ / scale, usual.weights_)


def test_penalty_has_the_unit_of_the_targets():
    X = signs(80)
    y = 1e3 * (function(X) + np.cos(37.0 * np.arange(80)))
    model = MOHNRegressor("full", "lasso", max_order=1, alpha=200.0).fit(X, y)
    assert_allclose(model.predict(X), Lasso(200.0, tol=1e-10).fit(X, y).predict(X))
    assert "alpha=200" in model.stopping_reason_


def test_columns_of_any_size():
    X = signs(80)
    y = function(X)
    # None below 0: scikit-learn adds them all up, and warns of infinity less infinity.
    huge = X.clip(0.0) * [1.7e308, 1e160, 1e-170, 5e-324, 1.0, 1.0]
    model = MOHNRegressor("pursuit").fit(huge, y)
    assert [abs(weight) for weight in model.weights_] == pytest.approx(np.abs(COEF))
    assert_allclose(model.predict(huge), y)


@pytest.mark.parametrize("strategy", ["auto", "msda"])
def test_warm_start_keeps_max_order(strategy):
    X = signs()
    model = MOHNRegressor("pursuit", warm_start=True, random_state=0)
    assert model.fit(X, function(X)).terms_ == TERMS
    model.set_params(strategy=strategy)
    for max_order in (2, 1):
        model.set_params(max_order=max_order).fit(X, function(X))
        assert (4,) in model.terms_
        assert max(map(len, model.terms_)) <= max_order


def test_warm_start_goes_on_from_the_structure():
    X = signs()
    model = MOHNRegressor(warm_start=True).fit(X, function(X))
    assert model.n_iter_ > 0
    more = signs(seed=5)
    target = function(more) + 2 * more[:, 3] * more[:, 4]
    model.fit(more, target)
    assert model.terms_ == [(0,), (4,), (1, 2), (3, 4), (0, 3, 5)]
    # The same data once more: nothing is left to do.
    model.fit(more, target)
    assert len(model.history_) == 0
    assert model.terms_ == [(0,), (4,), (1, 2), (3, 4), (0, 3, 5)]


def test_cold_start_forgets():
    X = signs()
    model = MOHNRegressor().fit(X, function(X))
    model.fit(X, X[:, 5])
    assert model.terms_ == [(5,)]


def test_partial_fit_is_the_delta_rule():
    X, new = signs(), signs(30, seed=3)
    model = MOHNRegressor(delta_options=DeltaOptions(learning_rate=0.05))
    assert model.partial_fit(X, function(X)) is model
    assert_found(model)
    rounds = model.n_iter_
    y = function(new) + 1.0
    assert model.partial_fit(new, y) is model
    coef, intercept = np.array(COEF), INTERCEPT
    for row, target in zip(multiply_columns(new, TERMS), y, strict=True):
        error = target - intercept - coef @ row
        coef = coef + 0.05 * error * row
        intercept += 0.05 * error
    assert model.terms_ == TERMS
    assert_allclose(model.weights_, coef)
    assert model.intercept_ == pytest.approx(intercept)
    assert np.isnan(model.standard_errors_).all()
    assert model.n_iter_ == rounds + 1


def test_partial_fit_follows_a_target_that_moves():
    X = signs(400)
    model = MOHNRegressor().fit(X, function(X))
    for _ in range(20):
        model.partial_fit(X, 2 * function(X))
    assert_allclose(model.weights_, 2 * np.array(COEF), atol=1e-6)


def test_partial_fit_weights_multiply_the_step():
    X, new = signs(), signs(1, seed=3)
    steps = []
    for weight in (1.0, 2.0, 0.3):
        model = MOHNRegressor(delta_options=DeltaOptions(learning_rate=0.01)).fit(
            X, function(X)
        )
        model.partial_fit(new, function(new) + 1, sample_weight=[weight])
        steps.append(model.intercept_ - INTERCEPT)
    assert steps[1:] == pytest.approx([2 * steps[0], 0.3 * steps[0]])


def test_batches_of_partial_fit_make_no_difference():
    X, new = signs(), signs(40, seed=3)
    y, weights = function(new) + 1, np.random.default_rng(0).uniform(0, 2, 40)
    whole, parts = (MOHNRegressor("pursuit").fit(X, function(X)) for _ in range(2))
    whole.partial_fit(new, y, weights)
    for rows in np.split(np.arange(40), [3, 11, 30]):
        parts.partial_fit(new[rows], y[rows], weights[rows])
    assert_allclose(parts.weights_, whole.weights_, rtol=1e-12)
    assert parts.intercept_ == pytest.approx(whole.intercept_, rel=1e-12)


def test_heavy_rows_of_partial_fit_are_met_and_not_overshot():
    X, new = signs(), signs(1, seed=3)
    model = MOHNRegressor("pursuit").fit(X, function(X))
    model.partial_fit(new, function(new) + 1, sample_weight=[1e9])
    assert_allclose(model.predict(new), function(new) + 1)


@pytest.mark.parametrize(
    "estimator",
    [
        MOHNRegressor("full", max_order=2),
        MOHNRegressor("full", "lasso", max_order=2, alpha=0.05),
        MOHNRegressor("pursuit", selection="ebic"),
        MOHNRegressor("msda", random_state=0, max_order=2),
    ],
    ids=str,
)
def test_weights_of_nought_hide_rows(estimator):
    X, y = noisy()
    wrong = np.vstack([X, signs(40, seed=9)]), np.append(y, np.full(40, 1e6))
    weights = np.append(np.ones(len(y)), np.zeros(40))
    plain = clone(estimator).fit(X, y)
    weighted = clone(estimator).fit(*wrong, sample_weight=weights)
    assert weighted.terms_ == plain.terms_
    assert_allclose(weighted.weights_, plain.weights_, atol=1e-9)


def test_fractional_weights_are_relative():
    X, y = noisy()
    weights = np.random.default_rng(0).uniform(0.1, 1.0, len(y))
    one, other = (
        MOHNRegressor("full", max_order=2).fit(X, y, sample_weight=scale * weights)
        for scale in (1.0, 17.0)
    )
    assert_allclose(one.weights_, other.weights_)
    assert_allclose(one.standard_errors_, other.standard_errors_)


# --------------------------------------------------------------------- validation


@pytest.mark.parametrize(
    "estimator",
    [
        MOHNRegressor("pursuit", random_state=0),
        MOHNRegressor("msda", max_order=3, random_state=0),
        MOHNRegressor(
            "full",
            "delta",
            max_order=3,
            delta_options=DeltaOptions(learning_rate=0.002),
            random_state=0,
        ),
    ],
    ids=lambda estimator: f"{estimator.strategy}-{estimator.learning_rule}",
)
@pytest.mark.parametrize("how", ["early_stopping", "X_val"])
def test_validation_samples(estimator, how):
    X, y = noisy(500)
    model = clone(estimator)
    if how == "X_val":
        model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    else:
        model.set_params(early_stopping=True, validation_fraction=0.2).fit(X, y)
    assert all(record["validation_rmse"] > 0 for record in model.history_)
    fresh = signs(300, seed=7)
    assert np.sqrt(np.mean((model.predict(fresh) - function(fresh)) ** 2)) < 0.5


def test_delta_rule_stops_when_validation_no_longer_improves():
    X, y = noisy(80)
    model = MOHNRegressor(
        "full",
        "delta",
        max_order=4,
        delta_options=DeltaOptions(n_iter_no_change=5, learning_rate=0.01, tol=0.0),
    )
    new, target = noisy(200, seed=5)
    model.fit(X, y, X_val=new, y_val=target)
    errors = [record["validation_rmse"] for record in model.history_]
    best = int(np.argmin(errors))
    # It waited for as long as it was told to, and kept the best epoch.
    assert len(errors) == best + 1 + 5
    kept = np.sqrt(np.mean((target - model.predict(new)) ** 2))
    assert kept == pytest.approx(errors[best])


def test_held_out_rows_are_not_learned_from():
    X, y = noisy(200)
    half, rest = (X[:100], y[:100]), (X[100:], y[100:])
    one = MOHNRegressor("pursuit", random_state=0).fit(
        *half, X_val=rest[0], y_val=rest[1]
    )
    path = MOHNRegressor("given", terms=one.terms_).fit(*half)
    assert_allclose(one.weights_, path.weights_)


# ------------------------------------------------------------------ structure table

COLUMNS = ["term", "order", "weight", "standard_error", "variance_share"]


def test_structure_table():
    frame = pd.DataFrame(signs(), columns=[f"gene {c}" for c in "abcdef"])
    table = MOHNRegressor().fit(frame, function(signs())).terms_table()
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == COLUMNS
    assert table["term"].tolist() == [
        "gene a x gene d x gene f",
        "gene e",
        "gene a",
        "gene b x gene c",
    ]
    assert table["order"].tolist() == [3, 1, 1, 2]
    assert_allclose(table["weight"], [3, -2, 1, 0.5])
    assert_allclose(table["standard_error"], 0)
    total = 9 + 4 + 1 + 0.25
    assert_allclose(
        table["variance_share"], [9 / total, 4 / total, 1 / total, 0.25 / total]
    )


def test_structure_table_without_names():
    table = MOHNRegressor().fit(signs(), function(signs())).terms_table()
    assert table["term"].tolist() == ["x0 x x3 x x5", "x4", "x0", "x1 x x2"]


def test_variance_share_is_the_share_of_variance_over_all_inputs():
    inputs = 1.0 - 2.0 * (np.arange(64)[:, None] >> np.arange(6) & 1)
    model = MOHNRegressor("given", terms=TERMS).fit(inputs, function(inputs))
    shares = model.terms_table()["variance_share"].to_numpy()
    parts = [
        np.var(c * multiply_columns(inputs, [t]))
        for t, c in zip(TERMS, COEF, strict=True)
    ]
    assert_allclose(np.sort(shares), np.sort(parts) / np.var(function(inputs)))


# -------------------------------------------------------------- scikit-learn and co


@pytest.fixture(params=["pickle", "joblib", "skops"])
def round_trip(request, tmp_path):
    """A way to store a model and read it back."""
    path = tmp_path / "model"
    if request.param == "pickle":
        return lambda model: pickle.loads(pickle.dumps(model))
    if request.param == "joblib":
        return lambda model: (joblib.dump(model, path), joblib.load(path))[1]
    skops = pytest.importorskip("skops.io")

    def through_skops(model):
        stored = skops.dumps(model)
        unknown = skops.get_untrusted_types(data=stored)
        assert all(name.startswith("skmohn.") for name in unknown)
        return skops.loads(stored, trusted=unknown)

    return through_skops


@pytest.mark.parametrize("name", ["pursuit", "msda-ols", "given-delta"])
def test_stored_model_predicts_the_same(round_trip, name):
    frame = pd.DataFrame(signs(), columns=list("abcdef"))
    model = clone(EVERY_WAY[name]).fit(frame, function(signs()))
    back = round_trip(model)
    assert_array_equal(back.predict(frame), model.predict(frame))
    assert back.terms_ == model.terms_
    assert back.history_ == model.history_
    assert back.search_coverage_ == model.search_coverage_
    assert_array_equal(back.coding_.kind, model.coding_.kind)
    # It can also learn on.
    back.partial_fit(frame, function(signs()))
    back.set_params(random_state=1).fit(frame, function(signs()))


@pytest.fixture(scope="module")
def leveled():
    """A model of levels and categories, and the rows that it was fitted to."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.random(60), rng.integers(0, 3, 60), rng.integers(0, 2, 60)]
    )
    y = np.sin(6 * X[:, 0]) + (X[:, 1] == 1) * X[:, 2] + 0.1 * rng.normal(size=60)
    X[:4] = np.where(rng.random((4, 3)) < 0.5, np.nan, X[:4])
    model = MOHNRegressor(
        "gp",
        categorical_features=[1],
        gp_options=GPOptions(numeric="thermometer"),
        random_state=0,
    )
    return model.fit(X, y), X, y


def test_stored_model_of_levels_and_categories_predicts_the_same(round_trip, leveled):
    fitted, X, y = leveled
    model = copy.deepcopy(fitted)
    back = round_trip(model)
    for one, other in zip(
        back.predict(X, return_std=True), model.predict(X, return_std=True), strict=True
    ):
        assert_array_equal(one, other)
    assert_array_equal(back.sobol_indices()["total"], model.sobol_indices()["total"])
    for part in (model, back):
        part.partial_fit(X[:20], y[:20])
    assert_allclose(back.predict(X), model.predict(X))


def test_parameters_and_clone():
    control = MSDAOptions(exploitation=0.25)
    model = MOHNRegressor("msda", msda_options=control, max_order=3, terms=[(0,)])
    twin = clone(model)
    found, expected = (m.get_params() for m in (twin, model))
    # A control is copied; its parameters are among the others.
    assert found.pop("msda_options") is not expected.pop("msda_options")
    assert found == expected
    assert twin.set_params(max_order=2).max_order == 2
    assert model.max_order == 3


def test_msda_options_reaches_the_search():
    X = signs()
    sizes = [
        MOHNRegressor("msda", msda_options=MSDAOptions(batch_size=k), random_state=0)
        .fit(X, function(X))
        .history_[0]["proposed"]
        for k in (5, 20)
    ]
    assert sizes == [5, 20]


def test_pipeline_grid_search_and_cross_validation():
    problem = make_sparse_walsh(8, 6, n_samples=200, max_order=2, random_state=0)
    categories = np.where(problem.X > 0, "yes", "no")
    pipeline = make_pipeline(
        OneHotEncoder(drop="if_binary", sparse_output=True), MOHNRegressor()
    )
    assert cross_val_score(
        pipeline, categories, problem.y, cv=3
    ).min() == pytest.approx(1)
    grid = {"mohnregressor__max_order": [1, 2], "mohnregressor__selection": ["ebic"]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(categories, problem.y)
    assert search.best_params_["mohnregressor__max_order"] == 2
    assert search.best_score_ == pytest.approx(1)


def test_one_hot_groups_are_aliased_and_fit_all_the_same():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 3, (300, 4))
    X = OneHotEncoder(sparse_output=False).fit_transform(levels)
    y = 2.0 * (levels[:, 0] == 1) + 3.0 * (levels[:, 1] == 2) * (levels[:, 2] == 0)
    model = MOHNRegressor(random_state=0).fit(X, y)
    assert model.score(X, y) == pytest.approx(1)


def test_names_of_another_order_are_refused():
    frame = pd.DataFrame(signs(), columns=list("abcdef"))
    model = MOHNRegressor().fit(frame, function(signs()))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("bacdef")])


def test_samples_and_parameters_are_not_changed():
    X, y = noisy()
    weights = np.linspace(0, 2, len(y))
    terms = [[0], [2, 1]]
    copies = X.copy(), y.copy(), weights.copy()
    MOHNRegressor("given", terms=terms).fit(X, y, weights).predict(X)
    MOHNRegressor().fit(X, y, weights).partial_fit(X, y, weights)
    for one, other in zip((X, y, weights), copies, strict=True):
        assert_array_equal(one, other)
    assert terms == [[0], [2, 1]]


def test_same_seed_same_model():
    problem = make_sparse_walsh(12, 20, n_samples=100, snr=2, random_state=0)
    for strategy in ("pursuit", "msda"):
        models = [
            MOHNRegressor(strategy, random_state=1).fit(problem.X, problem.y)
            for _ in range(2)
        ]
        assert models[0].terms_ == models[1].terms_
        assert_array_equal(models[0].weights_, models[1].weights_)
