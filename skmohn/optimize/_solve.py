"""Solution of search problems: restarts, components, limits."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from skmohn._core import _elimination
from skmohn._core._elimination import EliminationOrder
from skmohn._core._elimination_kernels import Schedule
from skmohn._core._tuned import tuned
from skmohn._core._types import effective_n_jobs
from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize import _methods
from skmohn.optimize._kernels import FlipTables
from skmohn.optimize._methods import (
    CALLBACK,
    DONE,
    EVALUATIONS,
    METHODS,
    TIME,
    Budget,
    RunResult,
)
from skmohn.optimize._polynomial import combine, make_polynomial, split


@dataclass(frozen=True)
class SolveConstants:
    """Defaults of the methods, and what "auto" does."""

    n_restarts: int = tuned(10, "cost")
    max_width: int = tuned(24, "cost")
    # "auto" eliminates all variables when that takes at most this many table entries,
    # some nanoseconds each.
    max_exact_cost: int = tuned(2**27, "cost")
    # Its moves of many variables: how wide, and how many variables are put in order for
    # them in all. They are not worth their time where they hold most variables.
    move_width: int = tuned(16, "cost")
    max_ordered: int = tuned(25_000, "cost")
    max_held_fraction: float = tuned(0.5, "benchmarks/ablation.py")
    # A step of its tabu search takes about as long as so many evaluations of annealing.
    # One of few variables has as many steps as one of so many: they cost next to
    # nothing.
    n_evaluations_per_step: int = tuned(20, "cost")
    min_visits: int = tuned(1000, "cost")


SOLVE = SolveConstants()


Report = Callable[["SearchResult"], bool]


class SearchProblem(NamedTuple):
    """Function to be maximized, and the budget."""

    graph: Any  # every variable matters
    # (n_variables,); start of the first restart, see :meth:`draw`; None: random.
    start: np.ndarray | None
    seed: int
    # None for as many as the time allows, or the default without a time limit.
    n_restarts: int | None
    budget: Budget  # of all restarts together
    n_jobs: int | None
    keep_optima: bool  # whether to keep the ends of all restarts
    # Called with the SearchResult so far after every restart; returns whether to stop.
    report: Report

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self.graph.n_variables

    def draw(self, rng: np.random.Generator) -> NDArray:
        """Random spins of a WalshPolynomial, or states of a DiscreteProductSum."""
        if isinstance(self.graph, WalshPolynomial):
            return rng.choice(np.array([-1, 1], dtype=np.int8), self.n_variables)
        return self.graph.draw(rng)

    def conclude(
        self, point: NDArray, n_evaluations: int, status: int
    ) -> "SearchResult":
        """Report the best of all points, unless time was up before the last one."""
        found = SearchResult(point, n_evaluations, 1, status, status == DONE, [])
        is_stopped = status == DONE and self.report(found)
        return found._replace(status=CALLBACK) if is_stopped else found


class SearchResult(NamedTuple):
    """Result of a search."""

    spins: np.ndarray  # (n_variables,); or states, see :meth:`SearchProblem.draw`
    nfev: int  # partial evaluations
    nit: int  # restarts
    status: int
    optimal: bool  # it is proved that nothing is better
    optima: list[NDArray]  # the end of each restart, if they are kept


def solve_polynomial(
    problem: SearchProblem, method: str, options: dict[str, Any]
) -> SearchResult:
    """Run a method on a polynomial."""
    if method == "exact":
        return _eliminate(problem, **options)
    if method == "auto":
        return _search_parts(problem, **options)
    run: Any = METHODS[method].run
    polynomial = make_polynomial(problem.graph, problem.n_variables)
    return restart(problem, polynomial, run, lambda number: options, better)


# ------------------------------------------------------------------------- restarts


def restart(
    problem: SearchProblem,
    function: Any,
    run: Callable[..., RunResult],
    options_of: Callable[[int], dict[str, Any]],
    choose: Callable[[Any, RunResult, RunResult], RunResult],
) -> SearchResult:
    """Run from many starts and choose among the ends."""
    # `options_of` has the options of each restart, by its number. `choose` merges two
    # results of the function, the best so far first.
    n_restarts, budget = problem.n_restarts, problem.budget
    run_budget = budget.take(1 / (n_restarts or SOLVE.n_restarts))
    if n_restarts is None:
        n_restarts = SOLVE.n_restarts if budget.deadline == np.inf else np.inf
    at_once = effective_n_jobs(problem.n_jobs)
    best: RunResult | None = None
    result: RunResult
    so_far: Any = None
    n_evaluations, done, status, optima = 0, 0, DONE, []
    with Parallel(n_jobs=at_once, prefer="threads") as parallel:
        while done < n_restarts:
            results: Any = parallel(
                delayed(_run)(run, function, problem, r, run_budget, options_of(r))
                for r in range(done, int(min(n_restarts, done + at_once)))
            )
            # In their order, so that it does not matter how many run at once.
            for result in results:
                best = result if best is None else choose(function, best, result)
                n_evaluations, done = n_evaluations + result.nfev, done + 1
                status = max(status, result.status)
                if problem.keep_optima:
                    optima.append(result.spins)
                so_far = SearchResult(
                    best.spins, n_evaluations, done, status, False, optima
                )
                if problem.report(so_far):
                    return so_far._replace(status=CALLBACK)
                if n_evaluations >= budget.n_evaluations:
                    return so_far._replace(status=EVALUATIONS)
            if status == TIME or (done < n_restarts and time.time() >= budget.deadline):
                return so_far._replace(status=TIME)
    return so_far


def better(function: Any, best: RunResult, result: RunResult) -> RunResult:
    """Choose the better one, the first of equal ones."""
    return result if result.value > best.value else best


def _combined(polynomial: FlipTables, best: RunResult, result: RunResult) -> RunResult:
    """Choose the better one, with whatever the other one has better."""
    chosen = better(polynomial, best, result)
    other = best if chosen is result else result
    spins, gain = combine(polynomial, chosen.spins, other.spins)
    return chosen._replace(spins=spins, value=chosen.value + gain)


def _run(
    run: Callable[..., RunResult],
    function: Any,
    problem: SearchProblem,
    number: int,
    budget: Budget,
    options: dict[str, Any],
) -> RunResult:
    """One restart: from the start given if it is the first, else from a random one."""
    start_seed, seed = np.random.SeedSequence([problem.seed, number]).generate_state(
        2, np.uint64
    )
    if number == 0 and problem.start is not None:
        spins = problem.start
    else:
        spins = problem.draw(np.random.default_rng(start_seed))
    return run(function, spins, seed, budget, **options)


# --------------------------------------------------------------------------- exact


def _eliminate(
    problem: SearchProblem, max_width: int = SOLVE.max_width
) -> SearchResult:
    """Maximize exactly, part by part; refuse when that takes too wide tables."""
    rng = np.random.default_rng(problem.seed)
    plans = []
    for variables, graph in split(problem.graph, problem.n_variables):
        plan = _exact_plan(graph, len(variables), rng, max_width)
        if plan.width > max_width:
            raise ValueError(
                f'method="exact" needs tables over {plan.width} variables (the width '
                f"found) for the part of {len(variables)} connected variables, but "
                f'max_width={max_width}: fix variables, raise options["max_width"] or '
                'use method="auto"'
            )
        plans.append((variables, graph, plan))
    cost = sum(plan.cost for *_, plan in plans)
    if cost > problem.budget.n_evaluations:
        raise ValueError(
            f'method="exact" computes {cost:,} table entries, more than '
            f"max_evaluations={problem.budget.n_evaluations:,.0f}"
        )
    spins = np.ones(problem.n_variables, dtype=np.int8)
    n_evaluations, status = 0, DONE
    for variables, graph, plan in plans:
        if status == DONE:
            spins[variables] = _maximize(graph, plan)
            n_evaluations += plan.cost
            status = problem.budget.status(0)  # only the clock can have changed
    return problem.conclude(spins, n_evaluations, status)


def _exact_plan(
    graph: WalshPolynomial, n_variables: int, rng: np.random.Generator, max_width: int
) -> EliminationOrder:
    """Order in which all variables go, but one that may have any value."""
    neighbors = _elimination.find_neighbors(graph, n_variables)
    held = _elimination.symmetric_variables(graph, neighbors)
    return _elimination.cheapest_order(neighbors, rng, held=held, max_width=max_width)


def _maximize(graph: WalshPolynomial, plan: EliminationOrder) -> NDArray[np.int8]:
    """Best spins of a part, all variables of which but symmetric ones are ordered."""
    advice = 'fix variables or use method="auto" with a smaller max_width'
    return _elimination.maximize_by_order(graph, plan, 1, advice)


# ---------------------------------------------------------------------------- auto


def _search_parts(
    problem: SearchProblem, max_width: int = SOLVE.max_width, n_sweeps: int = 1000
) -> SearchResult:
    """Take the function apart; eliminate where that is cheap, search the rest."""
    rng = np.random.default_rng(problem.seed)
    n_variables = problem.n_variables
    spins = np.ones(n_variables, dtype=np.int8)
    if problem.start is not None:
        spins[:] = problem.start
    n_evaluations, n_restarts, hard = 0, 0, []
    for variables, graph in split(problem.graph, n_variables):
        plan = _cheap_plan(
            graph,
            len(variables),
            rng,
            max_width,
            min(SOLVE.max_exact_cost, problem.budget.n_evaluations - n_evaluations),
        )
        if plan is not None:
            spins[variables] = _maximize(graph, plan)
            n_evaluations += plan.cost
        else:
            hard.append((variables, graph))
    so_far = SearchResult(spins, n_evaluations, 0, DONE, not hard, [])
    left = sum(len(variables) for variables, _ in hard)
    status = DONE
    if not hard and problem.report(so_far):
        status = CALLBACK
    for number, (variables, graph) in enumerate(hard):
        fraction = len(variables) / left
        left -= len(variables)
        part = problem._replace(
            graph=graph,
            start=None if problem.start is None else problem.start[variables],
            seed=int(
                np.random.SeedSequence([problem.seed, number]).generate_state(1)[0]
            ),
            budget=_allot(problem.budget, n_evaluations, fraction),
            report=_report_part(problem.report, so_far, variables),
        )
        found = _search_part(part, rng, n_sweeps)
        spins = spins.copy()
        spins[variables] = found.spins
        n_evaluations, n_restarts = n_evaluations + found.nfev, n_restarts + found.nit
        so_far = SearchResult(spins, n_evaluations, n_restarts, DONE, False, [])
        status = max(status, found.status)
        if found.status == CALLBACK:
            break
    return so_far._replace(nit=max(n_restarts, 1), status=status)


def _cheap_plan(
    graph: WalshPolynomial,
    n_variables: int,
    rng: np.random.Generator,
    max_width: int,
    max_cost: float,
) -> EliminationOrder | None:
    """Order in which all variables go at low cost, or None."""
    neighbors = _elimination.find_neighbors(graph, n_variables)
    if _elimination.exceeds_treewidth(neighbors, rng, max_width):
        return None
    plan = _exact_plan(graph, n_variables, rng, max_width)
    return plan if plan.width <= max_width and plan.cost <= max_cost else None


def _allot(budget: Budget, n_evaluations: int, fraction: float) -> Budget:
    """Fraction of the evaluations and of the time that are left."""
    now = time.time()
    rest = Budget(
        budget.n_evaluations - n_evaluations, now + (budget.deadline - now) * fraction
    )
    return rest.take(fraction)


def _report_part(
    report: Report, so_far: SearchResult, variables: NDArray[np.integer]
) -> Report:
    """Report a part as part of the whole."""

    def report_all(found: SearchResult) -> bool:
        spins = so_far.spins.copy()
        spins[variables] = found.spins
        n_evaluations, nit = so_far.nfev + found.nfev, so_far.nit + found.nit
        return report(so_far._replace(spins=spins, nfev=n_evaluations, nit=nit))

    return report_all


def _search_part(
    part: SearchProblem, rng: np.random.Generator, n_sweeps: int
) -> SearchResult:
    """Search connected variables by the mix of methods, longer with each restart."""
    schedules = _move_schedules(part, rng)

    def options_of(number: int) -> dict[str, Any]:
        n_visits = n_sweeps * max((1 + number) * part.n_variables, SOLVE.min_visits)
        return {
            "n_sweeps": n_sweeps * (1 + number),
            "n_steps": max(1, n_visits // SOLVE.n_evaluations_per_step),
            "schedules": schedules,
        }

    return restart(
        part,
        make_polynomial(part.graph, part.n_variables),
        _methods.mixed,
        options_of,
        _combined,
    )


def _move_schedules(part: SearchProblem, rng: np.random.Generator) -> list[Schedule]:
    """Schedules that each hold other variables; none where they would hold most."""
    n_variables = part.n_variables
    neighbors = _elimination.find_neighbors(part.graph, n_variables)
    schedules = []
    for _ in range(min(32, max(2, SOLVE.max_ordered // n_variables))):
        plan = _elimination.order_by_degree(neighbors, rng, max_width=SOLVE.move_width)
        if len(plan.held) > SOLVE.max_held_fraction * n_variables:
            return []
        schedules.append(_elimination.make_schedule(part.graph, plan))
        if time.time() >= part.budget.deadline:
            break
    return schedules
