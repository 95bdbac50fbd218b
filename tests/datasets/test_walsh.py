"""Transforms and evaluation against scipy's Hadamard matrix and plain loops."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

from skmohn.datasets._walsh import (
    evaluate,
    sum_of_tables,
    table_to_weights,
    walsh_function,
)


def plain_value(x, terms, coef, intercept):
    return intercept + sum(
        weight * prod(float(x[i]) for i in term)
        for term, weight in zip(terms, coef, strict=True)
    )


@pytest.mark.parametrize("k", [0, 1, 2, 5, 10])
def test_transform_is_hadamard_matrix(k):
    table = np.random.RandomState(k).standard_normal((3, 2**k))
    # scipy's sign is minus for a set bit, ours is plus: one flip per member.
    size = np.array([index.bit_count() for index in range(2**k)])
    expected = (-1.0) ** size * (table @ hadamard(2**k)) / 2**k
    np.testing.assert_allclose(table_to_weights(table), expected, atol=1e-12)


def test_evaluate_equals_plain_loops():
    rng = np.random.RandomState(0)
    terms = [(0,), (3,), (1, 2), (0, 1, 4), (0, 1, 2, 3, 4)]
    coef = rng.standard_normal(len(terms))
    X = np.array(list(product([-1, 1], repeat=5)))
    expected = [plain_value(x, terms, coef, 0.7) for x in X]
    for dtype in (np.int8, np.float64):
        y = evaluate(X.astype(dtype), terms, coef, 0.7)
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12)


def test_evaluate_without_terms_is_the_intercept():
    np.testing.assert_array_equal(evaluate(np.ones((3, 2)), [], [], 2.5), [2.5] * 3)


@given(st.data())
def test_value_at_equals_evaluate(data):
    terms = data.draw(st.lists(st.sets(st.integers(0, 5)), max_size=8))
    coef = data.draw(
        st.lists(st.floats(-9, 9), min_size=len(terms), max_size=len(terms))
    )
    function = walsh_function(6, zip(terms, coef, strict=True))
    x = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=6, max_size=6)))
    expected = plain_value(x, terms, coef, 0.0)
    assert function.value_at(x) == pytest.approx(expected, abs=1e-12)
    y = evaluate(x[None], function.terms, function.weights, function.intercept)
    assert y[0] == pytest.approx(expected, abs=1e-12)


def test_function_is_in_normal_form():
    function = walsh_function(
        4, [((2, 0), 1.0), ((3,), 0.0), ((), 5.0), ((0, 2), 2.0), ((), 1), ((1,), 4.0)]
    )
    assert function.terms == [(1,), (0, 2)]
    np.testing.assert_array_equal(function.weights, [4.0, 3.0])
    assert function.intercept == 6.0


def test_what_cancels_is_dropped():
    # Added from left to right, 0.1 + 0.2 - 0.1 - 0.2 is 2.8e-17.
    parts = [((0, 1), weight) for weight in (0.1, 0.2, -0.1, -0.2)]
    assert walsh_function(2, parts).terms == []


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_sum_of_tables_equals_looking_up(k, n_blocks, seed):
    rng = np.random.RandomState(seed)
    blocks = np.array([rng.permutation(5)[:k] for _ in range(n_blocks)])
    tables = rng.standard_normal((n_blocks, 2**k))
    function = sum_of_tables(5, blocks, tables)
    X = np.array(list(product([-1, 1], repeat=5)))
    expected = [
        sum(
            table[sum(2**j for j, i in enumerate(block) if x[i] > 0)]
            for block, table in zip(blocks, tables, strict=True)
        )
        for x in X
    ]
    y = evaluate(X, function.terms, function.weights, function.intercept)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12)
    assert function.variance == pytest.approx(np.var(expected), abs=1e-12)
