"""MOHNTransformer: the columns it builds, how it finds them, what it refuses."""

import copy
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures
from support import StopAfter

from skmohn import MOHNRegressor, MOHNTransformer
from skmohn.datasets import make_sparse_walsh

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (300, 8))
ODD = (X[:, 1] * X[:, 3] * X[:, 6] < 0).astype(int)
NUMBERS = 2 * X[:, 0] * X[:, 5] - X[:, 2] + 0.2 * RNG.standard_normal(300)


@pytest.fixture(scope="module")
def parity():
    """The product that decides the classes."""
    return MOHNTransformer(include_inputs=False, random_state=0).fit(X, ODD)


@pytest.fixture(scope="module")
def parity_beside_inputs():
    return MOHNTransformer(random_state=0).fit(X, ODD)


@pytest.fixture(scope="module")
def above():
    """Products for numbers that are above another one."""
    return MOHNTransformer(random_state=0).fit(X, NUMBERS > 0.3)


@pytest.fixture(scope="module")
def three_products():
    """Classes by the signs of the sum of three products."""
    return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] * X[:, 5] > 0


# --------------------------------------------------------------------- the columns


def test_full_has_the_columns_of_polynomial_features():
    theirs = PolynomialFeatures(3, interaction_only=True, include_bias=False)
    expected = theirs.fit_transform(X)
    ours = MOHNTransformer("full", 3)
    assert_array_equal(ours.fit_transform(X, ODD), expected)
    names = [name.replace(" ", " x ") for name in theirs.get_feature_names_out()]
    assert ours.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("kind", ["signs", "bits", "numbers", "unknown"])
def test_columns_are_products_of_coded_inputs(kind):
    table = {
        "signs": X,
        "bits": np.where(X > 0, 7.0, 3.0),
        "numbers": RNG.uniform(-2, 5, X.shape),
        "unknown": np.where(RNG.random(X.shape) < 0.1, np.nan, X),
    }[kind]
    terms = [(4,), (0, 7), (1, 2, 3)]
    found = MOHNTransformer("given", terms=terms).fit_transform(table, ODD)
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    coded = np.nan_to_num((2 * table - low - high) / (high - low))
    expected = np.stack([coded[:, list(term)].prod(axis=1) for term in terms], axis=1)
    assert_allclose(found, expected, atol=1e-14)


def test_categories_are_inputs_by_themselves():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "base": rng.choice(["A", "C", "G"], 200),
            "sex": rng.choice(["f", "m"], 200),
            "dose": rng.choice([0.5, 2.0], 200),
        }
    )
    terms = [[("base", "G")], ["sex", "dose"], [("base", "A"), "sex"]]
    features = MOHNTransformer("given", terms=terms).set_output(transform="pandas")
    y = rng.integers(2, size=200)
    found = features.fit_transform(table, y)
    g, a = (np.where(table["base"] == category, 1, -1) for category in "GA")
    sex = np.where(table["sex"] == "m", 1, -1)
    dose = np.where(table["dose"] == 2.0, 1, -1)
    expected = {"base=G": g, "sex=m x dose": sex * dose, "sex=m x base=A": sex * a}
    assert found.columns.tolist() == list(expected)
    for name, column in expected.items():
        assert_array_equal(found[name], column)
    assert features.terms_ == [((0, "G"),), (1, 2), (1, (0, "A"))]
    # An unknown category is the mean over all three.
    unknown = pd.DataFrame({"base": [None], "sex": ["m"], "dose": [2.0]})
    assert_allclose(features.transform(unknown), [[-1 / 3, 1.0, -1 / 3]])


def test_a_product_of_categories_is_found():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {name: rng.choice(list("ACGT"), 300) for name in ("s1", "s2", "s3")}
    )
    y = (table["s1"] == "G") ^ (table["s3"] == "T")
    features = MOHNTransformer(include_inputs=False).fit(table, y)
    assert features.get_feature_names_out().tolist() == ["s1=G x s3=T"]


def test_names_say_which_columns():
    names = ["dose", "age", *(f"gene{i}" for i in range(6))]
    features = MOHNTransformer("given", terms=[["dose", "gene5"], [0, 1, 2]])
    features.fit(pd.DataFrame(X, columns=names), ODD)
    expected = ["dose x gene5", "dose x age x gene0"]
    assert features.get_feature_names_out().tolist() == expected
    unnamed = MOHNTransformer("given", terms=[(0, 7)]).fit(X, ODD)
    assert unnamed.get_feature_names_out().tolist() == ["x0 x x7"]
    assert unnamed.get_feature_names_out(names).tolist() == ["dose x gene5"]


# ------------------------------------------------------------------------ the search


