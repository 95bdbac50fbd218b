"""Columns standardized without scikit-learn's check, beside those with it."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmohn import BLMRegressor, EnergyNetTransformer
from skmohn._core._scaling import (
    fitted_input_scaler,
    fitted_scaler,
    restore_checked,
    standardize_checked,
)


# Older versions of the scaler round to single precision once, not twice.
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 0.0), (np.float32, 1e-6)])
def test_numbers_are_those_of_the_scaler(dtype, error):
    values = np.random.default_rng(0).normal(3.0, 7.0, (40, 5)).astype(dtype)
    scaler = fitted_scaler(values, "X")
    values[2, 1] = np.nan
    found = standardize_checked(scaler, values)
    assert found.dtype == dtype
    expected: Any = scaler.transform(values)
    np.testing.assert_allclose(found, expected, rtol=error, atol=error)
    back = restore_checked(scaler, found)
    expected = scaler.inverse_transform(found)
    assert back.dtype == dtype
    np.testing.assert_allclose(back, expected, rtol=error, atol=error)


def test_flags_are_minus_one_and_one_less_their_mean():
    rng = np.random.default_rng(0)
    rare, number = (rng.random(200) < 0.03).astype(float), rng.normal(size=200)
    X = np.column_stack([rare, 7.0 - 3.0 * rare, number, np.full(200, 2.0)])
    scaler = fitted_input_scaler(X)
    signs = 2.0 * rare - 1.0
    found = scaler.transform(X)
    assert_allclose(found[:, 0], signs - signs.mean())
    assert_allclose(found[:, 1], signs.mean() - signs)
    assert_allclose(found[:, 2:], fitted_scaler(X, "X").transform(X)[:, 2:])
    # Rounding and jitter leave them flags.
    for size in (1e-12, 1e-6):
        near = fitted_input_scaler(X + size * rng.random(X.shape))
        assert_allclose(near.scale_[:2], scaler.scale_[:2], rtol=10.0 * size)
    # Of probabilities none has two values.
    chances = np.column_stack([number, rng.uniform(size=200)])
    scaler = fitted_input_scaler(chances, flags=[slice(1, 2)])
    assert_allclose(scaler.scale_, [number.std(), np.ptp(chances[:, 1]) / 2])


def test_rare_flags_cost_networks_little():
    rng = np.random.default_rng(0)
    flags = rng.integers(0, 60, (750, 1)) == np.arange(60)
    X = np.column_stack([rng.normal(size=750), flags])
    y = X[:, 0] + 0.7 * rng.normal(size=750)
    model = BLMRegressor(random_state=0).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.55


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("unit", [2.0**-600, 2.0**-1025])
def test_columns_of_tiny_numbers_are_those_in_other_units(unit):
    rng = np.random.default_rng(0)
    # Beside a column of the usual size, and one without information.
    X = np.column_stack([rng.normal(size=(80, 2)), np.full(80, 3.0)])
    X[:, 0] = np.rint(X[:, 0] * 2.0**20) / 2.0**20
    tiny = X * [unit, 1.0, unit]
    found, expected = fitted_scaler(tiny, "X"), fitted_scaler(X, "X")
    assert_allclose(
        standardize_checked(found, tiny)[:, :2],
        standardize_checked(expected, X)[:, :2],
        rtol=1e-9,
        atol=1e-9,
    )
    assert found.scale_[2] == 1.0
    model = BLMRegressor(max_flips=300, random_state=0)
    y = X[:, 0] + X[:, 1]
    plain = model.fit(X, y).predict(X)
    assert_allclose(model.fit(tiny, y).predict(tiny), plain, atol=1e-5)
    assert_allclose(model.fit(X, y * unit).predict(X) / unit, plain, atol=1e-5)


@pytest.mark.filterwarnings("error")
def test_numbers_too_large_are_refused_without_warnings_of_overflow():
    X = 1e300 * np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match="X has values too large to be standardized"):
        fitted_scaler(X, "X")
    net = EnergyNetTransformer(n_components=2, n_final_epochs=1, random_state=0)
    assert np.isfinite(net.fit(X).transform(X)).all()
