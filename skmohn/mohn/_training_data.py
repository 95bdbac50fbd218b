"""Training data of a strategy, and their only reader, which fits nothing."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupShuffleSplit, check_cv, train_test_split

from skmohn._core._bad_values import AS_MISSING, warn_of_lone
from skmohn._core._categories import Categories
from skmohn._core._copies import join_near_rows, round_to_settings
from skmohn._core._names import name_columns
from skmohn._core._quantiles import mask_remote
from skmohn._core._rows import number_rows
from skmohn._core._sklearn import check_sample_weight, is_pandas_na
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._validation import (
    are_counts,
    mean_weight,
    refuse_dominant_weight,
    to_numpy,
    weight_unit,
)
from skmohn.mohn._design.pair_screening import PAIRS
from skmohn.mohn._genotypes import Genotypes, encode, learn_coding
from skmohn.mohn._models import FitResult, Folds, Model
from skmohn.mohn._options import FitSettings, Report, Task
from skmohn.mohn._table.coding import InputCoding
from skmohn.mohn._table.columns import find_one_hot
from skmohn.mohn._table.rows import EncodedRows, rms
from skmohn.mohn._table.term_names import TermNames, to_inputs


@dataclass(frozen=True)
class LevelConstants:
    """Levels of numeric columns."""

    # Of a numeric column: more cost time and hardly predict better.
    max_levels: int = tuned(16, "benchmarks/ablation.py")
    # The same for classes: steps that are narrower show where few classes meet, and
    # cost little.
    min_levels_classes: int = tuned(16, "benchmarks/ablation.py")
    max_levels_classes: int = tuned(64, "benchmarks/ablation.py")
    n_rows_per_level: int = tuned(20, "benchmarks/ablation.py")


_LEVELS = LevelConstants()


@dataclass(frozen=True)
class CopyConstants:
    """Weights as copies of rows."""

    # Copies of rows per row: at a bit a value they take less room than weights.
    max_copies: int = tuned(16, "cost")
    # Of rows that are copies, for which a search takes weights.
    min_fraction: float = tuned(0.1, "cost")


_COPIES = CopyConstants()


class ValidationData(NamedTuple):
    """Samples held out for validation."""

    rows: EncodedRows
    y: np.ndarray  # (n_samples,)
    sample_weight: np.ndarray | None = None  # (n_samples,)

    @property
    def data(self) -> tuple[NDArray, NDArray, NDArray | None]:
        """Inputs, targets and weights."""
        return self.rows.inputs, self.y, self.sample_weight

    def rmse(self, predict: Callable[[EncodedRows], NDArray[np.float64]]) -> float:
        """Root mean squared error of predictions."""
        return rms(self.y - predict(self.rows), self.sample_weight)


class TrainingData(NamedTuple):
    """Data of a strategy; terms are sets of columns of `inputs`."""

    # Columns that vary, coded; int8 when all are -1 or +1, else float64.
    rows: EncodedRows
    y: np.ndarray  # (n_samples,); numbers, or numbers of classes
    # (n_samples,); positive; None when all are 1.
    sample_weight: np.ndarray | None = None
    # (n_samples,); observations that each stands for, see `count_observations`.
    counts: np.ndarray | None = None
    raw_weight: np.ndarray | None = None  # (n_samples,); weights as they were passed
    # ndarray of shape (n_classes,); labels; None when the targets are numbers.
    classes: Any = None
    # (n_samples,); positive; None when all are 1. Of a generalized linear model, as is
    # the distribution of its targets, a `Distribution`.
    exposure: np.ndarray | None = None
    distribution: Any = None
    validation: ValidationData | None = None
    folds: Folds | None = None  # those that the user passed; None for a number of them
    seed: int = 0
    initial_terms: Sequence[Term] = ()
    warm_start_model: Model | None = None  # in its own coding
    # None where nothing reads them, as in a search among inputs alone.
    coding: InputCoding = None  # pyright: ignore[reportAssignmentType]
    term_names: TermNames = None  # pyright: ignore[reportAssignmentType]
    target_transform: Any = None  # as chosen by `choose_transform_and_levels`
    weight_scale: float = 1.0  # divisor of the weights
    y_scale: float = 1.0  # divisor of the targets
    multitask: Any = None  # view of this target among others that are learned with it
    row_index: np.ndarray | None = None  # (n_samples,), int; rows in the table

    @property
    def inputs(self) -> NDArray:
        """Coded columns, (n_samples, n_inputs)."""
        return self.rows.inputs

    @property
    def is_wide(self) -> bool:
        """Whether pairs of inputs are too many to screen all of them each time."""
        return self.rows.inputs.shape[1] >= PAIRS.min_wide

    @property
    def data(self) -> tuple[NDArray, NDArray, NDArray | None]:
        """Inputs, targets and weights."""
        return self.rows.inputs, self.y, self.sample_weight

    def without_levels(self) -> Self:
        """Samples whose numeric columns are lines alone."""
        coding = self.coding.without_levels()
        n_categoricals = len(coding.categoricals)
        validation = self.validation
        if validation is not None:
            validation = validation._replace(
                rows=validation.rows.first_categoricals(n_categoricals)
            )
        return self._replace(
            rows=self.rows.first_categoricals(n_categoricals),
            validation=validation,
            coding=coding,
            term_names=self.term_names.without_levels(),
        )

    def in_units(self, y_scale: float) -> Self:
        """Samples with all targets divided by a number."""
        validation = self.validation
        if validation is not None:
            validation = validation._replace(y=validation.y / y_scale)
        return self._replace(y=self.y / y_scale, validation=validation, y_scale=y_scale)

    def repeat_rows(self) -> tuple[Self, NDArray[np.intp]]:
        """Repeat rows as their weights count them, where that costs little."""
        # Rows of -1 and +1 without weights take a bit a value, and a search among them
        # is the same as if they had been there so often. Returned are also the rows
        # that these were.
        rows = np.arange(len(self.y))
        counts = self.sample_weight
        if counts is None or np.any(counts != np.rint(counts)):
            return self, rows
        if counts.sum() > _COPIES.max_copies * len(rows) or np.any(
            np.abs(self.inputs) != 1
        ):
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
            rows=self.rows.take(origin),
            y=self.y[origin],
            sample_weight=None,
            folds=folds,
        )
        return samples, origin


Solver: TypeAlias = Callable[[TrainingData, FitSettings, Report], FitResult]


class Strategy(NamedTuple):
    """Description of a strategy, which estimators and the reader of data read."""

    # Function of `TrainingData`, `FitSettings` and a function to report to, which is
    # called with a record and the model so far, or what makes it; of a search for
    # terms, the terms. Tasks that a strategy lacks are refused by its name.
    solve: Mapping[Task, Solver]
    # Of `FitSettings`: the most records that the history can have.
    max_steps: Callable[[FitSettings], int] | None = None
    # Ends with all weights, of categories and levels too, and a posterior.
    may_be_dense: bool = False
    may_be_sparse: bool = True  # ends with few weights, which held-out rows can choose
    leaves_outliers_out: bool = False  # outliers may be left out of a regression
    # Tasks of which copies are one sample, not observations that agree.
    joins_copies: tuple[Task, ...] = ()


def read_training_data(
    table: NDArray | Genotypes,  # numbers of categories; NaN where unknown
    y: NDArray,  # numbers, or those of `classes`
    sample_weight: ArrayLike | None,
    *,
    task: Task,
    strategy: Strategy,
    settings: FitSettings,
    seed: int,
    categories: Categories,
    columns: Sequence[str] | None = None,  # names
    classes: NDArray | None = None,
    class_factor: NDArray[np.float64] | None = None,  # weights of the classes of rows
    validation: tuple[NDArray | Genotypes, NDArray] | None = None,
    earlier: tuple[list[Any], Model] | None = None,  # labels of terms, and their model
    split_params: Mapping[str, Any] | None = None,  # of the splitter `cv`
    groups: NDArray[np.intp] | None = None,  # see `read_groups`
    unit: float | None = None,  # see `positive_weights`
    is_coded: bool = False,  # the table is that of inputs of an earlier reading
) -> TrainingData:
    """Weigh, split and encode the samples of a fit; nothing is fitted."""
    # Numeric columns have levels where the strategy may end with all weights:
    # `choose_transform_and_levels` drops them where lines are better.
    names = name_columns(columns, table.shape[1])
    # A search for terms ends with few weights, and so does a generalized linear model.
    is_dense = strategy.may_be_dense and task not in ("terms", "glm")
    is_regression = task == "regression"
    how = classes is not None, split_params, groups
    weights = _weigh(sample_weight, class_factor, table, unit)
    folds = wanted_folds(settings.cv, table, y, weights.rows, *how)
    samples = _Samples.of(table, y, weights, groups)
    as_bytes = weights.sample_weight is None if is_regression else not is_dense
    if is_regression and not as_bytes:
        _refuse_weights(table)
    wanted = settings.gp_options.one_hot if is_dense else None  # None finds none
    one_hot = _find_one_hot(samples, wanted, categories, names)
    if classes is not None:
        classes, samples = _keep_occurring(classes, samples)
    n_categories = {j: len(part) for j, part in categories.known().items()}
    has_categories = bool(one_hot) or max(n_categories.values(), default=2) > 2
    # All weights at once have no use for held-out rows.
    is_searched = strategy.may_be_sparse and not (is_dense and has_categories)
    held_weight = None
    if settings.early_stopping and is_searched and validation is None:
        samples, apart = samples.hold_out(settings.validation_fraction, seed)
        validation, held_weight = (apart.table, apart.y), apart.weights.sample_weight
    max_levels = _max_levels(samples.table, task, settings) if is_dense else 1
    coding = learn_coding(samples.table, n_categories, one_hot, max_levels, is_coded)
    if coding.categoricals and is_regression and not is_dense:
        _refuse_categories(coding, names, settings.strategy)
    coding, coded = _encode(coding, samples, names, as_bytes)
    held = _encode_held(coding, validation, held_weight, columns)
    start, earlier_model = _read_earlier(earlier, coding, settings.max_order)
    return samples.weights.describe(
        replace(coded, group=samples.groups),
        samples.y,
        classes=classes,
        validation=held,
        folds=folds,
        seed=seed,
        initial_terms=start,
        warm_start_model=earlier_model,
        coding=coding,
        term_names=TermNames(coding, categories, columns),
    )


class Copies(NamedTuple):
    """Weights of samples, all of those that are copies at the first of them."""

    sample_weight: ArrayLike | None  # (n_samples,); 0 for further copies
    unit: float | None  # what a weight of 1 is; None: as `weight_unit` has it
    first: NDArray[np.intp]  # (n_samples,); of the copies that each is one of

    @property
    def relative_weight(self) -> ArrayLike | None:
        """Weights to be read alike by all that know no unit."""
        if self.unit is None:
            return self.sample_weight
        return np.asarray(self.sample_weight) / self.unit


def join_copies(
    table: NDArray | Genotypes,
    y: NDArray,  # (n_samples,) or (n_samples, n_targets)
    sample_weight: ArrayLike | None,
    groups: NDArray[np.intp] | None,
    strategy: Strategy,
    task: Task = "regression",
    are_classes: bool = False,
) -> Copies:
    """Weigh samples that were drawn or counted several times once."""
    # Copies are precise in proportion to their number. Read as measurements that agree,
    # they would say that there is no noise.
    untouched = Copies(sample_weight, None, np.arange(len(y)))
    if isinstance(table, Genotypes) or task not in strategy.joins_copies:
        return untouched
    weight = check_sample_weight(sample_weight, table, ensure_non_negative=True)
    (kept,) = weight.nonzero()
    weight = weight[kept]
    refuse_dominant_weight(weight)
    is_single = not are_counts(weight) or bool(np.all(weight == 1.0))
    values = number_rows(round_to_settings(y[kept].reshape(len(kept), -1)))
    if is_single and len(np.unique(values)) == len(kept):
        return untouched
    settings = join_near_rows(round_to_settings(table[kept]), values, are_classes)
    rows = number_rows(settings)
    pairs = number_rows(np.column_stack([rows, values]))
    if _repeat_by_chance(settings, rows, values, pairs, weight, are_classes):
        return untouched
    if groups is not None:
        pairs = number_rows(np.column_stack([pairs, groups[kept]]))
    _, first, index = np.unique(pairs, return_index=True, return_inverse=True)
    # Searches for few weights take rows of -1 and +1 as bits, but not with weights.
    is_search = strategy.may_be_sparse and not strategy.may_be_dense
    n_observed = weight.sum() if are_counts(weight) else float(len(kept))
    if is_search and n_observed - len(first) < _COPIES.min_fraction * n_observed:
        return untouched
    if is_single and len(first) == len(kept):
        return untouched
    joined, first_of_all = np.zeros(len(y)), np.arange(len(y))
    joined[kept[first]] = np.bincount(index, weight)
    if not np.isfinite(joined).all():
        # Their sum is too large for a float.
        return untouched
    first_of_all[kept] = kept[first[index]]
    return Copies(joined, mean_weight(joined), first_of_all)


def _repeat_by_chance(
    table: NDArray,
    rows: NDArray[np.intp],
    values: NDArray[np.intp],
    pairs: NDArray[np.intp],
    weight: NDArray[np.float64],
    are_classes: bool,
) -> bool:
    """Whether equal targets of equal rows are observations of their own."""
    n_rows, n_values, n_pairs = (len(np.unique(part)) for part in (rows, values, pairs))
    if n_rows < n_pairs:
        # Rows have different targets: of mostly different numbers, equal ones are
        # copies, those of few numbers or of classes are not.
        return are_classes or 2 * n_values < n_pairs
    # Where half of the combinations of values are there, as often as rows that are
    # drawn at random have to be for that, rows repeat by themselves, and their targets
    # agree because these have no noise.
    n_observed = weight.sum() if are_counts(weight) else len(weight)
    if n_values == 1 or n_observed < n_rows * math.log(n_rows):
        return n_values == 1
    n_combinations = 1
    for column in table.T:
        n_combinations *= len(np.unique(column))
        if n_combinations > 2 * n_rows:
            return False
    return True


def read_encoded(
    rows: EncodedRows,
    labels: NDArray[np.intp],
    sample_weight: NDArray[np.float64],
    class_factor: NDArray[np.float64] | None,
    *,
    strategy: Strategy,
    classes: NDArray,
    coding: InputCoding,
    term_names: TermNames,
) -> TrainingData:
    """Weigh samples of classes that were encoded before; those of weight 0 go."""
    table = np.hstack([rows.inputs, rows.categories, rows.mask()])
    data = table, labels, sample_weight, None
    copies = join_copies(*data, strategy, "classification", are_classes=True)
    weights = _weigh(copies.sample_weight, class_factor, table, copies.unit)
    return weights.describe(
        rows.take(weights.rows),
        labels[weights.rows],
        classes=classes,
        coding=coding,
        term_names=term_names,
    )


def _max_levels(table: NDArray | Genotypes, task: Task, settings: FitSettings) -> int:
    """Levels of a numeric column, of models of all weights."""
    if task == "regression":
        return 1 if settings.gp_options.numeric == "multilinear" else _LEVELS.max_levels
    # Repeated rows are one, as weights are. Missing values are equal.
    n_rows = len(np.unique(np.nan_to_num(cast(NDArray, table), nan=np.inf), axis=0))
    max_levels = n_rows // _LEVELS.n_rows_per_level
    return int(
        np.clip(max_levels, _LEVELS.min_levels_classes, _LEVELS.max_levels_classes)
    )


def _keep_occurring(
    classes: NDArray, samples: "_Samples"
) -> tuple[NDArray, "_Samples"]:
    """Classes that occur, and samples with their numbers."""
    present, y = np.unique(samples.y, return_inverse=True)
    if len(present) < 2:
        raise ValueError(
            f"y has only one class, {classes[present[0]]}; at least two are needed"
        )
    return classes[present], samples._replace(y=y)


def _find_one_hot(
    samples: "_Samples", wanted: Any, categories: Categories, names: Sequence[str]
) -> Any:
    """Groups of columns of which one is 1, of a table."""
    values = cast(NDArray, samples.table)
    return find_one_hot(values, wanted, categories.encoders, names)


def _mark_far(coding: InputCoding, table: Any, names: Sequence[str]) -> Any:
    """Rows with NaN for numbers far off; warn of those that are hardly of a column."""
    marked = coding.mark_far(table)
    if coding.far:
        is_far = np.isnan(marked) & ~np.isnan(table)
        where = [f"column {name}" for name in names]
        warn_of_lone(table, mask_remote(table, is_far), where, AS_MISSING)
    return marked


def _encode(
    coding: InputCoding, samples: "_Samples", names: Sequence[str], as_bytes: bool
) -> tuple[InputCoding, EncodedRows]:
    """Rows of a fit, encoded, and the coding with the centers of its columns."""
    table = samples.table
    rows = encode(coding, _mark_far(coding, table, names), as_bytes=as_bytes)
    if isinstance(table, Genotypes):
        return coding, rows
    return coding.center_missing(rows, samples.weights.sample_weight)


def _encode_held(
    coding: InputCoding,
    validation: tuple[NDArray | Genotypes, NDArray] | None,
    weight: NDArray[np.float64] | None,
    columns: Sequence[str] | None,
) -> ValidationData | None:
    """Validation samples, encoded."""
    if validation is None:
        return None
    table, y = validation
    return ValidationData(encode(coding, table, columns), y, weight)


def _refuse_weights(table: NDArray | Genotypes) -> None:
    if isinstance(table, Genotypes):
        raise ValueError(
            "sample_weight: Genotypes take only 0 and 1; leave it out, or pass "
            "X.counts()"
        )


def _refuse_categories(
    coding: InputCoding, names: Sequence[str], strategy: str
) -> NoReturn:
    (column,), (size, *_) = coding.categoricals[0], coding.alphabets[0]
    raise ValueError(
        f"column {names[column]} has {size} categories, but "
        f"strategy={strategy!r} takes only two: use "
        'strategy="gp", or OneHotEncoder for an input per category'
    )


def _read_earlier(
    earlier: tuple[list[Any], Model] | None, coding: InputCoding, max_order: int | None
) -> tuple[list[Term], Model | None]:
    """Initial terms, as sets of inputs up to an order, and the model they are of."""
    if earlier is None:
        return [], None
    terms, model = earlier
    highest = math.inf if max_order is None else max_order
    return [t for t in to_inputs(terms, coding.usable) if len(t) <= highest], model


def positive_weights(
    sample_weight: ArrayLike | None,
    X: NDArray | Genotypes,
    *,
    unit: float | None = None,
) -> tuple[NDArray[np.float64] | None, NDArray[np.intp], float]:
    """Positive weights, or None for 1; their rows; the weights' unit."""
    if sample_weight is None:
        return None, np.arange(len(X)), 1.0
    sample_weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
    rows = _positive_rows(sample_weight)
    sample_weight = sample_weight[rows]
    refuse_dominant_weight(sample_weight)
    unit = unit or weight_unit(sample_weight)
    sample_weight = sample_weight / unit
    return (None if np.all(sample_weight == 1) else sample_weight), rows, unit


