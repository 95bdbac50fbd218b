"""Masked arrays: what is masked is unknown, whatever number is behind the mask."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetRegressor,
    EnergyNetTransformer,
    Genotypes,
    MOHNClassifier,
    MOHNDensity,
    MOHNFeatureSelector,
    MOHNRegressor,
    MOHNTransformer,
)
from skmohn._core._validation import to_numpy
from skmohn.energynet import RBM
from skmohn.optimize import BlackBoxOptimizer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
STACK = EnergyNetTransformer(
    None, 2, n_final_epochs=1, n_temperatures=10, random_state=0
)
MLP_OF_CLASSES = MLPClassifier((4,), solver="lbfgs", max_iter=50)
MLP_OF_NUMBERS = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=50)
NETWORK = {"hidden_layer_sizes": (2,), "n_bits": 4, "max_flips": 50, "random_state": 0}
MODELS = [
    MOHNRegressor("gp", random_state=0),
    MOHNRegressor("pursuit", max_order=1),
    MOHNClassifier("logistic", max_order=1),
    MOHNDensity(),
    MOHNTransformer("logistic", max_order=1),
    BLMRegressor(**NETWORK),
    BLMClassifier(**NETWORK),
    STACK,
    EnergyNetImputer(STACK),
    EnergyNetOutlierDetector(STACK),
    EnergyNetClassifier(STACK, MLP_OF_CLASSES, random_state=0),
    EnergyNetRegressor(STACK, MLP_OF_NUMBERS, random_state=0),
    MOHNFeatureSelector(Ridge(), n_features_to_select=1, random_state=0),
]
RNG = np.random.default_rng(0)
X = RNG.choice([0.0, 1.0], (40, 3))
MASK = np.zeros(X.shape, dtype=bool)
MASK[:6, 1] = True
# What a file holds in the place of nothing.
HIDDEN = np.where(MASK, -999.0, X)

Y = X[:, 0] + X[:, 1] + 0.1 * RNG.normal(size=40)


def outcome(function, *args, **kwargs):
    """What a function returns, or what its error says."""
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        return str(error)


def targets(model):
    """Numbers, or classes."""
    is_for_classes = is_classifier(model) or isinstance(model, MOHNTransformer)
    return np.where(Y > 0.5, 1, 0) if is_for_classes else Y


def fitted(model, X, **given):
    """What a model fitted to a table makes of another one."""
    model = clone(model).fit(X, targets(model), **given)
    return used(model, np.where(MASK, 0.0, HIDDEN))


def used(model, X):
    """What a fitted model makes of a table."""
    uses = "predict", "transform", "score_samples"
    return getattr(model, next(name for name in uses if hasattr(model, name)))(X)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_is_masked_is_unknown(model):
    masked = np.ma.masked_array(HIDDEN, MASK)
    unknown = np.where(MASK, np.nan, X)
    assert_array_equal(outcome(fitted, model, masked), outcome(fitted, model, unknown))
    known = clone(model).fit(X, targets(model))
    if not isinstance(model, MOHNFeatureSelector):  # scikit-learn's own transform
        found, expected = (outcome(used, known, table) for table in (masked, unknown))
        assert_array_equal(found, expected)
    # Nothing is hidden by a mask of nothing.
    whole = np.ma.masked_array(X, np.zeros_like(MASK))
    assert_array_equal(used(known, whole), used(known, X))
    assert_array_equal(masked.data, HIDDEN)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_masked_targets_and_weights_are_refused(model):
    name = type(model).__name__
    hidden = np.ma.masked_array(targets(model), np.arange(40) < 5)
    takes_no_target = ("Imputer", "Detector", "EnergyNetTransformer", "Density")
    if not any(part in name for part in takes_no_target):
        with pytest.raises(ValueError, match=r"y.* contains NaN"):
            clone(model).fit(X, hidden)
    weights = np.ma.masked_array(np.ones(40), np.arange(40) < 5)
    takes_no_weight = ("Imputer", "Detector", "Selector")
    if not any(part in name for part in takes_no_weight):
        with pytest.raises(ValueError, match=r"sample_weight contains NaN"):
            clone(model).fit(X, targets(model), sample_weight=weights)


def test_masked_validation_samples():
    model = MOHNRegressor("pursuit", max_order=1)
    masked = np.ma.masked_array(HIDDEN, MASK)
    expected = fitted(model, X, X_val=np.where(MASK, np.nan, X), y_val=Y)
    assert_array_equal(fitted(model, X, X_val=masked, y_val=Y), expected)
    hidden = np.ma.masked_array(Y, np.arange(40) < 5)
    with pytest.raises(ValueError, match="y_val must be one-dimensional and finite"):
        model.fit(X, Y, X_val=X, y_val=hidden)


@pytest.mark.parametrize("as_list", [False, True])
def test_masked_sequences(as_list):
    masked = np.ma.masked_array(HIDDEN, MASK).reshape(8, 5, 3)
    model = BLMRegressor(recurrent=True, **NETWORK)
    whole = X.reshape(8, 5, 3)
    masked, whole = (list(t) if as_list else t for t in (masked, whole))
    with pytest.raises(ValueError, match="X contains NaN"):
        clone(model).fit(masked, Y[:8])
    with pytest.raises(ValueError, match=r"y.* contains NaN"):
        clone(model).fit(whole, np.ma.masked_array(Y[:8], np.arange(8) < 2))
    model.fit(whole, Y[:8])
    with pytest.raises(ValueError, match="X contains NaN"):
        model.predict(masked)


def test_masked_arrays_elsewhere():
    counts = np.ma.masked_array([[0, 9], [1, 2]], [[False, True], [False, False]])
    assert_array_equal(Genotypes.from_counts(counts).counts(), [[0, np.nan], [1, 2]])
    bits = np.ma.masked_array([[0.0, 1.0]], [[True, False]])
    with pytest.raises(ValueError, match="contains NaN"):
        RBM(np.ones((1, 2)), np.zeros(1), np.zeros(2)).free_energy(bits)
    optimizer = BlackBoxOptimizer(2)
    with pytest.raises(ValueError, match="nan"):
        optimizer.tell(np.ma.masked_array([[0, 1]], [[True, False]]), [1.0])
    # A value that is unknown: the point could not be evaluated.
    optimizer.tell([[0, 1], [1, 1]], np.ma.masked_array([-5.0, 2.0], [True, False]))
    assert optimizer.result().fun == 2.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([1, 2], np.int8), [np.nan, 2.0]),
        (np.array([1.0, 2.0], np.float32), np.array([np.nan, 2.0], np.float32)),
        (np.array([True, False]), [np.nan, 0.0]),
        (np.array(["a", "b"]), np.array([np.nan, "b"], dtype=object)),
        (np.array(["a", 2], object), np.array([np.nan, 2], dtype=object)),
        (np.array([1, 2], "M8[D]"), np.array(["NaT", "1970-01-03"], "M8[D]")),
        (np.array([1, 2], "m8[s]"), np.array(["NaT", 2], "m8[s]")),
    ],
)
def test_masks_of_every_type(values, expected):
    found = to_numpy(np.ma.masked_array(values, [True, False]))
    assert type(found) is np.ndarray
    assert found[1] == expected[1]
    assert found[0] != found[0]
    assert found.dtype == np.asarray(expected).dtype
    whole = to_numpy(np.ma.masked_array(values))
    assert type(whole) is np.ndarray
    assert whole.dtype == values.dtype
    assert_array_equal(whole, values)


def test_a_number_is_no_array():
    one = np.float32(0.5)
    assert to_numpy(one) is one
    model = MOHNRegressor("pursuit", max_order=1).fit(X, Y, one)
    assert_array_equal(model.weights_, clone(model).fit(X, Y, 0.5).weights_)
