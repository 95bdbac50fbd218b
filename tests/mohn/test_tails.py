"""Heavy tails: oracles are scipy's distributions and samples from them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kurtosis, norm, t

from skmohn import DenseControl, MOHNRegressor
from skmohn.mohn._table.tails import Tails, fit_tails


def heavy(n_rows, df, seed=0):
    """Bits, and a function of them with noise of Student's distribution."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, 6))
    function = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return X, function + 0.3 * t(df).rvs(n_rows, random_state=rng)


def test_normal_tails_are_those_of_scipy():
    """And draws are those of numpy."""
    tails, away = Tails(), np.linspace(-3.0, 3.0, 7)
    assert_allclose(tails.log_density(away), norm.logpdf(away))
    assert_allclose(tails.quantiles([0.1, 0.9]), norm.ppf([0.1, 0.9]))
    drawn = tails.draw(np.random.default_rng(0), (2, 3))
    assert_allclose(drawn, np.random.default_rng(0).standard_normal((2, 3)))


def test_heavy_tails_are_those_of_scipy():
    """Density, quantiles, draws."""
    tails, peer = Tails(4.0, 0.7), t(4.0, scale=0.7)
    away = np.linspace(-9.0, 9.0, 7)
    assert_allclose(tails.log_density(away), peer.logpdf(away))
    assert_allclose(tails.quantiles([0.1, 0.9]), peer.ppf([0.1, 0.9]))
    drawn = tails.draw(np.random.default_rng(0), 20_000)
    shares = [0.01, 0.1, 0.5, 0.9, 0.99]
    assert_allclose(np.quantile(drawn, shares), peer.ppf(shares), atol=0.15)


def test_the_most_likely_tails_are_found():
    """Those of scipy's fit, the centre held at 0."""
    away = t(3.5, scale=0.8).rvs(600, random_state=np.random.default_rng(0))
    found = fit_tails(away**2, np.ones(600))
    df, _, scale = t.fit(away, floc=0.0)
    assert_allclose([found.df, found.scale], [df, scale], rtol=1e-2)


def test_normal_errors_have_normal_tails():
    """In nearly all samples; Student's distribution must gain three nats."""
    rng = np.random.default_rng(0)
    found = [fit_tails(rng.standard_normal(200) ** 2, np.ones(200)) for _ in range(40)]
    assert sum(tails == Tails() for tails in found) >= 38
    # A wrong level alone is not a matter of tails.
    assert fit_tails(9.0 * rng.standard_normal(200) ** 2, np.ones(200)) == Tails()


def test_tails_must_gain_three_nats():
    """Over the best normal distribution."""
    away = t(6.0).rvs(80, random_state=np.random.default_rng(11))
    df, _, scale = t.fit(away, floc=0.0)
    gain = t.logpdf(away, df, scale=scale).sum()
    gain -= norm.logpdf(away, scale=np.sqrt(np.mean(away**2))).sum()
    for n_copies in (1, 2, 4, 8):
        count = np.full(80, float(n_copies))
        is_heavy = fit_tails(away**2, count) != Tails()
        assert is_heavy == (n_copies * gain >= 3.0)
    assert gain < 3.0 <= 8.0 * gain


@pytest.mark.parametrize("squares", [np.zeros(5), np.full(5, np.inf), np.empty(0)])
def test_no_tails_without_errors(squares):
    """None, none that is finite, or no rows."""
    assert fit_tails(squares, np.ones(len(squares))) == Tails()
    assert fit_tails(np.ones(5), np.zeros(5)) == Tails()


@pytest.mark.parametrize("strategy", ["auto", "dense"])
def test_heavy_noise_is_found_and_better_foreseen(strategy):
    """Densities of new observations rise; means and standard deviations stay."""
    X, y = heavy(300, 3.0)
    T, targets = heavy(2000, 3.0, seed=1)
    model = MOHNRegressor(strategy, random_state=0).fit(X, y)
    assert 2.0 < model.model_.tails.df < 6.0
    control = DenseControl(noise="constant")
    plain = MOHNRegressor(strategy, dense_control=control, random_state=0).fit(X, y)
    assert plain.model_.tails == Tails()
    gain = model.log_density(T, targets) - plain.log_density(T, targets)
    assert gain.mean() > 0.05
    low, high = model.predict_quantiles(T, [0.05, 0.95]).T
    assert 0.85 < np.mean((low < targets) & (targets < high)) < 0.95
    drawn = model.sample_y(T[:1], 5000)[0]
    assert kurtosis(drawn) > 1.5
    expected = model.model_.tails
    mean, std = model.predict(T[:1], return_std=True)
    assert_allclose(low[0], mean[0] + std[0] * expected.quantiles(0.05))


def test_normal_noise_stays_normal():
    """Whatever the strategy."""
    X, y = heavy(300, 1e6)
    for strategy in ("auto", "dense"):
        assert MOHNRegressor(strategy).fit(X, y).model_.tails == Tails()


def test_levels_of_noise_are_no_tails():
    """Noise that differs by row is mapped; what remains is normal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    X[:, 0] = np.sign(X[:, 0])
    noise = np.where(X[:, 0] > 0, 1.0, 0.1)
    y = 3.0 * X[:, 1] + noise * rng.standard_normal(400)
    model = MOHNRegressor("dense", random_state=0).fit(X, y)
    assert model.model_.noise_map is not None
    assert model.model_.tails == Tails()


def test_repeats_count():
    """A sample of weight 2 is two samples."""
    X, y = heavy(200, 2.5)
    weight = np.resize([1.0, 2.0], 200)
    once = MOHNRegressor("dense", random_state=0).fit(X, y, sample_weight=weight)
    counts = weight.astype(int)
    often = MOHNRegressor("dense", random_state=0).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    found, expected = once.model_.tails, often.model_.tails
    assert np.isfinite(expected.df)
    assert_allclose([found.df, found.scale], [expected.df, expected.scale], rtol=1e-4)


def test_samples_of_different_precision_have_no_heavy_tails():
    """Their errors are judged by the noise of each."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (400, 5))
    precision = rng.choice([0.05, 5.5], 400)
    y = 3.0 * X[:, 1] + rng.standard_normal(400) / np.sqrt(precision)
    model = MOHNRegressor("dense", random_state=0)
    assert model.fit(X, y, sample_weight=precision).model_.tails == Tails()
    assert model.fit(X, y).model_.tails != Tails()
