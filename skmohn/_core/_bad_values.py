"""Values that a fit cannot use, or should not: where they are, and the cure."""

import contextlib
import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from numbers import Number, Real
from os import PathLike
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets

from skmohn._core._fitting import warn_of_table
from skmohn._core._meanings import IT, TIMES, find_cure, is_number, is_unknown, listed
from skmohn._core._sklearn import is_pandas_na, safe_indexing
from skmohn._core._types import TableLike

# What stands for a missing value in many files; the positive 9 and 99 are ages, too.
_MARKERS = [-9.0, -99.0, *(s * (10.0**k - 1.0) for k in range(3, 7) for s in (-1, 1))]
# Fills of netCDF, of CMIP and of GDAL, in single precision.
_LARGEST = float(np.finfo(np.float32).max)
_FILLS = np.array([9.969209968386869e36, 1e20, -_LARGEST, _LARGEST], dtype=np.float32)
# Integers up to it are floats.
_EXACT: Final = 2.0**53
# What becomes of samples whose targets are far off all others.
LEFT_OUT: Final = "these samples are left out of the fit"
# What becomes of such numbers in columns.
AS_MISSING: Final = "fit treats these as missing"
# With fewer other values nothing is far from them.
_MIN_OTHERS: Final = 3
# How the names of types begin, of numpy, pandas, polars and pyarrow.
_TIMES = "date", "time", "duration"
_MERGED: Final = (
    "integers above 2 ** 53 that differ but are equal as floats: subtract the smallest"
)
# Of columns that may hold integers above it.
_LONG = "int64", "uint64", "object"


@contextlib.contextmanager
def name_bad_values(X: TableLike, y: ArrayLike | None = None) -> Iterator[None]:
    """Name the columns, and the cure, in scikit-learn's refusals of values."""
    try:
        # Sums of infinities are how scikit-learn finds them.
        with np.errstate(invalid="ignore"):
            yield
    except OverflowError as error:
        where = _describe_columns(X, are_missing=False) or _describe_targets(y)
        raise ValueError(
            f"Input contains an integer beyond the largest float, 1.8e308{where}"
        ) from error
    except (TypeError, ValueError) as error:
        # Its further lines advise other estimators.
        what = str(error).partition("\n")[0].removesuffix(".")
        # Of an array, or of objects that are to be floats.
        where = _describe_complex(X, y) if "omplex" in what else ""
        if where:
            what = "Complex data not supported"
        elif isinstance(error, TypeError):
            raise
        elif what.startswith("Input X contains"):
            where = _describe_columns(X, "NaN" in what)
        elif what.startswith(("Input y contains", "Input contains")):
            # Of objects scikit-learn does not name the argument.
            what = what.replace("Input contains", "Input y contains")
            where = _describe_targets(y)
        elif what.startswith("at least one array or dtype is required"):
            # Of a data frame; an array has a shape that scikit-learn names.
            what, where = "X has no columns", ": pass at least one"
        elif what.startswith("setting an array element") and _is_ragged(y):
            what = "y has values with several parts, such as tuples"
            where = ": pass one label or number for each row"
        elif what.startswith("setting an array element") and _is_ragged(X):
            what = "X has rows of different lengths"
            where = ": pass equally many values for every row, NaN where one is missing"
        else:
            where = ""
        if not where:
            raise
        raise ValueError(what + where) from error


def refuse_odd_tables(X: TableLike) -> None:
    """Refuse tables whose columns are ambiguous, or cannot be read."""
    if _is_no_table(X):
        raise ValueError(
            f"X is {X!r:.60}, not a table: pass an array or a data frame, such as "
            "pandas.read_csv returns"
        )
    if isinstance(X, list) and any(isinstance(row, dict) for row in X):
        raise ValueError(
            "X is a list of dicts, not a table: pass pandas.DataFrame(X), whose "
            "columns have names"
        )
    fields = getattr(getattr(X, "dtype", None), "names", None)
    if fields:
        names = listed([repr(name) for name in fields])
        raise ValueError(
            f"X is a structured array with the fields {names}, not a table: pass "
            "pandas.DataFrame(X)"
        )
    dtypes = getattr(X, "dtypes", ()) if hasattr(X, "columns") else ()
    fills = [getattr(dtype, "fill_value", None) for dtype in dtypes]
    if fills and None not in fills and any(fill != 0 for fill in fills):
        raise ValueError(
            "X has sparse columns with a fill value other than 0, such as NaN: pass "
            "X.sparse.to_dense()"
        )
    counts = Counter(getattr(X, "columns", ()))
    twins = [repr(name) for name, count in counts.items() if count > 1]
    if twins:
        raise ValueError(
            f"X has several columns named {listed(twins)}: give each a name of its "
            "own, or pass X.to_numpy()"
        )