def test_inputs_come_first_unless_left_out(parity, parity_beside_inputs):
    inputs = [(i,) for i in range(8)]
    assert parity_beside_inputs.terms_ == [*inputs, (1, 3, 6)]
    assert parity.terms_ == [(1, 3, 6)]


def test_classes_are_searched_by_their_likelihood(parity):
    twin = clone(parity).set_params(strategy="logistic").fit(X, ODD)
    assert twin.terms_ == parity.terms_
    losses = [[r["validation_log_loss"] for r in m.history_] for m in (twin, parity)]
    assert losses[0] == losses[1]


def test_pursuit_finds_what_classes_depend_on():
    features = MOHNTransformer("pursuit", include_inputs=False, random_state=0)
    assert features.fit(X, ODD).terms_ == [(1, 3, 6)]


@pytest.mark.parametrize("strategy", ["auto", "pursuit"])
def test_every_strategy_finds_what_numbers_depend_on(strategy):
    features = MOHNTransformer(strategy, include_inputs=False, random_state=0)
    assert {(2,), (0, 5)} <= set(features.fit(X, NUMBERS).terms_)


def test_numbers_and_gaps_enter_as_they_are():
    rng = np.random.default_rng(1)
    table = np.c_[X[:, :4], rng.uniform(-3, 3, (300, 2))]
    table[rng.random(table.shape) < 0.02] = np.nan
    known = np.nan_to_num(table)
    y = known[:, 0] * known[:, 4] + known[:, 1] + 0.1 * rng.standard_normal(300)
    features = MOHNTransformer("pursuit", include_inputs=False, random_state=0)
    features.set_params(target_type="continuous")
    assert {(1,), (0, 4)} <= set(features.fit(table, y).terms_)
    steps = np.digitize(known[:, 4], [-1, 0.5, 0.8])
    features.fit(table, np.array([0, 5, -3, 9])[steps])
    assert all(isinstance(i, int) for term in features.terms_ for i in term)


def test_numbers_have_the_terms_of_the_regressor():
    problem = make_sparse_walsh(
        15, {1: 3, 2: 4, 3: 2}, heredity=None, n_samples=300, random_state=0
    )
    features = MOHNTransformer(include_inputs=False).fit(problem.X, problem.y)
    assert features.terms_ == problem.terms
    assert features.terms_ == MOHNRegressor().fit(problem.X, problem.y).terms_


def test_several_classes_share_a_union_of_products():
    rng = np.random.default_rng(3)
    inputs = rng.choice([0, 1], (400, 8))
    signs = 2 * inputs - 1
    y = np.where(
        signs[:, 0] * signs[:, 1] > 0,
        "a",
        np.where(signs[:, 2] * signs[:, 3] * signs[:, 4] > 0, "b", "c"),
    )
    for strategy in ("logistic", "pursuit"):
        features = MOHNTransformer(strategy, include_inputs=False, random_state=0)
        assert {(0, 1), (2, 3, 4)} <= set(features.fit(inputs, y).terms_)


def test_noise_has_hardly_any_products():
    counts = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        table, y = rng.choice([-1, 1], (120, 12)), rng.integers(2, size=120)
        features = MOHNTransformer(include_inputs=False, random_state=0).fit(table, y)
        counts.append(len(features.terms_))
    assert sum(counts) <= 3
    assert np.median(counts) == 0


def test_noisy_classes_have_the_products_that_matter():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        table = rng.choice([-1, 1], (500, 20))
        odds = 2 * table[:, 0] * table[:, 1] - table[:, 2]
        odds = odds + table[:, 3] * table[:, 4] * table[:, 5]
        y = rng.random(500) < 1 / (1 + np.exp(-odds))
        features = MOHNTransformer(include_inputs=False, random_state=0).fit(table, y)
        assert features.terms_ == [(2,), (0, 1), (3, 4, 5)]


def test_few_columns_are_as_good_as_all_pairs():
    rng = np.random.default_rng(5)
    table = rng.choice([-1, 1], (1500, 30))
    odds = 2 * table[:, 0] * table[:, 1] + 2 * table[:, 2] * table[:, 3] + table[:, 4]
    y = rng.random(1500) < 1 / (1 + np.exp(-odds))
    ours = make_pipeline(MOHNTransformer(random_state=0), LogisticRegression())
    pairs = PolynomialFeatures(2, interaction_only=True)
    theirs = make_pipeline(pairs, LogisticRegression(C=0.01))
    scores = [
        model.fit(table[:1000], y[:1000]).score(table[1000:], y[1000:])
        for model in (ours, theirs)
    ]
    assert scores[0] > scores[1]
    assert len(ours[0].terms_) < 40


