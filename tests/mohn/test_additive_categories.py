"""The additive model of tables with categories, and how "auto" chooses it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skmohn import MOHNRegressor
from skmohn.mohn._gp import additive
from skmohn.mohn._gp.marginal_likelihood import HYPERPRIOR
from skmohn.mohn._spike_slab.fit import fit_additive as fit_columns
from skmohn.mohn._table.rows import Categorical, EncodedRows


def numbers(n_rows=80, n_inputs=4, noise=1.0):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n_rows, n_inputs), p=[0.3, 0.7])
    return X, X @ rng.standard_normal(n_inputs) + noise * rng.standard_normal(n_rows)


def without_categories(X):
    return EncodedRows(X, np.empty((len(X), 0), dtype=int))


def table(n_rows, seed, r2=0.3):
    """Four numbers and six columns of six categories, in a sum with noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (n_rows, 6))
    Z = rng.standard_normal((n_rows, 4))
    f = Z @ rng.standard_normal(4)
    for k, column in enumerate(codes.T):
        f += rng.standard_normal(6)[column] * (k < 4)
    y = f / f.std() * np.sqrt(r2) + np.sqrt(1 - r2) * rng.standard_normal(n_rows)
    X = pd.DataFrame(np.array(list("abcdef"))[codes], columns=list("stuvwx"))
    return X.join(pd.DataFrame(Z, columns=list("klmn"))), y


@pytest.mark.parametrize("weighted", [False, True])
def test_without_categories_it_is_ridge_on_standardized_columns(weighted):
    X, y = numbers()
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y)) if weighted else None
    if weighted:
        weight /= weight.mean()
    one = additive.fit_additive(without_categories(X), y, weight, ())
    other = fit_columns(X, y, weight)
    rows = without_categories(X)
    # Predictions of the one stay in the range of the targets; their constants have the
    # same prior, but columns of the other are less their means.
    found = np.clip(other.predictive_mean(rows), y.min(), y.max())
    assert_allclose(one.predictive_mean(rows), found, atol=0.01 * y.std())
    assert one.description_length() == pytest.approx(
        other.description_length(), abs=0.1
    )


def test_two_categories_are_an_input():
    X, y = numbers()
    alphabets = (Categorical(2),)
    rows = EncodedRows(X[:, 1:], (X[:, :1] > 0).astype(int))
    one = additive.fit_additive(rows, y, None, alphabets)
    other = additive.fit_additive(without_categories(X), y, None, ())
    assert_allclose(
        one.predictive_mean(rows),
        other.predictive_mean(without_categories(X)),
        atol=1e-4,
    )
    assert one.description_length() == pytest.approx(
        other.description_length(), abs=1e-3
    )


def test_constant_columns_levels_and_unknown_categories_are_no_harm():
    X, y = numbers()
    rng = np.random.default_rng(2)
    alphabets = Categorical(3), Categorical(2), Categorical(4, is_ordered=True)
    categories = np.column_stack(
        [
            rng.integers(0, 4, len(y)),
            np.zeros(len(y), dtype=int),
            rng.integers(0, 4, len(y)),
        ]
    )
    X[:, 3] = 1.0
    rows = EncodedRows(X, categories)
    model = additive.fit_additive(rows, y, None, alphabets)
    mean, moved = model.predictive_mean(rows), categories.copy()
    moved[:, 2] = (moved[:, 2] + 1) % 4
    assert_allclose(model.predictive_mean(EncodedRows(X, moved)), mean, atol=1e-3)
    assert np.corrcoef(mean, y)[0, 1] > 0.5
    nothing = additive.fit_additive(
        EncodedRows(X[:, 3:], categories[:, :0]), y, None, ()
    )
    assert_allclose(
        nothing.predictive_mean(EncodedRows(X[:, 3:], categories[:, :0])),
        y.mean(),
        atol=0.1,
    )


@pytest.mark.slow
def test_auto_is_as_good_as_ridge_on_one_hot_columns():
    differences = []
    for seed in range(4):
        X, y = table(1100, seed)
        train, test = slice(0, 100), slice(100, None)
        ours = MOHNRegressor(random_state=0).fit(X[train], y[train])
        assert "additive" in ours.stopping_reason_
        encode = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), list("stuvwx")),
            remainder="passthrough",
        )
        ridge = make_pipeline(encode, RidgeCV(np.logspace(-1, 3, 13)))
        ridge.fit(X[train], y[train])
        differences.append(ours.score(X[test], y[test]) - ridge.score(X[test], y[test]))
    assert np.mean(differences) > -0.01
    assert min(differences) > -0.03


def test_auto_is_the_additive_model_of_categories_and_goes_on():
    X, y = table(160, 1)
    model = MOHNRegressor(random_state=0, warm_start=True).fit(X[:100], y[:100])
    assert "that of the additive model" in model.stopping_reason_
    assert "description_length_additive" in model.history_[-1]
    assert all(len(term) == 1 for term in model.terms_)
    before = model.predict(X[100:], return_std=True)[1]
    model.partial_fit(X[100:], y[100:])
    assert np.all(model.predict(X[100:], return_std=True)[1] < before)
    # A prior without products is no start of one with them.
    assert model.model_.prior.signal_variance == HYPERPRIOR.min_signal_variance
    assert model.fit(X, y).score(X, y) > 0.2
