"""Units in which squares and sums of numbers of any size are within range."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Sums of the squares of larger numbers would be infinite.
_MAX_SQUARED: Final = 1e150


def power_of_two_scale(values: ArrayLike) -> float:
    """Power of two near the largest magnitude, by which numbers divide exactly."""
    # 1 where all are 0 or there are none.
    return float(binary_units(np.ravel(values)))


def binary_units(values: ArrayLike) -> NDArray[np.float64]:
    """Power of two near the largest magnitude of each column."""
    largest = np.max(np.abs(values), axis=0, initial=0.0)
    # So that their reciprocals are within range, too.
    exponents = np.clip(np.frexp(largest)[1], -1021, 1021)
    return np.where(largest > 0.0, np.ldexp(1.0, exponents), 1.0)


def refuse_huge(values: NDArray[np.float64], name: str) -> None:
    """Refuse numbers whose squares are not finite."""
    largest = values.flat[np.argmax(np.abs(values))]
    if abs(largest) > _MAX_SQUARED:
        raise ValueError(
            f"{name} must be from {-_MAX_SQUARED:g} to {_MAX_SQUARED:g}, so that their "
            f"squares are finite, got {largest:g}: divide all by the same number"
        )
