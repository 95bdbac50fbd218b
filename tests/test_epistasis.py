"""Two-locus models and the tests of all pairs of the benchmarks are what they claim."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import chi2, ttest_ind
from scipy.stats import f as fisher

from benchmarks.shared import epistasis

MAFS = np.array([0.2, 0.4])


def cells_of(counts, pair):
    """Columns of a constant and of each count of each variant, and of both."""
    first, second = counts[:, list(pair)].T
    single = np.column_stack(
        [np.ones(len(counts)), first == 1, first == 2, second == 1, second == 2]
    )
    return single.astype(float), np.eye(9)[3 * first + second]


def squares_left(columns, y):
    return np.sum((y - columns @ np.linalg.lstsq(columns, y)[0]) ** 2)


@pytest.fixture(scope="module")
def sample():
    return epistasis.sample_trait("multiplicative", 0.1, 2, 300, 6, 0)


def test_pure_tables_have_no_single_effects():
    table = epistasis.pure_table(MAFS, np.random.default_rng(0))
    first, second = map(epistasis.frequencies, MAFS)
    assert_allclose(first @ table, 0.0, atol=1e-12)
    assert_allclose(table @ second, 0.0, atol=1e-12)
    assert np.sum(np.outer(first, second) * table**2) == pytest.approx(1.0)


def test_penetrances_have_the_heritability(monkeypatch):
    table = epistasis.penetrances(0.05, 0.3, np.random.default_rng(0))
    share = np.outer(*2 * [epistasis.frequencies(0.3)])
    prevalence = np.sum(share * table)
    assert 0.0 <= table.min() < table.max() <= 1.0
    variance = np.sum(share * (table - prevalence) ** 2)
    assert variance / (prevalence * (1 - prevalence)) == pytest.approx(0.05)
    monkeypatch.setattr(epistasis, "_MAX_DRAWS", 100)
    with pytest.raises(ValueError, match=r"no pure model has heritability 1\.5"):
        epistasis.penetrances(1.5, 0.3, np.random.default_rng(0))


def test_interactions_of_parameters():
    assert epistasis.interaction("dominant").sum() == 4
    assert epistasis.interaction("recessive")[2, 2] == 1
    assert epistasis.interaction("multiplicative")[2, 1] == 2
    assert epistasis.interaction("additive")[2, 1] == 3


def test_a_disease_depends_on_the_pair_alone():
    drawn = epistasis.sample_disease(0.2, 0.4, 20_000, 4, 0)
    ((first, second),) = drawn.pairs
    assert drawn.y.mean() == 0.5
    cases, controls = (drawn.counts[drawn.y == k] for k in (1, 0))
    for variant in range(4):
        assert ttest_ind(cases[:, variant], controls[:, variant]).pvalue > 0.001
    assert epistasis.boost(drawn.counts, drawn.y).below(0.001) == {(first, second)}


def test_shares_of_the_variance_and_noise():
    drawn = epistasis.sample_trait("dominant", 0.1, 3, 20_000, 8, 0)
    for pair in drawn.pairs:
        _, joint = cells_of(drawn.counts, pair)
        share = 1.0 - squares_left(joint, drawn.y) / np.sum(
            (drawn.y - drawn.y.mean()) ** 2
        )
        assert share == pytest.approx(0.1, abs=0.015)
    skewed = epistasis.sample_trait("dominant", 0.1, 3, 20_000, 8, 0, "skewed").y
    assert np.log(skewed).std() == pytest.approx(1.0, abs=0.05)
    assert epistasis.sample_trait("additive", 0.1, 2, 50, 8, 0).pairs == set()
    rng = np.random.default_rng(0)
    for kind in ("normal", "t2", "contaminated"):
        noise = epistasis.draw_noise(kind, 20_000, rng)
        assert np.median(np.abs(noise)) == pytest.approx(0.6745, abs=0.05)


def test_linear_tests_are_f_tests_of_least_squares(sample):
    y, n = sample.y, len(sample.y)
    products = epistasis.test_products(sample.counts, y)
    tables = epistasis.test_tables(sample.counts, y)
    assert products.pairs.tolist() == tables.pairs.tolist()
    for k, pair in enumerate(products.pairs.tolist()):
        counts = sample.counts[:, pair].astype(float)
        small = np.column_stack([np.ones(n), counts])
        large = np.column_stack([small, counts.prod(axis=1)])
        for found, less, more in (
            (products, small, large),
            (tables, *cells_of(sample.counts, pair)),
        ):
            n_less, n_more = map(np.linalg.matrix_rank, (less, more))
            left = squares_left(more, y)
            ratio = (squares_left(less, y) - left) / (n_more - n_less)
            expected = fisher.sf(
                ratio / (left / (n - n_more)), n_more - n_less, n - n_more
            )
            assert found.p_values[k] == pytest.approx(expected, rel=1e-6)


def test_boost_is_the_likelihood_ratio_of_logistic_regression(sample):
    is_case = (sample.y > np.median(sample.y)).astype(int)
    tests = epistasis.boost(sample.counts, is_case)
    signs = 1.0 - 2.0 * is_case
    for k in (0, 7):
        single, joint = cells_of(sample.counts, tests.pairs[k])
        small = minimize(
            lambda w, own=single: np.logaddexp(0.0, signs * (own @ w)).sum(),
            np.zeros(5),
            method="BFGS",
            options={"gtol": 1e-8},
        ).fun
        sizes = joint.sum(axis=0)
        share = (joint.T @ is_case)[sizes > 0] / sizes[sizes > 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = share * np.log(share) + (1 - share) * np.log(1 - share)
        large = -np.nansum(sizes[sizes > 0] * np.where(share * (1 - share), entropy, 0))
        expected = chi2.sf(2.0 * (small - large), 4)
        assert tests.p_values[k] == pytest.approx(expected, rel=1e-3)


def test_bonferroni():
    tests = epistasis.Tests(np.array([[0, 1], [0, 2]]), np.array([0.03, 0.02]))
    assert tests.below(0.05) == {(0, 2)}


def test_neighbors_are_in_linkage_disequilibrium():
    drawn = epistasis.sample_trait("recessive", 0.1, 2, 20_000, 30, 0, linkage=0.7)
    assert drawn.block_size == epistasis.BLOCK_SIZE == 5
    squares = np.corrcoef(drawn.counts.T) ** 2
    beside = np.diag(squares, 1)
    is_inside = np.arange(1, 30) % 5 > 0
    assert_allclose(beside[is_inside], 0.7, atol=0.05)
    assert_allclose(beside[~is_inside], 0.0, atol=0.01)
    blocks = [i // 5 for pair in drawn.pairs for i in pair]
    assert len(set(blocks)) == 4


def test_pairs_are_compared_by_blocks():
    sample = epistasis.Sample(np.empty(0), np.empty(0), {(0, 7), (12, 16)}, 5)
    # The same blocks twice, the other one, a block with itself, and another false one.
    found = {(1, 8), (4, 9), (14, 15), (0, 1), (3, 19)}
    assert sample.compare(found) == (2, 2, 1)
    assert sample._replace(block_size=1).compare({(0, 7), (1, 8)}) == (1, 1, 0)
