"""Class labels as targets of a network, and its outputs as labels."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d


@dataclass(frozen=True)
class Labels:
    """The classes of a problem.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels; the numbers of the labels when there are several for a sample.

    multilabel : bool
    """

    classes: np.ndarray
    multilabel: bool

    @classmethod
    def learn(cls, y, classes=None):
        """Take the classes of a target, or those given."""
        check_classification_targets(y)
        if type_of_target(y) == "multilabel-indicator":
            return cls(np.arange(y.shape[1]), True)
        classes = np.unique(column_or_1d(y)) if classes is None else classes
        if len(classes) < 2:
            raise ValueError(
                f"y has only one class, {classes[0]}; at least two are needed"
            )
        return cls(classes, False)

    def to_plain(self):
        """What :meth:`from_plain` needs, as JSON can hold it."""
        classes = self.classes
        if classes.dtype.kind in "mM":
            # Moments and durations are whole numbers of their unit.
            classes = classes.astype(np.int64)
        values = classes.tolist()
        odd = [value for value in values if not isinstance(value, bool | Real | str)]
        if odd:
            raise ValueError(
                f"classes of type {type(odd[0]).__name__} cannot be stored, such as "
                f"{odd[0]!r}: fit with strings or numbers"
            )
        return {
            "classes": values,
            "dtype": self.classes.dtype.str,
            "multilabel": self.multilabel,
        }

    @classmethod
    def from_plain(cls, plain):
        """The labels that :meth:`to_plain` has described."""
        dtype = np.dtype(plain["dtype"])
        stored = np.int64 if dtype.kind in "mM" else dtype
        classes = np.array(plain["classes"], dtype=stored).astype(dtype)
        return cls(classes, plain["multilabel"])

    @property
    def one_of_many(self):
        """Whether each sample has one of more than two classes."""
        return not self.multilabel and len(self.classes) > 2

    def encode(self, y):
        """Targets of the outputs, 0 or 1: shape (n_samples, n_outputs)."""
        check_classification_targets(y)
        if (type_of_target(y) == "multilabel-indicator") != self.multilabel:
            raise ValueError("y must be of the same kind as in the first fit")
        if self.multilabel:
            if y.shape[1] != len(self.classes):
                raise ValueError(
                    f"y has {y.shape[1]} labels, but {len(self.classes)} are expected"
                )
            return np.asarray(y, dtype=np.float64)
        y = column_or_1d(y, warn=True)
        unseen = np.setdiff1d(y, self.classes)
        if len(unseen):
            raise ValueError(
                f"y has unknown classes: {unseen.tolist()}; known are "
                f"{self.classes.tolist()}"
            )
        if len(self.classes) == 2:
            return (y == self.classes[1]).astype(np.float64)[:, None]
        return (y[:, None] == self.classes).astype(np.float64)

    def decode(self, outputs, threshold):
        """Labels of the outputs; of single ones, those above the threshold."""
        if self.multilabel:
            return (outputs > threshold).astype(int)
        if outputs.shape[1] == 1:
            return self.classes[(outputs[:, 0] > threshold).astype(int)]
        return self.classes[outputs.argmax(axis=1)]

    def scores(self, outputs):
        """One number a sample for two classes, else a column for each class."""
        is_single = not self.multilabel and len(self.classes) == 2
        return outputs[:, 0] if is_single else outputs

    def probabilities(self, outputs):
        """A column for each class: shape (n_samples, n_classes)."""
        if self.multilabel:
            return outputs
        if outputs.shape[1] == 1:
            return np.hstack([1.0 - outputs, outputs])
        return outputs / outputs.sum(axis=1, keepdims=True)

    def examples(self):
        """A target in which every class occurs."""
        if not self.multilabel:
            return self.classes
        each = np.eye(len(self.classes), dtype=int)
        return np.vstack([each, each.sum(axis=0)])
