"""The network on its data: every loss it keeps up to date is the true loss."""

import dataclasses
import math
from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, log_expit, log_softmax
from sklearn.metrics import (
    hinge_loss,
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
    zero_one_loss,
)

from skmohn.blm import _kernels as kernels
from skmohn.blm._network import ACTIVATIONS, DatasetProblem, Layout, refresh
from skmohn.blm._search import MoveOptions, start_search


# What is for other kernels can not be called from Python.
@numba.njit
def try_weight(network, j, value):
    return kernels._try_weight(network, j, value)


@numba.njit
def keep_weight(network, j, value):
    kernels._keep_weight(network, j, value)


LOSSES = {
    "squared": kernels.SQUARED,
    "absolute": kernels.ABSOLUTE,
    "huber": kernels.HUBER,
    "pinball": kernels.PINBALL,
    "logistic_squared": kernels.LOGISTIC_SQUARED,
    "cross_entropy": kernels.CROSS_ENTROPY,
    "hinge": kernels.HINGE,
    "zero_one": kernels.ZERO_ONE,
    "softmax": kernels.SOFTMAX,
    "misses": kernels.MISSES,
}
OF_NUMBERS = ("squared", "absolute", "huber", "pinball")
TOGETHER = ("softmax", "misses")
# On these grids sums of the first layer and of steps are exact, with ties.
STEP = 0.125
N_BITS = 6


@numba.njit
def quartic(target, output):
    return (target - output) ** 4 + abs(output)


# -------------------------------------------------------------------- the oracle


def network_outputs(weights, sizes, activation, X):
    """Outputs before their activation, in double precision."""
    apply = {
        "identity": lambda x: x,
        "tanh": np.tanh,
        "logistic": expit,
        "relu": lambda x: np.maximum(x, 0),
        "step": lambda x: np.where(x > 1e-5, 1.0, 0.0),
    }[activation]
    weights = iter(np.asarray(weights, dtype=float))
    rows = list(X.T.astype(float))
    for layer, (n_in, n_out) in enumerate(pairwise(sizes)):
        sums = []
        for _ in range(n_out):
            total = np.full(len(X), next(weights))
            for i in range(n_in):
                total = total + next(weights) * rows[i]
            sums.append(total)
        rows = sums if layer == len(sizes) - 2 else [apply(total) for total in sums]
    return np.array(rows).T


def huber(differences, epsilon):
    size = np.abs(differences)
    return np.where(size <= epsilon, size**2 / 2, epsilon * (size - epsilon / 2))


def loss_of_outputs(name, t, y, weight, number):
    """Mean loss over samples, with scikit-learn's metrics where there is one."""
    n_outputs = y.shape[1]
    each = range(n_outputs)
    if name == "squared":
        return mean_squared_error(y, t, sample_weight=weight) / 2
    if name == "absolute":
        return mean_absolute_error(y, t, sample_weight=weight)
    if name == "huber":
        return np.average(huber(y - t, number).mean(axis=1), weights=weight)
    if name == "pinball":
        return mean_pinball_loss(y, t, sample_weight=weight, alpha=number)
    if name == "logistic_squared":
        return mean_squared_error(y, expit(t), sample_weight=weight) / 2
    if name == "cross_entropy":
        # scikit-learn's log_loss cuts it off at 36.
        each_loss = -(y * log_expit(t) + (1 - y) * log_expit(-t)).sum(axis=1)
        return np.average(each_loss, weights=weight)
    if name == "hinge":
        return np.mean(
            [
                hinge_loss(y[:, k], t[:, k], sample_weight=weight, labels=[0, 1])
                for k in each
            ]
        )
    if name == "zero_one":
        ties = np.abs(t) <= 1e-5
        found = np.where(ties, 1 - y, t > 0)
        return np.mean(
            [zero_one_loss(y[:, k], found[:, k], sample_weight=weight) for k in each]
        )
    if name == "softmax":
        return np.average(-(y * log_softmax(t, axis=1)).sum(axis=1), weights=weight)
    if name == "misses":
        # A tie is a miss: the target must be above all others.
        found = (t + 1e-5 * (1 - y)).argmax(axis=1)
        return zero_one_loss(y.argmax(axis=1), found, sample_weight=weight)
    if name == "own":
        return np.average(((y - t) ** 4 + np.abs(t)).mean(axis=1), weights=weight)
    raise LookupError(name)


