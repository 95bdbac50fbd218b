"""Recurrent networks that learn from sequences."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score

from skmohn.blm import BLMClassifier, BLMRegressor
from skmohn.blm._network import Layout

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 9, 2))
# Of each step: the first input of the step before.
DELAYED = np.concatenate([np.zeros((12, 1)), X[:, :-1, 0]], axis=1)
LISTS = [x[: 4 + k % 5] for k, x in enumerate(X)]


def small(cls=BLMRegressor, **parameters):
    options = {"recurrent": True, "max_flips": 3000, "random_state": 0, "alpha": 0.0}
    return cls((4,), **{**options, **parameters})


def plain_outputs(model, x):
    """Outputs at each step of a sequence, by numpy alone."""
    x = (x - model.input_scaler_.mean_) / model.input_scaler_.scale_
    hidden, outputs = np.zeros(4), []
    for row in x:
        total = row @ model.coefs_[0] + model.intercepts_[0]
        hidden = np.tanh(total + hidden @ model.recurrent_coefs_[0])
        outputs.append(hidden @ model.coefs_[1] + model.intercepts_[1])
    return np.array(outputs)


def test_a_delay_is_learned_which_no_network_without_memory_can():
    model = small(recurrent="steps", max_flips=20_000).fit(X, DELAYED)
    found = model.predict(X)
    assert found.shape == DELAYED.shape
    assert r2_score(DELAYED.ravel(), found.ravel()) > 0.95
    flat = BLMRegressor((4,), random_state=0).fit(X.reshape(-1, 2), DELAYED.ravel())
    assert flat.score(X.reshape(-1, 2), DELAYED.ravel()) < 0.5


def test_predictions_and_loss_are_those_of_a_plain_loop():
    model = small(recurrent="steps", alpha=3.0).fit(X, DELAYED)
    scaler = model.target_scaler_
    outputs = np.array([plain_outputs(model, x)[:, 0] for x in X])
    assert_allclose(
        model.predict(X), outputs * scaler.scale_ + scaler.mean_, atol=1e-10
    )
    differences = outputs - (DELAYED - scaler.mean_) / scaler.scale_
    parts = [*model.coefs_, *model.recurrent_coefs_]
    price = 1.5 * sum((part**2).sum() for part in parts) / DELAYED.size
    assert model.loss_ == pytest.approx(0.5 * np.mean(differences**2) + price, rel=1e-5)


def test_a_target_of_each_sequence_is_that_of_its_last_step():
    targets = np.array([x[-2, 0] for x in LISTS])
    model = small(max_flips=10_000).fit(LISTS, targets)
    found = model.predict(LISTS)
    assert found.shape == targets.shape
    assert model.score(LISTS, targets) > 0.9
    scaler = model.target_scaler_
    assert scaler.mean_ == pytest.approx(targets.mean())
    outputs = [plain_outputs(model, x)[-1, 0] for x in LISTS]
    assert_allclose(found, outputs * scaler.scale_ + scaler.mean_, atol=1e-10)


def test_lists_come_back_as_lists():
    targets = [np.cumsum(x[:, :2], axis=0) for x in LISTS]
    model = small(max_flips=500).fit(LISTS, targets)
    found = model.predict(LISTS)
    assert [part.shape for part in found] == [part.shape for part in targets]
    whole = model.predict(np.array([x[:4] for x in LISTS]))
    assert_allclose(whole[0], found[0][:4])


def test_equal_lengths_give_the_same_as_an_array_and_as_a_list():
    one = small(recurrent="steps", max_flips=500).fit(X, DELAYED)
    other = small(recurrent="steps", max_flips=500).fit(list(X), list(DELAYED))
    assert_array_equal(one.codes_, other.codes_)
    assert_array_equal(one.predict(X), np.stack(other.predict(list(X))))


@pytest.mark.slow_cases("3-hinge|2-squared|2-cross_entropy")
@pytest.mark.parametrize("loss", ["cross_entropy", "hinge", "squared"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_of_sequences(loss, n_classes):
    names = np.array(["down", "flat", "up"])
    first = np.array([x[0, 0] for x in LISTS])
    labels = names[np.digitize(first, [-0.3, 0.4] if n_classes == 3 else [0.0])]
    model = small(BLMClassifier, loss=loss, max_flips=8000).fit(LISTS, labels)
    assert model.score(LISTS, labels) > 0.9
    if loss == "cross_entropy":
        proba = model.predict_proba(LISTS)
        assert proba.shape == (12, n_classes)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert_allclose(model.predict_log_proba(LISTS), np.log(proba))


def test_classes_of_steps():
    labels = np.where(DELAYED > 0, "high", "low")
    model = small(BLMClassifier, max_flips=8000, class_weight="balanced")
    model.fit(X, labels)
    assert np.mean(model.predict(X) == labels) > 0.9
    proba = model.predict_proba(X)
    assert proba.shape == (12, 9, 2)
    assert_allclose(model.predict_log_proba(X), np.log(proba))


@pytest.mark.parametrize("n_outputs", [None, 1, 2])
def test_all_steps_count_alike_in_the_score(n_outputs):
    targets = [np.cumsum(x[:, :n_outputs], axis=0) for x in LISTS]
    if n_outputs is None:
        targets = [part[:, 0] for part in targets]
    model = small(max_flips=500).fit(LISTS, targets)
    y, found = np.concatenate(targets), np.concatenate(model.predict(LISTS))
    assert model.score(LISTS, targets) == pytest.approx(r2_score(y, found))
    weights = np.arange(1.0, 13.0)
    assert model.score(LISTS, targets, weights) == pytest.approx(
        r2_score(y, found, sample_weight=np.repeat(weights, [len(x) for x in LISTS]))
    )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(LISTS, targets, weights[1:])
    with pytest.raises(ValueError, match="a target for each step"):
        model.score(LISTS, [part[1:] for part in targets])


def test_steps_of_classes_are_scored_and_cross_validated():
    labels = np.where(DELAYED > 0, "high", "low")
    model = small(BLMClassifier, max_flips=8000).fit(X, labels)
    accuracy = accuracy_score(labels.ravel(), model.predict(X).ravel())
    assert model.score(X, labels) == pytest.approx(accuracy)
    scores = cross_val_score(
        small(recurrent="steps", max_flips=10_000), X, DELAYED, cv=2
    )
    assert scores.min() > 0.8


@given(
    sizes=st.lists(st.integers(1, 4), min_size=2, max_size=4), seed=st.integers(0, 99)
)
@settings(max_examples=25)
def test_joining_is_the_inverse_of_splitting(sizes, seed):
    for recurrent in (False, True):
        layout = Layout(tuple(sizes), recurrent)
        weights = np.random.default_rng(seed).normal(size=layout.n_weights)
        assert_array_equal(layout.join(*layout.split(weights)), weights)


def test_sequences_of_weight_zero_do_not_count():
    weights = np.ones(12)
    weights[3:6] = 0
    spoilt = DELAYED.copy()
    spoilt[3:6] = 7.0
    one = small(recurrent="steps", max_flips=500, standardize=False).fit(
        X, DELAYED, weights
    )
    other = small(recurrent="steps", max_flips=500, standardize=False).fit(
        X, spoilt, weights
    )
    assert_array_equal(one.codes_, other.codes_)


def test_whole_sequences_are_held_out():
    model = small(early_stopping=True, validation_fraction=0.25).fit(LISTS, LISTS)
    assert all(record["validation_loss"] is not None for record in model.history_)
    given_ones = small().fit(LISTS[:9], LISTS[:9], X_val=LISTS[9:], y_val=LISTS[9:])
    assert given_ones.history_[-1]["validation_loss"] > 0


def test_going_on_ensembles_and_restarts():
    model = small(n_restarts=2, ensemble=2, warm_start=True, max_flips=400)
    model.set_params(recurrent="steps")
    model.fit(X, DELAYED)
    before = model.loss_
    assert model.fit(X, DELAYED).loss_ <= before
    again = (
        small(recurrent="steps", max_flips=400)
        .partial_fit(X, DELAYED)
        .partial_fit(X, DELAYED)
    )
    assert again.predict(X).shape == DELAYED.shape
    parallel = clone(model).set_params(n_jobs=2, warm_start=False)
    serial = clone(model).set_params(warm_start=False)
    with parallel_config(backend="threading"):
        parallel.fit(X, DELAYED)
    assert_array_equal(parallel.codes_, serial.fit(X, DELAYED).codes_)


def test_a_network_of_rows_does_not_go_on_with_sequences_nor_the_other_way():
    tables = X[:, 0], DELAYED[:, 1]
    for before, samples, after, others in (
        (False, tables, "steps", (X, DELAYED)),
        ("steps", (X, DELAYED), False, tables),
    ):
        model = small(recurrent=before, warm_start=True, max_flips=50).fit(*samples)
        with pytest.raises(ValueError, match=r"^recurrent changed since the fit"):
            model.set_params(recurrent=after).fit(*others)


@pytest.mark.parametrize("cls", [BLMRegressor, BLMClassifier])
def test_packed_networks_predict_the_same(cls):
    y = DELAYED if cls is BLMRegressor else DELAYED > 0
    model = small(cls, recurrent="steps", max_flips=300).fit(X, y)
    again = cls.from_packed(model.to_packed())
    assert_allclose(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="no recurrent networks"):
        model.to_mlp()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X[0], DELAYED[0], r"X has shape \(n_sequences, n_steps, n_features\)"),
        ([X[0], X[1, :, :1]], DELAYED[:2], r"parts of shapes \[\(9, 1\), \(9, 2\)\]"),
        ([], [], "X has shape"),
        ([X[0], X[1, :0]], [0.0, 1.0], "sequence 1 of X has no steps"),
        (X, DELAYED[:5], "X has 12 sequences, but y has targets for 5"),
    ],
)
def test_what_is_no_set_of_sequences_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        small().fit(X, y)


SIX = X[:, :6]
OUTPUTS = np.stack([SIX[:, -1].sum(axis=1) * k for k in range(6)], axis=1)


@pytest.mark.parametrize("y", [OUTPUTS, list(OUTPUTS), pd.DataFrame(OUTPUTS)])
def test_targets_that_can_be_read_in_two_ways_are_refused_until_it_is_said(y):
    with pytest.raises(
        ValueError, match=r'y is ambiguous.*recurrent="steps" or recurrent='
    ):
        small().fit(SIX, y)
    by_step, by_sequence = (
        small(recurrent=way, max_flips=500).fit(SIX, y)
        for way in ("steps", "sequences")
    )
    assert by_step.n_outputs_ == 1
    assert by_sequence.n_outputs_ == 6
    # A third axis is one of outputs, and says enough.
    clear = small(max_flips=500).fit(SIX, OUTPUTS[:, :, None])
    assert_array_equal(clear.codes_, by_step.codes_)
    for model in (by_step, by_sequence):
        assert np.shape(model.predict(SIX)) == (12, 6)
        # Later on it is known.
        score = model.score(SIX, y)
        model.set_params(warm_start=True, max_flips=10).fit(SIX, y, X_val=SIX, y_val=y)
        assert model.score(SIX, y) == pytest.approx(score, abs=0.2)


def test_what_is_said_of_targets_has_to_be_true():
    with pytest.raises(
        ValueError, match="target for each step, because of recurrent='steps'"
    ):
        small(recurrent="steps").fit(X, DELAYED[:, 0])
    with pytest.raises(
        ValueError, match="each sequence, because of recurrent='sequences'"
    ):
        small(recurrent="sequences").fit(LISTS, LISTS)
    # Words are no indicators of several labels: there is one way to read them.
    words = np.where(DELAYED > 0, "high", "low")
    assert small(BLMClassifier, max_flips=10).fit(X, words).predict(X).shape == (12, 9)
    with pytest.raises(ValueError, match="y is ambiguous"):
        small(BLMClassifier).fit(X, DELAYED > 0)


@pytest.mark.parametrize("weight", [3.0, None])
def test_one_weight_for_all_sequences(weight):
    expected = np.full(12, 1.0 if weight is None else weight)
    model = small(max_flips=300)
    one = clone(model).fit(LISTS, LISTS, weight)
    assert_array_equal(one.codes_, model.fit(LISTS, LISTS, expected).codes_)


def test_targets_have_to_stay_of_one_kind():
    with pytest.raises(ValueError, match="y must have a target for each step"):
        small(recurrent="steps").fit(X, DELAYED, X_val=X, y_val=DELAYED[:, 0])
    with pytest.raises(ValueError, match="features"):
        small(recurrent="steps", max_flips=100).fit(X, DELAYED).predict(X[:, :, :1])


# ------------------------------------------------------------ sequences as data frames


def frames(make, names=("a", "b"), seed=0):
    """Sequences as data frames, and whether the first column ends above zero."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=(rng.integers(3, 9), 2)) for _ in range(25)]
    y = np.array([float(part[-1, 0] > 0) for part in arrays])
    parts = [make(dict(zip(names, part.T, strict=True))) for part in arrays]
    return arrays, parts, y


