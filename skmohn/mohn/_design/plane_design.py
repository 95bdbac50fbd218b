"""Tables of three equally spaced values, such as counts of an allele, on bit planes."""

# :class:`Planes` stand in the place of an array of inputs, :class:`PlaneDesign` answers
# what designs are asked. Pairs are compared on the planes; other products are made as
# numbers, some columns at a time.

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, islice
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skmohn._core._bits import pack_bits, row_bits, unpack_bits
from skmohn._core._numba import can_look_up
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._walsh import flatten_sets
from skmohn.mohn._design import plane_kernels as _kernels
from skmohn.mohn._design.design import DenseDesign, PackedDesign, as_tuples, find_equal
from skmohn.mohn._design.lookup import Stems, count_words, lay_out
from skmohn.mohn._design.pair_screening import ScorePairs, best_pairs


@dataclass(frozen=True)
class PlaneConstants:
    """Screening of columns of a few levels."""

    # Columns of which values are written at a time, and products that they extend.
    n_columns_per_block: int = tuned(1024, "cost")
    n_parents_per_block: int = tuned(256, "cost")
    # Of the mean square of a product that varies.
    min_mean_square: float = tuned(1e-9, "rounding")
    # Nanoseconds that a pair costs beside a word of it, and a larger set beside a
    # sample.
    work_per_pair: float = tuned(5.0, "cost")
    work_per_word: float = tuned(0.6, "cost")
    work_per_set: float = tuned(150.0, "cost")
    work_per_sample: float = tuned(0.6, "cost")


_PLANES = PlaneConstants()

# Up to here 0 is the integer that is nearest to a center.
_HALF: Final = 0.5


