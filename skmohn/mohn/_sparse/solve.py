"""From a prepared task to a fitted hypergraph: one function per strategy and rule."""

import math
from dataclasses import replace

import numpy as np

from skmohn._core._control import control_of
from skmohn._core._units import binary_unit
from skmohn.mohn._model import Solution
from skmohn.mohn._sparse import msda as _msda
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.chance import Chance, rounding_variance
from skmohn.mohn._sparse.learning import delta_rule, lasso, moments, ols
from skmohn.mohn._sparse.pursuit import Pursuit, PursuitControl
from skmohn.mohn._sparse.selection import choose_model
from skmohn.mohn._walsh.design import make_design
from skmohn.mohn._walsh.hypergraph import Hypergraph
from skmohn.mohn._walsh.terms import count_orders, with_kept

_EXACT = "exact: the model reproduces every sample"
_REASONS = {
    "exact": _EXACT,
    "stopped": "a callback stopped the search",
    "max_rounds": "max_iter was reached",
    "max_iter": "max_iter was reached",
    "no_improvement": "no improvement: new weights no longer made the model better",
    "exhausted": "no weight up to max_order was left to try",
    "cv": "noise: k-fold validation chose which weights stand out enough",
    "validation": "noise: the validation samples chose which weights stand out enough",
    "ebic": "noise: the extended BIC chose which weights stand out enough",
    "lasso": "noise: k-fold validation preferred shrunken weights (lasso)",
}


def solve_pursuit(params, task, vocabulary, loop):
    """Discover few weights by pursuit.

    Parameters
    ----------
    params : MOHNRegressor
        Only its parameters are read.

    task : Task

    vocabulary : Vocabulary
        Not asked, as of all strategies of few weights.

    loop : FitLoop

    Returns
    -------
    solution : Solution
    """
    return _solve(_run_pursuit, params, task, loop)


def solve_msda(params, task, vocabulary, loop):
    """Discover few weights by the papers' algorithm; see `solve_pursuit`."""
    return _solve(_run_msda, params, task, loop)


def solve_wanted(params, task, vocabulary, loop):
    """Learn the weights of the terms that the task wants; see `solve_pursuit`."""
    return _solve(_learn_wanted, params, task, loop)


def _solve(find, params, task, loop):
    """Find a model of targets in a unit, of rows as often as their weights say."""
    unit = binary_unit(task.y)
    repeated, origin = task.in_units(unit).repeat_rows()
    in_unit = _UnitLoop(loop, unit)
    if repeated.inputs.shape[1]:
        solution = find(params, repeated, in_unit)
        said = solution.reason + _mention_dependent(repeated)
        solution = solution._replace(reason=said)
    else:
        solution = _learn(params, repeated, [], in_unit)._replace(
            warning="no column of X varies: the model is the mean of y"
        )
    choice = solution.choice
    if choice is not None and choice.folds is not None:
        folds = [tuple(np.unique(origin[part]) for part in f) for f in choice.folds]
        choice = choice._replace(folds=task.folds or folds)
    return solution._replace(
        choice=choice,
        graph=solution.graph.times(unit),
        standard_errors=unit * solution.standard_errors,
        noise=unit * solution.noise,
    )


class _UnitLoop:
    """A loop whose errors and models are those of a target in some unit."""

    def __init__(self, loop, unit):
        self._loop, self._unit = loop, unit

    def step(self, record, graph):
        """End an iteration; return whether a callback asks to stop."""
        record = {
            name: self._unit * value if name in _ERRORS and value is not None else value
            for name, value in record.items()
        }
        return self._loop.step(record, graph.times(self._unit))


_ERRORS = ("learned_rmse", "training_rmse", "validation_rmse")


def _mention_dependent(task):
    """Say how many columns are sums of multiples of others, as those of one code."""
    n_samples, n_inputs = task.inputs.shape
    if n_samples <= n_inputs:
        return ""
    design = make_design(task.inputs, task.sample_weight)
    columns = design.columns([(i,) for i in range(n_inputs)])
    n_dependent = n_inputs - ols(moments(design, columns, task.y)).rank
    if not n_dependent:
        return ""
    return (
        f"; {n_dependent} of {n_inputs} columns follow from the others, so that other "
        "weights can say the same"
    )


# ------------------------------------------------------------------------ pursuit


