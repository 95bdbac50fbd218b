"""Parity columns of a data set: how they are made, compared and screened."""

# Both designs answer the same questions about columns ``u_Q(x) = prod_{i in Q} x_i``.
# :class:`PackedDesign` holds -1/+1 inputs at one bit a value; :class:`DenseDesign`
# takes any inputs in [-1, 1] and weighted samples.

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skmohn._core._numba import can_look_up
from skmohn._core._rows import are_signs, distinct_rows, equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._walsh import flatten_sets
from skmohn.mohn._design import product_kernels as _kernels
from skmohn.mohn._design.lookup import Stems, count_words, lay_out
from skmohn.mohn._design.pair_screening import PAIRS, ScorePairs

# Words are handled in blocks of 8, so that loops over them have no scalar remainder.
_BLOCK: Final = 8 * 64


@dataclass(frozen=True)
class DesignConstants:
    """Screening of packed columns."""

    # Most steps of a magnitude, and the root mean squares that they are. Where the best
    # few sets are wanted the correlation with the exact score is 0.994 for Gaussian
    # residuals; with 0.978 those that are significant are still far above the last of
    # many thousands.
    fine_steps: tuple[int, float] = tuned((7, 2.8), "benchmarks/ablation.py")
    coarse_steps: tuple[int, float] = tuned((3, 1.95), "benchmarks/ablation.py")
    # Means below this change the score of a candidate by less than a tenth.
    max_mean: float = tuned(0.3, "benchmarks/ablation.py")
    # Of the inner products of all pairs of inputs, and where bits become numbers.
    n_inputs_per_product: int = tuned(64, "cost")
    n_inputs_unpacked: int = tuned(1024, "cost")


_DESIGN = DesignConstants()


class BitPlanes(Protocol):
    """Inputs that are packed; they make their own design."""

    def design(self) -> Design: ...

    def number_rows(self) -> NDArray[np.intp]: ...


def make_design(
    inputs: NDArray | BitPlanes, sample_weight: NDArray[np.float64] | None = None
) -> Design:
    """Choose the fastest design that can hold the data, values in [-1, 1]."""
    if not isinstance(inputs, np.ndarray):
        return inputs.design()
    if sample_weight is None and are_signs(inputs):
        return PackedDesign(inputs)
    return DenseDesign(inputs, sample_weight)


def number_rows(inputs: BitPlanes | NDArray) -> NDArray[np.intp]:
    """Numbers of distinct rows, shape (n_samples,)."""
    if not isinstance(inputs, np.ndarray):
        return inputs.number_rows()
    return distinct_rows(inputs)[1]


def find_equal(columns: NDArray | Sequence[bytes]) -> NDArray[np.intp]:
    """First column that is equal to each, shape (n_columns,)."""
    first = {}
    return np.array(
        [first.setdefault(bytes(column), i) for i, column in enumerate(columns)]
    )


def as_tuples(sets: NDArray[np.integer]) -> list[Term]:
    """Rows of increasing members, before which shorter sets have -1, as tuples."""
    starts = (sets < 0).sum(axis=1).tolist()
    return [tuple(row[k:]) for row, k in zip(sets.tolist(), starts, strict=True)]


