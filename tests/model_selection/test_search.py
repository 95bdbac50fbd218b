"""BlackBoxSearchCV, with GridSearchCV as oracle where it tries all settings."""

import pickle

import numpy as np
import pytest
from scipy.stats import kstest, loguniform, randint, rv_discrete, uniform
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, f1_score, make_scorer, recall_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support import Callback

from skmohn import BlackBoxSearchCV
from skmohn._core import _fitting
from skmohn.model_selection._param_space import ParamSpace
from skmohn.model_selection._trials import winning_probability

X, y = load_wine(return_X_y=True)
PIPELINE = Pipeline([("scale", StandardScaler()), ("model", KNeighborsClassifier())])
GRID = {
    "scale": ["passthrough", StandardScaler()],
    "model__n_neighbors": [5, 1, 20],
    "model__weights": ["uniform", "distance"],
}
GRIDS = [
    {"model": [KNeighborsClassifier()], "model__n_neighbors": [1, 5, 20]},
    {"model": [DecisionTreeClassifier(random_state=0)], "model__max_depth": [1, 3]},
]


class Scored(ClassifierMixin, BaseEstimator):
    """Classifier whose score is a function of its parameters, and of the fold."""

    def __init__(self, a=0, b=0, c=0.0, level="x", fails=False):
        self.a = a
        self.b = b
        self.c = c
        self.level = level
        self.fails = fails

    def fit(self, X, y, sample_weight=None):
        if self.fails:
            raise ArithmeticError("it was to fail")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y, sample_weight=None):
        fold = 0.01 * float(np.sin(X.sum()))
        return self.c + 2.0 * (self.a != self.b) + fold * (1.0 + 0.001 * self.c)


def without_times(results):
    return {k: v for k, v in results.items() if "_time" not in k}


def assert_same_results(found, expected):
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        if key == "params" or key.startswith("param_"):
            assert list(map(str, found[key])) == list(map(str, values))
        else:
            np.testing.assert_array_equal(found[key], values)


@pytest.mark.parametrize(
    ("grid", "train"), [(GRID, True), (GRIDS, False)], ids=["one", "several"]
)
def test_small_grids_are_searched_as_by_grid_search(grid, train):
    options = {"cv": 4, "return_train_score": train}
    grid_search = GridSearchCV(PIPELINE, grid, **options).fit(X, y)
    search = BlackBoxSearchCV(PIPELINE, grid, racing=False, **options).fit(X, y)
    found = without_times(search.cv_results_)
    assert np.all(found.pop("n_splits_run") == 4)
    assert_same_results(found, without_times(grid_search.cv_results_))
    assert search.best_index_ == grid_search.best_index_
    assert search.best_score_ == grid_search.best_score_
    assert search.stopping_reason_ == "every setting was tried"
    np.testing.assert_array_equal(search.predict(X), grid_search.predict(X))
    assert search.score(X, y) == grid_search.score(X, y)
    # Times are means of the same numbers of folds, and deviations are there.
    times = search.cv_results_["mean_fit_time"], search.cv_results_["std_fit_time"]
    assert np.all(times[0] > 0.0)
    assert np.any(times[1] > 0.0)


@pytest.mark.parametrize("grid", [GRID, GRIDS], ids=["one", "several"])
def test_races_find_the_best_and_save_folds(grid):
    folds = StratifiedKFold(8, shuffle=True, random_state=0)
    best = GridSearchCV(PIPELINE, grid, cv=folds).fit(X, y)
    search = BlackBoxSearchCV(PIPELINE, grid, cv=folds).fit(X, y)
    assert search.best_params_ == best.best_params_
    assert search.best_score_ == best.best_score_
    results = search.cv_results_
    n_run = results["n_splits_run"]
    assert n_run.min() >= 2
    assert n_run.mean() < 8
    assert n_run[search.best_index_] == 8
    splits = np.stack([results[f"split{k}_test_score"] for k in range(8)], axis=1)
    np.testing.assert_array_equal(np.sum(~np.isnan(splits), axis=1), n_run)
    mean = [np.mean(row[:n]) for row, n in zip(splits, n_run, strict=True)]
    std = [np.std(row[:n]) for row, n in zip(splits, n_run, strict=True)]
    np.testing.assert_allclose(results["mean_test_score"], mean, rtol=1e-14)
    np.testing.assert_allclose(results["std_test_score"], std, rtol=1e-12, atol=1e-15)
    rank = results["rank_test_score"]
    assert rank[n_run < 8].min() > rank[n_run == 8].max()
    assert rank.min() == 1


