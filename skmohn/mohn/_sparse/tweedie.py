"""Tweedie distributions with a power between 1 and 2: zeros and positive totals."""

# Parameters of scipy's distributions are arguments of all methods.
# pyright: reportIncompatibleMethodOverride=false

# A total of a Poisson number of amounts, each of a gamma distribution; its variance is
# ``a m^p`` about a mean m with dispersion a and power p.
#
# Sources: Jorgensen, Exponential dispersion models, Journal of the Royal Statistical
# Society B 49, 1987; the series is (5) of Dunn and Smyth, Series evaluation of Tweedie
# exponential dispersion model densities, Statistics and Computing 15, 2005.

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.interpolate import CubicSpline
from scipy.special import gammainc, gammaln, logsumexp, ndtri

from skmohn._core._tuned import tuned
from skmohn.mohn._sparse.distributions import (
    Distribution,
    bounded_exp,
    has_finite_square,
)

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TweedieConstants:
    """Sums over the number of amounts, and quantiles."""

    # Standard deviations of the number on each side of its most likely value.
    n_deviations: float = tuned(9.0, "rounding")
    # Steps of a standard deviation: a sum over integers is then a trapezoidal rule,
    # whose error for a normal curve is exp(-2 pi^2 n^2).
    n_steps: int = tuned(4, "rounding")
    # Intervals of the spline for each e-fold of the series' argument.
    n_intervals: int = tuned(40, "rounding")
    # Ends of the spline, logarithms: there first order expansions hold.
    lowest: float = tuned(-40.0, "rounding")
    highest: float = tuned(14.0, "rounding")
    # Above this expected number quantiles are those of Cornish and Fisher.
    max_expected: float = tuned(1e7, "rounding")
    # Change of a quantile's logarithm that ends the search for it, and most rounds.
    min_change: float = tuned(1e-10, "rounding")
    max_rounds: int = tuned(100, "rounding")
    # Poisson numbers that can be drawn.
    max_drawn: float = tuned(1e18, "rounding")


_TWEEDIE = TweedieConstants()