def _run_pursuit(params, task, loop):
    design = make_design(task.inputs, task.sample_weight)
    control = PursuitControl(
        max_order=min(params.max_order or design.n_features, design.n_features),
        max_rounds=params.max_iter,
        work_budget=params.work_budget,
        memory_budget=params.memory_budget,
    )
    report = _pursuit_reporter(loop, task.validation)
    search = Pursuit(design, task.y, control, on_round=report, start=task.start)
    reason = search.run()
    if reason == "exact":
        found = [term for term in search.model.terms if term]
        if not Chance(task.inputs, task.y).is_excluded(found):
            reason = "stalled"
    coverage = search.coverage
    if reason in ("exact", "stopped"):
        model, warning, chosen = search.model, None, None
    else:
        chosen = choose_model(
            design,
            task,
            # Orders whose screening found nothing in all the samples are left alone.
            replace(control, max_screened=search.frontier.fruitful),
            selection=params.selection,
            cv=5 if params.cv is None else params.cv,
            n_jobs=params.n_jobs,
        )
        reason, coverage = chosen.how, with_kept(coverage, chosen.terms)
        warning = _SHORT if chosen.limited else None
        if chosen.how == "lasso":
            graph = Hypergraph.sort(chosen.terms, chosen.coef, chosen.intercept)
            solution = _describe(
                design, task.y, graph, reason, coverage, warning, searched=True
            )
            return solution._replace(choice=chosen)
        model = ActiveSet.of(design, task.y, chosen.terms)
    if params.learning_rule != "ols":
        terms = [term for term in model.terms if term]
        solution = _learn(params, task, terms, loop)
        reason = f"{_REASONS[reason]}; {solution.reason}"
        warnings = filter(None, [warning, solution.warning])
        return solution._replace(
            reason=reason, coverage=coverage, warning="; ".join(warnings) or None
        )
    solution = _from_least_squares(model, reason, coverage, warning)
    return solution._replace(choice=chosen)


_SHORT = (
    "the samples are too few for all the weights that seem to matter: the model is the "
    "best that they support; more samples, a lower max_order or fewer columns help"
)


def _pursuit_reporter(loop, validation):
    held_out = None if validation is None else make_design(validation[0], validation[2])

    def report(search):
        model = search.model
        validation_rmse = None
        if held_out is not None:
            fitted = held_out.combine(held_out.columns(model.terms), model.coef)
            validation_rmse = _rms(validation[1] - fitted, validation[2])
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
        return loop.step(record, Hypergraph.sort(model.terms, model.coef, 0.0))

    return report


def _from_least_squares(model, reason, coverage, warning):
    graph = Hypergraph.sort(model.terms, model.coef, 0.0)
    if reason == "exact":
        zeros = np.zeros(len(graph.coef))
        return Solution(graph, zeros, 0.0, _EXACT, coverage, is_exact=True)
    least = math.sqrt(rounding_variance(model.y))
    errors = dict(zip(model.terms, model.standard_errors(least), strict=True))
    errors = np.array([errors[term] for term in graph.terms])
    if len(model) >= model.design.weight_sum:
        errors = np.full(len(errors), np.nan)
    return Solution(
        graph,
        errors,
        max(model.noise, least),
        _REASONS[reason],
        coverage,
        warning,
        is_stopped=reason == "stopped",
    )


# --------------------------------------------------------------------------- msda


def _run_msda(params, task, loop):
    design = make_design(task.inputs, task.sample_weight)
    validation = task.validation
    if validation is not None:
        validation = make_design(validation[0], validation[2]), validation[1]

    def report(record, model):
        record = {name: record[name] for name in _RECORD}
        return loop.step(record, Hypergraph.sort(*model))

    found = _msda.discover(
        design,
        task.y,
        control_of(params, "msda_control"),
        params.learning_rule,
        task.seed,
        max_order=min(params.max_order or design.n_features, design.n_features),
        max_iter=params.max_iter,
        alpha=_alpha(params, task),
        learning_rate=control_of(params, "delta_control").learning_rate,
        validation=validation,
        on_iteration=report,
        initial_terms=task.start,
    )
    graph = Hypergraph.sort(found.terms, found.coef, found.intercept)
    warning = None
    if found.reason == "max_iter":
        warning = (
            f"msda stopped at max_iter={params.max_iter}: raise it to search on, or "
            'use strategy="pursuit"'
        )
    return _describe(
        design,
        task.y,
        graph,
        found.reason,
        found.coverage,
        warning,
        ols=True,
        searched=True,
    )


_RECORD = (
    "learned_rmse",
    "training_rmse",
    "validation_rmse",
    "n_weights",
    "weights_per_order",
    "proposed",
    "removed",
    "discarded",
)


# --------------------------------------------------------------- fixed structures


def _learn_wanted(params, task, loop):
    return _learn(params, task, task.wanted, loop)


def _learn(params, task, terms, loop):
    """Learn the weights of a fixed structure by the learning rule."""
    design = make_design(task.inputs, task.sample_weight)
    rules = {"ols": _by_ols, "lasso": _by_lasso, "delta": _by_delta}
    # Alone the constant is the mean, whatever the rule.
    rule = rules[params.learning_rule] if terms else _by_ols
    graph, reason, warning = rule(params, task, design, terms, loop)
    tried = enumerate(count_orders(terms).tolist(), start=1)
    coverage = [
        {"order": k, "possible": math.comb(design.n_features, k), "tried": count}
        for k, count in tried
    ]
    coverage = with_kept(coverage, graph.terms)
    is_ols = params.learning_rule == "ols"
    return _describe(design, task.y, graph, reason, coverage, warning, ols=is_ols)


