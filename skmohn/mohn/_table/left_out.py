"""Leave-one-out means under a normal posterior of a latent function."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn.mohn._table.rows import members_of


@dataclass(frozen=True)
class LeftOutConstants:
    """Leave-one-out predictions."""

    # Least fraction of its variance by which an observation is known to others.
    min_variance_fraction: float = tuned(1e-12, "rounding")


_LEFT_OUT = LeftOutConstants()


def leave_observations_out(
    mean: NDArray,  # of the function, given all data
    variance: NDArray,  # of the function, given all data
    curvature: NDArray,  # precision of what is left out
    pull: NDArray,  # its precision times what its pseudo-datum lies above the mean
) -> NDArray:
    """Means of the function at rows, each without one observation there."""
    # The data are normal pseudo-data with precisions `curvature`, or at a mode are
    # approximated by these. Means are (n_rows,), as all arguments.
    left = np.maximum(1.0 - curvature * variance, _LEFT_OUT.min_variance_fraction)
    return mean - variance * pull / left


def leave_groups_out(
    mean: NDArray,
    # Of the function in some rows, given all data.
    covariance_of: Callable[[NDArray], NDArray],
    curvature: NDArray,
    pull: NDArray,
    group: NDArray,  # (n_rows,), int
) -> NDArray:
    """Means of the function at rows, each without all data of its group."""
    # Means are (n_rows,); see `leave_observations_out` for `mean`, `curvature` and
    # `pull`.
    means = np.empty(len(mean))
    for some in members_of(group):
        covariance = covariance_of(some)
        left = np.eye(len(some)) - curvature[some][:, None] * covariance
        means[some] = mean[some] - covariance @ np.linalg.solve(left, pull[some])
    return means
