"""Columns of mean 0 and variance 1, by scikit-learn's scaler."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from skmohn._core._settings import find_flags
from skmohn._core._units import binary_units

# Squares of smaller numbers are not normal numbers.
_TINY: Final = float(np.sqrt(np.finfo(np.float64).tiny))


def plain_scaler() -> StandardScaler:
    """Scaler that returns arrays, whatever scikit-learn is configured to."""
    return StandardScaler().set_output(transform="default")


def fitted_scaler(
    values: NDArray[np.float64], name: str, weights: NDArray[np.float64] | None = None
) -> StandardScaler:
    """Learn the mean and the variance of columns."""
    # `name` is for messages. A lone value far off would set both: see `pull_in`, which
    # is for rows as they were observed, before equal ones are merged.
    unit = _units_of_tiny(values)
    if np.any(unit != 1.0):
        values = values / unit
    with np.errstate(over="ignore", invalid="ignore"):
        scaler: Any = plain_scaler().fit(values, sample_weight=weights)
    require_finite(scaler, name)
    scaler.mean_ *= unit
    scaler.scale_ *= unit
    scaler.var_ *= unit**2
    return scaler


def fitted_input_scaler(
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    flags: Sequence[slice] | None = None,
) -> StandardScaler:
    """Learn the scales of inputs, to which flags are -1 and +1 less their mean."""
    # Divided by their standard deviations, flags that are seldom on would be far out
    # where they are. The parameters are those of :func:`fitted_scaler`; `flags` are
    # blocks of columns, which may be probabilities; None finds those of two values.
    scaler: Any = fitted_scaler(values, "X", weights)
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    is_flag = np.zeros(len(low), bool) if flags is not None else find_flags(values)
    for block in flags or ():
        is_flag[block] = low[block] < high[block]
    scaler.scale_[is_flag] = (0.5 * high - 0.5 * low)[is_flag]
    scaler.var_[is_flag] = scaler.scale_[is_flag] ** 2
    return scaler


def _units_of_tiny(values: NDArray) -> NDArray[np.float64]:
    """Units of the columns whose squares would be 0; of all others 1."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    is_tiny = (low < high) & (np.fmax(-low, high) < _TINY)
    return np.where(is_tiny, binary_units(np.stack([low, high])), 1.0)


def standardize_checked(scaler: Any, values: NDArray) -> NDArray:
    """Standardize columns of floats that were checked, which scalers do again."""
    # Of a single row the check takes ten times as long as all else.
    return (values - scaler.mean_.astype(values.dtype)) / scaler.scale_.astype(
        values.dtype
    )


def restore_checked(scaler: Any, values: NDArray) -> NDArray:
    """Inverse of :func:`standardize_checked`."""
    values = values * scaler.scale_.astype(values.dtype)
    return values + scaler.mean_.astype(values.dtype)


def require_finite(scaler: StandardScaler, name: str) -> None:
    """Refuse columns whose variance is beyond the range of numbers."""
    which = np.flatnonzero(~np.isfinite(scaler.var_)).tolist()
    if which:
        raise ValueError(
            f"{name} has values too large to be standardized in columns {which}: "
            "rescale them"
        )
