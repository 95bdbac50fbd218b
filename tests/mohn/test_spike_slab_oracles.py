"""Spike-and-slab posteriors against enumeration of all weights and Gibbs sampling.

Both oracles have the hyperparameters that the model has learned.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax

from skmohn.mohn._models import PRIOR
from skmohn.mohn._spike_slab import fit
from skmohn.mohn._spike_slab.fit import STARTS, fit_spike_slab, rank_runs

CENTERED = [start for start in STARTS if start.is_centered]
APART = [start for start in STARTS if not start.is_centered]


def standardized(model, X, y):
    """Columns, target, and inclusion, variance and center of each weight."""
    columns = model.candidates.columns(X)
    priors = np.empty((3, len(columns)))
    for prior, members in zip(model.priors, model.candidates.classes, strict=True):
        values = prior.inclusion, prior.variance, prior.center
        priors[:, members] = np.array(values)
    return columns, (y - model.y_mean) / model.y_std, *priors


def enumerate_kinds(model, X, y):
    """Exact mean of the weights, their inclusion, and log density of the targets.

    Each weight is zero, in its slab around zero, or in either half of one that is not.
    """
    columns, target, inclusion, variance, center = standardized(model, X, y)
    n_weights, n_rows = columns.shape
    kinds = (0, 1, -1) if center.any() else (0, 1)
    sides = np.array(list(itertools.product(kinds, repeat=n_weights)))
    is_in = sides != 0
    of_kind = np.log(inclusion / (len(kinds) - 1))
    logs = np.where(is_in, of_kind, np.log1p(-inclusion)).sum(axis=1)
    spread, before = is_in * variance, sides * center
    # Columns are orthogonal to the constant, so that it is apart from all weights.
    A = np.sqrt(spread)[:, :, None] * (columns @ columns.T) * np.sqrt(spread)[:, None]
    A += model.noise_variance * np.eye(n_weights)
    step = columns @ target - before @ (columns @ columns.T)
    scaled = np.sqrt(spread) * step
    solved = np.linalg.solve(A, scaled[:, :, None])[:, :, 0]
    mean = before + np.sqrt(spread) * solved
    square = target @ target - 2 * before @ (columns @ target)
    square += np.einsum("si,ij,sj->s", before, columns @ columns.T, before)
    square = (square - np.einsum("si,si->s", scaled, solved)) / model.noise_variance
    volume = np.linalg.slogdet(A)[1] + (n_rows - 1 - n_weights) * math.log(
        model.noise_variance
    )
    volume += math.log(n_rows * PRIOR.constant_variance + model.noise_variance)
    logs -= (square + volume + n_rows * math.log(2 * math.pi)) / 2
    probability = softmax(logs)
    evidence = logsumexp(logs) - n_rows * math.log(model.y_std)
    return probability @ mean, probability @ is_in, evidence


def sample_gibbs(model, X, y, n_chains=100, n_sweeps=45):
    """Mean, inclusion and standard deviation of each weight by Gibbs sampling.

    Half of the chains start where all weights are zero, half at those of ridge
    regression; the first third of the sweeps is left out.
    """
    columns, target, inclusion, variance, center = standardized(model, X, y)
    rng = np.random.default_rng(0)
    n_weights, n_rows = columns.shape
    gram, along, noise = columns @ columns.T, columns @ target, model.noise_variance
    ridge = np.linalg.solve(gram + 0.1 * n_rows * np.eye(n_weights), along)
    weights = np.outer(ridge, np.arange(n_chains) % 2)
    sums, n_kept = np.zeros((3, n_weights)), 0
    sides = np.array([[1.0], [-1.0]])
    for sweep in range(n_sweeps):
        is_kept = sweep >= n_sweeps // 3
        n_kept += is_kept
        for j in rng.permutation(n_weights):
            left = along[j] - gram[j] @ weights + gram[j, j] * weights[j]
            precision = gram[j, j] / noise + 1.0 / variance[j]
            means = (left / noise + sides * center[j] / variance[j]) / precision
            logs = np.full((3, n_chains), np.log1p(-inclusion[j]))
            logs[1:] = np.log(inclusion[j] / 2) + precision * means**2 / 2
            logs[1:] -= np.log(precision * variance[j]) / 2
            logs[1:] -= center[j] ** 2 / variance[j] / 2
            kinds = softmax(logs, axis=0)
            drawn = (rng.random(n_chains) > np.cumsum(kinds[:2], axis=0)).sum(axis=0)
            normal = rng.standard_normal(n_chains) / math.sqrt(precision)
            weights[j] = np.choose(drawn, [0.0 * normal, *(means + normal)])
            if is_kept:
                sums[0, j] += (kinds[1:] * means).sum(axis=0).mean()
                sums[1, j] += 1.0 - kinds[0].mean()
                squares = kinds[1:] * (means**2 + 1.0 / precision)
                sums[2, j] += squares.sum(axis=0).mean()
    mean, inside, square = sums / n_kept
    return mean, inside, np.sqrt(square - mean**2)


def even(shape, rng):
    return rng.choice([-1.0, 1.0], shape)


def unbalanced(shape, rng):
    """Columns of 4 to 50 % ones."""
    ones = rng.uniform(0.04, 0.5, shape[1])
    ones[0] = 0.04
    return np.where(rng.random(shape) < ones, 1.0, -1.0)


def correlated(shape, rng):
    """Signs of an autoregressive process with a correlation of 0.9."""
    z = rng.standard_normal(shape)
    for j in range(1, shape[1]):
        z[:, j] = 0.9 * z[:, j - 1] + math.sqrt(1 - 0.81) * z[:, j]
    return np.sign(z)


def draw(kind, n_rows, n_inputs, noise, seed, strengths=(1.0, 0.7, 0.8)):
    rng = np.random.default_rng(seed)
    X = kind((n_rows, n_inputs), rng)
    one, two, three = strengths
    y = 3 + one * X[:, 0] + two * X[:, 1] + three * X[:, 1] * X[:, 2]
    return X, y + noise * rng.standard_normal(n_rows)


def rms(values):
    return math.sqrt(np.mean(np.square(values)))


def agree(model, exact):
    mean, inclusion, evidence = exact
    assert rms(model.posterior.mean[:-1] - mean) < 0.12 * rms(mean)
    assert_allclose(model.beliefs[0], inclusion, atol=0.12)
    assert model.log_evidence() == pytest.approx(evidence, abs=0.5)


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_ten_weights_are_those_of_all_supports(noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (60, 4))
    y = 3 + X[:, 0] + 0.6 * X[:, 1] * X[:, 2] + noise * rng.standard_normal(60)
    model = fit_spike_slab(X, y, None, 2, CENTERED)
    agree(model, enumerate_kinds(model, X, y))


@pytest.mark.parametrize("noise", [0.5, 1.5])
def test_twelve_weights_are_those_of_all_supports(noise):
    X, y = draw(even, 60, 12, noise, 0)
    model = fit_spike_slab(X, y, None, 1, CENTERED)
    agree(model, enumerate_kinds(model, X, y))


@pytest.mark.parametrize("noise", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("seed", range(2))
def test_weights_of_one_strength_are_those_of_all_signs(noise, seed, monkeypatch):
    """Averaged over the hyperparameters of all runs."""
    X, y = draw(even, 60, 3, noise, seed, (0.8, -0.8, 0.8))
    runs = []

    def remember(*arguments):
        runs[:] = rank_runs(*arguments)
        return runs

    monkeypatch.setattr(fit, "rank_runs", remember)
    model = fit_spike_slab(X, y, None, 2, APART)
    assert model.priors[0].center[0] > 0.0
    found = []
    for run in runs:
        monkeypatch.setattr(fit, "rank_runs", lambda *_, run=run: [run])
        alone = fit_spike_slab(X, y, None, 2, APART)
        found.append(enumerate_kinds(alone, X, y))
    means, inclusions, evidence = zip(*found, strict=True)
    probability = softmax([run.key for run in runs])
    agree(model, (probability @ means, probability @ inclusions, evidence[0]))


@pytest.mark.parametrize(
    ("kind", "mean_off", "inclusion_off", "stds"),
    [
        (even, 0.02, 0.005, (0.97, 1.03)),
        (correlated, 0.1, 0.02, (0.85, 1.05)),
        # A rare column and its products with others differ in few rows.
        (unbalanced, 0.15, 0.02, (0.5, 1.5)),
    ],
)
def test_many_weights_are_those_of_gibbs_sampling(kind, mean_off, inclusion_off, stds):
    X, y = draw(kind, 150, 6, 0.9, 0)
    model = fit_spike_slab(X, y, None, 2, CENTERED)
    mean, inclusion, std = sample_gibbs(model, X, y)
    columns = model.candidates.columns(X)
    found = model.posterior.mean[:-1]
    off = found - mean
    assert rms(off) < mean_off * rms(mean)
    assert rms(off @ columns) < 0.05 * rms(mean @ columns)
    assert np.mean(np.abs(model.beliefs[0] - inclusion)) < inclusion_off
    ratio = rms(model.beliefs[1] * model.candidates.stds / model.y_std) / rms(std)
    assert stds[0] < ratio < stds[1]


def test_many_weights_of_one_strength_are_those_of_gibbs_sampling():
    X, y = draw(even, 150, 6, 0.9, 0, (0.8, -0.8, 0.8))
    model = fit_spike_slab(X, y, None, 2, APART)
    mean, inclusion, _ = sample_gibbs(model, X, y)
    assert rms(model.posterior.mean[:-1] - mean) < 0.02 * rms(mean)
    assert_allclose(model.beliefs[0], inclusion, atol=0.03)
