"""Columns that follow from others: copies, complements, parities, one-hot groups."""

import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import OneHotEncoder

from skmohn import MOHNRegressor

GIVEN = [(0,), (1,), (2,), (3,), (1, 7), (0, 1), (4,), (5,), (6,), (7,)]
EVERY_WAY = {
    "auto": MOHNRegressor(random_state=0),
    "pursuit": MOHNRegressor("pursuit", random_state=0),
    "pursuit-lasso": MOHNRegressor("pursuit", "lasso", random_state=0),
    "pursuit-cv": MOHNRegressor("pursuit", selection="cv", random_state=0),
    "pursuit-ebic": MOHNRegressor("pursuit", selection="ebic", random_state=0),
    "pursuit-shrunken": MOHNRegressor("pursuit", selection="lasso", random_state=0),
    "msda": MOHNRegressor("msda", max_order=3, random_state=0),
    "msda-ols": MOHNRegressor("msda", "ols", max_order=3, random_state=0),
    "full": MOHNRegressor("full", max_order=2),
    "full-lasso": MOHNRegressor("full", "lasso", max_order=2, alpha=0.01),
    "full-delta": MOHNRegressor("full", "delta", max_order=2, max_iter=500),
    "given": MOHNRegressor("given", terms=GIVEN),
    "gp": MOHNRegressor("gp"),
    "spike_slab": MOHNRegressor("spike_slab", max_order=2),
}


def make_table(kind, n_rows, seed):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_rows, 6)).astype(float)
    if kind == "copies":
        return np.hstack([bits, bits[:, :2], 1 - bits[:, 2:4]])
    if kind == "parities":
        return np.hstack([bits, (bits[:, :2] != bits[:, 2:4]).astype(float)])
    if kind == "unknown":
        X = np.hstack([bits, bits])
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
        return X
    if kind == "sums":
        numbers = rng.uniform(-1, 1, (n_rows, 2))
        return np.hstack([bits, numbers, numbers.sum(axis=1)[:, None]])
    levels = rng.integers(0, (3, 4, 2), (n_rows, 3))
    groups = [np.eye(k)[level] for k, level in zip((3, 4, 2), levels.T, strict=True)]
    return np.hstack([*groups, bits[:, :2]])


def target(X):
    X = np.nan_to_num(X, nan=0.5)
    return 1 + 2 * X[:, 0] - X[:, 2] + 1.5 * X[:, 1] * X[:, 7]


KINDS = ["copies", "parities", "unknown", "sums", "one-hot"]


def halves():
    """Each way with noise on every other kind, and without on the rest first."""
    for (i, way), (j, kind), noisy in product(
        enumerate(EVERY_WAY), enumerate(KINDS), (False, True)
    ):
        marks = [pytest.mark.slow] if (i + j + noisy) % 2 else []
        yield pytest.param(way, kind, noisy, marks=marks)


@pytest.mark.slow_cases("auto-sums-True|gp-unknown-False")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("way", "kind", "noisy"), list(halves()))
def test_every_strategy_predicts_and_keeps_its_weights_small(way, kind, noisy):
    X, T = make_table(kind, 300, 0), make_table(kind, 300, 1)
    y = target(X) + 0.3 * noisy * np.random.default_rng(2).standard_normal(300)
    weights = np.random.default_rng(3).uniform(0.5, 2, 300)
    model = clone(EVERY_WAY[way]).fit(X, y, weights if noisy else None)
    assert model.score(T, target(T)) > (0.8 if noisy else 0.9)
    assert np.abs(model.weights_).max(initial=0) < 5


@pytest.mark.parametrize("kind", ["copies", "one-hot"])
def test_full_keeps_the_simplest_of_weights_that_say_the_same(kind):
    X = make_table(kind, 300, 0)
    with pytest.warns(ConvergenceWarning, match="cannot be told apart from the others"):
        model = MOHNRegressor("full", max_order=2).fit(X, target(X))
    assert_allclose(model.predict(X), target(X), atol=1e-9)
    coef = dict(zip(model.terms_, model.weights_, strict=True))
    if kind == "copies":
        # Columns 6 to 9 are copies of 0 to 3.
        copies = [term for term in model.terms_ if max(term) > 5]
        assert all(coef[term] == 0 for term in copies)
        assert coef[(0,)] == pytest.approx(1)
    else:
        # The product of two columns of one group follows from the columns.
        assert coef[(0, 1)] == coef[(3, 4)] == coef[(7, 8)] == coef[(8,)] == 0


@pytest.mark.parametrize("strategy", ["auto", "pursuit"])
def test_a_copy_is_left_out_and_said(strategy):
    X = make_table("copies", 300, 0)
    y = 3 * X[:, 0] + 2 * X[:, 1] * X[:, 3]
    model = MOHNRegressor(strategy).fit(X, y)
    assert model.terms_ == [(0,), (1,), (3,), (1, 3)]
    assert_allclose(model.weights_, [1.5, 0.5, 0.5, 0.5])
    assert model.stopping_reason_ == (
        "exact: the model reproduces every sample; 4 of 10 columns are linear "
        "combinations of the others, so other weights can give the same model"
    )


def test_nothing_is_said_where_no_column_follows_from_others():
    X = make_table("copies", 300, 0)[:, :6]
    model = MOHNRegressor().fit(X, X[:, 0])
    assert model.stopping_reason_ == "exact: the model reproduces every sample"


def test_copies_do_not_change_what_pursuit_finds():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 8))
    y = X[:, 0] + 2 * X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(200)
    one = MOHNRegressor("pursuit", selection="ebic").fit(X, y)
    two = MOHNRegressor("pursuit", selection="ebic").fit(np.hstack([X, X]), y)
    first = [tuple(i % 8 for i in term) for term in two.terms_]
    assert sorted(sorted(term) for term in first) == sorted(map(list, one.terms_))
    assert_allclose(two.predict(np.hstack([X, X])), one.predict(X))


def test_a_whole_group_is_no_reason_to_warn():
    levels = np.random.default_rng(0).integers(0, 4, (200, 3))
    X = OneHotEncoder(sparse_output=False).fit_transform(levels)
    y = 2.0 * (levels[:, 0] == 1) - (levels[:, 1] == 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MOHNRegressor().fit(X, y)
    assert model.terms_ == [(1,), (7,)]
    assert "3 of 12 columns are linear combinations of the" in model.stopping_reason_