def _positive_rows(weight: NDArray[np.float64]) -> NDArray[np.intp]:
    """Rows that have weight; refuse that none has."""
    rows = np.flatnonzero(weight)
    if not rows.size:
        raise ValueError("sample_weight is zero for every sample")
    return rows


class _Weights(NamedTuple):
    """Weights of the samples that have any, as in `TrainingData`."""

    sample_weight: NDArray[np.float64] | None
    counts: NDArray[np.float64] | None
    raw_weight: NDArray[np.float64]
    rows: NDArray[np.intp]
    scale: float

    def take(self, index: NDArray[np.intp]) -> Self:
        """Select those of some samples."""
        weight, count = (
            None if part is None else part[index]
            for part in (self.sample_weight, self.counts)
        )
        return self._replace(
            sample_weight=weight,
            counts=count,
            raw_weight=self.raw_weight[index],
            rows=self.rows[index],
        )

    def describe(self, rows: EncodedRows, y: NDArray, **parts: Any) -> TrainingData:
        """Training data with these weights."""
        return TrainingData(
            rows,
            y,
            self.sample_weight,
            self.counts,
            self.raw_weight,
            weight_scale=self.scale,
            row_index=self.rows,
            **parts,
        )


class _Samples(NamedTuple):
    """Samples that have weight, before they are encoded."""

    table: NDArray | Genotypes
    y: NDArray
    weights: _Weights
    groups: NDArray[np.intp] | None

    @classmethod
    def of(
        cls,
        table: NDArray | Genotypes,
        y: NDArray,
        weights: _Weights,
        groups: NDArray[np.intp] | None,
    ) -> Self:
        """Select the samples that have weight."""
        if groups is not None:
            groups = groups[weights.rows]
            require_groups(groups)
        if len(weights.rows) < len(y):
            table, y = table[weights.rows], y[weights.rows]
        return cls(table, y, weights, groups)

    def hold_out(self, fraction: float, seed: int) -> tuple[Self, Self]:
        """Samples to learn from, and samples to validate on."""
        parts = _hold_out(fraction, len(self.y), seed, self.groups)
        train, apart = (
            type(self)(
                self.table[part],
                self.y[part],
                self.weights.take(part),
                None if self.groups is None else self.groups[part],
            )
            for part in parts
        )
        return train, apart


