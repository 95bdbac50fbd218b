"""Sets that say nearly the same as those found, against correlations of all sets."""

import pickle
from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmohn import Genotypes, MOHNClassifier, MOHNRegressor
from skmohn.mohn._design.design import make_design
from skmohn.mohn._sparse.inference import MIN_CORRELATION, find_collinear_terms


def alike(X, n_copies, flips, rng):
    """Columns, each followed by copies of it some of whose values are replaced."""
    columns = []
    for column in X.T:
        columns.append(column)
        for share in flips[:n_copies]:
            other = column.copy()
            rows = rng.random(len(column)) < share
            other[rows] = rng.permutation(column)[rows]
            columns.append(other)
    return np.column_stack(columns)


def tables(rng):
    signs = alike(rng.choice([-1, 1], (300, 6)), 2, (0.02, 0.08), rng)
    signs[:, 4] *= -1
    numbers = alike(rng.uniform(-1, 1, (300, 6)), 2, (0.01, 0.03), rng)
    counts = alike(rng.binomial(2, 0.4, (300, 6)), 2, (0.02, 0.06), rng).astype(float)
    missing = counts.copy()
    missing[rng.random(missing.shape) < 0.01] = np.nan
    return {"signs": signs, "numbers": numbers, "counts": counts, "missing": missing}


@pytest.mark.parametrize("kind", ["signs", "numbers", "weights", "counts", "missing"])
def test_lists_are_those_of_all_correlations(kind, replace_constants):
    # Columns come in several blocks.
    replace_constants("skmohn.mohn._sparse.inference", n_bytes=8 * 300 * 7)
    rng = np.random.default_rng(1)
    X = tables(rng)["signs" if kind == "weights" else kind]
    weight = rng.uniform(0.5, 2, 300) if kind == "weights" else None
    if kind in ("counts", "missing"):
        X = Genotypes.from_counts(X)
    # Members of the third are alike.
    terms = [(4,), (0, 9), (10, 11), (1, 8, 13)]
    y = rng.standard_normal(300)
    model = MOHNRegressor("given", terms=terms).fit(X, y, weight)
    if isinstance(X, Genotypes):
        X = np.nan_to_num(X.counts() - np.nanmean(X.counts(), axis=0))
    else:
        X = np.asarray(X, dtype=float)
        X = 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1
    assert model.terms_ == terms
    assert sum(map(len, model.collinear_terms_)) > 8
    single = np.corrcoef(X.T) if weight is None else np.cov(X.T, aweights=weight)
    single = single / np.sqrt(np.outer(*2 * [np.diag(single)]))
    for term, found in zip(terms, model.collinear_terms_, strict=True):
        own, expected = X[:, list(term)].prod(axis=1), {}
        for other in combinations(range(X.shape[1]), len(term)):
            products = np.stack([own, X[:, list(other)].prod(axis=1)])
            covariance = np.cov(products, aweights=weight)
            if np.diag(covariance).min() < 1e-9:
                continue
            r = covariance[0, 1] / np.sqrt(np.prod(np.diag(covariance)))
            near = any(
                all(
                    abs(single[i, j]) >= MIN_CORRELATION
                    for i, j in zip(term, part, strict=True)
                )
                for part in permutations(other)
            )
            if other != term and near and abs(r) >= MIN_CORRELATION:
                expected[other] = r
        assert dict(found) == pytest.approx(expected)
        sizes = [abs(r) for _, r in found]
        assert_allclose(sizes, np.sort(sizes)[::-1])


