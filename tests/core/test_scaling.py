"""Columns standardized without scikit-learn's check, beside those with it."""

from typing import Any

import numpy as np
import pytest

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
