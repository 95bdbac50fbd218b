"""Compiled kernels of columns with three equally spaced values, on two bit planes.

A column of D values -1, 0 and +1 is two rows of ``W = 8 * ceil(D / 512)`` words of 64
bits: in ``sign`` a set bit means -1, in ``nonzero`` -1 or +1. What is padded, and what
is unknown, is 0. A column may be meant less its ``center``; the planes do not change.

Residuals are rounded to steps: a plane of their signs, and two of their magnitudes.
"""

import numpy as np

from skmohn._core._numba import jit

_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H1 = np.uint64(0x0101010101010101)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)
_SHIFT = np.uint64(56)
# Of the mean square of a product that varies.
_LEAST = 1e-9


@jit
def _popcount(word):
    """Count the set bits of one uint64; LLVM recognizes the idiom. O(1)."""
    word = word - ((word >> _ONE) & _M1)
    word = (word & _M2) + ((word >> _TWO) & _M2)
    word = (word + (word >> _FOUR)) & _M4
    return (word * _H1) >> _SHIFT


@jit
def plane_sums(sign, nonzero, out):
    """Sums and sums of squares of columns.

    ``sign, nonzero`` (n, W) uint64, ``out`` (n, 2) float64. O(n W).
    """
    for j in range(sign.shape[0]):
        negative, known = _ZERO, _ZERO
        for w in range(sign.shape[1]):
            negative += _popcount(sign[j, w])
            known += _popcount(nonzero[j, w])
        out[j, 0] = np.float64(known) - 2.0 * np.float64(negative)
        out[j, 1] = np.float64(known)


@jit(fastmath={"reassoc", "nsz", "contract"})
def plane_project(sign, nonzero, known, centers, vector, out):
    """Inner products of columns less their centers, where known, with a vector.

    ``sign, nonzero, known`` (n, W) uint64, of known also (1, W) for all columns;
    ``centers`` (n,), ``vector`` (64 W,) float64 padded with zeros, ``out`` (n,)
    float64. O(64 n W).
    """
    for j in range(sign.shape[0]):
        row = known[j if known.shape[0] > 1 else 0]
        total = 0.0
        for w in range(sign.shape[1]):
            negative, other, there = sign[j, w], nonzero[j, w], row[w]
            values = vector[64 * w : 64 * w + 64]
            for b in range(64):
                bit = np.uint64(b)
                value = np.float64((other >> bit) & _ONE) - centers[j]
                value -= 2.0 * np.float64((negative >> bit) & _ONE)
                total += value * values[b] * np.float64((there >> bit) & _ONE)
        out[j] = total


