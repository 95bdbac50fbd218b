"""Times beside numbers, in tables of any library and in arrays of objects."""

import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from skmohn import BLMRegressor, EnergyNetRegressor, EnergyNetTransformer, MOHNRegressor
from skmohn._core import _text, _times, _unreadable
from skmohn._core._times import columns_of_times, from_seconds, seconds, time_kind
from skmohn.optimize import maximize

DAYS = np.datetime64("2024-01-01T06:00", "us") + np.arange(30) % 7 * np.timedelta64(
    1, "D"
)
FLAGS = np.arange(30) % 2.0
NUMBERS = np.column_stack([DAYS.astype("M8[s]").astype(float), FLAGS])
Y = NUMBERS[:, 0] / 86400 - 19_720 + FLAGS
TABLES = {
    "pandas": pd.DataFrame({"day": DAYS, "flag": FLAGS}),
    "polars": pl.DataFrame({"day": DAYS, "flag": FLAGS}),
    "objects": np.array(
        [[pd.Timestamp(d), f] for d, f in zip(DAYS, FLAGS, strict=True)]
    ),
}
# scikit-learn 1.9 is the first that reads them off polars 2.
POLARS_HAS_NAMES = hasattr(
    StandardScaler().fit(pl.DataFrame({"a": [1.0, 2.0]})), "feature_names_in_"
)
STACK = EnergyNetTransformer(None, 3, n_final_epochs=1, random_state=0)
MLP_OF_NUMBERS = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=50)
MODELS = [
    BLMRegressor((2,), n_bits=4, max_flips=50, random_state=0),
    STACK,
    EnergyNetRegressor(STACK, MLP_OF_NUMBERS, random_state=0),
    MOHNRegressor("full", max_order=1),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_times_beside_numbers_are_seconds(model, kind):
    expected = clone(model).fit(NUMBERS, Y)
    table = TABLES[kind]
    model = clone(model).fit(table, Y)
    assert model.n_features_in_ == 2
    named = {"pandas", "polars"} if POLARS_HAS_NAMES else {"pandas"}
    assert hasattr(model, "feature_names_in_") == (kind in named)
    use = "predict" if hasattr(model, "predict") else "transform"
    found = getattr(model, use)(table)
    assert_allclose(found, getattr(expected, use)(NUMBERS), rtol=1e-9)
    assert_allclose(getattr(model, use)(table[:4]), found[:4], rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([pd.Timestamp("1970-01-02"), None, pd.NaT], [86400, np.nan, np.nan]),
        ([pd.Timestamp("1970-01-01T09:00", tz="Asia/Tokyo")], [0]),
        ([datetime.date(1970, 1, 3)], [172_800]),
        ([datetime.timedelta(seconds=1.5), pd.Timedelta("1s")], [1.5, 1]),
        ([np.datetime64("1970-01-01T00:01"), np.datetime64("NaT", "m")], [60, np.nan]),
        ([np.timedelta64(2, "m"), np.nan], [120, np.nan]),
    ],
)
def test_seconds_of_objects(values, expected):
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    assert columns_of_times(column) == [0]
    assert_array_equal(seconds(column, 0), expected)


@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
@pytest.mark.parametrize("first", [0.0, 86400.0 * 19_000, -86400.0 * 40_000])
def test_times_of_seconds(kind, first):
    ticks = np.array([0, 1, 86_400_000_000, 12_345_678], dtype=f"{kind}[us]")
    ticks = ticks + np.timedelta64(int(first), "s")
    column = np.append(ticks, np.array("NaT", ticks.dtype)).astype(object)[:, None]
    numbers = seconds(column, 0)
    assert time_kind(column, 0) == time_kind(pd.DataFrame(column), 0) == kind
    found = from_seconds(numbers, kind)
    assert_array_equal(found[:4], ticks)
    assert np.isnat(found[4])
    assert_array_equal(seconds(found[:, None], 0), numbers)
    # The last number before a time is no later than it.
    assert np.all(from_seconds(np.nextafter(numbers[:4], -np.inf), kind) < ticks)
    for table in (pd.DataFrame({"t": ticks}), pl.DataFrame({"t": ticks[:3]})):
        assert time_kind(table, 0) == kind


