"""Comparisons by cross-validation: splits, seeds, tables, sentences and bad input."""

from html import unescape

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris, make_regression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmohn.model_selection import Comparison, compare_estimators, compare_on

IRIS = load_iris(return_X_y=True)
BAYES = {"bayes": GaussianNB(), "bits": BernoulliNB(binarize=2.0)}
LINEAR = {"ols": LinearRegression(), "ridge": Ridge(10.0)}


@pytest.fixture(scope="module")
def regression():
    return make_regression(80, 5, noise=50.0, random_state=0)


def test_scores_are_those_of_scikit_learn():
    cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0)
    found = compare_estimators(BAYES, *IRIS, cv=cv, scoring="neg_log_loss")
    for k, estimator in enumerate(BAYES.values()):
        expected = cross_val_score(estimator, *IRIS, cv=cv, scoring="neg_log_loss")
        assert_allclose(found.split_scores["data"][:, k], expected)
    assert found.scores.shape == (1, 2)
    assert repr(found) == "<Comparison of bayes, bits on 1 data set>"


def test_default_is_ten_times_five_folds():
    found = compare_estimators(BAYES, *IRIS, random_state=0)
    assert found.split_scores["data"].shape == (50, 2)


def test_splits_follow_from_the_seed_for_every_number_of_jobs():
    with parallel_config("threading"):
        found, again, other = (
            compare_estimators(
                BAYES, *IRIS, n_repeats=1, random_state=seed, n_jobs=n_jobs
            ).split_scores["data"]
            for seed, n_jobs in ((0, None), (0, 2), (1, None))
        )
    assert_array_equal(found, again)
    assert not np.array_equal(found, other)


def test_estimators_get_seeds_that_differ_by_split():
    class Seeded(RegressorMixin, BaseEstimator):
        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit(self, X, y):
            self.is_fitted_ = True
            return self

        def predict(self, X):
            return np.full(len(X), self.random_state)

    def score(estimator, X, y):
        return float(estimator.predict(X)[0])

    free, fixed = make_pipeline(StandardScaler(), Seeded()), Seeded(3)
    found = compare_estimators(
        {"free": free, "fixed": fixed}, np.ones((20, 1)), np.ones(20),
        n_repeats=2, scoring=score, random_state=0,
    ).split_scores["data"]  # fmt: skip
    assert len(set(found[:, 0])) == 10
    assert set(found[:, 1]) == {3.0}
    assert free[-1].random_state is None


def test_groups_and_weights_are_respected(regression):
    X, y = regression
    groups = np.repeat(np.arange(16), 5)

    class Watched(DummyRegressor):
        def fit(self, X, y, sample_weight=None):
            assert set(sample_weight) == {1.0, 2.0}
            seen.append(set(X[:, 0]))
            return super().fit(X, y, sample_weight=sample_weight)

    seen = []
    by_group = np.column_stack([groups, X])
    weights = {"sample_weight": 1.0 + np.arange(80) % 2}
    compare_estimators(
        {"a": Watched(), "b": Watched()}, by_group, y,
        cv=4, n_repeats=1, groups=groups, params=weights, random_state=0,
    )  # fmt: skip
    assert [len(each) for each in seen] == [12] * 8
    found = compare_estimators(LINEAR, X, y, cv=GroupKFold(4), groups=groups)
    assert found.split_scores["data"].shape == (4, 2)


@pytest.mark.parametrize("how", ["groups", "params"])
def test_groups_go_to_splits_and_to_estimators_that_request_them(regression, how):
    X, y = regression
    groups = np.repeat(np.arange(16), 5)

    class Watched(DummyRegressor):
        def fit(self, X, y, groups=None):
            assert set(X[:, 0]) == set(groups)
            seen.append(set(groups))
            return super().fit(X, y)

    seen = []
    given = groups if how == "groups" else {"groups": groups}
    with config_context(enable_metadata_routing=True):
        compare_estimators(
            {
                "a": make_pipeline(Watched().set_fit_request(groups=True)),
                "b": Watched().set_fit_request(groups=True),
                "c": LinearRegression(),
            },
            np.column_stack([groups, X]), y,
            cv=4, n_repeats=1, random_state=0, **{how: given},
        )  # fmt: skip
    assert [len(each) for each in seen] == [12] * 8