@pytest.mark.parametrize("strategy", ["logistic", "pursuit"])
@pytest.mark.parametrize("max_terms", [9, 12])
def test_max_columns_is_the_most_that_is_built(strategy, max_terms, three_products):
    rng = np.random.default_rng(6)
    features = MOHNTransformer(strategy, max_terms=max_terms, random_state=0)
    noisy = three_products ^ (rng.random(300) < 0.05)
    assert features.fit(X, noisy).transform(X).shape[1] <= max_terms


@pytest.mark.parametrize("strategy", ["logistic", "pursuit"])
def test_one_column_is_the_strongest(strategy):
    free = MOHNTransformer(strategy, include_inputs=False, random_state=0)
    single = clone(free).set_params(max_terms=1).fit(X, NUMBERS > 0)
    assert single.terms_ == [(0, 5)]
    strongest = MOHNTransformer("pursuit", max_terms=1, include_inputs=False)
    assert strongest.fit(X, NUMBERS).terms_ == [(0, 5)]


def test_memory_budget_bounds_the_columns(three_products):
    features = MOHNTransformer(include_inputs=False, random_state=0)
    assert {(0, 1), (2, 3), (4, 5)} <= set(features.fit(X, three_products).terms_)
    features.set_params(memory_budget=8 * 300 * 6 * 2)  # two columns on six paths
    assert len(features.fit(X, three_products).terms_) == 2


def test_every_bound_is_kept(three_products):
    features = MOHNTransformer(include_inputs=False, random_state=0)
    one = clone(features).set_params(max_iter=1).fit(X, three_products)
    assert len(one.terms_) == 1
    assert (1, 3, 6) not in clone(features).set_params(work_budget=0).fit(X, ODD).terms_
    assert (1, 3, 6) not in clone(features).set_params(max_order=2).fit(X, ODD).terms_


@pytest.mark.parametrize("strategy", ["pursuit", "logistic"])
def test_constant_columns_leave_the_highest_order_alone(strategy):
    table = np.hstack([X[:, :3], np.ones((300, 2))])
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    features = MOHNTransformer(strategy, max_order=4, random_state=0).fit(table, y)
    assert (0, 1) in features.terms_


def test_folds_may_be_given(above):
    folds = list(KFold(2, shuffle=True, random_state=0).split(X))
    losses = [above.history_[0]["validation_log_loss"]]
    for cv in (folds, KFold(2, shuffle=True, random_state=0)):
        features = MOHNTransformer(cv=cv, random_state=0).fit(X, NUMBERS > 0.3)
        losses.append(features.history_[0]["validation_log_loss"])
    assert losses[1] == losses[2] != losses[0]


def test_warnings_of_the_search_are_passed_on():
    rng = np.random.default_rng(0)
    table, weights = rng.choice([-1.0, 1.0], (48, 6)), rng.normal(size=(6, 6))
    target = np.einsum("ni,ij,nj->n", table, weights, table)
    features = MOHNTransformer("pursuit", random_state=0)
    with pytest.warns(ConvergenceWarning, match="samples are too few") as caught:
        features.fit(table, target)
    assert caught[0].filename == __file__


def test_ebic_is_for_few_rows():
    rows = np.arange(36)
    features = MOHNTransformer(include_inputs=False).fit(X[rows], ODD[rows])
    assert "BIC" in features.stopping_reason_
    assert features.terms_ == [(1, 3, 6)]
    assert features.history_[0]["validation_log_loss"] is None


def test_weights_of_rows_are_repeats():
    weights = np.random.default_rng(7).integers(0, 4, 300)
    y = NUMBERS > 0.3
    weighted = MOHNTransformer(include_inputs=False, random_state=0)
    weighted.fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(300), weights)
    repeated = clone(weighted).fit(X[rows], y[rows])
    assert weighted.terms_ == repeated.terms_


def test_whole_numbers_may_be_counts():
    counts = np.rint(5 + 2 * X[:, 0] * X[:, 5] + X[:, 2]).astype(int)
    features = MOHNTransformer(target_type="continuous", include_inputs=False)
    assert features.fit(X, counts).terms_ == [(2,), (0, 5)]
    assert features.classes_ is None
    features.set_params(target_type="auto", max_iter=1).fit(X, counts)
    assert len(features.classes_) == len(np.unique(counts))


@pytest.mark.parametrize("make", [np.asarray, list, pd.Series, pl.Series])
def test_floats_are_numbers_though_they_are_whole(make):
    counts = np.rint(5 + 2 * X[:, 0] * X[:, 5] + X[:, 2])
    features = MOHNTransformer(include_inputs=False).fit(X, make(counts))
    assert features.classes_ is None
    assert features.terms_ == [(2,), (0, 5)]


def test_floats_may_be_labels():
    labels = np.where(ODD, 2.0, -1.0)
    features = MOHNTransformer(
        target_type="classes", include_inputs=False, random_state=0
    )
    assert features.fit(X, labels).classes_.tolist() == [-1.0, 2.0]
    assert features.terms_ == [(1, 3, 6)]


