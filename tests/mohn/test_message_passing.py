"""Message passing: the posterior by quadrature, and structures it has to find."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid
from scipy.stats import norm
from support import traced_memory

from skmohn._core._fitting import last_of
from skmohn.datasets import make_ising, make_sparse_walsh
from skmohn.mohn._design.design import DenseDesign, PackedDesign, make_design
from skmohn.mohn._sparse import message_passing as _message_passing
from skmohn.mohn._sparse.message_passing import MixturePrior, infer_structure


def widths(grid):
    """Standard deviation of the component at each magnitude but the spike."""
    return np.diff(grid) / 2


def slab_density(prior, w):
    """Density of the non-zero weights under a prior, times their share."""
    density = np.zeros_like(w)
    for share, center, width in zip(
        prior.mixture[1:], prior.grid[1:], widths(prior.grid), strict=True
    ):
        density += share * 0.5 * norm.pdf(w, center, width)
        density += share * 0.5 * norm.pdf(w, -center, width)
    return density


def posterior_by_quadrature(prior, r, noise):
    # Every point has one column; the spike is a point mass besides the integral.
    w = np.linspace(-8, 8, 10_001)
    joint = slab_density(prior, w) * norm.pdf(r[:, None], w, noise)
    spike = prior.mixture[0] * norm.pdf(r, 0, noise)
    slab = trapezoid(joint, w)
    evidence = spike + slab
    mean = trapezoid(joint * w, w) / evidence
    second = trapezoid(joint * w**2, w) / evidence
    return mean, second - mean**2, slab / evidence


def pseudo_data(n=60, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    weights = np.where(rng.uniform(size=n) < 0.2, rng.choice([-1.5, 2.0], n), 0.0)
    return weights + noise * rng.standard_normal(n)


@pytest.mark.parametrize("noise", [0.1, 0.3, 1.0])
def test_posterior_is_the_integral(noise):
    prior = MixturePrior()
    r = pseudo_data(noise=noise)
    for _ in range(3):  # the first prior, and those learned from the data
        found = prior.posterior(r, noise, np.ones(len(r)))
        assert prior.mixture.sum() == pytest.approx(1)
        expected = posterior_by_quadrature(prior, r, noise)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_shares_follow_expectation_maximization(replace_constants):
    replace_constants(_message_passing, n_em_steps=1)
    prior, noise = MixturePrior(), 0.3
    r = pseudo_data()
    before = prior.mixture.copy()
    prior.posterior(r, noise, np.ones(len(r)))
    spread = np.sqrt(noise**2 + widths(prior.grid) ** 2)
    likelihood = np.column_stack(
        [
            norm.pdf(r, 0, noise),
            0.5 * norm.pdf(r[:, None], prior.grid[1:], spread)
            + 0.5 * norm.pdf(r[:, None], -prior.grid[1:], spread),
        ]
    )
    responsibility = before * likelihood
    responsibility /= responsibility.sum(axis=1, keepdims=True)
    n, k = likelihood.shape
    # One imagined candidate is spread evenly over the components.
    assert_allclose(prior.mixture, (responsibility.sum(axis=0) + 1 / k) / (n + 1))


def test_prior_learns_how_many_weights_there_are():
    rng = np.random.default_rng(0)
    r = 0.1 * rng.standard_normal(2000)
    r[:200] += 1.0
    prior = MixturePrior()
    for _ in range(20):
        mean, _, inclusion = prior.posterior(r, 0.1, np.ones(len(r)))
    assert prior.mixture[0] == pytest.approx(0.9, abs=0.02)
    assert np.all(inclusion[:200] > 0.5)
    assert np.mean(inclusion[200:] > 0.5) < 0.01
    assert_allclose(mean[:200], 1.0, atol=0.4)


@pytest.mark.parametrize("n_weights", [0, 100])
def test_many_candidates_are_weighed_as_a_few(
    n_weights, monkeypatch, replace_constants
):
    rng = np.random.default_rng(0)
    r, counts = 0.3 * rng.standard_normal(3000), rng.integers(1, 4, 3000)
    r[:n_weights] += 1.5
    tabulated, prior = MixturePrior(), MixturePrior()
    for _ in range(5):
        found = tabulated.posterior(r, 0.3, counts)
        with monkeypatch.context() as context:
            replace_constants(_message_passing, patch=context, n_nodes=len(r))
            expected = prior.posterior(r, 0.3, counts)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, atol=1e-4)
        assert_allclose(tabulated.mixture, prior.mixture, atol=1e-5)


def test_pseudo_data_far_beyond_the_noise_are_weighed_one_by_one(monkeypatch):
    n_weighed, weigh = [], MixturePrior._weigh

    def spy(self, sizes, *rest):
        n_weighed.append(len(sizes))
        return weigh(self, sizes, *rest)

    monkeypatch.setattr(MixturePrior, "_weigh", spy)
    r = np.random.default_rng(0).standard_normal(2000)
    for noise in (1.0, 0.01):
        MixturePrior().posterior(r, noise, np.ones(2000))
    assert n_weighed == [_message_passing._MESSAGES.n_nodes, 2000]


def test_sign_is_symmetric():
    r = pseudo_data()
    counts = np.ones(len(r))
    mean, variance, inclusion = MixturePrior().posterior(r, 0.3, counts)
    flipped = MixturePrior().posterior(-r, 0.3, counts)
    assert_array_equal(flipped[0], -mean)
    assert_array_equal(flipped[1], variance)
    assert_array_equal(flipped[2], inclusion)


def test_nothing_to_see():
    mean, _, inclusion = MixturePrior().posterior(np.zeros(10), 1.0, np.ones(10))
    assert np.isfinite(inclusion).all()
    assert_array_equal(mean, 0.0)


def test_counts_are_repeats():
    r = pseudo_data()
    counts = np.random.default_rng(1).integers(1, 4, len(r))
    repeated = np.repeat(r, counts)
    prior, other = MixturePrior(), MixturePrior()
    for _ in range(3):
        found = np.repeat(prior.posterior(r, 0.3, counts), counts, axis=1)
        expected = other.posterior(repeated, 0.3, np.ones(len(repeated)))
        assert_allclose(found, expected, rtol=1e-10)
        assert_allclose(prior.mixture, other.mixture)


# --------------------------------------------------------------------- structures


def assert_leads(found, terms):
    """The true weights come first; what is merely likely after them is little."""
    assert set(found[: len(terms)]) == set(terms)
    assert len(found) <= 1.2 * len(terms)


def infer(design, y, terms=(), **options):
    options = {
        "base": 2,
        "max_order": design.n_features,
        "memory_budget": 1e9,
        "heredity": False,
        **options,
    }
    return last_of(infer_structure(design, y, set(terms), **options))


@pytest.mark.parametrize("seed", range(3))
def test_ising_is_found_where_least_squares_is_impossible(seed):
    problem = make_ising((6, 6), n_samples=320, random_state=seed)
    n_candidates = 36 + 36 * 35 // 2
    assert len(problem.y) < n_candidates / 2
    assert_leads(infer(PackedDesign(problem.X), problem.y), problem.terms)


def test_weighted_samples():
    problem = make_ising((5, 5), n_samples=250, random_state=0)
    weights = np.random.default_rng(0).uniform(0.8, 1.2, 250)
    found = infer(DenseDesign(problem.X, weights), problem.y)
    assert_leads(found, problem.terms)


def test_strongest_come_first():
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (200, 15))
    y = inputs[:, 3] - 5 * inputs[:, 0] * inputs[:, 7] + 3 * inputs[:, 4] + 10
    found = infer(PackedDesign(inputs), y)
    assert found == [(0, 7), (4,), (3,)]


def test_budget_that_is_too_small_gives_nothing():
    problem = make_ising((5, 5), n_samples=250, random_state=0)
    needed = (4 * 250 + 400) * (25 + 300)
    design = PackedDesign(problem.X)
    assert infer(design, problem.y, memory_budget=needed - 1) is None
    assert infer(design, problem.y, memory_budget=needed)


@pytest.mark.slow_cases("None")
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 1.5, 3000)])
def test_memory_is_within_the_budget(weights):
    inputs = np.random.default_rng(0).choice([-1.0, 1.0], (3000, 60))
    budget = (4 * 3000 + 400) * (60 + 60 * 59 // 2)
    design = make_design(inputs, weights)
    y = inputs[:, 0] + inputs[:, 1] * inputs[:, 2]
    with traced_memory() as peak:
        found = infer(design, y, memory_budget=budget)
        most = peak()
    assert set(found) == {(0,), (1, 2)}
    # Beside it there are some columns on their way, of a few megabytes in all.
    assert most < budget + 10e6


@pytest.mark.slow_cases("weights1-False|None-True")
@pytest.mark.parametrize("heredity", [False, True])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 1.5, 60)])
def test_sets_of_equal_inputs_are_weighed_once(heredity, weights, monkeypatch):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (60, 8))
    y = 2.0 * inputs[:, 0] + inputs[:, 1] * inputs[:, 2]
    y += 0.1 * rng.standard_normal(60)
    inputs = inputs[:, [0, 1, 2, 1, 3, 4, 0, 5, 6, 7, 1]]
    design, plain = make_design(inputs, weights), make_design(inputs, weights)
    plain.first_equal = np.arange(11)
    terms = {(0,), (1, 2), (0, 1, 2)}
    n_columns, pass_messages = [], _message_passing.pass_messages

    def spy(columns, *rest):
        n_columns.append(len(columns))
        return pass_messages(columns, *rest)

    monkeypatch.setattr(_message_passing, "pass_messages", spy)
    found = infer(design, y, terms, heredity=heredity)
    assert found == infer(plain, y, terms, heredity=heredity)
    # Of terms that are equal, the first comes first.
    assert found[:5] == [(0,), (6,), (1, 2), (2, 3), (2, 10)]
    merged, apart = n_columns
    assert apart == 11 + 55 + 1
    # 8 inputs, their pairs, and squares of the two that repeat; the higher term. With
    # heredity sets that extend (0,) are apart from those that extend (6,).
    assert merged == 8 + 28 + 2 + 1 + (7 if heredity else 0)


def test_higher_orders_extend_two_known_weights():
    problem = make_sparse_walsh(
        20, {1: 6, 2: 8, 3: 2}, n_samples=300, weight_distribution="pm1", random_state=0
    )
    lower = [term for term in problem.terms if len(term) < 3]
    design = PackedDesign(problem.X)
    found = infer(design, problem.y, lower, heredity=True)
    assert set(found[: len(problem.terms)]) == set(problem.terms)
    assert all(len(term) < 3 for term in infer(design, problem.y, lower, max_order=2))


def test_candidates_above_the_base_orders():
    terms = {(0, 1), (0, 2), (1, 2), (3, 4), (5, 6, 7)}
    found = _message_passing._extensions(terms, 9, 2, 4)
    assert found[0] == (5, 6, 7)
    expected = [
        child
        for child in itertools.combinations(range(9), 3)
        if sum(pair in terms for pair in itertools.combinations(child, 2)) > 1
    ]
    assert found[1:] == expected
    assert _message_passing._extensions(terms, 9, 2, 2) == [(5, 6, 7)]


def test_classes_are_numbered_by_order_and_support():
    present = {(0,), (1,), (0, 1)}
    candidates = [(0,), (2,), (0, 1), (0, 2), (2, 3), (0, 1, 2)]
    lowest = np.array([[-1, 0], [-1, 2], [0, 1], [0, 2], [2, 3]])
    classes = _message_passing._classes(lowest, candidates[5:], present, True)
    kinds = [(1, 0), (1, 0), (2, 2), (2, 1), (2, 0), (3, 1)]
    for (i, one), (j, other) in itertools.combinations(enumerate(kinds), 2):
        assert (classes[i] == classes[j]) == (one == other)
    flat = _message_passing._classes(lowest, candidates[5:], present, False)
    assert flat[:5].tolist() == [0] * 5
    assert flat[5] == 1


@pytest.mark.parametrize("kind", ["packed", "weighted"])
def test_columns_are_centered_and_of_unit_length(kind):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (70, 4))
    inputs[:, 3] = 1.0  # a constant has nothing left when it is centered
    weights = np.ones(70) if kind == "packed" else rng.uniform(0.5, 2, 70)
    design = PackedDesign(inputs) if kind == "packed" else DenseDesign(inputs, weights)
    sets = [(0,), (1, 2), (3,)]
    columns = _message_passing._unit_columns(design, sets).columns
    assert_allclose(columns @ np.sqrt(weights), 0, atol=1e-5)
    assert_allclose(np.linalg.norm(columns, axis=1), [1, 1, 0], atol=1e-6)


def test_packed_columns_are_those_that_are_stored(replace_constants):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (70, 4), p=[0.3, 0.7])
    inputs[:, 3] = 1.0
    design, blocks = PackedDesign(inputs), ([(0,), (1, 2)], [(3,), (0, 1, 2)])
    stored = _message_passing._unit_columns(design, *blocks)
    replace_constants(_message_passing, min_entries_packed=0, n_entries_per_block=70)
    packed = _message_passing._unit_columns(design, *blocks)
    assert type(packed) is not type(stored)
    assert len(packed) == len(stored) == 4
    vector, coef = rng.standard_normal(70), rng.standard_normal(4)
    assert_allclose(packed.project(vector), stored.project(vector), atol=1e-5)
    assert_allclose(packed.combine(coef), stored.combine(coef), atol=1e-5)


def test_columns_of_many_sets_stay_packed(replace_constants):
    rng = np.random.default_rng(0)
    inputs = rng.choice([-1.0, 1.0], (500, 80))
    y = inputs[:, 0] + inputs[:, 1] * inputs[:, 2] + rng.standard_normal(500)
    design = PackedDesign(inputs)
    expected = infer(design, y)
    replace_constants(_message_passing, min_entries_packed=1000)
    with traced_memory() as peak:
        found = infer(design, y)
        most = peak()
    assert found == expected
    assert set(found) == {(0,), (1, 2)}
    # As numbers they would take 4 bytes a sample.
    assert most < 4 * 500 * (80 + 80 * 79 // 2)
