"""Variance of all weights: sums over pairs of rows equal sums over all inputs."""

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmohn._core._walsh import walsh_transform
from skmohn.mohn._gp import sobol
from skmohn.mohn._gp.covariance_function import Prior
from skmohn.mohn._gp.exact import ExactPosterior
from skmohn.mohn._gp.hypercube import WalshPosterior
from skmohn.mohn._gp.marginal_likelihood import join_equal_rows
from skmohn.mohn._gp.model import fit_gp
from skmohn.mohn._gp.nystroem import NystroemPosterior
from skmohn.mohn._gp.pairs import Member, PairVariances
from skmohn.mohn._gp.sobol import CubeVariance, PairVariance
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import Categorical, EncodedRows, sizes_of
from skmohn.mohn._table.variables import (
    Variable,
    make_categorical,
    make_input,
    make_levels,
)


def by_definition(values):
    """Variance, first-order and total variances of values on a grid of all inputs."""
    axes = range(values.ndim)
    first = [values.mean(axis=tuple(a for a in axes if a != i)).var() for i in axes]
    total = [values.var(axis=i).mean() for i in axes]
    return values.var(), first, total


def grid(ends, alphabets):
    """All combinations of two values of each input and all categories."""
    places = [(-end, end) for end in ends] + [range(n) for n, *_ in alphabets]
    rows = np.array(list(itertools.product(*places)))
    return EncodedRows(rows[:, : len(ends)], rows[:, len(ends) :].astype(int))


def draw(n_rows, n_inputs, alphabets, n_real, rng):
    """Rows of signs, then of fractions, with unknown values, and categories."""
    inputs = rng.choice([-1.0, 1.0], (n_rows, n_inputs))
    # The ends of a range are among its values.
    inputs[5:, :n_real] = rng.uniform(-1.0, 1.0, (n_rows - 5, n_real))
    inputs[rng.random(inputs.shape) < 0.1] = 0.0
    categories = [rng.integers(0, n + 1, n_rows) for n, *_ in alphabets]
    categories = np.array(categories, dtype=int).reshape(len(alphabets), n_rows)
    return EncodedRows(inputs, categories.T)


def make_covariance(n_inputs, alphabets, rng):
    prior = Prior(
        rng.gamma(1.0, 0.5, n_inputs), rng.gamma(1.0, 0.5, sum(sizes_of(alphabets))),
        1.3, 0.7, 0.1,
    )  # fmt: skip
    terms = ((0,), (1, 2), (0, 1, 3))
    return Covariance(prior, alphabets, terms, (0.4, 1.5, 0.8))


def all_pairs(n_inputs, alphabets):
    """A pair of an input with each unordered categorical, and all pairs of these."""
    members = [Member(k, a) for k, a in enumerate(alphabets) if not a.is_ordered]
    pairs = [(Member((k + 1) % n_inputs), m) for k, m in enumerate(members)]
    pairs += itertools.combinations(members, 2)
    return tuple(PairVariances(both, 0.4 + k) for k, both in enumerate(pairs))


@pytest.mark.parametrize(
    "alphabets", [(), (Categorical(3),), (Categorical(3), Categorical(5))]
)
@pytest.mark.parametrize("n_real", [0, 2])
def test_pair_sums_equal_enumeration(alphabets, n_real):
    rng = np.random.default_rng(0)
    rows = draw(30, 5, alphabets, n_real, rng)
    covariance = make_covariance(5, alphabets, rng)
    covariance = replace(covariance, pairs=all_pairs(5, alphabets))
    alpha = rng.standard_normal(30)
    # A range has the variance 1/3, and two values at the root of it give the same mean
    # of every polynomial up to the second degree.
    spread = np.where(np.arange(5) < n_real, 1 / 3, 1.0)
    everywhere = grid(np.sqrt(spread), alphabets)
    values = covariance.between(everywhere, rows) @ alpha
    variance, first, total = by_definition(
        values.reshape([2] * 5 + sizes_of(alphabets))
    )
    variables = [make_input(i, size) for i, size in enumerate(spread)]
    variables += [make_categorical(k, n) for k, (n, *_) in enumerate(alphabets)]
    found = PairVariance(covariance, rows, alpha, variables)
    assert found.variance() == pytest.approx(variance)
    assert_allclose(found.first_order(), first)
    assert_allclose(found.total(), total)


