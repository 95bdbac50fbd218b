"""Displays of all columns and pairs: what is drawn is what scipy says of each."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from skmohn import Genotypes, MOHNRegressor
from skmohn.inspection import ManhattanDisplay, QQDisplay


@pytest.fixture(scope="module")
def scan():
    rng = np.random.default_rng(0)
    counts = rng.binomial(2, 0.4, (300, 30)).astype(float)
    counts[:, 12] = 1.0
    counts[rng.random(counts.shape) < 0.02] = np.nan
    values = np.nan_to_num(counts - np.nanmean(counts, axis=0))
    y = values[:, 3] + values[:, 5] * values[:, 20] + rng.standard_normal(300)
    X = Genotypes.from_counts(counts, names=[f"rs{j}" for j in range(30)])
    X.chromosomes = ["1"] * 10 + ["2"] * 15 + ["X"] * 5
    return X, y, values


@pytest.fixture(scope="module")
def model(scan):
    X, y, _ = scan
    return MOHNRegressor("pursuit", max_order=2, selection="ebic").fit(X, y)


def of_pairs(values, y):
    return {
        (i, j): stats.linregress(values[:, i] * values[:, j], y).pvalue
        for i, j in combinations(np.flatnonzero(np.ptp(values, axis=0)), 2)
    }


def test_columns_and_pairs_along_the_table(scan, model):
    X, y, values = scan
    assert model.terms_ == [(3,), (5, 20)]
    display = ManhattanDisplay.from_estimator(model, X, y, ms=4)
    neg_log10_p = np.concatenate([dots.get_ydata() for dots in display.dots_])
    expected = [
        -np.log10(stats.linregress(column, y).pvalue) if np.ptp(column) else np.nan
        for column in values.T
    ]
    assert_allclose(neg_log10_p, expected)
    assert [len(dots.get_xdata()) for dots in display.dots_] == [10, 15, 5]
    assert display.dots_[0].get_markersize() == 4
    ticks = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert ticks == ["1", "2", "X"]
    assert_allclose(display.found_.get_xydata(), [[3, expected[3]]])
    pairs = of_pairs(values, y)
    (arc,) = display.arcs_
    x, height = arc.get_data()
    assert x[[0, -1]].tolist() == [5, 20]
    assert_allclose(height[[0, -1]], -np.log10(pairs[5, 20]))
    assert display.n_tried == len(pairs)
    level = 0.05 / len(pairs)
    others = [p for pair, p in pairs.items() if p < level and pair != (5, 20)]
    assert len(display.pair_dots_.get_xdata()) == 2 * len(others)
    assert {text.get_text() for text in display.texts_} == {"rs3", "rs5 x rs20"}


def test_quantiles_are_beside_those_by_chance(scan, model):
    X, y, values = scan
    display = QQDisplay.from_estimator(model, X, y)
    pairs = np.sort(list(of_pairs(values, y).values()))
    expected, observed = display.pairs_line_.get_data()
    assert_allclose(observed, -np.log10(pairs))
    ranks = np.arange(1, len(pairs) + 1)
    medians = stats.beta.median(ranks, len(pairs) - ranks + 1)
    assert_allclose(expected, -np.log10(medians))
    assert len(display.columns_line_.get_xdata()) == 29
    # Beside the model nothing is left, and its terms have no p-value.
    assert np.isnan(display.columns_left).sum() == 2
    assert display.columns_left_line_.get_ydata().max() < 3
    assert display.pairs_left_line_.get_ydata().max() < 4.5
    assert len(display.bands_) == 2


def test_the_tail_of_many_pairs_is_that_of_all():
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1, 1], (100, 200)), rng.standard_normal(100)
    model = MOHNRegressor("given", terms=[(0,)]).fit(X, y)
    display = QQDisplay.from_estimator(model, X, y)
    centered = y - y.mean()
    r = []
    for i, j in combinations(range(200), 2):
        product = X[:, i] * X[:, j]
        product = product - product.mean()
        r.append(centered @ product / np.sqrt(product @ product))
    best = np.sort(np.abs(r) / np.sqrt(centered @ centered))[::-1][:4096]
    expected = 2 * stats.t.sf(best * np.sqrt(98 / (1 - best**2)), 98)
    assert display.n_tried == 19900
    assert len(display.pair_p_values) == 4096
    # A pass compares roughly: hardly any is missing.
    assert_allclose(np.log10(display.pair_p_values), np.log10(expected), atol=0.01)


@pytest.mark.slow_cases("ManhattanDisplay")
@pytest.mark.parametrize("display", [ManhattanDisplay, QQDisplay])
def test_orders_axes_and_kinds_of_models(display, scan):
    import matplotlib.pyplot as plt

    X, y, values = scan
    alone = MOHNRegressor("pursuit", max_order=1).fit(X, y)
    _, (_, ax) = plt.subplots(1, 2)
    drawn = display.from_estimator(alone, X, y, ax=ax)
    assert drawn.ax_ is ax
    assert drawn.n_tried == 0
    dense = MOHNRegressor("gp", max_order=3).fit(values[:80, :6], y[:80])
    display.from_estimator(dense, values[:80, :6], y[:80])
    # Two categories, a category of three, and one column that is left alone.
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": list("xy") * 40, "b": list("uvwu") * 20, "c": y[:80]})
    mixed = MOHNRegressor("gp").fit(table, y[:80])
    drawn = display.from_estimator(mixed, table, y[:80])
    assert np.isfinite(drawn.columns).tolist() == [True, False, True]


@pytest.mark.parametrize("unit", [1e-250, 1e200])
def test_the_unit_of_the_target_does_not_matter(scan, model, unit):
    X, y, _ = scan
    one, other = (QQDisplay.from_estimator(model, X, part) for part in (y, unit * y))
    assert_allclose(one.columns, other.columns)
    assert_allclose(one.pair_p_values, other.pair_p_values)


def test_genotypes_in_both_codings(scan):
    X, y, _ = scan
    both = Genotypes.from_counts(X.counts()[:, :8], coding="both")
    both.chromosomes = ["1"] * 8
    model = MOHNRegressor("pursuit", max_order=2, selection="ebic").fit(both, y)
    drawn = ManhattanDisplay.from_estimator(model, both, y)
    assert len(drawn.chromosomes) == 16


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": [0.1, 1.5]}, "columns must be p-values"),
        ({"columns": [np.nan]}, "no p-value to draw"),
        ({"pairs": [(0, 1)]}, "pair_p_values must have one number for each of the 1"),
        ({"pairs": [(0, 9)], "pair_p_values": [0.1], "n_tried": 1}, "takes one or two"),
        ({"pairs": [(0,)], "pair_p_values": [0.1], "n_tried": 1}, "two columns each"),
        ({"pairs": [(0, 1)], "pair_p_values": [0.1]}, "n_tried == 0, must be >= 1"),
        ({"terms": [(0, 1)]}, "which is not one of the pairs"),
        ({"names": ["a"]}, "names must have one for each of the 2 columns, got 1"),
    ],
)
def test_bad_lists_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        ManhattanDisplay(**({"columns": [0.1, 0.5]} | given)).plot()


def test_bad_quantiles_are_refused():
    with pytest.raises(ValueError, match="n_tried=1 is less than the 2 pairs"):
        QQDisplay([0.1], pair_p_values=[0.1, 0.2], n_tried=1).plot()
    with pytest.raises(ValueError, match="no p-value to draw"):
        QQDisplay([]).plot()


@pytest.mark.parametrize("display", [ManhattanDisplay, QQDisplay])
def test_who_is_refused(display, scan, model):
    X, y, _ = scan
    with pytest.raises(TypeError, match="estimator must be a MOHNRegressor"):
        display.from_estimator(object(), X, y)
    with pytest.raises(ValueError, match="y does not vary"):
        display.from_estimator(model, X, np.ones(300))
    with pytest.raises(ValueError, match="X has 5 columns"):
        display.from_estimator(model, Genotypes.from_counts(np.zeros((3, 5))), y)


def test_names_make_way_and_zeros_are_drawn():
    display = ManhattanDisplay(
        [0.0, 0.0, 0.5], terms=[(0,), (1,)], names=["a long name", "another", "c"]
    ).plot()
    assert_array_equal(display.dots_[0].get_ydata()[:2], [300, 300])
    assert len(display.texts_) == 2
    crowd = ManhattanDisplay(
        np.full(500, 1e-5), terms=[(j,) for j in range(10)], names=["name"] * 500
    ).plot()
    # Above, and on both sides of what they name.
    assert 1 <= len(crowd.texts_) <= 3
