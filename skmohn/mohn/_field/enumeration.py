"""Fields of few columns: all states, their moments and the likelihood."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._walsh import walsh_transform
from skmohn.mohn._field.layout import FieldData, FieldLayout
from skmohn.mohn._field.pseudo_likelihood import maximize_concave


@dataclass(frozen=True)
class EnumerationConstants:
    """Enumeration of states."""

    # Bits of the states: a column of two values has one, one of L categories log2(L),
    # rounded up.
    max_bits: int = tuned(20, "cost")


_ENUMERATION = EnumerationConstants()


@dataclass(frozen=True)
class States:
    """All states of the columns, numbered by bits; a bit of 1 is an input of -1."""

    layout: FieldLayout
    # By column, its first bit and how many it has.
    bits: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, layout: FieldLayout) -> Self:
        """Give each column as many bits as it has states to tell apart."""
        n_bits = [max((len(group) - 1).bit_length(), 1) for group in layout.groups]
        first = np.cumsum([0, *n_bits])[:-1].tolist()
        return cls(layout, tuple(zip(first, n_bits, strict=True)))

    @property
    def n_bits(self) -> int:
        """Bits of a state."""
        return sum(size for _, size in self.bits)

    @property
    def are_few(self) -> bool:
        """Whether all states can be enumerated."""
        return self.n_bits <= _ENUMERATION.max_bits

    @cached_property
    def is_state(self) -> NDArray[np.bool_]:
        """Mask of the numbers that are states, (2**n_bits,)."""
        number, valid = np.arange(1 << self.n_bits), True
        for group, (first, size) in zip(self.layout.groups, self.bits, strict=True):
            if len(group) > 1:
                valid = valid & ((number >> first) % (1 << size) < len(group))
        return np.broadcast_to(valid, number.shape)

    def to_signs(self, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        """Inputs of numbered states, (n_states, n_inputs)."""
        signs = np.full((len(numbers), len(self.layout.members)), -1.0)
        for group, (first, size) in zip(self.layout.groups, self.bits, strict=True):
            values = (numbers >> first) % (1 << size)
            if len(group) == 1:
                signs[:, group[0]] = 1.0 - 2.0 * values
            else:
                signs[np.arange(len(numbers)), group[values]] = 1.0
        return signs

    @cached_property
    def inputs(self) -> list[dict[int, float]]:
        """Each input as a Walsh polynomial in the bits: weights by sets of bits."""
        found = []
        for group, (first, size) in zip(self.layout.groups, self.bits, strict=True):
            if len(group) == 1:
                found.append({1 << first: 1.0})
                continue
            values = 2.0 * np.eye(len(group), 1 << size) - 1.0
            for row in walsh_transform(values) / (1 << size):
                sets = np.flatnonzero(row).tolist()
                found.append({int(s) << first: float(row[s]) for s in sets})
        return found

    def expand(self, term: Term) -> dict[int, float]:
        """Product of inputs of different columns as a Walsh polynomial in the bits."""
        product = {0: 1.0}
        for i in term:
            product = {
                own | other: weight * factor
                for own, weight in product.items()
                for other, factor in self.inputs[i].items()
            }
        return product


@dataclass(frozen=True)
class EnumeratedField:
    """Terms of a field over few columns, for any weights."""

    states: States
    # (n_sets,), int; sets of bits that the terms are made of.
    sets: NDArray[np.intp]
    expansion: NDArray[np.float64]  # (n_terms, n_sets)

    @classmethod
    def of(cls, states: States, terms: Sequence[Term]) -> Self:
        """Expand terms in the bits of the states."""
        expanded = [states.expand(term) for term in terms]
        sets = sorted({own for part in expanded for own in part})
        index = {own: s for s, own in enumerate(sets)}
        expansion = np.zeros((len(terms), len(sets)))
        for j, part in enumerate(expanded):
            expansion[j, [index[own] for own in part]] = [*part.values()]
        return cls(states, np.array(sets, dtype=np.intp), expansion)

    def distribute(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        """Probability of each number of a state, and the log partition function."""
        sums = np.zeros(1 << self.states.n_bits)
        sums[self.sets] = weights @ self.expansion
        energies = np.where(self.states.is_state, walsh_transform(sums), -np.inf)
        log_partition = float(np.logaddexp.reduce(energies))
        return np.exp(energies - log_partition), log_partition

    def moments(
        self, weights: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Log partition function, means of the terms and their covariance."""
        probabilities, log_partition = self.distribute(weights)
        of_sets = walsh_transform(probabilities)
        means = self.expansion @ of_sets[self.sets]
        # The product of two sets of bits is their symmetric difference.
        of_pairs = of_sets[self.sets[:, None] ^ self.sets]
        second = self.expansion @ of_pairs @ self.expansion.T
        return log_partition, means, second - np.outer(means, means)


def fit_likelihood(
    data: FieldData,
    field: EnumeratedField,
    products: NDArray[np.float64],  # (n_rows, n_terms)
    start: NDArray[np.float64],
    l2: float,
) -> NDArray[np.float64]:
    """Maximize the log likelihood less the penalty of squared weights."""
    n, sums = data.n_observations, data.weight @ products

    def objective(weights: NDArray[np.float64]) -> tuple[float, Any, Any]:
        log_partition, means, covariance = field.moments(weights)
        value = float(weights @ sums) - n * log_partition
        return value, sums - n * means, n * covariance

    return maximize_concave(objective, start, l2)
