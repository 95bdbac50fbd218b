"""Columns of dates, times and durations as numbers of seconds."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from skmohn._core._bad_values import (
    mark_unknown,
    mark_unknown_cells,
    name_bad_values,
    parse_text_targets,
    refuse_odd_tables,
)
from skmohn._core._meanings import TIMES, is_unknown
from skmohn._core._names import validate_data
from skmohn._core._sklearn import safe_indexing
from skmohn._core._tables import warn_of_column_markers, warn_of_target_markers
from skmohn._core._types import (
    TableLike,
    TableReader,
    check_array,
    check_X_y,
)
from skmohn._core._validation import to_numpy

# Of pandas, polars and arrow, in lower case.
_TIME_TYPES = ("date", "timestamp", "timedelta", "duration")
# What messages call times without a zone, durations, and what is neither.
_NAIVE, _DURATIONS, _NUMBERS = "times without a zone", "durations", "numbers"
# Integers up to it are floats.
_EXACT: Final = 2.0**53


def column_types(X: TableLike) -> list[str]:
    """Name of the type of each column, in lower case; none where there are none."""
    # A Series has one for all its values.
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return [str(dtype).lower() for dtype in X.dtypes]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        name = {"U": "str", "O": "object"}.get(X.dtype.kind, X.dtype.name)
        return [name] * X.shape[1]
    return []


def holds_numbers(X: TableLike) -> bool:
    """Whether a table is of numbers by its types, so that its columns need no look."""
    if hasattr(X, "isetitem"):  # a data frame of pandas
        return all(isinstance(t, np.dtype) and t.kind in "biuf" for t in X.dtypes)
    return isinstance(X, np.ndarray) and X.dtype.kind in "biufc"


def columns_of_times(X: TableLike) -> list[int]:
    """Columns of dates, times and durations."""
    if holds_numbers(X):
        return []
    return [
        j
        for j, name in enumerate(column_types(X))
        if name.startswith(_TIME_TYPES)
        or (name.startswith("object") and _holds_times(_objects(X, j)))
    ]


def seconds(X: TableLike, j: int) -> NDArray[np.float64]:
    """Seconds since 1970 of a column of times, or of durations; NaN where unknown."""
    values = np.asarray(safe_indexing(X, j, axis=1))
    if values.dtype.kind == "O":
        return np.array([second(value) for value in values])
    return _of_array(values)


def time_kind(X: TableLike, j: int) -> Literal["datetime64", "timedelta64"]:
    """Whether a column of times holds points in time or durations."""
    name = column_types(X)[j]
    is_duration = name.startswith(("timedelta", "duration"))
    if name.startswith("object"):
        known = next(value for value in _objects(X, j) if not is_unknown(value))
        is_duration = isinstance(known, timedelta | np.timedelta64)
    return "timedelta64" if is_duration else "datetime64"


def time_zones(X: TableLike, times: list[int]) -> dict[int, tzinfo | str | None]:
    """Time zones of columns of known times; None without, "durations" for these."""
    zones = {}
    for j in times:
        values = np.asarray(safe_indexing(X, j, axis=1))
        if all(is_unknown(value) for value in values):
            continue
        if time_kind(X, j) == "timedelta64":
            zones[j] = _DURATIONS
        elif column_types(X)[j].startswith("object"):
            zones[j] = _objects_zone(values, _name(X, j))
        else:
            zones[j] = _dtype_zone(X, j)
    return zones


def compare_zones(
    estimator: TableReader,
    X: TableLike,
    times: list[int],
    *,
    categorical: Collection[int] = (),  # columns whose values are not compared
    reset: bool,
) -> None:
    """Remember which columns hold times, in `fit`, or refuse those that differ."""
    zones = time_zones(X, times)
    if reset:
        estimator._time_zones = zones
        return
    fitted = getattr(estimator, "_time_zones", None)
    if fitted is None:  # of a model that was not fitted, but read from bytes
        return
    for j in sorted({*zones, *fitted}.difference(categorical)):
        if j not in zones and not _has_known(X, j):
            continue
        here, there = _in_words(zones, j), _in_words(fitted, j)
        # Times of different zones are the same points in time.
        have_zones = {here, there}.isdisjoint({_NAIVE, _DURATIONS, _NUMBERS})
        if here != there and not have_zones:
            # Columns in another order are refused as such.
            validate_data(estimator, X, reset=False, skip_check_array=True)
            raise ValueError(
                f"X: column {_name(X, j)} has {here}, but had {there} in fit: convert "
                f"it, for instance with {_find_conversion(here, there)}"
            )


def in_zone(time: np.datetime64, zone: tzinfo) -> datetime | np.datetime64:
    """Numpy time in UTC as a datetime of a zone; NaT as it is."""
    if np.isnat(time):
        return time
    moment = time.astype("M8[us]").item()
    return moment.replace(tzinfo=UTC).astimezone(zone)


def from_seconds(values: NDArray[np.float64], kind: str) -> NDArray:
    """Convert numbers of seconds to times, the inverse of :func:`seconds`."""
    # Those between two ticks, which are nanoseconds near 1970 or for short durations
    # and else microseconds, become the one before, so that none falls behind a
    # threshold.
    is_known = np.isfinite(values)
    known = np.where(is_known, values, 0.0)
    is_fine = np.max(np.abs(known), initial=0.0) * 1e9 < _EXACT
    unit, per_second = ("ns", 1e9) if is_fine else ("us", 1e6)
    ticks = np.rint(known * per_second)
    times = ticks.astype(np.int64).astype(f"{kind}[{unit}]")
    times[_of_array(times) > known] -= np.timedelta64(1, unit)
    times[~is_known] = np.array("NaT", times.dtype)
    return times


def validate_columns(
    estimator: TableReader,
    X: TableLike,
    y: Any = "no_validation",
    *,
    reset: bool = True,
    **options: Any,
) -> Any:
    """Check a table as scikit-learn does, with times as numbers of seconds."""
    # Parameters and results are those of
    # :func:`sklearn.utils.validation.validate_data`.
    X, y = mark_unknown_cells(to_numpy(X)), mark_unknown(to_numpy(y))
    refuse_odd_tables(X)
    compare_zones(estimator, X, columns_of_times(X), reset=reset)
    has_y = not (isinstance(y, str) and y == "no_validation")
    if has_y and options.get("y_numeric"):
        y = parse_text_targets(y)
    with name_bad_values(X, y if has_y else None):
        found = _validate_columns(estimator, X, y, has_y, reset, options)
    if reset:
        warn_of_column_markers(estimator, found[0] if has_y else found)
        if options.get("y_numeric"):
            warn_of_target_markers(found[1])
    return found


def _validate_columns(
    estimator: TableReader,
    X: TableLike,
    y: Any,
    has_y: bool,
    reset: bool,
    options: Mapping[str, Any],
) -> Any:
    """Check a table, and y if there is one, with times as numbers of seconds."""
    times = columns_of_times(X)
    if not times:
        return validate_data(estimator, X, y, reset=reset, **options)
    # Numbers and names of columns; what is in them is checked below.
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    table = np.empty(X.shape)
    others = sorted({*range(X.shape[1])}.difference(times))
    if others:
        table[:, others] = check_array(
            safe_indexing(X, others, axis=1),
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name="X",
        )
    for j in times:
        table[:, j] = seconds(X, j)
    if not has_y:
        return check_array(table, estimator=estimator, input_name="X", **options)
    return check_X_y(table, y, estimator=estimator, **options)


def _dtype_zone(X: TableLike, j: int) -> tzinfo | None:
    """Time zone in the type of a column of pandas, polars or arrow."""
    if not hasattr(X, "dtypes"):
        return None
    dtype = list(X.dtypes)[j]
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    zone = getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None)
    return ZoneInfo(zone) if isinstance(zone, str) else zone


def _objects_zone(values: NDArray, name: object) -> tzinfo | None:
    """Zone of times; None if they have none."""
    zones = [getattr(v, "tzinfo", None) for v in values if not is_unknown(v)]
    if any((zone is None) != (zones[0] is None) for zone in zones):
        raise ValueError(
            f"X: some times of column {name} have a time zone and others have none: "
            "give all of them a zone, or none"
        )
    return zones[0]


def _in_words(zones: Mapping[int, tzinfo | str | None], j: int) -> str:
    """Describe a column, of times if it is among these."""
    zone = zones.get(j, _NUMBERS)
    if isinstance(zone, str):  # durations or numbers
        return zone
    return _NAIVE if zone is None else f"times in zone {zone}"


def _find_conversion(here: str, there: str) -> str:
    """Code that converts a column to its type in fit."""
    if here == _NUMBERS:
        return "pandas.to_" + ("timedelta" if there == _DURATIONS else "datetime")
    if there == _NUMBERS:
        to_durations = "" if here == _DURATIONS else ", after subtracting a fixed time"
        return f"pandas' dt.total_seconds{to_durations}"
    if _DURATIONS in {here, there}:
        to_kind = "adding" if here == _DURATIONS else "subtracting"
        return f"{to_kind} a fixed time"
    return "pandas' dt.tz_localize"


def _has_known(X: TableLike, j: int) -> bool:
    """Whether there is such a column, with a value that is known."""
    table = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    if len(table.shape) != 2 or j >= table.shape[1]:
        return False
    return issparse(table) or not all(map(is_unknown, _objects(table, j)))


def _name(X: TableLike, j: int) -> int | str:
    return repr(list(X.columns)[j]) if hasattr(X, "columns") else j


def _objects(X: TableLike, j: int) -> NDArray[np.object_]:
    return np.asarray(safe_indexing(X, j, axis=1), dtype=object)


def _holds_times(values: NDArray) -> bool:
    """Whether all known values are times."""
    known = [value for value in values if not is_unknown(value)]
    return bool(known) and all(isinstance(value, TIMES) for value in known)


def second(value: Any) -> float:
    """Seconds since 1970 of one time, or of a duration; NaN if it is unknown."""
    if is_unknown(value):
        return np.nan
    # Times of pandas are datetimes and timedeltas too, but have nanoseconds.
    value = getattr(value, "asm8", value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _of_array(value)
    if isinstance(value, timedelta):
        return _count(value, timedelta(seconds=1))
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    zone = None if value.tzinfo is None else UTC
    return _count(value - datetime(1970, 1, 1, tzinfo=zone), timedelta(seconds=1))


def _of_array(times: Any) -> Any:
    """Seconds since 1970 of numpy's times, or of durations."""
    # What is not known has no whole seconds.
    with np.errstate(invalid="ignore"):
        return _count(times - np.zeros((), times.dtype), np.timedelta64(1, "s"))


def _count(duration: Any, one_second: Any) -> Any:
    """Seconds of a duration, independent of the unit of its ticks."""
    # Whole seconds and the rest are rounded apart: nanoseconds since 1970 are more than
    # floats can count.
    return duration // one_second + duration % one_second / one_second
