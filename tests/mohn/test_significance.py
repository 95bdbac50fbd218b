"""Tests of terms against noise, beside those of scipy and of plain least squares."""

import math
import pickle
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skmohn import Genotypes, MOHNRegressor
from skmohn.mohn import association_scan
from skmohn.mohn._design.design import make_design
from skmohn.mohn._models import noise_df
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.significance import (
    correct_p_values,
    p_values_of_further,
    p_values_of_terms,
)


def by_brute_force(columns, y, weight=None):
    """p-value of each column beside the constant and all others, by an F test."""
    weight = np.ones(len(y)) if weight is None else weight
    root = np.sqrt(weight)
    A = np.column_stack([np.ones(len(y)), *columns]) * root[:, None]

    def squares(part):
        return np.sum((root * y - part @ np.linalg.lstsq(part, root * y)[0]) ** 2)

    n_spare, whole = weight.sum() - A.shape[1], squares(A)
    f = [squares(np.delete(A, j, axis=1)) / whole - 1 for j in range(1, A.shape[1])]
    return stats.f.sf(np.array(f) * n_spare, 1, n_spare)


def tables(kind, rng):
    signs = rng.choice([-1, 1], (120, 8))
    counts = rng.binomial(2, 0.4, (120, 8)).astype(float)
    if kind == "signs":
        return signs, signs
    if kind == "numbers":
        numbers = rng.uniform(-1, 1, (120, 8))
        low, high = numbers.min(axis=0), numbers.max(axis=0)
        return numbers, 2 * (numbers - low) / (high - low) - 1
    counts[rng.random(counts.shape) < 0.05] = np.nan
    return Genotypes.from_counts(counts), np.nan_to_num(counts - np.nanmean(counts, 0))


@pytest.mark.parametrize("kind", ["signs", "numbers", "genotypes"])
@pytest.mark.parametrize("repeats", [False, True])
def test_p_values_are_those_of_f_tests(kind, repeats):
    rng = np.random.default_rng(0)
    X, values = tables(kind, rng)
    y = 1e3 * (values[:, 0] + rng.standard_normal(120))
    weight = None
    if repeats and kind != "genotypes":
        weight = rng.integers(1, 4, 120).astype(float)
    terms = [(0,), (3,), (1, 2), (0, 5, 6)]
    model = MOHNRegressor("given", terms=terms).fit(X, y, weight)
    columns = [values[:, list(term)].prod(axis=1) for term in terms]
    assert_allclose(model.p_values_, by_brute_force(columns, y, weight), rtol=1e-7)
    table = model.significance_table()
    assert list(table["p_value"]) == sorted(model.p_values_)
    assert table["term"][0] == "x0"
    # Nothing was searched, of any order: they are one family.
    assert list(table["n_tried"]) == [4, 4, 4, 4]
    assert_allclose(table["p_corrected"], np.minimum(np.sort(model.p_values_) * 4, 1))


def test_one_term_is_as_by_a_regression_line():
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1, 1], (50, 3)), rng.standard_normal(50)
    model = MOHNRegressor("given", terms=[(1,)]).fit(X, y)
    assert_allclose(model.p_values_, stats.linregress(X[:, 1], y).pvalue)


@pytest.mark.parametrize("kind", ["signs", "numbers", "genotypes"])
def test_further_sets_are_tested_as_the_last_of_a_longer_model(kind, replace_constants):
    replace_constants("skmohn.mohn._sparse.significance", n_entries=120 * 3)
    rng = np.random.default_rng(0)
    X, values = tables(kind, rng)
    y = values[:, 0] + values[:, 1] * values[:, 2] + rng.standard_normal(120)
    model = MOHNRegressor("given", terms=[(0,), (1, 2)]).fit(X, y)
    design = make_design(model._to_rows(X).inputs)
    known = ActiveSet.of(design, y, [(0,), (1, 2)])
    sets = [(1,), (2,), (5,), (1, 3), (3, 4), (0, 6, 7)]
    found = p_values_of_further(known, [*sets, (0,), (1, 2)])
    for members, p_value in zip(sets, found, strict=False):
        longer = [(0,), (1, 2), members]
        columns = [values[:, list(term)].prod(axis=1) for term in longer]
        assert p_value == pytest.approx(by_brute_force(columns, y)[2])
        assert p_value == pytest.approx(p_values_of_terms(design, y, longer)[2])
    assert np.isnan(found[-2:]).all()
    assert p_values_of_further(known, []).shape == (0,)


