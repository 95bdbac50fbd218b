"""scikit-learn's callbacks on a network and on the layers inside of it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline

from skmohn import EnergyNetClassifier, EnergyNetRegressor, EnergyNetTransformer
from skmohn.energynet._stack_trainer import STOPPED

pytestmark = pytest.mark.needs_sklearn("1.9", "callbacks")

X, Y = load_iris(return_X_y=True)
STACK = EnergyNetTransformer(None, [4, 3], n_final_epochs=5)


def network(solver="lbfgs", kind=EnergyNetClassifier, **parameters):
    options = {"activation": "logistic", "max_iter": 2000, "tol": 1e-3}
    rates = {"lbfgs": 0.001, "adam": 0.01, "sgd": 0.2}
    options["learning_rate_init"] = rates[solver]
    mlp = MLPClassifier if kind is EnergyNetClassifier else MLPRegressor
    return kind(STACK, mlp(solver=solver, **options), random_state=0, **parameters)


class Watcher:
    """Count tasks; ask to stop, or fail, at an iteration of one of the two parts."""

    max_propagation_depth = None

    def __init__(self, part=None, at=0, failure=None):
        self.part, self.at, self.failure = part, at, failure
        self.setups = self.teardowns = 0
        self.begun, self.ended, self.predictions, self.weights = [], [], [], []

    def setup(self, estimator, context):
        self.setups += 1

    def teardown(self, estimator, context):
        self.teardowns += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((type(estimator).__name__, context.task_name))
        if context.parent is None:
            self.expected = context.max_subtasks

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        name = type(estimator).__name__
        self.ended.append((name, context.task_name))
        if fitted_estimator is not None and hasattr(fitted_estimator, "predict"):
            self.predictions.append(fitted_estimator.predict(X))
            self.weights.append(fitted_estimator.mlp_.coefs_[-1])
        if (name, "iteration") != (self.part, context.task_name):
            return False
        reached = self.ended.count(self.ended[-1]) == self.at
        if reached and self.failure is not None:
            raise self.failure
        return reached


@pytest.mark.slow_cases("EnergyNetClassifier-generative-adam")
@pytest.mark.parametrize(
    ("kind", "init", "solver"),
    [
        (EnergyNetClassifier, "random", "lbfgs"),
        (EnergyNetClassifier, "generative", "adam"),
        (EnergyNetRegressor, "random", "adam"),
        (EnergyNetRegressor, "generative", "lbfgs"),
    ],
)
def test_callback_sees_both_parts_and_changes_nothing(kind, init, solver):
    plain = network(solver, kind, init=init).fit(X, Y)
    watcher = Watcher()
    net = network(solver, kind, init=init).set_callbacks(watcher).fit(X, Y)
    assert_array_equal(net.predict(X), plain.predict(X))
    assert net.mlp_.n_iter_ == plain.mlp_.n_iter_
    assert watcher.setups == watcher.teardowns == 1
    assert sorted(watcher.begun) == sorted(watcher.ended)
    name, count = kind.__name__, watcher.ended.count
    # The last iteration notices that there is nothing more to do.
    n_epochs = len(net.transformer_.history_)
    assert count(("EnergyNetTransformer", "iteration")) == n_epochs + 1
    n_told = count((name, "iteration")) - 1
    # Of lbfgs these are evaluations, of which an iteration takes one or more.
    n_iter = net.mlp_.n_iter_
    assert n_told >= n_iter if solver == "lbfgs" else n_told == n_iter
    # A prediction for each of them, for the task of the network and for the fit.
    assert len(watcher.predictions) == n_told + 3
    assert_array_equal(watcher.predictions[-1], net.predict(X))
    assert_array_equal(watcher.weights[-1], net.mlp_.coefs_[-1])
    # What a callback keeps stays as it was.
    assert not np.allclose(watcher.weights[0], watcher.weights[-1])
    assert not hasattr(net, "_callback_fit_ctx")
    assert not hasattr(net.transformer_, "_parent_callback_ctx")
    assert not hasattr(net.transformer_, "_skl_callbacks")


@pytest.mark.parametrize("solver", ["lbfgs", "adam", "sgd"])
def test_callback_stops_the_network(solver):
    watcher = Watcher("EnergyNetClassifier", at=3)
    net = network(solver).set_callbacks(watcher).fit(X, Y)
    assert net.mlp_.n_iter_ == 3
    assert np.isfinite(net.mlp_.loss_)
    assert_array_equal(watcher.predictions[-1], net.predict(X))
    assert net.transformer_.stopping_reason_ != STOPPED
    assert network(solver).fit(X, Y).mlp_.n_iter_ > 3


def test_network_that_is_stopped_early_keeps_its_best_weights():
    net = network("adam")
    # With steps this large the last weights are not the best ones.
    net.mlp.set_params(
        activation="tanh", early_stopping=True, learning_rate_init=1.0,
        n_iter_no_change=50,
    )  # fmt: skip
    net.set_callbacks(Watcher("EnergyNetClassifier", at=10)).fit(X, Y)
    mlp = net.mlp_
    assert mlp.n_iter_ == len(mlp.validation_scores_) == 10
    assert mlp.validation_scores_[-1] < mlp.best_validation_score_
    for found, best in zip(mlp.coefs_, mlp._best_coefs, strict=True):
        assert_array_equal(found, best)


def test_callback_stops_the_layers():
    net = network().set_callbacks(Watcher("EnergyNetTransformer", at=1)).fit(X, Y)
    assert net.transformer_.stopping_reason_ == STOPPED
    assert len(net.transformer_.history_) == 1
    assert net.mlp_.hidden_layer_sizes == (4,)
    assert net.predict(X).shape == Y.shape


@pytest.mark.parametrize("part", ["EnergyNetTransformer", "EnergyNetClassifier"])
def test_callback_that_fails_leaves_the_network_as_it_was(part):
    watcher = Watcher(part, at=2, failure=RuntimeError("enough"))
    fresh = network().set_callbacks(watcher)
    before = dict(vars(fresh))
    with pytest.raises(RuntimeError, match="enough"):
        fresh.fit(X, Y)
    assert vars(fresh) == before
    assert watcher.setups == watcher.teardowns == 1
    net = network().fit(X, Y)
    expected = net.predict(X)
    net.set_callbacks(Watcher(part, at=2, failure=RuntimeError("enough")))
    with pytest.raises(RuntimeError, match="enough"):
        net.fit(X[::-1], Y)
    assert_array_equal(net.predict(X), expected)


def test_callback_of_the_transformer_is_its_own():
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring={"nats": lambda net, X, y: net.score(X)})
    net = network()
    net.transformer = clone(STACK).set_callbacks(monitor)
    net.fit(X, Y)
    names = {row["estimator_name"] for row in monitor.get_logs().data}
    assert names == {"EnergyNetTransformer"}


@pytest.mark.slow_cases("adam")
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_scores_are_monitored(solver):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    frame = load_iris(as_frame=True).data
    net = network(solver).set_callbacks(monitor).fit(frame, Y)
    rows = monitor.get_logs().data
    scores = [row["accuracy"] for row in rows if row["task_name"] == "iteration"]
    assert scores[-1] == pytest.approx(accuracy_score(Y, net.predict(frame)))
    assert scores[0] < 0.7 < scores[-1]


@pytest.mark.slow
def test_scores_are_monitored_in_pipeline_and_grid_search():
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    net = network().set_callbacks(monitor)
    make_pipeline("passthrough", net).fit(X, Y)
    assert monitor.get_logs().estimator_name == "Pipeline"
    grid = {"transformer__n_components": [2, 3]}
    search = GridSearchCV(net, grid, cv=2).fit(X, Y)
    logs = monitor.get_logs(select="all")[1:]
    fits = [row for log in logs for row in log.data if row["task_name"] == "fit"]
    # Two values in two folds, and the best one again on everything.
    assert len(fits) == 5
    last = min(fits, key=lambda row: len(row["task_id_path"]))
    assert last["accuracy"] == pytest.approx(search.score(X, Y))


@pytest.mark.parametrize("warm_start", [False, True])
def test_how_many_epochs_there_will_be_is_known(warm_start):
    watcher = Watcher()
    net = clone(STACK).set_params(warm_start=warm_start).fit(X)
    net.set_callbacks(watcher).fit(X)
    # One more is for reports of long work.
    assert watcher.expected - 1 == watcher.ended.count(
        ("EnergyNetTransformer", "iteration")
    )
    assert watcher.expected - 1 == len(net.history_) + 1
    net.set_params(
        n_components=None, growth="infinite_rbm", max_units=2, warm_start=False
    )
    with pytest.warns(ConvergenceWarning, match="max_units"):
        net.fit(X)
    assert watcher.expected is None


def test_progress_bars_alone_in_pipeline_and_grid_search(capsys):
    from sklearn.callback import ProgressBar

    pytest.importorskip("rich")
    names = "EnergyNetTransformer", "layers", "network"
    network().set_callbacks(ProgressBar()).fit(X, Y)
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)
    everything = ProgressBar(max_propagation_depth=None)
    make_pipeline("passthrough", network()).set_callbacks(everything).fit(X, Y)
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("Pipeline", *names))
    search = GridSearchCV(network(), {"init": ["random", "generative"]}, cv=2)
    search.set_callbacks(everything).fit(X, Y)
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("GridSearchCV", "network"))
