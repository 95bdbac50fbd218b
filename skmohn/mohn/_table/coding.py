"""Coding of columns as inputs in [-1, 1], or as categories of a categorical."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import warn_caller
from skmohn._core._quantiles import count_fills, ends_inside_lone, quantile_thresholds
from skmohn._core._rows import row_slices
from skmohn._core._settings import Settings, find_settings
from skmohn._core._tuned import tuned
from skmohn._core._units import binary_units
from skmohn.mohn._table.level_kernels import find_levels
from skmohn.mohn._table.rows import (
    Categorical,
    EncodedRows,
    coded_blocks,
    count_observations,
)

CONSTANT = "constant"
TWO_VALUED = "two-valued"
NUMERIC = "numeric"
CATEGORIES = "categories"
ONE_HOT = "one-hot"

# Of numbers that are no fractions: the seconds of a day, which dates are, and 1.
_UNITS: Final = (86400.0, 1.0)


@dataclass(frozen=True)
class CodeConstants:
    """Codes of numbers."""

    # Of a code beyond it, no digit tells values of the column's own range apart.
    max_code: float = tuned(1e15, "rounding")
    # Relative difference of numbers that are one: that of single precision, as long as
    # it is less than this fraction of the difference of a column's two numbers.
    rounding: float = tuned(2.0**-24, "rounding")
    max_rounding: float = tuned(1e-3, "rounding")
    # Standard errors from 0 of a mean input of a column of two values that is clearly
    # not 0. All inputs of other tables of bits are -1, 0 or +1, which takes less time.
    n_errors_off_center: float = tuned(3.0, "cost")


_CODES = CodeConstants()


class FarValues(NamedTuple):
    """Values that count as the nearer end of a column: fills of files, a lone one."""

    lowest: float  # from here
    low: float  # to below here they count as the low end
    high: float  # and from above here
    highest: float  # to here as the high one


@dataclass(frozen=True)
class InputCoding:
    """Coding of columns as inputs: the line of each onto [-1, 1], and categoricals."""

    # (n_features,), str; ``"constant"`` (at most one known value; ignored),
    # ``"two-valued"`` (its values become -1 and +1), ``"numeric"`` (its range becomes
    # [-1, 1]), ``"categories"`` (three or more categories) or ``"one-hot"`` (one
    # category of a group of 0/1 columns).
    kind: np.ndarray
    # (n_features,); value that becomes -1; NaN if none is known. Of categorical
    # columns, numbers of categories.
    low: np.ndarray
    high: np.ndarray  # (n_features,); value that becomes +1
    # Columns of each categorical: one column of categories, a one-hot group, or a
    # numeric column, whose categories are its levels.
    categoricals: tuple = ()
    alphabets: tuple = ()  # categories of each categorical
    # Between the levels of each numeric column that has levels.
    thresholds: dict = field(default_factory=dict)
    # Of columns with levels whose known values are all multiples of a unit: the seconds
    # of a day, or 1.
    units: dict = field(default_factory=dict)
    # Of columns in which numbers differ by rounding or jitter alone: they are equal.
    settings: dict = field(default_factory=dict)
    # Of columns in which fit has seen values far off the others.
    far: dict[int, FarValues] = field(default_factory=dict)
    # What missing values become: the mean input, of numeric columns and of those of two
    # values in which it is clearly not the middle of the line, 0, as of rare flags.
    centers: dict[int, float] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Fields, those of columns as runs of equal values."""
        # Most columns of a wide table are coded as their neighbors are.
        state = {part.name: getattr(self, part.name) for part in fields(self)}
        kinds, codes = np.unique(self.kind, return_inverse=True)
        state["kind"] = kinds, *_pack_runs(codes.astype(np.uint8))
        for name in ("low", "high"):
            state[name] = _pack_runs(state[name])
        means, codes = np.unique(self._centers, return_inverse=True)
        codes = codes.astype(np.min_scalar_type(len(means)))
        state["centers"] = means, *_pack_runs(codes)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        kinds, codes, counts = state["kind"]
        columns = {name: np.repeat(*state[name]) for name in ("low", "high")}
        columns["kind"] = kinds[np.repeat(codes, counts)]
        means, codes, counts = state["centers"]
        of_columns = enumerate(means[np.repeat(codes, counts)].tolist())
        centers = {column: mean for column, mean in of_columns if mean}
        vars(self).update(state | columns | {"centers": centers})

    @classmethod
    def learn(
        cls,
        X: NDArray,
        n_categories: Mapping[int, int] | None = None,
        one_hot: Sequence[tuple[int, ...]] = (),
        max_levels: int = 1,
        is_coded: bool = False,
    ) -> Self:
        """Learn the coding of each column; values are NaN where unknown."""
        # Categorical columns hold numbers of categories; `one_hot` are groups of
        # columns of 0 and 1 in which one is 1. Numeric columns have up to `max_levels`
        # levels; with 1 they have none. In coded columns no value is far off.
        low, high, has_more = _ends(X)
        inside = {} if is_coded else _find_inside(X, has_more, n_categories or {})
        far = {}
        if inside:
            X = X.copy()
            for j, (lowest, highest, distance) in inside.items():
                X[(X[:, j] < lowest) | (X[:, j] > highest), j] = np.nan
                seen = float(low[j]), float(high[j])
                far[j] = _far_values(seen, lowest, highest, distance)
            low, high, has_more = _ends(X)
        settings = _find_settings(X, has_more, n_categories or {})
        for j, found in settings.items():
            low[j], high[j] = found.round(np.array([low[j], high[j]]))
            values = found.round(X[np.isfinite(X[:, j]), j])
            has_more[j] = np.any((low[j] < values) & (values < high[j]))
        kind = np.where(has_more, NUMERIC, TWO_VALUED)
        kind[~(low < high)] = CONSTANT
        categoricals: dict[tuple[int, ...], Categorical] = {
            (column,): Categorical(size)
            for column, size in (n_categories or {}).items()
            if size > 2 and kind[column] != CONSTANT
        }
        for (column,) in categoricals:
            kind[column] = CATEGORIES
        for group in one_hot:
            kind[list(group)] = ONE_HOT
            categoricals[tuple(group)] = Categorical(len(group))
        thresholds, units = {}, {}
        if max_levels > 1:
            for j in np.flatnonzero(kind == NUMERIC).tolist():
                # Of distinct values, so that repeated rows count as weights do.
                values = X[np.isfinite(X[:, j]), j]
                if j in settings:
                    values = settings[j].round(values)
                values = np.unique(values)
                thresholds[j] = quantile_thresholds(values, max_levels)
                n_levels = len(thresholds[j]) + 1
                categoricals[(j,)] = Categorical(n_levels, is_ordered=True)
                for unit in _UNITS:
                    if not np.any(np.remainder(values, unit)):
                        units.setdefault(j, unit)
        alphabets = tuple(categoricals.values())
        levels = thresholds, units, settings, far
        return cls(kind, low, high, tuple(categoricals), alphabets, *levels)

    def admit(self, X: NDArray) -> Self:
        """Copy that takes all values of rows that a fit has left out."""
        low, high, _ = _ends(X)
        with np.errstate(invalid="ignore"):
            reach = _CODES.max_code * (self.high / 2 - self.low / 2)
            is_far = (low < self.low - reach) | (self.high + reach < high)
        is_far &= np.isin(self.kind, [NUMERIC, TWO_VALUED])
        far = dict(self.far)
        for j in np.flatnonzero(is_far).tolist():
            found = _far_values((low[j], high[j]), self.low[j], self.high[j], np.inf)
            before = far.get(j, found)
            far[j] = before._replace(
                lowest=min(before.lowest, found.lowest),
                highest=max(before.highest, found.highest),
            )
        return replace(self, far=far) if is_far.any() else self

    def center_missing(
        self, rows: EncodedRows, sample_weight: NDArray[np.float64] | None
    ) -> tuple[Self, EncodedRows]:
        """Learn what missing values become from encoded rows, and set it in these."""
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight
        count, n_inputs = count_observations(weight), len(self.usable)
        n_known, total, squares = np.zeros((3, n_inputs))
        # Some rows at a time: they may be bytes.
        for part in row_slices(rows.inputs.shape):
            inputs, known = rows.inputs[part].astype(np.float64), 1.0
            if rows.unknown is not None:
                known = ~rows.unknown[part]
            n_known += count[part] @ np.broadcast_to(known, inputs.shape)
            total += count[part] @ inputs
            squares += count[part] @ inputs**2
        n_known = np.maximum(n_known, 1.0)
        mean = total / n_known
        error = np.sqrt(np.maximum(squares / n_known - mean**2, 0.0) / n_known)
        # The middle of a range, unlike that of two values, is no likely mean.
        n_errors = np.where(
            self.kind[self.usable] == NUMERIC, 0.0, _CODES.n_errors_off_center
        )
        is_off = np.abs(mean) > n_errors * error
        columns = self.usable[is_off].tolist()
        plain = self.plain_alphabets
        weighed = (
            alphabet._replace(frequencies=_frequencies(of_rows, count, alphabet.size))
            for alphabet, of_rows in zip(plain, rows.categories.T, strict=False)
        )
        coding = replace(
            self,
            alphabets=(*weighed, *self.alphabets[len(plain) :]),
            centers=dict(zip(columns, mean[is_off].tolist(), strict=True)),
        )
        if rows.unknown is None or not coding.centers:
            return coding, rows
        centers = coding._centers[self.usable]
        inputs = np.where(rows.unknown, centers, rows.inputs)
        return coding, replace(rows, inputs=inputs)

    @cached_property
    def _centers(self) -> NDArray[np.float64]:
        """Inputs of missing values, by column."""
        centers = np.zeros(len(self.kind))
        centers[list(self.centers)] = list(self.centers.values())
        return centers

    def without_levels(self) -> Self:
        """Copy without the levels of numeric columns."""
        alphabets = self.plain_alphabets
        return replace(
            self,
            categoricals=self.categoricals[: len(alphabets)],
            alphabets=alphabets,
            thresholds={},
            units={},
        )

    @cached_property
    def plain_alphabets(self) -> tuple[Categorical, ...]:
        """Alphabets of the categoricals that are no levels of numeric columns."""
        return self.alphabets[: len(self.alphabets) - len(self.thresholds)]

    @cached_property
    def has_numeric(self) -> bool:
        """Whether a column has more than two values on its line."""
        return bool(np.any(self.kind == NUMERIC))

    @cached_property
    def usable(self) -> NDArray[np.intp]:
        """Indices of the columns that vary and are an input of their own."""
        return np.flatnonzero(~np.isin(self.kind, [CONSTANT, CATEGORIES, ONE_HOT]))

    @cached_property
    def _is_two_valued(self) -> NDArray[np.bool_]:
        return self.kind == TWO_VALUED

    @cached_property
    def _lines(self) -> tuple[NDArray[np.float64], ...]:
        """Unit of each column, and its ends in this unit."""
        # So that no difference is out of range.
        units = binary_units([self.low, self.high])
        return units, self.low / units, self.high / units

    def _lines_of(self, columns: NDArray[np.intp]) -> tuple[NDArray, ...]:
        """`_lines` of some columns, and which of them are two-valued."""
        units, low, high = (part[columns] for part in self._lines)
        return units, low, high, high - low, self._is_two_valued[columns]

    @cached_property
    def _usable_lines(self) -> tuple[NDArray, ...]:
        return self._lines_of(self.usable)

    @cached_property
    def _levels(self) -> tuple[NDArray, NDArray, NDArray[np.float64]]:
        """Columns with levels, where the thresholds of each begin, and all of these."""
        columns = [j for (j,) in self.categoricals[len(self.plain_alphabets) :]]
        edges = [self.thresholds[j] for j in columns]
        starts = np.cumsum([0, *map(len, edges)])
        return np.array(columns), starts, np.concatenate(edges)

    @property
    def is_constant(self) -> NDArray[np.bool_]:
        """Mask of the columns that do not vary."""
        return self.kind == CONSTANT

    def _encode_categories(self, X: NDArray, first_row: int = 0) -> NDArray[np.intp]:
        """Read the category of each; the number of categories means unknown."""
        categories = np.empty((len(X), len(self.categoricals)), dtype=int)
        if self.thresholds:
            columns, starts, thresholds = self._levels
            values = np.ascontiguousarray(X[:, columns], dtype=np.float64)
            n_plain = len(self.plain_alphabets)
            find_levels(values, starts, thresholds, n_plain, categories)
        for i, (size, *_) in enumerate(self.plain_alphabets):
            columns = self.categoricals[i]
            values = X[:, list(columns)] if len(columns) > 1 else X[:, columns[0]]
            if len(columns) == 1:
                categories[:, i] = np.where(np.isnan(values), size, values)
                continue
            off = ~one_hot_rows(values)
            if off.any():
                raise ValueError(
                    f"columns {list(columns)} are a one-hot group, but row "
                    f"{first_row + int(np.argmax(off))} has "
                    f"{values[np.argmax(off)].tolist()}: one must be 1, all others 0"
                )
            unknown = np.isnan(values)
            hot = values == 1.0
            hot |= (
                unknown
                & ~hot.any(axis=1, keepdims=True)
                & (unknown.sum(axis=1, keepdims=True) == 1)
            )
            categories[:, i] = np.where(hot.any(axis=1), np.argmax(hot, axis=1), size)
        return categories

    def encode(
        self, X: NDArray, names: Sequence[str] | None = None, *, as_bytes: bool = False
    ) -> EncodedRows:
        """Map usable columns on their lines; number the categories of the others."""
        # Values seen in :meth:`learn` lie in [-1, 1]. The category of a numeric column
        # is the number of its level, from the lowest. A category of a one-hot group is
        # known where one of its columns is 1, or all but one are 0. With `as_bytes`
        # inputs are int8 where all are -1 or +1, and no column is numeric.
        # Refused are groups whose known columns are not 0 but for one 1, and values
        # 1e15 times as far out as the range of their column; of further values of
        # two-valued columns it warns.
        new_values: dict[int, float] = {}
        inputs = self.encode_columns(X, self.usable, names, new_values, as_bytes)
        warn_of_new_values(new_values, names)
        return EncodedRows(inputs[0], self._encode_categories(X), inputs[1])

    def encode_blocks(
        self, X: NDArray, names: Sequence[str] | None = None
    ) -> Iterator[EncodedRows]:
        """Yield the rows of :meth:`encode`, some at a time; warn once, at the end."""
        usable, new_values = self.usable, dict[int, float]()
        for rows in coded_blocks(X.shape):
            some = X[rows]
            inputs = self.encode_columns(some, usable, names, new_values)
            categories = self._encode_categories(some, rows.start)
            yield EncodedRows(inputs[0], categories, inputs[1])
        warn_of_new_values(new_values, names)

    def encode_columns(
        self,
        X: NDArray,
        columns: NDArray[np.intp],
        names: Sequence[str] | None,
        new_values: dict[int, float],
        as_bytes: bool = False,
    ) -> tuple[NDArray, NDArray[np.bool_] | None]:
        """Inputs of usable columns, see :meth:`encode`, and which are unknown."""
        # `new_values` gets the first further value of each two-valued column.
        as_bytes = as_bytes and not self.has_numeric
        inputs = np.empty((len(X), len(columns)), np.int8 if as_bytes else np.float64)
        is_all = columns is self.usable
        lines = self._usable_lines if is_all else self._lines_of(columns)
        unknown = None
        # Some rows at a time: what is computed on the way is as large as they are.
        for rows in row_slices(inputs.shape):
            values = self._without_far(X[rows, columns], columns)
            values = self._rounded(values, columns)
            is_missing = np.isnan(values)
            coded = self._encode_rows(values, lines)
            if lines[-1].any():
                new = (np.abs(coded) != 1) & lines[-1] & ~is_missing
                for j in np.flatnonzero(new.any(axis=0)):
                    new_values.setdefault(int(columns[j]), values[new[:, j], j][0])
            if is_missing.any():
                coded = np.where(is_missing, self._centers[columns], coded)
                if unknown is None:
                    unknown = np.zeros(inputs.shape, dtype=bool)
                unknown[rows] = is_missing
            self._refuse_far(values, coded, columns, names)
            if inputs.dtype == np.int8 and np.any(np.abs(coded) != 1):
                inputs = inputs.astype(np.float64)
            inputs[rows] = coded
        return inputs, unknown

    def replace_new(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """New numbers of columns of one or two as the nearer of these; their mask."""
        columns = np.flatnonzero(np.isin(self.kind, (CONSTANT, TWO_VALUED)))
        units, low, high, *_ = self._lines_of(columns)
        table, is_new = X.copy(), np.zeros(X.shape, dtype=bool)
        for rows in row_slices((len(X), len(columns))):
            values = self._without_far(X[rows, columns], columns)
            values = self._rounded(values, columns)
            with np.errstate(over="ignore"):
                scaled = values / units
                is_high = high - scaled < scaled - low
            nearest = np.where(is_high, self.high[columns], self.low[columns])
            table[rows, columns] = nearest
            size = np.maximum(np.abs(scaled), np.abs(nearest / units))
            limit = np.where(low < high, _CODES.max_rounding * (high - low), np.inf)
            tolerance = np.minimum(_CODES.rounding * size, limit)
            is_new[rows, columns] = np.abs(scaled - nearest / units) > tolerance
        return table, is_new

    def mark_far(self, X: Any) -> Any:
        """Rows of a fit with NaN for the numbers far off: they are taken as missing."""
        if not self.far:
            return X
        X = X.copy()
        for column in self.far:
            X[self._is_far(X[:, column], column), column] = np.nan
        return X

    def _is_far(self, numbers: NDArray, column: int) -> NDArray[np.bool_]:
        """Mask of the numbers of a column that count as its nearer end."""
        far = self.far[column]
        is_low = (far.lowest <= numbers) & (numbers < far.low)
        return is_low | ((far.high < numbers) & (numbers <= far.highest))

    def _without_far(
        self, values: NDArray, columns: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Numbers with those far off, as seen in fit, replaced by the nearer end."""
        values = values.astype(np.float64, copy=False)
        if not self.far:
            return values
        for index in np.flatnonzero(np.isin(columns, list(self.far))).tolist():
            column, numbers = int(columns[index]), values[:, index]
            is_far = self._is_far(numbers, column)
            ends = self.low[column], self.high[column]
            values[is_far, index] = np.clip(numbers[is_far], *ends)
        return values

    def _rounded(
        self, values: NDArray, columns: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Numbers with those near a setting replaced by it."""
        if not self.settings:
            return values
        for index in np.flatnonzero(np.isin(columns, list(self.settings))).tolist():
            setting = self.settings[int(columns[index])]
            values[:, index] = setting.round(values[:, index])
        return values

    def _encode_rows(
        self, values: NDArray[np.float64], lines: tuple[NDArray, ...]
    ) -> NDArray[np.float64]:
        """Map values on the lines of their columns, see `_lines_of`."""
        units, low, high, width, _ = lines
        # Written so that the two ends become -1 and +1 without rounding error.
        with np.errstate(over="ignore"):
            scaled = values / units
            return ((scaled - low) - (high - scaled)) / width

    def _refuse_far(
        self,
        values: NDArray[np.float64],
        inputs: NDArray[np.float64],
        columns: NDArray[np.intp],
        names: Sequence[str] | None,
    ) -> None:
        """Refuse values next to which the range of their column is nothing."""
        far = np.abs(inputs) > _CODES.max_code
        if far.any():
            row, index = np.argwhere(far)[0]
            column = int(columns[index])
            low, high = self.low[column], self.high[column]
            raise ValueError(
                f"column {_called(column, names)} has {values[row, index]:g}, too far "
                f"from its range in fit, {low:g} to {high:g}: check its unit"
            )

    def by_column(
        self,
        of_inputs: NDArray[np.float64],
        of_categoricals: Sequence[float] | NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Largest number of each column among those of its inputs and categoricals."""
        # 0 for columns that do not vary. Without levels, only the first categoricals
        # have numbers.
        numbers = np.zeros(len(self.kind))
        numbers[self.usable] = of_inputs
        for columns, number in zip(self.categoricals, of_categoricals, strict=False):
            numbers[list(columns)] = np.maximum(numbers[list(columns)], number)
        return numbers

    def coded_thresholds(self, column: int) -> NDArray[np.float64]:
        """Thresholds between the levels of a column, as inputs are coded."""
        low, high, edges = self.low[column], self.high[column], self.thresholds[column]
        return ((edges - low) - (high - edges)) / (high - low)

    def level_ends(self, column: int) -> NDArray[np.float64]:
        """Lowest and highest value of each level of a column, increasing."""
        # Those of a column of integers are integers, and those of whole days are days.
        # Of other columns the highest is the last number below the threshold.
        lowest = self.thresholds[column]
        highest = np.nextafter(lowest, -np.inf)
        if column in self.units:
            unit = self.units[column]
            lowest = unit * np.ceil(lowest / unit) + 0.0  # no zero has a sign
            # Large numbers are further apart than the unit.
            highest = np.minimum(highest, lowest - unit)
        ends = [self.low[column]], highest, lowest, [self.high[column]]
        return np.unique(np.concatenate(ends))

    def decode(self, column: int, sign: int) -> float:
        """Value of a column that is coded as -1 or +1."""
        return float(self.low[column] if sign < 0 else self.high[column])


class UncodedInputs:
    """Inputs of a table that are coded when they are read, in the place of an array."""

    def __init__(
        self,
        coding: InputCoding,
        usable: NDArray[np.intp],  # of the coding
        X: NDArray,
        names: Sequence[str] | None,
        new_values: dict[int, float],  # see `InputCoding.encode_columns`
    ) -> None:
        self._coding, self._usable, self._X = coding, usable, X
        self._names, self._new_values = names, new_values
        self.shape = len(X), len(usable)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(
        self, index: tuple[slice, NDArray[np.intp] | list[int]]
    ) -> NDArray[np.float64]:
        """Inputs of some rows, and of some of their columns."""
        rows, inputs = index
        columns = self._usable[inputs]
        return self._coding.encode_columns(
            self._X[rows], columns, self._names, self._new_values
        )[0]


def _pack_runs(values: NDArray) -> tuple[NDArray, NDArray[np.intp] | int]:
    """Values of runs of columns with the same bits, and how many columns each has."""
    bits = values.view(np.uint8).reshape(len(values), values.itemsize)
    is_first = np.append(True, np.any(bits[1:] != bits[:-1], axis=1))
    starts = np.flatnonzero(is_first[: len(values)])
    if 2 * len(starts) > len(values):
        return values, 1
    return values[starts], np.diff(starts, append=len(values))


def _ends(
    X: NDArray,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Lowest and highest known value of each column, and whether it has others."""
    # NaN where none is known.
    low, high = np.full((2, X.shape[1]), np.nan)
    has_more = np.zeros(X.shape[1], dtype=bool)
    # Some columns at a time: what is computed on the way is as large as they are.
    for columns in row_slices(X.shape[::-1]):
        values = X[:, columns].astype(np.float64, copy=False)
        known = np.isfinite(values)
        lowest = np.min(values, axis=0, where=known, initial=np.inf)
        highest = np.max(values, axis=0, where=known, initial=-np.inf)
        has_more[columns] = np.any((lowest < values) & (highest > values), axis=0)
        is_known = known.any(axis=0)
        low[columns] = np.where(is_known, lowest, np.nan)
        high[columns] = np.where(is_known, highest, np.nan)
    return low, high, has_more


def _find_inside(
    X: NDArray, has_more: NDArray[np.bool_], n_categories: Mapping[int, int]
) -> dict[int, tuple[float, float, float]]:
    """Ends of the columns with values far off, without these, and their distance."""
    inside = {}
    if X.dtype.kind != "f":
        return inside
    for j in np.flatnonzero(has_more).tolist():
        if j in n_categories:
            continue
        ordered = np.sort(X[np.isfinite(X[:, j]), j])
        n_low, n_high = count_fills(ordered)
        found = ends_inside_lone(ordered[n_low : len(ordered) - n_high])
        if n_low or n_high or np.isfinite(found[2]):
            inside[j] = found
    return inside


def _far_values(
    seen: tuple[float, float], low: float, high: float, distance: float
) -> FarValues:
    """Values that count as the nearer end; of fills only those that were seen."""
    # Nearer ones are on the line, as they are in other columns.
    reach = _CODES.max_code * (high / 2 - low / 2)
    if not np.isfinite(distance):
        return FarValues(seen[0], low - reach, high + reach, seen[1])
    ends = min(seen[0], low - reach), max(seen[1], high + reach)
    return FarValues(ends[0], low - distance, high + distance, ends[1])


def _find_settings(
    X: NDArray, has_more: NDArray[np.bool_], n_categories: Mapping[int, int]
) -> dict[int, Settings]:
    """Settings of the columns in which some numbers are equal but for rounding."""
    settings = {}
    for columns in row_slices(X.shape[::-1]):
        which = np.arange(X.shape[1])[columns][has_more[columns]]
        for k, found in find_settings(X[:, which]).items():
            settings[int(which[k])] = found
    return {j: found for j, found in settings.items() if j not in n_categories}


def _frequencies(
    categories: NDArray[np.intp], count: NDArray[np.float64], size: int
) -> tuple[float, ...] | None:
    """Frequencies of categories; None if they are about equal."""
    counts = np.bincount(categories, count, size + 1)[:size]
    n_known = max(counts.sum(), 1.0)
    frequencies, even = counts / n_known, 1.0 / size
    error = math.sqrt(even * (1.0 - even) / n_known)
    if np.abs(frequencies - even).max() <= _CODES.n_errors_off_center * error:
        return None
    return tuple(frequencies.tolist())


def one_hot_rows(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of rows that are 0 but for one 1, as far as they are known."""
    unknown = np.isnan(values)
    ones = np.sum(values == 1.0, axis=1)
    binary = np.all((values == 0.0) | (values == 1.0) | unknown, axis=1)
    return binary & ((ones == 1) | ((ones == 0) & unknown.any(axis=1)))


def _called(column: int, names: Sequence[str] | None) -> int | str:
    """Column in messages."""
    return column if names is None else repr(str(names[column]))


def warn_of_new_values(
    new_values: dict[int, float], names: Sequence[str] | None
) -> None:
    """Warn of further values of two-valued columns, if there are any."""
    if not new_values:
        return
    found = (
        f"column {_called(column, names)} has {value:g}"
        for column, value in new_values.items()
    )
    warn_caller(
        "values not seen in fit are mapped on the line through the two that were: "
        f"{'; '.join(found)}"
    )
