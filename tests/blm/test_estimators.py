"""The networks as their user sees them."""

import itertools
import pickle
import warnings

import numba
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import (
    get_scorer,
    hinge_loss,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
    roc_auc_score,
    top_k_accuracy_score,
    zero_one_loss,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from support import Callback

from skmohn import BLMClassifier, BLMRegressor, SearchOptions
from skmohn.blm import _base as base
from skmohn.blm import _kernels as kernels
from skmohn.blm import _local_search as local_search
from skmohn.blm import _network as network_module
from skmohn.blm import _samples as forms
from skmohn.blm._base import _MOVES
from skmohn.blm._codec import grid_step
from skmohn.blm._labels import Labels
from skmohn.blm._serialization import _sealed as sealed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(3, 2, (90, 3))
Y = np.tanh(X[:, 0] - 3) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=90) + 5
Y2 = np.column_stack([Y, X[:, 2] ** 2])
BINARY = np.where(X[:, 0] + X[:, 1] > 6, "yes", "no")
CLASSES = np.array(["a", "b", "c"])[np.digitize(X[:, 0] - X[:, 1], [-1.5, 1.5])]
LABELS = np.column_stack([X[:, 0] > 3, X[:, 1] > 3, X[:, 2] > 3]).astype(int)

QUICK = {"hidden_layer_sizes": (3,), "max_flips": 1500, "random_state": 0}
TASKS = {
    "one": (BLMRegressor, Y),
    "two": (BLMRegressor, Y2),
    "binary": (BLMClassifier, BINARY),
    "classes": (BLMClassifier, CLASSES),
    "labels": (BLMClassifier, LABELS),
}
EVERY_LOSS = [
    *(
        (task, loss)
        for task in ("one", "two")
        for loss in ("squared", "absolute", "huber", "pinball")
    ),
    *(
        (task, loss)
        for task in ("binary", "classes", "labels")
        for loss in ("cross_entropy", "squared", "hinge", "zero_one")
    ),
]


def make(task, **parameters):
    """An unfitted network for a task and the task's targets."""
    estimator, y = TASKS[task]
    return estimator(**{**QUICK, **parameters}), y


def fitted(task, **parameters):
    model, y = make(task, **parameters)
    return model.fit(X, y)


def assert_same_network(first, second):
    assert_array_equal(first.codes_, second.codes_)
    assert first.loss_ == second.loss_
    for one, other in zip(first.coefs_, second.coefs_, strict=True):
        assert_array_equal(one, other)
    assert_array_equal(first.predict(X), second.predict(X))


# Compiled once for all tests; a function that is not compiled yet will do as well.
@numba.njit
def own_squared(target, output):
    return 0.5 * (target - output) ** 2


@numba.njit
def own_hinge(target, output):
    return max(0.0, 1.0 - (2.0 * target - 1.0) * output)


RAW_LOSSES = ["hinge", "zero_one", own_hinge]

# --------------------------------------------------------------- what is predicted


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic", "identity"])
def test_predictions_are_those_of_the_equal_mlp(task, standardize, activation):
    model = fitted(task, standardize=standardize, activation=activation)
    mlp = model.to_mlp()
    found, expected = model.predict(X), mlp.predict(X)
    assert found.shape == TASKS[task][1].shape
    if isinstance(model, BLMRegressor):
        assert_allclose(found, expected, rtol=1e-9)
    else:
        assert_array_equal(found, expected)
        assert_allclose(model.predict_proba(X), mlp.predict_proba(X), atol=1e-12)
        assert_array_equal(mlp.classes_, model.classes_)
    assert mlp.hidden_layer_sizes == (3,)
    assert mlp.score(X, TASKS[task][1]) == pytest.approx(model.score(X, TASKS[task][1]))


@pytest.mark.parametrize("hidden", [(), 4, [2], np.array([2, 3])])
def test_ways_to_write_the_hidden_layers(hidden):
    sizes = tuple(np.atleast_1d(hidden).astype(int))
    model = fitted("two", hidden_layer_sizes=hidden)
    shapes = [coef.shape for coef in model.coefs_]
    assert shapes == list(zip((3, *sizes), (*sizes, 2), strict=True))
    assert model.n_layers_ == len(sizes) + 2
    assert model.n_outputs_ == 2
    assert_allclose(model.predict(X), model.to_mlp().predict(X))


def test_linear_model_without_penalty_is_least_squares():
    model = BLMRegressor((), n_bits=20, alpha=0, tol=0, random_state=0).fit(X, Y)
    design = np.column_stack([X, np.ones(len(X))])
    expected = design @ np.linalg.lstsq(design, Y)[0]
    assert_allclose(model.predict(X), expected, atol=0.02)


@pytest.mark.parametrize("task", ["binary", "classes"])
@pytest.mark.parametrize("loss", ["cross_entropy", "squared"])
def test_probabilities_sum_to_one(task, loss):
    model = fitted(task, loss=loss)
    found = model.predict_proba(X)
    assert found.shape == (90, len(model.classes_))
    assert_allclose(found.sum(axis=1), 1)
    assert found.min() >= 0
    if task == "classes":
        assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))


def test_multilabel():
    model = fitted("labels", max_flips=6000)
    found = model.predict(X)
    assert found.shape == LABELS.shape
    assert set(np.unique(found)) == {0, 1}
    assert model.score(X, LABELS) > 0.7
    proba = model.predict_proba(X)
    assert_array_equal(proba > 0.5, found)
    assert_array_equal(model.classes_, [0, 1, 2])


@pytest.mark.parametrize("loss", RAW_LOSSES)
def test_no_mlp_of_outputs_that_are_no_probabilities(loss):
    model = fitted("binary", loss=loss)
    with pytest.raises(
        ValueError, match="outputs of an MLPClassifier are probabilities"
    ):
        model.to_mlp()


@pytest.mark.parametrize("loss", RAW_LOSSES)
@pytest.mark.parametrize("task", ["binary", "classes", "labels"])
@pytest.mark.parametrize("ensemble", [1, 2])
def test_decision_function_is_the_output_and_decides(task, loss, ensemble):
    model = fitted(task, loss=loss, n_restarts=2, ensemble=ensemble)
    found = model.decision_function(X)
    outputs = []
    for coefs, intercepts in model.members_:
        model.coefs_, model.intercepts_ = coefs, intercepts
        outputs.append(outputs_of(model, X))
    expected = np.mean(outputs, axis=0)
    assert_allclose(found, expected[:, 0] if task == "binary" else expected)
    predicted = {
        "binary": lambda: np.where(found > 0, "yes", "no"),
        "classes": lambda: np.array(["a", "b", "c"])[found.argmax(axis=1)],
        "labels": lambda: (found > 0).astype(int),
    }[task]()
    assert_array_equal(model.predict(X), predicted)


