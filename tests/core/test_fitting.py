"""History, the way back, warnings, memory, and scikit-learn's callbacks."""

import contextlib
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_info, threadpool_limits

import skmohn
from skmohn import MOHNClassifier, MOHNRegressor, MOHNTransformer
from skmohn._core import _fitting
from skmohn._core._fitting import (
    History,
    all_or_nothing,
    blas_threads_for,
    gather_warnings,
    one_blas_thread,
    warn_caller,
)
from skmohn.datasets import make_sparse_walsh
from skmohn.mohn._gp.model import GPModel

RNG = np.random.default_rng(0)
X = RNG.choice([0.0, 1.0], (80, 8))
SIGNS = 2 * X - 1
Y = 1 + SIGNS[:, 0] + 2 * SIGNS[:, 1] * SIGNS[:, 2]


# ------------------------------------------------------------------------ history


def test_history_becomes_a_frame():
    history = History([{"iteration": 1, "rmse": 0.5}, {"iteration": 2, "rmse": 0.25}])
    frame = history.to_frame()
    assert frame.columns.tolist() == ["iteration", "rmse"]
    assert frame["rmse"].tolist() == [0.5, 0.25]


def test_history_is_short_where_it_is_shown():
    history = History([{"iteration": i, "rmse": 0.5} for i in range(2000)])
    assert repr(history) == "<History of 2,000 records: iteration, rmse>"
    assert repr(History()) == "<History of 0 records>"
    assert pickle.loads(pickle.dumps(history)) == history


# ----------------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    "between",
    [
        [],
        ["skmohn.mohn._regressor"],
        ["skmohn._core._fitting", "sklearn.base", "skmohn.blm", "joblib.parallel"],
        ["skmohn.mohn._density", "contextlib"],  # of functions with a decorator
    ],
)
def test_warning_belongs_to_the_line_of_the_user(between):
    ask = warn_caller
    for module in between:
        frame = {"__name__": module, "ask": ask}
        exec("def call(*args):\n    ask(*args)", frame)
        ask = frame["call"]
    with pytest.warns(RuntimeWarning, match="mind the gap") as caught:
        ask("mind the gap", RuntimeWarning)
    assert caught[0].filename == __file__


def test_package_of_a_similar_name_is_a_user():
    frame = {"__name__": "skmohnish", "ask": warn_caller}
    exec(compile("def call():\n    ask('mind the gap')", "theirs.py", "exec"), frame)
    with pytest.warns(UserWarning, match="mind the gap") as caught:
        frame["call"]()
    assert caught[0].filename == "theirs.py"


def test_warning_without_a_user_is_given_all_the_same():
    frame = {"__name__": "joblib", "ask": warn_caller}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with ThreadPoolExecutor() as pool:
            pool.submit(eval("lambda: ask('mind the gap')", frame)).result()
    assert [str(w.message) for w in caught] == ["mind the gap"]


@pytest.mark.parametrize("wrap", [make_pipeline, lambda m: GridSearchCV(m, {}, cv=2)])
def test_warning_from_deep_inside_belongs_to_the_user(wrap):
    model = wrap(MOHNRegressor("pursuit")).fit(X, Y)
    with pytest.warns(UserWarning, match="mapped on the line") as caught:
        model.predict(X + 0.25)
    assert caught[0].filename == __file__


def test_gathered_warnings_are_those_of_one_thread():
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor() as pool:
        warnings.simplefilter("always")
        with gather_warnings() as gathered:
            with gather_warnings() as inner:
                warn_caller("deep")
            warn_caller("here", FutureWarning)
            pool.submit(warn_caller, "there").result()
            pool.submit(warnings.warn, "others'").result()
    assert [(str(w), type(w)) for w in inner] == [("deep", UserWarning)]
    assert [(str(w), type(w)) for w in gathered] == [("here", FutureWarning)]
    assert [str(w.message) for w in caught] == ["there", "others'"]


