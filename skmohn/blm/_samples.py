"""Samples: tables and sequences read, checked, encoded and held out."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from skmohn._core._bad_values import (
    LEFT_OUT,
    warn_of_lone,
    warn_of_merged,
)
from skmohn._core._categories import Categories
from skmohn._core._categories import read_table as read_categories
from skmohn._core._quantiles import mask_lone, mask_remote, pull_in, pull_in_fills
from skmohn._core._rows import order_of
from skmohn._core._sklearn import check_sample_weight, safe_indexing
from skmohn._core._tables import (
    array_as_fitted,
    read_targets,
    warn_of_target_markers,
)
from skmohn._core._text import refuse_text
from skmohn._core._times import validate_columns
from skmohn._core._types import TableLike
from skmohn._core._unreadable import refuse_unreadable
from skmohn._core._validation import (
    as_counts,
    densify,
    refuse_dominant_weight,
    refuse_set,
    to_numpy,
    weighted_rows,
)
from skmohn.blm._inputs import InputCoding
from skmohn.blm._labels import Labels, RealTargets, weights_by_class
from skmohn.blm._network import DatasetProblem, forward
from skmohn.blm._policy import SequenceProblem, outputs_of

# What `recurrent` can say of the targets, by whether each step has one.
_NAMES = {True: "steps", False: "sequences"}
# Libraries of data frames, and how they put rows together.
_FRAMES = {"pandas": {"ignore_index": True}, "polars": {"how": "vertical_relaxed"}}


def concatenate_sequences(
    X: TableLike,  # (n_sequences, n_steps, n_features)
) -> tuple[Any, NDArray[np.int64]]:
    """Concatenate the steps of all sequences to one table; return also lengths."""
    # The table is a data frame where all sequences are, with the names and types of its
    # columns.
    refuse_set(X, "X")
    parts = [part if _has_names(part) else np.asarray(to_numpy(part)) for part in X]
    _refuse_other_names(parts)
    shapes = {part.shape[1:] for part in parts}
    if not parts or any(len(part.shape) != 2 for part in parts) or len(shapes) > 1:
        found = sorted({part.shape for part in parts})
        raise ValueError(
            "with recurrent=True X has shape (n_sequences, n_steps, n_features) or is "
            "a list of arrays of shape (n_steps, n_features), with the same number of "
            f"features; got parts of shapes {found[:5]}"
        )
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    if not lengths.all():
        raise ValueError(f"sequence {lengths.argmin()} of X has no steps")
    return _concatenate(parts), lengths


def _has_names(part: Any) -> bool:
    """Whether a sequence is a data frame, of a library that is known."""
    kind = type(part)  # a lazy one would be computed
    has_names = hasattr(kind, "columns") or hasattr(kind, "column_names")
    if has_names and not (_library_of(part) in _FRAMES and hasattr(kind, "shape")):
        raise ValueError(
            f"X has a sequence that is a {kind.__name__} of {_library_of(part)}, whose "
            "column names would be lost: pass arrays, or data frames of pandas or "
            "polars"
        )
    return has_names


def _library_of(part: object) -> str:
    return type(part).__module__.partition(".")[0]


def _refuse_other_names(parts: list[Any]) -> None:
    """Refuse sequences whose columns are not those of the first, in its order."""
    names = [list(part.columns) if _has_names(part) else None for part in parts]
    for k, own in enumerate(names):
        if own != names[0]:
            raise ValueError(
                f"sequence {k} of X has the columns {_in_words(own)}, and the first "
                f"one has {_in_words(names[0])}: they must be the same, in the same "
                "order"
            )


def _in_words(names: list[str] | None) -> object:
    return "no names" if names is None else names


def _concatenate(parts: list[Any]) -> Any:
    """Rows of all parts in one table."""
    library = _library_of(parts[0])
    if not _has_names(parts[0]):
        return np.concatenate(parts)
    if any(_library_of(part) != library for part in parts):
        raise ValueError(
            "X has data frames of several libraries: pass those of a single one"
        )
    try:
        return sys.modules[library].concat(parts, **_FRAMES[library])
    except Exception as error:  # each library has errors of its own
        raise ValueError(
            f"X has sequences whose columns have incompatible types: {error}"
        ) from error


def infer_target_kind(y: Any, lengths: NDArray[np.int64]) -> tuple[bool, bool]:
    """Whether y can hold a target for each step, and whether one for each sequence."""
    shapes = {np.shape(part) for part in y}
    if len(y) != len(lengths):
        raise ValueError(
            f"X has {len(lengths)} sequences, but y has targets for {len(y)}"
        )
    by_step = all(
        np.ndim(part) > 0 and len(part) == length
        for part, length in zip(y, lengths, strict=True)
    )
    return by_step, len(shapes) == 1 and len(shapes.pop()) < 2


def expand_targets(
    y: Any, lengths: NDArray[np.int64], per_step: bool
) -> tuple[NDArray, NDArray[np.bool_]]:
    """Targets of the rows, and whether each has its own: of equal length."""
    y = _as_parts(y)
    by_step, by_sequence = infer_target_kind(y, lengths)
    if not (by_step if per_step else by_sequence):
        wanted = "each step" if per_step else "each sequence"
        raise ValueError(
            f"y must have a target for {wanted}, because of recurrent="
            f"{_NAMES[per_step]!r} or of the first fit"
        )
    if per_step:
        y = np.concatenate([np.asarray(to_numpy(part)) for part in y])
        return y, np.ones(sum(lengths), dtype=bool)
    # Only the last step of a sequence has one.
    has_target = np.zeros(sum(lengths), dtype=bool)
    has_target[np.cumsum(lengths) - 1] = True
    return np.repeat(np.asarray(y), lengths, axis=0), has_target


def weights_of_steps(sample_weight: Any, lengths: NDArray[np.int64]) -> Any:
    """Weights of steps, each that of its sequence."""
    if sample_weight is None or np.ndim(sample_weight) == 0:
        return sample_weight
    check_consistent_length(lengths, sample_weight)
    return np.repeat(sample_weight, lengths)


def _as_parts(y: Any) -> Any:
    """List or an array of targets, whose parts are those of sequences."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    return y if isinstance(y, list | tuple) else np.asarray(to_numpy(y))


