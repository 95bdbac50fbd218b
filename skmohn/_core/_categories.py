"""Categorical columns: selection, categories, names."""

from collections.abc import Callable, Container, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import OrdinalEncoder

from skmohn._core._bad_values import (
    mark_unknown,
    mark_unknown_cells,
    name_bad_values,
    refuse_odd_tables,
    warn_of_merged,
)
from skmohn._core._meanings import IT, TIMES, find_cure, is_text, listed
from skmohn._core._names import (
    find_columns,
    index_names,
    name_columns,
    validate_data,
)
from skmohn._core._sklearn import (
    is_pandas_na,
    is_scalar_nan,
    num_features,
    safe_indexing,
)
from skmohn._core._tables import ALL_NUMBERS, DTYPES, array_as_fitted, validate_table
from skmohn._core._text import (
    column_values,
    columns_of_text,
    refuse_text,
    screen_text,
)
from skmohn._core._times import (
    column_types,
    columns_of_times,
    compare_zones,
    from_seconds,
    holds_numbers,
    in_zone,
    second,
    seconds,
    time_kind,
    time_zones,
)
from skmohn._core._types import TableLike, TableReader, check_array
from skmohn._core._unreadable import refuse_unreadable
from skmohn._core._validation import is_integer, name_dtype, to_numpy, weighted_rows

_TO_TEXT = "astype(str) converts all its values to text"
_TO_NUMBERS = "pandas.to_numeric converts text to numbers"


class CategoricalEstimator(Protocol):
    """Estimator whose parameters declare the categorical columns."""

    categorical_features: ArrayLike | None
    handle_unknown: str


class CategoryReader(CategoricalEstimator, TableReader, Protocol):
    """One that keeps categories, in `fit`."""

    _categories: "Categories"


