"""What a search has screened, by enumeration."""

import itertools
import math

import numpy as np
import pytest

from skmohn.mohn._sparse.frontier import Frontier
from skmohn.mohn._walsh.design import PackedDesign

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (90, 8))
RESIDUALS = RNG.standard_normal((3, 90))
DESIGN = PackedDesign(X)


def best(residual, sets, size=1):
    """The sets whose products go best with a residual."""
    scores = {q: abs(X[:, list(q)].prod(axis=1) @ residual) for q in sets}
    return sorted(scores, key=scores.get)[-size:]


def all_sets(*orders):
    return [q for k in orders for q in itertools.combinations(range(8), k)]


@pytest.mark.parametrize("max_order", [1, 2, 3])
def test_the_lowest_orders_are_screened_for_each_residual(max_order):
    found = Frontier(DESIGN, max_order, 0.0).screen_base(RESIDUALS, 20)
    orders = range(1, min(max_order, 2) + 1)
    assert len(found) == sum(3 * min(20, math.comb(8, k)) for k in orders)
    for residual in RESIDUALS:
        assert set(best(residual, all_sets(*orders), 3)) <= set(found)


def test_each_residual_is_paid_for():
    cost = DESIGN.screening_cost(3)
    for share, orders in ((2.9, []), (3.1, [3])):
        frontier = Frontier(DESIGN, 4, share * cost)
        raised = list(frontier.raise_order(RESIDUALS, 1.0, 5))
        assert [order for order, _ in raised] == orders
        assert frontier.screened == {order: 1.0 for order in orders}
        assert frontier.work_left == pytest.approx((share - 3 * len(orders)) * cost)
    # Of one budget for all orders a part may be kept for later.
    frontier = Frontier(DESIGN, 4, math.inf)
    assert not list(frontier.raise_order(RESIDUALS, 1.0, 5, 2.9 * cost))
    assert len(list(frontier.raise_order(RESIDUALS, 1.0, 5, 3.1 * cost))) == 1


def test_coverage_counts_each_set_that_was_scored_once():
    frontier = Frontier(DESIGN, 5, 0.0)
    terms = [(0,), (0, 1), (1, 2), (0, 1, 2, 3, 4)]
    found = frontier.screen_children(RESIDUALS, terms, 50)
    assert len(set(found)) == 11  # of (0, 1) and (1, 2) one child is the same
    tried = {row["order"]: row["tried"] for row in frontier.coverage()}
    assert tried == {1: 8, 2: 28, 3: 11}
    # The model has a set of order five, whether or not it was scored.
    rows = frontier.coverage(terms)
    assert [row["tried"] for row in rows] == [8, 28, 11, 0, 0]
    assert [row["possible"] for row in rows] == [math.comb(8, k) for k in range(1, 6)]


def test_columns_of_terms_are_made_where_they_are_not_there():
    terms = [(0,), (2, 3), (4, 5)]
    one, other = Frontier(DESIGN, 3, 0.0), Frontier(DESIGN, 3, 0.0)
    made = one.screen_children(RESIDUALS, terms, 4)
    assert other.screen_children(RESIDUALS, terms, 4, DESIGN.columns(terms)) == made
