"""Strategies of all tasks; ``"auto"`` weighs all models, and none, by length."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import sem

from skmohn._core._memory import format_bytes
from skmohn._core._tuned import tuned
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.terms import with_kept
from skmohn.mohn._glm_solve import find_candidates, find_listed, solve_glm
from skmohn.mohn._gp.marginal_likelihood import EVIDENCE_SEARCH
from skmohn.mohn._gp.model import GPModel, fit_gp
from skmohn.mohn._gp.solve import solve_additive_categories, solve_gp
from skmohn.mohn._models import FitResult, Folds, Model
from skmohn.mohn._options import FitSettings, Report, Task
from skmohn.mohn._sparse.model import SparseModel
from skmohn.mohn._sparse.model_selection import PATH
from skmohn.mohn._sparse.solve import solve_full, solve_given, solve_msda, solve_pursuit
from skmohn.mohn._spike_slab.model import SpikeSlabModel
from skmohn.mohn._spike_slab.solve import (
    SPIKE_SLAB_WORK,
    is_affordable,
    refit_spike_slab,
    solve_additive,
    solve_spike_slab,
)
from skmohn.mohn._stacking import solve_ensemble, solve_few
from skmohn.mohn._table.coding import NUMERIC
from skmohn.mohn._table.rows import count_observations
from skmohn.mohn._table.target import Transform, Unchanged, sum_log_slope
from skmohn.mohn._term_search import (
    find_all,
    find_by_kind,
    find_by_pursuit,
    find_by_score,
    find_given,
    solve_terms,
)
from skmohn.mohn._training_data import Strategy, TrainingData


@dataclass(frozen=True)
class AutoConstants:
    """Choice of the model by strategy "auto"."""

    # Standard errors over folds by which a sparse model must predict better to be
    # chosen although its description is longer. The same folds chose it, which flatters
    # it.
    n_errors: float = tuned(2.0, "benchmarks/ablation.py")
    # Nats by which a model must be shorter than that nothing matters. Of tables of
    # noise alone (seven kinds, 420 draws), 4 % gain one nat and 1 % two.
    min_gain: float = tuned(1.5, "benchmarks/ablation.py")
    # Nats by which any other model must be shorter than the additive one: "strong"
    # evidence.
    min_gain_over_additive: float = tuned(3.0, "Kass and Raftery (1995), section 3")
    # The same for a model that is shorter than the mean by `min_gain_sure` nats, "very
    # strong" evidence. Of nine such tables with weak signals, where it was shorter than
    # the additive model by 2 to 3, it predicted eight better, by 0.02 to 0.37 of R2; of
    # six others three.
    min_gain_weak: float = tuned(2.0, "benchmarks/mohn/weak_signals.py")
    min_gain_sure: float = tuned(5.0, "Kass and Raftery (1995), section 3")
    # Nats by which it is shorter than the mean where signals are no longer weak: on
    # tables of wages and births, with 75 and 97, near ties had 0.01 to 0.05 more R2.
    max_gain_weak: float = tuned(40.0, "benchmarks/ablation.py")
    # Nats by which a sparse model must be shorter than the average over all sets where
    # the two list different terms: it is one of those that are averaged. Of 15 noisy
    # functions for which it was shorter by less, or longer, it predicted 12 worse.
    min_gain_over_average: float = tuned(10.0, "benchmarks/ablation.py")
    # Nats beyond the shortest description from which a Gaussian process is never
    # chosen. Those of models that give way to one another add up to 16, and it has
    # predicted better than spike-and-slab models that were 31 shorter.
    max_excess_gp: float = tuned(60.0, "benchmarks/mohn/collinear.py")
    # Its squared errors on folds, relative to those of the mean, up to which it is
    # compared with a spike-and-slab model there, and relative to that model's up to
    # which it is chosen. Of 16 such functions, 120 to 300 rows, it was better in the
    # five with ratios up to 0.71, and worse in ten of the eleven with ratios from 0.82.
    max_error_contest: float = tuned(0.5, "benchmarks/mohn/collinear.py")
    max_error_ratio: float = tuned(0.75, "benchmarks/mohn/collinear.py")
    # Rows from which an average over all sets may stay close to the mean. Of noise
    # alone with 100 rows or more none of 75 is shorter than the mean, with 60 one of 25
    # is.
    min_rows_average: int = tuned(100, "benchmarks/ablation.py")
    # The same for terms that were chosen by the rows that they are to predict, and by
    # which a Gaussian process may be shorter than these. Of 40 additive functions with
    # R2 0.2 three gained up to 4 nats and predicted worse, traps 24. Of eight functions
    # whose terms predicted held-out rows better, four of traps were up to 9 nats longer
    # and had 0.5 to 0.6 more R2; thresholds, maxima and conjunctions were 24 to 58
    # longer, and three of four had 0.09 to 0.33 less.
    min_gain_chosen: float = tuned(10.0, "benchmarks/ablation.py")
    # Rows of each fold from which a Gaussian process is learned, as long as it needs
    # more.
    n_rows_per_stage: tuple[int, ...] = tuned((1000, 3000, 10_000), "cost")


_AUTO = AutoConstants()
# What models are called in sentences.
_NOUNS = {
    "sparse": "sparse model",
    "additive": "additive model",
    "spike_slab": "spike-and-slab model",
    "gp": "Gaussian process",
    "nothing": "mean",
}


def strategies_for(task: Task) -> list[str]:
    """Names of the strategies that have a task, in the order of the table."""
    return [name for name, strategy in STRATEGIES.items() if task in strategy.solve]


def _n_records_of_gp(settings: FitSettings) -> int:
    # Of the evidence and its end.
    return min(settings.max_iter, EVIDENCE_SEARCH.max_iter) + 1


def _steps_of_search(settings: FitSettings) -> int:
    return settings.max_iter


def _steps_of_pursuit(settings: FitSettings) -> int:
    # Rounds, then those of a rule other than that of the search.
    return settings.max_iter * (1 if settings.learning_rule == "ols" else 2)


def _steps_of_auto(settings: FitSettings) -> int:
    # Of pursuit, of all sets of low orders, of all weights, and of the choice.
    return (
        _steps_of_pursuit(settings)
        + SPIKE_SLAB_WORK.max_order
        + _n_records_of_gp(settings)
        + 1
    )


def _steps_of_spike_slab(settings: FitSettings) -> int:
    # Of the orders, and of the choice.
    return (settings.max_order or SPIKE_SLAB_WORK.max_order) + 1


def _solve_spike_slab(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """All sets of low orders, or none if these have no shorter description."""
    if not samples.term_names.labels:
        return solve_pursuit(samples, settings, report)
    if np.ptp(samples.y) == 0.0:
        return _find_constant(samples)
    solution = solve_spike_slab(samples, settings, report)
    if solution is None:
        raise FloatingPointError(
            'strategy="spike_slab" diverged on these samples: use strategy="auto"'
        )
    found = {"spike_slab": solution, "nothing": _find_nothing(samples, solution)}
    return _choose(found, samples, settings, report)


def _find_constant(samples: TrainingData) -> FitResult:
    """Model of a target that does not vary."""
    graph = WalshPolynomial((), np.empty(0), float(samples.y[0]))
    return FitResult.of_weights(
        graph,
        np.empty(0),
        0.0,
        "exact: the target is constant",
        [],
        model=SparseModel.certain(graph),
        is_exact=True,
    )


def _solve_all(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """All weights, where any column varies."""
    if not samples.term_names.labels:
        return solve_pursuit(samples, settings, report)
    gp = cast(FitResult, solve_gp(samples, settings, report))
    return _list_nothing(gp, samples)


def _list_nothing(gp: FitResult, samples: TrainingData) -> FitResult:
    """Clear the terms of a Gaussian process that describes no more than the mean."""
    # All weights can explain noise, whose variance then seems less than it is.
    max_length = _length_of_mean(samples, gp.model.transform) - _AUTO.min_gain
    if not gp.terms or gp.model.description_length() < max_length:
        return gp
    reason = (
        "no weight is listed, since nothing differs significantly from the mean of y"
    )
    return _prepend_reason(_without_terms(gp), reason)


def solve_auto(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Fit the sparse model and, unless it is exact, others; keep the best or none."""
    # The best is the shortest description: minus the log evidence over all
    # hyperparameters, plus the logarithm of the number of ways to choose as many terms
    # of each order. That nothing matters, but for the mean, is described as well.
    if samples.term_names.has_categories:
        return _solve_categories(samples, settings, report)
    sparse = solve_pursuit(samples, settings, report)
    if sparse.is_exact:
        return sparse._replace(model=SparseModel.certain(sparse.graph))
    n_rows, n_inputs = samples.inputs.shape
    if not n_inputs:
        return sparse
    design = make_design(samples.inputs, samples.sample_weight)
    left_out = 0.0
    if sparse.selection is not None and sparse.selection.errors is not None:
        # The unit of the errors that are known.
        left_out = math.sqrt(sparse.selection.errors.mean())
        left_out *= power_of_two_scale(samples.y)
    posterior = SparseModel.condition(sparse.graph, design, samples.y, left_out)
    # Report posterior standard deviations, so that weights and predictions agree; keep
    # NaN.
    errors = [posterior.weight_posterior(term)[1] for term in sparse.terms]
    errors = np.where(np.isnan(sparse.standard_errors), np.nan, errors)
    sparse = sparse._replace(model=posterior, standard_errors=errors)
    if sparse.is_stopped:
        return sparse
    for name, usual in (("learning_rule", "ols"), ("max_order", None), ("terms", None)):
        if getattr(settings, name) != usual:
            return _stay(sparse, f"{name} requires it")
    found = {"sparse": sparse} if sparse.terms else {}
    try:
        _require_room(samples, settings)
        if is_affordable(n_rows, n_inputs, settings):
            found["additive"] = solve_additive(samples)
            posterior_mean = solve_spike_slab(samples, settings, report, is_brief=True)
            if posterior_mean is not None:
                found["spike_slab"] = posterior_mean
        nothing = _find_nothing(samples, sparse)
        known = [one.model.description_length() for one in [*found.values(), nothing]]
        gp = solve_gp(samples, settings, report, min(known) + _AUTO.max_excess_gp)
    except MemoryError as error:
        return _stay(sparse, f"the Gaussian process does not fit: {error}")
    if gp is not None:
        found["gp"] = gp
        if "additive" in found:
            additive = found["additive"]
            found["additive"] = _on_scale_of(gp.model, additive, samples, settings)
    found["nothing"] = nothing
    return _choose(found, samples, settings, report, ["gp"] if gp is None else [])


