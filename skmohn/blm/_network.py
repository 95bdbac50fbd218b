"""Layered network: where its weights lie, what it computes, and its losses."""

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from math import inf
from numbers import Integral
from types import FunctionType
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from skmohn._core._numba import address_of, jit, make_callback, view_pointer
from skmohn._core._tuned import tuned
from skmohn._core._types import check_array
from skmohn._core._validation import is_integer, refuse_set, require_memory
from skmohn.blm import _kernels as kernels
from skmohn.blm._search import WORST, explored_fraction
from skmohn.blm._search_kernels import Search
from skmohn.blm._training_state import Codes, Evaluated, Stream, TrainingState


@dataclass(frozen=True)
class ClockConstants:
    """The clock, where there is a time limit."""

    seconds_per_check: float = tuned(0.02, "cost")


_CLOCK = ClockConstants()
# Inputs are cut there, in standard deviations, so that sums of them are numbers.
FARTHEST_INPUT: Final = 1e100
# What to do with a loss of arrays where one of two floats is needed, and the reverse.
_OR_OF_ALL: Final = " (decomposable=False if it takes all targets and outputs at once)"
_OR_OF_TWO: Final = " (decomposable=True if it takes one target and one output)"
ACTIVATIONS = {
    "identity": kernels.IDENTITY,
    "tanh": kernels.TANH,
    "logistic": kernels.LOGISTIC,
    "relu": kernels.RELU,
    "step": kernels.STEP,
}
_FUNCTIONS = {
    "identity": lambda x: x,
    "tanh": np.tanh,
    "logistic": expit,
    "relu": lambda x: np.maximum(x, 0),
    # As in training, a sum that is zero but for rounding is not above zero.
    "step": lambda x: (x > 1e-5).astype(float),
    "softmax": lambda x: softmax(x, axis=1),
}


