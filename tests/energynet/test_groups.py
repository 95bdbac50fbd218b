"""Groups of units against the list of their possible states."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import chisquare, entropy

from skmohn.energynet import (
    RBM,
    annealed_importance_sampling,
    exact_log_partition,
    log_partition,
)
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._groups import Groups
from skmohn.energynet._groups import list_states as list_of
from skmohn.energynet._growth import unit_values
from skmohn.energynet._likelihood import independent_bits, parameter_complexity
from skmohn.energynet._rbm import draw_visible, random_stream
from skmohn.energynet._training import Schedule, new_rbm, trained

SIZES = np.array([3, 1, 2])
THERMOMETERS = Groups(SIZES)
MIXED = Groups(SIZES, [True, False, False])
CATEGORIES = Groups(SIZES, [False, False, False])
# Fewer states on the visible side, or on the hidden one.
HIDDEN = [7, 4]


@pytest.fixture(
    params=[THERMOMETERS, MIXED, CATEGORIES], ids=["levels", "both", "cats"]
)
def groups(request):
    return request.param


@pytest.fixture(params=HIDDEN)
def exact(request, list_states, groups):
    return list_states(6, request.param, seed=1, scale=1.5, groups=groups)


def draws(exact, n, seed=0):
    """Independent samples of the exact distribution."""
    p = exact.joint.sum(axis=1)
    rows = np.random.default_rng(seed).choice(len(p), n, p=p / p.sum())
    return exact.V[rows].astype(np.float32)


def test_states_are_the_possible_ones(exact):
    listed = list_of(exact.rbm.groups, 0, 24)
    assert exact.rbm.groups.n_states == 24
    assert exact.V.shape == listed.shape == (4 * 2 * 3, 6)
    assert {tuple(v) for v in listed} == {tuple(v) for v in exact.V}
    assert_array_equal(list_of(exact.rbm.groups, 5, 9), listed[5:9])


def test_partition_function_is_the_sum_over_possible_states(exact):
    assert exact_log_partition(exact.rbm).value == pytest.approx(exact.log_z, abs=1e-5)
    estimate = annealed_importance_sampling(
        exact.rbm, draws(exact, 500), n_temperatures=1000, random_state=0
    )
    assert estimate.value == pytest.approx(exact.log_z, abs=0.02)
    # Twenty columns of eight levels are too many to list.
    large = RBM(np.zeros((30, 140)), np.zeros(30), np.zeros(140), [7] * 20)
    X = np.tile(list_of(Groups([7]), 0, 8), 20)
    found = log_partition(large, X, n_temperatures=3, random_state=0)
    assert found.value == pytest.approx(30 * np.log(2) + 20 * np.log(8), rel=1e-5)


def test_conditionals_and_marginals(exact):
    rbm, p = exact.rbm, exact.joint
    assert_allclose(
        rbm.log_hidden_marginal(exact.H), np.log(p.sum(axis=0)) + exact.log_z, rtol=1e-5
    )
    given = p / p.sum(axis=0)
    assert_allclose(rbm.visible_probabilities(exact.H), given.T @ exact.V, atol=1e-5)
    likelihood = -rbm.free_energy(exact.V) - exact.log_z
    assert_allclose(likelihood, exact.log_likelihood, atol=1e-4)


def test_levels_are_drawn_with_their_probabilities(exact):
    rbm, n = exact.rbm, 20_000
    h = exact.H[5]
    logits = np.tile((h @ rbm.weights).astype(np.float32), (n, 1))
    drawn, stream = np.empty_like(logits), random_stream(0)
    start = stream[0]
    draw_visible(logits, rbm.visible_bias, rbm.groups, stream, drawn)
    given = exact.joint[:, 5] / exact.joint[:, 5].sum()
    counts = [np.sum(np.all(drawn == v, axis=1)) for v in exact.V]
    assert sum(counts) == n
    often = given > 1e-3
    counts = np.array(counts)
    merged = np.append(counts[often], counts[~often].sum() + 1e-9)
    probabilities = np.append(given[often], given[~often].sum() + 1e-9 / n)
    assert (
        chisquare(merged, probabilities / probabilities.sum() * merged.sum()).pvalue
        > 1e-3
    )
    # A number of its own for each column.
    with np.errstate(over="ignore"):
        assert stream[0] == start + kernels._STEP * np.uint64(3 * n)


def test_chains_stay_possible_and_reach_the_model(exact):
    V = exact.rbm.sample(4000, 50, random_state=0)
    p = exact.joint.sum(axis=1)
    counts = np.array([np.sum(np.all(v == V, axis=1)) for v in exact.V])
    assert counts.sum() == 4000
    assert np.abs(counts / 4000 - p).max() < 0.03


def test_independent_columns_have_the_levels_of_the_data(exact):
    X = draws(exact, 400)
    groups = exact.rbm.groups
    rbm = independent_bits(X, groups)
    assert_allclose(rbm.visible_probabilities([[]])[0], X.mean(axis=0), atol=0.01)
    # What a column says in bits is the entropy of its levels.
    states = [X[:, :3], X[:, 3:4], X[:, 4:]]
    bits = sum(
        entropy(np.unique(v, axis=0, return_counts=True)[1], base=2) for v in states
    )
    one = new_rbm(X, 1, 0, groups)
    assert parameter_complexity([one], X) == pytest.approx(
        (bits + 1) / 2 * np.log(400), rel=1e-5
    )


def test_value_of_a_unit_is_what_is_lost_without_it(exact):
    rbm, data = exact.rbm, draws(exact, 300)
    p = exact.joint.sum(axis=1)
    model = np.repeat(exact.V, np.round(p * 200_000).astype(int), axis=0)
    values, activity = unit_values(rbm, data, model.astype(np.float32))

    def log_likelihood(rbm):
        return -rbm.free_energy(data).mean() - exact_log_partition(rbm).value

    kept = np.arange(rbm.n_hidden) != 2
    folded = rbm.visible_bias + activity[2] * rbm.weights[2]
    without = RBM(rbm.weights[kept], rbm.hidden_bias[kept], folded, rbm.groups)
    lost = log_likelihood(rbm) - log_likelihood(without)
    assert values[2] == pytest.approx(lost, abs=2e-3)


def test_training_nearly_reaches_the_entropy_of_the_data(groups):
    level = np.random.default_rng(0).integers(4, size=600)
    X = list_of(groups, 0, 24)[level + 4 * (level > 1) + 8 * np.minimum(level, 2)]
    X = X.astype(np.float32)
    schedule = Schedule(learning_rate=0.1, batch_size=50)
    rbm = trained(schedule, X, new_rbm(X, 8, 0, groups), 3000, 0).rbm
    found = -rbm.free_energy(X).mean() - exact_log_partition(rbm).value
    without = independent_bits(X, groups)
    nothing = -without.free_energy(X).mean() - exact_log_partition(without).value
    _, counts = np.unique(X, axis=0, return_counts=True)
    best = -entropy(counts)
    assert found <= best
    assert best - found < 0.3 * (best - nothing)


def test_gradient_is_that_of_the_likelihood(exact):
    """What training follows, data minus model, by finite differences."""
    rbm, data = exact.rbm, draws(exact, 200).astype(np.float64)
    model = exact.joint.sum(axis=1)

    def means(V, weight):
        hidden = 1 / (1 + np.exp(-(V @ exact.W.T + exact.b)))
        return (weight[:, None] * hidden).T @ V, weight @ V

    even = np.full(len(data), 1 / len(data))
    of_data, of_model = means(data, even), means(exact.V, model)
    step = 1e-3
    for i, j in [(0, 0), (1, 2), (2, 3), (3, 4), (0, 5)]:
        ends = []
        for sign in (1, -1):
            weights, bias = rbm.weights.copy(), rbm.visible_bias.copy()
            weights[i, j] += sign * step
            moved = RBM(weights, rbm.hidden_bias, bias, rbm.groups)
            ends.append(likelihood_of(moved, data))
        slope = (ends[0] - ends[1]) / (2 * step)
        assert of_data[0][i, j] - of_model[0][i, j] == pytest.approx(slope, abs=2e-3)
        ends = []
        for sign in (1, -1):
            bias = rbm.visible_bias.copy()
            bias[j] += sign * step
            moved = RBM(rbm.weights, rbm.hidden_bias, bias, rbm.groups)
            ends.append(likelihood_of(moved, data))
        slope = (ends[0] - ends[1]) / (2 * step)
        assert of_data[1][j] - of_model[1][j] == pytest.approx(slope, abs=2e-3)


def likelihood_of(rbm, data):
    """Mean log-likelihood in double precision, by the definition."""
    W, b, c = (
        array.astype(np.float64)
        for array in (rbm.weights, rbm.hidden_bias, rbm.visible_bias)
    )

    def heights(V):
        return V @ c + np.logaddexp(0, V @ W.T + b).sum(axis=1)

    states = list_of(rbm.groups, 0, rbm.groups.n_states)
    return heights(data).mean() - logsumexp(heights(states))


@settings(max_examples=40, deadline=None)
@given(
    columns=st.lists(
        st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=5
    ),
    scale=st.sampled_from([0.1, 3.0, 50.0]),
    n_steps=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_impossible_states_never_occur(are_possible, columns, scale, n_steps, seed):
    sizes, ordered = zip(*columns, strict=True)
    groups, n = Groups(sizes, list(ordered)), sum(sizes)
    rng = np.random.default_rng(seed)
    rbm = RBM(rng.normal(0, scale, (3, n)), np.zeros(3), rng.normal(size=n), groups)
    V = rbm.sample(50, n_steps, random_state=seed)
    assert are_possible(V, groups).all()
    listed = list_of(groups, 0, groups.n_states)
    assert are_possible(listed, groups).all()
    assert len(np.unique(listed, axis=0)) == groups.n_states
    # What the RBM expects is a mean of possible states.
    mean = rbm.visible_probabilities(rng.random((20, 3)))
    for start, size, is_ordered in zip(groups.starts, sizes, ordered, strict=True):
        part = mean[:, start : start + size]
        if is_ordered:
            assert np.all(np.diff(part, axis=1) <= 1e-6)
        else:
            assert np.all(part.sum(axis=1) <= 1 + 1e-5)


def test_categories_may_be_many():
    """A state of a category is found without a loop over all others."""
    groups = Groups([300], [False])
    rbm = RBM(np.zeros((1, 300)), [0.0], np.linspace(-3, 3, 300), groups)
    mean = rbm.visible_probabilities([[1.0]])[0]
    weight = np.exp(rbm.visible_bias)
    assert_allclose(mean, weight / (1 + weight.sum()), rtol=1e-5)
    V = rbm.sample(20_000, 1, random_state=0)
    assert_allclose(V.mean(axis=0), mean, atol=0.01)


def test_what_is_no_group_is_refused():
    for sizes, message in (
        ([3, 1], "must have 6 visible units"),
        ([3, 0, 3], "sizes must be"),
        ([[3, 3]], "sizes must be"),
        ([1.5, 4.5], "sizes must be"),
    ):
        with pytest.raises(ValueError, match=message):
            RBM(np.zeros((2, 6)), np.zeros(2), np.zeros(6), sizes)
    for is_ordered in ([True], [1, 0, 1], True):
        with pytest.raises(ValueError, match="is_ordered must be a bool for each of 3"):
            Groups(SIZES, is_ordered)
    rbm = RBM(np.zeros((2, 6)), np.zeros(2), np.zeros(6), [1] * 6)
    assert rbm.groups is None
    with pytest.raises(ValueError, match="has no transpose"):
        RBM(np.zeros((2, 6)), np.zeros(2), np.zeros(6), MIXED).transposed()
