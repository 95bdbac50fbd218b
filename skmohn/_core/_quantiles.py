"""Levels of numeric columns, about equally full, and ends that no row sets alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class QuantileConstants:
    """Ends of columns."""

    # Fills of files, 1e20 of CMIP and 9.97e36 of netCDF, lie farther from values of
    # nature, in the range of these. What rounding leaves beside a zero, such as 0.1 +
    # 0.2 - 0.3, is closer to 1.
    min_fill_distance: float = tuned(1e17, "rounding")
    # Ranges of the others by which a lone value lies beyond them if it is no value:
    # what Tukey calls far out is three quartile ranges off. Where it is replaced, and
    # not only the scale of its column pulled in, powers of four are kept.
    min_lone_distance: float = tuned(3.0, "Tukey (1977), section 2D")
    # The same on a scale of logarithms: of 150 totals with a Pareto tail of index 1.5,
    # one in a thousand samples has such a value, of 20 one in twenty.
    min_lone_log_distance: float = tuned(2.0, "benchmarks/mohn/wild_cells.py")
    # Of fewer rows, each may be a setting that was chosen.
    min_rows_lone: int = tuned(10, "benchmarks/mohn/wild_cells.py")
    # One of so many rows may be far off on each side of a column, and at most so many.
    n_rows_of_lone: int = tuned(50, "benchmarks/mohn/wild_cells.py")
    max_lone: int = tuned(5, "benchmarks/mohn/wild_cells.py")
    # More of them, one of so many rows, where they are so many ranges off: errors of
    # units, such as grams for kilograms, are. Powers of a hundred are kept.
    n_rows_of_remote: int = tuned(10, "benchmarks/mohn/wild_cells.py")
    min_remote_distance: float = tuned(100.0, "benchmarks/mohn/wild_cells.py")
    # A mean is a median if they differ by less than this fraction of the range: the
    # relative difference of numbers in single precision.
    rounding: float = tuned(2.0**-24, "rounding")


_QUANTILES = QuantileConstants()


def quantile_thresholds(
    values: NDArray[np.float64], n_bins: int
) -> NDArray[np.float64]:
    """Thresholds between quantiles of finite values, for `n_bins` levels at most."""
    # They increase, and a value at one belongs above it. Where ties would cost levels
    # that there is room for, quantiles of the distinct values replace them.
    distinct, counts = np.unique(values, return_counts=True)
    n_bins = min(n_bins, len(distinct))
    if n_bins == 1:
        return np.zeros(0)
    first = _first_of_bins(distinct, counts, n_bins)
    if len(first) < n_bins - 1:
        first = _first_of_bins(distinct, np.ones_like(counts), n_bins)
    below, above = distinct[first - 1], distinct[first]
    # Half of each, since half-way between two numbers may be no number.
    between = below / 2 + above / 2
    return np.where(between > below, between, above)


def _first_of_bins(
    distinct: NDArray[np.float64], counts: NDArray[np.intp], n_bins: int
) -> NDArray[np.intp]:
    """Indices of the lowest value in each bin but the first; ties make fewer."""
    # Each cut is the one nearest to its quantile. Of two as near it is the outer one,
    # and at the median the one on the side of the mean, so that values with another
    # sign have the same bins.
    n_below = np.append(0, np.cumsum(counts))
    wanted = n_below[-1] * np.arange(1, n_bins)
    upper = np.searchsorted(n_bins * n_below, wanted)
    excess = n_bins * (n_below[upper - 1] + n_below[upper]) - 2 * wanted
    side = np.sign(2 * wanted - n_bins * n_below[-1])
    middle = side == 0
    side[middle] = _side_of_mean(distinct, counts, distinct[upper[middle] - 1])
    first = np.unique(upper - ((excess > 0) | ((excess == 0) & (side < 0))))
    return first[(first > 0) & (first < len(distinct))]


def _side_of_mean(
    distinct: NDArray[np.float64],
    counts: NDArray[np.intp],
    medians: NDArray[np.float64],
) -> NDArray[np.intp]:
    """On which side of medians the mean is, above if only rounding tells, -1 or 1."""
    mean = (counts / counts.sum()) @ distinct
    margin = _QUANTILES.rounding * (distinct[-1] / 2 - distinct[0] / 2)
    return np.where(medians / 2 - mean / 2 > margin, -1, 1)


def count_fills(ordered: NDArray) -> tuple[int, int]:
    """Numbers of fills of files, which stand for no value, at the ends of a column."""
    # The column is increasing, of known values. Fills are fewer than half of them, and
    # lie so far off that the others, to the far quartile, are one number beside that.
    n_spared = (len(ordered) - 1) // 2
    if n_spared < 1:
        return 0, 0
    lower, upper = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
    below, above = ordered[: n_spared + 1], ordered[-1 - n_spared :]
    with np.errstate(over="ignore"):
        is_low = np.diff(below / _QUANTILES.min_fill_distance) > upper - below[1:]
        is_high = np.diff(above / _QUANTILES.min_fill_distance) > above[:-1] - lower
    # Beside equal values, each other one is far off.
    low = np.flatnonzero(is_low & (below[1:] < upper))
    high = np.flatnonzero(is_high & (above[:-1] > lower))
    n_low = int(low[-1]) + 1 if len(low) else 0
    return n_low, n_spared - int(high[0]) if len(high) else 0


def ends_inside_lone(ordered: NDArray) -> tuple[float, float, float]:
    """Ends of an increasing column without its few values far off, and the distance."""
    # The distance beyond the ends from which a value is far off, infinite if none is.
    # Only the spared values at either end must be in order. The farthest are first, so
    # that none of them widens the range from which others are far.
    n_near, n_remote = _count_spared(len(ordered))
    n_low, n_high, far = _count_beyond(
        ordered, n_remote, _QUANTILES.min_remote_distance
    )
    inner = ordered[n_low : len(ordered) - n_high]
    n_low, n_high, near = _count_beyond(inner, n_near, _QUANTILES.min_lone_distance)
    return float(inner[n_low]), float(inner[-1 - n_high]), min(near, far)


def _count_spared(n_values: int) -> tuple[int, int]:
    """Values at each end that may be far off all others, and that may be remote."""
    if n_values < _QUANTILES.min_rows_lone:
        return 0, 0
    near = max(n_values // _QUANTILES.n_rows_of_lone, 1)
    remote = n_values // _QUANTILES.n_rows_of_remote
    return min(near, _QUANTILES.max_lone), min(remote, _QUANTILES.max_lone)


def _count_beyond(
    ordered: NDArray, n_spared: int, n_ranges: float, are_logarithms: bool = False
) -> tuple[int, int, float]:
    """Numbers of values so many ranges off at either end, and the distance."""
    if n_spared:
        ends = ordered.astype(np.float64, copy=False)
        below, above = ends[n_spared::-1], ends[-1 - n_spared :]
        with np.errstate(over="ignore", invalid="ignore"):
            distance = n_ranges * float(above[0] - below[0])
        if distance > 0.0:
            n_low, low = _count_far(-ends, -below, distance, are_logarithms)
            n_high, high = _count_far(ends, above, distance, are_logarithms)
            if n_low or n_high:
                return n_low, n_high, max(low, high)
    return 0, 0, math.inf


def _count_far(
    values: NDArray[np.float64],
    above: NDArray[np.float64],
    distance: float,
    are_logarithms: bool,
) -> tuple[int, float]:
    """Number of high values so far off, also by their logarithms; the distance."""
    # The first of `above` is the end of the others. Positive numbers such as doses and
    # incomes extend over decades: they are far off if they are as far from this end on
    # a scale of logarithms as it is from the median. No zero has a logarithm.
    distances = np.full(len(above) - 1, distance)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(above)
        if not np.any(steps > distance):
            return 0, distance
        if not are_logarithms and not np.any(values < 0.0):
            positive = values[values > 0.0]
            rank = len(positive) // 2
            ratio = above[0] / np.partition(positive, rank)[rank]
            distances = np.maximum(distances, above[:-1] * (ratio - 1.0))
        first = _first(steps > distances)
    n_far = len(distances) - first
    return n_far, float(distances[first]) if n_far else distance


def _first(mask: NDArray[np.bool_]) -> int:
    """Number of values before the first of a mask, all if there is none."""
    return int(np.append(mask, True).argmax())


def mask_lone(values: NDArray) -> NDArray[np.bool_]:
    """Mask of the few values of each column that are far off all others."""
    # NaN is unknown. Fills of files are as far off.
    mask = np.zeros(values.shape, dtype=bool)
    if values.dtype.kind != "f":
        return mask
    for j, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        n_spared = sum(_count_spared(len(known)))
        if n_spared:
            ends = np.arange(n_spared + 1)
            found = np.partition(known, [*ends, *(len(known) - 1 - ends)])
            low, high, distance = ends_inside_lone(found)
            if distance < math.inf:
                with np.errstate(over="ignore", invalid="ignore"):
                    mask[:, j] = low - column > distance
                    mask[:, j] |= column - high > distance
    return mask


def mask_remote(values: NDArray, is_lone: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask of the lone values that hardly belong to a column, such as entry errors."""
    # Columns that are mostly one value, such as pixels, often have other lone ones.
    others = np.where(is_lone, np.nan, values)
    low, high = np.fmin.reduce(others), np.fmax.reduce(others)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = np.maximum(low - values, values - high)
        return is_lone & (beyond > _QUANTILES.min_remote_distance * (high - low))


