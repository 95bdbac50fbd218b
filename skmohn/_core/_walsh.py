"""Functions of n inputs as sums of weighted products, and the Walsh transform."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core import _walsh_kernels as _kernels
from skmohn._core._types import Term


class PackedRows(Protocol):
    """Rows of inputs that give some columns of all rows as an array."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


def flatten_sets(
    sets: Sequence[Sequence[int]] | NDArray[np.integer],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Convert sets of inputs to compressed form: where each begins, and members."""
    # In an array, (n_sets, longest), -1 fills up shorter sets.
    if isinstance(sets, np.ndarray):
        is_member = sets >= 0
        indptr = np.zeros(len(sets) + 1, dtype=np.int64)
        np.cumsum(is_member.sum(axis=1), out=indptr[1:])
        return indptr, sets[is_member].astype(np.int32)
    ends = accumulate(map(len, sets), initial=0)
    indptr = np.fromiter(ends, dtype=np.int64, count=len(sets) + 1)
    flat = chain.from_iterable(sets)
    members = np.fromiter(flat, dtype=np.int32, count=indptr[-1])
    return indptr, members


def evaluate(
    inputs: NDArray | PackedRows,
    indptr: NDArray[np.int64],
    members: NDArray[np.int32],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum the weighted products of sets in compressed form, in their order, by row."""
    values = np.zeros(len(inputs))
    used, index = np.unique(members, return_inverse=True)
    _kernels.evaluate(
        np.ascontiguousarray(inputs[:, used], dtype=np.float64),
        indptr,
        index.astype(np.int32),
        weights,
        values,
    )
    return values


@dataclass(frozen=True)
class WalshPolynomial:
    """Immutable set of weights: ``f(x) = intercept + sum_j w_j prod_i x_i``."""

    terms: tuple  # inputs that each weight connects; none is empty
    weights: np.ndarray  # (n_terms,)
    intercept: float
    # Terms in compressed form, with `members`.
    indptr: np.ndarray = field(init=False, repr=False)
    members: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        indptr, members = flatten_sets(self.terms)
        object.__setattr__(self, "indptr", indptr)
        object.__setattr__(self, "members", members)

    @classmethod
    def sort(
        cls,
        terms: Sequence[Term],
        coef: NDArray[np.float64] | Sequence[float],
        intercept: float,
    ) -> Self:
        """Make a polynomial with terms ordered by size, then by their inputs."""
        # The empty set among the terms is added to the intercept.
        order = sorted(range(len(terms)), key=lambda j: (len(terms[j]), terms[j]))
        order = [j for j in order if terms[j]]
        constant = math.fsum(coef[j] for j in range(len(terms)) if not terms[j])
        return cls(
            tuple(tuple(terms[j]) for j in order),
            np.asarray(coef, dtype=float)[order],
            float(intercept + constant),
        )

    @classmethod
    def collect(
        cls, weights: Iterable[tuple[Iterable[int], float]], intercept: float = 0.0
    ) -> Self:
        """Add up the weights of equal sets, in any order; equal functions are equal."""
        # Weights that cancel are dropped. Empty sets are added to the intercept.
        collected: dict[Term, list[float]] = {}
        for members, weight in weights:
            collected.setdefault(tuple(sorted(members)), []).append(weight)
        # fsum rounds once: what cancels is 0, and the order of adding has no effect.
        sums = {term: math.fsum(parts) for term, parts in collected.items()}
        sums = {term: weight for term, weight in sums.items() if weight or not term}
        return cls.sort(list(sums), list(sums.values()), intercept)

    def times(self, factor: float) -> "WalshPolynomial":
        """Function times a number."""
        return WalshPolynomial(
            self.terms, factor * self.weights, factor * self.intercept
        )

    @property
    def n_variables(self) -> int:
        """One more than the largest variable in a term."""
        return int(self.members.max(initial=-1)) + 1

    @property
    def has_products(self) -> bool:
        """Whether a term has several inputs."""
        return len(self.members) > len(self.terms)

    @property
    def variance(self) -> float:
        """Variance over uniform inputs of -1 and +1, where terms are orthonormal."""
        return float(self.weights @ self.weights)

    def predict(self, inputs: NDArray | PackedRows) -> NDArray[np.float64]:
        """Evaluate rows of inputs; an input of 0 averages over its two values."""
        return self.intercept + evaluate(
            inputs, self.indptr, self.members, self.weights
        )

    def exact_value(self, spins: NDArray) -> float:
        """Value at one row of -1 and +1, rounded once."""
        minus = set(np.flatnonzero(spins < 0).tolist())
        signs = (
            -1.0 if len(minus.intersection(term)) % 2 else 1.0 for term in self.terms
        )
        return math.fsum([self.intercept, *(self.weights * list(signs))])


def cube_bounds(constant: float, weights: NDArray[np.float64]) -> tuple[float, float]:
    """Bounds of a sum of products of inputs that are all in [-1, 1]."""
    radius = float(np.sum(np.abs(weights)))
    return constant - radius, constant + radius


def within_cube(
    values: NDArray[np.float64],
    inputs: NDArray[np.float64],
    constant: float,
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Values of a sum of products, in rows beyond the cube no more than within it."""
    # Products of inputs further out grow without end, and nothing is known there.
    is_beyond = is_beyond_cube(inputs)
    if not is_beyond.any():
        return values
    held = np.clip(values, *cube_bounds(constant, weights))
    return np.where(is_beyond, held, values)


def is_beyond_cube(inputs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows have an input outside of [-1, 1]."""
    return np.any(np.abs(inputs) > 1.0, axis=1)


def walsh_transform(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of ``values[x] * prod_{i in Q} x_i`` over all vertices, for all sets Q."""
    # Bit i of an index is 1 where input i is -1, or where it is in the set. The
    # transform is its own inverse but for a factor of the length. O(n 2^n).
    shape = values.shape
    size = shape[-1]
    n_bits = size.bit_length() - 1
    done = 0
    while done < n_bits:
        # Several bits at once are a product with a small Hadamard matrix. The axis
        # comes back in its place when all bits have had their turn.
        bits = min(5, n_bits - done)
        block = values.reshape(-1, 1 << bits, size >> bits)
        values = np.swapaxes(block, 1, 2) @ _HADAMARD[bits]
        done += bits
    return values.reshape(shape)


def _hadamard(n_bits: int) -> NDArray[np.float64]:
    matrix = np.ones((1, 1))
    for _ in range(n_bits):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


_HADAMARD = [_hadamard(n_bits) for n_bits in range(6)]