def test_the_predicted_probability_is_calibrated():
    # The mean over all folds, as the bar, must be at a uniform quantile.
    rng = np.random.default_rng(0)
    for n in (2, 3, 7):
        quantiles = []
        for scores in rng.normal(0.3, 2.0, size=(2000, 10)):
            bar = np.full(10, scores.mean())
            quantiles.append(winning_probability(scores[:n], bar))
        assert kstest(quantiles, uniform.cdf).pvalue > 0.01


def test_equal_differences_are_certain():
    best = np.array([0.5, 0.6, 0.7, 0.9])
    assert winning_probability(best[:2], best) == 1.0
    assert winning_probability(best[:2] - 0.25, best) == 0.0
    assert winning_probability(best[:2] + 0.25, best) == 1.0


def test_no_setting_is_tried_twice_and_none_is_invented():
    grid = {"a": range(6), "b": range(6), "c": [0.0, 0.5, 1.0], "level": ["x", "y"]}
    search = BlackBoxSearchCV(Scored(), grid, n_evaluations=40, random_state=0)
    search.fit(X, y)
    tried = [tuple(p.items()) for p in map(dict, search.cv_results_["params"])]
    assert len(tried) == len(set(tried)) == 40
    assert search.stopping_reason_ == "n_evaluations were made"
    for params in search.cv_results_["params"]:
        assert all(params[name] in grid[name] for name in grid)
    assert search.best_params_["c"] == 1.0
    assert search.best_params_["a"] != search.best_params_["b"]


def test_an_optimum_is_found_from_few_evaluations():
    X, y = load_diabetes(return_X_y=True)
    grid = {
        "alpha": np.logspace(-5, 5, 21),
        "fit_intercept": [False, True],
        "positive": [False, True],
    }
    best = GridSearchCV(Ridge(), grid).fit(X, y).best_score_
    search = BlackBoxSearchCV(Ridge(), grid, n_evaluations=20, random_state=0)
    for racing in (False, True):
        search.set_params(racing=racing).fit(X, y)
        assert search.best_score_ == pytest.approx(best, abs=0.002)


def test_equal_values_count_once():
    grid = {"a": [1, 1, 2], "level": ["x", "x"]}
    search = BlackBoxSearchCV(Scored(), grid).fit(X, y)
    assert search.cv_results_["params"] == [
        {"a": 1, "level": "x"},
        {"a": 2, "level": "x"},
    ]
    grids = [{"a": [1, 2]}, {"a": [2, 3]}]
    search = BlackBoxSearchCV(Scored(), grids).fit(X, y)
    assert search.cv_results_["params"] == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_distributions_are_tried_at_quantiles():
    space = ParamSpace(
        {"few": randint(2, 6), "many": randint(0, 1000), "x": loguniform(1e-4, 1e4)}, 0
    )
    few, many, x = space.parameters
    assert few.values == [2, 3, 4, 5]
    assert len(many.values) == len(x.values) == 32
    assert all(type(value) is int for value in few.values + many.values)
    np.testing.assert_allclose(np.diff(np.log(x.values)), np.log(1e8) / 32)
    assert all(p.is_ordered for p in space.parameters)
    # Integers between those that the distribution has are none of its values.
    powers = rv_discrete(values=([2, 4, 16], [0.3, 0.4, 0.3]))
    assert ParamSpace({"a": powers}, 0).parameters[0].values == [2, 4, 16]
    search = BlackBoxSearchCV(
        Scored(),
        {"c": uniform(0, 1), "a": randint(0, 4)},
        n_evaluations=15,
        random_state=0,
    ).fit(X, y)
    assert search.best_params_["c"] > 0.9


