"""Compiled kernels of Gibbs sampling with spike-and-slab priors."""

import numpy as np

from skmohn._core._numba import jit


@jit
def _weigh(data, noise, log_odds, variance, center):
    """Log odds of slab and spike given one weight with noise, and how it then is.

    Returns the log odds, the probability that the slab is that above zero, the means in
    either half, and the variance in each.
    """
    total = variance + noise
    angle = data * center / total
    size = abs(angle)
    found = log_odds - 0.5 * (np.log(total / noise) + center**2 / total)
    found += data**2 * (0.5 * variance / (noise * total))
    found += size + np.log(0.5 * (1.0 + np.exp(-2.0 * size)))
    above = 1.0 / (1.0 + np.exp(-2.0 * angle))
    from_data, toward = variance / total * data, center * noise / total
    return (
        found,
        above,
        from_data + toward,
        from_data - toward,
        variance * noise / total,
    )


@jit
def _chance(log_odds):
    """Probability of log odds, without overflow."""
    if log_odds >= 0.0:
        return 1.0 / (1.0 + np.exp(-log_odds))
    odds = np.exp(log_odds)
    return odds / (1.0 + odds)


@jit
def _dot(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@jit
def _move(column, residual, by):
    """Add to a weight what the residual loses."""
    for i in range(column.shape[0]):
        residual[i] -= by * column[i]


@jit
def sweep(
    columns, squares, noise, priors, uniform, normal, residual, weights, sides, sums
):
    """Draw each weight given all others.

    Parameters
    ----------
    columns : ndarray of shape (n_weights, rank)

    squares : ndarray of shape (n_weights,)
        Sums of squares of the columns.

    noise : float
        Variance.

    priors : ndarray of shape (3, n_weights)
        Log odds, variance and center.

    uniform : ndarray of shape (2, n_weights)

    normal : ndarray of shape (n_weights,)

    residual : ndarray of shape (rank,)
        Kept equal to the target less all weights times their columns.

    weights, sides : ndarrays of shape (n_weights,)
        Drawn; of a weight that is zero, the side is 0.

    sums : ndarray of shape (3, n_weights)
        Gain the inclusion, mean and mean square of each weight given all others.
    """
    for j in range(columns.shape[0]):
        spread = noise / squares[j]
        data = _dot(columns[j], residual) / squares[j] + weights[j]
        log_odds, above, high, low, variance = _weigh(
            data, spread, priors[0, j], priors[1, j], priors[2, j]
        )
        inclusion = _chance(log_odds)
        sums[0, j] += inclusion
        sums[1, j] += inclusion * (above * high + (1.0 - above) * low)
        square = variance + above * high**2 + (1.0 - above) * low**2
        sums[2, j] += inclusion * square
        drawn, side = 0.0, 0.0
        if uniform[0, j] < inclusion:
            side = 1.0 if uniform[1, j] < above else -1.0
            drawn = (high if side > 0.0 else low) + np.sqrt(variance) * normal[j]
        if drawn != weights[j]:
            _move(columns[j], residual, drawn - weights[j])
        weights[j], sides[j] = drawn, side


@jit
def exchange(
    columns,
    squares,
    pairs,
    products,
    noise,
    priors,
    uniform,
    normal,
    residual,
    weights,
    sides,
):
    """Draw, of two weights of which one is zero, which of them it is.

    ``pairs`` (n_pairs, 2) int64 are of collinear columns, and ``products`` (n_pairs,)
    their dot products; ``uniform`` (2, n_pairs) and ``normal`` (n_pairs,). The others
    are as in `sweep`.
    """
    for e in range(pairs.shape[0]):
        j, k = pairs[e, 0], pairs[e, 1]
        if (sides[j] == 0.0) == (sides[k] == 0.0):
            continue
        if sides[j] == 0.0:
            j, k = k, j
        # With both at zero: of j, which is not, and of the other one.
        of_j = _dot(columns[j], residual) / squares[j] + weights[j]
        of_k = (_dot(columns[k], residual) + weights[j] * products[e]) / squares[k]
        stays, _, _, _, _ = _weigh(
            of_j, noise / squares[j], priors[0, j], priors[1, j], priors[2, j]
        )
        goes, above, high, low, variance = _weigh(
            of_k, noise / squares[k], priors[0, k], priors[1, k], priors[2, k]
        )
        if uniform[0, e] < _chance(goes - stays):
            side = 1.0 if uniform[1, e] < above else -1.0
            drawn = (high if side > 0.0 else low) + np.sqrt(variance) * normal[e]
            _move(columns[j], residual, -weights[j])
            _move(columns[k], residual, drawn)
            weights[j], sides[j] = 0.0, 0.0
            weights[k], sides[k] = drawn, side
