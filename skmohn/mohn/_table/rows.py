"""Rows of a table with their unknown inputs."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._rows import distinct_rows as distinct
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._units import power_of_two_scale
from skmohn._core._validation import are_counts


@dataclass(frozen=True)
class RowBlockConstants:
    """Blocks of rows."""

    n_rows: int = tuned(2048, "cost")
    # Pairs of rows with others that are compared together: 8 MB of covariances. A
    # block has whole multiples of so many rows, by which products are blocked, too.
    n_pairs: int = tuned(2**20, "cost")
    multiple: int = tuned(64, "cost")
    # Values of a table whose rows are coded together: 16 MB of inputs.
    n_coded_values: int = tuned(2**21, "cost")


_ROW_BLOCKS = RowBlockConstants()


class Categorical(NamedTuple):
    """Categories of a categorical."""

    size: int  # number of categories
    is_ordered: bool = False  # whether they are levels, from the lowest to the highest
    # (size,); of each, where it is unknown; None: all are equally probable.
    frequencies: tuple[float, ...] | None = None

    @property
    def probability(self) -> NDArray[np.float64]:
        """Probability of each category where it is unknown."""
        if self.frequencies is None:
            return np.full(self.size, 1.0 / self.size)
        return np.array(self.frequencies)

    @property
    def n_steps(self) -> int:
        """Over how many steps they share the rate of the categorical."""
        return self.size - 1 if self.is_ordered else 1


def sizes_of(alphabets: tuple[Categorical, ...]) -> list[int]:
    """Number of categories of each categorical, as a list of int."""
    return [alphabet.size for alphabet in alphabets]


@dataclass(frozen=True)
class EncodedRows:
    """Rows of a table: coded inputs and categories."""

    # (n_rows, n_inputs), in [-1, 1]; where unknown a center, at which a product has its
    # mean.
    inputs: np.ndarray
    # (n_rows, n_categoricals), int; the number of categories means unknown.
    categories: np.ndarray
    # (n_rows, n_inputs), bool; None when all are known.
    unknown: np.ndarray | None = None
    # (n_rows,), int; rows of one group belong together, as equal rows do.
    group: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is soon found again; integers in as few bytes as hold them."""
        state = {part.name: getattr(self, part.name) for part in fields(self)}
        for name in ("categories", "group"):
            if state[name] is not None:
                state[name] = _pack_integers(state[name])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in ("categories", "group"):
            if state[name] is not None:
                state[name] = state[name].astype(int)
        vars(self).update(state)

    @cached_property
    def has_fractions(self) -> NDArray[np.bool_]:
        """Whether inputs have values besides -1, 0 and +1."""
        return np.any((self.inputs != 0.0) & (np.abs(self.inputs) != 1.0), axis=0)

    @cached_property
    def prepared(self) -> dict[Any, Any]:
        """What models make of the rows, by what it depends on: made once for all."""
        return {}

    def take(self, index: NDArray | slice) -> "EncodedRows":
        """Some of the rows."""
        if isinstance(index, slice) and index == slice(0, len(self)):
            return self
        unknown = None if self.unknown is None else self.unknown[index]
        group = None if self.group is None else self.group[index]
        return EncodedRows(self.inputs[index], self.categories[index], unknown, group)

    def join(self, other: "EncodedRows") -> "EncodedRows":
        """Append other rows."""
        unknown = None
        if self.unknown is not None or other.unknown is not None:
            unknown = np.concatenate([self.mask(), other.mask()])
        group = None
        if self.group is not None or other.group is not None:
            own, others = (
                np.arange(len(part)) if part.group is None else part.group
                for part in (self, other)
            )
            group = np.append(own, others + own.max(initial=-1) + 1)
        return EncodedRows(
            np.concatenate([self.inputs, other.inputs]),
            np.concatenate([self.categories, other.categories]),
            unknown,
            group,
        )

    def first_categoricals(self, n_categoricals: int) -> Self:
        """Rows with the first of their categoricals alone."""
        return replace(self, categories=self.categories[:, :n_categoricals].copy())

    def as_float(self) -> Self:
        """Rows with inputs as floats, which may have been small integers."""
        return replace(self, inputs=self.inputs.astype(float, copy=False))

    def columns(
        self, inputs: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Values of some inputs and which of them are known, (n_rows, n_chosen)."""
        known = np.ones((len(self), len(inputs)), dtype=bool)
        if self.unknown is not None:
            known = ~self.unknown[:, inputs]
        elif not isinstance(self.inputs, np.ndarray):
            known = self.inputs.read_known(inputs)
        return self.inputs[:, inputs].astype(float, copy=False), known

    def mask(self) -> NDArray[np.bool_]:
        """Mask of unknown inputs, as an array in any case."""
        if self.unknown is None:
            return np.zeros(self.inputs.shape, dtype=bool)
        return self.unknown


def _pack_integers(values: NDArray[np.integer]) -> NDArray[np.integer]:
    """Integers from 0 on in the smallest type that holds them."""
    return values.astype(np.min_scalar_type(values.max(initial=0)))


def count_observations(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers of observations of weights: counts are repeats, others one."""
    return weight if are_counts(weight) else np.ones(len(weight))


def distinct_rows(rows: EncodedRows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the distinct rows in their sorted order; return numbers, first places."""
    table = rows.inputs
    if rows.categories.shape[1]:
        table = np.hstack([table, rows.categories])
    first, index = distinct(table)
    return index, first


def group_distinct_rows(
    number: NDArray[np.intp], group: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Group of each distinct row, by numbers and groups of all rows."""
    # A row that several groups have is a group of its own: of a new row no more is
    # known, as where single rows are left out, equal rows of other groups stay.
    n_distinct, n_groups = number.max() + 1, group.max() + 1
    lowest, highest = np.full(n_distinct, n_groups), np.full(n_distinct, -1)
    np.minimum.at(lowest, number, group)
    np.maximum.at(highest, number, group)
    return np.where(lowest == highest, lowest, n_groups + np.arange(n_distinct))


def members_of(group: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Rows of each group, a list of ndarrays of int."""
    if not len(group):
        return []
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices: what is computed for some rows at a time stays small."""
    return equal_slices(n_rows, _ROW_BLOCKS.n_rows)


def pair_blocks(n_rows: int, n_others: int) -> Iterator[slice]:
    """Yield slices of rows, each of which is compared with so many others."""
    # As `row_blocks`, but for many others.
    multiple = _ROW_BLOCKS.multiple
    fitting = _ROW_BLOCKS.n_pairs // (multiple * max(n_others, 1)) * multiple
    return equal_slices(n_rows, min(max(fitting, multiple), _ROW_BLOCKS.n_rows))


def coded_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Yield slices of rows that are coded together, whole blocks of `row_blocks`."""
    # So that results have the same bits as those of all rows at once.
    n_rows, n_columns = shape
    n_blocks = max(
        _ROW_BLOCKS.n_coded_values // (_ROW_BLOCKS.n_rows * max(n_columns, 1)), 1
    )
    return equal_slices(n_rows, n_blocks * _ROW_BLOCKS.n_rows)


def rms(
    residual: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> float:
    """Weighted root mean square."""
    return float(np.sqrt(np.average(residual**2, weights=weights)))


def standardize(
    y: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], Any, Any]:
    """Standardize targets; return them, and the mean and deviation that they had."""
    # Several targets, columns of `y`, have as many means and deviations.
    if y.ndim > 1:
        parts = [standardize(column, sample_weight) for column in y.T]
        values, means, deviations = zip(*parts, strict=True)
        return np.transpose(values), np.transpose(means), np.transpose(deviations)
    unit = power_of_two_scale(y)
    y = y / unit
    center = float(np.average(y, weights=sample_weight))
    scale = rms(y - center, sample_weight) or 1.0
    return (y - center) / scale, unit * center, unit * scale


def member_values(
    rows: EncodedRows, alphabets: tuple[Categorical, ...]
) -> NDArray[np.float64]:
    """Factors of the weights of inputs and categories in one row."""
    hot = [
        np.arange(size) == category
        for (size, *_), category in zip(
            alphabets, rows.categories[0].tolist(), strict=True
        )
    ]
    return np.concatenate([rows.inputs[0], *hot]).astype(float)
