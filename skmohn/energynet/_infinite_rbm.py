"""Infinite restricted Boltzmann machine: ordered hidden units, grown when needed."""

# An order z is the number of hidden units that take part, the first z of them, and each
# costs a penalty (Côté and Larochelle, "An infinite restricted Boltzmann machine",
# 2015):
#
#     F(v, z) = -c.v - sum_{i <= z} [softplus(W_i.v + b_i) - beta softplus(b_i)]
#
# Units that are not yet born have neither weights nor bias. Each multiplies exp(-F) by
# r = 2^(1 - beta), so the orders past the last unit n sum to r / (1 - r) exp(-F(v, n)).

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn.energynet import _kernels as kernels
from skmohn.energynet._groups import Groups
from skmohn.energynet._growth import GrowthResult, Report, train
from skmohn.energynet._rbm import RBM, check_states, draw_visible, random_stream
from skmohn.energynet._training import (
    Schedule,
    check_weights,
    copy_of,
    data_logits,
    epochs_at_once,
)

GAMMA_REASON = "gamma fell to its threshold"


@dataclass
class InfiniteRBM:
    """Infinite RBM whose first units are born."""

    weights: np.ndarray  # (n_hidden, n_visible), float32
    hidden_bias: np.ndarray  # (n_hidden,), float32
    visible_bias: np.ndarray  # (n_visible,), float32
    beta: float = 1.01  # more than 1; a unit costs beta softplus(b_i)
    # Visible units of each column; None where each is a column.
    groups: Groups | None = None

    @classmethod
    def empty(
        cls, X: NDArray, beta: float = 1.01, groups: Groups | None = None
    ) -> Self:
        """Start without units, with the log-odds of the data as visible biases."""
        nothing = np.zeros((0, X.shape[1]), np.float32)
        logits = data_logits(X, groups)
        return cls(nothing, np.zeros(0, np.float32), logits, beta, groups)

    @property
    def n_hidden(self) -> int:
        """Number of units that are born."""
        return len(self.hidden_bias)

    @property
    def log_tail(self) -> float:
        """Logarithm of the weight of all orders past n, over that of n: r / (1 - r)."""
        log_r = (1.0 - self.beta) * np.log(2.0)
        return float(log_r - np.log(-np.expm1(log_r)))

    def penalties(self) -> NDArray[np.float64]:
        """Cost of each unit, (n_hidden,)."""
        return self.beta * np.logaddexp(0.0, self.hidden_bias.astype(np.float64))

    def log_weights(self, V: ArrayLike) -> NDArray[np.float64]:
        """Minus the free energy of each order, (n_samples, n_hidden + 1)."""
        # In double precision: orders 1 to n, then the tail, all past the last together.
        V = check_states(V, len(self.visible_bias), "V").astype(np.float64)
        active = V @ self.weights.T.astype(np.float64) + self.hidden_bias
        gains = np.logaddexp(0.0, active) - self.penalties()
        log_weights = np.zeros((len(V), self.n_hidden + 1))
        np.cumsum(gains, axis=1, out=log_weights[:, :-1])
        last = log_weights[:, -2] if self.n_hidden else 0.0
        log_weights[:, -1] = last + self.log_tail
        return log_weights + (V @ self.visible_bias.astype(np.float64))[:, None]

    def free_energy(self, V: ArrayLike) -> NDArray[np.float64]:
        """Minus the logarithm of the sum over hidden units and orders, (n_samples,)."""
        return -np.logaddexp.reduce(self.log_weights(V), axis=1)

    def order_probabilities(self, V: ArrayLike) -> NDArray[np.float64]:
        """P(z | v) for z = 1 to n and for all z > n, (n_samples, n_hidden + 1)."""
        log_weights = self.log_weights(V)
        return np.exp(log_weights + self.free_energy(V)[:, None])

    def converted(self) -> RBM:
        """RBM with the units that are born and no order."""
        # It is another model of the data, and a bad one until it has been trained on.
        return copy_of(
            RBM(self.weights, self.hidden_bias, self.visible_bias, self.groups)
        )

    def hidden_sampler(
        self, stream: NDArray[np.uint64]
    ) -> Callable[[NDArray], NDArray]:
        """Function that draws hidden units, given visible ones."""
        return lambda V: self.visit(V, 0.0, stream)[0]

    def add_unit(self) -> None:
        """Let a unit be born: neither weights nor bias yet."""
        row = np.zeros((1, self.weights.shape[1]), np.float32)
        self.weights = np.vstack([self.weights, row])
        self.hidden_bias = np.append(self.hidden_bias, np.float32(0.0))

    def visit(
        self,
        V: NDArray,
        row_weight: float,  # of a sample in the gradient
        stream: NDArray[np.uint64],
    ) -> tuple[NDArray, tuple[NDArray, NDArray, NDArray], int]:
        """Draw the hidden units of visible ones, and the gradient of the likelihood."""
        # Returned are the hidden units, zero past the order drawn; the gradient of the
        # sum of row_weight times minus the free energy, by the weights, the hidden and
        # the visible biases, orders and hidden units summed out; and the number of
        # samples whose order fell past the last unit.
        n = self.n_hidden
        logits = V @ self.weights.T
        residual = np.zeros_like(logits)
        hidden = np.empty_like(logits)
        reach = np.zeros(n, np.float32)
        n_past = kernels.ordered_pass(
            logits, self.hidden_bias, self.penalties(), self.log_tail,
            np.float32(row_weight), stream, residual, hidden, reach, np.empty(n + 1),
        )  # fmt: skip
        price = np.empty((1, n), np.float32)
        kernels.logistic(self.hidden_bias[None, :], np.zeros(n, np.float32), price)
        by_bias = residual.sum(axis=0) - np.float32(self.beta) * price[0] * reach
        return hidden, (residual.T @ V, by_bias, row_weight * V.sum(axis=0)), n_past


