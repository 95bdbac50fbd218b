"""The simulated genome scan: frequencies, correlations and proportions of variance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn.datasets import make_gwas


def test_frequencies_correlations_and_missing_values():
    scan = make_gwas(
        100,
        20_000,
        n_pairs=1,
        block_size=10,
        correlation=0.95,
        missing=0.02,
        random_state=0,
    )
    counts = scan.X.counts()
    assert_allclose(np.nanmean(counts, axis=0) / 2, scan.frequencies, atol=0.015)
    assert_allclose(np.isnan(counts).mean(), 0.02, atol=0.001)
    filled = np.where(np.isnan(counts), np.nanmean(counts, axis=0), counts)
    square = np.corrcoef(filled.T) ** 2
    same = scan.blocks[:, None] == scan.blocks
    near = np.abs(np.subtract.outer(np.arange(100), np.arange(100))) == 1
    assert square[same & near].min() > 0.4
    assert square[~same].max() < 0.01
    assert scan.frequencies.min() >= 0.1
    assert scan.frequencies.max() <= 0.5


def test_proportions_of_variance_and_no_main_effects_of_pairs():
    scan = make_gwas(
        200,
        40_000,
        n_pairs=3,
        n_main_effects=2,
        pair_variance=0.1,
        missing=0.0,
        random_state=1,
    )
    spread = np.sqrt(2 * scan.frequencies * (1 - scan.frequencies))
    standard = (scan.X.counts() - 2 * scan.frequencies) / spread
    columns = np.stack([standard[:, list(term)].prod(axis=1) for term in scan.terms])
    assert_allclose(scan.y.var(), 1.0, atol=0.03)
    assert_allclose(columns @ scan.y / 40_000, scan.weights, atol=0.03)
    assert_allclose(scan.weights**2, [0.05] * 2 + [0.1] * 3)
    members = [i for term in scan.terms[2:] for i in term]
    assert np.abs(standard[:, members].T @ scan.y / 40_000).max() < 0.03


def test_pairs_with_single_effects_cases_and_seeds():
    options = {"n_pairs": 2, "n_main_effects": 1, "n_pairs_with_main_effects": 1}
    scan = make_gwas(100, 50, **options, case_control=True, random_state=0)
    singles, pairs = scan.terms[:3], scan.terms[3:]
    assert len({scan.blocks[i] for pair in pairs for i in pair}) == 4
    assert sum({(i,) for i in pair} <= set(singles) for pair in pairs) == 1
    assert set(scan.y) == {0.0, 1.0}
    X, y = make_gwas(
        100, 50, **options, case_control=True, random_state=0, return_X_y=True
    )
    assert_array_equal(X.counts(), scan.X.counts())
    assert_array_equal(y, scan.y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pair_variance": 0.3}, "must be less than 1"),
        (
            {"n_pairs_with_main_effects": 6, "main_effect_variance": 0.01},
            "is more than n_pairs=5",
        ),
        ({"block_size": 100}, "are 10 blocks, fewer than the 15 variants"),
    ],
)
def test_impossible_scans(options, message):
    with pytest.raises(ValueError, match=message):
        make_gwas(**options)