def test_nothing_is_significant_where_nothing_matters():
    rng = np.random.default_rng(0)
    X = rng.choice([-1, 1], (40, 400))
    design = make_design(X)
    terms = [(i,) for i in range(5)]
    uniform = np.concatenate(
        [p_values_of_terms(design, rng.standard_normal(40), terms) for _ in range(100)]
    )
    assert stats.kstest(uniform, "uniform").pvalue > 0.01
    # The best of all, corrected by their number, is below 0.05 as often as that.
    nothing = [ActiveSet(design, rng.standard_normal(40)) for _ in range(300)]
    sets = [(i,) for i in range(400)]
    best = [p_values_of_further(model, sets).min() * 400 for model in nothing]
    assert 0.02 < np.mean(np.array(best) < 0.05) < 0.08


def choose(design, y, n_terms, start=()):
    """The forward search for inputs and pairs, and its coverage."""
    n = design.n_features
    sets = [(i,) for i in range(n)] + list(combinations(range(n), 2))
    model = ActiveSet.of(design, y, list(start))
    for _ in range(n_terms):
        p_values = p_values_of_further(model, sets)
        model.add([sets[np.nanargmin(p_values)]])
        model.solve()
    terms = model.terms[1:]
    tried = {1: n, 2: n * (n - 1) // 2}
    kept = {order: sum(len(term) == order for term in terms) for order in tried}
    return terms, [
        {"order": order, "tried": tried[order], "kept": kept[order]} for order in tried
    ]


@pytest.mark.slow_cases("searched-nothing|given too-nothing|given too-two terms matter")
@pytest.mark.parametrize(
    "signal", [(), [(0,), (1, 2)]], ids=["nothing", "two terms matter"]
)
@pytest.mark.parametrize("given", [(), [(3,), (4, 5)]], ids=["searched", "given too"])
def test_no_search_makes_noise_significant(signal, given):
    rng = np.random.default_rng(0)
    n_draws, hits, by_product, missed = 100, 0, 0, 0
    for _ in range(n_draws):
        X = rng.choice([-1.0, 1.0], (60, 8))
        y = rng.standard_normal(60) + sum(X[:, t].prod(axis=1) for t in signal)
        design = make_design(X)
        terms, coverage = choose(design, y, 8, given)
        p_values = p_values_of_terms(design, y, terms)
        n_tried, corrected = correct_p_values(
            design, y, terms, p_values, coverage, given
        )
        noise = [term not in signal for term in terms]
        hits += (corrected[noise] < 0.05).any()
        by_product += ((p_values * n_tried)[noise] < 0.05).any()
        found = {term for term, p in zip(terms, corrected, strict=True) if p < 0.05}
        missed += len(set(signal) - found)
    # At most 0.05 of each family, and two standard deviations.
    assert hits / n_draws < 0.08 + 0.05 * bool(given)
    assert by_product / n_draws > 0.3
    assert missed < 0.05 * n_draws


def test_few_rows_with_rare_alleles_are_not_significant_in_noise():
    n_significant = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = Genotypes.from_counts(rng.binomial(2, 0.02, (400, 40)))
        cases = (rng.random(400) < 0.05).astype(float)
        model = MOHNRegressor("pursuit", max_order=2, selection="ebic").fit(X, cases)
        n_significant += model.significance_table()["p_corrected"].min() < 0.05
        # Nor is any pair of a scan.
        scan = association_scan(model, X, cases)
        assert scan.pair_p_values[0] * scan.n_tested > 0.05
    assert n_significant == 0


@pytest.mark.parametrize(
    ("n_carriers", "n_cases"), [(2, 2), (3, 2), (10, 5), (20, 6), (50, 10), (100, 16)]
)
def test_p_values_of_rare_columns_are_those_of_permutations(n_carriers, n_cases):
    rng, cases = np.random.default_rng(0), np.repeat([1.0, 0.0], [20, 380])
    column = np.zeros(400)
    column[:n_cases] = column[20 : 20 + n_carriers - n_cases] = 1.0
    design = make_design(np.column_stack([column, rng.uniform(-1, 1, 400)]))
    (p_value,) = p_values_of_terms(design, cases, [(0,)])
    exact = stats.hypergeom.sf(n_cases - 1, 400, 20, n_carriers)
    # By Student's t they are 60 to ten million times too small.
    assert abs(np.log10(p_value / exact)) < 0.7


def test_many_weak_terms_are_significant_together():
    # None of them would be, beside none of the others.
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 40))
    y = X[:, :30].sum(axis=1) + rng.standard_normal(200)
    model = MOHNRegressor("pursuit", max_order=1, random_state=0).fit(X, y)
    table = model.significance_table()
    corrected = dict(zip(table["term"], table["p_corrected"], strict=True))
    assert all(corrected[f"x{i}"] < 1e-6 for i in range(30))
    assert all(p > 0.05 for name, p in corrected.items() if int(name[1:]) >= 30)


