"""Losses of all targets and outputs at once."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import f1_score, roc_auc_score

from skmohn import BLMClassifier, BLMRegressor

pytestmark = pytest.mark.filterwarnings("ignore:the loss was still falling")
BRIEF = {"max_flips": 400, "random_state": 0}


def squared_error(y_true, outputs):
    return 0.5 * np.mean((y_true - outputs) ** 2)


def auc_loss(y_true, outputs):
    # That of Mann and Whitney: scikit-learn's takes longer.
    order = np.argsort(outputs)
    n_below = np.cumsum(1.0 - y_true[order]) @ y_true[order]
    return 1.0 - n_below / (y_true.sum() * (1.0 - y_true).sum())


def f1_loss(y_true, outputs, sample_weight=None):
    weights = np.ones(len(y_true)) if sample_weight is None else sample_weight
    predicted = outputs > 0
    hits = weights @ (y_true * predicted)
    return 1.0 - 2.0 * hits / (weights @ y_true + weights @ predicted)


def rare():
    """Two overlapping classes, one of them rare."""
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.15).astype(int)
    X = rng.normal(size=(300, 3))
    X[:, 0] += y
    return X, y


def test_a_mean_of_all_is_the_loss_of_the_samples():
    X = load_iris().data
    # The built-in loss, from the same start on the same moves.
    options = {"alpha": 0.0, "warm_start": True, **BRIEF}
    model = BLMRegressor((3,), **options).fit(X[:, :3], X[:, 3])
    same = clone(model).set_params(loss="squared").fit(X[:, :3], X[:, 3])
    whole = clone(model).fit(X[:, :3], X[:, 3])
    same.fit(X[:, :3], X[:, 3])
    whole.set_params(loss=squared_error, decomposable=False).fit(X[:, :3], X[:, 3])
    assert whole.loss_ == pytest.approx(same.loss_, rel=1e-3)
    outputs = (whole.predict(X[:, :3]) - X[:, 3]) / X[:, 3].std()
    assert whole.loss_ == pytest.approx(0.5 * np.mean(outputs**2), rel=1e-4)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_regressors_pass_arrays_in_the_form_of_the_targets(n_outputs):
    seen = set()

    def loss(y_true, outputs):
        seen.add((y_true.shape, outputs.shape, y_true.dtype, outputs.dtype))
        return squared_error(y_true, outputs)

    X = load_iris().data
    y = X[:, 2] if n_outputs == 1 else X[:, 2:]
    BLMRegressor((3,), loss=loss, decomposable=False, **BRIEF).fit(X[:, :2], y)
    number = np.dtype(float)
    assert seen == {(y.shape, y.shape, number, number)}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_pass_targets_of_each_output(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    seen = []

    def loss(y_true, outputs):
        seen.append((y_true, outputs))
        return float(np.mean((y_true - outputs) ** 2))

    model = BLMClassifier((3,), loss=loss, decomposable=False, **BRIEF).fit(X, y)
    y_true, outputs = seen[-1]
    wanted = y if n_classes == 2 else np.eye(3)[y]
    assert np.array_equal(y_true, wanted)
    assert outputs.shape == wanted.shape
    decided = model.decision_function(X)
    assert model.loss_ == pytest.approx(np.mean((wanted - decided) ** 2), rel=1e-4)


def test_f1_is_better_than_that_of_cross_entropy():
    X, y = rare()
    options = {"alpha": 0.1, "max_flips": 4000, "random_state": 0}
    smooth = BLMClassifier((4,), **options).fit(X, y)
    own = BLMClassifier((4,), loss=f1_loss, decomposable=False, **options).fit(X, y)
    assert own.loss_ == pytest.approx(1.0 - f1_score(y, own.predict(X)), abs=1e-9)
    assert 1.0 - own.loss_ > f1_score(y, smooth.predict(X)) + 0.05


def test_auc_starts_from_cross_entropy():
    X, y = rare()
    options = {"random_state": 0, "n_iter_no_change": 10**6}
    smooth = BLMClassifier((4,), max_flips=1000, **options).fit(X, y)
    own = BLMClassifier((4,), loss=auc_loss, decomposable=False, **options)
    own.set_params(max_flips=2000).fit(X, y)
    start = roc_auc_score(y, smooth.predict_proba(X)[:, 1])
    assert own.loss_curve_[0] == pytest.approx(1.0 - start, abs=1e-4)
    assert own.loss_ < own.loss_curve_[0]
    found = roc_auc_score(y, own.decision_function(X))
    assert own.loss_ == pytest.approx(1.0 - found, abs=1e-4)


def test_equal_samples_are_as_many_for_the_loss():
    sizes = set()

    def loss(y_true, outputs):
        sizes.add(len(y_true))
        return auc_loss(y_true, outputs)

    X, y = rare()
    rows = np.r_[: len(X), :50]
    model = BLMClassifier((2,), loss=loss, decomposable=False, **BRIEF)
    model.fit(X[rows], y[rows])
    assert sizes == {350}


def test_weights_of_samples_are_passed_where_they_differ():
    X, y = rare()
    weights = np.where(y == 1, 3.0, 1.0)
    model = BLMClassifier((3,), loss=f1_loss, decomposable=False, **BRIEF)
    model.fit(X, y, weights)
    weighted = f1_score(y, model.predict(X), sample_weight=weights)
    assert model.loss_ == pytest.approx(1.0 - weighted, abs=1e-9)
    again = clone(model).set_params(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    assert np.array_equal(again.codes_, model.codes_)
    model.set_params(loss=auc_loss)
    with pytest.raises(ValueError, match="needs a parameter sample_weight"):
        model.fit(X, y, weights)
    model.fit(X, y, np.full(len(y), 2.0))


def test_equal_weights_are_passed_to_a_loss_that_requires_them():
    X, y = rare()

    def weighted(y_true, outputs, sample_weight):
        return f1_loss(y_true, outputs, sample_weight)

    model = BLMClassifier((3,), loss=f1_loss, decomposable=False, **BRIEF)
    same = clone(model).set_params(loss=weighted)
    expected, found = model.fit(X, y), same.fit(X, y)
    assert np.array_equal(found.codes_, expected.codes_)
    # Those of validation samples are equal in any case.
    weights = np.where(y == 1, 3.0, 1.0)
    clone(same).fit(X, y, weights, X_val=X, y_val=y)


def test_a_loss_may_change_what_it_gets():
    X, y = rare()

    def changing(y_true, outputs, sample_weight):
        found = f1_loss(y_true, outputs, sample_weight)
        for array in (y_true, outputs, sample_weight):
            array *= 0.0
        return found

    model = BLMClassifier((3,), loss=f1_loss, decomposable=False, **BRIEF)
    model.fit(X, y, np.where(y == 1, 3.0, 1.0))
    changed = clone(model).set_params(loss=changing)
    changed.fit(X, y, np.where(y == 1, 3.0, 1.0))
    assert np.array_equal(changed.codes_, model.codes_)
    assert changed.loss_ == model.loss_


def test_validation_samples_have_a_loss_of_their_own():
    X, y = rare()
    model = BLMClassifier((3,), loss=auc_loss, decomposable=False, **BRIEF)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    found = roc_auc_score(y[200:], model.decision_function(X[200:]))
    assert model.loss_ == pytest.approx(1.0 - found, abs=1e-4)


def test_sequences_pass_the_steps_that_have_targets():
    shapes = set()

    def loss(y_true, outputs):
        shapes.add((y_true.shape, outputs.shape))
        return squared_error(y_true, outputs)

    X = np.random.default_rng(0).normal(size=(12, 5, 2))
    options = {"loss": loss, "decomposable": False, "max_flips": 200}
    model = BLMRegressor((2,), recurrent="sequences", random_state=0, **options)
    model.fit(X, X[:, -1, 0])
    assert shapes == {((12,), (12,))}
    outputs = (model.predict(X) - X[:, -1, 0]) / X[:, -1, 0].std()
    assert model.loss_ == pytest.approx(0.5 * np.mean(outputs**2), rel=1e-4)


def test_a_rank_correlation_can_be_maximized():
    X = load_breast_cancer().data[:150, :4]

    def loss(y_true, outputs):
        return -spearmanr(y_true, outputs).statistic

    model = BLMRegressor((3,), loss=loss, decomposable=False, random_state=0)
    model.set_params(max_flips=60).fit(X[:, :3], X[:, 3])
    found = spearmanr(X[:, 3], model.predict(X[:, :3])).statistic
    assert model.loss_ == pytest.approx(-found, abs=1e-4)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_what_the_loss_raises_is_raised(error):
    calls = []

    def loss(y_true, outputs):
        calls.append(len(y_true))
        if len(calls) > 5:
            raise error("no luck")
        return auc_loss(y_true, outputs)

    X, y = rare()
    model = BLMClassifier((2,), loss=loss, decomposable=False, **BRIEF)
    with pytest.raises(error, match="no luck"):
        model.fit(X, y)
    # Nothing is called again before that.
    assert len(calls) == 6


def test_threads_do_not_change_the_result():
    X, y = rare()
    options = {"loss": auc_loss, "decomposable": False, "n_restarts": 2, **BRIEF}
    one, two = (BLMClassifier((2,), n_jobs=n, **options).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.codes_, two.codes_)


@pytest.mark.parametrize("network", [BLMClassifier, BLMRegressor])
def test_losses_with_a_name_are_decomposable(network):
    X, y = rare()
    with pytest.raises(ValueError, match="decomposable=False needs a callable loss"):
        network(decomposable=False).fit(X, y)


@pytest.mark.parametrize("network", [BLMClassifier, BLMRegressor])
@pytest.mark.parametrize(
    ("loss", "match"),
    [
        (lambda y, out: (y - out) ** 2, r"one number .*not an array of shape \(300,\)"),
        (lambda y, out: math.fabs(y - out), "arrays of all .*, and raises TypeError"),
        (lambda y, out: float(y * out < 0.0) if y else 0.0, "and raises ValueError"),
        (lambda y: 0.0, "raises TypeError: .*takes 1 positional argument"),
        (lambda y, out: None, "one number .*not a NoneType"),
        (lambda y, out: 1j, "one number .*not a complex"),
        (np.subtract, r"one number .*not an array"),
    ],
)
def test_losses_of_one_target_are_refused_where_all_are_passed(network, loss, match):
    X, y = rare()
    model = network((2,), loss=loss, decomposable=False, **BRIEF)
    match = f"loss with decomposable=False .*{match}.*decomposable=True if it takes one"
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)


@pytest.mark.parametrize(
    "loss", [squared_error, lambda y, out: -np.corrcoef(y, out)[0, 1], spearmanr, sum]
)
def test_losses_of_all_targets_are_refused_where_one_is_passed(loss):
    def of_frame(y_true, outputs):
        return loss(y_true.tolist(), outputs)

    X, y = rare()
    with pytest.raises(
        ValueError, match=r"loss must .*\(decomposable=False if it take"
    ):
        BLMRegressor((2,), loss=of_frame, **BRIEF).fit(X, y)
