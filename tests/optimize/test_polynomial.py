"""Functions taken apart, cut down and combined, against enumeration."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize._polynomial import (
    combine,
    fields,
    fix_variables,
    make_polynomial,
    split,
)


def graph_of(terms):
    return WalshPolynomial.sort(list(terms), list(terms.values()), 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_fixing_equals_evaluating_there(problems, seed):
    rng = np.random.default_rng(seed)
    graph = graph_of(problems.random_terms(rng, 8, 30))
    values = {1: -1.0, 4: 1.0, 6: 0.25}
    points = problems.all_points(8).astype(float)
    points[:, list(values)] = list(values.values())
    fixed = fix_variables(graph, values)
    assert not set(values) & set(fixed.members.tolist())
    assert len(set(fixed.terms)) == len(fixed.terms)
    assert_allclose(fixed.predict(points), graph.predict(points), atol=1e-12)


def test_what_cancels_when_fixed_is_gone():
    graph = graph_of({(0, 1): 1.0, (0, 2): -1.0, (0,): 2.0})
    assert fix_variables(graph, {1: 1.0, 2: 1.0}).terms == ((0,),)
    assert fix_variables(graph, {0: 0.0}).terms == ()


def test_parts_add_up_and_have_no_variable_in_common(problems):
    terms = {(0, 4): 1.0, (4, 6): 2.0, (1,): -1.0, (2, 3, 7): 0.5, (7,): 1.0}
    parts = split(graph_of(terms), 9)
    found = [variables.tolist() for variables, _ in parts]
    assert sorted(found) == [[0, 4, 6], [1], [2, 3, 7]]
    assert [len(variables) for variables in found] == sorted(map(len, found))
    points = problems.all_points(9)
    total = sum(part.predict(points[:, variables]) for variables, part in parts)
    assert_allclose(total, problems.evaluate(terms, points))


def test_fields_bound_gains(problems):
    rng = np.random.default_rng(0)
    terms = problems.random_terms(rng, 8, 20)
    terms.pop(())
    sums, roots = fields(make_polynomial(graph_of(terms), 8))
    points = problems.all_points(8)
    for i in range(8):
        flipped = points * (1 - 2 * np.eye(8)[i])
        gains = problems.evaluate(terms, flipped) - problems.evaluate(terms, points)
        assert np.abs(gains).max() <= 2 * sums[i] + 1e-12
        assert_allclose(np.sqrt((gains**2).mean()), 2 * roots[i])


@pytest.mark.parametrize("max_order", [2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_combination_is_the_best_choice_of_groups(problems, seed, max_order):
    rng = np.random.default_rng(seed)
    terms = problems.random_terms(rng, 14, 10, max_order)
    terms.pop(())
    one, other = rng.choice(np.array([-1, 1], dtype=np.int8), (2, 14))
    spins, gain = combine(make_polynomial(graph_of(terms), 14), one, other)
    before, after = problems.evaluate(terms, np.stack([one, spins]))
    assert_allclose(after - before, gain, atol=1e-12)
    # Groups by hand: differing variables that share a term.
    groups = [{i} for i in np.flatnonzero(one != other).tolist()]
    for term in terms:
        met = [group for group in groups if group & set(term)]
        groups = [group for group in groups if group not in met]
        groups += [set().union(*met)] if met else []
    best = before
    for chosen in itertools.product([False, True], repeat=len(groups)):
        point = one.copy()
        for group, taken in zip(groups, chosen, strict=True):
            if taken:
                point[list(group)] = other[list(group)]
        best = max(best, problems.evaluate(terms, point[None])[0])
    assert_allclose(after, best, atol=1e-12)


def test_combination_sees_through_symmetry():
    ring = make_polynomial(graph_of({(i, (i + 1) % 8): 1.0 for i in range(8)}), 8)
    one = np.array([1, 1, 1, -1, 1, 1, 1, 1], dtype=np.int8)
    spins, gain = combine(ring, one, -np.ones(8, dtype=np.int8))
    assert gain == 4.0
    assert_array_equal(spins, np.ones(8))