def learn(X, y, network=BLMClassifier):
    model = network((3,), recurrent="sequences", max_flips=300, random_state=0)
    return model.fit(X, y)


polars_names = pytest.mark.needs_sklearn("1.9", "names of polars 2")
both_libraries = pytest.mark.parametrize(
    "make", [pd.DataFrame, pytest.param(pl.DataFrame, marks=polars_names)]
)
CALLS = ["predict", "predict_proba", "score", "X_val", "partial_fit", "device"]


@both_libraries
@pytest.mark.parametrize("network", [BLMClassifier, BLMRegressor])
def test_names_of_sequences_are_remembered(make, network):
    arrays, X, y = frames(make)
    model, plain = learn(X, y, network), learn(arrays, y, network)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    predicted, expected = model.predict(X), plain.predict(arrays)
    assert_allclose(predicted, expected, atol=1e-9)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(arrays)


@both_libraries
@pytest.mark.parametrize("call", CALLS)
def test_columns_in_another_order_are_refused_as_in_a_table(make, call):
    _, X, y = frames(make)
    model = learn(X, y)
    before = dict(vars(model))
    other = [part[["b", "a"]] for part in X]
    do = {
        "score": lambda: model.score(other, y),
        "X_val": lambda: model.fit(X, y, X_val=other, y_val=y),
        "partial_fit": lambda: model.partial_fit(other, y),
        "device": lambda: model.to_c("net", X=X).predict(other),
    }.get(call, lambda: getattr(model, call)(other))
    with pytest.raises(ValueError, match="in the same order as they were in fit"):
        do()
    assert vars(model).keys() == before.keys()


