"""MOHN models in onnxruntime and in sympy: the predictions of the estimator."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from support import random_terms

from skmohn import GPOptions, MOHNClassifier, MOHNGLMRegressor, MOHNRegressor
from skmohn.integrations import to_onnx, to_sympy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NAMES = ["a b", "lambda", "n\n", "c'", "count"]


def make_table(seed, with_missing=True):
    """Bits, texts, numbers and categories by hostile names."""
    rng, origin = np.random.default_rng(seed), 1e9 if with_missing else 10.0
    columns = [
        rng.integers(0, 2, 80).astype(float),
        rng.choice(["x'", "ä"], 80).astype(object),
        origin + rng.normal(size=80),
        rng.choice(["r", "g", "b"], 80).astype(object),
        rng.integers(3, 9, 80).astype(float),
    ]
    for column in columns[: 5 * with_missing]:
        column[rng.random(80) < 0.1] = np.nan
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True))), rng.normal(size=80)


def fit_regressor(seed, with_missing=True):
    """A model of random terms, for two targets where the seed is odd."""
    X, y = make_table(seed, with_missing)
    X = X.drop(columns="c'")
    if seed % 2:
        y = np.column_stack([y, X["count"].fillna(1.0) * y])
    terms = random_terms(np.random.default_rng(seed), 4, 6)
    model = MOHNRegressor("given", terms=terms, outliers="keep")
    return model.fit(X, y), X


def fit_classifier(seed, with_missing=True):
    """A model of two or three classes with categories."""
    X, y = make_table(seed, with_missing)
    classes = np.array(["no", "ä", "maybe"])[np.digitize(y, [0.0, 1.0][: 1 + seed % 2])]
    model = MOHNClassifier("full", 2, C=1.0)
    return model.fit(X, classes), X


def numbered(model, X):
    """Rows whose categories are numbers."""
    return model._categories.encode(X, list(X))


# --------------------------------------------------------------------------------- ONNX


def run_onnx(made, rows):
    """Outputs by name."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows}), strict=True))


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("seed", range(4))
def test_onnx_predicts_what_the_model_does(seed, opset):
    pytest.importorskip("onnx")
    model, X = fit_regressor(seed)
    found = run_onnx(to_onnx(model, opset=opset), numbered(model, X))
    wanted = model.predict(X).reshape(80, -1)
    assert found["predictions"].shape == wanted.shape
    assert_allclose(found["predictions"], wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_onnx_has_labels_and_probabilities(seed):
    pytest.importorskip("onnx")
    model, X = fit_classifier(seed)
    found = run_onnx(to_onnx(model), numbered(model, X))
    assert found["label"].tolist() == model.predict(X).tolist()
    assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-50, 1e50, 1e300])
def test_onnx_of_numbers_beyond_single_precision(scale):
    """Which onnxruntime takes for zero when it drops sums with zero."""
    pytest.importorskip("onnx")
    X = np.random.default_rng(0).normal(3.0, 1.0, (40, 2))
    y = 5.0 + X[:, 0] - X[:, 1] + X[:, 0] ** 2
    terms = [(0,), (1,), (0, 1)]
    for x_scale, y_scale in ((scale, 1.0), (1.0, scale)):
        model = MOHNRegressor("given", terms=terms).fit(x_scale * X, y_scale * y)
        found = run_onnx(to_onnx(model), x_scale * X)["predictions"][:, 0]
        assert_allclose(found / y_scale, model.predict(x_scale * X) / y_scale)


def test_onnx_of_labels_that_are_numbers():
    pytest.importorskip("onnx")
    X, y = make_table(0)
    for labels in (np.where(y > 0, 7, -3), y > 0, np.where(y > 0, 1.0, 2.0)):
        model = MOHNClassifier("given", terms=[(0,)], C=1.0).fit(X, labels)
        found = run_onnx(to_onnx(model), numbered(model, X))["label"]
        assert found.dtype == labels.dtype
        assert found.tolist() == model.predict(X).tolist()


def test_onnx_of_a_constant_has_a_row_for_each():
    pytest.importorskip("onnx")
    model = MOHNRegressor("given", terms=[]).fit([[0.0], [1.0]], [1.0, 2.0])
    found = run_onnx(to_onnx(model), np.array([[0.0], [np.nan], [1.0]]))
    assert found["predictions"].tolist() == [[1.5]] * 3


def test_onnx_of_a_transformed_target_is_that_of_the_formula(capsys):
    pytest.importorskip("onnx")
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (200, 4)).astype(float)
    y = np.exp(X @ [1.0, -1.0, 0.5, 0.0] + 0.2 * rng.normal(size=200))
    for transform in ("log", "yeo-johnson"):
        options = GPOptions(target_transform=transform)
        model = MOHNRegressor("gp", gp_options=options, outliers="keep").fit(X, y)
        found = run_onnx(to_onnx(model, X), X)["predictions"][:, 0]
        assert "ONNX: R2 is 0.99" in capsys.readouterr().out
        assert np.corrcoef(found, model.predict(X))[0, 1] > 0.995
    with pytest.raises(ValueError, match="pass X"):
        to_onnx(model)