def test_nothing_changes_the_filters_of_all_threads():
    """Those of `warnings.catch_warnings` are not of one thread."""
    for path in Path(skmohn.__file__).parent.rglob("*.py"):
        assert "catch_warnings(" not in path.read_text(encoding="utf-8"), path


# ----------------------------------------------------------------- all or nothing


class HalfWritten(BaseEstimator):
    """Writes attributes, then fails if told to."""

    def __init__(self, failure=None):
        self.failure = failure

    @all_or_nothing
    def fit(self, value):
        """Write, delete, fail."""
        self.coef_ = value
        self.__dict__.pop("old_", None)
        if self.failure is not None:
            raise self.failure
        return self


@pytest.mark.parametrize(
    "failure", [ValueError("bad"), KeyboardInterrupt(), MemoryError(), SystemExit()]
)
def test_failed_fit_leaves_everything_as_it_was(failure):
    estimator = HalfWritten(failure)
    before = dict(vars(estimator))
    with pytest.raises(type(failure)):
        estimator.fit(1)
    assert vars(estimator) == before
    estimator = HalfWritten().fit(1)
    estimator.old_ = "old"
    estimator.failure = failure
    before = dict(vars(estimator))
    with pytest.raises(type(failure)):
        estimator.fit(2)
    assert vars(estimator) == before
    assert list(vars(estimator)) == list(before)


def test_successful_fit_is_kept():
    assert HalfWritten().fit(3).coef_ == 3
    assert HalfWritten.fit.__name__ == "fit"
    assert HalfWritten.fit.__doc__ == "Write, delete, fail."


class Callback:
    """Counts hooks; does something at the end of one of the iterations."""

    def __init__(self, at=1, action=None):
        self.at = at
        self.action = action
        self.setups = self.teardowns = 0
        self.begun = []
        self.ended = []
        self.predictions = []

    def setup(self, estimator, context):
        self.setups += 1

    def teardown(self, estimator, context):
        self.teardowns += 1

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.begun.append(context.task_name)
        self.metadata = metadata
        self.rows = len(X), len(y)

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.ended.append(context.task_name)
        if fitted_estimator is not None and context.task_name == "iteration":
            self.predictions.append(fitted_estimator.predict(X[:3]))
        if self.ended.count("iteration") == self.at and self.action is not None:
            return self.action()
        return False


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize(
    "model", [MOHNRegressor(random_state=0), MOHNClassifier(random_state=0)]
)
def test_long_work_between_iterations_is_reported(model, monkeypatch):
    callback, quiet = Callback(), Callback()
    y = Y if isinstance(model, MOHNRegressor) else np.median(Y) < Y
    # Noise: with an exact function there is no long work.
    y = np.where(np.arange(len(y)) % 5, y, y[::-1])
    expected = clone(model).set_callbacks(quiet).fit(X, y).predict(X)
    monkeypatch.setattr(_fitting, "_QUIET", 0.0)
    found = clone(model).set_callbacks(callback).fit(X, y)
    assert_array_equal(found.predict(X), expected)
    assert callback.begun.count("work") == callback.ended.count("work") == 1
    assert callback.begun.count("step") > callback.begun.count("work")
    # No fit is around this one.
    assert _fitting._LOOP.get() is None


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_long_work_after_the_last_iteration_is_reported(monkeypatch):
    callback, during, with_tails = Callback(), [], GPModel.with_tails

    def watched(*args):
        before = callback.begun.count("step")
        _fitting.tick()
        during.append(callback.begun.count("step") - before)
        return with_tails(*args)

    monkeypatch.setattr(GPModel, "with_tails", watched)
    monkeypatch.setattr(_fitting, "_QUIET", 0.0)
    noise = np.random.default_rng(1).standard_normal(len(Y))
    MOHNRegressor("gp").set_callbacks(callback).fit(X, Y + noise)
    assert during == [1]


def interrupt():
    raise KeyboardInterrupt


STRATEGIES = [
    MOHNRegressor(),
    MOHNRegressor("pursuit"),
    MOHNRegressor(strategy="msda", random_state=0),
    MOHNRegressor("full", "delta", max_order=2),
    MOHNRegressor("full", "lasso", max_order=2, alpha=0.01),
    MOHNRegressor("given", terms=[(0,), (1, 2)]),
]


