"""Samples whose weight is zero count as if they were not there."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.neural_network import MLPClassifier

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetRegressor,
    EnergyNetTransformer,
    GPOptions,
    MOHNClassifier,
    MOHNRegressor,
    MOHNTransformer,
)
from skmohn._core._validation import weighted_rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
STACK = EnergyNetTransformer(
    None, 2, n_final_epochs=1, n_temperatures=10, random_state=0
)
MLP_OF_CLASSES = MLPClassifier((4,), solver="lbfgs", max_iter=50)
NETWORK = {"hidden_layer_sizes": (2,), "n_bits": 4, "max_flips": 50, "random_state": 0}
MODELS = [
    MOHNRegressor("gp", random_state=0),
    MOHNRegressor("pursuit", max_order=1),
    MOHNClassifier("gp", random_state=0),
    MOHNTransformer("logistic", max_order=1),
    STACK,
    EnergyNetClassifier(STACK, MLP_OF_CLASSES, random_state=0),
    EnergyNetRegressor(STACK, random_state=0),
]
NETWORKS = [BLMRegressor(**NETWORK), BLMClassifier(**NETWORK)]
RNG = np.random.default_rng(0)
KEPT = np.arange(50) >= 8
FRAME = pd.DataFrame(
    {
        "letter": RNG.choice(list("ab"), 50),
        "day": np.datetime64("2024-01-01", "s") + 86_400 * RNG.integers(0, 5, 50),
        "number": RNG.integers(0, 3, 50),
    }
)
ODD = FRAME.assign(
    letter=np.where(KEPT, FRAME.letter, "zzz"),
    day=FRAME.day.where(KEPT, pd.Timestamp("1700-01-01")),
    number=np.where(KEPT, FRAME.number, 99),
)
Y = 1.0 * (FRAME.letter == "a") + FRAME.number + 0.1 * RNG.normal(size=50)


def targets(model):
    """Numbers, or classes."""
    is_for_classes = is_classifier(model) or isinstance(model, MOHNTransformer)
    return np.where(Y.median() < Y, 1, 0) if is_for_classes else Y.to_numpy()


def use(model, X):
    """What a model makes of a table."""
    return (model.predict if hasattr(model, "predict") else model.transform)(X)


@pytest.mark.slow_cases("EnergyNetRegressor")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_they_alone_have_is_not_known(model):
    y = targets(model)
    weighted = clone(model).fit(ODD, y, sample_weight=KEPT * 1.0)
    dropped = clone(model).fit(FRAME[KEPT], y[KEPT])
    assert_allclose(use(weighted, FRAME), use(dropped, FRAME), rtol=1e-9)
    for name in ("weighted", "dropped"):
        with pytest.raises(ValueError, match="column letter has 'zzz', which was not"):
            use(locals()[name], ODD)
    # As lists of rows, and with as many weights of another kind.
    rows = [list(row) for row in ODD[["letter", "number"]].itertuples(index=False)]
    if "Stack" not in type(model).__name__:
        again = clone(model).fit(rows, y, sample_weight=KEPT.tolist())
        with pytest.raises(ValueError, match="column x0 has 'zzz'"):
            use(again, rows[:1])


@pytest.mark.parametrize("model", NETWORKS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("as_sequences", [False, True])
def test_networks_learn_nothing_of_them(model, as_sequences):
    X, y = ODD[["number"]].to_numpy(float), targets(model)
    if is_classifier(model):
        y = np.where(KEPT, y, 7)
    if as_sequences:
        X = np.stack([X, X[::-1]], axis=1)
        X[~KEPT] = 1e6
        model = clone(model).set_params(recurrent="sequences")
    weighted = clone(model).fit(X, y, sample_weight=KEPT * 1.0)
    dropped = clone(model).fit(X[KEPT], y[KEPT])
    assert_array_equal(weighted.predict(X), dropped.predict(X))
    assert_array_equal(weighted.input_scaler_.mean_, dropped.input_scaler_.mean_)
    if is_classifier(model):
        assert_array_equal(weighted.classes_, [0, 1])
    parts = list(X) if as_sequences else pd.DataFrame(X)
    again = clone(model).fit(parts, list(y), sample_weight=(KEPT * 1).tolist())
    assert_array_equal(again.predict(X), dropped.predict(X))


def test_several_targets_and_further_samples():
    model, y = MOHNRegressor("gp", random_state=0), np.column_stack([Y, -Y])
    weighted = clone(model).fit(ODD, y, sample_weight=KEPT * 1.0)
    dropped = clone(model).fit(FRAME[KEPT], y[KEPT])
    assert_allclose(weighted.predict(FRAME), dropped.predict(FRAME), rtol=1e-9)
    before = clone(model).fit(FRAME, Y).partial_fit(FRAME[KEPT], Y[KEPT])
    after = clone(model).fit(FRAME, Y).partial_fit(ODD, Y, sample_weight=KEPT * 1.0)
    assert_allclose(after.predict(FRAME), before.predict(FRAME))
    classifier = MOHNClassifier("gp", random_state=0)
    labels = targets(classifier)
    after = clone(classifier).fit(FRAME, labels)
    after.partial_fit(ODD, labels, sample_weight=KEPT * 1.0)
    before = clone(classifier).fit(FRAME, labels).partial_fit(FRAME[KEPT], labels[KEPT])
    assert_allclose(after.predict_proba(FRAME), before.predict_proba(FRAME))


def test_classes_without_weight():
    labels = np.where(KEPT, targets(MOHNClassifier()), 7)
    model = MOHNClassifier("gp", class_weight={0: 1, 1: 1, 7: 0}, random_state=0)
    model.fit(ODD, labels)
    expected = MOHNClassifier("gp", random_state=0).fit(FRAME[KEPT], labels[KEPT])
    assert_allclose(model.predict_proba(FRAME), expected.predict_proba(FRAME))
    with pytest.raises(ValueError, match="'zzz'"):
        model.predict(ODD)


@pytest.mark.parametrize("kind", [MOHNRegressor, MOHNClassifier])
def test_groups_of_one_hot_columns_are_those_of_the_others(kind):
    X = np.eye(3)[RNG.integers(0, 3, 50)]
    y = X[:, 0] + 0.1 * RNG.normal(size=50)
    y = np.where(y > 0.5, 1, 0) if kind is MOHNClassifier else y
    odd = np.where(KEPT[:, None], X, 1.0)
    model = kind("gp", gp_options=GPOptions(one_hot="auto"), random_state=0)
    weighted = clone(model).fit(odd, y, sample_weight=KEPT * 1.0)
    dropped = clone(model).fit(X[KEPT], y[KEPT])
    assert weighted.coding_.kind.tolist() == ["one-hot"] * 3
    assert_allclose(weighted.predict(X), dropped.predict(X))


@pytest.mark.parametrize(
    ("X", "weights", "expected"),
    [
        (np.ones((3, 1)), [[1, 0, 2]], [0, 2]),
        ([[1], [2], [3]], [np.array([0.0, 1.0, 1.0]), (1, 1, 0)], [1]),
        (np.ones((3, 1)), [pd.Series([1, pd.NA, 0], dtype="Int64")], [0, 1]),
        (np.ones((3, 1)), [None, [1, 1, 1]], None),
        # Refused later, each in its own words.
        (np.ones((3, 1)), [[0, 0, 0]], None),
        (np.ones((3, 1)), [[0, 1]], None),
        (np.ones((3, 1)), [[np.nan, np.inf, -1]], None),
        (np.ones((3, 1)), [["a", "b", [0]]], None),
        (np.ones((3, 1)), [0, 2.0, "x"], None),
        (np.array(1.0), [[0]], None),
        (5, [[0]], None),
    ],
)
def test_rows_that_have_weight(X, weights, expected):
    found = weighted_rows(X, weights)
    assert found is None if expected is None else found.tolist() == expected


@pytest.mark.parametrize("model", [*MODELS, *NETWORKS], ids=lambda m: type(m).__name__)
def test_a_weight_beside_which_others_are_zero_is_refused(model):
    """Not the columns, which do not vary without the others, are to blame."""
    X, weight = RNG.normal(size=(50, 2)), np.ones(50)
    weight[3] = 1e300
    with pytest.raises(ValueError, match="the largest sample_weight, 1e\\+300, is 2"):
        clone(model).fit(X, targets(model), sample_weight=weight)
    weight[3] = 1e6
    clone(model).fit(X, targets(model), sample_weight=weight)
