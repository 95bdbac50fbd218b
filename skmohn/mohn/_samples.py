"""From what a user passes to what a strategy works on."""

import math
from dataclasses import replace
from itertools import combinations
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import check_cv, train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from skmohn._core._control import control_of
from skmohn._core._validation import (
    require_memory,
    to_numpy,
    weight_unit,
)
from skmohn.mohn._dense.levels import levels_pay
from skmohn.mohn._one_hot import find_one_hot
from skmohn.mohn._table.coding import NUMERIC, InputCoding
from skmohn.mohn._table.columns import column_names
from skmohn.mohn._table.rows import Rows
from skmohn.mohn._table.vocabulary import find_sets

# Of a numeric column: more cost time and hardly predict better.
_MOST_LEVELS = 16
# Copies of rows per row: at a bit a value they take less room than weights.
_MOST_COPIES = 16


class Task(NamedTuple):
    """What a strategy works on; terms are sets of columns of `inputs`.

    Attributes
    ----------
    rows : Rows
        The columns that vary, coded; int8 when all are -1 or +1, else float64.

    y : ndarray of shape (n_samples,)

    sample_weight : ndarray of shape (n_samples,) or None
        Positive; None when all are 1.

    validation : tuple of (inputs, y, sample_weight) or None

    folds : list of (train, test) or None
        The folds that the user wants; None for a number of them.

    start : list of tuples of int
        Terms to begin with.

    seed : int

    held_rows : Rows or None
        Those of the validation samples.

    weight_unit : float
        What the weights were divided by.

    wanted : list of tuples of int, default=None
        The terms that were asked for; None when they are to be discovered.

    unit : float, default=1.0
        What the targets were divided by.
    """

    rows: Rows
    y: np.ndarray
    sample_weight: np.ndarray | None
    validation: tuple | None
    folds: list | None
    start: list
    seed: int
    held_rows: Rows | None
    weight_unit: float = 1.0
    wanted: list | None = None
    unit: float = 1.0

    @property
    def inputs(self):
        """The coded columns, ndarray of shape (n_samples, n_inputs)."""
        return self.rows.inputs

    def in_units(self, unit):
        """The task with all targets divided by a number."""
        validation = self.validation
        if validation is not None:
            inputs, y, weights = validation
            validation = inputs, y / unit, weights
        return self._replace(y=self.y / unit, validation=validation, unit=unit)

    def repeat_rows(self):
        """Write rows as often as their weights count them, where that costs little.

        Rows of -1 and +1 without weights take a bit a value, and a search among them is
        the same as if they had stood there so often.

        Returns
        -------
        task : Task

        origin : ndarray, int
            The row that each of its rows was.
        """
        rows = np.arange(len(self.y))
        counts = self.sample_weight
        if counts is None or np.any(counts != np.rint(counts)):
            return self, rows
        if counts.sum() > _MOST_COPIES * len(rows) or np.any(np.abs(self.inputs) != 1):
            return self, rows
        counts = counts.astype(int)
        origin = np.repeat(rows, counts)
        folds = self.folds
        if folds is not None:
            copies = np.split(np.arange(len(origin)), np.cumsum(counts)[:-1])
            folds = [
                tuple(np.concatenate([copies[i] for i in part]) for part in fold)
                for fold in folds
            ]
        task = self._replace(
            rows=self.rows.take(origin),
            y=self.y[origin],
            sample_weight=None,
            folds=folds,
        )
        return task, origin


def make_task(
    params,
    strategy,
    X,
    y,
    sample_weight,
    validation,
    names,
    *,
    split_params=None,
):
    """Weigh, split and code the samples of a fit.

    Parameters
    ----------
    params : MOHNRegressor
        Its parameters are read, and with `warm_start` its terms.

    strategy : Strategy

    X : ndarray of shape (n_samples, n_features)

    y : ndarray of shape (n_samples,)

    sample_weight : array-like of shape (n_samples,) or None

    validation : tuple of (X, y) or None

    names : sequence of str or None
        Feature names.

    split_params : dict, default=None
        What the splitter `cv` asks for beside, such as groups.

    Returns
    -------
    task : Task

    coding : InputCoding
    """
    seed = check_random_state(params.random_state).randint(2**31)
    one_hot, most_levels = [], 1
    numeric = control_of(params, "dense_control").numeric
    if strategy.takes_categories:
        one_hot = find_one_hot(params, X, column_names(params))
        if numeric != "multilinear":
            most_levels = _MOST_LEVELS
    sample_weight, rows, unit = positive_weights(sample_weight, X)
    folds = wanted_folds(params.cv, X, y, rows, split_params=split_params)
    if len(rows) < len(y):
        X, y = X[rows], y[rows]
    held_weight = None
    n_categories = {j: len(part) for j, part in params._categories.known().items()}
    has_categories = bool(one_hot) or max(n_categories.values(), default=2) > 2
    # All weights at once have no use for held-out rows.
    is_searched = strategy.finds_few and not (
        strategy.takes_categories and has_categories
    )
    if params.early_stopping and is_searched and validation is None:
        train, held = _hold_out(params.validation_fraction, len(y), seed)
        validation = X[held], y[held]
        X, y = X[train], y[train]
        if sample_weight is not None:
            held_weight, sample_weight = sample_weight[held], sample_weight[train]
    coding = InputCoding.learn(X, n_categories, one_hot, most_levels)
    if numeric == "auto" and coding.thresholds:
        alphabets, n_levels = coding.alphabets, len(coding.thresholds)
        coded = coding.encode(X)
        if not levels_pay(coded, alphabets, n_levels, y, sample_weight, seed):
            coding = InputCoding.learn(X, n_categories, one_hot)
    if coding.categoricals and not strategy.takes_categories:
        _refuse_categories(params, coding)
    held_rows = None
    if validation is not None:
        X_val, y_val = validation
        held_rows = coding.encode(X_val, names)
        validation = held_rows.inputs, y_val, held_weight
    most = math.inf if params.max_order is None else params.max_order
    start = params.terms_ if params.warm_start and hasattr(params, "terms_") else []
    start = [term for term in to_inputs(start, coding.usable) if len(term) <= most]
    rows = coding.encode(X)
    is_cube = np.all(coding.kind != NUMERIC) and rows.unknown is None
    if sample_weight is None and is_cube:
        rows = replace(rows, inputs=rows.inputs.astype(np.int8))
    _require_order(params, len(coding.kind))
    wanted = strategy.wanted and strategy.wanted(params, coding, names)
    task = Task(
        rows,
        y,
        sample_weight,
        validation,
        folds,
        start,
        seed,
        held_rows,
        unit,
        wanted,
    )
    return task, coding


