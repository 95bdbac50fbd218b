"""Weights of samples as repeated rows, in an order that does not depend on theirs.

Training draws rows, chains and bits one after another, so that the same samples in
another order would train another machine. Rows are therefore put in an order that
follows from what they say: a fit depends on which rows there are and how often, and not
on their order, nor on whether a row is repeated or has a whole number as its weight.
"""

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from skmohn._core._fitting import warn_caller
from skmohn._core._validation import as_counts, require_memory


def read_weights(sample_weight, X):
    """Check weights; return them as numbers of samples.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None

    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples,), float64, or None
        As :func:`~skmohn._core._validation.as_counts` has them; None for None.

    Raises
    ------
    ValueError
        If weights are negative, no numbers, or all zero.
    """
    if sample_weight is None:
        return None
    weights = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return as_counts(weights)


def rows_of(weights):
    """Number of each row, as often as its weight says.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,), float64
        As :func:`read_weights` returns them.

    Returns
    -------
    ndarray of int
        Whole weights are kept. Others are rounded up or down so that any rows that
        follow one another are as many as their weights together, to one.
    """
    ends = np.floor(np.cumsum(weights) + 0.5)
    counts = np.diff(ends, prepend=0.0)
    require_memory(
        8.0 * ends[-1],
        f"sample_weight as {ends[-1]:.3g} repeated rows",
        "divide the weights by what they have in common",
    )
    return np.repeat(np.arange(len(weights)), counts.astype(np.int64))


def complete_samples(X, n_needed):
    """The samples without NaN, with a warning if there are others."""
    complete = ~np.isnan(X).any(axis=1)
    n_complete, n_samples = int(complete.sum()), len(X)
    if n_complete == n_samples:
        return X
    advice = "impute first, for instance with sklearn.impute.KNNImputer"
    if n_complete < n_needed:
        raise ValueError(
            f"Input X contains NaN: only {n_complete} of {n_samples} samples are "
            f"complete, but training needs at least {n_needed}; {advice}"
        )
    warn_caller(
        f"{n_samples - n_complete} of {n_samples} samples have NaN and are left out of "
        f"the fit; to use them, {advice}"
    )
    return X[complete]