@pytest.fixture(params=STRATEGIES, ids=lambda e: f"{e.strategy}-{e.learning_rule}")
def estimator(request):
    return clone(request.param)


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_interrupted_first_fit_leaves_it_unfitted(estimator):
    callback = Callback(action=interrupt)
    estimator.set_callbacks(callback)
    before = dict(vars(estimator))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y)
    assert vars(estimator) == before
    assert not hasattr(estimator, "coef_")
    assert not hasattr(estimator, "n_features_in_")
    assert callback.teardowns == callback.setups == 1


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_interrupted_refit_leaves_the_old_model(estimator):
    estimator.fit(X, Y)
    expected, old = estimator.predict(X), dict(vars(estimator))
    estimator.set_callbacks(Callback(action=interrupt))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(np.hstack([X, X]), Y**2)
    estimator.set_callbacks()
    assert vars(estimator).keys() == old.keys()
    assert all(vars(estimator)[name] is old[name] for name in old)
    assert_array_equal(estimator.predict(X), expected)


# ---------------------------------------------------------------------- callbacks


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_callback_sees_each_iteration_and_a_fitted_estimator(estimator):
    callback = Callback()
    estimator.set_callbacks(callback).fit(X, Y, sample_weight=np.ones(len(Y)))
    n_iterations = len(estimator.history_)
    # The last iteration notices that there is nothing more to do.
    assert callback.ended.count("iteration") == n_iterations + 1
    assert callback.ended[-1] == "fit"
    assert sorted(callback.begun) == sorted(callback.ended)
    assert callback.rows == (len(X), len(Y))
    assert_array_equal(callback.metadata["sample_weight"], 1.0)
    assert len(callback.predictions) == n_iterations + 1
    assert_array_equal(callback.predictions[-1], estimator.predict(X[:3]))
    assert not hasattr(estimator, "_callback_fit_ctx")


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_callback_that_returns_true_stops_the_search():
    problem = make_sparse_walsh(30, 20, n_samples=300, max_order=2, random_state=0)
    callback = Callback(at=2, action=lambda: True)
    model = MOHNRegressor().set_callbacks(callback).fit(problem.X, problem.y)
    assert len(model.history_) == 2
    assert model.stopping_reason_ == "a callback stopped the search"
    assert len(MOHNRegressor().fit(problem.X, problem.y).history_) > 2


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize("at", [1, 3])
def test_callback_stops_the_other_strategies(at):
    problem = make_sparse_walsh(20, 20, n_samples=200, max_order=2, random_state=0)
    for estimator in (
        MOHNRegressor("msda", random_state=0),
        MOHNRegressor("full", "delta", max_order=1),
    ):
        callback = Callback(at=at, action=lambda: True)
        estimator.set_callbacks(callback).fit(problem.X, problem.y)
        assert len(estimator.history_) == at
        assert "stopped" in estimator.stopping_reason_


