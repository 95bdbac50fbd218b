"""All weights as sums of products with a factor for each variable, and their search."""

# The posterior mean of all weights under the product prior is one, see
# `GPModel.to_product_sum`. A variable is in one of two states or more; what all moves
# of a variable to another state gain comes from one matrix product.

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._powers import YeoJohnson
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._validation import require_memory
from skmohn.mohn._engine import InputCoding, Logarithm, ProductSum, Unchanged
from skmohn.optimize._methods import DONE, Budget, RunResult, tenures
from skmohn.optimize._solve import SOLVE, SearchProblem, SearchResult, better, restart


@dataclass(frozen=True)
class ProductSumConstants:
    """Searches of sums of products."""

    # "auto" tries all points where that takes at most this many products of numbers.
    max_exact_cost: int = tuned(2**34, "cost")
    # Points whose values are in memory at once.
    n_points_per_block: int = tuned(2**20, "cost")
    # Steps until the clock is read again.
    n_steps_per_check: int = tuned(100, "cost")
    # Gains smaller than this fraction of the sum of all products are rounding error.
    rounding: float = tuned(1e-12, "rounding")
    # Factors below this are raised to it: the search divides by factors, and the
    # difference is below the rounding error of any sum of products.
    min_factor: float = tuned(1e-15, "rounding")


_PRODUCT_SUMS = ProductSumConstants()


@dataclass(frozen=True)
class GPMean:
    """Mean of a Gaussian process, as a function of the columns of its table."""

    products: ProductSum
    coding: InputCoding
    bounds: tuple  # range of predictions
    # Of the target, which is predicted by its median.
    transform: Unchanged | Logarithm | YeoJohnson

    @property
    def weights(self) -> NDArray[np.float64]:
        """All weights, of products and lines."""
        of = self.products
        return np.concatenate([of.coef, of.slopes, *of.steps])

    @property
    def intercept(self) -> float:
        """Constant of the function."""
        return self.products.constant

    def at(
        self,
        table: NDArray[np.float64],
        owner: NDArray[np.integer],
        sizes: NDArray[np.integer],
    ) -> "DiscreteProductSum":
        """Restrict the function to some states of each variable."""
        # In the rows of the table each variable goes through its states, and stays in
        # the last one. `owner` is the variable that each column belongs to.
        of, rows = self.products, self.coding.encode(table)
        ends = np.cumsum(sizes)
        states = [*map(slice, ends - sizes, ends)]
        factors = np.ones((ends[-1], len(of.coef)))
        steps = np.zeros(len(factors))
        for i, variable in enumerate(owner[self.coding.usable].tolist()):
            own, step = factors[states[variable]], steps[states[variable]]
            codes = rows.inputs[: len(own), i]
            fraction = 0.5 * (1.0 + codes[:, None])
            np.multiply(1.0 - fraction, of.low[i], out=own)
            own += fraction * of.high[i]
            step += of.slopes[i] * codes
        # A model of lines alone has no factors of categories.
        for k, (column, *_) in enumerate(self.coding.categoricals[: len(of.tables)]):
            variable = owner[column]
            own, step = factors[states[variable]], steps[states[variable]]
            categories = rows.categories[: len(own), k]
            own *= of.tables[k][categories]
            step += of.steps[k][categories]
        factors[np.abs(factors) < _PRODUCT_SUMS.min_factor] = _PRODUCT_SUMS.min_factor
        own = of.constant, self.bounds, self.transform
        return DiscreteProductSum(of.coef, factors, steps, sizes, *own)


@dataclass(frozen=True)
class DiscreteProductSum:
    """Function of variables that are each in one of some states."""

    weights: np.ndarray
    # (n_states, n_products); of the states of one variable after the other.
    factors: np.ndarray
    steps: np.ndarray  # (n_states,); added by each state
    sizes: np.ndarray  # (n_variables,), int; how many states each variable has
    intercept: float = 0.0
    bounds: tuple = (-np.inf, np.inf)  # range of predictions
    # Scale of the sums; it rises, so that their optimum is that of predictions.
    transform: Unchanged | Logarithm | YeoJohnson = field(default_factory=Unchanged)

    @property
    def n_variables(self) -> int:
        """Number of variables, those that do not matter included."""
        return len(self.sizes)

    @property
    def n_points(self) -> int:
        """Number of points, as an int of any size."""
        return math.prod(self.sizes.tolist())

    @cached_property
    def first(self) -> NDArray[np.integer]:
        """First state of each variable."""
        return np.cumsum(self.sizes) - self.sizes

    def states_of(self, variables: NDArray[np.integer]) -> NDArray[np.integer]:
        """All states of some variables, one variable after the other."""
        which, rank = _count_off(self.sizes[variables])
        return self.first[variables][which] + rank

    def used(self) -> NDArray[np.integer]:
        """Variables that matter, in their order."""
        which, rank = _count_off(self.sizes)
        states, others = self.first[which[rank > 0]], np.flatnonzero(rank)
        differs = np.any(self.factors[states] != self.factors[others], axis=1)
        differs |= self.steps[states] != self.steps[others]
        return np.unique(which[others[differs]])

    def take(
        self, variables: NDArray[np.integer], factor: float
    ) -> "DiscreteProductSum":
        """Function of those that matter, times a factor, without the constant."""
        others = np.delete(self.first, variables)
        states = self.states_of(variables)
        return DiscreteProductSum(
            factor * self.weights * self.factors[others].prod(axis=0),
            self.factors[states],
            factor * self.steps[states],
            self.sizes[variables],
        )

    def draw(self, rng: np.random.Generator) -> NDArray[np.integer]:
        """Random point."""
        return rng.integers(self.sizes)

    def predict(self, points: NDArray[np.integer]) -> NDArray[np.float64]:
        """Values at rows of states, ndarray of shape (n_rows,)."""
        values = [
            self.weights @ self.factors[states].prod(axis=0) + self.steps[states].sum()
            for states in self.first + points
        ]
        values = self.transform.inverse(np.array(values) + self.intercept)
        return np.clip(values, *self.bounds)


