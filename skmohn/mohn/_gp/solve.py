"""``strategy="gp"``: from samples to all weights."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from skmohn._core._fitting import warn_caller
from skmohn._core._tuned import tuned
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._gp.additive import fit_additive
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.marginal_likelihood import EVIDENCE_SEARCH, HYPERPRIOR, log_density
from skmohn.mohn._gp.model import GPModel, fit_gp
from skmohn.mohn._gp.term_variances import highest_order
from skmohn.mohn._gp.transform_selection import TRANSFORMS, Scale, choose_scale
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._models import RESIDUALS, FitResult
from skmohn.mohn._options import FitSettings, Report
from skmohn.mohn._table.rows import Categorical, count_observations
from skmohn.mohn._table.target import UNCHANGED, Transform, Unchanged
from skmohn.mohn._table.term_names import TermNames
from skmohn.mohn._training_data import TrainingData

_WAYS = {
    "cholesky": "a Cholesky factor of all rows",
    "hadamard": "conjugate gradients with Walsh-Hadamard products",
    "subset": "a Cholesky factor of a part of the rows",
    "nystroem": "inducing rows",
}


@dataclass(frozen=True)
class GPChoiceConstants:
    """When a Gaussian process is fitted to all rows, or chosen."""

    # Samples with which two values are hardly chance, and the proportion of the
    # variance of a noise that there certainly is.
    min_rows_two_values: int = tuned(20, "benchmarks/ablation.py")
    min_noise_two_values: float = tuned(0.01, "benchmarks/ablation.py")
    # Nats a row by which a description may be longer than another one and yet become
    # the shorter, when all rows determine the hyperparameters. Of 33 tables none gained
    # more than 0.05; of 600 rows of 2000 columns, five of which matter, it gained 0.15.
    max_length_per_row: float = tuned(0.2, "cost")
    # Rows whose evidence, of a row, is at most that of all, where there are more.
    n_rows_reach: int = tuned(2000, "cost")


_GP_CHOICE = GPChoiceConstants()
_NOTHING = WalshPolynomial((), np.empty(0), 0.0)


def solve_gp(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    at_most: float = math.inf,
) -> FitResult | None:
    """Learn all weights under the product prior."""
    # `report` is called with a record, the weights listed so far and the model or a
    # function that makes it. A longer description than `at_most` will not be chosen: it
    # gets no list of weights, and where that by the hyperparameters of a part of the
    # rows is far longer, they are not learned from all. None where that is out of
    # reach.
    term_names = samples.term_names
    model = _learn(samples, settings, report, at_most)
    if model is None:
        return None
    are_classes = len(np.unique(samples.y)) == 2
    are_classes &= len(samples.y) >= _GP_CHOICE.min_rows_two_values
    if are_classes and model.noise_variance > _GP_CHOICE.min_noise_two_values:
        warn_caller(
            "y has only two values, and which one is partly random: MOHNClassifier "
            "predicts the probability of each"
        )
    graph, errors = _NOTHING, np.empty(0)
    if not model.description_length() > at_most:
        graph, errors = model.significant_terms(settings.max_order)
    terms = list(graph.terms)
    listed = float(
        np.sum((graph.weights / model.y_std) ** 2 * term_names.uniform_variances(terms))
    )
    fraction = listed / max(model.function_variance(term_names.variables()), 1e-300)
    held = samples.validation
    record = {
        "log_posterior": model.log_evidence(),
        "noise": math.sqrt(model.prior.noise_variance),
        "validation_rmse": held and held.rmse(model.predictive_mean),
        "way": model.inference,
        "n_weights": len(terms),
    }
    report(record, graph, model)
    n_members = len(term_names.labels)
    on_scale = f" for the target's {model.transform}" if model.is_transformed else ""
    reason = (
        f"all weights of {term_names.describe()} by "
        f"{_WAYS[model.inference]}{on_scale}; "
        f"{len(terms)} significant ones explain {min(fraction, 1.0):.0%} of the "
        "variance over uniform columns"
    )
    if model.covariance.pairs:
        found = _name_pairs(model.covariance, term_names)
        reason += f"; joint effects of {found} have their own variances"
    highest = highest_order(n_members, settings.max_order, term_names.n_categoricals)
    counts = [(order, term_names.count(order)) for order in range(1, highest + 1)]
    coverage = [{"order": k, "possible": count, "tried": count} for k, count in counts]
    return FitResult.of_model(model, (graph, errors), reason, coverage)


def _name_pairs(covariance: Covariance, term_names: TermNames) -> str:
    """Name the columns of pairs; a one-hot group has several."""
    n_inputs = len(covariance.prior.ard_rates)
    columns, names = term_names.variable_columns(), term_names.column_names
    variables = ["/".join(names[j] for j in own) for own in columns]
    found = []
    for pair in covariance.pairs:
        numbers = [m.number + (n_inputs if m.size else 0) for m in pair.members]
        found.append(" x ".join(variables[number] for number in numbers))
    return ", ".join(found)


def solve_additive_categories(
    samples: TrainingData, settings: FitSettings, transform: Transform = UNCHANGED
) -> FitResult:
    """Learn what each input and categorical explains alone, see `fit_additive`."""
    term_names = samples.term_names
    model = fit_additive(
        samples.rows.as_float(),
        samples.y,
        samples.sample_weight,
        term_names.alphabets,
        transform,
        settings.memory_budget,
    )
    graph, errors = model.significant_terms(1)
    on_scale = f", for the target's {transform}" if model.is_transformed else ""
    reason = (
        f"ridge regression on {term_names.describe()} by its evidence{on_scale}; "
        f"{len(graph.terms)} of the weights are significant"
    )
    count = term_names.count(1)
    coverage = [{"order": 1, "possible": count, "tried": count}]
    return FitResult.of_model(model, (graph, errors), reason, coverage)


def _learn(
    samples: TrainingData, settings: FitSettings, report: Report, at_most: float
) -> GPModel | None:
    """Model, or None where its description is out of reach."""
    alphabets, scale = samples.term_names.alphabets, _scale_of(samples, settings)
    noise = settings.gp_options.noise
    fit = partial(
        fit_gp,
        rows=samples.rows.as_float(),
        y=samples.y,
        sample_weight=samples.sample_weight,
        alphabets=alphabets,
        transform=scale.transform,
        max_order=settings.max_order,
        memory_budget=settings.memory_budget,
        seed=samples.seed,
    )

    def report_step(height: float, prior: Prior) -> bool:
        record = {"log_posterior": height, "noise": math.sqrt(prior.noise_variance)}
        # Only a callback that wants to predict has the posterior computed.
        return report(record, _NOTHING, partial(_settle, fit, alphabets, prior))

    start = _earlier_prior(samples)
    if samples.multitask is not None:
        model = samples.multitask.model(start, report_step)
        if model is not None:
            return model
    first = scale.maximize_evidence if start is None else None
    if first is not None and at_most < math.inf:
        known = partial(fit, covariance=Covariance(first.prior, alphabets))
        logs, n_inputs = first.prior.to_logs(), len(first.prior.ard_rates)
        density, _ = log_density(logs, n_inputs, alphabets)
        is_reached = _is_reached_by_some(known, samples, density, at_most)
        if not is_reached and _is_out_of_reach(known, density, noise, at_most):
            return None
    max_iter = min(settings.max_iter, EVIDENCE_SEARCH.max_iter)
    # Another scale may yet be that of the additive model, by its left-out errors.
    is_plain = isinstance(scale.transform, Unchanged)
    model = fit(
        noise=noise,
        start=start,
        first=first,
        max_iter=max_iter,
        report=report_step,
        at_most=at_most if is_plain else math.inf,
    )
    if settings.gp_options.target_transform == "auto":
        return _on_own_scale(model, fit, samples, noise, max_iter)
    return model


def _on_own_scale(
    model: GPModel,
    fit: Callable[..., GPModel],
    samples: TrainingData,
    noise: str,
    max_iter: int,
) -> GPModel:
    """Refit on the target's own scale, if the mean of y beats that on another."""
    # A scale is chosen by up to 400 rows; leave-one-out errors of all rows decide. With
    # heavy tails these can contradict it, but say little where they are nearly equal.
    data = samples.rows.as_float(), samples.y, samples.sample_weight
    if not model.is_transformed or len(samples.y) > RESIDUALS.max_left_out:
        return model
    error = model.left_out_error(*data)
    if error < 1.0:
        return model
    plain = fit(transform=Unchanged(), noise=noise, max_iter=max_iter)
    gain = plain.description_length() - model.description_length()
    is_clear = gain > TRANSFORMS.min_gain_by_sample * model.n_observed
    ratio = TRANSFORMS.max_refit_error_ratio if is_clear else 1.0
    return plain if plain.left_out_error(*data) < ratio * error else model


