"""Tests of products against noise: Student's t of least squares."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import t as student

from skmohn._core._units import binary_unit
from skmohn.mohn._sparse.active_set import ALIAS_TOLERANCE, ActiveSet
from skmohn.mohn._walsh.pairs import best_pairs

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
    model = ActiveSet.of(design, y / binary_unit(y), list(terms))
    # Where nothing is left to explain, no weight is due to chance.
    with np.errstate(divide="ignore", invalid="ignore"):
        t = model.coef / model.standard_errors()
    p_values = _two_sided(t, design.weight_sum - len(model))
    found = dict(zip(model.terms, p_values.tolist(), strict=True))
    return np.array([found.get(term, np.nan) for term in terms])


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
