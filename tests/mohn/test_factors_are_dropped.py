"""Models that are compared one after the other: no factor stays beside the next."""

import gc
import weakref

import numpy as np
import pytest

from skmohn.mohn import _outliers, _strategies
from skmohn.mohn._gp import solve

RNG = np.random.default_rng(0)


class FakeModel:
    """A model that counts how many are alive where it is made."""

    n_observed = 100.0

    def __init__(self, alive, counts):
        alive.add(self)
        counts.append(len(alive))

    def description_length(self):
        return 1e6

    def predictive_mean(self, rows):
        return np.zeros(len(rows))


@pytest.fixture
def made():
    """Function that makes models, and how many were alive each time."""
    alive, counts = weakref.WeakSet(), []
    gc.collect()
    return lambda *_, **__: FakeModel(alive, counts), counts


def test_models_of_one_way_are_dropped_before_the_next(made):
    fit, counts = made
    assert solve._is_out_of_reach(fit, 0.0, "auto", at_most=0.0)
    assert counts == [1, 1]


class Samples:
    """Samples as folds read them."""

    y, sample_weight = RNG.normal(size=20), None

    class rows:  # noqa: N801 - an attribute
        @staticmethod
        def as_float():
            return Samples.rows

        @staticmethod
        def take(index):
            return index


def test_models_of_one_fold_are_dropped_before_the_next(made):
    fit, counts = made
    folds = [(np.arange(10), np.arange(10, 20)), (np.arange(10, 20), np.arange(10))]
    _strategies._fold_errors(fit, folds, Samples)
    assert counts == [1, 1]


class CountedFit:
    """A fit of a model that finds one more outlier each time."""

    has_planes = False

    def __init__(self, alive, counts):
        self.is_stopped = self.is_released = False
        alive.add(self)
        counts.append(sum(not one.is_released for one in alive))

    # It is its own model and solution.
    model = solution = property(lambda self: self)

    def release(self):
        self.is_released = True

    def length(self):
        return 100.0


class FewTargets:
    """Targets of which one more is found to be off in each round."""

    y = np.zeros(5)

    def far_off(self, fit, outliers):
        return np.arange(5) < outliers.sum() + 1

    def read(self, without):
        return None

    def length_of(self, outliers, fit):
        return -100.0

    def on_skewed_scales(self, first):
        return ()


def test_of_fits_without_outliers_one_factor_is_kept():
    alive, counts = weakref.WeakSet(), []

    def solve(samples):
        return CountedFit(alive, counts)

    first = solve(None)
    fit, outliers = _outliers.leave_outliers_out(first, solve, FewTargets())
    assert outliers.sum() == 3
    assert fit is not first
    assert counts == [1, 1, 1, 1]
