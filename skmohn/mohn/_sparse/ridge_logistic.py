"""Logistic regression on single inputs, with a penalty averaged by its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._models import JOINT, find_significant
from skmohn.mohn._sparse.newton import add_constant, find_maximum
from skmohn.mohn._table.left_out import leave_observations_out, leave_outputs_out

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
    """Log odds of a class, or of more than two its log probability up to a constant."""

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


def work_of(n_rows: int, n_inputs: int, n_outputs: int) -> float:
    """Rough nanoseconds of a fit, from counts alone."""
    rank = float(min(n_rows, n_inputs))
    rows = 10.0 * n_rows * n_outputs * rank**2
    return len(_SPREADS) * (rows + (rank * n_outputs) ** 3)


def fit_ridge_logistic(
    inputs: NDArray,
    successes: NDArray[np.bool_],
    weight: NDArray[np.float64],
    unit: NDArray[np.float64],
    group: NDArray[np.intp] | None = None,
    mass: NDArray[np.float64] | None = None,
    sizes: Sequence[int] = (),
) -> list[RidgeLogistic]:
    """Average Laplace posteriors over the prior variance of the log odds."""
    # `successes` are (n_outputs, n_observations): one output for two classes, or one
    # for each class, with one softmax: each against all others, on its own, is much
    # surer than it is right. All classes occur. Weights of standardized columns are
    # normal a priori with one variance, and the constants have a flat density. `weight`
    # is that of an observation, `unit` that of one of its repeats, which is left out at
    # a time, or with its `group`. `mass` are known probabilities of the prior standard
    # deviations; None learns them. `sizes` are the numbers of inputs, the last ones, of
    # each column of categories: these are one column a priori, however many they are.
    # Source: MacKay, The evidence framework applied to classification networks, Neural
    # Computation 4, 1992.
    inputs = np.asarray(inputs, dtype=float)
    means = np.average(inputs, axis=0, weights=weight)
    variances = np.average((inputs - means) ** 2, axis=0, weights=weight)
    vary = variances > _RIDGE.min_variance
    starts = np.cumsum([0, *np.ones(inputs.shape[1] - sum(sizes), int), *sizes])
    blocks = list(map(slice, starts[:-1], starts[1:]))
    for block in blocks:
        variances[block] = variances[block].sum()
    scales = np.where(vary, np.sqrt(variances), np.inf)
    # In principal axes, which are fewer, the penalty is the same.
    left, values, axes = np.linalg.svd((inputs - means) / scales, full_matrices=False)
    length = np.sqrt(max(sum(vary[block].any() for block in blocks), 1))
    columns, back = left * values / length, axes / (length * scales)
    known = np.ones(len(_SPREADS), bool) if mass is None else mass > 0.0
    labels = _Labels(successes, weight, unit, group)
    posteriors = [_condition(spread * columns, labels) for spread in _SPREADS[known]]
    if mass is None:
        evidence = np.array([posterior.evidence for posterior, *_ in posteriors])
        learned: NDArray[np.float64] = np.exp(evidence - logsumexp(evidence))
        mass = learned
    average = partial(_average, _SPREADS[known], mass[known])
    given = {"mass": mass, "back": back, "means": means}
    return [average(own, **given) for own in zip(*posteriors, strict=True)]


def _average(
    spreads: NDArray[np.float64],
    probability: NDArray[np.float64],
    posteriors: Sequence["_Posterior"],
    mass: NDArray[np.float64],  # probabilities of all spreads
    back: NDArray[np.float64],  # from the principal axes to the inputs
    means: NDArray[np.float64],  # of the inputs
) -> RidgeLogistic:
    """Mixture of the posteriors of an output."""
    each = [s * p.weights @ back for s, p in zip(spreads, posteriors, strict=True)]
    variances = [
        s**2 * np.einsum("ij,ik,kj->j", back, p.covariance[:-1, :-1], back)
        for s, p in zip(spreads, posteriors, strict=True)
    ]
    weights = probability @ np.array(each)
    square = probability @ (np.array(variances) + np.square(each))
    joint = None
    if len(means) <= JOINT.max_joint:
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


class _Labels(NamedTuple):
    """What is observed, see `fit_ridge_logistic`."""

    successes: NDArray[np.bool_]
    weight: NDArray[np.float64]
    unit: NDArray[np.float64]
    group: NDArray[np.intp] | None


@dataclass(frozen=True)
class _Posterior:
    """Normal around the mode: weights of columns, then the constant."""

    weights: NDArray[np.float64]
    constant: float
    covariance: NDArray[np.float64]
    left_out: NDArray[np.float64]
    evidence: float


def _condition(columns: NDArray[np.float64], labels: _Labels) -> list[_Posterior]:
    """Posterior of each output, for a prior variance of 1."""
    wider = add_constant(columns)
    shape = len(labels.successes), wider.shape[1]
    mode = _find_mode(wider, labels).reshape(shape)
    latent = wider @ mode.T
    chances = _chances(latent)
    precision = _curvature(wider, labels.weight, chances)
    covariance = np.linalg.inv(precision).reshape(shape * 2)
    _, volume = np.linalg.slogdet(precision)
    weights = mode[:, :-1].ravel()
    evidence = float(
        _log_likelihood(latent, labels) - 0.5 * (weights @ weights + volume)
    )
    left_out = _leave_out(wider, latent, chances, covariance, labels)
    if len(mode) > 1:
        # What moves all outputs changes no probability, and is independent of the rest.
        covariance = covariance - covariance.mean(axis=0, keepdims=True)
    return [
        _Posterior(
            of_output[:-1],
            float(of_output[-1]),
            covariance[k, :, k],
            left_out[k],
            evidence,
        )
        for k, of_output in enumerate(mode)
    ]


def _leave_out(
    wider: NDArray[np.float64],
    latent: NDArray[np.float64],
    chances: NDArray[np.float64],
    covariance: NDArray[np.float64],
    labels: _Labels,
) -> NDArray[np.float64]:
    """Each output at each observation, without it or its group."""

    def covariance_of(some: NDArray[np.intp]) -> NDArray[np.float64]:
        blocks = [
            [wider[some] @ own for own in row] for row in covariance.swapaxes(1, 2)
        ]
        return np.array([[block @ wider[some].T for block in row] for row in blocks])

    slopes = _slopes(chances)
    pull = labels.successes - chances.T
    if labels.group is not None:
        slopes, pull = labels.weight * slopes, labels.weight * pull
        return leave_outputs_out(latent.T, covariance_of, slopes, pull, labels.group)
    variance = np.array(
        [
            [np.einsum("ij,ij->i", wider @ own, wider) for own in row]
            for row in covariance.swapaxes(1, 2)
        ]
    )
    slopes, pull = labels.unit * slopes, labels.unit * pull
    if len(pull) == 1:
        return leave_observations_out(latent.T, variance[0], slopes[0], pull)
    left = np.eye(len(pull))[..., None] - np.einsum("ijn,jkn->ikn", slopes, variance)
    step = np.linalg.solve(left.transpose(2, 0, 1), pull.T[..., None])[..., 0]
    return latent.T - np.einsum("ijn,nj->in", variance, step)


def _find_mode(wider: NDArray[np.float64], labels: _Labels) -> NDArray[np.float64]:
    """Penalized weights of each output, then its constant, to rounding."""
    # `LogisticRegression` stops earlier, where weights and repeats of rows differ. That
    # all constants of a softmax move together changes nothing: their sum is penalized.
    shape = len(labels.successes), wider.shape[1]

    def height(mode: NDArray[np.float64]) -> float:
        own = mode.reshape(shape)
        weights, total = own[:, :-1].ravel(), _sum_of_constants(own)
        fit = _log_likelihood(wider @ own.T, labels)
        return float(fit - 0.5 * weights @ weights - 0.5 * total**2)

    def newton_step(mode: NDArray[np.float64]) -> NDArray[np.float64]:
        own = mode.reshape(shape)
        chances = _chances(wider @ own.T)
        slope = (labels.weight * (labels.successes - chances.T)) @ wider
        slope[:, :-1] -= own[:, :-1]
        slope[:, -1] -= _sum_of_constants(own)
        return np.linalg.solve(_curvature(wider, labels.weight, chances), slope.ravel())

    return find_maximum(np.zeros(shape[0] * shape[1]), height, newton_step)


def _sum_of_constants(own: NDArray[np.float64]) -> float:
    """Sum of the constants of a softmax; zero for two classes."""
    return float(own[:, -1].sum()) if len(own) > 1 else 0.0


def _chances(latent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of the outputs, (n_observations, n_outputs)."""
    return expit(latent) if latent.shape[1] == 1 else softmax(latent, axis=1)


