"""Weights of known terms by each learning rule, with noise and standard errors."""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skmohn._core._types import Term
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn._design.design import Design, make_design
from skmohn.mohn._design.terms import count_orders, with_kept
from skmohn.mohn._models import FitResult
from skmohn.mohn._options import FitSettings, Report
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.exact_fit import rounding_variance
from skmohn.mohn._sparse.linear_solvers import (
    LassoFit,
    Moments,
    delta_rule,
    lasso,
    moments,
    ols,
)
from skmohn.mohn._table.rows import rms
from skmohn.mohn._training_data import TrainingData

EXACT = "exact: the model reproduces every sample"
REASONS = {
    "exact": EXACT,
    "stopped": "a callback stopped the search",
    "max_rounds": "max_iter was reached",
    "max_iter": "max_iter was reached",
    "no_improvement": "no improvement: further weights no longer helped",
    "exhausted": "all weights up to max_order were tried",
    "cv": "noise: k-fold validation chose which weights are significant",
    "validation": "noise: the validation samples chose which weights are significant",
    "ebic": "noise: the extended BIC chose the terms",
    "lasso": "noise: k-fold validation preferred shrunken weights (lasso)",
    "whole": "noise: the search of all samples has a shorter description than the "
    "model chosen by validation",
}


def learn(
    samples: TrainingData, settings: FitSettings, report: Report, terms: list[Term]
) -> FitResult:
    """Learn the weights of a fixed structure by the learning rule."""
    design = make_design(samples.inputs, samples.sample_weight)
    rules = {"ols": _by_ols, "lasso": _by_lasso, "delta": _by_delta}
    # Without terms the constant is the mean under every rule.
    rule = rules[settings.learning_rule] if terms else _by_ols
    graph, reason, warning = rule(samples, settings, report, design, terms)
    tried = enumerate(count_orders(terms).tolist(), start=1)
    coverage = [
        {"order": k, "possible": math.comb(design.n_features, k), "tried": count}
        for k, count in tried
    ]
    coverage = with_kept(coverage, graph.terms)
    is_ols = settings.learning_rule == "ols"
    return describe(design, samples.y, graph, reason, coverage, warning, ols=is_ols)


def _by_ols(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    design: Design,
    terms: list[Term],
) -> tuple[WalshPolynomial, str, str | None]:
    fit = ols(moments(design, design.columns(terms), samples.y), in_order=True)
    graph = WalshPolynomial.sort(terms, fit.coef, fit.intercept)
    report(record_of(samples, graph), graph)
    warning = None
    if fit.rank < len(terms):
        warning = (
            f"{len(terms) - fit.rank} of {len(terms)} weights cannot be told apart "
            "from the others with these samples and were set to 0"
        )
    return graph, "least squares on the given structure", warning


def _by_lasso(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    design: Design,
    terms: list[Term],
) -> tuple[WalshPolynomial, str, str | None]:
    second = moments(design, design.columns(terms), samples.y)
    alpha = penalty_of(samples, settings)
    if alpha == "auto":
        fit, alpha = _scaled_lasso(second)
    else:
        fit = lasso(second, alpha)
    kept = np.flatnonzero(fit.coef)
    graph = WalshPolynomial.sort(
        [terms[j] for j in kept], fit.coef[kept], fit.intercept
    )
    report(record_of(samples, graph), graph)
    return graph, f"lasso with alpha={samples.y_scale * alpha:.3g}", None


def penalty_of(samples: TrainingData, settings: FitSettings) -> float | Literal["auto"]:
    """Lasso penalty in the unit of the target, or "auto"."""
    return (
        "auto" if settings.alpha == "auto" else float(settings.alpha) / samples.y_scale
    )


def _scaled_lasso(second: Moments) -> tuple[LassoFit, float]:
    """Lasso whose penalty follows its own noise estimate, and this penalty."""
    # Source: Sun and Zhang, Biometrika 99 (2012), algorithm (2.4).
    n_terms = len(second.projection)
    penalty_factor = math.sqrt(2 * math.log(max(n_terms, 2)) / second.weight_sum)
    noise = math.sqrt(second.target_square / second.weight_sum)
    coef, n_left = None, 50
    while True:
        fit = lasso(second, penalty_factor * noise, coef=coef)
        coef, last, n_left = fit.coef, noise, n_left - 1
        noise = math.sqrt(second.residual_square(coef) / second.weight_sum)
        if not n_left or abs(noise - last) <= 1e-6 * last:
            return fit, penalty_factor * last


