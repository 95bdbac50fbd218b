"""Logistic regression on single inputs, with a penalty averaged by its evidence."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._models import JOINT, find_significant
from skmohn.mohn._sparse.newton import add_constant, find_maximum
from skmohn.mohn._table.left_out import leave_groups_out, leave_observations_out

# Prior standard deviations of the log odds, from negligible ones to those of separated
# classes: all are as probable.
_SPREADS = 2.0 ** np.arange(-8.0, 6.0)


@dataclass(frozen=True)
class RidgeLogisticConstants:
    """Ridge logistic regression."""

    # Variance of a column below which it is constant but for rounding.
    min_variance: float = tuned(1e-9, "rounding")


_RIDGE = RidgeLogisticConstants()


@dataclass(frozen=True)
class RidgeLogistic:
    """Log odds of one class against all others."""

    weights: NDArray[np.float64]  # (n_inputs,); posterior means
    stds: NDArray[np.float64]  # (n_inputs,); posterior standard deviations
    # Where all inputs are zero, if the function has mean zero in the data.
    constant: float
    # (n_observations,); leave-one-out or leave-one-group-out posterior mean at each
    # observation, less the constant of the fit.
    left_out: NDArray[np.float64]
    # (n_spreads,); posterior probability of each prior standard deviation.
    mass: NDArray[np.float64]
    # (n_inputs, rank); times its transpose the posterior covariance; None where it is
    # not known.
    joint: NDArray[np.float64] | None = None

    @property
    def root(self) -> NDArray[np.float64]:
        """Root of the covariance, as of `ProbitModel`."""
        return self.stds if self.joint is None else self.joint

    @property
    def terms(self) -> list[Term]:
        """Terms of the weights."""
        return [(j,) for j in range(len(self.weights))]

    @property
    def learned(self) -> NDArray[np.float64]:
        """Hyperparameters, for further data."""
        return self.mass

    @property
    def is_likely(self) -> NDArray[np.bool_]:
        """Mask of significant weights, see `find_significant`."""
        # Their prior is a mixture, which least squares does not undo: the test keeps
        # the shrinkage.
        ratios = np.divide(
            self.weights, self.stds, np.zeros(len(self.weights)), where=self.stds > 0.0
        )
        return find_significant(ratios, len(ratios))


def work_of(n_rows: int, n_inputs: int) -> float:
    """Rough nanoseconds of a fit, from counts alone."""
    return len(_SPREADS) * 10.0 * n_rows * float(min(n_rows, n_inputs)) ** 2


def fit_ridge_logistic(
    inputs: NDArray,
    is_success: NDArray[np.bool_],
    weight: NDArray[np.float64],
    unit: NDArray[np.float64],
    group: NDArray[np.intp] | None = None,
    mass: NDArray[np.float64] | None = None,
) -> RidgeLogistic:
    """Average Laplace posteriors over the prior variance of the log odds."""
    # Weights of standardized columns are normal a priori with one variance, and the
    # constant has a flat density. Both classes occur. `weight` is that of an
    # observation, `unit` that of one of its repeats, which is left out at a time, or
    # with its `group`. `mass` are known probabilities of the prior standard deviations;
    # None learns them.
    # Source: MacKay, The evidence framework applied to classification networks, Neural
    # Computation 4, 1992.
    inputs = np.asarray(inputs, dtype=float)
    means = np.average(inputs, axis=0, weights=weight)
    scales = np.sqrt(np.average((inputs - means) ** 2, axis=0, weights=weight))
    vary = scales > np.sqrt(_RIDGE.min_variance)
    scales[~vary] = np.inf
    # In principal axes, which are fewer, the penalty is the same.
    left, values, axes = np.linalg.svd((inputs - means) / scales, full_matrices=False)
    length = np.sqrt(max(np.count_nonzero(vary), 1))
    columns, back = left * values / length, axes / (length * scales)
    known = np.ones(len(_SPREADS), bool) if mass is None else mass > 0.0
    posteriors = [
        _condition(spread * columns, is_success, weight, unit, group)
        for spread in _SPREADS[known]
    ]
    if mass is None:
        evidence = np.array([posterior.evidence for posterior in posteriors])
        learned: NDArray[np.float64] = np.exp(evidence - logsumexp(evidence))
        mass = learned
    spreads, probability = _SPREADS[known], mass[known]
    each = [s * p.weights @ back for s, p in zip(spreads, posteriors, strict=True)]
    variances = [
        s**2 * np.einsum("ij,ik,kj->j", back, p.covariance[:-1, :-1], back)
        for s, p in zip(spreads, posteriors, strict=True)
    ]
    weights = probability @ np.array(each)
    square = probability @ (np.array(variances) + np.square(each))
    joint = None
    if inputs.shape[1] <= JOINT.max_joint:
        along = [s * p.weights for s, p in zip(spreads, posteriors, strict=True)]
        along = np.array(along)
        apart = np.sqrt(probability)[:, None] * (along - probability @ along)
        covariance = apart.T @ apart
        for chance, spread, own in zip(probability, spreads, posteriors, strict=True):
            covariance += chance * spread**2 * own.covariance[:-1, :-1]
        joint = back.T @ np.linalg.cholesky(covariance)
    return RidgeLogistic(
        weights,
        np.sqrt(np.maximum(square - weights**2, 0.0)),
        -float(means @ weights),
        probability @ np.array([p.left_out - p.constant for p in posteriors]),
        mass,
        joint,
    )


@dataclass(frozen=True)
class _Posterior:
    """Normal around the mode: weights of columns, then the constant."""

    weights: NDArray[np.float64]
    constant: float
    covariance: NDArray[np.float64]
    left_out: NDArray[np.float64]
    evidence: float


def _condition(
    columns: NDArray[np.float64],
    is_success: NDArray[np.bool_],
    weight: NDArray[np.float64],
    unit: NDArray[np.float64],
    group: NDArray[np.intp] | None,
) -> _Posterior:
    """Posterior for a prior variance of 1."""
    wider = add_constant(columns)
    mode = _find_mode(wider, is_success, weight)
    weights, constant = mode[:-1], float(mode[-1])
    latent = wider @ mode
    chance = expit(latent)
    slope = chance * (1.0 - chance)
    precision = _curvature(wider, weight * slope)
    covariance = np.linalg.inv(precision)
    _, volume = np.linalg.slogdet(precision)
    fit = weight @ log_expit(np.where(is_success, latent, -latent))
    spread = wider @ covariance
    pull = is_success - chance
    if group is None:
        variance = np.einsum("ij,ij->i", spread, wider)
        left_out = leave_observations_out(latent, variance, unit * slope, unit * pull)
    else:
        left_out = leave_groups_out(
            latent,
            partial(_covariance_of, spread, wider),
            weight * slope,
            weight * pull,
            group,
        )
    evidence = float(fit - 0.5 * (weights @ weights + volume))
    return _Posterior(weights, constant, covariance, left_out, evidence)


def _covariance_of(
    spread: NDArray[np.float64], wider: NDArray[np.float64], some: NDArray[np.intp]
) -> NDArray[np.float64]:
    return spread[some] @ wider[some].T


def _find_mode(
    wider: NDArray[np.float64],
    is_success: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Penalized weights, then the constant, to rounding by Newton's method."""
    # `LogisticRegression` stops earlier, where weights and repeats of rows differ.
    signs = np.where(is_success, 1.0, -1.0)

    def height(mode: NDArray[np.float64]) -> float:
        return weight @ log_expit(signs * (wider @ mode)) - 0.5 * mode[:-1] @ mode[:-1]

    def newton_step(mode: NDArray[np.float64]) -> NDArray[np.float64]:
        chance = expit(wider @ mode)
        slope = wider.T @ (weight * (is_success - chance))
        slope[:-1] -= mode[:-1]
        return np.linalg.solve(
            _curvature(wider, weight * chance * (1.0 - chance)), slope
        )

    return find_maximum(np.zeros(wider.shape[1]), height, newton_step)


def _curvature(
    wider: NDArray[np.float64], of_rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Negative Hessian of the log posterior; the constant's density is flat."""
    found = (wider * of_rows[:, None]).T @ wider
    found[np.diag_indices(wider.shape[1] - 1)] += 1.0
    return found
