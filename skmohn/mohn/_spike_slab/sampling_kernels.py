"""Compiled kernel of sampling which weights are zero, all weights integrated out."""

import numpy as np

from skmohn._core._numba import jit

# Logarithm of odds beyond which a weight is certain: its exponential has no overflow.
_MAX_LOG_ODDS = 600.0


@jit
def _weigh(side, precision, data, prior, chances, j):
    """Rates at which one weight changes, and its moments given all others.

    ``chances`` (5, n_weights) gains the rate of a change to the side above zero, or of
    a weight that is not zero to zero; that of one to the side below; inclusion, mean
    and mean square. Returns the sum of both rates.
    """
    log_odds, toward = prior[0, j], prior[2, j]
    variance = 1.0 / precision
    root = np.sqrt(variance)
    high = data + toward
    found = min(log_odds + 0.5 * high**2 * variance, _MAX_LOG_ODDS)
    above, below, low = np.exp(found) * root, 0.0, 0.0
    if toward > 0.0:
        low = data - toward
        found = min(log_odds + 0.5 * low**2 * variance, _MAX_LOG_ODDS)
        below = np.exp(found) * root
    total = 1.0 / (1.0 + above + below)
    inclusion, high, low = (above + below) * total, high * variance, low * variance
    chances[2, j] = inclusion
    chances[3, j] = (above * high + below * low) * total
    chances[4, j] = (above * high**2 + below * low**2) * total + inclusion * variance
    if side == 0.0:
        chances[0, j], chances[1, j] = min(1.0, above), min(1.0, below)
    else:
        now = above if side > 0.0 else below
        chances[0, j] = 1.0 if now <= 1.0 else 1.0 / now
        chances[1, j] = 0.0
    return chances[0, j] + chances[1, j]


@jit
def _choose(chances, target):
    """Weight and row of the rate at which the sum of all rates passes ``target``."""
    last, row = 0, 0
    for j in range(chances.shape[1]):
        for s in range(2):
            if chances[s, j] > 0.0:
                last, row = j, s
                target -= chances[s, j]
                if target < 0.0:
                    return last, row
    return last, row


@jit
def _project(gram, noise, active, n_active, j, slopes, left):
    """Products of all columns with what is left of one beside the active ones.

    ``slopes`` (n_active,) are its slopes on these. ``left`` (n_weights,) gains the
    products over the noise.
    """
    scale = 1.0 / noise
    for i in range(gram.shape[0]):
        left[i] = gram[j, i] * scale
    for a in range(n_active):
        slope = slopes[a] * scale
        row = gram[active[a]]
        for i in range(gram.shape[0]):
            left[i] -= slope * row[i]


@jit
def _solve_lower(lower, n_active, b):
    """Solve with the Cholesky factor in place."""
    for i in range(n_active):
        for k in range(i):
            b[i] -= lower[i, k] * b[k]
        b[i] /= lower[i, i]


@jit
def _solve_upper(lower, n_active, b):
    """Solve with the transposed Cholesky factor in place."""
    for i in range(n_active - 1, -1, -1):
        for k in range(i + 1, n_active):
            b[i] -= lower[k, i] * b[k]
        b[i] /= lower[i, i]


@jit
def _factor_out(lower, n_active, index):
    """Delete a row from the Cholesky factor, and make it triangular by rotations."""
    for i in range(index, n_active - 1):
        for k in range(i + 2):
            lower[i, k] = lower[i + 1, k]
    for k in range(index, n_active - 1):
        size = np.hypot(lower[k, k], lower[k, k + 1])
        cosine, sine = lower[k, k] / size, lower[k, k + 1] / size
        for i in range(k, n_active - 1):
            left, right = lower[i, k], lower[i, k + 1]
            lower[i, k] = cosine * left + sine * right
            lower[i, k + 1] = cosine * right - sine * left


@jit
def _include(gram, noise, prior_precision, posterior, j, data, slopes):
    """Add a weight to those that are not zero.

    ``slopes`` gain those of its column on the columns of the others. Returns the
    precision of the weight given these; ``data`` is that times its mean.
    """
    active, n_active, lower, variance, mean = posterior
    for a in range(n_active):
        slopes[a] = gram[active[a], j] / noise
    _solve_lower(lower, n_active, slopes)
    power = gram[j, j] / noise + prior_precision
    for a in range(n_active):
        lower[n_active, a] = slopes[a]
        power -= slopes[a] ** 2
    power = max(power, prior_precision)
    lower[n_active, n_active] = np.sqrt(power)
    _solve_upper(lower, n_active, slopes)
    at = data / power
    for a in range(n_active):
        variance[a] += slopes[a] ** 2 / power
        mean[a] -= slopes[a] * at
    active[n_active], variance[n_active], mean[n_active] = j, 1.0 / power, at
    return power


