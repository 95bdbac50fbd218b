"""Rows of a table, whatever order they come in."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class BlockConstants:
    """Blocks of rows."""

    # Values that are read in one go.
    max_values: int = tuned(2**18, "cost")
    # Columns that tell the rows of most wide tables apart.
    n_first_columns: int = tuned(64, "cost")


_BLOCKS = BlockConstants()
# Rows of a block are a multiple of it where they are multiplied, so that tiles of
# matrix products are filled as by all rows at once, and bits are the same.
TILE: Final = 64


def order_of(table: NDArray, ties: NDArray | None = None) -> NDArray[np.intp]:
    """Order of rows by their bytes: the same of the same rows in another order."""
    # Those that are equal are in the order of `ties`.
    rows = _as_bytes(table)
    order = np.argsort(rows, kind="stable")
    if ties is None:
        return order
    is_new = np.ones(len(order), dtype=bool)
    # Some rows at a time: a copy of all may be large.
    for part in row_slices(table.shape):
        first, end = max(part.start, 1), part.stop
        is_new[first:end] = rows[order[first:end]] != rows[order[first - 1 : end - 1]]
    ranks = np.argsort(order_of(ties))
    return order[np.lexsort([ranks[order], np.cumsum(is_new)])]


def n_distinct_rows(table: NDArray) -> int:
    """Number of rows that differ in their bytes."""
    # `numpy.unique` along the first axis, for which zeros of either sign are equal,
    # takes thirty times as long where many rows are.
    return len(np.unique(_as_bytes(table)))


def number_rows(table: NDArray) -> NDArray[np.intp]:
    """Number of each row among those that differ in value, (n_rows,)."""
    # NaN is as any other value here, and zeros of either sign are one.
    values = table
    if table.dtype.kind == "f":
        values = np.where(np.isnan(table), table.dtype.type(np.nan), table + 0.0)
    if not values.shape[1]:
        return np.zeros(len(values), dtype=int)
    return np.unique(_as_bytes(values), return_inverse=True)[1].ravel()


def _as_bytes(table: NDArray) -> NDArray[np.void]:
    """Each row as one value, (n_rows,)."""
    width = table.shape[1] * table.itemsize
    return np.ascontiguousarray(table).view(np.dtype((np.void, width))).ravel()


def row_slices(shape: tuple[int, int], multiple: int = 1) -> Iterator[slice]:
    """Yield slices of rows, so that results for each of them stay small."""
    # The shape is that of the result for all rows, (n_rows, n_columns). The number of
    # rows in a slice is a multiple of `multiple`.
    n_rows, n_columns = shape
    size = _BLOCKS.max_values // (multiple * max(n_columns, 1))
    return equal_slices(n_rows, multiple * max(size, 1))


def equal_slices(n_rows: int, size: int) -> Iterator[slice]:
    """Yield slices of a number of rows, the last one shorter."""
    # As scikit-learn's `gen_batches`, whose check of both takes longer than a row.
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def join_blocks(blocks: Iterable[NDArray], n_rows: int) -> NDArray:
    """Put results for some rows at a time below one another, as they come."""
    # All of them beside one array of them would take twice the memory.
    start, joined = 0, None
    for block in blocks:
        if joined is None:
            joined = np.empty((n_rows, *block.shape[1:]), block.dtype)
        joined[start : start + len(block)] = block
        start += len(block)
    return np.empty(0) if joined is None else joined


def are_signs(table: NDArray) -> bool:
    """Whether all values of a table are -1 or +1."""
    return all(np.all(np.abs(table[rows]) == 1) for rows in row_slices(table.shape))


def distinct_rows(table: NDArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the distinct rows of a table, in their sorted order."""
    # Returned are the first index of each, and which of them each row is.
    if table.shape[1] > _BLOCKS.n_first_columns:
        first, index = distinct_rows(table[:, : _BLOCKS.n_first_columns])
        if len(first) == len(table):
            # No later column matters, which take numpy a field each.
            return first, index
    rows, axis = table, 0
    if table.dtype == np.int8 and table.size and are_signs(table):
        # Bits, the first one first, are in the order of the signs.
        parts = (table[some] > 0 for some in row_slices(table.shape))
        packed = np.concatenate([np.packbits(part, axis=1) for part in parts])
        rows, axis = packed.view(f"S{packed.shape[1]}").ravel(), None
    _, first, index = np.unique(rows, axis=axis, return_index=True, return_inverse=True)
    return first, index