def test_numbers_are_ordered_and_other_values_are_not():
    space = ParamSpace({"n": [3, 1, 2], "w": ["a", "b"], "d": [1, None, 2]}, 0)
    assert space.variables == {"n": [0, 1, 2], "w": ["0", "1"], "d": ["0", "1", "2"]}
    assert space.decode({"n": 0, "w": "1", "d": "1"}) == {"n": 1, "w": "b", "d": None}


def test_points_of_the_optimizer_stand_for_settings():
    for grid in (GRID, GRIDS, [{"a": [1, 2]}, {"a": [2], "b": [None, 1]}]):
        space = ParamSpace(grid, 0)
        settings = list(space.settings())
        assert len(settings) == space.n_settings
        points = [space.encode(setting) for setting in settings]
        assert [space.decode(point) for point in points] == settings
        assert all(map(space.has, settings))
        assert not space.has({"other": 1})


def test_of_too_many_settings_of_several_grids_some_are_drawn():
    grids = [{"a": range(100), "b": range(100)}, {"c": uniform(0, 1)}]
    space = ParamSpace(grids, 0)
    assert 2000 < space.n_settings <= 4096
    search = BlackBoxSearchCV(Scored(), grids, n_evaluations=10, random_state=0)
    assert len(search.fit(X, y).cv_results_["params"]) == 10


def test_results_do_not_depend_on_the_number_of_jobs():
    search = BlackBoxSearchCV(
        PIPELINE, GRID, n_evaluations=10, batch_size=3, random_state=3
    )
    alone = without_times(search.fit(X, y).cv_results_)
    search.set_params(n_jobs=2).fit(X, y)
    assert_same_results(without_times(search.cv_results_), alone)


