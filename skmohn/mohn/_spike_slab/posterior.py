"""Normal belief about all weights, which has the data."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skmohn.mohn._spike_slab.vamp import Spectrum


@dataclass(frozen=True)
class NormalPosterior:
    """Weights with one normal prior, conditioned on the data."""

    mean: NDArray[np.float64]  # (n_weights,)
    # Of the columns of the rows so far, times the square roots of their weights.
    spectrum: Spectrum
    precision: float  # of the prior of each weight
    noise: float  # variance of the noise
    log_density: float = 0.0  # of all targets of :meth:`update`

    @property
    def _known(self) -> NDArray[np.float64]:
        """Ratio of posterior and prior variance along each direction."""
        prior = self.noise * self.precision
        return prior / (self.spectrum.values + prior)

    def variances(self) -> NDArray[np.float64]:
        """Variance of each weight, (n_weights,)."""
        less = (self.spectrum.vectors**2) @ (1.0 - self._known)
        return np.maximum(1.0 - less, 0.0) / self.precision

    def n_fitted(self) -> float:
        """Effective number of weights."""
        return float(np.sum(1.0 - self._known))

    def root(self, max_weights: int) -> NDArray[np.float64]:
        """Square root of the covariance of the weights."""
        # Of more than `max_weights` weights: their standard deviations instead.
        if len(self.mean) > max_weights:
            return np.sqrt(self.variances())
        vectors = self.spectrum.vectors
        along = (np.sqrt(self._known) - 1.0)[:, None] * vectors.T
        return (np.eye(len(vectors)) + vectors @ along) / math.sqrt(self.precision)

    def variance_at(
        self, columns: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Variance of the function in rows, and the residual fraction of their fit."""
        # Columns are (n_weights, n_rows). The fraction is that of an observation's
        # error that remains if its row was among those of the fit, with a weight of 1;
        # it is computed without the difference of almost equal numbers.
        values, vectors = self.spectrum
        squares = (vectors.T @ columns) ** 2
        own = np.einsum("jr,jr->r", columns, columns)
        beside = np.maximum(own - squares.sum(axis=0), 0.0)
        variance = (self._known @ squares + beside) / self.precision
        parts = squares / values[:, None]
        kept = np.maximum(1.0 - parts.sum(axis=0), 0.0) + self._known @ parts
        return variance, kept

    def covariance_at(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Covariance of the function in some rows, see :meth:`variance_at`."""
        along = self.spectrum.vectors.T @ columns
        less = along.T @ ((1.0 - self._known)[:, None] * along)
        return (columns.T @ columns - less) / self.precision

    def draw(self, n_draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw deviations from the mean, (n_weights, n_draws)."""
        draws = rng.standard_normal((len(self.mean), n_draws))
        along = self.spectrum.vectors.T @ draws
        along *= (np.sqrt(self._known) - 1.0)[:, None]
        return (draws + self.spectrum.vectors @ along) / math.sqrt(self.precision)

    def update(
        self,
        columns: NDArray[np.float64],
        target: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> Self:
        """Condition on further rows, whose columns are (n_weights, n_rows)."""
        values, vectors = self.spectrum
        new = columns * np.sqrt(weight)
        spectrum = Spectrum.of(np.hstack([vectors * np.sqrt(values), new]))
        after = replace(self, spectrum=spectrum)
        residual = np.sqrt(weight) * (target - self.mean @ columns)
        step = new @ residual
        along = spectrum.vectors.T @ step
        step += spectrum.vectors @ ((after._known - 1.0) * along)
        step /= self.precision * self.noise
        square = residual @ (residual - new.T @ step) / self.noise
        volume = float(np.sum(np.log(2.0 * np.pi * self.noise / weight)))
        volume += float(np.sum(np.log(self._known)) - np.sum(np.log(after._known)))
        return replace(
            after,
            mean=self.mean + step,
            log_density=self.log_density - 0.5 * (float(square) + volume),
        )
