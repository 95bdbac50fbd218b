"""Inputs of a search: training data, and terms that the user lists."""

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skmohn._core._types import Term
from skmohn._core._validation import read_sets
from skmohn.mohn._options import FitSettings
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.term_names import find_sets, to_inputs

# Training and test rows of each fold.
Folds: TypeAlias = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


class ValidationData(Protocol):
    """Validation data."""

    @property
    def rows(self) -> EncodedRows: ...

    @property
    def y(self) -> NDArray[np.float64]: ...

    @property
    def weight(self) -> NDArray[np.float64] | None: ...

    @property
    def data(self) -> tuple[Any, NDArray[np.float64], NDArray[np.float64] | None]: ...

    def _replace(self, **parts: Any) -> Self: ...


class TrainingData(Protocol):
    """Training data of a search; `inputs` is an array or bit planes."""

    @property
    def rows(self) -> EncodedRows: ...

    @property
    def inputs(self) -> Any: ...

    @property
    def y(self) -> NDArray: ...

    @property
    def weight(self) -> NDArray[np.float64] | None: ...

    @property
    def data(self) -> tuple[Any, NDArray, NDArray[np.float64] | None]: ...

    @property
    def classes(self) -> Any: ...

    @property
    def held(self) -> ValidationData | None: ...

    @property
    def folds(self) -> Any: ...

    @property
    def seed(self) -> int: ...

    @property
    def start(self) -> Sequence[Term]: ...

    @property
    def coding(self) -> Any: ...

    @property
    def term_names(self) -> Any: ...

    @property
    def unit(self) -> float: ...

    @property
    def is_wide(self) -> bool: ...

    def in_units(self, unit: float) -> Self: ...

    def repeat_rows(self) -> tuple[Self, NDArray[np.intp]]: ...

    def _replace(self, **parts: Any) -> Self: ...


def listed_terms(samples: TrainingData, settings: FitSettings) -> list[Term]:
    """Validate the parameter `terms`; return sets of inputs."""
    index, n_features = samples.term_names.index, len(samples.coding.kind)
    given = read_sets(settings.terms, "terms")
    terms = find_sets(given, n_features, index, settings.max_order)
    usable = set(samples.coding.usable.tolist())
    for term in terms:
        for i in set(term).difference(usable):
            raise ValueError(
                f"terms has {term}, but column {i} of X is constant: the weight "
                "cannot be learned"
            )
    return to_inputs(terms, samples.coding.usable)


def terms_of_all_models(
    samples: TrainingData, settings: FitSettings
) -> tuple[Term, ...]:
    """Terms of every model of a search: those that the user lists, if any."""
    if settings.terms is None:
        return ()
    for name in ("selection", "learning_rule"):
        if getattr(settings, name) == "lasso":
            raise ValueError(
                f'{name}="lasso" would shrink the weights of the terms given: use '
                f"another {name}, or terms=None"
            )
    return tuple(listed_terms(samples, settings))
