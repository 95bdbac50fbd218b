"""Class labels and numbers as targets of a network, and its outputs as labels."""

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from skmohn._core._bad_values import check_labels

# What JSON holds of the labels of each kind of numpy's types: moments and durations are
# integers of their unit.
_PLAIN = {
    **{"b": {bool}, "i": {int}, "u": {int}, "m": {int}, "M": {int}},
    **{"f": {float}, "U": {str}, "O": {bool, int, float, str}},
}
_TYPES = re.compile(
    r"\|(b1|[iu]1|O)|<U[1-9]\d{0,8}|[<>]([iuf][248]"
    r"|[mM]8\[([1-9]\d{0,8})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])"
)


@dataclass(frozen=True)
class Labels:
    """Classes of a problem."""

    # (n_classes,); labels; numbers of the labels when a sample has several.
    classes: np.ndarray
    multilabel: bool

    is_numeric: ClassVar[bool] = False

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of a fitted estimator."""
        return {"classes_": self.classes}

    @classmethod
    def learn(cls, y: Any, classes: NDArray | None = None) -> Self:
        """Take the classes of a target, or those given."""
        check_labels(y)
        if type_of_target(y) == "multilabel-indicator":
            return cls(np.arange(y.shape[1]), True)
        classes = np.unique(column_or_1d(y)) if classes is None else classes
        if len(classes) < 2:
            raise ValueError(
                f"y has only one class, {classes[0]}; at least two are needed"
            )
        return cls(classes, False)

    def to_plain(self) -> dict[str, Any]:
        """Arguments of :meth:`from_plain`, as JSON can hold them."""
        classes = self.classes
        if classes.dtype.kind in "mM":
            classes = classes.astype(np.int64)
        values = [
            value.item() if isinstance(value, np.generic) else value
            for value in classes.tolist()
        ]
        odd = [value for value in values if type(value) not in _PLAIN["O"]]
        if odd:
            raise ValueError(
                f"classes of type {type(odd[0]).__name__} cannot be stored, such as "
                f"{odd[0]!r}: fit with strings or numbers"
            )
        dtype = self.classes.dtype
        if dtype.kind in "UT":
            # Only as wide as the labels are.
            dtype = np.array(values).dtype.newbyteorder("<")
        return {"classes": values, "dtype": dtype.str, "multilabel": self.multilabel}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Restore the labels from :meth:`to_plain`."""
        # ValueError is raised for anything else, which may be from elsewhere.
        name, values = plain["dtype"], plain["classes"]
        classes = _read_classes(name, values)
        if classes is None:
            raise ValueError(
                f"packed is damaged: labels of type {name:.20} cannot be "
                f"{values[:3]!s:.60}"
            )
        return cls(classes, plain["multilabel"])

    @property
    def one_of_many(self) -> bool:
        """Whether each sample has one of more than two classes."""
        return not self.multilabel and len(self.classes) > 2

    def encode(self, y: Any) -> NDArray[np.float64]:
        """Targets of the outputs, 0 or 1: shape (n_samples, n_outputs)."""
        check_labels(y)
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

    def strata(self, targets: NDArray[np.float64], fraction: float) -> NDArray | None:
        """Classes that a hold-out keeps in proportion; None where it cannot."""
        if self.multilabel:
            return None
        classes = self.decode(targets, 0.5)
        counts = np.unique(classes, return_counts=True)[1]
        n_held = math.ceil(fraction * len(classes))
        room = min(n_held, len(classes) - n_held)
        return classes if counts.min() > 1 and len(counts) <= room else None

    def decode(self, outputs: NDArray, threshold: float) -> NDArray:
        """Labels of the outputs; of single ones, those above the threshold."""
        if self.multilabel:
            return (outputs > threshold).astype(int)
        if outputs.shape[1] == 1:
            return self.classes[(outputs[:, 0] > threshold).astype(int)]
        return self.classes[outputs.argmax(axis=1)]

    def scores(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number a sample for two classes, else a column for each class."""
        is_single = not self.multilabel and len(self.classes) == 2
        return outputs[:, 0] if is_single else outputs

    def probabilities(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Column for each class: shape (n_samples, n_classes)."""
        if self.multilabel:
            return outputs
        if outputs.shape[1] == 1:
            return np.hstack([1.0 - outputs, outputs])
        return outputs / outputs.sum(axis=1, keepdims=True)

    def examples(self) -> NDArray:
        """Target in which every class occurs."""
        if not self.multilabel:
            return self.classes
        each = np.eye(len(self.classes), dtype=int)
        return np.vstack([each, each.sum(axis=0)])


@dataclass(frozen=True)
class RealTargets:
    """Numbers to predict, in the shape of those of the first fit."""

    n_outputs: int
    one_dimensional: bool

    is_numeric: ClassVar[bool] = True

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of a fitted estimator."""
        return {}

    @classmethod
    def learn(cls, y: Any, classes: NDArray | None = None) -> Self:
        """Take the shape of a target; there are no classes."""
        return cls(1 if np.ndim(y) == 1 else np.shape(y)[1], np.ndim(y) == 1)

    def to_plain(self) -> dict[str, Any]:
        """Plain form, which :meth:`from_plain` reads."""
        return {"one_dimensional": self.one_dimensional}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Read the plain form of :meth:`to_plain`."""
        return cls(plain["n_outputs"], plain["one_dimensional"])

    def encode(self, y: Any) -> NDArray[np.float64]:
        """Targets of the outputs: shape (n_samples, n_outputs)."""
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if targets.shape[1] != self.n_outputs:
            raise ValueError(
                f"y has {targets.shape[1]} outputs, but fit saw {self.n_outputs}"
            )
        return targets


def weights_by_class(
    class_weight: Any, y: ArrayLike, balanced_targets: ArrayLike | None = None
) -> NDArray[np.float64] | float:
    """Weights of samples by class, balanced among other targets or among y."""
    if class_weight is None:
        return 1.0
    if class_weight != "balanced" or balanced_targets is None:
        return compute_sample_weight(class_weight, y)
    others = np.asarray(balanced_targets)
    both = np.concatenate([others, np.asarray(y)])
    first = np.arange(len(others))
    return compute_sample_weight("balanced", both, indices=first)[len(others) :]


def _read_classes(name: str, values: list[Any]) -> NDArray | None:
    """Sorted values as an array of the type of this name; None if they are not."""
    if not _TYPES.fullmatch(name):
        return None
    kind = name[1]
    if not {*map(type, values)} <= _PLAIN[kind]:
        return None
    # Wider types would take any amount of memory.
    if kind == "U" and int(name[2:]) != max(1, *map(len, values)):
        return None
    dtype = np.dtype(name)
    stored = np.dtype(np.int64) if kind in "mM" else dtype
    try:
        with np.errstate(over="ignore"):
            classes = np.array(values, dtype=stored).astype(dtype)
    except OverflowError:
        return None
    is_known = (
        not np.isnat(classes).any() if kind in "mM" else all(map(_is_known, values))
    )
    is_same = classes.astype(stored).tolist() == values and dtype.str == name
    return classes if is_known and is_same and _are_sorted(classes) else None


def _are_sorted(classes: NDArray) -> bool:
    """Whether classes are different and ascend, as those of every fit do."""
    try:
        return bool(np.all(classes[:-1] < classes[1:]))
    except TypeError:  # numbers beside text have no order
        return len({*classes.tolist()}) == len(classes)


def _is_known(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
