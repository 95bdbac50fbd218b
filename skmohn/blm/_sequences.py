"""Sequences as tables of their steps, and answers in their form."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from skmohn._core._validation import as_counts

# What `recurrent` can say of the targets, by whether each step has one.
_NAMES = {True: "steps", False: "sequences"}


def lay_out(X):
    """The steps of all sequences in one table.

    Parameters
    ----------
    X : array-like of shape (n_sequences, n_steps, n_features) or list of array-likes \
of shape (n_steps, n_features)

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features)
    lengths : ndarray of shape (n_sequences,), int64
    """
    parts = [np.asarray(part) for part in X]
    shapes = {part.shape[1:] for part in parts}
    if not parts or any(part.ndim != 2 for part in parts) or len(shapes) > 1:
        found = sorted({part.shape for part in parts})
        raise ValueError(
            "with recurrent=True X has shape (n_sequences, n_steps, n_features) or is a"
            " list of arrays of shape (n_steps, n_features), with equally many features"
            f"; got parts of shapes {found[:5]}"
        )
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    if not lengths.all():
        raise ValueError(f"sequence {lengths.argmin()} of X has no steps")
    return np.concatenate(parts), lengths


def ways_to_read(y, lengths):
    """Whether y can hold a target for each step, and whether one for each sequence."""
    shapes = {np.shape(part) for part in y}
    if len(y) != len(lengths):
        raise ValueError(
            f"X has {len(lengths)} sequences and y has targets for {len(y)}"
        )
    by_step = all(
        np.ndim(part) > 0 and len(part) == length
        for part, length in zip(y, lengths, strict=True)
    )
    return by_step, len(shapes) == 1 and len(shapes.pop()) < 2


def lay_out_targets(y, lengths, per_step):
    """Targets of the rows, and whether each counts: shape (n_rows, ...), (n_rows,)."""
    y = _as_parts(y)
    by_step, by_sequence = ways_to_read(y, lengths)
    if not (by_step if per_step else by_sequence):
        wanted = "each step" if per_step else "each sequence"
        raise ValueError(
            f"y must have a target for {wanted}, as recurrent={_NAMES[per_step]!r} or "
            "the first fit has said"
        )
    if per_step:
        return np.concatenate([np.asarray(part) for part in y]), np.ones(sum(lengths))
    # Only the last step of a sequence is judged.
    counts = np.zeros(sum(lengths))
    counts[np.cumsum(lengths) - 1] = 1.0
    return np.repeat(np.asarray(y), lengths, axis=0), counts


def weights_of_steps(sample_weight, lengths):
    """Give each step the weight of its sequence."""
    if sample_weight is None or np.ndim(sample_weight) == 0:
        return sample_weight
    check_consistent_length(lengths, sample_weight)
    return np.repeat(sample_weight, lengths)


def _as_parts(y):
    """A list or an array of targets, whose parts are those of sequences."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    return y if isinstance(y, list | tuple) else np.asarray(y)


def split_rows(rows, lengths, per_step, as_list):
    """Rows of outputs in the form of the targets."""
    ends = np.cumsum(lengths)
    if not per_step:
        return rows[ends - 1]
    parts = np.split(rows, ends[:-1])
    return parts if as_list else np.stack(parts)


def hold_out(samples, share, random_state, strata):
    """Split sequences, each as a whole: training and validation samples."""
    *tables, lengths = samples
    seed = check_random_state(random_state).randint(2**31)
    places = train_test_split(
        np.arange(len(lengths)), test_size=share, random_state=seed, stratify=strata
    )
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return [
        (*(table[np.isin(owner, kept)] for table in tables), lengths[np.sort(kept)])
        for kept in places
    ]


class SequenceForm:
    """The part of an estimator that takes sequences and answers in their form."""

    def _lay_out(self, X, y):
        """Rows, their targets, whether they count, and lengths of the sequences."""
        X, lengths = lay_out(X)
        return X, *lay_out_targets(y, lengths, self._per_step), lengths

    def _targets_of_rows(self, y):
        """Targets in one array: those of all steps, or those of the sequences."""
        y = _as_parts(y)
        return np.concatenate(list(y)) if self._per_step else np.asarray(y)

    def _is_per_step(self, y, lengths):
        """Whether y has a target for each step, by its form or as the user says."""
        if self.recurrent in _NAMES.values():
            return self.recurrent == _NAMES[True]
        y = _as_parts(y)
        by_step, by_sequence = ways_to_read(y, lengths)
        if by_step and by_sequence and self._may_be_several(np.asarray(y)):
            n = len(y[0])
            raise ValueError(
                f"y can be read in two ways, as a target for each of the {n} steps of "
                f"a sequence or as {n} targets for the whole of it: pass "
                'recurrent="steps" or recurrent="sequences"'
            )
        return by_step

    def _read_sequences(self, X, y, sample_weight, learn):
        """The same of all steps of sequences, and the lengths of these."""
        if learn:
            self._per_step = self._is_per_step(y, lay_out(X)[1])
        X, y, counts, lengths = self._lay_out(X, y)
        X, targets = self._read_samples(X, y, learn)
        weights = _check_sample_weight(
            weights_of_steps(sample_weight, lengths), X, ensure_non_negative=True
        )
        judged = counts > 0
        weights[judged] = as_counts(weights[judged] * self._class_weights(y[judged]))
        return X, targets, weights * counts, lengths

    def _in_form(self, rows, X):
        """Predictions in the form of the targets."""
        if not self._made_with["recurrent"]:
            return rows
        as_list = not isinstance(X, np.ndarray)
        return split_rows(rows, lay_out(X)[1], self._per_step, as_list)


class SequenceScoreMixin:
    """Scores that know targets of steps."""

    def score(self, X, y, sample_weight=None):
        """Judge predictions: R2 of a regressor, the accuracy of a classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``recurrent=True`` sequences, as `fit` takes them.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            With targets of the steps of sequences, in the form that `fit` has seen; all
            steps then count alike, whatever sequence they belong to.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of samples, or of sequences: each of its steps then has it.

        Returns
        -------
        float
            Of several outputs the mean R2, of several labels the share of samples with
            all of them right.
        """
        if not getattr(self, "_per_step", False):
            return super().score(X, y, sample_weight)
        predicted, lengths = self.predict(X), lay_out(X)[1]
        y, _ = lay_out_targets(y, lengths, per_step=True)
        weights = weights_of_steps(sample_weight, lengths)
        judge = accuracy_score if is_classifier(self) else r2_score
        return judge(y, np.concatenate(list(predicted)), sample_weight=weights)
