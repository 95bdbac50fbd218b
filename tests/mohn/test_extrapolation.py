"""Where predictions stay beyond the training rows: within the bounds of the weights."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

from skmohn import GPOptions, MOHNGLMRegressor, MOHNRegressor
from skmohn.mohn._sparse.model import SparseModel


def make_table(noise, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(2.0, 6.0, (n, 4))
    X[:, 3] = rng.integers(2, size=n)
    X[:2, :3] = [[2.0], [6.0]]
    f = 3.0 * X[:, 0] + X[:, 1] * X[:, 2] - 2.0 * X[:, 3]
    return X, f + noise * rng.standard_normal(n)


def fit(strategy: Any = "spike_slab", noise=0.5, **parameters):
    X, y = make_table(noise)
    model = MOHNRegressor(strategy=strategy, random_state=0, **parameters)
    return model.fit(X, y), X, y


def bounds_of(model):
    graph = model.model_.polynomial
    most = np.abs(graph.weights).sum()
    return graph.intercept - most, graph.intercept + most


@pytest.mark.parametrize("strategy", ["auto", "spike_slab"])
def test_far_rows_stay_within_what_the_weights_allow(strategy):
    model, X, _ = fit(strategy)
    low, high = bounds_of(model)
    far = X[:40].copy()
    far[:, :3] = np.random.default_rng(0).choice([-1e6, 4.0, 1e6], (40, 3))
    mean = model.predict(far)
    assert low <= mean.min() < mean.max() <= high
    assert_allclose([mean.min(), mean.max()], [low, high])
    median = model.predict_quantiles(far, [0.5])[:, 0]
    assert_allclose(median, mean)
    assert np.all(np.isfinite(model.log_density(far, mean)))
    parts = model.explain(far[:1])
    assert parts["term"].iloc[-1] == "(clip)"
    assert_allclose(parts["contribution"].sum(), mean[0])


def test_within_the_range_no_prediction_is_bounded():
    model, X, _ = fit()
    corners = np.array(list(product([2.0, 6.0], [2.0, 6.0], [2.0, 6.0], [0.0, 1.0])))
    low, high = bounds_of(model)
    for rows in (X, corners):
        found = model.predict(rows)
        inputs = (rows - [4.0, 4.0, 4.0, 0.5]) / [2.0, 2.0, 2.0, 0.5]
        assert_allclose(found, model.model_.polynomial.predict(inputs), rtol=1e-12)
        assert low - 1e-9 <= found.min() <= found.max() <= high + 1e-9
        assert "(clip)" not in model.explain(rows[:1])["term"].tolist()
    # Further ones that the bounds allow are as the terms have them.
    near = X[X[:, 0] < 3.0][:1].copy()
    near[0, 0] = 6.5
    inputs = (near - [4.0, 4.0, 4.0, 0.5]) / [2.0, 2.0, 2.0, 0.5]
    assert_allclose(model.predict(near), model.model_.polynomial.predict(inputs))


@pytest.mark.parametrize("parameters", [{}, {"strategy": "pursuit"}])
def test_exact_models_and_least_squares_extrapolate(parameters):
    noise = 0.5 if parameters else 0.0
    model, X, y = fit(**{"strategy": "auto", "noise": noise} | parameters)
    far = 10.0 * X
    far[:, 3] = X[:, 3]
    if noise:
        line = LinearRegression().fit(columns_of(model, X), y)
        assert_allclose(model.predict(far), line.predict(columns_of(model, far)))
    else:
        f = 3.0 * far[:, 0] + far[:, 1] * far[:, 2] - 2.0 * far[:, 3]
        assert_allclose(model.predict(far), f)


@pytest.mark.parametrize("n_rows", [10, 20, 120])
def test_main_effects_extrapolate_as_ridge_regression_does(n_rows):
    # A trend: beyond the last row the target goes on.
    rng = np.random.default_rng(0)
    t = np.arange(n_rows)
    X = np.column_stack([t, rng.standard_normal((n_rows, 3))])
    y = 0.5 * t + 0.3 * rng.standard_normal(n_rows)
    model = MOHNRegressor(random_state=0).fit(X, y)
    # Of ten rows a sparse model, else a spike-and-slab or additive one.
    assert isinstance(model.model_, SparseModel) == (n_rows == 10)
    ahead = n_rows * np.outer([1.0, 2.0, 4.0, -2.0], [1.0, 0.0, 0.0, 0.0])
    found = model.predict(ahead)
    assert_allclose(np.diff(found) / np.diff(ahead[:, 0]), 0.5, rtol=0.2)
    assert_allclose(found, model.model_.polynomial.predict(inputs_of(model, ahead)))
    assert "(clip)" not in model.explain(ahead[:1])["term"].tolist()


def inputs_of(model, X):
    coding = model.coding_
    return (2.0 * X - coding.low - coding.high) / (coding.high - coding.low)


def columns_of(model, X):
    """Products of columns of the terms, and of their parts, which coding adds."""
    parts = {part for term in model.terms_ for part in _subsets(term)}
    return np.column_stack(
        [np.prod(X[:, list(part)], axis=1) for part in sorted(parts)]
    )


def _subsets(term):
    if not term:
        return
    yield term
    for k in range(len(term)):
        yield from _subsets(term[:k] + term[k + 1 :])


def test_counts_far_out_stay_within_what_the_weights_allow():
    X, y = make_table(0.0)
    counts = np.random.default_rng(0).poisson(np.exp(0.1 * y))
    model = MOHNGLMRegressor(random_state=0).fit(X, counts)
    most = np.abs(model.weights_).sum()
    far = X[:40].copy()
    far[:, :3] = np.random.default_rng(0).choice([-1e6, 4.0, 1e6], (40, 3))
    found = np.log(model.predict(far))
    ends = [model.intercept_ - most, model.intercept_ + most]
    assert_allclose([found.min(), found.max()], ends)
    assert_array_equal(np.isfinite(model.predict_quantiles(far, [0.05, 0.95])), True)
    assert_array_equal(np.isfinite(model.sample_y(far, 3, random_state=0)), True)


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_far_distributions_of_a_gaussian_process_are_around_its_mean(n_targets, clip):
    X, y = make_table(0.5, n=60)
    y = np.column_stack([y, -y]) if n_targets > 1 else y
    options = GPOptions(clip=clip, target_transform=None, noise="constant")
    model = MOHNRegressor("gp", gp_options=options, random_state=0).fit(X, y)
    far = X[:8].copy()
    far[:, :3] = 4.0 + 30.0 * (far[:, :3] - 4.0)
    mean, std = model.predict(far, return_std=True)
    assert (np.abs(mean).max() <= np.abs(y).max() + 1.0) == clip
    low, median, high = np.moveaxis(model.predict_quantiles(far), -1, 0)
    assert_allclose(median, mean, rtol=1e-12)
    assert np.all((low < mean) & (mean < high))
    # The density is highest at the mean, and draws are around it.
    density = model.log_density(far, mean)
    assert np.all(density > model.log_density(far, mean + std))
    draws = np.median(model.sample_y(far, 2000), axis=-1)
    assert np.all(np.abs(draws - mean) < 0.15 * std)


@pytest.mark.parametrize("strategy", ["spike_slab", "gp"])
def test_intervals_contain_the_function_beyond_its_bounds(strategy):
    # The function goes on; bounds stop predictions.
    options = GPOptions(target_transform=None, noise="constant", numeric="multilinear")
    model, X, _ = fit(strategy, gp_options=options)
    far = X.copy()
    far[:, :3] = 4.0 + 2.0 * (far[:, :3] - 4.0)
    f = 3.0 * far[:, 0] + far[:, 1] * far[:, 2] - 2.0 * far[:, 3]
    mean, std = model.predict(far, return_std=True)
    off = np.abs(f - mean)
    assert off.max() > 5.0
    low, high = model.predict_quantiles(far, [0.05, 0.95]).T
    assert np.mean((low < f) & (f < high)) > 0.95
    assert np.all(off < 3.0 * std)
    draws = model.sample_y(far, 2000, random_state=0)
    assert_allclose(draws.std(axis=1), std, rtol=0.1)
    # Far rows do not change the draws of others.
    rows = X[[3, 3]], np.vstack([X[3], far[3]])
    inside, beside = (model.sample_y(part, 5, random_state=0)[0] for part in rows)
    if strategy == "spike_slab":
        assert_allclose(inside, beside, rtol=1e-12)
    density = model.log_density(far, f)
    assert np.all(density > -np.log(std) - 6.0)


@pytest.mark.parametrize("transform", ["log", "yeo-johnson"])
def test_far_intervals_of_a_transformed_target_contain_its_mean(transform):
    X, y = make_table(0.5, n=60)
    y = np.exp(0.1 * y)
    options = GPOptions(target_transform=transform, noise="constant")
    model = MOHNRegressor("gp", gp_options=options, random_state=0).fit(X, y)
    for reach in (1.0, 4.0, 10.0, 100.0):
        far = X[:8].copy()
        far[:, :3] = 4.0 + reach * (far[:, :3] - 4.0)
        mean = model.predict(far)
        low, median, high = model.predict_quantiles(far).T
        assert np.all((low < mean) & (mean < high)), reach
        bounds = model.model_.y_min, model.model_.y_max
        assert np.all((bounds[0] - 1e-9 <= mean) & (mean <= bounds[1] + 1e-9))
        is_clipped = np.isin(mean, bounds)
        assert is_clipped.any() or reach == 1.0
        assert np.all(median[is_clipped] <= bounds[1] + 1e-9)
        assert np.all(np.isfinite(model.log_density(far, mean)))