def _is_reached_by_some(
    fit: Callable[..., GPModel], samples: TrainingData, density: float, at_most: float
) -> bool:
    """Whether some of many rows have a description that is short enough already."""
    # More rows predict one another better. Of all, a factor takes far longer.
    n_rows, n_some = len(samples.y), _GP_CHOICE.n_rows_reach
    if n_rows <= n_some:
        return False
    drawn = np.random.default_rng(samples.seed).permutation(n_rows)[:n_some]
    weight = samples.sample_weight
    model = fit(
        rows=samples.rows.as_float().take(drawn),
        y=samples.y[drawn],
        sample_weight=None if weight is None else weight[drawn],
        noise="constant",
        strong_terms=False,
        at_most=-math.inf,
    )
    n_observed = count_observations(np.ones(n_rows) if weight is None else weight).sum()
    length = model.description_length() * n_observed / model.n_observed
    return length - density <= at_most + _GP_CHOICE.max_length_per_row * n_observed


def _is_out_of_reach(
    fit: Callable[..., GPModel], density: float, noise: str, at_most: float
) -> bool:
    """Whether the description by known hyperparameters is far longer than another."""

    # Strong weights and a map of the noise take long to find: they are sought only
    # where the description is far longer without. Known hyperparameters are charged by
    # their own density, which is what an Occam factor is at most: an ascent maximizes
    # the evidence times that.
    def is_out(noise: str, strong_terms: bool) -> bool:
        """Whether it is by a model that is dropped before the next is made."""
        model = fit(noise=noise, strong_terms=strong_terms, at_most=-math.inf)
        max_length = at_most + _GP_CHOICE.max_length_per_row * model.n_observed
        return model.description_length() - density > max_length

    return is_out("constant", False) and is_out(noise, True)


