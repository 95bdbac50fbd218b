"""Unknown inputs of rows: imputations by the values of training rows."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn.mohn._table.coding import NUMERIC, InputCoding
from skmohn.mohn._table.rows import Categorical, EncodedRows, sizes_of


@dataclass(frozen=True)
class CompletionConstants:
    """Completions of rows with missing values."""

    # A row is completed in all ways where there are no more, else so many times by
    # chance.
    max_imputations: int = tuned(64, "benchmarks/ablation.py")
    # Values of a numeric column that stand for all.
    max_values: int = tuned(16, "benchmarks/ablation.py")
    # Rows that are completed together.
    n_rows_per_block: int = tuned(32, "cost")


_COMPLETIONS = CompletionConstants()


class EmpiricalValues(NamedTuple):
    """Possible values of a numeric column: training values, equally probable."""

    inputs: np.ndarray  # (n_values,)
    categorical: int | None = None  # the categorical of the column's levels
    categories: np.ndarray | None = None  # (n_values,), int; the level of each value


class Imputations(NamedTuple):
    """Completions of some rows, one row after the other."""

    rows: np.ndarray  # (n_rows,), int; indices of those that are incomplete
    completed: EncodedRows
    ends: np.ndarray  # (n_rows - 1,), int; where those of all rows but the last end
    probability: np.ndarray  # of each among those of its row


@dataclass(frozen=True)
class MissingInputs:
    """Distributions of unknown inputs and categories."""

    alphabets: tuple[Categorical, ...] = ()  # of each categorical
    # By input, those of more than two values; others are -1 or +1.
    numbers: dict[int, EmpiricalValues] = field(default_factory=dict)
    # Means of the inputs that are -1 or +1, if clearly not 0.
    centers: dict[int, float] = field(default_factory=dict)
    # Of the noise found in training, explained by imputations.
    missing_noise_fraction: float = 0.0

    @classmethod
    def of(
        cls,
        rows: EncodedRows,
        coding: InputCoding,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> Self:
        """Collect the values of the training rows."""
        numbers = _numbers(rows, coding, sample_weight)
        usable = enumerate(coding.usable.tolist())
        centers = {
            i: coding.centers[column]
            for i, column in usable
            if column in coding.centers and i not in numbers
        }
        return cls(coding.alphabets, numbers, centers)

    def variance(
        self, mean: Callable[[EncodedRows], NDArray[np.float64]], rows: EncodedRows
    ) -> NDArray[np.float64]:
        """Mean squares of completions around each row; 0 for complete rows."""
        variance = np.zeros(len(rows))
        for i, apart, probability in self.deviations(mean, rows):
            variance[i] = probability @ apart**2
        return variance

    def deviations(
        self,
        mean: Callable[[EncodedRows], NDArray[np.float64]],
        rows: EncodedRows,
        limit: int | None = None,
    ) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield an incomplete row, its completions less its mean, probabilities."""
        # The limit is that of :meth:`imputations`.
        for index, completed, ends, probability in self.imputations(rows, limit):
            values, chances = (
                np.split(part, ends) for part in (mean(completed), probability)
            )
            parts = zip(index, values, chances, mean(rows.take(index)), strict=True)
            for i, part, chance, center in parts:
                yield i, part - center, chance

    def imputations(
        self, rows: EncodedRows, limit: int | None = None
    ) -> Iterator[Imputations]:
        """Yield the completions of incomplete rows, some at a time."""
        # A row is completed in all ways where these are at most `limit`, else in so
        # many by chance.
        limit = _COMPLETIONS.max_imputations if limit is None else limit
        unknown = rows.categories == sizes_of(self.alphabets)
        if rows.unknown is None and not unknown.any():
            return
        unknown = np.hstack([rows.mask(), unknown])
        n_inputs = rows.inputs.shape[1]
        # Levels are completed with the number that they are levels of.
        levels = [
            n_inputs + v.categorical
            for v in self.numbers.values()
            if v.categories is not None
        ]
        unknown[:, levels] = False
        incomplete = np.flatnonzero(unknown.any(axis=1))
        for part in equal_slices(len(incomplete), _COMPLETIONS.n_rows_per_block):
            index = incomplete[part]
            parts, chances = zip(
                *(self._complete(rows, i, unknown[i], limit) for i in index),
                strict=True,
            )
            inputs, categories = (
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("inputs", "categories")
            )
            ends = np.cumsum([len(part) for part in parts])[:-1]
            completed = EncodedRows(inputs, categories)
            yield Imputations(index, completed, ends, np.concatenate(chances))

    def _complete(
        self, rows: EncodedRows, i: int, unknown: NDArray[np.bool_], limit: int
    ) -> tuple[EncodedRows, NDArray[np.float64]]:
        """Complete the unknown entries of row i, in all ways or some; how probable."""
        n_inputs = rows.inputs.shape[1]
        indices = np.flatnonzero(unknown)
        known = [self._probabilities(index, n_inputs) for index in indices.tolist()]
        ways, probability = _ways(known, limit)
        inputs = np.tile(rows.inputs[i].astype(float), (len(ways), 1))
        categories = np.tile(rows.categories[i], (len(ways), 1))
        for index, way in zip(indices.tolist(), ways.T, strict=True):
            if index >= n_inputs:
                categories[:, index - n_inputs] = way
            elif index not in self.numbers:
                inputs[:, index] = 2 * way - 1
            else:
                values = self.numbers[index]
                inputs[:, index] = values.inputs[way]
                if values.categories is not None:
                    categories[:, values.categorical] = values.categories[way]
        return EncodedRows(inputs, categories), probability

    def _probabilities(self, index: int, n_inputs: int) -> NDArray[np.float64]:
        """Probabilities of the values of an input, or of a categorical's categories."""
        if index >= n_inputs:
            return self.alphabets[index - n_inputs].probability
        if index in self.numbers:
            n_values = len(self.numbers[index].inputs)
            return np.full(n_values, 1.0 / n_values)
        center = self.centers.get(index, 0.0)
        return np.array([1.0 - center, 1.0 + center]) / 2.0


