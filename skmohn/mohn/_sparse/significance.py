"""p-values of products: Student's t of least squares."""

# It supposes that noise is normal, or columns so dense that sums are. If neither is so,
# few rows decide: the one case among a hundred controls that has two rare alleles is as
# significant as one likes. The sum of the noise of such rows then has the tails of a
# Student's t with its kurtosis, which follows from those of the noise and the column,
# or with that of a gamma distribution as skewed.
#
# Source: Pitman, Significance tests which may be applied to samples from any
# populations II, the correlation coefficient test, Supplement to the Journal of the
# Royal Statistical Society 4, 1937 (moments under permutation).

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import betaln
from scipy.stats import t as student

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term, lapack
from skmohn._core._units import power_of_two_scale
from skmohn.mohn._design.design import Design
from skmohn.mohn._design.pair_screening import best_pairs
from skmohn.mohn._design.terms import pair_of
from skmohn.mohn._sparse.active_set import ALIASES, ActiveSet
from skmohn.mohn._sparse.exact_fit import exact_error
from skmohn.mohn._sparse.rank_scores import is_not_normal


@dataclass(frozen=True)
class ScanConstants:
    """Tests of all pairs."""

    # Entries of the columns at a time.
    n_entries: int = tuned(2**22, "cost")
    # Pairs that a pass keeps, as it compares roughly, and those of them that are
    # returned.
    max_kept: int = tuned(2**14, "cost")
    max_returned: int = tuned(2**12, "cost")


_SCAN = ScanConstants()


class Scan(NamedTuple):
    """Tests of all inputs and pairs of them as the next product of a model."""

    # (n_features,); p-values of inputs; NaN if aliased with the model.
    singles: np.ndarray
    pairs: np.ndarray  # (n_pairs, 2); the most significant ones first
    of_pairs: np.ndarray  # (n_pairs,); their p-values
    n_tried: int  # number of all pairs


def p_values_of_terms(
    design: Design,
    y: NDArray[np.float64],
    terms: Sequence[Term],
    given: Collection[Term] = (),  # of the noise, if no other term is true
) -> NDArray[np.float64]:
    """Two-sided p-values of products, each beside all others."""
    # NaN for products that are aliased with those before them, without degrees of
    # freedom, and for a constant target.
    if not np.ptp(y):
        return np.full(len(terms), np.nan)
    y = y / power_of_two_scale(y)
    model, null = ActiveSet.of(design, y, list(terms)), ActiveSet(design, y, [*given])
    # Without residuals no weight is due to chance.
    with np.errstate(divide="ignore", invalid="ignore"):
        t = model.coef / model.standard_errors()
    excess = np.zeros(len(model))
    # What is left of an exact model is rounding.
    if model.rms > exact_error(y, null.rms) and is_not_normal(model.residual):
        # Terms may have absorbed what is not normal, one row each.
        excess = _excess_kurtoses(null, model.columns)
    p_values = _two_sided(t, design.weight_sum - len(model), excess)
    found = dict(zip(model.terms, p_values.tolist(), strict=True))
    return np.array([found.get(term, np.nan) for term in terms])


