"""What a strategy works on: coded rows, targets, weights, held-out rows and folds."""

import math
from dataclasses import replace
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import (
    GroupShuffleSplit,
    check_cv,
    train_test_split,
)

from skmohn._core._names import name_columns
from skmohn._core._sklearn import check_sample_weight, is_pandas_na
from skmohn._core._validation import are_counts, mean_weight, to_numpy, weight_unit
from skmohn.mohn._design.pair_screening import WIDE
from skmohn.mohn._genotypes import Genotypes, encode, learn_coding
from skmohn.mohn._gp.multitask import TaskView
from skmohn.mohn._gp.transform_selection import Scale, choose_scale
from skmohn.mohn._models import Model
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.columns import find_one_hot
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.term_names import TermNames, to_inputs

# Of a numeric column: more cost time and hardly predict better.
_MOST_LEVELS = 16
# Copies of rows per row: at a bit a value they take less room than weights.
_MOST_COPIES = 16


class ValidationData(NamedTuple):
    """Samples that nothing is learned from.

    Attributes
    ----------
    rows : Rows

    y : ndarray of shape (n_samples,)

    weight : ndarray of shape (n_samples,) or None
    """

    rows: EncodedRows
    y: np.ndarray
    weight: np.ndarray | None = None

    @property
    def data(self):
        """Inputs, targets and weights."""
        return self.rows.inputs, self.y, self.weight


class TrainingData(NamedTuple):
    """What a strategy works on; terms are sets of columns of `inputs`.

    Attributes
    ----------
    rows : Rows
        The columns that vary, coded; int8 when all are -1 or +1, else float64.

    y : ndarray of shape (n_samples,)
        Numbers, or numbers of classes.

    weight : ndarray of shape (n_samples,), default=None
        Positive; None when all are 1.

    count : ndarray of shape (n_samples,), default=None
        How many observations each stands for; None where the weights say it, see
        `count_observations`.

    given : ndarray of shape (n_samples,), default=None
        Weights of samples of classes as they were passed.

    classes : ndarray of shape (n_classes,), default=None
        Labels; None when the targets are numbers.

    held : Held, default=None
        Samples to validate on.

    folds : list of (train, test), default=None
        The folds that the user wants; None for a number of them.

    seed : int, default=0

    start : list of tuples of int, default=()
        Terms to begin with.

    earlier : Model, default=None
        The model to begin with, in its own coding.

    coding : InputCoding, default=None

    term_names : Vocabulary, default=None
        How inputs are called.

    scale : Scale, default=None
        Of the target, where it was chosen together with the coding.

    weight_unit : float, default=1.0
        What the weights were divided by.

    unit : float, default=1.0
        What the targets were divided by.

    together : OneOf, default=None
        What is learned of this target with others.

    index : ndarray of shape (n_samples,), int, default=None
        Their places in the table.
    """

    rows: EncodedRows
    y: np.ndarray
    weight: np.ndarray | None = None
    count: np.ndarray | None = None
    given: np.ndarray | None = None
    classes: np.ndarray | None = None
    held: ValidationData | None = None
    folds: list | None = None
    seed: int = 0
    start: list | tuple = ()
    earlier: Model | None = None
    coding: InputCoding | None = None
    term_names: TermNames | None = None
    scale: Scale | None = None
    weight_unit: float = 1.0
    unit: float = 1.0
    together: TaskView | None = None
    index: np.ndarray | None = None

    @property
    def inputs(self):
        """The coded columns, ndarray of shape (n_samples, n_inputs)."""
        return self.rows.inputs

    @property
    def is_wide(self):
        """Whether pairs of inputs are too many to look at all of them each time."""
        return self.rows.inputs.shape[1] >= WIDE

    @property
    def data(self):
        """Inputs, targets and weights."""
        return self.rows.inputs, self.y, self.weight

    def in_units(self, unit):
        """The samples with all targets divided by a number."""
        held = self.held and self.held._replace(y=self.held.y / unit)
        return self._replace(y=self.y / unit, held=held, unit=unit)

    def repeat_rows(self):
        """Write rows as often as their weights count them, where that costs little.

        Rows of -1 and +1 without weights take a bit a value, and a search among them is
        the same as if they had stood there so often.

        Returns
        -------
        samples : Samples

        origin : ndarray, int
            The row that each of its rows was.
        """
        rows = np.arange(len(self.y))
        counts = self.weight
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
        samples = self._replace(
            rows=self.rows.take(origin), y=self.y[origin], weight=None, folds=folds
        )
        return samples, origin