def _refuse_categories(params, coding):
    (column,), (size, _) = coding.categoricals[0], coding.alphabets[0]
    raise ValueError(
        f"column {column_names(params)[column]} is categorical with {size} values, and "
        f"strategy={params.strategy!r} takes two: use "
        'strategy="dense", or OneHotEncoder for an input per value'
    )


def positive_weights(sample_weight, X, *, unit=None):
    """Weights of the rows that have any, and those rows; None if all are equal to 1.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None

    X : ndarray of shape (n_samples, n_features)

    unit : float, default=None
        What they are divided by; None for their `weight_unit`.

    Returns
    -------
    sample_weight : ndarray of shape (n_positive,) or None

    rows : ndarray of shape (n_positive,), int

    unit : float
        What they were divided by.
    """
    if sample_weight is None:
        return None, np.arange(len(X)), 1.0
    sample_weight = to_numpy(sample_weight)
    sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
    rows = np.flatnonzero(sample_weight)
    if not rows.size:
        raise ValueError("sample_weight is zero for every sample")
    sample_weight = sample_weight[rows]
    unit = unit or weight_unit(sample_weight)
    sample_weight = sample_weight / unit
    return (None if np.all(sample_weight == 1) else sample_weight), rows, unit


def wanted_folds(cv, X, y, rows, classifier=False, split_params=None):
    """The user's folds over the rows that have weight; None when only k is given.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None

    X, y : ndarrays
        All rows.

    rows : ndarray
        Those that have weight.

    classifier : bool, default=False
        Whether targets are classes.

    split_params : dict, default=None
        What the splitter asks for beside, such as groups.

    Returns
    -------
    folds : list of (train, test) or None
        Numbers of the rows that have weight.
    """
    if isinstance(cv, Integral) or cv is None:
        return None
    position = np.full(len(y), -1)
    position[rows] = np.arange(len(rows))
    folds = [
        tuple(position[part][position[part] >= 0] for part in fold)
        for fold in check_cv(cv, y, classifier=classifier).split(
            X, y, **(split_params or {})
        )
    ]
    # Nothing is learnt from a fold, or tested by it, whose rows have no weight.
    folds = [fold for fold in folds if all(len(part) for part in fold)]
    if not folds:
        raise ValueError(
            "cv has no fold whose training and test rows have a sample_weight above 0"
        )
    return folds


def _hold_out(fraction, n_samples, seed):
    if n_samples * fraction < 1 or n_samples < 4:
        raise ValueError(
            f"early_stopping holds out validation_fraction={fraction} of {n_samples} "
            "samples, which leaves nothing to validate on; pass X_val and y_val or set "
            "early_stopping=False"
        )
    return train_test_split(np.arange(n_samples), test_size=fraction, random_state=seed)


def to_inputs(terms, usable):
    """Rewrite feature indices as input indices; leave out terms with unusable ones."""
    position = {int(feature): j for j, feature in enumerate(usable)}
    return [
        tuple(position[i] for i in term)
        for term in terms
        if all(i in position for i in term)
    ]


# ------------------------------------------------------------- structures asked for


def _require_order(params, n_features):
    if params.max_order is not None and params.max_order > n_features:
        raise ValueError(
            f"max_order={params.max_order} is larger than n_features={n_features}: no "
            "set can hold so many"
        )


def wanted_of_given(params, coding, names):
    """The parameter `terms` as sets of inputs.

    Parameters
    ----------
    params : MOHNRegressor
        Only its parameters are read.

    coding : InputCoding

    names : sequence of str or None
        Feature names.

    Returns
    -------
    terms : list of tuples of int
    """
    if params.terms is None:
        raise ValueError('strategy="given" needs terms, a list of sets of features')
    terms = find_sets(params.terms, len(coding.kind), names, params.max_order)
    usable = set(coding.usable.tolist())
    for term in terms:
        for i in set(term).difference(usable):
            raise ValueError(
                f"terms holds {term}, and feature {i} is constant in X: its weight "
                "cannot be learnt"
            )
    return to_inputs(terms, coding.usable)


def wanted_of_full(params, coding, names):
    """All sets of inputs up to `max_order`; see `wanted_of_given`."""
    n_inputs = coding.usable.size
    order = min(params.max_order or n_inputs, n_inputs)
    n_terms = sum(math.comb(n_inputs, k) for k in range(1, order + 1))
    require_memory(
        8.0 * n_terms * (n_terms + 1),
        f'strategy="full" with {n_terms:,} weights up to order {order}',
        'lower max_order or use strategy="pursuit"',
    )
    return [
        term for k in range(1, order + 1) for term in combinations(range(n_inputs), k)
    ]
