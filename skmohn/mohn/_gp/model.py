"""All 2^n weights at once, under the product prior: the model that a fit returns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._memory import format_bytes
from skmohn._core._rows import row_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn._core._validation import require_memory
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.products import ProductSum
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.heteroscedastic_noise import NoiseMap, fit_noise_model
from skmohn.mohn._gp.hypercube import WalshPosterior, is_on_cube
from skmohn.mohn._gp.hyperparameter_uncertainty import (
    UNCERTAINTY,
    HyperparameterUncertainty,
    Posterior,
    contrasts_of,
    marginalize_hyperparameters,
)
from skmohn.mohn._gp.marginal_likelihood import (
    EVIDENCE_SEARCH,
    AggregatedData,
    EvidenceOptimum,
    find_rows,
    join_equal_rows,
    learn_prior,
)
from skmohn.mohn._gp.nystroem import NystroemPosterior
from skmohn.mohn._gp.pair_search import PAIRS, find_pairs, length_of_pairs
from skmohn.mohn._gp.products import write_products
from skmohn.mohn._gp.term_variances import (
    description_length,
    find_significant_terms,
    find_strong_terms,
)
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._missing_inputs import MissingInputs
from skmohn.mohn._models import RESIDUALS, Model, residual_fraction
from skmohn.mohn._options import DeltaOptions
from skmohn.mohn._table.rows import Categorical, EncodedRows, standardize
from skmohn.mohn._table.target import (
    UNCHANGED,
    Transform,
    require_domain,
    sum_log_slope,
)
from skmohn.mohn._table.variables import Contrast, Variable


@dataclass(frozen=True)
class InferenceConstants:
    """Choice of the inference of a Gaussian process."""

    # Rows up to which the Cholesky factor of all is taken, and where it is inverted,
    # too.
    max_rows_exact: int = tuned(10_000, "cost")
    max_rows_inverted: int = tuned(5000, "cost")
    # Inputs of a cube that is transformed.
    max_inputs_hadamard: int = tuned(20, "cost")
    # With more rows than this, and a cube no larger than so many times them, transforms
    # are faster than the factor.
    min_rows_hadamard: int = tuned(1000, "cost")
    max_cube_ratio: int = tuned(8, "cost")
    # With more rows, by this factor, a part of them may say less than inducing rows.
    min_rows_ratio: float = tuned(1.2, "cost")
    # Inducing rows, at most and at least.
    max_inducing: int = tuned(1500, "cost")
    min_inducing: int = tuned(50, "cost")
    # Of five matrices, for each pair of rows.
    n_bytes_per_pair: float = tuned(8.0 * 5.0, "cost")
    # Rows that the hyperparameters are learned from, where memory lasts.
    max_rows_learned: int = tuned(3000, "cost")


_INFERENCE = InferenceConstants()


@dataclass(frozen=True)
class GPModel(Model):
    """Posterior of a function with all weights; see `Model` for its methods.

    Attributes
    ----------
    posterior : ExactPosterior, WalshPosterior or NystroemPosterior
        Of the standardized function.

    y_mean, y_std : float
        The transformed target is ``center + scale * standardized``.

    n_observed : float
        Number of observations.

    inference : str
        ``"cholesky"``, ``"hadamard"``, ``"subset"`` or ``"nystroem"``.

    noise_map : NoiseMap or None
        Noise variance by row, relative to that of the prior; None for one level.

    noise_exponent : float
        Power of the map by which rows are weighed.

    n_evaluations : int
        Evaluations of the evidence.

    hyperparameter_uncertainty : HyperparameterUncertainty or None
        What not knowing the hyperparameters adds; None where that is little.

    log_occam_factor : float
        What having fitted them takes from the log evidence; 0 where they were given.

    log_slope : float
        Sum of the logarithms of the slopes of `transform` at the targets.

    log_evidence_per_observation : float or None, default=None
        Log evidence of an observation, in a part of the rows; None where the posterior
        has that of all.
    """

    posterior: Posterior
    y_mean: float
    y_std: float  # pyright: ignore[reportIncompatibleMethodOverride]
    n_observed: float
    inference: str
    noise_map: NoiseMap | None
    noise_exponent: float
    n_evaluations: int
    hyperparameter_uncertainty: HyperparameterUncertainty | None
    log_occam_factor: float
    log_slope: float
    log_evidence_per_observation: float | None = None
    # There are more weights than can be listed.
    is_sparse = False

    @property
    def covariance(self) -> Covariance:
        """Prior with its hyperparameters and strong terms."""
        return self.posterior.covariance

    @property
    def prior(self) -> Prior:
        """Hyperparameters."""
        return self.covariance.prior

    @property
    def noise_variance(self) -> float:
        """Variance of the noise of the standardized target."""
        return self.prior.noise_variance

    def dual_coefficients(self) -> tuple[EncodedRows, NDArray[np.float64]]:
        """Rows x_d and dual coefficients a_d: E[w_Q] = sum_d a_d Cov(w_Q, f(x_d))."""
        return self.posterior.dual_coefficients()

    def log_evidence(self) -> float:
        """Log density of the targets, in their own units."""
        if self.log_evidence_per_observation is None:
            own = self.posterior.log_evidence()
        else:
            own = self.log_evidence_per_observation * self.n_observed
        return own - self.n_observed * float(np.log(self.y_std)) + self.log_slope

    def description_length(self) -> float:
        """Nats that the data and the choices of strong terms and prior cost."""
        n_inputs = len(self.prior.ard_rates)
        evidence = self.log_evidence() + self.log_occam_factor
        length = description_length(self.covariance, n_inputs, evidence)
        return length + length_of_pairs(self.covariance)

    def latent_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior mean on the scale of the target."""
        return self.y_mean + self.y_std * self.posterior.latent_mean(rows)

    def fitted_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior mean at training rows, without covariances where all are known."""
        if not isinstance(self.posterior, ExactPosterior):
            return self.latent_mean(rows)
        index = find_rows(rows, self.posterior.sample.rows)
        if np.any(index < 0):
            return self.latent_mean(rows)
        return self.y_mean + self.y_std * self.posterior.fitted()[index]

    def to_product_sum(self) -> ProductSum:
        """Write out the mean: products of training rows and strong terms, and lines."""
        # Rows have the factors ``(1 + tau x_i x) / (1 + tau)`` for their ``x_i``, and
        # for a category those of the product prior; strong terms have ``x_i``.
        written = write_products(self.covariance, *self.posterior.dual_coefficients())
        return written.scale(self.y_std, self.y_mean)

    def split(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Shapley values of the sum of products, see `Products.split`."""
        return self.to_product_sum().split(rows)

    def latent_variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior variance, and what not knowing the hyperparameters adds."""
        variance = self.posterior.latent_variance(rows)
        if self.hyperparameter_uncertainty is None:
            return variance
        return variance + self.hyperparameter_uncertainty.variance(rows)

    def noise_variance_at(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Noise at the rows of new observations."""
        if self.noise_map is None:
            return np.full(len(rows), self.noise_variance)
        return self.noise_variance * self.noise_map.at(rows)

    def variances_at_map(
        self, rows: EncodedRows, precision: NDArray[np.float64] | float = 1.0
    ) -> tuple[NDArray[np.float64], ...]:
        """Variances at the hyperparameters that were found."""
        noise = np.full(len(rows), self.noise_variance)
        if self.noise_map is not None:
            noise *= self.noise_map.weighing(rows) ** self.noise_exponent
        noise /= precision
        if not isinstance(self.posterior, ExactPosterior):
            function = self.posterior.latent_variance(rows)
            return function, noise, residual_fraction(function, noise)
        sample = self.posterior.sample
        index = find_rows(rows, sample.rows)
        known = index >= 0
        function, kept = np.empty(len(rows)), np.ones(len(rows))
        function[~known] = self.posterior.latent_variance(rows.take(~known))
        fraction = (precision / sample.weight[index])[known]
        of_row = sample.noise(self.prior)[index[known]]
        left = of_row * self.posterior.precision(index[known])
        # The row of the covariance is that of the factor but for the noise.
        function[known] = of_row * (1.0 - left)
        # As of `residual_fraction`, without a difference of almost equal numbers.
        kept[known] = 1.0 - fraction + fraction * left
        return function, noise, kept

    def given_covariance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Covariance at the hyperparameters that were found."""
        return self.posterior.covariance_at(rows)

    def sample_latent(
        self, rows: EncodedRows, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Joint draws of the function."""
        require_memory(
            8.0 * 3.0 * len(rows) ** 2,
            f"the joint distribution at {len(rows)} rows",
            "draw fewer rows at a time",
        )
        draws = self.posterior.sample_latent(rows, n_draws, rng)
        if self.hyperparameter_uncertainty is not None:
            slopes = self.hyperparameter_uncertainty.slopes(rows)
            draws = draws + slopes @ rng.standard_normal((slopes.shape[1], n_draws))
        return self.y_mean + self.y_std * draws

    def weight_posterior(self, term: Term) -> tuple[float, float]:
        """Posterior mean and standard deviation of one weight, see `weights_of`."""
        (mean,), (std,) = self.weights_of([term])
        return float(mean) if term else self.y_mean + float(mean), float(std)

    def weights_of(
        self, terms: Sequence[Term], given: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior means and standard deviations of weights but the constant."""
        # `given` takes the hyperparameters as known, which takes less time.
        means, variances = self.posterior.weights_of(terms)
        uncertainty = self.hyperparameter_uncertainty
        if uncertainty is not None and not given:
            variances = variances + uncertainty.variance_of_weights(terms)
        return self.y_std * means, self.y_std * np.sqrt(variances)

    def prior_stds(self, terms: Sequence[Term]) -> NDArray[np.float64]:
        """Prior standard deviations of weights, see `weights_of`."""
        return self.y_std * self.covariance.weight_stds(terms)

    def significant_terms(
        self, max_order: int | None = None
    ) -> tuple[WalshPolynomial, NDArray[np.float64]]:
        """Significant weights and their standard deviations."""
        # See :func:`~skmohn.mohn._gp.term_variances.find_significant_terms`.
        terms, means, stds = find_significant_terms(self, max_order)
        graph = WalshPolynomial.sort(terms, means, self.weight_posterior(())[0])
        errors = dict(zip(terms, stds, strict=True))
        return graph, np.array([errors[term] for term in graph.terms])

    def relevance(self) -> tuple[NDArray[np.float64], list[float]]:
        """Fractions of a weight's variance that further inputs and categories leave."""
        return self.prior.tau, self.covariance.categorical_tau()

    def sobol_variances(
        self, variables: list[Variable]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Parts of the variance of the standardized posterior mean."""
        return self.function_variance(variables), *self.variance_parts(variables)

    def contrasts(
        self, variables: list[Variable], wanted: Sequence[Contrast]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior means and standard deviations, hyperparameters marginalized."""
        means, stds = np.empty((2, len(wanted)))
        posterior, uncertainty = self.posterior, self.hyperparameter_uncertainty
        for part in row_slices((len(wanted), len(posterior.dual_coefficients()[1]))):
            moves = variables, wanted[part]
            means[part], variances = contrasts_of(posterior, *moves)
            if uncertainty is not None:
                variances = variances + uncertainty.variance_of_contrasts(*moves)
            stds[part] = np.sqrt(variances)
        return self.y_std * means, self.y_std * stds

    def release(self) -> None:
        """Free the factor."""
        vars(self.posterior).pop("factor", None)

    def function_variance(self, variables: list[Variable] | None = None) -> float:
        """Variance of the standardized posterior mean over variables, unclipped."""
        # On inputs of -1 and +1 it is the sum of the squares of all weights but the
        # constant.
        return self.posterior.mean_variance(variables).variance()

    def variance_parts(
        self, variables: list[Variable] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Parts of :meth:`function_variance` by variable."""
        parts = self.posterior.mean_variance(variables)
        return parts.first_order(), parts.total()

    def update(
        self,
        rows: EncodedRows,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None = None,
        control: DeltaOptions | None = None,
    ) -> Self:
        """Condition on further observations; the hyperparameters stay."""
        self._require_room(len(rows))
        require_domain(self.transform, y)
        values = (self.transform.forward(y) - self.y_mean) / self.y_std
        more = join_equal_rows(rows, values, sample_weight)
        if self.noise_map is not None and self.noise_exponent:
            excess = self.noise_map.weighing(more.rows) ** self.noise_exponent
            more = replace(more, excess=excess)
        if self.inference == "hadamard" and not is_on_cube(more.rows).all():
            raise ValueError(
                "this Gaussian process cannot be updated with missing values, or "
                "values other than the two seen in fit: fit again on all rows"
            )
        uncertainty = self.hyperparameter_uncertainty
        return replace(
            self,
            posterior=self.posterior.update(more),
            hyperparameter_uncertainty=uncertainty and uncertainty.update(more),
            n_observed=self.n_observed + float(more.count.sum()),
            log_slope=self.log_slope + sum_log_slope(self.transform, y, sample_weight),
        ).with_targets(y)

    def _require_room(self, n_rows: int) -> None:
        if isinstance(self.posterior, ExactPosterior):
            n_all = n_rows + len(self.posterior.sample)
            require_memory(
                _exact_bytes(n_all),
                f"a Cholesky factor of {n_all} rows",
                "fit again on all rows, which chooses another method",
            )


def fit_gp(
    rows: EncodedRows,
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None = None,
    *,
    alphabets: tuple[Categorical, ...] = (),
    transform: Transform = UNCHANGED,
    noise: str = "auto",
    strong_terms: bool = True,
    max_order: int | None = None,
    memory_budget: float = 1e9,
    start: Prior | None = None,
    first: EvidenceOptimum | None = None,
    covariance: Covariance | None = None,
    max_iter: int = EVIDENCE_SEARCH.max_iter,
    seed: int = 0,
    report: Callable[[float, Prior], bool] | None = None,
    at_most: float = math.inf,
) -> GPModel:
    """Learn all weights under the product prior."""
    # Integer weights are repeats, others inverse variances relative to a mean of 1. A
    # covariance is used as it is, with its strong terms; else hyperparameters start at
    # `start`, or go on from the optimum `first`. Refused where nothing fits in
    # `memory_budget` bytes. A model whose description is longer than `at_most` gets no
    # range of predictions: it will not be used.
    require_domain(transform, y)
    standard, center, scale = standardize(transform.forward(y), sample_weight)
    sample = join_equal_rows(rows, standard, sample_weight)
    choice = choose_inference(sample, alphabets, memory_budget)
    n_evaluations, is_fitted = 0, covariance is None
    if covariance is None:
        search = start, max_iter, seed, report
        best = _learn_prior(sample, alphabets, memory_budget, first, *search)
        n_evaluations = best.n_evaluations
        covariance = Covariance(best.prior, alphabets)
    shuffled = np.random.default_rng(seed).permutation(len(sample))
    covariance, sample, known, noise_map, noise_exponent = _condition_drawn(
        covariance, sample, shuffled, strong_terms, max_order, noise
    )
    inference, posterior, rate = _condition(
        covariance, sample, known, choice, shuffled, memory_budget, seed
    )
    uncertainty = None, 0.0
    if is_fitted:
        uncertainty = _marginalize(posterior, sample, shuffled, inference)
    model = GPModel(
        posterior,
        center,
        scale,
        float(sample.count.sum()),
        inference,
        noise_map,
        noise_exponent,
        n_evaluations,
        *uncertainty,
        sum_log_slope(transform, y, sample_weight),
        rate,
        missing_inputs=MissingInputs(covariance.alphabets),
        transform=transform,
        y_min=float(np.min(y)),
        y_max=float(np.max(y)),
    )
    if model.description_length() > at_most:
        return model
    return model.with_range(rows, y, sample_weight)


def _learn_prior(
    sample: AggregatedData,
    alphabets: tuple[Categorical, ...],
    memory_budget: float,
    first: EvidenceOptimum | None,
    *search: Any,
) -> EvidenceOptimum:
    """Fit hyperparameters on as many rows as memory allows."""
    max_rows = min(
        _INFERENCE.max_rows_learned,
        math.isqrt(int(memory_budget / _INFERENCE.n_bytes_per_pair)),
    )
    return learn_prior(sample, alphabets, *search, max_rows=max_rows, first=first)


def _marginalize(
    posterior: Posterior,
    sample: AggregatedData,
    shuffled: NDArray[np.intp],
    inference: str,
) -> tuple[HyperparameterUncertainty | None, float]:
    """Uncertainty of hyperparameters, and log Occam factor, by some of many rows."""
    are_few = len(sample) <= UNCERTAINTY.max_rows_uncertain
    if inference == "cholesky" and isinstance(posterior, ExactPosterior) and are_few:
        return marginalize_hyperparameters(posterior, len(sample))
    few = sample.take(shuffled[: UNCERTAINTY.max_rows_uncertain])
    few = ExactPosterior.condition(posterior.covariance, few)
    return marginalize_hyperparameters(few, len(sample))


def _condition_drawn(
    covariance: Covariance,
    sample: AggregatedData,
    shuffled: NDArray[np.intp],
    strong_terms: bool,
    max_order: int | None,
    noise: str,
) -> tuple[Covariance, AggregatedData, ExactPosterior | None, NoiseMap | None, float]:
    """Learn strong terms and the noise of each row by as many rows as time allows."""
    # Returned are the covariance with the terms, the sample with the noise, their
    # posterior if it is known by now, the map of the noise, and its exponent.
    if not strong_terms and noise != "auto":
        return covariance, sample, None, None, 0.0
    if strong_terms and covariance.alphabets and max_order != 1:
        covariance = find_pairs(covariance, _draw(sample, shuffled, PAIRS.max_rows))
    drawn = _draw(sample, shuffled, RESIDUALS.max_left_out)
    posterior = ExactPosterior.condition(covariance, drawn)
    if strong_terms:
        posterior = find_strong_terms(posterior, max_order)
    known = posterior if drawn is sample else None
    if noise != "auto":
        return posterior.covariance, sample, known, None, 0.0
    noise_map, noise_exponent = fit_noise_model(posterior)
    if noise_map is not None and noise_exponent:
        excess = noise_map.weighing(sample.rows) ** noise_exponent
        sample, known = replace(sample, excess=excess), None
    return posterior.covariance, sample, known, noise_map, noise_exponent


def _draw(
    sample: AggregatedData, shuffled: NDArray[np.intp], max_rows: int
) -> AggregatedData:
    """Up to so many rows, in their order where these are all."""
    return sample if len(sample) <= max_rows else sample.take(shuffled[:max_rows])


def _condition(
    covariance: Covariance,
    sample: AggregatedData,
    known: ExactPosterior | None,
    choice: tuple[str, int],
    shuffled: NDArray[np.intp],
    memory_budget: float,
    seed: int,
) -> tuple[str, Posterior, float | None]:
    """Condition on all rows, or on a part of them, by what `choose_inference` chose."""
    inference, n_inducing = choice
    if inference == "nystroem":
        n_part = _max_rows_exact(memory_budget)
        return _condition_many(covariance, sample, shuffled, n_part, n_inducing, seed)
    if inference == "hadamard":
        return inference, WalshPosterior.condition(covariance, sample), None
    return inference, known or ExactPosterior.condition(covariance, sample), None


def _condition_many(
    covariance: Covariance,
    sample: AggregatedData,
    shuffled: NDArray[np.intp],
    n_part: int,
    n_inducing: int,
    seed: int,
) -> tuple[str, NystroemPosterior, float] | tuple[str, ExactPosterior, float]:
    """Condition on a part of the rows or, by inducing rows, on all."""
    # A rough function is estimated better by the former, a smooth one by the latter.
    # Rows outside of the part decide, as each is held out of the latter. Returned are
    # the inference, the posterior, and the log evidence of an observation of the part.
    part = sample.take(shuffled[:n_part])
    fraction = len(part) / len(sample)
    part = replace(part, log_weight=fraction * sample.log_weight)
    subset = ExactPosterior.condition(covariance, part)
    rate = subset.log_evidence() / float(part.count.sum())
    if len(sample) < _INFERENCE.min_rows_ratio * n_part:
        return "subset", subset, rate
    through = NystroemPosterior.condition(covariance, sample, n_inducing, seed)
    others = sample.take(shuffled[n_part:][: RESIDUALS.max_left_out])
    off = (
        others.target - subset.latent_mean(others.rows),
        through.leave_one_out(others)[0],
    )
    errors = [
        np.sum(others.weight / others.excess * difference**2) for difference in off
    ]
    if errors[0] < errors[1]:
        return "subset", subset, rate
    return "nystroem", through, rate


def choose_inference(
    sample: AggregatedData, alphabets: tuple[Categorical, ...], memory_budget: float
) -> tuple[str, int]:
    """Choose how to condition on a sample, and the number of inducing rows."""
    n_rows, n_inputs = len(sample), sample.rows.inputs.shape[1]
    is_exact = _is_exact(n_rows, memory_budget)
    can_transform = (
        not alphabets
        and n_rows > _INFERENCE.min_rows_hadamard
        and n_inputs <= _INFERENCE.max_inputs_hadamard
        and _walsh_bytes(n_inputs) <= memory_budget
        and is_on_cube(sample.rows).all()
    )
    if can_transform and (
        not is_exact or 2**n_inputs <= _INFERENCE.max_cube_ratio * n_rows
    ):
        return "hadamard", 0
    n_inducing = choose_inducing(n_rows, memory_budget)
    return ("nystroem" if n_inducing else "cholesky"), n_inducing


def choose_inducing(
    n_rows: int, memory_budget: float, is_inverted: bool = False
) -> int:
    """Number of inducing rows; 0 where a Cholesky factor of all rows fits."""
    # `is_inverted` where all rows are to be left out in turn. Refused where not even
    # few fit in the budget.
    if _is_exact(n_rows, memory_budget, is_inverted):
        return 0
    n_inducing = min(_INFERENCE.max_inducing, n_rows)
    while (
        n_inducing > _INFERENCE.min_inducing
        and _learned_bytes(n_inducing) > memory_budget
    ):
        n_inducing //= 2
    needed = _learned_bytes(max(n_inducing, min(n_rows, RESIDUALS.max_left_out)))
    if needed > memory_budget:
        raise MemoryError(
            f"a Gaussian process of {n_rows} rows needs {format_bytes(needed)} of "
            f"memory, but memory_budget is {format_bytes(memory_budget)}: raise it or "
            "use fewer rows"
        )
    return n_inducing


def _max_rows_exact(memory_budget: float) -> int:
    """Rows of which a Cholesky factor can be had."""
    return min(
        _INFERENCE.max_rows_exact, math.isqrt(int(memory_budget / _exact_bytes(1)))
    )


def _is_exact(n_rows: int, memory_budget: float, is_inverted: bool = False) -> bool:
    if is_inverted:
        return (
            n_rows <= _INFERENCE.max_rows_inverted
            and _learned_bytes(n_rows) <= memory_budget
        )
    learned = _learned_bytes(min(n_rows, RESIDUALS.max_left_out))
    return n_rows <= _max_rows_exact(memory_budget) and learned <= memory_budget


def _exact_bytes(n_rows: int) -> float:
    """Bytes of a covariance, which the factor overwrites, and of some of its rows."""
    # The factor of many rows is in panels, which take about half of it.
    return 8.0 * 1.2 * n_rows**2


def _learned_bytes(n_rows: int) -> float:
    """Bytes of covariance, factor, inverse and two products with them."""
    return _INFERENCE.n_bytes_per_pair * n_rows**2


def _walsh_bytes(n_inputs: int) -> float:
    """Bytes of a dozen cubes, or of batches of smaller ones."""
    return 8.0 * 12.0 * max(2**n_inputs, 2**21)
