"""Columns of mean 0 and variance 1, by scikit-learn's scaler."""

import numpy as np
from sklearn.preprocessing import StandardScaler


def plain_scaler():
    """A scaler that answers with arrays, whatever scikit-learn is configured to."""
    return StandardScaler().set_output(transform="default")


def fitted_scaler(values, name, weights=None):
    """Learn the mean and the variance of columns.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_columns)

    name : str
        What they are called in messages.

    weights : ndarray of shape (n_samples,), default=None

    Returns
    -------
    scaler : StandardScaler
    """
    scaler = plain_scaler().fit(values, sample_weight=weights)
    require_finite(scaler, name)
    return scaler


def require_finite(scaler, name):
    """Refuse columns whose variance is beyond the range of numbers."""
    which = np.flatnonzero(~np.isfinite(scaler.var_)).tolist()
    if which:
        raise ValueError(
            f"{name} has values too large to be standardized in columns {which}: "
            "rescale them"
        )