@pytest.mark.parametrize("loss", ["hinge", own_hinge])
def test_scorers_and_calibration_take_the_decision_function(loss):
    model, y = make("binary", loss=loss)
    assert cross_val_score(model, X, y, scoring="roc_auc", cv=3).min() > 0.9
    model.fit(X, y)
    found = get_scorer("roc_auc")(model, X, y)
    assert found == roc_auc_score(y == "yes", model.decision_function(X))
    labels = fitted("labels", loss=loss, max_flips=6000)
    found = get_scorer("roc_auc")(labels, X, LABELS)
    scores = labels.decision_function(X)
    assert found == pytest.approx(
        np.mean([roc_auc_score(LABELS[:, k], scores[:, k]) for k in range(3)])
    )
    assert found > 0.9
    classes = fitted("classes", loss=loss)
    top = make_scorer(top_k_accuracy_score, response_method="decision_function", k=1)
    assert top(classes, X, CLASSES) == pytest.approx(classes.score(X, CLASSES))
    calibrated = CalibratedClassifierCV(FrozenEstimator(classes)).fit(X, CLASSES)
    assert calibrated.score(X, CLASSES) > 0.8


@pytest.mark.parametrize("loss", ["cross_entropy", "squared", *RAW_LOSSES])
def test_either_probabilities_or_a_decision_function(loss):
    def available(model):
        names = ("predict_proba", "decision_function")
        return tuple(hasattr(model, name) for name in names)

    smooth = loss in ("cross_entropy", "squared")
    model, y = make("binary", loss=loss)
    assert available(model) == (smooth, not smooth)
    assert available(model.fit(X, y)) == (smooth, not smooth)
    # The fitted network stays what it is until the next fit.
    expected = model.predict(X)
    model.set_params(loss="hinge" if smooth else "cross_entropy")
    assert available(model) == (smooth, not smooth)
    assert_array_equal(model.predict(X), expected)
    assert available(clone(model)) == (not smooth, smooth)
    assert available(model.fit(X, y)) == (not smooth, smooth)
    assert available(BLMRegressor()) == (False, False)


def test_the_mlp_of_squares_is_equal_or_refused():
    two, several = (fitted(task, loss="squared") for task in ("binary", "labels"))
    for model in (two, several):
        proba = model.to_mlp().predict_proba(X)
        assert_allclose(proba, model.predict_proba(X), atol=1e-12)
    with pytest.raises(ValueError, match="several classes does not normalize"):
        fitted("classes", loss="squared").to_mlp()


@pytest.mark.parametrize("task", TASKS)
def test_the_mlp_can_learn_on(task):
    model, y = fitted(task, max_flips=100, alpha=3.0), TASKS[task][1]
    mlp = model.to_mlp()
    before = mlp.score(X, y)
    for _ in range(20):
        mlp.partial_fit(X, y)
    assert mlp.t_ == 20 * len(X)
    assert mlp.score(X, y) >= before


def test_what_an_mlp_cannot_be():
    with pytest.raises(ValueError, match='no activation="step"'):
        fitted("one", activation="step").to_mlp()
    with pytest.raises(ValueError, match="averages 2 networks"):
        fitted("one", n_restarts=2, ensemble=2).to_mlp()


# --------------------------------------------------------------------------- losses


def outputs_of(model, X):
    """What leaves the network, before the activation of the outputs."""
    hidden = X if model.input_scaler_ is None else model.input_scaler_.transform(X)
    for k, (coef, intercept) in enumerate(
        zip(model.coefs_, model.intercepts_, strict=True)
    ):
        hidden = hidden @ coef + intercept
        if k < len(model.coefs_) - 1:
            hidden = np.tanh(hidden)
    return hidden


def penalty_of(model, n_samples):
    squares = sum((coef**2).sum() for coef in model.coefs_)
    return model.alpha_ / 2 * squares / n_samples


def indicators(model, y):
    if y.ndim == 2:
        return y
    y = (y[:, None] == model.classes_).astype(int)
    return y if y.shape[1] > 2 else y[:, 1:]


def loss_at_the_weights(model, y, X=X):
    """The loss by scikit-learn's metrics."""
    t, penalty = outputs_of(model, X), penalty_of(model, len(X))
    if isinstance(model, BLMRegressor):
        y = y.reshape(len(y), -1)
        if model.target_scaler_ is not None:
            y = model.target_scaler_.transform(y)
        size = np.abs(y - t)
        return (
            penalty
            + {
                "squared": mean_squared_error(y, t) / 2,
                "absolute": mean_absolute_error(y, t),
                "pinball": mean_pinball_loss(y, t, alpha=model.quantile),
                "huber": np.where(
                    size < model.epsilon,
                    size**2 / 2,
                    model.epsilon * (size - model.epsilon / 2),
                ).mean(),
            }[model.loss]
        )
    y = indicators(model, y)
    each = range(y.shape[1])
    if model.loss == "cross_entropy":
        if model.out_activation_ == "softmax":
            return penalty + log_loss(y, model.predict_proba(X))
        return penalty + sum(log_loss(y[:, k], expit(t[:, k])) for k in each)
    if model.loss == "squared":
        return penalty + mean_squared_error(y, expit(t)) / 2
    if model.loss == "hinge":
        return penalty + np.mean([hinge_loss(y[:, k], t[:, k]) for k in each])
    if len(each) == 1 or y.sum(axis=1).max() > 1:
        margins = (2 * y - 1) * t
        return penalty + np.mean(margins <= 1e-5)
    # A tie is a miss: the target must be above all others.
    found = (t + 1e-5 * (1 - y)).argmax(axis=1)
    return penalty + zero_one_loss(y.argmax(axis=1), found)


def loss_of_the_best_constant(task, loss):
    """Loss of a network that may only change its bias."""
    model, y = make(task, loss=loss, hidden_layer_sizes=(), alpha=0)
    return model.fit(np.zeros((len(X), 1)), y).loss_


@pytest.mark.parametrize(("task", "loss"), EVERY_LOSS)
def test_loss_is_the_one_at_the_weights_and_below_that_of_a_constant(task, loss):
    model, y = make(task, loss=loss, max_flips=4000, alpha=0.1)
    if loss == "pinball":
        model.set_params(quantile=0.7)
    if loss == "zero_one":
        # Far from any other class there is nothing to gain but smaller weights.
        model.set_params(alpha=0, n_restarts=5)
    model.fit(X, y)
    assert model.loss_ == pytest.approx(loss_at_the_weights(model, y), rel=1e-4)
    constant = loss_of_the_best_constant(task, loss)
    assert model.loss_ < 0.8 * constant
    assert model.loss_curve_[-1] == model.loss_
    assert np.diff(model.loss_curve_).max() <= 1e-5 * constant


@pytest.mark.parametrize("task", ["one", "two", "binary", "classes"])
def test_loss_is_that_of_the_mlp_with_the_same_weights(task):
    model, y = make(task, standardize=False)
    model.fit(X, y)
    mlp = model.to_mlp().set_params(alpha=model.alpha_)
    # One step of no length: what it reports is the loss at the weights it began with.
    mlp.set_params(
        solver="sgd", learning_rate_init=1e-300, max_iter=1, warm_start=True,
        batch_size=len(X), shuffle=False, momentum=0,
    )  # fmt: skip
    mlp.t_, mlp.loss_curve_, mlp._no_improvement_count = 0, [], 0
    mlp.best_loss_, mlp._random_state = np.inf, np.random.RandomState(0)
    mlp.n_iter_ = 0
    mlp.fit(X, y)
    assert_allclose(mlp.loss_, model.loss_, rtol=1e-5)


