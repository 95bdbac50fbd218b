"""Columns of types that no estimator reads: all are named at once, with the cures."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skmohn import (
    BLMClassifier,
    BLMRegressor,
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetRegressor,
    EnergyNetTransformer,
    MOHNClassifier,
    MOHNDensity,
    MOHNFeatureSelector,
    MOHNRegressor,
    MOHNTransformer,
)
from skmohn._core._unreadable import refuse_unreadable
from skmohn.optimize import BlackBoxOptimizer

N = 12
MODELS = [
    MOHNRegressor(),
    MOHNClassifier(),
    MOHNDensity(),
    MOHNTransformer(),
    BLMRegressor(),
    BLMClassifier(),
    EnergyNetTransformer(),
    EnergyNetImputer(),
    EnergyNetOutlierDetector(),
    EnergyNetClassifier(),
    EnergyNetRegressor(),
    MOHNFeatureSelector(Ridge()),
]
PERIODS = pd.period_range("2020-01", periods=N, freq="M")
INTERVALS = pd.interval_range(0, N)
DAYS = [dt.date(2020, 1, k + 1) for k in range(N)]
# Values of a column, how one is shown, and the cure.
KINDS = {
    "period": (PERIODS, "Period('2020-", "to_timestamp"),
    "interval": (INTERVALS, "Interval(", "interval.mid"),
    "lists": ([[1, 2]] * N, "holds [1, 2]", "pandas.DataFrame"),
    "arrays": ([np.arange(2)] * N, "holds array(", "pandas.DataFrame"),
    "tuples": ([(1,)] * N, "holds (1,)", "pandas.DataFrame"),
    "sets": ([{1}] * N, "holds {1}", "pandas.DataFrame"),
    "dicts": ([{"k": 1}] * N, "holds {'k': 1}", "json_normalize"),
    "bytes": ([b"1", b"x"] * (N // 2), "holds b'x'", "decode"),
    "complex": (np.arange(N) + 1j, "1j", "numpy.real"),
    "clock": ([dt.time(8)] * N, "datetime.time(8, 0)", "pandas.to_timedelta"),
    "mixed days": ([*DAYS[1:], 3.0], "datetime.date(", "pandas.to_datetime"),
    "mixed waits": ([3.0, *[pd.Timedelta(1, "s")] * (N - 1)], "Timedelta(", "_timedel"),
    "objects": ([object()] * N, "<object object", "leave"),
}


def numbers():
    return pd.DataFrame({"a": np.arange(N) % 5, "b": np.arange(N) % 2})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_all_bad_columns_are_named_with_their_cures(model):
    X = numbers().assign(when=PERIODS, span=INTERVALS, pair=[[1, 2]] * N, other=PERIODS)
    with pytest.raises(TypeError) as caught:
        clone(model).fit(X, np.arange(N) % 2)
    message = str(caught.value)
    for name in ("when", "span", "pair", "other"):
        assert f"column {name} holds" in message
    assert "converts column when, column other to times" in message
    assert "converts column span to numbers" in message
    assert "column a " not in message


@pytest.mark.parametrize("kind", KINDS)
def test_each_type_is_shown_with_its_cure(kind):
    values, shown, cure = KINDS[kind]
    X = numbers().assign(bad=pd.Series(values))
    with pytest.raises(TypeError, match="column bad holds") as caught:
        refuse_unreadable(X)
    assert shown in str(caught.value)
    assert cure in str(caught.value)


@pytest.mark.parametrize("kind", ["list", "struct", "binary", "time"])
def test_types_of_arrow_and_polars(kind):
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    values = {"list": [1], "struct": {"k": 1}, "binary": b"x", "time": dt.time(8)}[kind]
    bad = pa.array([values] * N)
    with pytest.raises(TypeError, match="column bad holds"):
        refuse_unreadable(numbers().assign(bad=pd.arrays.ArrowExtensionArray(bad)))
    with pytest.raises(TypeError, match="column bad holds"):
        refuse_unreadable(pl.DataFrame({"a": range(N), "bad": [values] * N}))


def test_arrays_of_objects_and_of_bytes_are_named_by_index():
    with pytest.raises(TypeError, match=r"column 1 holds \{'k': 1\}"):
        refuse_unreadable(np.array([[1, {"k": 1}], [2, {}]], dtype=object))
    with pytest.raises(TypeError, match="column 0 holds b'x'"):
        refuse_unreadable(np.array([[b"x", b"1"], [b"2", b"1"]]))


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5, None] * 4,
        [True, np.nan, pd.NA] * 4,
        ["1", "x", 2] * 4,
        [b"1", b"2"] * 6,
        DAYS,
        [pd.Timedelta(1, "s"), pd.NaT] * 6,
        # pandas 2.2 makes floats of what has no other type.
        pd.Series([10**400, 1] * 6, dtype=object),
        pd.array([1, None] * 6, dtype="Int64"),
    ],
    ids=[
        "numbers",
        "truth values",
        "text and a number",
        "bytes",
        "days",
        "spans",
        "huge integers",
        "nullable integers",
    ],
)
def test_what_is_read_or_refused_elsewhere_is_left(values):
    refuse_unreadable(numbers().assign(fine=pd.Series(values)))


def test_categories_may_be_of_any_type():
    X = numbers().assign(span=pd.cut(np.arange(N), 3).as_unordered())
    y = X["span"].cat.codes.to_numpy(float)
    model = MOHNRegressor("gp", random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 0.1


def test_a_fitted_model_stays_as_it_was():
    model = MOHNRegressor("full", max_order=1).fit(numbers(), np.arange(N))
    before = model.predict(numbers())
    with pytest.raises(TypeError, match="column when"):
        model.predict(numbers().rename(columns={"b": "when"}).assign(when=PERIODS))
    with pytest.raises(TypeError, match="column when"):
        model.fit(numbers().assign(when=PERIODS), np.arange(N))
    assert_array_equal(model.predict(numbers()), before)


def test_a_selector_reads_times_and_names_text():
    X = numbers().assign(day=pd.to_datetime(DAYS))
    selector = MOHNFeatureSelector(Ridge(), n_features_to_select=1, random_state=0)
    selector.fit(X, np.arange(N))
    assert selector.get_feature_names_out().tolist() == ["day"]
    with pytest.raises(ValueError, match="column day holds text, 'Monday'"):
        selector.fit(X.assign(day="Monday"), np.arange(N))


def test_a_selector_names_bad_targets_before_its_fits():
    selector = MOHNFeatureSelector(Ridge(), n_features_to_select=1, random_state=0)
    with pytest.raises(ValueError, match="in y: classifiers take text"):
        selector.fit(numbers(), ["red", "blue"] * (N // 2))
    with pytest.raises(ValueError, match=r"y has datetime64.* targets must be numbers"):
        selector.fit(numbers(), pd.Series(pd.to_datetime(DAYS)))
    with pytest.raises(ValueError, match="NaN in column 'a'"):
        selector.fit(numbers().replace({"a": {1: np.nan}}), np.arange(N))
    with pytest.raises(ValueError, match="several columns named 'a'"):
        selector.fit(numbers().set_axis(["a", "a"], axis=1), np.arange(N))


@pytest.mark.parametrize("as_table", [False, True])
def test_a_space_names_all_variables_that_cannot_be_hashed(as_table):
    space = {"a": [0, 1], "b": [[1], [2]], "c": [{}, {1}]}
    with pytest.raises(TypeError, match=r"'b', 'c' that cannot be hashed.*tuples"):
        BlackBoxOptimizer(pd.DataFrame(space) if as_table else space)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.to_records(index=False), "a structured array with the fields 'a'"),
        (lambda X: X.astype(pd.SparseDtype(float)), r"pass X\.sparse\.to_dense\(\)"),
    ],
)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_tables_of_other_kinds_are_refused_with_the_cure(model, change, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(change(numbers()), np.arange(N) % 2)


@pytest.mark.parametrize(
    "model",
    [MOHNClassifier(), MOHNTransformer(), BLMClassifier(), EnergyNetClassifier()],
    ids=lambda model: type(model).__name__,
)
def test_labels_that_are_no_classes_are_refused_with_the_cure(model):
    days = [dt.date(2020, 1, 1 + i % 2) for i in range(N)]
    steps = np.arange(N) % 2
    for kind in (bool, int, float):
        cure = rf"labels of {kind.__name__}, .* pass y.astype\({kind.__name__}\)"
        with pytest.raises(ValueError, match=cure):
            clone(model).fit(numbers(), steps.astype(kind).astype(object))
    for labels, message in (
        ([Decimal(i % 2) for i in range(N)], r"labels of Decimal, such as .* pass \["),
        (
            days,
            r"labels of date, such as datetime.date\(2020, 1, 1\), but classes must",
        ),
        ([(1, 2), (3,)] * (N // 2), "y has values with several parts, such as tuples"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(numbers(), labels)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("columns", [["a", "flag"], ["a", "flag", "word", "day"]])
def test_na_of_pandas_among_objects_is_missing(columns):
    days = pd.date_range("2020-01-01", periods=N)
    values = {
        "flag": [float(i % 2) for i in range(N)],
        "word": ["xy"[i % 2] for i in range(N)],
        "day": list(days),
    }
    X, y = numbers()[["a"]], np.arange(N)
    for name in columns[1:]:
        X[name] = pd.Series([pd.NA, *values[name][1:]], dtype=object)
    known = X.copy()
    known.isetitem(1, X["flag"].astype("Float64").to_numpy(float, na_value=np.nan))
    if "day" in known:
        known["day"] = pd.to_datetime(known["day"])
    before = X.copy()
    options = {"handle_unknown": "missing", "random_state": 0}
    model = MOHNRegressor("gp", **options).fit(X, y)
    expected = MOHNRegressor("gp", **options).fit(known, y).predict(known)
    assert_array_equal(model.predict(X), expected)
    pd.testing.assert_frame_equal(X, before)
    filled = EnergyNetImputer(
        EnergyNetTransformer(None, [2], n_final_epochs=1, random_state=0)
    ).fit_transform(X)
    assert not pd.isna(filled).any()
    network = BLMRegressor(
        (2,), max_flips=500, random_state=0, handle_unknown="missing"
    )
    expected = network.fit(known, y).predict(known)
    assert_array_equal(network.fit(X, y).predict(X), expected)


def test_na_of_pandas_in_an_array_of_objects_is_missing():
    X = np.column_stack([np.arange(N), np.arange(N) % 2]).astype(object)
    known = X.astype(float)
    X[0, 1], known[0, 1] = pd.NA, np.nan
    model = MOHNRegressor("gp").fit(X, np.arange(N))
    assert_array_equal(
        model.predict(X), MOHNRegressor("gp").fit(known, np.arange(N)).predict(known)
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("X", "words"),
    [
        ("table.csv", "X is 'table.csv', not a table: .*pandas.read_csv"),
        (Path("a.csv"), r"X is .*Path\('a.csv'\), not a table: .*pandas.read_csv"),
        (b"1,2", "X is b'1,2', not a table"),
        (MOHNDensity(), r"X is MOHNDensity\(\), not a table"),
        (None, "X is None, not a table"),
        ([{"a": 1.0}] * N, r"list of dicts, not a table: pass pandas.DataFrame\(X\)"),
        ([[1.0, 2.0]] * (N - 1) + [[1.0]], "X has rows of different lengths: pass"),
        (pd.Series(np.arange(N)), "2-dimensional container but got .*Series"),
    ],
    ids=["text", "path", "bytes", "model", "None", "dicts", "ragged", "series"],
)
def test_what_is_no_table_is_refused_with_the_cure(model, X, words):
    with pytest.raises(ValueError, match=words):
        clone(model).fit(X, np.arange(N) % 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["times", "decimals"])
def test_missing_values_of_all_types_are_read(kind):
    columns = {
        "times": pd.Series(pd.to_datetime(DAYS)).mask(np.arange(N) == 3),
        "decimals": [Decimal("NaN"), *map(Decimal, range(1, N))],
    }
    X, y = numbers().assign(late=columns[kind]), np.arange(N)
    for model in (MOHNRegressor("gp"), BLMRegressor((2,), max_flips=500)):
        assert np.isfinite(model.fit(X, y).predict(X)).all()
