"""From a question to its answer: restarts, components, limits."""

import time
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from skmohn._core import _elimination
from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize import _methods
from skmohn.optimize._methods import (
    CALLBACK,
    DONE,
    EVALUATIONS,
    METHODS,
    TIME,
    Budget,
)
from skmohn.optimize._polynomial import combine, make_polynomial, split

N_RESTARTS = 10
MAX_WIDTH = 24
# "auto" eliminates all variables when that takes at most this many table entries, some
# nanoseconds each.
_EXACT_COST = 2**27
# Its moves of many variables: how wide, and how many variables are put in order for
# them in all. They are not worth their time where they leave most variables held.
_MOVE_WIDTH = 16
_ORDERED = 25_000
_MOST_HELD = 0.5
# A step of its tabu search takes about as long as so many looks of annealing. One of
# few variables has as many steps as one of so many, since they cost next to nothing.
_LOOKS_PER_STEP, _FEW = 20, 1000


class SearchProblem(NamedTuple):
    """What is to be maximized, and what may be spent.

    Attributes
    ----------
    graph : WalshPolynomial or DiscreteProductSum
        Every variable matters.

    start : ndarray of shape (n_variables,) or None
        Where the first restart begins, see :meth:`draw`; None for a random point.

    seed : int

    n_restarts : int or None
        None for as many as the time allows, and `N_RESTARTS` without a time limit.

    budget : Budget
        Of all restarts together.

    n_jobs : int or None

    keep_optima : bool
        Whether to keep the ends of all restarts.

    tell : callable
        Called with the Answer so far after every restart; returns whether to stop.
    """

    graph: Any
    start: np.ndarray | None
    seed: int
    n_restarts: int | None
    budget: Budget
    n_jobs: int | None
    keep_optima: bool
    tell: object

    @property
    def n_variables(self):
        """How many there are."""
        return self.graph.n_variables

    def draw(self, rng):
        """Random spins of a WalshPolynomial, or states of a DiscreteProductSum."""
        if isinstance(self.graph, WalshPolynomial):
            return rng.choice(np.array([-1, 1], dtype=np.int8), self.n_variables)
        return self.graph.draw(rng)


class SearchResult(NamedTuple):
    """What has been found.

    Attributes
    ----------
    spins : ndarray of shape (n_variables,)
        Or states, see :meth:`SearchProblem.draw`.

    nfev, nit : int
        Partial evaluations, and restarts.

    status : int

    optimal : bool
        Whether it is proved that nothing is better.

    optima : list of ndarrays
        The end of each restart, if they are kept.
    """

    spins: np.ndarray
    nfev: int
    nit: int
    status: int
    optimal: bool
    optima: list


def answer(question, method, options):
    """Run a method.

    Parameters
    ----------
    question : SearchProblem

    method : str

    options : dict
        Further arguments of the method.

    Returns
    -------
    answer : SearchResult
    """
    if method == "exact":
        return _eliminate(question, **options)
    if method == "auto":
        return _search_parts(question, **options)
    polynomial = make_polynomial(question.graph, question.n_variables)
    return restart(
        question, polynomial, METHODS[method].run, lambda number: options, better
    )


# ------------------------------------------------------------------------- restarts


def restart(question, function, run, options_of, choose):
    """Run from many starts and choose among the ends.

    Parameters
    ----------
    question : SearchProblem

    function : FlipTables or DiscreteProductSum
        What the run takes.

    run : callable
        From function, spins or states, seed, Budget and options to an Outcome.

    options_of : callable
        Gives the options of each restart, by its number.

    choose : callable
        From the function and two outcomes, the best so far first, to one.

    Returns
    -------
    answer : SearchResult
    """
    n_restarts, budget = question.n_restarts, question.budget
    share = budget.share(1 / (n_restarts or N_RESTARTS))
    if n_restarts is None:
        n_restarts = N_RESTARTS if budget.deadline == np.inf else np.inf
    at_once = effective_n_jobs(question.n_jobs)
    best, looks, done, status, optima = None, 0, 0, DONE, []
    with Parallel(n_jobs=at_once, prefer="threads") as parallel:
        while done < n_restarts:
            outcomes = parallel(
                delayed(_run)(run, function, question, r, share, options_of(r))
                for r in range(done, int(min(n_restarts, done + at_once)))
            )
            # In their order, so that it does not matter how many run at once.
            for outcome in outcomes:
                best = outcome if best is None else choose(function, best, outcome)
                looks, done = looks + outcome.nfev, done + 1
                status = max(status, outcome.status)
                if question.keep_optima:
                    optima.append(outcome.spins)
                so_far = SearchResult(best.spins, looks, done, status, False, optima)
                if question.tell(so_far):
                    return so_far._replace(status=CALLBACK)
                if looks >= budget.looks:
                    return so_far._replace(status=EVALUATIONS)
            if status == TIME or (done < n_restarts and time.time() >= budget.deadline):
                return so_far._replace(status=TIME)
    return so_far


def better(function, best, outcome):
    """Choose the better one, the first of equal ones."""
    return outcome if outcome.value > best.value else best


def _combined(polynomial, best, outcome):
    """Choose the better one, with whatever the other one has better."""
    chosen = better(polynomial, best, outcome)
    other = best if chosen is outcome else outcome
    spins, gain = combine(polynomial, chosen.spins, other.spins)
    return chosen._replace(spins=spins, value=chosen.value + gain)


def _run(run, function, question, number, share, options):
    """One restart: from the start given if it is the first, else from a random one."""
    start_seed, seed = np.random.SeedSequence([question.seed, number]).generate_state(
        2, np.uint64
    )
    if number == 0 and question.start is not None:
        spins = question.start
    else:
        spins = question.draw(np.random.default_rng(start_seed))
    return run(function, spins, seed, share, **options)


