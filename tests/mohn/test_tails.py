"""Heavy tails: oracles are scipy's distributions and samples from them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kurtosis, norm, t

from skmohn import GPOptions, MOHNRegressor
from skmohn.mohn._gp import model as gaussian_process
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import find_rows
from skmohn.mohn._table.tails import Tails, fit_tails, tails_of_few


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
    """Those of scipy's fit, the center held at 0."""
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


@pytest.mark.slow_cases("auto")
@pytest.mark.parametrize("strategy", ["auto", "gp", "spike_slab"])
def test_heavy_noise_is_found_and_better_predicted(strategy):
    """Densities of new observations rise; means and standard deviations stay."""
    X, y = heavy(300, 3.0)
    T, targets = heavy(2000, 3.0, seed=1)
    model = MOHNRegressor(strategy, random_state=0).fit(X, y)
    assert 2.0 < model.model_.residual_distribution.df < 6.0
    control = GPOptions(noise="constant")
    plain = MOHNRegressor(strategy, gp_options=control, random_state=0).fit(X, y)
    assert plain.model_.residual_distribution == Tails()
    gain = model.log_density(T, targets) - plain.log_density(T, targets)
    assert gain.mean() > 0.05
    low, high = model.predict_quantiles(T, [0.05, 0.95]).T
    assert 0.85 < np.mean((low < targets) & (targets < high)) < 0.95
    drawn = model.sample_y(T[:1], 5000)[0]
    assert kurtosis(drawn) > 1.5
    expected = model.model_.residual_distribution
    mean, std = model.predict(T[:1], return_std=True)
    assert_allclose(low[0], mean[0] + std[0] * expected.quantiles(0.05))


def test_normal_noise_stays_normal():
    """Whatever the strategy."""
    X, y = heavy(300, 1e6)
    for strategy in ("auto", "gp"):
        assert MOHNRegressor(strategy).fit(X, y).model_.residual_distribution == Tails()


def test_levels_of_noise_are_no_tails():
    """Noise that differs by row is mapped; what remains is normal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    X[:, 0] = np.sign(X[:, 0])
    noise = np.where(X[:, 0] > 0, 1.0, 0.1)
    y = 3.0 * X[:, 1] + noise * rng.standard_normal(400)
    model = MOHNRegressor("gp", random_state=0).fit(X, y)
    assert model.model_.noise_map is not None
    assert model.model_.residual_distribution == Tails()


def test_repeats_count():
    """A sample of weight 2 is two samples."""
    X, y = heavy(200, 2.5)
    weight = np.resize([1.0, 2.0], 200)
    once = MOHNRegressor("gp", random_state=0).fit(X, y, sample_weight=weight)
    counts = weight.astype(int)
    often = MOHNRegressor("gp", random_state=0).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    found, expected = (
        once.model_.residual_distribution,
        often.model_.residual_distribution,
    )
    assert np.isfinite(expected.df)
    assert_allclose([found.df, found.scale], [expected.df, expected.scale], rtol=1e-4)


def test_samples_of_different_precision_have_no_heavy_tails():
    """Their errors are judged by the noise of each."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (400, 5))
    precision = rng.choice([0.05, 5.5], 400)
    y = 3.0 * X[:, 1] + rng.standard_normal(400) / np.sqrt(precision)
    model = MOHNRegressor("gp", random_state=0)
    assert (
        model.fit(X, y, sample_weight=precision).model_.residual_distribution == Tails()
    )
    assert model.fit(X, y).model_.residual_distribution != Tails()


