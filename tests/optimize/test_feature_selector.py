"""MOHNFeatureSelector against every subset, and scikit-learn's conventions."""

import pickle
from itertools import compress, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_config
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from support import Callback

from skmohn import MOHNFeatureSelector, MOHNRegressor
from skmohn.optimize._feature_selector import _points_with_mean

NAMES = list("abcdef")


def problem(n_samples=60):
    """Columns a and b matter together only, c says what d says, e and f are noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 6))
    X[:, 3] = X[:, 2] + 0.1 * rng.normal(size=n_samples)
    y = 2.0 * np.sign(X[:, 0] * X[:, 1]) + X[:, 2] + 0.1 * rng.normal(size=n_samples)
    return pd.DataFrame(X, columns=NAMES), y


def selector(estimator=None, **parameters):
    estimator = KNeighborsRegressor(3) if estimator is None else estimator
    parameters = {"n_evaluations": 63, "cv": 3, "random_state": 0, **parameters}
    return MOHNFeatureSelector(estimator, **parameters)


def scores_of_all(estimator, X, y, **options):
    """Scores of all subsets, by their columns; none is empty."""
    subsets = (tuple(compress(NAMES, mask)) for mask in product([0, 1], repeat=6))
    return {
        subset: cross_val_score(estimator, X[list(subset)], y, **options).mean()
        for subset in subsets
        if subset
    }


@pytest.fixture(scope="module")
def fitted():
    X, y = problem()
    return selector().fit(X, y)


@pytest.fixture(scope="module")
def every_score():
    X, y = problem()
    return scores_of_all(KNeighborsRegressor(3), X.to_numpy().view(Table), y, cv=3)


class Table(np.ndarray):
    """An array whose columns can be taken by name."""

    def __getitem__(self, key):
        if isinstance(key, list):
            return np.asarray(self)[:, [NAMES.index(name) for name in key]]
        return super().__getitem__(key)


@pytest.mark.slow
def test_best_of_all_subsets_is_found(fitted, every_score):
    best = max(every_score, key=every_score.get)
    assert tuple(fitted.get_feature_names_out()) == best
    assert fitted.best_score_ == every_score[best]
    assert fitted.n_features_to_select_ == len(best)
    assert_array_equal(fitted.support_, [name in best for name in NAMES])


def test_record_has_the_score_of_each_subset(fitted, every_score):
    frame = fitted.scores_.to_frame()
    assert len(frame) <= 63
    for record in fitted.scores_:
        assert record["mean_score"] == every_score[record["features"]]
        assert record["n_features"] == len(record["features"])
    assert_array_equal(frame["best_score"], frame["mean_score"].cummax())
    assert set(frame["source"]) <= {
        "uniform",
        "surrogate",
        "local_search",
        "verification",
        "replicate",
    }
    assert frame["std_score"].iloc[0] == pytest.approx(
        np.std(
            cross_val_score(
                KNeighborsRegressor(3),
                problem()[0][list(frame["features"].iloc[0])].to_numpy(),
                problem()[1],
                cv=3,
            )
        )
    )


def test_model_says_which_columns_work_together(fitted, every_score):
    assert isinstance(fitted.model_, MOHNRegressor)
    points = pd.DataFrame(
        [[int(n in subset) for n in NAMES] for subset in every_score], columns=NAMES
    )
    predicted = fitted.model_.predict(points)
    assert np.corrcoef(predicted, list(every_score.values()))[0, 1] > 0.95
    table = fitted.model_.terms_table().set_index("term")
    assert table["weight"]["a x b"] > 0.1


@pytest.mark.parametrize("k", [1, 3, 6])
def test_subsets_of_k_columns(k, every_score):
    X, y = problem()
    found = selector(n_features_to_select=k).fit(X, y)
    of_k = {s: score for s, score in every_score.items() if len(s) == k}
    assert {r["features"] for r in found.scores_} <= set(of_k)
    assert found.best_score_ == max(of_k.values())
    assert found.transform(X).shape == (60, k)


def test_groups_come_and_go_together(every_score):
    X, y = problem()
    groups = {"pair": ["a", "d"], "other": [4, 1]}
    found = selector(feature_groups=groups).fit(X, y)
    subsets = [s for s in every_score if ("a" in s) == ("d" in s)]
    subsets = [s for s in subsets if ("b" in s) == ("e" in s)]
    assert found.best_score_ == max(every_score[s] for s in subsets)
    assert found.support_[0] == found.support_[3]
    assert found.support_[1] == found.support_[4]
    assert found.model_.feature_names_in_.tolist() == ["pair", "other", "c", "f"]
    of_two = selector(feature_groups=groups, n_features_to_select=2).fit(X, y)
    assert of_two.n_features_to_select_ == 2
    assert {r["n_features"] for r in of_two.scores_} == {2}
    assert ("pair",) in {r["features"] for r in of_two.scores_}


class Constant(ClassifierMixin, BaseEstimator):
    """The same score for all columns."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_of_equal_subsets_the_smallest_is_selected():
    X, y = problem()
    found = selector(Constant()).fit(X, y > 0)
    assert found.n_features_to_select_ == 1


