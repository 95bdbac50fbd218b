"""Spike-and-slab priors of weights, one for each class of candidates."""

# A weight is zero with probability ``1 - inclusion``; otherwise it is normal around
# ``+center`` or ``-center``, both equally probable. A center of zero is the usual slab,
# one far from zero that of couplings of one strength and either sign.
#
# Source: Vila and Schniter, Expectation-maximization Gaussian-mixture approximate
# message passing, IEEE Transactions on Signal Processing 61, 2013.

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class SlabConstants:
    """Pseudo-counts by which the prior is learned."""

    # Pseudo-counts of weights that are not zero, and of all weights, see `learn`.
    n_included: float = tuned(0.3, "benchmarks/ablation.py")
    n_counted: float = tuned(2.3, "benchmarks/ablation.py")
    # Pseudo-counts of the variance and of the center of a slab.
    slab_counts: tuple[float, float] = tuned((2.0, 1.0), "benchmarks/ablation.py")
    # Prior ratio of a slab's variance and squared center: a center learned from few
    # weights is less certain than their spread suggests.
    variance_ratio: float = tuned(0.01, "benchmarks/ablation.py")
    # Least variance of a slab relative to the target's: a slab without weights shrinks.
    min_variance: float = tuned(1e-12, "rounding")


SLAB = SlabConstants()


class Denoised(NamedTuple):
    """Posterior of weights given pseudo-data."""

    mean: NDArray[np.float64]  # (n_weights, n_starts)
    variance: NDArray[np.float64]  # (n_weights, n_starts)
    inclusion: NDArray[np.float64]  # (n_weights, n_starts)
    # (n_starts,); sums over the weights: inclusion probability.
    included: NDArray[np.float64]
    square: NDArray[np.float64]  # (n_starts,); this times the mean square
    # (n_starts,); this times the mean size along the nearest center.
    signed: NDArray[np.float64]


@dataclass(frozen=True)
class SpikeSlab:
    """Prior of the weights of one class, in the runs from several starts."""

    inclusion: NDArray[np.float64]  # (n_starts,); probability that a weight is not zero
    variance: NDArray[np.float64]  # (n_starts,); of each half of the slab
    # (n_starts,); of one half of the slab, minus that of the other; 0 stays 0.
    center: NDArray[np.float64]

    def take(self, starts: NDArray[np.intp]) -> "SpikeSlab":
        """Priors of some of the starts."""
        return SpikeSlab(
            self.inclusion[starts], self.variance[starts], self.center[starts]
        )

    @property
    def power(self) -> NDArray[np.float64]:
        """Mean square of a weight."""
        return self.inclusion * (self.variance + self.center**2)

    def denoise(
        self, data: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> Denoised:
        """Posterior of weights given noisy data, (n_weights, n_starts)."""
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

    def log_density(
        self, data: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Log density of all noisy data, (n_starts,), see `denoise`."""
        log_odds, _ = self._log_odds(data, variance)
        spike = -0.5 * (data**2 / variance + np.log(2.0 * np.pi * variance))
        each = spike + np.log1p(-self.inclusion) + np.logaddexp(0.0, log_odds)
        return each.sum(axis=0)

    def _log_odds(
        self, data: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log odds of slab and spike; difference in probability of slab halves."""
        total = self.variance + variance
        angle = data * (self.center / total)
        size = np.abs(angle)
        # Hyperbolic cosine and tangent, without overflow.
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
        moved = (denoised.signed + SLAB.slab_counts[1] * center) / (
            included + SLAB.slab_counts[1]
        )
        is_apart = center > 0.0
        moved = np.where(is_apart, np.maximum(moved, 0.0), 0.0)
        around = denoised.square - 2.0 * moved * denoised.signed + included * moved**2
        kept = np.where(is_apart, SLAB.slab_counts[1], SLAB.slab_counts[0])
        before = np.where(is_apart, SLAB.variance_ratio * moved**2, self.variance)
        return SpikeSlab(
            (SLAB.n_included + included) / (SLAB.n_counted + len(denoised.mean)),
            np.maximum((around + kept * before) / (included + kept), SLAB.min_variance),
            moved,
        )