# --------------------------------------------------------------------------- exact


def _eliminate(question, max_width=MAX_WIDTH):
    """Maximize exactly, part by part; refuse when that takes too wide tables."""
    rng = np.random.default_rng(question.seed)
    plans = []
    for variables, graph in split(question.graph, question.n_variables):
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
    if cost > question.budget.looks:
        raise ValueError(
            f'method="exact" computes {cost:,} table entries, more than '
            f"max_evaluations={question.budget.looks:,.0f}"
        )
    spins = np.ones(question.n_variables, dtype=np.int8)
    looks, status = 0, DONE
    for variables, graph, plan in plans:
        if status == DONE:
            spins[variables] = _maximize(graph, plan)
            looks += plan.cost
            status = question.budget.status(0)  # only the clock can have changed
    if status == DONE and question.tell(SearchResult(spins, looks, 1, DONE, True, [])):
        status = CALLBACK
    return SearchResult(spins, looks, 1, status, status in (DONE, CALLBACK), [])


def _exact_plan(graph, n_variables, rng, max_width):
    """Order in which all variables go, but one that may have any value."""
    neighbors = _elimination.find_neighbors(graph, n_variables)
    held = _elimination.symmetric_variables(graph, neighbors)
    return _elimination.cheapest_order(neighbors, rng, held=held, max_width=max_width)


def _maximize(graph, plan):
    """Best spins of a part, all variables of which but symmetric ones are ordered."""
    advice = 'fix variables or use method="auto" with a smaller max_width'
    return _elimination.maximize_by_order(graph, plan, 1, advice)


# ---------------------------------------------------------------------------- auto


def _search_parts(question, max_width=MAX_WIDTH, n_sweeps=1000):
    """Take the function apart; eliminate where that is cheap, search the rest."""
    rng = np.random.default_rng(question.seed)
    n_variables = question.n_variables
    spins = np.ones(n_variables, dtype=np.int8)
    if question.start is not None:
        spins[:] = question.start
    looks, n_restarts, hard = 0, 0, []
    for variables, graph in split(question.graph, n_variables):
        plan = _cheap_plan(
            graph,
            len(variables),
            rng,
            max_width,
            min(_EXACT_COST, question.budget.looks - looks),
        )
        if plan is not None:
            spins[variables] = _maximize(graph, plan)
            looks += plan.cost
        else:
            hard.append((variables, graph))
    so_far = SearchResult(spins, looks, 0, DONE, not hard, [])
    left = sum(len(variables) for variables, _ in hard)
    status = DONE
    if not hard and question.tell(so_far):
        status = CALLBACK
    for place, (variables, graph) in enumerate(hard):
        share = len(variables) / left
        left -= len(variables)
        part = question._replace(
            graph=graph,
            start=None if question.start is None else question.start[variables],
            seed=int(
                np.random.SeedSequence([question.seed, place]).generate_state(1)[0]
            ),
            budget=_part_of(question.budget, looks, share),
            tell=_teller(question.tell, so_far, variables),
        )
        found = _search_part(part, rng, n_sweeps)
        spins = spins.copy()
        spins[variables] = found.spins
        looks, n_restarts = looks + found.nfev, n_restarts + found.nit
        so_far = SearchResult(spins, looks, n_restarts, DONE, False, [])
        status = max(status, found.status)
        if found.status == CALLBACK:
            break
    return so_far._replace(nit=max(n_restarts, 1), status=status)


def _cheap_plan(graph, n_variables, rng, max_width, max_cost):
    """Order in which all variables go at low cost, or None."""
    neighbors = _elimination.find_neighbors(graph, n_variables)
    if _elimination.exceeds_treewidth(neighbors, rng, max_width):
        return None
    plan = _exact_plan(graph, n_variables, rng, max_width)
    return plan if plan.width <= max_width and plan.cost <= max_cost else None


def _part_of(budget, looks, share):
    """Fraction of the evaluations and of the time that are left."""
    now = time.time()
    rest = Budget(budget.looks - looks, now + (budget.deadline - now) * share)
    return rest.share(share)


def _teller(tell, so_far, variables):
    """Tell of a part as part of the whole."""

    def tell_all(found):
        spins = so_far.spins.copy()
        spins[variables] = found.spins
        looks, nit = so_far.nfev + found.nfev, so_far.nit + found.nit
        return tell(so_far._replace(spins=spins, nfev=looks, nit=nit))

    return tell_all


def _search_part(part, rng, n_sweeps):
    """Search connected variables by the mix of methods, longer with each restart."""
    schedules = _move_schedules(part, rng)

    def options_of(number):
        n_visits = n_sweeps * max((1 + number) * part.n_variables, _FEW)
        return {
            "n_sweeps": n_sweeps * (1 + number),
            "n_steps": max(1, n_visits // _LOOKS_PER_STEP),
            "schedules": schedules,
        }

    return restart(
        part,
        make_polynomial(part.graph, part.n_variables),
        _methods.mixed,
        options_of,
        _combined,
    )


def _move_schedules(part, rng):
    """Schedules that each hold other variables; none where they would hold most."""
    n_variables = part.n_variables
    neighbors = _elimination.find_neighbors(part.graph, n_variables)
    schedules = []
    for _ in range(min(32, max(2, _ORDERED // n_variables))):
        plan = _elimination.order_by_degree(neighbors, rng, max_width=_MOVE_WIDTH)
        if len(plan.held) > _MOST_HELD * n_variables:
            return []
        schedules.append(_elimination.make_schedule(part.graph, plan))
        if time.time() >= part.budget.deadline:
            break
    return schedules