def test_bins_in_front_make_numbers_two_valued():
    rng = np.random.default_rng(8)
    table = rng.uniform(-1, 1, (600, 4))
    y = (table[:, 0] > 0) ^ (table[:, 1] > 0)
    bins = KBinsDiscretizer(2, encode="onehot-dense")
    if "quantile_method" in bins.get_params():
        # Without it scikit-learn warns, from 1.7 on, that the default will change.
        bins.set_params(quantile_method="averaged_inverted_cdf")
    model = make_pipeline(
        bins,
        MOHNTransformer(include_inputs=False, random_state=0),
        LogisticRegression(),
    )
    assert model.fit(table, y).score(table, y) > 0.97
    names = model[:-1].get_feature_names_out().tolist()
    assert names == ["x0_0.0 x x1_0.0"]


def test_coverage_counts_what_is_built(parity_beside_inputs):
    coverage = {row["order"]: row for row in parity_beside_inputs.search_coverage_}
    assert [coverage[k]["kept"] for k in (1, 2, 3)] == [8, 0, 1]
    assert [coverage[k]["possible"] for k in (1, 2, 3)] == [8, 28, 56]


def test_threads_equal_serial(above):
    with parallel_config(backend="threading"):
        parallel = clone(above).set_params(n_jobs=2).fit(X, NUMBERS > 0.3)
    assert parallel.terms_ == above.terms_


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_callback_can_stop_a_fit():
    stop = StopAfter(3)
    features = MOHNTransformer(include_inputs=False).set_callbacks(stop)
    features.fit(X, NUMBERS > 0.3)
    assert stop.shapes[:3] == [(300, 0), (300, 1), (300, 2)]
    assert len(features.history_) == 3
    assert features.transform(X).shape == (300, 2)
    assert features.stopping_reason_ == "a callback stopped the search"


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("params", "y", "match"),
    [
        ({"max_terms": 5}, ODD, "max_terms=5 is less than the 8 inputs"),
        ({"strategy": "given"}, ODD, "needs terms"),
        ({"strategy": "given", "terms": [(0, 8)]}, ODD, "terms has 8, which is not"),
        ({"strategy": "given", "terms": [(1,), 1]}, ODD, "has 1 more than once"),
        ({"strategy": "given", "terms": [()]}, ODD, "terms has an empty set"),
        (
            {"strategy": "given", "terms": [(1, 1)]},
            ODD,
            r"terms has \(1, 1\), which repeats",
        ),
        (
            {"strategy": "given", "terms": [(0, 1), (1, 2, 4)], "max_order": 2},
            ODD,
            r"terms has \(1, 2, 4\), which is above max_order=2",
        ),
        ({"strategy": "full", "max_terms": 10}, ODD, "more than max_terms=10"),
        ({"strategy": "logistic"}, NUMBERS, "y holds numbers"),
        ({"target_type": "classes"}, NUMBERS, "Unknown label type"),
        ({}, np.zeros(300, int), "only one class, 0"),
        ({}, None, "requires y"),
        ({}, ODD[:-1], "inconsistent numbers"),
    ],
)
def test_refusals_name_what_is_wrong_and_change_nothing(params, y, match, parity):
    estimator = MOHNTransformer(**params)
    before = dict(vars(estimator))
    with pytest.raises(ValueError, match=match):
        estimator.fit(X, y)
    assert vars(estimator) == before
    fitted = copy.deepcopy(parity)
    fitted.set_params(**{"include_inputs": True, **params})
    with pytest.raises(ValueError, match=match):
        fitted.fit(X, y)
    assert fitted.terms_ == [(1, 3, 6)]
    assert_array_equal(fitted.transform(X)[:, 0], X[:, 1] * X[:, 3] * X[:, 6])


def test_all_columns_at_once_must_fit_in_memory():
    wide = np.random.default_rng(0).choice([-1, 1], (50, 400))
    with pytest.raises(MemoryError, match="lower max_order"):
        MOHNTransformer("full", 5).fit(wide, wide[:, 0])


def test_unfitted_builds_nothing():
    for method in ("transform", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(MOHNTransformer(), method)(X)


def test_constant_columns_leave_nothing_to_build():
    features = MOHNTransformer().fit(np.ones((10, 3)), np.arange(10) % 2)
    assert features.transform(np.ones((4, 3))).shape == (4, 0)
    assert "no column of X varies" in features.stopping_reason_


def test_unions_have_no_product_twice():
    features = MOHNTransformer("pursuit", random_state=0).fit(
        X, RNG.integers(3, size=300)
    )
    assert len(set(features.terms_)) == len(features.terms_)
    assert set(combinations(range(8), 1)) <= set(features.terms_)
