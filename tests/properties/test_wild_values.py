"""One wild value moves what an estimator says of no other sample."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.neural_network import MLPRegressor

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetRegressor,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNGLMRegressor,
    MOHNRegressor,
)
from skmohn.mohn import GPOptions

pytestmark = pytest.mark.filterwarnings("ignore:.*far from all other values")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 2))
Y = X[:, 0] + 0.2 * RNG.normal(size=100)
OTHERS = np.arange(100) != 7
REGRESSORS = {
    "blm": BLMRegressor(random_state=0),
    "energynet": EnergyNetRegressor(
        EnergyNetTransformer(n_components=2, n_final_epochs=5),
        MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs"),
        random_state=0,
    ),
    "gp": MOHNRegressor("gp", random_state=0),
    "multilinear": MOHNRegressor(
        "gp", gp_options=GPOptions(numeric="multilinear"), random_state=0
    ),
    "pursuit": MOHNRegressor("pursuit", max_order=2, random_state=0),
    "spike_slab": MOHNRegressor("spike_slab", max_order=2, random_state=0),
}
FILLED = [7, 20, 33, 50, 80, 81]


def with_wild(values, wild):
    values = values.copy()
    values[(7,) + (0,) * (values.ndim - 1)] = wild
    return values


@pytest.mark.parametrize("wild", [1e4, -1e100])
@pytest.mark.parametrize("name", ["blm", "energynet"])
# What scikit-learn's networks say of steps.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_regressors(name, wild):
    for table, targets in ((with_wild(X, wild), Y), (X, with_wild(Y, wild))):
        predicted = REGRESSORS[name].fit(table, targets).predict(X)
        assert np.corrcoef(predicted[OTHERS], Y[OTHERS])[0, 1] > 0.9


# The rule reads the table, before any strategy.
@pytest.mark.slow_cases(r"(pursuit|spike_slab|auto|classes)--1000000\.0")
@pytest.mark.parametrize("wild", [20.0, -1e6])
@pytest.mark.parametrize(
    "name", ["gp", "multilinear", "pursuit", "spike_slab", "auto", "classes"]
)
def test_mohn_takes_a_lone_value_for_missing(name, wild):
    others = {
        "auto": MOHNRegressor(random_state=0),
        "classes": MOHNClassifier(random_state=0),
    }
    model, targets = (REGRESSORS | others)[name], Y if name != "classes" else Y > 0.0
    found, expected = (
        model.fit(with_wild(X, value), targets).predict(X) for value in (np.nan, wild)
    )
    assert_array_equal(found, expected)
    # What is as far off in `predict` counts as the nearer end.
    column = np.delete(X[:, 0], 7)
    end = column.max() if wild > 0.0 else column.min()
    found, expected = (model.predict(with_wild(X, v)) for v in (wild, end))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("wild", [1e4, -1e300])
@pytest.mark.parametrize("name", ["blm", "energynet"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_leave_lone_values_out(name, wild):
    model = REGRESSORS[name]
    # A network that takes no missing values gets the median.
    plain = np.nan if name == "energynet" else np.median(X[OTHERS, 0])
    found, expected = (
        model.fit(with_wild(X, value), Y).predict(X) for value in (wild, plain)
    )
    assert_array_equal(found, expected)
    found = model.fit(X, with_wild(Y, wild)).predict(X)
    assert_array_equal(found, model.fit(X[OTHERS], Y[OTHERS]).predict(X))


@pytest.mark.parametrize("name", ["blm", "energynet"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_learn_the_largest_value_as_it_is(name):
    """Farther from the others than these are apart, but not by three ranges."""
    skewed = np.exp(2.0 * Y)
    targets = with_wild(skewed, 3.0 * skewed[OTHERS].max())
    model = REGRESSORS[name].fit(X, targets)
    # With an intercept, least squares keep the mean.
    assert_allclose(model.predict(X).mean(), targets.mean(), rtol=0.01)
    # Nor is an input replaced, whose targets follow it.
    column = with_wild(X[:, :1], 12.0)
    found = REGRESSORS[name].fit(column, column[:, 0]).predict(column)
    assert_allclose(found[7], 12.0, rtol=0.05)


@pytest.mark.parametrize("name", ["blm", "energynet"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_of_few_rows_learn_no_wild_target(name):
    """Of nine rows none is left out."""
    few, y = X[:9], Y[:9]
    found = REGRESSORS[name].fit(few, with_wild(y, 1e4)).predict(few)
    assert np.ptp(found) < 3.0 * np.ptp(y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_lone_targets_of_validation_samples_choose_no_weights():
    model, wild = REGRESSORS["blm"], with_wild(Y, 1e6)
    with pytest.warns(
        UserWarning, match=r"^y has 1e\+06, .* these samples are left out"
    ):
        found = clone(model).fit(X, Y, X_val=X, y_val=wild)
    expected = clone(model).fit(X, Y, X_val=X[OTHERS], y_val=Y[OTHERS])
    assert_array_equal(found.codes_, expected.codes_)
    assert found.loss_ == expected.loss_


def test_losses_of_all_outputs_get_targets_as_they_are():
    seen = []

    def loss(y_true, outputs):
        seen.append(np.ptp(y_true))
        return np.mean((y_true - outputs) ** 2)

    options = {"loss": loss, "decomposable": False, "max_flips": 10}
    model = BLMRegressor((1,), **options).fit(X, with_wild(Y, 1e4))
    expected = np.ptp(with_wild(Y, 1e4)) / model.target_scaler_.scale_
    assert_allclose(seen, expected[0], rtol=1e-5)


# The rule looks at the rates, before any distribution.
@pytest.mark.slow_cases("negative_binomial|tweedie")
@pytest.mark.parametrize("loss", ["poisson", "negative_binomial", "gamma", "tweedie"])
def test_generalized_linear_models_leave_lone_targets_out(loss):
    model = MOHNGLMRegressor("full", loss, max_order=1, random_state=0)
    exposure, y = RNG.uniform(1.0, 2.0, 100), np.exp(Y)
    wild = with_wild(y, 1e12)
    model.fit(X, wild, exposure=exposure)
    assert_array_equal(np.flatnonzero(model.outliers_), [7])
    assert "left out as outliers: 1 of 100 targets" in model.stopping_reason_
    found = model.predict(X)
    plain = clone(model).fit(X[OTHERS], y[OTHERS], exposure=exposure[OTHERS])
    assert_array_equal(found, plain.predict(X))
    assert not plain.outliers_.any()
    assert "outliers" not in plain.stopping_reason_
    # A sample without weight is no outlier.
    model.fit(X, wild, sample_weight=OTHERS, exposure=exposure)
    assert_array_equal(model.predict(X), found)
    assert not model.outliers_.any()
    kept = clone(model).set_params(outliers="keep").fit(X, wild, exposure=exposure)
    assert not kept.outliers_.any()
    assert kept.predict(X).mean() > 1e9


@pytest.mark.parametrize("wild", [1e4, -1e300])
def test_classifiers(wild):
    model = BLMClassifier(random_state=0).fit(with_wild(X, wild), Y > 0.0)
    assert model.score(X, Y > 0.0) > 0.85


@pytest.mark.parametrize(("fill", "n_fills"), [(9.97e36, 1), (-1e300, 6)])
@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fills_in_several_rows(name, fill, n_fills):
    table, filled = X.copy(), FILLED[:n_fills]
    table[filled, 0] = fill
    model = REGRESSORS[name].fit(table, Y)
    # Rows that were seen in fit can be predicted.
    predicted = np.delete(model.predict(table), filled)
    assert np.corrcoef(predicted, np.delete(Y, filled))[0, 1] > 0.9


def test_features_of_a_column_with_fills():
    table = X.copy()
    table[FILLED, 0] = 1e300
    layers = EnergyNetTransformer(n_components=2, n_final_epochs=5, random_state=0)
    features = layers.fit(table).transform(X)
    # Standardized as without the fills, but for what six rows are.
    plain = np.std(layers.fit(X).transform(X)[:, -2:], axis=0)
    assert np.abs(np.std(features[:, -2:], axis=0) / plain - 1.0).max() < 0.2


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("blm", "fit uses the median instead"),
        ("energynet", "fit treats these as missing"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_say_what_they_leave_out(name, effect):
    model, frame = REGRESSORS[name], pd.DataFrame(with_wild(X, 1e4), columns=["a", "b"])
    said = r"^column a has 10000, far from all other values: "
    with pytest.warns(UserWarning, match=said + effect + r" \(1 in all\)"):
        model.fit(frame, Y)
    said = r"^y has -1e\+06, far from all other values: these samples are left out of"
    with pytest.warns(UserWarning, match=said):
        model.fit(X, with_wild(Y, -1e6))


@pytest.mark.parametrize("name", ["pursuit", "gp", "targets", "classes", "glm"])
def test_mohn_says_once_what_it_takes_for_missing(name):
    # Targets that are outliers are found by further fits, which read the table again.
    targets = with_wild(Y, 30.0)
    given = {
        "targets": np.column_stack([Y, targets]),
        "classes": Y > 0.0,
        "glm": np.exp(Y),
    }
    others = {
        "targets": MOHNRegressor("gp", random_state=0),
        "classes": MOHNClassifier("pursuit", random_state=0),
        "glm": MOHNGLMRegressor("full", "gamma", max_order=1, random_state=0),
    }
    table = with_wild(X, 1e4)
    # Five times the range of the others is left out as well, but may be right.
    table[20, 1] = 30.0
    model, frame = (REGRESSORS | others)[name], pd.DataFrame(table, columns=["a", "b"])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(frame, given.get(name, targets))
    (said,) = [str(w.message) for w in found if "far from all" in str(w.message)]
    assert said.removeprefix("targets 0, 1: ").startswith(
        "column a has 10000, far from all other values: fit treats these as missing "
        "(1 in all)"
    )
    # A row without weight is not said to be anything.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(frame, given.get(name, targets), sample_weight=1.0 * OTHERS)


def test_several_targets_say_once_what_may_be_missing():
    table, targets = X.copy(), np.column_stack([Y, -Y])
    table[FILLED, 0] = -999.0
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        MOHNRegressor("pursuit", max_order=1).fit(table, targets)
    said = [str(warning.message) for warning in found]
    assert sum("column 0 has -999 in 6 of 100 rows" in text for text in said) == 1


@pytest.mark.parametrize("kind", ["decades", "doses"])
def test_settings_on_a_scale_of_powers_are_kept(kind):
    table = X[:12].copy()
    exponents = np.append(np.repeat(np.arange(-3.0, 2.0), 2), [2.0, 3.0])
    table[:, 0] = 10.0**exponents
    if kind == "doses":
        table[:2, 0] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MOHNRegressor(random_state=0).fit(table, exponents)
    assert model.score(table, exponents) > 0.9
    assert not model.coding_.far


@pytest.mark.parametrize("name", ["blm", "energynet", "gp"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_errors_of_units_in_one_of_ten_rows(name):
    few, rows = X[:60].copy(), [3, 7, 20, 40, 50]
    few[rows, 0] *= 1e5
    others = np.delete(np.arange(60), rows)
    predicted = REGRESSORS[name].fit(few, Y[:60]).predict(few[others])
    assert np.corrcoef(predicted, Y[others])[0, 1] > 0.9
