"""MOHNGLMRegressor, against scikit-learn, scipy's distributions and enumeration."""

from functools import partial
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp, xlogy
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.metrics import (
    d2_tweedie_score,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_tweedie_deviance,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skmohn import Genotypes, MOHNGLMRegressor, MOHNRegressor
from skmohn.mohn._design.design import make_design, product_columns
from skmohn.mohn._sparse import glm as _glm
from skmohn.mohn._sparse.distributions import DISTRIBUTIONS
from skmohn.mohn._sparse.glm import (
    GLMPath,
    Response,
    covariance_root,
    fit_dispersion,
    fit_glm,
    fit_weights,
)
from skmohn.mohn._sparse.logistic import LogisticControl
from skmohn.mohn._sparse.logistic_selection import deal_folds
from skmohn.mohn._sparse.tweedie import Tweedie
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._training_data import TrainingData

KINDS = {**DISTRIBUTIONS, "tweedie": Tweedie(1.5)}
LOSSES = tuple(KINDS)
TERMS = [(0,), (3,), (1, 2)]


def problem(loss, n_rows=200, n_columns=6, seed=0, mean=3.0):
    """Coded inputs, targets and exposures; the log mean has the terms above."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, n_columns))
    exposure = rng.uniform(0.5, 2.0, n_rows)
    means = mean * exposure * np.exp(product_columns(X, TERMS) @ [0.5, -0.4, 0.6])
    if loss == "gamma":
        return X, means * rng.gamma(2.0, 0.5, n_rows), exposure
    if loss == "tweedie":  # amounts whose standard deviation is their mean, 1 here
        return X, rng.standard_gamma(rng.poisson(means)), exposure
    if loss == "negative_binomial":
        means = means * rng.gamma(2.0, 0.5, n_rows)
    return X, rng.poisson(means).astype(float), exposure


def response_of(loss, **options):
    """Inputs of the terms, and targets with weights and exposures."""
    X, y, exposure = problem(loss, **options)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    distribution = KINDS[loss]
    response = Response(y, weight, np.log(exposure), distribution)
    return product_columns(X, TERMS), response


# -------------------------------------------------------------------- distributions


def log_density_of_totals(power, mean, dispersion, y):
    """Sum over the Poisson number of gamma amounts."""
    expected = mean ** (2.0 - power) / ((2.0 - power) * dispersion)
    scale = (power - 1.0) * dispersion * mean ** (power - 1.0)
    most = min(np.max(expected), 3e4)  # line searches alone try more
    number = np.arange(1, int(most + 12.0 * np.sqrt(most) + 50.0))[:, None]
    shape = number * (2.0 - power) / (power - 1.0)
    logs = xlogy(number, expected) - expected + xlogy(shape - 1.0, y) - y / scale
    logs += -shape * np.log(scale) - gammaln(number + 1.0) - gammaln(shape)
    return np.where(y == 0.0, -expected, logsumexp(logs, axis=0))


def of_scipy(loss, mean, dispersion):
    if loss == "gamma":
        return stats.gamma(1.0 / dispersion, scale=dispersion * mean).logpdf
    if loss == "tweedie":
        return partial(log_density_of_totals, 1.5, mean, dispersion)
    if loss == "poisson":
        return stats.poisson(mean).logpmf
    n = 1.0 / dispersion
    return stats.nbinom(n, n / (n + mean)).logpmf


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dispersion", [1e-3, 0.4, 30.0])
def test_log_densities_are_those_of_scipy(loss, dispersion):
    y, mean = np.array([1.0, 2.0, 7.0, 100.0]), np.array([0.3, 2.0, 30.0, 90.0])
    own = 0.0 if loss == "poisson" else dispersion
    found = KINDS[loss].log_density(y, mean, own)
    assert_allclose(found, of_scipy(loss, mean, dispersion)(y), rtol=1e-9)
    assert_allclose(KINDS[loss].frozen(mean, np.full(4, dispersion)).mean(), mean)


def test_counts_of_zero_have_the_right_probability():
    zero, mean = np.zeros(2), np.array([0.5, 4.0])
    for dispersion, name in ((0.0, "poisson"), (0.7, "negative_binomial")):
        found = KINDS[name].log_density(zero, mean, dispersion)
        assert_allclose(found, of_scipy(name, mean, dispersion)(zero))


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_and_curvatures_are_finite_differences(loss):
    distribution = KINDS[loss]
    dispersion = 0.6 if distribution.has_dispersion else 0.0
    y, eta, step = np.array([1.0, 2.0, 9.0]), np.array([-0.5, 1.0, 2.0]), 1e-4

    def height(eta):
        return distribution.log_density(y, np.exp(eta), dispersion)

    slope = (height(eta + step) - height(eta - step)) / (2.0 * step)
    bend = (height(eta + step) - 2.0 * height(eta) + height(eta - step)) / step**2
    given = y, np.exp(eta), dispersion
    assert_allclose(distribution.slope(*given), slope, rtol=1e-5)
    assert_allclose(distribution.curvature(*given), -bend, rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_information_is_the_mean_curvature(loss):
    distribution = KINDS[loss]
    dispersion = 0.6 if distribution.has_dispersion else 0.0
    mean = np.array([1.7])
    y = distribution.frozen(mean, np.array([max(dispersion, 1e-6)])).rvs(
        size=(200_000,), random_state=0
    )
    curvature = distribution.curvature(y, np.full(len(y), mean[0]), dispersion)
    expected = distribution.information(mean, dispersion)
    assert_allclose(curvature.mean(), expected[0], rtol=0.01)


def test_deviances_are_those_of_scikit_learn_and_twice_the_missing_likelihood():
    rng = np.random.default_rng(0)
    mean, y = rng.uniform(0.2, 5.0, 50), rng.poisson(2.0, 50).astype(float)
    poisson, binomial, gamma, tweedie = (KINDS[name] for name in LOSSES)
    assert_allclose(
        poisson.deviance(y, mean, 0.0).mean(), mean_poisson_deviance(y, mean)
    )
    found = tweedie.deviance(y, mean, 0.3).mean()
    assert_allclose(found, mean_tweedie_deviance(y, mean, power=1.5))
    y += 1.0
    found = gamma.deviance(y, mean, 0.3).mean()
    assert_allclose(found, mean_gamma_deviance(y, mean))
    missing = binomial.log_density(y, y, 0.3) - binomial.log_density(y, mean, 0.3)
    assert_allclose(binomial.deviance(y, mean, 0.3), 2.0 * missing)


# ----------------------------------------------------------------------------- fits


@pytest.mark.parametrize(("loss", "peer"), [("poisson", PoissonRegressor)])
@pytest.mark.parametrize("C", [0.02, 1e6])
def test_penalized_weights_are_those_of_scikit_learn(loss, peer, C):
    X, y, _ = problem(loss)
    model = MOHNGLMRegressor("given", loss, terms=TERMS, C=C).fit(X, y)
    peer = peer(alpha=1.0 / (C * len(y)), tol=1e-10, max_iter=10_000)
    peer.fit(product_columns(X, TERMS), y)
    assert_allclose(model.weights_, peer.coef_, rtol=1e-4)
    assert_allclose(model.intercept_, peer.intercept_, rtol=1e-4)


def test_gamma_weights_without_penalty_are_those_of_scikit_learn():
    X, y, _ = problem("gamma")
    model = MOHNGLMRegressor("given", "gamma", terms=TERMS, C=1e9).fit(X, y)
    peer = GammaRegressor(alpha=0.0, tol=1e-10).fit(product_columns(X, TERMS), y)
    assert_allclose(model.weights_, peer.coef_, rtol=1e-4)
    assert_allclose(model.score(X, y), d2_tweedie_score(y, model.predict(X), power=2))


def of_totals(loss, response):
    """Dispersion beside that for an exposure of 1."""
    return np.exp(-0.5 * response.log_exposure) if loss == "tweedie" else 1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_maximize_the_posterior(loss):
    columns, response = response_of(loss)
    dispersion = 0.5 if response.distribution.has_dispersion else 0.0
    wider = np.column_stack([columns, np.ones(len(columns))])

    def loss_of(mode):
        mean = np.exp(wider @ mode + response.log_exposure)
        of_rows = dispersion * of_totals(loss, response)
        fit = response.weight @ of_scipy(loss, mean, of_rows)(response.y)
        return 0.5 * mode[:-1] @ mode[:-1] / 0.05 - fit

    best = minimize(loss_of, np.zeros(4), method="BFGS", options={"gtol": 1e-4})
    mode = fit_weights(columns, response, dispersion, 0.05)
    assert_allclose(mode, best.x, atol=1e-4)
    root, step = covariance_root(columns, response, mode, dispersion, 0.05), 1e-3
    curvature = np.empty((4, 4))
    for j, one in enumerate(step * np.eye(4)):
        for k, other in enumerate(step * np.eye(4)):
            corners = [mode + s * one + t * other for s in (1, -1) for t in (1, -1)]
            values = [loss_of(corner) for corner in corners]
            bend = values[0] - values[1] - values[2] + values[3]
            curvature[j, k] = bend / (4.0 * step**2)
    assert_allclose(root @ root.T, np.linalg.inv(curvature), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("loss", ["negative_binomial", "gamma", "tweedie"])
def test_dispersion_maximizes_the_adjusted_profile(loss):
    columns, response = response_of(loss)
    mode, _ = fit_glm(columns, response, 1.0)
    known = columns @ mode[:-1] + mode[-1]
    mean = np.exp(known + response.log_exposure)
    wider = np.column_stack([columns, np.ones(len(columns))])

    def profile(dispersion, is_adjusted):
        dispersion = dispersion * of_totals(loss, response)
        fit = response.weight @ of_scipy(loss, mean, dispersion)(response.y)
        if not is_adjusted:
            return fit
        of_rows = mean / (1.0 + dispersion * mean)
        if loss == "gamma":
            of_rows = np.full(len(mean), 1.0 / dispersion)
        if loss == "tweedie":
            of_rows = np.sqrt(mean) / dispersion
        inner = (wider * (response.weight * of_rows)[:, None]).T @ wider
        inner[[0, 1, 2], [0, 1, 2]] += 1.0
        return fit - 0.5 * np.linalg.slogdet(inner)[1]

    for C in (None, 1.0):
        found = fit_dispersion(response, known, columns, C)
        near = [profile(found * factor, C) for factor in (0.98, 1.0, 1.02)]
        assert np.argmax(near) == 1
    # Weights that were fitted take away from the spread.
    assert found > fit_dispersion(response, known, columns, None)


def test_counts_without_overdispersion_have_none():
    X, y, exposure = problem("poisson", seed=3)
    y = np.rint(y.mean() + 0.1 * (y - y.mean()))
    model = MOHNGLMRegressor("given", "negative_binomial", terms=[(0,)])
    assert model.fit(X, y, exposure=exposure).dispersion_ == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_integer_weights_are_repeated_rows(loss):
    X, y, exposure = problem(loss, n_rows=60, n_columns=4)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    model = MOHNGLMRegressor(loss=loss, max_order=2, cv=3, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight, exposure=exposure)
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = clone(model).fit(X[rows], y[rows], exposure=exposure[rows])
    assert weighted.terms_ == repeated.terms_
    assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-5)
    assert_allclose(weighted.dispersion_, repeated.dispersion_, rtol=1e-3)
    assert_allclose(weighted.standard_errors_, repeated.standard_errors_, rtol=1e-4)


def test_folds_have_the_exposures_of_their_samples():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 2))
    exposure = rng.choice([0.5, 10.0], 200)
    y = rng.poisson(1.3 * exposure)
    model = MOHNGLMRegressor(max_order=1, random_state=0).fit(X, y, exposure=exposure)
    # The mean has nothing to overfit by.
    mean = model.history_[0]
    assert mean["n_terms"] == 0
    assert abs(mean["validation_log_loss"] - mean["training_log_loss"]) < 0.05


def test_poisson_rates_with_integer_exposures_as_weights_are_totals():
    X, _, _ = problem("poisson")
    exposure = np.random.default_rng(0).integers(1, 5, len(X)).astype(float)
    y = np.random.default_rng(1).poisson(2.0 * exposure).astype(float)
    model = MOHNGLMRegressor("given", terms=TERMS, C=0.1)
    totals = clone(model).fit(X, y, exposure=exposure)
    rates = clone(model).fit(X, y / exposure, sample_weight=exposure)
    assert_allclose(totals.weights_, rates.weights_, rtol=1e-5)
    assert_allclose(totals.standard_errors_, rates.standard_errors_, rtol=1e-5)
    assert_allclose(totals.predict(X, exposure), rates.predict(X) * exposure)


# --------------------------------------------------------------------------- search


@pytest.mark.parametrize("loss", LOSSES)
def test_search_finds_the_terms(loss):
    X, y, exposure = problem(loss, n_rows=400)
    model = MOHNGLMRegressor(loss=loss, max_order=2, random_state=0)
    model.fit(X, y, exposure=exposure)
    assert set(TERMS) <= set(model.terms_)
    strong = np.abs(model.weights_) > 4.0 * model.standard_errors_
    assert [t for t, s in zip(model.terms_, strong, strict=True) if s] == TERMS
    assert model.stopping_reason_.startswith("k-fold validation of the likelihood")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_first_product_has_the_best_score_and_three_the_best_likelihood(loss):
    n_columns = 6 if loss == "poisson" else 4  # 120 fits take long enough
    X, y, exposure = problem(loss, n_rows=300, n_columns=n_columns)
    ones = np.ones(len(y))
    response = Response(y, ones, np.log(exposure), KINDS[loss])
    control = LogisticControl(2, 3, 0.0, np.arange(n_columns), ())
    path = GLMPath(make_design(X), response, control).extend([1, 2, 3])
    every = [t for k in (1, 2) for t in combinations(range(n_columns), k)]

    def loss_of(terms):
        mode, dispersion = fit_glm(product_columns(X, terms), response, 0.1)
        known = product_columns(X, terms) @ mode[:-1] + mode[-1]
        return response.losses(known, dispersion).sum()

    nothing = fit_glm(np.empty((300, 0)), response, 0.1)
    known = np.exp(nothing[0]) * exposure, nothing[1]
    columns = product_columns(X, every)
    spread = response.distribution.information(*known)
    if loss == "poisson":
        spread = spread * np.mean((y - known[0]) ** 2 / known[0])
    inner = spread @ columns**2 - (spread @ columns) ** 2 / spread.sum() + 10.0
    slope = response.distribution.slope(y, *known) @ columns
    assert path.terms[0] == every[np.argmax(slope**2 / inner)]
    assert set(path.terms) == set(min(combinations(every, 3), key=loss_of))


def test_scores_of_overdispersed_counts_are_smaller_by_their_spread():
    X, y, exposure = problem("negative_binomial")
    response = Response(y, np.ones(len(y)), np.log(exposure), KINDS["poisson"])
    control = LogisticControl(2, 3, 0.0, np.arange(6), ())
    path = GLMPath(make_design(X), response, control)
    _, spread = path._unexplained()
    excess = np.mean((y - path.fitted) ** 2 / path.fitted)
    assert excess > 2.0
    assert_allclose(spread[:, 0], excess * path.fitted)


def test_noise_has_about_the_mean():
    excess = []
    for seed in range(6):
        X, _, _ = problem("poisson", n_rows=100, seed=seed)
        y = np.random.default_rng(100 + seed).poisson(2.0, 100)
        means = MOHNGLMRegressor(random_state=0).fit(X, y).predict(X)
        excess.append(mean_poisson_deviance(np.full(100, 2.0), means))
    # Six weights of Poisson regression without penalty cost about six hundredths.
    assert np.mean(excess) < 0.04


def test_a_few_events_have_few_products():
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1.0, 1.0], (60, 10)), np.zeros(60)
    y[:7] = 1.0
    model = MOHNGLMRegressor(random_state=0).fit(X, y)
    found = [record["n_terms"] for record in model.history_ if "n_terms" in record]
    assert max(found) <= 3
    response = Response(y, np.ones(60), np.zeros(60), KINDS["poisson"])
    control = LogisticControl(2, 3, 0.0, np.arange(10), ())
    assert GLMPath(make_design(X), response, control).n_observations() == 7.0


def test_many_small_effects_are_those_of_poisson_regression():
    rng = np.random.default_rng(2)
    X = rng.choice([-1.0, 1.0], (1200, 15))
    y = rng.poisson(np.exp(X @ rng.normal(scale=0.12, size=15)))
    model = MOHNGLMRegressor(random_state=0).fit(X[:150], y[:150])
    peer = GridSearchCV(PoissonRegressor(), {"alpha": np.logspace(-4, 1, 6)})
    own, other = (
        mean_poisson_deviance(y[150:], part.predict(X[150:]))
        for part in (model, peer.fit(X[:150], y[:150]))
    )
    assert own < other + 0.02
    assert "single columns" in model.stopping_reason_
    assert {(j,) for j in range(15)} <= set(model.terms_)


def with_names(n_rows, n_names, seed):
    """Counts of which a number and a category say something, and a name nothing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n_rows),
            "group": rng.choice(list("abc"), n_rows),
            "name": [f"n{k}" for k in rng.integers(0, n_names, n_rows)],
        }
    )
    means = np.exp(0.5 + 0.5 * X["x"] + 0.5 * (X["group"] == "a"))
    return X, rng.poisson(means).astype(float)


