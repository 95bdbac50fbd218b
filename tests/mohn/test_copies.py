"""Copies of samples are warned of; replicates and functions without noise are not."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skmohn import MOHNClassifier, MOHNRegressor
from skmohn._core._categories import Categories
from skmohn.mohn._copies import Repeats
from skmohn.mohn._options import FitSettings
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._training_data import read_training_data


def make_noisy(n=40, seed=0, kind="binary"):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, 7))
    if kind == "numeric":
        X = rng.uniform(-1.0, 1.0, (n, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=n)
    return X, y


def fit(X, y, strategy="auto", **samples):
    max_order = 1 if strategy == "full" else None
    return MOHNRegressor(strategy, max_order=max_order, random_state=0).fit(
        X, y, **samples
    )


def is_warned(estimator, X, y, **samples):
    """Whether a fit warns of copies; other warnings may come as well."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y, **samples)
    return any("are copies of others" in str(warning.message) for warning in caught)


@pytest.mark.slow_cases(".*-(auto|spike_slab)")
@pytest.mark.parametrize("strategy", ["auto", "pursuit", "gp", "spike_slab", "full"])
@pytest.mark.parametrize("kind", ["binary", "numeric"])
def test_a_table_of_copies_is_warned_of(kind, strategy):
    X, y = make_noisy(kind=kind)
    twice = np.repeat(np.arange(len(y)), 2)
    expected = r"40 of 80 rows are copies .* too narrow: drop .*drop_duplicates"
    with pytest.warns(UserWarning, match=expected):
        fit(X[twice], y[twice], strategy)


def test_who_drops_groups_or_weighs_copies_is_not_warned():
    X, y = make_noisy()
    twice = np.repeat(np.arange(len(y)), 2)
    fit(X[twice], y[twice], "gp", groups=twice)
    fit(X[twice], y[twice], "gp", sample_weight=np.ones(len(twice)))
    fit(X, y, "gp", sample_weight=np.full(len(y), 2))
    table = pd.DataFrame(X[twice]).assign(y=y[twice]).drop_duplicates()
    fit(table.drop(columns="y").to_numpy(), table["y"], "gp")


@pytest.mark.parametrize("name", ["jitter", "bootstrap", "some", "whole design"])
def test_relatives_of_copies_are_warned_of(name):
    X, y = make_noisy(kind="numeric")
    rng = np.random.default_rng(1)
    chosen = np.repeat(np.arange(40), 3)
    if name == "bootstrap":
        chosen = rng.integers(0, 40, 40)
    if name == "some":
        chosen = np.append(np.arange(40), np.arange(10))
    if name == "whole design":
        X = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
        y = 3.0 * X[:, 0] + rng.normal(size=16)
        chosen = np.repeat(np.arange(16), 3)
    X = X[chosen]
    if name == "jitter":
        X = X + 1e-6 * rng.normal(size=X.shape)
    assert is_warned(MOHNRegressor("gp"), X, y[chosen])


def test_copies_are_warned_of_once_for_all_targets():
    X, y = make_noisy()
    twice = np.repeat(np.arange(len(y)), 2)
    targets = np.column_stack([y, -y])[twice]
    with pytest.warns(UserWarning, match="targets 0, 1: 40 of 80 rows") as caught:
        fit(X[twice], targets, "gp")
    assert len(caught) == 1


def make_design(seed=0, n_each=5, n_columns=6):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.choice([-1.0, 1.0], (30, n_columns)), n_each, axis=0)
    return X, X[:, 0] + X[:, 1] * X[:, 2], rng


REPLICATES = {
    "replicates": lambda f, rng: f + 0.5 * rng.normal(size=len(f)),
    "integers": lambda f, rng: np.rint(2.0 * f + rng.normal(size=len(f))),
    "two values": lambda f, rng: (f + rng.normal(size=len(f)) > 0.0).astype(float),
    "counts": lambda f, rng: rng.poisson(np.exp(0.5 * f)).astype(float),
    "many zeros": lambda f, rng: np.maximum(f + 0.5 * rng.normal(size=len(f)), 0.0),
    "no noise": lambda f, rng: f,
}


@pytest.mark.parametrize("name", REPLICATES)
def test_replicates_are_no_copies(name):
    X, f, rng = make_design()
    assert not is_warned(MOHNRegressor("gp"), X, REPLICATES[name](f, rng))


