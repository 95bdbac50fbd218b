"""Tables as users pass them and get them back: categories, gaps, containers."""

from functools import partial
from itertools import islice

import numpy as np

from skmohn._core._categories import read_table
from skmohn._core._names import unique_names
from skmohn._core._sklearn import container_adapter
from skmohn._core._times import validate_columns
from skmohn._core._validation import densify


def read_columns(estimator, X, *, reset=False, like=None, gaps=True, weights=()):
    """Check a table of numbers and categories, with NaN for what is unknown.

    Parameters
    ----------
    estimator : estimator
        Keeps what the columns are, in `fit`.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)

    reset : bool, default=False
        Whether to learn what the columns are.

    like : EnergyNetTransformer, default=None
        Says which columns hold categories; None for the estimator itself.

    gaps : bool, default=True
        Whether numbers may be unknown; categories may.

    weights : sequence of array-like, default=()
        As of :func:`~skmohn._core._categories.read_table`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Dense, with numbers of categories.
    """
    plain = partial(_read_plain, estimator)
    options = {"reset": reset, "like": like, "weights": weights}
    X = read_table(estimator, X, read_plain=plain, **options)
    if not gaps:
        _refuse_gaps(X, estimator._categories)
    return X


def _read_plain(estimator, X, reset):
    """Check a table without categories."""
    X = validate_columns(
        estimator, X, dtype=[np.float64, np.float32], accept_sparse="csr", reset=reset,
        ensure_all_finite="allow-nan", ensure_min_samples=1 + reset,
    )  # fmt: skip
    return densify(X)


def _refuse_gaps(X, categories):
    """Refuse unknown numbers."""
    numbers = np.ones(X.shape[1], bool)
    numbers[list(categories.encoders)] = False
    if np.isnan(X[:, numbers]).any():
        raise ValueError(
            'Input X contains NaN, which coding="minmax" cannot average over: '
            "impute first, for instance with sklearn.impute.KNNImputer, or use "
            'coding="thermometer"'
        )


def name_numbers(names, known):
    """Names of the columns of a table as numbers, with an indicator for each category.

    Parameters
    ----------
    names : sequence of str
        Of the columns.

    known : dict of int to ndarray
        Categories of the categorical columns.

    Returns
    -------
    names : list of str
        Each once, where the columns have different ones.
    """
    made = [f"{names[j]}_{c}" for j in sorted(known) for c in known[j]]
    made = iter(unique_names(made, names))
    return [
        text
        for j, name in enumerate(names)
        for text in (islice(made, len(known[j])) if j in known else [name])
    ]


def in_container(X, estimator, given, names):
    """A completed table in the container that ``set_output`` asks for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    estimator : EnergyNetTransformer or EnergyNetImputer

    given : array-like
        The table with gaps.

    names : ndarray of str
        Of the columns.

    Returns
    -------
    array, DataFrame or whatever is wanted
    """
    container = container_adapter(estimator)
    if container is None:
        return X
    if X.dtype != object:
        return container.create_container(X, given, names)
    # Each column has a type of its own.
    columns = [np.array(column.tolist()).reshape(-1, 1) for column in X.T]
    return container.hstack(
        [
            container.create_container(column, given, [name])
            for name, column in zip(names, columns, strict=True)
        ]
    )