def test_categories_are_dummies_to_the_penalty():
    """A weight moves the log rate by twice its size from one category to another."""
    X, y = with_names(80, 4, 0)
    X["pair"] = np.where(np.arange(80) % 2, "u", "v")
    model = MOHNGLMRegressor("full", max_order=1, C=0.3).fit(X, y)
    dummies = pd.get_dummies(X[["group", "name"]], dtype=float)
    x = 2.0 * (X["x"] - X["x"].min()) / np.ptp(X["x"]) - 1.0
    dummies.insert(0, "x", x)
    dummies.insert(1, "pair", 2.0 * (X["pair"] == "v") - 1.0)
    peer = PoissonRegressor(alpha=1.0 / (0.3 * 80), tol=1e-10, max_iter=10_000)
    expected = peer.fit(dummies, y).predict(dummies)
    assert_allclose(model.predict(X), expected, rtol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_names_cost_no_more_than_they_cost_poisson_regression(seed):
    X, y = with_names(750, 60, seed)
    train, test = slice(0, 150), slice(150, 750)
    model = MOHNGLMRegressor(handle_unknown="missing", random_state=0)
    model.fit(X[train], y[train])
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["group", "name"]),
        remainder="passthrough",
    )
    poisson = PoissonRegressor(max_iter=1000)
    grid = GridSearchCV(poisson, {"alpha": np.logspace(-4, 2, 7)})
    peer = make_pipeline(encoder, grid).fit(X[train], y[train])
    own, others = (m.score(X[test], y[test]) for m in (model, peer))
    assert own > others - 0.02