def _weigh(
    sample_weight: ArrayLike | None,
    class_factor: NDArray[np.float64] | None,
    table: Any,
    unit: float | None = None,
) -> _Weights:
    """Weights of samples times those of their classes."""
    # Integer weights of samples are numbers of observations, those of classes what each
    # of them counts; others are relative to a mean of 1 over the observations. Weights
    # are None where all are 1.
    given = check_sample_weight(sample_weight, table, ensure_non_negative=True)
    if class_factor is None:
        weight, rows, unit = positive_weights(sample_weight, table, unit=unit)
        return _Weights(weight, None, given[rows], rows, unit)
    weight = check_sample_weight(given * class_factor, table, ensure_non_negative=True)
    rows = _positive_rows(weight)
    given, factor, weight = given[rows], class_factor[rows], weight[rows]
    is_counted = unit is None and are_counts(given)
    count = given if is_counted else np.ones(len(rows))
    if not is_counted or not all(map(are_counts, (factor, weight))):
        weight = weight / mean_weight(weight, count)
    return _Weights(weight, count, given, rows, 1.0)


def wanted_folds(
    cv: Any,
    X: NDArray | Genotypes,
    y: NDArray,
    rows: NDArray[np.intp],
    classifier: bool = False,
    split_params: Mapping[str, Any] | None = None,
    groups: NDArray[np.intp] | None = None,
) -> Folds | None:
    """Folds of a splitter over rows that have weight; None for a number of folds."""
    # No fold may have rows of one group in both parts.
    if isinstance(cv, Integral) or cv is None:
        return None
    position = np.full(len(y), -1)
    position[rows] = np.arange(len(rows))
    splitter: Any = check_cv(cv, y, classifier=classifier)
    params = dict(split_params or {})
    if not _takes_groups(splitter):
        # Folds that part one are refused below.
        params.pop("groups", None)

    def kept(part: NDArray[np.intp]) -> NDArray[np.intp]:
        found = position[part]
        return found[found >= 0]

    folds = [
        (kept(train), kept(test)) for train, test in splitter.split(X, y, **params)
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


def _takes_groups(splitter: Any) -> bool:
    """Whether a splitter takes groups: others ignore them, with a warning."""
    if not hasattr(splitter, "get_metadata_routing"):
        return True
    return bool(splitter.get_metadata_routing().split.requests.get("groups"))


def read_groups(
    groups: ArrayLike | None, X: NDArray | Genotypes
) -> NDArray[np.intp] | None:
    """Number the groups that samples belong to; labels are of any kind."""
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


def require_groups(groups: NDArray[np.intp]) -> None:
    """Refuse a single group, which leaves nothing to learn from."""
    if len(groups) > 1 and np.all(groups == groups[0]):
        raise ValueError(
            "groups has a single group among the samples of positive weight, and "
            "without it there is nothing to learn from: leave groups out"
        )


def _hold_out(
    fraction: float, n_samples: int, seed: int, groups: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split samples in those to learn from and those to validate on."""
    if n_samples * fraction < 1 or n_samples < 4:
        raise ValueError(
            f"validation_fraction={fraction} of {n_samples} samples leaves nothing to "
            "validate on: pass X_val and y_val or set early_stopping=False"
        )
    everyone = np.arange(n_samples)
    if groups is None:
        parts: Any = train_test_split(everyone, test_size=fraction, random_state=seed)
        return parts[0], parts[1]
    splitter = GroupShuffleSplit(1, test_size=fraction, random_state=seed)
    train, test = next(splitter.split(everyone, groups=groups))
    return train, test
