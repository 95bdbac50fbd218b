"""Where predictions stay beyond the training rows: a quarter of a column's range."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

from skmohn import MOHNGLMRegressor, MOHNRegressor


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


@pytest.mark.parametrize("strategy", ["auto", "spike_slab"])
def test_numbers_count_up_to_a_quarter_of_their_range_beyond_it(strategy):
    model, X, _ = fit(strategy)
    assert np.isfinite(model.coding_.reach)
    far, end = X[:20].copy(), X[:20].copy()
    far[:10, :3], end[:10, :3] = 1e6, 7.0
    far[10:, :3], end[10:, :3] = -1e6, 1.0
    for method in (model.predict, model.predict_quantiles):
        assert_array_equal(method(far), method(end))
    assert_array_equal(
        model.log_density(far, far[:, 0]), model.log_density(end, far[:, 0])
    )
    parts = model.explain(far[:1])["contribution"]
    assert_allclose(parts.sum(), model.predict(end[:1])[0])
    # The limit is where the code is 1.5, and nearer values count as they are.
    near = end - np.where(end > 6.0, 0.01, 0.0)
    assert not np.any(model.predict(near)[:10] == model.predict(end)[:10])


def test_predictions_within_the_range_are_those_without_a_limit():
    model, X, _ = fit()
    found = model.predict(X)
    limited = model.coding_
    model.coding_ = replace(limited, reach=math.inf)
    assert_array_equal(model.predict(X), found)
    assert np.max(np.abs(limited.encode(X).inputs)) == 1.0


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


def test_rows_that_are_learned_later_widen_the_limit():
    model, X, _ = fit()
    wide = X[:5].copy()
    wide[:, 0] = 20.0  # code 8
    before = model.predict(wide)
    model.partial_fit(wide, before + 1.0)
    assert_allclose(model.coding_.reach, 8.0)
    assert np.all(model.predict(wide) > before)
    wider = wide.copy()
    wider[:, 0] = 100.0
    assert_array_equal(model.predict(wider), model.predict(wide))


def test_counts_of_numbers_far_out_are_those_at_the_limit():
    X, y = make_table(0.0)
    counts = np.random.default_rng(0).poisson(np.exp(0.1 * y))
    far, end = np.full((2, 1, 4), [[[7.0]]])
    far[:, :3] = 200.0
    far[:, 3] = end[:, 3] = 1.0
    model = MOHNGLMRegressor(random_state=0).fit(X, counts)
    assert_array_equal(model.predict(far), model.predict(end))
    listed = MOHNGLMRegressor("given", terms=[(0,), (1, 2)], C=1.0).fit(X, counts)
    assert listed.predict(far)[0] > 10.0 * listed.predict(end)[0]