@pytest.mark.parametrize("seed", range(3))
def test_products_with_rare_flags_are_not_taken_for_single_columns(seed):
    """With a flag that is nearly always off they are nearly the same."""
    rng = np.random.default_rng(seed)
    flags = rng.integers(0, 60, (150, 1)) == np.arange(60)
    X = np.column_stack([rng.normal(size=150), flags])
    y = rng.poisson(np.exp(0.5 + 0.8 * X[:, 0])).astype(float)
    assert MOHNGLMRegressor(random_state=0).fit(X, y).terms_ == [(0,)]


def test_limits_of_the_search():
    X, y, _ = problem("poisson")
    model = MOHNGLMRegressor(max_terms=2, terms=[(5,)], random_state=0).fit(X, y)
    assert (5,) in model.terms_
    assert len(model.terms_) <= 2
    assert MOHNGLMRegressor("full", max_order=2).fit(X, y).n_features_in_ == 6
    assert len(MOHNGLMRegressor("full", max_order=2, C=1.0).fit(X, y).terms_) == 21
    assert MOHNGLMRegressor().fit(np.ones((30, 2)), y[:30]).terms_ == []


def test_few_rows_have_a_model():
    for n_rows in (2, 3, 5):
        X, y = np.eye(n_rows), np.arange(n_rows)
        model = MOHNGLMRegressor(random_state=0).fit(X, y)
        assert np.all(model.predict(X) > 0.0)


