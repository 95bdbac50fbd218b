"""Powers that make skewed values more nearly normal."""

# Source: Yeo and Johnson, A new family of power transformations to improve normality or
# symmetry, Biometrika 87, 2000.

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import boxcox1p, inv_boxcox1p


@dataclass(frozen=True)
class YeoJohnson:
    """Power of the distance to the center on either side, of slope 1 there."""

    # (n_columns,); From 0 to 2, so that all numbers have a value, and are one. 1
    # changes nothing, less shortens the upper tail, more the lower.
    power: float | np.ndarray
    center: float | np.ndarray  # (n_columns,); mean of the values that it was made for
    scale: float | np.ndarray  # (n_columns,); standard deviation of these

    def forward(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform values to the scale."""
        standard = (y - self.center) / self.scale
        away = boxcox1p(np.abs(standard), self._power_at(standard))
        return self.center + self.scale * np.copysign(away, standard)

    def inverse(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform from the scale to values."""
        standard = (values - self.center) / self.scale
        with np.errstate(over="ignore"):
            away = inv_boxcox1p(np.abs(standard), self._power_at(standard))
            return self.center + self.scale * np.copysign(away, standard)

    def _power_at(self, standard: NDArray[np.float64]) -> NDArray[np.float64]:
        # The lower side is the upper one, mirrored, of the power that 2 lacks.
        return np.where(standard < 0.0, 2.0 - self.power, self.power)

    def log_slope(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the slope of the scale at a value."""
        standard = (y - self.center) / self.scale
        away = np.copysign(np.log1p(np.abs(standard)), standard)
        return (self.power - 1.0) * away

    def __str__(self) -> str:
        return f"Yeo-Johnson transform of power {self.power:.1f}"
