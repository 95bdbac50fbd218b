"""Packed genotypes: there and back, and estimators that search them as they are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn import Genotypes, MOHNRegressor
from skmohn.datasets import make_genome_scan


@pytest.fixture(scope="module")
def scan():
    return make_genome_scan(
        60,
        400,
        n_pairs=2,
        n_singles=2,
        pair_share=0.15,
        single_share=0.15,
        block_size=5,
        random_state=0,
    )


@pytest.fixture(scope="module")
def model(scan):
    return MOHNRegressor("pursuit", max_order=2, random_state=0).fit(scan.X, scan.y)


def test_counts_there_and_back():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (70, 5)).astype(float)
    assert Genotypes.from_counts(counts).known is None
    counts[rng.random(counts.shape) < 0.2] = np.nan
    genotypes = Genotypes.from_counts(counts, names=list("abcde"))
    assert_array_equal(genotypes.counts(), counts)
    assert_array_equal(genotypes[[5, 5, 2]].counts([4]), counts[[5, 5, 2]][:, [4]])
    assert_array_equal(genotypes[counts[:, 0] == 2].counts(), counts[counts[:, 0] == 2])
    joined = Genotypes.join([genotypes, Genotypes.from_counts(counts[:, :2])])
    assert_array_equal(joined.counts(), np.hstack([counts, counts[:, :2]]))
    assert repr(joined) == "<Genotypes: 70 rows, 7 columns, additive>"


def test_a_fit_finds_singles_and_pairs(scan, model):
    assert model.terms_ == scan.terms
    assert model.feature_names_in_[3] == "rs3"
    # Weights are of counts less their means.
    spread = np.sqrt(2 * scan.frequencies * (1 - scan.frequencies))
    weights = scan.weights / [np.prod(spread[list(term)]) for term in scan.terms]
    assert_allclose(model.weights_, weights, atol=0.35)


def test_predictions_are_those_of_centred_counts(scan, model):
    counts = scan.X.counts()
    centred = np.nan_to_num(counts - np.nanmean(counts, axis=0))
    expected = model.intercept_ + sum(
        weight * centred[:, list(term)].prod(axis=1)
        for term, weight in zip(model.terms_, model.weights_, strict=True)
    )
    assert_allclose(model.predict(scan.X), expected)
    assert_allclose(model.predict(scan.X[:7]), expected[:7])
    by_least_squares = np.column_stack(
        [np.ones(400), *(centred[:, list(t)].prod(axis=1) for t in model.terms_)]
    )
    weights = np.linalg.lstsq(by_least_squares, scan.y)[0]
    assert_allclose(model.weights_, weights[1:])


def test_indicators_of_heterozygotes():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (300, 8)).astype(float)
    y = (counts[:, 2] == 1) * 2.0 + counts[:, 5] + 0.2 * rng.standard_normal(300)
    both = Genotypes.from_counts(counts, coding="both", names=list("abcdefgh"))
    assert both.shape == (300, 16)
    model = MOHNRegressor("pursuit", max_order=1).fit(both, y)
    assert model.structure_table()["term"].tolist()[:2] == ["c (het)", "f"]
    weights = dict(zip(model.terms_, model.weights_, strict=True))
    assert_allclose([weights[5,], weights[10,]], [1.0, 2.0], atol=0.1)
    dominance = Genotypes.from_counts(counts, coding="dominance")
    assert MOHNRegressor("pursuit", max_order=1).fit(dominance, y).terms_.count((2,))


def test_columns_that_do_not_vary_and_given_terms(scan):
    counts = scan.X.counts()
    counts[:, 7] = 1.0
    counts[:, 9] = np.nan
    genotypes = Genotypes.from_counts(counts)
    model = MOHNRegressor("given", terms=[(8,), (8, 10)]).fit(genotypes, scan.y)
    assert model.coding_.kind[[7, 8, 9]].tolist() == ["constant", "numeric", "constant"]
    assert model.terms_ == [(8,), (8, 10)]
    assert np.isfinite(model.predict(genotypes)).all()


def test_held_out_genotypes(scan):
    model = MOHNRegressor("pursuit", max_order=2)
    model.fit(scan.X[:300], scan.y[:300], X_val=scan.X[300:], y_val=scan.y[300:])
    assert set(scan.terms[2:]) <= set(model.terms_)
    assert "validation" in model.stopping_reason_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 3]], r"counts has 3 in row 0 of column 1"),
        ([[0.5, 1]], r"counts has 0.5 in row 0 of column 0"),
        ([0, 1, 2], r"must be a table of samples by variants"),
    ],
)
def test_tables_that_are_no_counts(given, message):
    with pytest.raises(ValueError, match=message):
        Genotypes.from_counts(given)


def test_what_cannot_be_done(scan, model):
    with pytest.raises(ValueError, match="coding must be one of"):
        Genotypes.from_counts([[0, 1]], coding="recessive")
    with pytest.raises(ValueError, match="names has 1 names for 2 variants"):
        Genotypes.from_counts([[0, 1]], names=["a"])
    with pytest.raises(ValueError, match="strategy='auto' takes no Genotypes"):
        MOHNRegressor().fit(scan.X, scan.y)
    with pytest.raises(ValueError, match="sample_weight: Genotypes take none"):
        MOHNRegressor("pursuit").fit(scan.X, scan.y, np.arange(400) + 1.0)
    with pytest.raises(ValueError, match="X has 1, and MOHNRegressor needs two"):
        MOHNRegressor("pursuit").fit(scan.X[:1], [0.0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MOHNRegressor("pursuit").fit(scan.X, scan.y[:5])
    with pytest.raises(ValueError, match="X has 5 columns, but MOHNRegressor was"):
        model.predict(Genotypes.from_counts(np.zeros((3, 5))))
    others = Genotypes.from_counts(scan.X.counts(), names=[f"v{j}" for j in range(60)])
    with pytest.raises(ValueError, match="X has other names of columns"):
        model.predict(others)
    with pytest.raises(ValueError, match="same rows"):
        Genotypes.join([scan.X, scan.X[:3]])
