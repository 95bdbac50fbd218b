"""Tails of residuals: normal, or those of Student's t."""

# Source: Lange, Little and Taylor, Robust statistical modeling using the t
# distribution, Journal of the American Statistical Association 84, 1989.

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.stats import cauchy, norm, t

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class TailConstants:
    """Student's distribution of residuals."""

    # Nats that Student's distribution must gain over the best normal one.
    min_gain: float = tuned(3.0, "benchmarks/ablation.py")
    # With fewer rows, distances are those of Student's t: the noise is an estimate.
    few_rows: int = tuned(50, "benchmarks/ablation.py")
    # Its degrees of freedom where terms or hyperparameters were chosen by the same
    # rows, as a fraction of these, and at least. In 14 kinds of tables of 12 or 20
    # rows, by which the fraction was chosen, 90 % intervals have 84 to 96 % of new
    # targets, and 79 to 92 % by normal distributions.
    df_fraction: float = tuned(1.0 / 3.0, "benchmarks/ablation.py")
    min_df: float = tuned(3.0, "benchmarks/ablation.py")
    # Halvings of the bracket of a quantile of a mixture.
    n_halvings: int = tuned(52, "rounding")


TAILS = TailConstants()

# The variance of Student's distribution is finite above.
_MIN_DF: Final = 2.0


