"""Networks in single precision, step for step as the C computes them."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn.blm import _kernels as kernels
from skmohn.blm._device.categories import Categories
from skmohn.blm._device.inputs import InputSpec, cut, standardized
from skmohn.blm._device.network import UNBOUNDED, Codes, Network, StatesOf, answer

_0, _1, _HALF = (np.float32(x) for x in (0, 1, 0.5))
# Half of the largest number: so much is left for the rounding of sums.
_MOST = float(np.finfo(np.float32).max) / 2.0


@dataclass(frozen=True, kw_only=True)
class FloatProgram:
    """Program of networks in single precision."""

    network: Network
    kind: str  # type of the inputs
    # (n_inputs,), float32; inputs of the network are ``(v - mean) * inverse``.
    mean: np.ndarray
    inverse: np.ndarray
    # Inputs of the network are cut at +-limit: then no sum overflows. So are the
    # outputs of unbounded units that have a state.
    limit: np.float32
    categories: Categories
    biases: list  # (n_out,); of each member and layer, in the units of its weights
    scale: np.ndarray  # (n_outputs,), float32; of the sum of the outputs of all members
    offset: np.ndarray  # (n_outputs,), float32

    def inputs(self, raw: NDArray) -> NDArray[np.float32]:
        """Inputs of the first layer, of rows that the device reads."""
        n = self.network.n_numbers
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = (raw[:, :n].astype(np.float32) - self.mean) * self.inverse
        numbers = cut(numbers, self.limit)
        return np.hstack([numbers, self.categories.expand(raw[:, n:])])

    @property
    def cuts_states(self) -> bool:
        """Whether units have states that could grow from step to step."""
        network = self.network
        return network.has_states and network.activation in UNBOUNDED

    @property
    def last_activation(self) -> str:
        """Activation of the sums of the outputs."""
        raw = self.network.answers_raw
        return "identity" if raw else self.network.out_activation

    @property
    def output_scale(self) -> NDArray[np.float64]:
        """Value of one unit of an output: shape (n_outputs,)."""
        return np.ones(len(self.scale))

    @property
    def output_offset(self) -> NDArray[np.float64]:
        """Value of an output of zero: shape (n_outputs,)."""
        return np.zeros(len(self.scale))


def in_single(network: Network, reader: InputSpec) -> FloatProgram:
    """Lay a network out in single precision."""
    mean, inverse = standardized(reader, network)
    scale = network.output_scale / len(network.members)
    biases = [_biases(member, network) for member in network.members]
    return FloatProgram(
        network=network,
        kind=reader.kind,
        mean=mean,
        inverse=inverse,
        limit=_limit(network, biases),
        categories=Categories(network.groups, network.ones.astype(np.float32)),
        biases=biases,
        scale=scale.astype(np.float32),
        offset=network.output_mean.astype(np.float32),
    )


def _biases(member: list[Codes], network: Network) -> list[NDArray]:
    """Biases of each layer of a member, including the zeros of categories."""
    if not network.groups:
        return [codes.biases for codes in member]
    zeros = member[0].weights[:, network.n_numbers :] @ network.zeros
    first = (member[0].biases + zeros).astype(np.float32)
    return [first, *(codes.biases for codes in member[1:])]


def _limit(network: Network, biases: list[list[NDArray]]) -> np.float32:
    """Largest power of two at which inputs may be cut so that no sum overflows."""
    power = bisect_left(
        range(127), _MOST, key=lambda power: _largest_sum(network, biases, 2.0**power)
    )
    if power == 0:
        raise ValueError(
            "weights or targets are so large that sums overflow single precision: use "
            "a smaller w_max, or other units of y"
        )
    return np.float32(2.0 ** (power - 1))


def _largest_sum(network: Network, biases: list[list[NDArray]], limit: float) -> float:
    """Bound of all sums, and parts of them, if inputs are cut at a limit."""
    numbers, found = np.full(network.n_numbers, limit), [0.0]
    for member, of_layers in zip(network.members, biases, strict=True):
        inputs = np.concatenate([numbers, network.ones])
        for depth, codes in enumerate(member):
            sums = np.abs(codes.weights) @ inputs + np.abs(of_layers[depth])
            found.append(sums.max())
            sums = sums * network.steps[depth]
            is_unbounded = network.activation in UNBOUNDED
            if codes.own is not None:
                state = limit if is_unbounded else 1.0
                within = np.abs(codes.own).sum(axis=1) * state
                found.append(within.max())
                sums = sums + within * network.own_steps[depth]
            found.append(sums.max())
            inputs = sums if is_unbounded else np.ones(len(sums))
            if codes.own is not None:
                inputs = np.minimum(inputs, limit)
    # Of outputs the sums themselves bound all that an activation makes of them.
    answers = len(network.members) * max(found[-1], 1.0) * network.output_scale
    return max(*found, *(answers + np.abs(network.output_mean)))


def run_float(
    program: FloatProgram,
    raw: NDArray,  # (n_rows, n_inputs); inputs of the device
    # (n_sequences,); rows of each; read by recurrent networks alone.
    lengths: NDArray[np.int64],
    # (n_hidden_layers,); raised to the largest output of hidden units.
    activation_ranges: NDArray[np.float64] | None = None,
) -> NDArray[np.float32]:
    """Outputs of a program in single precision."""
    network = program.network

    def step(rows: NDArray, states: list[NDArray] | None) -> NDArray:
        inputs = program.inputs(rows)
        total = sum(
            _member(program, m, inputs, StatesOf(states, network, m), activation_ranges)
            for m in range(len(network.members))
        )
        return total * program.scale + program.offset

    zero_points = [_0] * (network.n_layers - 1)
    return answer(network, step, raw, lengths, zero_points)


def _member(
    program: FloatProgram,
    member: int,
    inputs: NDArray,
    states: StatesOf,
    activation_ranges: NDArray[np.float64] | None,
) -> NDArray:
    """Outputs of one network."""
    network = program.network
    for depth, codes in enumerate(network.members[member]):
        sums = _sums(inputs, codes.weights, program.biases[member][depth])
        sums = sums * np.float32(network.steps[depth])
        if codes.own is not None:
            within = _sums(states[depth], codes.own, np.zeros(len(codes.biases)))
            sums = sums + within * np.float32(network.own_steps[depth])
        is_last = depth == network.n_layers - 1
        kind = program.last_activation if is_last else network.activation
        inputs = _activate(kind, sums, np.float32(network.tie))
        if program.cuts_states and not is_last:
            inputs = cut(inputs, program.limit)
        if codes.own is not None:
            states[depth] = inputs
        if activation_ranges is not None and not is_last:
            activation_ranges[depth] = max(
                activation_ranges[depth], np.abs(inputs).max()
            )
    return inputs


def _sums(inputs: NDArray, weights: NDArray, biases: NDArray) -> NDArray[np.float32]:
    """Weighted sums in the order of the C, one input after the other."""
    sums = np.tile(biases.astype(np.float32), (len(inputs), 1))
    for column, codes in zip(inputs.T, weights.T.astype(np.float32), strict=True):
        sums += column[:, None] * codes
    return sums


def _activate(kind: str, sums: NDArray, tie: np.float32) -> NDArray:
    if kind == "tanh":
        return _tanh(sums)
    if kind == "logistic":
        return _HALF + _HALF * _tanh(_HALF * sums)
    if kind == "relu":
        return np.where(sums > _0, sums, _0)
    if kind == "step":
        return (sums > tie).astype(np.float32)
    if kind == "softmax":
        falls = _tanh(_HALF * (sums - sums.max(axis=1, keepdims=True)))
        parts = (_1 + falls) / (_1 - falls)
        total = np.zeros(len(sums), dtype=np.float32)
        for column in parts.T:
            total += column
        return parts / total[:, None]
    return sums


def _tanh(x: NDArray) -> NDArray:
    """Rational function by which networks are trained."""
    k = kernels
    x = np.clip(x, -k.LIMIT, k.LIMIT)
    z = x * x
    p = _1 + z * (k.P1 + z * (k.P2 + z * (k.P3 + z * k.P4)))
    q = _1 + z * (k.Q1 + z * (k.Q2 + z * (k.Q3 + z * k.Q4)))
    return x * p / q
