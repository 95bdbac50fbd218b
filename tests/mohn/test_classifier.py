"""MOHNClassifier: logistic regression on the products it found."""

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from support import Callback, multiply_columns

from skmohn import MOHNClassifier, MOHNTransformer
from skmohn.mohn import _term_search

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (400, 8))
ODDS = 2 * X[:, 0] * X[:, 5] - X[:, 2] + 0.5
Y = np.where(RNG.random(400) < expit(ODDS), "yes", "no")
THREE = np.argmax(np.c_[ODDS, X[:, 1] * X[:, 3], np.zeros(400)], axis=1)
TERMS = [(2,), (1, 3), (0, 5)]


def balanced_by_hand(y, weights):
    """What "balanced" means with weights of samples, which scikit-learn 1.6 ignores."""
    totals = {label: weights[y == label].sum() for label in np.unique(y)}
    return {label: weights.sum() / (len(totals) * totals[label]) for label in totals}


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_is_logistic_regression_on_the_products(y, class_weight):
    weights = RNG.uniform(0.5, 2.0, 400)
    options = {"C": 0.7, "class_weight": class_weight}
    ours = MOHNClassifier("given", terms=TERMS, **options)
    theirs = LogisticRegression(tol=1e-8, max_iter=1000, **options)
    columns = multiply_columns(X, ours.fit(X, y).terms_)
    for sample_weight in (None, weights / weights.mean()):
        ours.fit(X, y, sample_weight)
        if class_weight == "balanced":
            of_rows = np.ones(400) if sample_weight is None else sample_weight
            theirs.set_params(class_weight=balanced_by_hand(y, of_rows))
        theirs.fit(columns, y, sample_weight=sample_weight)
        assert_allclose(ours.weights_, theirs.coef_, atol=2e-4)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)
        assert_array_equal(ours.classes_, theirs.classes_)
        for method in ("decision_function", "predict_proba", "predict_log_proba"):
            expected = getattr(theirs, method)(columns)
            assert_allclose(getattr(ours, method)(X), expected, atol=2e-3)
        assert_array_equal(ours.predict(X), theirs.predict(columns))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0, 1: 1.0, 2: 3.0}])
def test_a_class_whose_rows_all_have_weight_0_is_left_out(class_weight):
    given = MOHNClassifier("given", terms=TERMS, C=1.0, class_weight=class_weight)
    kept = THREE != 1
    model = clone(given).fit(X, THREE, sample_weight=kept.astype(float))
    same = given.fit(X[kept], THREE[kept])
    assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-6)


@pytest.fixture(scope="module")
def fitted():
    return MOHNClassifier(include_inputs=False, random_state=0).fit(X, Y)


def test_finds_the_products_and_their_weights(fitted):
    assert {(2,), (0, 5)} <= set(fitted.terms_)
    assert len(fitted.terms_) <= 4
    weights = dict(zip(fitted.terms_, fitted.weights_[0], strict=True))
    assert_allclose([weights[2,], weights[0, 5]], [-1, 2], atol=0.4)
    assert_allclose(fitted.intercept_, 0.5, atol=0.3)


@pytest.mark.slow_cases("logistic-three")
@pytest.mark.parametrize(
    ("strategy", "y"),
    [("logistic", Y), ("logistic", THREE), ("pursuit", THREE)],
    ids=["logistic-two", "logistic-three", "pursuit-three"],
)
def test_terms_are_those_of_the_transformer(strategy, y):
    model = MOHNClassifier(strategy, random_state=0).fit(X, y)
    features = MOHNTransformer(strategy, target_type="classes", random_state=0)
    assert model.terms_ == features.fit(X, y).terms_
    assert model.score(X, y) > 0.8


@pytest.mark.slow
def test_penalty_follows_the_data():
    model = MOHNClassifier("logistic", random_state=0)
    clear = clone(model).fit(X, ODDS > 0)
    noise = clone(model).fit(X, RNG.integers(2, size=400))
    assert clear.C_ == 10.0
    assert noise.C_ == 0.01
    assert clone(model).set_params(C=3.0).fit(X, Y).C_ == 3.0
    few = clone(model).fit(X[:30], Y[:30])
    assert few.C_ == 0.1


def test_structure_table_reads_the_model():
    table = pd.DataFrame(X, columns=["dose", *"abcdefg"])
    model = MOHNClassifier("given", terms=TERMS).fit(table, Y)
    found = model.terms_table()
    assert found["term"].tolist() == ["dose x e", "b", "a x c"]
    assert found["order"].tolist() == [2, 1, 2]
    assert_array_equal(found["weight"], model.weights_[0][[1, 0, 2]])
    assert_allclose(found["weight_share"].sum(), 1.0)
    assert found["weight_share"].is_monotonic_decreasing
    several = MOHNClassifier("given", terms=TERMS).fit(table, THREE).terms_table()
    assert several.columns[3:].tolist() == [f"weight of {k}" for k in range(3)]


def test_unknown_inputs_average_the_log_odds():
    model = MOHNClassifier("given", terms=TERMS, C=1.0).fit(X, Y)
    unknown = X[:1].copy()
    unknown[0, [0, 2]] = np.nan
    filled = np.repeat(X[:1], 4, axis=0)
    filled[:, [0, 2]] = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    expected = model.decision_function(filled).mean()
    assert_allclose(model.decision_function(unknown), expected)


WEIGHTS_OF_CLASSES = [None, {"yes": 2, "no": 1}, {"yes": 0.5, "no": 1.2}, "balanced"]