# ---------------------------------------------------------------------- predictions


@pytest.mark.parametrize("loss", LOSSES)
def test_predictive_distribution_has_the_moments_of_uncertain_means(loss):
    X, y, exposure = problem(loss, n_rows=40)
    model = MOHNGLMRegressor("given", loss, terms=TERMS, C=1.0)
    model.fit(X, y, exposure=exposure)
    columns = np.column_stack([product_columns(X, TERMS), np.ones(len(X))])
    variance = np.square(columns @ model.model_.root).sum(axis=1)
    mean, dispersion = model.predict(X, exposure), model.dispersion_
    if loss == "tweedie":
        dispersion = dispersion / np.sqrt(exposure)
        dispersion += np.sqrt(mean) * np.expm1(variance)
    else:
        dispersion = (1.0 + dispersion) * np.exp(variance) - 1.0
    log_density = model.log_density(X, y, exposure)
    name = "negative_binomial" if loss == "poisson" else loss
    assert_allclose(log_density, of_scipy(name, mean, dispersion)(y))
    quantiles = model.predict_quantiles(X, [0.1, 0.9], exposure)
    frozen = model.model_.distribution.frozen(mean, dispersion)
    below = np.array([frozen.cdf(part) for part in quantiles.T])
    assert np.all(below >= [[0.1 - 1e-9], [0.9 - 1e-9]])
    draws = model.sample_y(X, 20_000, random_state=0, exposure=exposure)
    assert_allclose(draws.mean(axis=1), mean * np.exp(0.5 * variance), rtol=0.05)
    spread = frozen.std()
    assert_allclose(draws.std(axis=1), spread, rtol=0.15)


