"""Several targets of the same rows: which share hyperparameters, and their models."""

# One set of hyperparameters is learned for all targets from a part of the rows, and
# then one for each target alone. A target shares where its own set gains fewer nats
# than it costs (MacKay, Bayesian interpolation, Neural Computation 4, 1992, section 4).
# Targets that share are given one Cholesky factor. A target with strong terms, or rows
# weighed by its own noise, takes a factor of its own beside the shared hyperparameters.

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.heteroscedastic_noise import (
    SmoothedResiduals,
    fit_noise_model,
    smooth_noise,
)
from skmohn.mohn._gp.hyperparameter_uncertainty import (
    UNCERTAINTY,
    EvidenceCurvature,
    HyperparameterUncertainty,
    marginalize_hyperparameters,
)
from skmohn.mohn._gp.marginal_likelihood import (
    EVIDENCE_SEARCH,
    AggregatedData,
    Evidence,
    EvidenceOptimum,
    join_equal_rows,
    learn_prior,
    log_density,
    maximize_evidence,
    start_prior,
)
from skmohn.mohn._gp.model import GPModel, choose_inference, fit_gp
from skmohn.mohn._gp.shared import SharedFactor
from skmohn.mohn._gp.term_variances import find_strong_terms
from skmohn.mohn._gp.transform_selection import keep_scale
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._missing_inputs import MissingInputs
from skmohn.mohn._options import FitSettings
from skmohn.mohn._table.coding import NUMERIC, InputCoding
from skmohn.mohn._table.rows import Categorical, standardize
from skmohn.mohn._table.target import (
    Logarithm,
    Transform,
    Unchanged,
    require_domain,
    sum_log_slope,
)
from skmohn.mohn._training_data import TrainingData


@dataclass(frozen=True)
class MultitaskConstants:
    """Gaussian processes of several targets."""

    # Rows that are asked which targets share, and steps of a target's own climb: it
    # begins where the common one ended.
    max_rows_pilot: int = tuned(200, "cost")
    max_iter_own: int = tuned(8, "cost")
    # Rows up to which targets share a factor beside the hyperparameters.
    max_rows_shared: int = tuned(1600, "cost")


_MULTITASK = MultitaskConstants()


class MultitaskGP:
    """Several targets, and the models of those that share hyperparameters."""

    def __init__(
        self,
        samples: TrainingData,  # y is (n_samples, n_targets)
        settings: FitSettings,
    ) -> None:
        self.samples, self.settings, self.group = samples, settings, None
        self.rows = samples.rows.as_float()
        self.alphabets = samples.term_names.alphabets
        self.max_iter = min(settings.max_iter, EVIDENCE_SEARCH.max_iter)
        self.wanted = settings.gp_options.target_transform
        self.transform = Logarithm() if self.wanted == "log" else Unchanged()
        require_domain(self.transform, samples.y)
        self.standard, self.centers, self.scales = standardize(
            self.transform.forward(samples.y), samples.sample_weight
        )

    @cached_property
    def members(self) -> list[int]:
        """Targets that share, a list of int."""
        return self._sharing[0]

    @cached_property
    def _sharing(self) -> tuple[list[int], EvidenceOptimum | None]:
        """Mask of targets that share, and an ascent for them on some rows."""
        vary = np.flatnonzero(np.ptp(self.standard, axis=0))
        n_variables = self.rows.inputs.shape[1] + len(self.alphabets)
        if len(vary) < 2 or not n_variables or self.wanted == "yeo-johnson":
            return [], None
        sample, scale = self.join(vary), self.samples.target_transform
        drawn = np.random.default_rng(self.samples.seed).permutation(len(sample))
        drawn = drawn[: _MULTITASK.max_rows_pilot]
        singles = [self.join(int(k)).take(drawn) for k in vary]
        are_coupled, found = select_coupled_tasks(
            sample.take(drawn),
            singles,
            self.alphabets,
            len(sample) / len(drawn),
            self.max_iter,
            None if scale is None else scale.maximize_evidence,
        )
        sharing = vary[are_coupled]
        if self.wanted == "auto":
            sharing = sharing[self._keep_scale(sharing, found.prior)]
        return [int(k) for k in sharing if len(sharing) > 1], found

    @property
    def asked(self) -> EvidenceOptimum | None:
        """Optimum of the evidence for those that share, on some of the rows."""
        return self._sharing[1]

    def _keep_scale(self, sharing: NDArray[np.intp], prior: Prior) -> NDArray[np.bool_]:
        """Mask of targets that have no use for a scale of their own."""
        samples, covariance = self.samples, Covariance(prior, self.alphabets)
        data = self.rows, samples.y[:, sharing], samples.sample_weight
        return keep_scale(covariance, *data, samples.seed)

    def model(
        self,
        k: int,
        start: Prior | None = None,
        report: Callable[[float, Prior], bool] | None = None,
    ) -> GPModel | None:
        """Model of one target by the hyperparameters of all that share."""
        # Only the first call reports. None where the target needs hyperparameters of
        # its own.
        if k not in self.members:
            return None
        if self.group is None:
            self.group = _Group(self, start, report)
        return self.group.model(k)

    @property
    def may_have_levels(self) -> bool:
        """Whether the evidence decides how numeric columns enter."""
        is_open = self.settings.gp_options.numeric == "auto"
        return is_open and bool(np.any(self.samples.coding.kind == NUMERIC))

    def join(self, targets: NDArray[np.intp] | int | list[int]) -> AggregatedData:
        """Standardized sample of one target or several."""
        standard = self.standard[:, targets]
        return join_equal_rows(self.rows, standard, self.samples.sample_weight)


