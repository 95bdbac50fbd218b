"""The infinite RBM against explicit sums over orders."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from support import all_states

from skmohn.energynet._infinite_rbm import (
    InfiniteGrowthOptions,
    InfiniteRBM,
    InfiniteTraining,
)
from skmohn.energynet._rbm import random_stream
from skmohn.energynet._training import Schedule


def training_of(**options):
    return InfiniteTraining(InfiniteGrowthOptions(**options), Schedule())


def infinite_rbm(n_visible=5, n_hidden=4, seed=0, beta=1.01):
    rng = np.random.default_rng(seed)
    return InfiniteRBM(
        rng.normal(size=(n_hidden, n_visible)).astype(np.float32),
        rng.normal(size=n_hidden).astype(np.float32),
        rng.normal(size=n_visible).astype(np.float32),
        beta,
    )


def explicit(infinite, V, n_orders):
    """exp(-F(v, z)) for z = 1 to n_orders by the definition of F, unborn units too."""
    n = infinite.n_hidden
    W = np.zeros((n_orders, V.shape[1]))
    b = np.zeros(n_orders)
    W[:n], b[:n] = infinite.weights, infinite.hidden_bias
    gains = np.logaddexp(0, V @ W.T + b) - infinite.beta * np.logaddexp(0, b)
    start = V.astype(float) @ infinite.visible_bias.astype(float)
    return np.exp(start[:, None] + np.cumsum(gains, axis=1))


@given(st.integers(0, 1000), st.integers(0, 6), st.floats(1.005, 3.0))
def test_order_probabilities_with_the_whole_tail(seed, n_hidden, beta):
    infinite, V = infinite_rbm(5, n_hidden, seed, beta), all_states(5)
    # 2^(1 - beta) to this power is below 1e-15, whatever beta.
    N = explicit(infinite, V, n_hidden + 10_000)
    total = N.sum(axis=1)
    p = infinite.order_probabilities(V)
    assert_allclose(p[:, :-1], N[:, :n_hidden] / total[:, None], rtol=1e-12)
    assert_allclose(p[:, -1], N[:, n_hidden:].sum(axis=1) / total, rtol=1e-12)
    assert_allclose(infinite.free_energy(V), -np.log(total), rtol=1e-12, atol=1e-12)


def test_tail_is_the_sum_of_the_geometric_series():
    r = 2.0 ** (1 - 1.01)
    exact = np.sum(r ** np.arange(1, 20_000))
    assert np.exp(infinite_rbm().log_tail) == pytest.approx(exact, rel=1e-12)


def test_gradient_is_the_slope_of_the_free_energy():
    infinite = infinite_rbm()
    V = all_states(5)[::3].copy()
    _, gradient, _ = infinite.visit(V, 1 / len(V), random_stream(0))
    names = "weights", "hidden_bias", "visible_bias"
    for name, exact in zip(names, gradient, strict=True):
        part = getattr(infinite, name).astype(np.float64)
        setattr(infinite, name, part)
        for index in np.ndindex(part.shape):
            old, values = part[index], []
            for h in (1e-5, -1e-5):
                part[index] = old + h
                values.append(-explicit_free_energy(infinite, V).mean())
            part[index] = old
            slope = (values[0] - values[1]) / 2e-5
            assert exact[index] == pytest.approx(slope, rel=1e-3, abs=2e-6)


def explicit_free_energy(infinite, V):
    N = explicit(infinite, V, infinite.n_hidden)
    return -np.log(N.sum(axis=1) + N[:, -1] * np.exp(infinite.log_tail))


def test_gradient_of_an_unborn_unit():
    infinite, V = infinite_rbm(), all_states(5)
    grown = infinite_rbm()
    grown.add_unit()
    assert_allclose(grown.free_energy(V), infinite.free_energy(V), rtol=1e-12)
    _, gradient, _ = grown.visit(V, 1 / 32, random_stream(0))
    tail = infinite.order_probabilities(V)[:, -1]
    assert_allclose(gradient[0][-1], (tail / 2) @ V / 32, rtol=1e-5)
    assert_allclose(gradient[1][-1], tail.mean() * (0.5 - 1.01 * 0.5), rtol=1e-4)


def test_draws_of_orders_and_units_have_their_probabilities():
    infinite = infinite_rbm(seed=11, beta=1.5)
    v = all_states(5)[13:14]
    n = 60_000
    hidden, _, n_past = infinite.visit(np.tile(v, (n, 1)), 1.0, random_stream(0))
    p = infinite.order_probabilities(v)[0]
    assert n_past / n == pytest.approx(p[-1], abs=0.01)
    reach = p[::-1].cumsum()[::-1][:-1]
    active = 1 / (1 + np.exp(-(v @ infinite.weights.T + infinite.hidden_bias)[0]))
    assert_allclose(hidden.mean(axis=0), reach * active, atol=0.01)
    # Units of one sample are drawn under one order: the last one only with the first.
    pair = (hidden[:, 0] * hidden[:, -1]).mean()
    assert pair == pytest.approx(active[0] * active[-1] * reach[-1], abs=0.01)


def test_converted_rbm_is_a_copy():
    infinite = infinite_rbm()
    rbm = infinite.converted()
    assert_array_equal(rbm.weights, infinite.weights)
    infinite.weights += 1
    assert (rbm.weights != infinite.weights).all()


# ------------------------------------------------------------------------ training


def chain_means(training, v, n_steps=4000):
    """Mean hidden units of the chains that steps without learning leave."""
    run = training.begin(v, 0)
    run.rbm = infinite_rbm(beta=1.5)
    total = np.zeros(4)
    for _ in range(n_steps):
        training._step(run, v)
        total += run.chains.mean(axis=0)
    return total / n_steps


def test_persistent_chains_are_draws_of_the_model_not_of_the_data():
    v = np.repeat(all_states(5)[13:14], 10, axis=0)
    # Four units are all there may be, and a rate that changes nothing.
    training = training_of(beta=1.5, persistent=True, learning_rate=1e-12, max_units=4)
    infinite, V = infinite_rbm(beta=1.5), all_states(5)
    p_v = np.exp(-infinite.free_energy(V))
    reach = infinite.order_probabilities(V)[:, ::-1].cumsum(axis=1)[:, :0:-1]
    active = 1 / (1 + np.exp(-(V @ infinite.weights.T + infinite.hidden_bias)))
    exact = (p_v / p_v.sum()) @ (reach * active)
    assert_allclose(chain_means(training, v), exact, atol=0.01)


def test_chains_of_contrastive_divergence_begin_at_the_data():
    training, X = training_of(batch_size=7, learning_rate=0.1), correlated(40)
    run = training.begin(X, 0)
    training.advance(run, X)
    assert run.chains is None


def test_chains_outlive_births_and_batches_of_other_sizes():
    training = training_of(
        batch_size=7, learning_rate=0.1, persistent=True, threshold=0.5
    )
    run = grow(training, correlated(40))
    assert run.reason == "gamma"
    assert run.chains.shape == (7, run.rbm.n_hidden)
    assert set(np.unique(run.chains)) == {0.0, 1.0}


def test_chains_count_by_their_own_number():
    training = training_of(batch_size=7, persistent=True, learning_rate=0.25)
    X = correlated(40)
    run = training.begin(X, 0)
    training._step(run, X[:7])
    before = run.rbm.visible_bias.copy()
    training._step(run, X[7:8])
    # A mean of data less a mean of chains, whose units are 0 or 1.
    assert np.abs(run.rbm.visible_bias - before).max() <= 0.25 + 1e-6


# ------------------------------------------------------------------------- growth


def grow(training, X, seed=0):
    run = training.begin(X, seed)
    while run.reason is None:
        training.advance(run, X)
    return run


def correlated(n_samples=300):
    rng = np.random.default_rng(0)
    patterns = rng.random((6, 12)) < 0.5
    X = patterns[rng.integers(6, size=n_samples)] ^ (rng.random((n_samples, 12)) < 0.05)
    return X.astype(np.float32)


def test_growth_ends_by_gamma(grown):
    run = grown
    assert run.reason == "gamma"
    assert run.gamma == run.rbm.n_hidden / run.step <= 0.2
    # A step less, and gamma had not yet fallen to the threshold.
    assert run.rbm.n_hidden / (run.step - 1) > 0.2


def test_first_unit_is_born_at_the_first_step_and_one_at_most_in_each():
    runs = [
        grow(training_of(learning_rate=0.1, max_steps=n_steps), correlated())
        for n_steps in range(1, 6)
    ]
    assert [run.step for run in runs] == [1, 2, 3, 4, 5]
    widths = [run.rbm.n_hidden for run in runs]
    assert widths[0] == 1
    assert set(np.diff(widths)) <= {0, 1}
    assert (runs[-1].rbm.weights[0] != 0).any()


@pytest.mark.parametrize(("n_samples", "n_epochs"), [(300, 1), (50, 4), (10, 20)])
def test_short_epochs_are_done_together(n_samples, n_epochs):
    training, X = training_of(), correlated(n_samples)
    run = training.begin(X, 0)
    assert training.advance(run, X) == n_epochs
    assert run.step == n_epochs * n_samples // 10


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"max_units": 7}, "max_units"), ({"max_steps": 12}, "max_steps")],
)
def test_growth_ends_at_its_limits(options, reason):
    run = grow(training_of(learning_rate=0.01, **options), correlated())
    assert run.reason == reason
    assert run.rbm.n_hidden <= options.get("max_units", 12)
    assert run.step <= options.get("max_steps", 10_000)


@pytest.fixture(scope="module")
def grown():
    return grow(training_of(learning_rate=0.1, threshold=0.2), correlated())


def test_growth_learns_what_independent_bits_do_not(grown):
    X, run = correlated(), grown
    V = all_states(12)
    infinite = run.rbm
    log_z = np.logaddexp.reduce(-infinite.free_energy(V))
    learned = -infinite.free_energy(X).mean() - log_z
    empty = InfiniteRBM.empty(X)
    log_z = np.logaddexp.reduce(-empty.free_energy(V))
    assert learned > -empty.free_energy(X).mean() - log_z + 1.0


def test_growth_can_be_repeated_and_pickled():
    X, training = correlated(), training_of(learning_rate=0.05)
    run, again = training.begin(X, 5), training.begin(X, 5)
    training.advance(run, X)
    training.advance(again, X)
    assert_array_equal(run.rbm.weights, again.rbm.weights)
    copied = pickle.loads(pickle.dumps(run))
    training.advance(run, X)
    training.advance(copied, X)
    assert_array_equal(run.rbm.weights, copied.rbm.weights)


def test_divergence_names_the_learning_rate():
    with pytest.raises(ValueError, match="lower learning_rate"):
        grow(training_of(learning_rate=1e6), correlated())
