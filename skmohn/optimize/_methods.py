"""Searches: one run of each, from one start, and its options."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skmohn._core import _elimination
from skmohn._core._elimination_kernels import Schedule
from skmohn._core._sklearn import Interval
from skmohn._core._tuned import tuned
from skmohn.optimize import _kernels
from skmohn.optimize._kernels import FlipTables, Memory, State
from skmohn.optimize._polynomial import (
    changes_of_flip,
    fields,
    make_state,
    tolerance_of,
)

DONE, EVALUATIONS, TIME, CALLBACK = range(4)


@dataclass(frozen=True)
class MethodConstants:
    """Searches of polynomials."""

    # Partial evaluations until the clock is read again: some milliseconds. A step of
    # tabu search evaluates all that its flip changes.
    n_evaluations_per_call: int = tuned(10**6, "cost")
    # A flip that loses the typical smallest weight is accepted this often in the end.
    cold_acceptance: float = tuned(0.01, "benchmarks/ablation.py")


_SEARCHES = MethodConstants()


class Budget(NamedTuple):
    """Budget of a run."""

    n_evaluations: float  # partial evaluations
    deadline: float  # by :func:`time.time`, which is the same in all processes

    def take(self, fraction: float) -> "Budget":
        """Budget of a fraction of the evaluations, at least one."""
        if self.n_evaluations == np.inf:
            return self
        return self._replace(n_evaluations=max(1, int(self.n_evaluations * fraction)))

    def status(self, n_evaluations: float) -> int:
        """Reason to end a run at a number of evaluations; DONE if there is none."""
        if n_evaluations >= self.n_evaluations:
            return EVALUATIONS
        return TIME if time.time() >= self.deadline else DONE


class RunResult(NamedTuple):
    """Result of one run: ``spins``, their ``value``, ``nfev`` and ``status``."""

    spins: np.ndarray
    value: float
    nfev: int
    status: int


def _run_result(state: State, n_evaluations: int, status: int) -> RunResult:
    return RunResult(state.best, float(state.totals[1]), int(n_evaluations), status)


def _affordable(
    budget: Budget, n_evaluations: int, at_once: int = _SEARCHES.n_evaluations_per_call
) -> int:
    return int(min(at_once, budget.n_evaluations - n_evaluations))


def hill_climb(
    polynomial: FlipTables, spins: NDArray, seed: int, budget: Budget
) -> RunResult:
    """Set variables in random order to the best values for their terms ([S2] 3.4.1)."""
    state = make_state(polynomial, spins, seed)
    n_evaluations, status = _climb(polynomial, state, 0, budget)
    return _run_result(state, n_evaluations, status)


def _climb(
    polynomial: FlipTables, state: State, n_evaluations: int, budget: Budget
) -> tuple[int, int]:
    """Climb to a local optimum; return all evaluations so far and the status."""
    order = np.arange(len(state.spins), dtype=np.int32)
    tolerance = tolerance_of(polynomial)
    arrays = polynomial.address, state.address
    improved, status = True, DONE
    while improved and status == DONE:
        more, improved = _kernels.climb(
            *arrays, order, tolerance, _affordable(budget, n_evaluations)
        )
        n_evaluations += more
        if improved:
            status = budget.status(n_evaluations)
    return n_evaluations, status


def _climb_from_best(
    polynomial: FlipTables,
    state: State,
    n_evaluations: int,
    budget: Budget,
    status: int,
) -> RunResult:
    """Make the best a local optimum, unless the budget is used up; end the run."""
    if status == DONE:
        _go_to(polynomial, state, state.best)
        n_evaluations, status = _climb(polynomial, state, n_evaluations, budget)
    return _run_result(state, n_evaluations, status)


def temperatures_of(polynomial: FlipTables) -> tuple[float, float]:
    """Hottest and coldest temperature that matter."""
    # Hot is the largest root mean square of what a flip gains at a random point: most
    # flips are then accepted. Cold is where a flip that loses the smallest weight of a
    # variable, the median over variables, is hardly accepted any more.
    sizes = np.diff(polynomial.term_ptr)
    weights = np.abs(np.repeat(polynomial.coef, sizes))
    smallest = np.full(polynomial.n_variables, np.inf)
    np.minimum.at(smallest, polynomial.members, weights)
    hot = 2.0 * fields(polynomial)[1].max()
    cold = -2.0 * np.median(smallest) / np.log(_SEARCHES.cold_acceptance)
    return hot, min(cold, hot)


def annealing(
    polynomial: FlipTables,
    spins: NDArray,
    seed: int,
    budget: Budget,
    *,
    n_sweeps: int = 1000,
    temperatures: tuple[float, float] | None = None,
) -> RunResult:
    """Metropolis sweeps at falling temperatures, then a local search."""
    # Source: Kirkpatrick, Gelatt and Vecchi, Optimization by simulated annealing,
    # Science 220, 1983.
    state = make_state(polynomial, spins, seed)
    n_evaluations, status = _anneal(polynomial, state, budget, n_sweeps, temperatures)
    return _climb_from_best(polynomial, state, n_evaluations, budget, status)


def _anneal(
    polynomial: FlipTables,
    state: State,
    budget: Budget,
    n_sweeps: int,
    temperatures: tuple[float, float] | None,
) -> tuple[int, int]:
    """Cool down; a budget of evaluations shortens the schedule."""
    n_variables = len(state.spins)
    affordable = max(1, int(min(n_sweeps, budget.n_evaluations // n_variables)))
    hot, cold = temperatures or temperatures_of(polynomial)
    cooling = (hot / cold) ** (1.0 / max(1, affordable - 1))
    tolerance = tolerance_of(polynomial)
    at_once = max(1, _SEARCHES.n_evaluations_per_call // n_variables)
    arrays = polynomial.address, state.address
    n_evaluations, status = 0, DONE
    for start in range(0, affordable, at_once):
        sweeps = np.arange(start, min(affordable, start + at_once))
        _kernels.anneal(*arrays, cooling**sweeps / hot, tolerance)
        # So that rounding errors do not add up.
        _kernels.refresh(*arrays)
        n_evaluations += len(sweeps) * n_variables
        status = budget.status(n_evaluations)
        if status == TIME:
            break
    if status == DONE and affordable < n_sweeps:
        status = EVALUATIONS
    return n_evaluations, status


def tabu(
    polynomial: FlipTables,
    spins: NDArray,
    seed: int,
    budget: Budget,
    *,
    n_steps: int | None = None,
    tenure: int | None = None,
) -> RunResult:
    """Best flips that are not tabu, ``100 n`` of them by default."""
    # Source: Glover, Tabu search, part I, ORSA Journal on Computing 1, 1989.
    n_variables = len(spins)
    n_steps = 100 * n_variables if n_steps is None else n_steps
    shortest, longest = tenures(n_variables, tenure)
    state = make_state(polynomial, spins, seed)
    memory = make_memory(n_variables, longest)
    _kernels.start_tabu(state, memory)
    tolerance = tolerance_of(polynomial)
    at_once = max(
        1, int(_SEARCHES.n_evaluations_per_call / changes_of_flip(polynomial))
    )
    arrays = polynomial.address, state.address, memory.address
    n_evaluations, status = 0, DONE
    while n_evaluations < n_steps and status == DONE:
        steps = min(
            n_steps - n_evaluations, _affordable(budget, n_evaluations, at_once)
        )
        _kernels.tabu(*arrays, steps, shortest, longest, tolerance)
        n_evaluations += steps
        if n_evaluations < n_steps:
            status = budget.status(n_evaluations)
    return _climb_from_best(polynomial, state, n_evaluations, budget, status)


def tenures(n_variables: int, tenure: int | None = None) -> tuple[int, int]:
    """Shortest and longest number of steps for which a flip is forbidden."""
    tenure = 10 + n_variables // 20 if tenure is None else tenure
    tenure = min(tenure, (n_variables + 1) // 2)
    return (tenure + 1) // 2, tenure + tenure // 2


def make_memory(n_variables: int, longest: int) -> Memory:
    """Empty arrays of a tabu search, up to the longest tenure."""
    n_leaves = 1 << (n_variables - 1).bit_length()
    return _kernels.Memory(
        free=np.empty(2 * n_leaves),
        taboo=np.empty(2 * n_leaves),
        expiry=np.empty(n_variables, dtype=np.int64),
        first=np.empty(longest + 1, dtype=np.int64),
        after=np.empty(longest + 1, dtype=np.int64),
        entry=np.empty(longest + 1, dtype=np.int64),
        trail=np.empty(n_variables, dtype=np.int32),
        clock=np.empty(2, dtype=np.int64),
        n_leaves=n_leaves,
        length=longest + 1,
    )


def weight_satisfaction(
    polynomial: FlipTables,
    spins: NDArray,
    seed: int,
    budget: Budget,
    *,
    max_order: int = 12,
) -> RunResult:
    """Best settings of the variables of one weight after the other ([S2] 3.5)."""
    state = make_state(polynomial, spins, seed)
    order = np.arange(len(polynomial.coef), dtype=np.int32)
    tolerance = tolerance_of(polynomial)
    arrays = polynomial.address, state.address
    n_evaluations, status, changed = 0, DONE, True
    while changed and status == DONE:
        more, changed = _kernels.satisfy(
            *arrays,
            order,
            max_order,
            tolerance,
            _affordable(budget, n_evaluations, np.iinfo(np.int64).max),
        )
        n_evaluations += more
        _kernels.refresh(*arrays)
        # A pass that was broken off may have changed nothing yet.
        if changed or n_evaluations >= budget.n_evaluations:
            status = budget.status(n_evaluations)
    return _run_result(state, n_evaluations, status)


def mixed(
    polynomial: FlipTables,
    spins: NDArray,
    seed: int,
    budget: Budget,
    *,
    n_sweeps: int,
    n_steps: int,
    schedules: Sequence[Schedule],
) -> RunResult:
    """Annealing, then moves of many variables at once, then tabu search."""
    # Such a move holds some variables and sets all others, between which no wide tables
    # are needed any more, to the values that are best together. Where these tables are
    # worth their time, tabu search may still find more: as in functions of high order
    # and few variables, whose best points are like no others.
    # Sources: Hamze and de Freitas, From fields to trees, UAI, 2004; Selby, Efficient
    # subgraph-based sampling of Ising-type models with frustration, arXiv:1409.3934,
    # 2014.
    state = make_state(polynomial, spins, seed)
    n_evaluations, status = _anneal(polynomial, state, budget, n_sweeps, None)
    if status != DONE:
        return _run_result(state, n_evaluations, status)
    if schedules:
        _go_to(polynomial, state, state.best)
        n_evaluations, status = _move_subgraphs(
            polynomial, state, seed, n_evaluations, budget, schedules
        )
    found = _run_result(state, n_evaluations, status)
    if status != DONE:
        return found
    rest = Budget(budget.n_evaluations - n_evaluations, budget.deadline)
    other = tabu(polynomial, state.best, seed, rest, n_steps=n_steps)
    best = other if other.value > found.value else found
    return best._replace(nfev=n_evaluations + other.nfev, status=other.status)


def _go_to(polynomial: FlipTables, state: State, spins: NDArray) -> None:
    """Flip the spins that differ."""
    differing = np.flatnonzero(state.spins != spins).astype(np.int32)
    _kernels.flip_all(polynomial.address, state.address, differing)


def _move_subgraphs(
    polynomial: FlipTables,
    state: State,
    seed: int,
    n_evaluations: int,
    budget: Budget,
    schedules: Sequence[Schedule],
) -> tuple[int, int]:
    """Move until as many moves as twice the schedules have brought nothing."""
    rng = np.random.default_rng(seed)
    tolerance = tolerance_of(polynomial)
    idle, status = 0, DONE
    while idle < 2 * len(schedules) and status == DONE:
        schedule = schedules[int(rng.integers(len(schedules)))]
        spins = state.spins.copy()
        ties = rng.random(len(schedule.order)) < 0.5
        n_evaluations += _elimination.eliminate(schedule, ties, spins)
        _go_to(polynomial, state, spins)
        idle += 1
        if state.totals[0] > state.totals[1] + tolerance:
            idle, state.totals[1] = 0, state.totals[0]
            state.best[:] = state.spins
        status = budget.status(n_evaluations)
    return n_evaluations, status


# ------------------------------------------------------------- the table of methods


class _Temperatures:
    """Two positive finite numbers, the first not below the second."""

    def is_satisfied_by(self, value: Any) -> bool:
        """Whether a value is such a pair."""
        try:
            hot, cold = (float(temperature) for temperature in value)
        except (TypeError, ValueError):
            return False
        return bool(0 < cold <= hot < np.inf)

    def __str__(self) -> str:
        return "two finite numbers above 0, the higher first"


_COUNT = Interval(Integral, 1, None, closed="left")
_COUNT_OR_0 = Interval(Integral, 0, None, closed="left")
# Beyond this, indices into a table would not fit.
_WIDTH = Interval(Integral, 0, 30, closed="both")
_ORDER = Interval(Integral, 1, 30, closed="both")


class Method(NamedTuple):
    """Method of optimization."""

    options: dict[str, Any]  # constraints of its options, by their names
    # ``run(polynomial, spins, seed, budget, **options)`` returns a RunResult, a local
    # optimum; None for what takes the whole function apart.
    run: Callable[..., RunResult] | None = None
    has_starts: bool = True  # starts from points, several times


MethodName: TypeAlias = Literal[
    "auto", "hill_climb", "annealing", "tabu", "weight_satisfaction", "exact"
]
METHODS: Mapping[str, Method] = {
    "auto": Method({"max_width": _WIDTH, "n_sweeps": _COUNT}),
    "hill_climb": Method({}, hill_climb),
    "annealing": Method(
        {"n_sweeps": _COUNT, "temperatures": _Temperatures()}, annealing
    ),
    "tabu": Method({"n_steps": _COUNT, "tenure": _COUNT_OR_0}, tabu),
    "weight_satisfaction": Method({"max_order": _ORDER}, weight_satisfaction),
    "exact": Method({"max_width": _WIDTH}, has_starts=False),
}


def check_options(method: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Refuse options that a method does not have, and values that make no sense."""
    options = {} if options is None else dict(options)
    allowed = METHODS[method].options
    for name, value in options.items():
        if name not in allowed:
            known = ", ".join(map(repr, allowed)) or "none"
            raise ValueError(
                f"options has {name!r}, which is not an option of method={method!r}; "
                f"it has {known}"
            )
        if not allowed[name].is_satisfied_by(value):
            raise ValueError(
                f"options[{name!r}] must be {allowed[name]}, got {value!r}"
            )
    return options


def check_use(
    method: str, *, x0: object, n_restarts: object, return_optima: bool, n_jobs: object
) -> None:
    """Refuse parameters that a method would ignore."""
    if not METHODS[method].has_starts:
        given = {"x0": x0, "n_restarts": n_restarts, "n_jobs": n_jobs}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f'{name} does not apply to method="{method}": leave it out'
                )
    if return_optima and METHODS[method].run is None:
        raise ValueError(
            f"return_optima needs a method that ends at local optima, and "
            f"method={method!r} does not"
        )
