"""Noise that differs from row to row, read off leave-one-out residuals."""

# The logarithm of the noise variance is a function of the row as well, learned from the
# squares of what each row is off when the others predict it. Its inputs matter as they
# do for the target, or all the same, whichever has the higher evidence.
#
# Source: Kersting, Plagemann, Pfaff and Burgard, Most likely heteroscedastic Gaussian
# process regression, ICML 2007.

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky

from skmohn._core._tuned import tuned
from skmohn._core._types import lapack
from skmohn.mohn._gp.covariance_function import GramMatrix, Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.marginal_likelihood import find_rows, start_prior
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._models import fit_noise_factor
from skmohn.mohn._table.rows import EncodedRows, row_blocks

# Mean of the logarithm of a squared standard normal number.
_LOG_SQUARE_MEAN: Final = -1.2704


@dataclass(frozen=True)
class RowNoiseConstants:
    """Noise that differs between rows."""

    # Squares of standardized residuals are not less.
    min_square: float = tuned(1e-4, "benchmarks/ablation.py")
    # Variances that the logarithm of the noise may have over the rows.
    amplitudes: tuple[float, ...] = tuned(
        (0.1, 0.3, 1.0, 3.0), "benchmarks/ablation.py"
    )
    # Nats that a map must gain over one level: it is the best of some.
    min_gain: float = tuned(2.0, "benchmarks/ablation.py")
    # Factors of the noise of a row.
    noise_range: tuple[float, float] = tuned((0.05, 20.0), "benchmarks/ablation.py")
    # How far rows are weighed by their noise: not, by its standard deviation, in full.
    exponents: tuple[float, ...] = tuned((0.0, 0.5, 1.0), "benchmarks/ablation.py")


_ROW_NOISE = RowNoiseConstants()
_LOG_SQUARE_VARIANCE = np.pi**2 / 2.0


