"""Estimators of scikit-learn that fit others on a few columns at a time."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from skmohn import MOHNClassifier, MOHNRegressor, MOHNTransformer

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (60, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=60)
REGRESSORS = [
    MOHNRegressor(strategy, max_order=3, random_state=0)
    for strategy in ("auto", "pursuit", "spike_slab", "msda", "full", "gp")
]
CLASSIFIERS = [
    MOHNClassifier(strategy, max_order=3, random_state=0)
    for strategy in ("auto", "logistic", "pursuit", "full", "gp")
]
TRANSFORMERS = [
    MOHNTransformer(strategy, max_order=3, random_state=0)
    for strategy in ("pursuit", "full")
]


def target_of(estimator):
    return Y > 0 if isinstance(estimator, MOHNClassifier) else Y


def name_of(estimator):
    return f"{type(estimator).__name__}-{estimator.strategy}"


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.slow_cases(
    "MOHNClassifier-dense|MOHNRegressor-auto|MOHNRegressor-dense|MOHNRegressor-pursuit|MOHNRegressor-spike_slab"
)
@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=name_of)
def test_an_order_above_the_number_of_columns_left_is_no_error(estimator):
    y = target_of(estimator)
    bag = BaggingRegressor if y is Y else BaggingClassifier
    once = [(np.arange(30), np.arange(30, 60))]
    chosen = RFECV(estimator, cv=once).fit(X, y)
    assert set(chosen.cv_results_["n_features"]) == {1, 2, 3, 4}
    # One column of two at a time.
    forward = SequentialFeatureSelector(estimator, n_features_to_select=1, cv=once)
    assert forward.fit(X[:, 1:3], y).get_support().sum() == 1
    bagged = bag(estimator, 1, max_features=2, random_state=0).fit(X, y)
    assert bagged.predict(X).shape == (60,)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=name_of)
def test_products_of_a_single_column(transformer):
    line = make_pipeline(transformer, LinearRegression())
    bagged = BaggingRegressor(line, 2, max_features=1, random_state=0).fit(X, Y)
    assert bagged.predict(X).shape == (60,)


@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=name_of)
def test_an_order_above_the_number_of_columns_is_that_number(estimator):
    y = target_of(estimator)
    most, more = (
        clone(estimator).set_params(max_order=order).fit(X, y) for order in (4, 10**9)
    )
    assert more.max_order == 10**9
    assert most.terms_ == more.terms_
    assert_allclose(most.predict(X).astype(float), more.predict(X).astype(float))
