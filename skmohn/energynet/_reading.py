"""Tables as users pass them and get them back: checked, completed, in containers."""

from collections.abc import Container, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._categories import (
    Categories,
    are_unknown,
    as_table,
    column_names,
    read_table,
)
from skmohn._core._names import input_names, unique_names
from skmohn._core._sklearn import container_adapter, safe_indexing
from skmohn._core._times import column_types, validate_columns
from skmohn._core._types import TableLike
from skmohn._core._validation import densify, to_numpy, weighted_rows

_FLOATS, _WHOLE = ("float", "double"), ("bool", "int", "uint")


def read_columns(
    estimator: Any,
    X: TableLike,
    *,
    reset: bool = False,
    like: Any = None,
    missing: bool = True,
    weights: Sequence[ArrayLike | None] = (),
) -> NDArray:
    """Check a table of numbers and categories, with NaN for what is unknown.

    Parameters
    ----------
    estimator : estimator
        Keeps what the columns are, in `fit`.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)

    reset : bool, default=False
        Whether to learn what the columns are.

    like : EnergyNetTransformer, default=None
        Says which columns hold categories; None for the estimator itself.

    missing : bool, default=True
        Whether numbers may be unknown; categories may.

    weights : sequence of array-like, default=()
        As of :func:`~skmohn._core._categories.read_table`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Dense, with numbers of categories, in the order of rows: sums in another order
        differ in the last digits, and a fit would differ with them.
    """
    plain, given = partial(_read_plain, estimator), X
    options = {"reset": reset, "like": like, "weights": weights}
    X = read_table(estimator, X, read_plain=plain, **options)
    if reset and not estimator._categories.encoders:
        _learn_kinds(estimator, given, weights)
    if not missing:
        _refuse_missing(X, estimator._categories)
    return np.ascontiguousarray(X)


def _learn_kinds(
    estimator: Any, X: TableLike, weights: Sequence[ArrayLike | None]
) -> None:
    """Remember which columns hold times, booleans or integers, of rows that count."""
    X = as_table(to_numpy(X))
    rows = weighted_rows(X, weights)
    known = X if rows is None else safe_indexing(X, rows)
    options = column_names(estimator), estimator._categories.handle_unknown
    estimator._categories = Categories.learn(known, [], *options)


def unseen_categories(
    estimator: Any, X: NDArray, given: TableLike
) -> NDArray[np.bool_]:
    """Where a table has categories that were not there in fit.

    Parameters
    ----------
    estimator : EnergyNetTransformer

    X : ndarray of shape (n_samples, n_features)
        As :func:`read_columns` returns it, with NaN for these and for what is unknown.

    given : array-like
        What it was read from.

    Returns
    -------
    unseen : ndarray of shape (n_samples, n_features), bool
    """
    unseen, given = np.zeros(X.shape, bool), as_table(to_numpy(given))
    if isinstance(given, list | tuple):
        given = np.asarray(given)
    for j in estimator._categories.encoders:
        unseen[:, j] = np.isnan(X[:, j]) & ~are_unknown(given, j)
    return unseen


def _read_plain(estimator: Any, X: TableLike, reset: bool) -> NDArray:
    """Check a table without categories."""
    X = validate_columns(
        estimator, X, dtype=[np.float64, np.float32], accept_sparse="csr", reset=reset,
        ensure_all_finite="allow-nan", ensure_min_samples=1 + reset,
    )  # fmt: skip
    return densify(X)


def _refuse_missing(X: NDArray, categories: Categories) -> None:
    """Refuse unknown numbers."""
    numbers = np.ones(X.shape[1], bool)
    numbers[list(categories.encoders)] = False
    if np.isnan(X[:, numbers]).any():
        raise ValueError(
            'Input X contains NaN, which coding="minmax" cannot average over: '
            "impute first, for instance with sklearn.impute.KNNImputer, or use "
            'coding="thermometer"'
        )


def name_numbers(names: Sequence[str], known: Mapping[int, NDArray]) -> list[str]:
    """Names of the columns of a table as numbers, with an indicator for each category.

    Parameters
    ----------
    names : sequence of str
        Of the columns.

    known : dict of int to ndarray
        Categories of the categorical columns.

    Returns
    -------
    names : list of str
        Each once, where the columns have different ones.
    """
    made = [f"{names[j]}_{c}" for j in sorted(known) for c in known[j]]
    made = iter(unique_names(made, names))
    return [
        text
        for j, name in enumerate(names)
        for text in (islice(made, len(known[j])) if j in known else [name])
    ]