def _is_no_table(X: object) -> bool:
    """Whether it is a path or another object without rows."""
    # For a number, scikit-learn names the missing dimensions.
    has_rows = np.iterable(X) or hasattr(X, "__array__") or isinstance(X, Number)
    return isinstance(X, str | bytes | PathLike) or not has_rows


def mark_unknown(y: Any) -> Any:
    """Targets with NaN for None and pandas' NA, which would be read as numbers."""
    if y is None:
        return y
    try:
        values = np.asarray(y)
    except ValueError:  # of lists of different lengths
        return y
    if isinstance(y, list | tuple) and values.dtype.kind in "US":
        # Numpy makes text of NaN in lists of text.
        values = np.asarray(y, dtype=object)
    if values.dtype.kind != "O":
        return y
    is_bad = np.asarray(np.frompyfunc(is_unknown, 1, 1)(values), dtype=bool)
    return np.where(is_bad, np.nan, values) if is_bad.any() else y


def mark_unknown_cells(X: Any) -> Any:
    """Table with NaN for pandas' NA among objects: numpy makes no number of it."""
    if hasattr(X, "isetitem"):  # a data frame of pandas
        marked = X
        for j in np.flatnonzero([dtype == "O" for dtype in X.dtypes]).tolist():
            cells = X.iloc[:, j].to_numpy()
            known = mark_unknown_cells(cells)
            if known is not cells:
                marked = X.copy() if marked is X else marked
                marked.isetitem(j, known)
        return marked
    if not isinstance(X, np.ndarray) or X.dtype.kind != "O":
        return X
    is_na = np.asarray(np.frompyfunc(is_pandas_na, 1, 1)(X), dtype=bool)
    return np.where(is_na, np.nan, X) if is_na.any() else X


def refuse_times(y: Any, name: str = "y") -> None:
    """Refuse times as numeric targets: their numbers, and NaT, depend on the unit."""
    dtypes = y.dtypes if hasattr(y, "columns") else [getattr(y, "dtype", "")]
    for dtype in dtypes:
        if str(dtype).lower().startswith(_TIMES):
            _refuse_time(dtype, name)


def _refuse_time(kind: object, name: str) -> NoReturn:
    raise ValueError(
        f"{name} has {kind}, but targets must be numbers: pass durations in a unit of "
        f'your choice, such as ({name} - {name}.min()) / numpy.timedelta64(1, "D")'
    )


def parse_text_targets(y: Any, name: str = "y") -> Any:
    """Targets of text as numbers, if all are; name what is no number, or merges."""
    try:
        values = np.asarray(y)
    except ValueError:  # of lists of different lengths
        return y
    if _is_merged(values):
        warn_of_table(f"{name} has {_MERGED}")
    if values.dtype.kind not in "OUS":
        return y
    for value in values.ravel().tolist():
        if isinstance(value, str | bytes) and not is_number(value):
            cure = _cure_text(values)
            raise ValueError(
                f"could not convert string to float: {value!r} in {name}: {cure}"
            )
        if not (isinstance(value, Number) or np.iterable(value) or is_unknown(value)):
            _refuse_object(value, name)
    return y if values.dtype.kind == "O" else values.astype(np.float64)


def _refuse_object(value: Any, name: str) -> None:
    """Refuse a target that is a time, or no number."""
    if isinstance(value, TIMES):
        _refuse_time(type(value).__name__, name)
    try:
        float(value)
    except TypeError as error:
        raise TypeError(
            f"{name} has {value!r:.60}, but targets must be numbers: {error}"
        ) from error


