"""Bayesian linear regression on the weights of a sparse model."""

# The terms are taken as given. Their weights are independent a priori with one
# variance, which like the noise maximizes the evidence; the constant has the variance
# that it has in the product prior, so that the evidences of both models compare.
#
# Source: Bishop, Pattern Recognition and Machine Learning, 2006, Eq 3.54 and 3.86.

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.design import DenseDesign, Design
from skmohn.mohn._design.terms import choice_length
from skmohn.mohn._models import (
    PRIOR,
    Model,
    NoPosteriorError,
    evaluate_within_cube,
    occam_factor,
    residual_fraction,
)
from skmohn.mohn._options import DeltaOptions
from skmohn.mohn._sparse.exact_fit import rounding_variance
from skmohn.mohn._sparse.linear_solvers import delta_rule, longest_step
from skmohn.mohn._sparse.sobol import contrast_rows, split_variance
from skmohn.mohn._table.rows import (
    EncodedRows,
    count_observations,
    row_blocks,
    standardize,
)
from skmohn.mohn._table.variables import Contrast, Variable


@dataclass(frozen=True)
class NoiseSearchConstants:
    """Search of the variances of a sparse model."""

    # Log variances relative to the target's: bounds of the weights', and the largest
    # noise.
    log_variance_bounds: tuple[float, float] = tuned((-30.0, 10.0), "rounding")
    max_log_noise: float = tuned(5.0, "rounding")


_NOISE_SEARCH = NoiseSearchConstants()


