"""Tests of products against noise: Student's t of least squares."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.special import betaln
from scipy.stats import t as student

from skmohn._core._units import power_of_two_scale
from skmohn.mohn._design.pair_screening import best_pairs
from skmohn.mohn._design.terms import pair_of
from skmohn.mohn._sparse.active_set import ALIAS_TOLERANCE, ActiveSet

# Numbers that columns have at a time.
_ENTRIES = 2**22
# Pairs that a pass keeps, and of which the best are told: a pass compares roughly.
_KEPT, _TOLD = 2**14, 2**12


class Scan(NamedTuple):
    """Tests of all inputs and pairs of them as the next product of a model.

    Attributes
    ----------
    singles : ndarray of shape (n_features,)
        p-values of inputs alone; NaN for those that follow from the model.

    pairs : ndarray of shape (n_pairs, 2)
        The most significant ones first.

    of_pairs : ndarray of shape (n_pairs,)
        Their p-values.

    n_tried : int
        Number of all pairs.
    """

    singles: np.ndarray
    pairs: np.ndarray
    of_pairs: np.ndarray
    n_tried: int


def p_values_of_terms(design, y, terms):
    """Test each product beside all others: two-sided p-values, shape (n_terms,).

    NaN for products that follow from those before them, without degrees of freedom, and
    of a target that does not vary.

    Parameters
    ----------
    design : PackedDesign, DenseDesign or PlaneDesign

    y : ndarray of shape (n_samples,)

    terms : sequence of tuples of int
    """
    if not np.ptp(y):
        return np.full(len(terms), np.nan)
    model = ActiveSet.of(design, y / power_of_two_scale(y), list(terms))
    # Where nothing is left to explain, no weight is due to chance.
    with np.errstate(divide="ignore", invalid="ignore"):
        t = model.coef / model.standard_errors()
    p_values = _two_sided(t, design.weight_sum - len(model))
    found = dict(zip(model.terms, p_values.tolist(), strict=True))
    return np.array([found.get(term, np.nan) for term in terms])


def correct_p_values(design, y, terms, p_values, coverage, given=()):
    """Correct p-values for all that a search could have chosen.

    Terms that were all that was tried are known beforehand: Bonferroni. Others are
    tested in steps, the most significant first, beside those before: whether what is
    left of the target is noise. That is rejected by the F test of the next few terms
    together, times the number of ways to choose as many. If it is not rejected, neither
    that term nor those after it are significant: what they take from the noise they
    take together. Where the terms before are those that matter, any of the others is
    below a level at most so often, however the search chose.

    Parameters
    ----------
    design, y, terms
        As for :func:`p_values_of_terms`.

    p_values : ndarray of shape (n_terms,)
        Its result.

    coverage : list of dict
        Of the search, for each order: ``tried`` and ``kept``.

    given : collection of tuples of int, default=()
        Those of the terms that the search did not decide on.

    Returns
    -------
    n_tried : ndarray of shape (n_terms,), int
        Tests of a term and of those that it was chosen from.

    corrected : ndarray of shape (n_terms,)
        NaN where the p-value is.
    """
    if all(row["tried"] == row["kept"] for row in coverage):
        n_tried = np.full(len(terms), len(terms))
        return n_tried, np.minimum(p_values * n_tried, 1.0)
    tried = {row["order"]: max(row["tried"], 1) for row in coverage}
    given = set(given)
    n_tried = np.array(
        [len(given) if t in given else tried.get(len(t), 1) for t in terms], dtype=int
    )
    corrected = np.minimum(p_values * n_tried, 1.0)
    order = np.argsort(p_values, kind="stable")
    ranked = [terms[j] for j in order if not np.isnan(p_values[j])]
    if not ranked:
        return n_tried, corrected
    ranked.sort(key=lambda term: term not in given)
    model = ActiveSet.of(design, y / power_of_two_scale(y), ranked)
    n_fixed = 1 + len(given.intersection(model.terms))
    indices = {term: j for j, term in enumerate(terms)}
    indices = [indices[term] for term in model.terms[1:]]
    fixed, found = indices[: n_fixed - 1], indices[n_fixed - 1 :]
    part = solve_triangular(model.factor, model.target, lower=True, check_finite=False)
    # Squares that are left with the first weight, the first two, ...
    left = np.cumsum(np.append(model.rms**2 * design.weight_sum, part[:0:-1] ** 2))
    left = left[::-1]
    # A half for each further term, and each order as likely as the others.
    choices = [2.0 * len(tried) * tried.get(len(t), 1) for t in model.terms]
    if design.variants is not None:
        _count_further(model.terms, design.variants, choices, len(tried))
    orders = np.array([len(term) for term in model.terms])
    steps = [
        _log_p_of_rest(left, np.log(choices), orders, start, design.weight_sum)
        for start in range(n_fixed, len(model))
    ]
    steps = np.exp(np.maximum.accumulate(np.array(steps)))
    corrected[found] = np.maximum(corrected[found], steps)
    if fixed:
        # The noise of the longest model whose further terms are significant.
        of_fixed = _p_values_of_prefixes(model, part, left, n_fixed) * len(given)
        beyond = np.append(0.0, steps)[:, None]
        of_fixed = np.minimum(np.maximum(of_fixed, beyond).min(axis=0), 1.0)
        corrected[fixed] = np.maximum(corrected[fixed], of_fixed)
    return n_tried, corrected


def _count_further(terms, variants, choices, n_orders):
    """Of a pair of variants that has a product already, three others could be next."""
    known = set()
    for j, term in enumerate(terms):
        pair = pair_of(term, variants)
        if pair in known:
            choices[j] = 2.0 * n_orders * 3.0
        elif pair is not None:
            known.add(pair)


def _log_p_of_rest(left, log_choices, orders, start, weight_sum):
    """Logarithm of the p-value of that all weights from one on are noise."""
    log_ways = np.cumsum(log_choices[start:])
    for order in np.unique(orders[start:]):
        is_own = orders[start:] == order
        # Which of them came first makes no other choice.
        log_ways -= np.cumsum(np.where(is_own, np.log(np.cumsum(is_own) + ~is_own), 0))
    before, after = left[start - 1], left[start:]
    if not before > 0.0:
        return 0.0
    n_more = 1.0 + np.arange(len(after))
    a, b = (weight_sum - start - n_more) / 2.0, n_more / 2.0
    x = after / before
    # The F test is an incomplete beta function, whose series (DLMF 8.17.8) is at most
    # geometric. That is close in the tail, and does not underflow.
    ratio = x * np.maximum(1.0, (a + b) / (a + 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = a * np.log(x) + b * np.log1p(-x) - np.log(a) - betaln(a, b)
        log_p = np.where((ratio < 1.0) & (a > 0.0), log_p - np.log1p(-ratio), 0.0)
    return min(float((log_ways + log_p).min()), 0.0)


def _p_values_of_prefixes(model, part, left, n_fixed):
    """p-values of the first weights but the constant, in each model that has them."""
    inverse, _ = lapack.dtrtri(model.factor, lower=1)
    inverse = inverse[:, 1:n_fixed]
    sizes = np.arange(n_fixed, len(model) + 1)
    n_spare = (model.design.weight_sum - sizes)[:, None]
    coef = np.cumsum(inverse * part[:, None], axis=0)[n_fixed - 1 :]
    spread = np.cumsum(inverse**2, axis=0)[n_fixed - 1 :]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = coef / np.sqrt(spread * left[n_fixed - 1 :, None] / n_spare)
    return 2.0 * student.sf(np.abs(t), n_spare)


def p_values_of_further(model, sets):
    """Test each product as the next of a model: two-sided p-values, shape (n_sets,).

    They are those that :func:`p_values_of_terms` has of the last product of the longer
    model (Frisch and Waugh). NaN for products that follow from the model.

    Parameters
    ----------
    model : ActiveSet

    sets : sequence of tuples of int, or ndarray of shape (n_sets, order), int
    """
    design = model.design
    n_spare = design.weight_sum - len(model) - 1
    square = model.rms**2 * design.weight_sum
    size, parts = max(_ENTRIES // design.n_samples, 1), [np.empty(0)]
    for start in range(0, len(sets), size):
        columns = design.columns(sets[start : start + size])
        # What is left of the columns, of which the first weight takes the mean.
        cross = design.gram(model.columns, columns)
        link = solve_triangular(model.factor, cross, lower=True, check_finite=False)
        left = design.spread(columns) - np.sum(link[1:] ** 2, axis=0)
        is_new = np.isfinite(left) & (left > ALIAS_TOLERANCE * design.weight_sum)
        left = np.where(is_new, left, np.nan)
        explained = design.project(columns, model.residual) ** 2 / left
        rest = np.maximum(square - explained, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts.append(np.sqrt(n_spare * explained / rest))
    return _two_sided(np.concatenate(parts), n_spare)


def scan_with(models, *, has_pairs=True, n_jobs=None):
    """Test all inputs and pairs of them beside some models of one table, in one pass.

    Parameters
    ----------
    models : sequence of ActiveSet

    has_pairs : bool, default=True
        Whether pairs are tested.

    n_jobs : int, default=None
        Parts of the pairs that are compared at once.

    Returns
    -------
    scans : list of Scan
    """
    design = models[0].design
    n = design.n_features
    n_tried = math.comb(n, 2) if has_pairs else 0
    pairs = [np.empty((0, 2), dtype=np.int32)] * len(models)
    if n_tried:
        residuals = np.stack([model.residual for model in models])
        kept = best_pairs(design, residuals, min(_KEPT, n_tried), n_jobs=n_jobs)
        pairs = [one.pairs for one in kept]
    scans, singles = [], [(i,) for i in range(n)]
    for model, own in zip(models, pairs, strict=True):
        p_values = p_values_of_further(model, own)
        order = np.argsort(p_values, kind="stable")
        order = order[: _TOLD if n_tried > _KEPT else None]
        found = own[order], p_values[order]
        scans.append(Scan(p_values_of_further(model, singles), *found, n_tried))
    return scans


def _two_sided(t, n_spare):
    if n_spare <= 0:
        return np.full(len(t), np.nan)
    return 2.0 * student.sf(np.abs(t), n_spare)