@dataclass(frozen=True)
class Categories:
    """Categories of the categorical columns of a table, and kinds of the others."""

    # By column; each numbers the categories in their sorted order.
    encoders: dict[int, OrdinalEncoder]
    # "error" or "missing", for categories that were not there in fit.
    handle_unknown: str
    # By column, ``"bool"``, ``"int"``, ``"datetime64"`` or ``"timedelta64"``; all other
    # columns without categories hold floats.
    kinds: dict[int, str] = field(default_factory=dict)
    # Of columns of points in time that have one.
    zones: dict[int, tzinfo] = field(default_factory=dict)
    # What has the parameter, for messages, unless it is the estimator itself.
    owner: str = ""
    # Columns of text that are left out: constants to the estimator.
    left_out: tuple[int, ...] = ()

    @classmethod
    def learn(
        cls,
        X: TableLike,
        columns: Sequence[int],
        names: Sequence[str],
        handle_unknown: str,
    ) -> Self:
        """Collect the categories of columns."""
        encoders, errors = {}, []
        for j in columns:
            try:
                encoders[j] = fit_encoder(_column(X, j))
            except TypeError as error:
                cure = find_cure(column_values(X, j)) or _TO_TEXT
                errors.append(f"column {names[j]}: {error}: {cure.replace(IT, 'it')}")
        if errors:
            raise TypeError(listed(errors))
        zones = time_zones(X, columns_of_times(X))
        zones = {j: z for j, z in zones.items() if isinstance(z, tzinfo)}
        return cls(encoders, handle_unknown, _find_kinds(X, columns), zones)

    @property
    def of_text(self) -> list[int]:
        """Columns that may hold text: the categorical ones, and those left out."""
        return sorted({*self.encoders, *self.left_out})

    def known(self) -> dict[int, NDArray]:
        """Known categories of each categorical column, as a dict of ndarrays."""
        return {j: self._known_of(j) for j in self.encoders}

    def _known_of(self, j: int) -> NDArray:
        values = self.encoders[j].categories_[0]
        return np.array([value for value in values if not is_scalar_nan(value)])

    def encode(self, X: TableLike, names: Sequence[str]) -> NDArray[np.float64]:
        """Replace categories and times by numbers, NaN where unknown."""
        # A category that was not there in fit is refused, unless such ones are missing.
        n_features = len(names)
        table = np.zeros((X.shape[0], n_features))
        of_text = self.of_text
        times = [j for j in columns_of_times(X) if j not in of_text]
        others = sorted({*range(n_features)}.difference(times, of_text))
        if others:
            numbers = safe_indexing(X, others, axis=1)
            with name_bad_values(numbers):
                table[:, others] = check_array(
                    numbers,
                    dtype=np.float64,
                    ensure_all_finite="allow-nan",
                    ensure_min_samples=0,
                    input_name="X",
                )
        for j in times:
            table[:, j] = seconds(X, j)
        unknown, others = [], []
        for j, encoder in self.encoders.items():
            categories = _column(X, j)
            numbers = encoder.transform(categories)[:, 0]
            # Also what is unknown, where fit has seen nothing unknown.
            new = (numbers == -1) & (categories == categories)[:, 0]
            if new.any():
                found = categories[new, 0]
                others += self._name_other_types(j, found, names[j])
                unknown.append(f"column {names[j]} has {found[0]!r}")
            table[:, j] = np.where(numbers == -1, np.nan, numbers)
        if others:
            raise ValueError("; ".join(others))
        if unknown and self.handle_unknown == "error":
            were = "was" if len(unknown) == 1 else "were"
            raise ValueError(
                f"{listed(unknown)}, which {were} not seen in fit; set "
                f'handle_unknown="missing"{self.owner} to treat such values as missing'
            )
        return table

    def _name_other_types(
        self, j: int, values: NDArray[np.object_], name: str
    ) -> list[str]:
        """Message on text where fit had none, or the reverse; none for new values."""
        # All of a column is then unknown: it is no new category, but read otherwise.
        known = self._known_of(j).tolist()
        others = [v for v in values if known and is_text(v) != is_text(known[0])]
        if not others:
            return []
        was, cure = "not text", find_cure(others) or _TO_NUMBERS
        if is_text(known[0]):
            was, cure = "text", _TO_TEXT
        return [
            f"column {name} has {others[0]!r}, but its categories were {was} in fit, "
            f"such as {known[0]!r}: {cure.replace(IT, 'it')}"
        ]

    def decode(self, table: NDArray[np.float64]) -> NDArray[np.object_]:
        """Write a table as the user does: the inverse of :meth:`encode`."""
        X = table.astype(object)
        X[:, list(self.left_out)] = np.nan
        for j, categories in self.known().items():
            categories = [*categories.tolist(), np.nan]
            X[:, j] = [categories[-1 if n != n else int(n)] for n in table[:, j]]
        for j, kind in self.kinds.items():
            if kind.endswith("64"):
                times = list(from_seconds(table[:, j], kind))
                if j in self.zones:
                    times = [in_zone(time, self.zones[j]) for time in times]
                X[:, j] = times
            else:
                to_kind = bool if kind == "bool" else int
                X[:, j] = [to_kind(n) if n.is_integer() else n for n in X[:, j]]
        return X

    def write_drawn(self, table: NDArray[np.float64]) -> NDArray:
        """Write drawn rows: as booleans if all columns are; of objects if they must."""
        if self.has_objects:
            return self.decode(table)
        kinds = {self.kinds.get(j) for j in range(table.shape[1])}
        is_bool = kinds == {"bool"} and np.isin(table, (0.0, 1.0)).all()
        return table.astype(bool) if is_bool else table

    @property
    def has_objects(self) -> bool:
        """Whether there are categories or times, which no array of numbers can hold."""
        has_times = any(kind.endswith("64") for kind in self.kinds.values())
        return bool(self.of_text) or has_times

    def number(self, j: int, value: object) -> float:
        """Number of one value of a column; NaN if it has none."""
        if j in self.left_out:
            return 0.0
        if j in self.encoders:
            numbers = {c: float(k) for k, c in enumerate(self._known_of(j).tolist())}
            return numbers.get(value, np.nan) if isinstance(value, Hashable) else np.nan
        if self.kinds.get(j, "").endswith("64") and isinstance(value, TIMES):
            has_zone = getattr(value, "tzinfo", None) is not None
            return float(second(value)) if has_zone == (j in self.zones) else np.nan
        return to_number(value)


def fit_encoder(values: NDArray[np.object_]) -> OrdinalEncoder:
    """Number the categories of a column, (n_rows, 1), NaN where unknown."""
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=-1,
        encoded_missing_value=np.nan,
    ).set_output(transform="default")
    return encoder.fit(values)