class TaskView(NamedTuple):
    """One target of several that are learned together."""

    together: MultitaskGP
    k: int  # its number

    @property
    def coding(self) -> InputCoding | None:
        """Coding of all that share; None where the target may have its own."""
        together = self.together
        # Targets decide of levels alone; it takes time to find out which ones share.
        if together.may_have_levels and not self.is_member:
            return None
        return together.samples.coding

    @property
    def transform(self) -> Transform:
        """Scale of all that share."""
        return self.together.transform

    @property
    def is_member(self) -> bool:
        """Whether the target shares hyperparameters with others."""
        return self.k in self.together.members

    @property
    def is_shared(self) -> bool:
        """Whether a model of several targets was made, with this one among them."""
        return self.together.group is not None and self.is_member

    def model(
        self, start: Prior | None, report: Callable[[float, Prior], bool] | None
    ) -> GPModel | None:
        """Model of this target, see `MultitaskGP.model`."""
        return self.together.model(self.k, start, report)


def select_coupled_tasks(
    sample: AggregatedData,
    singles: list[AggregatedData],
    alphabets: tuple[Categorical, ...],
    row_ratio: float = 1.0,
    max_iter: int = EVIDENCE_SEARCH.max_iter,
    earlier: EvidenceOptimum | None = None,
) -> tuple[NDArray[np.bool_], EvidenceOptimum]:
    """Select the targets that are best explained by hyperparameters that they share."""
    # `sample` has all targets at some of the rows, `singles` has each of them; there
    # are `row_ratio` times as many rows. `earlier` is an ascent for all on other rows.
    # Returned are which share, none or two at least, and their last ascent.
    n_inputs, evidence = sample.rows.inputs.shape[1], Evidence(sample, alphabets)
    if earlier is None:
        found = maximize_evidence(evidence, start_prior(n_inputs, alphabets), max_iter)
    else:
        steps = earlier.steps_for(len(sample))
        found = maximize_evidence(evidence, earlier.prior, max_iter, steps=steps)
    prior, steps = found.prior, found.learned_steps()
    felt = EvidenceCurvature.around(
        ExactPosterior.condition(Covariance(prior, alphabets), sample)
    )
    # Of what all targets say, a part is what one of them does.
    one = 1.0 / len(singles)
    by_chance = felt.gain_by_chance(one)
    evidences = [Evidence(single, alphabets) for single in singles]
    heights, alone = np.empty((2, len(singles)))
    for k, evidence in enumerate(evidences):
        own = maximize_evidence(
            evidence, prior, min(max_iter, _MULTITASK.max_iter_own), steps=steps
        ).prior
        heights[k] = evidence.value(own)
        alone[k] = log_density(own.to_logs(), n_inputs, alphabets)[0] - felt.density
    alone += felt.log_occam_factor(one * row_ratio)
    sharing = np.arange(len(singles))
    while len(sharing) > 1:
        common = np.array([evidences[k].value(prior) for k in sharing])
        # What is gained by chance does not grow with the rows.
        gains = (heights[sharing] - common - by_chance) * row_ratio + by_chance
        together = felt.log_occam_factor(one * row_ratio * len(sharing)) / len(sharing)
        losses = gains + alone[sharing] - together
        if losses.max() <= 0.0:
            break
        # Others lose less once those are gone that do not belong to them.
        sharing = sharing[losses <= 0.5 * losses.max()]
        rest = replace(
            sample,
            target=sample.target[:, sharing],
            within=sum((singles[k].within for k in sharing), np.zeros(len(sample))),
        )
        found = maximize_evidence(
            Evidence(rest, alphabets), prior, max_iter, steps=steps
        )
        prior = found.prior
    return np.isin(np.arange(len(singles)), sharing) & (len(sharing) > 1), found


