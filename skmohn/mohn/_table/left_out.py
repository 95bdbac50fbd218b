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


def leave_outputs_out(
    mean: NDArray,  # (n_outputs, n_rows)
    # Of all outputs in some rows, (n_outputs, n_outputs, n_some, n_some).
    covariance_of: Callable[[NDArray], NDArray],
    curvature: NDArray,  # (n_outputs, n_outputs, n_rows)
    pull: NDArray,  # (n_outputs, n_rows)
    group: NDArray,  # (n_rows,), int
) -> NDArray:
    """Means of several outputs at rows, each without all data of its group."""
    # As `leave_groups_out`, of outputs that are observed together.
    means = np.empty(mean.shape)
    for some in members_of(group):
        covariance = covariance_of(some)
        size = len(mean) * len(some)
        known = np.einsum("abn,bcnm->ancm", curvature[..., some], covariance)
        left = np.eye(size) - known.reshape(size, size)
        step = np.linalg.solve(left, pull[:, some].ravel()).reshape(len(mean), -1)
        means[:, some] = mean[:, some] - np.einsum("abnm,bm->an", covariance, step)
    return means