def _log_likelihood(latent: NDArray[np.float64], labels: _Labels) -> float:
    """Weighted log probability of what is observed."""
    if latent.shape[1] == 1:
        signs = np.where(labels.successes[0], 1.0, -1.0)
        return float(labels.weight @ log_expit(signs * latent[:, 0]))
    return float(labels.weight @ log_softmax(latent, axis=1)[labels.successes.T])


def _slopes(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Derivatives of the probabilities, (n_outputs, n_outputs, n_observations)."""
    own = np.eye(chances.shape[1])[..., None] - chances.T[:, None]
    return chances.T * own


def _curvature(
    wider: NDArray[np.float64],
    weight: NDArray[np.float64],
    chances: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Negative Hessian of the log posterior; the constants' density is flat."""
    n_outputs, n_columns = chances.shape[1], wider.shape[1]
    found = np.empty((n_outputs, n_columns, n_outputs, n_columns))
    for a, row in enumerate(_slopes(chances)):
        for b in range(a + 1):
            found[a, :, b] = (wider * (weight * row[b])[:, None]).T @ wider
            found[b, :, a] = found[a, :, b]
    if n_outputs > 1:
        found[:, -1, :, -1] += 1.0
    found = found.reshape(n_outputs * n_columns, -1)
    penalty = np.tile(np.append(np.ones(n_columns - 1), 0.0), n_outputs)
    found[np.diag_indices(len(found))] += penalty
    return found