@dataclass(frozen=True)
class Tails:
    """Symmetric distribution around 0."""

    df: float = math.inf  # degrees of freedom; infinite for the normal distribution
    # Factor of a standard deviation: most observations are closer than those of a
    # normal distribution, a few are much further away.
    scale: float = 1.0
    outliers: float = 0.0  # probability of an outlier, whose distance is Cauchy's

    def quantiles(
        self, probabilities: NDArray[np.float64] | float
    ) -> NDArray[np.float64]:
        """Quantiles in standard deviations."""
        regular = self._ask("ppf", probabilities) * self.scale
        if not self.outliers:
            return regular
        ends = np.sort(np.column_stack([regular, cauchy.ppf(probabilities)]))
        return np.array(
            [
                brentq(
                    lambda away, probability=probability: self.cdf(away) - probability,
                    *between,
                )
                if between[0] < between[1]
                else between[0]
                for probability, between in zip(
                    np.ravel(probabilities), ends, strict=True
                )
            ]
        )

    def cdf(self, away: Any) -> Any:
        """Cumulative distribution function of distances in standard deviations."""
        regular = self._ask("cdf", away / self.scale)
        if not self.outliers:
            return regular
        return (1.0 - self.outliers) * regular + self.outliers * cauchy.cdf(away)

    def log_density(self, away: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log density of distances in standard deviations."""
        regular = self._ask("logpdf", away / self.scale) - math.log(self.scale)
        if not self.outliers:
            return regular
        of_outliers = math.log(self.outliers) + cauchy_log_density(away)
        return np.logaddexp(math.log1p(-self.outliers) + regular, of_outliers)

    def draw(
        self, rng: np.random.Generator, size: tuple[int, int] | int
    ) -> NDArray[np.float64]:
        """Draw distances in standard deviations."""
        if math.isinf(self.df):
            drawn = self.scale * rng.standard_normal(size)
        else:
            drawn = self.scale * rng.standard_t(self.df, size)
        if not self.outliers:
            return drawn
        is_outlier = rng.random(size) < self.outliers
        return np.where(is_outlier, rng.standard_cauchy(size), drawn)

    def _ask(self, name: str, values: NDArray[np.float64] | float) -> Any:
        # To freeze a distribution of scipy's takes ten times as long.
        if math.isinf(self.df):
            return getattr(norm, name)(values)
        return getattr(t, name)(values, self.df)


@dataclass(frozen=True)
class Mixtures:
    """Distributions of rows, each around several centers."""

    tails: Tails
    std: NDArray[np.float64]  # (n_rows,)
    centers: NDArray[np.float64]  # (n_rows, n_centers)
    probability: NDArray[np.float64]  # of each center, (n_rows, n_centers)

    def quantiles(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles of each row, (n_rows, n_probabilities)."""
        found = np.empty((len(self.std), len(probabilities)))
        for k, probability in enumerate(probabilities):
            # They are between those of the parts.
            of_parts = self.tails.quantiles(probabilities[k : k + 1])
            of_parts = self.centers + self.std[:, None] * of_parts
            low, high = of_parts.min(axis=1), of_parts.max(axis=1)
            for _ in range(TAILS.n_halvings):
                middle = 0.5 * (low + high)
                is_below = self._cdf(middle) < probability
                low = np.where(is_below, middle, low)
                high = np.where(is_below, high, middle)
            found[:, k] = 0.5 * (low + high)
        return found

    def _cdf(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cumulative distribution function of each row at its value."""
        # Without noise it is a sum of steps.
        std = np.maximum(self.std, np.finfo(float).tiny)[:, None]
        with np.errstate(over="ignore"):
            parts = self.tails.cdf((values[:, None] - self.centers) / std)
        return np.sum(self.probability * parts, axis=1)

    def log_density(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log density of each row at its value."""
        away = values[:, None] - self.centers
        away = np.where(away == 0.0, 0.0, away / self.std[:, None])
        parts = self.tails.log_density(away) + np.log(self.probability)
        return np.logaddexp.reduce(parts, axis=1) - np.log(self.std)


def cauchy_log_density(away: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log density of Cauchy's distribution; that of scipy 1.13 overflows."""
    return -math.log(math.pi) - 2.0 * np.log(np.hypot(1.0, away))


def fit_tails(squares: NDArray[np.float64], count: NDArray[np.float64]) -> Tails:
    """Choose the distribution under which left-out observations are most likely."""
    # It is normal unless that of Student gains clearly. Squares are of distances in
    # standard deviations, each of `count` observations.
    away = np.sqrt(squares)
    spread = math.sqrt(np.average(squares, weights=count)) if count.any() else 0.0
    if not 0.0 < spread < math.inf:
        return Tails()

    def loss(logs: NDArray[np.float64]) -> float:
        df, scale = _MIN_DF + math.exp(logs[0]), spread * math.exp(logs[1])
        return -float(count @ Tails(df, scale).log_density(away))

    found = minimize(loss, [1.0, -0.1], method="Nelder-Mead", bounds=[(-5, 5), (-3, 3)])
    normal = -float(count @ Tails(scale=spread).log_density(away))
    if normal - found.fun < TAILS.min_gain:
        return Tails()
    return Tails(_MIN_DF + math.exp(found.x[0]), spread * math.exp(found.x[1]))


def fit_level(squares: NDArray[np.float64], is_expected: bool) -> Tails:
    """Choose the scale of normal tails, where held-out rows are farther off."""
    # Squares are of distances in standard deviations, one for each distinct row or
    # group. Unless that `is_expected`, they must be clearly farther off.
    level = float(np.mean(squares)) if len(squares) else 1.0
    gain = 0.5 * len(squares) * (level - 1.0 - math.log(level)) if level > 1.0 else 0.0
    is_taken = level > 1.0 if is_expected else gain >= TAILS.min_gain
    return Tails(scale=math.sqrt(level)) if is_taken else Tails()


def tails_of_few(squares: NDArray[np.float64], n_rows: int, is_chosen: bool) -> Tails:
    """Tails of Student's t for few rows, at least as wide as held-out residuals."""
    # Squares are as of :func:`fit_level`. Rows, or groups, are those whose targets are
    # observations of their own; `is_chosen` is whether they chose anything but the
    # mean.
    df = TAILS.df_fraction * n_rows if is_chosen else n_rows - 1.0
    level = float(np.mean(squares)) if len(squares) else 1.0
    return Tails(max(df, TAILS.min_df), math.sqrt(max(level, 1.0)))
