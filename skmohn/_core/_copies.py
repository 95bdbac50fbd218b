"""Rows of a table that are copies of each other: equal, or but for jitter."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._quantiles import inner_ends
from skmohn._core._rows import distinct_rows, number_rows
from skmohn._core._settings import find_settings
from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class JitterConstants:
    """Copies of rows with jitter."""

    # Differences, fractions of the ranges of columns: if few rows have equal targets
    # the largest, ...
    fractions: tuple[float, ...] = tuned((0.05, 0.01, 1e-3), "benchmarks/ablation.py")
    # ... else the largest that is so many times smaller than the distance of others.
    min_distance: float = tuned(3.0, "benchmarks/ablation.py")
    # Mean number of rows with a target, over rows, that counts as few.
    max_copies: int = tuned(16, "benchmarks/ablation.py")
    n_rows_checked: int = tuned(16, "cost")
    # Of rows that repeat a measurement, among which copies are sought.
    min_fraction: float = tuned(0.01, "cost")
    max_comparisons: int = tuned(2**26, "cost")


_JITTER = JitterConstants()


def round_to_settings(table: NDArray) -> NDArray:
    """Table in which rows are equal that are equal once they are encoded."""
    found = find_settings(table) if table.dtype.kind == "f" else {}
    for j, settings in found.items():
        table[:, j] = settings.round(table[:, j])
    return table


def join_near_rows(
    table: NDArray,  # (n_rows, n_columns)
    values: NDArray[np.intp],  # (n_rows,); numbers of equal targets
    are_classes: bool,
) -> NDArray:
    """Table in which rows are equal that are copies but for jitter."""
    is_large = np.sum(np.bincount(values) ** 2.0) > _JITTER.max_comparisons
    if is_large or table.dtype.kind != "f":
        return table
    first, index = distinct_rows(np.column_stack([values, number_rows(table)]))
    values, distinct = values[first], table[first]
    is_integer = np.all((distinct == np.rint(distinct)) | np.isnan(distinct), axis=0)
    low, high = inner_ends(distinct)
    # Halves, since a range may be no float.
    extent = np.where(is_integer, 0.0, 2.0 * (0.5 * high - 0.5 * low))
    if not np.any(extent > 0.0):
        return table
    size = np.bincount(values)
    # Of classes, few numbers and plateaus, rows with equal targets are no copies.
    is_common = are_classes or np.sum(size**2.0) > _JITTER.max_copies * len(first)
    jitter = max(_JITTER.fractions)
    if is_common:
        jitter = _find_jitter(distinct, values, extent)
    if not jitter:
        return table
    joined, end, n_joined = distinct.copy(), np.cumsum(size), int(np.sum(size == 1))
    for value in np.flatnonzero(size > 1):
        group = np.arange(end[value] - size[value], end[value])
        while len(group):
            row = distinct[group[0]]
            is_near = _are_near(distinct[group], row, jitter * extent)
            joined[group[is_near]] = row
            group, n_joined = group[~is_near], n_joined + 1
    # Most rows of equal targets are near, where these are not equal by chance.
    n_ties = len(first) - len(size)
    is_joined = is_common or 2 * (len(first) - n_joined) >= n_ties > 0
    return joined[index] if is_joined else table


def number_copies(
    table: NDArray,  # (n_rows, n_columns)
    n_levels: NDArray[np.intp],  # (n_columns,); more values are those of measurements
) -> NDArray[np.intp] | None:
    """Number of each row among the distinct ones; None if rows repeat by chance."""
    n_varying, n_agreeing = 0, []
    for values, n_repeated in zip(table.T, n_levels, strict=True):
        is_missing = np.isnan(values)
        counts = np.unique(values[~is_missing], return_counts=True)[1]
        n_varying += len(counts) + is_missing.any() > 1
        # Pairs of rows that agree in a measurement.
        n_repeating = np.sum(counts[counts > 1])
        if len(counts) > n_repeated and n_repeating > _JITTER.min_fraction * len(table):
            n_agreeing.append(np.sum(counts * (counts - 1.0)))
    # Of a single column, equal values say nothing about others.
    if not n_agreeing or n_varying < 2:
        return None
    rows = number_rows(table)
    sizes = np.bincount(rows)
    n_equal = np.sum(sizes * (sizes - 1.0))
    is_few = len(table) > _JITTER.max_copies * len(sizes)
    # Most rows that agree in one of them agree in all columns.
    return None if is_few or 2.0 * n_equal < min(n_agreeing) else rows


def _find_jitter(
    table: NDArray, labels: NDArray[np.intp], extent: NDArray[np.float64]
) -> float:
    """Jitter of copies among rows with labels of many; 0 if there is none."""
    # They are at least two on average, of one label, and far from all others: some rows
    # show it.
    some = np.linspace(0, len(table) - 1, _JITTER.n_rows_checked).astype(int)

    def find_near(distance: float) -> NDArray[np.bool_]:
        return np.array([_are_near(table, table[i], distance * extent) for i in some])

    for jitter in _JITTER.fractions:
        near = find_near(jitter)
        n_near = near.sum(axis=1)
        if np.mean(1.0 / n_near) > 0.5:
            break
        n_around = find_near(_JITTER.min_distance * jitter).sum(axis=1)
        is_apart = np.mean(n_near == n_around) > 0.5
        if is_apart and not np.any(near & (labels != labels[some, None])):
            return jitter
    return 0.0


def _are_near(table: NDArray, row: NDArray, distance: NDArray) -> NDArray[np.bool_]:
    """Mask of the rows that are near one in all columns; missing values are equal."""
    with np.errstate(over="ignore"):
        is_near = np.abs(table - row) <= distance
    return np.all(is_near | (np.isnan(table) & np.isnan(row)), axis=1)