@pytest.mark.slow_cases("(?!(pursuit-balanced|logistic-class_weight1)$).*")
@pytest.mark.parametrize(
    ("strategy", "class_weight"),
    [
        *(("logistic", weight) for weight in WEIGHTS_OF_CLASSES),
        ("pursuit", "balanced"),
        *(
            pytest.param("pursuit", weight, marks=pytest.mark.slow)
            for weight in WEIGHTS_OF_CLASSES[:-1]
        ),
    ],
)
def test_weights_of_rows_are_repeats(strategy, class_weight):
    weights = np.random.default_rng(7).integers(0, 4, 240)
    options = {"include_inputs": False, "class_weight": class_weight}
    weighted = MOHNClassifier(strategy, random_state=0, **options)
    weighted.fit(X[:240], Y[:240], sample_weight=weights)
    rows = np.repeat(np.arange(240), weights)
    repeated = clone(weighted).fit(X[rows], Y[rows])
    assert weighted.terms_ == repeated.terms_
    assert weighted.C_ == repeated.C_
    assert_allclose(weighted.weights_, repeated.weights_, atol=1e-5)


def test_classes_without_weight_are_not_there():
    weights = np.where(THREE == 1, 0, 1)
    model = MOHNClassifier(random_state=0).fit(X, THREE, weights)
    assert model.classes_.tolist() == [0, 2]
    with pytest.raises(ValueError, match="only one class, 1"):
        model.fit(X, THREE, np.where(THREE == 1, 1, 0))
    assert model.classes_.tolist() == [0, 2]


def test_constant_columns_leave_the_shares_of_the_classes():
    model = MOHNClassifier().fit(np.ones((10, 2)), [0] * 7 + [1] * 3)
    assert_allclose(model.predict_proba(np.ones((2, 2))), [[0.7, 0.3]] * 2)
    model.fit(np.ones((10, 2)), [0] * 5 + [1] * 3 + [2] * 2)
    assert_allclose(model.predict_proba(np.ones((1, 2))), [[0.5, 0.3, 0.2]])


def test_a_refit_that_fails_changes_nothing(fitted):
    model = copy.deepcopy(fitted)
    expected = model.predict_proba(X)
    for params, y, match in (
        ({"max_terms": 3, "include_inputs": True}, Y, "max_terms=3"),
        ({"class_weight": {"maybe": 2.0}}, Y, "class_weight"),
        ({}, ODDS + RNG.standard_normal(400), "Unknown label type"),
        ({}, np.full(400, "yes"), "only one class, yes"),
    ):
        with pytest.raises(ValueError, match=match):
            model.set_params(**params).fit(X, y)
        model.set_params(include_inputs=False, class_weight=None, max_terms=None)
        assert_array_equal(model.predict_proba(X), expected)


def test_unfitted_predicts_nothing():
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(MOHNClassifier(), method)(X)
    with pytest.raises(NotFittedError):
        MOHNClassifier().terms_table()


class Watch(Callback):
    """Ask for a fitted classifier after each model, stop after the third."""

    def __init__(self):
        self.scores = []

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, fitted_estimator=None
    ):
        if context.task_name == "iteration":
            self.scores.append(np.mean(fitted_estimator.predict(X) == y))
        return len(self.scores) >= 3


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_callbacks_see_a_classifier_that_predicts():
    watch = Watch()
    model = MOHNClassifier("logistic", include_inputs=False, random_state=0)
    model.set_callbacks(watch).fit(X, Y)
    assert len(model.history_) == 3
    assert watch.scores[1] > watch.scores[0]
    assert model.stopping_reason_ == "a callback stopped the search"
    assert len(model.terms_) == 2


def test_columns_that_are_asked_for_keep_to_the_budget():
    X = np.random.default_rng(0).choice([-1.0, 1.0], (200, 12))
    labels = X[:, 0] * X[:, 1] > 0
    # 78 columns of 200 rows, on all samples and without each of five folds.
    model = MOHNClassifier("full", max_order=2, memory_budget=8 * 78 * 200 * 6)
    assert model.fit(X, labels).score(X, labels) > 0.9
    model.set_params(memory_budget=8 * 78 * 200 * 6 - 1)
    with pytest.raises(MemoryError, match="memory_budget"):
        model.fit(X, labels)
    assert len(model.set_params(selection="ebic").fit(X, labels).terms_) == 78


@pytest.mark.slow_cases("(?!(pursuit|full)$).*")
@pytest.mark.parametrize(
    "strategy",
    [
        "pursuit",
        "full",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("auto", "logistic")),
    ],
)
def test_folds_that_are_none_are_five(strategy):
    asked = {"max_order": 1} if strategy == "full" else {}
    model = MOHNClassifier(strategy, cv=None, random_state=0, **asked)
    expected = clone(model).set_params(cv=5).fit(X[:90], Y[:90]).predict_proba(X)
    assert_array_equal(model.fit(X[:90], Y[:90]).predict_proba(X), expected)


def test_inputs_that_are_coded_are_searched_as_they_are(monkeypatch):
    # Of settings on a scale of powers the highest is no wild value, nor is its code.
    exponents = np.append(np.repeat(np.arange(-3.0, 3.0), 6), 3.0)
    other = np.tile([-1.0, 1.0], 19)[:37]
    X, searched = np.column_stack([10.0**exponents, other]), []
    solve = _term_search.solve_pursuit

    def solve_pursuit(samples, *args):
        searched.append(samples)
        return solve(samples, *args)

    monkeypatch.setattr(_term_search, "solve_pursuit", solve_pursuit)
    MOHNTransformer("pursuit", random_state=0).fit(X, exponents + other)
    inputs = searched[0].inputs[:, 0]
    assert searched[0].rows.unknown is None
    assert_allclose(inputs, (X[:, 0] - 1e-3) / (1e3 - 1e-3) * 2.0 - 1.0)
