"""Levels of numeric columns, about equally full, and ends that no row sets alone."""

from typing import Any

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


def inner_ends(values: NDArray[np.float64]) -> tuple[Any, Any]:
    """Second lowest and second highest known value of each column.

    NaN is unknown. Of up to three values the lowest and the highest, and NaN of none.
    """
    n_known = np.sum(~np.isnan(values), axis=0, keepdims=True)
    if len(values) > 3 and np.all(n_known == len(values)):
        # Large tables take a fraction of the time of sorting.
        ordered = np.partition(values, (1, len(values) - 2), axis=0)
    else:
        ordered = np.sort(values, axis=0)
    is_enough = n_known > 3
    low = np.where(is_enough, 1, 0)
    high = np.maximum(n_known - np.where(is_enough, 2, 1), 0)
    return tuple(np.take_along_axis(ordered, at, axis=0)[0] for at in (low, high))


def pull_in(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace an end of a column that is far off by its neighbor, the inner end.

    Farther than the inner ends are apart: a slip of the keyboard would else set the
    mean and the deviation of its column. NaN is unknown.
    """
    low, high = inner_ends(values)
    with np.errstate(over="ignore", invalid="ignore"):
        is_wild = (low - values > high - low) | (values - high > high - low)
    # Beside equal values, each other one is far off.
    return np.where(is_wild & (low < high), np.clip(values, low, high), values)
