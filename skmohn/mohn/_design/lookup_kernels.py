"""Compiled products of columns of small integers with columns of bits, by tables.

Four bits say which of four numbers count: what these add up to stands in a table of 16
bytes, and one instruction looks 32 columns up. Only for processors where
:func:`skmohn._core._numba.can_look_up` says so; elsewhere bits are counted.

Numbers are -3 to 3, so that one table has nothing above 12.
"""

import numpy as np

from skmohn._core._numba import TABLES_AT_ONCE, add_found, jit

MOST = 3
_N_NUMBERS = 2 * MOST + 1
# Words whose sums of four times 12 bits have room in 16 bits, and whose tables in the
# first-level cache.
_WORDS_AT_ONCE = 64
_ONE = np.uint64(1)


@jit
def expand(sign, nonzero, factors, with_squares, values):
    """Write columns of three values times factors as numbers.

    ``sign, nonzero`` (a, W) uint64, of nonzero also (1, W) for all; ``factors`` (t, 64
    W) int8; ``values`` (at least a (t + s), 64 W) int8, where s is 1 with squares, the
    last of each column, and 0 without. O(64 a W (t + 1)).
    """
    n_factors = factors.shape[0]
    n_each = n_factors + with_squares
    for a in range(sign.shape[0]):
        other = nonzero[a if nonzero.shape[0] > 1 else 0]
        # The first holds the column itself until it is its turn.
        column = values[a * n_each]
        for w in range(sign.shape[1]):
            part = column[64 * w : 64 * w + 64]
            x, z = sign[a, w], other[w]
            for b in range(64):
                bit = np.uint64(b)
                part[b] = np.int8((z >> bit) & _ONE) - 2 * np.int8((x >> bit) & _ONE)
        if with_squares:
            squares = values[a * n_each + n_factors]
            for d in range(column.shape[0]):
                squares[d] = column[d] * column[d]
        for t in range(n_factors - 1, -1, -1):
            row, factor = values[a * n_each + t], factors[t]
            for d in range(column.shape[0]):
                row[d] = column[d] * factor[d]


@jit
def fill_tables(values, known, indices, tables, offsets):
    """Make the tables of columns of numbers.

    ``values`` (n, 64 W) int8 from -3 to 3, ``known`` the tables of all quadruples,
    ``indices`` (16 W,) int32 scratch, ``tables`` (n / 4, 8 W, 2, 4, 2) uint64: for each
    byte of bits, those of its two halves. ``offsets`` (n, 2) int32 become the sums of
    the numbers, and by how much what is found in all tables is too large. O(n W).
    """
    for i in range(values.shape[0]):
        row = values[i]
        total, negative = np.int32(0), np.int32(0)
        for d in range(row.shape[0]):
            total = np.int32(total + row[d])
            negative = np.int32(negative - min(row[d], 0))
        offsets[i, 0], offsets[i, 1] = total, negative
        for s in range(indices.shape[0]):
            index = 0
            for d in range(4 * s, 4 * s + 4):
                index = _N_NUMBERS * index + row[d] + MOST
            indices[s] = index
        block, k = tables[i // TABLES_AT_ONCE], i % TABLES_AT_ONCE
        for s in range(indices.shape[0]):
            for half in range(2):
                block[s // 2, s % 2, k, half] = known[indices[s], half]


@jit
def multiply_bits(tables, codes, offsets, sums, products):
    """Inner products of columns of numbers with columns of bits.

    ``tables`` (n / 4, 256 W * 4) uint8 and ``offsets`` (n, 2) as :func:`fill_tables`
    makes them; ``codes`` (g, 8 W, 64) uint8 are bytes of bits of 64 columns side by
    side; ``sums`` (4, 2, 2, 16) uint16 is scratch. ``products`` (n, 64 g) int32.
    O(n g W).
    """
    n_words = codes.shape[1] // 8
    for i in range(products.shape[0]):
        for j in range(products.shape[1]):
            products[i, j] = -offsets[i, 1]
    for start in range(0, n_words, _WORDS_AT_ONCE):
        stop = min(start + _WORDS_AT_ONCE, n_words)
        for block in range(tables.shape[0]):
            for g in range(codes.shape[0]):
                sums[:] = 0
                for w in range(start, stop):
                    table = w * 256 * TABLES_AT_ONCE
                    add_found(tables[block], table, codes[g], w * 512, sums)
                for k in range(TABLES_AT_ONCE):
                    row = products[TABLES_AT_ONCE * block + k]
                    for half in range(2):
                        part = row[64 * g + 32 * half : 64 * g + 32 * half + 32]
                        for e in range(16):
                            both, odd = sums[k, half, 0, e], sums[k, half, 1, e]
                            part[e] += (both - 256 * odd) & 65535
                            part[16 + e] += odd