def split_rows(
    rows: NDArray, lengths: NDArray[np.int64], per_step: bool, as_list: bool
) -> NDArray | list[NDArray]:
    """Rows of outputs in the form of the targets."""
    ends = np.cumsum(lengths)
    if not per_step:
        return rows[ends - 1]
    parts = np.split(rows, ends[:-1])
    return parts if as_list else np.stack(parts)


class Rows(NamedTuple):
    """Rows of the user's samples."""

    X: Any  # a table, (n_rows, n_features)
    y: Any  # an array-like, (n_rows,) or (n_rows, n_outputs)
    sample_weight: Any  # (n_rows,) or None
    targets: Any  # those that the user has given, without repetitions
    has_target: NDArray[np.bool_] | slice = slice(None)  # the rows they belong to
    lengths: NDArray[np.int64] | None = None  # (n_sequences,), rows of each sequence


class Samples(NamedTuple):
    """Rows as a network learns them, of a table or of sequences."""

    X: NDArray  # (n_rows, n_inputs)
    targets: NDArray  # (n_rows, n_outputs)
    weights: NDArray  # (n_rows,), zero where an output has no target
    lengths: NDArray[np.int64] | None = None  # (n_sequences,), rows of each; None: 1

    @property
    def n_samples(self) -> int:
        """Number of rows, or of sequences."""
        return len(self.X if self.lengths is None else self.lengths)

    @property
    def weights_of_inputs(self) -> NDArray[np.float64] | None:
        """Weights of rows; a step is an input even where it has no target."""
        # None for sequences that count alike.
        if self.lengths is None:
            return self.weights
        starts = np.cumsum(self.lengths) - self.lengths
        weights = np.maximum.reduceat(self.weights, starts)
        return None if np.ptp(weights) == 0.0 else np.repeat(weights, self.lengths)

    def take(self, kept: NDArray[np.integer]) -> Self:
        """Take some samples: rows in the given order, sequences in their own."""
        X, targets, weights, lengths = self
        rows = kept
        if lengths is not None:
            rows = np.isin(np.repeat(np.arange(len(lengths)), lengths), kept)
            lengths = lengths[np.sort(kept)]
        return type(self)(X[rows], targets[rows], weights[rows], lengths)

    def drop_zero_weight(self) -> Self:
        """Samples with weight; a step without one is an input of the later ones."""
        has_weight = self.weights > 0
        if self.lengths is not None or has_weight.all():
            return self
        return self.take(has_weight.nonzero()[0])

    def without_lone(self, are_numbers: bool, columns: Sequence[str]) -> Self:
        """Samples without targets far off all others; such inputs are medians."""
        X, weights = self.X, self.weights
        is_lone = mask_lone(X)
        if is_lone.any():
            is_remote = mask_remote(X, is_lone)
            warn_of_lone(X, is_remote, columns, "fit uses the median instead")
            medians = np.nanmedian(np.where(is_lone, np.nan, X), axis=0)
            X = np.where(is_lone, medians, X)
        if are_numbers:
            is_outlier = mask_lone(self.targets)
            names = ["y"] * is_outlier.shape[1]
            warn_of_lone(self.targets, is_outlier, names, LEFT_OUT)
            weights = weights * ~is_outlier.any(axis=1)
        return self._replace(X=X, weights=weights).drop_zero_weight()

    def pull_in(self, are_numbers: bool) -> Self:
        """Samples to learn scales from, which no lone value far off extends."""
        return self._replaced(pull_in, are_numbers)

    def pull_in_fills(self, are_numbers: bool) -> Self:
        """Samples without fill values, whose squares would dominate the loss."""
        return self._replaced(pull_in_fills, are_numbers)

    def _replaced(
        self, pull: Callable[[NDArray, NDArray | None], NDArray], are_numbers: bool
    ) -> Self:
        """Samples with some inputs and, if they are numbers, targets replaced."""
        # Weights of steps count no rows.
        weights = self.weights if self.lengths is None else None
        X, targets = pull(self.X, weights), self.targets
        if are_numbers:
            targets = pull(targets, weights)
        return self._replace(X=X, targets=targets)

    def deduplicate(self) -> Self:
        """Samples with equal rows merged; sequences are not compared."""
        if self.lengths is not None:
            return self
        return type(self)(*merge_rows(self.X, self.targets, self.weights))

    def problem(self, **options: Any) -> DatasetProblem:
        """Problem of learning from them, by a recurrent network from sequences."""
        arrays = {"X": self.X, "y": self.targets, "sample_weight": self.weights}
        if self.lengths is None:
            return DatasetProblem(**arrays, **options)
        return SequenceProblem(**arrays, lengths=self.lengths, **options)