@pytest.mark.parametrize(
    ("terms", "weights", "tried"),
    [
        ([(0,), (3,), (1, 2)], [0.3, 0.0, 0.3], {1: 10, 2: 45}),
        # Terms of one order could have been found in any order.
        ([(0,), (1,), (2,), (3,)], [0.8, 0.8, 0.8, 0.8], {1: 10_000}),
    ],
)
def test_steps_are_f_tests_for_all_that_could_be_chosen(terms, weights, tried):
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], (80, 10))
    products = np.column_stack([X[:, list(term)].prod(axis=1) for term in terms])
    y = products @ weights + rng.standard_normal(80)
    design = make_design(X)
    p_values = p_values_of_terms(design, y, terms)
    coverage = [
        {"order": order, "tried": n, "kept": sum(len(t) == order for t in terms)}
        for order, n in tried.items()
    ]
    n_tried, corrected = correct_p_values(design, y, terms, p_values, coverage)
    assert n_tried.tolist() == [tried[len(term)] for term in terms]
    ranked = [terms[j] for j in np.argsort(p_values)]
    squares = []
    for k in range(len(terms) + 1):
        columns = [X[:, list(term)].prod(axis=1) for term in ranked[:k]]
        A = np.column_stack([np.ones(80), *columns])
        squares.append(np.sum((y - A @ np.linalg.lstsq(A, y)[0]) ** 2))
    expected = 0.0
    for start, term in enumerate(ranked):
        steps = []
        for end in range(start + 1, len(terms) + 1):
            n_spare, n_more = 79 - end, end - start
            f = (squares[start] / squares[end] - 1) * n_spare / n_more
            orders = [len(other) for other in ranked[start:end]]
            ways = np.prod([2.0 * len(tried) * tried[order] for order in orders])
            for order in tried:
                ways /= math.factorial(orders.count(order))
            steps.append(ways * stats.f.sf(f, n_more, n_spare))
        expected = max(expected, min(min(steps), 1.0))
        own = min(p_values[terms.index(term)] * n_tried[terms.index(term)], 1)
        assert corrected[terms.index(term)] == pytest.approx(
            max(expected, own), rel=0.15
        )
        # A bound is not below what it bounds.
        assert corrected[terms.index(term)] >= max(expected, own) * (1 - 1e-9)


def test_terms_given_are_tested_beside_what_is_significant():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (80, 10))
    coverage = [{"order": 1, "tried": 10, "kept": 3}]
    design, terms, given = make_design(X), [(0,), (1,), (2,)], [(0,)]
    noise = rng.standard_normal(80)
    for weight, beside in ((3.0, [0, 1]), (0.0, [0])):
        y = 0.3 * X[:, 0] + weight * X[:, 1] + noise
        p_values = p_values_of_terms(design, y, terms)
        arguments = design, y, terms, p_values, coverage
        n_tried, corrected = correct_p_values(*arguments, given)
        assert n_tried.tolist() == [1, 10, 10]
        alone = by_brute_force(X[:, beside].T, y)[0]
        assert corrected[0] == pytest.approx(max(alone, p_values[0]))


