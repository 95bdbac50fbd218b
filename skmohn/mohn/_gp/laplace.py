"""Classes under the product prior: logistic likelihoods, by Laplace's approximation."""

# Each output has a latent function that a logistic link turns into the chance of a
# class; all share one covariance. The posterior is taken to be normal around its mode.
#
# Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
# Algorithms 3.1 and 5.1.

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from skmohn._core._fitting import tick
from skmohn._core._tuned import tuned
from skmohn._core._types import lapack
from skmohn.mohn._gp.covariance_function import GramMatrix, Prior
from skmohn.mohn._table.left_out import leave_observations_out
from skmohn.mohn._table.rows import Categorical, EncodedRows, members_of


@dataclass(frozen=True)
class LaplaceConstants:
    """Newton's method for the latent function of classes."""

    # Steps, and halvings of one; a few do.
    max_iter: int = tuned(50, "rounding")
    # Nats by which a step of Newton must raise the posterior of the latent function.
    tolerance: float = tuned(1e-8, "rounding")
    max_halvings: int = tuned(20, "rounding")
    # Of a class whose weights are next to nothing, or nearly all.
    min_class_prior: float = tuned(1e-12, "rounding")
    # Below, an observation tells rounding errors.
    min_observed_curvature: float = tuned(1e-12, "rounding")
    max_flat_curvature: float = tuned(1e-6, "rounding")


LAPLACE = LaplaceConstants()


class Mode(NamedTuple):
    """Mode of one latent function, and the curvature around it."""

    latent: np.ndarray  # (n_rows,); without the offset
    # (n_rows,); inverse covariance times `latent`: observed less expected successes.
    alpha: np.ndarray
    probability: np.ndarray  # (n_rows,); of a success
    # (n_rows, n_rows); inverse of the covariance and the inverse curvatures, ``R``.
    precision: np.ndarray
    variance: np.ndarray  # (n_rows,); posterior variances of the latent function
    evidence: float  # logarithm, but for binomial coefficients


def find_mode(
    covariance: NDArray[np.float64],
    successes: NDArray[np.float64],
    totals: NDArray[np.float64],
    offset: float,
    alpha: NDArray[np.float64] | None = None,
) -> Mode | None:
    """Find the most likely latent function by Newton's method."""

    # `successes` and `totals` are the weights of the observations of the class, and of
    # all, in each row. None where rounding leaves no positive covariance.
    def height(alpha: NDArray[np.float64], latent: NDArray[np.float64]) -> float:
        value = latent + offset
        fit = successes @ log_expit(value) + (totals - successes) @ log_expit(-value)
        return fit - 0.5 * alpha @ latent

    if alpha is None:
        alpha = np.zeros(len(successes))
    latent = covariance @ alpha
    best = height(alpha, latent)
    for _ in range(LAPLACE.max_iter):
        tick()
        probability = expit(latent + offset)
        root = np.sqrt(totals * probability * (1.0 - probability))
        factor, info = _factorize(covariance, root)
        if info:
            return None
        wanted = root**2 * latent + successes - totals * probability
        solved, _ = lapack.dpotrs(factor, root * (covariance @ wanted), lower=1)
        step = wanted - root * solved - alpha
        along = covariance @ step
        length = 1.0
        for _ in range(LAPLACE.max_halvings):
            value = height(alpha + length * step, latent + length * along)
            if value >= best:
                break
            length /= 2.0
        else:
            break
        gain, best = value - best, value
        alpha, latent = alpha + length * step, latent + length * along
        if gain < LAPLACE.tolerance * max(1.0, abs(best)):
            break
    probability = expit(latent + offset)
    # Rows whose class is certain have no curvature, by which groups are left out.
    curvature = totals * probability * (1.0 - probability)
    root = np.sqrt(np.maximum(curvature, LAPLACE.min_observed_curvature))
    factor, info = _factorize(covariance, root)
    if info:
        return None
    evidence = best - np.log(np.diagonal(factor)).sum()
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    own = np.diagonal(inverse).copy()
    # Its upper half is zero, as that of the factor.
    precision = inverse + inverse.T
    np.fill_diagonal(precision, own)
    precision *= root[:, None]
    precision *= root
    variance = _posterior_variance(covariance, precision, root, own)
    return Mode(
        latent,
        # At the mode; the steps' own sums have rounding errors.
        successes - totals * probability,
        probability,
        precision,
        np.maximum(variance, 0.0),
        evidence,
    )


