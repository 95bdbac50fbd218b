"""Training of a restricted Boltzmann machine by centered PCD."""

# Persistent contrastive divergence: the gradient of the log-likelihood is that of the
# data minus that of the model, which chains stand for that are kept from step to step
# (Tieleman, "Training restricted Boltzmann machines using approximations to the
# likelihood gradient", ICML 2008). Activities are centered in it (Melchior, Fischer and
# Wiskott, "How to center deep Boltzmann machines", JMLR 17, 2016): it no longer depends
# on which value of a unit is called 0.

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._groups import Groups, state_probabilities
from skmohn.energynet._missing import MissingMask, hidden_sampler
from skmohn.energynet._rbm import (
    RBM,
    RBM_LIMITS,
    draw_hidden,
    draw_visible,
    random_stream,
)


@dataclass(frozen=True)
class PCDConstants:
    """Persistent contrastive divergence."""

    # Larger weights change no probability: training has diverged.
    max_weight: float = tuned(100.0, "rounding")
    # How fast the mean activities of hidden units follow, per step.
    centering_rate: float = tuned(0.01, "benchmarks/ablation.py")
    # Epochs of fewer steps are done together: what surrounds them would take longer.
    min_steps: int = tuned(20, "cost")
    # Fewest steps from one exact draw of the chains to the next.
    min_exact_interval: int = tuned(10, "cost")
    # A unit for so many samples leaves the precision of weights as it is; with more
    # units it rises with their number, up to so many times.
    n_samples_per_unit: int = tuned(5, "benchmarks/ablation.py")
    max_precision_factor: float = tuned(4.0, "benchmarks/ablation.py")
    # New hidden units that are 1 at the mean of the data, and their largest fraction.
    n_active: float = tuned(10.0, "benchmarks/ablation.py")
    max_active_fraction: float = tuned(0.2, "benchmarks/ablation.py")


_PCD = PCDConstants()


@dataclass
class Run:
    """Training run; it can be pickled and go on elsewhere."""

    rbm: RBM  # its arrays are changed in place
    # (n_visible,), float32; center of visible activities: mean of the data.
    visible_mean: np.ndarray
    # (n_hidden,), float32; center of hidden activities: a moving average.
    hidden_mean: np.ndarray
    # (n_chains, n_hidden), float32; hidden units of the chains, 0 or 1.
    chains: np.ndarray
    order: np.random.Generator  # source of the orders in which samples are visited
    stream: np.ndarray  # (1,), uint64; source of all other random numbers
    n_steps: int  # steps after which the learning rate is zero
    step: int = 0  # steps done
    clock: float = 0.0  # sum of the learning rates of all steps since the run began

    @property
    def is_over(self) -> bool:
        """Whether all steps are done."""
        return self.step >= self.n_steps