def test_intervals_of_overdispersed_counts_have_their_probability():
    X, y, exposure = problem("negative_binomial", n_rows=2000)
    parts = []
    for loss in ("poisson", "negative_binomial"):
        model = MOHNGLMRegressor("given", loss, terms=TERMS)
        model.fit(X[:500], y[:500], exposure=exposure[:500])
        ends = model.predict_quantiles(X[500:], [0.05, 0.95], exposure[500:]).T
        inside = (y[500:] >= ends[0]) & (y[500:] <= ends[1])
        own = model.log_density(X[500:], y[500:], exposure[500:]).mean()
        parts.append((inside.mean(), own))
    assert parts[0][0] < 0.8
    assert 0.89 < parts[1][0] < 0.96
    assert parts[1][1] > parts[0][1] + 0.1
    assert 0.4 < model.dispersion_ < 0.6


def test_score_is_d2():
    X, y, exposure = problem("poisson")
    weight = np.random.default_rng(0).uniform(size=len(y))
    model = MOHNGLMRegressor("given", terms=TERMS).fit(X, y)
    expected = d2_tweedie_score(y, model.predict(X), sample_weight=weight, power=1)
    assert_allclose(model.score(X, y, sample_weight=weight), expected)
    rate = y.sum() / exposure.sum()
    expected = 1.0 - mean_poisson_deviance(
        y, model.predict(X, exposure)
    ) / mean_poisson_deviance(y, rate * exposure)
    assert_allclose(model.score(X, y, exposure=exposure), expected)


# -------------------------------------------------------------------------- reading


def test_rate_ratios_are_those_of_averages_over_the_other_columns():
    """With all combinations of the other columns listed; 256 rows were 5 % off."""
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        other = rng.choice([0.0, 1.0, 2.0, 9.0], 200, p=[0.5, 0.3, 0.1, 0.1])
        X = np.column_stack([rng.integers(0, 2, 200), other, rng.integers(0, 4, 200)])
        y = rng.poisson(np.exp(X[:, 0] * (0.3 * X[:, 1] - 1.0) + 0.5 * X[:, 2]))
        model = MOHNGLMRegressor("given", terms=[(0,), (0, 1), (2,)], C=1.0)
        effects = model.fit(X, y).effects_table().set_index("feature")
        moved, averages = X[np.indices((200, 200)).reshape(2, -1), [[1], [2]]].T, []
        for end in (0.0, 1.0):
            rows = np.column_stack([np.full(len(moved), end), moved])
            averages.append(model.predict(rows).mean())
        ratio = averages[1] / averages[0]
        errors.append(np.log(effects.loc["x0", "rate_ratio"] / ratio))
    assert np.abs(errors).max() < 0.02


def test_rate_ratios_of_single_columns_are_exponentials_of_weights():
    X, y, exposure = problem("poisson")
    table = pd.DataFrame(X > 0, columns=list("abcdef")).astype(int)
    model = MOHNGLMRegressor("given", terms=[["a"], ["d"]], C=1.0)
    model.fit(table, y, exposure=exposure)
    terms = model.terms_table().set_index("term")
    ratios = np.exp(2.0 * model.weights_)
    ends = np.exp(2.0 * (model.weights_ + 1.959964 * model.standard_errors_))
    assert_allclose(terms.loc[["a", "d"], "rate_ratio"], ratios)
    assert_allclose(terms.loc[["a", "d"], "ci_high"], ends)
    effects = model.effects_table().set_index("feature")
    assert_allclose(effects.loc[["a", "d"], "rate_ratio"], ratios)
    assert_allclose(effects.loc[["a", "d"], "ci_high"], ends, rtol=1e-6)
    assert_allclose(effects.loc["b", ["rate_ratio", "effect"]].astype(float), [1, 0])
    assert_array_equal(effects.loc["a", ["from", "to"]], [0, 1])
    assert_allclose(model.feature_importances_[[1, 2, 4, 5]], 0.0)
    explained = model.explain(table[:1])
    assert_allclose(
        explained["contribution"].sum(), np.log(model.predict(table[:1]))[0]
    )


def test_change_of_the_mean_and_its_error_are_those_of_draws():
    X, y, _ = problem("poisson")
    model = MOHNGLMRegressor("given", terms=TERMS, C=1.0).fit(X, y)
    row = model.effects_table().set_index("feature").loc["x0"]
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * 6)).reshape(6, -1).T
    # Columns vary as they do in the training rows.
    chance = np.prod(np.where(cube > 0, (X > 0).mean(axis=0), (X < 0).mean(axis=0)), 1)
    mode = np.append(model.weights_, model.intercept_)
    root, rng = model.model_.root, np.random.default_rng(0)
    modes = mode[:, None] + root @ rng.standard_normal((root.shape[1], 4000))
    changes = []
    for value in (-1.0, 1.0):
        moved = cube.copy()
        moved[:, 0] = value
        columns = np.column_stack([product_columns(moved, TERMS), np.ones(64)])
        changes.append(
            np.exp(columns @ np.column_stack([mode, modes])).T @ chance / chance.sum()
        )
    change, ratio = changes[1] - changes[0], np.log(changes[1] / changes[0])
    assert_allclose(row["effect"], change[0], atol=0.4 * change[1:].std())
    assert_allclose(row["standard_error"], change[1:].std(), rtol=0.1)
    width = np.log(row["ci_high"] / row["ci_low"]) / (2 * 1.96)
    assert_allclose(width, ratio[1:].std(), rtol=0.1)