@dataclass(frozen=True)
class Layout:
    """Layout of the weights of a network in one vector."""

    # Unit by unit, the layers in order; of each unit first the bias, then a weight for
    # each unit of the layer before, then one for each unit of its own layer if that is
    # a hidden one of a recurrent network.

    sizes: tuple  # units of each layer, from the inputs to the outputs
    # Inputs of hidden units include their layer's previous outputs.
    recurrent: bool = False

    def blocks(self) -> Iterator[tuple[int, int, int]]:
        """Numbers of units, inputs and own inputs of each layer."""
        for layer, (n_in, n_out) in enumerate(pairwise(self.sizes)):
            is_hidden = layer < len(self.sizes) - 2
            yield n_out, n_in, n_out if self.recurrent and is_hidden else 0

    @property
    def n_weights(self) -> int:
        """Number of weights, biases among them."""
        return sum(n_out * (1 + n_in + n_own) for n_out, n_in, n_own in self.blocks())

    def spread(
        self, values: NDArray[np.float64], own_values: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Spread values of layers, and of weights within them, over all weights."""
        # By default weights within a layer have a tenth of the others' value.
        if own_values is None:
            own_values = np.asarray(values) / 10.0
        pairs = zip(values, own_values, self.blocks(), strict=True)
        return np.concatenate(
            [
                np.tile(np.repeat([value, own], [1 + n_in, n_own]), n_out)
                for value, own, (n_out, n_in, n_own) in pairs
            ]
        )

    def gather(
        self, spread: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of layers and of weights within them: inverse of :meth:`spread`."""
        # Without such weights the second are those of :meth:`spread` by default.
        coefs, _, own = self.split(spread)
        values = np.array([coef[0, 0] for coef in coefs])
        own_values = values / 10.0
        own_values[: len(own)] = [within[0, 0] for within in own]
        return values, own_values

    def split(
        self, weights: NDArray
    ) -> tuple[list[NDArray], list[NDArray], list[NDArray]]:
        """Split weights: matrices (n_in, n_out), biases, matrices within layers."""
        # The first two as in scikit-learn's MLP; the last ones have shape (n_out,
        # n_out), rows being the units a step ago, and are none without recurrence.
        coefs, intercepts, own, start = [], [], [], 0
        for n_out, n_in, n_own in self.blocks():
            n_weights = n_out * (1 + n_in + n_own)
            block = weights[start : start + n_weights].reshape(n_out, -1)
            intercepts.append(block[:, 0].copy())
            coefs.append(block[:, 1 : 1 + n_in].T.copy())
            if n_own:
                own.append(block[:, 1 + n_in :].T.copy())
            start += n_weights
        return coefs, intercepts, own

    def join(
        self,
        coefs: Sequence[NDArray],
        intercepts: Sequence[NDArray],
        own: Sequence[NDArray],
    ) -> NDArray:
        """Weights in one vector: the inverse of :meth:`split`."""
        own = [*own, *[np.empty((0, len(b))) for b in intercepts[len(own) :]]]
        parts = zip(intercepts, coefs, own, strict=True)
        return np.concatenate([np.vstack(part).T.ravel() for part in parts])

    def require_memory(self, n_samples: int, n_bits: int) -> None:
        """Refuse a network that cannot be trained in the memory of this computer."""
        # Integers for each weight.
        n_bytes = (60.0 + 4.0 * n_bits) * self.n_weights
        what, way = f"A {'-'.join(map(str, self.sizes))} network", ""
        if self.recurrent:
            # Outputs of all steps, and the rows of the network of their losses.
            n_bytes += 32.0 * self.sizes[-1] * n_samples
        elif n_samples:
            # Four rows of single precision for each unit.
            n_bytes += 16.0 * (1.0 + sum(self.sizes)) * n_samples
            what, way = f"{what} on {n_samples} samples", " or fewer samples"
        require_memory(
            n_bytes,
            what,
            f"use fewer or smaller hidden layers (hidden_layer_sizes){way}",
        )

    @cached_property
    def first_units(self) -> NDArray[np.int64]:
        """First unit of each layer, and the end; unit 0 is the constant."""
        return np.cumsum([1, *self.sizes]).astype(np.int64)

    def wiring(self) -> tuple[NDArray, NDArray, NDArray]:
        """Units that the weights lead to and come from; each unit's first weight."""
        # Of a network without recurrence.
        layers = self.first_units
        target, source = [], []
        for layer, (n_in, n_out) in enumerate(pairwise(self.sizes)):
            units = np.arange(layers[layer + 1], layers[layer + 2])
            target.append(np.repeat(units, n_in + 1))
            inputs = np.arange(layers[layer], layers[layer + 1])
            source.append(np.tile(np.append(0, inputs), n_out))
        target = np.concatenate(target)
        return (
            target,
            np.concatenate(source),
            np.searchsorted(target, range(layers[-1])),
        )


def read_hidden_sizes(sizes: Any) -> tuple[int, ...]:
    """Check the parameter `hidden_layer_sizes`, a number or several; return a tuple."""
    refuse_set(sizes, "hidden_layer_sizes")
    given = sizes
    sizes = (sizes,) if isinstance(sizes, Integral) else tuple(sizes)
    if any(not is_integer(size) or size < 1 for size in sizes):
        raise ValueError(
            "hidden_layer_sizes must be integers of units, at least 1 each, got "
            f"{given!r}"
        )
    return tuple(int(size) for size in sizes)


def read_w_max(w_max: ArrayLike, n_layers: int) -> NDArray[np.float64]:
    """Check the largest weights of layers, one for each."""
    read = check_array(w_max, dtype=float, ensure_2d=False, input_name="w_max")
    if read.shape != (n_layers,) or not np.all(read > 0):
        raise ValueError(
            f"w_max must be a positive number, or one for each of the {n_layers} "
            f"layers of weights, got {w_max!r}"
        )
    return read


@cache
def address_of_own_loss(
    loss: Callable,  # of a target and an output
) -> int:
    """Compile a loss of the user, summed over the samples of an output."""
    # Returned is the address by which kernels call it. It gives NaN where `loss`
    # raises.
    element = loss
    if isinstance(loss, np.ufunc):
        element = lambda target, output: loss(target, output)  # noqa: E731
    is_compiled = hasattr(element, "py_func")
    if not (isinstance(element, FunctionType) or is_compiled):
        raise ValueError(
            f"loss must be a function of a target and an output, got {loss!r}: numba "
            "compiles neither functools.partial nor callable objects, so wrap them in "
            f"a function of floats{_OR_OF_ALL}"
        )
    if not is_compiled:
        element = numba.njit(element, error_model="numpy")
    try:
        value = float(element(1.0, 0.5))
    except (numba.NumbaError, TypeError, ValueError) as error:
        raise ValueError(
            "loss must be a function of two floats, target and output, that returns a "
            f"float and that numba can compile{_OR_OF_ALL}: {error}"
        ) from error
    if np.isnan(value):
        raise ValueError(
            f"loss must return a number for two floats, not NaN{_OR_OF_ALL}"
        )

    @jit(is_cached=False, **kernels.BY_ADDRESS)
    def sum_of_row(
        t: Any,
        rows: Any,
        k: Any,
        y: Any,
        weight: Any,
        work: Any,
        n: Any,
        n_outputs: Any,
        p: Any,
        is_even: Any,
    ) -> Any:
        now, own, total = rows[k] * n, k * n, 0.0
        try:
            for d in range(n):
                total += weight[d] * element(float(y[own + d]), float(t[now + d]))
        except Exception:
            return np.nan
        return total

    return address_of(sum_of_row, kernels.LOSS)


def address_of_loss(loss: int) -> int:
    """Address by which the kernels call one of their own losses; compiles it."""
    return address_of(kernels.LOSSES[loss], kernels.LOSS)


def address_of_activation(activation: int) -> int:
    """Address by which the kernels call an activation; compiles it."""
    return address_of(kernels.ACTIVATIONS[activation], kernels.ACTIVATION)


def refresh(net: Any) -> float:
    """Recompute all rows and the loss, free of accumulated rounding. O(P D)."""
    layers = range(1, len(net.activation))
    squares = sum(kernels.compute(net.address, layer) for layer in layers)
    penalty = net.penalties[0] = net.price * squares
    return kernels.sum_losses(net.address, False, -1) + penalty


def activate(outputs: NDArray[np.float64], activation: str) -> NDArray[np.float64]:
    """Outputs of units, given what comes in: shape (n_samples, n_units)."""
    return _FUNCTIONS[activation](outputs)


def forward(
    X: NDArray[np.float64],  # (n_samples, n_inputs)
    coefs: Sequence[NDArray],
    intercepts: Sequence[NDArray],
    activation: str,
    out_activation: str,
) -> NDArray[np.float64]:
    """Outputs of a network in double precision."""
    hidden = X
    for layer, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
        last = layer == len(coefs) - 1
        hidden = hidden @ coef + intercept
        hidden = activate(hidden, out_activation if last else activation)
    return hidden


class OutputLoss:
    """Loss of all targets and outputs, as kernels call it."""

    def __init__(
        self,
        function: Callable[..., float],
        y: NDArray[np.float32],  # (n_samples, n_outputs)
        # (n_samples,); zero where an output has no target.
        sample_weight: NDArray[np.float32],
    ) -> None:
        self._function = function
        self._kept = np.flatnonzero(sample_weight > 0)
        self._n_outputs = y.shape[1]
        self._y = self._in_form(y.T.astype(np.float64))
        self._params = _read_weights(function, sample_weight[self._kept])
        # What the function has raised: no exception passes through compiled code.
        self._error: BaseException | None = None
        self._is_first = True  # call of the function
        # Kernels have the address alone: this object has to outlive their calls.
        self.address, self._callback = make_callback(self._evaluate, kernels.LOSS)

    def raise_error(self) -> None:
        """Raise what the function has raised, if anything."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _in_form(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of outputs as they are returned, a column for each of several."""
        return rows[0, self._kept] if self._n_outputs == 1 else rows[:, self._kept].T

    def _evaluate(self, t: Any, rows: Any, *arguments: Any) -> float:
        """Call the function with rows of a network: a C function as `LOSS` is."""
        n_samples = arguments[4]
        if self._error is not None:
            return np.nan
        try:
            picked = view_pointer(rows, np.int64, 0, self._n_outputs)
            outputs = [
                view_pointer(t, np.float32, int(row) * n_samples, n_samples)
                for row in picked
            ]
            outputs = self._in_form(np.array(outputs, dtype=np.float64))
            return self._call(outputs)
        except BaseException as error:
            self._error = error
            return np.nan

    def _call(self, outputs: NDArray[np.float64]) -> float:
        """Call the function; refuse one that takes no arrays, or returns no number."""
        is_first, self._is_first = self._is_first, False
        # The function may change what it gets, such as sort it.
        params = {name: values.copy() for name, values in self._params.items()}
        try:
            found: Any = self._function(self._y.copy(), outputs, **params)
        except (TypeError, ValueError) as error:
            if not is_first:
                raise
            raise ValueError(
                "loss with decomposable=False is called with arrays of all targets and "
                f"outputs, and raises {type(error).__name__}: {error}{_OR_OF_TWO}"
            ) from error
        try:
            return float(found)
        except (TypeError, ValueError) as error:
            kind, shape = type(found).__name__, getattr(found, "shape", None)
            shown = f"an array of shape {shape}" if shape else f"a {kind}"
            raise ValueError(
                "loss with decomposable=False must return one number for all targets "
                f"and outputs, such as their mean, not {shown}{_OR_OF_TWO}"
            ) from error


def _read_weights(
    function: Callable[..., float], sample_weight: NDArray[np.float32]
) -> dict[str, Any]:
    """Weights of samples for a function, if they differ or it requires them."""
    are_even = np.all(sample_weight == sample_weight[0])
    weights = {"sample_weight": sample_weight.astype(np.float64)}
    try:
        found = inspect.signature(function).parameters.get("sample_weight")
    except (TypeError, ValueError):  # some compiled functions have none to look at
        return {} if are_even else weights
    if are_even and (found is None or found.default is not found.empty):
        return {}
    if found is None:
        raise ValueError(
            "the weights of samples differ (sample_weight, class_weight): then a loss "
            "of all outputs needs a parameter sample_weight"
        )
    return weights


@dataclass(frozen=True, kw_only=True)
class DatasetProblem:
    """Problem of learning from samples, exactly evaluated."""

    layout: Layout
    step: NDArray[np.float64]  # (n_weights,); weight of one unit of each code
    activation: str  # of the hidden units
    loss: int  # a loss of the kernels
    X: NDArray[np.float32]  # (n_samples, n_inputs), float32
    y: NDArray[np.float32]  # (n_samples, n_outputs), float32
    sample_weight: NDArray[np.float32]  # (n_samples,), float32
    loss_number: float = 0.0  # its parameter
    # Loss of the user, if ``loss`` is OWN, of a target and an output, or OWN_OF_ALL.
    own_loss: Callable[..., float] | None = None
    alpha: float = 0.0  # price of the squared weights, as in scikit-learn's MLP

    # Evaluations are exact, of one stage.
    is_noisy = False
    last_stage = 0

    def connect(self, weights: NDArray[np.float64]) -> Any:
        """Network with these weights, its rows still to be computed."""
        layers, n_samples = self.layout.first_units, len(self.X)
        now = np.arange(layers[-1])
        # The constant and the inputs never change.
        on_trial = np.where(now < layers[1], now, now + layers[-1] - layers[1])
        n_rows = 2 * layers[-1] - layers[1]
        pre = np.zeros((n_rows + 1, n_samples), dtype=np.float32)
        out = np.zeros((n_rows, n_samples), dtype=np.float32)
        out[0] = 1.0
        out[1 : layers[1]] = self.X.T
        total, n_outputs = self.total_weight, self.y.shape[1]
        is_even = bool(np.all(self.sample_weight == self.sample_weight[0]))
        target, source, first = self.layout.wiring()
        return kernels.Network(
            layers=layers,
            target=target,
            source=source,
            first=first,
            layer=np.searchsorted(layers, now, side="right") - 1,
            activation=np.array(self._activation_addresses()),
            weights=np.array(weights, dtype=np.float32),
            now=now,
            trial=on_trial,
            pre=pre,
            out=out,
            y=np.ascontiguousarray(self.y.T),
            sample_weight=self.sample_weight,
            losses=np.zeros(n_outputs),
            trial_losses=np.zeros(n_outputs),
            picked=np.zeros(n_outputs, dtype=np.int64),
            penalties=np.zeros(2),
            n_layers=len(self.layout.sizes),
            n_rows=n_rows,
            n_samples=n_samples,
            n_outputs=n_outputs,
            loss=self._loss_address(),
            together=self.loss in kernels.TOGETHER,
            is_even=is_even,
            loss_number=np.float32(self.loss_number),
            divisor=self.divisor,
            price=0.5 * self.alpha / total,
        )

    @cached_property
    def total_weight(self) -> float:
        """Weight of all samples."""
        return float(self.sample_weight.sum(dtype=np.float64))

    @property
    def divisor(self) -> float:
        """Divisor of the sum of the losses of all samples and outputs."""
        if self.loss == kernels.OWN_OF_ALL:
            return 1.0
        # Means over samples; cross-entropies and misses are sums over the outputs.
        is_sum = self.loss in (*kernels.TOGETHER, kernels.CROSS_ENTROPY)
        return self.total_weight * (1 if is_sum else self.y.shape[1])

    @cached_property
    def output_loss(self) -> OutputLoss | None:
        """Loss of the user that takes all outputs, if it is one."""
        if self.own_loss is None or self.loss != kernels.OWN_OF_ALL:
            return None
        return OutputLoss(self.own_loss, self.y, self.sample_weight)

    def _raise_error(self) -> None:
        """Raise what a loss of the user has raised."""
        if self.output_loss is not None:
            self.output_loss.raise_error()

    def _activation_addresses(self) -> list[int]:
        """Addresses by layer; the losses apply the activation of the outputs."""
        n_hidden = len(self.layout.sizes) - 2
        kinds = n_hidden * [ACTIVATIONS[self.activation]] + [kernels.NONE]
        return [0, *map(address_of_activation, kinds)]

    def _loss_address(self) -> int:
        if self.output_loss is not None:
            return self.output_loss.address
        if self.own_loss is not None:
            return address_of_own_loss(self.own_loss)
        return address_of_loss(self.loss)

    def refresh(self, net: Any) -> float:
        """Compute a network anew; return its loss."""
        loss = refresh(net)
        self._raise_error()
        return loss

    def search(self, search: Search, net: Any, n_moves: int) -> bool:
        """Try moves of a search; return whether there may be further ones."""
        more = kernels.run(search.address, net.address, self.step, n_moves)
        self._raise_error()
        return more

    def evaluate(self, codes: Codes, bound: float = inf) -> float:
        """Loss of the network with these codes; no bound makes it quicker."""
        return _finite(self.refresh(self.connect(codes * self.step)))

    def price(self, weights: NDArray[np.float64]) -> float:
        """Penalty of the size of the weights in the loss."""
        coefs, _, own = self.layout.split(weights)
        squares = sum(float((coef**2).sum()) for coef in (*coefs, *own))
        return 0.5 * self.alpha * squares / float(self.sample_weight.sum())

    # ------------------------------------------------------------------- training

    def rng(self, state: TrainingState, stream: Stream) -> np.random.Generator:
        """Stream of random numbers of a run, the only one."""
        if state.rng is None:
            state.rng = np.random.default_rng(state.seed)
        return state.rng

    def prepare(self, state: TrainingState) -> None:
        """Make the network of the present codes."""
        state.network = self.connect(state.search.codes * self.step)
        self.refresh(state.network)

    def restart(self, state: TrainingState, codes: Codes) -> float:
        """Set other codes of the network; return their loss, finite."""
        if state.network is None:
            state.network = self.connect(codes * self.step)
        state.network.weights[:] = codes * self.step
        return _finite(self.refresh(state.network))

    def reevaluate(self, state: TrainingState, codes: Evaluated) -> Evaluated:
        """Change nothing: another evaluation returns the same loss."""
        return codes

    def descend(self, state: TrainingState, end: float, deadline: float) -> bool:
        """Try moves up to `end` evaluations; return whether none improves."""
        search, net, more = state.search, state.network, True
        # With a time limit, run in chunks small enough to check the clock.
        n_tries = end if deadline == inf else 1
        while more and (left := end - int(search.state[0].tried)) > 0:
            started = time.perf_counter()
            if started >= deadline:
                break
            more = self.search(search, net, int(min(n_tries, left)))
            if time.perf_counter() - started < _CLOCK.seconds_per_check:
                n_tries *= 2
        # Free of the rounding errors that single moves leave behind.
        state.loss = _finite(self.refresh(net))
        state.evaluations = int(search.state[0].tried)
        return not more

    def next_stage(self, state: TrainingState, reason: str | None) -> bool:
        """End the run for a reason: there is one stage."""
        state.stopping_reason = reason
        return False

    def record(self, state: TrainingState) -> dict[str, Any]:
        """Record of an epoch for the history."""
        search, validated = state.search.state[0], state.validated
        codes, loss, _ = state.lowest
        error = max(loss - self.price(codes * self.step), 0.0)
        is_squared = self.loss in (kernels.SQUARED, kernels.LOGISTIC_SQUARED)
        return {
            "loss": float(loss),
            "rmse": float(np.sqrt(2.0 * error)) if is_squared else None,
            "validation_loss": None if validated is None else validated.loss,
            "bits": int(search.bits),
            "explored": explored_fraction(state.search),
            "flips": int(search.tried),
            "accepted": int(search.accepted),
        }


def _finite(loss: float) -> float:
    """Comparable loss: NaN becomes the worst one."""
    return loss if loss < WORST else WORST
