"""Random sets of terms: numbers, orders and heredity."""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skmohn.datasets import make_sparse_walsh

HEREDITY = ["strong", "weak", None]
make = make_sparse_walsh


def orders(terms):
    return Counter(len(term) for term in terms)


def keeps_heredity(terms, heredity):
    wanted = {"strong": all, "weak": any}[heredity]
    return all(
        wanted(part in terms for part in combinations(term, len(term) - 1))
        for term in terms
        if len(term) > 1
    )


@pytest.mark.slow_cases("weak")
@pytest.mark.parametrize("heredity", HEREDITY)
@given(st.data())
def test_number_of_terms(heredity, data):
    n_features = data.draw(st.integers(1, 7))
    max_order = data.draw(st.integers(1, n_features))
    possible = sum(comb(n_features, order) for order in range(1, max_order + 1))
    n_terms = data.draw(st.integers(1, possible))
    terms = make(
        n_features,
        n_terms,
        max_order=max_order,
        heredity=heredity,
        n_samples=1,
        random_state=data.draw(st.integers(0, 2**32 - 1)),
    ).terms
    assert len(set(terms)) == len(terms) == n_terms
    assert max(orders(terms)) <= max_order
    assert heredity is None or keeps_heredity(terms, heredity)
    with pytest.raises(ValueError, match=f"n_terms must be at most {possible}"):
        make(n_features, possible + 1, max_order=max_order, heredity=heredity)


@pytest.mark.parametrize("heredity", HEREDITY)
@pytest.mark.parametrize(
    ("n_features", "counts"),
    [
        (10, {1: 3, 2: 2}),
        (20, {1: 20, 2: 60, 3: 15, 4: 1}),
        (1000, {1: 1000, 2: 1500, 3: 400}),
        (6, {1: 6, 2: 15, 3: 20, 4: 15, 5: 6, 6: 1}),
        (7, {1: 7, 2: 21, 3: 30}),
    ],
)
def test_numbers_per_order(n_features, counts, heredity):
    terms = make(n_features, counts, heredity=heredity, random_state=0).terms
    assert orders(terms) == counts
    assert heredity is None or keeps_heredity(set(terms), heredity)


def test_pure_terms_of_one_order():
    data = make(50, {3: 4, 5: 1}, heredity=None, random_state=0)
    assert orders(data.terms) == {3: 4, 5: 1}


@pytest.mark.parametrize("heredity", HEREDITY)
def test_all_orders_are_reached(heredity):
    terms = make(1000, 3000, heredity=heredity, n_samples=1, random_state=0).terms
    assert len(terms) == 3000
    assert min(orders(terms)[order] for order in (1, 2, 3)) > 400
    assert keeps_heredity(set(terms), heredity or "weak") == (heredity is not None)


def test_towers_are_as_high_as_the_number_of_terms_allows():
    assert orders(make(20, 7, max_order=9, random_state=0).terms) == {1: 3, 2: 3, 3: 1}
    terms = make(20, 4, max_order=9, heredity="weak", random_state=0).terms
    assert orders(terms) == {1: 1, 2: 1, 3: 1, 4: 1}


def test_weak_heredity_is_weaker_than_strong():
    terms = make(heredity="weak", n_terms=60, random_state=0).terms
    assert not keeps_heredity(terms, "strong")


@pytest.mark.slow_cases("weak")
@pytest.mark.parametrize("heredity", HEREDITY)
def test_terms_are_drawn_evenly(heredity):
    n_terms = {1: 4, 2: 3}
    found = Counter()
    for seed in range(400):
        found.update(make(4, n_terms, heredity=heredity, random_state=seed).terms)
    pairs = [found[pair] for pair in combinations(range(4), 2)]
    # Half of six pairs each time; five standard deviations of a binomial.
    assert np.abs(np.array(pairs) - 200).max() < 5 * np.sqrt(400 / 4)


@pytest.mark.parametrize(
    ("distribution", "low", "high", "second_moment"),
    [("pm1", -1, 1, 1.0), ("uniform", -1, 1, 1 / 3), ("gaussian", -6, 6, 1.0)],
)
def test_coefficients(distribution, low, high, second_moment):
    data = make(100, 4000, weight_distribution=distribution, random_state=0)
    assert low <= data.weights.min() < -0.99
    assert 0.99 < data.weights.max() <= high
    assert np.mean(data.weights**2) == pytest.approx(second_moment, rel=0.1)
    assert abs(data.weights.mean()) < 0.1
    if distribution == "pm1":
        assert set(data.weights) == {-1.0, 1.0}


def test_intercept_is_the_mean():
    data = make(6, 10, intercept=-2.5, n_samples=5, random_state=0)
    shifted = make(6, 10, n_samples=5, random_state=0)
    assert data.intercept == -2.5
    np.testing.assert_allclose(data.y, shifted.y - 2.5, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_terms": 0}, "'n_terms' parameter"),
        ({"n_terms": {}}, "n_terms must map orders >= 1"),
        ({"n_terms": {0: 1}}, "n_terms must map orders >= 1"),
        ({"n_terms": {1: -1}}, "n_terms must map orders >= 1"),
        ({"n_terms": {1.5: 2}}, "n_terms must map orders >= 1"),
        ({"n_terms": {"a": 2}}, "n_terms must map orders >= 1"),
        ({"n_terms": {1: 2.5}}, "n_terms must map orders >= 1"),
        ({"max_order": 0}, "'max_order' parameter"),
        ({"n_features": 2}, "max_order must be at most n_features=2"),
        ({"heredity": "some"}, "'heredity' parameter"),
        ({"weight_distribution": "cauchy"}, "'weight_distribution' parameter"),
        ({"intercept": np.nan}, "'intercept' parameter"),
        (
            {"n_features": 3, "n_terms": {2: 4}, "heredity": None},
            "4 terms of order 2, but 3 features make only 3",
        ),
        ({"n_terms": {4: 1}, "n_features": 3, "heredity": None}, "make only 0"),
        ({"n_terms": {2: 1}}, "1 terms of order 2, but 0 features make only 0"),
        ({"n_terms": {1: 3, 3: 1}}, "0 terms of order 2, .* order 3 need 3"),
        ({"n_terms": {2: 1}, "heredity": "weak"}, "only 0 contain one of the 0"),
        (
            {"n_features": 4, "n_terms": {1: 1, 2: 4}, "heredity": "weak"},
            "only 3 contain one of the 1 terms of order 1",
        ),
    ],
)
def test_bad_structure_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
