"""Ends of columns that no row sets alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skmohn._core._quantiles import (
    count_fills,
    inner_ends,
    mask_lone,
    mask_lone_totals,
    mask_remote,
    pull_in,
    quantile_thresholds,
)

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


def test_what_rows_of_weight_two_have_stays():
    values = np.array([0.0, 10.0, 11.0, 30.0])
    assert_array_equal(pull_in(values), [10.0, 10.0, 11.0, 11.0])
    for weights in np.array([[2, 1, 1, 1], [1, 1, 1, 3], [5, 5, 5, 5]]):
        repeated = pull_in(np.repeat(values, weights))
        assert_array_equal(np.repeat(pull_in(values, weights), weights), repeated)
    # Fractions count no rows.
    assert_array_equal(pull_in(values, np.full(4, 2.5)), [10.0, 10.0, 11.0, 11.0])


def test_thresholds_are_between_quantiles():
    assert_array_equal(quantile_thresholds(np.arange(8.0), 4), [1.5, 3.5, 5.5])
    assert_array_equal(quantile_thresholds(np.array([2.0, 2.0, 9.0]), 8), [5.5])
    # Of two cuts as near to a quantile the outer one is taken.
    assert_array_equal(quantile_thresholds(np.arange(6.0), 4), [0.5, 2.5, 4.5])
    assert len(quantile_thresholds(np.ones(5), 4)) == 0
    assert len(quantile_thresholds(np.arange(5.0), 1)) == 0


def test_ties_cost_no_levels():
    values = np.append(np.zeros(97), [1.0, 2.0, 3.0])
    assert_array_equal(quantile_thresholds(values, 4), [0.5, 1.5, 2.5])


NUMBERS = st.lists(st.integers(-30, 30), min_size=2, max_size=120)


@given(NUMBERS, st.integers(2, 16))
def test_values_with_another_sign_have_the_same_bins(numbers, n_bins):
    values = np.array(numbers, dtype=float)
    thresholds = quantile_thresholds(values, n_bins)
    mirrored = -quantile_thresholds(-values, n_bins)[::-1]
    assert len(thresholds) == len(mirrored)
    # A median that is the mean has no better side.
    is_even = any(
        abs(numbers.mean() - np.median(numbers)) < 1e-9
        for numbers in (values, np.unique(values))
    )
    if n_bins % 2 or not is_even:
        assert_array_equal(thresholds, mirrored)


@pytest.mark.parametrize("n", range(5, 60, 2))
def test_units_move_no_cut(n):
    steps = np.arange(float(n))
    found = quantile_thresholds(0.1 * steps, 4)
    assert_allclose(found, 0.1 * quantile_thresholds(steps, 4))


@given(NUMBERS, st.integers(2, 16))
def test_bins_of_distinct_values_are_equally_full(numbers, n_bins):
    values = np.unique(numbers).astype(float)
    sizes = np.bincount(np.searchsorted(quantile_thresholds(values, n_bins), values))
    assert len(sizes) == min(n_bins, len(values))
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("n", [200, 331])
def test_thresholds_are_near_those_of_numpy(n):
    values = np.random.default_rng(n).normal(size=n)
    edges = np.quantile(values, [0.2, 0.4, 0.6, 0.8], method="averaged_inverted_cdf")
    ours, bins = (
        np.searchsorted(ends, values)
        for ends in (quantile_thresholds(values, 5), edges)
    )
    # A value at an edge is on either side of it.
    assert np.sum(ours != bins) <= 4


def test_neighbors_among_floats_have_a_threshold():
    """There is no number between, and what is at a threshold is above it."""
    above = np.nextafter(1.0, 2.0)
    assert_array_equal(quantile_thresholds(np.array([1.0, above]), 2), [above])


def test_thresholds_of_the_largest_numbers_do_not_overflow():
    most = np.finfo(float).max
    assert_array_equal(
        quantile_thresholds(np.array([0.5, 1.0]) * most, 2), [0.75 * most]
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("fill", [9.969209968386869e36, 1e20, 1e300, 1e308])
@pytest.mark.parametrize(("n", "n_fills"), [(5, 2), (8, 3), (120, 2), (120, 59)])
def test_fills_in_up_to_half_of_the_rows_are_pulled_in(n, n_fills, fill, sign):
    rng = np.random.default_rng(0)
    values = rng.normal(size=n)
    values[:n_fills] = fill
    values = sign * rng.permutation(values)
    assert count_fills(np.sort(values)) == ((n_fills, 0) if sign < 0 else (0, n_fills))
    pulled = pull_in(values)
    assert np.abs(pulled).max() < 4.0
    # As a column beside others, and with an unknown value.
    table = np.stack([values, np.arange(float(n))], axis=1)
    assert_array_equal(pull_in(table), np.stack([pulled, table[:, 1]], axis=1))
    assert_array_equal(pull_in(np.append(values, NAN)), np.append(pulled, NAN))


def test_fills_at_both_ends_and_beside_many_equal_values():
    rng = np.random.default_rng(0)
    both = np.repeat([1e36, -1e36], 30)
    assert np.abs(pull_in(np.append(rng.normal(size=60), both))).max() < 4.0
    equal = np.concatenate([np.zeros(80), np.arange(10.0), np.full(10, 1e36)])
    assert pull_in(equal).max() == 9.0


@pytest.mark.parametrize(
    "values",
    [
        np.repeat([0.0, 1e36], [60, 40]),  # two values, of which nothing is told
        np.repeat([0.0, 0.1 + 0.2 - 0.3, 1.0], [40, 20, 50]),  # rounding
        np.repeat([0.0, 1.0, 1e12], [40, 20, 30]),  # units of computer memory
        np.logspace(-30, 30, 60),
        np.append(np.arange(40.0), np.full(60, 1e36)),  # the most
    ],
)
def test_what_is_no_fill_stays(values):
    assert count_fills(values) == (0, 0)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8])
def test_numbers_that_are_no_floats(dtype):
    values = np.array([0, 1, 1, 0, 1, 0], dtype=dtype)
    assert_array_equal(pull_in(values), values.astype(float))
    if dtype is not bool:
        wild = np.array([0, 1, 2, 4, 120], dtype=dtype)
        assert_array_equal(pull_in(wild), [0.0, 1.0, 2.0, 4.0, 4.0])


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_lone_values_are_one_of_fifty_rows_at_each_end(sign):
    values = sign * np.random.default_rng(0).normal(size=151)
    for far, is_lone in (
        ([20.0], True),
        ([20.0, 1e6, 1e300], True),
        ([30.0] * 4, False),
    ):
        wild, n_wild = values.copy(), len(far)
        wild[:n_wild] = sign * np.array(far)
        wild[-1] = np.nan
        mask = mask_lone(np.column_stack([wild, values]))
        assert mask[:n_wild, 0].all() == is_lone
        assert mask.sum() == n_wild * is_lone
    # Of fewer rows one may be, on either side, and of fewer than ten none.
    few = sign * np.append(np.arange(9.0), [1e3, -1e3])
    assert_array_equal(np.flatnonzero(mask_lone(few[:, None])), [9, 10])
    assert not mask_lone(few[2:, None]).any()
    assert not mask_lone(np.append(few[:-2], [1e3, 1e3])[:, None]).any()
    # At most five, of any number of rows; integers have none.
    many = np.append(np.random.default_rng(0).normal(size=900), np.full(6, 1e9))
    assert not mask_lone(many[:, None]).any()
    assert mask_lone(many[:-1, None]).sum() == 5
    assert not mask_lone(np.array([[0]] * 20 + [[1]] * 20 + [[99]])).any()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_remote_values_are_one_of_ten_rows_at_each_end(sign):
    values = sign * np.linspace(-1.0, 1.0, 29)
    # Between three at each end, the others are 24 / 14 apart.
    for far, n_found in (
        ([173.0, 175.0], 2),
        ([172.0, 175.0], 0),
        # The farther ones do not hide one that is as near as lone values are.
        ([8.0, 1e3], 2),
        ([8.0, 1e3, 1e6], 3),
        ([8.0, 8.0, 1e3], 1),
        ([1e3, 1e3, 1e6], 3),
        ([1e3, 1e3, 1e3, 1e3], 0),
    ):
        wild = np.append(values, sign * np.array(far))
        mask = mask_lone(np.random.default_rng(0).permutation(wild)[:, None])
        assert mask.sum() == n_found
        assert mask_lone(wild[:, None])[29:, 0].sum() == n_found
    both = np.concatenate([values, [1e3, 2e3], [-1e4, -1e5]])
    assert_array_equal(np.flatnonzero(mask_lone(both[:, None])), [29, 30, 31, 32])
    # At most five, and none of fewer than ten rows, nor powers of a hundred.
    many = np.append(np.tile(values, 4), np.full(6, 1e9))
    assert not mask_lone(many[:, None]).any()
    assert mask_lone(many[:-1, None]).sum() == 5
    assert not mask_lone(np.append(np.arange(7.0), [1e9, 1e9])[:, None]).any()
    powers = np.repeat(100.0 ** np.arange(5.0), 6)[:26]
    assert not mask_lone(powers[:, None]).any()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_lone_values_of_one_sign_are_far_off_by_logarithms_too(sign):
    # But for two at the top, the others end at 4 ** 17; their median is 4 ** 10.
    others = 4.0 ** np.arange(19.0)
    for lowest, factor, n_lone in (
        (1.0, 0.9, 0),
        (1.0, 1.1, 1),
        (0.0, 0.9, 0),  # such as the controls among doses
        (0.0, 1.1, 1),
        (-1.0, 0.9, 2),
    ):
        values = np.append(others, factor * 4.0**25)
        values[0] = lowest
        mask = mask_lone(sign * np.random.default_rng(0).permutation(values)[:, None])
        assert mask.sum() == n_lone
    # A setting on a scale of powers that is in one of twelve rows.
    doses = np.append(np.repeat([0.0, 1e-2, 1e-1, 1e0, 1e1], 2), [1e2, 1e3])
    assert not mask_lone(sign * doses[:, None]).any()
    # Zeros, however many, have no logarithm.
    amounts = np.concatenate([np.zeros(30), np.linspace(1.0, 4.0, 20), [1e4]])
    assert_array_equal(np.flatnonzero(mask_lone(sign * amounts[:, None])), [50])
    # Below numbers that are near one another, both rules say the same.
    kelvins = np.append(np.linspace(270.0, 300.0, 40), [1.0, 1e4])
    assert_array_equal(np.flatnonzero(mask_lone(sign * kelvins[:, None])), [40, 41])


def test_lone_totals_are_far_above_others_on_a_scale_of_logarithms():
    counts = np.random.default_rng(0).poisson(3.0, 150).astype(float)
    for wild, is_lone in ((100.0, False), (1e3, True), (1e12, True), (1e308, True)):
        mask = mask_lone_totals(np.append(counts, wild))
        assert_array_equal(np.flatnonzero(mask), [150] * is_lone)
    # Long tails and rare events are kept.
    ranks = np.arange(1.0, 151.0)
    tail = (ranks / 150.0) ** (-1.0 / 1.5)
    assert not mask_lone_totals(tail).any()
    # Of logarithms none are taken again.
    assert mask_lone_totals(np.append(tail, 1e4))[-1]
    assert not mask_lone_totals(np.append(np.zeros(149), 5.0)).any()
    assert not mask_lone_totals(np.array([1.0, 1e12])).any()


def test_remote_values_are_a_hundred_ranges_off():
    column = np.append(np.linspace(0.0, 1.0, 20), [NAN, 50.0])
    far = np.append(np.linspace(0.0, 1.0, 20), [NAN, -150.0])
    values = np.column_stack([column, far, np.zeros(22)])
    is_lone = mask_lone(values)
    assert_array_equal(np.argwhere(is_lone), [[21, 0], [21, 1]])
    assert_array_equal(np.argwhere(mask_remote(values, is_lone)), [[21, 1]])
