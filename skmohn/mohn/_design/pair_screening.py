"""Pairs of columns that go best with some residuals, of any number of columns."""

# What scores them, a table, is asked for a tile at a time: the pairs of some columns
# with some others. Nothing grows with the number of pairs.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design import product_kernels as _kernels


@dataclass(frozen=True)
class PairConstants:
    """Screening of all pairs of columns."""

    # So many columns make a table wide: to look at all pairs for each question takes
    # longer than to keep track of the best.
    min_wide: int = tuned(750, "cost")
    # Columns on both sides of a tile, and of what the second begins at a multiple.
    n_rows_per_tile: int = tuned(16, "cost")
    n_columns_per_tile: int = tuned(2048, "cost")
    n_columns_per_group: int = tuned(64, "cost")
    # Pairs that are handed to a worker at once: so few, and at most so many times.
    n_pairs_per_part: int = tuned(2**20, "cost")
    max_parts: int = tuned(64, "cost")
    # Products kept of a pass, and at most so many bytes of their columns.
    max_kept: int = tuned(2**14, "cost")
    min_kept: int = tuned(2**11, "cost")
    n_bytes_kept: int = tuned(2**25, "cost")


PAIRS = PairConstants()


# Given a range of columns, the lowest scores that are wanted, by residual, and an array
# that it fills with scores.
ScorePairs: TypeAlias = Callable[
    [range, NDArray[np.float32], NDArray[np.float32]], None
]


class PairTable(Protocol):
    """Source of scores: how well products of two columns go with residuals."""

    n_samples: int
    n_features: int

    def compare(self, residuals: NDArray[np.float64]) -> Any:
        """Lay residuals out for the comparison with many pairs; joblib may send it."""
        # They are zero in samples that take no part.
        ...

    def scorer(self, compared: Any) -> Callable[[range], ScorePairs]:
        """Scorer of pairs of some columns with others, for a range of the first."""
        # Good until the next call. The range of the others begins at a multiple of 64
        # and ends at one or with the last column; ``padded`` is its length up to the
        # next multiple. The array, (n_residuals, n_first, padded), is set to the length
        # of each residual's part along the centered product of each pair, 0 where that
        # is constant. Lengths below those wanted may be 0 as well. What lies past the
        # end, and pairs of a column with itself or one before it, are not looked at.
        ...


class Kept(NamedTuple):
    """Best pairs of one residual."""

    # (n_kept, 2), int32; best first, ties in the order of their columns.
    pairs: np.ndarray
    scores: np.ndarray  # (n_kept,), float32
    floor: float  # no other pair scores more


def best_pairs(
    table: PairTable,
    residuals: NDArray[np.float64],
    size: int,
    *,
    n_jobs: int | None = None,
    on_part: Callable[[], None] | None = None,
) -> list[Kept]:
    """Find the pairs that go best with each of some residuals, in one pass."""
    # Parts of the pairs are scored at once, by joblib's threads unless its context says
    # otherwise; the result is the same, bit by bit. `on_part` is called after each of
    # :func:`count_parts` parts of about as many pairs.
    residuals = np.atleast_2d(residuals)
    n, n_residuals = table.n_features, len(residuals)
    compared = table.compare(residuals)
    # What is kept so far: parts that come later look for nothing less.
    floor = np.zeros(n_residuals, dtype=np.float32)
    empty = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.float32)
    kept = [empty] * n_residuals
    # Parts are of some size already: larger batches would leave workers waiting.
    workers: Any = Parallel(
        n_jobs=n_jobs,
        prefer="threads",
        return_as="generator",
        batch_size=1,  # pyright: ignore[reportArgumentType]
    )
    common = _Pass(table, compared)
    found = workers(
        delayed(_screen)(common, part, size, floor) for part in _parts_of(n)
    )
    for better in found:
        for r, one in enumerate(better):
            kept[r] = _join(kept[r], one, size)
            if len(kept[r][1]) == size:
                floor[r] = kept[r][1].min()
        if on_part is not None:
            on_part()
    return [_in_order(*one, size) for one in kept]


class _HasColumns(Protocol):
    def columns(self, sets: Sequence[Term]) -> NDArray: ...


def how_many_to_keep(design: _HasColumns, min_kept: int | None = None) -> int:
    """Number of products that a search may keep of those that it has compared."""
    # As many as fit into some memory, but no fewer than `min_kept`; None for thousands.
    min_kept = PAIRS.min_kept if min_kept is None else min_kept
    column = design.columns([()])
    return int(np.clip(PAIRS.n_bytes_kept / column.nbytes, min_kept, PAIRS.max_kept))


