"""Variance of all weights: sums over pairs of rows equal sums over all inputs."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmohn.mohn._dense import fit_dense
from skmohn.mohn._dense_covariance import Covariance
from skmohn.mohn._dense_evidence import join_equal_rows
from skmohn.mohn._dense_exact import ExactPosterior
from skmohn.mohn._dense_kernel import Prior, Rows
from skmohn.mohn._dense_nystroem import NystroemPosterior
from skmohn.mohn._dense_variance import PairVariance
from skmohn.mohn._dense_walsh import WalshPosterior


def by_definition(values):
    """Variance, first-order and total variances of values on a grid of all inputs."""
    axes = range(values.ndim)
    first = [values.mean(axis=tuple(a for a in axes if a != i)).var() for i in axes]
    total = [values.var(axis=i).mean() for i in axes]
    return values.var(), first, total


def grid(ends, n_letters):
    """All combinations of two values of each input and all letters of each site."""
    places = [(-end, end) for end in ends] + [range(size) for size in n_letters]
    rows = np.array(list(itertools.product(*places)))
    return Rows(rows[:, : len(ends)], rows[:, len(ends) :].astype(int))


def draw(n_rows, n_inputs, n_letters, n_real, rng):
    """Rows of signs, then of fractions, with unknown values, and letters."""
    inputs = rng.choice([-1.0, 1.0], (n_rows, n_inputs))
    # The ends of a range are among its values.
    inputs[5:, :n_real] = rng.uniform(-1.0, 1.0, (n_rows - 5, n_real))
    inputs[rng.random(inputs.shape) < 0.1] = 0.0
    letters = [rng.integers(0, size + 1, n_rows) for size in n_letters]
    letters = np.array(letters, dtype=int).reshape(len(n_letters), n_rows)
    return Rows(inputs, letters.T)


def make_covariance(n_inputs, n_letters, rng):
    prior = Prior(
        rng.gamma(1.0, 0.5, n_inputs), rng.gamma(1.0, 0.5, sum(n_letters)),
        1.3, 0.7, 0.1,
    )  # fmt: skip
    terms = ((0,), (1, 2), (0, 1, 3))
    return Covariance(prior, n_letters, terms, (0.4, 1.5, 0.8))


@pytest.mark.parametrize("n_letters", [(), (3,), (3, 5)])
@pytest.mark.parametrize("n_real", [0, 2])
def test_pair_sums_equal_enumeration(n_letters, n_real):
    rng = np.random.default_rng(0)
    rows = draw(30, 5, n_letters, n_real, rng)
    covariance = make_covariance(5, n_letters, rng)
    alpha = rng.standard_normal(30)
    # A range has the variance 1/3, and two values at the root of it give the same mean
    # of every polynomial up to the second degree.
    spread = np.where(np.arange(5) < n_real, 1 / 3, 1.0)
    everywhere = grid(np.sqrt(spread), n_letters)
    values = covariance.between(everywhere, rows) @ alpha
    variance, first, total = by_definition(values.reshape([2] * 5 + list(n_letters)))
    found = PairVariance(covariance, rows, alpha, spread)
    assert found.variance() == pytest.approx(variance)
    assert_allclose(found.first_order(), first)
    assert_allclose(found.total(), total)


def test_pair_sums_over_several_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    rows, covariance = draw(30, 5, (3,), 1, rng), make_covariance(5, (3,), rng)
    whole = PairVariance(covariance, rows, rng.standard_normal(30))
    variance, total = whole.variance(), whole.total()
    monkeypatch.setattr("skmohn.mohn._dense_variance._ROWS_AT_ONCE", 7)
    assert whole.variance() == pytest.approx(variance)
    assert_allclose(whole.total(), total)


def test_rates_so_large_that_rows_share_nothing():
    rng = np.random.default_rng(0)
    covariance = Covariance(Prior(np.full(4, 40.0), np.empty(0), 1.0, 1e-8, 0.1))
    rows = grid(np.ones(4), ())
    alpha = rng.standard_normal(16)
    values = (covariance.between(rows, rows) @ alpha).reshape([2] * 4)
    variance, first, total = by_definition(values)
    found = PairVariance(covariance, rows, alpha)
    assert found.variance() == pytest.approx(variance)
    assert_allclose(found.first_order(), first, atol=1e-12)
    assert_allclose(found.total(), total)


@pytest.mark.parametrize("kind", [ExactPosterior, NystroemPosterior, WalshPosterior])
def test_every_posterior_knows_its_variance(kind):
    rng = np.random.default_rng(1)
    inputs = rng.choice([-1.0, 1.0], (40, 6))
    rows = Rows(inputs, np.empty((40, 0), dtype=int))
    sample = join_equal_rows(rows, inputs[:, 0] * inputs[:, 1] + inputs[:, 2], None)
    given = [25] if kind is NystroemPosterior else []
    posterior = kind.condition(make_covariance(6, (), rng), sample, *given)
    values = posterior.mean(grid(np.ones(6), ())).reshape([2] * 6)
    variance, first, total = by_definition(values)
    found = posterior.mean_variance()
    assert found.variance() == pytest.approx(variance)
    assert_allclose(found.first_order(), first, atol=1e-10)
    assert_allclose(found.total(), total, atol=1e-10)


def test_variances_are_in_the_units_of_the_target():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (60, 5))
    y = inputs[:, 0] + inputs[:, 1] * inputs[:, 2] + 0.1 * rng.standard_normal(60)
    model = fit_dense(Rows(inputs, np.empty((60, 0), dtype=int)), 7.0 + 10.0 * y)
    values = model.mean(grid(np.ones(5), ()), clip=False).reshape([2] * 5)
    variance, first, total = by_definition(values)
    assert model.function_variance() == pytest.approx(variance)
    found = model.variance_parts()
    assert_allclose(found[0], first, rtol=1e-6, atol=1e-6 * variance)
    assert_allclose(found[1], total, rtol=1e-6, atol=1e-6 * variance)
