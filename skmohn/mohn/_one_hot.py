"""Groups of columns that are the categories of one: one is 1, all others 0."""

import numpy as np

from skmohn._core._control import control_of
from skmohn.mohn._table.coding import one_hot_rows
from skmohn.mohn._table.vocabulary import find_columns


def find_one_hot(params, X, names):
    """Groups of columns of 0 and 1 in which every row has one 1.

    Parameters
    ----------
    params : MOHNRegressor
        Its `DenseControl.one_hot`, and which columns are categorical.

    X : ndarray of shape (n_samples, n_features)

    names : list of str

    Returns
    -------
    groups : list of tuples of int
    """
    wanted = control_of(params, "dense_control").one_hot
    taken = params._categories.encoders
    if wanted is None:
        return []
    if isinstance(wanted, str):
        return _detect_one_hot(X, taken)
    index = {name: j for j, name in enumerate(names)}
    groups = [tuple(find_columns(g, index, len(names), "one_hot")) for g in wanted]
    members = [j for group in groups for j in group]
    if len(set(members)) < len(members) or set(members) & set(taken):
        raise ValueError(
            "one_hot names a column in two groups, or a categorical column: every "
            "column belongs to one"
        )
    for group in groups:
        if len(group) < 2:
            raise ValueError(f"one_hot holds {group}: a group has two columns or more")
        off = ~one_hot_rows(X[:, list(group)])
        if off.any():
            row = int(np.argmax(off))
            raise ValueError(
                f"one_hot holds the columns {[names[j] for j in group]}, and in row "
                f"{row} they are {X[row, list(group)].tolist()}: one must be 1, all "
                "others 0"
            )
    return groups


def _detect_one_hot(X, taken):
    """Runs of three neighbouring columns or more that are a one-hot group."""
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
