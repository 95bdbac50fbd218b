"""Kernels against numpy and scipy in double precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import chisquare, kstest

from skmohn.energynet import _kernels as kernels
from skmohn.energynet._rbm import random_stream

GRID = np.concatenate([np.linspace(-86, 86, 4001), np.linspace(-1, 1, 999)])


def table(seed, shape, scale=3.0):
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


def softplus(x):
    return np.logaddexp(0.0, x)


def test_logistic_is_as_exact_as_single_precision_in_both_tails():
    logits = GRID.astype(np.float32)[None, :]
    out = np.empty_like(logits)
    kernels.logistic(logits, np.zeros(logits.shape[1], np.float32), out)
    assert_allclose(out, expit(logits.astype(np.float64)), rtol=5e-7)


def test_softplus_is_as_exact_as_single_precision_in_both_tails():
    logits = GRID.astype(np.float32)[:, None]
    out = np.empty(len(logits))
    kernels.softplus_sums(logits, np.zeros(1, np.float32), out)
    assert_allclose(out, softplus(logits[:, 0].astype(np.float64)), rtol=5e-7)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e30])
def test_large_logits_saturate(size):
    logits = np.array([[-size, size]], np.float32)
    out, sums = np.empty_like(logits), np.empty(2)
    zero = np.zeros(2, np.float32)
    kernels.logistic(logits, zero, out)
    kernels.softplus_sums(logits.T.copy(), zero, sums)
    assert_allclose(out, [[0.0, 1.0]], atol=1e-30)
    assert_allclose(sums, [0.0, size], rtol=1e-6, atol=1e-30)


def test_sums_add_the_bias():
    logits, bias = table(0, (7, 33)), table(1, 33)
    out = np.empty(7)
    kernels.softplus_sums(logits, bias, out)
    exact = softplus(logits.astype(np.float64) + bias).sum(axis=1)
    assert_allclose(out, exact, rtol=1e-6)


# -------------------------------------------------------------------------- chance


def uniforms(seed, n):
    """Read the uniform numbers off the draws, to 16 bits, by bisection."""
    low, high = np.zeros(n), np.ones(n)
    for _ in range(16):
        middle = (low + high) / 2
        bits = np.empty((1, n), np.float32)
        kernels.bernoulli(middle[None].astype(np.float32), random_stream(seed), bits)
        below = bits[0] == 1
        high, low = np.where(below, middle, high), np.where(below, low, middle)
    return (low + high) / 2


def test_draws_are_uniform_and_independent():
    u = uniforms(0, 100_000)
    assert kstest(u, "uniform").pvalue > 1e-3
    pairs = (u[:-1] * 16).astype(int) * 16 + (u[1:] * 16).astype(int)
    assert chisquare(np.bincount(pairs, minlength=256)).pvalue > 1e-3
    other = uniforms(1, 100_000)
    pairs = (u * 16).astype(int) * 16 + (other * 16).astype(int)
    assert chisquare(np.bincount(pairs, minlength=256)).pvalue > 1e-3


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 9))
def test_stream_does_not_depend_on_the_shape_and_goes_on(seed, n_rows, n_columns):
    size = n_rows * n_columns
    half = np.full((1, 2 * size), 0.5, np.float32)
    at_once, first, second = (np.empty_like(half) for _ in range(3))
    kernels.bernoulli(half, random_stream(seed), at_once)
    stream = random_stream(seed)
    first, second = np.empty((2, n_rows, n_columns), np.float32)
    kernels.bernoulli(half[:, :size].reshape(n_rows, n_columns), stream, first)
    kernels.sample(np.zeros_like(first), np.zeros(n_columns, "f4"), stream, second)
    assert_array_equal(at_once.ravel(), np.append(first, second))


def test_sample_draws_with_the_probabilities_of_the_logits():
    logits, bias = table(0, 40, 2.0), table(1, 40, 1.0)
    rows = np.tile(logits, (20_000, 1))
    kernels.sample(rows, bias, random_stream(0), rows)
    p = expit(logits.astype(np.float64) + bias)
    z = (rows.mean(axis=0) - p) / np.sqrt(p * (1 - p) / len(rows))
    assert np.abs(z).max() < 4.0
    assert 0.6 < z.std() < 1.5


def test_rows_are_drawn_several_times_by_one_stream_or_several():
    p = expit(table(0, (3, 5), 2.0)).astype(np.float32)
    found, expected = np.empty((2, 12, 5), np.float32)
    kernels.bernoulli(p, random_stream(0), found)
    kernels.bernoulli(np.repeat(p, 4, axis=0), random_stream(0), expected)
    assert_array_equal(found, expected)
    streams = random_stream(0).repeat(3)
    kernels.bernoulli(p, streams, found)
    for k in range(3):
        kernels.bernoulli(
            np.repeat(p[k : k + 1], 4, axis=0), random_stream(0), expected[:4]
        )
        assert_array_equal(found[4 * k : 4 * k + 4], expected[:4])
    again = random_stream(0)
    kernels.bernoulli(p[:1], again, expected[:4])
    assert_array_equal(streams, again.repeat(3))


def test_certain_bits_are_certain():
    p = np.tile(np.array([0.0, 1.0], np.float32), (50_000, 1))
    bits = np.empty_like(p)
    kernels.bernoulli(p, random_stream(0), bits)
    assert_array_equal(bits, p)


# ------------------------------------------------------------------------ training


def test_hidden_pass_is_what_its_docstring_says():
    logits, bias, offset = table(0, (9, 21)), table(1, 21), table(2, 21, 0.3)
    row_weight = table(3, 9, 1.0)
    residual, bits = np.empty((10, 21), np.float32), np.empty((4, 21), np.float32)
    lead = np.empty(21, np.float32)
    kernels.hidden_pass(
        logits, bias, offset, row_weight, 4, random_stream(5), residual, bits, lead
    )
    q = row_weight[:, None] * (expit(logits.astype(np.float64) + bias) - offset)
    assert_allclose(residual[1:], q, rtol=1e-5, atol=1e-6)
    assert_allclose(residual[0], q.sum(axis=0), rtol=1e-4, atol=1e-5)
    assert_allclose(lead, q[4:].sum(axis=0), rtol=1e-4, atol=1e-5)
    same = np.empty_like(bits)
    kernels.sample(logits[:4], bias, random_stream(5), same)
    assert_array_equal(bits, same)


def test_anneal_weighs_and_draws():
    logits, bias, base = table(0, (5, 30)), table(1, (1, 30)), table(2, (1, 30))
    weight, bits = np.full(5, 2.0), np.empty((5, 30), np.float32)
    before, after = np.float32(0.25), np.float32(0.75)
    kernels.anneal(logits, bias, base, before, after, random_stream(0), weight, bits)
    target = logits.astype(np.float64) + bias
    old, new = (base + t * (target - base) for t in (before, after))
    exact = 2.0 + (softplus(new) - softplus(old)).sum(axis=1)
    assert_allclose(weight, exact, rtol=1e-5)
    same, zero = np.empty_like(bits), np.zeros(30, np.float32)
    kernels.sample(new.astype(np.float32), zero, random_stream(0), same)
    assert_array_equal(bits, same)


def test_each_row_of_ordered_units_has_random_numbers_of_its_own():
    n_rows, n = 5, 7
    logits, zeros = np.zeros((n_rows, n), np.float32), np.zeros(n, np.float32)
    state = random_stream(0)
    start = state[0]
    kernels.ordered_pass(
        logits, zeros, np.full(n, np.log(2)), 0.0, np.float32(1), state,
        np.zeros_like(logits), np.zeros_like(logits), np.zeros(n, np.float32),
        np.zeros(n + 1),
    )  # fmt: skip
    # One for the order, and one for each unit.
    with np.errstate(over="ignore"):
        assert state[0] == start + kernels._STEP * np.uint64(n_rows * (n + 1))
