"""Targets as scores of their ranks, which have no outliers."""

# The scores are those by which ranks test a shift best, if the noise is of Student's t:
# normal scores if it is normal. The degrees of freedom are estimated from the target
# itself, less its skewness, which is a matter of its transform.
#
# Sources: Hajek and Sidak, Theory of Rank Tests, Academic Press, 1967 (locally most
# powerful scores); Blom, Statistical Estimates and Transformed Beta-Variables, Wiley,
# 1958 (the normal ones); Hoaglin, Summarizing shape numerically: the g-and-h
# distributions, in Exploring Data Tables, Trends, and Shapes, Wiley, 1985 (skewness by
# pairs of opposite order statistics); D'Agostino and Pearson, Biometrika 60 (1973) (the
# test of normality).

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, normaltest, rankdata
from scipy.stats import t as student

from skmohn._core._tuned import tuned
from skmohn.mohn._design.design import make_design
from skmohn.mohn._models import FitResult
from skmohn.mohn._options import FitSettings
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.model_selection import PATH, fold_errors
from skmohn.mohn._training_data import TrainingData

# Blom's approximation to the means of normal order statistics.
_BLOM: Final = 0.375


@dataclass(frozen=True)
class RankConstants:
    """When the scores of ranks are tried."""

    # p-value of the normality of residuals below which scores are tried.
    max_p_value: float = tuned(1e-4, "benchmarks/ablation.py")


_RANKS = RankConstants()

# Fewer distinct values have the same scores up to a factor.
_MIN_VALUES: Final = 3
# Rows from which the p-value holds (`scipy.stats.kurtosistest`).
_MIN_ROWS: Final = 20
# Nats that degrees of freedom, one more parameter, must gain (Akaike's criterion).
_AIC_PER_PARAMETER: Final = 1.0
_UPPER_QUARTILE: Final = 0.75
# Inverse degrees of freedom to choose from by likelihood, beside normal scores.
_INVERSES = np.linspace(0.04, 1.0, 25)


def normal_scores(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normal order statistics of the targets' ranks; ties are equal."""
    return norm.ppf((rankdata(y) - _BLOM) / (len(y) + 1.0 - 2.0 * _BLOM))


def tail_of(y: NDArray[np.float64]) -> float:
    """Degrees of freedom of Student's t with the tails of a target; inf if normal."""
    # Opposite order statistics are U above the median and L below it. On a scale that
    # is exponential by a factor g the logarithm of U / L is g z, and sqrt(U L) is 2
    # sinh(g z / 2) / g, where z is the normal score: both are then as far away as z.
    # Infinite, too, if a quarter of the targets or more equal the median.
    y, half = np.sort(y), len(y) // 2
    z, quarter = -normal_scores(y)[:half], len(y) // 4
    lower, upper = np.median(y) - y[:half], y[::-1][:half] - np.median(y)
    apart = (lower > 0.0) & (upper > 0.0)
    if not (quarter and apart[:quarter].all()):
        return math.inf
    z, lower, upper = z[apart], lower[apart], upper[apart]
    ratio = np.log(upper[:quarter]) - np.log(lower[:quarter])
    skewness = np.median(ratio / z[:quarter])
    # np.sinc of an imaginary number is sinh(x) / x.
    distance = np.sqrt(lower) * np.sqrt(upper)
    distance /= np.sinc(0.5j * skewness * z / np.pi).real
    distance /= distance[quarter - 1]
    likelihoods = [_log_likelihood(distance, norm) + _AIC_PER_PARAMETER]
    likelihoods += [_log_likelihood(distance, student(1.0 / x)) for x in _INVERSES]
    best = int(np.argmax(likelihoods))
    return 1.0 / _INVERSES[best - 1] if best else math.inf


def _log_likelihood(distance: NDArray[np.float64], distribution: Any) -> float:
    """Log likelihood of distances in units of the upper quartile."""
    quartile = distribution.ppf(_UPPER_QUARTILE)
    log_density = distribution.logpdf(quartile * distance)
    return log_density.sum() + len(distance) * math.log(quartile)


def rank_scores(
    y: NDArray[np.float64], others: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Rank scores for the tails of targets, of these or interpolated for others."""
    scores, dof = normal_scores(y), tail_of(y)
    if math.isfinite(dof):
        quantiles = student.ppf(norm.cdf(scores), dof)
        scores = (dof + 1.0) * quantiles / (dof + quantiles**2)
    if others is None:
        return scores
    values, first = np.unique(y, return_index=True)
    return np.interp(others, values, scores[first])


def may_mislead(y: NDArray[np.float64], residual: NDArray[np.float64]) -> bool:
    """Whether residuals are so far from normal that scores may do better."""
    return len(np.unique(y)) >= _MIN_VALUES and is_not_normal(residual)


def is_not_normal(residual: NDArray[np.float64]) -> bool:
    """Whether residuals are clearly not normal."""
    if len(residual) < _MIN_ROWS or not np.ptp(residual):
        return False
    return bool(normaltest(residual).pvalue < _RANKS.max_p_value)


def is_closer_to_normal(
    residual: NDArray[np.float64], other: NDArray[np.float64]
) -> bool:
    """Whether residuals are closer to normal than others, by the test's statistic."""
    return bool(normaltest(residual).statistic < normaltest(other).statistic)


def search_scores(
    samples: TrainingData,
    settings: FitSettings,
    residual: NDArray[np.float64],
    pursue: Callable[..., FitResult],
    describe: Callable[..., FitResult],
) -> FitResult | None:
    """Select terms by scores of the target's ranks, if these fit better."""
    # With skewed or heavy-tailed noise, terms that fit a few outliers are significant
    # by chance. Scores have no outliers; they are better if their terms leave normal
    # scores closer to normal than `residual`, that of a search of the target itself.
    # The weights are those of the target, by least squares only. `pursue` searches
    # samples with a callback; `describe` makes a result of an `ActiveSet`, what chose
    # it, a coverage and a warning.
    y = samples.y
    is_open = settings.learning_rule == "ols" and settings.selection != "lasso"
    if not is_open or len(y) < PATH.min_rows:
        return None
    scored = samples._replace(y=rank_scores(y))
    if samples.validation is not None:
        held = samples.validation._replace(y=rank_scores(y, samples.validation.y))
        scored = scored._replace(validation=held)
    # Records of a search of scores are in another unit: they are not reported.
    other = pursue(scored, report=lambda record, graph: None)
    chosen = other.selection
    # Weights that the lasso shrinks are those of the scores.
    if chosen is None or chosen.how == "lasso":
        return None
    design = make_design(samples.inputs, samples.sample_weight)
    of_scores = ActiveSet.of(design, normal_scores(y), chosen.terms).residual
    if not is_closer_to_normal(of_scores, residual):
        return None
    if chosen.folds is not None:
        errors = fold_errors(design, y, chosen.terms, chosen.folds)
        chosen = chosen._replace(errors=errors)
    model = ActiveSet.of(design, y, chosen.terms)
    found = describe(model, chosen.how, other.coverage, other.warning)
    reason = f"{found.stopping_reason}, by {_call(tail_of(y))} of the target, whose "
    reason += "residuals are closer to normal"
    return found._replace(selection=chosen, stopping_reason=reason, on_scores=True)


def _call(dof: float) -> str:
    if math.isinf(dof):
        return "normal scores"
    return f"scores of Student's t with {dof:.3g} degrees of freedom"