@pytest.mark.parametrize("loss", ["poisson", "negative_binomial", "gamma", "tweedie"])
def test_rates_of_missing_values_are_means_over_completions(loss):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"kind": rng.choice(["a", "b", "c"], 400, p=[0.2, 0.3, 0.5])})
    table["flag"] = rng.random(400) < 0.2
    means = np.exp(1.0 + 1.5 * table["flag"] + (table["kind"] == "b"))
    y = rng.poisson(means) if loss != "gamma" else rng.gamma(2.0, means / 2.0)
    model = MOHNGLMRegressor(loss=loss, random_state=0).fit(table, y)
    row = pd.DataFrame({"kind": [None], "flag": [np.nan]}, dtype=object)
    completed = pd.DataFrame(
        list(product(["a", "b", "c"], [True, False])), columns=["kind", "flag"]
    )
    chances = [
        np.mean(table["kind"] == kind) * np.mean(table["flag"] == flag)
        for kind, flag in completed.to_numpy()
    ]
    assert_allclose(model.predict(row), chances @ model.predict(completed))
    draws = model.sample_y(row, 20_000)
    assert_allclose(draws.mean(), model.predict(row), rtol=0.03)
    ends = model.predict_quantiles(row, [0.05, 0.95])[0]
    new = rng.choice(len(completed), 20_000, p=chances)
    new = model.sample_y(completed, 20_000)[new, np.arange(20_000)]
    assert 0.85 < np.mean((new >= ends[0]) & (new <= ends[1])) < 0.97


@pytest.mark.parametrize("exposure", [None, 3.0])
def test_missing_values_do_not_move_the_rates_of_complete_rows(exposure):
    rng = np.random.default_rng(0)
    X = (rng.random((3000, 2)) < 0.5).astype(float)
    given = None if exposure is None else np.full(3000, exposure)
    y = rng.poisson((exposure or 1.0) * np.exp(0.5 + 1.6 * X[:, 0]))
    X[rng.random(3000) < 0.3, 0] = np.nan
    X[rng.random(3000) < 0.3, 1] = np.nan  # is in no term
    model = MOHNGLMRegressor("given", terms=[(0,)], C=100.0).fit(X, y, exposure=given)
    rows = [[0.0, 0.0], [1.0, np.nan]]
    assert_allclose(model.predict(rows), np.exp([0.5, 2.1]), rtol=0.06)


def test_rates_of_missing_values_do_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"kind": rng.choice(["a", "b", "c"], 200)})
    table["flag"], table["dose"] = rng.random(200) < 0.3, rng.normal(size=200)
    log_means = 0.5 + table["flag"] + (table["kind"] == "b") + 0.5 * table["dose"]
    y = rng.poisson(np.exp(log_means))
    row = pd.DataFrame({"kind": [None], "flag": [np.nan], "dose": [np.nan]})
    turned = ["dose", "flag", "kind"]
    one = MOHNGLMRegressor(random_state=0).fit(table, y)
    other = MOHNGLMRegressor(random_state=0).fit(table[turned], y)
    assert_allclose(one.predict(row), other.predict(row[turned]))


def test_tables_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    n_rows = 300
    table = pd.DataFrame(
        {
            "kind": rng.choice(["a", "b", "c"], n_rows),
            "dose": rng.uniform(size=n_rows),
            "sex": rng.choice(["female", "male"], n_rows),
        }
    )
    means = np.exp(
        1.0 + (table["kind"] == "b") + table["dose"] * (table["sex"] == "male")
    )
    y = rng.poisson(means)
    table.loc[:20, "dose"] = np.nan
    table.loc[10:30, "kind"] = None
    model = MOHNGLMRegressor(random_state=0).fit(table, y)
    assert model.score(table, y) > 0.3
    effects = model.effects_table().set_index("feature")
    assert set(effects.loc["kind", "to"]) <= {"a", "b", "c"}
    assert np.all(np.isfinite(model.predict(table[:40])))
    with pytest.raises(ValueError, match="kind"):
        model.predict(table.assign(kind="d"))


# ------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("poisson", [1.0, -1.0, 2.0, 3.0], "out of the valid range.*first -1.0"),
        ("poisson", [1.0, 1e30, 2.0, 3.0], "first 1e.30.*above 2 .. 53"),
        ("negative_binomial", [0.0] * 4, "y is 0 for every sample"),
        ("gamma", [1.0, 0.0, 2.0, 3.0], "out of the valid range.*1e-147 to 1e147"),
        ("gamma", [1.0, 1e-200, 2.0, 3.0], "out of the valid range.*first 1e-200"),
        ("tweedie", [1.0, 1e200, 0.0, 3.0], "out of the valid range.*first 1e.200"),
        ("tweedie", [1.0, -1e-9, 0.0, 3.0], "out of the valid range.*first -1e-09"),
        ("poisson", [1.0, np.nan, 2.0, 3.0], "NaN"),
    ],
)
def test_targets_out_of_range_are_refused(loss, y, message):
    with pytest.raises(ValueError, match=message):
        MOHNGLMRegressor(loss=loss).fit(np.eye(4), y)
    # Of samples without weight nothing is learned.
    if "range" in message:
        weight = [1.0, 0.0, 1.0, 1.0]
        MOHNGLMRegressor(loss=loss).fit(np.eye(4), y, sample_weight=weight)


