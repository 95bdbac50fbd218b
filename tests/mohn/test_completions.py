"""Intervals of rows with unknown inputs: enumeration, calibration, gaps in training."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skmohn import MOHNRegressor
from skmohn.mohn._completions import Completions
from skmohn.mohn._dense.kernel import Rows


def make_data(n_rows, seed, share=0.0, n_inputs=8):
    """A function of order two in which everything matters, and noise."""
    rng = np.random.default_rng(7)
    coef = rng.normal(size=(n_inputs, n_inputs)) / n_inputs
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, n_inputs))
    y = np.einsum("di,ij,dj->d", X, coef, X) + X @ coef[0] * 2
    y += 0.1 * rng.standard_normal(n_rows)
    return np.where(rng.random(X.shape) < share, np.nan, X), y


def all_completions(row):
    places = np.flatnonzero(np.isnan(row))
    filled = np.tile(row, (2 ** len(places), 1))
    filled[:, places] = list(itertools.product([-1.0, 1.0], repeat=len(places)))
    return filled


@pytest.mark.parametrize("strategy", ["auto", "dense"])
def test_variance_over_completions_is_added(strategy):
    model = MOHNRegressor(strategy, clip=False, noise="constant")
    model.fit(*make_data(250, 0))
    X, _ = make_data(6, 1, share=0.4)
    _, std = model.predict(X, return_std=True)
    posterior = model._dense or model._sparse
    plain = posterior.std(model._to_rows(X))
    spread = [np.std(model.predict(all_completions(row))) for row in X]
    assert max(spread) > 3 * max(plain)
    assert_allclose(std, np.hypot(plain, spread))
    draws = model.sample_y(X, 20_000)
    assert_allclose(draws.std(axis=1), std, rtol=0.05)


@pytest.mark.parametrize("train_share", [0.0, 0.15])
def test_standard_deviations_are_those_of_the_errors(train_share):
    model = MOHNRegressor("dense").fit(*make_data(300, 0, share=train_share))
    X, y = make_data(2000, 1, share=0.15)
    n_gaps = np.isnan(X).sum(axis=1)
    mean, std = model.predict(X, return_std=True)
    for n in (1, 2, 3):
        part = n_gaps == n
        error = np.mean((y - mean)[part] ** 2)
        assert error == pytest.approx(np.mean(std[part] ** 2), rel=0.3)
    # Complete rows are known better, though their share of the noise is a guess.
    assert np.mean(std[n_gaps == 0]) < 0.75 * np.mean(std[n_gaps == 1])


def test_exact_sparse_models_know_what_gaps_do():
    model = MOHNRegressor.from_terms([(0,), (1, 2)], [2.0, 1.0])
    _, std = model.predict([[np.nan, 1, 1], [1, np.nan, 1], [1, 1, 1]], return_std=True)
    assert_allclose(std, [2.0, 1.0, 0.0])


def test_letters_are_completed_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"site": rng.choice(list("ACGT"), 200), "flag": rng.integers(0, 2, 200)}
    )
    y = frame["site"].map({"A": 0.0, "C": 1.0, "G": 3.0, "T": 6.0}) + frame["flag"]
    model = MOHNRegressor("dense", clip=False, noise="constant")
    model.fit(frame, y + 0.05 * rng.standard_normal(200))
    each = pd.DataFrame({"site": list("ACGT"), "flag": 1})
    row = pd.DataFrame({"site": [None], "flag": [1]})
    _, std = model.predict(row, return_std=True)
    assert std[0] == pytest.approx(np.std(model.predict(each)), rel=0.05)


def test_many_gaps_are_drawn_and_numbers_stay_in_the_middle():
    weights = np.linspace(0.5, 2.0, 10)

    def mean(rows):
        return rows.inputs[:, :10] @ weights + 100.0 * rows.inputs[:, 10]

    found = Completions(np.arange(11) == 10)
    rows = Rows(np.zeros((2, 11)), np.empty((2, 0), dtype=int))
    variance = found.variance(mean, rows)
    assert variance[0] == variance[1]
    assert variance[0] == pytest.approx(weights @ weights, rel=0.5)


def test_complete_rows_are_as_before():
    model = MOHNRegressor("dense").fit(*make_data(100, 0))
    X, _ = make_data(20, 1)
    _, std = model.predict(X, return_std=True)
    assert_allclose(std, model._dense.std(model._to_rows(X)), rtol=1e-12)


def test_exact_models_of_rows_with_gaps_have_no_noise():
    X, _ = make_data(60, 0, share=0.05)
    y = 2.0 * np.nan_to_num(X[:, 1]) + 1.0
    model = MOHNRegressor().fit(X, y)
    assert model.noise_ == 0.0
    row = np.ones((2, 8))
    row[1, 1] = np.nan
    assert_allclose(model.predict(row, return_std=True), [[3.0, 1.0], [0.0, 2.0]])