def by_weighted_definition(values, weights):
    """As `by_definition`, for points of each axis that are not equally probable."""
    axes = range(values.ndim)

    def mean(values, over):
        for axis in sorted(over, reverse=True):
            values = np.tensordot(values, weights[axis], (axis, 0))
        return values

    def variance(values, over, weights):
        return mean(values**2, over) - mean(values, over) ** 2

    whole = variance(values, axes, weights)
    first, total = [], []
    for i in axes:
        alone = mean(values, set(axes) - {i})
        first.append(alone**2 @ weights[i] - (alone @ weights[i]) ** 2)
        spread = variance(values, {i}, weights)
        for axis in reversed([a for a in axes if a != i]):
            spread = np.tensordot(spread, weights[axis], (axis - (axis > i), 0))
        total.append(float(spread))
    return float(whole), first, total


def test_levels_vary_with_their_input():
    # Inputs 1 and 2 have levels (categoricals 0 and 2), input 0 has none, nor has
    # categorical 1.
    rng = np.random.default_rng(0)
    alphabets = (Categorical(4, True), Categorical(3), Categorical(2, True))
    thresholds = [np.array([-0.8, 0.1, 0.5]), np.array([-0.3])]
    inputs = rng.uniform(-1, 1, (40, 4))
    inputs[:, 3] = rng.choice([-1.0, 1.0], 40)
    inputs[:3, 1] = -1.0, 0.0, 1.0
    categories = rng.integers(0, np.array(sizes_of(alphabets)) + 1, (40, 3))
    rows, alpha = EncodedRows(inputs, categories), rng.standard_normal(40)
    covariance = make_covariance(4, alphabets, rng)
    variables = [
        make_input(0, 1 / 3),
        make_levels(1, 0, thresholds[0]),
        make_levels(2, 2, thresholds[1]),
        make_input(3),
        make_categorical(1, 3),
    ]
    # Two points of Gauss and Legendre in each level: exact for polynomials of degree 3.
    points, weights = [[-(3**-0.5), 3**-0.5]], [np.full(2, 0.5)]
    for inner in thresholds:
        edges = np.array([-1.0, *inner, 1.0])
        middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        own = [
            (m + side * h * 3**-0.5, k)
            for k, (m, h) in enumerate(zip(middle, half, strict=True))
            for side in (-1, 1)
        ]
        points.append(own)
        weights.append(np.repeat(half / 2, 2))
    points += [[-1.0, 1.0], [0, 1, 2]]
    weights += [np.full(2, 0.5), np.full(3, 1 / 3)]
    table = list(itertools.product(*points))
    everywhere = EncodedRows(
        np.array([[a, b[0], c[0], d] for a, b, c, d, _ in table]),
        np.array([[b[1], e, c[1]] for _, b, c, _, e in table]),
    )
    values = covariance.between(everywhere, rows) @ alpha
    values = values.reshape(list(map(len, points)))
    variance, first, total = by_weighted_definition(values, weights)
    found = PairVariance(covariance, rows, alpha, variables)
    assert found.variance() == pytest.approx(variance)
    assert_allclose(found.first_order(), first)
    assert_allclose(found.total(), total)


def test_pair_sums_over_several_blocks(replace_constants):
    rng = np.random.default_rng(0)
    alphabets = (Categorical(3),)
    rows, covariance = (
        draw(30, 5, alphabets, 1, rng),
        make_covariance(5, alphabets, rng),
    )
    whole = PairVariance(covariance, rows, rng.standard_normal(30))
    variance, total = whole.variance(), whole.total()
    replace_constants("skmohn.mohn._table.rows", n_rows=7)
    assert whole.variance() == pytest.approx(variance)
    assert_allclose(whole.total(), total)


def test_each_block_of_pair_sums_is_reported(replace_constants, monkeypatch):
    rng, reports = np.random.default_rng(0), []
    whole = PairVariance(
        make_covariance(5, (), rng), draw(30, 5, (), 1, rng), rng.standard_normal(30)
    )
    replace_constants("skmohn.mohn._table.rows", n_pairs=210, multiple=1)
    monkeypatch.setattr(sobol, "tick", lambda: reports.append(True))
    whole.variance()
    # Of seven rows each.
    assert len(reports) == 5