def test_scores_are_those_of_the_fitted_loss_whatever_is_set_later():
    model = MOHNGLMRegressor(loss="tweedie", power=1.5).fit(
        np.eye(4), [0.0, 1.0, 2.5, 4.0]
    )
    data = np.eye(4), [0.0, 1.0, 2.0, 3.0]
    score, density = model.score(*data), model.log_density(*data)
    model.set_params(loss="gamma")
    assert model.score(*data) == score
    assert np.array_equal(model.log_density(*data), density)


@pytest.mark.parametrize(
    ("exposure", "message"),
    [
        ([1.0, 0.0, 1.0, 1.0], "exposure must be positive, but sample 1 has 0.0"),
        ([1.0, 2.0], "inconsistent numbers"),
        ([1.0, np.inf, 1.0, 1.0], "exposure contains infinity"),
        ("years", "exposure must be a list of numbers"),
    ],
)
def test_exposures_that_are_none_are_refused(exposure, message):
    model = MOHNGLMRegressor().fit(np.eye(4), [1, 2, 3, 4])
    with pytest.raises(ValueError, match=message):
        MOHNGLMRegressor().fit(np.eye(4), [1, 2, 3, 4], exposure=exposure)
    with pytest.raises(ValueError, match=message):
        model.predict(np.eye(4), exposure)


def test_other_bad_arguments_are_refused():
    X, y, _ = problem("poisson", n_rows=30)
    with pytest.raises(ValueError, match="'loss' parameter"):
        MOHNGLMRegressor(loss="squared_error").fit(X, y)
    with pytest.raises(ValueError, match="needs terms"):
        MOHNGLMRegressor("given").fit(X, y)
    with pytest.raises(ValueError, match="terms: strategy='full' takes none"):
        MOHNGLMRegressor("full", terms=[(0,)]).fit(X, y)
    model = MOHNGLMRegressor("given", terms=[(0,)]).fit(X, y)
    with pytest.raises(ValueError, match=r"\.5, but only integers have a probability"):
        model.log_density(X, y + 0.5)
    with pytest.raises(ValueError, match="quantiles must be"):
        model.predict_quantiles(X, [0.0, 0.5])


def test_a_training_fold_may_have_no_event():
    X, y = np.random.default_rng(0).choice([-1.0, 1.0], (50, 4)), np.zeros(50)
    y[3] = 2.0
    model = MOHNGLMRegressor(random_state=0).fit(X, y)
    assert_allclose(model.predict(X).sum(), 2.0, rtol=0.3)


def test_large_exposures_and_targets_change_nothing_but_the_scale():
    X, y, exposure = problem("gamma")
    model = MOHNGLMRegressor("given", "gamma", terms=TERMS, C=1.0)
    small = clone(model).fit(X, y, exposure=exposure)
    large = clone(model).fit(X, 1e80 * y, exposure=1e-60 * exposure)
    assert_allclose(small.weights_, large.weights_, rtol=1e-4)
    assert_allclose(large.predict(X), 1e140 * small.predict(X), rtol=1e-3)


def test_columns_that_cost_too_much_are_compared_without(monkeypatch):
    X, y, _ = problem("poisson")
    from skmohn.mohn import _glm_solve

    choice = _glm_solve.GLMChoiceConstants(max_work=0.0)
    monkeypatch.setattr(_glm_solve, "_CHOICE", choice)
    model = MOHNGLMRegressor(random_state=0).fit(X, y)
    compared = {record["model"] for record in model.history_ if "model" in record}
    assert compared == {"constant", "sparse"}


def test_stopping_a_fit_of_weights_early_loses_nothing():
    columns, response = response_of("poisson")
    exact = fit_weights(columns, response, 0.0, 0.1)
    start = exact + 0.5
    assert_allclose(fit_weights(columns, response, 0.0, 0.1, start), exact, atol=1e-5)
    assert _glm._GLM.min_gain < 1e-6


def test_normal_noise_on_counts_is_worse():
    X, y, exposure = problem("poisson", n_rows=400, mean=0.5)
    rates = y / exposure
    ours = MOHNGLMRegressor(random_state=0).fit(X[:200], y[:200])
    squares = MOHNRegressor("pursuit", random_state=0).fit(X[:200], y[:200])
    assert rates.min() == 0.0
    assert np.all(ours.predict(X) > 0.0)
    own, other = (
        mean_poisson_deviance(y[200:], np.maximum(part.predict(X[200:]), 0.1))
        for part in (ours, squares)
    )
    assert own < other


def losses_of_candidates(model):
    """Held-out losses of the models that were compared, by their names."""
    return {
        record["model"]: record["validation_log_loss"]
        for record in model.history_
        if "model" in record
    }


@pytest.mark.parametrize(
    ("seed", "shape", "max_order", "name", "most"),
    [
        (25, (100, 6), None, "sparse", 3.0),
        *((seed, (60, 4), 1, "additive", 1.0) for seed in (3, 4, 5)),
    ],
)
def test_terms_that_are_barely_better_are_not_taken(seed, shape, max_order, name, most):
    rng = np.random.default_rng(seed)
    X, y = rng.choice([-1.0, 1.0], shape), rng.poisson(2.0, shape[0])
    model = MOHNGLMRegressor(max_order=max_order, random_state=0).fit(X, y)
    losses = losses_of_candidates(model)
    assert 0.0 < len(y) * (losses["constant"] - losses[name]) < most
    assert model.terms_ == []


