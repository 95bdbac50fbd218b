"""Generalized linear models on products of inputs, and forward search for these."""

# The logarithm of the mean is a sum of products, and of the logarithm of the exposure.
# Weights are normal a priori, with a variance that is given for each or for all; the
# constant has a flat density.

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design
from skmohn.mohn._sparse.distributions import DISTRIBUTION, Distribution, bounded_exp
from skmohn.mohn._sparse.logistic import (
    LOGISTIC_SEARCH,
    LogisticControl,
    ScorePath,
    unpack_columns,
)
from skmohn.mohn._sparse.newton import add_constant, find_maximum, inverse_root
from skmohn.mohn._sparse.pair_cache import PairCacheView

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GLMConstants:
    """Fits of generalized linear models."""

    # Nats by which a step of Newton must raise the posterior.
    min_gain: float = tuned(1e-9, "rounding")
    # Events that are taken to be there where there are none: a mean of 0 has no
    # logarithm.
    min_events: float = tuned(0.5, "rounding")
    # Rounds of weights and dispersion in turn, and the change of its logarithm after
    # which they end.
    max_rounds: int = tuned(20, "rounding")
    min_change: float = tuned(1e-3, "rounding")


_GLM = GLMConstants()


class Response(NamedTuple):
    """Targets of a generalized linear model."""

    y: _Floats  # (n_samples,)
    weight: _Floats  # (n_samples,)
    log_exposure: _Floats  # (n_samples,)
    distribution: Distribution

    @classmethod
    def of(cls, samples: Any) -> Self:
        """Targets, weights and exposures of training data."""
        ones = np.ones(len(samples.y))
        weight, exposure = (
            ones if part is None else part
            for part in (samples.sample_weight, samples.exposure)
        )
        return cls(samples.y, weight, np.log(exposure), samples.distribution)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Targets of some of the samples."""
        y, weight, log_exposure = (part[rows] for part in self[:3])
        return type(self)(y, weight, log_exposure, self.distribution)

    def means(self, log_rates: _Floats) -> _Floats:
        """Means of the targets."""
        return bounded_exp(log_rates + self.log_exposure)

    def dispersions(self, dispersion: float) -> Any:
        """Dispersions of the targets, for that of an exposure of 1."""
        return dispersion * self.distribution.dispersion_factor(self.log_exposure)

    def losses(self, log_rates: _Floats, dispersion: float) -> _Floats:
        """Negative log likelihood by sample."""
        given = self.y, self.means(log_rates), self.dispersions(dispersion)
        return -self.distribution.log_density(*given)

    def dispersion_range(self) -> _Floats:
        """Least and largest dispersion."""
        unit = self.distribution.dispersion_unit(np.exp(self.log_rate()))
        return unit * np.array(
            [DISTRIBUTION.min_dispersion, DISTRIBUTION.max_dispersion]
        )

    def log_rate(self) -> float:
        """Logarithm of the total of the targets by that of the exposures."""
        total = float(self.weight @ self.y) or _GLM.min_events
        exposures = np.exp(self.log_exposure - self.log_exposure.max())
        return float(
            np.log(total) - np.log(self.weight @ exposures) - self.log_exposure.max()
        )


def fit_weights(
    columns: _Floats,
    response: Response,
    dispersion: float,
    variances: _Floats | float,
    start: _Floats | None = None,
) -> _Floats:
    """Most likely weights of columns, then the constant."""
    y, weight, _, distribution = response
    wider = add_constant(columns)
    if start is None:
        start = np.append(np.zeros(columns.shape[1]), response.log_rate())
    if not y.any():  # the likelihood has no maximum
        return start
    penalty = _penalty(columns, variances)

    def height(mode: _Floats) -> float:
        fit = response.losses(wider @ mode, dispersion)
        return float(-(weight @ fit) - 0.5 * penalty @ mode**2)

    def newton_step(mode: _Floats) -> _Floats:
        given = y, response.means(wider @ mode), response.dispersions(dispersion)
        slope = wider.T @ (weight * distribution.slope(*given)) - penalty * mode
        of_rows = weight * distribution.curvature(*given)
        return np.linalg.solve(_penalize(wider, of_rows, penalty), slope)

    return find_maximum(start, height, newton_step, _GLM.min_gain)


def fit_dispersion(
    response: Response,
    log_rates: _Floats,
    columns: _Floats,
    variances: _Floats | float | None,
) -> float:
    """Most likely dispersion about known means, adjusted for the weights."""
    # Without variances nothing is adjusted. Source of the adjustment: Cox and Reid,
    # Parameter orthogonality and approximate conditional inference, Journal of the
    # Royal Statistical Society B 49, 1987.
    y, weight, _, distribution = response
    if not distribution.has_dispersion:
        return 0.0
    means, wider = response.means(log_rates), add_constant(columns)
    penalty = _penalty(columns, np.inf if variances is None else variances)

    def loss(log_dispersion: float) -> float:
        dispersion = np.exp(log_dispersion)
        of_rows = response.dispersions(dispersion)
        fit = float(weight @ distribution.log_density(y, means, of_rows))
        if variances is None:
            return -fit
        of_rows = weight * distribution.information(means, of_rows)
        _, volume = np.linalg.slogdet(_penalize(wider, of_rows, penalty))
        return 0.5 * float(volume) - fit

    ends = np.log(response.dispersion_range())
    found: Any = minimize_scalar(
        loss, bounds=ends, method="bounded", options={"xatol": 0.1 * _GLM.min_change}
    )
    if distribution.is_discrete and loss(ends[0]) <= found.fun:
        return 0.0
    return float(np.exp(found.x))


def fit_glm(
    columns: _Floats,
    response: Response,
    variances: _Floats | float,
    *,
    is_adjusted: bool = False,
) -> tuple[_Floats, float]:
    """Weights of columns, the constant last, and the dispersion, in turn."""
    nothing = columns[:, :0]
    mode = fit_weights(nothing, response, 0.0 if _is_poisson(response) else 1.0, 1.0)
    dispersion = fit_dispersion(
        response, np.full(len(columns), mode[-1]), nothing, None
    )
    mode = fit_weights(columns, response, dispersion, variances)
    for _ in range(_GLM.max_rounds if response.distribution.has_dispersion else 0):
        known = add_constant(columns) @ mode
        before = dispersion
        dispersion = fit_dispersion(
            response, known, columns, variances if is_adjusted else None
        )
        mode = fit_weights(columns, response, dispersion, variances, mode)
        min_dispersion = response.dispersion_range()[0]
        change = np.log(max(dispersion, min_dispersion) / max(before, min_dispersion))
        if abs(change) < _GLM.min_change:
            break
    return mode, dispersion


def covariance_root(
    columns: _Floats,
    response: Response,
    mode: _Floats,
    dispersion: float,
    variances: _Floats | float,
) -> _Floats:
    """Root of the covariance of weights and constant, by Laplace's approximation."""
    wider = add_constant(columns)
    dispersions = response.dispersions(dispersion)
    given = response.y, response.means(wider @ mode), dispersions
    of_rows = response.weight * response.distribution.curvature(*given)
    penalty = _penalty(columns, variances)
    return inverse_root(_penalize(wider, of_rows, penalty))