def _factorize(
    covariance: NDArray[np.float64], root: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """Cholesky factor of 1 plus the scaled covariance, and LAPACK's status."""
    scaled = root[:, None] * covariance * root
    scaled.ravel()[:: len(root) + 1] += 1.0
    # The transpose of a symmetric matrix, in LAPACK's order.
    return lapack.dpotrf(scaled.T, lower=1, clean=1, overwrite_a=1)


def _posterior_variance(
    covariance: NDArray[np.float64],
    precision: NDArray[np.float64],
    root: NDArray[np.float64],
    inverse: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Variance of the latent function."""
    # `inverse` is the diagonal of that of 1 plus the scaled covariance.
    curvature = root**2
    variance = (1.0 - inverse) / np.maximum(curvature, LAPLACE.min_observed_curvature)
    # Where there is hardly any curvature, that is a difference of equal numbers.
    flat = np.flatnonzero(curvature < LAPLACE.max_flat_curvature)
    cross = covariance[flat]
    gain = np.einsum("ij,ij->i", cross @ precision, cross)
    variance[flat] = np.diagonal(covariance)[flat] - gain
    return variance


class LaplaceEvidence:
    """Approximate log evidence of classes as a function of the hyperparameters."""

    # The noise has no part in it.

    def __init__(
        self,
        rows: EncodedRows,  # distinct
        # (n_rows, n_classes); weights of the observations of each class in each row.
        counts: NDArray[np.float64],
        alphabets: tuple[Categorical, ...] = (),
    ) -> None:
        self.pairs = GramMatrix(rows, rows, alphabets)
        self.totals = counts.sum(axis=1)
        # Of two classes one says it all; of more, each is set against all others, which
        # says n_classes / (n_classes - 1) times as much as there is.
        n_classes = counts.shape[1]
        self.successes = counts[:, 1:] if n_classes == 2 else counts
        self.factor = 1.0 if n_classes == 2 else (n_classes - 1.0) / n_classes
        priors = self.successes.sum(axis=0) / self.totals.sum()
        priors = np.clip(priors, LAPLACE.min_class_prior, 1.0 - LAPLACE.min_class_prior)
        self.offsets = np.log(priors) - np.log1p(-priors)
        # Each climb takes small steps: the next mode is near.
        self._alphas: list[NDArray[np.float64] | None] = [None] * len(self.offsets)

    def mode(self, k: int, covariance: NDArray[np.float64]) -> Mode | None:
        """Mode of one output, see :func:`find_mode`."""
        mode = find_mode(
            covariance,
            self.successes[:, k],
            self.totals,
            self.offsets[k],
            self._alphas[k],
        )
        if mode is not None:
            self._alphas[k] = mode.alpha
        return mode

    def value_and_slope(self, prior: Prior) -> tuple[float, Any]:
        """Log evidence and its gradient in the logarithms of the hyperparameters."""
        product = self.pairs.product(prior)
        covariance = self.pairs.join(prior, product)
        value, outer = 0.0, np.zeros_like(covariance)
        for k in range(len(self.offsets)):
            mode = self.mode(k, covariance)
            if mode is None:
                return -np.inf, None
            value += self.factor * mode.evidence
            outer += self._outer(mode, covariance)
        slope = 0.5 * self.factor * self.pairs.slope(prior, product, outer)
        return value, np.append(slope, 0.0)

    def _outer(
        self, mode: Mode, covariance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Twice the gradient of one output's evidence in the covariance."""
        chance = mode.probability
        bend = self.totals * chance * (1.0 - chance) * (1.0 - 2.0 * chance)
        by_mode = -0.5 * mode.variance * bend
        by_mode -= mode.precision @ (covariance @ by_mode)
        cross = np.multiply.outer(by_mode, mode.alpha)
        outer = np.multiply.outer(mode.alpha, mode.alpha) - mode.precision
        return outer + cross + cross.T


def leave_one_out(
    mode: Mode,
    rows: NDArray[np.intp],
    is_success: NDArray[np.bool_],
    unit: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Means of the latent function at rows, each without one observation there."""
    # Without the offset. Each observation has a row, whether it is a success, and its
    # weight.
    probability, variance = mode.probability[rows], mode.variance[rows]
    curvature, pull = (
        unit * probability * (1.0 - probability),
        unit * (is_success - probability),
    )
    return leave_observations_out(mode.latent[rows], variance, curvature, pull)


def leave_groups_out(
    mode: Mode, totals: NDArray[np.float64], group: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Means of the latent function at rows, each without the data of its group."""
    # Around the mode the posterior is that of normal observations, whose variances are
    # the inverse curvatures: those of a group are left out at once. The means are
    # without the offset; `totals` are the weights of the observations in each row.
    curvature = totals * mode.probability * (1.0 - mode.probability)
    root = np.sqrt(np.maximum(curvature, LAPLACE.min_observed_curvature))
    means = np.empty(len(totals))
    for members in members_of(group):
        own = root[members]
        scaled = mode.precision[np.ix_(members, members)] / np.multiply.outer(own, own)
        shortfall = mode.alpha[members] / own
        gain = shortfall - np.linalg.solve(scaled, shortfall)
        means[members] = mode.latent[members] + gain / own
    return means