@pytest.mark.slow
def test_same_seed_same_subsets_for_every_n_jobs(fitted):
    X, y = problem()
    with parallel_config(backend="threading"):
        found = selector(n_jobs=2).fit(X, y)
    assert [r["features"] for r in found.scores_] == [
        r["features"] for r in fitted.scores_
    ]
    assert_array_equal(found.support_, fitted.support_)


def test_folds_are_drawn_once():
    X, y = problem()
    found = selector(cv=KFold(3, shuffle=True), n_evaluations=20).fit(X, y)
    of_subset = found.scores_.to_frame().groupby("features")["mean_score"]
    assert of_subset.count().max() > 1
    assert of_subset.nunique().max() == 1


def test_transform_follows_the_conventions(fitted):
    X, y = problem()
    other = SequentialFeatureSelector(KNeighborsRegressor(3), n_features_to_select=2)
    other.fit(X, y)
    ours = clone(fitted).set_params(n_features_to_select=2).fit(X, y)
    for kept in (other, ours):
        mask = kept.get_support()
        assert_array_equal(kept.get_support(indices=True), np.flatnonzero(mask))
        assert_array_equal(kept.transform(X), X.loc[:, mask])
        back = kept.inverse_transform(kept.transform(X))
        assert_array_equal(back, X * mask)
    frame = ours.set_output(transform="pandas").transform(X)
    assert frame.columns.tolist() == ours.get_feature_names_out().tolist()
    assert type(ours.n_features_to_select_) is int


def test_in_a_pipeline_and_pickled(fitted):
    X, y = problem()
    pipe = make_pipeline(selector(n_evaluations=8), LinearRegression()).fit(X, y)
    assert pipe.predict(X).shape == (60,)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.transform(X), fitted.transform(X))


def test_sparse_input_equals_dense():
    X, y = problem()
    options = {"estimator": RidgeClassifier(), "n_evaluations": 12}
    dense = selector(**options).fit(X.to_numpy(), y > 0)
    sparse = selector(**options).fit(csr_array(X.to_numpy()), y > 0)
    assert_array_equal(sparse.support_, dense.support_)


def test_no_targets_are_needed_where_the_estimator_needs_none():
    X, _ = problem()
    found = selector(KMeans(2, n_init=1, random_state=0), n_evaluations=5).fit(X)
    assert found.support_.any()