def test_another_seed_is_another_search():
    grid = {"a": range(20), "b": range(20)}
    first, again, other = (
        BlackBoxSearchCV(Scored(), grid, n_evaluations=8, random_state=seed)
        .fit(X, y)
        .cv_results_["params"]
        for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.slow_cases("accuracy")
@pytest.mark.parametrize("refit", ["recall", "accuracy", False])
def test_several_metrics(refit):
    scoring = {
        "accuracy": "accuracy",
        "recall": make_scorer(recall_score, average="macro"),
    }
    options = {"scoring": scoring, "refit": refit, "cv": 3}
    grid_search = GridSearchCV(PIPELINE, GRID, **options).fit(X, y)
    search = BlackBoxSearchCV(PIPELINE, GRID, racing=False, **options).fit(X, y)
    found = without_times(search.cv_results_)
    found.pop("n_splits_run")
    assert_same_results(found, without_times(grid_search.cv_results_))
    assert search.multimetric_
    assert hasattr(search, "best_index_") == bool(refit)
    if refit:
        assert search.best_index_ == grid_search.best_index_
        assert search.score(X, y) == grid_search.score(X, y)
    # Without a name there is no best setting to race with.
    search.set_params(racing=True).fit(X, y)
    assert np.all(search.cv_results_["n_splits_run"] == 3) == (not refit)


def test_a_callable_may_make_several_metrics():
    def scores(model, X, y):
        hits = np.mean(model.predict(X) == y)
        return {"hits": hits, "misses": 1.0 - hits}

    options = {"scoring": scores, "refit": "hits", "cv": 3}
    grid_search = GridSearchCV(PIPELINE, GRID, **options).fit(X, y)
    search = BlackBoxSearchCV(PIPELINE, GRID, **options).fit(X, y)
    assert search.best_score_ == grid_search.best_score_
    with pytest.raises(ValueError, match="refit='other' is not a"):
        search.set_params(refit="other").fit(X, y)


def test_a_function_may_choose_the_best():
    def simplest(results):
        good = results["mean_test_score"] >= results["mean_test_score"].max() - 0.05
        return int(np.flatnonzero(good)[-1])

    options = {"refit": simplest, "cv": 3}
    grid_search = GridSearchCV(PIPELINE, GRID, **options).fit(X, y)
    search = BlackBoxSearchCV(PIPELINE, GRID, **options).fit(X, y)
    assert search.best_params_ == grid_search.best_params_
    assert np.all(search.cv_results_["n_splits_run"] == 3)
    assert not hasattr(search, "best_score_")


def test_groups_reach_the_folds_without_routing():
    groups = np.arange(len(X)) % 5
    options = {"cv": GroupKFold(3)}
    grid_search = GridSearchCV(PIPELINE, GRID, **options).fit(X, y, groups=groups)
    search = BlackBoxSearchCV(PIPELINE, GRID, **options).fit(X, y, groups=groups)
    assert search.best_score_ == grid_search.best_score_


def test_metadata_are_routed():
    weight = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    grid = {"C": [0.001, 0.01, 0.1]}
    with config_context(enable_metadata_routing=True):
        model = LogisticRegression(max_iter=10_000).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        options = {"cv": GroupKFold(3).set_split_request(groups=True)}
        params = {"sample_weight": weight, "groups": np.arange(len(X)) % 7}
        scaled = StandardScaler().fit_transform(X)
        expected = GridSearchCV(model, grid, **options).fit(scaled, y, **params)
        search = BlackBoxSearchCV(model, grid, racing=False, **options)
        found = search.fit(scaled, y, **params).cv_results_
        np.testing.assert_array_equal(
            found["mean_test_score"], expected.cv_results_["mean_test_score"]
        )
        assert search.score(scaled, y, sample_weight=weight) == expected.score(
            scaled, y, sample_weight=weight
        )


def test_folds_are_drawn_once():
    cv = ShuffleSplit(3, random_state=np.random.RandomState(0))
    search = BlackBoxSearchCV(Scored(), {"a": [0, 1]}, cv=cv, racing=False)
    results = search.fit(X, y).cv_results_
    differences = [np.ptp(results[f"split{k}_test_score"]) for k in range(3)]
    np.testing.assert_allclose(differences, 2.0)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_settings_that_fail_are_survived():
    grid = {"a": range(10), "b": range(10), "fails": [True, False]}
    search = BlackBoxSearchCV(Scored(), grid, n_evaluations=25, random_state=0)
    with pytest.warns(FitFailedWarning, match="fits failed: their scores are nan"):
        search.fit(X, y)
    failed = np.array([p["fails"] for p in search.cv_results_["params"]])
    assert 0 < failed.sum() < 25
    assert not search.best_params_["fails"]
    np.testing.assert_array_equal(
        np.isnan(search.cv_results_["mean_test_score"]), failed
    )
    assert search.cv_results_["rank_test_score"][failed].min() == 1 + np.sum(~failed)
    assert len(search.interactions_) == 6
    search.set_params(error_score=-1.0)
    with pytest.warns(FitFailedWarning, match="their scores are -1.0"):
        search.fit(X, y)
    search.set_params(error_score="raise", n_evaluations=200)
    with pytest.raises(ArithmeticError, match="it was to fail"):
        search.fit(X, y)
    search.set_params(error_score=np.nan, param_grid={"fails": [True], "a": [0, 1]})
    with pytest.raises(ValueError, match="all 4 fits failed"):
        search.fit(X, y)


def test_a_search_goes_on():
    grid = {"a": range(8), "b": range(8), "c": [0.0, 0.5]}
    options = {"random_state": 0, "return_train_score": True}
    first = BlackBoxSearchCV(Scored(), grid, n_evaluations=12, **options).fit(X, y)
    second = BlackBoxSearchCV(
        Scored(), grid, n_evaluations=13, initial_results=first.cv_results_, **options
    ).fit(X, y)
    tried = second.cv_results_["params"]
    assert tried[:12] == first.cv_results_["params"]
    assert len(tried) == len({str(sorted(p.items())) for p in tried}) == 25
    for key, values in without_times(first.cv_results_).items():
        if key.startswith(("split", "mean", "std", "n_splits_run")):
            np.testing.assert_array_equal(second.cv_results_[key][:12], values)
    assert second.best_score_ >= first.best_score_


def test_a_grid_search_can_be_extended():
    options = {"cv": 3, "scoring": ["accuracy", "recall_macro"], "refit": "accuracy"}
    grid_search = GridSearchCV(PIPELINE, GRID, **options).fit(X, y)
    wide = {**GRID, "model__n_neighbors": [5, 1, 20, 3]}
    search = BlackBoxSearchCV(
        PIPELINE, wide, initial_results=grid_search.cv_results_, racing=False, **options
    ).fit(X, y)
    expected = GridSearchCV(PIPELINE, wide, **options).fit(X, y)
    assert search.best_score_ == expected.best_score_
    assert len(search.cv_results_["params"]) == 16
    with pytest.raises(ValueError, match="has all 12 settings"):
        search.set_params(param_grid=GRID).fit(X, y)
    with pytest.raises(ValueError, match="scores of 4 folds"):
        search.set_params(cv=4).fit(X, y)
    with pytest.raises(ValueError, match="scores of 3 folds"):
        search.set_params(cv=3, initial_results={}).fit(X, y)
    search.set_params(initial_results=grid_search.cv_results_, return_train_score=True)
    with pytest.raises(ValueError, match="no scores of training rows"):
        search.fit(X, y)


def weighted_f1(model, X, y):
    """A scorer that is a function."""
    return f1_score(y, model.predict(X), average="weighted")


@pytest.mark.parametrize(
    ("earlier", "later", "is_other"),
    [
        (None, "neg_log_loss", True),
        ("accuracy", "balanced_accuracy", True),
        ("accuracy", weighted_f1, True),
        ({"a": "accuracy"}, {"a": "f1_macro"}, True),
        ({"a": "accuracy"}, {"a": make_scorer(accuracy_score)}, False),
        (["accuracy", "f1_macro"], ["f1_macro", "accuracy"], False),
        (None, "accuracy", False),
        ("accuracy", make_scorer(accuracy_score), False),
        (weighted_f1, weighted_f1, False),
    ],
)
@pytest.mark.parametrize("store", [clone, None], ids=["cloned", "pickled"])
def test_a_search_goes_on_with_the_same_scoring_alone(earlier, later, is_other, store):
    grid, options = {"model__n_neighbors": range(1, 9)}, {"cv": 2, "random_state": 0}
    refit = not isinstance(earlier, dict | list)
    search = BlackBoxSearchCV(PIPELINE, grid, n_evaluations=2, scoring=earlier,
                              refit=refit, **options).fit(X, y)  # fmt: skip
    results = pickle.loads(pickle.dumps(search.cv_results_))
    search.set_params(scoring=later, initial_results=results)
    search = search if store is None else store(search)
    if not is_other:
        assert len(search.fit(X, y).cv_results_["params"]) == 4
        return
    with pytest.raises(
        ValueError, match=r"initial_results has scores of scoring=.*anew"
    ):
        search.fit(X, y)
    assert len(search.set_params(initial_results=None).fit(X, y).cv_results_["params"])


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"params": None}, "must have 'params', a list of dicts"),
        ({"params": ["{'a': 1}"] * 6}, "must have 'params', a list of dicts"),
        ({"params": [{}] * 7}, "a number for each of the 7 settings"),
        ({"split1_test_score": None}, "'split1_test_score', a number for each of"),
        ({"split1_test_score": [0.5]}, "'split1_test_score', a number for each of"),
        ({"split1_test_score": ["x"] * 6}, "'split1_test_score', a number for each"),
        ({"split5_test_score": [0.5] * 6}, "scores of 2 folds"),
        ({"split0_test_r2": [0.5] * 6}, "scores named .'r2', 'score'."),
        ({"mean_fit_time": 3.0}, "'mean_fit_time', a number for each of the 6"),
        ({"n_splits_run": [1, 2, 2, 2, 2, -1]}, "that are not 1 to 2 folds"),
        ({"n_splits_run": [1, 2, 2, 2, 2, 1.5]}, "that are not 1 to 2 folds"),
        ({"n_splits_run": [[1]] * 6}, "'n_splits_run', a number for each of the 6"),
    ],
)
def test_initial_results_that_are_not_whole_are_refused(changes, match):
    grid = {"a": range(4), "b": range(4), "c": [0.0, 0.5]}
    search = BlackBoxSearchCV(Scored(), grid, n_evaluations=6, cv=2, random_state=0)
    stored = search.fit(X, y).cv_results_ | {1: None} | changes
    with pytest.raises(ValueError, match=f"initial_results .*{match}"):
        search.set_params(initial_results=stored).fit(X, y)