def test_a_search_is_nested(regression):
    search = RidgeCV([0.1, 1.0, 10.0])
    models = {"search": search, "ols": LinearRegression()}
    found = compare_estimators(models, *regression, n_repeats=1, random_state=0)
    assert not hasattr(search, "alpha_")
    assert found.to_frame()["p_value"].notna().sum() == 1


def test_table_has_a_row_for_each_estimator():
    estimators = {**BAYES, "dummy": DummyClassifier()}
    found = compare_estimators(estimators, *IRIS, n_repeats=3, random_state=0)
    frame = found.to_frame()
    assert list(frame.index) == ["bayes", "bits", "dummy"]
    assert frame.index.name == "estimator"
    assert found.best == "bayes"
    assert list(frame.columns) == [
        *("mean_score", "mean_difference", "ci_low", "ci_high", "p_value"),
        *("prob_worse", "prob_equivalent", "prob_better"),
        *("calibration_error", "fit_seconds", "score_seconds"),
    ]
    means = dict(zip(found.names, found.scores[0], strict=True))
    for name, row in frame.iterrows():
        assert row["mean_score"] == means[name]
        assert row["mean_difference"] == pytest.approx(means[name] - means["bayes"])
    others = frame.iloc[1:]
    assert (others["ci_low"] < others["mean_difference"]).all()
    assert (others["mean_difference"] < others["ci_high"]).all()
    assert frame.iloc[0][["ci_low", "p_value", "prob_worse"]].isna().all()
    assert len(found.pairs.to_frame()) == 3


def test_pairs_are_adjusted_for_their_number():
    two = compare_estimators(BAYES, *IRIS, n_repeats=2, random_state=0)
    tree = {"tree": DecisionTreeClassifier(max_depth=1)}
    three = compare_estimators({**BAYES, **tree}, *IRIS, n_repeats=2, random_state=0)
    by_names = {(p["first"], p["second"]): p for p in three.pairs}
    alone, among = two.pairs[0], by_names["bayes", "bits"]
    assert among["mean_difference"] == alone["mean_difference"]
    assert among["p_value"] == pytest.approx(min(3 * alone["p_value"], 1.0))
    assert among["ci_low"] < alone["ci_low"]
    for pair in three.pairs:
        assert (pair["p_value"] < 0.05) == (pair["ci_low"] > 0 or pair["ci_high"] < 0)


def test_sentences_tell_of_differences(regression):
    found = compare_estimators(
        {"ols": LinearRegression(), "dummy": DummyRegressor()},
        *regression,
        n_repeats=2,
        random_state=0,
    )
    first, second = found.sentences()
    assert first.startswith("ols has the highest mean score, 0.")
    assert second.startswith("ols scores higher than dummy: by 0.")
    equal = {"ols": LinearRegression(), "same": Ridge(1e-9)}
    again = compare_estimators(equal, *regression, n_repeats=2, random_state=0)
    assert "cannot be told apart by these data" in str(again)
    assert "They are practically equivalent" in str(again)


def test_calibration_of_probabilities_and_standard_deviations(regression):
    frame = compare_estimators(
        {**BAYES, "svm": LinearSVC()}, *IRIS, n_repeats=1, random_state=0
    ).to_frame()
    assert np.isnan(frame["calibration_error"]["svm"])
    assert 0.0 < frame["calibration_error"]["bayes"] < 0.1
    assert frame["calibration_error"]["bits"] > frame["calibration_error"]["bayes"]

    class TooSure(BayesianRidge):
        def predict(self, X, return_std=False):
            mean, std = super().predict(X, return_std=True)
            return (mean, 0.1 * std) if return_std else mean

    models = {
        "good": BayesianRidge(), "sure": TooSure(), "plain": Ridge(),
    }  # fmt: skip
    frame = compare_estimators(
        models, *regression, n_repeats=2, random_state=0
    ).to_frame()
    assert frame["calibration_error"]["good"] < 0.05
    assert frame["calibration_error"]["sure"] > 0.15
    assert np.isnan(frame["calibration_error"]["plain"])


