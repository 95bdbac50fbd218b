"""What differs between versions of scikit-learn, and what is read of its inside."""

import inspect
import re
import subprocess
import sys
import warnings
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import has_fit_parameter

from skmohn import EnergyNetClassifier, EnergyNetTransformer, MOHNRegressor
from skmohn._core import _sklearn
from skmohn._core._sklearn import (
    callback_context,
    check_sample_weight,
    class_weights,
    complete_mlp,
    lasso_cv,
    prepend_html,
    raise_for_params,
    require_mlp_weights,
    watched_mlp,
)

INSTALLED = version("scikit-learn")
# Arguments of the methods that `_WatchedMLP` overrides, as they were read in the source
# of these versions; a later version has those of the last one, or fails here by name.
LOSS_GRADIENT = "packed_coef_inter X y {} activations deltas coef_grads intercept_grads"
OVERRIDDEN = {
    "1.6": {
        "_initialize": "y layer_units dtype",
        "_loss_grad_lbfgs": LOSS_GRADIENT.replace(" {}", ""),
        "_backprop": "X y activations deltas coef_grads intercept_grads",
        "_update_no_improvement_count": "early_stopping X_val y_val",
    },
    "1.7 1.8 1.9": {
        "_initialize": "y layer_units dtype",
        "_loss_grad_lbfgs": LOSS_GRADIENT.format("sample_weight"),
        "_backprop": "X y sample_weight activations deltas coef_grads intercept_grads",
        "_update_no_improvement_count": "early_stopping X y sample_weight",
    },
}
# Attributes that the methods of `_WatchedMLP` and `complete_mlp` set or read.
SET_IN_A_FIT = ["_best_coefs", "_best_intercepts", "_no_improvement_count"]


def arguments_read():
    minor = ".".join(INSTALLED.split(".")[:2])
    known = [read for names, read in OVERRIDDEN.items() if minor in names.split()]
    return (known or list(OVERRIDDEN.values()))[-1]


@pytest.mark.parametrize("name", list(OVERRIDDEN["1.6"]))
def test_overridden_methods_of_the_mlp_are_those_that_were_read(name):
    (_, *arguments) = inspect.signature(getattr(MLPRegressor, name)).parameters
    assert arguments == arguments_read()[name].split(), (
        f"MLPRegressor.{name} of scikit-learn {INSTALLED} takes other arguments than "
        f"in {', '.join(OVERRIDDEN)}: read it anew, then adapt _core/_sklearn.py"
    )
    assert name in _sklearn.__doc__


def test_methods_of_the_mlp_that_are_overridden_are_all_looked_at():
    of_mlp = {name for kind in MLPRegressor.__mro__ for name in vars(kind)}
    ours = (_sklearn._WatchedMLP, _sklearn._WatchedMLPRegressor)
    own = {name for kind in ours for name in vars(kind) if re.match("_[^_]", name)}
    assert own & of_mlp - {"_abc_impl"} == set(OVERRIDDEN["1.6"])


@pytest.mark.parametrize("solver", ["sgd", "adam"])
def test_a_network_of_scikit_learn_keeps_what_we_set_of_it(solver):
    X, y = load_iris(return_X_y=True)
    mlp = MLPClassifier(3, solver=solver, early_stopping=True, max_iter=2)
    with pytest.warns(match="converged"):
        mlp.fit(X, y)
    assert vars(mlp).keys() >= {*SET_IN_A_FIT, "_label_binarizer"}


@pytest.mark.parametrize("solver", ["sgd", "adam", "lbfgs"])
@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_a_watched_network_learns_as_scikit_learns_does(kind, solver):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    plain = kind(
        hidden_layer_sizes=3, solver=solver, tol=1e-2, max_iter=500, random_state=0
    ).fit(X, y)
    watched, losses = watched_mlp(plain, ()), []
    watched.watch = losses.append
    watched.fit(X, y)
    assert len(losses) >= plain.n_iter_
    copy = watched.to_plain()
    assert type(copy) is kind
    for found in (watched, copy):
        for ours, theirs in zip(found.coefs_, plain.coefs_, strict=True):
            assert_array_equal(ours, theirs)
    assert_array_equal(copy.predict(X), plain.predict(X))


