"""Screening of terms: which orders were screened, which are next, what it may cost."""

# Two searches raise the order like this: pursuit, which compares sets with one
# residual, and the path of logistic models, which has one residual per class. Both
# screen the lowest orders in full and extend the terms found. Where the budget allows,
# higher orders are screened in full, or else the sets of the next order that hold an
# input of the model. Each search has its own scores and choices.

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design
from skmohn.mohn._design.pair_screening import best_pairs, how_many_to_keep
from skmohn.mohn._design.terms import (
    count_children,
    count_holding,
    count_orders,
    count_parents,
)
from skmohn.mohn._sparse.pair_cache import PairCacheView

# Every round screens all sets up to this order.
BASE_ORDER: Final = 2


@dataclass(frozen=True)
class ScreeningConstants:
    """Screening of candidates."""

    # Ratio of score and chance threshold that a set needs when a whole order is
    # screened.
    min_ratio: float = tuned(1.1, "benchmarks/ablation.py")
    # Candidates below this fraction of the best score wait: a stronger one may explain
    # them.
    min_score_fraction: float = tuned(0.6, "benchmarks/ablation.py")
    # An order is screened again when the error has fallen to this fraction.
    max_error_ratio: float = tuned(0.8, "benchmarks/ablation.py")
    # Inputs whose extensions by pairs are screened in one pass over all pairs, and the
    # cost of each relative to a pass.
    n_held_per_pass: int = tuned(16, "cost")
    work_of_held: float = tuned(0.6, "cost")


SCREENING = ScreeningConstants()
# Residuals of shape (n_samples,), one or one per class.
Residuals: TypeAlias = Sequence[NDArray[np.float64]] | NDArray[np.float64]


