"""Ends of columns that no row sets alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn._core._quantiles import inner_ends, pull_in, quantile_thresholds

NAN = np.nan


def test_inner_ends_skip_one_known_value_at_each_end():
    X = np.array([[5.0, NAN], [1.0, 3.0], [9.0, 7.0], [4.0, NAN], [NAN, 1.0]])
    low, high = inner_ends(X)
    # Three values are too few to spare any.
    assert_array_equal(low, [4.0, 1.0])
    assert_array_equal(high, [5.0, 7.0])
    assert_array_equal(inner_ends(np.full((3, 1), NAN)), [[NAN], [NAN]])


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("wild", [7.5, 1e300])
def test_an_end_far_off_is_pulled_in(sign, wild):
    values = np.array([0.0, 1.0, NAN, 2.0, 4.0])
    # The inner ends, 1 and 4, are 3 apart.
    assert_array_equal(
        pull_in(sign * np.append(values, 7.0)), sign * np.append(values, 7.0)
    )
    assert_array_equal(
        pull_in(sign * np.append(values, wild)), sign * np.append(values, 4.0)
    )


def test_what_no_row_sets_alone_stays():
    for values in (
        [0.0, 1.0, 2.0, 50.0, 60.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 1.0, 9.0],
    ):
        assert_array_equal(pull_in(np.array(values)), values)


def test_thresholds_are_between_quantiles():
    assert_array_equal(quantile_thresholds(np.arange(8.0), 4), [1.5, 3.5, 5.5])
    assert_array_equal(quantile_thresholds(np.array([2.0, 2.0, 9.0]), 8), [5.5])
    assert len(quantile_thresholds(np.ones(5), 4)) == 0
    assert len(quantile_thresholds(np.arange(5.0), 1)) == 0


def test_ties_cost_no_levels():
    values = np.append(np.zeros(97), [1.0, 2.0, 3.0])
    assert_array_equal(quantile_thresholds(values, 4), [0.5, 1.5, 2.5])


def test_neighbors_among_floats_have_a_threshold():
    """There is no number between, and what is at a threshold is above it."""
    above = np.nextafter(1.0, 2.0)
    assert_array_equal(quantile_thresholds(np.array([1.0, above]), 2), [above])


def test_thresholds_of_the_largest_numbers_do_not_overflow():
    most = np.finfo(float).max
    assert_array_equal(
        quantile_thresholds(np.array([0.5, 1.0]) * most, 2), [0.75 * most]
    )
