"""Tables: read once, encoded once, and given back as their users wrote them."""

# Training draws rows, chains and bits one after another, so that the same rows in
# another order would train another RBM. Rows are therefore put in an order that follows
# from their units: a fit depends on which rows there are and how often, and not on
# their order, nor on whether a row is repeated or has an integer as its weight.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._bad_values import AS_MISSING, warn_of_lone
from skmohn._core._categories import (
    Categories,
    are_unknown,
    as_table,
    learn_kinds,
    read_table,
)
from skmohn._core._copies import number_copies
from skmohn._core._meanings import is_unknown
from skmohn._core._names import input_names, unique_names
from skmohn._core._quantiles import mask_lone, mask_remote
from skmohn._core._rows import equal_slices, order_of
from skmohn._core._sklearn import check_sample_weight, container_adapter, safe_indexing
from skmohn._core._tables import ALL_NUMBERS, array_as_fitted
from skmohn._core._text import column_values
from skmohn._core._times import column_types, validate_columns
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._validation import (
    as_counts,
    densify,
    refuse_dominant_weight,
    require_memory,
    to_numpy,
)
from skmohn.energynet._coding import UnitCoding, with_settings
from skmohn.energynet._groups import Groups
from skmohn.energynet._missing import MissingMask

# Of values, and of what is computed of them.
_PRECISIONS = [np.float64, np.float32]
_FLOATS, _INTEGERS = ("float", "double"), ("bool", "int", "uint")
# No state of a unit: it sorts rows with missing values apart from others.
_NO_STATE = np.float32(2.0)


@dataclass(frozen=True)
class TableConstants:
    """Memory of tables in another order."""

    # Parts of the units that are moved one after another, each with a copy.
    n_parts_moved: int = tuned(8, "cost")


_TABLE = TableConstants()


@dataclass(frozen=True)
class Table:
    """Checked rows, with numbers of categories and NaN for missing values."""

    values: NDArray  # (n_rows, n_features)
    names: Sequence[str] | None  # of the columns, for errors
    categories: Categories  # of the columns that have any

    @classmethod
    def read(cls, estimator: Any, X: TableLike, **options: Any) -> Self:
        """Check a table as :func:`read_columns` does."""
        values = read_columns(estimator, X, **options)
        names = getattr(estimator, "feature_names_in_", None)
        return cls(values, names, estimator._categories)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: slice | NDArray) -> "Table":
        """Some of the rows, as floats."""
        values = self.values[rows]
        if values.dtype not in _PRECISIONS:
            values = values.astype(np.float64)
        return replace(self, values=values)

    def repeat(self, sample_weight: ArrayLike | None) -> "Table":
        """Repeat each row by its weight."""
        weights = read_weights(sample_weight, self.values)
        if weights is None:
            return self
        return self.take(repeated_rows(weights))

    def mark_lone(self) -> "Table":
        """Take the few numbers that are far off all others of a column for missing."""
        is_lone = mask_lone(self.values)
        is_lone[:, self.categories.of_text] = False
        if not is_lone.any():
            return self
        names = self.names if self.names is not None else range(is_lone.shape[1])
        columns = [f"column {name}" for name in names]
        is_remote = mask_remote(self.values, is_lone)
        warn_of_lone(self.values, is_remote, columns, AS_MISSING)
        return replace(self, values=np.where(is_lone, np.nan, self.values))

    def round(self) -> "Table":
        """Make numbers equal that differ by rounding or jitter, and so their rows."""
        values = with_settings(self.values, self.categories.of_text)
        return self if values is self.values else replace(self, values=values)

    def drop_unknown(self, n_needed: int) -> "Table":
        """Drop rows without known values, if enough others remain."""
        known = ~np.isnan(self.values).all(axis=1)
        if known.sum() < min(n_needed, len(self)):
            raise ValueError(
                f"Input X contains only NaN in all but {known.sum()} of {len(self)} "
                f"samples, but training needs at least {n_needed} with known values"
            )
        return self if known.all() else self.take(known)


@dataclass(frozen=True)
class Encoded:
    """Rows and their visible units."""

    # (n_rows, n_features); NaN: missing, except whitened ones, which are drawn.
    values: NDArray
    # (n_rows, n_units), float32, in [0, 1]. Those of missing values are states that
    # they could be in, or have no meaning before any are drawn.
    units: NDArray[np.float32]
    missing: MissingMask | None  # of these units; None where all are known
    groups: Groups  # the units of each column
    # (n_rows,), numbers; rows of one number are copies. None where there are none.
    copies: NDArray[np.intp] | None = None

    @classmethod
    def of(
        cls, values: NDArray, coding: UnitCoding, names: Sequence[str] | None = None
    ) -> Self:
        """Encode a table in its own layout, without states of missing values."""
        missing = MissingMask.of(values, coding.n_units)
        return cls(values, coding.encode(values, names), missing, coding.groups)

    def __len__(self) -> int:
        return len(self.units)

    def arrange(self, coding: UnitCoding) -> "Encoded":
        """Write the units in the layout that is learned from, in place."""
        layout = coding.layout
        missing = self.missing and self.missing.take_units(layout.order)
        units = layout.arrange(self.units)
        return Encoded(self.values, units, missing, layout.groups)


