"""Thermometers: units of a column of which only the first so many can be 1.

A column of L levels has L - 1 units, so that of their 2^(L - 1) states no more than L
are possible: every sum over states, and every draw, is over these. Bits are
thermometers of a single unit. Functions take the number of units of each column as
`sizes`.
"""

import numpy as np


def list_levels(sizes, start, stop):
    """List possible states of the units of all columns, by their number.

    Parameters
    ----------
    sizes : ndarray of shape (n_columns,), int

    start, stop : int
        At most the product of all sizes + 1.

    Returns
    -------
    states : ndarray of shape (stop - start, n_units), float64
        In the order of numbers whose first digit is the least.
    """
    bases = np.cumprod(np.append(1, sizes[:-1] + 1))
    level = np.arange(start, stop)[:, None] // bases % (sizes + 1)
    return (np.repeat(level, sizes, axis=1) > _places(sizes)).astype(np.float64)


def level_shares(mean, sizes):
    """Share of the samples at each level, from the means of the units.

    Parameters
    ----------
    mean : ndarray of shape (n_units,), float64

    sizes : ndarray of shape (n_columns,), int

    Returns
    -------
    at : ndarray of shape (n_units,)
        Of samples of which the unit is the last that is 1.

    before : ndarray of shape (n_units,)
        Of samples one level below.
    """
    first = _places(sizes) == 0
    below = np.where(first, 1.0, np.roll(mean, 1))
    above = np.where(np.roll(first, -1), 0.0, np.roll(mean, -1))
    return mean - above, below - mean


def lowest_shares(mean, sizes):
    """Share of the samples at the lowest level of each column, (n_columns,)."""
    return 1.0 - mean[_places(sizes) == 0]


def log_level_sums(active, sizes):
    """Logarithm of the sum over all possible states of exp(active . state).

    Parameters
    ----------
    active : ndarray of shape (n_rows, n_units)

    sizes : ndarray of shape (n_columns,), int

    Returns
    -------
    ndarray of shape (n_rows,), float64
    """
    if np.all(sizes == 1):
        return np.logaddexp(0.0, active, dtype=np.float64).sum(axis=1)
    _, log_total = _log_weights(active, sizes)
    return log_total.sum(axis=1)


def level_probabilities(active, sizes):
    """Probability that each unit is 1, with the logits `active` of the units.

    Parameters
    ----------
    active : ndarray of shape (n_rows, n_units)

    sizes : ndarray of shape (n_columns,), int

    Returns
    -------
    ndarray of shape (n_rows, n_units), float32
    """
    log_weight, log_total = _log_weights(active, sizes)
    at = np.exp(log_weight - np.repeat(log_total, sizes, axis=1))
    places, reached = _places(sizes), at.copy()
    # A unit is 1 at its level and at those above it.
    for offset in range(1, sizes.max()):
        inside = places[offset:] >= offset
        reached[:, :-offset] += np.where(inside, at[:, offset:], 0.0)
    return np.minimum(reached, 1.0).astype(np.float32)


def sum_upwards(active, sizes):
    """Sums of the units of a column up to each, (n_rows, n_units), float64."""
    active = np.asarray(active, np.float64)
    if np.all(sizes == 1):
        return active
    starts = np.cumsum(sizes) - sizes
    height = np.cumsum(active, axis=1)
    before = height[:, starts] - active[:, starts]
    return height - np.repeat(before, sizes, axis=1)


def _places(sizes):
    """Place of each unit in its column, from 0."""
    starts = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) - np.repeat(starts, sizes)


def _log_weights(active, sizes):
    """Of each level above the lowest, whose own is 0, and of all levels together."""
    starts = np.cumsum(sizes) - sizes
    height = sum_upwards(active, sizes)
    top = np.maximum(np.maximum.reduceat(height, starts, axis=1), 0.0)
    weight = np.exp(height - np.repeat(top, sizes, axis=1))
    total = np.exp(-top) + np.add.reduceat(weight, starts, axis=1)
    return height, top + np.log(total)
