"""What a normal posterior of a latent function says of rows without their own data."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skmohn.mohn._table.rows import members_of

# Least fraction of its variance by which an observation is known to others.
_LEAST_KNOWN = 1e-12


def leave_observations_out(
    mean: NDArray, variance: NDArray, curvature: NDArray, pull: NDArray
) -> NDArray:
    """Means of the function at rows, each without one observation there.

    The data are normal pseudo-data with precisions `curvature`, or at a mode are
    approximated by these.

    Parameters
    ----------
    mean, variance : ndarrays of shape (n_rows,)
        Of the function, given all data.

    curvature : ndarray of shape (n_rows,)
        Precision of what is left out.

    pull : ndarray of shape (n_rows,)
        Its precision times what its pseudo-datum lies above the mean.

    Returns
    -------
    means : ndarray of shape (n_rows,)
    """
    left = np.maximum(1.0 - curvature * variance, _LEAST_KNOWN)
    return mean - variance * pull / left


def leave_groups_out(
    mean: NDArray,
    covariance_of: Callable[[NDArray], NDArray],
    curvature: NDArray,
    pull: NDArray,
    group: NDArray,
) -> NDArray:
    """Means of the function at rows, each without all data of its group.

    Parameters
    ----------
    mean, curvature, pull : ndarrays of shape (n_rows,)
        See `leave_observations_out`.

    covariance_of : callable
        Covariance of the function in some rows, given all data.

    group : ndarray of shape (n_rows,), int

    Returns
    -------
    means : ndarray of shape (n_rows,)
    """
    means = np.empty(len(mean))
    for some in members_of(group):
        covariance = covariance_of(some)
        left = np.eye(len(some)) - curvature[some][:, None] * covariance
        means[some] = mean[some] - covariance @ np.linalg.solve(left, pull[some])
    return means
