"""Start of a search: codes by quantization-aware training, or by a smoother loss."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, inf
from typing import Any, Final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit, softmax

from skmohn._core._tuned import tuned
from skmohn.blm import _kernels as kernels
from skmohn.blm._codec import code_range
from skmohn.blm._local_search import Trainer, train
from skmohn.blm._network import DatasetProblem, activate
from skmohn.blm._search import SearchOptions
from skmohn.blm._training_state import Codes

# Sources: the straight-through estimator of Bengio, Leonard and Courville,
# arXiv:1308.3432 (2013), on weights within their range, as in Courbariaux, Bengio and
# David, "BinaryConnect", NeurIPS (2015), section 2.4; first weights of Glorot and
# Bengio, AISTATS (2010), Eq 16.


@dataclass(frozen=True)
class StartConstants:
    """Choice of the start."""

    # Weights from which on gradients choose it.
    min_weights: int = tuned(1000, "benchmarks/blm/large_tables.py")
    # Of the moves, and of the seconds if they are limited, by a smooth loss.
    smooth_fraction: float = tuned(0.5, "benchmarks/blm/losses.py")


_START = StartConstants()

Starts = Sequence[Codes | None]
# Seed and start of each.
Runs = Sequence[tuple[Sequence[int], Codes | None]]


def starts_quantized(
    problem: DatasetProblem, options: SearchOptions, search: str
) -> bool:
    """Whether gradients choose the start; refuse it where there are none."""
    if options.init == "quantized":
        if has_gradient(problem):
            return True
        raise ValueError(
            'init="quantized" needs gradients, which callable losses, activation='
            '"step" and recurrent networks do not have here: set init="bounded"'
        )
    # Published searches, and starts that the user has described, stay as they are.
    is_described = options.w_init != "auto" or options.sparsity > 0
    is_published = search != "adaptive" or options.telescopic not in ("auto", None)
    if options.init != "auto" or is_described or is_published:
        return False
    return has_gradient(problem) and problem.layout.n_weights >= _START.min_weights


def find_quantized_starts(
    trainer: Trainer[DatasetProblem],
    seeds: Sequence[Sequence[int]],
    n_jobs: int | None,
    deadline: float,
) -> Starts:
    """Codes of quantization-aware training for each run."""
    # Apart from the random numbers of the search.
    sequences = [np.random.SeedSequence(seed).spawn(1)[0] for seed in seeds]
    parallel: Any = Parallel(n_jobs=n_jobs, prefer="threads")
    return parallel(
        delayed(train_quantized)(
            trainer.problem,
            trainer.moves.n_bits,
            np.random.default_rng(sequence),
            deadline,
        )
        for sequence in sequences
    )


def split_moves(
    trainer: Trainer[DatasetProblem], smooth: dict[str, Any]
) -> tuple[Trainer[DatasetProblem], Trainer[DatasetProblem]]:
    """Trainer with a smooth loss for the first moves, and that for the others."""
    n_first = int(_START.smooth_fraction * trainer.max_flips)
    validation = trainer.validation
    if isinstance(validation, DatasetProblem):
        # Validation losses are without a penalty.
        validation = replace(validation, **{**smooth, "alpha": 0.0})
    first = replace(
        trainer,
        problem=replace(trainer.problem, **smooth),
        validation=validation,
        max_flips=n_first,
    )
    return first, replace(trainer, max_flips=trainer.max_flips - n_first)


def find_smooth_starts(
    trainer: Trainer[DatasetProblem],  # with the smooth loss
    seeds: Sequence[Sequence[int]],
    starts: Starts,
    n_jobs: int | None,
    deadline: float,
) -> Starts:
    """Codes that the search with a smooth loss ends with, for each run."""
    if deadline < inf:
        now = time.perf_counter()
        deadline = now + _START.smooth_fraction * (deadline - now)
    pairs = enumerate(zip(seeds, starts, strict=True))
    states = [trainer.begin(seed, start, index) for index, (seed, start) in pairs]
    states, _ = train(
        trainer,
        states,
        order="parallel",
        n_jobs=n_jobs,
        report=lambda advanced, best: False,
        deadline=deadline,
    )
    return [state.best_codes for state in sorted(states, key=lambda each: each.index)]


_Array = NDArray[np.floating]


@dataclass(frozen=True)
class StraightThroughConstants:
    """Length and rates of quantization-aware training."""

    n_epochs: int = tuned(120, "benchmarks/blm/large_tables.py")
    # Fraction of the epochs in which weights are not yet rounded.
    unrounded_fraction: float = tuned(0.4, "benchmarks/blm/large_tables.py")
    # First rate of Adam in either part; it falls to zero as a cosine.
    rate: float = tuned(0.02, "benchmarks/blm/large_tables.py")
    batch_size: int = tuned(64, "benchmarks/blm/large_tables.py")
    # Most of the seconds that are left, where time is limited.
    time_fraction: float = tuned(0.5, "benchmarks/blm/large_tables.py")


_TRAINING = StraightThroughConstants()
# Adam, with the constants of its authors (Kingma and Ba 2015, algorithm 1).
_DECAYS: Final = 0.9, 0.999
_MIN_DIVISOR: Final = 1e-8


def _logistic_squared(t: _Array, y: _Array, number: float) -> _Array:
    output = expit(t)
    return (output - y) * output * (1 - output)


def _hinge(t: _Array, y: _Array, number: float) -> _Array:
    sign = 2 * y - 1
    return np.where(sign * t < 1, -sign, 0)


# Slopes of the losses of samples by the outputs before their activation, given these,
# the targets and the parameter of the loss.
_LOSS_SLOPES: dict[int, Callable[[_Array, _Array, float], _Array]] = {
    kernels.SQUARED: lambda t, y, number: t - y,
    kernels.ABSOLUTE: lambda t, y, number: np.sign(t - y),
    kernels.HUBER: lambda t, y, number: np.clip(t - y, -number, number),
    kernels.PINBALL: lambda t, y, number: np.where(y > t, -number, 1 - number),
    kernels.LOGISTIC_SQUARED: _logistic_squared,
    kernels.CROSS_ENTROPY: lambda t, y, number: expit(t) - y,
    kernels.HINGE: _hinge,
    kernels.SOFTMAX: lambda t, y, number: softmax(t, axis=1) - y,
}
# Slopes of activations, given what they return.
_ACTIVATION_SLOPES: dict[str, Callable[[_Array], _Array]] = {
    "identity": np.ones_like,
    "tanh": lambda h: 1 - h * h,
    "logistic": lambda h: h * (1 - h),
    "relu": lambda h: (h > 0).astype(h.dtype),
}


def has_gradient(problem: DatasetProblem) -> bool:
    """Whether the loss of a problem has a gradient that is known here."""
    return (
        not problem.layout.recurrent
        and problem.loss in _LOSS_SLOPES
        and problem.activation in _ACTIVATION_SLOPES
    )


def compute_gradients(
    problem: DatasetProblem,
    layers: list[_Array],  # (1 + n_in, n_out) each; the first rows are the biases
    batch: NDArray[np.integer] | slice = slice(None),  # samples that stand for all
) -> list[_Array]:
    """Gradients of the loss by the weights."""
    dtype, weights = layers[0].dtype, problem.sample_weight[batch]
    units = [problem.X[batch].astype(dtype, copy=False)]
    for layer in layers[:-1]:
        units.append(activate(units[-1] @ layer[1:] + layer[0], problem.activation))
    outputs = units[-1] @ layers[-1][1:] + layers[-1][0]
    fraction = weights.sum(dtype=np.float64) / problem.total_weight
    scales = (weights / (fraction * problem.divisor)).astype(dtype)
    targets = problem.y[batch].astype(dtype, copy=False)
    slopes = _LOSS_SLOPES[problem.loss](outputs, targets, float(problem.loss_number))
    slopes = slopes * scales[:, None]
    gradients = []
    for below, layer in zip(reversed(units), reversed(layers), strict=True):
        gradient = np.vstack([slopes.sum(axis=0), below.T @ slopes])
        gradient[1:] += problem.alpha / problem.total_weight * layer[1:]
        gradients.append(gradient)
        slopes = slopes @ layer[1:].T * _ACTIVATION_SLOPES[problem.activation](below)
    return gradients[::-1]


def train_quantized(
    problem: DatasetProblem,
    n_bits: int,
    rng: np.random.Generator,
    deadline: float = inf,  # reading of `time.perf_counter`
) -> NDArray[np.int64]:
    """Codes of a network that gradients have trained, shape (n_weights,)."""
    layers = _draw_layers(problem.layout.sizes, rng)
    steps = problem.layout.gather(problem.step)[0]
    limits = [step * np.array(code_range(n_bits), np.float32) for step in steps]
    started = time.perf_counter()
    compute_gradients(problem, layers, slice(_TRAINING.batch_size))
    n_epochs = _count_epochs(problem, time.perf_counter() - started, deadline)
    n_unrounded = ceil(_TRAINING.unrounded_fraction * n_epochs)
    for is_rounded, n in (False, n_unrounded), (True, n_epochs - n_unrounded):
        adam = _Adam(layers)
        for batch, rate in _batches(len(problem.X), n, rng):
            seen = layers
            if is_rounded:
                seen = [quantize(*pair)[1] for pair in zip(layers, steps, strict=True)]
            adam.step(compute_gradients(problem, seen, batch), rate)
            for layer, (low, high) in zip(layers, limits, strict=True):
                np.clip(layer, low, high, out=layer)
    codes = [quantize(*pair)[0] for pair in zip(layers, steps, strict=True)]
    coefs, intercepts = [code[1:] for code in codes], [code[0] for code in codes]
    return problem.layout.join(coefs, intercepts, []).astype(np.int64)


def quantize(layer: _Array, step: float) -> tuple[_Array, _Array]:
    """Round weights within their range: codes, and the weights of these."""
    codes = np.rint(layer / np.float32(step))
    return codes, (codes * np.float64(step)).astype(np.float32)


def _draw_layers(sizes: tuple[int, ...], rng: np.random.Generator) -> list[_Array]:
    layers: list[_Array] = []
    for n_in, n_out in pairwise(sizes):
        bound = np.sqrt(6 / (n_in + n_out))
        layers.append(rng.uniform(-bound, bound, (1 + n_in, n_out)).astype(np.float32))
    return layers


def _count_epochs(
    problem: DatasetProblem, seconds_per_batch: float, deadline: float
) -> int:
    """Epochs to train for: fewer where the time is limited."""
    seconds = _TRAINING.time_fraction * (deadline - time.perf_counter())
    if seconds == inf:
        return _TRAINING.n_epochs
    n_batches = ceil(len(problem.X) / _TRAINING.batch_size)
    n_affordable = int(max(seconds, 0.0) / (seconds_per_batch * n_batches))
    return min(n_affordable, _TRAINING.n_epochs)


def _batches(
    n_samples: int, n_epochs: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.integer], float]]:
    """Samples and rate of each step."""
    n_batches = ceil(n_samples / _TRAINING.batch_size)
    for epoch in range(n_epochs):
        order = rng.permutation(n_samples)
        for index, batch in enumerate(np.array_split(order, n_batches)):
            done = (epoch + index / n_batches) / n_epochs
            yield batch, _TRAINING.rate * (1 + np.cos(np.pi * done)) / 2


class _Adam:
    """Adam, which changes parameters in place."""

    def __init__(self, parameters: list[_Array]) -> None:
        self.parameters = parameters
        self.means = [np.zeros_like(each) for each in parameters]
        self.squares = [np.zeros_like(each) for each in parameters]
        self.n_steps = 0

    def step(self, gradients: list[_Array], rate: float) -> None:
        """Make a step of this rate."""
        self.n_steps += 1
        first, second = _DECAYS
        rate *= float(np.sqrt(1 - second**self.n_steps) / (1 - first**self.n_steps))
        moments = zip(self.parameters, self.means, self.squares, gradients, strict=True)
        for parameter, mean, square, gradient in moments:
            mean += (1 - first) * (gradient - mean)
            square += (1 - second) * (gradient * gradient - square)
            parameter -= rate * mean / (np.sqrt(square) + _MIN_DIVISOR)