def test_rates_so_large_that_rows_share_nothing():
    rng = np.random.default_rng(0)
    covariance = Covariance(Prior(np.full(4, 40.0), np.empty(0), 1.0, 1e-8, 0.1))
    rows = grid(np.ones(4), ())
    alpha = rng.standard_normal(16)
    values = (covariance.between(rows, rows) @ alpha).reshape([2] * 4)
    variance, first, total = by_definition(values)
    found = PairVariance(covariance, rows, alpha)
    assert found.variance() == pytest.approx(variance)
    assert_allclose(found.first_order(), first, atol=1e-12)
    assert_allclose(found.total(), total)


def test_rates_are_read_as_often_for_many_variables_as_for_few(monkeypatch):
    # Each reading takes the time of all rates: per variable that is quadratic.
    rng, read, tau = np.random.default_rng(0), [], Prior.tau.fget
    monkeypatch.setattr(Prior, "tau", property(lambda p: read.append(1) or tau(p)))
    counts = []
    for n_inputs in (3, 40):
        rows = EncodedRows(
            rng.choice([-1.0, 1.0], (9, n_inputs)), np.empty((9, 0), int)
        )
        prior = Prior(np.full(n_inputs, 0.1), np.empty(0), 1.0, 0.5, 0.1)
        read.clear()
        PairVariance(Covariance(prior), rows, rng.standard_normal(9)).variance()
        counts.append(len(read))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("kind", [ExactPosterior, NystroemPosterior, WalshPosterior])
def test_every_posterior_knows_its_variance(kind):
    rng = np.random.default_rng(1)
    inputs = rng.choice([-1.0, 1.0], (40, 6))
    rows = EncodedRows(inputs, np.empty((40, 0), dtype=int))
    sample = join_equal_rows(rows, inputs[:, 0] * inputs[:, 1] + inputs[:, 2], None)
    given = [25] if kind is NystroemPosterior else []
    posterior = kind.condition(make_covariance(6, (), rng), sample, *given)
    values = posterior.latent_mean(grid(np.ones(6), ())).reshape([2] * 6)
    variance, first, total = by_definition(values)
    found = posterior.mean_variance()
    assert found.variance() == pytest.approx(variance)
    assert_allclose(found.first_order(), first, atol=1e-10)
    assert_allclose(found.total(), total, atol=1e-10)


def test_variances_are_those_of_the_standardized_function():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (60, 5))
    y = inputs[:, 0] + inputs[:, 1] * inputs[:, 2] + 0.1 * rng.standard_normal(60)
    model = fit_gp(EncodedRows(inputs, np.empty((60, 0), dtype=int)), 7.0 + 10.0 * y)
    values = model.predictive_mean(grid(np.ones(5), ()), clip=False).reshape([2] * 5)
    variance, first, total = by_definition(values / model.y_std)
    assert model.function_variance() == pytest.approx(variance)
    found = model.variance_parts()
    assert_allclose(found[0], first, rtol=1e-6, atol=1e-6 * variance)
    assert_allclose(found[1], total, rtol=1e-6, atol=1e-6 * variance)


def skewed_variables(rng):
    """Variables of no mean 0, with the values that they have: three inputs and a rest.

    Inputs 0 and 1 are -1 and +1, input 2 has levels (categorical 1), input 3 two other
    values, and categorical 0 stands alone.
    """
    values = [np.array([-0.9, -0.4, 0.3, 0.5, 1.0]), np.array([-0.6, 0.8])]
    level = np.array([0, 0, 1, 1, 1])
    chance = rng.dirichlet(np.ones(5))
    share = np.bincount(level, chance)
    moments = [np.bincount(level, chance * values[0] ** k) / share for k in (1, 2)]
    flags, own = [0.85, 0.3], rng.dirichlet(np.ones(3))
    variables = [
        *(
            Variable(i, None, np.ones(1), np.array([2 * p - 1]), np.ones(1))
            for i, p in enumerate(flags)
        ),
        Variable(2, 1, share, *moments),
        Variable(
            3,
            None,
            np.ones(1),
            np.array([0.25 * -0.6 + 0.75 * 0.8]),
            np.array([0.25 * 0.36 + 0.75 * 0.64]),
        ),
        Variable(None, 0, own, np.zeros(3), np.zeros(3)),
    ]
    points = [[-1.0, 1.0]] * 2 + [list(zip(values[0], level, strict=True)), values[1]]
    points.append([0, 1, 2])
    weights = [np.array([1 - p, p]) for p in flags] + [chance, np.array([0.25, 0.75])]
    table = list(itertools.product(*points))
    everywhere = EncodedRows(
        np.array([[a, b, c[0], d] for a, b, c, d, _ in table], dtype=float),
        np.array([[e, c[1]] for _, _, c, _, e in table]),
    )
    return variables, everywhere, [*weights, own]


