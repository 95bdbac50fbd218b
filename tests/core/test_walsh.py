"""Walsh polynomials and transforms, against Hadamard matrices and plain loops."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import hadamard

from skmohn._core import _walsh_kernels as kernels
from skmohn._core._walsh import WalshPolynomial, evaluate, flatten_sets, walsh_transform

SETS = [(), (0,), (3,), (0, 1), (2, 4), (0, 2, 3), (1, 2, 3, 4), (0, 1, 2, 3, 4)]


def plain_value(x, terms, weights, intercept=0.0):
    """The value at one row, from the definition."""
    return intercept + sum(
        weight * prod(float(x[i]) for i in term)
        for term, weight in zip(terms, weights, strict=True)
    )


def test_compressed_sets():
    indptr, members = flatten_sets([(), (2,), (0, 3)])
    assert indptr.tolist() == [0, 0, 1, 3]
    assert members.tolist() == [2, 0, 3]
    assert members.dtype == np.int32
    filled = flatten_sets(np.array([[-1, -1], [2, -1], [0, 3]]))
    assert_array_equal(filled[0], indptr)
    assert_array_equal(filled[1], members)
    indptr, members = flatten_sets([])
    assert indptr.tolist() == [0]
    assert members.size == 0


@pytest.mark.parametrize("n_bits", [0, 1, 4, 5, 6, 11])
def test_transform_is_the_hadamard_matrix(n_bits):
    size = 1 << n_bits
    values = np.random.default_rng(0).standard_normal((3, size))
    expected = values @ hadamard(size)
    assert_allclose(walsh_transform(values), expected, atol=1e-10)
    for row in values:
        kernels.transform(row, size)
    assert_allclose(values, expected, atol=1e-10)


def test_kernel_transforms_the_first_entries_alone():
    table = np.arange(6.0)
    kernels.transform(table, 4)
    assert_array_equal(table, [6.0, -2.0, -4.0, 0.0, 4.0, 5.0])


def test_kernel_adds_the_weighted_products():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1, 1, (37, 5))
    weights = rng.standard_normal(len(SETS))
    out = np.full(37, 2.0)
    kernels.evaluate(inputs, *flatten_sets(SETS), weights, out)
    products = np.stack([inputs[:, list(members)].prod(axis=1) for members in SETS])
    assert_allclose(out, 2.0 + weights @ products, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_evaluate_equals_plain_loops(dtype):
    weights = np.random.default_rng(0).standard_normal(len(SETS))
    X = np.array(list(product([-1, 1], repeat=5)), dtype=dtype)
    expected = [plain_value(x, SETS, weights) for x in X]
    assert_allclose(evaluate(X, *flatten_sets(SETS), weights), expected, atol=1e-12)
    polynomial = WalshPolynomial.sort(SETS, weights, 0.7)
    assert_allclose(polynomial.predict(X), np.add(expected, 0.7), atol=1e-12)


def test_without_terms_is_the_intercept():
    polynomial = WalshPolynomial((), np.empty(0), 2.5)
    assert_array_equal(polynomial.predict(np.ones((3, 2))), [2.5] * 3)
    assert polynomial.n_variables == 0
    assert polynomial.variance == 0.0


@given(st.data())
def test_collected_is_the_sum(data):
    terms = data.draw(st.lists(st.sets(st.integers(0, 5)), max_size=8))
    weights = data.draw(
        st.lists(st.floats(-9, 9), min_size=len(terms), max_size=len(terms))
    )
    polynomial = WalshPolynomial.collect(zip(terms, weights, strict=True))
    x = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=6, max_size=6)))
    expected = plain_value(x, terms, weights)
    assert polynomial.exact_value(x) == pytest.approx(expected, abs=1e-12)
    assert polynomial.predict(x[None])[0] == pytest.approx(expected, abs=1e-12)


def test_collected_is_in_normal_form():
    weights = [((2, 0), 1.0), ((3,), 0.0), ((), 5.0), ((0, 2), 2.0), ((), 1.0)]
    polynomial = WalshPolynomial.collect([*weights, ((1,), 4.0)], 0.5)
    assert polynomial.terms == ((1,), (0, 2))
    assert_array_equal(polynomial.weights, [4.0, 3.0])
    assert polynomial.intercept == 6.5
    assert polynomial.variance == 25.0
    assert polynomial.n_variables == 3


def test_what_cancels_is_dropped():
    # Added from left to right, 0.1 + 0.2 - 0.1 - 0.2 is 2.8e-17.
    parts = [((0, 1), weight) for weight in (0.1, 0.2, -0.1, -0.2)]
    assert WalshPolynomial.collect(parts).terms == ()


def test_exact_value_rounds_once():
    polynomial = WalshPolynomial(((0,), (1,)), np.array([1e16, 1e16]), 1.0)
    spins = np.array([1, -1], dtype=np.int8)
    assert polynomial.exact_value(spins) == 1.0
    assert polynomial.predict(spins[None])[0] == 1.0
    polynomial = WalshPolynomial(((0,), (1,), (2,)), np.array([1e16, 1.0, 1e16]), 0.0)
    assert polynomial.exact_value(np.array([1, 1, -1], dtype=np.int8)) == 1.0
