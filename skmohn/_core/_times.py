"""Columns of dates, times and durations as numbers of seconds."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils._missing import is_pandas_na
from sklearn.utils.validation import check_array, check_X_y, validate_data

# Of pandas, polars and arrow, in lower case.
_TIME_TYPES = ("date", "timestamp", "timedelta", "duration")
# What arrays of objects may hold; the first of them includes pandas' Timestamp.
_TIMES = (date, timedelta, np.datetime64, np.timedelta64)


def column_types(X):
    """Name of the type of each column, in lower case; none where there are none."""
    if hasattr(X, "dtypes"):
        return [str(dtype).lower() for dtype in X.dtypes]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        name = {"U": "str", "O": "object"}.get(X.dtype.kind, X.dtype.name)
        return [name] * X.shape[1]
    return []


def columns_of_times(X):
    """Columns of dates, times and durations.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    columns : list of int
    """
    return [
        j
        for j, name in enumerate(column_types(X))
        if name.startswith(_TIME_TYPES)
        or (name.startswith("object") and _holds_times(_objects(X, j)))
    ]


def seconds(X, j):
    """Seconds since 1970 of a column of times, or of durations; NaN where unknown.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)

    j : int

    Returns
    -------
    ndarray of shape (n_samples,), float64
    """
    values = np.asarray(_safe_indexing(X, j, axis=1))
    if values.dtype.kind == "O":
        return np.array([_second(value) for value in values])
    return (values - np.zeros((), values.dtype)) / np.timedelta64(1, "s")


def validate_columns(estimator, X, y="no_validation", *, reset=True, **options):
    """Check a table as scikit-learn does, with times as numbers of seconds.

    The parameters, and what is returned, are those of
    :func:`sklearn.utils.validation.validate_data`.
    """
    times = columns_of_times(X)
    if not times:
        return validate_data(estimator, X, y, reset=reset, **options)
    # Numbers and names of columns; what is in them is checked below.
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    table = np.empty(X.shape)
    others = sorted({*range(X.shape[1])}.difference(times))
    if others:
        table[:, others] = check_array(
            _safe_indexing(X, others, axis=1),
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name="X",
        )
    for j in times:
        table[:, j] = seconds(X, j)
    if isinstance(y, str) and y == "no_validation":
        return check_array(table, estimator=estimator, input_name="X", **options)
    return check_X_y(table, y, estimator=estimator, **options)


def _objects(X, j):
    return np.asarray(_safe_indexing(X, j, axis=1), dtype=object)


def _holds_times(values):
    """Whether values are times, but for those that are not known."""
    known = [value for value in values if not _is_unknown(value)]
    return bool(known) and all(isinstance(value, _TIMES) for value in known)


def _is_unknown(value):
    # NaN and NaT differ from themselves.
    return value is None or is_pandas_na(value) or bool(np.all(value != value))


def _second(value):
    if _is_unknown(value):
        return np.nan
    if isinstance(value, np.datetime64):
        return (value - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    if isinstance(value, np.timedelta64):
        return value / np.timedelta64(1, "s")
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    zone = None if value.tzinfo is None else UTC
    return (value - datetime(1970, 1, 1, tzinfo=zone)).total_seconds()