def _by_ols(params, task, design, terms, loop):
    fit = ols(moments(design, design.columns(terms), task.y), in_order=True)
    graph = Hypergraph.sort(terms, fit.coef, fit.intercept)
    loop.step(_fixed_record(design, task, graph), graph)
    warning = None
    if fit.rank < len(terms):
        warning = (
            f"{len(terms) - fit.rank} of {len(terms)} weights cannot be told from the "
            "others with these samples and were set to 0"
        )
    return graph, "least squares on the given structure", warning


def _by_lasso(params, task, design, terms, loop):
    second = moments(design, design.columns(terms), task.y)
    alpha = _alpha(params, task)
    if alpha == "auto":
        fit, alpha = _scaled_lasso(second)
    else:
        fit = lasso(second, alpha)
    kept = np.flatnonzero(fit.coef)
    graph = Hypergraph.sort([terms[j] for j in kept], fit.coef[kept], fit.intercept)
    loop.step(_fixed_record(design, task, graph), graph)
    return graph, f"lasso with alpha={task.unit * alpha:.3g}", None


def _alpha(params, task):
    """The penalty of the lasso in the unit of the target, or "auto"."""
    return params.alpha if params.alpha == "auto" else float(params.alpha) / task.unit


def _scaled_lasso(second):
    """Lasso whose penalty follows its own noise estimate.

    Source: Sun and Zhang, Biometrika 99 (2012), algorithm (2.4).
    """
    n_terms = len(second.projection)
    share = math.sqrt(2 * math.log(max(n_terms, 2)) / second.weight_sum)
    noise = math.sqrt(second.target_square / second.weight_sum)
    coef = None
    for _ in range(50):
        fit = lasso(second, share * noise, coef=coef)
        coef, last = fit.coef, noise
        noise = math.sqrt(second.residual_square(coef) / second.weight_sum)
        if abs(noise - last) <= 1e-6 * last:
            break
    return fit, share * last


def _by_delta(params, task, design, terms, loop):
    coef, intercept = np.zeros(len(terms)), float(np.average(task.y, weights=task[2]))
    rng = np.random.default_rng(task.seed)
    best = (np.inf, coef, intercept)
    waited, reason = 0, "max_iter"
    control = control_of(params, "delta_control")
    for _ in range(params.max_iter):
        fit = delta_rule(
            task.inputs,
            task.y,
            terms,
            coef,
            intercept,
            learning_rate=control.learning_rate,
            rng=rng,
            sample_weight=task.sample_weight,
        )
        coef, intercept, rmse = fit.coef, fit.intercept, fit.rmse[-1]
        graph = Hypergraph.sort(terms, coef, intercept)
        record = _fixed_record(design, task, graph)
        stop = loop.step(record, graph)
        if task.validation is not None:
            rmse = record["validation_rmse"]
        waited = 0 if rmse < best[0] * (1 - control.tol) else waited + 1
        if rmse < best[0]:
            best = (rmse, coef, intercept)
        if stop or waited >= control.n_iter_no_change:
            reason = "stopped" if stop else "converged"
            break
    graph = Hypergraph.sort(terms, best[1], best[2])
    warning = None
    if reason == "max_iter":
        warning = (
            f"the delta rule stopped at max_iter={params.max_iter} epochs: raise it"
        )
    return graph, f"delta rule, {reason}", warning


def _fixed_record(design, task, graph):
    validation_rmse = None
    if task.validation is not None:
        inputs, y, weights = task.validation
        validation_rmse = _rms(y - graph.predict(inputs), weights)
    training_rmse = _rms(task.y - graph.predict(task.inputs), task.sample_weight)
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


# ------------------------------------------------------------------- descriptions


def _describe(
    design, y, graph, reason, coverage, warning, *, ols=False, searched=False
):
    """Add noise and standard errors to a model."""
    columns = design.columns(graph.terms)
    residual = y - graph.intercept - design.combine(columns, graph.coef)
    spare = design.weight_sum - len(graph.terms) - 1
    rms = _rms(residual, design.weights)
    noise = rms * math.sqrt(design.weight_sum / max(spare, 1.0))
    # What a search among many models leaves unexplained can be little by chance.
    least = math.sqrt(rounding_variance(y)) if searched else 0.0
    noise = max(noise, least)
    errors = np.full(len(graph.terms), np.nan)
    if reason == "exact":
        errors, noise = np.zeros(len(errors)), 0.0
    elif ols and spare > 0 and len(errors):
        model = ActiveSet.of(design, y, list(graph.terms))
        known = dict(zip(model.terms, model.standard_errors(least), strict=True))
        errors = np.array([known.get(term, np.nan) for term in graph.terms])
    return Solution(
        graph,
        errors,
        noise,
        _REASONS.get(reason, reason),
        coverage,
        warning,
        is_exact=reason == "exact",
        is_stopped=reason == "stopped",
    )


def _rms(residual, weights):
    return float(np.sqrt(np.average(residual**2, weights=weights)))
