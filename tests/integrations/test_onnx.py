"""BLM networks as ONNX models: the same answers in onnxruntime."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression

from skmohn import BLMClassifier, BLMController, BLMRegressor
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
    assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["cross_entropy", "squared", "hinge", "zero_one"])
def test_two_classes_have_two_columns(loss):
    model = BLMClassifier((5,), loss=loss, **QUICK).fit(X, np.where(Y > 0, "b", "a"))
    found = run(to_onnx(model), X)
    columns = found[
        "probabilities" if loss in ("cross_entropy", "squared") else "scores"
    ]
    assert columns.shape == (80, 2)
    assert_array_equal(model.classes_[columns.argmax(axis=1)], model.predict(X))
    if "scores" in found:
        scores = model.decision_function(X)
        assert_allclose(columns, np.column_stack([-scores, scores]), atol=1e-5)


@pytest.mark.parametrize("name", ["many", "two", "numbers", "labels", "hinge"])
def test_what_is_not_a_number_counts_as_the_mean(name):
    model, y = CLASSIFIERS[name]
    model.set_params(n_bits=4, **QUICK).fit(X, y)
    lost = RNG.random(X.shape) < 0.4
    made = to_onnx(model, opset=13)
    fills = np.nan, X.mean(axis=0)
    found, wanted = (run(made, np.where(lost, fill, X)) for fill in fills)
    assert set(found) == set(wanted)
    for what, values in found.items():
        assert_array_equal(values, wanted[what])


@pytest.mark.parametrize("handle_unknown", ["error", "missing"])
def test_categories_and_missing_values(capsys, handle_unknown):
    table = pd.DataFrame(
        {
            "color": np.array(["blue", "green", "red"])[np.arange(80) % 3],
            "a": X[:, 0],
            "sex": np.where(X[:, 2] > 0, "f", "m"),
            "b": np.where(X[:, 3] > 2, np.nan, X[:, 1]),
            "room": np.where(X[:, 3] < -2, None, np.where(Y > 0, "attic", "hall")),
            "site": "Bonn",
        }
    )
    model = BLMRegressor((5,), handle_unknown=handle_unknown, **QUICK).fit(table, Y)
    made = to_onnx(model, table)
    assert "ONNX: R2 is 1.00000 for 80 predictions" in capsys.readouterr().out
    numbers = np.column_stack(
        [
            np.arange(80) % 3,
            X[:, 0],
            X[:, 2] <= 0,
            table["b"],
            np.where(X[:, 3] < -2, np.nan, Y <= 0),
            np.zeros(80),
        ]
    )
    answers = run(made, numbers)["predictions"][:, 0]
    assert_allclose(answers, model.predict(table), atol=1e-5)
    # What is no number of a category is missing, as are numbers that fit had all of.
    table.loc[:19, "color"] = table.loc[20:39, "sex"] = None
    table.loc[40:59, "room"], table.loc[60:, "a"] = None, np.nan
    numbers[60:, 1] = np.nan
    for odd in (np.nan, -1.0, 3.0, 1e30):
        numbers[:20, 0] = numbers[20:40, 2] = numbers[40:60, 4] = odd
        answers = run(made, numbers)["predictions"][:, 0]
        assert_allclose(answers, model.predict(table), atol=1e-5)


@pytest.mark.parametrize("opset", [13, 21, 25])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_agreement_is_printed(capsys, name, opset):
    model, y = CLASSIFIERS[name]
    model.set_params(n_bits=4, **QUICK).fit(X, y)
    to_onnx(model, X, opset=opset)
    n = y.size
    assert (
        capsys.readouterr().out
        == f"ONNX: 100.00% of {n} labels are those of the estimator\n"
    )
    to_onnx(model, opset=opset)
    assert capsys.readouterr().out == ""


def test_columns_far_from_zero(capsys):
    # Seconds since 1970, of which single precision knows every 128th.
    far = X + np.array([1.7e9, 0.0, 0.0, 0.0])
    model = BLMRegressor((5,), **QUICK).fit(far, Y)
    cure = "subtract a number near its mean, before fit and on the device"
    with pytest.warns(
        UserWarning, match=f"'x0', which lies far from zero: {cure}, or pa"
    ):
        made = to_onnx(model)
    with pytest.warns(
        UserWarning, match=r"which is low: float32 has steps of 1\.3e\+02 st"
    ):
        to_onnx(model, far)
    found, wanted = run(made, far)["predictions"][:, 0], model.predict(far)
    r2 = 1.0 - np.mean((found - wanted) ** 2) / wanted.var()
    assert r2 < 0.9
    assert float(capsys.readouterr().out.split()[3]) == pytest.approx(r2, abs=1e-3)


def test_rows_that_the_model_cannot_predict():
    model = BLMRegressor((5,), **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features"):
        to_onnx(model, X[:, :3])
    with pytest.raises(ValueError, match="contains infinity"):
        to_onnx(model, np.full((2, 4), np.inf))


def test_classes_beyond_signed_integers():
    classes = np.array([1, 2**63 + 5], dtype=np.uint64)
    model = BLMClassifier((5,), **QUICK).fit(X, classes[(Y > 0).astype(int)])
    assert_array_equal(run(to_onnx(model, X), X)["label"], model.predict(X))


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
    # What it has learned does not matter.
    model = BLMClassifier((20,), n_bits=4, tol=0.1, n_iter_no_change=1, random_state=0)
    model.fit(X[:200], y[:200])
    small, large = to_onnx(model), to_onnx(model, quantized=False)
    assert_array_equal(run(small, X)["label"], model.predict(X))
    assert len(small.SerializeToString()) < 0.45 * len(large.SerializeToString())


def test_models_that_are_not_written():
    with pytest.raises(TypeError, match=r"or MOHNClassifier, got .* fitted step"):
        to_onnx(LinearRegression())
    model = BLMRegressor((2,), max_flips=10, random_state=0).fit(X, Y)
    for opset in (12, 26, 21.0, None):
        with pytest.raises(ValueError, match="opset must be from 13 to 25"):
            to_onnx(model, opset=opset)