def read_table(
    estimator: CategoryReader,
    X: TableLike,
    y: Any = "no_validation",
    *,
    reset: bool = False,
    read_plain: Callable[..., Any] | None = None,
    like: CategoricalEstimator | None = None,
    weights: Sequence[ArrayLike | None] = (),
    keep_dtype: bool = False,
) -> Any:
    """Check a table whose columns may be categorical, and number their categories."""
    # Returned are the table, and y if it is passed: NaN for what is unknown, and 0
    # beside categories and times for samples whose weight is zero, of which nothing is
    # learned and whose categories may be unknown. Without categories `read_plain`
    # checks both, :func:`validate_table` by default. `categorical_features` and
    # `handle_unknown` are those of `like`, by default the estimator itself. Numbers
    # become floats, but for bytes and, with `keep_dtype`, all that are in one array.
    alone = isinstance(y, str) and y == "no_validation"
    if not reset and alone and not read_plain and not estimator._categories.of_text:
        dtypes = ALL_NUMBERS if keep_dtype else DTYPES
        if (known := array_as_fitted(estimator, X, dtypes)) is not None:
            return known
    X = to_numpy(X)
    are_numbers = holds_numbers(X)
    X = X if are_numbers else as_table(mark_unknown_cells(X))
    y, like = mark_unknown(to_numpy(y)), like or estimator
    rows = weighted_rows(X, weights)
    known = X if rows is None else safe_indexing(X, rows)
    if reset:
        columns = _choose_columns(estimator, known, like)
    else:
        columns = estimator._categories.of_text
        if not are_numbers:
            _refuse_other_text(estimator, X, known, columns)
    refuse_odd_tables(X)
    if not are_numbers:
        refuse_unreadable(known, columns)
    if not columns and read_plain:
        return read_plain(*((X,) if alone else (X, y)), reset=reset)
    times = [] if are_numbers else columns_of_times(known)
    compare_zones(estimator, known, times, categorical=columns, reset=reset)
    if not columns and not times:
        return validate_table(estimator, X, y, reset=reset, keep_dtype=keep_dtype)
    if isinstance(X, list | tuple):
        X, known = np.asarray(X), np.asarray(known)
    _require_dense(X)
    # Numbers and names of columns; what is in them is checked below.
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    names = column_names(estimator)
    if reset:
        owner, left_out = _owner(estimator, like), []
        if isinstance(like.categorical_features, str):
            left_out = screen_text(known, columns, names, owner)
        categorical = [j for j in columns if j not in left_out]
        learned = Categories.learn(known, categorical, names, like.handle_unknown)
        estimator._categories = replace(learned, owner=owner, left_out=tuple(left_out))
    table = estimator._categories.encode(known, names)
    if rows is not None:
        given, table = table, np.zeros((X.shape[0], len(names)))
        table[rows] = given
    table = validate_table(estimator, table, y, reset=reset, check_columns=False)
    if reset:
        # Polars makes integers of times, or fails, where they are beside numbers.
        estimator._input_dtype = "float64" if times else name_dtype(X)
    return table


def learn_kinds(
    estimator: CategoryReader, X: TableLike, weights: Sequence[ArrayLike | None]
) -> None:
    """Remember which columns hold times, booleans or integers, of rows that count."""
    # Of a table with categories that is known.
    if estimator._categories.of_text:
        return
    X = as_table(to_numpy(X))
    rows = weighted_rows(X, weights)
    known = X if rows is None else safe_indexing(X, rows)
    options = column_names(estimator), estimator._categories.handle_unknown
    estimator._categories = Categories.learn(known, [], *options)


def _choose_columns(
    estimator: CategoryReader, known: TableLike, like: CategoricalEstimator
) -> list[int]:
    """Numbers of the categorical columns; warn of others that floats would merge."""
    columns = find_categorical(known, like.categorical_features)
    parameter = f"categorical_features{_owner(estimator, like)}"
    refuse_text(
        known, columns, f", but {{is_}} not among {parameter}: add {{it}} there"
    )
    warn_of_merged(known, columns)
    if not columns:
        estimator._categories = Categories({}, like.handle_unknown)
    return columns


def _owner(estimator: CategoryReader, like: CategoricalEstimator) -> str:
    """Whose parameters declare the columns, for messages; nothing: its own do."""
    return "" if like is estimator else " of the transformer"


def _require_dense(X: TableLike) -> None:
    """Refuse sparse tables of categories, and what is no table."""
    if issparse(X) or len(getattr(X, "shape", ())) != 2:
        raise ValueError(
            "categorical_features needs a dense table: a DataFrame or a 2D array"
        )


