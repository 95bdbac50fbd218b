"""Variance of predictions by the uncertainty of the hyperparameters."""

# With few rows many hyperparameters are nearly as likely as the best ones. Their
# posterior is taken to be normal with the curvature at the maximum (Laplace), and the
# posterior mean of the function to be linear in them.
#
# Source: Garnett, Osborne and Hennig, Active learning of linear embeddings for Gaussian
# processes, UAI 2014, section 4.

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse import csr_array

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._gp.covariance_function import FixedInputs, GramMatrix, Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.hypercube import WalshPosterior
from skmohn.mohn._gp.marginal_likelihood import (
    LOG_BOUNDS,
    AggregatedData,
    Evidence,
    density_curvature,
    log_density,
)
from skmohn.mohn._gp.nystroem import NystroemPosterior
from skmohn.mohn._gp.sobol import PairVariance
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._models import occam_factor
from skmohn.mohn._table.rows import Categorical, EncodedRows, row_blocks
from skmohn.mohn._table.variables import Contrast, Variable

# Of all weights given the data, by each inference.
Posterior: TypeAlias = ExactPosterior | WalshPosterior | NystroemPosterior


@dataclass(frozen=True)
class UncertaintyConstants:
    """Posterior of the hyperparameters."""

    # Beyond, hyperparameters are known well enough, and this costs more than the fit.
    max_rows_uncertain: int = tuned(200, "cost")
    max_axes: int = tuned(20, "benchmarks/ablation.py")
    # Each axis takes two Cholesky factors. For each that is kept so many are tried:
    # those that change the function most by the slopes of its fitted values.
    n_tried_per_axis: int = tuned(2, "cost")
    # Of finite differences of gradients.
    difference_step: float = tuned(1e-4, "rounding")
    # Directions along which the evidence is looked at, a gradient for each: where there
    # are more, those that change the fitted values most.
    max_directions: int = tuned(60, "cost")
    # Curvature of the weakest density that a hyperparameter has but for the flat one.
    min_curvature: float = tuned(1.0, "benchmarks/ablation.py")


UNCERTAINTY = UncertaintyConstants()


