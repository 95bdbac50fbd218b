"""Network of a device: the codes of the weights, and their scales."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._types import TableLike
from skmohn.blm._codec import grid_step
from skmohn.blm._inputs import InputCoding
from skmohn.blm._labels import Labels
from skmohn.blm._network import Layout

# Activations whose outputs may be of any size.
UNBOUNDED = ("relu", "identity")


class Codes(NamedTuple):
    """Integers of one layer of weights."""

    weights: np.ndarray  # (n_out, n_in)
    biases: np.ndarray  # (n_out,)
    own: np.ndarray | None  # (n_out, n_out), from the units a step ago


@dataclass(frozen=True, kw_only=True)
class Network:
    """Trained networks, whose mean output is the prediction."""

    layout: Layout
    n_bits: int
    members: list
    steps: np.ndarray  # (n_layers,); weight of one unit of a code
    own_steps: np.ndarray  # (n_layers,); that of weights within a layer
    activation: str  # of the hidden units
    out_activation: str  # of the outputs, also "softmax"
    # (n_inputs,); inputs of the network are ``(x - mean) / scale``.
    input_mean: np.ndarray
    input_scale: np.ndarray
    output_mean: np.ndarray  # (n_outputs,); predictions are ``outputs * scale + mean``
    output_scale: np.ndarray
    is_standardized: bool  # inputs of the network are of variance 1
    tie: float  # largest sum that a step takes for zero
    labels: Labels | None  # of classifiers
    # The last inputs are categories in groups of these sizes: of each at most one is 1
    # before it is standardized, the others 0.
    groups: tuple = ()

    @property
    def n_numbers(self) -> int:
        """Number of inputs that are no categories."""
        return self.layout.sizes[0] - sum(self.groups)

    @property
    def zeros(self) -> NDArray[np.float64]:
        """Inputs of the network for zeros of categories."""
        return (-self.input_mean / self.input_scale)[self.n_numbers :]

    @property
    def ones(self) -> NDArray[np.float64]:
        """Difference between a one of a category and its zero."""
        return 1.0 / self.input_scale[self.n_numbers :]

    def with_categories(
        self,
        columns: NDArray[np.integer],  # (n_inputs,)
        groups: tuple[int, ...],
    ) -> Self:
        """Network with its inputs in another order, the last of them categories."""
        members = [
            [first._replace(weights=first.weights[:, columns]), *others]
            for first, *others in self.members
        ]
        return replace(
            self,
            members=members,
            input_mean=self.input_mean[columns],
            input_scale=self.input_scale[columns],
            groups=groups,
        )

    @property
    def n_layers(self) -> int:
        """Number of layers of weights."""
        return len(self.layout.sizes) - 1

    @property
    def has_states(self) -> bool:
        """Whether hidden units receive their outputs of the step before."""
        return self.layout.recurrent and self.n_layers > 1

    @property
    def answers_raw(self) -> bool:
        """Whether sums may replace outputs."""
        # Of classes nothing but the order counts. Several networks predict the mean of
        # their probabilities, which sums cannot stand for.
        if self.out_activation == "identity":
            return True
        return self.labels is not None and len(self.members) == 1


@dataclass(frozen=True)
class OutputDecoder:
    """Decoder of the outputs of a device."""

    labels: Labels | None  # of classifiers
    has_probabilities: bool = False  # outputs are probabilities
    threshold: float = 0.0  # labels apply above it, in units of the outputs


def split_codes(layout: Layout, codes: ArrayLike) -> list[Codes]:
    """Codes of each layer, given those of all weights in one vector."""
    weights, biases, own = layout.split(np.asarray(codes, dtype=np.int64))
    own = [part.T for part in own] + [None] * (len(biases) - len(own))
    return [
        Codes(part.T, bias, within)
        for part, bias, within in zip(weights, biases, own, strict=True)
    ]


def _center_and_spread(
    scaler: Any, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if scaler is None:
        return np.zeros(size), np.ones(size)
    return scaler.mean_, scaler.scale_


def of_estimator(
    model: Any,
    made_with: dict[str, Any],  # parameters of its last fit
    labels: Labels | None = None,
) -> Network:
    """Network of a fitted classifier or regressor."""
    sizes = model._inputs.n_inputs, *made_with["hidden_layer_sizes"], model.n_outputs_
    layout = Layout(sizes, made_with["recurrent"])
    steps = grid_step(made_with["n_bits"], model.w_max_)
    spread = layout.spread(steps)
    members = [
        split_codes(layout, np.rint(layout.join(*_parts(member)) / spread))
        for member in model.members_
    ]
    input_mean, input_scale = _center_and_spread(model.input_scaler_, sizes[0])
    output_mean, output_scale = _center_and_spread(model.target_scaler_, sizes[-1])
    return Network(
        layout=layout,
        n_bits=made_with["n_bits"],
        members=members,
        steps=steps,
        own_steps=steps / 10.0,
        activation=made_with["activation"],
        out_activation=model.out_activation_,
        input_mean=input_mean,
        input_scale=input_scale,
        output_mean=output_mean,
        output_scale=output_scale,
        is_standardized=model.input_scaler_ is not None,
        tie=0.0 if made_with["recurrent"] else 1e-5,
        labels=labels,
    )


def _parts(member: tuple) -> tuple:
    """Matrices, biases, and matrices within layers, if any, of a member."""
    return (*member, []) if len(member) == 2 else member


def of_controller(
    codes: NDArray[np.integer],  # (n_weights,)
    made_with: dict[str, Any],  # its parameters, and the step of each weight
) -> Network:
    """Network of a fitted controller."""
    layout = Layout(made_with["layers"], made_with["recurrent"])
    steps, own_steps = layout.gather(made_with["w_max"])
    n_inputs, n_outputs = layout.sizes[0], layout.sizes[-1]
    return Network(
        layout=layout,
        n_bits=made_with["n_bits"],
        members=[split_codes(layout, codes)],
        steps=steps,
        own_steps=own_steps,
        activation=made_with["activation"],
        out_activation=made_with["out_activation"],
        input_mean=np.zeros(n_inputs),
        input_scale=np.ones(n_inputs),
        output_mean=np.zeros(n_outputs),
        output_scale=np.ones(n_outputs),
        is_standardized=False,
        tie=0.0,
        labels=None,
    )


def read_numbers(model: Any, X: TableLike) -> NDArray[np.float64]:
    """Read a table as a fitted BLM estimator does, with numbers of categories."""
    return model._rows_of(X)[0] if model._inputs is None else model._table_of(X)[0]


def input_names(model: Any) -> list[str]:
    """Names of the inputs of the network of a fitted BLM estimator."""
    return model._input_names()


def coding_of(model: Any) -> InputCoding | None:
    """Coding of columns as inputs of a network; None if they are these."""
    return model._inputs


def network_of(model: Any) -> Network:
    """Network of any fitted BLM estimator."""
    return model._device_network()


def answer(
    network: Network,
    # Maps rows and the states of their networks, a list of arrays of shape (n_rows,
    # n_units), which it replaces, to outputs.
    step: Callable[[NDArray, list[NDArray] | None], NDArray],
    rows: NDArray,  # (n_rows, n_inputs)
    lengths: NDArray[np.int64],  # (n_sequences,); rows of each
    # Outputs of the units of each hidden layer before the first step.
    zero_points: Sequence[float | np.floating],
) -> NDArray:
    """Outputs for rows, step by step if the network is recurrent."""
    if not network.layout.recurrent:
        return step(rows, None)
    hidden = list(zip(network.layout.sizes[1:-1], zero_points, strict=True))
    states = [
        np.full((len(lengths), size), value)
        for size, value in hidden * len(network.members)
    ]
    starts = np.cumsum(lengths) - lengths
    outputs: Any = None
    for time in range(lengths.max()):
        continues = np.flatnonzero(lengths > time)
        now = [part[continues] for part in states]
        indices = starts[continues] + time
        answers = step(rows[indices], now)
        if outputs is None:
            outputs = np.empty((len(rows), answers.shape[1]), dtype=answers.dtype)
        outputs[indices] = answers
        for part, changed in zip(states, now, strict=True):
            part[continues] = changed
    return outputs


class StatesOf:
    """Part of a list of states that belongs to a member."""

    def __init__(
        self, states: list[NDArray] | None, network: Network, member: int
    ) -> None:
        self.states, self.first = states or [], member * (network.n_layers - 1)

    def __getitem__(self, depth: int) -> NDArray:
        return self.states[self.first + depth]

    def __setitem__(self, depth: int, state: NDArray) -> None:
        self.states[self.first + depth] = state