class TableForm:
    """Each row is a sample."""

    per_step = None

    def inputs(self, X: TableLike) -> tuple[Any, NDArray[np.int64] | None]:
        """Table, and lengths of its sequences."""
        return X, None

    def rows(self, X: TableLike, y: Any, sample_weight: Any = None) -> Rows:
        """Rows of the user's samples."""
        return Rows(X, y, sample_weight, y)

    def outputs(
        self,
        rows: NDArray,
        lengths: Any,
        network: tuple[Any, ...],
        activation: str,
        out_activation: str,
    ) -> NDArray[np.float64]:
        """Outputs of a network, shape (n_rows, n_outputs)."""
        coefs, intercepts = network
        return forward(rows, coefs, intercepts, activation, out_activation)

    def answers(self, rows: NDArray, X: TableLike) -> Any:
        """Predictions for rows in the form of the targets."""
        return rows


@dataclass(frozen=True)
class SequenceForm:
    """Form of samples that are sequences, whose steps are rows."""

    # The methods are those of :class:`TableForm`.

    per_step: bool  # a target for each step; else for each sequence

    def inputs(self, X: TableLike) -> tuple[Any, NDArray[np.int64] | None]:
        """Steps of all sequences, and lengths of these."""
        return concatenate_sequences(X)

    def rows(self, X: TableLike, y: Any, sample_weight: Any = None) -> Rows:
        """Steps of the user's samples, as rows."""
        X, lengths = concatenate_sequences(X)
        y, has_target = expand_targets(y, lengths, self.per_step)
        weights = weights_of_steps(sample_weight, lengths)
        return Rows(X, y, weights, y[has_target], has_target, lengths)

    def outputs(
        self,
        rows: NDArray,
        lengths: Any,
        network: tuple[Any, ...],
        activation: str,
        out_activation: str,
    ) -> NDArray[np.float64]:
        """Outputs of a network at all steps, shape (n_rows, n_outputs)."""
        coefs, intercepts, own = network
        return outputs_of(
            rows, lengths, coefs, intercepts, own, activation, out_activation
        )

    def answers(self, rows: NDArray, X: TableLike) -> Any:
        """Predictions for steps in the form of the targets."""
        as_list = not isinstance(X, np.ndarray)
        return split_rows(rows, concatenate_sequences(X)[1], self.per_step, as_list)