@jit
def plane_columns(sign, nonzero, known, centers, indptr, members, out):
    """Products of columns less their centers, 0 where one is unknown.

    ``sign, nonzero, known`` (n, W) uint64, of known also (1, W) for all columns;
    ``centers`` (n,) float64; ``indptr`` (n_sets + 1,) int64 and ``members`` int32 are
    the sets, ``out`` (n_sets, D) float64. O(D) for each member of a set.
    """
    for k in range(out.shape[0]):
        column = out[k]
        column[:] = 1.0
        for m in range(indptr[k], indptr[k + 1]):
            j = members[m]
            row = known[j if known.shape[0] > 1 else 0]
            for w in range((out.shape[1] + 63) // 64):
                negative, other, there = sign[j, w], nonzero[j, w], row[w]
                part = column[64 * w : 64 * w + 64]
                for b in range(part.shape[0]):
                    bit = np.uint64(b)
                    value = np.float64((other >> bit) & _ONE)
                    value -= 2.0 * np.float64((negative >> bit) & _ONE)
                    value -= centers[j]
                    part[b] *= value * np.float64((there >> bit) & _ONE)


@jit
def _moments(
    squares, once, other, cross, m, c, sum_x, square_x, sum_y, square_y, n_rows
):
    """Mean of the product of two centered columns, and one over its length.

    ``squares, once, other, cross`` are the sums of x^2 y^2, x y^2, x^2 y and x y, ``m``
    and ``c`` the centers of x and y. O(1).
    """
    product = cross - c * sum_x - m * sum_y + n_rows * m * c
    square = squares - 2.0 * (m * once + c * other) + 4.0 * m * c * cross
    square += c * c * (square_x - 2.0 * m * sum_x)
    square += m * m * (square_y - 2.0 * c * sum_y + n_rows * c * c)
    mean = product / n_rows
    spread = square - product * mean
    # A product that does not vary has no score.
    return mean, 1.0 / np.sqrt(spread) if spread > _LEAST * n_rows else 0.0


@jit
def plane_pairs(
    stems,
    groups,
    stem_sums,
    sums,
    planes,
    residual_sums,
    steps,
    stem_bases,
    bases,
    n_rows,
    counts,
    numbers,
    scores,
):
    """Score the pairs of some columns with others by several residuals at once.

    ``stems`` are sign and nonzero (a, W) uint64 of the first columns, ``groups`` those
    of the others (g, W, 64), 64 side by side, so that loops over them need no sums
    across a register. ``stem_sums`` (3, a), ``sums`` (3, 64 g) float64: sum, sum
    of squares and center of each. ``planes`` (r, 3, W) are sign and two magnitude
    bits of the residuals, ``residual_sums`` (r,) their sums, ``steps`` (r,) what 1
    stands for; ``stem_bases`` (r, a), ``bases`` (r, 64 g) their inner products with
    columns. ``counts`` (6, 64) uint64 and ``numbers`` (2, 64) float64 are scratch.
    ``scores`` (r, a, 64 g) float32 become lengths of the residuals' parts along the
    products of columns less their centers, less the mean of the product; 0 where that
    is constant. O(a g W (r + 1)).
    """
    both, left, right, differ = counts[0], counts[1], counts[2], counts[3]
    total, opposed = counts[4], counts[5]
    spreads, means = numbers[0], numbers[1]
    for g in range(groups[0].shape[0]):
        sign, nonzero = groups[0][g], groups[1][g]
        for a in range(stems[0].shape[0]):
            stem_sign, stem_nonzero = stems[0][a], stems[1][a]
            m = stem_sums[2, a]
            sum_x, square_x = stem_sums[0, a], stem_sums[1, a]
            for i in range(64):
                both[i] = left[i] = right[i] = differ[i] = _ZERO
            for w in range(0, stem_sign.shape[0], 2):
                x0, x1 = stem_sign[w], stem_sign[w + 1]
                z0, z1 = stem_nonzero[w], stem_nonzero[w + 1]
                for i in range(64):
                    y0, y1 = sign[w, i], sign[w + 1, i]
                    k0, k1 = z0 & nonzero[w, i], z1 & nonzero[w + 1, i]
                    both[i] += _popcount(k0) + _popcount(k1)
                    left[i] += _popcount(k0 & x0) + _popcount(k1 & x1)
                    right[i] += _popcount(k0 & y0) + _popcount(k1 & y1)
                    differ[i] += _popcount(k0 & (x0 ^ y0)) + _popcount(k1 & (x1 ^ y1))
            for i in range(64):
                squares, j = np.float64(both[i]), 64 * g + i
                means[i], spreads[i] = _moments(
                    squares,
                    squares - 2.0 * np.float64(left[i]),
                    squares - 2.0 * np.float64(right[i]),
                    squares - 2.0 * np.float64(differ[i]),
                    m,
                    sums[2, j],
                    sum_x,
                    square_x,
                    sums[0, j],
                    sums[1, j],
                    n_rows,
                )
            for r in range(planes.shape[0]):
                signs, low, high = planes[r, 0], planes[r, 1], planes[r, 2]
                for i in range(64):
                    total[i] = opposed[i] = _ZERO
                for w in range(0, stem_sign.shape[0], 2):
                    x0, x1 = stem_sign[w] ^ signs[w], stem_sign[w + 1] ^ signs[w + 1]
                    l0, l1 = stem_nonzero[w] & low[w], stem_nonzero[w + 1] & low[w + 1]
                    h0, h1 = (
                        stem_nonzero[w] & high[w],
                        stem_nonzero[w + 1] & high[w + 1],
                    )
                    for i in range(64):
                        z0, z1 = nonzero[w, i], nonzero[w + 1, i]
                        d0, d1 = x0 ^ sign[w, i], x1 ^ sign[w + 1, i]
                        a0, a1, b0, b1 = l0 & z0, l1 & z1, h0 & z0, h1 & z1
                        single = _popcount(a0) + _popcount(a1)
                        twice = _popcount(b0) + _popcount(b1)
                        total[i] += single + (twice << _ONE)
                        single = _popcount(a0 & d0) + _popcount(a1 & d1)
                        twice = _popcount(b0 & d0) + _popcount(b1 & d1)
                        opposed[i] += single + (twice << _ONE)
                found = scores[r, a, 64 * g : 64 * g + 64]
                whole = residual_sums[r]
                beside = stem_bases[r, a] - m * whole
                for i in range(64):
                    product = np.float64(total[i]) - 2.0 * np.float64(opposed[i])
                    product -= m * bases[r, 64 * g + i] + sums[2, 64 * g + i] * beside
                    product -= means[i] * whole
                    found[i] = steps[r] * abs(product) * spreads[i]


@jit
def plane_scores(
    stem_sums,
    sums,
    products,
    residual_sums,
    steps,
    stem_bases,
    bases,
    n_rows,
    numbers,
    scores,
):
    """:func:`plane_pairs` from inner products.

    ``products`` (a, r + 2, 2 b) int32 are those of the stems x, of x times residuals
    and of x squared with bits of the other columns: whether 32 of them are not 0, their
    signs, the same of the next 32, and so on. ``numbers`` (2, 32) float64 is scratch,
    and ``scores`` is (r, a, b). O(a b r).
    """
    spreads, means = numbers[0], numbers[1]
    n_residuals = steps.shape[0]
    for a in range(products.shape[0]):
        m = stem_sums[2, a]
        sum_x, square_x = stem_sums[0, a], stem_sums[1, a]
        for start in range(0, scores.shape[2], 32):
            plain = products[a, 0, 2 * start : 2 * start + 64]
            squared = products[a, n_residuals + 1, 2 * start : 2 * start + 64]
            for i in range(32):
                squares, once = np.float64(squared[i]), np.float64(plain[i])
                means[i], spreads[i] = _moments(
                    squares,
                    once,
                    squares - 2.0 * np.float64(squared[32 + i]),
                    once - 2.0 * np.float64(plain[32 + i]),
                    m,
                    sums[2, start + i],
                    sum_x,
                    square_x,
                    sums[0, start + i],
                    sums[1, start + i],
                    n_rows,
                )
            for r in range(n_residuals):
                inner = products[a, r + 1, 2 * start : 2 * start + 64]
                found = scores[r, a, start : start + 32]
                whole = residual_sums[r]
                beside = stem_bases[r, a] - m * whole
                for i in range(32):
                    product = np.float64(inner[i]) - 2.0 * np.float64(inner[32 + i])
                    product -= m * bases[r, start + i] + sums[2, start + i] * beside
                    product -= means[i] * whole
                    found[i] = steps[r] * abs(product) * spreads[i]
