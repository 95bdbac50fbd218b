"""Calibration errors of predicted probabilities and standard deviations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike


@dataclass(frozen=True)
class CalibrationConstants:
    """Bins of probabilities."""

    n_bins: int = tuned(15, "Guo (2017), table 1")


_CALIBRATION = CalibrationConstants()


def read_calibration(estimator: Any, X: TableLike, y: NDArray) -> NDArray | None:
    """Read what the calibration error needs of some test rows; None without any."""
    # Of classifiers (confidence, whether it was right), of regressors the values of
    # the predictive distribution at the targets.
    if hasattr(estimator, "predict_proba"):
        probabilities = np.asarray(estimator.predict_proba(X))
        # Several outputs have a list of them.
        if probabilities.ndim != 2 or y.ndim != 1:
            return None
        predicted = np.asarray(estimator.classes_)[probabilities.argmax(axis=1)]
        return np.stack([probabilities.max(axis=1), predicted == y], axis=1)
    if y.ndim != 1 or hasattr(estimator, "classes_"):
        return None
    # Pipelines pass the argument on, so their signatures do not show it.
    try:
        mean, std = estimator.predict(X, return_std=True)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None
    # Standard deviations may be zero, as those of a constant are.
    with np.errstate(over="ignore"):
        scaled = (y - np.asarray(mean)) / np.maximum(std, np.finfo(float).tiny)
    return stats.norm.cdf(scaled)


def calibration_error(parts: list[NDArray | None]) -> float:
    """Calibration error over the test rows of all splits; NaN where there is none."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return np.nan
    values = np.concatenate(known)
    if values.ndim == 1:
        # Area between the distribution function of these values and the uniform one.
        expected = (np.arange(len(values)) + 0.5) / len(values)
        return float(np.mean(np.abs(np.sort(values) - expected)))
    confidence, is_right = values.T
    bins = np.minimum(
        (confidence * _CALIBRATION.n_bins).astype(int), _CALIBRATION.n_bins - 1
    )
    differences = np.bincount(bins, is_right - confidence)
    return float(np.abs(differences).sum() / len(values))