def warn_of_markers(table: NDArray, names: Sequence[str]) -> None:
    """Warn of numbers that files use for missing ones, such as -999."""
    if not table.size:
        return
    with np.errstate(invalid="ignore"):
        ends = np.fmin.reduce(table), np.fmax.reduce(table)
    parts, found = [], set()
    for j in np.flatnonzero(_is_marker(np.array(ends)).any(axis=0)).tolist():
        values = table[:, j].astype(np.float64)
        is_marker = _is_marker(values)
        others = np.unique(values[~is_marker & np.isfinite(values)])
        if len(others) < _MIN_OTHERS:
            continue
        low, high = others[[0, -1]]
        for marker in np.unique(values[is_marker]).tolist():
            distance = max(low - marker, marker - high)
            if distance > high - low or marker < 0.0 <= low:
                count = np.count_nonzero(values == marker)
                parts.append(f"{names[j]} has {marker:g} in {count} of {len(values)}")
                found.add(int(marker) if abs(marker) < _EXACT else marker)
    if parts:
        warn_of_table(
            f"{listed(parts)} rows, far from all other values: if it stands for a "
            f"missing value, pandas.read_csv(na_values={sorted(found)}) makes it NaN"
        )


def warn_of_lone(
    table: NDArray, is_lone: NDArray[np.bool_], names: Sequence[str], effect: str
) -> None:
    """Warn of numbers far off all others, which a fit does without."""
    parts = [
        f"{names[j]} has {table[is_lone[:, j], j][0]:g}"
        for j in np.flatnonzero(is_lone.any(axis=0)).tolist()
    ]
    if parts:
        warn_of_table(
            f"{listed(parts)}, far from all other values: {effect} ({is_lone.sum()} in "
            "all). If such values are correct, pass logarithms"
        )


def warn_of_merged(X: TableLike, categorical: Container[int] = ()) -> None:
    """Warn of columns whose integers floats do not keep apart, such as long ids."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        names, dtypes = list(X.columns), [str(dtype).lower() for dtype in X.dtypes]
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        names, dtypes = range(X.shape[1]), [str(X.dtype)] * X.shape[1]
    else:
        return
    merged = [
        f"column {name}"
        for j, (name, dtype) in enumerate(zip(names, dtypes, strict=True))
        if dtype.startswith(_LONG)
        and j not in categorical
        and _is_merged(_read_integers(safe_indexing(X, j, axis=1)))
    ]
    if merged:
        has = "has" if len(merged) == 1 else "have"
        warn_of_table(
            f"{listed(merged)} {has} {_MERGED}, or convert identifiers to text with "
            "astype(str)"
        )


def _read_integers(column: Any) -> NDArray:
    """Column with its integers, also where others are unknown, which makes floats."""
    is_plain = isinstance(column.dtype, np.dtype)
    return np.asarray(column, dtype=None if is_plain else object)


def _is_merged(values: NDArray) -> bool:
    """Whether some of the integers among values differ, but not as floats."""
    numbers, kind = values.ravel(), values.dtype.kind
    if kind not in "iuO" or not numbers.size:
        return False
    if kind != "O" and not any(map(_is_long, (int(numbers.min()), int(numbers.max())))):
        return False
    distinct = set(filter(_is_long, numbers.tolist()))
    return len({*map(float, distinct)}) < len(distinct)


def _is_long(value: object) -> bool:
    """Whether a value is an integer above 2 ** 53 that some float is near."""
    return isinstance(value, int) and _EXACT < abs(value) <= sys.float_info.max


def _is_marker(values: NDArray) -> NDArray[np.bool_]:
    """Whether numbers are markers; fills up to what readers of text round off."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
    return np.isin(values, _MARKERS) | np.isin(single, _FILLS)