@pytest.mark.parametrize("task", ["one", "two"])
def test_loss_that_the_user_writes(task):
    own, built_in = (fitted(task, loss=loss) for loss in (own_squared, "squared"))
    assert own.loss_curve_[0] == pytest.approx(built_in.loss_curve_[0], rel=1e-5)
    y = TASKS[task][1]
    own.set_params(loss="squared")
    assert own.loss_ == pytest.approx(loss_at_the_weights(own, y), rel=1e-4)


def test_loss_that_is_not_compiled():
    model = fitted("one", loss=own_squared.py_func)
    assert_same_network(model, fitted("one", loss=own_squared))


def test_losses_of_the_user_have_one_compiled_search():
    fitted("one")
    before = len(kernels.run.signatures), len(kernels.sum_losses.signatures)
    for power in (2.0, 3.0):
        fitted("one", loss=lambda target, output, p=power: abs(target - output) ** p)
    assert (len(kernels.run.signatures), len(kernels.sum_losses.signatures)) == before


def test_loss_that_is_a_ufunc():
    model = fitted("one", loss=np.hypot, standardize=False, alpha=0)
    expected = np.mean(np.hypot(Y, model.predict(X)))
    assert model.loss_ == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("task", ["binary", "classes"])
def test_loss_of_classes_that_the_user_writes(task):
    own, built_in = (fitted(task, loss=loss) for loss in (own_hinge, "hinge"))
    assert own.loss_curve_[0] == pytest.approx(built_in.loss_curve_[0], rel=1e-5)
    assert own.score(X, TASKS[task][1]) > 0.8
    assert own.out_activation_ == "identity"


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles_cover_their_fraction(quantile):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (600, 1))
    y = 2 * X[:, 0] + rng.exponential(size=600)
    model = BLMRegressor(
        (), loss="pinball", quantile=quantile, alpha=0, random_state=0
    ).fit(X, y)
    assert np.mean(y < model.predict(X)) == pytest.approx(quantile, abs=0.03)


def test_huber_and_absolute_forgive_what_squares_do_not():
    y = 2 * X[:, 0]
    y[::10] += 100
    errors = {
        loss: np.abs(fitted_line(loss, y).predict(X)[1::10] - 2 * X[1::10, 0]).mean()
        for loss in ("squared", "huber", "absolute")
    }
    assert errors["absolute"] < errors["squared"] / 3
    assert errors["huber"] < errors["squared"] / 1.5


def fitted_line(loss, y):
    model = BLMRegressor((), loss=loss, epsilon=0.1, alpha=0, random_state=0)
    return model.fit(X, y)


# -------------------------------------------------------------------------- weights


@pytest.mark.parametrize("task", TASKS)
def test_weights_of_samples_are_repetitions(task):
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    model, y = make(task)
    weighted = clone(model).fit(X, y, weights)
    rows = np.repeat(np.arange(len(X)), weights)
    repeated = clone(model).fit(X[rows], y[rows])
    assert_same_network(weighted, repeated)
    plain = clone(model).fit(X, y)
    assert (plain.codes_ != weighted.codes_).any()


def test_values_that_many_rows_have_are_not_far_off_all_others():
    """The lowest and the highest of four values, each of a quarter of the rows."""
    flags, values = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 10, 11, 30]
    model = BLMRegressor((3,), alpha=0.1, random_state=0)
    found = clone(model).fit(np.tile(flags, (25, 1)), np.tile(values, 25))
    assert_allclose(found.predict(flags), values, atol=1.0)
    weighted = clone(model).fit(flags, values, np.full(4, 25))
    assert_array_equal(weighted.codes_, found.codes_)
    # As an input, it would be one of another class.
    numbers, classes = np.array([[0], [1], [2], [9]]), np.array([0, 0, 1, 2])
    classifier = BLMClassifier((3,), alpha=0.1, random_state=0)
    classifier.fit(np.tile(numbers, (25, 1)), np.tile(classes, 25))
    assert_array_equal(classifier.predict(numbers), classes)


@pytest.mark.parametrize("task", ["one", "classes"])
@pytest.mark.parametrize("scale", [1 / 90, 1e-46, 5e-324, 0.37, 1e39, 1e308])
def test_equal_weights_are_as_none_whatever_their_size(task, scale):
    model, y = make(task)
    plain = clone(model).fit(X, y)
    assert_same_network(clone(model).fit(X, y, np.full(90, scale)), plain)


def test_scale_of_fractional_weights_does_not_matter():
    model, y = make("one", early_stopping=True)
    weights = np.random.default_rng(1).integers(1, 9, 90) / 8
    expected = clone(model).fit(X, y, weights)
    for scale in (2.0**-140, 2.0**-7, 2.0**900):
        assert_same_network(clone(model).fit(X, y, scale * weights), expected)


def test_boosting_normalizes_weights_and_still_learns():
    boosted = AdaBoostClassifier(make("binary")[0], n_estimators=3, random_state=0)
    assert boosted.fit(X, BINARY).score(X, BINARY) > 0.9


def test_scales_are_those_of_the_weighted_samples():
    weights = np.random.default_rng(1).integers(0, 4, 90)
    model = make("two")[0].fit(X, Y2, weights)
    for scaler, table in ((model.input_scaler_, X), (model.target_scaler_, Y2)):
        rows = np.repeat(table, weights, axis=0)
        assert_allclose(scaler.mean_, rows.mean(axis=0))
        assert_allclose(scaler.scale_, rows.std(axis=0))


@pytest.mark.parametrize("weight", [2.0, np.float32(0.5)])
def test_one_weight_for_all_samples(weight):
    model = make("classes", class_weight="balanced")[0]
    expected = clone(model).fit(X, CLASSES, np.full(90, weight))
    assert_same_network(clone(model).fit(X, CLASSES, weight), expected)


def test_order_of_the_samples_does_not_matter():
    model, y = make("one")
    assert_same_network(clone(model).fit(X, y), clone(model).fit(X[::-1], y[::-1]))


def test_class_weights_are_weights_of_samples():
    class_weight = {"a": 1.0, "b": 3.0, "c": 0.5}
    model, y = make("classes")
    by_class = clone(model).set_params(class_weight=class_weight).fit(X, y)
    by_sample = clone(model).fit(X, y, [class_weight[label] for label in y])
    assert_same_network(by_class, by_sample)
    both = (
        clone(model)
        .set_params(class_weight=class_weight)
        .fit(X, y, np.full(len(y), 2.0))
    )
    assert_array_equal(both.classes_, by_class.classes_)
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    expected = clone(model).fit(X, y, [len(y) / (3 * counts[label]) for label in y])
    assert_same_network(balanced, expected)