@dataclass(frozen=True)
class InfiniteGrowthOptions:
    """Options of an infinite RBM: training, and end of growth."""

    beta: float = 1.01  # penalty of a unit, more than 1
    # Gamma: growth ends when there are no more units than this for each step.
    threshold: float = 0.1
    learning_rate: float = 0.01
    batch_size: int = 10  # samples of a step; with more, units are born more often
    n_gibbs: int = 1  # steps of the chains of contrastive divergence
    # Chains go on from the step before, instead of starting at the data.
    persistent: bool = False
    max_units: int = 2000
    max_steps: int = 100_000
    # Of training of the plain RBM; 0 as in the paper: the RBM then models the data
    # badly.
    n_final_epochs: int = 0


def grow_infinite_rbm(
    X: NDArray,
    schedule: Schedule,
    options: InfiniteGrowthOptions,
    seed: int,
    report: Report,
) -> GrowthResult:
    """Grow an infinite RBM until units are rarely born; make it a plain one."""
    # This is TrainNewLayer of EnergyNet: gamma is the number of units for each step of
    # training. The schedule is that of the plain RBM. Records have ``stage`` ("grow" or
    # "final"), ``units``, ``steps`` and ``epochs``; ``gamma`` while it grows, when the
    # RBM is a converted one, and ``clock`` afterwards.
    training = InfiniteTraining(options, schedule)
    growing = training.begin(X, seed)
    while growing.reason is None:
        n_epochs = training.advance(growing, X)
        record = {"stage": "grow", "units": growing.rbm.n_hidden}
        record |= {"steps": growing.step, "gamma": growing.gamma}
        report(record | {"epochs": n_epochs}, growing.rbm.converted)
    n_steps = schedule.steps_of_epochs(options.n_final_epochs, len(X))
    run = schedule.begin(X, growing.rbm.converted(), n_steps, seed)
    train(run, X, schedule, "final", report, growing.step)
    if growing.reason == "gamma":
        return GrowthResult(run, GAMMA_REASON)
    return GrowthResult(run, growing.reason, growing.reason)