def _by_delta(
    samples: TrainingData,
    settings: FitSettings,
    report: Report,
    design: Design,
    terms: list[Term],
) -> tuple[WalshPolynomial, str, str | None]:
    coef, intercept = (
        np.zeros(len(terms)),
        float(np.average(samples.y, weights=samples.sample_weight)),
    )
    rng = np.random.default_rng(samples.seed)
    best = (np.inf, coef, intercept)
    waited, reason = 0, "max_iter"
    control = settings.delta_options
    for _ in range(settings.max_iter):
        fit = delta_rule(
            samples.inputs,
            samples.y,
            terms,
            coef,
            intercept,
            learning_rate=control.learning_rate,
            rng=rng,
            sample_weight=samples.sample_weight,
        )
        coef, intercept, rmse = fit.coef, fit.intercept, fit.rmse[-1]
        graph = WalshPolynomial.sort(terms, coef, intercept)
        record = record_of(samples, graph)
        stop = report(record, graph)
        if samples.validation is not None:
            rmse = record["validation_rmse"]
        waited = 0 if rmse < best[0] * (1 - control.tol) else waited + 1
        if rmse < best[0]:
            best = (rmse, coef, intercept)
        if stop or waited >= control.n_iter_no_change:
            reason = "stopped" if stop else "converged"
            break
    graph = WalshPolynomial.sort(terms, best[1], best[2])
    warning = None
    if reason == "max_iter":
        warning = (
            f"the delta rule stopped at max_iter={settings.max_iter} epochs: raise it"
        )
    return graph, f"delta rule, {reason}", warning


def record_of(samples: TrainingData, graph: WalshPolynomial) -> dict[str, Any]:
    """History record of a model whose structure is fixed."""
    held, validation_rmse = samples.validation, None
    if held is not None:
        validation_rmse = held.rmse(lambda rows: graph.predict(rows.inputs))
    training_rmse = rms(
        samples.y - graph.predict(samples.inputs), samples.sample_weight
    )
    return {
        "learned_rmse": training_rmse,
        "training_rmse": training_rmse,
        "validation_rmse": validation_rmse,
        "n_weights": len(graph.terms),
        "weights_per_order": tuple(count_orders(graph.terms).tolist()),
        "proposed": 0,
        "removed": 0,
        "discarded": 0,
    }


def describe(
    design: Design,
    y: NDArray[np.float64],
    graph: WalshPolynomial,
    reason: str,
    coverage: list[dict[str, Any]],
    warning: str | None,
    *,
    ols: bool = False,
    searched: bool = False,
) -> FitResult:
    """Estimate noise and standard errors of a model."""
    columns: Any = design.columns(graph.terms)
    residual = y - graph.intercept - design.combine(columns, graph.weights)
    spare = design.weight_sum - len(graph.terms) - 1
    noise = rms(residual, design.weights)
    noise *= math.sqrt(design.weight_sum / max(spare, 1.0))
    # A search among many models can leave small residuals by chance.
    rounding_std = math.sqrt(rounding_variance(y)) if searched else 0.0
    noise = max(noise, rounding_std)
    errors = np.full(len(graph.terms), np.nan)
    if reason == "exact":
        errors, noise = np.zeros(len(errors)), 0.0
    elif ols and spare > 0 and len(errors):
        model = ActiveSet.of(design, y, list(graph.terms))
        known = dict(zip(model.terms, model.standard_errors(rounding_std), strict=True))
        errors = np.array([known.get(term, np.nan) for term in graph.terms])
    return FitResult.of_weights(
        graph,
        errors,
        noise,
        REASONS.get(reason, reason),
        coverage,
        warning,
        is_exact=reason == "exact",
        is_stopped=reason == "stopped",
    )
