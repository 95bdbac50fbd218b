"""Compiled kernels of the mixed order hyper networks.

Two forms of a data set appear here:

packed
    Every input is -1 or +1. A column of D values is ``W = 8 * ceil(D / 512)`` words
    of 64 bits, a set bit meaning -1, padded with zero bits. Multiplying columns is
    XOR and an inner product is ``D - 2 popcount(a ^ b)``.
dense
    Inputs are any numbers in [-1, 1] (0 for unknown), one contiguous row of D floats
    per input.

Sets of inputs are kept in compressed form: set j has the increasing indices
``members[indptr[j]:indptr[j + 1]]``.
"""

import numpy as np

from skmohn._core._numba import jit
from skmohn.mohn._design.lookup_kernels import MOST

_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H1 = np.uint64(0x0101010101010101)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)
_SHIFT = np.uint64(56)
_TILE = 32
# Relative room for some roundings to single precision, of 2**-24 each.
_ROUNDING = 2.0**-20
# The least positive number of single precision.
_TINY = 2.0**-149


@jit
def _popcount(word):
    """Count the set bits of one uint64; LLVM recognizes the idiom. O(1)."""
    word = word - ((word >> _ONE) & _M1)
    word = (word & _M2) + ((word >> _TWO) & _M2)
    word = (word + (word >> _FOUR)) & _M4
    return (word * _H1) >> _SHIFT


# ---------------------------------------------------------------- columns and sums


@jit
def packed_columns(bits, indptr, members, out):
    """XOR the inputs of each set together.

    ``bits`` (n, W) uint64, ``indptr`` (p + 1,), ``members`` int32, ``out`` (p, W).
    O(W * number of members).
    """
    for j in range(indptr.shape[0] - 1):
        for w in range(out.shape[1]):
            out[j, w] = 0
        for e in range(indptr[j], indptr[j + 1]):
            i = members[e]
            for w in range(out.shape[1]):
                out[j, w] ^= bits[i, w]


@jit
def packed_gram(left, right, is_same, n_samples, out):
    """Inner products of packed columns.

    ``left`` (a, W), ``right`` (b, W) uint64, ``is_same`` whether they are the same
    columns, of which half the products say all, ``out`` (a, b) float64. O(a b W).
    """
    n_left, n_right = left.shape[0], right.shape[0]
    # Tiles of columns stay in the cache.
    for top in range(0, n_left, _TILE):
        below = min(top + _TILE, n_left)
        for start in range(0, below if is_same else n_right, _TILE):
            stop = min(start + _TILE, n_right)
            for i in range(top, below):
                a = left[i]
                for j in range(start, min(stop, i + 1) if is_same else stop):
                    differ = np.uint64(0)
                    for w in range(a.shape[0]):
                        differ += _popcount(a[w] ^ right[j, w])
                    out[i, j] = n_samples - 2.0 * differ
    if is_same:
        for i in range(n_left):
            for j in range(i):
                out[j, i] = out[i, j]


@jit(fastmath={"reassoc", "nsz", "contract"})
def packed_project(columns, vector, out):
    """Inner products of packed columns with one real vector.

    ``columns`` (p, W) uint64, ``vector`` (64 W,) float64 padded with zeros, ``out``
    (p,) float64. O(64 p W).
    """
    for j in range(columns.shape[0]):
        column = columns[j]
        total = 0.0
        for w in range(column.shape[0]):
            word = column[w]
            values = vector[64 * w : 64 * w + 64]
            for b in range(64):
                sign = 1.0 - 2.0 * np.float64((word >> np.uint64(b)) & _ONE)
                total += sign * values[b]
        out[j] = total


@jit
def packed_combine(columns, coef, out):
    """Add the weighted sum of packed columns to ``out``.

    ``columns`` (p, W) uint64, ``coef`` (p,) float64, ``out`` (64 W,) float64; what
    lies past the last sample is meaningless. O(64 p W).
    """
    for w in range(columns.shape[1]):
        values = out[64 * w : 64 * w + 64]
        for j in range(columns.shape[0]):
            word = columns[j, w]
            weight = coef[j]
            for b in range(64):
                values[b] += weight * (
                    1.0 - 2.0 * np.float64((word >> np.uint64(b)) & _ONE)
                )