def read_samples(
    X,
    y,
    weight,
    held,
    *,
    strategy,
    settings,
    seed,
    categories,
    columns=None,
    earlier=None,
    split_params=None,
    together=None,
    unit=None,
    groups=None,
):
    """Weigh, split and code the samples of a fit.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numbers of categories in categorical columns; NaN where unknown.

    y : ndarray of shape (n_samples,) or (n_samples, n_targets)

    weight : array-like of shape (n_samples,) or None

    held : tuple of (X, y) or None
        Samples to validate on.

    strategy : Strategy

    settings : Wishes

    seed : int

    categories : Categories
        Of the categorical columns.

    columns : sequence of str, default=None
        Their names, where they have any.

    earlier : tuple of (terms, Model), default=None
        The labels of the terms, and the model, of an earlier fit to begin with.

    split_params : dict, default=None
        What the splitter `cv` asks for beside, such as groups.

    together : OneOf, default=None
        What is learned of this target with others.

    unit : float, default=None
        What the weights are divided by, see :func:`positive_weights`.

    groups : ndarray of shape (n_samples,), int, default=None
        Numbers of groups of samples that belong together, see :func:`read_groups`.

    Returns
    -------
    samples : Samples
    """
    names = name_columns(columns, X.shape[1])
    weight, rows, unit = positive_weights(weight, X, unit=unit)
    folds = wanted_folds(
        settings.cv, X, y, rows, split_params=split_params, groups=groups
    )
    if groups is not None:
        groups = groups[rows]
        require_groups(groups)
    if isinstance(X, Genotypes) and weight is not None:
        raise ValueError(
            "sample_weight: Genotypes take none but 0 and 1; leave it out, or pass "
            "X.counts()"
        )
    if len(rows) < len(y):
        X, y = X[rows], y[rows]
    one_hot = []
    if strategy.may_be_dense:
        wanted, taken = settings.gp_options.one_hot, categories.encoders
        one_hot = find_one_hot(X, wanted, taken, names)
    held_weight = None
    n_categories = {j: len(part) for j, part in categories.known().items()}
    has_categories = bool(one_hot) or max(n_categories.values(), default=2) > 2
    # All weights at once have no use for held-out rows.
    is_searched = strategy.may_be_sparse and not (
        strategy.may_be_dense and has_categories
    )
    if settings.early_stopping and is_searched and held is None:
        train, apart = _hold_out(settings.validation_fraction, len(y), seed, groups)
        held = X[apart], y[apart]
        X, y, rows = X[train], y[train], rows[train]
        groups = None if groups is None else groups[train]
        if weight is not None:
            held_weight, weight = weight[apart], weight[train]
    known = n_categories, one_hot
    coding, scale = None if together is None else together.coding, None
    if coding is None:
        coding = learn_coding(X, *known)
        if strategy.may_be_dense:
            control = settings.gp_options
            data = X, y, weight, groups
            coding, scale = _learn_coding(coding, data, known, control, seed)
    if coding.categoricals and not strategy.may_be_dense:
        (column,), (size, _) = coding.categoricals[0], coding.alphabets[0]
        raise ValueError(
            f"column {names[column]} has {size} categories, but "
            f"strategy={settings.strategy!r} takes only two: use "
            'strategy="gp", or OneHotEncoder for an input per category'
        )
    if held is not None:
        held = ValidationData(encode(coding, held[0], columns), held[1], held_weight)
    coded = replace(encode(coding, X, as_bytes=weight is None), group=groups)
    terms, earlier = ([], None) if earlier is None else earlier
    most = math.inf if settings.max_order is None else settings.max_order
    start = [term for term in to_inputs(terms, coding.usable) if len(term) <= most]
    return TrainingData(
        coded,
        y,
        weight,
        held=held,
        folds=folds,
        seed=seed,
        start=start,
        earlier=earlier,
        coding=coding,
        term_names=TermNames(coding, categories, columns),
        scale=scale,
        weight_unit=unit,
        together=together,
        index=rows,
    )


def _learn_coding(lines, data, known, control, seed):
    """The coding, with levels of numbers if they are wanted or pay; then the scale."""
    X, y, weight, groups = data
    if control.numeric == "multilinear":
        return lines, None
    coding = InputCoding.learn(X, *known, _MOST_LEVELS)
    if control.numeric == "thermometer" or not coding.thresholds:
        return coding, None
    scale = choose_scale(
        control.target_transform,
        replace(coding.encode(X), group=groups),
        coding.alphabets,
        len(coding.thresholds),
        y,
        weight,
        seed,
    )
    return (coding if scale.has_levels else lines), scale


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
    sample_weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
    rows = np.flatnonzero(sample_weight)
    if not rows.size:
        raise ValueError("sample_weight is zero for every sample")
    sample_weight = sample_weight[rows]
    unit = unit or weight_unit(sample_weight)
    sample_weight = sample_weight / unit
    return (None if np.all(sample_weight == 1) else sample_weight), rows, unit


