"""Training: each step against its definition, and where steps lead."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

from skmohn.energynet import RBM, _training, exact_log_partition
from skmohn.energynet._training import (
    Schedule,
    _Buffers,
    _steps_between_draws,
    data_logits,
    narrowed,
    new_rbm,
    prolonged,
    trained,
    widened,
)


def bits(seed, shape, odds=0.5):
    return (np.random.default_rng(seed).random(shape) < odds).astype(np.float32)


def state_of(run):
    rbm = run.rbm
    return [
        rbm.weights, rbm.hidden_bias, rbm.visible_bias, run.hidden_mean, run.chains,
        run.stream,
    ]  # fmt: skip


def assert_same_state(run, other):
    for mine, its in zip(state_of(run), state_of(other), strict=True):
        assert_array_equal(mine, its)


# ---------------------------------------------------------------------- one step


def one_step(schedule, X, batch=None):
    """Run before and after a step, and the visible units of its chains."""
    run = schedule.begin(X, new_rbm(X, 6, seed=1), 10, 0)
    run.step = 3
    before = pickle.loads(pickle.dumps(run))
    batch = np.arange(len(X)) if batch is None else batch
    buffers = _Buffers(run, len(batch))
    schedule._step(run, X, batch, buffers)
    return before, run, buffers.rows(len(batch)).fantasy


def score(rbm, samples, weight):
    """Gradients of fractions of minus the free energy, by finite differences."""
    parts = [rbm.weights, rbm.hidden_bias, rbm.visible_bias]
    W, b, c = parts = [part.astype(np.float64) for part in parts]
    gradients = []
    for part in parts:
        gradient = np.empty_like(part)
        for index in np.ndindex(part.shape):
            old, values = part[index], []
            for h in (1e-5, -1e-5):
                part[index] = old + h
                sums = np.logaddexp(0.0, samples @ W.T + b).sum(axis=1)
                values.append(weight @ (samples @ c + sums))
            part[index] = old
            gradient[index] = (values[0] - values[1]) / 2e-5
        gradients.append(gradient)
    return gradients


def test_step_follows_the_centered_gradient():
    X = bits(0, (60, 9), np.linspace(0.1, 0.9, 9))
    batch = np.arange(10, 50)
    schedule = Schedule(learning_rate=0.5, n_chains=30, l2=0.01)
    before, after, chains = one_step(schedule, X, batch)
    weight = np.append(np.full(40, 1 / 40), np.full(30, -1 / 30))
    by_W, by_b, by_c = score(before.rbm, np.vstack([X[batch], chains]), weight)
    # Melchior et al. (2016): the gradient in the coordinates of centered units.
    mu = before.visible_mean.astype(np.float64)
    lam = before.hidden_mean.astype(np.float64)
    # The price of the weights is part of it: where they shrink, biases make up for it.
    W = before.rbm.weights
    G = by_W - np.outer(by_b, mu) - np.outer(lam, by_c) - 0.01 * W
    rate = 0.5 * 0.7
    change = after.rbm.weights.astype(np.float64) - W
    assert_allclose(change, rate * G, rtol=1e-3, atol=2e-6)
    change = after.rbm.hidden_bias - before.rbm.hidden_bias
    assert_allclose(change, rate * (by_b - G @ mu), rtol=1e-3, atol=2e-6)
    change = after.rbm.visible_bias - before.rbm.visible_bias
    assert_allclose(change, rate * (by_c - lam @ G), rtol=1e-3, atol=2e-6)
    assert after.step == 4
    assert after.clock == pytest.approx(rate)


def test_dear_weights_leave_independent_columns():
    X = np.repeat(bits(0, (200, 6), np.linspace(0.1, 0.9, 6)), 4, axis=1)
    start = new_rbm(X, 200, seed=0)
    rbm = trained(Schedule(batch_size=50, l2=0.5), X, start, 2000, seed=0).rbm
    assert abs(rbm.weights).max() < 1e-3
    # Where biases do not make up for weights that shrink, they drift away by hundreds.
    assert_allclose(rbm.visible_bias, logit(X.mean(axis=0)), atol=0.3)


# The RBM has 6 hidden units.
@pytest.mark.parametrize(
    ("n_samples", "times"), [(None, 1), (30, 1), (20, 1.5), (10, 3), (7, 4), (2, 4)]
)
def test_weights_cost_more_where_there_are_many_units_for_a_sample(n_samples, times):
    X = bits(0, (50, 9))
    _, run, _ = one_step(Schedule(l2=0.1, n_samples=n_samples), X)
    _, dearer, _ = one_step(Schedule(l2=0.1 * times), X)
    assert_same_state(run, dearer)


def test_step_moves_the_hidden_mean_towards_the_data():
    X = bits(0, (50, 9))
    before, after, _ = one_step(Schedule(), X)
    target = expit(X @ before.rbm.weights.T + before.rbm.hidden_bias).mean(axis=0)
    moved = before.hidden_mean + 0.01 * (target - before.hidden_mean)
    assert_allclose(after.hidden_mean, moved, rtol=1e-5)


def test_chains_are_steps_of_gibbs_sampling():
    X = bits(0, (50, 9), 0.3)
    schedule = Schedule(n_chains=40_000)
    before, after, chains = one_step(schedule, X)
    rbm = before.rbm
    visible = rbm.visible_probabilities(before.chains).mean(axis=0)
    assert_allclose(chains.mean(axis=0), visible, atol=0.015)
    hidden = rbm.hidden_probabilities(chains).mean(axis=0)
    assert_allclose(after.chains.mean(axis=0), hidden, atol=0.015)


def test_resampling_draws_bits_with_given_probabilities():
    p = np.random.default_rng(0).random((1, 9)).astype(np.float32)
    X = np.tile(p, (5000, 1))
    schedule = Schedule(resample=True)
    run = schedule.begin(X, new_rbm(X, 2, seed=0), 5, 0)
    buffers = _Buffers(run, len(X))
    schedule._step(run, X, np.arange(len(X)), buffers)
    drawn = buffers.rows(len(X)).data
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert_allclose(drawn.mean(axis=0), p[0], atol=0.03)


# ----------------------------------------------------------------------- whole runs


def three_patterns():
    """Two patterns of six bits and their union, which are far from independent."""
    patterns = np.array(
        [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1]], np.float32
    )
    return np.repeat(patterns, [300, 200, 100], axis=0)


def log_likelihood(rbm, X):
    return float(-rbm.free_energy(X).mean() - exact_log_partition(rbm).value)


def test_training_nearly_reaches_the_entropy_of_the_data():
    X = three_patterns()
    schedule = Schedule(learning_rate=0.05)
    run = trained(
        schedule, X, new_rbm(X, 8, 0), schedule.steps_of_epochs(2000, len(X)), 0
    )
    weight = np.array([3, 2, 1]) / 6
    assert log_likelihood(run.rbm, X) > (weight * np.log(weight)).sum() - 0.1


def test_units_may_be_called_by_their_opposites():
    X = three_patterns()
    X[:, 3] = 1
    found = []
    for flipped in (X, 1 - X):
        schedule = Schedule()
        run = trained(schedule, flipped, new_rbm(X, 8, 0), 2000, 0)
        found.append(log_likelihood(run.rbm, flipped))
    assert found[0] == pytest.approx(found[1], abs=0.1)


def test_training_goes_on_from_a_trained_rbm():
    X, schedule = three_patterns(), Schedule()
    run = trained(schedule, X, new_rbm(X, 8, 0), 200, 0)
    early = log_likelihood(run.rbm, X)
    run = prolonged(run, 2000)
    while not run.is_over:
        schedule.advance(run, X)
    assert run.step == 2000
    assert log_likelihood(run.rbm, X) > early + 0.05


def test_same_seed_same_run_and_pickles_go_on():
    X, schedule = bits(0, (250, 12)), Schedule(batch_size=40)
    start = new_rbm(X, 5, 0)
    kept = start.weights.copy()
    run, again, other = (schedule.begin(X, start, 1000, seed) for seed in (0, 0, 1))
    for one in (run, again, other):
        schedule.advance(one, X)
    assert_array_equal(start.weights, kept)
    assert_same_state(run, again)
    assert (run.rbm.weights != other.rbm.weights).any()
    copied = pickle.loads(pickle.dumps(run))
    schedule.advance(run, X)
    schedule.advance(copied, X)
    # Of seven steps, three epochs are done together to make twenty.
    assert run.step == 42
    assert_same_state(run, copied)


def test_clock_is_the_sum_of_the_learning_rates():
    X, schedule = bits(0, (100, 5)), Schedule(learning_rate=0.1, batch_size=30)
    assert schedule.steps_of_epochs(3, 100) == 12
    assert schedule.steps_of_clock(20.0) == 400
    run = trained(schedule, X, new_rbm(X, 3, 0), 400, 0)
    assert run.is_over
    assert run.clock == pytest.approx(20.0, rel=0.01)


def test_a_run_has_a_step_at_least():
    assert Schedule().steps_of_clock(1e-9) == 1


@pytest.mark.parametrize(
    ("n_hidden", "n_rows", "interval"), [(13, 9, 0), (12, 100, 163), (4, 100, 10)]
)
def test_chains_are_drawn_anew_where_that_takes_little(n_hidden, n_rows, interval):
    run = SimpleNamespace(rbm=SimpleNamespace(n_hidden=n_hidden))
    assert _steps_between_draws(run, n_rows) == interval


def test_an_epoch_visits_each_sample_once(monkeypatch):
    batches, drawn = [], []

    def step(schedule, run, X, batch, buffers):
        batches.append(batch)
        run.step += 1

    def draw(rbm, n, order):
        drawn.append(len(batches))
        return np.zeros((n, rbm.n_hidden))

    monkeypatch.setattr(Schedule, "_step", step)
    monkeypatch.setattr(_training, "draw_hidden", draw)
    X, schedule = bits(0, (490, 4)), Schedule(batch_size=20)
    run = schedule.begin(X, new_rbm(X, 3, 0), 37, 0)
    assert [schedule.advance(run, X) for _ in range(2)] == [1, 1]
    assert run.is_over
    assert [len(batch) for batch in batches] == [20] * 24 + [10] + [20] * 12
    assert_array_equal(np.sort(np.concatenate(batches[:25])), np.arange(490))
    assert len(set(np.concatenate(batches[25:]))) == 240
    assert drawn == [0, 10, 20, 30]


def test_chains_are_no_more_than_the_samples_of_a_step():
    X = bits(0, (7, 4))
    schedule, start = Schedule(batch_size=10_000), new_rbm(X, 3, 0)
    assert schedule.begin(X, start, 20, 0).chains.shape == (7, 3)
    exact = trained(Schedule(batch_size=7), X, start, 20, 0)
    assert_same_state(trained(schedule, X, start, 20, 0), exact)


@pytest.mark.parametrize("shape", [(1, 4), (3, 1), (7, 4)])
def test_smallest_tables_can_be_trained_on(shape):
    X = bits(0, shape)
    run = trained(Schedule(batch_size=5), X, new_rbm(X, 1, 0), 20, 0)
    assert run.step == 20
    assert np.isfinite(run.rbm.weights).all()


@pytest.mark.parametrize("learning_rate", [1000.0, 1e10, 1e30])
def test_divergence_names_the_learning_rate(learning_rate):
    X = bits(0, (100, 20))
    message = f"lower learning_rate, now {learning_rate:g}".replace("+", r"\+")
    with pytest.raises(ValueError, match=message):
        trained(Schedule(learning_rate), X, new_rbm(X, 10, 0), 1000, 0)


# --------------------------------------------------------------- starts and changes


@pytest.mark.parametrize(("n_hidden", "activity"), [(500, 0.02), (100, 0.1), (5, 0.2)])
def test_hidden_units_of_a_new_rbm(n_hidden, activity):
    X = bits(0, (500, 30), 0.2)
    rbm = new_rbm(X, n_hidden, 0)
    active = X @ rbm.weights.T + rbm.hidden_bias
    assert active.std(axis=0).mean() == pytest.approx(1.0, rel=0.15)
    assert_allclose(active.mean(axis=0), logit(activity), atol=1e-4)
    assert_allclose(rbm.visible_bias, data_logits(X))


@pytest.mark.parametrize("weight", [0.0, 1.0, 0.01])
def test_weights_of_a_new_rbm_are_small_where_columns_hardly_vary(weight):
    rbm = new_rbm(bits(0, (500, 3), weight), 200, 0)
    assert rbm.weights.std() == pytest.approx(1.0, rel=0.1)


def test_data_logits_are_smoothed_log_odds():
    X = np.array([[0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 1, 1]], np.float32)
    assert_allclose(data_logits(X), logit([0.1, 0.7, 0.7]), rtol=1e-6)


def test_widened_keeps_what_there_is():
    X, schedule = bits(0, (60, 8)), Schedule(batch_size=20)
    run = trained(schedule, X, new_rbm(X, 3, 0), 30, 0)
    wide = widened(run, new_rbm(X, 2, 1))
    assert wide.rbm.weights.shape == (5, 8)
    assert_array_equal(wide.rbm.weights[:3], run.rbm.weights)
    assert_array_equal(wide.chains[:, :3], run.chains)
    assert_array_equal(wide.hidden_mean, np.append(run.hidden_mean, [0.5, 0.5]))
    wide = prolonged(wide, 30)
    schedule.advance(wide, X)
    assert (wide.rbm.weights[:3] != run.rbm.weights).all()
    thin = narrowed(wide, np.array([True, False, True, False, True]), np.zeros(8))
    assert_array_equal(thin.rbm.weights, wide.rbm.weights[::2])
    assert_array_equal(thin.chains, wide.chains[:, ::2])
    schedule.advance(thin, X)
    assert isinstance(thin.rbm, RBM)
