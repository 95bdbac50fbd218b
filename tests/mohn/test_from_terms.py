"""Models made of known weights."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh

TERMS, COEF = [(2, 0), (1,)], [1.5, -0.5]


def test_it_predicts_by_definition():
    model = MOHNRegressor.from_terms(TERMS, COEF, intercept=2.0, n_features=4)
    check_is_fitted(model)
    X = np.random.default_rng(0).choice([-1.0, 1.0], (20, 4))
    assert_allclose(model.predict(X), 2.0 + 1.5 * X[:, 0] * X[:, 2] - 0.5 * X[:, 1])
    assert_allclose(model.predict([[np.nan, 1.0, 1.0, 1.0]]), 1.5)


def test_it_equals_what_is_learned():
    data = make_sparse_walsh(20, {1: 3, 2: 3}, n_samples=200, random_state=0)
    learned = MOHNRegressor().fit(data.X, data.y)
    made = MOHNRegressor.from_terms(
        data.terms, data.weights, intercept=data.intercept, n_features=20
    )
    assert made.terms_ == learned.terms_
    assert_allclose(made.weights_, learned.weights_)
    assert_allclose(made.predict(data.X), learned.predict(data.X))
    assert_array_equal(made.predict(data.X, return_std=True)[1], 0.0)
    assert vars(made).keys() >= vars(learned).keys() - {"_input_dtype"}
    assert made.terms_table().keys().tolist() == (learned.terms_table().keys().tolist())


def test_names_and_values_of_columns():
    model = MOHNRegressor.from_terms(
        [("dose", "sex"), "sex"],
        [1.0, 2.0],
        feature_names=["sex", "dose"],
        low=[0, 10],
        high=[1, 20],
    )
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"sex": [0, 1], "dose": [20, 20]})
    assert_allclose(model.predict(X), [-3.0, 3.0])
    assert model.terms_table()["term"].tolist() == ["sex", "sex x dose"]


def test_it_goes_on_learning_and_can_be_stored():
    model = MOHNRegressor.from_terms(TERMS, COEF)
    again = pickle.loads(pickle.dumps(model))
    X = np.random.default_rng(0).choice([-1.0, 1.0], (50, 3))
    assert_array_equal(again.predict(X), model.predict(X))
    y = 3.0 * X[:, 0] * X[:, 2] + X[:, 1]
    before = np.abs(model.predict(X) - y).mean()
    assert np.abs(model.partial_fit(X, y).predict(X) - y).mean() < before
    assert_allclose(clone(model).fit(X, y).weights_, [1.0, 3.0])


def test_terms_may_be_generated():
    model = MOHNRegressor.from_terms(((i,) for i in range(2)), [1.0, 2.0])
    assert model.terms_ == [(0,), (1,)]
    assert len(clone(model).terms) == 2


def test_no_terms_make_a_constant():
    model = MOHNRegressor.from_terms([], [], intercept=3.0, n_features=2)
    assert_allclose(model.predict([[1.0, -1.0]]), 3.0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"terms": [(0, 0), (1,)]}, "repeats a feature"),
        ({"terms": [(0,), (0,)]}, "more than once"),
        ({"terms": [(), (0,)]}, "empty set"),
        ({"terms": [(0,), ("a",)]}, "'a' is not a feature"),
        ({"terms": [(0,), (None,)]}, "None is not a feature"),
        ({"weights": None}, "weights must be a list of numbers"),
        ({"low": "a"}, "low must be a list of numbers"),
        ({"n_features": 2}, "2 is not a feature"),
        ({"n_features": 3, "feature_names": list("abcd")}, "feature_names has 4"),
        ({"weights": [1.0]}, "one weight for each of the 2 terms"),
        ({"weights": [1.0, np.nan]}, "must be finite"),
        ({"intercept": np.inf}, "must be finite"),
        ({"weights": [1e308, 1e308]}, "must be finite, and so must the sum"),
        ({"intercept": None}, "'intercept' parameter of from_terms"),
        ({"n_features": -1}, "'n_features' parameter of from_terms"),
        ({"n_features": 2.5}, "'n_features' parameter of from_terms"),
        ({"n_features": "2"}, "'n_features' parameter of from_terms"),
        ({"feature_names": "abc"}, "feature_names must be .* got the string 'abc'"),
        ({"feature_names": ["1", 1, "a"]}, "must be strings, got 1"),
        ({"feature_names": ["b", "a", "a"]}, "has 'a' more than once"),
        ({"terms": [], "weights": []}, "pass n_features or feature_names"),
        ({"low": 2.0}, "low must be finite and below high"),
        ({"high": np.nan}, "low must be finite and below high"),
        ({"low": [0.0, 0.0]}, r"low must be a number or have shape \(3,\)"),
    ],
)
def test_bad_input(settings, words):
    settings = {"terms": TERMS, "weights": COEF, **settings}
    with pytest.raises(ValueError, match=words):
        MOHNRegressor.from_terms(
            settings.pop("terms"), settings.pop("weights"), **settings
        )


@pytest.mark.parametrize("index", [2**31, 10**30])
def test_columns_that_no_memory_holds_are_refused(index):
    with pytest.raises(MemoryError, match=f"of {index + 1:,} columns needs .* GiB"):
        MOHNRegressor.from_terms([(index,)], [1.0])


def test_vocabulary_goes_from_names_to_terms_and_back():
    model = MOHNRegressor.from_terms(
        [("a",), ("c", "a")], [1.0, 2.0], feature_names=["a", "b", "c"]
    )
    term_names = model.term_names_
    assert term_names.names == ["a", "b", "c"]
    found = [term_names.find(term)[1] for term in (["a"], ["c", 0])]
    assert [term_names.label(term) for term in found] == model.terms_
    assert term_names.indices(model.terms_) == found
    assert repr(term_names) == "<TermNames of 3 inputs>"


@pytest.mark.parametrize(
    "arguments",
    [
        {"terms": {(0,), (1, 2)}, "weights": [1.0, 2.0]},
        {"terms": [("a",)], "weights": [1.0], "feature_names": {"a", "b"}},
    ],
    ids=["terms", "names"],
)
def test_sets_are_in_no_order(arguments):
    """Nor does it say which weight is whose."""
    with pytest.raises(ValueError, match="must have an order, but a set has none"):
        MOHNRegressor.from_terms(**arguments)