def test_of_settings_that_are_there_twice_the_one_of_more_folds_counts():
    results = {
        "params": [{"a": 1}, {"a": 1}, {"a": 2}, {"a": 1}],
        "split0_test_score": [0.5, 0.5, 1e300, 0.5],
        "split1_test_score": [np.nan, 0.25, 1e300, np.nan],
        "n_splits_run": [1, 2, 2, 1],
        "mean_fit_time": [0.0] * 4,
        "mean_score_time": [0.0] * 4,
    }
    grid, options = {"a": range(40)}, {"cv": 2, "random_state": 0}
    search = BlackBoxSearchCV(
        Scored(), grid, n_evaluations=4, initial_results=results, **options
    ).fit(X, y)
    found = search.cv_results_
    assert found["params"][:2] == [{"a": 1}, {"a": 2}]
    assert found["mean_test_score"][0] == 0.375
    assert len(found["params"]) == 6


def test_interactions_are_parts_of_the_variance():
    # Of `c` uniform over 0, 1, 2 and 2 (a xor b), the variances are 2/3 and 1.
    grid = {"a": [0, 1], "b": [0, 1], "c": [0.0, 1.0, 2.0], "level": ["x", "y"]}
    search = BlackBoxSearchCV(Scored(), grid, n_evaluations=24, racing=False)
    parts = {
        frozenset(record["parameters"]): record["variance_fraction"]
        for record in search.fit(X, y).interactions_
    }
    assert len(parts) == 4 + 6
    assert parts[frozenset("ab")] == pytest.approx(0.6, abs=0.05)
    assert parts[frozenset("c")] == pytest.approx(0.4, abs=0.05)
    assert sum(parts.values()) == pytest.approx(1.0, abs=0.05)
    fractions = [r["variance_fraction"] for r in search.interactions_]
    assert fractions == sorted(fractions, reverse=True)
    assert search.interactions_ is search.interactions_
    assert search.interactions_.to_frame().shape == (10, 2)