@both_libraries
@pytest.mark.parametrize("other", ["order", "name", "array"])
def test_sequences_of_one_list_have_the_same_columns(make, other):
    _, X, y = frames(make)
    X[3], words = {
        "order": (X[3][["b", "a"]], r"\['b', 'a'\]"),
        "name": (frames(make, ("c", "b"))[1][3], r"\['c', 'b'\]"),
        "array": (X[3].to_numpy(), "no names"),
    }[other]
    with pytest.raises(ValueError, match=f"sequence 3 of X has the columns {words}"):
        learn(X, y)


def test_sequences_of_two_libraries_are_refused():
    _, X, y = frames(pd.DataFrame)
    X[3] = pl.DataFrame({name: X[3][name].to_numpy() for name in "ab"})
    with pytest.raises(ValueError, match="data frames of several libraries"):
        learn(X, y)


def test_columns_of_sequences_keep_their_types():
    """Integers may be among others, but not text or lists."""
    whole = pl.DataFrame({"a": [1, 2], "b": [0.5, 1.0]})
    real = pl.DataFrame({"a": [1.5, 2.0], "b": [0.5, 1.0]})
    model = learn([whole, real, whole, real], [0.0, 1.0, 0.0, 1.0])
    assert model.n_features_in_ == 2
    text = pl.DataFrame({"a": ["x", "y"], "b": [0.5, 1.0]})
    with pytest.raises(ValueError, match="column a holds text"):
        learn([whole, text], [0.0, 1.0])
    lists = pl.DataFrame({"a": [[1], [2]], "b": [0.5, 1.0]})
    with pytest.raises(ValueError, match="have incompatible types"):
        learn([whole, lists], [0.0, 1.0])