def test_several_data_sets():
    rng = np.random.default_rng(0)
    datasets = {}
    for k in range(7):
        X = rng.normal(size=(60, 3))
        datasets[f"set {k}"] = X, (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    estimators = {"dummy": DummyClassifier(), "bayes": GaussianNB()}
    found = compare_on(estimators, datasets, cv=3, n_repeats=2, random_state=0)
    assert found.datasets == list(datasets)
    assert found.best == "bayes"
    frame = found.to_frame()
    assert list(frame["mean_rank"]) == [1.0, 2.0]
    assert frame["p_value"]["dummy"] == pytest.approx(2 * 2.0**-7)
    assert frame["nemenyi_p_value"]["dummy"] < 0.05
    assert "bayes scores higher than dummy" in str(found)
    single = found.select_dataset("set 3")
    assert_array_equal(single.scores[0], found.scores[3])
    assert single.pairs[0]["p_value"] < 0.05
    assert np.isnan(single.critical_difference)
    again = compare_on(estimators, datasets, cv=3, n_repeats=2, random_state=0)
    assert_array_equal(again.scores, found.scores)
    assert again.pairs == found.pairs


def test_too_few_data_sets_are_noted():
    scores = {"a": [0.9, 0.8, 0.9], "b": [0.1, 0.2, 0.1], "c": [0.1, 0.0, 0.0]}
    found = Comparison.from_scores(scores)
    assert found.sentences()[-1] == (
        "With 3 data sets no difference can be significant: 7 are needed."
    )
    enough = Comparison.from_scores({name: row * 3 for name, row in scores.items()})
    assert not any("are needed" in sentence for sentence in enough.sentences())
    # With the fewest data sets that are named, a difference is significant.
    seven = Comparison.from_scores(
        {"a": np.arange(7) + 1, "b": np.zeros(7), "c": -1 - np.arange(7)}
    )
    assert seven.pairs[0]["p_value"] <= 0.05


@pytest.mark.parametrize(
    ("library", "make"),
    [("polars", "DataFrame"), ("pyarrow", "table"), ("pandas", "DataFrame")],
)
def test_scores_may_be_a_frame_of_any_library(library, make):
    scores = {"a": [0.9, 0.8], "b": [0.5, 0.9]}
    frame = getattr(pytest.importorskip(library), make)(scores)
    found, expected = map(Comparison.from_scores, (frame, scores))
    assert found.names == ["a", "b"]
    assert found.pairs == expected.pairs


def test_scores_may_be_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [0.9, 0.8], "b": [0.5, 0.9]}, index=["x", "y"])
    found = Comparison.from_scores(frame, datasets=list(frame.index))
    assert found.datasets == ["x", "y"]
    with pytest.raises(ValueError, match=r"one score for each estimator"):
        found.select_dataset("x")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimators": [GaussianNB()]}, TypeError, "estimators"),
        ({"estimators": {"a": GaussianNB()}}, ValueError, "at least two estimators"),
        ({"estimators": {1: GaussianNB(), 2: GaussianNB()}}, ValueError, "strings"),
        ({"estimators": {"a": GaussianNB, "b": 3}}, TypeError, "pass an instance"),
        ({"estimators": {**BAYES, **LINEAR}}, ValueError, "all be classifiers or none"),
        ({"cv": 1}, ValueError, "n_splits"),
        ({"cv": ShuffleSplit(1)}, ValueError, "at least two splits"),
        ({"cv": KFold(3), "n_repeats": 2}, ValueError, "n_repeats must be None"),
        ({"n_repeats": 0}, ValueError, "n_repeats"),
        ({"rope": -0.1}, ValueError, "rope"),
        ({"confidence_level": 95}, ValueError, "confidence_level"),
        ({"scoring": "precise"}, ValueError, "scoring"),
        ({"scoring": lambda *_: np.nan}, ValueError, "scoring must give finite"),
        ({"scoring": lambda *_: 1e160}, ValueError, "scores of 'bayes'.*got 1e.160"),
        ({"scoring": lambda *_: {"a": 1.0}}, ValueError, r"but returns \['a'\]"),
        ({"y": IRIS[1][:-1]}, ValueError, "inconsistent numbers of samples"),
    ],
)
def test_bad_input_is_refused(change, error, message):
    given = {"estimators": BAYES, "X": IRIS[0], "y": IRIS[1], "cv": 3} | change
    with pytest.raises(error, match=message):
        compare_estimators(
            given.pop("estimators"), given.pop("X"), given.pop("y"), **given
        )