def weigh_classes(sample_weight, factor, X):
    """Weights of samples times those of their classes.

    Whole weights of samples say how many observations there are, those of classes how
    much each of them counts; others are relative to a mean of 1 over the observations.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None

    factor : ndarray of shape (n_samples,) or None
        Weight of the class of each sample.

    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    weight : ndarray of shape (n_positive,) or None
        None if all are equal to 1.

    count : ndarray of shape (n_positive,) or None
        See `TrainingData`.

    given : ndarray of shape (n_positive,)
        The weights of the samples.

    rows : ndarray of shape (n_positive,), int
        Those that have any.
    """
    given = check_sample_weight(sample_weight, X, ensure_non_negative=True)
    if factor is None:
        weight, rows, _ = positive_weights(sample_weight, X)
        return weight, None, given[rows], rows
    weight = check_sample_weight(given * factor, X, ensure_non_negative=True)
    rows = np.flatnonzero(weight)
    if not rows.size:
        raise ValueError("sample_weight is zero for every sample")
    given, factor, weight = (part[rows] for part in (given, factor, weight))
    count = given if are_counts(given) else np.ones(len(rows))
    if not all(map(are_counts, (given, factor, weight))):
        weight = weight / mean_weight(weight, count)
    return weight, count, given, rows


def wanted_folds(cv, X, y, rows, classifier=False, split_params=None, groups=None):
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

    groups : ndarray of shape (n_samples,), int, default=None
        No fold may have rows of one group in both parts.

    Returns
    -------
    folds : list of (train, test) or None
        Numbers of the rows that have weight.
    """
    if isinstance(cv, Integral) or cv is None:
        return None
    position = np.full(len(y), -1)
    position[rows] = np.arange(len(rows))
    dealer = check_cv(cv, y, classifier=classifier)
    asked = dict(split_params or {})
    if not _takes_groups(dealer):
        # Folds that part one are refused below.
        asked.pop("groups", None)
    folds = list(dealer.split(X, y, **asked))
    folds = [
        tuple(position[part][position[part] >= 0] for part in fold) for fold in folds
    ]
    # Nothing is learned from a fold, or tested by it, whose rows have no weight.
    folds = [fold for fold in folds if all(len(part) for part in fold)]
    if not folds:
        raise ValueError(
            "cv has no fold with training and test rows of positive sample_weight"
        )
    if groups is not None:
        of_rows = groups[rows]
        for k, (train, test) in enumerate(folds):
            if np.intersect1d(of_rows[train], of_rows[test]).size:
                raise ValueError(
                    f"cv has rows of one group in both parts of fold {k}: pass "
                    "cv=GroupKFold(), or a number of folds, which keeps groups together"
                )
    return folds


def _takes_groups(dealer):
    """Whether a splitter does not ignore groups, with a warning."""
    if not hasattr(dealer, "get_metadata_routing"):
        return True
    return bool(dealer.get_metadata_routing().split.requests.get("groups"))


def read_groups(groups, X):
    """Number the groups that samples belong to.

    Parameters
    ----------
    groups : array-like of shape (n_samples,) or None
        Labels of any kind.

    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    numbers : ndarray of shape (n_samples,), int, or None

    Raises
    ------
    ValueError
        If their number is not that of the samples, or one is missing.
    """
    if groups is None:
        return None
    labels = np.asarray(to_numpy(groups), dtype=object)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1 or len(labels) != X.shape[0]:
        raise ValueError(
            f"groups has shape {labels.shape}, but X has {X.shape[0]} samples: pass "
            "a label for each sample"
        )
    # NaN and NaT differ from themselves.
    is_missing = np.array([v is None or is_pandas_na(v) or v != v for v in labels])
    if is_missing.any():
        raise ValueError(
            f"groups has a missing value, first for sample {is_missing.argmax()}: give "
            "each sample that belongs to no other a group of its own, or drop it"
        )
    known = {}
    return np.array([known.setdefault(v, len(known)) for v in labels.tolist()])


def require_groups(groups):
    """Refuse a single group, which leaves nothing to learn from."""
    if len(groups) > 1 and np.all(groups == groups[0]):
        raise ValueError(
            "groups has a single group among the samples of positive weight, and "
            "without it there is nothing to learn from: leave groups out"
        )


def _hold_out(fraction, n_samples, seed, groups=None):
    if n_samples * fraction < 1 or n_samples < 4:
        raise ValueError(
            f"validation_fraction={fraction} of {n_samples} samples leaves nothing to "
            "validate on: pass X_val and y_val or set early_stopping=False"
        )
    everyone = np.arange(n_samples)
    if groups is None:
        return train_test_split(everyone, test_size=fraction, random_state=seed)
    dealer = GroupShuffleSplit(1, test_size=fraction, random_state=seed)
    return next(dealer.split(everyone, groups=groups))
