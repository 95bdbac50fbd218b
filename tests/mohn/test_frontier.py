"""What a search has screened, by enumeration."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from skmohn._core._bits import pack_bits
from skmohn.mohn._design.design import DenseDesign, PackedDesign
from skmohn.mohn._design.plane_design import PlaneDesign, Planes
from skmohn.mohn._design.terms import count_holding
from skmohn.mohn._sparse import term_screening
from skmohn.mohn._sparse.term_screening import TermScreening

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
    found = TermScreening(DESIGN, max_order, 0.0).screen_low_orders(RESIDUALS, 20)
    orders = range(1, min(max_order, 2) + 1)
    assert len(found) == sum(3 * min(20, math.comb(8, k)) for k in orders)
    for residual in RESIDUALS:
        assert set(best(residual, all_sets(*orders), 3)) <= set(found)


def test_each_residual_is_paid_for():
    cost = DESIGN.screening_cost(3)
    for share, orders in ((2.9, []), (3.1, [3])):
        frontier = TermScreening(DESIGN, 4, share * cost)
        raised = list(frontier.raise_order(RESIDUALS, 1.0, 5))
        assert [order for order, _ in raised] == orders
        assert frontier.screened == {order: 1.0 for order in orders}
        assert frontier.work_left == pytest.approx((share - 3 * len(orders)) * cost)
    # Of one budget for all orders a part may be kept for later.
    frontier = TermScreening(DESIGN, 4, math.inf)
    assert not list(frontier.raise_order(RESIDUALS, 1.0, 5, 2.9 * cost))
    assert len(list(frontier.raise_order(RESIDUALS, 1.0, 5, 3.1 * cost))) == 1


def test_coverage_counts_each_set_that_was_scored_once():
    frontier = TermScreening(DESIGN, 5, 0.0)
    terms = [(0,), (0, 1), (1, 2), (0, 1, 2, 3, 4)]
    found = frontier.screen_children(RESIDUALS, terms, 50)
    assert len(set(found)) == 11  # of (0, 1) and (1, 2) one child is the same
    tried = {row["order"]: row["tried"] for row in frontier.coverage()}
    assert tried == {1: 8, 2: 28, 3: 11}
    # The model has a set of order five, whether or not it was scored.
    rows = frontier.coverage(terms)
    assert [row["tried"] for row in rows] == [8, 28, 11, 0, 0]
    assert [row["possible"] for row in rows] == [math.comb(8, k) for k in range(1, 6)]


def test_coverage_of_a_wide_table_counts_no_order_that_it_leaves_out(monkeypatch):
    # All 60,000 orders would have numbers of up to 18,000 digits.
    counted = []

    def count(n, order):
        counted.append(order)
        return math.comb(n, order)

    monkeypatch.setattr(term_screening, "math", SimpleNamespace(comb=count))
    frontier = TermScreening(SimpleNamespace(n_features=60_000), 60_000, 0.0)
    frontier.parents = {(0, 1), (2, 3, 4)}
    assert [row["order"] for row in frontier.coverage([(5,)])] == [1, 2, 3, 4]
    assert counted == [1, 2, 3, 4]
    frontier.parents, frontier.held = set(), {7: 1.0}
    assert [row["order"] for row in frontier.coverage()] == [1, 2, 3]
    frontier.screened = {3: 1.0, 5: 1.0}
    assert [row["order"] for row in frontier.coverage()] == [1, 2, 3, 5]
    assert max(counted) == 5


def test_columns_of_terms_are_made_where_they_are_not_there():
    terms = [(0,), (2, 3), (4, 5)]
    one, other = TermScreening(DESIGN, 3, 0.0), TermScreening(DESIGN, 3, 0.0)
    made = one.screen_children(RESIDUALS, terms, 4)
    assert other.screen_children(RESIDUALS, terms, 4, DESIGN.columns(terms)) == made


def make_designs():
    """Designs of eight columns: bits, weighted numbers, and bit planes."""
    counts = RNG.integers(-1, 2, (90, 8))
    numbers, weights = RNG.uniform(-1, 1, (90, 8)), RNG.uniform(0.5, 1.5, 90)
    sign, nonzero = pack_bits(counts.T < 0), pack_bits(counts.T != 0)
    planes = Planes.around(sign, nonzero, nonzero | ~nonzero, counts.mean(0), 90)
    return DESIGN, DenseDesign(numbers, weights), PlaneDesign(planes)


@pytest.mark.parametrize("design", make_designs(), ids=["bits", "numbers", "planes"])
def test_where_all_triples_cost_too_much_those_of_the_models_inputs_are_screened(
    design,
):
    terms = [(4,), (1, 2), (6,)]
    # Enough for three inputs.
    frontier = TermScreening(design, 4, 2.1 * design.screening_cost(2))
    frontier.screen_children(RESIDUALS[:1], terms, 50)
    # What the model has is no longer in its residual.
    chosen = design.columns([(), (4,), (6,)])
    chosen = design.unpack(chosen, float)
    weights = np.ones(90) if design.weights is None else design.weights
    root = np.sqrt(weights)
    coef = np.linalg.lstsq((chosen * root).T, RESIDUALS[0] * root)[0]
    residual = RESIDUALS[0] - coef @ chosen
    ((order, found),) = frontier.raise_order([residual], 1.0, 56, terms=terms)
    holding = [q for q in all_sets(3) if {4, 6}.intersection(q)]
    assert order == 3
    assert len(set(found)) == len(found)
    # Those whose products are 0 with the rounded residual are not worth keeping.
    assert len(holding) - 3 <= len(found)
    assert set(found) <= set(holding)
    columns = design.columns(holding)
    score = np.abs(design.project(columns, residual)) / np.sqrt(design.spread(columns))
    assert holding[score.argmax()] in found[:3]
    # Each input has pairs of its own.
    product = design.unpack(design.columns([(1, 4, 7)]), float)[0]
    few = TermScreening(design, 3, 2.1 * design.screening_cost(2))
    one = few.raise_order([residual + 3 * product], 1.0, 1, terms=terms)
    assert list(one) == [(3, [(1, 4, 7)])]
    # What was screened stays known, in rounds to come and in the coverage.
    ((order, again),) = frontier.raise_order([residual], 0.9, 56, terms=terms)
    assert (order, again) == (3, found)
    rows = {row["order"]: row["tried"] for row in frontier.coverage()}
    assert rows[3] == len(set(holding).union(q for q in all_sets(3) if {1, 2} <= {*q}))
    # The same inputs wait until the error has fallen.
    list(frontier.raise_order([residual], 0.81, 56, terms=terms))
    assert frontier.held == {4: 1.0, 6: 1.0}
    list(frontier.raise_order([residual], 0.8, 56, terms=terms))
    assert frontier.held == {4: 0.8, 6: 1.0}


def test_no_more_inputs_are_held_than_the_budget_pays_for():
    cost = DESIGN.screening_cost(2)
    frontier = TermScreening(DESIGN, 3, 2 * cost)
    for max_work, n_held in ((0.1 * cost, 0), (math.inf, 3)):
        raised = frontier.raise_order(
            RESIDUALS[:1], 1.0, 5, max_work, [(3,), (1,), (0, 2), (5,), (6,)]
        )
        assert [order for order, _ in raised] == [3] * (n_held > 0)
        assert len(frontier.held) == n_held
    assert list(frontier.held) == [3, 1, 5]
    assert 0 <= frontier.work_left < 0.6 * cost


def test_an_order_is_kept_where_it_cannot_be_screened_again():
    cost = DESIGN.screening_cost(3)
    for budget, size, n_again in ((1.5 * cost, 5, 1), (2.5 * cost, 5, 0)):
        frontier = TermScreening(DESIGN, 3, budget)
        ((_, found),) = frontier.raise_order(RESIDUALS[:1], 1.0, size)
        assert len(found) == size
        again = [sets for _, sets in frontier.raise_order(RESIDUALS[:1], 0.9, size)]
        assert again == [found] * n_again


def test_no_more_is_kept_than_there_is_room_for(replace_constants):
    column = DESIGN.columns([()]).nbytes
    cost = DESIGN.screening_cost(3)
    for n, n_again in ((4, 0), (6, 1)):
        replace_constants("skmohn.mohn._design.pair_screening", n_bytes_kept=n * column)
        frontier = TermScreening(DESIGN, 3, 1.5 * cost)
        assert len(list(frontier.raise_order(RESIDUALS[:1], 1.0, 5))) == 1
        assert len(list(frontier.raise_order(RESIDUALS[:1], 0.9, 5))) == n_again


def test_where_no_set_may_be_added_none_is_paid_for():
    for budget in (2 * DESIGN.screening_cost(2), math.inf):
        frontier = TermScreening(DESIGN, 3, budget)
        assert not list(frontier.raise_order(RESIDUALS[:1], 1.0, 0, terms=[(4,)]))
        assert frontier.work_left == budget


def test_sets_of_a_screened_order_stay_known():
    frontier = TermScreening(DESIGN, 3, DESIGN.screening_cost(3))
    ((_, found),) = frontier.raise_order(RESIDUALS[:1], 1.0, 4)
    assert found[0] == best(RESIDUALS[0], all_sets(3))[0]
    assert len(found) == 4
    # For another residual a screening is not due, or there is no budget for it.
    for error in (0.9, 0.5):
        ((order, later),) = frontier.raise_order(RESIDUALS[1:2], error, 4)
        assert (order, len(later)) == (3, 4)
        assert later[0] == best(RESIDUALS[1], all_sets(3))[0]


@pytest.mark.parametrize("inputs", [(), (3,), (0, 3, 5)])
def test_sets_that_hold_an_input_or_a_parent_are_counted_once(inputs):
    parents = [(0, 1), (1, 2), (3, 4), (6, 7), (5,)]
    expected = [
        q
        for q in all_sets(3)
        if set(inputs).intersection(q) or any(set(q) >= set(p) for p in parents[:-1])
    ]
    assert count_holding(inputs, parents, 3, 8) == len(expected)