def _solve_categories(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Compare the models that take more than two categories, for "auto"."""
    if settings.terms is not None:
        raise ValueError(
            "terms is for sparse models, but columns with more than two categories "
            "need a model of all weights: leave terms out"
        )
    for name, usual in (("learning_rule", "ols"), ("selection", "auto")):
        if getattr(settings, name) != usual:
            raise ValueError(
                f"{name}={getattr(settings, name)!r} is for sparse models, but columns "
                "with more than two categories need a model of all weights: leave it "
                "at its default"
            )
    gp = cast(FitResult, solve_gp(samples, settings, report))
    found = {"gp": gp}
    if gp.model.inference == "cholesky":
        additive = solve_additive_categories(samples, settings)
        found["additive"] = _on_scale_of(gp.model, additive, samples, settings)
    found["nothing"] = _find_nothing(samples, gp)
    return _choose(found, samples, settings, report)


def _on_scale_of(
    gp: GPModel, additive: FitResult, samples: TrainingData, settings: FitSettings
) -> FitResult:
    """Additive model on another scale of the target, if it is shorter there."""
    if not gp.is_transformed or len(samples.y) < PATH.min_rows:
        return additive
    if samples.term_names.has_categories:
        other = solve_additive_categories(samples, settings, gp.transform)
    else:
        other = solve_additive(samples, gp.transform)
    own, there = (each.model.description_length() for each in (additive, other))
    return other if there < own else additive


def _require_room(samples: TrainingData, settings: FitSettings) -> None:
    """Refuse wide tables that as numbers need more than the memory budget."""
    n_bytes = 8.0 * samples.inputs.size
    if samples.is_wide and n_bytes > settings.memory_budget:
        raise MemoryError(
            f"its table needs {format_bytes(n_bytes)} of memory, but memory_budget is "
            f"{format_bytes(settings.memory_budget)}"
        )


def _find_nothing(samples: TrainingData, other: FitResult) -> FitResult:
    """Model of the mean alone; what was searched is as of another solution."""
    posterior = _condition_mean(samples, samples.y)
    nothing = posterior.polynomial, np.empty(0)
    reason = "the model is the mean of y"
    return FitResult.of_model(posterior, nothing, reason, other.coverage)


def _condition_mean(samples: TrainingData, y: NDArray[np.float64]) -> SparseModel:
    """Posterior of the mean of a target."""
    graph = WalshPolynomial(
        (), np.empty(0), float(np.average(y, weights=samples.sample_weight))
    )
    design = make_design(samples.inputs, samples.sample_weight)
    return SparseModel.condition(graph, design, y)


def _length_of_mean(samples: TrainingData, transform: Transform) -> float:
    """Description length of a target whose mean on a scale is all that is known."""
    model = _condition_mean(samples, transform.forward(samples.y))
    slope = sum_log_slope(transform, samples.y, samples.sample_weight)
    return model.description_length() - slope


def _choose(
    found: dict[str, FitResult],
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    beyond: Sequence[str] = (),
) -> FitResult:
    """Choose the shortest description, or a sparse model that predicts better."""
    # Models `beyond` have descriptions that are far longer.
    lengths = {
        name: solution.model.description_length() for name, solution in found.items()
    }
    # A scale alone may be what a target with a long tail gains by.
    scale = found["additive"].model.transform if "additive" in found else Unchanged()
    if not isinstance(scale, Unchanged):
        lengths["nothing"] = min(lengths["nothing"], _length_of_mean(samples, scale))
    max_length = lengths["nothing"] - _AUTO.min_gain
    is_one_of_many = _is_one_of_many(found, lengths)
    shorter = [name for name in lengths if lengths[name] < max_length]
    if is_one_of_many:
        shorter = [name for name in shorter if name != "sparse"]
    chosen = min(shorter, key=lengths.__getitem__, default="nothing")
    how = f"the {_NOUNS[chosen]} has the shortest description"
    if is_one_of_many and lengths["sparse"] < lengths[chosen]:
        how = "the sparse model is not the only one that fits"
    gain = _AUTO.min_gain_over_additive
    if lengths["nothing"] - lengths[chosen] > _AUTO.min_gain_sure:
        gain = _AUTO.min_gain_weak
    is_robust = _is_robust(lengths, chosen, gain)
    if chosen == "nothing":
        how = "nothing is significant"
        if _is_shared(lengths, len(samples.y)):
            chosen = "spike_slab"
            how += ", and the spike-and-slab model averages over all that may"
            found = {**found, chosen: _without_terms(found[chosen])}
        elif is_robust or not isinstance(scale, Unchanged):
            chosen = "additive"
            how += ", and the additive model stays close to the mean"
            found = {**found, "additive": _without_terms(found["additive"])}
    else:
        if is_robust:
            chosen = "additive"
            how = "no description is clearly shorter than that of the additive model"
        better = _find_better(found, lengths, chosen, samples, settings)
        chosen, how = better or (chosen, how)
        sparse, other = found.get("sparse"), found[chosen].model
        if (
            chosen != "sparse"
            and not is_one_of_many
            and _is_trusted(sparse, lengths, samples)
            and _predicts_better(sparse, other, samples, settings)
        ):
            chosen, how = "sparse", "the sparse model predicts held-out rows better"
    solution = found[chosen]
    record = {f"description_length_{name}": value for name, value in lengths.items()}
    report({**record, "chosen": chosen}, solution.graph, solution.model)
    listed = ", ".join(f"{_NOUNS[name]} {value:.1f}" for name, value in lengths.items())
    listed += "".join(f", {_NOUNS[name]} far longer" for name in beyond)
    return _prepend_reason(solution, f"{how} (description lengths: {listed})")


def _find_better(
    found: dict[str, FitResult],
    lengths: dict[str, float],
    chosen: str,
    samples: TrainingData,
    settings: FitSettings,
) -> tuple[str, str] | None:
    """Dense model to which the chosen one gives way, if any, and why."""
    better = None
    if chosen == "spike_slab" and _is_tied_with_gp(lengths):
        better = "gp", "no description is clearly shorter than the Gaussian process"
    if chosen == "additive" and _has_interaction(found, lengths):
        better = "gp", "the additive model lacks a significant product"
    chosen = better[0] if better else chosen
    if _loses_by_scale(found, lengths, chosen, samples):
        better = "spike_slab", "the other scale of y costs accuracy"
        chosen = "spike_slab"
    if chosen == "spike_slab" and _loses_on_folds(found, samples, settings):
        better = "gp", "the Gaussian process predicts held-out rows better"
    elif chosen == "spike_slab" and _loses_to_mean(found, lengths, samples):
        better = (
            "additive",
            "the spike-and-slab model predicts held-out rows no better than y's mean",
        )
    return better


def _without_terms(solution: FitResult) -> FitResult:
    """Copy of a model with none of its weights listed."""
    graph = WalshPolynomial((), np.empty(0), solution.intercept)
    coverage = with_kept(solution.coverage, ())
    return solution.with_weights(graph, np.empty(0))._replace(coverage=coverage)


def _is_shared(lengths: dict[str, float], n_rows: int) -> bool:
    """Whether products of low orders explain more than the mean and single inputs."""
    # The data need not identify them.
    if "spike_slab" not in lengths or n_rows < _AUTO.min_rows_average:
        return False
    if lengths["spike_slab"] >= lengths["nothing"]:
        return False
    gain = _AUTO.min_gain_over_additive
    return not _is_robust(lengths, "spike_slab", gain)


def _is_robust(lengths: dict[str, float], chosen: str, min_gain: float) -> bool:
    """Whether signals are weak and the additive model is about as short as another."""
    # Of models whose descriptions differ little, it then predicts best: it estimates
    # one variance.
    if "additive" not in lengths:
        return False
    if lengths["nothing"] - lengths["additive"] > _AUTO.max_gain_weak:
        return False
    # It has no evidence where products may matter.
    if chosen == "spike_slab" and lengths["additive"] >= lengths["nothing"]:
        return False
    return lengths["additive"] < lengths[chosen] + min_gain


def _is_one_of_many(found: dict[str, FitResult], lengths: dict[str, float]) -> bool:
    """Whether a spike-and-slab model averages many models such as the sparse one."""
    # Its description is about as short, it has tried all sets of the sparse one's
    # orders, and lists others: its list controls the false discoveries, that of a
    # search is all it found.
    if "sparse" not in found or "spike_slab" not in found:
        return False
    max_length = _max_length(lengths, "sparse", _AUTO.min_gain_over_average)
    sparse, average = found["sparse"].terms, found["spike_slab"]
    return (
        lengths["spike_slab"] < max_length
        and max(map(len, sparse), default=0) <= average.coverage[-1]["order"]
        and set(sparse) != set(average.terms)
    )


def _max_length(lengths: dict[str, float], name: str, gain: float) -> float:
    """Length up to which a model is about as short as another, and gains anything."""
    return min(lengths[name] + gain, lengths["nothing"] - _AUTO.min_gain)


def _is_tied_with_gp(lengths: dict[str, float]) -> bool:
    """Whether a Gaussian process is about as short as a spike-and-slab one."""
    # Then most weights count. Of four such tables of 60 to 300 rows it has 0.05, 0.01
    # and 0 more R2, and in one 0.01 less.
    return lengths.get("gp", math.inf) < _max_length(
        lengths, "spike_slab", _AUTO.min_gain_over_additive
    )


def _has_interaction(found: dict[str, FitResult], lengths: dict[str, float]) -> bool:
    """Whether a Gaussian process as short as the additive model has interactions."""
    max_length = _max_length(lengths, "additive", _AUTO.min_gain_over_additive)
    return (
        "gp" in found
        and lengths["gp"] < max_length
        and any(len(term) > 1 for term in found["gp"].terms)
    )


def _loses_by_scale(
    found: dict[str, FitResult],
    lengths: dict[str, float],
    chosen: str,
    samples: TrainingData,
) -> bool:
    """Whether a spike-and-slab model predicts better than one on a scale, as short."""
    # A density may gain by a scale on which means are worse: of a table of hours of
    # work, many of them zero, R2 was 0.34 for 0.61, with descriptions 0.8 nats apart.
    max_length = _max_length(lengths, chosen, _AUTO.min_gain_over_additive)
    is_plain = isinstance(found[chosen].model.transform, Unchanged)
    if is_plain or lengths.get("spike_slab", math.inf) >= max_length:
        return False
    own, other = (
        _left_out_squares(found[name].model, samples) for name in (chosen, "spike_slab")
    )
    weights = _weights_of(samples)
    gain = np.average(own - other, weights=weights)
    variance = np.average((own - other - gain) ** 2, weights=weights)
    n_observed = count_observations(weights).sum()
    return bool(gain > _AUTO.n_errors * math.sqrt(variance / (n_observed - 1.0)))


def _loses_on_folds(
    found: dict[str, FitResult], samples: TrainingData, settings: FitSettings
) -> bool:
    """Whether a Gaussian process predicts better than a spike-and-slab model."""
    # The evidence of message passing is too high where many weights count and products
    # are collinear. Both models are learned from the rows of the folds alone; a process
    # that keeps the covariance of all rows takes little time, and comes first.
    gp, folds = found.get("gp"), _folds_of(found.get("sparse"))
    if gp is None or folds is None:
        return False
    model = cast(SpikeSlabModel, found["spike_slab"].model)

    @cache
    def spike_slab_errors() -> NDArray[np.float64]:
        return _fold_errors(partial(refit_spike_slab, model, samples), folds, samples)

    # No process predicts better than by its noise. Of many rows, a factor for each fold
    # takes as long as all else.
    if len(samples.y) > _AUTO.n_rows_per_stage[0] and not gp.model.is_transformed:
        noise_std = gp.model.noise_std() / power_of_two_scale(samples.y)
        max_error = _AUTO.max_error_ratio * spike_slab_errors().mean()
        if noise_std**2 > max_error:
            return False
    quick, full = (
        _refit_of(cast(GPModel, gp.model), samples, settings, keeps_covariance)
        for keeps_covariance in (True, False)
    )
    errors = _fold_errors(quick, folds, samples)
    nothing = _fold_errors(lambda _: None, folds, samples)
    if errors.mean() > _AUTO.max_error_contest * nothing.mean():
        return False
    others = spike_slab_errors()
    return _is_clearly_less(errors, others) and _is_clearly_less(
        _fold_errors(full, folds, samples), others
    )


def _loses_to_mean(
    found: dict[str, FitResult], lengths: dict[str, float], samples: TrainingData
) -> bool:
    """Whether a spike-and-slab model of numeric columns predicts no better."""
    # Where a few rows have large products and one of them an outlying target, these
    # products describe it and are as large elsewhere. Such fits of `zeros` and
    # `varying_noise` in benchmarks/mohn/new_functions.py had R2 from -3.0 to -1.8, the
    # additive model, which has one variance for all columns, 0.1 to 0.2.
    folds = _folds_of(found.get("sparse"))
    gain = lengths["nothing"] - lengths["spike_slab"]
    if folds is None or gain > _AUTO.max_gain_weak or not _has_numeric(samples):
        return False
    model = cast(SpikeSlabModel, found["spike_slab"].model)
    own = _fold_errors(partial(refit_spike_slab, model, samples), folds, samples)
    nothing = _fold_errors(lambda _: None, folds, samples)
    return bool(own.mean() >= nothing.mean())


def _has_numeric(samples: TrainingData) -> bool:
    """Whether any column is numeric, so that the sizes of its products vary."""
    return bool(np.any(samples.coding.kind == NUMERIC))


def _is_clearly_less(errors: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether mean squared errors on folds are less, on all together and on most."""
    if errors.mean() > _AUTO.max_error_ratio * others.mean():
        return False
    return bool(np.median(errors - others) < 0.0)


def _folds_of(sparse: FitResult | None) -> Folds | None:
    """Folds by which a sparse model was chosen, if any."""
    if sparse is None or sparse.selection is None:
        return None
    folds = sparse.selection.folds
    return folds if folds is not None and len(folds) > 1 else None


def _is_trusted(
    sparse: FitResult | None, lengths: dict[str, float], samples: TrainingData
) -> bool:
    """Whether errors on folds are those of a model that was not chosen by them."""
    # Terms of the search of all rows were; they count where neither chance nor many
    # more weights are an explanation. Blocks of inputs that only count together are of
    # switches: a product of many numeric columns is that of the few rows in which it is
    # large.
    if sparse is None or sparse.selection is None or sparse.selection.how != "whole":
        return sparse is not None
    order = max(map(len, sparse.terms), default=0)
    if order > SPIKE_SLAB_WORK.max_order and _has_numeric(samples):
        return False
    gain = _AUTO.min_gain_chosen
    max_length = min(lengths["nothing"] - gain, lengths.get("gp", math.inf) + gain)
    return lengths["sparse"] < max_length


def _predicts_better(
    sparse: FitResult | None, model: Model, samples: TrainingData, settings: FitSettings
) -> bool:
    """Whether the sparse model clearly predicts held-out rows of its folds better."""
    # A structure that chance would hardly make, such as that of blocks of inputs, has a
    # long description and may yet be the true one. It then explains the data better
    # than the other model once its terms are known; where it does not, its smaller
    # squares are those of a few large targets. The other model keeps the
    # hyperparameters of all rows. Where a Gaussian process predicts as well from some
    # of the rows of each fold, all are not needed.
    folds = _folds_of(sparse)
    if sparse is None or sparse.selection is None or folds is None:
        return False
    known = sparse.selection.errors
    if known is None:
        return False
    if sparse.model.data_description_length() > model.description_length():
        return False
    for errors in _errors_of_folds(model, folds, samples, settings):
        gains = errors - known
        if gains.mean() <= _AUTO.n_errors * sem(gains):
            return False
    return True


def _errors_of_folds(
    model: Model, folds: Folds, samples: TrainingData, settings: FitSettings
) -> Iterator[NDArray[np.float64]]:
    """Mean squared errors of a model on folds, the better the more it costs."""
    if isinstance(model, SpikeSlabModel):
        yield _left_out_errors(model, folds, samples)
        return
    n_rows = len(samples.y)
    for max_rows in sorted({min(n_rows, size) for size in _AUTO.n_rows_per_stage}):
        fit = _refit_of(cast(GPModel, model), samples, settings, True, max_rows)
        yield _fold_errors(fit, folds, samples)


def _left_out_errors(
    model: Model, folds: Sequence[tuple[NDArray, NDArray]], samples: TrainingData
) -> NDArray[np.float64]:
    """Mean squares of leave-one-out errors in the rows of each fold."""
    squares, weights = _left_out_squares(model, samples), _weights_of(samples)
    return np.array([np.average(squares[t], weights=weights[t]) for _, t in folds])


def _left_out_squares(model: Model, samples: TrainingData) -> NDArray[np.float64]:
    """Squares of leave-one-out errors, in the sparse model's unit."""
    data = samples.rows.as_float(), samples.y, samples.sample_weight
    (mean,) = model.left_out_means(*data)
    mean = np.clip(mean, model.y_min, model.y_max)
    return ((samples.y - mean) / power_of_two_scale(samples.y)) ** 2


def _weights_of(samples: TrainingData) -> NDArray[np.float64]:
    """Weights of the rows, one each without any."""
    weights = samples.sample_weight
    return np.ones(len(samples.y)) if weights is None else weights


def _fold_errors(
    fit: Callable[[NDArray[np.intp]], Model | None], folds: Folds, samples: TrainingData
) -> NDArray[np.float64]:
    """Mean squared errors on folds of models fitted to the others."""
    # In the sparse model's unit. Where a fit diverges, the mean is what is known.
    rows, y, weights = samples.rows.as_float(), samples.y, _weights_of(samples)
    errors, unit = [], power_of_two_scale(y)

    def predict(train: NDArray[np.intp], test: NDArray[np.intp]) -> Any:
        """Predict rows by a model that is dropped, with its factor, before the next."""
        model = fit(train)
        if model is None:
            return np.average(y[train], weights=weights[train])
        return model.predictive_mean(rows.take(test))

    for train, test in folds:
        squares = ((y[test] - predict(train, test)) / unit) ** 2
        errors.append(np.average(squares, weights=weights[test]))
    return np.array(errors)


def _refit_of(
    model: GPModel,
    samples: TrainingData,
    settings: FitSettings,
    keeps_covariance: bool,
    max_rows: float = math.inf,
) -> Callable[[NDArray[np.intp]], GPModel]:
    """Function that learns a Gaussian process like another one from some rows."""
    rows, rng = samples.rows.as_float(), np.random.default_rng(samples.seed)

    def fit(train: NDArray[np.intp]) -> GPModel:
        if len(train) > max_rows:
            train = rng.permutation(train)[: int(max_rows)]
        weights = samples.sample_weight
        return fit_gp(
            rows.take(train),
            samples.y[train],
            None if weights is None else weights[train],
            alphabets=model.covariance.alphabets,
            covariance=model.covariance if keeps_covariance else None,
            transform=model.transform,
            strong_terms=False,
            noise="constant",
            memory_budget=settings.memory_budget,
            seed=samples.seed,
        )

    return fit


def _stay(sparse: FitResult, why: str) -> FitResult:
    return _prepend_reason(sparse, f"the sparse model, because {why}")


def _prepend_reason(solution: FitResult, first: str) -> FitResult:
    return solution._replace(stopping_reason=f"{first}; {solution.stopping_reason}")


# Strategies of `MOHNRegressor`, `MOHNClassifier` and `MOHNTransformer`.
STRATEGIES = {
    "auto": Strategy(
        {
            "regression": solve_auto,
            "classification": partial(solve_ensemble, has_few=True),
            "terms": partial(solve_terms, find=find_by_kind),
            "glm": partial(solve_glm, find=find_candidates),
        },
        _steps_of_auto,
        may_be_dense=True,
        leaves_outliers_out=True,
        joins_copies=("regression", "classification"),
    ),
    "gp": Strategy(
        {"regression": _solve_all, "classification": solve_ensemble},
        _n_records_of_gp,
        may_be_dense=True,
        may_be_sparse=False,
        leaves_outliers_out=True,
        joins_copies=("regression", "classification"),
    ),
    "logistic": Strategy(
        {
            "classification": partial(solve_few, find=find_by_score),
            "terms": partial(solve_terms, find=find_by_score),
        }
    ),
    "pursuit": Strategy(
        {
            "regression": solve_pursuit,
            "classification": partial(solve_few, find=find_by_pursuit),
            "terms": partial(solve_terms, find=find_by_pursuit),
        },
        _steps_of_pursuit,
        leaves_outliers_out=True,
        joins_copies=("regression",),
    ),
    "spike_slab": Strategy(
        {"regression": _solve_spike_slab},
        _steps_of_spike_slab,
        may_be_sparse=False,
        leaves_outliers_out=True,
        joins_copies=("regression",),
    ),
    "msda": Strategy(
        {"regression": solve_msda}, _steps_of_search, joins_copies=("regression",)
    ),
    "full": Strategy(
        {
            "regression": solve_full,
            "classification": partial(solve_few, find=find_all),
            "terms": partial(solve_terms, find=find_all),
            "glm": partial(solve_glm, find=partial(find_listed, is_full=True)),
        },
        _steps_of_search,
    ),
    "given": Strategy(
        {
            "regression": solve_given,
            "classification": partial(solve_few, find=find_given),
            "terms": partial(solve_terms, find=find_given),
            "glm": partial(solve_glm, find=partial(find_listed, is_full=False)),
        },
        _steps_of_search,
    ),
}
