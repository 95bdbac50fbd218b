"""Forms of samples: rows of a table, or sequences as tables of their steps."""

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from skmohn._core._rows import order_of
from skmohn._core._types import TableLike
from skmohn._core._validation import to_numpy
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
    parts = [part if _has_names(part) else np.asarray(to_numpy(part)) for part in X]
    _refuse_other_names(parts)
    shapes = {part.shape[1:] for part in parts}
    if not parts or any(len(part.shape) != 2 for part in parts) or len(shapes) > 1:
        found = sorted({part.shape for part in parts})
        raise ValueError(
            "with recurrent=True X has shape (n_sequences, n_steps, n_features) or is a"
            " list of arrays of shape (n_steps, n_features), with equally many features"
            f"; got parts of shapes {found[:5]}"
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
            f"X has a sequence that is a {kind.__name__} of "
            f"{_library_of(part)}, whose names of columns would be lost: pass arrays, "
            "or data frames of pandas or polars"
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
                f"one has {_in_words(names[0])}: they must be the same, in one order"
            )


def _in_words(names: list[str] | None) -> object:
    return "no names" if names is None else names


def _concatenate(parts: list[Any]) -> Any:
    """Rows of all parts in one table."""
    library = _library_of(parts[0])
    if not _has_names(parts[0]):
        return np.concatenate(parts)
    if any(_library_of(part) != library for part in parts):
        raise ValueError("X has data frames of several libraries: pass those of one")
    try:
        return sys.modules[library].concat(parts, **_FRAMES[library])
    except Exception as error:  # each library has errors of its own
        raise ValueError(
            f"X has sequences whose columns have types that do not go together: {error}"
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

    X: np.ndarray  # or another table, (n_rows, n_features)
    y: np.ndarray  # or another array-like, (n_rows,) or (n_rows, n_outputs)
    sample_weight: np.ndarray | None  # (n_rows,)
    targets: np.ndarray  # those that the user has given, without repetitions
    has_target: np.ndarray | slice = slice(None)  # the rows that they belong to
    lengths: Any = None  # (n_sequences,) int64, rows of each sequence


class Samples(NamedTuple):
    """Rows as a network learns them."""

    X: np.ndarray  # (n_rows, n_inputs)
    targets: np.ndarray  # (n_rows, n_outputs)
    weights: np.ndarray  # (n_rows,), zero where an output has no target
    lengths: Any = None  # (n_sequences,) int64, rows of each sequence

    @property
    def n_samples(self) -> int:
        """Number of rows, or of sequences."""
        return len(self.X if self.lengths is None else self.lengths)


def _some_sequences(samples: Samples, kept: NDArray[np.integer]) -> Samples:
    """Some of the sequences, in their order."""
    X, targets, weights, lengths = samples
    rows = np.isin(np.repeat(np.arange(len(lengths)), lengths), kept)
    return Samples(X[rows], targets[rows], weights[rows], lengths[np.sort(kept)])


class TableForm:
    """Each row is a sample."""

    per_step = None

    def inputs(self, X: TableLike) -> tuple[Any, NDArray[np.int64] | None]:
        """Table, and lengths of its sequences."""
        return X, None

    def rows(self, X: TableLike, y: Any, sample_weight: Any = None) -> Rows:
        """Rows of the user's samples."""
        return Rows(X, y, sample_weight, y)

    def drop_zero_weight(self, samples: Samples) -> Samples:
        """Samples whose weight is not zero."""
        X, targets, weights, _ = samples
        counts = weights > 0
        if counts.all():
            return samples
        return Samples(X[counts], targets[counts], weights[counts])

    def targets_for_split(self, samples: Samples) -> NDArray | None:
        """Target of each sample."""
        return samples.targets

    def hold_out(
        self, samples: Samples, fraction: float, seed: int, strata: NDArray | None
    ) -> tuple[Samples, Samples]:
        """Split samples: those to train on, and those to validate on."""
        options = {"test_size": fraction, "random_state": seed, "stratify": strata}
        parts: Any = train_test_split(*samples[:3], **options)
        return Samples(*parts[::2]), Samples(*parts[1::2])

    def deduplicate(self, samples: Samples) -> Samples:
        """Samples with equal ones merged."""
        X, targets, weights, _ = samples
        return Samples(*merge_rows(X, targets, weights))

    def problem(self, samples: Samples, **options: Any) -> DatasetProblem:
        """Problem of learning from them."""
        X, y, weights, _ = samples
        return DatasetProblem(X=X, y=y, sample_weight=weights, **options)

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

    def drop_zero_weight(self, samples: Samples) -> Samples:
        """All of them: a step without weight is an input of the later ones."""
        return samples

    def targets_for_split(self, samples: Samples) -> NDArray | None:
        """Target of each sequence; None where steps have their own."""
        ends = np.cumsum(samples.lengths) - 1
        return None if self.per_step else samples.targets[ends]

    def hold_out(
        self, samples: Samples, fraction: float, seed: int, strata: NDArray | None
    ) -> tuple[Samples, Samples]:
        """Split sequences, none of which is divided."""
        lengths = samples.lengths
        parts: Any = train_test_split(
            np.arange(len(lengths)),
            test_size=fraction,
            random_state=seed,
            stratify=strata,
        )
        training, held_out = (_some_sequences(samples, kept) for kept in parts)
        return training, held_out

    def deduplicate(self, samples: Samples) -> Samples:
        """The same: sequences are not compared."""
        return samples

    def problem(self, samples: Samples, **options: Any) -> DatasetProblem:
        """Problem of a recurrent network that learns from them."""
        X, y, weights, lengths = samples
        return SequenceProblem(
            X=X, y=y, sample_weight=weights, lengths=lengths, **options
        )

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