@dataclass(frozen=True)
class SparseModel(Model):
    """Function with few weights and, if it exists, their posterior.

    See `Model` for its methods.

    Attributes
    ----------
    polynomial : WalshPolynomial
        The model; its weights are the means.

    factor : ndarray of shape (n_terms + 1, n_terms + 1) or None
        Lower triangle: Cholesky factor of the inverse covariance of constant and
        weights, for the standardized target. None where they are certain.

    noise_variance : float
        Variance of the noise of the standardized target.

    evidence : float
        Log density of the targets; infinite without noise.

    y_std : float
        Standard deviation of the target.

    log_occam_factor : float, default=0.0
        Log Occam factor of both fitted variances.

    variance_factor : float, default=1.0
        Factor of variances, as the noise is estimated from few observations (variance
        of Student's t distribution), or as held-out rows have larger errors.

    choices : float, default=0.0
        Nats for naming the terms among all possible ones.
    """

    polynomial: WalshPolynomial
    factor: np.ndarray | None
    noise_variance: float  # pyright: ignore[reportIncompatibleMethodOverride]
    evidence: float
    y_std: float  # pyright: ignore[reportIncompatibleMethodOverride]
    log_occam_factor: float = 0.0
    variance_factor: float = 1.0
    choices: float = 0.0
    # The graph has all weights.
    is_sparse = True

    @property
    def is_chosen(self) -> bool:
        """Whether the rows chose terms."""
        return bool(len(self.polynomial.terms))

    @classmethod
    def point(cls, graph: WalshPolynomial) -> "SparseModel":
        """Model whose weights have unknown standard errors."""
        scale = power_of_two_scale(graph.weights)
        return cls(graph, None, math.nan, math.nan, scale, has_posterior=False)

    @classmethod
    def certain(cls, graph: WalshPolynomial) -> "SparseModel":
        """Model that reproduces every sample."""
        return cls(graph, None, 0.0, math.inf, power_of_two_scale(graph.weights))

    @classmethod
    def condition(
        cls,
        graph: WalshPolynomial,
        design: Design,
        y: NDArray[np.float64],
        left_out: float = 0.0,
    ) -> "SparseModel":
        """Condition on samples, whose y is not constant. O(n_terms^3)."""
        # `left_out` is the RMSE of rows from which neither terms nor weights were
        # chosen. A smaller predictive standard deviation is raised to it: terms chosen
        # by the same rows fit them too well, and the posterior ignores alternative
        # terms.
        columns: Any = design.columns([(), *graph.terms])
        gram = design.gram(columns, columns)
        standard, _, scale = standardize(y, design.weights)
        target = design.project(columns, standard)
        min_noise_variance = max(PRIOR.min_noise_variance, rounding_variance(standard))
        spread, noise, evidence = _maximize_evidence(gram, target, min_noise_variance)
        precision = gram / noise
        own = np.full(len(gram), 1.0 / spread)
        own[0] = 1.0 / PRIOR.constant_variance
        precision.ravel()[:: len(gram) + 1] += own
        factor = cho_factor(precision, lower=True)[0]
        evidence -= design.weight_sum * math.log(scale)
        if design.weights is not None and not _are_whole(design.weights):
            evidence += 0.5 * float(np.sum(np.log(design.weights)))
        log_occam_factor = _charge(spread, noise, len(graph.terms), design.weight_sum)
        variance_factor = _student_variance(design.weight_sum - len(graph.terms) - 1)
        known = np.trace(cho_solve((factor, True), gram)) / design.weight_sum
        variance_factor = max(
            variance_factor, (left_out / scale) ** 2 / (noise + known)
        )
        choices = choice_length(graph.terms, design.n_features, design.variants)
        return cls(
            graph,
            factor,
            noise,
            evidence,
            scale,
            log_occam_factor,
            variance_factor,
            choices,
        )

    @property
    def is_bounded(self) -> bool:
        """Terms of exact models, and of least squares alone, hold anywhere."""
        # So do lines, as in ridge regression: products of inputs grow faster.
        return self.factor is not None and self.polynomial.has_products

    def unbounded_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Sum of the terms, also beyond its bounds."""
        return self.polynomial.predict(rows.inputs)

    def latent_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Sum of the terms."""
        if self.is_bounded:
            return evaluate_within_cube(self.polynomial, rows)
        return self.unbounded_mean(rows)

    def sobol_variances(
        self, variables: list[Variable]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Sums of squares, see :func:`~skmohn.mohn._sparse.sobol.split_variance`."""
        return split_variance(self.polynomial, variables)

    def contrasts(
        self, variables: list[Variable], wanted: Sequence[Contrast]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes where all other inputs are at their means, and their posterior."""
        start, end = contrast_rows(self.polynomial.n_variables, variables, wanted)
        means = self.polynomial.predict(end) - self.polynomial.predict(start)
        stds = np.full(len(wanted), np.nan)
        if self.has_posterior:
            stds = np.zeros(len(wanted))
        if self.factor is not None:
            columns = self._columns(end) - self._columns(start)
            half = solve_triangular(self.factor, columns, lower=True)
            stds = (
                np.linalg.norm(half, axis=0)
                * self.y_std
                * math.sqrt(self.variance_factor)
            )
        return means, stds

    def update(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        control: DeltaOptions,
    ) -> "SparseModel":
        """Condition on further observations, or correct weights by the delta rule."""
        if self.factor is not None and control.learning_rate == "auto":
            return self._condition_further(rows, y, sample_weight)
        # One epoch, in the order of rows. The new model has no posterior; its noise is
        # the error before each correction.
        graph = self.polynomial
        unit = power_of_two_scale(np.concatenate([y, graph.weights, [graph.intercept]]))
        rate, longest = control.learning_rate, np.inf
        if rate == "auto":
            # Later rows may weigh more: each step is clipped by itself, in any batch.
            rate = longest = longest_step(len(graph.weights))
        fit = delta_rule(
            rows.inputs,
            y / unit,
            graph.terms,
            graph.weights / unit,
            graph.intercept / unit,
            learning_rate=rate,
            longest=longest,
            sample_weight=sample_weight,
        )
        corrected = WalshPolynomial(graph.terms, unit * fit.coef, unit * fit.intercept)
        noise = float(fit.rmse[-1]) ** 2
        return replace(self.point(corrected), noise_variance=noise, y_std=unit)

    def _condition_further(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
    ) -> "SparseModel":
        """Condition on further observations; terms and variances stay."""
        graph, noise = self.polynomial, self.noise_variance
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        residual = (y - graph.predict(rows.inputs)) / self.y_std
        before = np.tril(self.factor)
        precision, target = before @ before.T, np.zeros(len(before))
        for part in row_blocks(len(rows)):
            columns = self._columns(rows.inputs[part])
            weighted = columns * (weight[part] / noise)
            precision += weighted @ columns.T
            target += weighted @ residual[part]
        factor = cho_factor(precision, lower=True)[0]
        shift = cho_solve((factor, True), target)
        count = count_observations(weight)
        gained = target @ shift - weight @ residual**2 / noise
        # Squares of tiny and of huge units are out of range.
        log_variance = math.log(2.0 * math.pi * noise) + 2.0 * math.log(self.y_std)
        gained -= count.sum() * log_variance
        # Whole weights are repeats, others precisions.
        gained += np.log(weight) @ (count != weight)
        gained -= 2.0 * np.sum(np.log(np.diagonal(factor) / np.diagonal(before)))
        moved = WalshPolynomial(
            graph.terms,
            graph.weights + self.y_std * shift[1:],
            graph.intercept + self.y_std * float(shift[0]),
        )
        evidence = self.evidence + 0.5 * float(gained)
        model = replace(self, polynomial=moved, factor=factor, evidence=evidence)
        return model.with_targets(y)

    def significant_terms(
        self, max_order: int | None = None
    ) -> tuple[WalshPolynomial, NDArray[np.float64]]:
        """All weights and their standard deviations."""
        if not self.has_posterior:
            return self.polynomial, np.full(len(self.polynomial.weights), np.nan)
        errors = [self.weight_posterior(term)[1] for term in self.polynomial.terms]
        return self.polynomial, np.array(errors)

    def relevance(self) -> NoReturn:
        """Relevance of inputs, which only a model of all weights has: an error."""
        raise AttributeError(
            "relevance_ needs a Gaussian process, but the sparse one was chosen: see "
            'terms_, or fit with strategy="gp"'
        )

    def log_evidence(self) -> float:
        """Log density of the targets at the variances of maximum evidence."""
        self._require_posterior()
        return self.evidence

    def description_length(self) -> float:
        """Nats of the data and of the choices of terms and variances."""
        return self.choices + self.data_description_length()

    def data_description_length(self) -> float:
        """Nats of the data and of the choice of variances, given the terms."""
        self._require_posterior()
        return -self.evidence - self.log_occam_factor

    def latent_variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior variance, with its uncertainty factor."""
        return self.variance_factor * self.variances_at_map(rows)[0]

    def variances_at_map(
        self, rows: EncodedRows, precision: float | NDArray[np.float64] = 1.0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Variances at the hyperparameters of maximum evidence."""
        self._require_posterior()
        function = np.zeros(len(rows))
        if self.factor is not None:
            for part in row_blocks(len(rows)):
                columns = self._columns(rows.inputs[part])
                half = solve_triangular(self.factor, columns, lower=True)
                function[part] = np.einsum("ij,ij->j", half, half)
        noise = np.full(len(rows), self.noise_variance) / precision
        return function, noise, residual_fraction(function, noise)

    def given_covariance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Covariance of the function at the hyperparameters of maximum evidence."""
        self._require_posterior()
        if self.factor is None:
            return np.zeros((len(rows), len(rows)))
        columns = self._columns(rows.inputs)
        half = solve_triangular(self.factor, columns, lower=True)
        return half.T @ half

    def noise_variance_at(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Noise with its uncertainty factor, the same for all rows."""
        self._require_posterior()
        return np.full(len(rows), self.variance_factor * self.noise_variance)

    def sample_latent(
        self, rows: EncodedRows, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Joint draws of the function."""
        self._require_posterior()
        draws = np.repeat(self.latent_mean(rows)[:, None], n_draws, axis=1)
        if self.factor is not None:
            normal = rng.standard_normal((len(self.factor), n_draws))
            weights = solve_triangular(self.factor, normal, lower=True, trans=1)
            weights *= self.y_std * math.sqrt(self.variance_factor)
            draws += self._columns(rows.inputs).T @ weights
        return draws

    def weight_posterior(self, term: Term) -> tuple[float, float]:
        """Mean and standard deviation of one weight: 0 and 0 outside of the model."""
        self._require_posterior()
        terms = [(), *self.polynomial.terms]
        if term not in terms:
            return 0.0, 0.0
        j = terms.index(term)
        mean = float(np.append(self.polynomial.intercept, self.polynomial.weights)[j])
        if self.factor is None:
            return mean, 0.0
        unit = np.zeros(len(terms))
        unit[j] = 1.0
        half = solve_triangular(self.factor, unit, lower=True)
        return mean, self.y_std * math.sqrt(self.variance_factor) * float(
            np.linalg.norm(half)
        )

    def _require_posterior(self) -> None:
        if not self.has_posterior:
            raise NoPosteriorError("the standard errors of these weights are not known")

    def _columns(self, inputs: NDArray) -> NDArray[np.float64]:
        used = np.unique(self.polynomial.members).tolist()
        index = {i: k for k, i in enumerate(used)}
        terms = [tuple(index[i] for i in term) for term in self.polynomial.terms]
        return DenseDesign(inputs[:, used]).columns([(), *terms])


def _charge(spread: float, noise: float, n_terms: int, n_observed: float) -> float:
    """Occam factor of both variances, that of all terms as a GP's signal variance."""
    parts = [(noise, PRIOR.log_noise_variance, n_observed)]
    if n_terms:
        parts.append((spread * n_terms, PRIOR.log_signal_variance, n_terms))
    variances, densities, known_from = zip(*parts, strict=True)
    centers, deviations = np.transpose(densities)
    differences = (np.log(variances) - centers) / deviations
    return occam_factor(
        -0.5 * float(differences @ differences),
        np.diag(deviations**-2.0),
        0.5 * np.diag(known_from),
    )


def _student_variance(spare: float) -> float:
    """Variance of Student's t with at least three degrees of freedom."""
    spare = max(spare, 3.0)
    return spare / (spare - 2.0)


def _are_whole(weights: NDArray[np.float64]) -> bool:
    """Whether weights count repeated rows."""
    return bool(np.all(weights == np.rint(weights)))


def _maximize_evidence(
    gram: NDArray[np.float64], target: NDArray[np.float64], min_noise_variance: float
) -> tuple[float, float, float]:
    """Variances of weights and noise of maximum evidence, and the log density there."""
    # `gram` has the inner products of the columns, the constant first, `target` theirs
    # with a target of mean 0 and variance 1.
    n = gram[0, 0]
    values, vectors = np.linalg.eigh(gram[1:, 1:])
    values = np.maximum(values, 0.0)
    ones, along = vectors.T @ gram[1:, 0], vectors.T @ target[1:]

    def log_density(spread: float, noise: float) -> float:
        # Without the constant by eigenvalues; with it by Woodbury's identity.
        fraction = spread / (noise + spread * values)
        between = -float(fraction @ (ones * along)) / noise
        own = PRIOR.constant_variance * (n - float(fraction @ ones**2)) / noise
        square = (n - float(fraction @ along**2)) / noise
        square -= PRIOR.constant_variance * between**2 / (1.0 + own)
        volume = n * math.log(2.0 * math.pi * noise) + math.log1p(own)
        volume += float(np.sum(np.log1p(spread / noise * values)))
        return -0.5 * (square + volume)

    fitted = np.linalg.lstsq(gram, target, rcond=None)[0]
    left = max(1.0 - float(fitted @ target) / n, min_noise_variance)
    start = np.log([np.mean(fitted[1:] ** 2) if len(values) else 1.0, left])
    bounds = (
        _NOISE_SEARCH.log_variance_bounds,
        (math.log(min_noise_variance), _NOISE_SEARCH.max_log_noise),
    )
    found = minimize(
        lambda logs: -log_density(*np.exp(logs)),
        np.clip(start, *np.transpose(bounds)),
        method="L-BFGS-B",
        bounds=bounds,
    )
    spread, noise = np.exp(found.x).tolist()
    return spread, noise, -float(found.fun)
