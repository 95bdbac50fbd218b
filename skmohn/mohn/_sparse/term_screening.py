"""What a search has screened, what comes next, what it may cost.

Two searches go up the orders like this: pursuit, which compares sets with one residual,
and the path of logistic models, which has one for each class. Both screen the lowest
orders in full and extend what they found. Where the budget pays for it higher orders
are screened in full, or else what holds an input of the model is of the next one. How
they score and choose is their own.
"""

import math
from functools import partial
from itertools import chain, product

import numpy as np

from skmohn.mohn._design.pair_screening import best_pairs, how_many_to_keep
from skmohn.mohn._design.terms import (
    count_children,
    count_holding,
    count_orders,
    count_parents,
)

# Orders that every round screens in full.
BASE_ORDER = 2
# How far a set must exceed others when a whole order is screened.
SCREEN_BAR = 1.1
# Weaker candidates wait, for they may owe what they score to a stronger one.
NEAR_BEST = 0.6
# The same order is screened again when the error has fallen to this fraction.
_NEW_RESIDUAL = 0.8
# Inputs whose extensions by pairs are screened in one pass over all pairs, and what
# each adds to its cost.
_HELD_AT_ONCE, _COST_OF_HELD = 16, 0.6


class TermScreening:
    """How far a search has come among the sets of all orders.

    Parameters
    ----------
    design : PackedDesign or DenseDesign

    max_order : int
        Largest number of inputs in a set.

    work_budget : float
        Nanoseconds, from counts, for screening orders three and up.

    max_screened : int, default=None
        Highest order that is screened exhaustively; None for `max_order`.

    pairs : PairView, default=None
        What is known of the pairs of a wide table; None to screen them all each time.

    Attributes
    ----------
    highest_productive_order : int
        The highest order that was screened in full and had something to give.

    screened : dict of int to float
        By order above the lowest, the error of the model that it was screened for.

    parents : set of tuples of int
        The sets whose extensions were screened.

    held : dict of int to float
        By input, the error of the model that its extensions by pairs were screened for.
    """

    def __init__(self, design, max_order, work_budget, max_screened=None, pairs=None):
        self.design = design
        self.max_order = max_order
        self.max_screened = max_screened or max_order
        self.pairs = pairs if max_order > 1 else None
        self.work_left = work_budget
        self.highest_productive_order = BASE_ORDER
        self.screened = {}
        self.parents = set()
        self.held = {}
        self._kept = {}

    def screen_low_orders(self, residuals, size):
        """Find the best sets of each of the lowest orders.

        Parameters
        ----------
        residuals : sequence of ndarrays of shape (n_samples,)

        size : int
            How many sets to keep of each order and residual.

        Returns
        -------
        sets : list of tuples of int
            Those that go well with several residuals are there several times.
        """
        orders = range(1, min(BASE_ORDER, self.max_order) + 1)
        return [
            found for order in orders for found in self._screen(residuals, order, size)
        ]

    def screen_children(self, residuals, terms, size, columns=None):
        """Find the best sets that extend one of some terms by an input.

        Parameters
        ----------
        residuals, size
            As of :meth:`screen_low_orders`.

        terms : list of tuples of int
            Those below the lowest orders, and at the highest, are passed over.

        columns : ndarray, default=None
            Their columns; made when None.

        Returns
        -------
        sets : list of tuples of int
        """
        at = [
            j
            for j, term in enumerate(terms)
            if BASE_ORDER <= len(term) < self.max_order
        ]
        if not at:
            return []
        parents = [terms[j] for j in at]
        self.parents.update(parents)
        columns = self.design.columns(parents) if columns is None else columns[at]
        return [
            found
            for residual in residuals
            for found in self.design.screen_children(residual, parents, columns, size)
        ]

    def raise_order(self, residuals, error, size, most_work=math.inf, terms=()):
        """Screen the next orders in full, one at a time, as far as the budget goes.

        Where it does not pay for all sets of order three, those that hold an input of
        the model are screened. The best sets of an order that cannot be paid again are
        kept, and compared with a residual for which a screening is not due.

        Parameters
        ----------
        residuals, size
            As of :meth:`screen_low_orders`.

        error : float
            Of the model now; the same residual would only give the same answer.

        most_work : float, default=inf
            What all these orders may cost together, beside the budget.

        terms : sequence of tuples of int, default=()
            The model's, the most wanted first.

        Yields
        ------
        order : int

        sets : list of tuples of int
        """
        if not size:
            return
        most = how_many_to_keep(self.design, fewest=1)
        for order in range(BASE_ORDER + 1, self.max_screened + 1):
            work = self.design.screening_cost(order) * len(residuals)
            is_due = error <= _NEW_RESIDUAL * self.screened.get(order, math.inf)
            is_paid = work <= min(most_work, self.work_left)
            if is_due and is_paid:
                self.work_left -= work
                most_work -= work
                self.screened[order] = error
                if work <= self.work_left or most <= size:
                    # It can be screened again, or its sets take too much room.
                    yield order, self._screen(residuals, order, size)
                    continue
                self._keep(order, self._screen(residuals, order, most))
            elif is_due and order == BASE_ORDER + 1 and work > self.work_left:
                inputs = self._to_hold(terms, error, len(residuals), most_work)
                few = max(min(size, most // max(len(inputs), 1)), 1)
                self._keep(order, self._screen_holding(residuals, inputs, few))
            if order in self._kept:
                yield order, self._screen_kept(residuals, order, size)
            if is_due and not is_paid:
                return

    def has_given(self, order):
        """Note that an order that was screened in full had something to give."""
        self.highest_productive_order = max(self.highest_productive_order, order)

    def coverage(self, terms=()):
        """Count the sets of each order.

        Parameters
        ----------
        terms : sequence of tuples, default=()
            Orders up to the highest of these have a row even if nothing was scored.

        Returns
        -------
        coverage : list of dict
            How many sets there are (``possible``) and how many were scored (``tried``),
            each counted once.
        """
        highest, coverage = len(count_orders(terms)), []
        for order in range(1, self.max_order + 1):
            n = self.design.n_features
            possible = tried = math.comb(n, order)
            if order > BASE_ORDER and order not in self.screened:
                if order == BASE_ORDER + 1 and self.held:
                    tried = count_holding(self.held, self.parents, order, n)
                else:
                    tried = count_children(self.parents, order, n)
            if tried or order <= highest:
                row = {"order": order, "possible": possible, "tried": tried}
                coverage.append(row)
        return coverage

    def _to_hold(self, terms, error, n_residuals, most_work):
        """Inputs of the model whose extensions by pairs are due and can be paid."""
        due = [
            term[0]
            for term in terms
            if len(term) == 1
            and error <= _NEW_RESIDUAL * self.held.get(term[0], math.inf)
        ]
        cost = _COST_OF_HELD * self.design.screening_cost(2) * n_residuals
        due = due[: int(min(len(due), min(most_work, self.work_left) / cost))]
        self.work_left -= cost * len(due)
        self.held.update(dict.fromkeys(due, error))
        return due

    def _screen_holding(self, residuals, inputs, size):
        """Find the best sets that extend each of some inputs by two others."""
        n_jobs = None if self.pairs is None else self.pairs.pair_cache.n_jobs
        columns = self.design.columns([(i,) for i in inputs])
        columns, found = self.design.unpack(columns, np.float64), []
        for residual, start in product(residuals, range(0, len(inputs), _HELD_AT_ONCE)):
            part = slice(start, start + _HELD_AT_ONCE)
            # What a product of three has to do with the residual is what a pair has to
            # do with the residual times the third.
            best = best_pairs(
                self.design, residual * columns[part], size, n_jobs=n_jobs
            )
            for i, kept in zip(inputs[part], best, strict=True):
                pairs = kept.pairs.tolist()
                found += [tuple(sorted((i, *pair))) for pair in pairs if i not in pair]
        return found

    def _keep(self, order, sets):
        """Keep sets that were screened, beside those of their order that are kept."""
        known = self._kept[order][0] if order in self._kept else []
        sets = list(dict.fromkeys(chain(known, sets)))
        if len(sets) > len(known):
            self._kept[order] = sets, self.design.of_products(sets)

    def _screen_kept(self, residuals, order, size):
        sets, products = self._kept[order]
        size = min(size, len(sets))
        found = (products.screen(residual, 1, size) for residual in residuals)
        return [sets[j] for (j,) in chain.from_iterable(found)]

    def _screen(self, residuals, order, size):
        size = min(size, math.comb(self.design.n_features, order))
        if not size:
            return []
        if order == 2 and self.pairs is not None:
            screen = self.pairs.screen
        else:
            screen = partial(self.design.screen, order=order)
        return [
            found for residual in residuals for found in screen(residual, size=size)
        ]


def chance_thresholds(terms, present, n_features, n_rivals=1):
    """What the largest of all rivals of each set would score by chance.

    Parameters
    ----------
    terms : list of tuples of int
        The sets.

    present : set of tuples of int
        Sets in the model: a set that extends them has fewer rivals.

    n_features : int

    n_rivals : int, default=1
        How many residuals each set is compared with.

    Returns
    -------
    thresholds : ndarray of shape (n_terms,)
        In standard deviations.
    """
    orders = [len(term) for term in terms]
    possible = {order: math.comb(n_features, order) for order in set(orders)}
    path_validation = np.array([possible[order] for order in orders], dtype=float)
    for j, term in enumerate(terms):
        if len(term) > BASE_ORDER:
            parents = count_parents(term, present)
            if parents == len(term):
                path_validation[j] = len(present)
            elif parents:
                path_validation[j] = min(path_validation[j], n_features * len(present))
    return np.sqrt(2 * np.log(np.maximum(path_validation * n_rivals, 10)))
