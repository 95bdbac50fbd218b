"""Scales that a target can be on: as it is, its logarithm, a power of Yeo and Johnson.

Source: Yeo and Johnson, A new family of power transformations to improve normality or
symmetry, Biometrika 87, 2000.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.stats import yeojohnson

from skmohn._core._units import binary_unit

_NODES, _WEIGHTS = hermegauss(20)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Unchanged:
    """The target as it is."""

    def forward(self, y):
        """From the target to the scale."""
        return y

    def inverse(self, values):
        """From the scale to the target."""
        return values

    def log_slope(self, y):
        """Logarithm of the slope of the scale at a target."""
        return np.zeros_like(y)


@dataclass(frozen=True)
class Logarithm:
    """The logarithm of a positive target; see `Unchanged` for the methods."""

    def forward(self, y):
        """From the target to the scale."""
        return np.log(y)

    def inverse(self, values):
        """From the scale to the target."""
        return np.exp(values)

    def log_slope(self, y):
        """Logarithm of the slope of the scale at a target."""
        return -np.log(y)

    def __str__(self):
        return "logarithm"


@dataclass(frozen=True)
class YeoJohnson:
    """A power of what lies on either side of the centre, of slope 1 there.

    See `Unchanged` for the methods.

    Attributes
    ----------
    power : float
        From 0 to 2. 1 changes nothing, less shortens the upper tail, more the lower.

    centre, scale : float
        Mean and standard deviation of the targets that it was made for.
    """

    power: float
    centre: float
    scale: float

    def forward(self, y):
        """From the target to the scale."""
        standard = (y - self.centre) / self.scale
        return self.centre + self.scale * yeojohnson(standard, self.power)

    def inverse(self, values):
        """From the scale to the target."""
        standard = (values - self.centre) / self.scale
        # The lower side is the upper one, mirrored, of the power that 2 lacks.
        power = np.where(standard < 0.0, 2.0 - self.power, self.power)
        log = np.log1p(power * np.abs(standard)) / np.where(power, power, 1.0)
        away = np.expm1(np.where(power, log, np.abs(standard)))
        return self.centre + self.scale * np.copysign(away, standard)

    def log_slope(self, y):
        """Logarithm of the slope of the scale at a target."""
        standard = (y - self.centre) / self.scale
        away = np.copysign(np.log1p(np.abs(standard)), standard)
        return (self.power - 1.0) * away

    def __str__(self):
        return f"Yeo-Johnson transform of power {self.power:.1f}"


def moments(transform, mean, std):
    """Mean and standard deviation of what is normal on a scale.

    Parameters
    ----------
    transform : Unchanged, Logarithm or YeoJohnson

    mean, std : ndarrays of shape (n_rows,)
        On the scale.

    Returns
    -------
    mean, std : ndarrays of shape (n_rows,)
        Of the target, by Gauss-Hermite quadrature.
    """
    # What is beyond all numbers is infinite, and so is its spread.
    with np.errstate(over="ignore", invalid="ignore"):
        values = transform.inverse(mean[:, None] + std[:, None] * _NODES)
        centre = values @ _WEIGHTS
        unit = binary_unit(values[np.isfinite(values)])
        squares = ((values - centre[:, None]) / unit) ** 2
        spread = unit * np.sqrt(squares @ _WEIGHTS)
    return centre, np.nan_to_num(spread, nan=np.inf, posinf=np.inf)


def require_domain(transform, y):
    """Refuse targets that have no place on a scale.

    Parameters
    ----------
    transform : Unchanged, Logarithm or YeoJohnson

    y : ndarray

    Raises
    ------
    ValueError
    """
    if isinstance(transform, Logarithm) and np.min(y) <= 0.0:
        raise ValueError(
            'y has values that are not positive, but target_transform="log" needs '
            'their logarithm: use "yeo-johnson" or "auto"'
        )
