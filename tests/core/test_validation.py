"""What is read of tables, weights and lists."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import is_regressor

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetRegressor,
    MOHNClassifier,
    MOHNRegressor,
)
from skmohn._core._validation import (
    as_counts,
    name_dtype,
    read_names,
    read_sets,
    read_vector,
    to_numpy,
    weight_unit,
)

BITS = np.array([[0, 1], [1, 0]])


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
def test_tables_of_one_dtype(dtype):
    X = BITS.astype(dtype)
    for table in (X, pd.DataFrame(X), pl.DataFrame(X), csr_array(X)):
        assert name_dtype(table) == dtype


@pytest.mark.parametrize("names", [["n", "time"], ["n", "flag", "time", "word"]])
def test_numbers_beside_times(names):
    rng = np.random.default_rng(0)
    columns = {
        "n": rng.integers(0, 5, 40),
        "flag": rng.random(40) < 0.5,
        "time": pd.date_range("2026-01-01", periods=40),
        "word": ["x", "y"] * 20,
    }
    columns = {name: columns[name] for name in names}
    y = 0.5 * columns["n"]
    tables = [frame(columns) for frame in (pd.DataFrame, pl.DataFrame)]
    models = [MOHNRegressor("gp").fit(X, y) for X in tables]
    assert [model._input_dtype for model in models] == ["float64", "float64"]
    found, expected = (m.predict(X) for m, X in zip(models, tables, strict=True))
    assert_array_equal(found, expected)


def test_tables_of_arrow_and_what_stands_in_front_of_tables():
    frame = pd.DataFrame({"a": [0.5, 1.0], "word": ["x", "y"]})
    arrow = pa.Table.from_pandas(frame)
    narwhals = pytest.importorskip("narwhals")
    front = narwhals.from_native(arrow)
    for table in (arrow, front, arrow.to_batches()[0]):
        pd.testing.assert_frame_equal(to_numpy(table), frame)
    polars = pl.DataFrame(frame)
    assert to_numpy(narwhals.from_native(polars)) is polars
    series = narwhals.from_native(frame, eager_only=True)["a"]
    assert_array_equal(np.asarray(to_numpy(series)), [0.5, 1.0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("change", [pd.DataFrame, pa.Table.from_pandas])
def test_estimators_read_tables_of_arrow(change):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.integers(0, 2, 40)})
    y = frame["a"] * frame["b"]
    frame["word"] = np.where(y > 0, "up", "down")
    expected = MOHNRegressor("gp").fit(frame, y).predict(frame)
    model = MOHNRegressor("gp").fit(change(frame), y)
    assert model.feature_names_in_.tolist() == ["a", "b", "word"]
    assert_array_equal(model.predict(change(frame)), expected)
    network = BLMRegressor((2,), max_flips=500, random_state=0)
    expected = network.fit(frame, y).predict(frame)
    assert_array_equal(network.fit(change(frame), y).predict(change(frame)), expected)


ESTIMATORS = [
    MOHNRegressor("pursuit"),
    MOHNRegressor("gp"),
    MOHNClassifier("gp"),
    BLMRegressor(),
    BLMClassifier(),
    EnergyNetRegressor(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("unknown", [None, pd.NA, float("nan")])
def test_unknown_targets_among_objects_are_counted(estimator, unknown):
    X, y = np.arange(12.0).reshape(6, 2), ["a", "b"] * 3
    if is_regressor(estimator):
        y = [0.0, 1.0] * 3
    y[3] = unknown
    for given in (y, np.array(y, dtype=object), pd.Series(y, dtype=object)):
        with pytest.raises(ValueError, match="Input y contains NaN in 1 of 6 rows"):
            estimator.fit(X, given)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_integers_that_are_no_floats(estimator):
    large = pd.Series([10**400, 1, 2, 3, 4, 5], dtype=object)
    X, y = pd.DataFrame({"a": range(6), "b": large}), [0, 1] * 3
    with pytest.raises(ValueError, match=r"beyond the largest float.* in column 'b'"):
        estimator.fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_data_frames_without_columns(estimator):
    with pytest.raises(ValueError, match="X has no columns: pass at least one"):
        estimator.fit(pd.DataFrame(index=range(6)), [0, 1] * 3)


def test_targets_that_are_no_floats():
    X = np.arange(12.0).reshape(6, 2)
    for estimator in filter(is_regressor, ESTIMATORS):
        with pytest.raises(ValueError, match=r"largest float.* in 1 of 6 rows"):
            estimator.fit(X, [10**400, 1, 2, 3, 4, 5])


class OnlyAnArray:
    """Converts to an array, and knows nothing else."""

    def __array__(self, dtype=None, copy=None):
        return BITS.astype(np.int16)


def test_whatever_converts_to_an_array():
    assert name_dtype(OnlyAnArray()) == "int16"


def test_lists():
    assert name_dtype(BITS.tolist()) == BITS.dtype.name
    assert name_dtype([[True, False]]) == "bool"


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [0, 1], "b": [True, False]}),
        pd.DataFrame({"a": [0, 1], "b": [0.5, 1.0]}),
        np.array([["1", "2"]], dtype=object),
    ],
    ids=["int and bool", "int and float", "object"],
)
def test_others_are_float64(table):
    assert name_dtype(table) == "float64"


# ------------------------------------------------------------------ weights of samples


def test_whole_weights_are_counts():
    weights = np.array([0.0, 1.0, 3.0])
    assert weight_unit(weights) == 1.0
    assert_array_equal(as_counts(weights), weights)
    assert_array_equal(as_counts(np.zeros(2)), np.zeros(2))


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-20, 1.0, 2.0**900, 2.0**1021])
def test_scale_of_other_weights_does_not_matter(scale):
    weights = np.array([0.0, 0.25, 0.5, 2.25])
    assert weight_unit(weights * scale) == scale
    assert_array_equal(as_counts(weights * scale), weights)


# ------------------------------------------------------------------------------- lists


@pytest.mark.parametrize(
    "values",
    [None, 2.0, "12", b"12", {}, {0: 1.0}, [[1.0]], [[1], [1, 2]], ["a"], [1j]],
)
def test_what_is_no_list_of_numbers_is_refused(values):
    with pytest.raises(ValueError, match="width must be a list of numbers, got"):
        read_vector(values, "width")


def test_lists_of_numbers():
    for values in (
        [1, 2.0],
        (True, np.float32(2)),
        np.array([1, 2]),
        pl.Series([1, 2]),
    ):
        assert_array_equal(read_vector(values, "width"), [1.0, 2.0])
    assert_array_equal(read_vector([], "width"), [])
    with pytest.raises(ValueError, match="width contains NaN"):
        read_vector([1.0, np.nan], "width")


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (None, "terms must be a list of sets"),
        ("ab", "terms must be a list of sets"),
        ([0, 0.5], r"terms has 0\.5"),
        ([(0, None)], "None is not a feature"),
        ([([1],)], r"\[1\] is not a feature"),
        ([True], "terms has True"),
        ([(0, True)], "True is not a feature"),
    ],
)
def test_what_is_no_list_of_sets_is_refused(sets, words):
    with pytest.raises((TypeError, ValueError), match=words):
        read_sets(sets, "terms")


def test_lists_of_sets():
    found = read_sets([0, "a", ("b", 1), [], np.array([1, 2])], "terms")
    assert found == [(0,), ("a",), ("b", 1), (), (1, 2)]


@pytest.mark.parametrize("names", [None, 3, "abc", [1], [None], {"a", "b"}])
def test_what_is_no_list_of_strings_is_refused(names):
    with pytest.raises((TypeError, ValueError), match="names"):
        read_names(names, "names")


def test_integers_that_no_float_can_be_are_refused():
    with pytest.raises(ValueError, match="y has an integer beyond the largest float"):
        read_vector([1, 10**400], "y")


@pytest.mark.parametrize("y", [{0: 1.0, 1: 2.0}, {1.0, 2.0}, iter([1.0, 2.0])])
@pytest.mark.parametrize(
    "model", [MOHNRegressor(), MOHNClassifier(), BLMRegressor(), EnergyNetRegressor()]
)
def test_targets_in_no_array_are_refused_by_their_type(model, y):
    with pytest.raises(
        TypeError, match=f"got a {type(y).__name__}, which is not an array"
    ):
        model.fit([[0.0], [1.0]], y)