def encode(
    table: Table, coding: UnitCoding, seed: int, are_new: bool = False
) -> Encoded:
    """Encode rows to train on, in an order of their own, and fill missing values."""
    # Whitened numbers that are missing are drawn. Of rows that the coding was not
    # learned from, which `are_new`, these are not stretched. Other missing values
    # become states of other rows.
    values = coding.prepare(table.values, seed, are_new)
    encoded = Encoded.of(values, coding, table.names).arrange(coding)
    units, missing = encoded.units, encoded.missing
    copies = number_copies(table.values, coding.n_levels)
    if missing is not None:
        # What could be there is in no order.
        units[missing.rows] = np.where(missing.unknown, _NO_STATE, units[missing.rows])
    order = order_of(units, values)
    _move_rows(units, order)
    missing = missing and missing.take(order)
    if missing is not None:
        missing.fill_from_donors(units, encoded.groups, np.random.default_rng(seed))
    copies = None if copies is None else copies[order]
    return replace(encoded, values=values[order], missing=missing, copies=copies)


def _move_rows(units: NDArray[np.float32], order: NDArray[np.intp]) -> None:
    """Order rows in place: units in two orders would take the most memory of all."""
    n_units = units.shape[1]
    for columns in equal_slices(n_units, -(-n_units // _TABLE.n_parts_moved)):
        units[:, columns] = units[order, columns]


def read_weights(
    sample_weight: ArrayLike | None, X: NDArray
) -> NDArray[np.float64] | None:
    """Check weights; return them as numbers of samples, None for None."""
    # See :func:`~skmohn._core._validation.as_counts`. ValueError is raised if weights
    # are negative, no numbers, all zero, or zero beside one of them.
    if sample_weight is None:
        return None
    weights = check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    refuse_dominant_weight(weights)
    return as_counts(weights)


def repeated_rows(
    weights: NDArray[np.float64],  # (n_samples,); of :func:`read_weights`
) -> NDArray[np.intp]:
    """Number of each row, repeated by its weight."""
    # Integer weights are kept. Others are rounded up or down so that any rows that
    # follow one another are as many as their weights together, to one.
    ends = np.floor(np.cumsum(weights) + 0.5)
    counts = np.diff(ends, prepend=0.0)
    require_memory(
        8.0 * ends[-1],
        f"sample_weight as {ends[-1]:.3g} repeated rows",
        "divide the weights by their common divisor",
    )
    return np.repeat(np.arange(len(weights)), counts.astype(np.int64))


def read_columns(
    estimator: Any,  # stores what the columns are, in `fit`
    X: TableLike,
    *,
    reset: bool = False,  # whether to learn what the columns are
    # Source of the categorical columns; None for the estimator itself.
    like: Any = None,
    allow_missing: bool = True,  # whether numbers may be unknown; categories may
    # As of :func:`~skmohn._core._categories.read_table`.
    weights: Sequence[ArrayLike | None] = (),
    # Whether numbers of any type stay as they are, until they are taken.
    keep_dtype: bool = False,
) -> NDArray:
    """Check a table of numbers and categories; NaN is unknown."""
    # Returned are numbers and numbers of categories, (n_samples, n_features), in the
    # order of rows: sums in another order differ in the last digits, and a fit would
    # differ with them.
    dtype = ALL_NUMBERS if keep_dtype else _PRECISIONS
    if not reset and allow_missing and not estimator._categories.of_text:
        known = array_as_fitted(estimator, X, dtype)
        if known is not None:
            return np.ascontiguousarray(known)
    plain, given = partial(_read_plain, estimator, dtype=dtype), X
    options = {"reset": reset, "like": like, "weights": weights}
    X = read_table(estimator, X, read_plain=plain, **options)
    if reset:
        learn_kinds(estimator, given, weights)
    if not allow_missing:
        _refuse_missing(X, estimator._categories)
    return np.ascontiguousarray(X)


def unseen_categories(table: Table, given: TableLike) -> NDArray[np.bool_]:
    """Mask of categories of a table that were not there in fit."""
    # It has NaN for these and for what is missing; `given` is what it was read from.
    if not table.categories.encoders:
        return np.broadcast_to(False, table.values.shape)
    unseen, given = np.zeros(table.values.shape, bool), as_table(to_numpy(given))
    if isinstance(given, list | tuple):
        given = np.asarray(given)
    for j in table.categories.encoders:
        unseen[:, j] = np.isnan(table.values[:, j]) & ~are_unknown(given, j)
    return unseen


def _read_plain(estimator: Any, X: TableLike, reset: bool, dtype: list) -> NDArray:
    """Check a table without categories."""
    X = validate_columns(
        estimator, X, dtype=dtype, accept_sparse="csr", reset=reset,
        ensure_all_finite="allow-nan", ensure_min_samples=1 + reset,
    )  # fmt: skip
    return densify(X)


def _refuse_missing(X: NDArray, categories: Categories) -> None:
    """Refuse unknown numbers."""
    numbers = np.ones(X.shape[1], bool)
    numbers[categories.of_text] = False
    # The least is NaN where any value is.
    if np.isnan(np.min(X if numbers.all() else X[:, numbers], initial=0.0)):
        raise ValueError(
            'Input X contains NaN, which coding="minmax" cannot average over: '
            "impute first, for instance with sklearn.impute.KNNImputer, or use "
            'coding="thermometer"'
        )


def name_numbers(
    names: Sequence[str],  # of the columns
    known: Mapping[int, NDArray],  # categories of the categorical columns
) -> list[str]:
    """Names of a table's columns as numbers, with an indicator for each category."""
    # They are unique if the columns have different ones.
    made = [f"{names[j]}_{c}" for j in sorted(known) for c in known[j]]
    made = iter(unique_names(made, names))
    return [
        text
        for j, name in enumerate(names)
        for text in (islice(made, len(known[j])) if j in known else [name])
    ]


def write_completed(
    values: NDArray, table: Table, estimator: Any, given: TableLike
) -> Any:
    """Format completed values as the user's table, in the container of `set_output`."""
    # The table was read from `given`.
    categories, given = table.categories, as_table(to_numpy(given))
    is_integer = np.zeros(values.shape[1], bool)
    for j, name in enumerate(column_types(given)):
        kind = name if name.startswith(_INTEGERS) else categories.kinds.get(j, "")
        is_integer[j] = kind.startswith(_INTEGERS) and not name.startswith(_FLOATS)
    # What is between two integers, or False and True, has not the column's type.
    values = np.where(np.isnan(table.values) & is_integer, np.rint(values), values)
    values = as_written(in_precision(values, table), categories, given)
    for j in categories.left_out:
        values[:, j] = column_values(given, j)
    return in_container(values, estimator, given, input_names(estimator))


def in_precision(values: NDArray, table: Table) -> NDArray:
    """Values computed of a table, in single precision where it is in such."""
    is_single = table.values.dtype == np.float32
    return values.astype(np.float32, copy=False) if is_single else values


def as_written(
    table: NDArray,
    categories: Categories,
    given: TableLike = None,  # table that it was read from
) -> NDArray:
    """Format a table as its user writes it: categories and times instead of numbers."""
    # Of objects where there are categories or times, or booleans among objects; of
    # times where all were in an array of such.
    dtype, has_bool = getattr(given, "dtype", None), "bool" in categories.kinds.values()
    has_objects = getattr(dtype, "kind", "") == "O" and has_bool
    if not (categories.has_objects or has_objects):
        return table
    table = categories.decode(table)
    is_times = isinstance(dtype, np.dtype) and dtype.kind in "mM"
    return table.astype(dtype) if is_times else table


def in_container(
    X: NDArray,
    estimator: Any,
    # Table with missing values; its columns keep their types in a container of its
    # kind.
    given: TableLike,
    names: Sequence[str] | NDArray,  # of the columns
) -> Any:
    """Put a completed table in the container that ``set_output`` requests."""
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
        for j in categories.left_out:
            texts = [None if is_unknown(text) else text for text in X[:, j]]
            columns[j] = np.array(texts, dtype=object).reshape(-1, 1)
        frame = container.hstack(
            [
                container.create_container(column, given, [name])
                for name, column in zip(names, columns, strict=True)
            ]
        )
    return _with_types(frame, given, categories)


def _with_types(frame: Any, given: TableLike, categories: Categories) -> Any:
    """Restore the types of the original columns in a completed frame."""
    # Known values come from there, too: times and large integers have digits that
    # floats do not.
    if type(frame) is not type(given):
        return frame
    is_pandas = hasattr(frame, "iloc")
    convert = _pandas_column if is_pandas else _polars_column
    columns = []
    for j in range(given.shape[1]):
        filled, origin = (safe_indexing(table, j, axis=1) for table in (frame, given))
        if j not in categories.left_out:
            origin = convert(filled, origin, j in categories.encoders)
        columns.append(origin)
    frame = frame.copy() if is_pandas else frame.clone()
    for j, column in enumerate(columns):
        if is_pandas:
            frame.isetitem(j, column)
        else:
            frame.replace_column(j, column.alias(frame.columns[j]))
    return frame


def _pandas_column(filled: Any, origin: Any, is_categorical: bool) -> Any:
    """Completed column, of the type that it had with missing values."""
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
    """Completed column of polars, of the type that it had."""
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