def test_folds_have_events_each():
    rng = np.random.default_rng(0)
    inputs, y = rng.choice([-1, 1], (60, 12)), np.zeros(60)
    y[:10], y[10] = 1.0, 1000.0
    rows = EncodedRows(inputs, np.empty((60, 0), int))
    for seed in range(5):
        folds = deal_folds(TrainingData(rows, y, seed=seed), "cv", 5)
        assert {np.count_nonzero(y[test]) for _, test in folds} == {2, 3}


@pytest.mark.parametrize("kind", ["numbers", "bits"])
@pytest.mark.parametrize(
    "change",
    [
        lambda inputs: inputs[:, ::-1],
        lambda inputs: -inputs,
        lambda inputs: inputs[:, [3, 0, 5, 1, 2, 4, 0, 0]],
    ],
    ids=["order", "sign", "copies"],
)
def test_folds_are_those_of_columns_in_any_order(change, kind):
    """What is held out decides on the penalty, and so by how much predictions move."""
    rng = np.random.default_rng(0)
    inputs, y = rng.choice([-1.0, 1.0], (80, 6)), rng.poisson(1.0, 80).astype(float)
    if kind == "numbers":
        inputs[:, 3:] = rng.uniform(-1.0, 1.0, (80, 3))
    weight = rng.integers(1, 3, 80).astype(float)
    folds = [
        deal_folds(
            TrainingData(
                EncodedRows(np.ascontiguousarray(table), np.empty((80, 0), int)),
                y,
                weight,
                seed=0,
            ),
            "cv",
            5,
        )
        for table in (inputs, change(inputs))
    ]
    for (_, expected), (_, found) in zip(*folds, strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_row_has_draws_and_far_rows_have_finite_means(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = rng.gamma(2.0, np.exp(2.0 * X[:, 0])).round() + 1.0
    model = MOHNGLMRegressor("full", loss, max_order=1, C=1.0).fit(X, y)
    assert model.sample_y(X[:1], 3).shape == (1, 3)
    assert model.sample_y(X[:2], 1).shape == (2, 1)
    far = np.array([[1e6, 0.5], [-1e6, 0.5]])
    assert np.all(np.isfinite(model.predict(far)))


def test_rates_of_products_are_at_most_four_times_those_of_the_fit():
    # No row is near a corner of the square.
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (600, 2))
    X = np.vstack([np.eye(2), -np.eye(2), X[np.abs(X).sum(axis=1) < 1.0]])
    y = np.exp(1.0 + 6.0 * X[:, 0] * X[:, 1])
    model = MOHNGLMRegressor("given", terms=[(0, 1)], C=10.0).fit(X, y)
    fitted = model.predict(X)
    limits = 0.25 * fitted.min(), 4.0 * fitted.max()
    corners = np.array([[1.0, -1.0], [1.0, 1.0], [0.5, 0.6]])
    columns = model.model_.columns(model._to_rows(corners))
    free = np.exp(columns @ [*model.weights_, model.intercept_])
    assert free[0] < limits[0]
    assert free[1] > limits[1]
    assert_allclose(model.predict(corners), np.clip(free, *limits))
    assert model.predict(corners)[2] == pytest.approx(free[2])
    assert model.predict_quantiles(corners[1:2], [0.9]).max() < 2.0 * limits[1]


def test_rates_of_genotypes_in_the_fit_are_the_sums_of_their_terms():
    rng = np.random.default_rng(0)
    counts = rng.binomial(2, 0.3, (300, 3))  # less their means up to 1.4
    y = rng.poisson(np.exp(0.5 * counts[:, 0] * counts[:, 1]))
    packed = Genotypes.from_counts(counts)
    model = MOHNGLMRegressor("given", terms=[[0], [1], [0, 1]]).fit(packed, y)
    first, second, _ = (counts - counts.mean(axis=0)).T
    products = np.column_stack([first, second, first * second])
    log_rates = model.intercept_ + products @ model.weights_
    assert_allclose(np.log(model.predict(packed)), log_rates)
    assert_allclose(np.log(model.predict(counts)), log_rates)


def test_rates_of_single_columns_follow_their_lines():
    X = np.linspace(0.0, 1.0, 40)[:, None]
    model = MOHNGLMRegressor("given", terms=[(0,)], C=10.0).fit(
        X, np.exp(3.0 * X[:, 0])
    )
    assert model.model_.log_rate_range == (-np.inf, np.inf)


@pytest.mark.parametrize("loss", LOSSES)
def test_score_of_targets_that_do_not_vary_is_that_of_r2(loss):
    """Folds of rare events may have none: nothing divides by zero."""
    X = np.tile([[0.0], [1.0]], (20, 1))
    y = np.tile([1.0, 3.0], 20)
    model = MOHNGLMRegressor("given", loss, terms=[(0,)], C=1.0).fit(X, y)
    constants = [2.0] if loss == "gamma" else [0.0, 2.0]
    for constant in constants:
        assert model.score(X, np.full(40, constant)) == 0.0
    exposure = np.tile([1.0, 2.0], 20)
    assert model.score(X, 3.0 * exposure, exposure=exposure) == 0.0
    weight = np.tile([1.0, 0.0], 20)
    assert model.score(X, y, weight) == 0.0
    assert model.score(X, y) > 0.5
    if loss == "gamma":
        assert model.score(X[:1], model.predict(X[:1])) == 1.0