def _count_off(
    sizes: NDArray[np.integer],
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Group of each member of groups of some sizes, and its rank in the group."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return groups, np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


# ----------------------------------------------------------------------- the search


class _State:
    """Point, the products there, and the factor of each product by each move."""

    # A variable of S states has S - 1 moves, each of them to a target.

    def __init__(
        self, function: DiscreteProductSum, point: NDArray[np.integer]
    ) -> None:
        self.first = function.first
        here = self.first + point
        targets = np.delete(np.arange(len(function.steps)), here)
        n_moves = function.sizes - 1
        owner = np.repeat(np.arange(len(n_moves)), n_moves)
        ends = np.cumsum(n_moves)
        factors, steps = function.factors[here], function.steps[here]
        self.products = function.weights * factors.prod(axis=0)
        self.ratios = function.factors[targets]
        self.ratios /= factors[owner]
        self.sum = float(steps.sum())
        self.rises = function.steps[targets] - steps[owner]
        self.value = float(self.products.sum()) + self.sum
        size = np.abs(self.products).sum() + np.abs(steps).sum()
        self.tolerance = _PRODUCT_SUMS.rounding * float(size)
        self.here, self.targets = here.tolist(), targets.tolist()
        self.owner, self.moves = owner.tolist(), [*map(slice, ends - n_moves, ends)]

    @property
    def point(self) -> NDArray[np.integer]:
        """State of each variable."""
        return self.here - self.first

    def values(self) -> NDArray[np.float64]:
        """Value that each move leads to. O(n_products n_moves)."""
        return self.ratios @ self.products + (self.rises + self.sum)

    def move(self, m: int, value: float) -> None:
        """Go to a target, of the value given. O(n_products) for each move there."""
        i = self.owner[m]
        moves = self.moves[i]
        ratio, rise = self.ratios[m].copy(), float(self.rises[m])
        # The way back is a move.
        self.ratios[m], self.rises[m] = 1.0, 0.0
        self.here[i], self.targets[m] = self.targets[m], self.here[i]
        ratios, rises = self.ratios[moves], self.rises[moves]
        ratios /= ratio
        rises -= rise
        self.products *= ratio
        self.sum += rise
        self.value = float(value)


def hill_climb(
    function: DiscreteProductSum, point: NDArray[np.integer], seed: int, budget: Budget
) -> RunResult:
    """Best move until none gains."""
    state = _State(function, point)
    n_evaluations, status = _climb(state, 0, budget)
    return RunResult(state.point, state.value, n_evaluations, status)


def _climb(state: _State, n_evaluations: int, budget: Budget) -> tuple[int, int]:
    status = DONE
    while status == DONE:
        values = state.values()
        n_evaluations += len(values)
        m = int(values.argmax())
        if values[m] <= state.value + state.tolerance:
            break
        state.move(m, values[m])
        status = budget.status(n_evaluations)
    return n_evaluations, status


def tabu(
    function: DiscreteProductSum,
    point: NDArray[np.integer],
    seed: int,
    budget: Budget,
    *,
    n_steps: int | None = None,
    tenure: int | None = None,
) -> RunResult:
    """Best moves of variables that are not tabu, then a local search from the best."""
    # Variables that have moved are tabu. On rugged functions of several states that
    # finds the optimum far more often than to forbid the states that they have left.
    rng = np.random.default_rng(seed)
    n_variables = function.n_variables
    n_steps = 100 * n_variables if n_steps is None else n_steps
    shortest, longest = tenures(n_variables, tenure)
    state = _State(function, point)
    best, best_value = state.point, state.value
    expiry = np.zeros(len(state.targets), dtype=int)
    n_evaluations, status = 0, DONE
    while n_evaluations < n_steps and status == DONE:
        values = state.values()
        is_free = (expiry <= n_evaluations) | (values > best_value + state.tolerance)
        m = int(np.where(is_free, values, -np.inf).argmax())
        state.move(m, values[m])
        n_evaluations += 1
        moves = state.moves[state.owner[m]]
        expiry[moves] = n_evaluations + rng.integers(shortest, longest + 1)
        if state.value > best_value + state.tolerance:
            best, best_value = state.point, state.value
        if (
            n_evaluations % _PRODUCT_SUMS.n_steps_per_check == 0
            or n_evaluations >= budget.n_evaluations
        ):
            status = budget.status(n_evaluations)
    state = _State(function, best)
    if status == DONE:
        n_evaluations, status = _climb(state, n_evaluations, budget)
    return RunResult(state.point, state.value, n_evaluations, status)


_RUNS = {"hill_climb": hill_climb, "tabu": tabu}


def solve_product_sum(
    problem: SearchProblem, method: str, options: dict[str, Any]
) -> SearchResult:
    """Run a method on a sum of products."""
    function = problem.graph
    max_width = options.get("max_width", SOLVE.max_width)
    if method == "exact":
        _require_few(function, max_width, problem.budget)
        return _try_all(problem)
    if method == "auto":
        if "n_sweeps" in options:
            raise ValueError(
                "options['n_sweeps'] does not apply to a Gaussian process, which "
                "method='auto' searches by all points or by tabu search"
            )
        n_points = function.n_points
        cost = n_points * len(function.weights)
        is_cheap = (
            cost <= _PRODUCT_SUMS.max_exact_cost
            and n_points <= problem.budget.n_evaluations
        )
        if is_cheap and n_points <= 2**max_width:
            return _try_all(problem)
        method, options = "tabu", {}
    if method not in _RUNS:
        raise ValueError(
            f"method={method!r} does not work with a Gaussian process: "
            'use "auto", "exact", "tabu" or "hill_climb"'
        )
    return restart(problem, function, _RUNS[method], lambda number: options, better)


def _require_few(function: DiscreteProductSum, max_width: int, budget: Budget) -> None:
    """Refuse more points than are wanted."""
    n_points = function.n_points
    if n_points > 2**max_width:
        raise ValueError(
            f'method="exact" tries all points of the {function.n_variables} variables '
            f"that matter, {n_points:,}, more than 2 ** max_width with "
            f'max_width={max_width}: fix variables, raise options["max_width"] or use '
            'method="auto"'
        )
    if n_points > budget.n_evaluations:
        raise ValueError(
            f'method="exact" computes {n_points:,} values, more than '
            f"max_evaluations={budget.n_evaluations:,.0f}"
        )


def _try_all(problem: SearchProblem) -> SearchResult:
    """Compute the function at all points, as a product of two tables of products."""
    function = problem.graph
    # Up to where half of the points, by their logarithms, are those of the left part.
    bits = np.cumsum(np.log2(function.sizes))
    middle = int(np.searchsorted(bits, bits[-1] / 2, side="right"))
    n_right = math.prod(function.sizes[middle:].tolist())
    require_memory(
        16.0 * len(function.weights) * n_right + 8.0 * _PRODUCT_SUMS.n_points_per_block,
        f"the values at all points of {function.n_variables} variables",
        'fix variables or use method="tabu"',
    )
    left, left_steps = _tabulate(function, range(middle))
    right, right_steps = _tabulate(function, range(middle, function.n_variables))
    left *= function.weights
    best, index, n_evaluations, status = -np.inf, 0, 0, DONE
    n_at_once = max(1, _PRODUCT_SUMS.n_points_per_block // n_right)
    for some in equal_slices(len(left), n_at_once):
        values = left[some] @ right.T
        values += left_steps[some, None]
        values += right_steps
        n_evaluations += values.size
        i = int(values.argmax())
        if values.flat[i] > best:
            best, index = values.flat[i], some.start * n_right + i
        status = problem.budget.status(0)  # only the clock can have changed
        if status != DONE:
            break
    point = np.array(np.unravel_index(index, function.sizes))
    return problem.conclude(point, n_evaluations, status)


def _tabulate(
    function: DiscreteProductSum, variables: range
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Products of factors of variables, and sums of steps, at all their points."""
    # The first variable is the slowest.
    products, sums = np.ones((1, len(function.weights))), np.zeros(1)
    for i in reversed(variables):
        first = function.first[i]
        states = range(first, first + function.sizes[i])
        products = np.concatenate([products * function.factors[s] for s in states])
        sums = np.concatenate([sums + function.steps[s] for s in states])
    return products, sums
