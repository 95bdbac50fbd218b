"""All weights as sums of products with a factor for each variable, and their search.

The posterior mean of all weights under the product prior is one, see
`DenseModel.products`. What all flips gain comes from one matrix product.
"""

from dataclasses import dataclass, replace

import numpy as np

from skmohn._core._validation import require_memory
from skmohn.optimize._driver import MAX_WIDTH, Answer, better, restart
from skmohn.optimize._methods import CALLBACK, DONE, Outcome, tenures

# "auto" tries all points where that takes at most this many products of numbers.
_EXACT_COST = 2**34
# Points whose values are in memory at once.
_AT_ONCE = 2**20
# Steps between two glances at the clock.
_STEPS_AT_ONCE = 100
# Gains smaller than this share of the sum of all products are rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ProductSum:
    """A function of codes in [-1, 1].

    Attributes
    ----------
    coef : ndarray of shape (n_products,)

    low, high : ndarrays of shape (n_products, n_variables)
        Factors of each variable at -1 and at +1; linear in between.

    intercept : float

    bounds : tuple of float, default=(-inf, inf)
        Where predictions end.
    """

    coef: np.ndarray
    low: np.ndarray
    high: np.ndarray
    intercept: float
    bounds: tuple = (-np.inf, np.inf)

    @classmethod
    def of(cls, products, columns, n_variables, bounds):
        """Make one of products of some variables; the others have factors of 1.

        Parameters
        ----------
        products : Products
            Of the inputs of a dense model.

        columns : ndarray of shape (n_inputs,), int
            The variable that each input is.

        n_variables : int

        bounds : tuple of float

        Returns
        -------
        function : ProductSum
        """
        low, high = np.ones((2, len(products.coef), n_variables))
        low[:, columns], high[:, columns] = products.low, products.high
        return cls(products.coef, low, high, products.constant, bounds)

    @property
    def n_variables(self):
        """How many variables there are, those that do not matter included."""
        return self.low.shape[1]

    def used(self):
        """The variables that matter, in their order."""
        return np.flatnonzero(np.any(self.low != self.high, axis=0))

    def fix(self, codes):
        """Put codes in the place of some variables, whose factors become 1.

        Parameters
        ----------
        codes : dict of int to float

        Returns
        -------
        function : ProductSum
        """
        coef, low, high = self.coef.copy(), self.low.copy(), self.high.copy()
        for i, code in codes.items():
            coef *= _between(low[:, i], high[:, i], code)
            low[:, i] = high[:, i] = 1.0
        return replace(self, coef=coef, low=low, high=high)

    def take(self, variables, factor):
        """The function of some variables, times a factor; all others are fixed."""
        return ProductSum(
            factor * self.coef, self.low[:, variables], self.high[:, variables], 0.0
        )

    def predict(self, points):
        """Values at rows of codes, ndarray of shape (n_rows,)."""
        values = [
            self.coef @ _between(self.low, self.high, point).prod(axis=1)
            for point in points
        ]
        return np.clip(np.array(values) + self.intercept, *self.bounds)


def _between(low, high, code):
    """Factors at a code: on the line through those at -1 and +1."""
    return 0.5 * ((1.0 - code) * low + (1.0 + code) * high)


# ----------------------------------------------------------------------- the search


class _State:
    """Spins, the products there, and by what share a flip changes each product."""

    def __init__(self, function, spins):
        self.function = function
        self.spins = spins.astype(np.int8)
        is_high = self.spins > 0
        factors = np.where(is_high, function.high, function.low)
        self.products = function.coef * factors.prod(axis=1)
        self.shares = np.where(is_high, function.low, function.high) / factors - 1.0
        self.value = float(self.products.sum())
        self.tolerance = _ROUNDING * float(np.abs(self.products).sum())

    def gains(self):
        """What each flip gains. O(n_products n_variables)."""
        return self.products @ self.shares

    def flip(self, i, gain):
        """Flip one spin. O(n_products)."""
        change = 1.0 + self.shares[:, i]
        self.products *= change
        self.shares[:, i] = 1.0 / change - 1.0
        self.spins[i] = -self.spins[i]
        self.value += float(gain)


def hill_climb(function, spins, seed, budget):
    """The best flip until none gains."""
    state = _State(function, spins)
    looks, status = _climb(state, 0, budget)
    return Outcome(state.spins, state.value, looks, status)


def _climb(state, looks, budget):
    status = DONE
    while status == DONE:
        gains = state.gains()
        looks += len(gains)
        i = int(np.argmax(gains))
        if gains[i] <= state.tolerance:
            break
        state.flip(i, gains[i])
        status = budget.status(looks)
    return looks, status


