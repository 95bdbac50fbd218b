"""Compiled kernels of the product prior: rows paired with rows, column by column.

Arrays are C-contiguous and, where nothing else is said, all float64 or all float32. A
matrix of rows paired with themselves is symmetric: with ``is_half`` only what is on its
diagonal and below is computed. Loops take some rows through all columns, so that what
they read and write stays in the cache.
"""

from skmohn._core._numba import jit

_FAST = {"reassoc", "nsz", "contract", "arcp"}
_TILE = 256
# Of a matrix and its transpose, which are read together.
_BLOCK = 32


@jit
def mirror(matrix):
    """Copy what is below the diagonal of ``matrix`` (D, D) above it. O(D^2)."""
    n = matrix.shape[0]
    for top in range(0, n, _BLOCK):
        for start in range(0, top + 1, _BLOCK):
            for i in range(top, min(top + _BLOCK, n)):
                for j in range(start, min(start + _BLOCK, i)):
                    matrix[j, i] = matrix[i, j]


@jit
def fold(outer, product, scale, folded, weighted):
    """Add what is above a diagonal to what is below; weigh that by a product.

    ``outer`` (D, D) any matrix, ``product`` a symmetric one; ``folded`` and
    ``weighted``, which is ``scale * folded * product``, are written up to the diagonal.
    O(D^2).
    """
    n = outer.shape[0]
    for top in range(0, n, _BLOCK):
        for start in range(0, top + 1, _BLOCK):
            for i in range(top, min(top + _BLOCK, n)):
                for j in range(start, min(start + _BLOCK, i + 1)):
                    both = outer[i, j]
                    if j < i:
                        both += outer[j, i]
                    folded[i, j] = both
                    weighted[i, j] = both * product[i, j] * scale


# --------------------------------------------------------------- columns of numbers


@jit(fastmath=_FAST)
def multiply_lines(left, right, levels, slopes, is_half, product):
    """Multiply ``product`` (D, E) by ``level + slope x x'`` for each of n columns.

    ``left`` (n, D) and ``right`` (n, E), a line for each column; ``levels`` and
    ``slopes`` (n,). O(n D E).
    """
    n_left, n_right = product.shape
    for start in range(0, n_right, _TILE):
        for i in range(start if is_half else 0, n_left):
            stop = min(start + _TILE, i + 1 if is_half else n_right)
            line = product[i, start:stop]
            for c in range(slopes.shape[0]):
                other = right[c, start:stop]
                level, slope = levels[c], slopes[c] * left[c, i]
                for j in range(line.shape[0]):
                    line[j] *= level + slope * other[j]


@jit(fastmath=_FAST)
def sum_lines(columns, levels, slopes, weighted, sums):
    """Add to ``sums`` (n,) float64 those of ``weighted x x' / (level + slope x x')``.

    ``columns`` (n, D), ``levels`` and ``slopes`` (n,) as for `multiply_lines`,
    ``weighted`` (D, D) from `fold`. O(n D^2).
    """
    n_columns = slopes.shape[0]
    for i in range(weighted.shape[0]):
        weights = weighted[i, : i + 1]
        # Two columns share a division, which takes as long as many products.
        for c in range(0, n_columns, 2):
            d = min(c + 1, n_columns - 1)
            x, y = columns[c, : i + 1], columns[d, : i + 1]
            level_x, slope_x = levels[c], slopes[c] * columns[c, i]
            level_y, slope_y = levels[d], slopes[d] * columns[d, i]
            by_x = by_y = level_x - level_x  # zero of its type
            for j in range(weights.shape[0]):
                factor_x, factor_y = level_x + slope_x * x[j], level_y + slope_y * y[j]
                ratio = weights[j] / (factor_x * factor_y)
                by_x += ratio * factor_y * x[j]
                by_y += ratio * factor_x * y[j]
            sums[c] += by_x * columns[c, i]
            if d > c:
                sums[d] += by_y * columns[d, i]


# ------------------------------------------------------------- columns of categories


@jit
def look_up(left, right, tables, is_factor, is_half, out):
    """Multiply ``out`` (D, E) by entries of tables, or add them to it.

    ``left`` (n, D) and ``right`` (n, E) uint32: which row and which column of each of
    the ``tables`` (n, L, L). O(n D E).
    """
    n_left, n_right = out.shape
    for start in range(0, n_right, _TILE):
        for i in range(start if is_half else 0, n_left):
            stop = min(start + _TILE, i + 1 if is_half else n_right)
            line = out[i, start:stop]
            for c in range(tables.shape[0]):
                table, other = tables[c, left[c, i]], right[c, start:stop]
                if is_factor:
                    for j in range(line.shape[0]):
                        line[j] *= table[other[j]]
                else:
                    for j in range(line.shape[0]):
                        line[j] += table[other[j]]


@jit(fastmath=_FAST)
def multiply_means(categories, lines, means, first, base, out):
    """Multiply ``out`` (D, E) by what two rows' factors of a variable have in common.

    ``categories`` (N,) uint32 and ``lines`` (N,), of which the rows of ``out`` are
    those from ``first`` on and its columns the first ones; ``means`` (3, L, L), which
    are multiplied by 1, by either line and by both; ``base`` (2, L) scratch.
    O(D (E + L)).
    """
    n_left, n_right = out.shape
    others, right = categories[:n_right], lines[:n_right]
    for i in range(n_left):
        own, left = categories[first + i], lines[first + i]
        for k in range(base.shape[1]):
            base[0, k] = means[0, own, k] + left * means[1, own, k]
            base[1, k] = means[1, own, k] + left * means[2, own, k]
        line = out[i]
        for j in range(n_right):
            line[j] *= base[0, others[j]] + right[j] * base[1, others[j]]


@jit
def sum_by_categories(categories, folded, weighted, row, sums):
    """Add both matrices from `fold` to ``sums`` by the categories of rows and columns.

    ``categories`` (D, n) uint32, ``row`` (n, L, 2) scratch, ``sums`` (n, L, L, 2)
    float64. O(n D^2 + n L D).
    """
    n_columns, n_indices = sums.shape[:2]
    for i in range(folded.shape[0]):
        row[:] = 0
        for j in range(i + 1):
            one, other = folded[i, j], weighted[i, j]
            for c in range(n_columns):
                index = row[c, categories[j, c]]
                index[0] += one
                index[1] += other
        for c in range(n_columns):
            own = sums[c, categories[i, c]]
            for k in range(n_indices):
                own[k, 0] += row[c, k, 0]
                own[k, 1] += row[c, k, 1]