@dataclass(frozen=True)
class Planes:
    """Table of -1, 0 and +1 less a center for each column; 0 where unknown."""

    # Replaces an array of inputs. Where a value is unknown, the planes hold the integer
    # next to the center, so that they alone are nearly right.

    n_samples: int
    sign: np.ndarray  # (n_columns, n_words), uint64; a set bit means -1
    nonzero: np.ndarray  # (n_columns, n_words), uint64; a set bit means -1 or +1
    centers: np.ndarray  # (n_columns,); numbers in [-1, 1]
    # (n_columns, n_words), uint64; which values are known; None when all are.
    known: np.ndarray | None = None
    # (n_columns,), int; which variant each column codes; None: one each.
    variants: np.ndarray | None = None

    @classmethod
    def around(
        cls,
        sign: NDArray[np.uint64],
        nonzero: NDArray[np.uint64],
        known: NDArray[np.uint64],
        centers: NDArray[np.float64],
        n_samples: int,
        variants: NDArray[np.intp] | None = None,
    ) -> Self:
        """Take centers from columns; an unknown value becomes 0."""
        # Planes are (n_columns, n_words); sign and nonzero are 0 where it is unknown.
        n_known = np.bitwise_count(known).sum(axis=1, dtype=np.int64)
        is_missing = n_known < n_samples
        if not is_missing.any():
            return cls(n_samples, sign, nonzero, centers, variants=variants)
        sign, nonzero = sign.copy(), nonzero.copy()
        whole = row_bits(n_samples)
        for j in np.flatnonzero(is_missing & (np.abs(centers) > _HALF)):
            unknown = whole & ~known[j]
            nonzero[j] |= unknown
            if centers[j] < 0.0:
                sign[j] |= unknown
        return cls(n_samples, sign, nonzero, centers, known, variants)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, as of an array of inputs."""
        return self.n_samples, len(self.sign)

    def __len__(self) -> int:
        return self.n_samples

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.float64]:
        """All columns as numbers, shape (n_samples, n_columns)."""
        return self.values(range(self.shape[1])).T.astype(dtype or np.float64)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Some of the rows, by their numbers or a mask."""
        rows = np.arange(self.n_samples)[rows]
        sign, nonzero, known = (
            None if plane is None else _take(plane, self.n_samples, rows)
            for plane in (self.sign, self.nonzero, self.known)
        )
        return replace(
            self, n_samples=len(rows), sign=sign, nonzero=nonzero, known=known
        )

    def __getitem__(self, index: Any) -> Any:
        """Some rows as planes, or, of all rows, some columns as numbers."""
        if isinstance(index, tuple):
            return self.values(np.arange(self.shape[1])[index[1]]).T
        return self.take(index)

    def design(self) -> PlaneDesign:
        """Design of these inputs."""
        return PlaneDesign(self)

    def number_rows(self) -> NDArray[np.intp]:
        """Numbers of distinct rows, shape (n_samples,)."""
        rng = np.random.default_rng(0)
        # Sums of random words: those of different rows are different but for one in
        # 2**64.
        total = np.zeros(self.n_samples, dtype=np.uint64)
        planes = [self.sign, self.nonzero, self.known]
        for plane in planes[: 2 if self.known is None else 3]:
            for part in equal_slices(len(plane), _PLANES.n_columns_per_block):
                bits = unpack_bits(plane[part], len(self))
                factors = rng.integers(2**64, size=len(bits), dtype=np.uint64)
                for row, factor in zip(bits, factors, strict=True):
                    total += row * factor
        return np.unique(total, return_inverse=True)[1]

    def read_known(
        self, columns: Sequence[int] | NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """Mask of known values of some columns, shape (n_samples, n_chosen)."""
        if self.known is None:
            return np.ones((self.n_samples, len(columns)), dtype=bool)
        return unpack_bits(self.known[columns], self.n_samples).T == 1

    def values(
        self, columns: Sequence[int] | NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Some columns as numbers, shape (n_chosen, n_samples)."""
        columns = np.asarray(columns, dtype=np.intp)
        negative = unpack_bits(self.sign[columns], self.n_samples)
        values = unpack_bits(self.nonzero[columns], self.n_samples).astype(np.float64)
        values[negative == 1] = -1.0
        values -= self.centers[columns, None]
        if self.known is not None:
            values *= unpack_bits(self.known[columns], self.n_samples)
        return values


def _take(
    plane: NDArray[np.uint64], n_samples: int, rows: NDArray[np.intp]
) -> NDArray[np.uint64]:
    blocks = range(0, max(len(plane), 1), _PLANES.n_columns_per_block)
    parts = (plane[start : start + _PLANES.n_columns_per_block] for start in blocks)
    return np.concatenate(
        [pack_bits(unpack_bits(part, n_samples)[:, rows]) for part in parts]
    )


class ComparedPlanes(NamedTuple):
    """Residuals in the layout in which columns of planes are compared with them."""

    # (n_residuals, 3, W), uint64; signs, and two bits of the magnitudes.
    planes: np.ndarray
    # (1 + n_residuals, 64 * n_words), int8; ones, and the signed magnitudes, of words
    # that hold samples.
    factors: np.ndarray
    sums: np.ndarray  # (n_residuals,); of the signed magnitudes
    steps: np.ndarray  # (n_residuals,); what a magnitude of 1 stands for
    # (n_residuals, n_padded); inner products with the columns before centering.
    bases: np.ndarray


class PlaneDesign(DenseDesign):
    """Unweighted samples on bit planes; columns are expanded where they are needed."""

    def __init__(self, planes: Planes) -> None:
        self.planes = planes
        self.n_samples, self.n_features = planes.shape
        self.variants = planes.variants
        self.weight_sum = float(self.n_samples)
        self._given_weight, self.weights = None, np.ones(self.n_samples)
        self.score_cost = (
            _PLANES.work_per_pair + _PLANES.work_per_word * planes.sign.shape[1]
        )

    @cached_property
    def first_equal(self) -> NDArray[np.intp]:
        """First input that is equal to each, shape (n_features,)."""
        planes = self.planes
        parts = [planes.sign, planes.nonzero, planes.centers.view(np.uint64)[:, None]]
        if planes.known is not None:
            parts.append(planes.known)
        return find_equal(
            [b"".join(map(bytes, row)) for row in zip(*parts, strict=True)]
        )

    def take(self, rows: NDArray[np.intp]) -> PlaneDesign:
        """Design of some samples."""
        return PlaneDesign(self.planes.take(rows))

    def of_products(self, sets: Sequence[Term] | NDArray[np.int32]) -> DenseDesign:
        """Design whose inputs are products of inputs of this one."""
        return DenseDesign(self.columns(sets).T)

    def columns(self, sets: Sequence[Term] | NDArray[np.int32]) -> NDArray[np.float64]:
        """Products of inputs, shape (n_sets, n_samples)."""
        planes, columns = self.planes, np.empty((len(sets), self.n_samples))
        _kernels.plane_columns(
            planes.sign,
            planes.nonzero,
            self._known,
            planes.centers,
            *flatten_sets(sets),
            columns,
        )
        return columns

    def _project_all(
        self,
        vector: NDArray[np.float64],
        known: NDArray[np.uint64],
        centers: NDArray[np.float64] | float,
    ) -> NDArray[np.float64]:
        """Inner products of all inputs with a vector."""
        planes = self.planes
        padded = np.zeros(planes.sign.shape[1] * 64)
        padded[: self.n_samples] = vector
        centers = np.broadcast_to(centers, self.n_features)
        projection = np.empty(self.n_features)
        _kernels.plane_project(
            planes.sign,
            planes.nonzero,
            known,
            np.ascontiguousarray(centers),
            padded,
            projection,
        )
        return projection

    # ---------------------------------------------------------------- all pairs

    def round(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """Residual as it is compared with pairs, shape (n_samples,)."""
        return PackedDesign.round(self, residual)  # pyright: ignore[reportArgumentType]

    def compare(self, residuals: NDArray[np.float64]) -> ComparedPlanes:
        """Lay residuals out for many pairs; see `PairTable`."""
        compared = PackedDesign.compare(self, residuals)  # pyright: ignore[reportArgumentType]
        planes, factors, _, sums, steps = compared
        bases = np.zeros((len(residuals), self._sums.shape[1]))
        for residual, step, base in zip(residuals, steps, bases, strict=True):
            # On the planes nothing is centered, and unknown values are integers.
            base[: self.n_features] = self._project_all(
                self.round(residual) / step, row_bits(self.n_samples)[None], 0.0
            )
        return ComparedPlanes(planes, factors, sums, steps, bases)

    def scorer(self, compared: ComparedPlanes) -> Callable[[range], ScorePairs]:
        """Scorer of pairs of some inputs with others; see `PairTable`."""
        stems = None
        if can_look_up():
            stems = Stems(compared.factors, with_squares=True)
        return partial(self._begin_pairs, compared, stems)

    def _begin_pairs(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, compared: ComparedPlanes, stems: Stems | None, first: range
    ) -> ScorePairs:
        rows = slice(first.start, first.stop)
        bits = self.planes.sign[rows], self.planes.nonzero[rows]
        if stems is None:
            return partial(self._score_pairs, compared, bits, rows)
        stems.hold(*bits)
        return partial(self._score_pairs, compared, stems, rows)

    def _score_pairs(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        compared: ComparedPlanes,
        stems: Stems | tuple[NDArray[np.uint64], NDArray[np.uint64]],
        rows: slice,
        second: range,
        wanted: NDArray[np.float32],
        scores: NDArray[np.float32],
    ) -> None:
        columns = slice(second.start, -(-second.stop // 64) * 64)
        sums, bases = (
            [np.ascontiguousarray(numbers[:, part]) for part in (rows, columns)]
            for numbers in (self._sums, compared.bases)
        )
        rest = compared.sums, compared.steps, *bases, self.weight_sum
        if isinstance(stems, Stems):
            codes = self._codes[columns.start // 32 : columns.stop // 32]
            products, scratch = stems.multiply(codes), np.empty((2, 32))
            _kernels.plane_scores(*sums, products, *rest, scratch, scores)  # pyright: ignore[reportCallIssue]
            return
        groups = slice(columns.start // 64, columns.stop // 64)
        others = tuple(plane[groups] for plane in self._groups)
        scratch = np.empty((6, 64), dtype=np.uint64), np.empty((2, 64))
        given = stems, others, *sums, compared.planes, *rest, *scratch, scores
        _kernels.plane_pairs(*given)

    @cached_property
    def _codes(self) -> NDArray[np.uint8]:
        """Nonzero and sign in the layout of lookup tables."""
        words = slice(count_words(self.n_samples))
        return lay_out(self.planes.nonzero[:, words], self.planes.sign[:, words])

    @cached_property
    def _groups(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Sign and nonzero by groups of 64 columns, each (n_groups, W, 64)."""
        return _grouped(self.planes.sign), _grouped(self.planes.nonzero)

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        """Sum, sum of squares and center of each column, shape (3, n_padded)."""
        sums = np.zeros((self.n_features, 2))
        _kernels.plane_sums(self.planes.sign, self.planes.nonzero, sums)
        padded = np.zeros((3, -(-self.n_features // 64) * 64))
        padded[:2, : self.n_features] = sums.T
        padded[2, : self.n_features] = self.planes.centers
        return padded

    # ------------------------------------------------------------- other orders

    def screen(
        self, residual: NDArray[np.float64], order: int, size: int
    ) -> list[Term]:
        """Find the sets of one order that go best with a residual."""
        if order == 2:
            kept = best_pairs(self, residual[None], size)[0]
            return [tuple(pair) for pair in kept.pairs.tolist()]
        if order == 1:
            found = self._score_singles(residual)
            return [(j,) for j in np.argsort(-found, kind="stable")[:size].tolist()]
        best, stems = _Best(size), combinations(range(self.n_features), order - 1)
        while parents := list(islice(stems, _PLANES.n_parents_per_block)):
            firsts = np.array([parent[-1] + 1 for parent in parents])
            self._extend(parents, self.columns(parents), firsts, residual, best)
        return best.sets()

    def screening_cost(self, order: int) -> float:
        """Rough nanoseconds that :meth:`screen` takes, from counts alone."""
        if order <= 2:
            return super().screening_cost(order)
        n_sets = math.comb(self.n_features, order)
        return n_sets * (
            _PLANES.work_per_set + _PLANES.work_per_sample * self.n_samples
        )

    def screen_children(
        self,
        residual: NDArray[np.float64],
        parents: Sequence[Term],
        columns: NDArray[np.float64],
        size: int,
    ) -> list[Term]:
        """Find the sets ``parent + {i}`` that go best with a residual."""
        best = _Best(size)
        for part in equal_slices(len(parents), _PLANES.n_parents_per_block):
            firsts = np.zeros(len(parents[part]), dtype=int)
            self._extend(parents[part], columns[part], firsts, residual, best)
        return best.sets()

    def _score_singles(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        planes, known = self.planes, self._known
        inner = self._project_all(residual, known, planes.centers)
        means, spreads = self._moments
        return (inner - means * residual.sum()) ** 2 / spreads

    @cached_property
    def _known(self) -> NDArray[np.uint64]:
        known = self.planes.known
        return row_bits(self.n_samples)[None] if known is None else known

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means of all inputs, and sums of squares less them; inf for constant ones."""
        planes, known = self.planes, self._known
        counts = [
            np.bitwise_count(bits & known).sum(axis=1, dtype=np.int64)
            for bits in (row_bits(self.n_samples), planes.nonzero, planes.sign)
        ]
        n_known, squares, negative = np.broadcast_arrays(*counts)
        c, total = planes.centers, squares - 2 * negative
        means = (total - c * n_known) / self.n_samples
        spreads = squares - 2.0 * c * total + c**2 * n_known
        spreads = spreads - self.n_samples * means**2
        constant = spreads <= _PLANES.min_mean_square * self.n_samples
        return means, np.where(constant, np.inf, spreads)

    def _extend(
        self,
        parents: Sequence[Term],
        products: NDArray[np.float64],
        firsts: NDArray[np.intp],
        residual: NDArray[np.float64],
        best: _Best,
    ) -> None:
        """Score all products of some with a column from the first of each on."""
        for part in self._blocks(int(firsts.min(initial=self.n_features))):
            others = range(part.start, part.stop)
            values = self.planes.values(others)
            means = products @ values.T / self.weight_sum
            spreads = products**2 @ (values**2).T - self.weight_sum * means**2
            inner = (products * residual) @ values.T - means * residual.sum()
            constant = spreads <= _PLANES.min_mean_square * self.weight_sum
            scores = inner**2 / np.where(constant, np.inf, spreads)
            scores[np.array(others) < firsts[:, None]] = 0.0
            for row, parent in zip(scores, parents, strict=True):
                row[[i - part.start for i in parent if i in others]] = 0.0
            best.offer(scores, parents, part.start)

    def _blocks(self, start: int = 0) -> Iterator[slice]:
        for first in range(start, self.n_features, _PLANES.n_columns_per_block):
            yield slice(
                first, min(first + _PLANES.n_columns_per_block, self.n_features)
            )


class _Best:
    """Best sets among all that one more column makes of others."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.min_score = 0.0
        self._parts, self._n_waiting = [], 0

    def offer(
        self, scores: NDArray[np.float64], parents: Sequence[Term], start: int
    ) -> None:
        """Take scores, shape (n_parents, n_columns), with columns from `start` on."""
        flat = scores.ravel()
        chosen = np.flatnonzero(flat > self.min_score)
        longest = max(map(len, parents))
        # A set is met once for each of its members, as the one that is added last.
        max_chosen = self.size * (1 + longest)
        if len(chosen) > max_chosen:
            chosen = chosen[np.argsort(-flat[chosen], kind="stable")[:max_chosen]]
        if not len(chosen):
            return
        parent, column = np.divmod(chosen, scores.shape[1])
        sets = np.array([(-1,) * (longest - len(p)) + tuple(p) for p in parents])
        sets = np.column_stack([sets[parent], start + column])
        self._parts.append((flat[chosen], np.sort(sets, axis=1)))
        self._n_waiting += len(chosen)
        # To sort costs more than to wait for as many again.
        if self._n_waiting > self.size:
            self._join()

    def sets(self) -> list[Term]:
        """Sort sets by score, ties by their order."""
        return as_tuples(self._join()) if self._parts else []

    def _join(self) -> NDArray[np.integer]:
        """Leave one part, each set once; return its sets."""
        width = max(sets.shape[1] for _, sets in self._parts)
        scores = np.concatenate([scores for scores, _ in self._parts])
        sets = np.concatenate(
            [
                np.pad(sets, ((0, 0), (width - sets.shape[1], 0)), constant_values=-1)
                for _, sets in self._parts
            ]
        )
        order = np.lexsort((*sets.T[::-1], -scores))
        _, first = np.unique(sets[order], axis=0, return_index=True)
        kept = order[np.sort(first)[: self.size]]
        self._parts, self._n_waiting = [(scores[kept], sets[kept])], 0
        if len(kept) == self.size:
            self.min_score = scores[kept[-1]]
        return sets[kept]


def _grouped(plane: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Rows of words by groups of 64, side by side."""
    n_groups, n_words = -(-len(plane) // 64), plane.shape[1]
    groups = np.zeros((n_groups, n_words, 64), dtype=np.uint64)
    for g, group in enumerate(groups):
        part = plane[64 * g : 64 * g + 64]
        group[:, : len(part)] = part.T
    return groups
