"""Tweedie distributions, against sums over amounts, draws, and their scaling laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import TweedieRegressor
from sklearn.metrics import d2_tweedie_score

from skmohn import MOHNGLMRegressor
from skmohn.mohn._sparse.tweedie import Tweedie

POWERS = 1.02, 1.1, 1.5, 1.9, 1.98
TERMS = [(0,), (3,), (1, 2)]


def draw_totals(power=1.5, n_rows=400, seed=0, dispersion=2.0):
    """Inputs, exposures and totals of Poisson numbers of gamma amounts."""
    rng = np.random.default_rng(seed)
    X, exposure = rng.choice([-1.0, 1.0], (n_rows, 6)), rng.uniform(0.3, 3.0, n_rows)
    mean = np.exp(0.5 * X[:, 0] - 0.4 * X[:, 3] + 0.6 * X[:, 1] * X[:, 2])
    number = rng.poisson(
        exposure * mean ** (2.0 - power) / ((2.0 - power) * dispersion)
    )
    scale = (power - 1.0) * dispersion * mean ** (power - 1.0)
    return X, rng.standard_gamma((2 - power) / (power - 1) * number) * scale, exposure


def by_amounts(power, mean, dispersion, most):
    """Weights of the numbers of amounts, and the distributions of their totals."""
    expected = mean ** (2.0 - power) / ((2.0 - power) * dispersion)
    scale = (power - 1.0) * dispersion * mean ** (power - 1.0)
    number = np.arange(1, most)
    shape = number * (2.0 - power) / (power - 1.0)
    return stats.poisson(expected).pmf(number), stats.gamma(shape, scale=scale)


@pytest.mark.parametrize("power", POWERS)
def test_densities_and_probabilities_are_sums_over_amounts(power):
    rng = np.random.default_rng(0)
    y, dispersion = np.exp(rng.uniform([-6, -2], [6, 4], (40, 2))).T
    mean = y * np.exp(rng.normal(size=40))
    found = Tweedie(power).log_density(y, mean, dispersion)
    frozen = Tweedie(power).frozen(mean, dispersion)
    below = frozen.cdf(y)
    for k in range(40):
        weight, totals = by_amounts(power, mean[k], dispersion[k], 20_000)
        assert_allclose(np.exp(found[k]), weight @ totals.pdf(y[k]), rtol=1e-7)
        none = frozen.cdf(np.zeros(40))[k]
        assert_allclose(none, 1.0 - weight.sum(), atol=1e-9)
        assert_allclose(below[k] - none, weight @ totals.cdf(y[k]), atol=1e-9)


@pytest.mark.parametrize("power", POWERS)
def test_quantiles_have_their_probabilities(power):
    mean = np.exp(np.linspace(-5.0, 8.0, 30))
    frozen = Tweedie(power).frozen(mean, np.full(30, 0.7))
    for wanted in (0.001, 0.2, 0.5, 0.95, 0.999):
        ends = frozen.ppf(np.full(30, wanted))
        below, none = frozen.cdf(ends), frozen.cdf(np.zeros(30))
        assert_allclose(below[ends > 0.0], wanted, atol=1e-9)
        np.testing.assert_array_equal(ends == 0.0, none >= wanted)
    assert np.any(ends > 0.0)


@pytest.mark.parametrize("power", [1.1, 1.5, 1.9])
def test_quantiles_of_many_amounts_go_over_into_an_expansion(power):
    # 0.9 and 1.1 times the number of amounts above which there is no sum.
    dispersion = 1.0 / ((2.0 - power) * 1e7 * np.array([0.9, 1.1]))
    frozen = Tweedie(power).frozen(np.ones(2), dispersion)
    for wanted in (0.01, 0.5, 0.9):
        z = (frozen.ppf(np.full(2, wanted)) - 1.0) / np.sqrt(dispersion)
        skewness = power * np.sqrt(dispersion)
        normal = stats.norm.ppf(wanted)
        expected = normal + skewness * (normal**2 - 1.0) / 6.0
        assert_allclose(z, expected, atol=1e-6)


def test_densities_near_their_ends_are_those_of_one_amount_and_of_a_normal():
    power, small = 1.5, np.array([1e-30, 1e-20])
    found = Tweedie(power).log_density(small, np.ones(2), 1.0)
    # One exponential amount of mean 0.5 with a probability of 2 exp(-2).
    assert_allclose(found, np.log(2.0 * np.exp(-2.0) / 0.5), rtol=1e-9)
    narrow = 1e-10
    y = 1.0 + np.sqrt(narrow) * np.array([-1.0, 0.0, 2.0])
    found = Tweedie(power).log_density(y, np.ones(3), narrow)
    assert_allclose(found, stats.norm(1.0, np.sqrt(narrow)).logpdf(y), atol=1e-4)


def test_draws_have_mean_variance_and_zeros():
    frozen = Tweedie(1.3).frozen(np.array([2.0]), np.array([1.5]))
    draws = frozen.rvs(size=(400_000,), random_state=np.random.RandomState(0))
    assert_allclose(draws.mean(), 2.0, rtol=0.01)
    assert_allclose([draws.var(), frozen.var()[0]], 1.5 * 2.0**1.3, rtol=0.02)
    assert_allclose(np.mean(draws == 0.0), frozen.cdf(np.zeros(1))[0], rtol=0.02)


@pytest.mark.parametrize("power", [1.2, 1.5, 1.8])
def test_weights_without_penalty_are_those_of_scikit_learn(power):
    X, y, exposure = draw_totals(power)
    model = MOHNGLMRegressor("given", "tweedie", terms=TERMS, C=1e9, power=power)
    model.fit(X, y, exposure=exposure)
    columns = np.column_stack([X[:, [0, 3]], X[:, 1] * X[:, 2]])
    peer = TweedieRegressor(power=power, alpha=0.0, link="log", tol=1e-10)
    peer.fit(columns, y / exposure, sample_weight=exposure)
    assert_allclose(model.weights_, peer.coef_, atol=1e-4)
    score = d2_tweedie_score(
        y / exposure, peer.predict(columns), sample_weight=exposure, power=power
    )
    assert_allclose(model.score(X, y, exposure=exposure), score, atol=1e-6)


def test_the_variance_of_new_totals_is_that_of_independent_units():
    X, y, exposure = draw_totals(n_rows=300)
    model = MOHNGLMRegressor("given", "tweedie", terms=TERMS, C=1e9)
    model.fit(X, y, exposure=exposure)
    rows, given = X[:50], exposure[:50]
    predictive = model.model_.predictive(model._to_rows(rows), given)
    found = model.log_density(rows, y[:50], given)
    assert_allclose(found, predictive.logpdf(y[:50]))
    # As many units as there are, and the uncertainty of their mean.
    variance = model.dispersion_ * given * model.predict(rows) ** 1.5
    columns = np.column_stack([rows[:, [0, 3]], rows[:, 1] * rows[:, 2], np.ones(50)])
    log_variance = np.square(columns @ model.model_.root).sum(axis=1)
    variance += model.predict(rows, given) ** 2 * np.expm1(log_variance)
    assert_allclose(predictive.var(), variance)


def test_units_of_targets_change_only_the_scale():
    X, y, exposure = draw_totals(1.3)
    model = MOHNGLMRegressor("given", "tweedie", terms=TERMS, power=1.3, C=1.0)
    own = clone(model).fit(X, y, exposure=exposure)
    cents = clone(model).fit(X, 1e9 * y, exposure=exposure)
    assert_allclose(own.weights_, cents.weights_, rtol=1e-4)
    assert_allclose(cents.dispersion_, 1e9**0.7 * own.dispersion_, rtol=1e-3)
    quantiles = own.predict_quantiles(X[:9]), cents.predict_quantiles(X[:9])
    assert_allclose(1e9 * quantiles[0], quantiles[1], rtol=1e-3)


def test_intervals_hold_fresh_totals_and_the_right_power_is_likelier():
    X, y, exposure = draw_totals(1.5, n_rows=3000)
    densities = []
    for power in (1.2, None, 1.8):
        model = MOHNGLMRegressor("given", "tweedie", terms=TERMS, power=power)
        model.fit(X[:600], y[:600], exposure=exposure[:600])
        own = model.log_density(X[600:], y[600:], exposure[600:])
        densities.append(own.mean())
        if power is None:
            high = model.predict_quantiles(X[600:], [0.95], exposure[600:])[:, 0]
            assert 0.935 < np.mean(y[600:] <= high) < 0.965
    assert np.argmax(densities) == 1


def test_powers_out_of_range_and_without_use_are_refused():
    X, y, _ = draw_totals(n_rows=30)
    for power in (1.0, 2.0, 3.0):
        with pytest.raises(ValueError, match="'power' parameter"):
            MOHNGLMRegressor(loss="tweedie", power=power).fit(X, y)
    with pytest.raises(ValueError, match="power: loss='poisson' takes none"):
        MOHNGLMRegressor(power=1.5).fit(X, y)
    with pytest.raises(ValueError, match="have targets of 0, and from"):
        MOHNGLMRegressor(loss="tweedie").fit(X, y - 1.0)
