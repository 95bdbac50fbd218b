"""Levels of numeric columns, about equally full."""

import numpy as np
from numpy.typing import NDArray


def quantile_thresholds(
    values: NDArray[np.float64], n_bins: int
) -> NDArray[np.float64]:
    """Thresholds between quantiles of finite values, for `n_bins` levels at most.

    They increase, and a value at one belongs above it. Where ties would cost levels
    that there is room for, quantiles of the distinct values take their place.
    """
    # Ranks, since half-way between two numbers may be no number.
    distinct, counts = np.unique(values, return_counts=True)
    ranks = np.repeat(np.arange(len(distinct)), counts)
    n_bins = min(n_bins, len(distinct))
    if n_bins == 1:
        return np.zeros(0)
    first = _first_ranks(ranks, n_bins)
    if len(first) < n_bins - 1:
        first = _first_ranks(np.arange(len(distinct)), n_bins)
    below, above = distinct[first - 1], distinct[first]
    between = below / 2 + above / 2
    return np.where(between > below, between, above)


def _first_ranks(ranks: NDArray[np.intp], n_bins: int) -> NDArray[np.intp]:
    """Lowest rank in each of so many bins but the first; ties make fewer.

    The edges are those of scikit-learn's KBinsDiscretizer, which warns of ties: to hold
    a warning back is not safe where other threads fit, too.
    """
    edges = np.unique(
        np.percentile(
            ranks, np.linspace(0, 100, n_bins + 1), method="averaged_inverted_cdf"
        )
    )
    first = np.ceil(edges[1:-1]).astype(int)
    # Nothing would be below the lowest.
    return np.unique(first[first > 0])
