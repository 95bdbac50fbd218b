"""One interface of fitted models: few weights, with or without a posterior, and all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmohn import MOHNRegressor
from skmohn._core._options import control_of

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (60, 5))
Y = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * RNG.standard_normal(60)


@pytest.fixture(scope="module")
def fitted():
    ways = {"auto": {}, "gp": {}, "spike_slab": {}, "pursuit": {"selection": "ebic"}}
    return {
        way: MOHNRegressor(way, random_state=0, **more).fit(X, Y)
        for way, more in ways.items()
    }


@pytest.mark.parametrize("way", ["auto", "gp", "spike_slab", "pursuit"])
def test_every_model_answers_the_same_questions(fitted, way):
    estimator = fitted[way]
    model, rows = estimator.model_, estimator._to_rows(X)
    assert_allclose(model.predictive_mean(rows), estimator.predict(X))
    graph, errors = model.significant_terms()
    assert_allclose(graph.weights, estimator.weights_)
    assert errors.shape == graph.weights.shape
    variables, _ = estimator.term_names_.columns(estimator._marginals)
    variance, first, total = model.sobol_variances(variables)
    assert variance > 0
    assert np.all(first <= total + 1e-12)
    assert_allclose(total / variance, estimator.feature_importances_)
    if model.has_posterior:
        _, std = estimator.predict(X, return_std=True)
        assert_allclose(model.predictive_std(rows), std, rtol=1e-10)
        missing = np.where(np.eye(9, 5) > 0, np.nan, X[:9])
        _, std = estimator.predict(missing, return_std=True)
        hidden = estimator._to_rows(missing)
        assert_allclose(model.predictive_std(hidden), std, rtol=1e-10)
        draws = model.sample(hidden, 4000, np.random.default_rng(0))
        assert_allclose(draws.std(axis=1), std, rtol=0.06)
        assert model.weight_posterior((0,)) == pytest.approx(
            estimator.weight_posterior([0])
        )
        assert model.log_evidence() == estimator.log_marginal_likelihood_
        assert model.sample(rows, 3, np.random.default_rng(0)).shape == (60, 3)


def test_a_model_updates_into_a_new_one(fitted):
    for estimator in fitted.values():
        model, rows = estimator.model_, estimator._to_rows(X[:9])
        before = model.predictive_mean(rows)
        control = control_of(estimator, "delta_options")
        other = model.update(rows, Y[:9] + 5.0, None, control)
        assert other.predictive_mean(rows).mean() > before.mean()
        assert_allclose(model.predictive_mean(rows), before)
        assert other.has_posterior == (not model.is_sparse)


@pytest.mark.parametrize("scale", [1e-170, 1e160])
def test_noise_of_an_update_is_in_the_units_of_the_targets(scale):
    """Squares of these are out of range, and a constant has no weights to go by."""
    noise = np.random.default_rng(3).standard_normal(60)
    for target in (Y, noise):
        usual, model = (
            MOHNRegressor(random_state=0, max_order=2)
            .fit(X, unit * target)
            .partial_fit(X[:9], unit * target[:9])
            for unit in (1.0, scale)
        )
        assert model.noise_std_ / scale == pytest.approx(usual.noise_std_)


def test_without_a_posterior_nothing_is_said_of_errors(fitted):
    model = fitted["pursuit"].model_
    rows = fitted["pursuit"]._to_rows(X)
    assert model.is_sparse
    assert not model.has_posterior
    calls = (
        lambda: model.predictive_std(rows),
        lambda: model.sample(rows, 1, np.random.default_rng(0)),
        lambda: model.weight_posterior((0,)),
        model.log_evidence,
        lambda: model.noise_variance_at(rows),
    )
    for call in calls:
        for error in (AttributeError, ValueError):
            with pytest.raises(error, match="the standard errors of these weights"):
                call()
    with pytest.raises(AttributeError, match="relevance_ needs a Gaussian process"):
        model.relevance()
