"""Variables of a table: inputs, categoricals, and inputs with levels."""

# And how: evenly over its range or its categories, or as in the rows of a fit.

from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skmohn._core._rows import row_slices
from skmohn._core._tuned import tuned
from skmohn.mohn._table.coding import NUMERIC, InputCoding
from skmohn.mohn._table.rows import Categorical, EncodedRows

_QUARTILES: Final = 0.25, 0.75


@dataclass(frozen=True)
class VariableConstants:
    """Values that stand for all of a variable."""

    n_parts: int = tuned(128, "cost")


_VARIABLES = VariableConstants()
# The number of a variable, and from where to where it moves: an input and a category.
Contrast: TypeAlias = tuple[int, tuple[float, int], tuple[float, int]]


class Variable(NamedTuple):
    """Variable that varies alone: an input, a categorical, or an input with levels."""

    input: int | None  # number of the input; at least one of the two
    categorical: int | None  # number of the categorical
    # (n_levels,); probability of each category; of an input without a categorical, of
    # its only level.
    frequency: np.ndarray
    mean: np.ndarray  # (n_levels,); of the coded input in each
    square: np.ndarray  # (n_levels,); mean square of the coded input in each

    def moments(self) -> tuple[float, float]:
        """Mean and mean square of the coded input over all levels."""
        return float(self.frequency @ self.mean), float(self.frequency @ self.square)


def make_input(i: int, spread: float = 1.0) -> Variable:
    """Input by itself, of mean 0 and some variance: 1 for -1 and +1."""
    return Variable(i, None, np.ones(1), np.zeros(1), np.full(1, spread))


def make_categorical(k: int, n_categories: int) -> Variable:
    """Categorical whose categories are equally probable."""
    nothing = np.zeros(n_categories)
    return Variable(
        None, k, np.full(n_categories, 1.0 / n_categories), nothing, nothing
    )


def make_levels(i: int, k: int, thresholds: NDArray[np.float64]) -> Variable:
    """Input that is uniform over [-1, 1], with levels that begin at thresholds."""
    edges = np.clip(np.concatenate([[-1.0], thresholds, [1.0]]), -1.0, 1.0)
    low, high = edges[:-1], edges[1:]
    square = (low**2 + low * high + high**2) / 3.0
    return Variable(i, k, (high - low) / 2.0, (low + high) / 2.0, square)


def make_variables(
    n_inputs: int, alphabets: tuple[Categorical, ...] = ()
) -> list[Variable]:
    """Inputs of -1 and +1 and categoricals, each by itself."""
    inputs = [make_input(i) for i in range(n_inputs)]
    return inputs + [
        make_categorical(k, alphabet.size) for k, alphabet in enumerate(alphabets)
    ]


def input_moments(
    n_inputs: int, variables: list[Variable]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and variances of inputs; 0 and 1 of those in no variable."""
    means, variances = np.zeros(n_inputs), np.ones(n_inputs)
    for variable in variables:
        if variable.input is not None:
            mean, square = variable.moments()
            means[variable.input] = mean
            variances[variable.input] = max(square - mean**2, 0.0)
    return means, variances


@dataclass(frozen=True)
class Marginals:
    """Distribution of each input and categorical in the rows of a fit."""

    # Of known values alone. Joint distributions are not kept.

    inputs: np.ndarray  # (n_measured,), int; numbers of the model's inputs
    mean: np.ndarray  # (n_measured,); of these, coded
    square: np.ndarray  # (n_measured,); mean squares
    # (n_categories,); probabilities of the categories of each categorical.
    categories: tuple = ()
    # By categorical, the moments of the input whose levels it has in each of them.
    levels: dict = field(default_factory=dict)
    # (2,); by numeric input, its quartiles or, if these are equal, its lowest and its
    # highest value.
    ends: dict = field(default_factory=dict)
    # (n_values,); by numeric input, values that are equally probable and stand for all:
    # two of each of 128 parts of the rows, with its mean and its variance. Empty where
    # moments suffice.
    values: dict = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: EncodedRows,
        coding: InputCoding,
        weight: NDArray[np.float64] | None = None,
        inputs: NDArray[np.intp] | None = None,
        with_values: bool = False,
    ) -> Self:
        """Measure the columns of some rows."""
        n_rows, n_inputs = rows.inputs.shape
        weight = np.ones(n_rows) if weight is None else weight
        inputs = np.arange(n_inputs) if inputs is None else inputs
        mean, square = np.zeros((2, len(inputs)))
        ends, numbers = {}, {}
        is_numeric = coding.kind[coding.usable] == NUMERIC
        # Some columns at a time: planes are written out.
        for part in row_slices((len(inputs), n_rows)):
            block = inputs[part]
            values, known = rows.columns(block)
            weights = known * weight[:, None]
            total = np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
            mean[part] = (weights * values).sum(axis=0) / total
            square[part] = (weights * values**2).sum(axis=0) / total
            for k in np.flatnonzero(is_numeric[block]).tolist():
                own = known[:, k]
                i = int(block[k])
                ends[i], numbers[i] = _quantiles(values[own, k], weight[own])
        categories, levels = [], {}
        usable = coding.usable.tolist()
        pairs = zip(coding.categoricals, coding.alphabets, strict=True)
        for k, ((column, *_), (size, *_)) in enumerate(pairs):
            category, weighted = rows.categories[:, k], [weight]
            if column in coding.thresholds:
                values = np.asarray(rows.inputs[:, usable.index(column)], dtype=float)
                weighted += [weight * values, weight * values**2]
            counts, *sums = (
                np.bincount(category, numbers, minlength=size + 1)[:size]
                for numbers in weighted
            )
            categories.append(counts / max(counts.sum(), np.finfo(float).tiny))
            if sums:
                positive = np.maximum(counts, np.finfo(float).tiny)
                levels[k] = tuple(total / positive for total in sums)
        parts = inputs, mean, square, tuple(categories)
        return cls(*parts, levels, ends, numbers if with_values else {})

    def variable(self, uniform: Variable) -> Variable:
        """Variable with the distribution that it had in the fit."""
        i, k = uniform.input, uniform.categorical
        if k is not None:
            moments = self.levels.get(k, (uniform.mean, uniform.square))
            return Variable(i, k, self.categories[k], *moments)
        index = np.searchsorted(self.inputs, i)
        if index == len(self.inputs) or self.inputs[index] != i:
            return uniform
        one = slice(index, index + 1)
        return Variable(i, None, np.ones(1), self.mean[one], self.square[one])


def _quantiles(
    values: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of a move, which are among the values, and values that stand for all."""
    order = np.argsort(values, kind="stable")
    values, upto = values[order], np.cumsum(weight[order])
    upto /= upto[-1]
    ends = values[np.searchsorted(upto, _QUARTILES)]
    if ends[0] == ends[1]:
        ends = values[[0, -1]]
    # Integrals of the quantiles and of their squares, up to the end of each part.
    parts = np.linspace(0.0, 1.0, _VARIABLES.n_parts + 1)
    mean, square = (
        _VARIABLES.n_parts
        * np.diff(np.interp(parts, np.append(0.0, upto), _integrate(power, upto)))
        for power in (values, values**2)
    )
    std = np.sqrt(np.maximum(square - mean**2, 0.0))
    return ends, np.stack([mean - std, mean + std], axis=1).ravel()


def _integrate(
    values: NDArray[np.float64], upto: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sums of values times the steps of a cumulative sum, from 0."""
    return np.append(0.0, np.cumsum(values * np.diff(upto, prepend=0.0)))