def _describe_columns(X: TableLike, are_missing: bool) -> str:
    """Describe columns with values that are not finite, and the cure."""
    if X is None or issparse(X):
        return ""
    table = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    names = getattr(table, "columns", range(table.shape[1]))
    bad = []
    for j, name in enumerate(names):
        values = np.asarray(safe_indexing(table, j, axis=1), dtype=object)
        is_bad = is_unknown if are_missing else _is_infinite
        if any(map(is_bad, values)):
            bad.append(repr(name))
    if not bad:
        return ""
    columns = f" in column{'s' if len(bad) > 1 else ''} {listed(bad)}: "
    if are_missing:
        return columns + (
            "impute such values, for instance with skmohn.EnergyNetImputer or "
            "sklearn.impute.SimpleImputer, or drop these rows or columns"
        )
    return columns + "replace such values with NaN, or drop these rows"


def _describe_targets(y: ArrayLike | None) -> str:
    """Describe targets that are not finite."""
    values = np.asarray(y, dtype=object)
    if values.ndim != 1:
        return ""
    n_bad = sum(is_unknown(value) or _is_infinite(value) for value in values)
    return f" in {n_bad} of {len(values)} rows: drop these rows" if n_bad else ""


def _cure_text(values: NDArray) -> str:
    """Cure for targets that are text."""
    flat = np.asarray(values, dtype=object).ravel()
    if any(isinstance(value, bytes) for value in flat):
        return "decode bytes, and convert text to numbers"
    cure = find_cure(flat)
    return cure.replace(IT, "it") if cure else "classifiers take text"


def _describe_complex(X: TableLike, y: ArrayLike | None) -> str:
    """Describe which argument has complex numbers, and the cure."""
    for name, values in (("X", X), ("y", y)):
        if values is not None and _has_complex(values):
            if name == "y":
                return _describe_complex_targets(name)
            return (
                f": {name} has complex numbers; pass their real and imaginary parts as "
                f"columns, such as numpy.hstack([{name}.real, {name}.imag])"
            )
    return ""


def _describe_complex_targets(name: str) -> str:
    return (
        f": {name} has complex numbers, but targets must be real numbers or labels; "
        f"pass a part of them, such as {name}.real, or abs({name})"
    )


def _has_complex(values: Any) -> bool:
    if hasattr(values, "dtypes") and hasattr(values, "columns"):
        return any(_has_complex(values[name]) for name in values.columns)
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind != "O":
        return kind == "c"
    each = np.asarray(values, dtype=object).ravel()
    return any(isinstance(value, complex | np.complexfloating) for value in each)


def refuse_complex(y: Any, name: str = "y") -> None:
    """Refuse complex targets, of which numpy would drop a part."""
    if _has_complex(y):
        raise ValueError(f"Complex data not supported{_describe_complex_targets(name)}")


def check_labels(y: Any) -> None:
    """Refuse targets that are no classes, as scikit-learn does, and name the cure."""
    refuse_complex(y)
    try:
        check_classification_targets(y)
    except ValueError as error:
        labels = np.asarray(y).ravel()
        if "Unknown label type: unknown" not in str(error) or not len(labels):
            raise
        label = f"labels of {type(labels[0]).__name__}, such as {labels[0]!r:.60}"
        if kind := _number_type(labels):
            raise ValueError(
                f"Unknown label type: y has {label}, but dtype object, which can hold "
                f"anything: pass y.astype({kind})"
            ) from error
        raise ValueError(
            f"Unknown label type: y has {label}, but classes must be strings, integers "
            "or times: pass [str(label) for label in y]"
        ) from error


def _number_type(labels: NDArray) -> str:
    """Name of the type that objects have in common; empty if they are no numbers."""
    if not all(isinstance(label, Real | np.bool_) for label in labels):
        return ""
    kind = np.asarray(labels.tolist()).dtype.kind
    return {"b": "bool", "i": "int", "f": "float"}.get(kind, "")


def _is_ragged(y: ArrayLike | None) -> bool:
    try:
        np.asarray(y)
    except ValueError:
        return True
    return False


def _is_infinite(value: Any) -> bool:
    try:
        return bool(np.isinf(float(value)))
    except (TypeError, ValueError, OverflowError):
        return isinstance(value, int)
