"""Columns as visible units, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler

from skmohn.energynet._coding import UnitCoding

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(200, 3))


def learn(X, coding="auto", n_bins=8, names=None):
    return UnitCoding.learn(np.asarray(X, float), coding, n_bins, names)


def test_bits_and_probabilities_stay_as_they_are():
    X = np.column_stack([RNG.integers(2, size=50), RNG.random(50), np.zeros(50)])
    for coding in ("auto", "probability"):
        found = learn(X, coding)
        assert_array_equal(found.encode(X), X.astype(np.float32))
        assert_allclose(found.decode(found.encode(X)), X, atol=1e-7)


def test_auto_asks_each_column():
    X = np.column_stack([RNG.random(50), RNG.normal(size=50), RNG.integers(3, size=50)])
    found = learn(X)
    assert found.kind.tolist() == ["probability", "thermometer", "thermometer"]
    assert found.n_units.tolist() == [1, 7, 2]
    assert found.encode(X).shape == (50, 10)


def test_levels_of_a_thermometer_are_scikit_learns_bins():
    found = learn(NORMAL, "thermometer")
    bins = KBinsDiscretizer(8, encode="ordinal", subsample=None).fit_transform(NORMAL)
    levels = found.encode(NORMAL).reshape(200, 3, 7).sum(axis=2)
    assert_array_equal(levels, bins)
    # A unit is only on if those of the lower thresholds are.
    assert np.all(np.diff(found.encode(NORMAL).reshape(200, 3, 7), axis=2) <= 0)


def test_thermometer_decodes_to_the_mean_of_its_level():
    found = learn(NORMAL, "thermometer")
    decoded = found.decode(found.encode(NORMAL))
    for j in range(3):
        for value in np.unique(decoded[:, j]):
            members = NORMAL[decoded[:, j] == value, j]
            assert value == pytest.approx(members.mean())
    half = found.decode(np.full((1, 21), 0.5))
    assert_allclose(half[0], [(lv[0] + lv[-1]) / 2 for lv in found.levels])


@pytest.mark.parametrize("values", [[-1, 1], [0, 0, 0, 5], [1, 2, 3, 3, 3, 3, 3, 3]])
def test_few_values_keep_a_level_each(values):
    X = np.array(values, float)[:, None]
    found = learn(X, "thermometer")
    assert found.n_units == len(np.unique(X)) - 1
    assert_allclose(found.decode(found.encode(X)), X)


def test_values_that_are_mostly_zero_keep_levels():
    X = np.where(RNG.random((500, 1)) < 0.9, 0.0, RNG.exponential(100, (500, 1)))
    assert learn(X).n_units == 7


def test_minmax_is_scikit_learns():
    found = learn(NORMAL, "minmax")
    scaler = MinMaxScaler(clip=True).fit(NORMAL)
    more = np.vstack([NORMAL, 100 * NORMAL])
    assert_allclose(found.encode(more), scaler.transform(more), atol=1e-6)
    assert_allclose(found.decode(found.encode(NORMAL)), NORMAL, atol=1e-6)


def test_values_beyond_those_seen_are_taken_for_the_ends():
    X = np.column_stack([RNG.random(50), RNG.normal(size=50)])
    found = learn(X)
    far = found.encode([[9.0, 9.0], [-9.0, -9.0]] * np.ones((2, 2)))
    assert_array_equal(far, np.repeat([[1.0], [0.0]], 8, axis=1))


def test_constant_columns():
    X = np.column_stack([NORMAL[:, 0], np.full(200, 7.0)])
    for coding, n_units in (("thermometer", 0), ("minmax", 1), ("auto", 0)):
        found = learn(X, coding)
        assert found.n_units[1] == n_units
        assert_allclose(found.decode(found.encode(X))[:, 1], 7.0)
    with pytest.raises(ValueError, match="no column of X varies"):
        learn(np.full((5, 2), 7.0))


def test_numbers_that_are_no_probabilities_are_refused():
    with pytest.raises(ValueError, match=r"column 0 has .* and 2 more columns"):
        learn(NORMAL, "probability")
    found = learn(RNG.random((5, 2)), "probability")
    with pytest.raises(ValueError, match=r"column 'b' has 1\.5; use coding="):
        found.encode(np.array([[0.5, 1.5]]), ["a", "b"])


@given(
    st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=40).filter(
        lambda values: len(set(values)) > 1
    ),
    st.integers(2, 10),
)
def test_codes_are_monotone_and_decoding_too(values, n_bins):
    X = np.sort(np.array(values))[:, None]
    found = learn(X, "thermometer", n_bins)
    units = found.encode(X)
    assert 1 <= found.n_units <= n_bins - 1
    assert np.all(np.diff(units.sum(axis=1)) >= 0)
    decoded = found.decode(units)
    scale = np.abs(X).max()
    assert np.all(np.diff(decoded[:, 0]) >= -1e-9 * scale)
    assert X[0] - 1e-9 * scale <= decoded[0]
    assert decoded[-1] <= X[-1] + 1e-9 * scale
