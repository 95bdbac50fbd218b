"""Compiled kernels against numpy, for every number of samples mod 64."""

import itertools

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from skmohn._core._walsh import flatten_sets
from skmohn.mohn._design import product_kernels as _kernels
from skmohn.mohn._design.design import pack_signs

SETS = [(), (0,), (3,), (0, 1), (2, 4), (0, 2, 3), (1, 2, 3, 4), (0, 1, 2, 3, 4)]
# All remainders mod 64 twice, and both sides of the blocks of 512 samples.
SIZES = [*range(1, 131), *range(508, 517), 1023, 1024, 1025]


def signs_and_columns(n_samples, n_features=5):
    """Random signs, and the products of SETS as a table of shape (n_sets, D)."""
    rng = np.random.default_rng(n_samples)
    signs = rng.choice([-1.0, 1.0], (n_samples, n_features))
    columns = np.stack([signs[:, list(members)].prod(axis=1) for members in SETS])
    return rng, signs, columns


def packed(signs):
    """The words of all inputs, and those of SETS by the kernel."""
    bits = pack_signs(np.ascontiguousarray(signs.T))
    words = np.full((len(SETS), bits.shape[1]), 123, dtype=np.uint64)
    _kernels.packed_columns(bits, *flatten_sets(SETS), words)
    return bits, words


def unpack(words, n_samples):
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    assert not bits[:, n_samples:].any(), "the padding is not empty"
    return 1.0 - 2.0 * bits[:, :n_samples]


# What is for other kernels can not be called from Python.
@njit
def popcount(word):
    return _kernels._popcount(word)


@njit
def offer(score, parent, last, scores, sets, size):
    return _kernels._offer(score, parent, last, scores, sets, size)


@pytest.mark.parametrize(
    "word", [0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF, 2**40 - 3]
)
def test_popcount(word):
    assert popcount(np.uint64(word)) == bin(word).count("1")


def test_popcount_of_random_words():
    words = np.random.default_rng(0).integers(2**64, size=200, dtype=np.uint64)
    found = [int(popcount(word)) for word in words]
    assert found == [int(word).bit_count() for word in words]


@pytest.mark.parametrize("n_samples", SIZES)
def test_packed_kernels_are_dense_arithmetic(n_samples):
    rng, signs, columns = signs_and_columns(n_samples)
    bits, words = packed(signs)
    assert bits.shape[1] % 8 == 0
    assert_array_equal(unpack(words, n_samples), columns)

    gram = np.empty((3, len(SETS)))
    _kernels.packed_gram(words[2:5], words, False, n_samples, gram)
    assert_array_equal(gram, columns[2:5] @ columns.T)
    # More columns than a tile holds.
    many, numbers = np.tile(words, (12, 1)), np.tile(columns, (12, 1))
    assert len(many) > 2 * _kernels._TILE
    gram = np.empty((2, len(many), len(many)))
    _kernels.packed_gram(many, many, False, n_samples, gram[0])
    _kernels.packed_gram(many, many, True, n_samples, gram[1])
    for each in gram:
        assert_array_equal(each, numbers @ numbers.T)

    vector = rng.standard_normal(n_samples)
    padded = np.zeros(64 * bits.shape[1])
    padded[:n_samples] = vector
    projection = np.empty(len(SETS))
    _kernels.packed_project(words, padded, projection)
    assert_allclose(projection, columns @ vector, atol=1e-11)

    coef = rng.standard_normal(len(SETS))
    total = np.full(len(padded), 0.5)
    _kernels.packed_combine(words, coef, total)
    assert_allclose(total[:n_samples], 0.5 + coef @ columns, atol=1e-12)


def test_no_sets_and_empty_sets():
    bits = pack_signs(np.ones((3, 70)))
    nothing = np.empty((0, 8), dtype=np.uint64)
    _kernels.packed_columns(bits, *flatten_sets([]), nothing)
    total = np.ones(512)
    _kernels.packed_combine(nothing, np.empty(0), total)
    assert_array_equal(total, 1.0)


@pytest.mark.parametrize("n_samples", [1, 2, 63, 64, 65, 200])
def test_dense_columns(n_samples):
    rng = np.random.default_rng(n_samples)
    inputs = rng.uniform(-1, 1, (5, n_samples))
    columns = np.empty((len(SETS), n_samples))
    _kernels.dense_columns(inputs, *flatten_sets(SETS), columns)
    expected = [inputs[list(members)].prod(axis=0) for members in SETS]
    assert_allclose(columns, expected, atol=1e-15)


@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 50, 60])
def test_heap_keeps_the_best(capacity):
    rng = np.random.default_rng(capacity)
    offered = rng.permutation(50).astype(float)
    scores = np.empty(capacity)
    sets = np.empty((capacity, 3), dtype=np.int32)
    size = 0
    for i, score in enumerate(offered):
        parent = np.arange(i % 3, dtype=np.int32)
        size = offer(score, parent, i, scores, sets, size)
        if size == capacity:
            assert scores[0] == scores.min()
    assert size == min(capacity, 50)
    best = np.sort(offered)[::-1][:size]
    assert_array_equal(np.sort(scores[:size])[::-1], best)
    for score, members in zip(scores[:size], sets[:size], strict=True):
        # The right set went along with each score.
        i = int(np.flatnonzero(offered == score)[0])
        assert members[members >= 0].tolist() == [*range(i % 3), i]


def tried(screen, inputs, *args):
    """Sets that a screening of real inputs with room for all of them goes through."""
    scores = np.empty(60)
    sets = np.empty((60, 3), dtype=np.int32)
    n_samples = inputs.shape[1]
    residual = np.random.default_rng(1).standard_normal(n_samples)
    weights, row = np.ones(n_samples), np.empty(len(inputs))
    size = screen(inputs, *args, residual, weights, float(n_samples), row, scores, sets)
    return sorted(tuple(int(i) for i in row if i >= 0) for row in sets[:size])


def test_every_extension_of_a_parent_by_something_new_is_tried():
    inputs = np.random.default_rng(0).uniform(-1, 1, (5, 20))
    parents = [(0, 2), (1, 4), (2, 3)]
    columns = np.stack([inputs[list(parent)].prod(axis=0) for parent in parents])
    found = tried(_kernels.screen_dense, inputs, columns, *flatten_sets(parents))
    assert found == sorted(
        (*parent, i)
        for parent, i in itertools.product(parents, range(5))
        if i not in parent
    )


@pytest.mark.parametrize("n_features", [3, 4, 6])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_every_set_of_an_order_is_tried_once(order, n_features):
    inputs = np.random.default_rng(0).uniform(-1, 1, (n_features, 20))
    first, stems = np.arange(order - 1, dtype=np.int32), np.ones((order, 20))
    found = tried(_kernels.screen_order_dense, inputs, first, stems)
    assert found == list(itertools.combinations(range(n_features), order))