@pytest.mark.parametrize("unknown", [0.0, 0.1])
def test_pair_sums_over_skewed_variables(unknown):
    rng = np.random.default_rng(3)
    alphabets = (Categorical(3), Categorical(2, True))
    variables, everywhere, weights = skewed_variables(rng)
    inputs = rng.choice([-1.0, 1.0], (30, 4))
    inputs[:, 2:] = rng.uniform(-1, 1, (30, 2))
    inputs[rng.random(inputs.shape) < unknown] = 0.0
    rows = EncodedRows(inputs, rng.integers(0, [4, 3], (30, 2)))
    covariance, alpha = make_covariance(4, alphabets, rng), rng.standard_normal(30)
    levels_and_categories = [PairVariances((Member(2), Member(0, Categorical(3))), 0.9)]
    covariance = replace(
        covariance,
        terms=((0,), (1, 2), (0, 1, 3), (0, 3)),
        variances=(0.4, 1.5, 0.8, 0.6),
        pairs=(*all_pairs(4, alphabets), *levels_and_categories),
    )
    between = covariance.between(everywhere, rows)
    shape = list(map(len, weights))
    expected = by_weighted_definition((between @ alpha).reshape(shape), weights)
    found = PairVariance(covariance, rows, alpha, variables)
    assert found.variance() == pytest.approx(expected[0])
    assert_allclose(found.first_order(), expected[1])
    assert_allclose(found.total(), expected[2])
    # What a move of one variable does is a sum over rows with these weights.
    moves = [
        (0, (-1.0, 0), (1.0, 0)),
        (2, (-0.4, 0), (0.5, 1)),
        (4, (0.0, 0), (0.0, 2)),
    ]
    cross, prior = found.contrasts(moves)
    joint = functools.reduce(np.multiply.outer, weights).reshape(-1)
    for k, (number, *ends) in enumerate(moves):
        sums = np.zeros(len(everywhere))
        for sign, (x, category) in zip((-1, 1), ends, strict=True):
            variable = variables[number]
            at = np.ones(len(everywhere), dtype=bool)
            if variable.input is not None:
                at &= everywhere.inputs[:, variable.input] == x
            if variable.categorical is not None:
                at &= everywhere.categories[:, variable.categorical] == category
            sums += sign * joint * at / joint[at].sum()
        assert_allclose(cross[:, k], sums @ between, atol=1e-12)
        own = sums @ covariance.between(everywhere, everywhere) @ sums
        assert prior[k] == pytest.approx(own)


def test_cube_over_skewed_inputs():
    rng = np.random.default_rng(0)
    weights, chances = rng.standard_normal(16), [0.9, 0.2, 0.5, 0.4]
    variables = [
        Variable(i, None, np.ones(1), np.array([2 * p - 1]), np.ones(1))
        for i, p in enumerate(chances)
    ]
    values = walsh_transform(weights).reshape([2] * 4).transpose()
    # The first of two values is +1.
    sides = [np.array([p, 1 - p]) for p in chances]
    variance, first, total = by_weighted_definition(values, sides)
    found = CubeVariance(weights, variables)
    assert found.variance() == pytest.approx(variance)
    assert_allclose(found.first_order(), first)
    assert_allclose(found.total(), total)


@pytest.mark.parametrize("kind", [ExactPosterior, NystroemPosterior, WalshPosterior])
def test_every_posterior_knows_how_far_a_sum_may_be_off(kind):
    rng = np.random.default_rng(1)
    inputs = np.array(list(itertools.product([-1.0, 1.0], repeat=5)))
    rows = EncodedRows(inputs, np.empty((32, 0), dtype=int))
    y = inputs[:, 0] * inputs[:, 1] + inputs[:, 2]
    given = [32] if kind is NystroemPosterior else []
    covariance = make_covariance(5, (), rng)
    posterior = kind.condition(covariance, join_equal_rows(rows, y, None), *given)
    cross = covariance.between(posterior.dual_coefficients()[0], rows)
    spread = posterior.spread(cross, covariance.own(rows))
    assert_allclose(spread, posterior.latent_variance(rows), rtol=1e-4)