def count_parts(n: int) -> int:
    """Number of parts in which all pairs of `n` columns are scored."""
    return len(_parts_of(n))


def _count(rows: range, n: int) -> int:
    """Pairs whose first column is one of some."""
    return sum(n - 1 - i for i in (rows.start, rows.stop - 1)) * len(rows) // 2


def _parts_of(n: int) -> list[range]:
    """First columns of parts of about as many pairs, each a number of whole tiles."""
    tiles = range(0, n, PAIRS.n_rows_per_tile)
    n_pairs = n * (n - 1) // 2
    wanted = max(PAIRS.n_pairs_per_part, n_pairs // PAIRS.max_parts)
    parts, start = [], 0
    for tile in tiles:
        rows = range(start, min(tile + PAIRS.n_rows_per_tile, n))
        if rows.stop == n or _count(rows, n) >= wanted:
            parts.append(rows)
            start = rows.stop
    return parts


@dataclass(frozen=True, eq=False)
class _Pass:
    """State that all parts of a pass share."""

    # joblib's dask backend sends it to a worker once, rather than with each part, since
    # it is declared large.

    table: PairTable
    compared: object

    def __sizeof__(self) -> int:
        """Bytes: a bit for each value of the table, at the least."""
        return self.table.n_samples * self.table.n_features // 8


def _screen(
    common: _Pass, rows: range, size: int, floor: NDArray[np.float32]
) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Best pairs with a first column in some rows, as joblib hands them out."""
    table, compared = common.table, common.compared
    n, n_residuals = table.n_features, len(floor)
    size = max(min(size, _count(rows, n)), 1)
    scores = np.zeros((n_residuals, size), dtype=np.float32)
    pairs = np.empty((n_residuals, size, 2), dtype=np.int32)
    sizes = np.zeros(n_residuals, dtype=int)
    tile = np.empty(
        n_residuals * PAIRS.n_rows_per_tile * PAIRS.n_columns_per_tile, dtype=np.float32
    )
    begin = table.scorer(compared)
    for top in range(rows.start, rows.stop, PAIRS.n_rows_per_tile):
        first = range(top, min(top + PAIRS.n_rows_per_tile, n))
        score_pairs = begin(first)
        for left in range(
            top // PAIRS.n_columns_per_group * PAIRS.n_columns_per_group,
            n,
            PAIRS.n_columns_per_tile,
        ):
            second = range(left, min(left + PAIRS.n_columns_per_tile, n))
            padded = -(-len(second) // 64) * 64
            # Loops over what is contiguous are faster.
            part = tile[: n_residuals * len(first) * padded]
            part = part.reshape(n_residuals, len(first), padded)
            # The first of a full heap is its lowest.
            wanted = np.where(sizes == size, np.maximum(floor, scores[:, 0]), floor)
            score_pairs(second, wanted, part)
            for r in range(n_residuals):
                sizes[r] = _kernels.keep_pairs(
                    part[r, :, : len(second)],
                    top,
                    left,
                    float(floor[r]),
                    scores[r],
                    pairs[r],
                    sizes[r],
                )
    return [(pairs[r, : sizes[r]], scores[r, : sizes[r]]) for r in range(n_residuals)]


def _join(
    kept: tuple[NDArray[np.int32], NDArray[np.float32]],
    found: tuple[NDArray[np.int32], NDArray[np.float32]],
    size: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Best of two lists, in any order."""
    pairs = np.concatenate([kept[0], found[0]])
    scores = np.concatenate([kept[1], found[1]])
    if len(scores) <= size:
        return pairs, scores
    floor = np.partition(scores, len(scores) - size)[len(scores) - size]
    above, equal = np.flatnonzero(scores > floor), np.flatnonzero(scores == floor)
    later = np.lexsort(pairs[equal].T[::-1])
    chosen = np.concatenate([above, equal[later[: size - len(above)]]])
    return pairs[chosen], scores[chosen]


def _in_order(pairs: NDArray[np.int32], scores: NDArray[np.float32], size: int) -> Kept:
    order = np.lexsort((*pairs.T[::-1], -scores))
    floor = float(scores.min()) if len(scores) == size else 0.0
    return Kept(pairs[order], scores[order], floor)