def completed(table: NDArray, X: NDArray, estimator: Any, given: TableLike) -> Any:
    """A completed table as its user writes it, in the container that is asked for.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_features)
        Without missing values.

    X : ndarray of shape (n_samples, n_features)
        With NaN at missing values.

    estimator : EnergyNetTransformer

    given : array-like
        The table with missing values as its user wrote it.

    Returns
    -------
    array, DataFrame or whatever is wanted
    """
    categories, given = estimator._categories, as_table(to_numpy(given))
    whole = np.zeros(X.shape[1], bool)
    for j, name in enumerate(column_types(given)):
        kind = name if name.startswith(_WHOLE) else categories.kinds.get(j, "")
        whole[j] = kind.startswith(_WHOLE) and not name.startswith(_FLOATS)
    # What is between two integers, or False and True, has not the column's type.
    table = np.where(np.isnan(X) & whole, np.rint(table), table)
    table = as_written(table, categories, given)
    return in_container(table, estimator, given, input_names(estimator))


def as_written(
    table: NDArray, categories: Categories, given: TableLike = None
) -> NDArray:
    """A table as its user writes it: categories and times instead of numbers.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_features)

    categories : Categories

    given : array-like, default=None
        What the table was read from.

    Returns
    -------
    table : ndarray of shape (n_samples, n_features)
        Of objects where there are categories or times, or booleans among objects; of
        times where all were in an array of such.
    """
    kinds = set(categories.kinds.values())
    dtype = getattr(given, "dtype", None)
    has_objects = getattr(dtype, "kind", "") == "O" and "bool" in kinds
    has_times = not kinds.isdisjoint({"datetime64", "timedelta64"})
    if not (categories.encoders or has_times or has_objects):
        return table
    table = categories.decode(table)
    is_times = isinstance(dtype, np.dtype) and dtype.kind in "mM"
    return table.astype(dtype) if is_times else table


def in_container(
    X: NDArray,
    estimator: Any,
    given: TableLike,
    names: Sequence[str] | NDArray,
) -> Any:
    """A completed table in the container that ``set_output`` asks for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    estimator : EnergyNetTransformer or EnergyNetImputer

    given : array-like
        The table with missing values. Its columns keep their types in a container of
        its kind.

    names : ndarray of str
        Of the columns.

    Returns
    -------
    array, DataFrame or whatever is wanted
    """
    container = container_adapter(estimator)
    if container is None:
        return X
    categories = estimator._categories
    if X.dtype != object and not categories.kinds:
        frame = container.create_container(X, given, names)
    else:
        if X.dtype != object:
            X = categories.decode(X)
        # Each column has a type of its own.
        columns = [np.array(column.tolist()).reshape(-1, 1) for column in X.T]
        frame = container.hstack(
            [
                container.create_container(column, given, [name])
                for name, column in zip(names, columns, strict=True)
            ]
        )
    return _with_types(frame, given, categories.encoders)


def _with_types(frame: Any, given: TableLike, categorical: Container[int]) -> Any:
    """A completed frame, whose columns have the types of those given.

    What was known comes from there, too: times and large integers have digits that
    floats do not.
    """
    if type(frame) is not type(given):
        return frame
    columns = []
    for j in range(given.shape[1]):
        filled, origin = (safe_indexing(table, j, axis=1) for table in (frame, given))
        convert = _pandas_column if hasattr(frame, "iloc") else _polars_column
        columns.append(convert(filled, origin, j in categorical))
    frame = frame.copy() if hasattr(frame, "iloc") else frame.clone()
    for j, column in enumerate(columns):
        if hasattr(frame, "iloc"):
            frame.isetitem(j, column)
        else:
            frame.replace_column(j, column.alias(frame.columns[j]))
    return frame


def _pandas_column(filled: Any, origin: Any, is_categorical: bool) -> Any:
    """A completed column, of the type that it had with missing values."""
    dtype = origin.dtype
    if hasattr(origin, "cat"):
        if not is_categorical:
            # Of numbers, which were asked for.
            return filled
        new = set(filled).difference(dtype.categories)
        dtype = origin.cat.add_categories(sorted(new)).dtype
    try:
        filled = filled.astype(dtype)
    except (TypeError, ValueError):
        # Categories of another type than those in fit, all of them unseen.
        return filled
    return filled if is_categorical else origin.where(origin.notna(), filled)


def _polars_column(filled: Any, origin: Any, is_categorical: bool) -> Any:
    """The same of polars."""
    if str(filled.dtype) == "Object":
        # Python's own times, which numpy has no type for: those of a zone.
        typed = type(filled)(filled.name, filled.to_list(), dtype=origin.dtype)
    else:
        typed = filled.cast(origin.dtype, strict=False)
    if typed.null_count() > filled.null_count():
        return filled
    if is_categorical:
        return typed
    known = origin.is_not_null()
    if origin.dtype.is_float():
        known &= origin.is_not_nan()
    return origin.zip_with(known, typed)
