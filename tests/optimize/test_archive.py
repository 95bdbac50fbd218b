"""Evaluations of a black box: means, noise and order by numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn.optimize._archive import Archive

VALUES = {(0, 0): [1.0, 3.0, 8.0], (0, 1): [5.0, 2.0], (1, 0): [3.4], (1, 1): [0.0]}


@pytest.fixture
def archive():
    archive = Archive(2)
    for k in range(3):
        for point, values in VALUES.items():
            if k < len(values):
                archive.add(np.array(point), values[k], point != (1, 1), k > 0, k > 1)
    return archive


def test_repeats_are_averaged(archive):
    assert len(archive) == 4
    assert_array_equal(archive.states, list(VALUES))
    assert_array_equal(archive.counts, [3, 2, 1, 1])
    assert_allclose(archive.values, [np.mean(v) for v in VALUES.values()])
    squares = [np.sum((v - np.mean(v)) ** 2) for v in VALUES.values()]
    assert_allclose(archive.squares, squares)
    assert_array_equal(archive.observations, [1, 5, 3.4, 0, 3, 2, 8])
    assert archive.observed.shape == (7, 2)
    # What a point was first is what it stays.
    assert not archive.is_sample.any()
    assert not archive.is_drawn.any()


def test_evaluations_without_a_value_are_kept_apart(archive):
    observed = archive.observed
    archive.add_failure(np.array([1, 1]))
    archive.add(np.array([0, 1]), 9.0, True, True)
    assert_array_equal(archive.outcomes, [1, 5, 3.4, 0, 3, 2, 8, np.nan, 9])
    assert_array_equal(archive.evaluated[-2:], [[1, 1], [0, 1]])
    assert_array_equal(archive.observations, [1, 5, 3.4, 0, 3, 2, 8, 9])
    assert_array_equal(archive.observed, [*observed, [0, 1]])
    assert_array_equal(archive.counts, [3, 3, 1, 1])


def test_noise_is_pooled(archive):
    squares, freedom = 26.0 + 4.5, 3
    assert archive.deviation() == pytest.approx(np.sqrt(squares / freedom))
    single = Archive(1)
    single.add(np.array([0]), 7.0, True, True)
    assert single.deviation() == 0.0


def test_rounding_is_measured_by_the_better_half_of_the_values(archive):
    # Distinct are 0, 3.4, 3.5 and 4.
    assert archive.rounding() == pytest.approx(3.45e-8)
    archive.add(np.array([1, 2]), 1e4, True, True)
    archive.add(np.array([1, 3]), 1e6, True, True)
    assert archive.rounding() == pytest.approx(3.75e-8)
    # Larger values have no finer differences.
    archive.add(np.array([1, 4]), 1e9, True, True)
    assert archive.rounding() == pytest.approx(1e-6)


def test_a_mean_counts_as_worse_by_its_standard_error(archive):
    # Infeasible points are in no order.
    assert_array_equal(archive.order(), [2, 1, 0])
    # 4 + 1 / sqrt(3), 3.5 + 1 / sqrt(2) and 3.4 + 1.
    assert_array_equal(archive.order(1.0), [1, 2, 0])
    assert_array_equal(archive.order(2.0), [1, 0, 2])


def test_the_best_point_is_the_first_of_the_order(archive):
    for deviation in (0.0, 1.0, 2.0):
        assert archive.best(deviation) == archive.order(deviation)[0]
    infeasible = Archive(1)
    infeasible.add(np.array([0]), 7.0, False, True)
    assert infeasible.best() is None


def test_what_is_known_is_copied_seldom():
    archive, owners = Archive(3), []
    for k in range(1000):
        archive.add(np.array([k, 0, 0]), float(k), True, True)
        archive.add_failure(np.array([0, k, 0]))
        owners.append((archive.evaluated.base, archive.values.base))
    assert all(len(set(map(id, each))) < 12 for each in zip(*owners, strict=True))
    assert_array_equal(archive.states[:, 0], np.arange(1000))
    assert_array_equal(archive.evaluated[1::2, 1], np.arange(1000))
