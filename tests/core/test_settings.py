"""Settings: numbers that rounding or jitter made different are one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skmohn._core._settings import Settings


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("jitter", [1e-12, 1e-7, 5e-5])
def test_repeats_are_one(unit, jitter):
    """The most frequent of them, or the lowest."""
    settings = np.array([0.0, 0.3, 0.5, 1.0]) * unit
    numbers = (settings[:, None] + unit * jitter * np.array([0.0, 0.0, 1.0])).ravel()
    found = Settings.find(numbers)
    assert_array_equal(found.values, settings)
    assert_array_equal(found.round(numbers), settings.repeat(3))


def test_sums_of_decimals_are_one():
    """Also where no other number has a neighbor."""
    numbers = np.append(np.linspace(0.0, 1.0, 50), [0.1 + 0.2, 0.3])
    found = Settings.find(numbers)
    assert_array_equal(found.values, [0.3])
    rounded = found.round(numbers)
    assert len(np.unique(rounded)) == 51
    assert np.abs(rounded - numbers).max() < 1e-15


@pytest.mark.parametrize("scale", [1e-15, 1e-12, 1e-7])
def test_integers_are_settings_of_what_is_around_them(scale):
    """Flags with noise, of which no two may be equal, are the flags."""
    flags = np.arange(40) % 2.0
    found = Settings.find(flags + scale * np.random.default_rng(0).normal(size=40))
    assert_array_equal(found.values, [0.0, 1.0])


def test_single_numbers_beside_integers_are_these():
    found = Settings.find(np.array([0.0, 0.0, 1.0 + 2e-16, 1.0 + 2e-16, 2.0]))
    assert_array_equal(found.values, [1.0])
    # What repeats is a setting, though an integer is amid its jitter.
    settings = np.array([0.0, 5e3, 1e4])
    around = [*settings, *settings + 0.01, 1233.99, 1234.01, 1234.01]
    assert 1234.01 in Settings.find(np.array(around)).values


def test_numbers_that_differ_stay():
    """A tenth of the rows of a table of 100,000 have a neighbor within 1e-5."""
    rng = np.random.default_rng(0)
    even = np.linspace(0.0, 1.0, 200_001)
    for numbers in (rng.random(1000), rng.random(100_000), even, [0.0, 1e-9]):
        found = Settings.find(np.asarray(numbers))
        if found is not None:
            # Of so many, some differ by 1e-9 of their range.
            assert np.abs(found.round(numbers) - numbers).max() < 1e-9


def test_jitter_is_known_by_two_repeats_on_average():
    rng = np.random.default_rng(0)
    settings = rng.random(40)
    near = settings + 1e-7 * rng.random(40)
    assert Settings.find(np.append(settings, near)) is not None
    assert Settings.find(np.append(settings, near[:39])) is None


def test_jitter_is_a_hundredth_of_the_distance_of_settings():
    repeats = 1e-5 * np.array([0.0, 0.5, 0.9])
    for distance, is_found in ((101e-5, True), (99e-5, False)):
        settings = np.append(np.arange(20) * distance, 1.0)
        numbers = (settings[:, None] + repeats).ravel()
        assert (Settings.find(numbers) is not None) == is_found


@pytest.mark.parametrize("wild", [1e6, 1e12, 1e300])
def test_a_wild_number_makes_no_others_equal(wild):
    numbers = np.random.default_rng(0).normal(size=100)
    assert Settings.find(numbers) is None
    numbers[7] = wild
    assert Settings.find(numbers) is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_rounded_numbers_are_settings_or_themselves(numbers):
    numbers = np.array(numbers)
    found = Settings.find(numbers)
    if found is not None:
        rounded = found.round(numbers)
        assert np.all((rounded == numbers) | np.isin(rounded, found.values))
        assert_array_equal(found.round(rounded), rounded)


def test_repeats_that_rounding_explains_are_not_joined_with_other_numbers():
    rng = np.random.default_rng(0)
    values = np.sort(rng.uniform(size=60))
    values[1::2] = values[::2] + 1e-5  # less than the largest jitter
    copies = np.repeat(values, 2) * (1.0 + 1e-13 * rng.normal(size=120))
    settings = Settings.find(copies)
    assert_allclose(settings.round(copies), np.repeat(values, 2), rtol=1e-12)