class Tweedie(Distribution):
    """Compound Poisson distribution with gamma amounts."""

    has_dispersion = True
    is_discrete = False
    requirement = "Tweedie distributions have targets of 0, and from 1e-147 to 1e147"

    def __init__(self, power: float) -> None:
        self.power = power

    def is_valid(self, y: _Floats) -> NDArray[np.bool_]:
        """Mask of the targets that are not negative, and whose squares are finite."""
        return has_finite_square(y)

    def log_density(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Log density of positive targets, log probability of zeros."""
        found = -0.5 * self.deviance(y, mean, dispersion) / dispersion
        some = y > 0.0
        logs = np.log(y[some])
        of_some = np.broadcast_to(dispersion, y.shape)[some]
        argument = (2.0 - self.power) * logs - np.log((self.power - 1.0) * of_some)
        found[some] += _log_factor(argument, self.power) - logs
        return found

    def deviance(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Unit deviances of targets."""
        p = self.power
        fit = y * mean ** (1.0 - p) / (p - 1.0) + mean ** (2.0 - p) / (2.0 - p)
        best = y ** (2.0 - p) / ((p - 1.0) * (2.0 - p))
        return 2.0 * np.maximum(fit - best, 0.0)

    def slope(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Derivative of the log density by the log mean."""
        return mean ** (1.0 - self.power) * (y - mean) / dispersion

    def curvature(self, y: _Floats, mean: _Floats, dispersion: Any) -> _Floats:
        """Negative second derivative of the log density by the log mean."""
        p = self.power
        found = (p - 1.0) * y * mean ** (1.0 - p) + (2.0 - p) * mean ** (2.0 - p)
        return found / dispersion

    def information(self, mean: _Floats, dispersion: Any) -> _Floats:
        """Expectation of the curvature."""
        return mean ** (2.0 - self.power) / dispersion

    def frozen(self, mean: _Floats, dispersion: _Floats) -> Any:
        """Distribution with these means and dispersions, like those of scipy.stats."""
        return _compound_poisson()(mean, dispersion, self.power)

    def widened(self, mean: _Floats, dispersion: Any, variance: _Floats) -> _Floats:
        """Dispersion with the variance of targets whose log means are normal."""
        excess = bounded_exp(variance) - 1.0
        return dispersion + mean ** (2.0 - self.power) * excess

    def dispersion_unit(self, mean: float) -> float:
        """Dispersion at which the standard deviation is the mean."""
        return mean ** (2.0 - self.power)

    def dispersion_factor(self, log_exposure: Any) -> Any:
        """Dispersion of totals beside that of units, which are independent."""
        return np.exp((1.0 - self.power) * log_exposure)


class CompoundPoisson(stats.rv_continuous):
    """Totals of Poisson numbers of gamma amounts; all have the same power."""

    def _argcheck(self, mu: _Floats, dispersion: _Floats, power: _Floats) -> Any:
        return (mu > 0.0) & (dispersion > 0.0) & (power > 1.0) & (power < 2.0)

    def _stats(self, mu: _Floats, dispersion: _Floats, power: _Floats) -> Any:
        return mu, dispersion * mu**power, None, None

    def _logpdf(
        self, y: _Floats, mu: _Floats, dispersion: _Floats, power: _Floats
    ) -> _Floats:
        return Tweedie(_single(power)).log_density(y, mu, dispersion)

    def _pdf(
        self, y: _Floats, mu: _Floats, dispersion: _Floats, power: _Floats
    ) -> _Floats:
        return np.exp(self._logpdf(y, mu, dispersion, power))

    def _cdf(
        self, y: _Floats, mu: _Floats, dispersion: _Floats, power: _Floats
    ) -> _Floats:
        return _Totals.of(mu, dispersion, _single(power)).cdf(y)

    def _rvs(
        self,
        mu: _Floats,
        dispersion: _Floats,
        power: _Floats,
        size: Any,
        random_state: np.random.RandomState,
    ) -> _Floats:
        expected, shape, _ = _amounts(mu, dispersion, _single(power))
        expected = np.minimum(expected, _TWEEDIE.max_drawn)
        number = random_state.poisson(expected, size)
        return random_state.standard_gamma(shape * number) * (mu / (shape * expected))

    def _ppf(
        self, wanted: _Floats, mu: _Floats, dispersion: _Floats, power: _Floats
    ) -> _Floats:
        skewness = power * np.sqrt(dispersion * mu ** (power - 2.0))
        z = ndtri(wanted)
        found = mu + skewness * mu / power * (z + skewness * (z**2 - 1.0) / 6.0)
        expected, *_ = _amounts(mu, dispersion, _single(power))
        found[wanted <= np.exp(-expected)] = 0.0
        some = (wanted > np.exp(-expected)) & (expected <= _TWEEDIE.max_expected)
        if some.any():
            given = mu[some], dispersion[some], power[some]
            found[some] = self._search(wanted[some], *given)
        return found

    def _search(
        self, wanted: _Floats, mu: _Floats, dispersion: _Floats, power: _Floats
    ) -> _Floats:
        """Solve for quantiles by Newton's method within brackets that shrink."""
        totals = _Totals.of(mu, dispersion, _single(power))
        low, high = (np.log(mu) for _ in range(2))
        width = 1.0
        while (above := totals.cdf(np.exp(low)) >= wanted).any():
            low, width = low - width * above, 2.0 * width
        width = 1.0
        while (below := totals.cdf(np.exp(high)) < wanted).any():
            high, width = high + width * below, 2.0 * width
        at = 0.5 * (low + high)
        for _ in range(_TWEEDIE.max_rounds):
            y = np.exp(at)
            excess = totals.cdf(y) - wanted
            slope = y * self._pdf(y, mu, dispersion, power)
            low = np.where(excess < 0.0, at, low)
            high = np.where(excess < 0.0, high, at)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                new = at - excess / slope
            new = np.where((low <= new) & (new <= high), new, 0.5 * (low + high))
            change, at = np.abs(new - at).max(), new
            if change < _TWEEDIE.min_change:
                break
        return np.exp(at)


class _Totals(NamedTuple):
    """Sums over the numbers of amounts that count, for many means."""

    none: _Floats  # (n,); probability of no amount
    weight: _Floats  # (n, n_numbers)
    shape: _Floats  # (n, n_numbers); of the gamma distribution of a total
    scale: _Floats  # (n, 1)

    @classmethod
    def of(cls, mu: _Floats, dispersion: _Floats, power: float) -> Self:
        """Weights of the numbers of amounts."""
        expected, shape, scale = _amounts(mu, dispersion, power)
        number, step = _numbers(expected, np.sqrt(expected), 1.0 / np.sqrt(1.0 + shape))
        weight = step * stats.poisson.pmf(number, expected[:, None])
        return cls(np.exp(-expected), weight, shape * number, scale[:, None])

    def cdf(self, y: _Floats) -> _Floats:
        """Probability of at most these totals."""
        below = gammainc(self.shape, y[:, None] / self.scale)
        return self.none + (self.weight * below).sum(axis=1)


@lru_cache(maxsize=1)
def _compound_poisson() -> CompoundPoisson:
    # scipy's distributions have no mass at the end of their support.
    return CompoundPoisson(a=np.nextafter(0.0, -1.0), name="compound_poisson")


def _single(power: _Floats) -> float:
    """Power that all have."""
    return float(np.ravel(power)[0])


def _amounts(
    mu: _Floats, dispersion: _Floats, power: float
) -> tuple[_Floats, float, _Floats]:
    """Expected number of amounts, and the shape and scale of each."""
    expected = mu ** (2.0 - power) / ((2.0 - power) * dispersion)
    shape = (2.0 - power) / (power - 1.0)
    return expected, shape, (power - 1.0) * dispersion * mu ** (power - 1.0)


def _numbers(
    center: _Floats, std: _Floats, smooth_ratio: float
) -> tuple[_Floats, _Floats]:
    """Numbers of amounts that count, (n, n_numbers), and their steps, (n, 1)."""
    # A summand bends within `smooth_ratio` standard deviations.
    step = np.maximum(np.floor(smooth_ratio * std / _TWEEDIE.n_steps), 1.0)
    first = np.maximum(np.floor(center - _TWEEDIE.n_deviations * std), 1.0)
    # Few numbers have longer tails than a normal distribution.
    last = center + _TWEEDIE.n_deviations * std + _TWEEDIE.n_deviations**2 / 4.0
    n_numbers = int(np.max((last - first) / step)) + 1
    return first[:, None] + step[:, None] * np.arange(float(n_numbers)), step[:, None]


def _log_factor(argument: _Floats, power: float) -> _Floats:
    """Logarithm of what the density is beside ``exp(-deviance / 2 dispersion) / y``."""
    spline, low, high = _log_factor_spline(power), *_ends(power)
    near = np.clip(argument, low, high)
    # Above the ends the distribution is nearly normal, below there is one amount.
    found = spline(near) + 0.5 * (argument - near)
    shape = (2.0 - power) / (power - 1.0)
    one = argument / (power - 1.0) - np.log(shape) - gammaln(shape)
    return np.where(argument < low, one - np.exp(argument) / (2.0 - power), found)


def _ends(power: float) -> tuple[float, float]:
    """First and last argument of the spline."""
    return _TWEEDIE.lowest * (power - 1.0), _TWEEDIE.highest


@lru_cache(maxsize=32)
def _log_factor_spline(power: float) -> CubicSpline:
    """Spline of the factor by the logarithm of y^(2-p) / ((p-1) dispersion)."""
    shape = (2.0 - power) / (power - 1.0)
    low, high = _ends(power)
    n_nodes = int((high - low) * _TWEEDIE.n_intervals / (power - 1.0)) + 1
    nodes = np.linspace(low, high, n_nodes)
    z = np.exp(nodes)
    center = z / shape
    number, step = _numbers(center, np.sqrt(center / (1.0 + shape)), 1.0)
    logs = number * ((1.0 + shape) * nodes - np.log(shape))[:, None]
    logs -= gammaln(number + 1.0) + gammaln(shape * number)
    found = logsumexp(logs, axis=1) + np.log(step[:, 0])
    return CubicSpline(nodes, found - z / (2.0 - power))
