"""Columns of a table by their names or numbers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.utils import validation

from skmohn._core._types import TableLike
from skmohn._core._validation import is_integer

# Whose types are guessed from defaults.
_validate_data: Callable[..., Any] = validation.validate_data
# Labels in a message.
_N_LISTED: Final = 8


def validate_data(
    estimator: Any,
    X: TableLike,
    y: Any = "no_validation",
    *,
    reset: bool = True,
    **options: Any,
) -> Any:
    """Check data as scikit-learn does, and the order of labels that are no strings."""
    # It compares names that are strings, and ignores all others without a word.
    found = _validate_data(estimator, X, y, reset=reset, **options)
    if reset:
        vars(estimator).pop("_column_labels", None)
        if labels := _read_labels(X):
            estimator._column_labels = labels
    else:
        refuse_other_order(estimator, X)
    return found


def refuse_other_order(estimator: Any, X: TableLike) -> None:
    """Refuse columns whose labels are those of `fit` in another order."""
    fitted = getattr(estimator, "_column_labels", [])
    labels = _read_labels(X) if fitted else []
    # Other labels, such as those by default, say nothing about the order.
    if labels != fitted and sorted(labels) == sorted(fitted):
        more = ", ..." if len(fitted) > _N_LISTED else ""
        raise ValueError(
            "X has the columns of fit in another order: there they were "
            f"{', '.join(fitted[:_N_LISTED])}{more}; select them in that order, or "
            "pass X.to_numpy() if their labels mean nothing"
        )


def _read_labels(X: TableLike) -> list[str]:
    """Labels of the columns of a frame of pandas; none if all are strings."""
    if not hasattr(X, "isetitem"):
        return []
    labels = X.columns.tolist()
    are_names = all(isinstance(label, str) for label in labels)
    return [] if are_names else list(map(repr, labels))


def name_columns(names: Iterable[object] | None, n_features: int) -> list[str]:
    """Names of columns: x0, x1, ... where the user gave them none."""
    if names is None:
        return [f"x{j}" for j in range(n_features)]
    return [str(name) for name in names]


def input_names(
    estimator: BaseEstimator, input_features: ArrayLike | None = None
) -> NDArray:
    """Names of columns, from the argument of `get_feature_names_out`."""
    # What gives a column for each has the names of the columns themselves.
    names_out: Callable[..., Any] = OneToOneFeatureMixin.get_feature_names_out
    names = names_out(estimator, input_features)
    return np.asarray(names)


def unique_names(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Make names unique, also among those taken, by a number in brackets."""
    # The first of several keeps its name.
    used, found = set(taken), []
    for name in names:
        unique, number = name, 2
        while unique in used:
            unique, number = f"{name} ({number})", number + 1
        used.add(unique)
        found.append(unique)
    return found


def index_names(names: Iterable[Any] | None) -> dict[Any, list[int]]:
    """Columns by their names, lists of them; none where the user gave them none."""
    index = {}
    for j, name in enumerate([] if names is None else names):
        index.setdefault(name, []).append(j)
    return index


def find_column(
    given: Any, index: dict[str, list[int]], n_features: int, parameter: str
) -> int | None:
    """Number of a column, by index or name; None where there is no such."""
    # A name that several columns have is refused.
    columns = index.get(given, [given])
    if len(columns) > 1:
        raise ValueError(
            f"{parameter} has {given!r}, which is the name of columns {columns}: pass "
            "the index of the one that you mean"
        )
    column = columns[0]
    is_column = is_integer(column) and 0 <= column < n_features
    return int(column) if is_column else None


def find_columns(
    wanted: Sequence[object],
    index: dict[str, list[int]],
    n_features: int,
    parameter: str,
) -> list[int]:
    """Indices of columns given by index or name; `index` is as of `index_names`."""
    columns = []
    for given in wanted:
        column = find_column(given, index, n_features, parameter)
        if column is None:
            known = "(columns have no names)"
            if index:
                known = f"or one of the names {list(index)}"
            raise ValueError(
                f"{parameter} has {given!r}, which is not a column of X: use "
                f"indices from 0 to {n_features - 1} {known}"
            )
        columns.append(column)
    if len(set(columns)) < len(columns):
        raise ValueError(f"{parameter} repeats a column: {list(wanted)!r}")
    return columns
