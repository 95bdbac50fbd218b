"""Unknown inputs of rows: imputations by the values of training rows."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

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
# Of the values that stand for all.
_PROBABILITIES = (np.arange(_COMPLETIONS.max_values) + 0.5) / _COMPLETIONS.max_values


class EmpiricalValues(NamedTuple):
    """Possible values of a column: training values, equally probable."""

    inputs: np.ndarray  # (n_values,)
    categorical: int | None = None  # the categorical of the column's levels
    categories: np.ndarray | None = None  # (n_values,), int; the level of each value


@dataclass(frozen=True)
class MissingInputs:
    """Distributions of unknown inputs and categories."""

    alphabets: tuple[Categorical, ...] = ()  # of each categorical
    # By input, those of more than two values or of a rare one; others are -1 or +1.
    numbers: dict[int, EmpiricalValues] = field(default_factory=dict)
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
        return cls(coding.alphabets, _numbers(rows, coding, sample_weight))

    def variance(
        self, mean: Callable[[EncodedRows], NDArray[np.float64]], rows: EncodedRows
    ) -> NDArray[np.float64]:
        """Mean squares of completions around each row; 0 for complete rows."""
        variance = np.zeros(len(rows))
        for i, apart in self.deviations(mean, rows):
            variance[i] = np.mean(apart**2)
        return variance

    def deviations(
        self, mean: Callable[[EncodedRows], NDArray[np.float64]], rows: EncodedRows
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield each incomplete row's index, and its completions less its own mean."""
        for some, completed, ends in self.imputations(rows):
            values = np.split(mean(completed), ends)
            own = mean(rows.take(some))
            for i, part, center in zip(some, values, own, strict=True):
                yield i, part - center

    def imputations(
        self, rows: EncodedRows, most: int | None = None
    ) -> Iterator[tuple[NDArray[np.intp], EncodedRows, NDArray[np.intp]]]:
        """Yield indices of incomplete rows, completions, and where all but one end."""
        # A row is completed in all ways where there are at most `most`, else in so many
        # by chance.
        most = _COMPLETIONS.max_imputations if most is None else most
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
        for start in range(0, len(incomplete), _COMPLETIONS.n_rows_per_block):
            some = incomplete[start : start + _COMPLETIONS.n_rows_per_block]
            parts = [self._complete(rows, i, unknown[i], most) for i in some]
            inputs, categories = (
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("inputs", "categories")
            )
            ends = np.cumsum([len(part) for part in parts])[:-1]
            yield some, EncodedRows(inputs, categories), ends

    def _complete(
        self, rows: EncodedRows, i: int, unknown: NDArray[np.bool_], most: int
    ) -> EncodedRows:
        """Complete the unknown entries of row i, in all ways or some."""
        n_inputs = rows.inputs.shape[1]
        indices = np.flatnonzero(unknown)
        sizes = [self._n_values(index, n_inputs) for index in indices.tolist()]
        if math.prod(sizes) <= most:
            ways = np.array(list(product(*map(range, sizes))))
        else:
            rng = np.random.default_rng(0)
            # Each value of an input as often as its others.
            ways = [rng.permutation(most) % size for size in sizes]
            ways = np.transpose(ways)
        inputs = np.tile(rows.inputs[i].astype(float), (len(ways), 1))
        categories = np.tile(rows.categories[i], (len(ways), 1))
        for index, way in zip(indices.tolist(), ways.T, strict=True):
            if index >= n_inputs:
                known = self._categories_of(index - n_inputs)
                categories[:, index - n_inputs] = known[way]
            elif index not in self.numbers:
                inputs[:, index] = 2 * way - 1
            else:
                values = self.numbers[index]
                inputs[:, index] = values.inputs[way]
                if values.categories is not None:
                    categories[:, values.categorical] = values.categories[way]
        return EncodedRows(inputs, categories)

    def _categories_of(self, categorical: int) -> NDArray[np.intp]:
        """Categories of a categorical, equally probable: frequent ones repeat."""
        alphabet = self.alphabets[categorical]
        if alphabet.frequencies is None:
            return np.arange(alphabet.size)
        upto = np.cumsum(alphabet.probability)
        return np.searchsorted(upto, _PROBABILITIES * upto[-1])

    def _n_values(self, index: int, n_inputs: int) -> int:
        """Number of values of an input, or of categories of a categorical."""
        if index >= n_inputs:
            return len(self._categories_of(index - n_inputs))
        return len(self.numbers[index].inputs) if index in self.numbers else 2


def _numbers(
    rows: EncodedRows, coding: InputCoding, sample_weight: NDArray[np.float64] | None
) -> dict[int, EmpiricalValues]:
    """Quantiles of the known values of columns, and their levels."""
    weight = np.ones(len(rows)) if sample_weight is None else sample_weight
    categoricals = {
        columns[0]: categorical
        for categorical, columns in enumerate(coding.categoricals)
    }
    unknown, numbers = rows.mask(), {}
    for i, column in enumerate(coding.usable.tolist()):
        if coding.kind[column] != NUMERIC and column not in coding.centers:
            continue
        known = np.flatnonzero(~unknown[:, i])
        known = known[np.argsort(rows.inputs[known, i], kind="stable")]
        upto = np.cumsum(weight[known])
        chosen = known[np.searchsorted(upto, _PROBABILITIES * upto[-1])]
        categorical = categoricals.get(column)
        categories = (
            None if categorical is None else rows.categories[chosen, categorical]
        )
        numbers[i] = EmpiricalValues(rows.inputs[chosen, i], categorical, categories)
    return numbers