def test_rows_are_left_out_as_they_were_weighed():
    """Where noise differs by row: as by the inverse of the covariance."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (150, 8))
    X = np.unique(X, axis=0)
    noise = np.where(X[:, 0] > 0, 1.0, 0.1)
    y = 3.0 * X[:, 1] + X[:, 2] * X[:, 3] + noise * rng.standard_normal(len(X))
    model = MOHNRegressor("gp", random_state=0).fit(X, y)
    posterior = model.model_.posterior
    assert model.model_.noise_exponent > 0.0
    assert np.ptp(posterior.sample.excess) > 0.1
    found = model.model_.leave_out(model._to_rows(X), y, None, np.arange(len(X)))
    residual, variance = posterior.leave_one_out()
    assert_allclose(found.squares, residual**2, rtol=1e-6)
    given = posterior.sample.noise(model.model_.prior)
    assert_allclose(found.variance + found.noise, variance, rtol=1e-6)
    assert_allclose(found.noise, given, rtol=1e-9)


def test_rows_beyond_a_part_are_predicted_already(replace_constants):
    """They are left out of nothing."""
    replace_constants(gaussian_process, max_rows_exact=100)
    replace_constants(gaussian_process, min_rows_ratio=2)
    rng = np.random.default_rng(0)
    X = np.unique(rng.choice([-1.0, 0.0, 1.0], (200, 8)), axis=0)[:150]
    y = X[:, 1] + X[:, 2] * X[:, 3] + 0.3 * rng.standard_normal(150)
    control = GPOptions(noise="constant", clip=False)
    model = MOHNRegressor("gp", gp_options=control, random_state=0).fit(X, y)
    fitted = model.model_
    assert fitted.inference == "subset"
    rows = model._to_rows(X)
    found = fitted.leave_out(rows, y, None, np.arange(150))
    place = find_rows(rows, fitted.posterior.sample.rows)
    is_told = place >= 0
    assert is_told.sum() == 100
    away = ((y - model.predict(X)) / fitted.y_std) ** 2
    assert_allclose(found.squares[~is_told], away[~is_told])
    assert_allclose(
        found.variance[~is_told], fitted.posterior.latent_variance(rows)[~is_told]
    )
    residual, variance = (
        part[place[is_told]] for part in fitted.posterior.leave_one_out()
    )
    assert_allclose(found.squares[is_told], residual**2, rtol=1e-6)
    assert_allclose((found.variance + found.noise)[is_told], variance, rtol=1e-6)


def test_rows_that_are_hit_are_left_out_as_well():
    """The function goes through them, but nobody else says so."""
    rng = np.random.default_rng(0)
    X = np.unique(rng.choice([-1.0, 1.0], (150, 6)), axis=0)
    y = (X @ [4.0, 3.0, 2.0, 2.0, 1.0, 1.0]) ** 2
    control = GPOptions(noise="constant", clip=False, target_transform=None)
    model = MOHNRegressor("gp", gp_options=control).fit(X, y)
    covariance = model.model_.covariance
    exact = replace(covariance, prior=covariance.prior._replace(noise_variance=1e-6))
    posterior = ExactPosterior.condition(exact, model.model_.posterior.sample)
    fitted = replace(model.model_, posterior=posterior)
    found = fitted.leave_out(model._to_rows(X), y, None, np.arange(len(X)))
    residual, _ = posterior.leave_one_out()
    assert found.count.all()
    assert_allclose(found.squares, residual**2, rtol=1e-3)


@pytest.mark.parametrize("is_weight", [False, True])
def test_intervals_of_twins_hold_for_others(is_weight):
    """Twins predict each other exactly, which says nothing of rows elsewhere."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((660, 4))
    y = 2.0 * X[:, 1] + X[:, 2] * X[:, 3]
    y += np.where(X[:, 0] > 0.0, 1.0, 0.1) * rng.standard_normal(660)
    model = MOHNRegressor("gp", random_state=0)
    if is_weight:
        model.fit(X[:160], y[:160], sample_weight=np.full(160, 2.0))
    else:
        model.fit(np.repeat(X[:160], 2, axis=0), np.repeat(y[:160], 2))
    low, high = model.predict_quantiles(X[160:], [0.05, 0.95]).T
    assert 0.75 < np.mean((low < y[160:]) & (y[160:] < high)) < 0.95


def test_repeats_with_noise_of_their_own_say_how_heavy_it_is():
    """Though all else says little of the function at their places."""
    rng = np.random.default_rng(0)
    X = np.sign(rng.standard_normal((400, 4)))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(400)
    model = MOHNRegressor("gp", random_state=0).fit(X[:200], y[:200])
    low, high = model.predict_quantiles(X[200:], [0.05, 0.95]).T
    assert 0.8 < np.mean((low < y[200:]) & (y[200:] < high)) < 0.97


# ----------------------------------------------------------------------------- few rows


def test_tails_of_few_rows_are_as_wide_as_left_out_rows_are_off():
    squares = np.array([0.5, 1.5, 2.5])
    assert tails_of_few(squares, 12, True) == Tails(4.0, np.sqrt(1.5))
    assert tails_of_few(squares / 9.0, 12, False) == Tails(11.0, 1.0)
    assert tails_of_few(np.empty(0), 4, True) == Tails(3.0, 1.0)


@pytest.mark.parametrize(("n_rows", "df"), [(12, 4.0), (48, 16.0), (50, np.inf)])
def test_few_rows_have_tails_of_their_own(n_rows, df):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n_rows, 2))
    y = X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(n_rows)
    assert (
        MOHNRegressor("gp", random_state=0).fit(X, y).model_.residual_distribution.df
        == df
    )


def test_rows_choose_no_term_of_the_additive_model():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (12, 6))
    y = X[:, :3] @ [1.0, -0.7, 0.5] + 0.6 * rng.standard_normal(12)
    model = MOHNRegressor(random_state=0).fit(X, y)
    assert model.history_[-1]["chosen"] == "additive"
    assert model.model_.residual_distribution.df == 11.0


def test_copies_are_few_rows_and_repeats_are_many():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (12, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(12)
    model = MOHNRegressor("gp", random_state=0)
    assert (
        model.fit(np.tile(X, (5, 1)), np.tile(y, 5)).model_.residual_distribution.df
        == 4.0
    )
    repeats = np.tile(X[:, 0], 5) + 0.3 * rng.standard_normal(60)
    assert model.fit(np.tile(X, (5, 1)), repeats).model_.residual_distribution.df > 4.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the samples are too few")
@pytest.mark.parametrize("n_rows", [12, 20])
@pytest.mark.parametrize("kind", ["noise", "sum", "pair", "numbers"])
def test_intervals_of_few_rows_have_as_many_targets_as_they_say(kind, n_rows):
    inside = []
    for seed in range(30):
        rng = np.random.default_rng([seed, n_rows])
        X = rng.choice([-1.0, 1.0], (n_rows + 100, 6))
        if kind == "numbers":
            X = rng.uniform(-1.0, 1.0, X.shape)
        function = {
            "noise": 0.0 * X[:, 0],
            "sum": X[:, :3] @ [1.0, -0.7, 0.5],
            "pair": X[:, 0] + X[:, 1] * X[:, 2],
            "numbers": 2.0 * X[:, 0] + np.sin(3.0 * X[:, 1]),
        }[kind]
        y = function + 0.6 * rng.standard_normal(len(X))
        model = MOHNRegressor(random_state=0).fit(X[:n_rows], y[:n_rows])
        low, high = model.predict_quantiles(X[n_rows:], [0.05, 0.95]).T
        inside.append(np.mean((low <= y[n_rows:]) & (y[n_rows:] <= high)))
    assert 0.83 < np.mean(inside) < 0.97