@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
@pytest.mark.parametrize("year", [-200, 0, 54, 200])
def test_a_time_is_one_number_in_any_unit_and_type(kind, year):
    whole = np.random.default_rng(0).integers(86_400 * 365, size=500)
    parts = np.random.default_rng(1).integers(1_000_000, size=500)
    seconds_of_year = year * 31_556_952 + whole
    ticks = seconds_of_year * 1_000_000 + parts
    times = ticks.astype(f"{kind}[us]")
    numbers = seconds(times[:, None], 0)
    # Fractions are exact.
    for tick, number in zip(ticks.tolist(), numbers.tolist(), strict=True):
        exact = Fraction(tick, 1_000_000)
        assert abs(Fraction(number) - exact) <= Fraction(np.spacing(abs(number)))
    fine = times.astype(f"{kind}[ns]")
    objects = [times.astype(object), np.array([*fine], object)]
    to_pandas = pd.to_datetime if kind == "datetime64" else pd.to_timedelta
    objects.append(np.array([*to_pandas(fine)], object))
    for column in (fine, *objects):
        assert_array_equal(seconds(column[:, None], 0), numbers)
    if kind == "datetime64":
        zoned = pd.DataFrame({"t": pd.DatetimeIndex(fine).tz_localize("UTC")})
        assert_array_equal(seconds(zoned, 0), numbers)
    assert_array_equal(from_seconds(numbers, kind), times)


def test_nanoseconds_are_read_from_columns_and_objects():
    times = np.array([12_345_678_901, 86_400_000_000_001], "M8[ns]")
    zoned = pd.DataFrame(
        {"t": pd.DatetimeIndex(times, tz="UTC").tz_convert("Asia/Tokyo")}
    )
    assert_array_equal(seconds(zoned, 0), seconds(times[:, None], 0))
    assert_array_equal(seconds(zoned, 0), [12.345678901, 86400.000000001])
    earliest = np.array([[pd.Timestamp.min]])
    assert_array_equal(seconds(earliest, 0), [-9223372036.854775807])


@pytest.mark.parametrize("values", [[1, 2], [None, None], [pd.Timestamp(0), 1], ["a"]])
def test_other_objects_are_no_times(values):
    assert columns_of_times(np.array(values, dtype=object)[:, None]) == []


# --------------------------------------------------------------------------- time zones

BERLIN = pd.DatetimeIndex(DAYS).tz_localize("Europe/Berlin")
TOKYO = BERLIN.tz_convert("Asia/Tokyo")


def in_table(times, kind):
    """Times beside flags, in a table of some library."""
    frame = pd.DataFrame({"day": times, "flag": FLAGS})
    if kind == "pandas":
        return frame
    if kind == "polars":
        return pl.from_pandas(frame)
    if kind == "arrow":
        return frame.convert_dtypes(dtype_backend="pyarrow")
    values = np.empty((30, 2), dtype=object)
    values[:, 0], values[:, 1] = frame["day"].tolist(), FLAGS
    return values


def use(model, table):
    """What a model makes of a table."""
    return (model.predict if hasattr(model, "predict") else model.transform)(table)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "objects"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_times_with_a_zone_are_not_those_without(model, kind):
    aware, naive = (in_table(t, kind) for t in (BERLIN, BERLIN.tz_localize(None)))
    model = clone(model).fit(aware, Y)
    expected = use(model, aware)
    with pytest.raises(
        ValueError, match=r"has times without a zone, but had times in z"
    ):
        use(model, naive)
    # The same points in time, by the clocks of another zone.
    assert_array_equal(use(model, in_table(TOKYO, kind)), expected)
    model.fit(naive, Y)
    with pytest.raises(
        ValueError, match=r"has times in zone Europe/Berlin, but had ti"
    ):
        use(model, aware)
    model.fit(NUMBERS, Y)
    assert not model._time_zones


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "objects"])
def test_times_are_no_durations(kind):
    durations = pd.Series(DAYS - DAYS[0])
    model = MOHNRegressor("full", max_order=1).fit(in_table(durations, kind), Y)
    with pytest.raises(ValueError, match="without a zone, but had durations in fit"):
        model.predict(in_table(DAYS, kind))