@dataclass(frozen=True)
class HyperparameterUncertainty:
    """Posteriors at hyperparameters to both sides of the best ones."""

    # Half a standard deviation up and down along the principal axes that change the
    # function most.
    pairs: tuple

    def slopes(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Change of the function's mean over one standard deviation of each axis."""
        slopes = np.empty((len(rows), len(self.pairs)))
        for part in row_blocks(len(rows)):
            block = rows.take(part)
            for j, (up, down) in enumerate(self.pairs):
                slopes[part, j] = up.latent_mean(block) - down.latent_mean(block)
        return slopes

    def variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Variance of the mean of the function, ndarray of shape (n_rows,)."""
        return np.sum(self.slopes(rows) ** 2, axis=1)

    def variance_of_weights(self, terms: Sequence[Term]) -> NDArray[np.float64]:
        """Variances of the means of weights, (n_terms,)."""
        # Categories of categoricals are numbered after the inputs, see
        # `Covariance.split`.
        variance = np.zeros(len(terms))
        for up, down in self.pairs:
            variance += (up.means_of(terms) - down.means_of(terms)) ** 2
        return variance

    def variance_of_contrasts(
        self, variables: list[Variable], wanted: Sequence[Contrast]
    ) -> NDArray[np.float64]:
        """Variances of the means of contrasts, see `PairVariance.contrasts`."""
        variance = np.zeros(len(wanted))
        for pair in self.pairs:
            up, down = (contrasts_of(part, variables, wanted)[0] for part in pair)
            variance += (up - down) ** 2
        return variance

    def update(self, more: AggregatedData) -> "HyperparameterUncertainty":
        """Condition on a further sample at the same hyperparameters."""
        return HyperparameterUncertainty(
            tuple((up.update(more), down.update(more)) for up, down in self.pairs)
        )


def contrasts_of(
    posterior: Posterior, variables: list[Variable], wanted: Sequence[Contrast]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Posterior means and variances of contrasts, see `PairVariance.contrasts`."""
    rows, alpha = posterior.dual_coefficients()
    sums = PairVariance(posterior.covariance, rows, alpha, variables)
    cross, prior = sums.contrasts(wanted)
    return cross.T @ alpha, posterior.spread(cross, prior)


def marginalize_hyperparameters(
    posterior: ExactPosterior, n_rows: int
) -> tuple[HyperparameterUncertainty, float] | tuple[None, float]:
    """Uncertainty of the hyperparameters of a posterior, and its log-evidence gain."""
    # The posterior is of few rows, the hyperparameters were learned from
    # `n_rows`. None when there are too many of them. The gain is the log evidence over
    # all less that at the best ones.
    covariance, sample = posterior.covariance, posterior.sample
    best, n_inputs = covariance.prior.to_logs(), len(covariance.prior.ard_rates)
    curvature = EvidenceCurvature.around(posterior)
    row_ratio, basis, slopes = n_rows / len(sample), curvature.basis, curvature.slopes
    log_occam_factor = curvature.log_occam_factor(row_ratio)
    if n_rows > UNCERTAINTY.max_rows_uncertain:
        return None, log_occam_factor
    spread, axes = np.linalg.eigh(curvature.by_data * row_ratio + curvature.by_density)
    spread = 1.0 / np.sqrt(np.maximum(spread, UNCERTAINTY.min_curvature))

    def moved(shift: NDArray[np.float64]) -> ExactPosterior:
        logs = np.clip(best + shift @ basis, *LOG_BOUNDS)
        there = replace(covariance, prior=Prior.from_logs(logs, n_inputs))
        gram = curvature.around_best.gram(there, sample.rows)
        return ExactPosterior.condition(there, sample, gram)

    steps = spread * axes
    expected = np.argsort(-np.sum((slopes @ steps) ** 2, axis=0))
    tried = np.sort(expected[: UNCERTAINTY.n_tried_per_axis * UNCERTAINTY.max_axes])
    pairs = [(moved(0.5 * step), moved(-0.5 * step)) for step in steps.T[tried]]
    change = [np.mean((up.fitted() - down.fitted()) ** 2) for up, down in pairs]
    kept = np.argsort(change)[::-1][: UNCERTAINTY.max_axes]
    return HyperparameterUncertainty(tuple(pairs[j] for j in kept)), log_occam_factor


class Neighborhood:
    """Evidence at hyperparameters of which few differ from the best ones."""

    # Inputs whose rates do not differ are compared once: of thousands, most are.
    def __init__(
        self,
        posterior: ExactPosterior,  # at the best hyperparameters
        basis: NDArray[np.float64],  # (n_directions, n_logs); where others lie
    ) -> None:
        covariance, sample = posterior.covariance, posterior.sample
        prior, alphabets = covariance.prior, covariance.alphabets
        n_inputs = len(prior.ard_rates)
        differs = basis[:, :n_inputs].any(axis=0)
        self._inputs = np.flatnonzero(differs)
        self.logs = np.append(self._inputs, np.arange(n_inputs, basis.shape[1]))
        fixed = None
        if len(self._inputs) < n_inputs:
            fixed = FixedInputs.of(sample.rows, prior, np.flatnonzero(~differs))
            inputs = sample.rows.inputs[:, self._inputs]
            sample = replace(sample, rows=replace(sample.rows, inputs=inputs))
        self.evidence = Evidence(sample, alphabets, fixed=fixed)

    @property
    def is_whole(self) -> bool:
        """Whether all rates differ."""
        return self.evidence.pairs.fixed is None

    def gram(self, covariance: Covariance, rows: EncodedRows) -> NDArray[np.float64]:
        """Covariance of the rows of the sample, with all their inputs."""
        prior = covariance.prior
        own = prior._replace(ard_rates=prior.ard_rates[self._inputs])
        return covariance.add_terms(self.evidence.pairs.covariance(own), rows, rows)


class EvidenceCurvature(NamedTuple):
    """Changes of fit and evidence with the hyperparameters, around the best ones."""

    basis: np.ndarray  # (n_directions, n_logs)
    # (n_directions, n_directions); negative Hessian of the log evidence.
    by_data: np.ndarray
    by_density: np.ndarray  # (n_directions, n_directions); that of the density
    density: float  # of the hyperparameters, logarithm
    slopes: np.ndarray  # (n_rows * n_targets, n_directions); of the fitted values
    # (n_others,); other directions: curvature by the data over the density's.
    ratios: np.ndarray
    around_best: Neighborhood

    @classmethod
    def around(cls, posterior: ExactPosterior) -> Self:
        """Look around the hyperparameters of a posterior of one target or several."""
        covariance = posterior.covariance
        best = covariance.prior.to_logs()
        n_inputs, alphabets = len(covariance.prior.ard_rates), covariance.alphabets
        basis, others = _split_directions(posterior, _directions(n_inputs, alphabets))
        around_best = Neighborhood(posterior, basis)
        gradient, by_data, slopes = _curvature(around_best, best, basis)
        if not around_best.is_whole:
            evidence = Evidence(posterior.sample, alphabets)
            gradient = evidence.slopes([covariance.prior])[0][0]
        of_density = density_curvature(n_inputs, alphabets)
        # Of inputs that hardly matter the log evidence is a line in their rates: in the
        # logarithms its curvature is minus its slope.
        own = (others @ of_density).multiply(others).sum(axis=1)
        return cls(
            basis,
            by_data,
            basis @ of_density @ basis.T,
            log_density(best, n_inputs, alphabets)[0],
            slopes,
            -(others @ gradient) / own,
            around_best,
        )

    def gain_by_chance(self, row_ratio: float = 1.0) -> float:
        """Nats that the best hyperparameters gain although others are true."""
        # Half of the number of hyperparameters that the data determine, for `row_ratio`
        # times as many rows.
        ratios = np.append(eigvalsh(self.by_data, self.by_density), self.ratios)
        ratios = row_ratio * np.maximum(ratios, 0.0)
        return 0.5 * float(np.sum(ratios / (1.0 + ratios)))

    def log_occam_factor(self, row_ratio: float = 1.0) -> float:
        """Log evidence over all hyperparameters less that at the best ones."""
        # For `row_ratio` times as many rows as here.
        log_occam_factor = occam_factor(
            self.density, self.by_density, self.by_data * row_ratio
        )
        ratios = np.maximum(row_ratio * self.ratios, 0.0)
        return log_occam_factor - 0.5 * float(np.sum(np.log1p(ratios)))


def _directions(n_inputs: int, alphabets: tuple[Categorical, ...]) -> csr_array:
    """Directions of the logarithms: one each, but one for all levels of a column."""
    # Levels differ little among each other, and there are many of them.
    groups = [*range(n_inputs)]
    for size, is_ordered, _ in alphabets:
        first = groups[-1] + 1 if groups else 0
        groups += [first] * size if is_ordered else range(first, first + size)
    first = groups[-1] + 1 if groups else 0
    groups += range(first, first + 3)
    shape = first + 3, len(groups)
    return csr_array((np.ones(len(groups)), (groups, range(len(groups)))), shape)


def _split_directions(
    posterior: ExactPosterior, basis: csr_array
) -> tuple[NDArray[np.float64], Any]:
    """Split directions: those that change the fitted values most, and the others."""
    # The direction of the noise is among them; the others are returned apart.
    n_directions = len(basis.indptr) - 1
    if n_directions <= UNCERTAINTY.max_directions:
        return basis.toarray(), basis[:0]
    change = np.sum((_fitted_slopes(posterior) @ basis[:-1, :-1].T) ** 2, axis=0)
    order = np.append(np.argsort(change), n_directions - 1)
    others, kept = np.split(order, [n_directions - UNCERTAINTY.max_directions])
    return basis[np.sort(kept)].toarray(), basis[np.sort(others)]


def _fitted_slopes(posterior: ExactPosterior) -> NDArray[np.float64]:
    """Slopes of the fitted values in all logarithms but that of the noise."""
    # They are ``N K^-1 dK K^-1 y``, with N the noise and dK the slope of the
    # covariance: for each row a sum over all pairs of rows.
    covariance, sample = posterior.covariance, posterior.sample
    prior = covariance.prior
    pairs = GramMatrix(sample.rows, sample.rows, covariance.alphabets)
    product = pairs.product(prior)
    weights = posterior.solve(np.diag(sample.noise(prior)))
    alpha = posterior.alpha
    if alpha.ndim > 1:
        # The expected square of a sum with signs by chance is the sum of the squares.
        alpha = alpha @ np.random.default_rng(0).choice([-1.0, 1.0], alpha.shape[1])
    return pairs.slopes(prior, product, weights.T, alpha)


def _curvature(
    around_best: Neighborhood, best: NDArray[np.float64], basis: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Derivatives of evidence and fitted values along directions of the logarithms."""
    # Returned are the gradient in those that differ, the negative Hessian along the
    # directions, and the slopes of the fitted values, (n_rows * n_targets,
    # n_directions), without strong terms.
    evidence, logs = around_best.evidence, around_best.logs
    n_inputs = evidence.sample.rows.inputs.shape[1]
    best, basis = best[logs], basis[:, logs]

    def look(
        logs: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradients of the evidence, and residuals of the fits."""
        return evidence.slopes([Prior.from_logs(x, n_inputs) for x in logs])

    # To one side: a gradient for each direction is most of the cost of a small fit.
    moved, here = look(best + UNCERTAINTY.difference_step * basis), look(best[None])
    change, left = (there - part for there, part in zip(moved, here, strict=True))
    hessian = change @ basis.T
    return (
        here[0][0],
        -(hessian + hessian.T) / (2.0 * UNCERTAINTY.difference_step),
        -left.T / UNCERTAINTY.difference_step,
    )
