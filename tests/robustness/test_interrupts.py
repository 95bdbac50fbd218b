"""Ctrl-C at any moment of a fit."""

import copy
import random

import pytest
from sklearn.base import clone

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def moments(n_lines):
    """The first and the last lines of a fit, and random ones."""
    return [1, *random.Random(0).sample(range(1, n_lines), 4), n_lines]


def check_interrupted(fitted, refit, are_equal, run_lines):
    """At each moment it is as it was; the fit after the interrupt is a whole one."""
    expected = copy.deepcopy(fitted)
    refit(expected)
    # Again, since the first time also fills what is remembered for good.
    again = copy.deepcopy(fitted)
    n_lines = run_lines(lambda: refit(again))
    for moment in moments(n_lines):
        model = copy.deepcopy(fitted)
        with pytest.raises(KeyboardInterrupt):
            run_lines(lambda: refit(model), moment)  # noqa: B023
        assert are_equal(model, fitted), f"line {moment} of {n_lines}"
        refit(model)
        assert are_equal(model, expected), f"after line {moment} of {n_lines}"


@pytest.mark.slow_cases("MOHNClassifier|MOHNRegressor")
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(fits, are_equal, run_lines):
    estimator, first, second = fits
    fitted = clone(estimator).fit(*first)
    check_interrupted(fitted, lambda m: m.fit(*second), are_equal, run_lines)


@pytest.mark.slow_cases("MOHNClassifier")
def test_an_interrupted_partial_fit_leaves_the_estimator_as_it_was(
    partial_fits, are_equal, run_lines
):
    estimator, first, second = partial_fits
    fitted = clone(estimator).fit(*first)
    check_interrupted(
        fitted, lambda model: model.partial_fit(*second), are_equal, run_lines
    )
