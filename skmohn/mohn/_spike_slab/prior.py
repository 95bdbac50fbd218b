"""Spike-and-slab priors of weights, one for each class of candidates.

A weight is zero with probability ``1 - inclusion``; otherwise it is normal around
``+center`` or ``-center``, both equally probable. With a center of zero that is the
usual slab, with one far from zero that of couplings of one strength and either sign.

Source: Vila and Schniter, Expectation-maximization Gaussian-mixture approximate message
passing, IEEE Transactions on Signal Processing 61, 2013.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

# Pseudo-counts of weights that are not zero, and of all weights, see `learn`.
_INCLUDED, _COUNTED = 0.3, 2.3
# Pseudo-counts of the variance and of the center of a slab.
_KEPT = 2.0, 1.0
# Variance of a slab beside the square of its center, as far as it is known beforehand:
# a center learned from few weights is not known as well as these are alike.
WIDTH = 0.01
# Least variance of a slab, in that of the target: a slab without weights shrinks.
_TINY = 1e-12


class Denoised(NamedTuple):
    """Posterior of weights given pseudo-data; arrays of shape (n_weights, n_starts).

    Attributes
    ----------
    mean, variance, inclusion : ndarrays of shape (n_weights, n_starts)

    included, square, signed : ndarrays of shape (n_starts,)
        Sums over the weights of the probability that one is not zero, and of that times
        the mean of its square and of its size along the nearest center.
    """

    mean: NDArray
    variance: NDArray
    inclusion: NDArray
    included: NDArray
    square: NDArray
    signed: NDArray


@dataclass(frozen=True)
class SpikeSlab:
    """Prior of the weights of one class, in the runs from several starts.

    Attributes
    ----------
    inclusion : ndarray of shape (n_starts,)
        Probability that a weight is not zero.

    variance : ndarray of shape (n_starts,)
        Of each half of the slab.

    center : ndarray of shape (n_starts,)
        Of one half of the slab; minus that is the other's. One of 0 stays there.
    """

    inclusion: NDArray
    variance: NDArray
    center: NDArray

    def take(self, starts: NDArray) -> "SpikeSlab":
        """The priors of some of the starts."""
        return SpikeSlab(
            self.inclusion[starts], self.variance[starts], self.center[starts]
        )

    @property
    def power(self) -> NDArray:
        """Mean square of a weight."""
        return self.inclusion * (self.variance + self.center**2)

    def denoise(self, data: NDArray, variance: NDArray) -> Denoised:
        """Posterior of weights given themselves with noise.

        Parameters
        ----------
        data : ndarray of shape (n_weights, n_starts)

        variance : ndarray of shape (n_starts,)
            Of the noise.

        Returns
        -------
        denoised : Denoised
        """
        total = self.variance + variance
        log_odds, side = self._log_odds(data, variance)
        inclusion = expit(log_odds)
        from_data = (self.variance / total) * data
        along = self.center * variance / total
        toward = along * side
        mean = inclusion * (from_data + toward)
        square = from_data * (from_data + 2.0 * toward)
        square += self.variance * variance / total + along**2
        square *= inclusion
        included = inclusion.sum(axis=0)
        signed = np.einsum("js,js,js->s", inclusion, from_data, side) + included * along
        return Denoised(
            mean,
            np.maximum(square - mean**2, 0.0),
            inclusion,
            included,
            square.sum(axis=0),
            signed,
        )

    def log_density(self, data: NDArray, variance: NDArray) -> NDArray:
        """Log density of all data, ndarray of shape (n_starts,), see `denoise`."""
        log_odds, _ = self._log_odds(data, variance)
        spike = -0.5 * (data**2 / variance + np.log(2.0 * np.pi * variance))
        each = spike + np.log1p(-self.inclusion) + np.logaddexp(0.0, log_odds)
        return each.sum(axis=0)

    def _log_odds(self, data, variance):
        """Log odds of slab and spike, and how much likelier the half above zero is."""
        total = self.variance + variance
        angle = data * (self.center / total)
        size = np.abs(angle)
        # Hyperbolic cosine and tangent, which as such would be out of range.
        far = np.exp(-2.0 * size)
        side = np.copysign((1.0 - far) / (1.0 + far), angle)
        constant = np.log(0.5 * self.inclusion) - np.log1p(-self.inclusion)
        constant -= 0.5 * (np.log(total / variance) + self.center**2 / total)
        log_odds = data**2 * (0.5 * self.variance / (variance * total))
        log_odds += size + np.log1p(far)
        return log_odds + constant, side

    def learn(self, denoised: Denoised) -> "SpikeSlab":
        """One step of expectation maximization, with pseudo-counts."""
        included, center = denoised.included, self.center
        moved = (denoised.signed + _KEPT[1] * center) / (included + _KEPT[1])
        is_apart = center > 0.0
        moved = np.where(is_apart, np.maximum(moved, 0.0), 0.0)
        around = denoised.square - 2.0 * moved * denoised.signed + included * moved**2
        kept = np.where(is_apart, _KEPT[1], _KEPT[0])
        before = np.where(is_apart, WIDTH * moved**2, self.variance)
        return SpikeSlab(
            (_INCLUDED + included) / (_COUNTED + len(denoised.mean)),
            np.maximum((around + kept * before) / (included + kept), _TINY),
            moved,
        )