def correct_p_values(
    design: Design,
    y: NDArray[np.float64],
    terms: Sequence[Term],
    p_values: NDArray[np.float64],
    coverage: list[dict[str, Any]],
    given: Collection[Term] = (),
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Correct p-values for a search; return numbers of tests, and p-values."""
    # If all that was tried was kept, terms are known beforehand: Bonferroni. Others are
    # tested in steps, the most significant first, beside those before: the null
    # hypothesis is that the residual is noise. The F test of the next few terms
    # together rejects it, times the number of ways to choose as many. If it is not
    # rejected, neither that term nor those after it are significant: together they
    # reduce the noise. If the terms before are the true ones, the probability that any
    # other is below a level is at most that level, however the search chose.
    # p-values are those of :func:`p_values_of_terms`. `coverage` has ``tried`` and
    # ``kept`` sets by order; `given` are terms that the search did not decide on. Tests
    # are those of a term and of those that it was chosen from.
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


def _count_further(
    terms: Sequence[Term],
    variants: NDArray[np.intp],
    choices: list[float],
    n_orders: int,
) -> None:
    """Count three choices for the next product of a pair of variants that has one."""
    known = set()
    for j, term in enumerate(terms):
        pair = pair_of(term, variants)
        if pair in known:
            choices[j] = 2.0 * n_orders * 3.0
        elif pair is not None:
            known.add(pair)


def _log_p_of_rest(
    left: NDArray[np.float64],
    log_choices: NDArray[np.float64],
    orders: NDArray[np.intp],
    start: int,
    weight_sum: float,
) -> float:
    """Log p-value of the hypothesis that all weights from `start` on are noise."""
    log_ways = np.cumsum(log_choices[start:])
    for order in np.unique(orders[start:]):
        is_own = orders[start:] == order
        # The order among them is no choice.
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


def _p_values_of_prefixes(
    model: ActiveSet, part: NDArray[np.float64], left: NDArray[np.float64], n_fixed: int
) -> NDArray[np.float64]:
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


def p_values_of_further(
    model: ActiveSet, sets: Sequence[Term] | NDArray[np.int32]
) -> NDArray[np.float64]:
    """Two-sided p-values of each product as the next of a model."""
    # Equal to those that :func:`p_values_of_terms` has for the last product of the
    # longer model (Frisch and Waugh), given the others. NaN for products that are
    # aliased with the model.
    design = model.design
    n_spare = design.weight_sum - len(model) - 1
    square = model.rms**2 * design.weight_sum
    size, parts = max(_SCAN.n_entries // design.n_samples, 1), [np.empty((2, 0))]
    for part in equal_slices(len(sets), size):
        columns: Any = design.columns(sets[part])
        # Residuals of the columns, whose means the first weight explains.
        cross = design.gram(model.columns, columns)
        link = solve_triangular(model.factor, cross, lower=True, check_finite=False)
        left = design.spread(columns) - np.sum(link[1:] ** 2, axis=0)
        is_new = np.isfinite(left) & (left > ALIASES.tolerance * design.weight_sum)
        left = np.where(is_new, left, np.nan)
        explained = design.project(columns, model.residual) ** 2 / left
        rest = np.maximum(square - explained, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.sqrt(n_spare * explained / rest)
        excess = np.zeros(len(t))
        if is_not_normal(model.residual):
            excess = _excess_kurtoses(model, columns)
        parts.append(np.stack([t, excess]))
    t, excess = np.concatenate(parts, axis=1)
    return _two_sided(t, n_spare, excess)


def scan_with(
    models: Sequence[ActiveSet], *, has_pairs: bool = True, n_jobs: int | None = None
) -> list[Scan]:
    """Test all inputs, and pairs, beside some models of a table in one pass."""
    design = models[0].design
    n = design.n_features
    n_tried = math.comb(n, 2) if has_pairs else 0
    pairs = [np.empty((0, 2), dtype=np.int32)] * len(models)
    if n_tried:
        residuals = np.stack([model.residual for model in models])
        kept = best_pairs(
            design, residuals, min(_SCAN.max_kept, n_tried), n_jobs=n_jobs
        )
        pairs = [one.pairs for one in kept]
    scans, singles = [], [(i,) for i in range(n)]
    for model, own in zip(models, pairs, strict=True):
        p_values = p_values_of_further(model, own)
        order = np.argsort(p_values, kind="stable")
        order = order[: _SCAN.max_returned if n_tried > _SCAN.max_kept else None]
        found = own[order], p_values[order]
        scans.append(Scan(p_values_of_further(model, singles), *found, n_tried))
    return scans


def _excess_kurtoses(
    null: ActiveSet,  # its residual is the noise
    columns: Any,  # of its design
) -> NDArray[np.float64]:
    """Excess kurtoses of the inner products of columns with noise, at least 0."""
    design, excess = null.design, np.empty(len(columns))
    skewness, kurtosis = _standardized_moments(null.residual, design.weights)
    for j in range(len(columns)):
        column = design.combine(columns[j : j + 1], np.ones(1))
        third, fourth = _standardized_moments(column, design.weights)
        of_gamma = 1.5 * (skewness * third) ** 2
        excess[j] = max((kurtosis - 3.0) * fourth, of_gamma) / design.weight_sum
    return excess


def _standardized_moments(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[float, float]:
    """Third and fourth moment of standardized values; 0 of a constant."""
    centered = values - np.average(values, weights=weights)
    std = np.sqrt(np.average(centered**2, weights=weights))
    if not std > 0.0:
        return 0.0, 0.0
    third, fourth = (np.average((centered / std) ** k, weights=weights) for k in (3, 4))
    return float(third), float(fourth)


def _two_sided(
    t: NDArray[np.float64], n_spare: float, excess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """p-values of Student's t, or of sums with an excess kurtosis if these are more."""
    if n_spare <= 0:
        return np.full(len(t), np.nan)
    p_values = 2.0 * student.sf(np.abs(t), n_spare)
    (heavy,) = np.nonzero(excess)
    if len(heavy):
        # In standard deviations of the noise that is there without the product.
        with np.errstate(divide="ignore", over="ignore"):
            z = np.sqrt((n_spare + 1.0) / (1.0 + n_spare / t[heavy] ** 2))
        dof = 4.0 + 6.0 / excess[heavy]
        tails = 2.0 * student.sf(z * np.sqrt(dof / (dof - 2.0)), dof)
        p_values[heavy] = np.maximum(p_values[heavy], tails)
    return p_values