# ------------------------------------------------------------------------- going on


@pytest.mark.parametrize("task", TASKS)
def test_warm_start_goes_on_from_the_codes(task):
    model, y = make(task, warm_start=True, max_flips=300)
    model.fit(X, y)
    for _ in range(3):
        codes, loss, scaler = model.codes_, model.loss_, model.input_scaler_
        model.fit(X, y)
        assert model.loss_curve_[0] == pytest.approx(loss, rel=1e-5)
        assert model.loss_ <= loss
        assert model.input_scaler_ is scaler
    codes = model.codes_
    changed = model.set_params(max_flips=1, n_iter_no_change=1).fit(X, y).codes_
    assert (changed != codes).sum() <= 1


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_going_on_tries_other_moves_each_time(call):
    model = fitted("one", warm_start=True, max_flips=160)
    start, ends = model.codes_, set()
    for _ in range(3):
        model.codes_ = start
        getattr(model, call)(X, Y)
        ends.add(tuple(model.codes_.tolist()))
    assert len(ends) == 3


def test_restarts_begin_at_different_points():
    members = fitted("one", n_restarts=4, ensemble=4, max_flips=1).members_
    for (one, _), (other, _) in itertools.combinations(members, 2):
        assert np.mean(one[0] != other[0]) > 0.7


def test_warm_start_with_restarts_keeps_the_best():
    model, y = make("one", warm_start=True, n_restarts=3)
    first = model.fit(X, y).loss_
    assert model.set_params(max_flips=10).fit(X, y).loss_ <= first


def test_fit_without_warm_start_forgets():
    model, y = make("one")
    first = model.fit(X, y).codes_
    assert_array_equal(model.fit(X, y).codes_, first)


@pytest.mark.parametrize("task", TASKS)
def test_partial_fit_is_an_epoch_and_no_reason_to_warn(task):
    model, y = make(task, max_flips=1)
    more = {} if isinstance(model, BLMRegressor) else {"classes": np.unique(y)}
    losses = []
    for k in range(8):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.partial_fit(X, y, **(more if k == 0 else {}))
        losses.append(model.loss_)
        assert model.n_iter_ == 1
        assert model.history_[-1]["flips"] == _MOVES.n_per_epoch * len(model.codes_)
    assert (np.diff(losses) <= 1e-6).all()
    assert losses[-1] < losses[0]
    assert_array_equal(np.shape(model.predict(X)), np.shape(y))


def test_partial_fit_learns_the_scales_from_the_first_samples():
    model, y = make("one")
    model.partial_fit(X[:50], y[:50])
    mean = model.input_scaler_.mean_
    assert_allclose(mean, X[:50].mean(axis=0))
    model.partial_fit(X[50:], y[50:], np.ones(40))
    assert_array_equal(model.input_scaler_.mean_, mean)


def test_partial_fit_needs_the_classes_at_first():
    model, _ = make("classes")
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, CLASSES)
    some = CLASSES != "c"
    model.partial_fit(X[some], CLASSES[some], classes=["c", "b", "a"])
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert model.predict_proba(X).shape == (90, 3)
    model.partial_fit(X, CLASSES)
    with pytest.raises(ValueError, match=r"unknown classes: \['z'\]"):
        model.partial_fit(X[:1], ["z"])


def test_partial_fit_goes_on_after_fit():
    model, y = make("binary", max_flips=300)
    loss = model.fit(X, y).loss_
    assert model.partial_fit(X, y).loss_ <= loss


# ----------------------------------------------------------------------- validation


@pytest.mark.parametrize("task", TASKS)
def test_best_weights_are_those_of_the_validation_samples(task):
    model, y = make(task, alpha=0, hidden_layer_sizes=(8,), n_iter_no_change=40)
    model.set_params(max_flips=6000).fit(X[:20], y[:20], X_val=X[20:], y_val=y[20:])
    curve = [record["validation_loss"] for record in model.history_]
    assert model.loss_ <= min(curve)
    assert model.loss_ == pytest.approx(
        loss_at_the_weights(model, y[20:], X[20:]), 1e-3
    )


def test_training_loss_goes_on_falling_beyond_the_best_weights():
    model, y = make("one", alpha=0, hidden_layer_sizes=(8,), n_iter_no_change=5)
    model.set_params(max_flips=10**5).fit(X[:20], y[:20], X_val=X[20:], y_val=y[20:])
    assert "no improvement" in model.stopping_reason_
    assert loss_at_the_weights(model, y[:20], X[:20]) > model.loss_curve_[-1]


def test_early_stopping_holds_samples_out():
    model = fitted(
        "one", early_stopping=True, validation_fraction=0.3, alpha=0, max_flips=10**5,
        hidden_layer_sizes=(10,), n_iter_no_change=3,
    )  # fmt: skip
    curve = [record["validation_loss"] for record in model.history_]
    assert model.loss_ <= min(curve)
    assert "no improvement" in model.stopping_reason_
    assert fitted("one").history_[0]["validation_loss"] is None


@pytest.mark.parametrize("class_weight", [{"a": 5.0, "b": 0.5, "c": 0.0}, "balanced"])
def test_class_weights_apply_to_validation_samples(class_weight):
    model, y = make("classes", class_weight=class_weight, n_iter_no_change=30, alpha=0)
    train = np.r_[0:60]
    rest = np.setdiff1d(np.arange(len(X)), train)
    model.fit(X[train], y[train], X_val=X[rest], y_val=y[rest])
    if class_weight == "balanced":
        counts = dict(zip(*np.unique(y[train], return_counts=True), strict=True))
        class_weight = {label: 20.0 / count for label, count in counts.items()}
    weights = [class_weight[label] for label in y[rest]]
    proba = model.predict_proba(X[rest])
    expected = log_loss(y[rest], proba, sample_weight=weights)
    assert model.loss_ == pytest.approx(expected, rel=1e-4)


def test_validation_samples_that_do_not_count_are_refused():
    model, y = make("classes", class_weight={"a": 1.0, "b": 1.0, "c": 0.0})
    with pytest.raises(
        ValueError, match="class_weight is zero for all samples of X_val"
    ):
        model.fit(X, y, X_val=X[y == "c"], y_val=y[y == "c"])


def test_hold_outs_keep_the_fractions_of_the_classes():
    y = np.repeat(["a", "b", "c"], [60, 20, 10])
    for seed in range(5):
        labels = Labels.learn(y)
        samples = forms.Samples(X, labels.encode(y), np.ones(90))
        form = forms.SampleForm(
            estimator=None, target_type=Labels, rows=forms.TableForm(), targets=labels
        )
        _, held = forms.hold_out(form, samples, 0.2, seed)
        assert_array_equal(held.targets.sum(axis=0), [12, 4, 2])
    # A class of one sample is on one side only.
    y[1:] = np.where(y[1:] == "c", "b", y[1:])
    y[0] = "c"
    assert BLMClassifier(**QUICK, early_stopping=True).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_labels_equal_dense_ones(kind):
    model = make("labels", class_weight="balanced")[0]
    dense = clone(model).fit(X, LABELS, X_val=X, y_val=LABELS)
    thin = clone(model).fit(X, kind(LABELS), X_val=X, y_val=kind(LABELS))
    assert_same_network(dense, thin)
    assert thin.score(X, kind(LABELS)) == dense.score(X, LABELS)