def mask_lone_totals(totals: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the few totals, or counts, that are far above all others."""
    # On the scale of logarithms, since tails of totals may be long; smaller ones than
    # the mean of the others are near one another.
    ordered = np.sort(totals)
    n_spared, _ = _count_spared(len(ordered))
    with np.errstate(over="ignore"):
        center = float(np.mean(ordered[: len(ordered) - n_spared]))
        if not n_spared or not 0.0 < center < math.inf:
            return np.zeros(len(totals), dtype=bool)
        scaled = np.log1p(ordered / center)
    _, n_high, _ = _count_beyond(
        scaled, n_spared, _QUANTILES.min_lone_log_distance, are_logarithms=True
    )
    return totals > ordered[-1 - n_high]


def ends_inside_fills(values: NDArray) -> tuple[NDArray, NDArray]:
    """Lowest and highest value between the fills of each column, NaN left out."""
    # Infinite on a side that has none.
    low, high = np.tile([[-np.inf], [np.inf]], values.shape[1])
    for j, column in enumerate(values.T):
        ordered = np.sort(column[~np.isnan(column)])
        n_low, n_high = count_fills(ordered)
        if n_low:
            low[j] = ordered[n_low]
        if n_high:
            high[j] = ordered[-1 - n_high]
    return low, high


def pull_in_fills(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Replace fills of each column, and of few rows what is far off, by its end."""
    if len(values) < _QUANTILES.min_rows_lone:
        # Of so few, none is left out as a lone one.
        return pull_in(values, weights)
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    ends = np.stack(ends_inside_fills(values))
    return np.clip(values, *ends.astype(values.dtype))


def inner_ends(values: NDArray[np.float64]) -> tuple[Any, Any]:
    """Second lowest and second highest known value of each column, inside of fills."""
    # NaN is unknown. Of up to three values the lowest and the highest, and NaN of none.
    table = values.reshape(len(values), -1)
    n_known = np.sum(~np.isnan(table), axis=0)
    is_suspect = np.ones(table.shape[1], dtype=bool)
    if len(table) > 3 and np.all(n_known == len(table)):
        # Large tables take a fraction of the time of sorting.
        half, quarter = (len(table) - 1) // 2, len(table) // 4
        ends = np.array([0, 1, quarter, half])
        ordered = np.partition(table, [*ends, *(len(table) - 1 - ends)], axis=0)
        with np.errstate(over="ignore"):
            extent = (
                ordered[-1] / _QUANTILES.min_fill_distance
                - ordered[0] / _QUANTILES.min_fill_distance
            )
            is_suspect = extent > np.minimum(
                ordered[-1 - half] - ordered[quarter],
                ordered[-1 - quarter] - ordered[half],
            )
        ordered[:, is_suspect] = np.sort(table[:, is_suspect], axis=0)
    else:
        ordered = np.sort(table, axis=0)
    n_low, n_high = np.tile(np.where(n_known > 3, 1, 0), (2, 1))
    for j in np.flatnonzero(is_suspect).tolist():
        fills = count_fills(ordered[: n_known[j], j])
        n_low[j], n_high[j] = np.maximum((n_low[j], n_high[j]), fills)
    last = np.maximum(n_known - 1 - n_high, 0)
    columns = np.arange(table.shape[1])
    low, high = np.stack([ordered[n_low, columns], ordered[last, columns]])
    return low.reshape(values.shape[1:])[()], high.reshape(values.shape[1:])[()]


def pull_in(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Replace an end of a column that is far off, and fills, by the inner end."""
    # Farther than the inner ends are apart: a typing error would otherwise set the mean
    # and the deviation of its column. NaN is unknown. Weights that are integers count
    # rows, and what two rows have is no error of one.
    if values.dtype.kind != "f":
        # Differences of booleans and of small integers are others, or none.
        values = values.astype(np.float64)
    rows = values
    if weights is not None and np.all(weights == np.rint(weights)):
        rows = np.repeat(values, np.minimum(weights, 2.0).astype(np.intp), axis=0)
    low, high = inner_ends(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        is_wild = (low - values > high - low) | (values - high > high - low)
    # Beside equal values, each other one is far off.
    return np.where(is_wild & (low < high), np.clip(values, low, high), values)