def _ways(
    known: list[NDArray[np.float64]], limit: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Ways to choose values of known probabilities, all or some; their own."""
    if math.prod(map(len, known)) <= limit:
        ways = np.array(list(product(*(range(len(each)) for each in known))))
        parts = [each[way] for each, way in zip(known, ways.T, strict=True)]
        return ways, np.prod(parts, axis=0)
    rng = np.random.default_rng(0)
    # Each value as often as it is probable.
    ranks = [(rng.permutation(limit) + 0.5) / limit for _ in known]
    ways = [
        np.searchsorted(np.cumsum(each[:-1]), rank)
        for each, rank in zip(known, ranks, strict=True)
    ]
    return np.transpose(ways), np.full(limit, 1.0 / limit)


def _numbers(
    rows: EncodedRows, coding: InputCoding, sample_weight: NDArray[np.float64] | None
) -> dict[int, EmpiricalValues]:
    """Quantiles of the known values of each numeric column, and their levels."""
    weight = np.ones(len(rows)) if sample_weight is None else sample_weight
    categoricals = {
        columns[0]: categorical
        for categorical, columns in enumerate(coding.categoricals)
    }
    unknown, numbers = rows.mask(), {}
    for i, column in enumerate(coding.usable.tolist()):
        if coding.kind[column] != NUMERIC:
            continue
        known = np.flatnonzero(~unknown[:, i])
        known = known[np.argsort(rows.inputs[known, i], kind="stable")]
        probabilities = (
            np.arange(_COMPLETIONS.max_values) + 0.5
        ) / _COMPLETIONS.max_values
        upto = np.cumsum(weight[known])
        chosen = known[np.searchsorted(upto, probabilities * upto[-1])]
        categorical = categoricals.get(column)
        categories = (
            None if categorical is None else rows.categories[chosen, categorical]
        )
        numbers[i] = EmpiricalValues(rows.inputs[chosen, i], categorical, categories)
    return numbers