def test_a_small_space_sampled_with_replacement_has_no_copies():
    """Its function has no noise, but is not reproduced."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (150, 7))
    y = np.tanh(X @ rng.normal(size=7)) + np.sin(X @ rng.normal(size=7))
    assert len(np.unique(X, axis=0)) < 110
    assert not is_warned(MOHNRegressor("gp"), X, y)


def make_classes(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, 9))
    log_odds = X[:, 0] + X[:, 1] * X[:, 2]
    return X, np.where(rng.logistic(size=n) < log_odds, "yes", "no")


@pytest.mark.slow_cases("auto")
@pytest.mark.parametrize("strategy", ["auto", "gp", "logistic"])
def test_a_table_of_copies_of_classes_is_warned_of(strategy):
    X, y = make_classes()
    chosen = np.repeat(np.arange(len(y)), 4)
    model = MOHNClassifier(strategy, random_state=0)
    expected = r"181 of 240 rows are copies .* too close to 0 or 1: drop them"
    with pytest.warns(UserWarning, match=expected):
        model.fit(X[chosen], y[chosen])
    assert not is_warned(model, X[chosen], y[chosen], groups=chosen)
    assert not is_warned(model, X, y)


@pytest.mark.slow_cases(".*-gp")
@pytest.mark.parametrize("strategy", ["logistic", "gp"])
@pytest.mark.parametrize("name", ["noise", "main effect", "few columns"])
def test_replicates_of_classes_are_no_copies(name, strategy):
    X = np.repeat(make_classes(30)[0], 4, axis=0)
    rng = np.random.default_rng(1)
    y = rng.logistic(size=120) < X[:, 0] + X[:, 1] * X[:, 2]
    if name == "main effect":
        y = X[:, 0] > 0.0
    if name == "few columns":
        X = rng.choice([-1.0, 1.0], (100, 2))
        y = (X > 0.0).all(axis=1)
    assert not is_warned(MOHNClassifier(strategy, random_state=0), X, y)


def test_typical_rows_of_a_class_are_no_copies():
    """They repeat and agree, as all rows near to them do."""
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.35
    typical = np.ones((300, 6))
    X = np.where(y[:, None], rng.integers(1, 11, (300, 6)), typical)
    X[rng.random(X.shape) < 0.12] += 1.0
    assert len(np.unique(X, axis=0)) < 200
    assert not is_warned(MOHNClassifier("logistic", random_state=0), X, y)


def read_samples(X, y):
    """Training data of a Gaussian process."""
    model = MOHNRegressor("gp")
    return read_training_data(
        X,
        y,
        None,
        task="regression",
        strategy=STRATEGIES["gp"],
        settings=FitSettings.of(model),
        seed=0,
        categories=Categories({}, "error"),
    )


def repeats(row, value):
    rows = np.array(row, dtype=float)[:, None]
    rows = EncodedRows(rows, np.empty((len(row), 0), dtype=int))
    return Repeats.find(rows, np.array(value))


def test_samples_that_agree_are_counted():
    found = repeats([0, 0, 0, 1, 1, 2], [5, 5, 6, 7, 7, 5])
    assert found.n_copies == 2
    assert_array_equal(found.copied, [0, 0, 1, 2, 2, 3])
    # Of three pairs and one, one each agrees.
    assert found.exceed(1e-9, 0.5)
    assert not found.exceed(1e-9, 0.51)
    assert repeats([0, 0, 1], [1, 2, 3]) is None
    assert repeats([0, 0, 1], [1, 2, 1]) is None


def test_agreement_must_be_beyond_chance():
    all_agree = repeats(np.repeat(np.arange(9), 2), np.repeat(np.arange(9), 2))
    # 0.45 ** 9 is 8e-4 and 0.5 ** 9 is 2e-3.
    assert all_agree.exceed(0.45, 0.0)
    assert not all_agree.exceed(0.5, 0.0)
    # More copies of as many rows are no more evidence.
    all_agree = repeats(np.repeat(np.arange(9), 5), np.repeat(np.arange(9), 5))
    assert not all_agree.exceed(0.5, 0.0)


@pytest.mark.parametrize("n_columns", [3, 12])
def test_equal_rows_of_few_columns_are_drawn(n_columns):
    """Unless the whole table is there twice; levels of columns do not count again."""
    X = np.random.default_rng(0).integers(0, 3, (61, n_columns)).astype(float)
    y = X[:, 0] + np.arange(61)
    chosen = np.repeat(np.arange(61), 2)
    for rows, is_expected in ((chosen[1:], n_columns == 3), (chosen, False)):
        samples = read_samples(X[rows], y[rows])
        assert samples.rows.categories.shape[1] == n_columns
        found = Repeats.find(samples.rows, rows)
        assert found.are_expected(samples) == is_expected