@jit
def _exclude(gram, noise, prior_precision, posterior, index, slopes):
    """Remove the active weight of an index; see `_include`."""
    active, n_active, lower, variance, mean = posterior
    slopes[:n_active] = 0.0
    slopes[index] = 1.0
    _solve_lower(lower, n_active, slopes)
    _solve_upper(lower, n_active, slopes)
    power, at = 1.0 / slopes[index], mean[index]
    _factor_out(lower, n_active, index)
    b = 0
    for a in range(n_active):
        if a != index:
            slopes[b] = -power * slopes[a]
            j = active[a]
            smallest = 1.0 / (gram[j, j] / noise + prior_precision[j])
            variance[b] = max(variance[a] - slopes[b] ** 2 / power, smallest)
            active[b], mean[b] = j, mean[a] + slopes[b] * at
            b += 1
    return power


@jit
def walk(
    gram,
    noise,
    prior,
    precision,
    data,
    active,
    n_active,
    lower,
    variance,
    mean,
    sides,
    uniform,
    sums,
    kept,
):
    """Change one weight to or from zero at a time, chosen by its odds.

    A change happens in continuous time at a rate of the smaller of 1 and its odds, and
    each state counts for as long as it is expected to last.

    Parameters
    ----------
    gram : ndarray of shape (n_weights, n_weights)
        Products of the columns.

    noise : float
        Variance.

    prior : ndarray of shape (3, n_weights)
        Log odds of either side, less half the logarithm of the slab's variance and half
        of its squared center over this; precision; precision times center.

    precision, data : ndarrays of shape (n_weights,)
        Posterior precision of each weight that is zero, were it not, and its mean times
        this for a center of zero; changed.

    active : ndarray of int64 of shape (size,)
        The first ``n_active`` are the weights that are not zero; changed.

    lower : ndarray of shape (size, size)
        Cholesky factor of their posterior precision; changed.

    variance, mean : ndarrays of shape (size,)
        Their posterior variances and means; changed.

    sides : ndarray of shape (n_weights,)
        -1, 0 or 1; changed.

    uniform : ndarray of shape (n_steps, 2)
        `size` is `n_active` and these steps, or all weights.

    sums : ndarray of shape (4, n_weights)
        Gain inclusion, mean and mean square given all others, times the time of each
        state, and in the last row that time.

    kept : ndarray of shape (n_weights,)
        Gains the sides at a random time.
    """
    n_weights = gram.shape[0]
    chances, left = np.empty((5, n_weights)), np.empty(n_weights)
    slopes, elapsed = np.empty(n_weights), 0.0
    # Precisions are at least those of the prior, but for rounding errors.
    for step in range(uniform.shape[0]):
        for a in range(n_active):
            j = active[a]
            precision[j] = max(1.0 / variance[a], prior[1, j])
            data[j] = mean[a] * precision[j] - sides[j] * prior[2, j]
        total = 0.0
        for j in range(n_weights):
            total += _weigh(sides[j], precision[j], data[j], prior, chances, j)
        time = 1.0 / total
        elapsed += time
        for row in range(3):
            for j in range(n_weights):
                sums[row, j] += time * chances[2 + row, j]
        for j in range(n_weights):
            sums[3, j] += time
        if uniform[step, 1] * elapsed < time:
            kept[:] = sides
        j, row = _choose(chances, uniform[step, 0] * total)
        posterior = active, n_active, lower, variance, mean
        of_j = data[j]
        if sides[j] == 0.0:
            sides[j] = 1.0 - 2.0 * row
            at = of_j + sides[j] * prior[2, j]
            power = _include(gram, noise, prior[1, j], posterior, j, at, slopes)
            _project(gram, noise, active, n_active, j, slopes, left)
            at /= power
            sign, n_active = 1.0, n_active + 1
        else:
            sides[j], index = 0.0, 0
            while active[index] != j:
                index += 1
            at = mean[index]
            power = _exclude(gram, noise, prior[1], posterior, index, slopes)
            n_active -= 1
            _project(gram, noise, active, n_active, j, slopes, left)
            sign = -1.0
        for i in range(n_weights):
            precision[i] -= sign * left[i] ** 2 / power
            precision[i] = max(precision[i], prior[1, i])
            data[i] -= sign * left[i] * at
        precision[j], data[j] = power, of_j
