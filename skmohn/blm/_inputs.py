"""Inputs of a network, made of the columns of a table: numbers, and indicators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._categories import Categories
from skmohn._core._quantiles import pull_in
from skmohn._core._validation import require_memory


@dataclass(frozen=True)
class InputCoding:
    """Coding of the columns of a table as inputs of a network."""

    # (n_features,), int; 0 for numbers, which are an input each. Categories are levels,
    # as is a missing one if `fit` had any, the last. A single level is no input, two
    # are one that is 1 at the second, others an indicator each.
    n_levels: np.ndarray
    # (n_features,), bool; whether values were missing in `fit`. Numbers then have an
    # indicator of that, behind the inputs of all columns.
    has_missing: np.ndarray
    # (n_inputs,); inputs of a missing value that is no level. NaN: not known.
    means: np.ndarray

    @classmethod
    def plain(cls, means: NDArray[np.float64]) -> Self:
        """Coding of columns of numbers, none of which was missing."""
        n = len(means)
        return cls(np.zeros(n, np.intp), np.zeros(n, bool), means)

    @classmethod
    def learn(
        cls,
        X: NDArray[np.float64],  # (n_rows, n_features); categories by number, or NaN
        weights: NDArray[np.float64],  # (n_rows,); zero for rows that do not count
        categories: Categories,
    ) -> Self:
        """Learn the levels and means of columns."""
        if not categories.of_text and not _has_nan(X):
            return cls.plain(np.full(X.shape[1], np.nan))
        if not weights.any():  # which is refused, but by name
            weights = np.ones(len(X))
        X, weights = X[weights > 0.0], weights[weights > 0.0]
        unknown = np.isnan(X)
        n_levels, has_missing = np.zeros(X.shape[1], np.intp), unknown.any(axis=0)
        # Nothing is known of a column without known values.
        n_levels[unknown.all(axis=0)] = 1
        n_levels[list(categories.left_out)] = 1
        for j, known in categories.known().items():
            n_levels[j] = len(known) + has_missing[j]
        has_missing &= (n_levels != 1) | np.isin(
            np.arange(X.shape[1]), list(categories.encoders)
        )
        found = cls(n_levels, has_missing, np.zeros(0))
        if not found.n_inputs:
            raise ValueError(
                "X has no column to learn from: the values of each are all missing, of "
                "one category, or text that differs in nearly all rows"
            )
        return replace(found, means=np.full(found.n_inputs, np.nan)).with_means_of(
            X, weights
        )

    def with_means_of(
        self, X: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> Self:
        """Coding with the means of the inputs of rows."""
        numbers = self.numbers
        means = np.zeros(self.n_inputs)
        values = pull_in(X[:, numbers], weights)
        for at, column in zip(self.starts[numbers].tolist(), values.T, strict=True):
            means[at] = _mean(column, weights)
        inputs = replace(self, means=means).encode(X)
        for at in self.indicators.tolist():
            means[at] = _mean(inputs[:, at], weights)
        return replace(self, means=means)

    @property
    def is_plain(self) -> bool:
        """Whether inputs are the columns themselves."""
        return not (self.n_levels.any() or self.has_missing.any())

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Columns of numbers."""
        return np.flatnonzero(self.n_levels == 0)

    @property
    def widths(self) -> NDArray[np.intp]:
        """Inputs of each column, without the indicator of a missing number."""
        n_inputs = np.where(self.n_levels > 2, self.n_levels, self.n_levels - 1)
        return np.where(self.n_levels == 0, 1, n_inputs)

    @property
    def starts(self) -> NDArray[np.intp]:
        """First input of each column."""
        return np.cumsum(self.widths) - self.widths

    @property
    def n_inputs(self) -> int:
        """Number of inputs of the network."""
        return int(self.widths.sum() + self.has_missing[self.numbers].sum())

    @property
    def indicators(self) -> NDArray[np.intp]:
        """Inputs that are 0 or 1: all but the columns of numbers."""
        return np.setdiff1d(np.arange(self.n_inputs), self.starts[self.numbers])

    @property
    def groups(self) -> dict[int, NDArray[np.intp]]:
        """Inputs of each column of more than two levels."""
        starts, widths = self.starts, self.widths
        return {
            j: starts[j] + np.arange(widths[j])
            for j in np.flatnonzero(self.n_levels > 2).tolist()
        }

    def without_means_of_groups(self) -> Self:
        """Coding in which a missing category that is no level is all zeros."""
        means = self.means.copy()
        for inputs in self.groups.values():
            means[inputs] = 0.0
        return replace(self, means=means)

    def encode(
        self,
        X: NDArray,  # (n_rows, n_features); categories by number, or NaN
        names: Sequence[str] | None = None,  # of columns, for errors
    ) -> NDArray:
        """Inputs of rows, (n_rows, n_inputs)."""
        if self.is_plain and not _has_nan(X):
            return X
        n_inputs, starts = self.n_inputs, self.starts
        require_memory(
            8.0 * len(X) * n_inputs,
            f"X with an input for each category, {len(X)} x {n_inputs},",
            "merge rare categories first",
        )
        inputs, numbers = np.zeros((len(X), n_inputs)), self.numbers
        values, at = X[:, numbers], starts[numbers]
        unknown = np.isnan(values)
        self._require_means(unknown, names)
        inputs[:, at] = np.where(unknown, self.means[at], values)
        flagged = self.has_missing[numbers]
        inputs[:, n_inputs - flagged.sum() :] = unknown[:, flagged]
        for j in np.flatnonzero(self.n_levels > 1).tolist():
            own = slice(starts[j], starts[j] + self.widths[j])
            self._encode_levels(inputs[:, own], X[:, j], j, self.means[own])
        return inputs

    def level_inputs(self, j: int) -> NDArray[np.float64]:
        """Inputs of each category of a column, and of a missing one, the last."""
        numbers = np.arange(self.n_levels[j] - self.has_missing[j] + 1.0)
        numbers[-1] = np.nan
        own = slice(self.starts[j], self.starts[j] + self.widths[j])
        inputs = np.zeros((len(numbers), self.widths[j]))
        self._encode_levels(inputs, numbers, j, self.means[own])
        return inputs

    def _encode_levels(
        self, inputs: NDArray, numbers: NDArray, j: int, means: NDArray
    ) -> None:
        """Write the inputs of a column of levels."""
        missing = self.n_levels[j] - 1 if self.has_missing[j] else -1
        level = np.where(np.isnan(numbers), missing, numbers).astype(np.intp)
        if self.n_levels[j] == 2:
            inputs[:, 0] = level
        else:
            known = np.flatnonzero(level >= 0)
            inputs[known, level[known]] = 1.0
        inputs[level < 0] = means

    def _require_means(
        self, unknown: NDArray[np.bool_], names: Sequence[str] | None
    ) -> None:
        """Refuse missing values of columns whose means were not stored."""
        columns = self.numbers
        is_lost = unknown.any(axis=0) & np.isnan(self.means[self.starts[columns]])
        if is_lost.any():
            j = int(columns[is_lost.argmax()])
            raise ValueError(
                f"Input X contains NaN in column {j if names is None else names[j]}, "
                "but to_packed stores no means of a network that does not standardize: "
                "impute first, for instance with sklearn.impute.SimpleImputer"
            )

    def names(self, columns: Sequence[str], known: Mapping[int, NDArray]) -> list[str]:
        """Names of the inputs, given those of the columns and their categories."""
        names = []
        for j, column in enumerate(columns):
            levels = [f"{column}={value}" for value in known.get(j, ())]
            levels += [f"{column} is missing"] * bool(self.has_missing[j])
            own = {0: [column], 1: [], 2: levels[1:]}
            names += own.get(int(self.n_levels[j]), levels)
        flagged = self.numbers[self.has_missing[self.numbers]]
        return [*names, *(f"{columns[j]} is missing" for j in flagged.tolist())]


def _has_nan(X: NDArray) -> bool:
    """Whether a table has missing values."""
    if X.dtype.kind != "f":
        return False
    # A sum takes no further memory, and a finite one has no NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(X.sum()) and bool(np.isnan(X).any())


def _mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Mean of known values, invariant to the order of rows and to repetition."""
    is_known = ~np.isnan(values)
    distinct, index = np.unique(values[is_known], return_inverse=True)
    counts = np.bincount(index, weights[is_known])
    # First of weights, since sums of large values may be infinite.
    return float(np.sum(counts / counts.sum() * distinct))
