"""Targets as normal scores: what a search is not misled by, far values included.

Sources: Blom, Statistical Estimates and Transformed Beta-Variables, Wiley, 1958 (the
scores); D'Agostino and Pearson, Biometrika 60 (1973) (the test of normality).
"""

import numpy as np
from scipy.stats import norm, normaltest, rankdata

from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.selection import FEWEST_ROWS, fold_errors
from skmohn.mohn._walsh.design import make_design

# Blom's approximation to the means of normal order statistics.
_BLOM = 0.375
# p-value of residuals that are normal, below which scores are tried.
_ABNORMAL = 1e-4
# Fewer distinct values than this have the same scores up to a scale.
_FEWEST_VALUES = 3
_ON_SCORES = ", by normal scores of the target, whose residuals are closer to normal"


def normal_scores(y, others=None):
    """What the ranks of targets are in standard normal samples.

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
    scores = norm.ppf((rankdata(y) - _BLOM) / (len(y) + 1.0 - 2.0 * _BLOM))
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
    if len(np.unique(y)) < _FEWEST_VALUES or not np.ptp(residual):
        return False
    return bool(normaltest(residual).pvalue < _ABNORMAL)


def is_closer_to_normal(residual, other):
    """Whether residuals are closer to normal than others, by the test's statistic."""
    return bool(normaltest(residual).statistic < normaltest(other).statistic)


def prefer_scores(solution, samples, wishes, pursue, describe):
    """The solution, or one whose terms were chosen by normal scores of the target.

    Where noise is skewed or has heavy tails, terms that fit a few far targets stand out
    by chance. Scores have none; they are preferred if they leave residuals that are
    closer to normal. The weights are those of the target itself.

    Parameters
    ----------
    solution : Solution
        By the target itself.

    samples : Samples

    wishes : Wishes
        Only weights of least squares are those of known terms.

    pursue : callable
        From `Samples` and what hears of steps to a search and its `Solution`.

    describe : callable
        From an `ActiveSet`, what chose it, a coverage and a warning to a `Solution`.

    Returns
    -------
    solution : Solution
    """
    design, y = make_design(samples.inputs, samples.weight), samples.y
    is_open = wishes.learning_rule == "ols" and wishes.selection != "lasso"
    is_ended = solution.is_exact or solution.is_stopped
    if is_ended or not is_open or len(y) < FEWEST_ROWS:
        return solution
    residual = _residual(design, y, solution.graph)
    if not may_mislead(y, residual):
        return solution
    scored = samples._replace(y=normal_scores(y))
    if samples.held is not None:
        held = samples.held._replace(y=normal_scores(y, samples.held.y))
        scored = scored._replace(held=held)
    # What a search of scores learns is in another unit: nobody hears of it.
    _, other = pursue(scored, report=lambda record, graph: None)
    chosen = other.choice
    # Weights that the lasso shrinks are those of the scores.
    if chosen is None or chosen.how == "lasso":
        return solution
    if not is_closer_to_normal(_residual(design, scored.y, other.graph), residual):
        return solution
    if chosen.folds is not None:
        errors = fold_errors(design, y, chosen.terms, chosen.folds)
        chosen = chosen._replace(errors=errors)
    model = ActiveSet.of(design, y, chosen.terms)
    found = describe(model, chosen.how, other.coverage, other.warning)
    reason = found.reason + _ON_SCORES
    return found._replace(choice=chosen, reason=reason, on_scores=True)


def _residual(design, y, graph):
    fitted = design.combine(design.columns(graph.terms), graph.coef)
    return y - graph.intercept - fitted