def test_a_watched_network_begins_as_given_layers():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    layer = rng.normal(size=(4, 2)), rng.normal(size=2)
    begun = []
    watched = watched_mlp(MLPClassifier(3, solver="adam", random_state=0), [layer])

    def stop(loss):
        begun.append(loss)
        raise RuntimeError("enough")

    watched.watch = stop
    watched.set_params(learning_rate_init=1e-12)
    with pytest.raises(RuntimeError, match="enough"):
        watched.fit(X, y)
    assert_allclose(watched.coefs_[0][:, :2], layer[0], atol=1e-9)
    assert_allclose(watched.intercepts_[0][:2], layer[1], atol=1e-9)
    assert len(begun) == 1


# A network without hidden layers is a ridge regression.
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_targets", [1, 2, 3])
def test_loss_of_several_targets_is_what_its_gradient_is_of(n_targets, is_weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = np.exp(X[:, :n_targets]) + rng.normal(size=(30, n_targets))
    weights = rng.integers(1, 4, size=30).astype(float) if is_weighted else np.ones(30)
    y = y if n_targets > 1 else y[:, 0]
    ridge = Ridge(alpha=2.0).fit(X, y, sample_weight=weights)
    mlp = MLPRegressor(
        hidden_layer_sizes=(), solver="lbfgs", alpha=2.0, tol=1e-9, max_iter=1000,
        random_state=0,
    )  # fmt: skip
    watched, losses = watched_mlp(mlp, ()), []
    watched.watch = losses.append
    watched.fit(X, y, sample_weight=weights if is_weighted else None)
    assert_allclose(watched.predict(X), ridge.predict(X), atol=1e-4)
    # Of deeper ones it is the loss of what they predict.
    deeper = watched_mlp(mlp.set_params(hidden_layer_sizes=2, tol=1e-2), ())
    deeper.fit(X, y, sample_weight=weights)
    for network, found in ((watched, min(losses)), (deeper, deeper.loss_)):
        errors = (y - network.predict(X)).reshape(30, -1) ** 2
        penalty = 2.0 * sum(np.sum(np.square(coef)) for coef in network.coefs_)
        loss = (weights @ errors.sum(axis=1) + penalty) / (2 * weights.sum())
        assert_allclose([found, network.loss_], loss, rtol=1e-6)


@pytest.mark.needs_sklearn("1.7", "the loss of counts")
def test_other_losses_of_several_targets_are_scikit_learns():
    X = np.random.default_rng(0).normal(size=(20, 2))
    mlp = MLPRegressor(
        hidden_layer_sizes=(), loss="poisson", solver="lbfgs", tol=1e-2, random_state=0
    )
    plain = clone(mlp).fit(X, np.exp(X))
    assert watched_mlp(mlp, ()).fit(X, np.exp(X)).loss_ == plain.loss_


def test_a_network_that_is_filled_predicts_and_goes_on():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    fitted = MLPClassifier(3, tol=0.1, random_state=0).fit(X, names)
    filled = MLPClassifier(3, random_state=0)
    public = {k: v for k, v in vars(fitted).items() if k.endswith("_")}
    vars(filled).update(public)
    complete_mlp(filled, np.unique(names))
    assert_array_equal(filled.predict(X), fitted.predict(X))
    # None in vain so far, and it goes on to learn.
    assert filled._no_improvement_count == 0
    filled.partial_fit(X, names)
    regressor = MLPRegressor()
    complete_mlp(regressor)
    assert not hasattr(regressor, "_label_binarizer")


# ------------------------------------------------------------------- sample weights


@pytest.fixture
def without_weights(monkeypatch):
    """As if scikit-learn were 1.6, whose networks take no weights."""
    monkeypatch.setattr(_sklearn, "VERSION", (1, 6))


def test_version_says_whether_networks_take_weights():
    takes = has_fit_parameter(MLPRegressor, "sample_weight")
    assert takes == (_sklearn.VERSION >= (1, 7))


@pytest.mark.needs_sklearn("1.7", "networks that take weights")
@pytest.mark.parametrize("version", [(1, 7), _sklearn.VERSION])
def test_weights_are_given_to_networks_that_take_them(monkeypatch, version):
    monkeypatch.setattr(_sklearn, "VERSION", version)
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).random(len(X))
    mlp = MLPClassifier(3, tol=0.1, random_state=0)
    require_mlp_weights(mlp, weights)
    found = watched_mlp(mlp, ()).fit(X, y, sample_weight=weights)
    expected = mlp.fit(X, y, sample_weight=weights)
    assert_array_equal(found.coefs_[0], expected.coefs_[0])


