"""BLM networks as ONNX models: the same answers in onnxruntime."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from skmohn import BLMClassifier, BLMController, BLMRegressor, MOHNRegressor
from skmohn.blm import Stage
from skmohn.datasets import InvertedPendulum
from skmohn.integrations import to_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)).astype(np.float32).astype(float) * [1.0, 9.0, 0.2, 3.0]
Y = X[:, 0] - 0.1 * X[:, 1]
MANY = np.array(["no", "ä", "yes"])[np.digitize(Y, [-0.5, 0.5])]
LABELS = np.column_stack([Y > 0, X[:, 2] > 0, X[:, 3] < 0]).astype(int)
QUICK = {"max_flips": 2000, "random_state": 0}
CLASSIFIERS = {
    "many": (BLMClassifier((5,)), MANY),
    "two": (BLMClassifier((5,), activation="relu"), Y > 0),
    "numbers": (BLMClassifier((5, 4), activation="step"), np.where(Y > 0, 7, -3)),
    "floats": (BLMClassifier((5,)), np.where(Y > 0, 1.0, 2.0)),
    "labels": (BLMClassifier((5,), activation="logistic"), LABELS),
    "squared": (BLMClassifier((5,), loss="squared"), MANY),
    "hinge": (BLMClassifier((5,), loss="hinge", standardize=False), MANY),
    "together": (BLMClassifier((4,), n_restarts=2, ensemble=2), MANY),
    "linear": (BLMClassifier(()), MANY),
}
OPSETS = [(2, 25), (2, 21), (2, 13), (3, 21), (8, 21), (12, 21), (12, 13), (24, 21)]


def run(made, rows):
    """Outputs by name."""
    session = runtime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    found = session.run(names, {"X": rows.astype(np.float32)})
    return dict(zip(names, found, strict=True))


def kinds_of(made):
    """Types of the dequantized constants."""
    types = {one.name: one.data_type for one in made.graph.initializer}
    stored = [n.input[0] for n in made.graph.node if n.op_type == "DequantizeLinear"]
    return {onnx.TensorProto.DataType.Name(types[name]) for name in stored}


@pytest.mark.parametrize("quantized", [True, False])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_are_those_of_the_estimator(name, quantized):
    model, y = CLASSIFIERS[name]
    model.set_params(n_bits=4, **QUICK).fit(X, y)
    found = run(to_onnx(model, quantized=quantized), X)
    wanted = model.predict(X)
    label = found["label"]
    assert label.shape == wanted.shape
    assert_array_equal(label.astype(wanted.dtype), wanted)
    if name == "hinge":
        assert_allclose(found["scores"], model.decision_function(X), atol=1e-5)
        return
    proba = model.predict_proba(X)
    outputs = found["probabilities"]
    if outputs.shape[1] == 1:
        outputs = np.hstack([1 - outputs, outputs])
    if name == "squared":
        outputs = outputs / outputs.sum(axis=1, keepdims=True)
    assert_allclose(outputs, proba, atol=1e-5)


@pytest.mark.parametrize(("n_bits", "opset"), OPSETS)
def test_integers_as_small_as_the_opset_allows(n_bits, opset):
    model = BLMRegressor((6, 3), n_bits=n_bits, **QUICK)
    model.fit(X, np.column_stack([Y, 9 * X[:, 2]]))
    made = to_onnx(model, opset=opset)
    kind = {2: "INT4", 3: "INT4", 8: "INT8", 12: "INT16", 24: "INT32"}[n_bits]
    kind = {(2, 25): "INT2", (2, 13): "INT8", (12, 13): "INT32"}.get(
        (n_bits, opset), kind
    )
    assert kinds_of(made) == {kind}
    assert made.opset_import[0].version == opset
    # Constants stand before all that is computed: no float weights among them.
    floats = to_onnx(model, opset=opset, quantized=False)
    assert kinds_of(floats) == set()
    for one in (made, floats):
        assert_allclose(run(one, X)["predictions"], model.predict(X), atol=1e-4)


def test_controllers():
    system = InvertedPendulum(n_simulations=3, duration=3.0)
    options = {"max_evaluations": 30, "random_state": 0, "out_activation": "tanh"}
    model = BLMController((4,), **options).fit(Stage(system))
    found = run(to_onnx(model), X)["predictions"]
    assert_allclose(found, model.predict(X), atol=1e-4)
    model = BLMController((4,), True, **options).fit(system)
    with pytest.raises(ValueError, match="no recurrent networks: to_c does"):
        to_onnx(model)


def test_the_digits_are_small():
    X, y = load_digits(return_X_y=True)
    # What it has learnt does not matter.
    model = BLMClassifier((20,), n_bits=4, tol=0.1, n_iter_no_change=1, random_state=0)
    model.fit(X[:200], y[:200])
    small, large = to_onnx(model), to_onnx(model, quantized=False)
    assert_array_equal(run(small, X)["label"], model.predict(X))
    assert len(small.SerializeToString()) < 0.45 * len(large.SerializeToString())


def test_models_that_are_not_written():
    with pytest.raises(TypeError, match="model must be a BLM estimator"):
        to_onnx(MOHNRegressor())
    model = BLMRegressor((2,), max_flips=10, random_state=0).fit(X, Y)
    for opset in (12, 26, 21.0, None):
        with pytest.raises(ValueError, match="opset must be from 13 to 25"):
            to_onnx(model, opset=opset)
