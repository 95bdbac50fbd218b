"""Bit planes of three values against dense numpy, and screening against all sets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skmohn._core._bits import pack_bits, row_bits, unpack_bits
from skmohn.mohn._design import plane_design as _plane_design
from skmohn.mohn._design import plane_kernels as _kernels
from skmohn.mohn._design.design import DenseDesign
from skmohn.mohn._design.pair_screening import best_pairs
from skmohn.mohn._design.plane_design import PlaneDesign, Planes

# All remainders mod 64, and both sides of the blocks of 512 samples.
SIZES = [*range(1, 66), 127, 128, 129, *range(510, 515), 1025]


def genotypes(n_samples, n_columns=5, missing=0.1, seed=0):
    """Counts less 1, with NaN for missing values."""
    rng = np.random.default_rng([seed, n_samples])
    frequency = rng.uniform(0.1, 0.5, n_columns)
    counts = rng.binomial(2, frequency, (n_samples, n_columns)) - 1.0
    counts[rng.random(counts.shape) < missing] = np.nan
    return counts


def bits_of(codes):
    """Sign, nonzero and known."""
    return tuple(
        pack_bits(part.T) for part in (codes < 0, np.abs(codes) == 1, codes == codes)
    )


def centered(codes):
    """Planes less the means of what is known, and the same as numbers."""
    known = ~np.isnan(codes)
    centers = np.nansum(codes, axis=0) / np.maximum(known.sum(axis=0), 1)
    planes = Planes.around(*bits_of(codes), centers, len(codes))
    return planes, np.where(known, codes - centers, 0.0)


def scored(planes, residuals):
    """Scores of all pairs as tiles of a table, and residuals as they are compared."""
    design = PlaneDesign(planes)
    n = design.n_features
    padded = -(-n // 64) * 64
    scores = np.full((len(residuals), n, padded), np.nan, dtype=np.float32)
    compared = design.compare(residuals)
    for top in range(0, n, 64):
        first = range(top, min(top + 64, n))
        part = scores[:, first.start : first.stop, top:]
        found = np.ascontiguousarray(part)
        lowest = np.zeros(len(residuals), dtype=np.float32)
        design.scorer(compared)(first)(range(top, n), lowest, found)
        part[:] = found
    rounded = np.stack([design.round(residual) for residual in residuals])
    return scores[:, :, :n], rounded


def dense_scores(dense, residuals):
    """Lengths of residuals along centered products of all pairs."""
    products = np.einsum("di,dj->ijd", dense, dense)
    products -= products.mean(axis=2, keepdims=True)
    length = np.sqrt((products**2).sum(axis=2))
    length[length < 1e-4 * np.sqrt(len(dense))] = np.inf
    return np.abs(products @ residuals.T).transpose(2, 0, 1) / length


@pytest.mark.parametrize("n_samples", SIZES)
def test_pairs_of_planes_equal_dense_products_with_gaps_as_zero_bits(n_samples):
    codes = genotypes(n_samples)
    sign, nonzero, _ = bits_of(codes)
    dense = np.nan_to_num(codes)
    sums = np.empty((5, 2))
    _kernels.plane_sums(sign, nonzero, sums)
    assert_array_equal(sums, np.stack([dense.sum(axis=0), (dense**2).sum(axis=0)], 1))
    planes = Planes(n_samples, sign, nonzero, np.zeros(5))
    assert_array_equal(np.asarray(planes), dense)
    residuals = np.random.default_rng(n_samples).standard_normal((2, n_samples))
    found, rounded = scored(planes, residuals)
    expected = dense_scores(dense, rounded)
    upper = np.triu_indices(5, 1)
    for r in range(2):
        assert_allclose(found[r][upper], expected[r][upper], atol=2e-5)


@settings(max_examples=25, deadline=None)
@given(
    n_samples=st.integers(2, 700),
    n_columns=st.integers(2, 140),
    n_residuals=st.integers(1, 3),
    seed=st.integers(0, 999),
)
def test_pairs_of_centered_columns(n_samples, n_columns, n_residuals, seed):
    codes = genotypes(n_samples, n_columns, missing=0.0, seed=seed)
    planes, dense = centered(codes)
    rng = np.random.default_rng(seed)
    residuals = rng.standard_normal((n_residuals, n_samples))
    # Samples that take no part.
    residuals[0, ::3] = 0.0
    found, rounded = scored(planes, residuals)
    expected = dense_scores(dense, rounded)
    upper = np.triu_indices(n_columns, 1)
    for r in range(n_residuals):
        assert_allclose(found[r][upper], expected[r][upper], atol=2e-4)


def test_few_gaps_of_centered_columns_hardly_change_a_score():
    planes, dense = centered(genotypes(600, 20, missing=0.02))
    residuals = np.random.default_rng(0).standard_normal((1, 600))
    found, rounded = scored(planes, residuals)
    off = found - dense_scores(dense, rounded)
    upper = np.triu_indices(20, 1)
    # In standard deviations.
    assert np.abs(off[0][upper]).max() < 0.35


@pytest.mark.parametrize("n_samples", [1, 63, 64, 65, 300, 513])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_values_less_their_centers(n_samples, missing):
    codes = genotypes(n_samples, missing=missing)
    planes, dense = centered(codes)
    assert planes.shape == dense.shape
    assert_allclose(planes.values(range(5)), dense.T, atol=1e-15)
    rows = np.random.default_rng(0).permutation(n_samples)[: n_samples // 2 + 1]
    assert_allclose(
        planes.take(rows).values([3, 1]), dense[rows][:, [3, 1]].T, atol=1e-15
    )
    mask = np.arange(n_samples) % 2 == 0
    assert_allclose(planes[mask].values([2]), dense[mask][:, [2]].T, atol=1e-15)


def test_bits_there_and_back():
    bits = np.random.default_rng(0).random((3, 77)) < 0.5
    assert_array_equal(unpack_bits(pack_bits(bits), 77), bits)
    assert_array_equal(unpack_bits(row_bits(77)[None], 77), np.ones((1, 77)))
    assert np.bitwise_count(row_bits(77)).sum() == 77


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_best_sets_are_those_of_dense_columns(order, missing):
    planes, dense = centered(genotypes(600, 30, missing=missing))
    design, expected = PlaneDesign(planes), DenseDesign(dense)
    residual = np.random.default_rng(order).standard_normal(600)
    truth = [(3,), (4, 17), (2, 9, 20)][order - 1]
    residual += 0.7 * dense[:, list(truth)].prod(axis=1) / 0.5**order
    residual -= residual.mean()
    found = design.screen(residual, order, 20)
    assert found[0] == truth
    same = expected.screen(residual, order, 20)
    if order != 2:
        assert found == same
    else:
        # Pairs are ranked by a residual in few steps.
        assert len(set(found) & set(same)) >= 12
        kept = best_pairs(design, residual[None], 20)[0]
        assert [tuple(pair) for pair in kept.pairs.tolist()] == found


def test_children_of_given_sets():
    planes, dense = centered(genotypes(500, 12))
    design, expected = PlaneDesign(planes), DenseDesign(dense)
    residual = np.random.default_rng(0).standard_normal(500)
    residual -= residual.mean()
    parents = [(1, 4), (2, 3), (5,)]
    columns = design.columns(parents)
    found = design.screen_children(residual, parents, columns, 15)
    same = expected.screen_children(residual, parents, columns, 15)
    assert found == same[:15]


@pytest.mark.parametrize("n_samples", SIZES)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_products_of_any_length(n_samples, missing):
    planes, dense = centered(genotypes(n_samples, missing=missing))
    sets = [(), (2,), (0, 3), (1, 2, 4)]
    expected = [np.prod(dense[:, list(s)], axis=1) for s in sets]
    assert_allclose(PlaneDesign(planes).columns(sets), expected, atol=1e-14)


def test_columns_and_first_equal():
    codes = genotypes(70, 4)
    codes = np.column_stack([codes, codes[:, 1]])
    planes, dense = centered(codes)
    design = PlaneDesign(planes)
    sets = [(), (2,), (0, 3), (1, 2, 4)]
    assert_allclose(design.columns(sets), DenseDesign(dense).columns(sets), atol=1e-14)
    assert design.first_equal.tolist() == [0, 1, 2, 3, 1]
    some = design.take(np.arange(5, 40))
    assert_allclose(some.columns(sets), design.columns(sets)[:, 5:40], atol=1e-14)


def test_distinct_rows_are_numbered():
    codes = genotypes(50, 6, missing=0.2)
    codes[7] = codes[3]
    planes, _ = centered(codes)
    numbers = planes.number_rows()
    assert numbers[7] == numbers[3]
    assert numbers.max() + 1 == len(np.unique(np.nan_to_num(codes, nan=9.0), axis=0))


def test_the_best_of_many_offers_are_those_of_all_at_once():
    rng = np.random.default_rng(0)
    parents = list(itertools.combinations(range(9), 2))
    # Equal scores, and each set as often as it has parents.
    of_set = {
        q: float(rng.integers(1, 12)) for q in itertools.combinations(range(9), 3)
    }
    ranked = sorted(of_set, key=lambda q: (-of_set[q], q))
    for size in (1, 5, 30, 200):
        best = _plane_design._Best(size)
        for k in range(0, len(parents), 4):
            part = parents[k : k + 4]
            scores = np.array(
                [
                    [of_set.get(tuple(sorted({*p, i})), 0.0) for i in range(9)]
                    for p in part
                ]
            )
            best.offer(scores, part, 0)
        found = best.sets()
        assert len(found) == min(size, len(ranked)) == len(set(found))
        assert [of_set[q] for q in found] == [of_set[q] for q in ranked[:size]]
        assert found == sorted(found, key=lambda q: (-of_set[q], q))
    assert _plane_design._Best(3).sets() == []
