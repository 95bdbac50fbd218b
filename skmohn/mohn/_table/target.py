"""Scales of a target: as it is, its logarithm; means of normals on a scale."""

# A third scale, the powers of Yeo and Johnson, is in ``_core/_powers.py``.

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

from skmohn._core._powers import YeoJohnson
from skmohn._core._units import power_of_two_scale
from skmohn.mohn._table.rows import count_observations

_NODES, _WEIGHTS = hermegauss(20)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Nodes and weights of means of a standard normal.
GAUSS_HERMITE = _NODES, _WEIGHTS


@dataclass(frozen=True)
class Unchanged:
    """Target as it is."""

    def forward(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform the target to the scale."""
        return y

    def inverse(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform from the scale to the target."""
        return values

    def log_slope(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the slope of the scale at a target."""
        return np.zeros_like(y)


@dataclass(frozen=True)
class Logarithm:
    """Logarithm of a positive target; see `Unchanged` for the methods."""

    def forward(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform the target to the scale."""
        return np.log(y)

    def inverse(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform from the scale to the target."""
        # Far from the training rows intervals may end beyond all numbers.
        with np.errstate(over="ignore"):
            return np.exp(values)

    def log_slope(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the slope of the scale at a target."""
        return -np.log(y)

    def __str__(self) -> str:
        return "logarithm"


Transform = Unchanged | Logarithm | YeoJohnson
UNCHANGED = Unchanged()


def sum_log_slope(
    transform: "Transform",
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
) -> float:
    """Sum of the logarithms of the slopes of a scale at all observations."""
    count = 1.0 if sample_weight is None else count_observations(sample_weight)
    return float(np.sum(count * transform.log_slope(y)))


def moments(
    transform: "Transform", mean: NDArray[np.float64], std: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of what is normal on a scale, by quadrature."""
    # What is beyond all numbers is infinite, and so is its spread.
    with np.errstate(over="ignore", invalid="ignore"):
        values = transform.inverse(mean[:, None] + std[:, None] * _NODES)
        center = values @ _WEIGHTS
        unit = power_of_two_scale(values[np.isfinite(values)])
        squares = ((values - center[:, None]) / unit) ** 2
        spread = unit * np.sqrt(squares @ _WEIGHTS)
    return center, np.nan_to_num(spread, nan=np.inf, posinf=np.inf)


def require_domain(transform: "Transform", y: NDArray[np.float64]) -> None:
    """Refuse targets that have no place on a scale."""
    if isinstance(transform, Logarithm) and np.min(y) <= 0.0:
        raise ValueError(
            'y has values that are not positive, but target_transform="log" needs '
            'their logarithm: use "yeo-johnson" or "auto"'
        )
