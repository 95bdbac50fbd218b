"""Designs against dense numpy, and screening against all sets there are."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import traced_memory

from skmohn.mohn._design.design import (
    DenseDesign,
    PackedDesign,
    make_design,
    pack_signs,
)
from skmohn.mohn._design.pair_screening import PAIRS

SETS = [(), (0,), (4,), (0, 1), (1, 2, 3), (0, 2, 3, 4), (0, 1, 2, 3, 4, 5)]
KINDS = ["packed", "skewed", "gp", "weighted", "fractional", "unknown"]


def problem(kind, n_samples=97, n_features=6, seed=0):
    """A design, its inputs and weights."""
    rng = np.random.default_rng([seed, n_samples])
    inputs = rng.choice([-1.0, 1.0], (n_samples, n_features))
    weights = np.ones(n_samples)
    if kind == "skewed":
        inputs[:, ::2] = np.where(rng.uniform(size=inputs[:, ::2].shape) < 0.8, 1, -1)
    if kind in ("packed", "skewed"):
        return PackedDesign(inputs), inputs, weights
    if kind == "weighted":
        weights = rng.integers(0, 4, n_samples) + rng.uniform(size=n_samples)
    elif kind == "fractional":
        inputs = rng.uniform(-1, 1, inputs.shape)
    elif kind == "unknown":
        inputs[rng.uniform(size=inputs.shape) < 0.2] = 0.0
    given = None if kind == "gp" else weights
    return DenseDesign(inputs, given), inputs, weights


def products(inputs, sets):
    return np.stack([inputs[:, list(members)].prod(axis=1) for members in sets])


# -------------------------------------------------------------------------- forms


@pytest.mark.parametrize("n_samples", [1, 8, 63, 64, 65, 511, 512, 513])
def test_a_set_bit_is_negative(n_samples):
    row = np.random.default_rng(0).choice([-1, 1], (1, n_samples))
    words = pack_signs(row)
    assert words.shape == (1, 8 * math.ceil(n_samples / 512))
    number = sum(int(word) << (64 * w) for w, word in enumerate(words[0]))
    assert number == sum(1 << d for d in range(n_samples) if row[0, d] < 0)


def test_fastest_design_that_holds_the_data():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (20, 3))
    assert isinstance(make_design(signs), PackedDesign)
    assert isinstance(make_design(signs, np.ones(20)), DenseDesign)
    unknown = signs.copy()
    unknown[0, 0] = 0.0
    assert isinstance(make_design(unknown), DenseDesign)
    assert isinstance(make_design(0.5 * signs), DenseDesign)


# --------------------------------------------------------------------- arithmetic


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_samples", [1, 63, 64, 65, 97, 128, 511, 513])
def test_design_is_weighted_arithmetic(kind, n_samples):
    design, inputs, weights = problem(kind, n_samples)
    expected = products(inputs, SETS)
    columns = design.columns(SETS)
    assert design.weight_sum == pytest.approx(weights.sum())
    assert_allclose(design.unpack(columns, np.float64), expected, atol=1e-15)
    single = design.unpack(columns, np.float32)
    assert single.dtype == np.float32
    assert_allclose(single, expected, atol=1e-6)
    assert_allclose(
        design.gram(columns[1:3], columns),
        (expected[1:3] * weights) @ expected.T,
        atol=1e-10,
    )
    vector = np.random.default_rng(1).standard_normal(n_samples)
    assert_allclose(
        design.project(columns, vector), expected @ (weights * vector), atol=1e-10
    )
    coef = np.arange(len(SETS)) - 1.5
    assert_allclose(design.combine(columns, coef), coef @ expected, atol=1e-12)


def test_no_sets():
    for kind in KINDS:
        design, _, _ = problem(kind)
        columns = design.columns([])
        assert len(columns) == 0
        assert design.gram(columns, design.columns(SETS)).shape == (0, len(SETS))
        assert design.project(columns, np.ones(97)).shape == (0,)
        assert_array_equal(design.combine(columns, np.empty(0)), np.zeros(97))


@pytest.mark.parametrize("n_samples", [*range(60, 70), 511, 512, 513])
def test_packed_equals_dense(n_samples):
    packed, inputs, _ = problem("packed", n_samples)
    dense = DenseDesign(inputs)
    vector = np.random.default_rng(2).standard_normal(n_samples)
    left, right = packed.columns(SETS), dense.columns(SETS)
    assert_array_equal(packed.unpack(left, np.float64), right)
    assert_array_equal(packed.gram(left, left), dense.gram(right, right))
    assert_allclose(
        packed.project(left, vector), dense.project(right, vector), atol=1e-11
    )


# --------------------------------------------------------------------- screening


def scores_of(design, inputs, weights, residual, sets):
    """Squared correlation of each product with a residual, as a screening ranks them.

    Products are centered, unless the inputs are known to be balanced.
    """
    columns = products(inputs, sets)
    first = columns @ weights
    if isinstance(design, PackedDesign):
        residual = quantised(residual)
        first *= not design.is_balanced
    spread = columns**2 @ weights - first**2 / weights.sum()
    product = columns @ (weights * residual)
    return product**2 / np.maximum(spread, 1e-9 * weights.sum())


def quantised(residual):
    """The residual as the packed design sees it: a sign and seven steps."""
    scale = np.sqrt(np.mean(residual**2))
    return np.sign(residual) * np.minimum(np.rint(np.abs(residual) * 2.5 / scale), 7)


def centered_noise(n_samples, weights, seed):
    residual = np.random.default_rng(seed).standard_normal(n_samples)
    return residual - np.average(residual, weights=weights)


def test_balance_is_that_of_inputs_and_pairs():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (500, 6))
    assert PackedDesign(inputs).is_balanced
    skewed = inputs.copy()
    skewed[:, 3] = np.where(rng.uniform(size=500) < 0.7, 1, -1)
    assert not PackedDesign(skewed).is_balanced
    alike = inputs.copy()
    alike[:, 5] = np.where(rng.uniform(size=500) < 0.3, -1, 1) * inputs[:, 0]
    assert not PackedDesign(alike).is_balanced


@pytest.mark.parametrize(("i", "j"), [(0, 1), (3, 170), (63, 64), (198, 199)])
def test_balance_of_each_pair_counts(i, j):
    inputs = np.random.default_rng(0).choice([-1.0, 1.0], (300, 200))
    assert PackedDesign(inputs).is_balanced
    inputs[:, j] = np.where(np.arange(300) % 3 == 0, -1, 1) * inputs[:, i]
    assert not PackedDesign(inputs).is_balanced


def test_balance_needs_little_memory():
    """Two matrices of all pairs would take 9 megabytes."""
    design = PackedDesign(
        np.random.default_rng(0).choice([-1, 1], (1000, PAIRS.min_wide - 1))
    )
    with traced_memory() as peak:
        assert design.is_balanced
        assert peak() < 3e6
    # To look at more pairs would take longer than it saves.
    design = PackedDesign(
        np.random.default_rng(0).choice([-1, 1], (1000, PAIRS.min_wide))
    )
    assert not design.is_balanced


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_screening_finds_the_best_of_all_sets(kind, order):
    for n_samples in (70, 130):
        design, inputs, weights = problem(kind, n_samples, n_features=9)
        residual = centered_noise(n_samples, weights, order)
        sets = list(itertools.combinations(range(9), order))
        scores = scores_of(design, inputs, weights, residual, sets)
        for size in (1, 8, len(sets)):
            found = design.screen(residual, order, size)
            assert len(set(found)) == min(size, len(sets))
            assert set(found) <= set(sets)
            known = dict(zip(sets, scores, strict=True))
            assert_allclose(
                [known[members] for members in found],
                np.sort(scores)[::-1][: len(found)],
                rtol=1e-9,
            )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_screening_finds_a_planted_product(kind, order):
    design, inputs, weights = problem(kind, 500, n_features=10)
    planted = tuple(range(1, 1 + order))
    target = products(inputs, [planted])[0]
    residual = target + 0.5 * centered_noise(500, weights, 0) * target.std()
    residual -= np.average(residual, weights=weights)
    assert design.screen(residual, order, 3)[0] == planted


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_left_to_explain_is_screened_without_a_warning(kind):
    design, *_ = problem(kind, 130, n_features=9)
    found = design.screen(np.zeros(130), 2, 3)
    assert len(found) <= 3


@pytest.mark.parametrize("kind", KINDS)
def test_children_of_parents(kind):
    design, inputs, weights = problem(kind, 130, n_features=9)
    parents = [(0,), (2, 3), (2, 4), (1, 2, 3), (5, 6, 7, 8)]
    residual = centered_noise(130, weights, 4)
    children = sorted(
        {
            tuple(sorted((*parent, i)))
            for parent in parents
            for i in range(9)
            if i not in parent
        }
    )
    scores = scores_of(design, inputs, weights, residual, children)
    found = design.screen_children(residual, parents, design.columns(parents), 10)
    assert len(set(found)) == len(found) >= 10
    assert set(found) <= set(children)
    known = dict(zip(children, scores, strict=True))
    # Ten are asked for; what comes after them are siblings met less often.
    assert_allclose(
        [known[members] for members in found[:10]],
        np.sort(scores)[::-1][:10],
        rtol=1e-9,
    )


def test_quantised_scores_are_close_to_the_exact_ones():
    design, inputs, weights = problem("packed", 2000, n_features=12)
    residual = centered_noise(2000, weights, 5)
    sets = list(itertools.combinations(range(12), 3))
    exact = products(inputs, sets) @ residual
    seen = products(inputs, sets) @ quantised(residual)
    assert np.corrcoef(exact, seen)[0, 1] > 0.99
    assert design.screen(residual, 3, 5)


@pytest.mark.parametrize("kind", ["packed", "gp"])
def test_cost_grows_with_the_number_of_sets(kind):
    design, _, _ = problem(kind, 500, n_features=30)
    costs = [design.screening_cost(order) for order in range(1, 8)]
    assert costs == sorted(costs)
    assert costs[2] >= math.comb(30, 3) * design.score_cost
