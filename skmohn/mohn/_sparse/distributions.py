"""Distributions of counts and of positive targets about a mean with a log link."""

# The variance about a mean m is ``m + a m^2`` for counts and ``a m^2`` for gamma, where
# ``a`` is the dispersion: 0 makes the negative binomial a Poisson distribution; a third
# kind, with zeros and positive targets, is in `tweedie`. Log likelihoods are concave in
# the logarithm of the mean.
#
# Source: McCullagh and Nelder, Generalized Linear Models, 1989, chapters 6 and 8; for
# the negative binomial Hilbe, Negative Binomial Regression, 2011, section 8.

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betaln, gammaln, xlogy

from skmohn._core._tuned import tuned

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DistributionConstants:
    """Ranges of dispersions and means."""

    # Below, a negative binomial is a Poisson distribution but for rounding.
    min_dispersion: float = tuned(1e-6, "rounding")
    max_dispersion: float = tuned(1e3, "rounding")
    # Logarithms of means beyond these overflow in squares.
    max_log_mean: float = tuned(340.0, "rounding")


DISTRIBUTION = DistributionConstants()


def bounded_exp(values: _Floats) -> _Floats:
    """Exponentials with finite squares."""
    return np.exp(
        np.clip(values, -DISTRIBUTION.max_log_mean, DISTRIBUTION.max_log_mean)
    )


def has_finite_square(y: _Floats) -> NDArray[np.bool_]:
    """Mask of the targets that are 0, or whose square and its inverse are finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (y == 0.0) | (np.abs(np.log(y)) <= DISTRIBUTION.max_log_mean)


class Distribution(ABC):
    """Distribution of targets about their means."""

    has_dispersion: bool
    is_discrete: bool
    requirement: str  # what targets must be, in an error message

    @abstractmethod
    def is_valid(self, y: _Floats) -> NDArray[np.bool_]:
        """Mask of the targets that the distribution has."""

    @abstractmethod
    def log_density(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Log density or log probability of targets."""

    @abstractmethod
    def deviance(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Unit deviances of targets."""

    @abstractmethod
    def slope(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Derivative of the log density by the log mean."""

    @abstractmethod
    def curvature(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Negative second derivative of the log density by the log mean."""

    @abstractmethod
    def information(self, mean: _Floats, dispersion: Any) -> _Floats:
        """Expectation of the curvature."""

    @abstractmethod
    def frozen(self, mean: _Floats, dispersion: _Floats) -> Any:
        """Distribution with these means and dispersions, like those of scipy.stats."""

    def widened(self, mean: _Floats, dispersion: Any, variance: _Floats) -> _Floats:
        """Dispersion with the variance of targets whose log means are normal."""
        return (1.0 + dispersion) * bounded_exp(variance) - 1.0

    def dispersion_unit(self, mean: float) -> float:
        """Dispersion at which the standard deviation is about the mean."""
        return 1.0

    def dispersion_factor(self, log_exposure: Any) -> Any:
        """Dispersion of totals, beside that for an exposure of 1."""
        return 1.0


class Counts(Distribution):
    """Negative binomial distribution or, without dispersion, Poisson's."""

    is_discrete = True
    requirement = "counts are neither negative nor above 2 ** 53"

    def __init__(self, has_dispersion: bool) -> None:
        self.has_dispersion = has_dispersion

    def is_valid(self, y: _Floats) -> NDArray[np.bool_]:
        """Mask of the targets that are not negative, and integers of their own."""
        # Of larger ones the likelihood overflows.
        return (y >= 0.0) & (y <= 2.0**53)

    def log_density(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Log probability of counts, continued between integers."""
        shape = 1.0 / np.maximum(dispersion, DISTRIBUTION.min_dispersion)
        spread = xlogy(y, mean / (shape + mean)) - shape * np.log1p(mean / shape)
        spread = spread - betaln(shape, y + 1.0) - np.log(shape + y)
        exact = xlogy(y, mean) - mean - gammaln(y + 1.0)
        return np.where(dispersion < DISTRIBUTION.min_dispersion, exact, spread)

    def deviance(self, y: _Floats, mean: _Floats, dispersion: float) -> _Floats:
        """Unit deviances of counts."""
        fit = xlogy(y, y / mean)
        if dispersion < DISTRIBUTION.min_dispersion:
            return 2.0 * np.maximum(fit - y + mean, 0.0)
        ratio = np.log1p(dispersion * y) - np.log1p(dispersion * mean)
        return 2.0 * np.maximum(fit - (y + 1.0 / dispersion) * ratio, 0.0)

    def slope(self, y: _Floats, mean: _Floats, dispersion: float) -> _Floats:
        """Derivative of the log probability by the log mean."""
        return (y - mean) / (1.0 + dispersion * mean)

    def curvature(self, y: _Floats, mean: _Floats, dispersion: float) -> _Floats:
        """Negative second derivative by the log mean."""
        return mean * (1.0 + dispersion * y) / (1.0 + dispersion * mean) ** 2

    def information(self, mean: _Floats, dispersion: float) -> _Floats:
        """Expectation of the curvature."""
        return mean / (1.0 + dispersion * mean)

    def frozen(self, mean: _Floats, dispersion: _Floats) -> Any:
        """Distribution of counts; dispersions next to 0 are taken for the least."""
        shape = 1.0 / np.maximum(dispersion, DISTRIBUTION.min_dispersion)
        return stats.nbinom(shape, shape / (shape + mean))


class Gamma(Distribution):
    """Gamma distribution."""

    has_dispersion = True
    is_discrete = False
    requirement = "a gamma distribution has targets from 1e-147 to 1e147"

    def is_valid(self, y: _Floats) -> NDArray[np.bool_]:
        """Mask of the positive targets whose squares are finite."""
        return (y > 0.0) & has_finite_square(y)

    def log_density(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Log density of targets."""
        shape = 1.0 / np.maximum(dispersion, DISTRIBUTION.min_dispersion)
        ratio = y / mean
        log_y = np.log(ratio) + np.log(shape)
        return shape * (log_y - ratio) - gammaln(shape) - np.log(y)

    def deviance(self, y: _Floats, mean: _Floats, dispersion: float) -> _Floats:
        """Unit deviances of targets."""
        ratio = y / mean
        return 2.0 * np.maximum(ratio - 1.0 - np.log(ratio), 0.0)

    def slope(self, y: _Floats, mean: _Floats, dispersion: float) -> _Floats:
        """Derivative of the log density by the log mean."""
        return (y / mean - 1.0) / dispersion

    def curvature(self, y: _Floats, mean: _Floats, dispersion: float) -> _Floats:
        """Negative second derivative by the log mean."""
        return y / mean / dispersion

    def information(self, mean: _Floats, dispersion: float) -> _Floats:
        """Expectation of the curvature."""
        return np.full(len(mean), 1.0 / dispersion)

    def frozen(self, mean: _Floats, dispersion: _Floats) -> Any:
        """Gamma distribution with these means."""
        return stats.gamma(1.0 / dispersion, scale=mean * dispersion)


DISTRIBUTIONS: dict[str, Distribution] = {
    "poisson": Counts(has_dispersion=False),
    "negative_binomial": Counts(has_dispersion=True),
    "gamma": Gamma(),
}