@dataclass(frozen=True)
class Schedule:
    """Schedule of training: centered PCD-1."""

    # The first one; it falls linearly to zero over the steps of a run.
    learning_rate: float = 0.2
    batch_size: int = 100  # samples of a step
    # None for as many as samples of a step, of which there are no more than in all.
    n_chains: int | None = None
    l2: float = 1e-4  # price of half the squared weights, in nats per sample
    # All samples there are; with it, `l2` rises with the hidden units per sample, which
    # else overfit few samples.
    n_samples: int | None = None
    # Inputs are probabilities from which bits are drawn at every step.
    resample: bool = False
    groups: Groups | None = None  # visible units of each column, for new RBMs
    # Unknown inputs, drawn anew in each step, in place.
    missing: MissingMask | None = None

    def steps_of_epochs(self, n_epochs: int, n_samples: int) -> int:
        """Steps that visit all samples a number of times."""
        return n_epochs * -(-n_samples // self.batch_size)

    def steps_of_clock(self, clock: float) -> int:
        """Steps whose learning rates sum to a number."""
        return max(round(clock / self.clock_of_steps(1)), 1)

    def clock_of_steps(self, n_steps: int) -> float:
        """Sum of the learning rates of a run."""
        return n_steps * self.learning_rate / 2

    def l2_of(self, n_hidden: int) -> float:
        """Price of half the squared weights of an RBM with so many hidden units."""
        if self.n_samples is None:
            return self.l2
        crowd = _PCD.n_samples_per_unit * n_hidden / self.n_samples
        return self.l2 * min(max(crowd, 1.0), _PCD.max_precision_factor)

    def begin(self, X: NDArray, rbm: RBM, n_steps: int, seed: int) -> Run:
        """Start a run on an RBM, whose arrays are copied."""
        order = np.random.default_rng(seed)
        stream = random_stream(seed)
        n_chains = self.n_chains or min(self.batch_size, len(X))
        rows = order.choice(len(X), n_chains)
        probabilities = rbm.hidden_probabilities(X[rows])
        chains = np.empty_like(probabilities)
        kernels.bernoulli(probabilities, stream, chains)
        return Run(
            rbm=copy_of(rbm),
            visible_mean=X.mean(axis=0).astype("f4"),
            hidden_mean=probabilities.mean(axis=0),
            chains=chains,
            order=order,
            stream=stream,
            n_steps=n_steps,
        )

    def advance(
        self,
        run: Run,  # changed in place
        # (n_samples, n_visible), float32; the samples the run began with, or others of
        # the same kind.
        X: NDArray,
    ) -> int:
        """Go on for an epoch, several short ones, or as far as there are steps left."""
        # Returned is how many were begun, at most :func:`epochs_at_once`. ValueError is
        # raised when the weights have grown beyond all bounds.
        batch_size = min(self.batch_size, len(X))
        buffers = _Buffers(run, batch_size)
        interval = _steps_between_draws(run, 1 + len(run.chains) + batch_size)
        n_epochs, at_once = 0, epochs_at_once(len(X), self.batch_size)
        # Divergence is reported at the end, not by a warning on the way.
        with np.errstate(over="ignore", invalid="ignore"):
            while not run.is_over and n_epochs < at_once:
                n_epochs += 1
                indices = run.order.permutation(len(X))
                for start in range(0, len(X), self.batch_size):
                    if run.is_over:
                        break
                    if interval and run.step % interval == 0:
                        draws = draw_hidden(run.rbm, len(run.chains), run.order)
                        run.chains[:] = draws
                    batch = indices[start : start + self.batch_size]
                    self._step(run, X, batch, buffers)
        check_weights(run.rbm.weights, run.step, self.learning_rate)
        return n_epochs

    def _step(
        self, run: Run, X: NDArray, batch: NDArray[np.intp], buffers: "_Buffers"
    ) -> None:
        """Follow the gradient of one batch."""
        rbm, n_chains = run.rbm, len(run.chains)
        rate = self.learning_rate * (1.0 - run.step / run.n_steps)
        rows = buffers.rows(len(batch))
        if self.resample:
            kernels.bernoulli(X[batch], run.stream, rows.data)
        else:
            X.take(batch, axis=0, out=rows.data, mode="clip")
        if self.missing is not None:
            draw = hidden_sampler(rbm, run.stream)
            self.missing.resample(rbm, draw, X, batch, rows.data, run.stream)
        np.dot(run.chains, rbm.weights, out=buffers.fantasy_logits)
        draw_visible(
            buffers.fantasy_logits, rbm.visible_bias, rbm.groups, run.stream,
            rows.fantasy,
        )  # fmt: skip
        np.dot(rows.visible[1:], rbm.weights.T, out=rows.logits)
        kernels.hidden_pass(
            rows.logits, rbm.hidden_bias, run.hidden_mean, rows.row_weight[1:],
            n_chains, run.stream, rows.residual, run.chains, buffers.lead,
        )  # fmt: skip
        # With the first rows, minus the visible mean and the sum of the residuals, the
        # one product is the centered gradient G of the weights; those of the biases are
        # sum of residuals - G visible_mean and sum of weights - hidden_mean G.
        np.dot(rows.residual.T, rows.visible, out=buffers.gradient)
        kernels.descend(
            buffers.gradient, rows.visible, rows.row_weight, rows.residual[0],
            buffers.lead, rate, self.l2_of(rbm.n_hidden), _PCD.centering_rate,
            rbm.weights, rbm.hidden_bias, rbm.visible_bias, run.hidden_mean,
            buffers.visible_step,
        )  # fmt: skip
        run.step += 1
        run.clock += rate


def _steps_between_draws(run: Run, n_rows: int) -> int:
    """Steps from one exact draw of the chains to the next; 0 for none."""
    # Where modes are far apart chains stay in theirs, and the fractions of the modes
    # drift, by nats. An RBM of a few hidden units has no more states than can be
    # listed; as often as this takes a fraction of the time of the steps, the chains
    # start anew from it.
    if run.rbm.n_hidden > RBM_LIMITS.max_enumerated_units:
        return 0
    return max(_PCD.min_exact_interval, 4 * 2**run.rbm.n_hidden // n_rows)


class _Rows(NamedTuple):
    """Memory of a step: its tables have a row for each chain and then each sample."""

    # But the first row of `visible` is minus the visible mean, that of `residual` the
    # sum of the others, and that of `row_weight` 0.

    visible: np.ndarray
    residual: np.ndarray
    row_weight: np.ndarray
    logits: np.ndarray
    fantasy: np.ndarray  # those rows of `visible` that are the chains'
    data: np.ndarray  # and those of the samples


class _Buffers:
    """Memory of the steps of an epoch, whose last batch may be shorter."""

    def __init__(self, run: Run, batch_size: int) -> None:
        self._n_chains, n_hidden = run.chains.shape
        n_visible = run.rbm.n_visible
        n_rows = 1 + self._n_chains + batch_size
        self._visible = np.empty((n_rows, n_visible), np.float32)
        self._visible[0] = -run.visible_mean
        self._residual = np.empty((n_rows, n_hidden), np.float32)
        self._logits = np.empty((n_rows - 1, n_hidden), np.float32)
        self._rows = {}
        self.fantasy_logits = np.empty((self._n_chains, n_visible), np.float32)
        self.gradient = np.empty((n_hidden, n_visible), np.float32)
        self.visible_step = np.empty(n_visible, np.float32)
        self.lead = np.empty(n_hidden, np.float32)

    def rows(self, n_samples: int) -> _Rows:
        """Tables of a batch: short cuts to the first rows of the memory."""
        if n_samples not in self._rows:
            samples = 1 + self._n_chains
            end = samples + n_samples
            row_weight = np.zeros(end, np.float32)
            row_weight[1:samples] = -1.0 / self._n_chains
            row_weight[samples:] = 1.0 / n_samples
            visible = self._visible[:end]
            self._rows[n_samples] = _Rows(
                visible=visible,
                residual=self._residual[:end],
                row_weight=row_weight,
                logits=self._logits[: end - 1],
                fantasy=visible[1:samples],
                data=visible[samples:],
            )
        return self._rows[n_samples]


def epochs_at_once(n_samples: int, batch_size: int) -> int:
    """Epochs between two inspections of a run: several where they are short."""
    n_steps = -(-n_samples // batch_size)
    return -(-_PCD.min_steps // n_steps)


def check_weights(weights: NDArray, step: int, learning_rate: float) -> None:
    """Refuse weights that have grown beyond all bounds, or are no numbers."""
    size = max(weights.max(initial=0.0), -weights.min(initial=0.0))
    if not size < _PCD.max_weight:
        raise ValueError(
            f"training diverged after {step} steps: the largest weight is {size:.3g}; "
            f"lower learning_rate, now {learning_rate:g}"
        )


def copy_of(rbm: RBM) -> RBM:
    """Return an RBM whose arrays can be changed without changing another's."""
    names = "weights", "hidden_bias", "visible_bias"
    return replace(rbm, **{name: getattr(rbm, name).copy() for name in names})


def new_rbm(
    X: NDArray,
    n_hidden: int,
    seed: int,
    # Visible units of each column; None where each is a column.
    groups: Groups | None = None,
) -> RBM:
    """Draw weights; set the biases so that about ten of the hidden units are 1."""
    # Units that are rarely 1 stay so: each comes to stand for something that few
    # samples have. Many units that are 1 half of the time model the data as well but
    # share its features among them, and linear models learn less from them. A few units
    # that are rarely 1 would learn too slowly, so no more than four of five are 0. The
    # inputs of its hidden units have standard deviation 1 on the data, less where there
    # are but a few visible units. Its visible biases are the log-odds of the data.
    weights = np.random.default_rng(seed).standard_normal((n_hidden, X.shape[1]))
    mean = X.mean(axis=0, dtype=np.float64)
    # Of numbers in [0, 1], by their squares: without a copy of the table.
    variance = np.einsum("ij,ij", X, X, dtype=np.float64) / len(X) - mean @ mean
    weights /= np.sqrt(max(variance, 1.0))
    activity = min(_PCD.n_active / n_hidden, _PCD.max_active_fraction)
    hidden_bias = logit(activity) - weights @ mean
    return RBM(weights, hidden_bias, data_logits(X, groups), groups)


def data_logits(X: NDArray, groups: Groups | None = None) -> NDArray:
    """Log-odds of the columns, as if each value had been seen half a time more."""
    # Those of a level are against the one below, those of a category against the first.
    groups = groups or Groups.bits(X.shape[1])
    at, before, _ = state_probabilities(X.mean(axis=0, dtype=np.float64), groups)
    odds = (at * len(X) + 0.5) / (before * len(X) + 0.5)
    return np.log(odds).astype(np.float32)


def trained(schedule: Schedule, X: NDArray, rbm: RBM, n_steps: int, seed: int) -> Run:
    """Train an RBM to the end of a run."""
    # Go on with `plan.advance` after :func:`prolonged`.
    run = schedule.begin(X, rbm, n_steps, seed)
    while not run.is_over:
        schedule.advance(run, X)
    return run


def prolonged(run: Run, n_steps: int) -> Run:
    """Run that goes on from another, with as many steps ahead."""
    return replace(run, n_steps=n_steps, step=0)


def widened(
    run: Run,
    further: RBM,  # new hidden units; its visible biases are not used
) -> Run:
    """Add hidden units to a run."""
    # The chains draw the new units with even odds.
    rbm, shape = run.rbm, (len(run.chains), further.n_hidden)
    even = np.full(shape, 0.5, np.float32)
    bits = np.empty(shape, np.float32)
    kernels.bernoulli(even, run.stream, bits)
    return replace(
        run,
        rbm=replace(
            rbm,
            weights=np.vstack([rbm.weights, further.weights]),
            hidden_bias=np.append(rbm.hidden_bias, further.hidden_bias),
            visible_bias=rbm.visible_bias.copy(),
        ),
        hidden_mean=np.append(run.hidden_mean, even[0]),
        chains=np.hstack([run.chains, bits]),
    )


def narrowed(run: Run, kept: NDArray, visible_bias: NDArray) -> Run:
    """Keep some hidden units of a run, with other visible biases."""
    rbm = run.rbm
    return replace(
        run,
        rbm=replace(
            rbm,
            weights=rbm.weights[kept],
            hidden_bias=rbm.hidden_bias[kept],
            visible_bias=visible_bias,
        ),
        hidden_mean=run.hidden_mean[kept],
        chains=np.ascontiguousarray(run.chains[:, kept]),
    )