@pytest.mark.parametrize("task", ["one", "binary"])
def test_samples_without_weight_are_not_held_out(task):
    model, y = make(task, early_stopping=True)
    weights = (np.arange(len(X)) < 20).astype(float)
    assert_same_network(clone(model).fit(X, y, weights), model.fit(X[:20], y[:20]))


# --------------------------------------------------------------- restarts, ensembles


@pytest.mark.parametrize("task", TASKS)
def test_ensemble_is_the_mean_of_the_best_runs(task):
    alone = fitted(task, n_restarts=4)
    model = fitted(task, n_restarts=4, ensemble=3)
    assert len(model.members_) == 3
    assert len(alone.members_) == 1
    assert_array_equal(model.codes_, alone.codes_)
    outputs = []
    for coefs, intercepts in model.members_:
        alone.members_ = [(coefs, intercepts)]
        outputs.append(alone._outputs(X))
    assert_allclose(model._outputs(X), np.mean(outputs, axis=0))
    assert_array_equal(model.members_[0][0][0], model.coefs_[0])


def test_best_run_is_the_best():
    best, single = fitted("one", n_restarts=5), fitted("one")
    # The first run of several is not the single one, yet the best is seldom worse.
    assert best.loss_ <= single.loss_
    losses = []
    for coefs, intercepts in fitted("one", n_restarts=5, ensemble=5).members_:
        best.coefs_, best.intercepts_ = coefs, intercepts
        losses.append(loss_at_the_weights(best, Y))
    assert losses == sorted(losses)
    assert losses[0] == pytest.approx(best.loss_, rel=1e-4)


@pytest.mark.parametrize("task", ["one", "classes"])
def test_threads_equal_serial(task):
    model, y = make(task, n_restarts=3, ensemble=2)
    serial = clone(model).fit(X, y)
    with parallel_config(backend="threading"):
        threads = clone(model).set_params(n_jobs=2).fit(X, y)
    assert_same_network(serial, threads)
    assert serial.loss_curve_ == threads.loss_curve_


# -------------------------------------------------------------------------- stopping


@pytest.mark.parametrize("max_flips", [1, 7, 163, 1000])
def test_max_flips_is_the_most(max_flips):
    model = fitted("one", max_flips=max_flips, tol=0, hidden_layer_sizes=(6,))
    assert model.history_[-1]["flips"] == max_flips
    assert model.stopping_reason_ == "max_flips"


def test_max_time_ends_a_long_fit():
    model = fitted("one", max_time=1e-9, max_flips=10**9, tol=0)
    assert model.stopping_reason_ == "max_time"
    assert model.n_iter_ == 1
    assert np.isfinite(model.predict(X)).all()


class Clock:
    """A second passes whenever somebody looks."""

    now = 0.0

    def perf_counter(self):
        self.now += 1.0
        return self.now


def test_max_time_ends_a_fit_within_an_epoch(monkeypatch):
    for module in (base, local_search, network_module):
        monkeypatch.setattr(module, "time", Clock())
    model = fitted("one", max_time=20.0, max_flips=10**6, tol=0)
    assert model.stopping_reason_ == "max_time"
    assert 0 < model.history_[-1]["flips"] < _MOVES.n_per_epoch * len(model.codes_)


def test_max_time_counts_from_the_start_of_the_fit(monkeypatch):
    clock, merge_rows = Clock(), forms.merge_rows

    def slow(*samples):
        clock.now += 100.0
        return merge_rows(*samples)

    for module in (base, local_search, network_module):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(forms, "merge_rows", slow)
    model = fitted("one", max_time=50.0, max_flips=10**6, n_restarts=9)
    assert model.stopping_reason_ == "max_time"
    assert model.history_[-1]["flips"] == 0


def test_time_that_suffices_changes_nothing():
    parameters = {"n_bits": 4, "max_flips": 3000}
    assert_same_network(
        fitted("one", **parameters, max_time=1e6), fitted("one", **parameters)
    )


def test_equal_rows_are_merged_whatever_their_order():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, (60, 2)) / 2.0, rng.integers(0, 2, (60, 1)) * 1.0
    X[X == 0] *= rng.choice([-1.0, 1.0], np.sum(X == 0))
    weights = rng.integers(1, 9, 60) * 1.0
    found = np.column_stack(forms.merge_rows(X, y, weights))
    rows, index = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    expected = np.column_stack([rows, np.bincount(index, weights)])
    assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    mixed = rng.permutation(60)
    again = np.column_stack(forms.merge_rows(X[mixed], y[mixed], weights[mixed]))
    assert_array_equal(found, again)


@pytest.mark.parametrize("task", ["one", "binary"])
def test_too_few_flips_are_told(task):
    model, y = make(task, max_flips=60)
    with pytest.warns(ConvergenceWarning, match="max_flips=60 ") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_enough_flips_are_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted("one", max_flips="auto", alpha=3.0)
    assert "max_flips" not in model.stopping_reason_


def test_local_minimum_is_the_end():
    model = fitted(
        "one", hidden_layer_sizes=(), n_bits=4, max_flips=10**6, tol=0, perturbation=0
    )
    assert model.stopping_reason_ == "local minimum: no move improves"
    again = model.set_params(warm_start=True).fit(X, Y)
    assert again.history_[-1]["accepted"] == 0


@pytest.mark.parametrize("task", ["one", "classes"])
def test_perturbed_minima_are_left_for_better_ones(task):
    parameters = {"n_bits": 3, "alpha": 0.1, "max_flips": 10**5}
    parameters |= {"hidden_layer_sizes": (8,), "n_iter_no_change": 50}
    lone = fitted(task, perturbation=0, **parameters)
    iterated = fitted(task, **parameters)
    assert "local minimum" in lone.stopping_reason_
    assert iterated.loss_ < 0.99 * lone.loss_
    assert np.diff(iterated.loss_curve_).max() <= 0
    assert iterated.loss_curve_[-1] == iterated.loss_
    assert iterated.loss_ == pytest.approx(loss_at_the_weights(iterated, make(task)[1]))
    # The same way as far as the first minimum, of which the last epoch is a part.
    assert iterated.loss_curve_[: lone.n_iter_] == lone.loss_curve_[:-1]


def test_perturbation_leaves_the_zeros_of_a_sparse_network():
    parameters = {
        "n_bits": 2,
        "search_options": SearchOptions(sparsity=0.8),
        "hidden_layer_sizes": (30,),
    }
    lone = fitted("one", perturbation=0, alpha=100, **parameters)
    iterated = fitted("one", perturbation=0.5, alpha=100, **parameters)
    assert np.mean(lone.codes_ == 0) > 0.5
    assert np.mean(iterated.codes_ == 0) > 0.5


