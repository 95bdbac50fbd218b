"""Rows that are equal but for rounding or jitter are the same rows."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn import MOHNClassifier, MOHNRegressor
from skmohn.mohn._table.coding import NUMERIC, TWO_VALUED, InputCoding
from skmohn.mohn._table.tails import Tails, fit_level


def make_settings(jitter, seed=0):
    """Twelve settings, four rows each."""
    x = np.repeat(np.linspace(0.0, 1.0, 12), 4)
    z = np.tile([0.0, 0.0, 1.0, 1.0], 12)
    rng = np.random.default_rng(seed)
    X = np.column_stack([x, z]) + jitter * rng.random((48, 2))
    return X, np.sin(6.0 * x) + z


@cache
def of_exact_settings(strategy):
    return MOHNRegressor(strategy, random_state=0).fit(*make_settings(0.0))


@pytest.mark.parametrize(
    ("strategy", "jitter"),
    [
        *(("gp", jitter) for jitter in (1e-15, 1e-12, 1e-7, 3e-5)),
        ("pursuit", 1e-12),
        ("auto", 1e-7),
    ],
)
def test_predictions_are_those_of_the_settings(strategy, jitter):
    (X, y), (near, _) = make_settings(0.0), make_settings(jitter)
    exact = of_exact_settings(strategy)
    model = MOHNRegressor(strategy, random_state=0).fit(near, y)
    assert model.terms_ == exact.terms_ or strategy != "pursuit"
    assert_allclose(model.predict(near), exact.predict(X), atol=1e-5)


def test_a_column_of_two_settings_is_two_valued():
    X, _ = make_settings(1e-9)
    coding = InputCoding.learn(X)
    assert_array_equal(coding.kind, [NUMERIC, TWO_VALUED])
    assert np.all(np.abs(coding.encode(X).inputs[:, 1]) == 1.0)
    assert len(np.unique(coding.encode(X).inputs[:, 0])) == 12


def test_whole_numbers_are_as_they_are():
    X = np.array([[0.0], [1.0], [2.0], [1e6], [1e6 + 1.0]])
    assert InputCoding.learn(X).settings == {}


def test_unknown_numbers_stay_unknown():
    X, _ = make_settings(1e-9)
    X[3] = np.nan
    coding = InputCoding.learn(X, max_levels=16)
    rows = coding.encode(X)
    assert_array_equal(np.argwhere(rows.mask()), [[3, 0], [3, 1]])
    assert len(coding.thresholds[0]) == 11


def test_classes_have_settings():
    (X, y), (near, _) = make_settings(0.0), make_settings(1e-9)
    labels = y > 0.5
    exact = MOHNClassifier(random_state=0).fit(X, labels)
    model = MOHNClassifier(random_state=0).fit(near, labels)
    assert_allclose(model.predict_proba(near), exact.predict_proba(X), atol=1e-5)


def copies(jitter, seed, strategy="auto", n_each=5):
    """Twelve rows, each five times with one noise."""
    rng = np.random.default_rng(100 + seed)
    X, fresh = rng.standard_normal((12, 4)), rng.standard_normal((50, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(12)
    near = X.repeat(n_each, axis=0)
    near += jitter * rng.standard_normal(near.shape)
    model = MOHNRegressor(strategy, random_state=0).fit(near, y.repeat(n_each))
    low, high = model.predict_quantiles(fresh, [0.05, 0.95]).T
    return model.model_.residual_distribution.scale, high - low


# At 1e-5 they were copies of one another no more, and intervals too narrow.
@pytest.mark.parametrize("jitter", [1e-6, 1e-5])
def test_near_copies_are_copies(jitter):
    (_, exact), (_, near) = (copies(each, 0, "gp") for each in (0.0, jitter))
    assert_allclose(near, exact, rtol=0.05)


@pytest.mark.slow
def test_copies_of_rows_do_not_make_certain():
    """Intervals are those of the rows without their copies."""
    for seed in range(8):
        _, width = copies(0.0, seed)
        assert_allclose(width, copies(0.0, seed, n_each=1)[1], rtol=1e-6)


def test_the_level_must_gain_three_nats():
    """Likelihood of normal distances of unit and of fitted standard deviation."""
    for level, n_rows in ((2.3, 12), (2.4, 12), (1.2, 400), (0.3, 400)):
        gain = 0.5 * n_rows * (level - 1.0 - np.log(level))
        is_found = level > 1.0 and gain >= 3.0
        expected = Tails(scale=float(np.sqrt(level))) if is_found else Tails()
        squares = np.full(n_rows, level)
        assert fit_level(squares, False).scale == pytest.approx(expected.scale)
        # Copies and groups are expected to be farther off, and need not gain it.
        assert fit_level(squares, True).scale == pytest.approx(max(level, 1.0) ** 0.5)
    assert fit_level(np.zeros(0), True) == Tails()