def test_a_search_keeps_the_best_and_lists_the_others():
    rng = np.random.default_rng(0)
    X = alike(rng.choice([-1, 1], (400, 30)), 2, (0.0, 0.04), rng)
    y = 2 * X[:, 6] * X[:, 33] + X[:, 60] + 0.3 * rng.standard_normal(400)
    names = [f"v{j}" for j in range(90)]
    pd = pytest.importorskip("pandas")
    model = MOHNRegressor("pursuit", max_order=2).fit(pd.DataFrame(X, columns=names), y)
    assert model.terms_ == [(60,), (6, 33)]
    assert [other for other, _ in model.collinear_terms_[0]] == [(61,), (62,)]
    others = [other for other, _ in model.collinear_terms_[1]]
    # Copies say the same, in the order of their numbers.
    assert others[:3] == [(6, 34), (7, 33), (7, 34)]
    table = model.collinear_terms_table()
    assert table["equivalent"].tolist()[2:4] == ["v6 x v34", "v7 x v33"]
    assert table["correlation"].tolist()[2] == pytest.approx(1.0)
    again = pickle.loads(pickle.dumps(model))
    assert again.collinear_terms_ == model.collinear_terms_
    assert again.collinear_terms_table().equals(table)
    piped = make_pipeline(StandardScaler(), model).fit(X, y)[-1]
    assert piped.collinear_terms_ == model.collinear_terms_


def test_lists_are_bounded():
    rng = np.random.default_rng(0)
    column = rng.choice([-1, 1], (100, 1))
    X = np.hstack([np.tile(column, 120), rng.choice([-1, 1], (100, 1))])
    single, pair = find_collinear_terms(make_design(X), [(3,), (3, 120)])
    assert [other for other, _ in single[:4]] == [(0,), (1,), (2,), (4,)]
    assert len(single) == len(pair) == 50


def test_no_set_has_a_column_twice():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (100, 1)) + 1e-3 * rng.uniform(-1, 1, (100, 3))
    (found,) = find_collinear_terms(make_design(X), [(0, 1)])
    assert {other for other, _ in found} == {(0, 2), (1, 2)}


def test_products_that_do_not_vary_are_like_nothing():
    rng = np.random.default_rng(0)
    one = rng.choice([-1, 1], 100)
    X = np.column_stack([one, one, rng.choice([-1, 1], 100), np.ones(100)])
    model = MOHNRegressor("given", terms=[(0,), (0, 1)])
    with pytest.warns(UserWarning, match="cannot be told apart"):
        model.fit(X, one + 0.1 * rng.standard_normal(100))
    assert model.collinear_terms_ == [[((1,), 1.0)], []]


def test_models_that_were_not_searched_have_none():
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1, 1], (60, 9)), rng.standard_normal(60)
    X[:, 4] = X[:, 3]
    dense = MOHNRegressor("gp").fit(X, X[:, 0] + 0.1 * y)
    assert dense.collinear_terms_ == [[]]
    dense.partial_fit(X, X[:, 3] - X[:, 0])
    assert dense.collinear_terms_ == [[] for _ in dense.terms_]
    known = MOHNRegressor.from_terms([(0, 1)], [2.0])
    assert len(known.collinear_terms_table()["term"]) == 0
    targets = np.column_stack([X[:, 0] * X[:, 1], 2.0 * X[:, 3]])
    several = MOHNRegressor("pursuit").fit(X, targets)
    assert several.collinear_terms_ == [[((4,), 1.0)], []]
    assert list(several.collinear_terms_table()["target"]) == [1]


def test_classifiers_list_them_for_few_products():
    rng = np.random.default_rng(0)
    X = alike(rng.choice([-1, 1], (300, 5)), 1, (0.03,), rng)
    y = X[:, 0] * X[:, 4] > 0
    model = MOHNClassifier("logistic", include_inputs=False).fit(X, y)
    assert model.terms_ == [(0, 4)]
    r = np.corrcoef(X[:, 0] * X[:, 4], X[:, 1] * X[:, 4])[0, 1]
    assert dict(model.collinear_terms_[0])[1, 4] == pytest.approx(r)
    assert model.collinear_terms_table()["term"][0] == "x0 x x4"
    assert MOHNClassifier("gp").fit(X[:60], y[:60]).collinear_terms_ == [[]]
