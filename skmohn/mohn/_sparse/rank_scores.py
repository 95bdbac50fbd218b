"""Targets as scores of their ranks, in which no value is far from all others.

Scores are those by which ranks test a shift best, if the noise is of Student's t: the
normal ones where it is normal. How heavy its tails are the target itself says, less its
skewness, which is a matter of the scale.

Sources: Hajek and Sidak, Theory of Rank Tests, Academic Press, 1967 (locally most
powerful scores); Blom, Statistical Estimates and Transformed Beta-Variables, Wiley,
1958 (the normal ones); Hoaglin, Summarizing shape numerically: the g-and-h
distributions, in Exploring Data Tables, Trends, and Shapes, Wiley, 1985 (skewness by
pairs of opposite order statistics); D'Agostino and Pearson, Biometrika 60 (1973) (the
test of normality).
"""

import math

import numpy as np
from scipy.stats import norm, normaltest, rankdata
from scipy.stats import t as student

from skmohn.mohn._design.design import make_design
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.model_selection import FEWEST_ROWS, fold_errors

# Blom's approximation to the means of normal order statistics.
_BLOM = 0.375
# p-value of residuals that are normal, below which scores are tried.
_ABNORMAL = 1e-4
# Fewer distinct values than this have the same scores up to a scale.
_FEWEST_VALUES = 3
# Rows from which the p-value holds (`scipy.stats.kurtosistest`).
_FEWEST_ROWS = 20
# Inverse degrees of freedom among which the likeliest are taken, after normal ones.
_INVERSES = np.linspace(0.04, 1.0, 25)
# Nats that degrees of freedom, one number more, must gain (Akaike's criterion).
_LEAST_GAIN = 1.0
_UPPER_QUARTILE = 0.75


def normal_scores(y):
    """What the ranks of targets are in standard normal samples.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Equal ones have equal scores.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
    """
    return norm.ppf((rankdata(y) - _BLOM) / (len(y) + 1.0 - 2.0 * _BLOM))


def tail_of(y):
    """Degrees of freedom of Student's t with the tails of a target; inf if normal.

    Opposite order statistics are U above the median and L below it. On a scale that is
    exponential by a factor g the logarithm of U / L is g z, and sqrt(U L) is
    2 sinh(g z / 2) / g, where z is the normal score: both are then as far away as z.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)

    Returns
    -------
    dof : float
        Infinite, too, if a quarter of the targets or more are equal to the median.
    """
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
    likelihoods = [_log_likelihood(distance, norm) + _LEAST_GAIN]
    likelihoods += [_log_likelihood(distance, student(1.0 / x)) for x in _INVERSES]
    best = int(np.argmax(likelihoods))
    return 1.0 / _INVERSES[best - 1] if best else math.inf


def _log_likelihood(distance, distribution):
    """Of distances in units of the upper quartile."""
    quartile = distribution.ppf(_UPPER_QUARTILE)
    log_density = distribution.logpdf(quartile * distance)
    return log_density.sum() + len(distance) * math.log(quartile)


def rank_scores(y, others=None):
    """The scores of ranks that suit the tails of targets.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Equal ones have equal scores.

    others : ndarray of shape (n_others,), default=None
        Targets to be scored among these instead.

    Returns
    -------
    scores : ndarray of shape (n_samples,) or (n_others,)
    """
    scores, dof = normal_scores(y), tail_of(y)
    if math.isfinite(dof):
        quantiles = student.ppf(norm.cdf(scores), dof)
        scores = (dof + 1.0) * quantiles / (dof + quantiles**2)
    if others is None:
        return scores
    values, first = np.unique(y, return_index=True)
    return np.interp(others, values, scores[first])


def may_mislead(y, residual):
    """Whether residuals are so far from normal that scores of the target may do better.

    Parameters
    ----------
    y, residual : ndarrays of shape (n_samples,)

    Returns
    -------
    is_abnormal : bool
    """
    if len(y) < _FEWEST_ROWS or not np.ptp(residual):
        return False
    if len(np.unique(y)) < _FEWEST_VALUES:
        return False
    return bool(normaltest(residual).pvalue < _ABNORMAL)


def is_closer_to_normal(residual, other):
    """Whether residuals are closer to normal than others, by the test's statistic."""
    return bool(normaltest(residual).statistic < normaltest(other).statistic)


def search_scores(samples, settings, residual, pursue, describe):
    """A solution whose terms were chosen by scores of the target, if that is better.

    Where noise is skewed or has heavy tails, terms that fit a few far targets are
    significant by chance. Scores have none; they are better if their terms leave normal
    scores that are closer to normal than what is left of the target. The weights are
    those of the target itself.

    Parameters
    ----------
    samples : Samples

    settings : Wishes
        Only weights of least squares are those of known terms.

    residual : ndarray of shape (n_samples,)
        What a search of the target itself leaves of it.

    pursue : callable
        From `TrainingData` and what hears of steps to a `Solution`.

    describe : callable
        From an `ActiveSet`, what chose it, a coverage and a warning to a `Solution`.

    Returns
    -------
    solution : Solution or None
    """
    y = samples.y
    is_open = settings.learning_rule == "ols" and settings.selection != "lasso"
    if not is_open or len(y) < FEWEST_ROWS:
        return None
    scored = samples._replace(y=rank_scores(y))
    if samples.held is not None:
        held = samples.held._replace(y=rank_scores(y, samples.held.y))
        scored = scored._replace(held=held)
    # What a search of scores learns is in another unit: nobody hears of it.
    other = pursue(scored, report=lambda record, graph: None)
    chosen = other.choice
    # Weights that the lasso shrinks are those of the scores.
    if chosen is None or chosen.how == "lasso":
        return None
    design = make_design(samples.inputs, samples.weight)
    of_scores = ActiveSet.of(design, normal_scores(y), chosen.terms).residual
    if not is_closer_to_normal(of_scores, residual):
        return None
    if chosen.folds is not None:
        errors = fold_errors(design, y, chosen.terms, chosen.folds)
        chosen = chosen._replace(errors=errors)
    model = ActiveSet.of(design, y, chosen.terms)
    found = describe(model, chosen.how, other.coverage, other.warning)
    reason = f"{found.reason}, by {_call(tail_of(y))} of the target, whose residuals "
    reason += "are closer to normal"
    return found._replace(choice=chosen, reason=reason, on_scores=True)


def _call(dof):
    if math.isinf(dof):
        return "normal scores"
    return f"scores of Student's t with {dof:.3g} degrees of freedom"
