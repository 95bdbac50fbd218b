"""Association scans: p-values of columns and pairs are those of correlations."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import pearsonr
from scipy.stats import t as student

from skmohn import MOHNClassifier, MOHNRegressor
from skmohn.mohn import association_scan

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (120, 7))
Y = X[:, 0] * X[:, 3] + 0.6 * X[:, 5] + RNG.normal(size=120)


def fitted(X=X, y=Y, **parameters):
    return MOHNRegressor("pursuit", selection="ebic", **parameters).fit(X, y)


@pytest.fixture(scope="module")
def scan():
    return association_scan(fitted(max_order=2), X, Y)


def test_p_values_are_those_of_correlations(scan):
    expected = [pearsonr(column, Y).pvalue for column in X.T]
    assert_allclose(scan.columns, expected, rtol=1e-8)
    for (i, j), p_value in zip(scan.pairs.tolist(), scan.pair_p_values, strict=True):
        assert p_value == pytest.approx(pearsonr(X[:, i] * X[:, j], Y).pvalue, rel=1e-8)
    assert scan.n_tested == 21
    assert_array_equal(np.sort(scan.pair_p_values), scan.pair_p_values)
    assert tuple(scan.pairs[0].tolist()) == (0, 3)


def test_terms_are_tested_like_all_others(scan):
    assert set(scan.terms) == {(5,), (0, 3)}
    for term, p_value in zip(scan.terms, scan.term_p_values, strict=True):
        expected = pearsonr(X[:, list(term)].prod(axis=1), Y).pvalue
        assert p_value == pytest.approx(expected, rel=1e-8)


def test_what_terms_leave_is_tested_by_partial_correlations(scan):
    columns = np.column_stack([np.ones(120), X[:, 5], X[:, 0] * X[:, 3]])
    remove = np.eye(120) - columns @ np.linalg.pinv(columns)
    left, target = remove @ X[:, 1], remove @ Y
    r = left @ target / np.sqrt((left @ left) * (target @ target))
    spare = 120 - 4
    assert scan.columns_left[1] == pytest.approx(
        2.0 * student.sf(abs(r) * np.sqrt(spare / (1 - r**2)), spare), rel=1e-8
    )
    assert np.isnan(scan.columns_left[5])


def test_columns_that_do_not_vary_have_no_p_value():
    table = np.column_stack([np.ones(120), X])
    scan = association_scan(fitted(table, max_order=2), table, Y)
    assert np.isnan(scan.columns[0])
    assert np.isfinite(scan.columns[1:]).all()
    assert scan.pairs[0].tolist() == [1, 4]


def test_pairs_are_not_tested_without_interactions():
    scan = association_scan(fitted(max_order=1), X, Y)
    assert scan.n_tested == 0
    assert scan.pairs.shape == (0, 2)


def test_a_gaussian_process_leaves_nothing():
    model = MOHNRegressor("gp").fit(X[:40], Y[:40])
    scan = association_scan(model, X, Y)
    assert scan.columns_left is None
    assert scan.pairs_left is None


def test_table_has_names_and_the_smallest_first():
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    table = association_scan(fitted(frame, max_order=2), frame, Y).to_frame()
    assert table["term"][0] == "a x d"
    assert table["order"][0] == 2
    assert len(table) == 7 + 21
    assert table["p_value"].is_monotonic_increasing


def test_columns_of_several_categories_have_a_name_and_no_p_value():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(list("pqr"), 120), "number": X[:, 5]})
    scan = association_scan(MOHNRegressor("gp").fit(frame, Y), frame, Y)
    assert scan.names == ["kind", "number"]
    assert np.isnan(scan.columns).tolist() == [True, False]


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="estimator must be"):
        association_scan(MOHNClassifier("full", max_order=1).fit(X, Y > 0), X, Y)
    with pytest.raises(ValueError, match="y does not vary"):
        association_scan(fitted(), X, np.ones(120))
