"""Noise that differs from row to row, read off leave-one-out residuals.

The logarithm of the noise variance is a function of the row as well, learnt from the
squares of what each row is off when the others predict it. Its inputs matter as they do
for the target, or all the same, whichever has the higher evidence.

Source: Kersting, Plagemann, Pfaff and Burgard, Most likely heteroscedastic Gaussian
process regression, ICML 2007.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack

from skmohn.mohn._dense.covariance import Covariance
from skmohn.mohn._dense.evidence import start_prior
from skmohn.mohn._dense.exact import ExactPosterior
from skmohn.mohn._dense.kernel import Pairs
from skmohn.mohn._model import fit_scale
from skmohn.mohn._table.rows import Rows, row_blocks

# Mean and variance of the logarithm of a squared standard normal number.
_LOG_SQUARE_MEAN = -1.2704
_LOG_SQUARE_VARIANCE = np.pi**2 / 2.0
_SMALLEST_SQUARE = 1e-4
# Variances that the logarithm of the noise may have over the rows.
_AMPLITUDES = (0.1, 0.3, 1.0, 3.0)
# Nats that a map must gain over one level: it is the best of some.
_LEAST_GAIN = 2.0
_RANGE = (0.05, 20.0)
# How far rows are weighed by their noise: not, by its standard deviation, in full.
_SHARES = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class NoiseMap:
    """Noise variance relative to `Prior.noise` as a function of the row.

    Attributes
    ----------
    covariance : Covariance
        Whose product of factors says how alike rows are.

    rows : Rows

    alpha : ndarray of shape (n_rows,)
        Weights of their products in the logarithm, the amplitude included.

    scale : float, default=1.0
        Factor that makes the variances of left-out rows fit best.
    """

    covariance: Covariance
    rows: Rows
    alpha: np.ndarray
    scale: float = 1.0

    def at(self, rows):
        """Relative noise variance at rows, ndarray of shape (n_rows,)."""
        log_noise = np.empty(len(rows))
        prior, alphabets = self.covariance.prior, self.covariance.alphabets
        for part in row_blocks(len(rows)):
            alike = Pairs(rows.take(part), self.rows, alphabets).product(prior)
            log_noise[part] = alike @ self.alpha
        return self.scale * _bounded(log_noise)


def map_noise(posterior):
    """Learn how noise depends on the row, hyper-parameters held fixed.

    Parameters
    ----------
    posterior : ExactPosterior

    Returns
    -------
    noise_map : NoiseMap or None
        None when one level for all has the highest evidence.

    share : float
        The power of the map by which rows are best weighed: the one with the smallest
        leave-one-out error.

    excess : ndarray of shape (n_rows,) or None
        Relative noise of each row to that power, as the others tell it.
    """
    covariance, sample = posterior.covariance, posterior.sample
    residual, variance = posterior.leave_one_out()
    squares = np.maximum(residual**2 / variance, _SMALLEST_SQUARE)
    logarithms = np.log(squares) - _LOG_SQUARE_MEAN
    best, alpha = _density_of_one_level(logarithms) + _LEAST_GAIN, None
    pairs = Pairs(sample.rows, sample.rows, covariance.alphabets)
    n_inputs = len(covariance.prior.rates)
    for prior in (covariance.prior, start_prior(n_inputs, covariance.alphabets)):
        trial = _smooth(pairs.product(prior), logarithms)
        if trial[0] > best:
            best, alpha, log_noise = trial
            alike = replace(covariance, prior=prior)
    if alpha is None:
        return None, 0.0, None
    excess = _bounded(log_noise)
    tried = {0.0: (residual, variance)}
    for share in _SHARES[1:]:
        weighed = replace(sample, excess=excess**share)
        again = ExactPosterior.condition(covariance, weighed)
        tried[share] = again.leave_one_out()
    errors = {share: np.mean(left[0] ** 2) for share, left in tried.items()}
    share = min(errors, key=errors.get)
    residual, variance = tried[share]
    noise = covariance.prior.noise / sample.weight
    certain = np.maximum(variance - noise * excess**share, 0.0)
    scale = fit_scale(residual**2, certain, noise * excess)
    return NoiseMap(alike, sample.rows, alpha, scale), share, excess**share


def _density_of_one_level(logarithms):
    """Log density of logarithms that vary around one level of variance 1."""
    flat = np.ones((len(logarithms), len(logarithms)))
    flat.ravel()[:: len(logarithms) + 1] += _LOG_SQUARE_VARIANCE
    return _log_density(flat, logarithms)[0]


def _smooth(alike, logarithms):
    """Regress logarithms of squares on rows; the amplitude has the highest evidence.

    Returns
    -------
    value : float
        Log density of the logarithms.

    alpha, left_out : ndarrays of shape (n_rows,)
        Weights of `alike` in the logarithm, relative to its mean over the rows, and
        what it is at each row given the others.
    """
    best = -np.inf
    for amplitude in _AMPLITUDES:
        covariance = amplitude * alike + 1.0
        covariance.ravel()[:: len(logarithms) + 1] += _LOG_SQUARE_VARIANCE
        found = _log_density(covariance, logarithms)
        if found[0] > best:
            best, chosen, factor, alpha = found[0], amplitude, *found[1:]
    inverse, _ = lapack.dtrtri(factor, lower=1)
    left_out = logarithms - alpha / np.einsum("ij,ij->j", inverse, inverse)
    return best, chosen * alpha, left_out - alpha.sum()


def _log_density(covariance, target):
    factor = cholesky(covariance, lower=True, check_finite=False)
    alpha = cho_solve((factor, True), target, check_finite=False)
    value = -0.5 * target @ alpha - np.sum(np.log(np.diagonal(factor)))
    return float(value), factor, alpha


def _bounded(log_noise):
    return np.clip(np.exp(log_noise), *_RANGE)
