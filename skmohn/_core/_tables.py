"""Tables and targets as scikit-learn checks them, with refusals that name columns."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from skmohn._core._bad_values import (
    mark_unknown,
    name_bad_values,
    parse_text_targets,
    refuse_complex,
    refuse_odd_tables,
    refuse_times,
    warn_of_markers,
)
from skmohn._core._names import validate_data
from skmohn._core._types import (
    TableLike,
    TableReader,
    check_array,
    check_X_y,
)
from skmohn._core._validation import densify, is_pair_given, name_dtype, to_numpy

# What is none of them becomes the first; bytes would take eight times the room.
DTYPES = [np.float64, np.int8, np.uint8, np.bool_]
# Of rows that become floats block by block.
ALL_NUMBERS = [*DTYPES, np.float32, np.float16, *map(np.dtype, "hHiIlLqQ")]


def array_as_fitted(
    estimator: TableReader, X: TableLike, dtypes: Sequence[Any]
) -> NDArray | None:
    """Array of a table that needs no check but this, None of any other."""
    # Of one row, scikit-learn's checks take longer than what is predicted from it. They
    # change nothing of an array of one of the types that has the columns of `fit` and
    # no infinity; nor of a data frame of such columns, with the same names.
    if getattr(estimator, "_time_zones", None):  # for which no numbers may stand
        return None
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and hasattr(X, "isetitem"):  # a data frame of pandas
        is_same = X.columns.tolist() == names.tolist()
        if not is_same or any(not isinstance(t, np.dtype) for t in X.dtypes):
            return None
        X = X.to_numpy()
    elif names is not None or type(X) is not np.ndarray:
        return None
    if X.dtype not in dtypes or X.ndim != 2 or not len(X):
        return None
    if X.shape[1] != getattr(estimator, "n_features_in_", None):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        return X if math.isfinite(X.sum()) else None


def validate_table(
    estimator: TableReader,
    X: TableLike,
    y: Any = "no_validation",
    *,
    reset: bool = False,
    check_columns: bool = True,
    keep_dtype: bool = False,
) -> Any:
    """Check a table of numbers, with NaN for unknown values, and targets if any."""
    # With `reset` its columns, and its dtype in ``_input_dtype``, are remembered, as in
    # `fit`; else compared with those remembered, if `check_columns`. The table is
    # dense; float64, or values of one byte as they were, with `keep_dtype` any numbers.
    source = X
    alone = isinstance(y, str) and y == "no_validation"
    options = {
        "dtype": ALL_NUMBERS if keep_dtype else DTYPES,
        "accept_sparse": "csr",
        "ensure_all_finite": "allow-nan",
        # A single sample leaves nothing to learn from.
        "ensure_min_samples": 2 if reset else 1,
    }
    if not alone:
        options["y_numeric"] = True
        refuse_times(to_numpy(y))
        y = parse_text_targets(y)
    given = (X,) if alone else (X, y)
    refuse_odd_tables(X)
    with name_bad_values(*given):
        if check_columns:
            checked = validate_data(estimator, *given, reset=reset, **options)
        else:
            check = check_array if alone else check_X_y
            checked = check(*given, estimator=estimator, **options)
    X, y = (checked, None) if alone else checked
    if reset:
        estimator._input_dtype = name_dtype(source)
        warn_of_column_markers(estimator, X)
        warn_of_target_markers(y)
    X = densify(X)
    return X if alone else (X, np.asarray(y, dtype=np.float64))


def warn_of_column_markers(estimator: TableReader, X: TableLike) -> None:
    """Warn of numbers in columns of a fit that may mark missing ones."""
    if not issparse(X):
        names = getattr(estimator, "feature_names_in_", range(X.shape[1]))
        warn_of_markers(X, [f"column {name}" for name in names])


def warn_of_target_markers(y: object) -> None:
    """Warn of numbers among the targets of a fit that may mark missing ones."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "biuf":
        warn_of_markers(y.reshape(len(y), -1), ["y"] * max(y.size, 1))


def read_targets(
    y: Any,
    *,
    estimator: BaseEstimator | None = None,
    several: bool = False,
    numeric: bool = False,
) -> Any:
    """Check targets: finite, of one dimension unless there may be several."""
    y = mark_unknown(to_numpy(y))
    if numeric:
        refuse_times(y)
        y = parse_text_targets(y)
    with name_bad_values(None, y):
        y = check_array(
            y if several else column_or_1d(y, warn=True),
            accept_sparse="csr",
            ensure_2d=False,
            dtype=None,
            input_name="y",
            estimator=estimator,
        )
        return y.astype(np.float64) if numeric and y.dtype.kind in "OUT" else y


def validate_held_out(
    estimator: TableReader,
    X_val: TableLike | None,
    y_val: ArrayLike | None,
    read: Callable[[Any, Any], NDArray] = validate_table,
) -> tuple[NDArray, NDArray[np.float64]] | None:
    """Check validation samples; return them, or None when there are none."""
    if not is_pair_given(X_val, y_val):
        return None
    X_val = read(estimator, X_val)
    refuse_complex(y_val, "y_val")
    y_val = np.asarray(parse_text_targets(to_numpy(y_val), "y_val"), dtype=np.float64)
    if y_val.ndim != 1 or not np.isfinite(y_val).all():
        raise ValueError("y_val must be one-dimensional and finite")
    check_consistent_length(X_val, y_val)
    return X_val, y_val