def scores_of(monitor):
    return [log.data for log in monitor.get_logs(select="all")]


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_scoring_monitor_alone(estimator):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="r2")
    estimator.set_callbacks(monitor).fit(X, Y)
    (rows,) = scores_of(monitor)
    scores = [row["r2"] for row in rows if row["task_name"] == "iteration"]
    assert len(scores) == len(estimator.history_) + 1
    assert scores[-1] == pytest.approx(estimator.score(X, Y))


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_scoring_monitor_in_a_pipeline(estimator):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="neg_mean_squared_error")
    pipeline = make_pipeline(
        FunctionTransformer(lambda X: X[:, ::-1]), estimator.set_callbacks(monitor)
    )
    if estimator.strategy == "given":
        estimator.set_params(terms=[(7,), (5, 6)])
    pipeline.fit(X, Y)
    (rows,) = scores_of(monitor)
    assert len(rows) >= len(estimator.history_)


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_scoring_monitor_in_a_grid_search():
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="r2")
    model = MOHNRegressor().set_callbacks(monitor)
    search = GridSearchCV(model, {"max_order": [1, 2]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"max_order": 2}
    # Two values in two folds, and the best one again on everything.
    fits = [
        row for run in scores_of(monitor) for row in run if row["task_name"] == "fit"
    ]
    assert len(fits) == 5
    assert fits[-1]["r2"] == pytest.approx(1)


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_progress_bar(estimator, capsys):
    from sklearn.callback import ProgressBar

    pytest.importorskip("rich")
    estimator.set_callbacks(ProgressBar()).fit(X, Y)
    assert "MOHNRegressor" in capsys.readouterr().out


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_progress_bar_in_pipeline_and_grid_search(capsys):
    from sklearn.callback import ProgressBar

    pytest.importorskip("rich")
    pipeline = make_pipeline("passthrough", MOHNRegressor(max_order=2))
    pipeline.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, Y)
    assert "MOHNRegressor" in capsys.readouterr().out
    search = GridSearchCV(MOHNRegressor(), {"max_order": [1, 2]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(X, Y)
    assert "GridSearchCV" in capsys.readouterr().out


def threads():
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return [pool["num_threads"] for pool in blas]


def test_one_blas_thread_inside_and_as_before_outside():
    before = threads()
    assert before
    assert set(one_blas_thread(threads)()) == {1}
    assert threads() == before


@pytest.mark.parametrize(("n_rows", "expected"), [(499, 1), (500, 2)])
def test_only_many_rows_get_all_threads_of_blas(n_rows, expected):
    with threadpool_limits(2, user_api="blas"):
        with blas_threads_for(n_rows):
            assert set(threads()) == {expected}
        assert set(threads()) == {2}


def test_the_limit_of_blas_ends_with_the_last_that_asked_for_it():
    with threadpool_limits(2, user_api="blas"):
        first, second = blas_threads_for(1), blas_threads_for(1)
        first.__enter__()
        second.__enter__()
        # As where two threads fit, and the first ends first.
        first.__exit__(None, None, None)
        assert set(threads()) == {1}
        second.__exit__(None, None, None)
        assert set(threads()) == {2}


def test_an_interrupt_at_any_line_leaves_blas_usable(run_lines):
    def use():
        with contextlib.suppress(KeyboardInterrupt), blas_threads_for(1):
            pass

    within = _fitting.__name__
    for last in range(1, run_lines(use, within=within) + 1):
        with threadpool_limits(2, user_api="blas"):
            run_lines(use, last, within)
            # The next one would wait for ever.
            assert not _fitting._LOCK.locked(), f"line {last}"
            use()
            assert set(threads()) == {2}, f"line {last}"


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize("kind", [MOHNRegressor, MOHNTransformer])
@pytest.mark.parametrize(("repeats", "expected"), [(1, 1), (7, 2)])
def test_a_fit_of_few_rows_takes_one_thread_of_blas(kind, repeats, expected):
    from sklearn.callback import ScoringMonitor

    seen = []

    def note_threads(model, X, y):
        seen.append(set(threads()))
        return {"noted": 1.0}

    model = kind("pursuit").set_callbacks(ScoringMonitor(scoring=note_threads))
    with threadpool_limits(2, user_api="blas"):
        y = np.tile(Y, repeats) + 0.01 * np.arange(repeats * len(Y))
        model.fit(np.tile(X, (repeats, 1)), y)
        assert set(threads()) == {2}
    assert seen[0] == {expected}


def test_so_does_the_regression_behind_a_search(monkeypatch):
    seen = []

    class Watched(LogisticRegression):
        def fit(self, *args, **kwargs):
            seen.append(set(threads()))
            return super().fit(*args, **kwargs)

    monkeypatch.setattr("skmohn.mohn._sparse.classes.LogisticRegression", Watched)
    with threadpool_limits(2, user_api="blas"):
        MOHNClassifier().fit(X, Y > 0)
    assert seen
    assert all(threads == {1} for threads in seen)
