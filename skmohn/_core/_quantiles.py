"""Levels of numeric columns, about equally full."""

import warnings

import numpy as np
from sklearn.preprocessing import KBinsDiscretizer


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
    # Ranks, since scikit-learn's bins have a least width.
    distinct, ranks = np.unique(values, return_inverse=True)
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
    """Lowest rank in each of scikit-learn's bins but the first; ties make fewer."""
    binner = KBinsDiscretizer(n_bins, strategy="quantile", subsample=None)
    with warnings.catch_warnings():
        # It warns of ties.
        warnings.simplefilter("ignore", UserWarning)
        binner.fit(ranks[:, None])
    first = np.ceil(binner.bin_edges_[0][1:-1]).astype(int)
    # Nothing would be below the lowest.
    return np.unique(first[first > 0])