class _Group:
    """Targets that share hyperparameters: what is computed once for all of them."""

    def __init__(
        self,
        together: MultitaskGP,
        start: Prior | None,
        report: Callable[[float, Prior], bool] | None,
    ) -> None:
        self.together, settings = together, together.settings
        self.targets = together.members
        self.sample = together.join(self.targets)
        alphabets, seed = together.alphabets, together.samples.seed
        self.route, _ = choose_inference(self.sample, alphabets, settings.memory_budget)
        found = learn_prior(
            self.sample,
            alphabets,
            start,
            together.max_iter,
            seed,
            report,
            first=together.asked if start is None else None,
        )
        self.n_evaluations = found.n_evaluations
        self.covariance = Covariance(found.prior, alphabets)
        shuffled = np.random.default_rng(seed).permutation(len(self.sample))
        few = self.sample.take(shuffled[: UNCERTAINTY.max_rows_uncertain])
        if len(self.sample) <= UNCERTAINTY.max_rows_uncertain:
            few = self.sample
        posterior = ExactPosterior.condition(self.covariance, few)
        self.hyperparameter_uncertainty, log_occam_factor = marginalize_hyperparameters(
            posterior, len(self.sample)
        )
        self.log_occam_factor = log_occam_factor / len(self.targets)

    def model(self, k: int) -> GPModel:
        """Model of one target."""
        together, settings = self.together, self.together.settings
        samples, index = together.samples, self.targets.index(k)
        options = {
            "noise": settings.gp_options.noise,
            "max_order": settings.max_order,
            "seed": samples.seed,
        }
        if self.route != "cholesky" or len(self.sample) > _MULTITASK.max_rows_shared:
            model = fit_gp(
                together.rows,
                samples.y[:, k],
                samples.sample_weight,
                alphabets=together.alphabets,
                memory_budget=settings.memory_budget,
                covariance=self.covariance,
                transform=together.transform,
                **options,
            )
            return replace(
                model,
                log_occam_factor=self.log_occam_factor,
                n_evaluations=self.n_evaluations,
            )
        found, sample = self.posteriors[index], self.posteriors[index].sample
        noise_map, noise_exponent = None, 0.0
        if options["noise"] == "auto":
            noise_map, noise_exponent = fit_noise_model(found, self.smoothed[index])
            if noise_map is not None and noise_exponent:
                weighed = replace(sample, excess=noise_map.known**noise_exponent)
                found = ExactPosterior.condition(found.covariance, weighed)
        y = samples.y[:, k]
        model = GPModel(
            found,
            float(together.centers[k]),
            float(together.scales[k]),
            float(sample.count.sum()),
            self.route,
            noise_map,
            noise_exponent,
            self.n_evaluations,
            self._uncertainty_of(index),
            self.log_occam_factor,
            sum_log_slope(together.transform, y, samples.sample_weight),
            missing_inputs=MissingInputs(together.alphabets),
            transform=together.transform,
            y_min=float(np.min(y)),
            y_max=float(np.max(y)),
        )
        return model.with_range(together.rows, y, samples.sample_weight)

    @cached_property
    def posteriors(self) -> list[ExactPosterior]:
        """Posteriors; targets without strong terms of their own share a factor."""
        factor = SharedFactor(self.covariance, self.sample)
        max_order = self.together.settings.max_order
        singles = [factor.condition(self.together.join(k)) for k in self.targets]
        return [find_strong_terms(posterior, max_order) for posterior in singles]

    @cached_property
    def smoothed(self) -> list[SmoothedResiduals]:
        """Noise of each target, regressed on leave-one-out residuals."""
        return smooth_noise(self.posteriors)

    @cached_property
    def _shifted_factors(self) -> list[list[SharedFactor]]:
        """Factors to both sides of the hyperparameters."""
        uncertainty = self.hyperparameter_uncertainty
        return [
            [SharedFactor(p.covariance, p.sample, p.factor) for p in pair]
            for pair in (() if uncertainty is None else uncertainty.pairs)
        ]

    def _uncertainty_of(self, index: int) -> HyperparameterUncertainty | None:
        if self.hyperparameter_uncertainty is None:
            return None
        sample = self.together.join(self.targets[index])
        return HyperparameterUncertainty(
            tuple(
                tuple(factor.condition(sample) for factor in pair)
                for pair in self._shifted_factors
            )
        )
