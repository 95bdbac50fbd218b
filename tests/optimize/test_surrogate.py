"""What is believed of a black box, and what counts of its first values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from skmohn.optimize import BlackBoxOptimizer, minimize_black_box
from skmohn.optimize._portfolio import Portfolio
from skmohn.optimize._space import Space
from skmohn.optimize._surrogate import Surrogate

WEIGHTS = np.random.default_rng(0).normal(size=8)


def cost(point):
    return float(WEIGHTS @ point + 2.0 * point[1] * point[4])


def search(space, f, n_evaluations):
    return BlackBoxOptimizer(space, noise=0, random_state=0).run(f, n_evaluations)


def rows(n_rows):
    return np.random.default_rng(1).integers(0, 2, (n_rows, 8))


def points(result):
    return [record["point"].tolist() for record in result.history]


@pytest.mark.slow
def test_first_values_of_a_table_count_by_their_order():
    few = search(rows(300), cost, 45)
    assert points(
        search(rows(300), lambda x: float(np.exp(3 * cost(x))), 45)
    ) == points(few)


def test_points_without_a_value_count_as_the_worst():
    states = rows(20)
    values = np.array([cost(state) for state in states])
    means = []
    for missing in (np.nan, np.max(values[4:])):
        surrogate = Surrogate(Space(8))
        values[:4] = missing
        surrogate.update(states, values, 0)
        means.append(surrogate.mean(rows(30)))
    assert_allclose(means[0], means[1])


def test_where_values_are_missing_few_points_are_sought():
    """Half of all points, which one variable of twelve excludes, have no value."""
    slopes = np.random.default_rng(2).normal(size=12)

    def f(point):
        return np.nan if point[3] else float(slopes @ point)

    sought = [
        np.isnan(record["value"])
        for seed in range(5)
        for record in minimize_black_box(f, 12, 40, noise=0, random_state=seed).history
        if record["source"] == "surrogate"
    ]
    assert len(sought) > 20
    assert np.mean(sought) < 0.2


@pytest.mark.parametrize(("budget", "n_first"), [(7, 4), (12, 6), (30, 8)])
def test_half_of_a_small_budget_is_searched_with(budget, n_first):
    result = minimize_black_box(cost, 8, budget, noise=0, random_state=0)
    sources = [record["source"] for record in result.history]
    assert sources[: n_first + 1].count("uniform") == n_first


def test_values_of_categories_count_as_they_are():
    space = {name: list("abcdefgh") for name in "pqr"}

    def f(point):
        return sum(ord(letter) % 5 for letter in point.values()) + (point["p"] == "c")

    some = [search(space, g, 30).history for g in (f, lambda p: float(np.exp(f(p))))]
    first, second = ([record["point"] for record in history] for history in some)
    assert first[:8] == second[:8]
    assert first != second


@pytest.mark.parametrize(
    ("space", "in_turn"),
    [(rows(300), {"surrogate"}), (8, {"surrogate", "local_search"})],
)
def test_first_evaluations_of_what_will_be_seen_are_searches(space, in_turn):
    result = search(space, cost, 28)
    sources = [record["source"] for record in result.history]
    assert sources[:8] == ["uniform"] * 8
    assert {*sources[8::2]} | {*sources[9::2]} == in_turn
    assert len({*sources[8::2]}) == len({*sources[9::2]}) == 1


def test_scores_by_rank_are_normal_and_keep_mean_and_spread():
    space = Space(8, None, None)
    states = np.unique(rows(40), axis=0)
    values = np.array([cost(state) for state in states])
    surrogate = Surrogate(space)
    assert surrogate.update(states, values, 0, by_rank=True)
    ranks = (np.argsort(np.argsort(values)) + 0.5) / len(values)
    scores = norm.ppf(ranks) * values.std() + values.mean()
    assert_allclose(surrogate.scored(values), scores, rtol=1e-12)
    # What is between two values counts as something between.
    assert scores.min() < surrogate.scored(np.median(values)) < scores.max()
    # With one value more, which counts as it is, as all others do again.
    more = np.append(values, 100.0)
    states = np.concatenate([states, 1 - states[:1]])
    surrogate.update(states, more, 0)
    assert_allclose(surrogate.scored(more), more)
    assert surrogate.mean(states[-1:])[0] > values.max()


GAIN, BURDEN = np.random.default_rng(3).integers(10, 100, (2, 16))
LIMIT = BURDEN.sum() // 2


def packed(point):
    """A knapsack: what is too heavy costs far more than any item is worth."""
    return float(99 * max(0, BURDEN @ point - LIMIT) - GAIN @ point)


ALL = (np.arange(2**16)[:, None] >> np.arange(16)) & 1
PACKED = np.array([packed(point) for point in ALL])


def test_penalties_do_not_drown_what_is_better():
    drawn = np.random.default_rng(0).choice(2**16, 200, replace=False)
    # The best hundredth, of which few are known.
    best = np.setdiff1d(np.argsort(PACKED)[: 2**16 // 100], drawn)
    found = {}
    for is_tailed in (True, False):
        surrogate = Surrogate(Space(16, None, None))
        surrogate.update(ALL[drawn], PACKED[drawn], 0, is_tailed=is_tailed)
        others = np.random.default_rng(1).choice(2**16, 2000)
        mean = surrogate.mean(ALL[np.concatenate([best, others])])
        found[is_tailed] = np.mean(mean[: len(best), None] < mean[len(best) :])
    assert found[True] > 0.8
    assert found[True] > found[False] + 0.1


@pytest.mark.parametrize(
    ("f", "is_tailed"),
    [
        (packed, True),
        (lambda point: -packed(point), False),
        (lambda point: float(GAIN @ point), False),
        # Nothing but penalties: no value is better than most.
        (lambda point: float(point[:3].all()), False),
    ],
)
def test_penalties_are_searched_and_sums_are_learned(f, is_tailed):
    portfolio = Portfolio(Space(16, None, None), 0.0, 0)
    drawn = ALL[np.random.default_rng(2).choice(2**16, 60, replace=False)]
    values = np.array([f(point) for point in drawn])
    portfolio.tell(drawn, values, np.ones(60, dtype=bool), ["uniform"] * 60)
    assert portfolio._max_learning(1000) == (0.2 if is_tailed else 0.8)
    portfolio.ask(1, 1000)
    counted = portfolio._surrogate.scored(values)
    assert np.any(counted < values) == is_tailed
    assert np.array_equal(np.argsort(values)[:12], np.argsort(counted)[:12])