def test_interactions_of_several_grids_name_the_choice():
    grids = [
        {"level": ["x"], "c": [0.0, 1.0, 2.0]},
        {"level": ["y"], "c": [0.0, 1.0, 2.0], "a": [0, 1]},
    ]
    search = BlackBoxSearchCV(Scored(), grids, racing=False).fit(X, y)
    names = {name for record in search.interactions_ for name in record["parameters"]}
    assert names == {"level", "c", "a"}
    grids = [{"c": [0.0, 1.0]}, {"a": [0, 1]}]
    search = BlackBoxSearchCV(Scored(), grids, racing=False).fit(X, y)
    assert any("grid" in record["parameters"] for record in search.interactions_)


def test_equal_scores_have_no_interactions():
    search = BlackBoxSearchCV(Scored(), {"level": ["x", "y"]}).fit(X, y)
    assert search.interactions_ == []


def test_interactions_need_a_fit():
    with pytest.raises(NotFittedError):
        _ = BlackBoxSearchCV(Scored(), {"a": [0, 1]}).interactions_


def test_searches_are_estimators():
    search = BlackBoxSearchCV(PIPELINE, GRID, n_evaluations=5, cv=3, random_state=0)
    score = cross_val_score(search, X, y, cv=2)
    assert np.all(score > 0.8)
    outer = GridSearchCV(clone(search), {"estimator__model__p": [1, 2]}, cv=2)
    assert outer.fit(X, y).best_estimator_.best_score_ > 0.8
    pipeline = Pipeline([("scale", StandardScaler()), ("search", search)]).fit(X, y)
    copied = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(copied.predict(X), pipeline.predict(X))
    assert copied["search"].interactions_ == pipeline["search"].interactions_
    assert search.get_params()["estimator__model__p"] == 2
    np.testing.assert_array_equal(pipeline["search"].classes_, np.unique(y))