@pytest.mark.parametrize("container", ["pandas", "polars", "lists"])
def test_text_is_for_the_estimator_to_read(container):
    X, y = problem()
    X = X[["c"]].assign(g=pd.Categorical(np.tile(["u", "v", "w"], 20)))
    y, model = y + 3.0 * (X["g"] == "v"), MOHNRegressor("gp", random_state=0)
    table = {"pandas": X, "polars": pl.from_pandas(X), "lists": X.to_numpy().tolist()}
    given = table[container]
    found = selector(model, n_evaluations=3).fit(given, y)
    assert_array_equal(found.support_, [True, True])
    best = cross_val_score(model, X, y, cv=3).mean()
    assert found.best_score_ == pytest.approx(best)
    given = np.array(given, dtype=object) if container == "lists" else given
    assert_array_equal(found.transform(table[container]), given)
    if container != "lists":
        assert list(found.transform(given).dtypes) == list(given.dtypes)
    if container == "pandas":  # older scikit-learn reads no names of polars
        with pytest.raises(ValueError, match="same order"):
            found.transform(given[["g", "c"]])
    with pytest.raises(ValueError, match=r"column (g|1) holds text, 'u'.*OneHotEnc"):
        selector().fit(given, y)


# ------------------------------------------------------------------------ metadata


def test_groups_of_samples_go_to_cv():
    X, y = problem()
    groups = np.arange(60) % 5
    found = selector(cv=GroupKFold(3), n_evaluations=4).fit(X, y, groups=groups)
    features = list(found.get_feature_names_out())
    expected = cross_val_score(
        KNeighborsRegressor(3),
        X[features].to_numpy(),
        y,
        groups=groups,
        cv=GroupKFold(3),
    )
    assert found.best_score_ == expected.mean()
    with pytest.raises(ValueError, match="groups"):
        selector(cv=GroupKFold(3)).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        selector().fit(X, y, sample_weight=np.ones(60))


def test_metadata_are_routed():
    X, y = problem()
    rng = np.random.default_rng(1)
    weight, groups = rng.uniform(size=60), np.arange(60) % 5
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LinearRegression().set_fit_request(sample_weight=True)
        scorer = make_scorer(r2_score).set_score_request(sample_weight="importance")
        found = selector(estimator, cv=GroupKFold(3), scoring=scorer, n_evaluations=6)
        metadata = {"sample_weight": weight, "importance": weight, "groups": groups}
        found.fit(X, y, **metadata)
        features = list(found.get_feature_names_out())
        expected = cross_val_score(
            estimator, X[features].to_numpy(), y, cv=GroupKFold(3), scoring=scorer,
            params=metadata,
        )  # fmt: skip
        assert found.best_score_ == expected.mean()
        with pytest.raises(TypeError, match="unexpected"):
            found.fit(X, y, weather=weight)


# ----------------------------------------------------------------------- callbacks


class Watcher(Callback):
    """Keeps what it sees of a fit; asks to stop after some subsets."""

    def __init__(self, stop_after):
        self.stop_after, self.supports, self.most = stop_after, [], None

    def setup(self, estimator, context):
        self.most = context.max_subtasks

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.task_name == "iteration":
            self.supports.append(fitted_estimator.get_support())
        return len(self.supports) >= self.stop_after


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_callbacks_see_each_subset_and_may_stop():
    X, y = problem()
    watcher = Watcher(stop_after=5)
    found = selector().set_callbacks(watcher).fit(X, y)
    assert len(found.scores_) == 5
    assert_array_equal(found.support_, watcher.supports[4])


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize(("n_columns", "n_subsets"), [(9, 100), (11, 110)])
def test_default_is_ten_subsets_for_each_column(n_columns, n_subsets):
    X, y = problem()
    X = np.tile(X.to_numpy(), 2)[:, :n_columns]
    watcher = Watcher(stop_after=1)
    selector(n_evaluations="auto").set_callbacks(watcher).fit(X, y)
    # The two more that FitLoop allows for.
    assert watcher.most == n_subsets + 2