# -------------------------------------------------------------------------------- sympy


def run_sympy(expression, X):
    """Values of an expression for rows without missing values."""
    sympy = pytest.importorskip("sympy")
    symbols = [sympy.Symbol(name) for name in NAMES if name in X]
    compute = sympy.lambdify(symbols, expression, "numpy")
    with np.errstate(all="ignore"):
        return compute(*(X[str(symbol)].to_numpy() for symbol in symbols))


# One target and several.
@pytest.mark.slow_cases("[23]")
@pytest.mark.parametrize("seed", range(4))
def test_sympy_predicts_what_the_model_does(seed):
    pytest.importorskip("sympy")
    model, X = fit_regressor(seed, with_missing=False)
    found = to_sympy(model)
    assert isinstance(found, list) == (seed % 2 == 1)
    rows = pd.DataFrame(numbered(model, X), columns=list(X))
    wanted = model.predict(X).reshape(80, -1)
    for k, expression in enumerate(found if seed % 2 else [found]):
        assert_allclose(run_sympy(expression, rows), wanted[:, k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_sympy_has_the_probability_of_each_class(seed):
    pytest.importorskip("sympy")
    model, X = fit_classifier(seed, with_missing=False)
    rows = pd.DataFrame(numbered(model, X), columns=list(X))
    found = [run_sympy(expression, rows) for expression in to_sympy(model)]
    assert_allclose(np.transpose(found), model.predict_proba(X), atol=1e-12)


def test_sympy_of_columns_far_from_zero():
    """Constants of log-odds of pressures, in Pa, are beyond the exponents of floats."""
    pytest.importorskip("sympy")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a b": 101_325.0 + 300.0 * rng.normal(size=300)})
    y = X["a b"] > 101_325.0 + 100.0 * rng.normal(size=300)
    model = MOHNClassifier("given", terms=[(0,)], C=1.0).fit(X, y)
    found = [run_sympy(expression, X) for expression in to_sympy(model)]
    assert_allclose(np.transpose(found), model.predict_proba(X), atol=1e-9)


def test_sympy_has_symbols_by_the_names_of_columns():
    sympy = pytest.importorskip("sympy")
    model = MOHNRegressor.from_terms(
        [(0,), (0, 1)], [2.0, -0.5], feature_names=["fast", "hot"]
    )
    fast, hot = sympy.symbols("fast hot")
    assert sympy.expand(to_sympy(model) - (2.0 * fast - 0.5 * fast * hot)) == 0
    assert float(sympy.diff(to_sympy(model), hot).subs("fast", 3)) == -1.5


def test_sympy_of_a_column_by_the_name_of_a_function_is_renamed():
    """Even with dummify=True, lambdify calls the symbol instead of numpy's select."""
    sympy = pytest.importorskip("sympy")
    X = pd.DataFrame({"select": list("uvuv") * 10, "x": np.arange(40.0)})
    model = MOHNRegressor("given", terms=[(0,), (0, 1)]).fit(X, X["x"] % 7.0)
    expression = to_sympy(model).subs("select", "other")
    compute = sympy.lambdify(sympy.symbols("other x"), expression)
    assert_allclose(compute(*numbered(model, X).T), model.predict(X))


def test_sympy_bounds_what_has_many_categories():
    """A condition on a sum of cases would be one for each of their combinations."""
    pytest.importorskip("sympy")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.arange(80) % 4, "g": np.arange(80) % 10})
    names = frame.assign(g=[f"c{k:02d}" for k in frame["g"]])
    y = frame["x"] + 3.0 * np.sin(frame["g"]) + 0.1 * rng.normal(size=80)
    model = MOHNRegressor(random_state=0).fit(names, y)
    expression = to_sympy(model, names)
    assert len(str(expression)) < 2000
    found = [float(expression.subs(row)) for row in frame.to_dict("records")]
    assert np.corrcoef(found, model.predict(names))[0, 1] > 0.995
    assert np.ptp(found) <= np.ptp(y)


@pytest.mark.parametrize("transform", ["log", "yeo-johnson"])
def test_sympy_of_a_constant_on_another_scale(transform):
    """Of the two pieces of the inverse, one is a power of a negative number."""
    pytest.importorskip("sympy")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.exp(2.0 * rng.normal(size=20))
    options = GPOptions(target_transform=transform)
    model = MOHNRegressor("gp", gp_options=options, random_state=0).fit(X, y)
    assert not model.terms_
    with pytest.warns(UserWarning, match="which is low"):
        value = float(to_sympy(model, X))
    assert y.min() < value < y.max()


def test_sympy_takes_models_of_this_kind():
    pytest.importorskip("sympy")
    for model in (MOHNGLMRegressor(), make_pipeline(MOHNRegressor())):
        with pytest.raises(TypeError, match=r"or MOHNClassifier, got .* fitted step"):
            to_sympy(model)