@pytest.mark.parametrize("change", [pl.DataFrame.to_arrow, pl.DataFrame.lazy])
def test_other_tables_of_named_columns_are_refused(change):
    _, X, y = frames(pl.DataFrame)
    with pytest.raises(ValueError, match="whose column names would be lost: pass"):
        learn([change(part) for part in X], y)


@pytest.mark.parametrize("per_step", [False, True])
def test_a_sequence_of_weight_two_is_one_that_is_there_twice(per_step):
    """Inputs were scaled as if all sequences had one weight."""
    rng = np.random.default_rng(0)
    X = [rng.normal(k, 1.0, size=(2 + k % 4, 2)) for k in range(12)]
    y = [x[:, 0] if per_step else float(x[:, 0].sum()) for x in X]
    weights = np.tile([1, 3], 6)
    rows = np.repeat(np.arange(12), weights)
    weighted, repeated = (small(BLMRegressor, max_flips=50) for _ in range(2))
    weighted.fit(X, y, sample_weight=weights)
    repeated.fit([X[i] for i in rows], [y[i] for i in rows])
    for name in ("mean_", "scale_"):
        found, wanted = (
            getattr(model.input_scaler_, name) for model in (weighted, repeated)
        )
        assert_allclose(found, wanted, rtol=1e-12)
    assert weighted.loss_ == pytest.approx(repeated.loss_, rel=1e-5)


def test_sequences_have_an_order():
    X = {((0.0, 1.0), (1.0, 0.0)), ((1.0, 1.0), (1.0, 0.0))}
    with pytest.raises(ValueError, match="X must have an order, but a set has none"):
        small(BLMRegressor).fit(X, [0.0, 1.0])