def test_perturbed_runs_keep_what_is_best_for_the_validation_samples():
    model, y = make("one", n_bits=3, n_iter_no_change=30)
    model.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    found = [record["validation_loss"] for record in model.history_]
    assert model.loss_ <= min(found)
    assert model.loss_ == pytest.approx(
        np.mean((model.predict(X[1::2]) - y[1::2]) ** 2)
        / 2
        / model.target_scaler_.scale_[0] ** 2,
        rel=1e-4,
    )


def test_tolerance_and_patience():
    lazy, keen = (fitted("one", tol=tol, max_flips=10**4) for tol in (0.5, 0.0))
    assert lazy.n_iter_ < keen.n_iter_
    assert "no improvement" in lazy.stopping_reason_


# ------------------------------------------------------------------ what is recorded

RECORD = {
    "iteration", "loss", "rmse", "validation_loss", "bits", "explored", "flips",
    "accepted", "seconds",
}  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_history(task):
    model = fitted(task)
    assert model.n_iter_ == len(model.history_) == len(model.loss_curve_) - 1
    losses = [record["loss"] for record in model.history_]
    assert losses == model.loss_curve_[1:]
    assert_allclose(np.maximum(np.diff(losses), 0), 0, atol=1e-6)
    for number, record in enumerate(model.history_, start=1):
        assert set(record) == RECORD
        assert record["iteration"] == number
        assert record["bits"] == 12
        assert record["accepted"] <= record["flips"] <= 1500
        assert (record["rmse"] is None) == (task not in ("one", "two"))
    if task in ("one", "two"):
        # The error alone, without the price of the weights, of standardized targets.
        y = make(task)[1].reshape(len(X), -1)
        differences = (
            y - model.predict(X).reshape(y.shape)
        ) / model.target_scaler_.scale_
        rmse = np.sqrt((differences**2).mean())
        assert model.history_[-1]["rmse"] == pytest.approx(rmse, rel=1e-4)
    assert len(model.history_.to_frame()) == model.n_iter_


@pytest.mark.needs_sklearn("1.9", "callbacks")
@pytest.mark.parametrize("task", TASKS)
def test_scoring_monitor(task):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="r2" if task in ("one", "two") else "accuracy")
    model, y = make(task)
    model.set_callbacks(monitor).fit(X, y)
    (rows,) = [log.data for log in monitor.get_logs(select="all")]
    rows = [row for row in rows if row["task_name"] == "iteration"]
    name = next(key for key in rows[-1] if key in ("r2", "accuracy"))
    assert len(rows) == model.n_iter_ + 1
    assert rows[-1][name] == pytest.approx(model.score(X, y))


class Stop(Callback):
    """A callback that has seen enough."""

    def on_fit_task_end(self, estimator, context, **more):
        return True


@pytest.mark.needs_sklearn("1.9", "callbacks")
def test_callback_that_stops():
    model, y = make("one", max_flips=10**6, tol=0)
    model.set_callbacks(Stop()).fit(X, y)
    assert model.n_iter_ == 1
    assert "callback" in model.stopping_reason_
    assert model.predict(X).shape == y.shape


# ------------------------------------------------------------------------ few bits