def form_of(per_step: bool | None) -> TableForm | SequenceForm:
    """Form of samples; None: rows of a table."""
    return TableForm() if per_step is None else SequenceForm(per_step)


def learn_form(
    recurrent: bool | str,
    X: TableLike,
    y: Any,
    of_classes: bool,  # whether the targets are classes
) -> TableForm | SequenceForm:
    """Form of samples, by the targets or by the user's choice."""
    if not recurrent:
        return TableForm()
    if recurrent in _NAMES.values():
        return SequenceForm(recurrent == _NAMES[True])
    y = _as_parts(y)
    by_step, by_sequence = infer_target_kind(y, concatenate_sequences(X)[1])
    if by_step and by_sequence:
        kind = type_of_target(np.asarray(y)) if of_classes else None
        if kind in (None, "multilabel-indicator"):
            n = len(y[0])
            raise ValueError(
                f"y is ambiguous: it could have a target for each of the {n} steps of "
                f"a sequence, or {n} targets for the whole sequence: pass "
                'recurrent="steps" or recurrent="sequences"'
            )
    return SequenceForm(by_step)


def read_table(
    estimator: Any,
    X: TableLike,
    *,
    reset: bool = False,  # whether to learn what the columns are
    of_sequences: bool = False,  # whether rows are steps
    dtype: Any = np.float64,  # of tables without categories
    ensure_all_finite: bool = True,  # whether no number may be infinite
) -> NDArray:
    """Dense table of numbers, and of categories by number; NaN is unknown."""
    if of_sequences:
        return _read_steps(estimator, X, reset, dtype, ensure_all_finite)
    if not reset and ensure_all_finite and not estimator._categories.of_text:
        types = dtype if isinstance(dtype, list) else [dtype]
        if (known := array_as_fitted(estimator, X, types)) is not None:
            return known
    plain = partial(
        validate_columns,
        estimator,
        accept_sparse="csr",
        dtype=dtype,
        ensure_all_finite="allow-nan" if ensure_all_finite else False,
    )
    return densify(read_categories(estimator, X, read_plain=plain, reset=reset))


def _read_steps(
    estimator: Any, X: TableLike, reset: bool, dtype: Any, ensure_all_finite: bool
) -> NDArray:
    """Steps of sequences, which are known numbers."""
    if reset:
        wanted = estimator.categorical_features
        if not (wanted is None or isinstance(wanted, str) or np.size(wanted) == 0):
            raise ValueError(
                f"categorical_features={wanted!r} is for tables, not for sequences: "
                "OneHotEncoder makes numbers of categories"
            )
        estimator._categories = Categories({}, estimator.handle_unknown)
    X = to_numpy(X)
    refuse_text(X, (), ", but numbers are needed: OneHotEncoder converts {it}")
    refuse_unreadable(X)
    if reset:
        warn_of_merged(X)
    return read_numbers(
        estimator, X, reset=reset, dtype=dtype, ensure_all_finite=ensure_all_finite
    )


def read_numbers(estimator: Any, X: TableLike, **options: Any) -> NDArray:
    """Dense table without categories."""
    return densify(validate_columns(estimator, X, accept_sparse="csr", **options))


@dataclass(frozen=True, kw_only=True)
class SampleForm:
    """How an estimator reads samples; None: to be learned from the first ones."""

    estimator: Any  # has `recurrent`, and the names and types of columns
    target_type: type[Labels] | type[RealTargets]
    classes: NDArray | None = None  # labels to expect, by default those of `y`
    class_weight: Any = None  # as in scikit-learn
    rows: Any = None  # TableForm or SequenceForm
    targets: Any = None  # Labels or RealTargets
    inputs: InputCoding | None = None
    # Targets among which classes are balanced, by default those that are read.
    balanced_targets: Any = None


