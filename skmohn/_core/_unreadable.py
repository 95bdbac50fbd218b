"""Columns of types that no estimator reads, and how to convert them."""

import re
from collections.abc import Collection
from datetime import date, time, timedelta
from numbers import Complex, Real
from typing import Any, Final

import numpy as np

from skmohn._core._meanings import IT, is_text, is_unknown, listed
from skmohn._core._text import column_values
from skmohn._core._times import column_types, columns_of_times
from skmohn._core._types import TableLike

# How the names of types begin whose values are read, if only to be refused as text.
_PLAIN = re.compile(
    r"(u?int|float)\d|float|double|bool|str$|string|large_string|utf8|decimal|sparse"
)
# Of an array: objects, bytes, records.
_ARRAYS = "OSV"
# Characters of a value in a message.
_LONGEST: Final = 60
# Types of values, and the cure: the first that fits.
_CURES = (
    ("Period", f"dt.to_timestamp() converts {IT} to times"),
    ("Interval", f"map(lambda interval: interval.mid) converts {IT} to numbers"),
    (dict, f"pandas.json_normalize converts {IT} to columns"),
    ((bytes, bytearray), f"str.decode('utf-8') converts {IT} to text"),
    (Complex, f"numpy.real and numpy.imag convert {IT} to two columns"),
    (time, f"pandas.to_timedelta converts {IT} to durations if written as '08:30:00'"),
    ((date, np.datetime64), f"pandas.to_datetime converts {IT} to times"),
    ((timedelta, np.timedelta64), f"pandas.to_timedelta converts {IT} to durations"),
    (
        (list, tuple, set, frozenset, np.ndarray),
        f"pandas.DataFrame converts lists of {IT} to columns",
    ),
    (object, f"convert {IT} to numbers or categories, or leave {IT} out"),
)


def refuse_unreadable(X: TableLike, categorical: Collection[int] = ()) -> None:
    """Refuse values that are no numbers, times or text; name all columns and cures."""
    # Those of categorical columns may be anything that can be sorted.
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind not in _ARRAYS:
        return
    suspects = [j for j, name in enumerate(column_types(X)) if not _PLAIN.match(name)]
    suspects = set(suspects).difference(categorical)
    if not suspects:
        return
    parts, cures = [], {}
    for j in sorted(suspects.difference(columns_of_times(X))):
        # One of each type is enough, but for bytes, of which some read as numbers.
        values = column_values(X, j)
        examples = {}
        for v in map(_as_is, values):
            examples.setdefault(v if isinstance(v, bytes) else type(v), v)
        value = next((v for v in examples.values() if not _is_readable(v)), None)
        if value is None:
            continue
        name = list(X.columns)[j] if hasattr(X, "columns") else j
        shown = repr(value)
        shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
        parts.append(f"column {name} holds {shown}")
        cures.setdefault(_find_cure(value), []).append(f"column {name}")
    if parts:
        # The words are those of numpy, which names no column.
        hints = [cure.replace(IT, listed(names)) for cure, names in cures.items()]
        raise TypeError(
            "X: each argument must be a real number, or a string that reads as a "
            f"number, a time or a category, but {'; '.join([listed(parts), *hints])}"
        )


def _as_is(value: Any) -> Any:
    """Value, without the array around it that has no dimension."""
    return value.item() if isinstance(value, np.ndarray) and not value.ndim else value


def _is_readable(value: Any) -> bool:
    """Whether numpy makes a number of a value, or it is text or unknown."""
    if is_text(value) or is_unknown(value):
        return True
    if np.iterable(value) and not isinstance(value, bytes):
        return False
    if isinstance(value, Complex) and not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:  # an integer, which is refused elsewhere
        return True
    except (TypeError, ValueError):
        return False
    return True


def _find_cure(value: Any) -> str:
    """Code that converts a column of such values; ``{it}`` is the column."""
    name = type(value).__name__
    return next(
        cure
        for kind, cure in _CURES
        if (name == kind if isinstance(kind, str) else isinstance(value, kind))
    )