@pytest.mark.parametrize("n_bits", [2, 3, 4, 12])
@pytest.mark.parametrize("task", ["two", "classes"])
def test_weights_lie_on_the_grid(task, n_bits):
    model = fitted(task, n_bits=n_bits, w_max=1.5)
    step = grid_step(n_bits, 1.5)
    assert model.codes_.dtype == np.int32
    assert model.codes_.min() >= -(2 ** (n_bits - 1))
    assert model.codes_.max() <= 2 ** (n_bits - 1) - 1
    flat = []
    for coef, intercept in zip(model.coefs_, model.intercepts_, strict=True):
        for k in range(len(intercept)):
            flat += [intercept[k], *coef[:, k]]
    assert_array_equal(flat, model.codes_ * step)
    assert len(flat) == len(model.codes_)
    assert model.nbytes_ == -(-len(flat) * n_bits // 8)


@pytest.mark.parametrize("search", ["adaptive", "gray"])
@pytest.mark.parametrize("telescopic", [None, "local_minimum", "threshold"])
@pytest.mark.parametrize("init", ["bounded", "uniform", "zero_low_bits"])
def test_codes_stay_in_range(search, telescopic, init):
    for seed in range(6):
        model = fitted(
            "labels", n_bits=5, w_max=1.0, search=search, alpha=0, random_state=seed,
            search_options=SearchOptions(init=init, telescopic=telescopic),
        )  # fmt: skip
        assert model.codes_.min() >= -16
        assert model.codes_.max() <= 15


def start_of(n_bits=12, w_max="auto", **control):
    """The codes before the first move that could change them."""
    model = BLMRegressor(
        (40,), n_bits=n_bits, w_max=w_max, search_options=SearchOptions(**control),
        max_flips=1, random_state=0, alpha=1e9,
    )  # fmt: skip
    X = np.random.default_rng(2).normal(size=(10, 5))
    codes = model.set_params(search="gray").fit(X, X[:, 0]).codes_
    assert len(codes) == 281
    return codes


@pytest.mark.parametrize("task", ["one", "classes"])
def test_networks_begin_with_all_bits_and_weights_up_to_one(task):
    said = SearchOptions(w_init=1.0, telescopic=None)
    assert_same_network(fitted(task), fitted(task, search_options=said))


def test_fraction_of_zeros_at_the_start():
    for fraction in (0.25, 0.75):
        zeros = np.count_nonzero(start_of(sparsity=fraction, init="uniform") == 0)
        assert abs(zeros - round(fraction * 281)) <= 2
    assert np.count_nonzero(start_of(init="uniform") == 0) <= 2


@pytest.mark.parametrize("init", ["uniform", "bounded", "zero_low_bits"])
def test_no_other_weights_of_a_sparse_network_start_at_zero(init):
    # A range below the grid's step alone would leave zero half of the others, too.
    codes = start_of(sparsity=0.5, init=init, w_init=0.001, n_bits=4)
    assert abs(np.count_nonzero(codes == 0) - round(0.5 * 281)) <= 1
    others = codes[codes != 0]
    assert 0.35 < np.mean(others > 0) < 0.65
    if init != "uniform":
        assert set(others) <= ({-4, 4} if init == "zero_low_bits" else {-1, 1})


def test_range_at_the_start():
    step = grid_step(12, np.repeat([6.0, 3.0], [240, 41]))
    bounded = np.abs(start_of(w_init=0.5, w_max=[6, 3])) * step
    assert 0.4 < np.sort(bounded)[-2] <= 0.5 + step[0]
    uniform = np.abs(start_of(init="uniform", w_max=[6, 3])) * step
    assert 5.5 < np.sort(uniform[:240])[-2] <= 6 + step[0]
    assert 2.5 < np.sort(uniform[240:])[-2] <= 3 + step[-1]
    # Units with more than twenty inputs begin with less.
    auto = np.abs(start_of(w_max=[6, 3])) * step
    step = step[0]
    assert 0.65 < np.sort(auto[240:])[-2] <= np.sqrt(20 / 40) + step
    assert 0.9 < np.sort(auto[:240])[-2] <= 1 + step


def test_low_bits_at_the_start():
    codes = start_of(init="zero_low_bits", start_bits=4, n_bits=10)
    assert np.count_nonzero(codes % 2**6) <= 1
    assert np.count_nonzero(codes) > 20


@pytest.mark.parametrize("freeze", ["binary", "gray"])
@pytest.mark.parametrize("search", ["adaptive", "gray"])
@pytest.mark.parametrize("telescopic", ["local_minimum", "threshold"])
def test_telescope_ends_with_all_bits_or_all_flips(telescopic, search, freeze):
    model = fitted(
        "one", search=search, n_bits=6, max_flips=20_000, tol=0,
        search_options=SearchOptions(telescopic=telescopic, freeze=freeze),
        n_iter_no_change=10**6,
    )  # fmt: skip
    bits = [record["bits"] for record in model.history_]
    assert (np.diff(bits) >= 0).all()
    assert bits[-1] == 6 or model.history_[-1]["flips"] == 20_000
    assert bits[0] >= 2
    assert model.score(X, Y) > 0.5


def test_more_bits_renew_the_patience():
    model = fitted(
        "one", search="gray", n_bits=16,
        search_options=SearchOptions(telescopic="local_minimum", start_bits=1),
        max_flips=10**6, tol=1.0, n_iter_no_change=2, perturbation=0,
    )  # fmt: skip
    # No improvement counts: without more bits it would end after two epochs.
    assert model.n_iter_ > 2


def test_best_neighborhood_and_sparsity_learn():
    best = SearchOptions(neighborhood="best")
    assert fitted("one", search="gray", search_options=best).score(X, Y) > 0.3
    sparse = SearchOptions(sparsity=0.5)
    assert fitted("one", search_options=sparse, max_flips=5000).score(X, Y) > 0.7


@pytest.mark.parametrize(("task", "last"), [("one", 0.24), ("binary", 0.6)])
def test_w_max_of_few_bits(task, last):
    model = fitted(task, n_bits=4, hidden_layer_sizes=(25, 4))
    w_max = 2 * np.array([0.6, 2.4 / 5, last])
    assert_allclose(model.w_max_, w_max)
    for coef, step in zip(model.coefs_, w_max / 7, strict=True):
        assert_allclose(coef / step, np.rint(coef / step), atol=1e-9)
    same = fitted(task, w_max=w_max, n_bits=4, hidden_layer_sizes=(25, 4))
    assert_array_equal(same.codes_, model.codes_)
    assert_allclose(fitted(task, n_bits=24).w_max_, 6.0)
    assert_allclose(fitted(task, n_bits=2, hidden_layer_sizes=()).w_max_, 0.6)


# ---------------------------------------------------------------------- repeatability


@pytest.mark.parametrize("task", TASKS)
def test_same_seed_same_network(task):
    assert_same_network(fitted(task), fitted(task))
    assert (fitted(task).codes_ != fitted(task, random_state=1).codes_).any()


def test_numpys_global_random_state_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.uniform(size=3)  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    fitted("one", early_stopping=True, n_restarts=2).predict(X)
    assert_array_equal(np.random.uniform(size=3), expected)  # noqa: NPY002


# --------------------------------------------------------------------------- storage


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n_bits", [2, 5, 12, 24])
@pytest.mark.parametrize("standardize", [True, False])
def test_packed_network_comes_back(task, n_bits, standardize):
    model = fitted(task, n_bits=n_bits, standardize=standardize)
    packed = model.to_packed()
    # Means and scales in double precision, and few bytes that say what they are.
    scalers = model.input_scaler_, model.target_scaler_
    n_scales = sum(len(scaler.mean_) for scaler in scalers if scaler is not None)
    assert 0 < len(packed) - model.nbytes_ - 16 * n_scales <= 64
    back = type(model).from_packed(packed)
    assert_array_equal(back.codes_, model.codes_)
    assert_array_equal(back.predict(X), model.predict(X))
    assert back.predict(X).dtype == model.predict(X).dtype
    assert back.to_packed() == packed
    if isinstance(model, BLMClassifier):
        assert_array_equal(back.classes_, model.classes_)
        assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_packing_the_best_of_several_networks_warns():
    model = fitted("one", n_restarts=3, ensemble=3)
    with pytest.warns(
        UserWarning, match="averages 3 networks, .* stores only the best"
    ):
        packed = model.to_packed()
    back = BLMRegressor.from_packed(packed)
    assert_array_equal(back.codes_, model.codes_)
    assert np.any(back.predict(X) != model.predict(X))


def test_packed_network_that_ends_early_is_refused():
    packed = fitted("two").to_packed()
    # Within the sizes, the ranges, and the weights, which come last.
    for kept in (20, 28, -1):
        with pytest.raises(ValueError, match="damaged or incomplete: its digest is"):
            BLMRegressor.from_packed(packed[:kept])
        # Whoever cuts it may make its digest right.
        with pytest.raises(ValueError, match="packed ends before"):
            BLMRegressor.from_packed(sealed(packed[12:kept]))


@pytest.mark.parametrize("hidden", [(), (4, 2)])
@pytest.mark.parametrize("activation", ["step", "relu"])
def test_packed_network_of_any_layers(hidden, activation):
    model = fitted("two", hidden_layer_sizes=hidden, activation=activation)
    back = BLMRegressor.from_packed(model.to_packed())
    assert_array_equal(back.predict(X), model.predict(X))
    assert back.hidden_layer_sizes == hidden


@pytest.mark.parametrize(
    "classes",
    [
        np.array([1, 5, 7]),
        np.array([1, 5, 7], dtype=np.int8),
        np.array([1.0, 2.0, 4.0]),
        np.array([False, True]),
        np.array(["\n", "ä"]),
        np.array(["b", "ä"], dtype=object),
        np.array(["2020-01-01", "2021-05-05T12:00"], dtype="datetime64[ns]"),
        np.array([3, 8], dtype="timedelta64[D]"),
    ],
)
def test_packed_classes(classes):
    y = classes[np.arange(len(X)) % len(classes)]
    model = BLMClassifier(**QUICK).fit(X, y)
    back = BLMClassifier.from_packed(model.to_packed())
    assert_array_equal(back.predict(X), model.predict(X))
    assert_array_equal(back.classes_, classes)
    assert back.classes_.dtype == model.classes_.dtype == classes.dtype


def test_classes_that_cannot_be_packed():
    model = fitted("binary")
    model._targets = Labels(np.array([1, 2j], dtype=object), False)
    with pytest.raises(ValueError, match="classes of type complex cannot be stored"):
        model.to_packed()


@pytest.mark.parametrize("loss", RAW_LOSSES)
def test_packed_classifier_without_probabilities(loss):
    model = fitted("classes", loss=loss)
    back = BLMClassifier.from_packed(model.to_packed())
    assert_array_equal(back.predict(X), model.predict(X))
    assert back.out_activation_ == "identity"
    assert_array_equal(back.decision_function(X), model.decision_function(X))
    assert not hasattr(back, "predict_proba")


@pytest.mark.parametrize("task", ["two", "classes"])
def test_scales_in_single_precision(task):
    model = fitted(task)
    packed, single = model.to_packed(), model.to_packed(single=True)
    n_scales = 3 + 2 * (task == "two")
    assert len(single) == len(packed) - 8 * n_scales
    back = type(model).from_packed(single)
    ask = "predict" if task == "two" else "predict_proba"
    assert_allclose(getattr(back, ask)(X), getattr(model, ask)(X), rtol=1e-5, atol=1e-5)
    assert_array_equal(back.codes_, model.codes_)


def test_the_digits_in_few_bytes():
    X, y = load_digits(return_X_y=True)
    model = BLMClassifier((20,), n_bits=4, max_flips=1, standardize=False)
    model.fit(X, y)
    assert model.nbytes_ == 755
    assert len(model.to_packed()) <= 755 + 64


@pytest.mark.parametrize(("index", "value"), [(0, 9), (2, 77), (5, 0)])
def test_bytes_of_what_there_is_not_yet(index, value):
    body = bytearray(fitted("one").to_packed()[12:])
    body[index] = value
    with pytest.raises(ValueError, match="packed is from a later version"):
        BLMRegressor.from_packed(sealed(body))


def test_packed_network_can_learn_on():
    model = fitted("one", max_flips=100)
    back = BLMRegressor.from_packed(model.to_packed())
    back.set_params(random_state=0)
    assert back.partial_fit(X, Y).score(X, Y) > model.score(X, Y)


@pytest.mark.parametrize("task", TASKS)
def test_packed_network_has_what_is_known_of_it(task):
    model = fitted(task)
    back = type(model).from_packed(model.to_packed())
    assert_array_equal(back.codes_, model.codes_)
    for name in ("nbytes_", "n_outputs_", "n_layers_", "n_features_in_"):
        assert getattr(back, name) == getattr(model, name)
    assert_array_equal(back.to_mlp().predict(X), model.to_mlp().predict(X))
    for own, other in zip(back.coefs_, model.coefs_, strict=True):
        assert_array_equal(own, other)


def test_wrong_bytes_are_refused():
    packed = fitted("one").to_packed()
    for wrong in (b"", b"BLM", b"PK" + packed, packed[1:], packed[::-1]):
        with pytest.raises(ValueError, match="packed"):
            BLMRegressor.from_packed(wrong)
    for wrong in (None, 3, "BLM", [1, 2]):
        with pytest.raises(TypeError, match="packed must be bytes"):
            BLMRegressor.from_packed(wrong)
    with pytest.raises(ValueError, match="holds a BLMRegressor, not a BLMClassifier"):
        BLMClassifier.from_packed(packed)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_bits": 4},
        {"activation": "relu"},
        {"loss": "hinge"},
        {"hidden_layer_sizes": (7, 7)},
        {"recurrent": True},
        {"standardize": False},
        {"w_max": 0.1},
    ],
)
def test_parameters_set_after_a_fit_change_nothing_until_the_next(changes):
    model = fitted("classes")
    proba, packed = model.predict_proba(X), model.to_packed()
    mlp = model.to_mlp().predict_proba(X)
    model.set_params(**changes)
    assert_array_equal(model.predict_proba(X), proba)
    assert model.to_packed() == packed
    assert_array_equal(model.to_mlp().predict_proba(X), mlp)
    assert model.score(X, CLASSES) == fitted("classes").score(X, CLASSES)