class TermScreening:
    """Progress of a search among the sets of all orders."""

    def __init__(
        self,
        design: Design,
        max_order: int,  # largest number of inputs in a set
        # Nanoseconds, from counts, for screening orders three and up.
        work_budget: float,
        # Highest order that is screened exhaustively; None for `max_order`.
        max_screened: int | None = None,
        # Cached pairs of a wide table; None to screen all pairs each time.
        pairs: PairCacheView | None = None,
    ) -> None:
        self.design = design
        self.max_order = max_order
        self.max_screened = max_screened or max_order
        self.pairs = pairs if max_order > 1 else None
        self.work_left = work_budget
        # Highest order whose exhaustive screening was productive.
        self.highest_productive_order = BASE_ORDER
        # By order above the lowest, the error of the model that it was screened for.
        self.screened: dict[int, float] = {}
        self.parents: set[Term] = set()  # sets whose extensions were screened
        # By input, the error of the model that its extensions by pairs were screened
        # for.
        self.held: dict[int, float] = {}
        self._kept: dict[int, tuple[list[Term], Design]] = {}

    def screen_low_orders(self, residuals: Residuals, size: int) -> list[Term]:
        """Find the best sets of the lowest orders, `size` per order and residual."""
        # Sets that go well with several residuals are listed several times.
        orders = range(1, min(BASE_ORDER, self.max_order) + 1)
        return [
            found for order in orders for found in self._screen(residuals, order, size)
        ]

    def screen_children(
        self,
        residuals: Residuals,
        terms: Sequence[Term],
        size: int,
        columns: Any = None,
    ) -> list[Term]:
        """Find the best sets that extend a term by one input."""
        # Terms below the lowest orders, or of the highest, have no extensions.
        # `columns` are those of the terms; None computes them.
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

    def raise_order(
        self,
        residuals: Residuals,
        error: float,
        size: int,
        max_work: float = math.inf,
        terms: Sequence[Term] = (),
    ) -> Iterator[tuple[int, list[Term]]]:
        """Screen the next orders in full, within the budget; yield the best sets."""
        # If all sets of order three cost too much, only those that hold an input of the
        # model are screened, for terms in order of preference. The best sets of an
        # order that cannot be screened twice are kept, and scored for residuals that
        # are not yet due for a screening: `error` is that of the model now. `max_work`
        # bounds the cost of all these orders, beside the budget.
        if not size:
            return
        max_kept = how_many_to_keep(self.design, min_kept=1)
        for order in range(BASE_ORDER + 1, self.max_screened + 1):
            work = self.design.screening_cost(order) * len(residuals)
            is_due = error <= SCREENING.max_error_ratio * self.screened.get(
                order, math.inf
            )
            is_paid = work <= min(max_work, self.work_left)
            if is_due and is_paid:
                self.work_left -= work
                max_work -= work
                self.screened[order] = error
                if work <= self.work_left or max_kept <= size:
                    # It can be screened again, or its sets take too much room.
                    yield order, self._screen(residuals, order, size)
                    continue
                self._keep(order, self._screen(residuals, order, max_kept))
            elif is_due and order == BASE_ORDER + 1 and work > self.work_left:
                inputs = self._to_hold(terms, error, len(residuals), max_work)
                few = max(min(size, max_kept // max(len(inputs), 1)), 1)
                self._keep(order, self._screen_holding(residuals, inputs, few))
            if order in self._kept:
                yield order, self._screen_kept(residuals, order, size)
            if is_due and not is_paid:
                return

    def has_given(self, order: int) -> None:
        """Record that screening an order in full was productive."""
        self.highest_productive_order = max(self.highest_productive_order, order)

    def coverage(self, terms: Iterable[Term] = ()) -> list[dict[str, Any]]:
        """Count the ``possible`` and the ``tried`` sets of each order, each once."""
        # Orders up to the highest of the terms have a row even if nothing was scored.
        highest, coverage = len(count_orders(terms)), []
        tried_orders = {BASE_ORDER, *self.screened, *(len(p) + 1 for p in self.parents)}
        if self.held:
            tried_orders.add(BASE_ORDER + 1)
        # All orders of a wide table have numbers of sets with thousands of digits.
        last = min(max(highest, *tried_orders), self.max_order)
        for order in range(1, last + 1):
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

    def _to_hold(
        self, terms: Sequence[Term], error: float, n_residuals: int, max_work: float
    ) -> list[int]:
        """Inputs whose extensions by pairs are due and within the budget."""
        due = [
            term[0]
            for term in terms
            if len(term) == 1
            and error <= SCREENING.max_error_ratio * self.held.get(term[0], math.inf)
        ]
        cost = SCREENING.work_of_held * self.design.screening_cost(2) * n_residuals
        due = due[: int(min(len(due), min(max_work, self.work_left) / cost))]
        self.work_left -= cost * len(due)
        self.held.update(dict.fromkeys(due, error))
        return due

    def _screen_holding(
        self, residuals: Residuals, inputs: Sequence[int], size: int
    ) -> list[Term]:
        """Find the best sets that extend each of some inputs by two others."""
        n_jobs = None if self.pairs is None else self.pairs.pair_cache.n_jobs
        packed: Any = self.design.columns([(i,) for i in inputs])
        columns, found = self.design.unpack(packed, np.float64), []
        for residual, start in product(
            residuals, range(0, len(inputs), SCREENING.n_held_per_pass)
        ):
            part = slice(start, start + SCREENING.n_held_per_pass)
            # Inner product of a triple with the residual = that of a pair with the
            # residual times the third input.
            best = best_pairs(
                self.design, residual * columns[part], size, n_jobs=n_jobs
            )
            for i, kept in zip(inputs[part], best, strict=True):
                pairs = kept.pairs.tolist()
                found += [tuple(sorted((i, *pair))) for pair in pairs if i not in pair]
        return found

    def _keep(self, order: int, sets: Iterable[Term]) -> None:
        """Keep screened sets beside those of their order that are kept already."""
        known = self._kept[order][0] if order in self._kept else []
        sets = list(dict.fromkeys(chain(known, sets)))
        if len(sets) > len(known):
            self._kept[order] = sets, self.design.of_products(sets)

    def _screen_kept(self, residuals: Residuals, order: int, size: int) -> list[Term]:
        sets, products = self._kept[order]
        size = min(size, len(sets))
        found = (products.screen(residual, 1, size) for residual in residuals)
        return [sets[j] for (j,) in chain.from_iterable(found)]

    def _screen(self, residuals: Residuals, order: int, size: int) -> list[Term]:
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


def chance_thresholds(
    terms: Sequence[Term], present: set[Term], n_features: int, n_rivals: int = 1
) -> NDArray[np.float64]:
    """Largest score of each set's rivals by chance, in standard deviations."""
    # Sets that extend terms of the model, `present`, have fewer rivals. Each is
    # compared with `n_rivals` residuals.
    orders = np.fromiter(map(len, terms), dtype=np.intp, count=len(terms))
    rivals = np.empty(len(terms))
    for order in set(orders.tolist()):
        rivals[orders == order] = math.comb(n_features, order)
    for j in np.flatnonzero(orders > BASE_ORDER).tolist():
        parents = count_parents(terms[j], present)
        if parents == orders[j]:
            rivals[j] = len(present)
        elif parents:
            rivals[j] = min(rivals[j], n_features * len(present))
    return np.sqrt(2 * np.log(np.maximum(rivals * n_rivals, 10)))