class Case:
    """A small problem, its network, and the loss by the oracle."""

    def __init__(
        self, hidden, activation, loss, seed, *, even=True, alpha=0.5, n_outputs=3,
        n_samples=70,
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        self.rng, self.activation, self.name = rng, activation, loss
        self.sizes = (2, *hidden, n_outputs)
        self.X = rng.integers(-8, 9, (n_samples, 2)) / 4
        if loss in TOGETHER:
            self.y = np.eye(n_outputs)[rng.integers(n_outputs, size=n_samples)]
        elif loss in OF_NUMBERS or loss == "own":
            self.y = rng.normal(size=(n_samples, n_outputs))
        else:
            self.y = rng.integers(0, 2, (n_samples, n_outputs)).astype(float)
        self.weight = np.full(n_samples, 1.5)
        if not even:
            self.weight = rng.integers(0, 4, n_samples) + 0.25
        self.alpha = alpha
        self.number = {"huber": 0.7, "pinball": 0.8}.get(loss, 0.0)
        self.own = quartic if loss == "own" else None
        layout = Layout(self.sizes)
        self.problem = DatasetProblem(
            layout=layout,
            step=np.full(layout.n_weights, STEP),
            activation=activation,
            loss=kernels.OWN if loss == "own" else LOSSES[loss],
            loss_number=self.number,
            own_loss=self.own,
            X=self.X.astype(np.float32),
            y=self.y.astype(np.float32),
            sample_weight=self.weight.astype(np.float32),
            alpha=alpha,
        )
        self.codes = self.random_codes(self.problem.layout.n_weights)
        self.net = self.problem.connect(self.codes * STEP)
        self.loss = refresh(self.net)

    def random_codes(self, size=None):
        # Not the largest ones, with which outputs leave the range of the fast tanh.
        return self.rng.integers(-10, 11, size)

    def oracle(self, weights):
        t = network_outputs(weights, self.sizes, self.activation, self.X)
        loss = loss_of_outputs(self.name, t, self.y, self.weight, self.number)
        squares, start = 0.0, 0
        for n_in, n_out in pairwise(self.sizes):
            for _ in range(n_out):
                squares += (weights[start + 1 : start + 1 + n_in] ** 2).sum()
                start += n_in + 1
        return loss + self.alpha / 2 * squares / self.weight.sum()

    def check(self, loss, weights):
        assert_allclose(loss, self.oracle(weights), rtol=1e-4, atol=2e-6)

    def start(self, **control):
        moves = MoveOptions(n_bits=N_BITS, **control)
        return start_search(self.codes, self.loss, moves, 0, first_step=4)

    def run(self, search, max_moves):
        steps = np.full(len(search.codes), STEP)
        return kernels.run(search.address, self.net.address, steps, max_moves)


hidden_sizes = st.lists(st.integers(1, 4), max_size=3)
# To shrink a seed takes minutes and explains nothing.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]


# ------------------------------------------------------------------------ losses


@pytest.mark.slow_cases("squared-identity")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=2, phases=PHASES)
@given(
    hidden=hidden_sizes,
    seed=st.integers(0, 2**32 - 1),
    even=st.booleans(),
    alpha=st.sampled_from([0.0, 0.5]),
)
def test_loss_is_the_true_one_after_every_move(
    activation, loss, hidden, seed, even, alpha
):
    case = Case(hidden, activation, loss, seed, even=even, alpha=alpha)
    weights = case.codes * STEP
    case.check(case.loss, weights)
    for _ in range(8):
        j, value = case.rng.integers(len(weights)), case.random_codes() * STEP
        tried = try_weight(case.net.address, j, np.float32(value))
        changed = weights.copy()
        changed[j] = value
        case.check(tried, changed)
        if case.rng.integers(2):
            keep_weight(case.net.address, j, np.float32(value))
            weights = changed
        assert_array_equal(case.net.weights, weights)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=2, phases=PHASES)