@dataclass(frozen=True)
class NoiseMap:
    """Noise variance relative to `Prior.noise` as a function of the row."""

    covariance: Covariance  # its product of factors is the similarity of rows
    rows: EncodedRows
    # (n_rows,); weights of their products in the logarithm, the amplitude included.
    alpha: np.ndarray
    known: np.ndarray  # (n_rows,); relative noise of its own rows, given the others
    scale: float = 1.0  # factor that makes the variances of held-out rows fit best

    def at(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Relative noise variance at rows, ndarray of shape (n_rows,)."""
        log_noise = np.empty(len(rows))
        prior, alphabets = self.covariance.prior, self.covariance.alphabets
        for part in row_blocks(len(rows)):
            alike = GramMatrix(rows.take(part), self.rows, alphabets).product(prior)
            log_noise[part] = alike @ self.alpha
        return self.scale * _bounded(log_noise)

    def weighing(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Relative noise as training rows are weighted, (n_rows,)."""
        # A row's own residual does not enter its weight.
        index = find_rows(rows, self.rows)
        noise, is_other = self.known[index], index < 0
        noise[is_other] = self.at(rows.take(is_other))
        return noise


class SmoothedResiduals(NamedTuple):
    """Noise at each row, regressed on leave-one-out residuals."""

    residual: np.ndarray  # (n_rows,); leave-one-out
    variance: np.ndarray  # (n_rows,); leave-one-out
    # Similarity of rows; None, as all below, where a constant has more evidence.
    prior: Prior | None = None
    alpha: np.ndarray | None = None  # (n_rows,); see `NoiseMap`
    log_noise: np.ndarray | None = None  # (n_rows,); given the others


def fit_noise_model(
    posterior: ExactPosterior, smoothed: SmoothedResiduals | None = None
) -> tuple[None, float] | tuple[NoiseMap, float]:
    """Learn how noise depends on the row, hyperparameters held fixed."""
    # None when one level for all has the highest evidence. The number returned is the
    # power of the map by which rows are best weighted: that with the smallest
    # leave-one-out error.
    covariance, sample = posterior.covariance, posterior.sample
    if smoothed is None:
        (smoothed,) = smooth_noise([posterior])
    residual, variance = smoothed.residual, smoothed.variance
    alpha, log_noise = smoothed.alpha, smoothed.log_noise
    if alpha is None or log_noise is None:
        return None, 0.0
    excess = _bounded(log_noise)
    alike = replace(covariance, prior=smoothed.prior)
    tried = {0.0: (residual, variance)}
    for noise_exponent in _ROW_NOISE.exponents[1:]:
        weighed = replace(sample, excess=excess**noise_exponent)
        again = ExactPosterior.condition(covariance, weighed)
        tried[noise_exponent] = again.leave_one_out()
    errors = {
        noise_exponent: np.mean(left[0] ** 2) for noise_exponent, left in tried.items()
    }
    noise_exponent = min(errors, key=errors.__getitem__)
    residual, variance = tried[noise_exponent]
    noise = covariance.prior.noise_variance / sample.weight
    certain = np.maximum(variance - noise * excess**noise_exponent, 0.0)
    scale = fit_noise_factor(residual**2, certain, noise * excess)
    return NoiseMap(alike, sample.rows, alpha, excess, scale), noise_exponent


def smooth_noise(posteriors: Sequence[ExactPosterior]) -> list[SmoothedResiduals]:
    """Regress logarithms of squared leave-one-out residuals on the rows."""
    # The posteriors are of targets with the same rows and hyperparameters.
    covariance, sample = posteriors[0].covariance, posteriors[0].sample
    found = [SmoothedResiduals(*posterior.leave_one_out()) for posterior in posteriors]
    squares = np.transpose([left.residual**2 / left.variance for left in found])
    logarithms = np.log(np.maximum(squares, _ROW_NOISE.min_square)) - _LOG_SQUARE_MEAN
    best = _density_of_one_level(logarithms) + _ROW_NOISE.min_gain
    pairs = GramMatrix(sample.rows, sample.rows, covariance.alphabets)
    n_inputs = len(covariance.prior.ard_rates)
    for prior in (covariance.prior, start_prior(n_inputs, covariance.alphabets)):
        values, alphas, left_out = _smooth(pairs.product(prior), logarithms)
        for k in np.flatnonzero(values > best):
            best[k] = values[k]
            found[k] = found[k]._replace(
                prior=prior, alpha=alphas[k], log_noise=left_out[k]
            )
    return found


def _density_of_one_level(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log densities of logarithms that vary around one level of variance 1."""
    flat = np.ones((len(logarithms), len(logarithms)))
    flat.ravel()[:: len(logarithms) + 1] += _LOG_SQUARE_VARIANCE
    return _log_density(flat, logarithms)[0]


def _smooth(
    alike: NDArray[np.float64], logarithms: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Regress logarithms of squares on rows; the amplitude has the highest evidence."""
    # Returned are log densities of the logarithms; weights of `alike` in the logarithm,
    # relative to its mean over the rows; the logarithm at each row given the others.
    found = []
    for amplitude in _ROW_NOISE.amplitudes:
        covariance = amplitude * alike + 1.0
        covariance.ravel()[:: len(logarithms) + 1] += _LOG_SQUARE_VARIANCE
        found.append(_log_density(covariance, logarithms))
    values = np.array([part[0] for part in found])
    chosen = np.argmax(values, axis=0)
    precisions = {}
    for a in np.unique(chosen):
        inverse, _ = lapack.dtrtri(found[a][1], lower=1)
        precisions[a] = np.einsum("ij,ij->j", inverse, inverse)
    alphas, left_out = [], []
    for k, a in enumerate(chosen):
        alpha = found[a][2][:, k]
        alphas.append(_ROW_NOISE.amplitudes[a] * alpha)
        left_out.append(logarithms[:, k] - alpha / precisions[a] - alpha.sum())
    return values.max(axis=0), alphas, left_out


def _log_density(
    covariance: NDArray[np.float64], targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    factor = cholesky(covariance, lower=True, check_finite=False)
    alphas = cho_solve((factor, True), targets, check_finite=False)
    values = -0.5 * np.einsum("dk,dk->k", targets, alphas)
    return values - np.sum(np.log(np.diagonal(factor))), factor, alphas


def _bounded(log_noise: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(np.exp(log_noise), *_ROW_NOISE.noise_range)