def read_samples(
    form: SampleForm, X: TableLike, y: Any, weight: ArrayLike | None = None
) -> tuple[Samples, SampleForm]:
    """Read samples of the user, and the form by which to read later ones."""
    is_first, is_numeric = form.targets is None, form.target_type.is_numeric
    X, y, weight = _drop_unweighted(X, densify(y), weight)
    recurrent = form.estimator.recurrent
    kind = form.rows or learn_form(recurrent, X, y, not is_numeric)
    rows, estimator = kind.rows(X, y, weight), form.estimator
    if rows.y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    of_sequences = rows.lengths is not None
    X = read_table(estimator, rows.X, reset=is_first, of_sequences=of_sequences)
    y = read_targets(rows.y, estimator=estimator, several=True, numeric=is_numeric)
    check_consistent_length(X, y)
    if is_first and is_numeric:
        warn_of_target_markers(y)
    coding = form.targets or form.target_type.learn(y, form.classes)
    targets = coding.encode(y)
    given = check_sample_weight(rows.sample_weight, X, ensure_non_negative=True)
    refuse_dominant_weight(given)
    by_class = weights_by_class(form.class_weight, rows.targets, form.balanced_targets)
    weights = np.zeros(len(X))
    weights[rows.has_target] = as_counts(given[rows.has_target] * by_class)
    inputs = form.inputs or InputCoding.learn(X, weights, estimator._categories)
    X = inputs.encode(X, getattr(estimator, "feature_names_in_", None))
    later = replace(
        form, rows=kind, targets=coding, inputs=inputs, balanced_targets=rows.targets
    )
    return Samples(X, targets, weights, rows.lengths), later


def _drop_unweighted(X: TableLike, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Drop samples of weight 0, so that their classes are not learned either."""
    kept = None if y is None else weighted_rows(X, [weight])
    if kept is None:
        return X, y, weight
    check_consistent_length(X, y)
    X, y, weight = (safe_indexing(part, kept) for part in (X, y, to_numpy(weight)))
    return X, y, weight


def hold_out(
    form: SampleForm, samples: Samples, fraction: float, seed: int
) -> tuple[Samples, Samples]:
    """Split samples, sequences as a whole: some to train on, others to validate on."""
    n_samples = samples.n_samples
    if n_samples * fraction < 1 or n_samples < 4:
        raise ValueError(
            f"validation_fraction={fraction} of {n_samples} samples leaves nothing to "
            "validate on: pass X_val and y_val or set early_stopping=False"
        )
    strata, targets = None, samples.targets
    # Sequences with a target for each step are of no single class.
    if isinstance(form.targets, Labels) and not form.rows.per_step:
        if samples.lengths is not None:
            targets = targets[np.cumsum(samples.lengths) - 1]
        strata = form.targets.strata(targets, fraction)
    parts: Any = train_test_split(
        np.arange(n_samples), test_size=fraction, random_state=seed, stratify=strata
    )
    training, held_out = (samples.take(kept) for kept in parts)
    return training, held_out


def merge_rows(
    X: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Merge equal samples."""
    # Then a repeated sample is one with a double weight, to the last bit; else rounding
    # would send the searches to different minima.
    table = np.column_stack([X, targets])
    # Zeros of either sign are equal, and so are their bytes then.
    table += 0.0
    order = order_of(table)
    table, weights = table[order], weights[order]
    is_new = np.append(True, np.any(table[1:] != table[:-1], axis=1))
    if not is_new.all():
        table = table[is_new]
        weights = np.add.reduceat(weights, np.flatnonzero(is_new))
    return table[:, : X.shape[1]], table[:, X.shape[1] :], weights


class SequenceScoreMixin:
    """Scores with targets of steps."""

    def score(self, X: TableLike, y: Any, sample_weight: Any = None) -> float:
        """Score predictions by R2 (regressor) or accuracy (classifier).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples or, if `recurrent`, sequences, as for `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, in the form seen in `fit`. Targets of steps count alike, whatever
            their sequence.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of samples or of whole sequences.

        Returns
        -------
        float
            Mean R2 of the outputs; for labels, the fraction of samples with all
            correct.
        """
        owner: Any = super()
        if not getattr(self, "_per_step", False):
            return owner.score(X, y, sample_weight)
        estimator: Any = self
        predicted, lengths = estimator.predict(X), concatenate_sequences(X)[1]
        y, _ = expand_targets(y, lengths, per_step=True)
        weights = weights_of_steps(sample_weight, lengths)
        score = accuracy_score if is_classifier(self) else r2_score
        return score(y, np.concatenate(list(predicted)), sample_weight=weights)