@given(hidden=hidden_sizes, seed=st.integers(0, 2**32 - 1), even=st.booleans())
def test_loss_is_the_true_one_after_a_search(activation, loss, hidden, seed, even):
    case = Case(hidden, activation, loss, seed, even=even)
    search = case.start()
    case.run(search, 200)
    assert_array_equal(case.net.weights, search.codes * np.float32(STEP))
    case.check(search.state[0].loss, search.codes * STEP)
    case.check(refresh(case.net), search.codes * STEP)


@pytest.mark.parametrize("hidden", [(), (3,), (3, 2)])
@pytest.mark.parametrize("even", [True, False])
def test_loss_that_the_user_has_written(hidden, even):
    case = Case(hidden, "tanh", "own", 1, even=even)
    case.check(case.loss, case.codes * STEP)
    search = case.start()
    case.run(search, 300)
    assert search.state[0].accepted > 5
    case.check(search.state[0].loss, search.codes * STEP)
    assert search.state[0].loss < case.loss


@pytest.mark.parametrize(
    ("loss", "n_outputs"),
    # A single output leaves those that take all together nothing to choose from.
    [(loss, n) for loss in LOSSES for n in (1, 2, 5) if n > 1 or loss not in TOGETHER],
)
def test_number_of_outputs(loss, n_outputs):
    case = Case((3,), "tanh", loss, 2, even=False, n_outputs=n_outputs)
    case.check(case.loss, case.codes * STEP)


@pytest.mark.parametrize("n_samples", [1, 63, 64, 65, 129])
@pytest.mark.parametrize("loss", ["cross_entropy", "softmax"])
def test_logarithms_of_many_samples_at_once(loss, n_samples):
    even = Case((3,), "tanh", loss, 3, n_samples=n_samples)
    even.check(even.loss, even.codes * STEP)


@pytest.mark.parametrize("loss", ["cross_entropy", "softmax"])
def test_cross_entropy_of_outputs_that_are_sure(loss):
    for scale in (0, 10, 100, 1000):
        case = Case((), "identity", loss, 4, alpha=0.0)
        weights = case.codes * STEP * scale
        t = network_outputs(weights, case.sizes, "identity", case.X)
        if loss == "softmax":
            expected = -(case.y * log_softmax(t, axis=1)).sum(axis=1).mean()
        else:
            expected = (np.logaddexp(0, t) - case.y * t).sum(axis=1).mean()
        assert_allclose(case.problem.evaluate(case.codes * scale), expected, rtol=1e-4)


@pytest.mark.parametrize("loss", ["softmax", "misses"])
def test_trial_of_one_output_after_trials_of_other_outputs(loss):
    case = Case((3,), "tanh", loss, 5)
    weights = case.codes * STEP
    last = [j for j in range(len(weights)) if case.net.target[j] >= case.net.layers[-2]]
    # Trials that are not kept must leave no trace in the rows of the other outputs.
    for j in [0, *last, 1, *last[::-1]]:
        value = case.random_codes() * STEP
        changed = weights.copy()
        changed[j] = value
        case.check(try_weight(case.net.address, j, np.float32(value)), changed)


def test_quantile_and_epsilon_matter():
    for loss in ("huber", "pinball"):
        case = Case((3,), "tanh", loss, 6)
        problem = dataclasses.replace(case.problem, loss_number=0.3)
        other = problem.connect(case.codes * STEP)
        assert abs(refresh(other) - case.loss) > 0.01


# --------------------------------------------------------------------- activations


def hidden_unit(activation, x):
    """What a hidden unit makes of its sums."""
    X = x.astype(np.float32)[:, None]
    problem = DatasetProblem(
        layout=Layout((1, 1, 1)),
        step=np.ones(4),
        activation=activation,
        loss=kernels.SQUARED,
        X=X,
        y=X,
        sample_weight=X[:, 0] * 0 + 1,
    )
    net = problem.connect(np.array([0.0, 1.0, 0.0, 1.0]))
    refresh(net)
    assert_array_equal(net.pre[2], X[:, 0])
    return net.out[2]


