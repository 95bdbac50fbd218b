"""Fit of a Walsh polynomial to samples: one function per strategy and rule."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, combinations
from typing import Any

import numpy as np

from skmohn._core._types import Term
from skmohn._core._units import power_of_two_scale
from skmohn._core._validation import read_sets, require_memory
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.terms import count_orders, count_sets, with_kept
from skmohn.mohn._models import FitResult
from skmohn.mohn._options import FitSettings, Report
from skmohn.mohn._sparse import msda as _msda
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.exact_fit import ExactFitTest, rounding_variance
from skmohn.mohn._sparse.known_terms import EXACT, REASONS, describe, learn, penalty_of
from skmohn.mohn._sparse.linear_solvers import moments, ols
from skmohn.mohn._sparse.model_selection import PathValidation, choose_model, shorter
from skmohn.mohn._sparse.pair_cache import PairCache
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._sparse.rank_scores import may_mislead, search_scores
from skmohn.mohn._sparse.term_screening import BASE_ORDER
from skmohn.mohn._table.rows import rms
from skmohn.mohn._table.term_names import find_sets, to_inputs
from skmohn.mohn._training_data import TrainingData, ValidationData


def solve_pursuit(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Discover few weights by pursuit."""
    always = terms_of_all_models(samples, settings)
    return _solve(partial(_run_pursuit, always=always), samples, settings, report)


