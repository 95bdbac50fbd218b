"""The best pairs of columns, against all pairs there are."""

import sys
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skmohn.mohn._design import pair_screening as _pairs
from skmohn.mohn._design.design import DenseDesign, PackedDesign
from skmohn.mohn._design.pair_screening import best_pairs

KINDS = ["packed", "skewed", "gp", "weighted"]


def problem(kind, n_samples=70, n_features=150, seed=0):
    """A design, its inputs and weights; the first column is constant."""
    rng = np.random.default_rng([seed, n_samples, n_features])
    inputs = rng.choice([-1.0, 1.0], (n_samples, n_features))
    if kind == "skewed":
        inputs[:, ::2] = np.where(rng.uniform(size=inputs[:, ::2].shape) < 0.8, 1, -1)
    elif kind != "packed":
        inputs = rng.uniform(-1, 1, inputs.shape)
    inputs[:, 0] = 1.0
    if kind in ("packed", "skewed"):
        return PackedDesign(inputs), inputs, np.ones(n_samples)
    weights = np.ones(n_samples) if kind == "gp" else rng.uniform(0.5, 2, n_samples)
    return DenseDesign(inputs, weights), inputs, weights


def some_residuals(n_samples, n_residuals=3, seed=0):
    """The second is of a fold, whose other samples take no part."""
    residuals = np.random.default_rng(seed).standard_normal((n_residuals, n_samples))
    if n_residuals > 1:
        residuals[1, : n_samples // 3] = 0.0
    return residuals


def scores_of_all(design, inputs, weights, residual):
    """Every pair, and the length of the residual's part along its centered product."""
    pairs = np.column_stack(np.triu_indices(inputs.shape[1], 1))
    products = inputs[:, pairs[:, 0]] * inputs[:, pairs[:, 1]]
    products -= np.average(products, axis=0, weights=weights)
    lengths = np.sqrt(weights @ products**2)
    found = np.abs((weights * design.round(residual)) @ products)
    return pairs, found / np.where(lengths > 1e-6, lengths, np.inf)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 40, 100_000])
def test_the_best_of_all_pairs_are_kept(kind, size):
    design, inputs, weights = problem(kind)
    residuals = some_residuals(len(inputs))
    for residual, kept in zip(
        residuals, best_pairs(design, residuals, size), strict=True
    ):
        pairs, scores = scores_of_all(design, inputs, weights, residual)
        scores[scores < 1e-12] = 0.0
        size = min(size, np.count_nonzero(scores))
        assert_allclose(kept.scores, np.sort(scores)[::-1][:size], rtol=1e-5, atol=1e-6)
        known = {tuple(pair): score for pair, score in zip(pairs, scores, strict=True)}
        own = [known[tuple(pair)] for pair in kept.pairs]
        assert_allclose(own, kept.scores, rtol=1e-5, atol=1e-6)
        assert len({tuple(pair) for pair in kept.pairs}) == size
        assert kept.floor == (kept.scores.min() if size == 40 or size == 1 else 0.0)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(2, 150), st.integers(3, 200), st.integers(1, 500), st.integers(0, 99)
)
def test_any_shape(n_features, n_samples, size, seed):
    design, inputs, weights = problem("packed", n_samples, n_features, seed)
    residuals = some_residuals(n_samples, 2, seed)
    for residual, kept in zip(
        residuals, best_pairs(design, residuals, size), strict=True
    ):
        scores = scores_of_all(design, inputs, weights, residual)[1]
        expected = np.sort(scores[scores > 1e-12])[::-1][:size]
        assert_allclose(kept.scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_and_workers_make_no_difference(kind, replace_constants):
    design, inputs, _ = problem(kind, n_features=300)
    # Few steps: many pairs score the same.
    residuals = np.sign(some_residuals(len(inputs)))
    whole = best_pairs(design, residuals, 500)
    for per_part, most in ((1, 10**6), (9000, 3)):
        replace_constants(_pairs, n_pairs_per_part=per_part)
        replace_constants(_pairs, max_parts=most)
        parts = _pairs._parts_of(300)
        assert len(parts) > 2
        assert [row for part in parts for row in part] == list(range(300))
        for n_jobs in (None, 2):
            ended = []
            found = best_pairs(
                design,
                residuals,
                500,
                n_jobs=n_jobs,
                on_part=lambda ended=ended: ended.append(1),
            )
            for one, other in zip(whole, found, strict=True):
                assert_array_equal(one.pairs, other.pairs)
                assert_array_equal(one.scores, other.scores)
                assert one.floor == other.floor
            assert len(ended) == _pairs.count_parts(300) == len(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_backends_learn_that_what_parts_share_is_large(kind):
    design, inputs, _ = problem(kind)
    common = _pairs._Pass(design, design.compare(some_residuals(len(inputs))))
    # joblib's dask backend sends what is larger than 1000 bytes to a worker once.
    assert sys.getsizeof(common) >= inputs.size / 8
    # It keeps it by a weak reference.
    assert weakref.ref(common)() is common
