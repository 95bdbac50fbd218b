"""Levels of numeric columns, about equally full."""

import numpy as np


def quantile_thresholds(values, n_bins):
    """Thresholds between quantiles of the values.

    Where ties would cost levels that there is room for, quantiles of the distinct
    values take their place.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Finite.

    n_bins : int
        Most levels that the thresholds divide the values into.

    Returns
    -------
    thresholds : ndarray of shape (n_levels - 1,)
        Increasing; a value at one belongs above it.
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


def _first_ranks(ranks, n_bins):
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