# ------------------------------------------------------------------- the best few


@jit
def _sift(scores, sets, start, size):
    """Restore the min-heap order of ``scores[:size]`` below ``start``. O(log size)."""
    root = start
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and scores[child + 1] < scores[child]:
            child += 1
        if scores[root] <= scores[child]:
            return
        scores[root], scores[child] = scores[child], scores[root]
        for e in range(sets.shape[1]):
            sets[root, e], sets[child, e] = sets[child, e], sets[root, e]
        root = child


@jit
def _offer(score, parent, last, scores, sets, size):
    """Offer the set ``parent + (last,)`` to a min-heap; return its new size.

    The heap keeps the ``scores.shape[0]`` best; rows of ``sets`` are filled up with
    -1. O(log size) when the set enters.
    """
    if size == scores.shape[0] and score <= scores[0]:
        return size
    slot = size if size < scores.shape[0] else 0
    scores[slot] = score
    for e in range(sets.shape[1]):
        sets[slot, e] = parent[e] if e < parent.shape[0] else -1
    sets[slot, parent.shape[0]] = last
    if slot < size:
        _sift(scores, sets, 0, size)
        return size
    if size + 1 == scores.shape[0]:
        for start in range((size + 1) // 2 - 1, -1, -1):
            _sift(scores, sets, start, size + 1)
    return size + 1


@jit
def _is_new(parent, i):
    """Whether input ``i`` is not in the set yet."""
    for member in parent:
        if member == i:
            return False
    return True


@jit
def _next_parent(parent, n):
    """Go to the next increasing set that leaves room for one more input below ``n``.

    Returns the first place that changed, -1 after the last set. O(len(parent)).
    """
    size = parent.shape[0]
    index = size - 1
    while index >= 0 and parent[index] == n - 1 - size + index:
        index -= 1
    if index >= 0:
        parent[index] += 1
        for k in range(index + 1, size):
            parent[k] = parent[k - 1] + 1
    return index


# --------------------------------------------------------------------- screening


@jit
def _packed_scores(stem, bits, first, planes, total, n_samples, balanced, out):
    """Squared correlations (up to a constant) of products with the residual.

    ``stem`` (W,) is the parent's parity, extended by each input from ``first`` on;
    ``planes`` (5, W): sign and three magnitude bits of the residual, and scratch;
    ``total`` the sum of its quantised magnitudes. Unless all is ``balanced`` the
    products are centered. ``out`` (n,) float64. O(n W).
    """
    # Named once: a row taken inside the loops costs more than its population count.
    sign, low, middle, high = planes[0], planes[1], planes[2], planes[3]
    work = planes[4]
    for w in range(work.shape[0]):
        work[w] = stem[w] ^ sign[w]
    for i in range(first, bits.shape[0]):
        opposed = np.uint64(0)
        for w in range(work.shape[0]):
            differ = work[w] ^ bits[i, w]
            opposed += (
                _popcount(differ & low[w])
                + (_popcount(differ & middle[w]) << _ONE)
                + (_popcount(differ & high[w]) << _TWO)
            )
        product = total - 2.0 * opposed
        out[i] = product * product
    if balanced:
        return
    for i in range(first, bits.shape[0]):
        negative = np.uint64(0)
        for w in range(work.shape[0]):
            negative += _popcount(stem[w] ^ bits[i, w])
        mean = 1.0 - 2.0 * negative / n_samples
        spread = 1.0 - mean * mean
        out[i] /= 1e-9 if spread < 1e-9 else spread


@jit
def screen_packed(
    bits,
    columns,
    indptr,
    members,
    planes,
    total,
    n_samples,
    balanced,
    row,
    scores,
    sets,
):
    """Keep the best of all sets made of a given one and one input more.

    ``bits`` (n, W) uint64; ``columns`` (p, W) holds the parities of the given sets
    ``indptr, members``. With ``balanced``, products are taken to have mean 0. ``row``
    (n,) float64 is scratch: to allocate it here takes long to compile.
    ``scores`` (m,) float64 and ``sets`` (m, longest set) int32 become a heap, whose
    size is returned. O(p n W).
    """
    size = 0
    for j in range(columns.shape[0]):
        parent = members[indptr[j] : indptr[j + 1]]
        _packed_scores(columns[j], bits, 0, planes, total, n_samples, balanced, row)
        for i in range(bits.shape[0]):
            if (size < scores.shape[0] or row[i] > scores[0]) and _is_new(parent, i):
                size = _offer(row[i], parent, i, scores, sets, size)
    return size


@jit
def screen_order_packed(
    bits, parent, stems, planes, total, n_samples, balanced, row, scores, sets
):
    """:func:`screen_packed` for all sets of one order.

    ``parent`` (order - 1,) int32 is the first set but its last member, ``stems``
    (order, W) uint64 are zeros: the parities of its first 0, 1, ... members are kept
    there, so that going to the next set takes one exclusive or. O(C(n, order) W).
    """
    n, order = bits.shape[0], stems.shape[0]
    size, changed = 0, 0
    while changed >= 0:
        for k in range(changed, order - 1):
            i = parent[k]
            for w in range(bits.shape[1]):
                stems[k + 1, w] = stems[k, w] ^ bits[i, w]
        stem, first = stems[order - 1], 0
        if order > 1:
            first = parent[order - 2] + 1
        _packed_scores(stem, bits, first, planes, total, n_samples, balanced, row)
        for i in range(first, n):
            if size < scores.shape[0] or row[i] > scores[0]:
                size = _offer(row[i], parent, i, scores, sets, size)
        changed = _next_parent(parent, n)
    return size


@jit(fastmath={"reassoc", "nsz", "contract"})
def _dense_scores(stem, inputs, first, residual, weights, weight_sum, out):
    """:func:`_packed_scores` for real inputs; always centered. O(n D)."""
    min_spread = 1e-9 * weight_sum
    for i in range(first, inputs.shape[0]):
        product = 0.0
        total = 0.0
        square = 0.0
        for d in range(stem.shape[0]):
            value = stem[d] * inputs[i, d]
            product += value * residual[d]
            total += weights[d] * value
            square += weights[d] * value * value
        spread = square - total * total / weight_sum
        out[i] = product * product / (min_spread if spread < min_spread else spread)


@jit
def screen_dense(
    inputs, columns, indptr, members, residual, weights, weight_sum, row, scores, sets
):
    """:func:`screen_packed` for real inputs.

    ``inputs`` (n, D), ``columns`` (p, D) float64, ``residual`` (D,) the residual times
    the sample weights, ``weights`` (D,) and their sum. O(p n D).
    """
    size = 0
    for j in range(columns.shape[0]):
        parent = members[indptr[j] : indptr[j + 1]]
        _dense_scores(columns[j], inputs, 0, residual, weights, weight_sum, row)
        for i in range(inputs.shape[0]):
            if (size < scores.shape[0] or row[i] > scores[0]) and _is_new(parent, i):
                size = _offer(row[i], parent, i, scores, sets, size)
    return size


@jit
def screen_order_dense(
    inputs, parent, stems, residual, weights, weight_sum, row, scores, sets
):
    """:func:`screen_order_packed` for real inputs; ``stems`` are ones at first.

    O(C(n, order) D).
    """
    n, order = inputs.shape[0], stems.shape[0]
    size, changed = 0, 0
    while changed >= 0:
        for k in range(changed, order - 1):
            i = parent[k]
            for d in range(inputs.shape[1]):
                stems[k + 1, d] = stems[k, d] * inputs[i, d]
        stem, first = stems[order - 1], 0
        if order > 1:
            first = parent[order - 2] + 1
        _dense_scores(stem, inputs, first, residual, weights, weight_sum, row)
        for i in range(first, n):
            if size < scores.shape[0] or row[i] > scores[0]:
                size = _offer(row[i], parent, i, scores, sets, size)
        changed = _next_parent(parent, n)
    return size


@jit
def dense_columns(inputs, indptr, members, out):
    """Multiply the inputs of each set together.

    ``inputs`` (n, D), ``out`` (p, D) float64. O(D * number of members).
    """
    for j in range(indptr.shape[0] - 1):
        for d in range(out.shape[1]):
            out[j, d] = 1.0
        for e in range(indptr[j], indptr[j + 1]):
            i = members[e]
            for d in range(out.shape[1]):
                out[j, d] *= inputs[i, d]


# ---------------------------------------------------------------- the best pairs


@jit
def packed_pairs(stems, groups, planes, totals, sums, steps, inverses, counts, scores):
    """Score the pairs of some inputs with others by several residuals at once.

    ``stems`` (a, W) uint64 are the first inputs; ``groups`` (g, W, 64) the others, 64
    side by side, so that loops over them need no sums across a register. ``planes``
    (r, 3, W) are sign and two magnitude bits of the residuals, ``totals`` (r,) sums
    of the magnitudes, ``sums`` (r,) of the signed numbers, ``steps`` (r,) what one of
    them stands for. ``inverses`` (D + 1,) float64 is one over the length of a centered
    product that is negative in 0, 1, ... samples, 0 for a constant one. ``counts`` (2,
    64) uint64 is scratch. ``scores`` (r, a, 64 g) float32 become lengths of the
    residuals' parts along the centered products. O(a g W (r + 1)).
    """
    n_samples = inverses.shape[0] - 1
    negative, opposed = counts[0], counts[1]
    for g in range(groups.shape[0]):
        others = groups[g]
        for a in range(stems.shape[0]):
            for i in range(64):
                negative[i] = 0
            # Several words at a time: to store sums takes longer than to count.
            for w in range(0, stems.shape[1], 4):
                word0, word1 = stems[a, w], stems[a, w + 1]
                word2, word3 = stems[a, w + 2], stems[a, w + 3]
                for i in range(64):
                    negative[i] += (
                        _popcount(others[w, i] ^ word0)
                        + _popcount(others[w + 1, i] ^ word1)
                        + _popcount(others[w + 2, i] ^ word2)
                        + _popcount(others[w + 3, i] ^ word3)
                    )
            for r in range(planes.shape[0]):
                sign, low, high = planes[r, 0], planes[r, 1], planes[r, 2]
                for i in range(64):
                    opposed[i] = 0
                for w in range(0, stems.shape[1], 4):
                    word0 = stems[a, w] ^ sign[w]
                    word1 = stems[a, w + 1] ^ sign[w + 1]
                    word2 = stems[a, w + 2] ^ sign[w + 2]
                    word3 = stems[a, w + 3] ^ sign[w + 3]
                    low0, low1, low2, low3 = low[w], low[w + 1], low[w + 2], low[w + 3]
                    high0, high1 = high[w], high[w + 1]
                    high2, high3 = high[w + 2], high[w + 3]
                    for i in range(64):
                        differ0, differ1 = (
                            others[w, i] ^ word0,
                            others[w + 1, i] ^ word1,
                        )
                        differ2 = others[w + 2, i] ^ word2
                        differ3 = others[w + 3, i] ^ word3
                        twice = (
                            _popcount(differ0 & high0)
                            + _popcount(differ1 & high1)
                            + _popcount(differ2 & high2)
                            + _popcount(differ3 & high3)
                        )
                        opposed[i] += (
                            _popcount(differ0 & low0)
                            + _popcount(differ1 & low1)
                            + _popcount(differ2 & low2)
                            + _popcount(differ3 & low3)
                            + (twice << _ONE)
                        )
                found = scores[r, a, 64 * g : 64 * g + 64]
                # Of the centered product: less the mean times the sum.
                total, slope = totals[r] - sums[r], 2.0 * sums[r] / n_samples
                for i in range(64):
                    product = total - 2.0 * np.int64(opposed[i])
                    product += slope * np.int64(negative[i])
                    found[i] = steps[r] * abs(product) * inverses[negative[i]]


@jit
def packed_scores(wholes, products, sums, steps, inverses, min_score, scores):
    """:func:`packed_pairs` from inner products, for scores that are high enough.

    ``products`` (a, r + 1, b) int32 are those of the stems, and of stems times
    residuals, with the bits of other columns, where b is a multiple of 64; ``wholes``
    (a, r + 1) int32 what they would be if all bits were set. Where 64 scores are below
    ``min_score`` (r,) float32 they may become 0. O(a b r).
    """
    n_samples = inverses.shape[0] - 1
    for a in range(products.shape[0]):
        plain, n_negative = products[a, 0], np.int32((n_samples - wholes[a, 0]) // 2)
        for r in range(steps.shape[0]):
            own, found = products[a, r + 1], scores[r, a]
            slope, step = 2.0 * sums[r] / n_samples, steps[r]
            rest = wholes[a, r + 1] - sums[r]
            # In single precision, with room for its rounding: none of these numbers
            # exceeds the bound on all.
            bound = abs(rest) + (2.0 * MOST + abs(slope)) * n_samples
            room, near = np.float32(_ROUNDING * bound), np.float32(slope)
            ratio = 4.0 * (1.0 - _ROUNDING) * (min_score[r] / step) ** 2 / n_samples
            ratio, base = np.float32(ratio), np.float32(rest)
            two, n_all = np.float32(2.0), np.float32(n_samples)
            for start in range(0, own.shape[0], 64):
                is_any = False
                for j in range(start, start + 64):
                    # A set bit is -1.
                    negative = np.float32(np.int32(plain[j] + n_negative))
                    size = base - two * np.float32(own[j]) + near * negative
                    size = abs(size) + room
                    square = negative * (n_all - negative)
                    is_any |= size * size >= ratio * square
                if not is_any:
                    found[start : start + 64] = 0.0
                    continue
                for j in range(start, start + 64):
                    negative = plain[j] + n_negative
                    product = rest - 2.0 * np.float64(own[j]) + slope * negative
                    found[j] = step * abs(product) * inverses[negative]


@jit
def _is_behind(score, i, j, other, k, m):
    """Whether the pair i, j comes after k, m: it scores less, or as much and is later.

    O(1).
    """
    if score != other:
        return score < other
    return i > k or (i == k and j > m)


@jit
def _sink(scores, pairs, start, size):
    """Restore the heap below ``start``, the last pair on top. O(log size)."""
    root = start
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and _is_behind(
            scores[child + 1],
            pairs[child + 1, 0],
            pairs[child + 1, 1],
            scores[child],
            pairs[child, 0],
            pairs[child, 1],
        ):
            child += 1
        if not _is_behind(
            scores[child],
            pairs[child, 0],
            pairs[child, 1],
            scores[root],
            pairs[root, 0],
            pairs[root, 1],
        ):
            return
        scores[root], scores[child] = scores[child], scores[root]
        for e in range(2):
            pairs[root, e], pairs[child, e] = pairs[child, e], pairs[root, e]
        root = child


@jit
def keep_pairs(found, first, second, min_score, scores, pairs, size):
    """Keep the best of some pairs, of equal ones those that come first.

    ``found`` (a, b) float32 scores pairs of inputs, from ``first`` and ``second`` on;
    those that are no pair, and scores of 0 and below ``min_score``, are passed over.
    ``scores`` (m,) float32 and ``pairs`` (m, 2) int32 are a heap of ``size`` entries,
    whose new size is returned. O(a b), and O(log m) for each that enters.
    """
    max_pairs = scores.shape[0]
    for k in range(found.shape[0]):
        i = first + k
        row = found[k]
        for start in range(0, row.shape[0], 64):
            stop = min(start + 64, row.shape[0])
            if size == max_pairs and scores[0] > min_score:
                min_score = scores[0]
            # An or of comparisons is many at once; a maximum is one after the other.
            lowest, is_any = np.float32(max(min_score, _TINY)), False
            for e in range(start, stop):
                is_any |= row[e] >= lowest
            if not is_any:
                continue
            for e in range(start, stop):
                score, j = row[e], second + e
                if j <= i or score < min_score or score <= 0:
                    continue
                if size < max_pairs:
                    scores[size], pairs[size, 0], pairs[size, 1] = score, i, j
                    size += 1
                    if size == max_pairs:
                        for root in range(size // 2 - 1, -1, -1):
                            _sink(scores, pairs, root, size)
                elif _is_behind(scores[0], pairs[0, 0], pairs[0, 1], score, i, j):
                    scores[0], pairs[0, 0], pairs[0, 1] = score, i, j
                    _sink(scores, pairs, 0, size)
    return size
