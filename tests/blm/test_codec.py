"""Weights as codes: the grid, the Gray code, the bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from skmohn.blm._codec import code_range, encode, gray_bits, grid_step, pack, unpack

ALL_BITS = range(2, 25)


@st.composite
def some_codes(draw):
    n_bits = draw(st.integers(2, 24))
    code = st.integers(-(2 ** (n_bits - 1)), 2 ** (n_bits - 1) - 1)
    codes = draw(st.lists(code, min_size=1, max_size=30))
    return np.array(codes, dtype=np.int32), n_bits


@pytest.mark.parametrize("n_bits", ALL_BITS)
def test_largest_code_is_the_largest_weight(n_bits):
    low, high = code_range(n_bits)
    assert high - low + 1 == 2**n_bits
    assert low == -high - 1
    assert high * grid_step(n_bits, 6.0) == pytest.approx(6.0)


def test_step_of_the_papers_equation_one():
    assert grid_step(8, 1.0) == 1 / 127
    assert grid_step(12, 6.0) == 6 / 2047
    assert grid_step(2, 0.5) == 0.5
    # One bit has no positive code; the step is still a number.
    assert grid_step(1, 0.5) == 0.5


@given(some_codes(), st.floats(0.01, 100))
def test_codes_survive_their_weights(codes_and_bits, w_max):
    codes, n_bits = codes_and_bits
    found = encode(codes * grid_step(n_bits, w_max), n_bits, w_max)
    assert found.dtype == np.int32
    assert_array_equal(found, codes)


@given(
    st.integers(2, 24),
    st.floats(0.1, 10),
    st.lists(st.floats(-1, 1), min_size=1, max_size=20),
)
def test_weights_are_rounded_to_the_nearest_grid_point(n_bits, w_max, fractions):
    weights = w_max * np.array(fractions)
    step = grid_step(n_bits, w_max)
    differences = np.abs(encode(weights, n_bits, w_max) * step - weights)
    assert differences.max() <= step / 2 * (1 + 1e-9)


def test_weights_beyond_the_range_are_clipped():
    for n_bits in ALL_BITS:
        low, high = code_range(n_bits)
        assert_array_equal(encode([-50.0, 50.0], n_bits, 1.0), [low, high])


@pytest.mark.parametrize("n_bits", range(2, 11))
def test_gray_codes_of_adjacent_numbers_differ_in_one_bit(n_bits):
    low, high = code_range(n_bits)
    bits = gray_bits(np.arange(low, high + 1), n_bits)
    assert bits.shape == (2**n_bits, n_bits)
    assert bits.dtype == np.uint8
    assert len(np.unique(bits, axis=0)) == 2**n_bits
    changes = (bits != np.roll(bits, 1, axis=0)).sum(axis=1)
    # From the largest code to the smallest too: the code is cyclic.
    assert_array_equal(changes, 1)


def test_gray_code_of_three_bits():
    found = [
        "".join(map(str, row)) for row in gray_bits([0, 1, 2, 3, -4, -3, -2, -1], 3)
    ]
    assert found == ["000", "001", "011", "010", "110", "111", "101", "100"]


@given(some_codes())
def test_packed_codes_come_back(codes_and_bits):
    codes, n_bits = codes_and_bits
    packed = pack(codes, n_bits)
    assert isinstance(packed, bytes)
    assert len(packed) == -(-len(codes) * n_bits // 8)
    found = unpack(packed, len(codes), n_bits)
    assert found.dtype == np.int32
    assert_array_equal(found, codes)


@pytest.mark.parametrize("n_bits", ALL_BITS)
def test_extreme_codes_come_back(n_bits):
    low, high = code_range(n_bits)
    codes = np.array([low, high, 0, -1, 1, low + 1])
    assert_array_equal(unpack(pack(codes, n_bits), 6, n_bits), codes)


def test_bytes_are_those_of_the_gray_bits():
    codes = np.array([3, -4, 1])
    text = "".join(map(str, gray_bits(codes, 3).ravel()))
    assert text == "010110001"
    whole = int.from_bytes(pack(codes, 3), "big")
    assert whole == int(text, 2) << 7