def tabu(function, spins, seed, budget, *, n_steps=None, tenure=None):
    """Best flips that are not tabu, then a climb from the best point."""
    rng = np.random.default_rng(seed)
    n_variables = len(spins)
    n_steps = 100 * n_variables if n_steps is None else n_steps
    shortest, longest = tenures(n_variables, tenure)
    state = _State(function, spins)
    best, best_value = state.spins.copy(), state.value
    expiry = np.zeros(n_variables, dtype=int)
    looks, status = 0, DONE
    while looks < n_steps and status == DONE:
        gains = state.gains()
        is_free = (expiry <= looks) | (
            state.value + gains > best_value + state.tolerance
        )
        i = int(np.argmax(np.where(is_free, gains, -np.inf)))
        state.flip(i, gains[i])
        looks += 1
        expiry[i] = looks + rng.integers(shortest, longest + 1)
        if state.value > best_value + state.tolerance:
            best, best_value = state.spins.copy(), state.value
        if looks % _STEPS_AT_ONCE == 0 or looks >= budget.looks:
            status = budget.status(looks)
    state = _State(function, best)
    if status == DONE:
        looks, status = _climb(state, looks, budget)
    return Outcome(state.spins, state.value, looks, status)


_RUNS = {"hill_climb": hill_climb, "tabu": tabu}


def answer_dense(question, method, options):
    """Run a method on a sum of products.

    Parameters
    ----------
    question : Question
        Its graph is a ProductSum.

    method : str

    options : dict
        Further arguments of the method.

    Returns
    -------
    answer : Answer
    """
    function = question.graph
    max_width = options.get("max_width", MAX_WIDTH)
    if method == "exact":
        _require_narrow(function.n_variables, max_width, question.budget)
        return _try_all(question)
    if method == "auto":
        if "n_sweeps" in options:
            raise ValueError(
                "options['n_sweeps'] does not apply to a dense model, which "
                "method='auto' searches by all points or by tabu search"
            )
        cost = 2**function.n_variables * len(function.coef)
        is_cheap = (
            cost <= _EXACT_COST and 2**function.n_variables <= question.budget.looks
        )
        if is_cheap and function.n_variables <= max_width:
            return _try_all(question)
        method, options = "tabu", {}
    if method not in _RUNS:
        raise ValueError(
            f"method={method!r} does not work with a dense model: "
            'use "auto", "exact", "tabu" or "hill_climb"'
        )
    return restart(question, function, _RUNS[method], lambda number: options, better)


def _require_narrow(n_variables, max_width, budget):
    if n_variables > max_width:
        raise ValueError(
            f'method="exact" tries all points of the {n_variables} variables that the '
            f"weights connect (the width found), but max_width={max_width}: fix "
            'variables, raise options["max_width"] or use method="auto"'
        )
    if 2**n_variables > budget.looks:
        raise ValueError(
            f'method="exact" computes {2**n_variables:,} values, more than '
            f"max_evaluations={budget.looks:,.0f}"
        )


def _try_all(question):
    """Compute the function at all points, as a product of two tables of products."""
    function = question.graph
    n_left = function.n_variables // 2
    n_right = function.n_variables - n_left
    require_memory(
        16.0 * len(function.coef) * 2**n_right + 8.0 * _AT_ONCE,
        f"the values at all points of {function.n_variables} variables",
        'fix variables or use method="tabu"',
    )
    left = _tabulate(function, range(n_left)) * function.coef
    right = _tabulate(function, range(n_left, function.n_variables)).T
    best, place, looks, status = -np.inf, 0, 0, DONE
    n_at_once = max(1, _AT_ONCE // right.shape[1])
    for first in range(0, len(left), n_at_once):
        values = left[first : first + n_at_once] @ right
        looks += values.size
        i = int(np.argmax(values))
        if values.flat[i] > best:
            best, place = values.flat[i], first * right.shape[1] + i
        status = question.budget.status(0)  # only the clock can have changed
        if status != DONE:
            break
    n_variables = function.n_variables
    bits = (place >> np.arange(n_variables - 1, -1, -1)) & 1
    spins = (2 * bits - 1).astype(np.int8)
    if status == DONE and question.tell(Answer(spins, looks, 1, DONE, True, [])):
        status = CALLBACK
    return Answer(spins, looks, 1, status, status in (DONE, CALLBACK), [])


def _tabulate(function, variables):
    """Products of factors of variables at all their points, the first one slowest."""
    table = np.ones((1, len(function.coef)))
    for i in reversed(variables):
        table = np.concatenate(
            [table * function.low[:, i], table * function.high[:, i]]
        )
    return table