def solve_msda(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Discover few weights by the papers' algorithm."""
    return _solve(_run_msda, samples, settings, report)


def solve_full(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Learn the weights of all terms up to `max_order`."""
    n_inputs = samples.inputs.shape[1]
    order = min(settings.max_order or n_inputs, n_inputs)
    n_terms = count_sets(n_inputs, order)
    require_memory(
        8.0 * n_terms * (n_terms + 1),
        f'strategy="full" with {n_terms:,} weights up to order {order}',
        'lower max_order or use strategy="pursuit"',
    )
    orders = (combinations(range(n_inputs), k) for k in range(1, order + 1))
    find = partial(learn, terms=list(chain.from_iterable(orders)))
    return _solve(find, samples, settings, report)


def solve_given(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    """Learn the weights of the terms that are listed."""
    if settings.terms is None:
        raise ValueError('strategy="given" needs terms, a list of sets of columns')
    find = partial(learn, terms=listed_terms(samples, settings))
    return _solve(find, samples, settings, report)


def _solve(
    find: Callable[..., FitResult],
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
) -> FitResult:
    """Find a model of scaled targets, of rows repeated by their weights."""
    unit = power_of_two_scale(samples.y)
    repeated, origin = samples.in_units(unit).repeat_rows()
    in_unit = _in_unit(report, unit)
    if repeated.inputs.shape[1]:
        solution = find(repeated, settings, in_unit)
        reason = solution.stopping_reason + _mention_dependent(repeated)
        solution = solution._replace(stopping_reason=reason)
    else:
        solution = learn(repeated, settings, in_unit, [])._replace(
            warning="no column of X varies: the model is the mean of y"
        )
    selection = solution.selection
    if selection is not None and selection.folds is not None:
        folds = [
            (np.unique(origin[train]), np.unique(origin[test]))
            for train, test in selection.folds
        ]
        selection = selection._replace(folds=samples.folds or folds)
    scaled = solution.with_weights(
        solution.graph.times(unit), unit * solution.standard_errors
    )
    return scaled._replace(selection=selection, noise_std=unit * solution.noise_std)


def _in_unit(report: Report, unit: float) -> Report:
    """Report errors and models of a scaled target in its own unit."""

    def report_in_unit(record: dict[str, Any], graph: WalshPolynomial) -> bool:
        record = {
            name: unit * value if name in _ERRORS and value is not None else value
            for name, value in record.items()
        }
        return report(record, graph.times(unit))

    return report_in_unit


_ERRORS = ("learned_rmse", "training_rmse", "validation_rmse")


def _mention_dependent(samples: TrainingData) -> str:
    """Sentence on columns that are linear combinations of others."""
    n_samples, n_inputs = samples.inputs.shape
    # Inner products of wide tables would take much memory.
    if samples.is_wide or n_inputs >= n_samples:
        return ""
    design = make_design(samples.inputs, samples.sample_weight)
    columns = design.columns([(i,) for i in range(n_inputs)])
    n_dependent = n_inputs - ols(moments(design, columns, samples.y)).rank
    if not n_dependent:
        return ""
    return (
        f"; {n_dependent} of {n_inputs} columns are linear combinations of the others, "
        "so other weights can give the same model"
    )


# ------------------------------------------------------------------------ pursuit


def _run_pursuit(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    always: tuple[Term, ...],
) -> FitResult:
    search, path_validation, reason = _search(samples, settings, report, always)
    conclude = partial(
        _conclude, search, path_validation, reason, samples, settings, report
    )
    solution = _by_scores(search, reason, samples, settings, always, conclude)
    if search.is_too_wide:
        reason = solution.stopping_reason + _LEFT_OUT
        solution = solution._replace(stopping_reason=reason)
    n_lost = 1 + len(always) - search.model.n_fixed
    if n_lost:
        lost = (
            f"{n_lost} of {len(always)} terms given cannot be told apart from the "
            "others with these samples and were dropped"
        )
        warnings = filter(None, [lost, solution.warning])
        solution = solution._replace(warning="; ".join(warnings))
    return solution


def _by_scores(
    search: Pursuit,
    reason: str,
    samples: TrainingData,
    settings: FitSettings,
    always: tuple[Term, ...],
    conclude: Callable[[], FitResult],
) -> FitResult:
    """Conclude a search or, with noise far from normal, one of rank scores."""
    # The latter is often chosen before a model is selected, which then is not needed.
    if reason in ("exact", "stopped"):
        return conclude()
    solution, residual = None, search.model.residual
    if not may_mislead(samples.y, residual):
        solution = conclude()
        columns: Any = search.design.columns(solution.terms)
        fitted = search.design.combine(columns, solution.coef)
        residual = samples.y - solution.intercept - fitted
        if not may_mislead(samples.y, residual):
            return solution

    def pursue(scored: TrainingData, report: Report) -> FitResult:
        searched = _search(scored, settings, report, always)
        return _conclude(*searched, scored, settings, report)

    found = search_scores(samples, settings, residual, pursue, _from_least_squares)
    return found or solution or conclude()


def _search(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    always: tuple[Term, ...],
) -> tuple[Pursuit, PathValidation, str]:
    """Search of all samples, its rivals by validation, and the stopping reason."""
    design = make_design(samples.inputs, samples.sample_weight)
    control = PursuitControl(
        max_order=min(settings.max_order or design.n_features, design.n_features),
        max_rounds=settings.max_iter,
        work_budget=settings.work_budget,
        memory_budget=settings.memory_budget,
        always=always,
    )
    report_round = _pursuit_reporter(report, samples.validation)
    pair_cache = None
    if samples.is_wide:
        pair_cache = PairCache(design, settings.n_jobs, settings.watch)
    path_validation = PathValidation(
        design,
        samples,
        control,
        selection=settings.selection,
        cv=settings.cv,
        pair_cache=pair_cache,
    )
    if pair_cache is not None and control.max_order <= BASE_ORDER:
        # There are no higher orders to be screened first. A search that requests a
        # second pass is seldom exact.
        pair_cache.joint_searches = path_validation.begin
    search = Pursuit(
        design,
        samples.y,
        control,
        report_round,
        samples.initial_terms,
        pair_cache and pair_cache.whole,
    )
    reason = search.run()
    if reason == "exact":
        found = [term for term in search.model.terms if term]
        if not ExactFitTest(samples.inputs, samples.y).is_significant(found):
            reason = "stalled"
    return search, path_validation, reason


def _conclude(
    search: Pursuit,
    path_validation: PathValidation,
    reason: str,
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
) -> FitResult:
    """Model of a search: of all samples, or the one that validation chose."""
    design, coverage = search.design, search.coverage
    if reason in ("exact", "stopped"):
        model, warning, chosen = search.model, None, None
    else:
        # Orders that were not productive in all samples are skipped.
        path_validation.control = replace(
            path_validation.control,
            max_screened=search.frontier.highest_productive_order,
        )
        chosen = choose_model(path_validation, n_jobs=settings.n_jobs)
        if settings.selection == "auto" and samples.validation is None:
            chosen = shorter(chosen, search)
        reason, coverage = chosen.how, with_kept(coverage, chosen.terms)
        warning = _SHORT if chosen.limited else None
        if chosen.coef is not None and chosen.intercept is not None:
            graph = WalshPolynomial.sort(chosen.terms, chosen.coef, chosen.intercept)
            solution = describe(
                design, samples.y, graph, reason, coverage, warning, searched=True
            )
            return solution._replace(selection=chosen)
        model = ActiveSet.of(design, samples.y, chosen.terms)
    if settings.learning_rule != "ols":
        terms = [term for term in model.terms if term]
        solution = learn(samples, settings, report, terms)
        reason = f"{REASONS[reason]}; {solution.stopping_reason}"
        warnings = filter(None, [warning, solution.warning])
        return solution._replace(
            stopping_reason=reason,
            coverage=coverage,
            warning="; ".join(warnings) or None,
        )
    solution = _from_least_squares(model, reason, coverage, warning)
    return solution._replace(selection=chosen)


_LEFT_OUT = (
    "; message passing was skipped, because its candidates need more than memory_budget"
)
_SHORT = (
    "the samples are too few for all the weights that seem to matter: the model is the "
    "best that they support; more samples, a lower max_order or fewer columns help"
)


def _pursuit_reporter(
    report: Report, held: ValidationData | None
) -> Callable[[Pursuit], bool]:
    design: Any = (
        None if held is None else make_design(held.rows.inputs, held.sample_weight)
    )

    def report_round(search: Pursuit) -> bool:
        model = search.model
        validation_rmse = None
        if held is not None:
            fitted = design.combine(design.columns(model.terms), model.coef)
            validation_rmse = rms(held.y - fitted, held.sample_weight)
        record = {
            "learned_rmse": search.learned_rms,
            "training_rmse": model.rms,
            "validation_rmse": validation_rmse,
            "n_weights": len(model) - 1,
            "weights_per_order": tuple(count_orders(model.terms).tolist()),
            "proposed": search.proposed,
            "removed": search.removed,
            "discarded": search.n_banned,
        }
        return report(record, WalshPolynomial.sort(model.terms, model.coef, 0.0))

    return report_round


def _from_least_squares(
    model: ActiveSet, reason: str, coverage: list[dict[str, Any]], warning: str | None
) -> FitResult:
    graph = WalshPolynomial.sort(model.terms, model.coef, 0.0)
    if reason == "exact":
        zeros = np.zeros(len(graph.weights))
        return FitResult.of_weights(graph, zeros, 0.0, EXACT, coverage, is_exact=True)
    rounding_std = math.sqrt(rounding_variance(model.y))
    errors = dict(zip(model.terms, model.standard_errors(rounding_std), strict=True))
    errors = np.array([errors[term] for term in graph.terms])
    if len(model) >= model.design.weight_sum:
        errors = np.full(len(errors), np.nan)
    return FitResult.of_weights(
        graph,
        errors,
        max(model.noise, rounding_std),
        REASONS[reason],
        coverage,
        warning,
        is_stopped=reason == "stopped",
    )


# --------------------------------------------------------------------------- msda


def _run_msda(
    samples: TrainingData, settings: FitSettings, report: Report
) -> FitResult:
    design = make_design(samples.inputs, samples.sample_weight)
    held, validation = samples.validation, None
    if held is not None:
        validation = make_design(held.rows.inputs, held.sample_weight), held.y

    def report_model(record: dict[str, Any], model: _msda.Model) -> bool:
        return report(record, WalshPolynomial.sort(*model))

    model, reason, coverage = _msda.discover(
        design,
        samples.y,
        settings.msda_options,
        settings.learning_rule,
        samples.seed,
        max_order=min(settings.max_order or design.n_features, design.n_features),
        max_iter=settings.max_iter,
        alpha=penalty_of(samples, settings),
        learning_rate=settings.delta_options.learning_rate,
        validation=validation,
        on_iteration=report_model,
        initial_terms=samples.initial_terms,
    )
    graph = WalshPolynomial.sort(*model)
    warning = None
    if reason == "max_iter":
        warning = (
            f"msda stopped at max_iter={settings.max_iter}: raise it, or use "
            'strategy="pursuit"'
        )
    return describe(
        design,
        samples.y,
        graph,
        reason,
        coverage,
        warning,
        ols=settings.msda_options.refit or settings.learning_rule == "ols",
        searched=True,
    )


def listed_terms(samples: TrainingData, settings: FitSettings) -> list[Term]:
    """Validate the parameter `terms`; return sets of inputs."""
    index, n_features = samples.term_names.index, len(samples.coding.kind)
    given = read_sets(settings.terms, "terms")
    terms = find_sets(given, n_features, index, settings.max_order)
    usable = set(samples.coding.usable.tolist())
    for term in terms:
        for i in set(term).difference(usable):
            raise ValueError(
                f"terms has {term}, but column {i} of X is constant: the weight "
                "cannot be learned"
            )
    return to_inputs(terms, samples.coding.usable)


def terms_of_all_models(
    samples: TrainingData, settings: FitSettings
) -> tuple[Term, ...]:
    """Terms of every model of a search: those that the user lists, if any."""
    if settings.terms is None:
        return ()
    for name in ("selection", "learning_rule"):
        if getattr(settings, name) == "lasso":
            raise ValueError(
                f'{name}="lasso" would shrink the weights of the terms given: use '
                f"another {name}, or terms=None"
            )
    return tuple(listed_terms(samples, settings))
