"""What is believed of a black box, and what counts of its first values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from skmohn.optimize import BlackBoxOptimizer
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


def test_first_values_of_a_table_count_by_their_order():
    few = search(rows(300), cost, 45)
    assert points(
        search(rows(300), lambda x: float(np.exp(3 * cost(x))), 45)
    ) == points(few)


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
    [(rows(300), {"surrogate"}), (8, {"surrogate", "climb"})],
)
def test_first_evaluations_of_what_will_be_seen_are_searches(space, in_turn):
    result = search(space, cost, 28)
    streams = [record["stream"] for record in result.history]
    assert streams[:8] == ["uniform"] * 8
    assert {*streams[8::2]} | {*streams[9::2]} == in_turn
    assert len({*streams[8::2]}) == len({*streams[9::2]}) == 1


def test_scores_by_rank_are_normal_and_keep_mean_and_spread():
    space = Space(8, None, None)
    states = np.unique(rows(40), axis=0)
    values = np.array([cost(state) for state in states])
    surrogate = Surrogate(space)
    assert surrogate.update(states, values, 0, by_rank=True)
    places = (np.argsort(np.argsort(values)) + 0.5) / len(values)
    scores = norm.ppf(places) * values.std() + values.mean()
    assert_allclose(surrogate.scored(values), scores, rtol=1e-12)
    # What is between two values counts as something between.
    assert scores.min() < surrogate.scored(np.median(values)) < scores.max()
    # With one value more, which counts as it is, as all others do again.
    more = np.append(values, 100.0)
    states = np.concatenate([states, 1 - states[:1]])
    surrogate.update(states, more, 0)
    assert_allclose(surrogate.scored(more), more)
    assert surrogate.mean(states[-1:])[0] > values.max()