def _refuse_other_text(
    estimator: CategoryReader, X: TableLike, known: TableLike, columns: Sequence[int]
) -> None:
    """Refuse text in columns that were numbers in fit."""
    if set(columns_of_text(known)).difference(columns):
        # Columns in another order are refused as such.
        validate_data(estimator, X, reset=False, skip_check_array=True)
    refuse_text(known, columns, ", where numbers were fitted: convert {it} to numbers")


def as_table(X: TableLike) -> TableLike:
    """Lists of rows as an array that keeps numbers and text apart; else as it is."""
    if not isinstance(X, list | tuple):
        return X
    array = np.asarray(X, dtype=object)
    holds_text = array.ndim == 2 and any(map(is_text, array.ravel().tolist()))
    return array if holds_text else X


def one_row(x: TableLike) -> TableLike:
    """Make a table of what a user gives for one row."""
    if isinstance(x, str | bytes | Mapping | Set) or not np.iterable(x):
        raise ValueError(f"x must be one row, with a value for each column, got {x!r}")
    x = to_numpy(x)
    if hasattr(x, "to_frame") and len(x.shape) == 1:
        # Of columns of different types a row is one of objects.
        return x.to_frame().T.infer_objects()
    if not hasattr(x, "shape"):
        x = np.array(x, dtype=object)
        if x.ndim == 1 and any(isinstance(value, list | tuple) for value in x):
            raise ValueError(
                f"x must be one row, got parts of different lengths: {x!r}"
            )
    if len(x.shape) == 1:
        x = x.reshape(1, -1)
    if x.shape[0] != 1:
        raise ValueError(f"x must be one row, got {x.shape[0]} rows")
    return x


def find_categorical(X: TableLike, wanted: ArrayLike | None) -> list[int]:
    """Find categorical columns, declared as for scikit-learn's gradient boosting."""
    if wanted is None:
        return []
    if isinstance(wanted, str):
        return columns_of_text(X)
    wanted = np.asarray(wanted)
    if not wanted.size:
        return []
    n_features = num_features(X)
    if wanted.dtype.kind == "b":
        if wanted.shape != (n_features,):
            raise ValueError(
                f"categorical_features is a mask of shape {wanted.shape}, but X has "
                f"{n_features} columns"
            )
        return np.flatnonzero(wanted).tolist()
    if wanted.ndim != 1 or wanted.dtype.kind not in "iuUO":
        raise ValueError(
            'categorical_features must be "from_dtype", None, or a list of column '
            f"names, indices or one bool per column, got {wanted.tolist()!r}"
        )
    names = index_names(getattr(X, "columns", None))
    columns = find_columns(wanted.tolist(), names, n_features, "categorical_features")
    return sorted(columns)


def to_number(value: Any) -> float:
    """Value as a float, NaN if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _find_kinds(X: TableLike, categorical: Container[int]) -> dict[int, str]:
    """Columns without categories that hold something else than floats."""
    kinds = {j: time_kind(X, j) for j in columns_of_times(X) if j not in categorical}
    for j, name in enumerate(column_types(X)):
        if j in kinds or j in categorical:
            continue
        if name.startswith("object"):
            known = [
                v for v in map(_known, column_values(X, j)) if not is_scalar_nan(v)
            ]
            is_bool = all(isinstance(v, bool | np.bool_) for v in known)
            is_int = all(map(is_integer, known))
            name = "bool" if known and is_bool else "int" if known and is_int else ""
        if name.startswith(("bool", "int", "uint")):
            kinds[j] = "bool" if name.startswith("bool") else "int"
    return kinds


def _column(X: TableLike, j: int) -> NDArray[np.object_]:
    """One column of objects, unknown values as NaN, for an encoder."""
    # Texts are known, and most of what there is.
    values = [v if isinstance(v, str) else _known(v) for v in column_values(X, j)]
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    return column


def are_unknown(X: TableLike, j: int) -> NDArray[np.bool_]:
    """Mask of missing values of a column, (n_samples,)."""
    column = _column(X, j)[:, 0]
    return column != column


def _known(value: object) -> object:
    """Category, or NaN for all missing values."""
    if value is None or is_pandas_na(value) or is_scalar_nan(value):
        return np.nan
    return value


def column_names(estimator: TableReader) -> list[str]:
    """Names of the columns seen in fit; x0, x1, ... where they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return name_columns(names, estimator.n_features_in_)
