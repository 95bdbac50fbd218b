"""Compiled sums of weighted products, and the Walsh-Hadamard transform of a table.

Sets of inputs are kept in compressed form: set j has the increasing indices
``members[indptr[j]:indptr[j + 1]]``.
"""

from skmohn._core._numba import jit


@jit
def evaluate(inputs, indptr, members, coef, out):
    """Add ``sum_j coef_j prod_i x_i`` of every row to ``out``.

    ``inputs`` (D, n) float64, ``out`` (D,) float64. O(D * number of members).
    """
    for d in range(inputs.shape[0]):
        row = inputs[d]
        total = 0.0
        for j in range(indptr.shape[0] - 1):
            product = coef[j]
            for e in range(indptr[j], indptr[j + 1]):
                product *= row[members[e]]
            total += product
        out[d] += total


@jit
def transform(table, m):
    """Walsh-Hadamard transform of the first ``m`` entries in place.

    ``table`` (m or more,) float64, ``m`` a power of two. O(m log m).
    """
    half = 1
    while half < m:
        for start in range(0, m, 2 * half):
            for b in range(start, start + half):
                left, right = table[b], table[b + half]
                table[b], table[b + half] = left + right, left - right
        half *= 2