@dataclass(frozen=True)
class InfiniteTraining:
    """Training of an infinite RBM, on inputs as a schedule describes them."""

    options: InfiniteGrowthOptions
    schedule: Schedule

    def begin(self, X: NDArray, seed: int) -> "InfiniteRun":
        """Start a run without units."""
        rbm = InfiniteRBM.empty(X, self.options.beta, self.schedule.groups)
        return InfiniteRun(rbm, np.random.default_rng(seed), random_stream(seed))

    def advance(self, run: "InfiniteRun", X: NDArray) -> int:
        """Go on for an epoch, or several short ones, or until growth ends."""
        # The run is changed in place; its `reason` is why growth has ended. Returned is
        # how many epochs were begun, at most :func:`epochs_at_once`.
        batch_size, resample = self.options.batch_size, self.schedule.resample
        missing = self.schedule.missing
        n_epochs, at_once = 0, epochs_at_once(len(X), batch_size)
        with np.errstate(over="ignore", invalid="ignore"):
            while run.reason is None and n_epochs < at_once:
                n_epochs += 1
                indices = run.order.permutation(len(X))
                for start in range(0, len(X), batch_size):
                    rows = indices[start : start + batch_size]
                    batch = X[rows]
                    if resample:
                        probabilities, batch = batch, np.empty_like(batch)
                        kernels.bernoulli(probabilities, run.stream, batch)
                    if missing is not None:
                        rbm, stream = run.rbm, run.stream
                        draw = rbm.hidden_sampler(stream)
                        missing.resample(rbm, draw, X, rows, batch, stream)
                    self._step(run, batch)
                    if run.reason is not None:
                        break
        check_weights(run.rbm.weights, run.step, self.options.learning_rate)
        return n_epochs

    def _step(self, run: "InfiniteRun", batch: NDArray) -> None:
        """Let a unit be born if one was drawn; follow the gradient; test gamma."""
        rbm, row_weight = run.rbm, 1.0 / len(batch)
        hidden, data, n_past = rbm.visit(batch, row_weight, run.stream)
        if n_past and rbm.n_hidden >= self.options.max_units:
            run.reason = "max_units"
        elif n_past:
            rbm.add_unit()
            # The same distribution with one unit more, whose gradient is wanted.
            hidden, data, _ = rbm.visit(batch, row_weight, run.stream)
        if self.options.persistent and run.chains is not None:
            # Units born since then are past the orders of the chains.
            hidden = np.zeros((len(run.chains), rbm.n_hidden), np.float32)
            hidden[:, : run.chains.shape[1]] = run.chains
        row_weight, model = 1.0 / len(hidden), data
        for _ in range(self.options.n_gibbs):
            logits = hidden @ rbm.weights
            fantasy = np.empty_like(logits)
            draw_visible(logits, rbm.visible_bias, rbm.groups, run.stream, fantasy)
            hidden, model, _ = rbm.visit(fantasy, row_weight, run.stream)
        if self.options.persistent:
            run.chains = hidden
        parameters = rbm.weights, rbm.hidden_bias, rbm.visible_bias
        for parameter, up, down in zip(parameters, data, model, strict=True):
            parameter += np.float32(self.options.learning_rate) * (up - down)
        run.step += 1
        run.gamma = rbm.n_hidden / run.step
        if run.gamma <= self.options.threshold:
            run.reason = "gamma"
        elif run.step >= self.options.max_steps:
            run.reason = "max_steps"


@dataclass
class InfiniteRun:
    """Run of an infinite RBM; it can be pickled and go on elsewhere."""

    rbm: InfiniteRBM
    order: np.random.Generator  # source of the orders in which samples are visited
    stream: np.ndarray  # (1,), uint64; source of all other random numbers
    # (n_chains, n_hidden), float32; hidden units of persistent chains.
    chains: np.ndarray | None = None
    step: int = 0  # steps done
    gamma: float = np.inf  # units for each step done
    # "gamma", "max_units" or "max_steps": why growth has ended; None while it goes on.
    reason: str | None = None