HOURS = pd.Series((DAYS - DAYS[0]) / np.timedelta64(1, "h"))
COLUMNS = {"times": DAYS, "durations": pd.Series(DAYS - DAYS[0]), "numbers": HOURS}
CURES = {
    ("times", "numbers"): "subtracting a fixed time",
    ("durations", "numbers"): "dt.total_seconds$",
    ("numbers", "times"): "pandas.to_datetime",
    ("numbers", "durations"): "pandas.to_timedelta",
    ("times", "durations"): "subtracting a fixed time",
    ("durations", "times"): "adding a fixed time",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "objects"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_times_are_no_numbers(model, kind):
    """Numbers would be seconds since 1970, whatever their unit."""
    tables = {name: in_table(column, kind) for name, column in COLUMNS.items()}
    for there, table in tables.items():
        model = clone(model).fit(table, Y)
        use(model, table)
        for here in tables.keys() - {there}:
            words = f"has {here}.*, but had {there}.* in fit: .*{CURES[here, there]}"
            with pytest.raises(ValueError, match=words):
                use(model, tables[here])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_columns_without_known_times():
    frame = in_table(DAYS, "pandas")
    model = MOHNRegressor("full", max_order=1).fit(frame, Y)
    expected = model.predict(frame.assign(day=pd.NaT))
    for unknown in (np.nan, None):
        assert_array_equal(model.predict(frame.assign(day=unknown)), expected)
    for table in (NUMBERS.tolist(), csr_array(NUMBERS)):
        with pytest.raises(ValueError, match="column 0 has numbers, but had times"):
            model.predict(table)
    for table, words in (
        (frame[["flag", "day"]], "Feature names must be in the same order"),
        (frame[["flag"]], "Feature names seen at fit time, yet now missing"),
        (NUMBERS[0], "Expected 2D array, got 1D array"),
        ([[1.0, 2.0], [3.0]], "rows of different lengths"),
    ):
        with pytest.raises(ValueError, match=words):
            model.predict(table)


def test_zones_where_some_times_are_unknown():
    frame = in_table(BERLIN, "pandas")
    model = MOHNRegressor("full", max_order=1).fit(frame, Y)
    unknown = frame.assign(day=pd.to_datetime([None] * 30))
    assert len(set(model.predict(unknown))) == 2
    mixed = in_table(BERLIN, "objects")
    mixed[3, 0] = datetime.datetime(2024, 1, 1)
    with pytest.raises(ValueError, match="some times of column 0 have a time zone and"):
        model.fit(mixed, Y)
    mixed[3, 0], numbers = None, NUMBERS.copy()
    numbers[3, 0] = np.nan
    expected = clone(model).fit(numbers, Y).predict(numbers)
    assert_allclose(model.fit(mixed, Y).predict(mixed), expected, rtol=1e-9)
    naive = in_table(BERLIN.tz_localize(None), "pandas")
    with pytest.raises(ValueError, match="column 'day' has times without a zone"):
        model.fit(frame, Y, X_val=naive, y_val=Y)


def test_categories_beside_times_with_a_zone():
    frame = in_table(BERLIN, "pandas").assign(letter=list("abc") * 10)
    model = MOHNRegressor("gp").fit(frame, Y)
    naive = frame.assign(day=frame["day"].dt.tz_localize(None))
    for method in (model.predict, model.predict_quantiles, model.sample_y):
        with pytest.raises(ValueError, match="column 'day' has times without a zone"):
            method(naive)
    with pytest.raises(ValueError, match="has times without a zone"):
        model.explain(naive[:1])
    several = MOHNRegressor("gp").fit(frame, np.column_stack([Y, -Y]))
    with pytest.raises(ValueError, match="has times without a zone"):
        several.predict(naive)


def test_the_best_time_has_the_zone_of_the_table():
    frame = in_table(BERLIN, "pandas")
    model = MOHNRegressor("full", max_order=1).fit(frame, Y)
    best = maximize(model, fixed={}).x[0]
    assert best == BERLIN.max()
    assert best.utcoffset() == datetime.timedelta(hours=1)
    first = maximize(model, fixed={"day": TOKYO.min()}).x[0]
    assert first == BERLIN.min()
    with pytest.raises(
        ValueError, match=r"'day' .* from 2024-01-01 06:00:00\+01:00 to"
    ):
        maximize(model, fixed={"day": DAYS.min()})


def test_columns_of_numbers_need_no_look(monkeypatch):
    """Their types are read once: of a frame's row this took longer than the rest."""
    table = pd.DataFrame({"a": NUMBERS[:, 0], "b": FLAGS == 1.0, "c": np.arange(30)})
    model = MOHNRegressor("pursuit").fit(table, Y)
    expected = model.predict(table)
    for module in (_text, _times, _unreadable):
        monkeypatch.delattr(module, "column_types")
    assert_array_equal(model.predict(table), expected)
    with pytest.raises(NameError):
        model.predict(table.astype(object))