class GLMPath(ScorePath):
    """Generalized linear models of growing size."""

    def __init__(
        self,
        design: Design,
        response: Response,
        control: LogisticControl,
        validation: tuple[Design, Response] | None = None,
        pairs: PairCacheView | None = None,
    ) -> None:
        held_design, held = validation or (None, None)
        super().__init__(design, response.weight, control, held_design, pairs)
        self.response = response
        if held is not None:
            self.validation = held, held.weight
        self.mode = np.array([response.log_rate()])
        self.dispersions: list[float] = []  # by model
        # (n_validation,); log rate of each validation sample by model.
        self.held_log_rates: list[_Floats] = []
        self._learn()

    def losses(self, position: int, temperature: float = 1.0) -> _Floats:
        """Validation log loss by sample of one model, weights times a temperature."""
        position = min(position, len(self.held_log_rates) - 1)
        log_rates, constant = self.held_log_rates[position], self.response.log_rate()
        log_rates = constant + temperature * (log_rates - constant)
        return self.validation[0].losses(log_rates, self.dispersions[position])

    def refit_losses(self, position: int, C: float) -> _Floats:
        """Validation log loss by sample of one model, refitted with penalty C."""
        return self.held_out_losses(self.model(position), C)

    def held_out_losses(
        self, terms: Sequence[Term], variances: _Floats | float
    ) -> _Floats:
        """Validation log loss by sample of a model of any terms."""
        columns = unpack_columns(self.design, terms)
        mode, dispersion = fit_glm(columns, self.response, variances)
        held = add_constant(unpack_columns(self.held_design, terms))
        return self.validation[0].losses(held @ mode, dispersion)

    def n_observations(self) -> float:
        """Number of samples or, of rare events, of these."""
        n_samples = super().n_observations()
        if not self.response.distribution.is_discrete:
            return n_samples
        return min(n_samples, float(self.weights @ self.response.y))

    def _learn(self) -> None:
        """Fit the model of all products so far."""
        C, n_new = LOGISTIC_SEARCH.C, self.columns.shape[1] + 1 - len(self.mode)
        start = np.concatenate([self.mode[:-1], np.zeros(n_new), self.mode[-1:]])
        if self.sizes:
            args = self.columns, self.response, self.dispersions[-1]
            self.mode = fit_weights(*args, C, start)
            known = add_constant(self.columns) @ self.mode
            dispersion = fit_dispersion(self.response, known, self.columns, None)
        else:
            self.mode, dispersion = fit_glm(self.columns, self.response, C)
            known = add_constant(self.columns) @ self.mode
        self.fitted = self.response.means(known)
        self.sizes.append(len(self.terms))
        self.dispersions.append(dispersion)
        loss = self.response.losses(known, dispersion)
        self.deviances.append(float(np.average(loss, weights=self.weights)))
        if self.validation is not None:
            held = add_constant(unpack_columns(self.held_design, self.terms))
            self.held_log_rates.append(held @ self.mode)

    def _unexplained(self) -> tuple[_Floats, _Floats]:
        """Residuals and variances of the scores, shape (n_samples, 1)."""
        distribution = self.response.distribution
        dispersion = self.response.dispersions(self.dispersions[-1])
        residuals = distribution.slope(self.response.y, self.fitted, dispersion)
        spread = distribution.information(self.fitted, dispersion)
        if _is_poisson(self.response):
            # Counts may vary more than Poisson's: variances are then as observed.
            excess = (self.response.y - self.fitted) ** 2 / self.fitted
            spread = spread * max(np.average(excess, weights=self.weights), 1.0)
        return (self.weights * residuals)[:, None], (self.weights * spread)[:, None]

    def _error(self) -> float:
        """Mean unit deviance of the training samples."""
        dispersion = self.response.dispersions(self.dispersions[-1])
        given = self.response.y, self.fitted, dispersion
        deviances = self.response.distribution.deviance(*given)
        return float(np.average(deviances, weights=self.weights))


def _is_poisson(response: Response) -> bool:
    return not response.distribution.has_dispersion


def _penalty(columns: _Floats, variances: _Floats | float) -> _Floats:
    """Prior precisions of the weights of columns, and of the constant."""
    return np.append(np.full(columns.shape[1], 1.0 / variances), 0.0)


def _penalize(wider: _Floats, of_rows: _Floats, penalty: _Floats) -> _Floats:
    """Curvature of the log posterior."""
    found = (wider * of_rows[:, None]).T @ wider
    found.ravel()[:: len(found) + 1] += penalty
    return found