def test_fast_tanh_is_the_tangent():
    x = np.linspace(-20, 20, 200_001).astype(np.float32)
    out = hidden_unit("tanh", x)
    assert np.abs(out - np.tanh(x.astype(float))).max() < 5e-7
    assert_array_equal(out, -out[::-1])
    logistic = hidden_unit("logistic", x)
    assert np.abs(logistic - expit(x.astype(float))).max() < 5e-7


def test_step_of_a_sum_that_is_zero_but_for_rounding():
    x = np.array([-1, -1e-7, 0, 1e-7, 9e-6, 2e-5, 1])
    assert_array_equal(hidden_unit("step", x), [0, 0, 0, 0, 0, 1, 1])


def test_steps_on_ties_survive_many_moves():
    case = Case((4, 3), "step", "squared", 7, n_samples=200)
    # Inputs and weights lie on grids, so that many sums are zero.
    net = case.net
    hidden = slice(net.layers[1], net.layers[2])
    weights = case.codes * STEP
    n_ties = np.count_nonzero(np.abs(net.pre[net.now[hidden]]) < 1e-5)
    for _ in range(2000):
        j, value = case.rng.integers(len(weights)), case.random_codes() * STEP
        loss = try_weight(net.address, j, np.float32(value))
        keep_weight(net.address, j, np.float32(value))
        weights[j] = value
        n_ties += np.count_nonzero(np.abs(net.pre[net.now[hidden]]) < 1e-5)
    assert n_ties > 1000
    case.check(loss, weights)


# ---------------------------------------------------------------------- rounding


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_drift_is_bounded_and_refresh_removes_it(activation, loss):
    case = Case((4, 3), activation, loss, 8)
    # Weights that float32 does not hold exactly, so that every move rounds.
    step = 0.1
    weights = case.codes * step
    for _ in range(4000):
        j, value = case.rng.integers(len(weights)), case.random_codes() * step
        tried = try_weight(case.net.address, j, np.float32(value))
        keep_weight(case.net.address, j, np.float32(value))
        weights[j] = value
    truth = case.oracle(weights)
    assert_allclose(tried, truth, rtol=1e-3)
    fresh = refresh(case.net)
    assert_allclose(fresh, truth, rtol=2e-6)
    assert fresh == dataclasses.replace(
        case.problem, step=np.ones(len(weights))
    ).evaluate(weights)


# ------------------------------------------------------------------------- search


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_loss_never_rises_along_a_run(activation, loss):
    case = Case((4,), activation, loss, 9)
    search = case.start()
    # The loss before any rounding of moves; it may have risen by no more than that.
    before, accepted = case.loss, 0
    for _ in range(300):
        more = case.run(search, 1)
        assert search.state[0].loss <= before
        assert (search.state[0].loss < before) == (search.state[0].accepted > accepted)
        before, accepted = search.state[0].loss, search.state[0].accepted
        if not more:
            break
    assert before < case.loss or loss in ("zero_one", "misses")
    case.check(before, search.codes * STEP)


def test_run_counts_its_moves():
    case = Case((4,), "tanh", "squared", 10)
    search = case.start()
    assert case.run(search, 17)
    assert search.state[0].tried == 17
    assert case.run(search, 1)
    assert search.state[0].tried == 18


def test_run_in_pieces_equals_one_run():
    whole, parts = (Case((4,), "tanh", "squared", 11) for _ in range(2))
    long, short = whole.start(), parts.start()
    whole.run(long, 120)
    for n_moves in (1, 19, 60, 40):
        parts.run(short, n_moves)
    assert_array_equal(long.codes, short.codes)
    assert long.state[0].loss == short.state[0].loss


def test_run_ends_where_no_move_improves():
    case = Case((), "identity", "squared", 12)
    search = case.start()
    assert not case.run(search, 10**6)
    assert search.state[0].bits == N_BITS
    best = math.inf
    for j in range(len(search.codes)):
        for code in range(-(2 ** (N_BITS - 1)), 2 ** (N_BITS - 1)):
            if code != search.codes[j]:
                weights = search.codes * STEP
                weights[j] = code * STEP
                best = min(best, case.oracle(weights))
    # Convex along each weight, so that a minimum of the flips is one of all steps.
    assert search.state[0].loss <= best * (1 + 1e-6)
