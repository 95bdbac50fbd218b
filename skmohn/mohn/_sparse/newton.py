"""Modes of concave log posteriors, by Newton's method, and the covariance there."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class NewtonConstants:
    """Newton's method for the mode of a posterior."""

    # Steps, and halvings of one; a few do.
    max_iter: int = tuned(100, "rounding")
    max_halvings: int = tuned(20, "rounding")


_NEWTON = NewtonConstants()


def find_maximum(
    mode: NDArray[np.float64],
    height: Callable[[NDArray[np.float64]], float],
    newton_step: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    min_gain: float = 0.0,
) -> NDArray[np.float64]:
    """Climb until no halved step gains anything, or a step at most `min_gain`."""
    best = height(mode)
    for _ in range(_NEWTON.max_iter):
        step = newton_step(mode)
        for _ in range(_NEWTON.max_halvings):
            value = height(mode + step)
            if value > best:
                break
            step *= 0.5
        else:
            break
        gain, mode, best = value - best, mode + step, value
        if gain <= min_gain:
            break
    return mode


def inverse_root(curvature: NDArray[np.float64]) -> NDArray[np.float64]:
    """Root of the covariance at a mode; directions without curvature have none."""
    values, vectors = np.linalg.eigh(curvature)
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def add_constant(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns and, last, that of the constant, (n_rows, n_columns + 1)."""
    return np.column_stack([columns, np.ones(len(columns))])
