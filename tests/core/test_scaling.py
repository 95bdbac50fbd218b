"""Columns standardized without scikit-learn's check, beside those with it."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmohn import BLMRegressor, EnergyNetTransformer
from skmohn._core._scaling import fitted_scaler, restore_checked, standardize_checked


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
