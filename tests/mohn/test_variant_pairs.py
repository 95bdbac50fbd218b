"""Products of two variants enter and leave a model together."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, norm

from benchmarks.shared import epistasis
from skmohn import Genotypes, MOHNRegressor
from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.terms import choice_length, log_comb
from skmohn.mohn._genotypes import encode, learn_coding
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.logistic import LogisticControl, LogisticPath
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._sparse.significance import correct_p_values, p_values_of_terms
from skmohn.mohn._sparse.variant_pairs import VariantPairs

N_SAMPLES, N_VARIANTS = 600, 12
ALL_FOUR = [(2, 7), (2, 19), (7, 14), (14, 19)]


def design_of(coding="both"):
    counts = np.random.default_rng(0).binomial(2, 0.5, (N_SAMPLES, N_VARIANTS))
    X = Genotypes.from_counts(counts, coding=coding)
    return make_design(encode(learn_coding(X), X).inputs), counts


def spread_target(design, size, seed=1):
    """A target to which the four products of two variants contribute alike."""
    columns = design.columns(ALL_FOUR)
    columns = np.linalg.qr((columns - columns.mean(axis=1, keepdims=True)).T)[0]
    noise = np.random.default_rng(seed).standard_normal(N_SAMPLES)
    return size * columns.sum(axis=1) + noise


def moments(residual):
    """What `VariantPairs.join` asks for where the noise is 1."""

    def of(columns):
        columns = columns - columns.mean(axis=2, keepdims=True)
        return columns @ residual, columns @ columns.transpose(0, 2, 1)

    return of


def test_columns_know_their_variants():
    design, counts = design_of()
    assert design.variants.tolist() == 2 * list(range(N_VARIANTS))
    assert design.take(np.arange(50)).variants is design.variants
    for coding in ("additive", "dominance"):
        assert len(np.unique(design_of(coding)[0].variants)) == N_VARIANTS
        assert VariantPairs.of(design_of(coding)[0]) is None
    counts[:, 3] = 2
    X = Genotypes.from_counts(counts, coding="both")
    left = make_design(encode(learn_coding(X), X).inputs).variants
    assert left.tolist() == 2 * [j for j in range(N_VARIANTS) if j != 3]


def test_bars_are_those_of_a_single_product_of_as_many_rivals():
    pairs = VariantPairs(design_of()[0])
    assert pairs.bars[0] == pytest.approx(2.0 * math.log(math.comb(24, 2)))
    for size in (2, 3, 4):
        z = math.sqrt(2.0 * math.log(math.comb(12, 2) * math.comb(4, size)))
        chance = chi2.sf(pairs.bars[size - 1], size)
        assert chance == pytest.approx(2.0 * norm.sf(z))


def test_the_best_subset_is_that_of_least_squares():
    design, _ = design_of()
    y = spread_target(design, 4.0)
    y -= y.mean()
    subsets, ratios = VariantPairs(design).join(
        [ALL_FOUR[0], (0, 1)], np.array([0.9, 0.1]), [()], 1.0, moments(y)
    )
    assert subsets[0] == [(0, 1)]  # As it was.
    assert subsets[1] == ALL_FOUR
    columns = design.columns(ALL_FOUR).T
    columns = columns - columns.mean(axis=0)
    fitted = columns @ np.linalg.lstsq(columns, y)[0]
    bar = VariantPairs(design).bars[3]
    assert_allclose(ratios[1], math.sqrt(fitted @ fitted / bar))


def test_pairs_of_the_model_and_weak_ones_are_left_as_they_are():
    design, _ = design_of()
    pairs, y = VariantPairs(design), spread_target(design, 4.0)
    found = [ALL_FOUR[0]]
    for terms, ratio in (([(), ALL_FOUR[2]], 0.9), ([()], 0.1)):
        subsets, ratios = pairs.join(found, np.array([ratio]), terms, 1.0, moments(y))
        assert (subsets, ratios.tolist()) == ([found], [ratio])
    subsets, _ = pairs.join(
        found, np.array([0.9]), [()], 1.0, moments(y), lambda term: term != ALL_FOUR[3]
    )
    assert subsets == [found]


def test_what_is_known_of_pairs_is_not_asked_again():
    design, _ = design_of()
    pairs, known, n_asked = VariantPairs(design), {}, []

    def spy(columns):
        n_asked.append(len(columns))
        return moments(y - y.mean())(columns)

    y, found = spread_target(design, 4.0), [ALL_FOUR[0], (0, 1)]
    args = [()], 0.5, spy, None, known
    first = pairs.join(found[:1], np.array([0.9]), *args)
    both = pairs.join(found, np.array([0.9, 0.9]), *args)
    assert n_asked == [1, 1]
    alone = pairs.join(found, np.array([0.9, 0.9]), *args[:-1])
    assert n_asked == [1, 1, 2]
    assert both[0] == alone[0]
    assert first[0] == [ALL_FOUR]
    assert_allclose(both[1], alone[1])


def test_a_lower_bar_asks_for_nothing_again(monkeypatch):
    design, _ = design_of()
    search = Pursuit(design, spread_target(design, 2.8, seed=5), PursuitControl(2))
    _last(search.descend(1.0))
    fresh = Pursuit(design, search.model.y, PursuitControl(2), start=search.model.terms)
    known = set(search._joined)
    monkeypatch.setattr(search, "_score", None)
    asked, products = [], VariantPairs._products

    def spy(self, key):
        asked.append(key)
        return products(self, key)

    monkeypatch.setattr(VariantPairs, "_products", spy)
    search.bar = fresh.bar = 0.8
    found = _last(search._look())
    assert known.isdisjoint(asked)
    assert found == _last(fresh._look())


def test_judged_as_by_the_wald_test():
    design, _ = design_of()
    y = spread_target(design, 4.0)
    model = ActiveSet.of(design, y, [*ALL_FOUR, (0, 1), (3,)])
    pairs = VariantPairs(design)
    ratios, is_spare = pairs.joint_ratios(model, model.standard_errors())
    own = [j for j, term in enumerate(model.terms) if term in ALL_FOUR]
    covariance = model.noise**2 * np.linalg.inv(model.gram)
    weights = model.coef[own]
    square = weights @ np.linalg.solve(covariance[np.ix_(own, own)], weights)
    assert_allclose(ratios[own], math.sqrt(square / pairs.bars[3]))
    assert not np.delete(ratios, own).any()
    assert not is_spare.any()


def test_a_product_that_adds_nothing_is_spare():
    design, _ = design_of()
    column = design.columns([ALL_FOUR[0]])[0]
    y = 2.0 * column + np.random.default_rng(1).standard_normal(N_SAMPLES)
    model = ActiveSet.of(design, y, ALL_FOUR[:2])
    _, is_spare = VariantPairs(design).joint_ratios(model, model.standard_errors())
    assert [model.terms[j] for j in np.flatnonzero(is_spare)] == [ALL_FOUR[1]]


def test_a_pair_is_found_none_of_whose_products_stands_out():
    design, _ = design_of()
    y = spread_target(design, 2.8, seed=5)
    products = design.columns([(i, j) for j in range(24) for i in range(j)])
    products = products - products.mean(axis=1, keepdims=True)
    centered = y - y.mean()
    scores = np.abs(products @ centered) / np.linalg.norm(products, axis=1)
    assert scores.max() / centered.std() < math.sqrt(2.0 * math.log(len(products)))
    search = Pursuit(design, y, PursuitControl(max_order=2))
    terms = [term for part in [search.descend(1.0)] for term in _last(part)]
    variants = {tuple(sorted(design.variants[list(term)])) for term in terms}
    assert variants == {(2, 7)}


def _last(steps):
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


def test_a_search_drops_what_is_spare():
    design, _ = design_of()
    column = design.columns([ALL_FOUR[0]])[0]
    y = 2.0 * column + np.random.default_rng(1).standard_normal(N_SAMPLES)
    search = Pursuit(design, y, PursuitControl(max_order=2), start=ALL_FOUR[:2])
    assert search.model.terms == [(), ALL_FOUR[0]]


def test_classes_are_searched_by_all_products_of_a_pair():
    design, _ = design_of()
    labels = (spread_target(design, 6.0, seed=5) > 0.0).astype(int)
    control = LogisticControl(2, 10, 0.0, np.arange(24), ())
    path = LogisticPath(design, labels, None, 2, control).extend([1, 2])
    assert 1 < path.sizes[1] <= 4
    assert set(path.model(1)) <= set(ALL_FOUR)
    assert path.ratios[1] > 1.0
    # What is asked for next is less than what is there: one more at the least.
    assert path.sizes[2] > path.sizes[1]


def test_subsets_are_named_by_pairs_first():
    variants = np.tile(np.arange(6), 2)
    terms = [(0, 1), (0, 7), (1, 6), (2, 9), (4,), (0, 6)]
    expected = log_comb(15, 2) + log_comb(4, 3) + log_comb(4, 1)
    expected += log_comb(12, 1) + log_comb(66, 1)
    assert choice_length(terms, 12, variants) == pytest.approx(expected)
    assert choice_length([(4,)], 12, variants) == pytest.approx(math.log(12))


def test_further_products_of_a_pair_have_few_rivals():
    design, _ = design_of()
    y = spread_target(design, 4.5)
    coverage = [
        {"order": 1, "tried": 24, "kept": 0},
        {"order": 2, "tried": 276, "kept": 4},
    ]
    p_values = p_values_of_terms(design, y, ALL_FOUR)
    _, corrected = correct_p_values(design, y, ALL_FOUR, p_values, coverage)
    design.variants = None
    _, alone = correct_p_values(design, y, ALL_FOUR, p_values, coverage)
    assert (corrected <= alone).all()
    assert corrected.min() < alone.min()


def test_a_fit_explains_what_counts_alone_do_not():
    rng = np.random.default_rng(5)
    counts = rng.binomial(2, 0.5, (400, 10))
    indicator = (counts[:, 1] == 1) * (counts[:, 6] == 1) - 0.25
    y = 3.0 * indicator + rng.standard_normal(400)
    both = MOHNRegressor("pursuit", max_order=2, selection="ebic").fit(
        Genotypes.from_counts(counts, coding="both"), y
    )
    assert (11, 16) in both.terms_


def test_a_signal_among_neighbors_is_listed_once():
    sample = epistasis.sample_trait("pure", 0.25, 1, 500, 30, 1, linkage=0.8)
    tested = epistasis.test_tables(sample.counts, sample.y).below(0.05)
    assert sample.compare(tested)[2] > 3
    X = Genotypes.from_counts(sample.counts, coding="both")
    model = MOHNRegressor("pursuit", max_order=2, selection="ebic").fit(X, sample.y)
    pairs = [tuple(sorted({i % 30 for i in term})) for term in model.terms_]
    found = {pair for pair in pairs if len(pair) == 2}
    n_true, _, n_repeated = sample.compare(found)
    assert (n_true, n_repeated) == (1, 0)