@pytest.mark.parametrize("kept", [4, 6, 8, 20, -1])
def test_bytes_that_are_cut_off_are_refused(kept):
    packed = fitted("one").to_packed()
    with pytest.raises(ValueError, match="packed"):
        BLMRegressor.from_packed(packed[:kept])


@pytest.mark.parametrize("task", TASKS)
def test_pickle_and_clone(task):
    model = fitted(task)
    assert_same_network(pickle.loads(pickle.dumps(model)), model)
    fresh = clone(model)
    assert not hasattr(fresh, "codes_")
    assert fresh.get_params() == model.get_params()


# -------------------------------------------------------------------- other libraries


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("task", ["two", "classes"])
def test_what_transformers_answer_with_does_not_matter(task, output):
    frame = pd.DataFrame(X, columns=["first", "second", "third"])
    model, y = make(task)
    expected = clone(model).fit(X, y)
    for table in (X, frame):
        with config_context(transform_output=output):
            found = clone(model).fit(table, y)
            again = type(model).from_packed(found.to_packed(names=True))
            assert_array_equal(found.predict(table), expected.predict(X))
            assert_array_equal(again.predict(table), expected.predict(X))


@pytest.mark.parametrize("task", ["one", "classes"])
def test_pipeline_and_grid_search(task):
    model, y = make(task)
    pipeline = make_pipeline(MinMaxScaler(), model).fit(X, y)
    assert pipeline.score(X, y) > 0.5
    search = GridSearchCV(model, {"n_bits": [3, 8], "activation": ["relu"]}, cv=2)
    search.fit(X, y)
    assert search.best_params_["n_bits"] in (3, 8)
    assert search.best_estimator_.coefs_[0].shape == (3, 3)


@pytest.mark.parametrize(
    "kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
@pytest.mark.parametrize("task", ["one", "classes"])
def test_sparse_input_equals_dense(task, kind):
    model, y = make(task)
    table = np.where(X > 3, X, 0)
    dense = clone(model).fit(table, y)
    thin = clone(model).fit(kind(table), y)
    assert_array_equal(thin.codes_, dense.codes_)
    assert_array_equal(thin.predict(kind(table)), dense.predict(table))


def test_names_of_columns():
    frame = pd.DataFrame(X, columns=["first", "second", "third"])
    model = BLMRegressor(**QUICK).fit(frame, pd.Series(Y))
    assert model.feature_names_in_.tolist() == ["first", "second", "third"]
    assert_array_equal(model.predict(frame), fitted("one").predict(X))
    assert model.to_mlp().feature_names_in_.tolist() == ["first", "second", "third"]
    back = BLMRegressor.from_packed(model.to_packed(names=True))
    for network in (model, back):
        assert_array_equal(network.predict(frame), fitted("one").predict(X))
        with pytest.raises(ValueError, match="feature names should match"):
            network.predict(frame[["second", "first", "third"]])
    for packed in (model.to_packed(), fitted("one").to_packed(names=True)):
        assert not hasattr(BLMRegressor.from_packed(packed), "feature_names_in_")


def test_column_that_is_constant_changes_nothing_else():
    wide = np.column_stack([X, np.full(len(X), 7.0)])
    model, y = make("one")
    assert np.isfinite(model.fit(wide, y).predict(wide)).all()