def test_room_for_repeated_rows_is_asked_for(without_weights, monkeypatch):
    asked = []
    monkeypatch.setattr(
        _sklearn, "require_memory", lambda n_bytes, *words: asked.append(n_bytes)
    )
    X, weights = np.eye(4)[:, :3], np.array([1.0, 2.0, 3.0, 4.0])
    mlp = MLPRegressor(hidden_layer_sizes=2, solver="lbfgs", max_iter=1, tol=1e9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        watched_mlp(mlp, ()).fit(X, weights, sample_weight=weights)
    assert asked == [np.zeros((10, 3)).nbytes]


def test_whole_weights_are_repeated_rows_where_networks_take_none(without_weights):
    X, y = load_iris(return_X_y=True)
    counts = np.random.default_rng(0).integers(1, 4, size=len(X)).astype(float)
    mlp = MLPClassifier(3, solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0)
    rows = np.repeat(np.arange(len(X)), counts.astype(int))
    expected = watched_mlp(mlp, ()).fit(X[rows], y[rows])
    found = watched_mlp(mlp, ()).fit(X, y, sample_weight=counts)
    for ours, theirs in zip(found.coefs_, expected.coefs_, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("solver", "weights"),
    [("lbfgs", [0.5, 1.5, 1.0]), ("adam", [2.0, 1.0, 1.0]), ("sgd", [1.0, 3.0, 1.0])],
)
def test_weights_that_would_be_lost_are_refused(without_weights, solver, weights):
    X, y, weights = np.eye(3), np.arange(3), np.array(weights)
    mlp = MLPClassifier(3, solver=solver)
    with pytest.raises(ValueError, match=r"sample_weight needs scikit-learn 1\.7"):
        require_mlp_weights(mlp, weights)
    with pytest.raises(ValueError, match=r"sample_weight needs scikit-learn 1\.7"):
        watched_mlp(mlp, ()).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("weights", ["balanced", ["1.0", "one", "2.0"], [object()] * 3])
def test_weights_that_are_no_numbers_are_named(weights):
    with pytest.raises(
        (TypeError, ValueError), match="sample_weight must have a number for each row"
    ):
        check_sample_weight(weights, np.eye(3))


def test_an_estimator_refuses_weights_before_it_fits_layers(without_weights):
    X, y = load_iris(return_X_y=True)
    net = EnergyNetClassifier(
        EnergyNetTransformer(None, 3, n_final_epochs=2), random_state=0
    )
    weights = np.random.default_rng(0).random(len(X))
    with pytest.raises(ValueError, match=r"sample_weight needs scikit-learn 1\.7"):
        net.fit(X, y, sample_weight=weights)
    assert not hasattr(net, "transformer_")
    # One each is no weight at all, and none says nothing.
    adam = net.set_params(mlp=MLPClassifier(solver="adam", tol=0.1, random_state=0))
    first = (np.arange(len(X)) < 120).astype(float)
    found = adam.fit(X, y, sample_weight=first).predict_proba(X)
    assert_array_equal(found, adam.fit(X[:120], y[:120]).predict_proba(X))


def test_weights_of_zero_are_refused_in_every_version():
    for weights in ([0.0, 0.0], 0.0, np.zeros(2, dtype=np.float32)):
        with pytest.raises(ValueError, match="at least one non-zero"):
            check_sample_weight(weights, np.eye(2))
    assert_array_equal(check_sample_weight(None, np.eye(2)), 1.0)
    with pytest.raises(ValueError, match="Negative values"):
        check_sample_weight([1.0, -1.0], np.eye(2), ensure_non_negative=True)


@pytest.mark.parametrize("balance", ["balanced", {0: 2.0, 2: 0.5}])
def test_classes_are_weighed_alike_in_every_version(balance):
    rng = np.random.default_rng(0)
    y, weights = rng.integers(3, size=30), rng.integers(1, 4, size=30)
    repeated = np.repeat(y, weights)
    expected = compute_class_weight(balance, classes=np.arange(3), y=repeated)
    assert_allclose(class_weights(balance, np.arange(3), y, weights), expected)


# ---------------------------------------------------------------- names that changed


def test_a_path_has_as_many_penalties_as_are_asked_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    search = lasso_cv(n_alphas=7, eps=1e-2, cv=3).fit(X, X[:, 0])
    assert isinstance(search, LassoCV)
    assert len(search.alphas_) == 7


def test_number_of_penalties_has_its_new_name_since_it_was_given(monkeypatch):
    monkeypatch.setattr(_sklearn, "VERSION", (1, 7))
    assert lasso_cv(n_alphas=7).get_params()["alphas"] == 7


@pytest.mark.parametrize("rest", ["0", "12", "dev0", "0rc1"])
def test_version_is_read_of_every_release(monkeypatch, rest):
    minor = [int(part) for part in INSTALLED.split(".")[:2]]
    monkeypatch.setattr(sklearn, "__version__", "{}.{}.{}".format(*minor, rest))
    spec = find_spec(_sklearn.__name__)
    again = module_from_spec(spec)
    spec.loader.exec_module(again)
    assert list(again.VERSION) == minor


def test_html_is_put_above_that_of_scikit_learn():
    attributes = SimpleNamespace(_html_repr=lambda: "table")
    assert prepend_html(attributes, lambda: "ours, ")._html_repr() == "ours, table"


def test_arguments_of_fit_need_metadata_routing():
    model = MOHNRegressor()
    raise_for_params({"groups": [1]}, model, allow=["groups"])
    raise_for_params({}, model)
    for allow in ((), ["groups"]):
        with pytest.raises(ValueError, match=r"enable_metadata_routing=.*sample_color"):
            raise_for_params({"sample_color": 1}, model, allow=allow)


# ------------------------------------------------------------------- without callbacks

WITHOUT_CALLBACKS = """
import warnings
from importlib.util import find_spec
warnings.simplefilter("ignore")
import sklearn
if find_spec("sklearn.callback"):
    sklearn.__version__ = "1.8.0"
import numpy as np
import skmohn
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
X = np.random.default_rng(0).integers(2, size=(40, 4)).astype(float)
y = (X[:, 0] != X[:, 1]).astype(float)
layers = skmohn.EnergyNetTransformer(None, 2, n_final_epochs=2)
few = {"solver": "lbfgs", "max_iter": 5}
for model in (
    skmohn.MOHNRegressor(),
    skmohn.MOHNRegressor("msda", max_iter=20),
    skmohn.MOHNClassifier("full", 1),
    skmohn.MOHNTransformer("full", 1),
    skmohn.BLMRegressor((2,), max_flips=50),
    skmohn.BLMClassifier((2,), max_flips=50),
    skmohn.EnergyNetTransformer(None, 2, n_final_epochs=2),
    skmohn.EnergyNetClassifier(layers, MLPClassifier(**few)),
    skmohn.EnergyNetRegressor(layers, MLPRegressor(**few)),
    skmohn.MOHNFeatureSelector(RidgeClassifier(), n_evaluations=3, cv=2),
):
    assert not hasattr(model, "set_callbacks"), model
    try:
        model.set_callbacks()
    except AttributeError as error:
        message = str(error)
    assert type(model).__name__ in message, message
    assert "needs scikit-learn 1.9" in message, message
    assert sklearn.__version__ in message, message
    model.fit(X, y)
skmohn.MOHNRegressor().fit(X, np.column_stack([y, 1 - y]))
print("done")
"""


@pytest.mark.slow
def test_estimators_do_without_callbacks():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CALLBACKS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize("version", [(1, 9), _sklearn.VERSION])
def test_estimators_have_callbacks(monkeypatch, version):
    monkeypatch.setattr(_sklearn, "VERSION", version)
    model = MOHNRegressor()
    assert hasattr(model, "set_callbacks")
    assert not isinstance(callback_context(model, 3), _sklearn._NoCallbacks)


def test_without_callbacks_nobody_stops_a_fit(monkeypatch):
    monkeypatch.setattr(_sklearn, "VERSION", (1, 8))
    context = callback_context(MOHNRegressor(), 3).subcontext(task_name="a step")
    assert not context.call_on_fit_task_end(data={})
