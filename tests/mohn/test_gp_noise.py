"""Noise that differs from row to row, against the same regression written out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import digamma
from scipy.stats import multivariate_normal

from skmohn.mohn._gp.covariance_function import GramMatrix, Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.heteroscedastic_noise import NoiseMap, _smooth, fit_noise_model
from skmohn.mohn._gp.marginal_likelihood import find_rows, join_equal_rows, start_prior
from skmohn.mohn._gp.model import fit_gp
from skmohn.mohn._gp.term_variances import find_strong_terms
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import EncodedRows

SHARES = (0.0, 0.5, 1.0)
# Of the logarithm of a squared standard normal number.
MEAN, VARIANCE = digamma(0.5) + np.log(2.0), np.pi**2 / 2.0


def make_posterior(ratio, rates, seed=0, n_rows=80):
    """All weights given rows whose noise has a ratio where the first input is high."""
    rng = np.random.default_rng(seed)
    inputs = rng.choice([-1.0, 1.0], (n_rows, 5))
    std = np.where(inputs[:, 0] > 0, 0.3 * ratio, 0.3)
    y = inputs[:, 1] + inputs[:, 2] * inputs[:, 3] + std * rng.standard_normal(n_rows)
    rows = EncodedRows(inputs, np.empty((n_rows, 0), dtype=int))
    weight = rng.integers(1, 3, n_rows).astype(float)
    sample = join_equal_rows(rows, y - y.mean(), weight)
    prior = Prior(np.array(rates), np.empty(0), 1.0, 1.0, 0.2)
    return ExactPosterior.condition(Covariance(prior), sample)


def regress(logarithms, alike):
    """Log density, covariance and values of the best of the amplitudes."""
    n, found = len(logarithms), []
    for amplitude in (0.1, 0.3, 1.0, 3.0):
        signal = amplitude * alike + 1.0
        covariance = signal + VARIANCE * np.eye(n)
        density = multivariate_normal(cov=covariance).logpdf(logarithms)
        found.append((density, amplitude, signal, covariance))
    return max(found, key=lambda trial: trial[0])


def by_hand(posterior):
    """What :func:`fit_noise_model` says, and relative noise at the rows themselves."""
    sample, prior = posterior.sample, posterior.covariance.prior
    residual, variance = posterior.leave_one_out()
    logarithms = np.log(np.maximum(residual**2 / variance, 1e-4)) - MEAN
    n = len(logarithms)
    level = multivariate_normal(cov=1.0 + VARIANCE * np.eye(n)).logpdf(logarithms)
    trials = [
        regress(logarithms, GramMatrix(sample.rows, sample.rows).product(trial))
        for trial in (prior, start_prior(5))
    ]
    best, _, signal, covariance = max(trials, key=lambda trial: trial[0])
    if best <= level + 2.0:
        return None, 0.0, None
    # The level is left to `Prior.noise`.
    weights = np.linalg.solve(covariance, logarithms)
    own = np.exp((signal - 1.0) @ weights)
    left_out = np.empty(n)
    for d in range(n):
        others = np.arange(n) != d
        known = np.linalg.solve(covariance[others][:, others], logarithms[others])
        left_out[d] = signal[d, others] @ known
    excess = np.clip(np.exp(left_out - weights.sum()), 0.05, 20.0)
    again = {}
    for share in SHARES:
        weighed = replace(sample, excess=excess**share)
        again[share] = ExactPosterior.condition(
            posterior.covariance, weighed
        ).leave_one_out()
    share = min(SHARES, key=lambda share: np.mean(again[share][0] ** 2))
    residual, variance = again[share]
    noise = prior.noise_variance / sample.weight
    certain = variance - noise * excess**share

    def loss(log_scale):
        total = certain + np.exp(log_scale) * noise * excess
        return np.sum(residual**2 / total + np.log(total))

    scale = np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)
    return scale * np.clip(own, 0.05, 20.0), share, excess


# Rates that suit the function, that leave out two of its inputs, that exaggerate them.
EVEN, FIRST, OTHERS = [0.2] * 5, [0.9, *[0.02] * 4], [0.02, *[0.5] * 3, 0.02]


@pytest.mark.parametrize(
    ("ratio", "rates", "seed", "share"),
    [
        (1.0, EVEN, 2, None),
        (3.0, EVEN, 2, None),  # better by 1.6 nats
        (10.0, EVEN, 6, 1.0),  # better by 2.2
        (10.0, EVEN, 0, 1.0),
        (10.0, EVEN, 5, 0.5),
        (30.0, EVEN, 7, 0.5),
        (10.0, FIRST, 3, 0.0),
        (10.0, FIRST, 6, 1.0),  # where all inputs matter alike
        (3.0, OTHERS, 2, 1.0),
    ],
)
def test_noise_is_mapped_as_by_hand(ratio, rates, seed, share):
    posterior = make_posterior(ratio, rates, seed)
    noise, best_share, excess = by_hand(posterior)
    noise_map, found_share = fit_noise_model(posterior)
    assert found_share == best_share == (share or 0.0)
    if share is None:
        assert noise is noise_map is None
    else:
        assert_allclose(noise_map.at(posterior.sample.rows), noise, rtol=1e-3)
        assert_allclose(noise_map.known, excess, rtol=1e-3)
        weighing = noise_map.weighing(posterior.sample.rows)
        assert_allclose(weighing, excess, rtol=1e-3)
        fresh = EncodedRows(
            -posterior.sample.rows.inputs, posterior.sample.rows.categories
        )
        is_own = find_rows(fresh, posterior.sample.rows) >= 0
        expected = np.where(is_own, np.nan, noise_map.at(fresh))
        found = np.where(is_own, np.nan, noise_map.weighing(fresh))
        assert_allclose(found, expected)


@pytest.mark.parametrize("amplitude", [0.1, 0.3, 1.0, 3.0])
def test_the_amplitude_has_the_highest_evidence(amplitude):
    side = np.repeat([-1.0, 1.0], 100)
    noise = np.random.default_rng(0).standard_normal(200) * np.sqrt(VARIANCE)
    noise -= (noise @ side) * side / 200
    logarithms = np.sqrt(amplitude) * side + noise
    alike = np.multiply.outer(side, side)
    density, best, _, covariance = regress(logarithms, alike)
    assert best == amplitude
    (value,), (alpha,), _ = _smooth(alike, logarithms[:, None])
    assert value - 100 * np.log(2 * np.pi) == pytest.approx(density)
    assert_allclose(alpha, best * np.linalg.solve(covariance, logarithms), atol=1e-9)


def test_noise_has_a_least_and_a_largest_share():
    covariance = Covariance(Prior(np.array(EVEN), np.empty(0), 1.0, 1.0, 0.2))
    rows = EncodedRows(np.ones((3, 5)), np.empty((3, 0), dtype=int))
    for alpha, share in ((-9.0, 0.05), (9.0, 20.0)):
        found = NoiseMap(covariance, rows, np.full(3, alpha), np.ones(3), scale=2.0).at(
            rows
        )
        assert_allclose(found, 2.0 * share)


@pytest.mark.parametrize("repeats", [1, 3])
def test_noise_is_learned_again_beside_strong_terms(repeats):
    rng = np.random.default_rng(0)
    inputs = np.repeat(rng.choice([-1.0, 1.0], (150, 8)), repeats, axis=0)
    y = inputs[:, 0] * inputs[:, 1] * inputs[:, 2] + 0.3 * rng.standard_normal(
        len(inputs)
    )
    rows = EncodedRows(inputs, np.empty((len(y), 0), dtype=int))
    sample = join_equal_rows(rows, y / y.std())
    # All of the product is taken for noise.
    prior = Prior(np.full(8, 1e-3), np.empty(0), 0.1, 0.1, 1.0)
    before = ExactPosterior.condition(Covariance(prior), sample)
    found = find_strong_terms(before)
    assert found.covariance.terms == ((0, 1, 2),)

    def loss(log_noise):
        tried = prior._replace(noise_variance=np.exp(log_noise))
        covariance = replace(found.covariance, prior=tried)
        return -ExactPosterior.condition(covariance, sample).log_evidence()

    best = np.exp(minimize_scalar(loss, bounds=(-5.0, 1.0), method="bounded").x)
    noise = found.covariance.prior.noise_variance
    assert noise == pytest.approx(best, rel=0.1)
    assert find_strong_terms(found) is found


@pytest.mark.parametrize("ratio", [1.0, 5.0])
def test_variances_at_the_own_rows_need_no_covariance(ratio, monkeypatch):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (150, 6))
    std = np.where(inputs[:, 0] > 0, 0.3 * ratio, 0.3)
    y = inputs[:, 1] + inputs[:, 2] * inputs[:, 3] + std * rng.standard_normal(150)
    rows = EncodedRows(inputs, np.empty((150, 0), dtype=int))
    model = fit_gp(rows, y, rng.integers(1, 3, 150).astype(float))
    assert (model.noise_exponent > 0) == (ratio > 1)
    asked, variance = [], ExactPosterior.latent_variance

    def spy(posterior, rows):
        asked.append(len(rows))
        return variance(posterior, rows)

    monkeypatch.setattr(ExactPosterior, "latent_variance", spy)
    both = rows.join(EncodedRows(2.0 * inputs[:3], rows.categories[:3]))
    function, _, _ = model.variances_at_map(both)
    assert asked == [3]
    assert_allclose(function, model.posterior.latent_variance(both), rtol=1e-8)


@pytest.mark.parametrize("few", [[3, 3, 11], list(range(40))])
def test_precisions_are_those_of_the_inverse(few):
    posterior = make_posterior(3.0, [0.1] * 5)
    K = posterior.covariance.between(posterior.sample.rows, posterior.sample.rows)
    K += np.diag(posterior.sample.noise(posterior.covariance.prior))
    few = np.array(few) % len(K)
    expected = np.diag(np.linalg.inv(K))
    for _ in range(2):
        assert_allclose(posterior.precision(few), expected[few], rtol=1e-10)
        assert_allclose(posterior.precisions, expected, rtol=1e-10)
    assert "precisions" not in posterior.__getstate__()
