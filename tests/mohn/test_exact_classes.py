"""Classes that are a function of two-valued columns win the contest of models."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skmohn import MOHNClassifier
from skmohn.mohn._term_search import find_exact_products


def all_rows(n_columns):
    return np.array(list(product([0.0, 1.0], repeat=n_columns)))


def parity(X):
    return X.sum(axis=1).astype(int) % 2


def multiplexer(X):
    """The data bit, of four, that the first two bits are the address of."""
    address = (2 * X[:, 0] + X[:, 1]).astype(int)
    return X[np.arange(len(X)), 2 + address].astype(int)


def search(X, y, n_classes=2):
    signs = (2 * X - 1).astype(np.int8)
    return find_exact_products(signs, y, n_classes, None, 1e9, 1e9)


@pytest.mark.parametrize("n_columns", [5, 6])
def test_parity_is_predicted_from_two_thirds_of_its_rows(n_columns):
    X = all_rows(n_columns)
    y, cv = parity(X), StratifiedKFold(3, shuffle=True, random_state=0)
    chances = cross_val_predict(
        MOHNClassifier(random_state=0), X, y, cv=cv, method="predict_proba"
    )
    assert roc_auc_score(y, chances[:, 1]) == 1.0
    # The other members have next to no weight.
    assert chances[np.arange(len(y)), y].min() > 0.9


@pytest.mark.parametrize(
    ("n_columns", "function", "n_terms"),
    [(4, parity, 1), (5, parity, 1), (6, parity, 1), (6, multiplexer, 16)],
)
def test_exact_products_are_listed(n_columns, function, n_terms):
    X = all_rows(n_columns)
    model = MOHNClassifier(random_state=0).fit(X, function(X))
    assert len(model.terms_) == n_terms
    assert model.ensemble_weights_["sparse"] > 0.9
    if function is parity:
        assert model.terms_ == [tuple(range(n_columns))]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("and", lambda X: X.all(axis=1)),
        ("or", lambda X: X.any(axis=1)),
        ("majority", lambda X: X.sum(axis=1) > 2),
    ],
)
def test_functions_that_are_not_sparse_are_left_to_the_others(name, function):
    # Their products take as many nats as the classes have.
    X = all_rows(5)
    y = function(X).astype(int)
    assert search(X, y) is None
    model = MOHNClassifier(random_state=0).fit(X, y)
    assert roc_auc_score(y, model.predict_proba(X)[:, 1]) > 0.999
    assert "sparse" not in model.ensemble_weights_


def test_parity_of_three_is_within_chance():
    # One of 70 orders of eight labels is this one.
    assert search(all_rows(3), parity(all_rows(3))) is None


def test_products_among_other_columns_are_found():
    X = np.random.default_rng(0).integers(0, 2, (200, 20)).astype(float)
    assert search(X, parity(X[:, 3:6])) == [(3, 4, 5)]
    # Three classes have three indicators.
    y = (X[:, 0] * (1 + X[:, 1])).astype(int)
    assert search(X, y, 3) == [(0,), (1,), (0, 1)]


def test_one_contradiction_or_noise_ends_it():
    X = np.tile(all_rows(5), (2, 1))
    y = parity(X)
    assert search(X, y) == [(0, 1, 2, 3, 4)]
    # Of the first or of the second of two rows.
    for row in (0, -1):
        contradicted = y.copy()
        contradicted[row] = 1 - y[row]
        assert search(X, contradicted) is None
    once = all_rows(6)
    y = parity(once)
    flipped = np.random.default_rng(0).choice(64, 8, replace=False)
    y[flipped] = 1 - y[flipped]
    assert search(once, y) is None


@pytest.mark.slow_cases("200-60")
@pytest.mark.parametrize(("n_tables", "max_rows"), [(50, 30), (200, 60)])
def test_nothing_is_found_in_noise(n_tables, max_rows):
    rng = np.random.default_rng(0)
    for _ in range(n_tables):
        shape = rng.integers(6, max_rows), rng.integers(2, 9)
        X = rng.integers(0, 2, shape).astype(float)
        X = np.unique(X, axis=0)
        assert search(X, rng.integers(0, 2, len(X))) is None


def test_contradictions_that_come_later_take_the_weight_away():
    X = all_rows(4)
    model = MOHNClassifier(random_state=0).fit(X, parity(X))
    assert model.ensemble_weights_["sparse"] > 0.9
    model.partial_fit(X[:4], parity(X[:4]))
    assert model.ensemble_weights_["sparse"] > 0.9
    model.partial_fit(X, 1 - parity(X))
    assert model.ensemble_weights_["sparse"] < 0.9


def test_numbers_and_missing_values_are_not_searched():
    X = all_rows(5)
    y = parity(X)
    with_missing = X.copy()
    with_missing[3, 2] = np.nan
    for other in (with_missing, X + 0.01 * np.arange(32)[:, None]):
        model = MOHNClassifier(random_state=0).fit(other, y)
        assert model.ensemble_weights_.get("sparse", 0.0) < 0.9
