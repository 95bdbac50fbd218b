"""Compiled search of the levels of numeric columns."""

from skmohn._core._numba import jit


@jit
def find_levels(values, starts, thresholds, first, categories):
    """Write the levels of values into columns of ``categories``, from ``first`` on.

    ``values`` (D, n) float64, NaN where unknown; ``thresholds`` of all columns, each
    increasing, those of column c from ``starts[c]`` to ``starts[c + 1]``;
    ``categories`` (D, at least first + n) int64: how many thresholds are no larger, and
    one more than there are where the value is unknown. O(D n log thresholds).
    """
    for d in range(values.shape[0]):
        for c in range(values.shape[1]):
            value = values[d, c]
            low, high = starts[c], starts[c + 1]
            if value != value:
                low, high = high + 1, 0
            while low < high:
                middle = (low + high) >> 1
                if thresholds[middle] <= value:
                    low = middle + 1
                else:
                    high = middle
            categories[d, first + c] = low - starts[c]
