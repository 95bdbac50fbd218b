"""Columns of 0 and 1 that are a category together."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._names import find_columns, index_names
from skmohn._core._types import Term
from skmohn.mohn._table.coding import one_hot_rows


def find_one_hot(
    X: NDArray, wanted: Any, taken: Collection[int], names: Sequence[str]
) -> list[Term]:
    """Find groups of columns of 0 and 1 in which every row has one 1."""
    # `wanted` is as for `GPOptions`; `taken` are categorical columns.
    if wanted is None:
        return []
    if isinstance(wanted, str):
        return _detect_one_hot(X, taken)
    index = index_names(names)
    groups = [tuple(find_columns(g, index, len(names), "one_hot")) for g in wanted]
    members = [j for group in groups for j in group]
    if len(set(members)) < len(members) or set(members) & set(taken):
        raise ValueError("one_hot has a column in two groups, or a categorical column")
    for group in groups:
        if len(group) < 2:
            raise ValueError(f"one_hot has {group}: a group needs at least two columns")
        off = ~one_hot_rows(X[:, list(group)])
        if off.any():
            row = int(np.argmax(off))
            raise ValueError(
                f"one_hot has the columns {[names[j] for j in group]}, but row {row} "
                f"has {X[row, list(group)].tolist()}: one must be 1, all others 0"
            )
    return groups


def _detect_one_hot(X: NDArray[np.float64], taken: Collection[int]) -> list[Term]:
    """Runs of three neighboring columns or more that are a one-hot group."""
    n_features = X.shape[1]
    fits = np.all((X == 0) | (X == 1), axis=0) & (X.min(axis=0) < X.max(axis=0))
    fits[list(taken)] = False
    groups, first = [], 0
    while first < n_features:
        last, total = first, np.zeros(len(X))
        while last < n_features and fits[last]:
            total = total + X[:, last]
            last += 1
            if total.max() > 1 or total.min() == 1:
                break
        if last - first > 2 and total.min() == total.max() == 1:
            groups.append(tuple(range(first, last)))
            first = last
        else:
            first += 1
    return groups


def repeated_name(names: Iterable[Hashable]) -> Any:
    """First name that there has been before, or None."""
    seen = set()
    return next((name for name in names if name in seen or seen.add(name)), None)