def _scale_of(samples: TrainingData, settings: FitSettings) -> Scale:
    """Scale of the target: of all that fraction, chosen with the coding, or its own."""
    if samples.multitask is not None and samples.multitask.is_member:
        return Scale(samples.multitask.transform, False)
    if samples.target_transform is not None:
        return samples.target_transform
    return choose_scale(
        settings.gp_options.target_transform,
        samples.rows.as_float(),
        samples.term_names.alphabets,
        0,
        samples.y,
        samples.sample_weight,
        samples.seed,
    )


def _earlier_prior(samples: TrainingData) -> Prior | None:
    """Hyperparameters of the model to begin with, when they fit and have products."""
    earlier, n_inputs = samples.warm_start_model, samples.inputs.shape[1]
    if not isinstance(earlier, GPModel) or len(earlier.prior.ard_rates) != n_inputs:
        return None
    if earlier.covariance.alphabets != samples.term_names.alphabets:
        return None
    if earlier.prior.signal_variance <= HYPERPRIOR.min_signal_variance:
        return None
    return earlier.prior


def _settle(
    fit: Callable[..., GPModel], alphabets: tuple[Categorical, ...], prior: Prior
) -> GPModel:
    """Model with hyperparameters as they are."""
    return fit(
        covariance=Covariance(prior, alphabets), noise="constant", strong_terms=False
    )