# ----------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": 3}, "'estimator' parameter"),
        ({"n_evaluations": 0}, "'n_evaluations' parameter"),
        ({"n_evaluations": "many"}, "'n_evaluations' parameter"),
        ({"n_features_to_select": 0}, "'n_features_to_select' parameter"),
        ({"n_features_to_select": 7}, "no subset has as many of the 6 columns"),
        ({"feature_groups": [["a", "b"]]}, "'feature_groups' parameter"),
        ({"feature_groups": {"g": []}}, "feature_groups has no column for 'g'"),
        ({"feature_groups": {"g": ["a", "z"]}}, "feature_groups has 'z', which is not"),
        ({"feature_groups": {"g": [6]}}, "feature_groups has 6, which is not a column"),
        ({"feature_groups": {"g": [-1]}}, "indices from 0 to 5"),
        ({"feature_groups": {"g": ["a"], "h": [0, 1]}}, "has the column 'a' twice"),
        ({"feature_groups": {"f": ["a", "b"]}}, "a group named 'f'"),
        ({"feature_groups": {3: ["a", "b"]}}, "a group named 3"),
        (
            {"feature_groups": {"g": list("abc"), "h": list("def")},
             "n_features_to_select": 2},
            "as many of the 6 columns, given feature_groups",
        ),
        ({"scoring": "best"}, "'scoring' parameter"),
        ({"cv": 1}, "'cv' parameter"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(parameters, message):
    X, y = problem()
    with pytest.raises((TypeError, ValueError), match=message):
        selector(**parameters).fit(X, y)


def test_scores_that_are_not_finite_are_not_selected():
    X, y = problem()

    def score(estimator, X, y):
        return np.nan if X.shape[1] > 2 else float(X.shape[1])

    found = selector(scoring=score).fit(X, y)
    assert found.best_score_ == 2.0
    assert any(np.isnan(r["mean_score"]) for r in found.scores_)
    with pytest.raises(ValueError, match="has a value"):
        selector(scoring=lambda estimator, X, y: np.inf, n_evaluations=3).fit(X, y)


def test_an_estimator_that_fails_leaves_no_trace(fitted):
    X, y = problem()
    broken = clone(fitted).set_params(estimator=GaussianNB())
    with pytest.raises(ValueError, match="fits failed"):
        broken.fit(X, y)
    assert not hasattr(broken, "support_")


class _FailsAt(LinearRegression):
    """Fit that fails for some numbers of columns."""

    def __init__(self, widths=()):
        super().__init__()
        self.widths = widths

    def fit(self, X, y, sample_weight=None):
        if X.shape[1] in self.widths:
            raise RuntimeError("cannot fit these")
        return super().fit(X, y)


def test_subsets_whose_fits_fail_are_left_out():
    """In some folds or in all; scikit-learn's own error names no such parameter."""
    X, y = problem()
    with pytest.warns(FitFailedWarning, match="subsets are left out.*cannot fit these"):
        found = selector(_FailsAt((1, 3))).fit(X, y)
    assert found.n_features_to_select_ not in (1, 3)
    with pytest.raises(ValueError, match="none of 4 subsets has a value: fits failed"):
        selector(_FailsAt(range(99)), n_evaluations=4).fit(X, y)
    with pytest.raises(ValueError, match="has a value: scoring gives no finite number"):
        selector(scoring=lambda estimator, X, y: np.inf, n_evaluations=3).fit(X, y)


def test_best_score_is_that_of_the_selected_columns():
    """Of an estimator that draws, the mean of the evaluations, not a lucky one."""
    points = [{"a": 1, "b": 1}, {"a": 1, "b": 0}, {"a": 1, "b": 0}, {"a": 0, "b": 1}]
    values = [0.9, 0.9, 0.5, 0.9]
    history = [
        {"point": point, "value": value}
        for point, value in zip(points, values, strict=True)
    ]
    assert _points_with_mean(history, 0.9) == [points[0], points[3]]
    assert _points_with_mean(history, 0.7) == [points[1]]
