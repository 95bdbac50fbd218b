"""Posterior of all sets of low orders."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from skmohn._core._rows import TILE, row_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.design import product_columns
from skmohn.mohn._design.products import ProductSum
from skmohn.mohn._models import (
    LISTING,
    PRIOR,
    Model,
    evaluate_within_cube,
    find_significant,
    noise_df,
    standard_ratios,
)
from skmohn.mohn._options import DeltaOptions
from skmohn.mohn._sparse.sobol import contrast_rows, split_variance
from skmohn.mohn._spike_slab.posterior import NormalPosterior
from skmohn.mohn._spike_slab.prior import SpikeSlab
from skmohn.mohn._table.rows import EncodedRows, count_observations
from skmohn.mohn._table.target import require_domain, sum_log_slope
from skmohn.mohn._table.variables import Contrast, Variable


@dataclass(frozen=True)
class OwnFitConstants:
    """Residuals of fitted rows."""

    # A row whose own fit leaves a smaller fraction of its error does not estimate it.
    min_residual_fraction: float = tuned(1e-9, "rounding")


_OWN_FIT = OwnFitConstants()


def find_discoveries(
    inclusion: NDArray,  # (n_weights,); probability that each is not zero
) -> NDArray[np.bool_]:
    """Mask of the likeliest weights, few of which are expected to be zero."""
    # These are the most of those likelier not zero, (n_weights,), whose mean
    # probability of being zero is at most the limit. Certain ones make no room
    # for those likelier zero.
    order = np.argsort(-inclusion, kind="stable")
    expected = np.cumsum(1.0 - inclusion[order]) / np.arange(1.0, len(order) + 1.0)
    is_found = np.zeros(len(order), dtype=bool)
    # Means of growing numbers grow: those within the rate come first.
    is_found[order[expected <= LISTING.max_mean_exclusion]] = True
    return is_found & (inclusion > 0.5)


@dataclass(frozen=True)
class Candidates:
    """Sets of inputs whose columns vary, and how these are standardized."""

    terms: tuple[Term, ...]  # by order
    means: NDArray[np.float64]  # (n_terms,); of the columns in the rows of the fit
    stds: NDArray[np.float64]  # (n_terms,)

    @cached_property
    def classes(self) -> list[slice]:
        """Sets of each order."""
        orders = np.array([len(term) for term in self.terms])
        ends = (np.flatnonzero(np.diff(orders, append=-1)) + 1).tolist()
        return [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    def columns(self, inputs: NDArray) -> NDArray[np.float64]:
        """Standardized columns of some rows, (n_terms, n_rows)."""
        columns = product_columns(inputs, self.terms).T
        return (columns - self.means[:, None]) / self.stds[:, None]


@dataclass(frozen=True)
class SpikeSlabModel(Model):
    """Posterior of a function with a spike-and-slab prior; see `Model` for its methods.

    Attributes
    ----------
    candidates : Candidates

    posterior : NormalPosterior
        Of the weights of the standardized columns and of the constant, which is the
        last, for the standardized target. The constant is divided by the square root of
        its variance, so that its prior is that of the weights.

    data : ndarray of shape (n_terms,)
        Means of the normal prior that replaces that of each weight.

    priors : tuple of SpikeSlab
        Of the sets of each order.

    y_mean, y_std : float
        The transformed target is ``center + scale * standardized``.

    n_inputs : int
        Number of inputs of the sets.

    evidence : float
        Log density of the targets.

    log_occam_factor : float
        Log Occam factor of the hyperparameters.

    n_observed : float
        Observations learned from.

    marginals : tuple of two ndarrays of shape (n_terms,), or None, default=None
        Inclusion and variance of the weights, averaged over runs or over samples. None
        after further observations.
    """

    candidates: Candidates
    posterior: NormalPosterior
    data: NDArray[np.float64]
    priors: tuple[SpikeSlab, ...]
    y_mean: float
    y_std: float  # pyright: ignore[reportIncompatibleMethodOverride]
    n_inputs: int
    evidence: float
    log_occam_factor: float
    n_observed: float
    marginals: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    # Terms that are not listed have weights, too.
    is_sparse = False

    @property
    def is_chosen(self) -> bool:
        """Whether the rows chose terms: without a spike they are all there."""
        return any(np.any(prior.inclusion < 1.0) for prior in self.priors)

    @property
    def noise_variance(self) -> float:
        """Variance of the noise of the standardized target."""
        return self.posterior.noise

    @cached_property
    def polynomial(self) -> WalshPolynomial:
        """Mean of the function, with the weights of all candidates."""
        candidates = self.candidates
        coef = self.y_std * self.posterior.mean[:-1] / candidates.stds
        constant = self._constant_unit * float(self.posterior.mean[-1])
        intercept = self.y_mean + self.y_std * constant
        intercept -= float(coef @ candidates.means)
        return WalshPolynomial(candidates.terms, coef, intercept)

    def to_product_sum(self) -> ProductSum:
        """Expand the mean, see `GPModel.to_product_sum`."""
        terms, coef = self.polynomial.terms, self.polynomial.weights
        low, high = np.ones((2, self.n_inputs, len(terms)))
        for k, term in enumerate(terms):
            low[list(term), k] = -1.0
        slopes = np.zeros(self.n_inputs)
        return ProductSum(coef, low, high, [], slopes, [], self.polynomial.intercept)

    @property
    def is_additive(self) -> bool:
        """Whether all weights are nonzero a priori, see `fit_additive`."""
        return all(bool(prior.inclusion[0] == 1.0) for prior in self.priors)

    @cached_property
    def beliefs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probability that each weight is not zero, and its standard deviation."""
        # Those of the fit, or for pseudo-data, which replace data without prior. If all
        # weights are nonzero a priori, it is one minus the two-sided p-value of the
        # sign.
        posterior, data = self.posterior, self.data
        if self.is_additive:
            stds = np.sqrt(posterior.variances()[:-1])
            ratio = np.abs(posterior.mean[:-1]) / stds
            return 1.0 - 2.0 * norm.sf(ratio), self.y_std * stds / self.candidates.stds
        if self.marginals is not None:
            inclusion, variance = self.marginals
            return inclusion, self.y_std * np.sqrt(variance) / self.candidates.stds
        both = 1.0 / posterior.variances()[:-1].mean()
        precision = max(both - posterior.precision, 1e-9 * both)
        pseudo = (both * posterior.mean[:-1] - posterior.precision * data) / precision
        inclusion, variance = np.empty((2, len(data)))
        for prior, members in zip(self.priors, self.candidates.classes, strict=True):
            found = prior.denoise(pseudo[members, None], np.array([1.0 / precision]))
            inclusion[members] = found.inclusion[:, 0]
            variance[members] = found.variance[:, 0]
        return inclusion, self.y_std * np.sqrt(variance) / self.candidates.stds

    @property
    def _significant(self) -> NDArray:
        """Mask of significant weights of an additive model."""
        means, stds = self.posterior.mean[:-1], np.sqrt(self.posterior.variances()[:-1])
        prior_stds = np.full(len(means), self.posterior.precision**-0.5)
        df = noise_df(self.n_observed, self.posterior.n_fitted())
        ratios = standard_ratios(means, stds, prior_stds)
        return find_significant(ratios, len(ratios), df)

    @property
    def _constant_unit(self) -> float:
        """Divisor of the weight of the constant."""
        return math.sqrt(PRIOR.constant_variance * self.posterior.precision)

    @property
    def is_bounded(self) -> bool:
        """Products are, and what grows exponentially with lines."""
        return self.is_transformed or self.polynomial.has_products

    def unbounded_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Sum of the terms, also beyond its bounds."""
        return self.polynomial.predict(rows.inputs)

    def latent_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Sum of all terms."""
        if self.is_bounded:
            return evaluate_within_cube(self.polynomial, rows)
        return self.unbounded_mean(rows)

    def latent_variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior variance of the function."""
        return self._variance_and_kept(rows, self._belief_scale)[0]

    def noise_variance_at(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Noise, the same for all rows."""
        return np.full(len(rows), self.noise_variance)

    def variances_at_map(
        self, rows: EncodedRows, precision: float | NDArray[np.float64] = 1.0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Variances at the hyperparameters."""
        variance, kept = self._variance_and_kept(rows)
        kept = 1.0 - precision * (1.0 - kept)
        noise = np.full(len(rows), self.noise_variance) / precision
        return (
            variance,
            noise,
            np.where(kept > _OWN_FIT.min_residual_fraction, kept, 0.0),
        )

    def given_covariance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Covariance of the function at the hyperparameters."""
        return self.posterior.covariance_at(self._columns(rows.inputs))

    def _variance_and_kept(
        self, rows: EncodedRows, scale: NDArray[np.float64] | float = 1.0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = np.empty((2, len(rows)))
        for part in row_slices((len(rows), len(self.data)), TILE):
            columns = self._columns(rows.inputs[part])
            found[:, part] = self.posterior.variance_at(scale * columns)
        return found[0], found[1]

    def _columns(self, inputs: NDArray) -> NDArray[np.float64]:
        """Columns of the weights and of the constant."""
        constant = np.full((1, len(inputs)), self._constant_unit)
        return np.concatenate([self.candidates.columns(inputs), constant])

    def sample_latent(
        self, rows: EncodedRows, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Joint draws of the function."""
        draws = np.repeat(self.latent_mean(rows)[:, None], n_draws, axis=1)
        apart = self.posterior.draw(n_draws, rng)
        apart *= self.y_std * self._belief_scale
        for part in row_slices((len(rows), len(self.data)), TILE):
            draws[part] += self._columns(rows.inputs[part]).T @ apart
        return draws

    def weight_posterior(self, term: Term) -> tuple[float, float]:
        """Mean and standard deviation of one weight: 0 and 0 for no candidate."""
        if term:
            (mean,), (std,) = self.weights_of([term])
            return float(mean), float(std)
        # The constant is the function where all products of inputs are zero.
        at_zero = -self.candidates.means / self.candidates.stds
        columns = np.append(at_zero, self._constant_unit)[:, None]
        (variance,), _ = self.posterior.variance_at(columns)
        return self.polynomial.intercept, self.y_std * math.sqrt(variance)

    def weights_of(
        self, terms: list[Term]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and standard deviations of weights but the constant."""
        index = {term: j for j, term in enumerate(self.candidates.terms)}
        means, stds = np.zeros((2, len(terms)))
        for k, term in enumerate(terms):
            if (j := index.get(tuple(term))) is not None:
                means[k], stds[k] = self.polynomial.weights[j], self.beliefs[1][j]
        return means, stds

    def significant_terms(
        self, max_order: int | None = None
    ) -> tuple[WalshPolynomial, NDArray[np.float64]]:
        """Weights that are likely nonzero, and their standard deviations."""
        # Those of `find_discoveries`; for an additive model, those that are
        # significant, as of other models of all weights.
        inclusion, stds = self.beliefs
        graph, highest = self.polynomial, max_order or math.inf
        is_allowed = np.fromiter((len(t) <= highest for t in graph.terms), dtype=bool)
        if self.is_additive:
            is_listed = self._significant & is_allowed
        else:
            is_listed = find_discoveries(inclusion * is_allowed)
        kept = np.flatnonzero(is_listed)
        terms = tuple(graph.terms[j] for j in kept)
        return WalshPolynomial(terms, graph.weights[kept], graph.intercept), stds[kept]

    def relevance(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probability that each input is in a term whose weight is not zero."""
        n_inputs = self.n_inputs
        absent = np.zeros(n_inputs)
        left = np.log1p(-np.minimum(self.beliefs[0], 1.0 - 1e-16))
        for term, log_absent in zip(self.candidates.terms, left, strict=True):
            absent[list(term)] += log_absent
        return -np.expm1(absent), np.empty(0)

    def sobol_variances(
        self, variables: list[Variable]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Sums of squares, see :func:`~skmohn.mohn._sparse.sobol.split_variance`."""
        return split_variance(self.polynomial, variables)

    def contrasts(
        self, variables: list[Variable], wanted: Sequence[Contrast]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes where all other inputs are at their means, and their posterior."""
        start, end = contrast_rows(self.n_inputs, variables, wanted)
        means = self.polynomial.predict(end) - self.polynomial.predict(start)
        stds, scale = np.empty(len(wanted)), self._belief_scale
        for part in row_slices((len(wanted), len(self.data))):
            columns = self._columns(end[part]) - self._columns(start[part])
            stds[part] = np.sqrt(self.posterior.variance_at(scale * columns)[0])
        return means, self.y_std * stds

    @cached_property
    def _belief_scale(self) -> NDArray[np.float64]:
        """Standard deviations of weights by those of the normal, (n_weights, 1)."""
        # One normal prior for all gives each of many weights a part of the variance
        # that few of them have: correlations are its own, but not standard deviations.
        own = self.y_std * np.sqrt(self.posterior.variances()[:-1])
        scale = np.ones(len(own) + 1)
        believed = self.beliefs[1] * self.candidates.stds
        np.divide(believed, own, out=scale[:-1], where=own > 0.0)
        return scale[:, None]

    def split(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Contributions of the terms, divided equally among their inputs."""
        graph = self.polynomial
        orders = np.diff(graph.indptr)
        values = rows.inputs[0].astype(float)[graph.members]
        parts = graph.weights * np.multiply.reduceat(values, graph.indptr[:-1]) / orders
        split = np.zeros(self.n_inputs)
        np.add.at(split, graph.members, np.repeat(parts, orders))
        return split

    def function_variance(self, variables: list[Variable]) -> float:
        """Variance of the standardized mean over independent inputs."""
        variance, _, _ = split_variance(self.polynomial, variables)
        unit = power_of_two_scale(self.polynomial.weights)
        return float(variance) * (unit / self.y_std) ** 2

    def log_evidence(self) -> float:
        """Log density of the targets at the hyperparameters that were learned."""
        return self.evidence

    def description_length(self) -> float:
        """Nats of the data and of the choice of the hyperparameters."""
        return -self.evidence - self.log_occam_factor

    def update(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        control: DeltaOptions,
    ) -> Self:
        """Condition on further observations; the hyperparameters stay."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        require_domain(self.transform, y)
        target = (self.transform.forward(y) - self.y_mean) / self.y_std
        posterior = self.posterior
        for part in row_slices((len(y), len(self.data))):
            columns = self._columns(rows.inputs[part])
            posterior = posterior.update(columns, target[part], weight[part])
        count = count_observations(weight)
        gained = posterior.log_density - self.posterior.log_density
        # Whole weights are repeats, whose spread around their mean is zero.
        repeats = count - 1.0
        gained -= 0.5 * repeats.sum() * math.log(2.0 * math.pi * self.noise_variance)
        gained -= 0.5 * float(np.log(weight) @ (repeats > 0.0))
        gained -= count.sum() * math.log(self.y_std)
        gained += sum_log_slope(self.transform, y, sample_weight)
        return replace(
            self,
            posterior=posterior,
            evidence=self.evidence + float(gained),
            n_observed=self.n_observed + float(count.sum()),
            marginals=None,
        ).with_targets(y)