def test_leave_one_out_needs_a_score_of_single_rows(regression):
    # R2 of one row is not defined, which scikit-learn warns of.
    with (
        pytest.warns(match="R\\^2 score is not well-defined"),
        pytest.raises(ValueError, match="use fewer folds or another score"),
    ):
        compare_estimators(LINEAR, *regression, cv=LeaveOneOut())


def test_errors_name_the_estimator_and_the_data_set():
    bad = np.full((20, 2), np.nan)
    with pytest.raises(ValueError, match="NaN") as error:
        compare_on(BAYES, {"iris": IRIS, "bad": (bad, np.arange(20) % 2)}, n_repeats=1)
    notes = error.value.__notes__
    assert "of estimator 'bayes'" in notes
    assert "on data set 'bad'" in notes


@pytest.mark.parametrize(
    ("datasets", "error", "message"),
    [
        ([IRIS, IRIS], TypeError, "datasets"),
        ({"iris": IRIS}, ValueError, "at least two data sets"),
        ({"iris": IRIS, "other": load_iris()}, TypeError, "return_X_y=True"),
    ],
)
def test_bad_data_sets_are_refused(datasets, error, message):
    with pytest.raises(error, match=message):
        compare_on(BAYES, datasets)


@pytest.mark.parametrize(
    ("scores", "datasets", "message"),
    [
        ({"a": [1.0, 2.0]}, None, "at least two estimators"),
        ({"a": [1.0, 2.0], "b": [1.0]}, None, "the same data sets"),
        ({"a": [1.0], "b": [2.0]}, None, "at least two"),
        ({"a": [1.0, np.nan], "b": [2.0, 1.0]}, None, "NaN"),
        ({"a": [1.0, 1e308], "b": [2.0, 1.0]}, None, "scores of .a. must be from"),
        ({"a": [1.0, 2.0], "b": [2.0, 1.0]}, ["x", "x"], "different names"),
    ],
)
def test_bad_scores_are_refused(scores, datasets, message):
    with pytest.raises(ValueError, match=message):
        Comparison.from_scores(scores, datasets=datasets)


def test_unknown_data_set_is_refused():
    found = Comparison.from_scores({"a": [1.0, 2.0], "b": [2.0, 1.0]})
    with pytest.raises(ValueError, match="dataset must be one of"):
        found.select_dataset("z")


def test_notebooks_show_the_best_and_its_differences():
    scores = {"A": [0.9, 0.8, 0.7], "<B>": [0.7, 0.8, 0.3], "C": [0.5, 0.6, 0.1]}
    found = Comparison.from_scores(scores)
    html = found._repr_html_()
    assert "What was learned: 3 estimators on 3 data sets" in html
    assert "A has the lowest mean rank over 3 data sets, 1.17." in html
    assert "<td>&lt;B&gt;</td><td>0.6</td><td>1.83</td>" in html
    # Tests of many pairs take seconds: they are shown once there are any.
    assert "p-values: print or to_frame()" in html
    assert "_tests" not in vars(found)
    sentences = found.sentences()
    html = unescape(found._repr_html_())
    assert [sentence in html for sentence in sentences] == [True] * 3 + [False] * 2


def test_folds_given_by_masks():
    X, y = load_iris(return_X_y=True)
    estimators = {"a": GaussianNB(), "b": GaussianNB(var_smoothing=0.1)}
    parts = [np.arange(len(y)) % 3 == k for k in range(3)]
    masks = [(~part, part) for part in parts]
    indices = [tuple(map(np.flatnonzero, split)) for split in masks]
    texts = [
        str(compare_estimators(estimators, X, y, cv=cv, random_state=0))
        for cv in (masks, indices)
    ]
    assert texts[0] == texts[1]


def test_parameters_of_estimators_are_named_as_theirs():
    X, y = load_iris(return_X_y=True)
    estimators = {"a": GaussianNB(), "b": LinearSVC(C=-1)}
    with pytest.raises(ValueError, match=r"^The 'C' parameter must be") as caught:
        compare_estimators(estimators, X, y)
    assert caught.value.__notes__ == ["of estimator 'b'"]
