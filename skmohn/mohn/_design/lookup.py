"""Many columns of -1, 0 and +1 multiplied with residuals and others, by tables."""

# A tile of pairs is a matrix of small integers, the first columns times residuals,
# times a matrix of bits, the other columns: see `lookup_kernels`.

import math
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skmohn._core._numba import TABLES_AT_ONCE
from skmohn.mohn._design import lookup_kernels as _kernels

# Columns of a group: kernels are compiled for so many.
_AT_ONCE: Final = 64
# Where an instruction leaves each column of 64: even bytes, then odd ones, by halves.
_ORDER = np.arange(_AT_ONCE).reshape(2, 2, 16).transpose(0, 2, 1).ravel()


def count_words(n_samples: int) -> int:
    """Count the words that hold samples: designs pad columns to blocks of eight."""
    return -(-n_samples // 64)


def lay_out(*planes: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Bytes of bits of many columns, side by side, (n_groups, 8 * n_words, 64)."""
    # Groups are of 64 columns of one plane, or of 32 of two. Columns that are not there
    # are 0.
    n_columns, n_words = planes[0].shape
    width = _AT_ONCE // len(planes)
    n_groups = -(-n_columns // _AT_ONCE) * len(planes)
    codes = np.empty((n_groups, 8 * n_words, _AT_ONCE), dtype=np.uint8)
    group = np.empty((_AT_ONCE, 8 * n_words), dtype=np.uint8)
    for g in range(n_groups):
        group[:] = 0
        for k, plane in enumerate(planes):
            part = plane[width * g : width * (g + 1)].view(np.uint8)
            group[width * k : width * k + len(part)] = part
        codes[g] = group[_ORDER].T
    return codes


class Stems:
    """Columns times factors, by which columns of bits are multiplied."""

    # Columns come some at a time and take the memory of those before: a process that
    # hands memory back at once, as dask's workers do, would spend as long on new pages
    # as on the products.

    def __init__(
        self,
        factors: NDArray[np.int8],  # (n_factors, 64 * n_words), int8; from -3 to 3
        *,
        # Whether squares of the columns follow their products with factors.
        with_squares: bool = False,
    ) -> None:
        self._factors, self._with_squares = factors, with_squares
        self._n_each = len(factors) + with_squares
        self._n_words = factors.shape[1] // 64
        self._indices = np.empty(16 * self._n_words, dtype=np.int32)
        self._found = np.empty((TABLES_AT_ONCE, 2, 2, 16), dtype=np.uint16)
        self._products = np.empty(0, dtype=np.int32)
        self._make_room(0)

    def _make_room(self, n_blocks: int) -> None:
        n_rows = n_blocks * TABLES_AT_ONCE
        shape = n_blocks, 8 * self._n_words, 2, TABLES_AT_ONCE, 2
        self._room = (
            np.empty((n_rows, 64 * self._n_words), dtype=np.int8),
            np.empty(shape, dtype=np.uint64),
            np.empty((n_rows, 2), dtype=np.int32),
        )

    def hold(self, sign: NDArray[np.uint64], nonzero: NDArray[np.uint64]) -> None:
        """Replace the columns: bits of -1, and of -1 and +1."""
        # Each is (n_columns, at least n_words); of `nonzero` there may be one row for
        # all columns.
        sign, nonzero = (
            np.ascontiguousarray(bits[:, : self._n_words]) for bits in (sign, nonzero)
        )
        self._shape = len(sign), self._n_each
        n_used = math.prod(self._shape)
        n_blocks = -(-n_used // TABLES_AT_ONCE)
        n_rows = n_blocks * TABLES_AT_ONCE
        if n_rows > len(self._room[0]):
            self._make_room(n_blocks)
        values, tables, offsets = self._room
        values, tables = values[:n_rows], tables[:n_blocks]
        self._offsets = offsets[:n_rows]
        # What fills the last block is looked up as well, where only -3 to 3 is known.
        values[n_used:] = 0
        _kernels.expand(sign, nonzero, self._factors, self._with_squares, values)
        _kernels.fill_tables(
            values, _all_tables(), self._indices, tables, self._offsets
        )
        self._tables = tables.reshape(n_blocks, -1).view(np.uint8)
        # (n_columns, n_factors + with_squares), int32; of the columns times factors
        self.sums = self._offsets[:n_used, 0].reshape(self._shape)

    def multiply(self, codes: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Inner products with columns of bits, laid out; good until the next call."""
        # Of shape (n_columns, n_factors + with_squares, 64 * n_groups).
        shape = len(self._offsets), _AT_ONCE * len(codes)
        if len(self._products) < math.prod(shape):
            self._products = np.empty(math.prod(shape), dtype=np.int32)
        products = self._products[: math.prod(shape)].reshape(shape)
        _kernels.multiply_bits(
            self._tables, codes, self._offsets, self._found, products
        )
        return products[: math.prod(self._shape)].reshape(*self._shape, -1)


@cache
def _all_tables() -> NDArray[np.uint64]:
    """Tables of all quadruples of numbers, (7**4, 2), the first varying least."""
    # Each is larger by what its negative numbers add up to, so that none is below 0.
    numbers = np.arange(-_kernels.MOST, _kernels.MOST + 1)
    quadruples = np.stack(np.meshgrid(*4 * [numbers], indexing="ij"), -1).reshape(-1, 4)
    bits = np.arange(16)[:, None] >> np.arange(4) & 1
    sums = quadruples @ bits.T - np.minimum(quadruples, 0).sum(axis=1)[:, None]
    return sums.astype(np.uint8).view(np.uint64)