def pack_signs(rows: NDArray) -> NDArray[np.uint64]:
    """Pack rows of shape (n, D) into words of shape (n, W); a set bit is negative."""
    n_rows, n_samples = rows.shape
    n_blocks = -(-n_samples // _BLOCK)
    packed = np.zeros((n_rows, n_blocks * _BLOCK // 8), dtype=np.uint8)
    for block in equal_slices(n_rows, _DESIGN.n_inputs_unpacked):
        bits = np.packbits(rows[block] < 0, axis=1, bitorder="little")
        packed[block, : bits.shape[1]] = bits
    return packed.view(np.uint64)


# The inputs of a design, the empty product, and the kernels that screen all sets of one
# order and those that extend others.
_KernelInputs: TypeAlias = tuple[
    NDArray, NDArray, Callable[..., int], Callable[..., int]
]


class _Design:
    """Search for the sets that go best with a residual, which both designs share."""

    # (n_features,), int; the variant that each input codes, where several code the
    # same.
    variants: NDArray[np.intp] | None = None
    n_features: int
    score_cost: float

    if TYPE_CHECKING:

        def columns(self, sets: Sequence[Term] | NDArray[np.int32]) -> NDArray: ...

        @property
        def _kernel_inputs(self) -> _KernelInputs: ...

        def _compared(self, residual: NDArray[np.float64]) -> tuple[Any, ...]: ...

    @cached_property
    def first_equal(self) -> NDArray[np.intp]:
        """First input that is equal to each, shape (n_features,)."""
        return find_equal(self.columns([(i,) for i in range(self.n_features)]))

    def screen(
        self, residual: NDArray[np.float64], order: int, size: int
    ) -> list[Term]:
        """Find the sets of one order that go best with a residual, the best first."""
        inputs, constant, kernel, _ = self._kernel_inputs
        stem, products = np.arange(order - 1, dtype=np.int32), constant.repeat(order, 0)
        given = inputs, stem, products, *self._compared(residual)
        return _list_best(kernel, given, size, order)

    def screening_cost(self, order: int) -> float:
        """Rough nanoseconds that :meth:`screen` takes, from counts alone."""
        n_sets = math.comb(self.n_features, order)
        n_parents = math.comb(self.n_features, order - 1)
        return (n_sets + n_parents) * self.score_cost

    def screen_children(
        self,
        residual: NDArray[np.float64],
        parents: Sequence[Term],
        columns: NDArray,
        size: int,
    ) -> list[Term]:
        """Find the sets ``parent + {i}`` that go best with a residual, each once."""
        # The columns are the parity columns of the parents.
        # A set with k parents among them is met k times.
        inputs, _, _, kernel = self._kernel_inputs
        given = inputs, columns, *flatten_sets(parents), *self._compared(residual)
        longest = 1 + max(map(len, parents))
        return list(dict.fromkeys(_list_best(kernel, given, 3 * size, longest)))


def _list_best(
    kernel: Callable[..., int], given: tuple[Any, ...], size: int, longest: int
) -> list[Term]:
    """Sets that a kernel finds, by score, as sorted tuples."""
    scores, sets = np.empty(size), np.empty((size, longest), dtype=np.int32)
    n_found = kernel(*given, scores, sets)
    order = np.argsort(-scores[:n_found])
    return as_tuples(np.sort(sets[order], axis=1))


class ComparedBits(NamedTuple):
    """Residuals in the layout in which packed columns are compared with them."""

    # (n_residuals, 3, W), uint64; signs, and two bits of the magnitudes.
    planes: np.ndarray
    # (1 + n_residuals, 64 * n_words), int8; ones, and the signed numbers, of words that
    # hold samples.
    factors: np.ndarray
    totals: np.ndarray  # (n_residuals,); of the magnitudes
    sums: np.ndarray  # (n_residuals,); of the signed numbers
    steps: np.ndarray  # (n_residuals,); what a magnitude of 1 stands for


def _nonzero(spread: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    return np.where(spread > 1e-9 * scale, spread, np.inf)


class PackedDesign(_Design):
    """Unweighted samples of -1/+1 inputs, one bit a value."""

    def __init__(
        self,
        inputs: NDArray,  # (n_samples, n_features); values -1 and +1
    ) -> None:
        self._hold(pack_signs(inputs.T), len(inputs))

    def _hold(self, bits: NDArray[np.uint64], n_samples: int) -> None:
        self.n_samples, self.n_features = n_samples, len(bits)
        self.weight_sum = float(n_samples)
        self.weights = None
        self.bits = bits
        self.score_cost = 10 + 1.5 * bits.shape[1]

    @classmethod
    def of_bits(cls, bits: NDArray[np.uint64], n_samples: int) -> Self:
        """Design of inputs that are packed."""
        design = cls.__new__(cls)
        design._hold(bits, n_samples)
        return design

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Design of some samples."""
        # Some inputs at a time: as numbers they take many times the room.
        blocks = range(0, self.n_features, _DESIGN.n_inputs_unpacked)
        parts = (
            self.bits[start : start + _DESIGN.n_inputs_unpacked] for start in blocks
        )
        bits = [pack_signs(self.unpack(part, np.int8)[:, rows]) for part in parts]
        return self.of_bits(np.concatenate(bits), len(rows))

    def of_products(self, sets: Sequence[Term] | NDArray[np.int32]) -> Self:
        """Design whose inputs are products of inputs of this one."""
        return self.of_bits(self.columns(sets), self.n_samples)

    def columns(self, sets: Sequence[Term] | NDArray[np.int32]) -> NDArray[np.uint64]:
        """Parity columns of ``sets``, packed: shape (n_sets, W)."""
        indptr, members = flatten_sets(sets)
        columns = np.empty((len(sets), self.bits.shape[1]), dtype=np.uint64)
        _kernels.packed_columns(self.bits, indptr, members, columns)
        return columns

    def gram(
        self, left: NDArray[np.uint64], right: NDArray[np.uint64]
    ) -> NDArray[np.float64]:
        """Inner products of two groups of columns."""
        gram = np.empty((len(left), len(right)))
        _kernels.packed_gram(left, right, left is right, self.n_samples, gram)
        return gram

    def project(
        self, columns: NDArray[np.uint64], vector: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Inner products of columns with a vector of shape (n_samples,)."""
        projection = np.empty(len(columns))
        _kernels.packed_project(columns, self._padded(vector), projection)
        return projection

    def combine(
        self, columns: NDArray[np.uint64], coef: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sum of columns times coefficients, shape (n_samples,)."""
        total = np.zeros(self.bits.shape[1] * 64)
        _kernels.packed_combine(columns, coef, total)
        return total[: self.n_samples]

    def spread(self, columns: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Sums of squares of the centered columns; inf for those that are constant."""
        sums = self.gram(columns, np.zeros_like(self.bits[:1]))[:, 0]
        return _nonzero(self.weight_sum - sums**2 / self.weight_sum, self.weight_sum)

    def unpack(self, columns: NDArray[np.uint64], dtype: type[np.generic]) -> NDArray:
        """Columns as numbers, shape (n_columns, n_samples)."""
        bits = np.unpackbits(
            columns.view(np.uint8), axis=1, bitorder="little", count=self.n_samples
        )
        return np.where(bits, dtype(-1), dtype(1))

    @cached_property
    def is_balanced(self) -> bool:
        """Whether no input and no product of two has a mean worth correcting for."""
        # A screening then ranks its candidates without counting means, which matters
        # for speed alone: the best ones are scored exactly later. Wide tables are not
        # tested: looking at all pairs would take longer than counting means.
        if self.n_features >= PAIRS.min_wide:
            return False
        constant = np.zeros_like(self.bits[:1])
        inputs = np.vstack([constant, self.bits])
        for block in equal_slices(len(inputs), _DESIGN.n_inputs_per_product):
            # Each pair once, and none of an input with itself.
            means = self.gram(inputs[block], inputs[: block.stop])
            means = np.tril(means, block.start - 1)
            if np.abs(means).max() >= _DESIGN.max_mean * self.n_samples:
                return False
        return True

    @cached_property
    def _whole(self) -> NDArray[np.uint64]:
        """Bits of all samples, shape (1, W)."""
        return pack_signs(np.full((1, self.n_samples), -1, dtype=np.int8))

    @cached_property
    def _codes(self) -> NDArray[np.uint8]:
        """Inputs in the layout of lookup tables."""
        return lay_out(self.bits[:, : count_words(self.n_samples)])

    @cached_property
    def _groups(self) -> NDArray[np.uint64]:
        """Inputs by groups of 64 side by side, shape (n_groups, W, 64)."""
        n_groups, n_words = -(-self.n_features // 64), self.bits.shape[1]
        groups = np.zeros((n_groups * 64, n_words), dtype=np.uint64)
        groups[: self.n_features] = self.bits
        groups = groups.reshape(n_groups, 64, n_words).transpose(0, 2, 1)
        return np.ascontiguousarray(groups)

    @cached_property
    def _inverse_lengths(self) -> NDArray[np.float64]:
        """One over the length of a centered product, by its negative samples."""
        means = 1 - 2 * np.arange(self.n_samples + 1) / self.n_samples
        return 1 / np.sqrt(_nonzero(self.n_samples * (1 - means**2), self.n_samples))

    def round(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """Residual as it is compared with pairs, shape (n_samples,)."""
        steps, step = _coarsely(residual)
        signed: NDArray[np.float64] = np.where(residual < 0, -step, step)
        return signed * steps

    def compare(self, residuals: NDArray[np.float64]) -> ComparedBits:
        """Lay residuals out for many pairs; see `PairTable`."""
        rounded = [_coarsely(residual) for residual in residuals]
        steps = np.array([steps for steps, _ in rounded], dtype=np.int8)
        signed = np.where(residuals < 0, -steps, steps)
        planes = [
            _planes_of(residual, part, 2)
            for residual, (part, _) in zip(residuals, rounded, strict=True)
        ]
        planes = np.stack(planes)
        n_words = count_words(self.n_samples)
        factors = np.zeros((1 + len(signed), 64 * n_words), dtype=np.int8)
        factors[0, : self.n_samples] = 1
        factors[1:, : self.n_samples] = signed
        return ComparedBits(
            planes,
            factors,
            steps.sum(axis=1, dtype=np.float64),
            signed.sum(axis=1, dtype=np.float64),
            np.array([step for _, step in rounded]),
        )

    def scorer(self, compared: ComparedBits) -> Callable[[range], ScorePairs]:
        """Scorer of pairs of some inputs with others; see `PairTable`."""
        stems = Stems(compared.factors) if can_look_up() else None
        return partial(self._begin_pairs, compared, stems)

    def _begin_pairs(
        self, compared: ComparedBits, stems: Stems | None, first: range
    ) -> ScorePairs:
        bits = self.bits[first.start : first.stop]
        if stems is None:
            return partial(self._score_pairs, compared, bits)
        stems.hold(bits, self._whole)
        return partial(self._score_pairs, compared, stems)

    def _score_pairs(
        self,
        compared: ComparedBits,
        stems: Stems | NDArray[np.uint64],
        second: range,
        wanted: NDArray[np.float32],
        scores: NDArray[np.float32],
    ) -> None:
        groups = slice(second.start // 64, -(-second.stop // 64))
        rest = compared.sums, compared.steps, self._inverse_lengths
        if isinstance(stems, Stems):
            products = stems.multiply(self._codes[groups])
            _kernels.packed_scores(stems.sums, products, *rest, wanted, scores)
            return
        scratch = np.empty((2, 64), dtype=np.uint64)
        _kernels.packed_pairs(
            stems,
            self._groups[groups],
            compared.planes,
            compared.totals,
            *rest,
            scratch,
            scores,
        )

    def _padded(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        padded = np.zeros(self.bits.shape[1] * 64)
        padded[: self.n_samples] = vector
        return padded

    @property
    def _kernel_inputs(self) -> _KernelInputs:
        kernels = _kernels.screen_order_packed, _kernels.screen_packed
        return self.bits, np.zeros_like(self.bits[:1]), *kernels

    def _compared(
        self, residual: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint64], float, int, bool, NDArray[np.float64]]:
        """Arrays that kernels compare sets with, and a scratch row."""
        return (
            *self._quantize(residual),
            self.n_samples,
            self.is_balanced,
            np.empty(self.n_features),
        )

    def _quantize(
        self, residual: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint64], float]:
        """Quantize a residual: sign, three magnitude bits, scratch row; and its sum."""
        # Seven steps up to 2.8 standard deviations keep the correlation with the exact
        # score at 0.994 for Gaussian residuals; the best sets are scored exactly later.
        # A fold may be explained to the last bit.
        scale = np.sqrt(np.mean(residual**2)) or 1.0
        steps = _to_steps(residual, scale, *_DESIGN.fine_steps)
        planes = _planes_of(residual, steps, 3)
        # And a row for scratch.
        planes = np.concatenate([planes, np.zeros_like(planes[:1])])
        return planes, float(steps.sum(dtype=np.int64))


def _to_steps(
    residual: NDArray[np.float64], scale: float, n_steps: int, reach: float
) -> NDArray[np.uint8]:
    """Magnitudes of a residual, up to `reach` times a scale, in so many steps."""
    steps = np.rint(np.abs(residual) * (n_steps / reach) / scale)
    return np.minimum(steps, n_steps).astype(np.uint8)


def _coarsely(residual: NDArray[np.float64]) -> tuple[NDArray[np.uint8], float]:
    """Magnitudes in few steps, and what one is; zeros are samples that do not count."""
    n_counting = max(np.count_nonzero(residual), 1)
    scale = np.sqrt(np.sum(residual**2) / n_counting) or 1.0
    return _to_steps(residual, scale, *_DESIGN.coarse_steps), scale * (
        _DESIGN.coarse_steps[1] / _DESIGN.coarse_steps[0]
    )


def _planes_of(
    residual: NDArray[np.float64], steps: NDArray[np.uint8], n_bits: int
) -> NDArray[np.uint64]:
    """Signs and the bits of the magnitudes, packed."""
    bits = [residual < 0, *(steps >> b & 1 for b in range(n_bits))]
    return pack_signs(-(np.stack(bits) != 0).astype(np.int8))


class DenseDesign(_Design):
    """Weighted samples of inputs in [-1, 1]."""

    def __init__(
        self,
        inputs: NDArray,  # (n_samples, n_features)
        # (n_samples,); non-negative weights; None for equal ones.
        sample_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.n_samples, self.n_features = inputs.shape
        self.inputs = np.ascontiguousarray(inputs.T, dtype=np.float64)
        self._given_weight = sample_weight
        if sample_weight is None:
            sample_weight = np.ones(self.n_samples)
        self.weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
        self.weight_sum = float(self.weights.sum())
        self.score_cost = 10 + 1.0 * self.n_samples

    def take(self, rows: NDArray[np.intp]) -> Design:
        """Design of some samples, which may be -1 and +1 without weights."""
        weight = self._given_weight
        inputs = self.inputs[:, rows].T
        return make_design(inputs, None if weight is None else weight[rows])

    def of_products(self, sets: Sequence[Term] | NDArray[np.int32]) -> DenseDesign:
        """Design whose inputs are products of inputs of this one."""
        return DenseDesign(self.columns(sets).T, self._given_weight)

    def columns(self, sets: Sequence[Term] | NDArray[np.int32]) -> NDArray[np.float64]:
        """Parity columns of ``sets``, shape (n_sets, n_samples)."""
        indptr, members = flatten_sets(sets)
        columns = np.empty((len(sets), self.n_samples))
        _kernels.dense_columns(self.inputs, indptr, members, columns)
        return columns

    def gram(
        self, left: NDArray[np.float64], right: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weighted inner products of two groups of columns."""
        weighted = left if self._given_weight is None else left * self.weights
        return weighted @ right.T

    def project(
        self, columns: NDArray[np.float64], vector: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weighted inner products of columns with a vector of shape (n_samples,)."""
        return columns @ (self.weights * vector)

    def combine(
        self, columns: NDArray[np.float64], coef: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sum of columns times coefficients, shape (n_samples,)."""
        return coef @ columns

    def spread(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of squares of the centered columns; inf for those that are constant."""
        sums = columns @ self.weights
        squares = np.einsum("ij,ij,j->i", columns, columns, self.weights)
        return _nonzero(squares - sums**2 / self.weight_sum, self.weight_sum)

    def unpack(self, columns: NDArray[np.float64], dtype: type[np.generic]) -> NDArray:
        """Columns as numbers, shape (n_columns, n_samples)."""
        return columns.astype(dtype)

    def round(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """Residual as it is compared with pairs, shape (n_samples,)."""
        return residual

    def compare(self, residuals: NDArray[np.float64]) -> Any:
        """Lay residuals out for many pairs; see `PairTable`."""
        return residuals * self.weights

    def scorer(self, compared: Any) -> Callable[[range], ScorePairs]:
        """Scorer of pairs of some inputs with others; see `PairTable`."""
        return partial(self._begin_pairs, compared)

    def _begin_pairs(self, compared: Any, first: range) -> ScorePairs:
        one = self.inputs[first.start : first.stop]
        weighted = one * self.weights
        stems = weighted, one * weighted, [one * residual for residual in compared]
        return partial(self._score_pairs, compared, stems)

    def _score_pairs(
        self,
        compared: Any,
        stems: tuple[
            NDArray[np.float64], NDArray[np.float64], list[NDArray[np.float64]]
        ],
        second: range,
        wanted: NDArray[np.float32],
        scores: NDArray[np.float32],
    ) -> None:
        weighted, squared, residual_times = stems
        other = self.inputs[second.start : second.stop]
        means = weighted @ other.T / self.weight_sum
        spreads = squared @ (other**2).T - self.weight_sum * means**2
        inverse = 1 / np.sqrt(_nonzero(spreads, self.weight_sum))
        for residual, one, found in zip(compared, residual_times, scores, strict=True):
            products = one @ other.T - means * residual.sum()
            found[:, : len(second)] = np.abs(products) * inverse

    @property
    def _kernel_inputs(self) -> _KernelInputs:
        kernels = _kernels.screen_order_dense, _kernels.screen_dense
        return self.inputs, np.ones((1, self.n_samples)), *kernels

    def _compared(
        self, residual: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float, NDArray[np.float64]]:
        """Arrays that kernels compare sets with, and a scratch row."""
        return (
            self.weights * residual,
            self.weights,
            self.weight_sum,
            np.empty(self.n_features),
        )


# PlaneDesign is a DenseDesign whose inputs are bits.
Design: TypeAlias = PackedDesign | DenseDesign


class ProductIndex(NamedTuple):
    """Terms as kernels read them, by numbers of the inputs that are used."""

    used: NDArray[np.intp]  # (n_used,); inputs
    indptr: NDArray[np.int64]  # (n_terms + 1,); where the members of each begin
    members: NDArray[np.int32]

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Self:
        """Number the inputs that are used."""
        indptr, members = flatten_sets(terms)
        is_used = np.zeros(members.max(initial=-1) + 1, dtype=bool)
        is_used[members] = True
        numbers = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
        return cls(np.flatnonzero(is_used), indptr, numbers[members])


def product_columns(
    inputs: NDArray, terms: Sequence[Term], index: ProductIndex | None = None
) -> NDArray[np.float64]:
    """Products of inputs, shape (n_samples, n_terms)."""
    # The index is that of the terms, where it is known.
    if not terms or not len(inputs):
        return np.empty((len(inputs), len(terms)))
    if not hasattr(inputs, "design"):
        used, indptr, members = ProductIndex.of(terms) if index is None else index
        if len(used) < inputs.shape[1] or not isinstance(inputs, np.ndarray):
            inputs = inputs[:, used]
        if len(inputs) <= _BLOCK or not are_signs(inputs):
            columns = np.empty((len(terms), len(inputs)))
            inputs = np.ascontiguousarray(inputs.T, dtype=np.float64)
            _kernels.dense_columns(inputs, indptr, members, columns)
            return columns.T
        split: Any = np.split(members, indptr[1:-1])
        terms = split
    design = make_design(inputs)
    columns: Any = design.columns(terms)
    return design.unpack(columns, np.float64).T