def test_a_parameter_set_later_does_not_change_the_tests():
    rng = np.random.default_rng(1)
    X = rng.choice([-1, 1], (100, 10))
    y = X[:, 3] + rng.standard_normal(100)
    model = MOHNRegressor("pursuit", max_order=2, selection="ebic").fit(X, y)
    before = model.significance_table()
    after = model.set_params(terms=[3]).significance_table()
    assert list(before["n_tried"]) == list(after["n_tried"])


def test_a_search_is_corrected_by_what_it_tried():
    rng = np.random.default_rng(1)
    X = rng.choice([-1, 1], (300, 30))
    y = X[:, 3] + X[:, 5] * X[:, 9] + 0.4 * X[:, 20] + rng.standard_normal(300)
    model = MOHNRegressor("pursuit", max_order=2, random_state=0).fit(X, y)
    table = model.significance_table()
    tried = {1: 30, 2: 435}
    assert list(table["n_tried"]) == [tried[order] for order in table["order"]]
    # The last of them is tested beside the others, for two orders and a further term.
    single = np.multiply(table["p_value"], table["n_tried"])
    assert_allclose(table["p_corrected"], [*single[:2], 4 * single[2]], rtol=0.05)
    assert set(list(table["term"])[:2]) == {"x3", "x5 x x9"}
    rows = rng.choice([-1, 1], (80, 30))
    further = rows[:, 3] + rng.standard_normal(80)
    again = model.significance_table(rows, further)
    assert again["term"][0] == "x3"
    assert set(again["n_tried"]) == {len(model.terms_)}
    columns = [rows[:, list(term)].prod(axis=1) for term in model.terms_]
    expected = np.sort(by_brute_force(columns, further))
    assert_allclose(again["p_value"], expected)
    assert_allclose(pickle.loads(pickle.dumps(model)).p_values_, model.p_values_)
    model.partial_fit(rows, further)
    assert np.isnan(model.p_values_).all()


def test_terms_without_a_test():
    rng = np.random.default_rng(0)
    X = rng.choice([-1, 1], (60, 6))
    X[:, 5] = X[:, 4]
    exact = MOHNRegressor("pursuit").fit(X, X[:, 0] * X[:, 1])
    assert exact.p_values_.tolist() == pytest.approx([0.0])
    y = X[:, 0] + rng.standard_normal(60)
    model = MOHNRegressor("given", terms=[(0,), (4,), (5,)])
    with pytest.warns(UserWarning, match="cannot be told apart"):
        model.fit(X, y)
    assert np.isnan(model.p_values_).tolist() == [False, False, True]
    square = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    constant = MOHNRegressor("given", terms=[(0,), (1,)]).fit(X, np.full(60, 1.1))
    assert np.isnan(constant.p_values_).all()
    few = MOHNRegressor("given", terms=[(0,), (1,), (2,)]).fit(square, y[:4])
    assert np.isnan(few.p_values_).all()
    dense = MOHNRegressor("gp").fit(X, y)
    assert np.isnan(dense.p_values_).tolist() == [True] * len(dense.terms_)
    with pytest.raises(ValueError, match="sparse model, but this model has"):
        dense.significance_table(X, y)
    with pytest.raises(ValueError, match="X and y go together, but y is missing"):
        model.significance_table(X)
    known = MOHNRegressor.from_terms([(0, 1)], [1.0])
    assert np.isnan(known.significance_table()["p_value"][0])


def test_several_targets_have_their_own():
    rng = np.random.default_rng(0)
    X = rng.choice([-1, 1], (100, 6))
    y = np.column_stack([X[:, 0] * X[:, 1], X[:, 3]]) + rng.standard_normal((100, 2))
    model = MOHNRegressor("given", terms=[(0, 1), (3,)]).fit(X, y)
    ones = [MOHNRegressor("given", terms=[(0, 1), (3,)]).fit(X, part) for part in y.T]
    assert_allclose(model.p_values_, [one.p_values_ for one in ones])
    table = model.significance_table(X, y)
    assert list(table["target"]) == [0, 0, 1, 1]
    assert_allclose(list(table["p_value"])[:2], np.sort(ones[0].p_values_))


def test_noise_has_as_many_degrees_of_freedom_as_a_fit_leaves():
    # As of least squares, and two by the prior of the noise.
    assert noise_df(30.0, 12.0) == pytest.approx(30 - 12 + 2)