def test_skops_stores_searches():
    skops = pytest.importorskip("skops.io")
    grid = {"alpha": [0.1, 1.0, 10.0, 100.0]}
    search = BlackBoxSearchCV(Ridge(), grid, n_evaluations=2, random_state=0).fit(X, y)
    stored = skops.dumps(search)
    back = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    np.testing.assert_array_equal(back.predict(X), search.predict(X))
    assert_same_results(back.cv_results_, search.cv_results_)
    # What its scores are is not in the file, and not asked for.
    search.set_params(initial_results=back.cv_results_).fit(X, y)
    assert len(search.cv_results_["params"]) == 4


def test_a_fit_that_fails_leaves_the_former_one():
    search = BlackBoxSearchCV(Scored(), {"a": [0, 1]}).fit(X, y)
    before = vars(search).copy()
    search.param_grid = {"b": []}
    with pytest.raises(ValueError, match="'b'"):
        search.fit(X, y)
    search.param_grid = before["param_grid"]
    assert vars(search) == before


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        ({"a": "xy"}, TypeError, "parameter 'a'"),
        ({"a": []}, ValueError, "parameter 'a'"),
        ({"a": 3}, TypeError, "parameter 'a'"),
        ([{"a": [1]}, 3], TypeError, "dict"),
        ({"c": object.__new__(type("D", (), {"rvs": 1}))}, TypeError, "without ppf"),
        ({"c": uniform(0, -1)}, ValueError, "'c' whose quantiles"),
        (
            {"a": range(257), "b": [1], "c": range(300)},
            ValueError,
            "param_grid has 257 values of 'a', 300 values of 'c', of which at most 256",
        ),
    ],
)
def test_what_is_no_grid_is_refused(grid, error, message):
    with pytest.raises(error, match=message):
        BlackBoxSearchCV(Scored(), grid).fit(X, y)


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_every_proposal_may_take_long(monkeypatch):
    # scikit-learn refuses more subtasks than were announced.
    monkeypatch.setattr(_fitting, "_QUIET", 0.0)
    grid = {"a": range(10), "b": range(10)}
    search = BlackBoxSearchCV(Scored(), grid, n_evaluations=30, random_state=0)
    assert len(search.fit(X, y).cv_results_["params"]) == 30


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_callbacks_see_each_setting_and_can_stop():
    class Watcher(Callback):
        n_seen = 0

        def setup(self, estimator, context):
            assert context.max_subtasks == 30 + 2

        def on_fit_task_end(self, estimator, context, **kwargs):
            self.n_seen += context.parent is not None
            return self.n_seen == 7

    search = BlackBoxSearchCV(
        Scored(), {"a": range(10), "b": range(10)}, n_evaluations=30, random_state=0
    )
    search.set_callbacks(Watcher()).fit(X, y)
    assert len(search.cv_results_["params"]) == 7
    assert search.stopping_reason_ == "a callback requested it"


def test_one_fold_and_none():
    """Of one fold there are no differences to race by."""
    rows = np.arange(len(y))
    search = BlackBoxSearchCV(Scored(), {"a": [0, 1, 3]}, cv=[(rows, rows)])
    search.fit(X, y)
    assert search.best_params_ == {
        "a": GridSearchCV(Scored(), {"a": [0, 1, 3]}, cv=[(rows, rows)])
        .fit(X, y)
        .best_params_["a"]
    }
    with pytest.raises(ValueError, match="cv has no folds: pass"):
        search.set_params(cv=iter([])).fit(X, y)
    assert len(search.cv_results_["params"]) == 3


def test_empty_list_of_grids():
    with pytest.raises(ValueError, match="param_grid is an empty list"):
        BlackBoxSearchCV(Ridge(), []).fit(*load_diabetes(return_X_y=True))
