"""Quantization of a trained network, with sums that are proven to fit."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn.blm._device.categories import Categories
from skmohn.blm._device.fixed_point import (
    ONE,
    POWERS,
    STEP_FRACTIONS,
    Requantize,
    TanhTable,
    make_rescale,
    make_shift,
    tanh_curve,
)
from skmohn.blm._device.inputs import (
    FloatInputs,
    InputSpec,
    IntInputs,
    float_inputs,
    int_inputs,
)
from skmohn.blm._device.network import UNBOUNDED, Codes, Network

CURVED = ("tanh", "logistic")


class OutputQuantization(NamedTuple):
    """Scale and offset of the integer outputs of a layer."""

    # They stand for ``scale * (output + offset)``.

    low: int
    high: int
    zero_point: int  # the output that stands for zero
    scale: float
    offset: int


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Layer in integers, the same for all members but for codes and biases."""

    # Of the network; of outputs also "softmax", "raw" for the sums themselves, and
    # "positive" for these above zero.
    activation: str
    accumulator_bits: int  # 16 or 32, in which its sums fit
    answers: OutputQuantization
    rescale: Requantize | None  # of sums, before the activation
    # Of sums over the layer's own units, to the unit of the others.
    own_rescale: Requantize | None
    threshold: int  # of a step: the largest sum whose output is 0


@dataclass(frozen=True, kw_only=True)
class IntProgram:
    """Program of networks in integers."""

    network: Network
    bits: int  # of inputs and activations, with the sign
    kind: str  # type of the inputs
    inputs: IntInputs | FloatInputs
    categories: Categories
    layers: list
    biases: list  # (n_out,); of each member and layer, in the units of its sums
    curve: TanhTable  # hyperbolic tangent
    output_bits: int  # of an output, 16 or 32

    def codes(self, raw: NDArray) -> NDArray:
        """Inputs of the first layer, of rows that the device reads."""
        n = self.network.n_numbers
        ones = self.categories.expand(raw[:, n:])
        return np.hstack([self.inputs.codes(raw[:, :n]), ones])

    @property
    def output_scale(self) -> NDArray[np.float64]:
        """Value of one unit of an output: shape (n_outputs,)."""
        scale = self.layers[-1].answers.scale / len(self.network.members)
        return scale * self.network.output_scale

    @property
    def output_offset(self) -> NDArray[np.float64]:
        """Value of an output of zero: shape (n_outputs,)."""
        answers = self.layers[-1].answers
        offset = answers.scale * answers.offset
        return offset * self.network.output_scale + self.network.output_mean


class _Sums(NamedTuple):
    """Bounds of the sums of a layer, over all members and units."""

    total: int
    bits: int
    own_rescale: Requantize | None


class _LayerInputs(NamedTuple):
    """Inputs of a layer; arrays of shape (n_in,), in units of codes."""

    low: np.ndarray
    high: np.ndarray
    offset: np.ndarray
    scale: float
    groups: tuple = ()  # sizes of groups at the end, in each at most one is not 0


def quantize(
    network: Network,
    reader: InputSpec,
    bits: int,  # of inputs and activations, with the sign
    clip_range: float,  # inputs of the network beyond +-clip_range are cut
    # (n_hidden_layers,); the same of outputs of unbounded hidden units.
    activation_ranges: NDArray[np.float64],
    # Sums are only shifted to be these: shorter, and coarser by up to a bit.
    by_shifts: bool = False,
) -> IntProgram:
    """Convert a network to integers."""
    top = 2 ** (bits - 1) - 1
    prepare = float_inputs if reader.kind == "float32" else int_inputs
    inputs = prepare(reader, network, clip_range / top, top)
    curve = tanh_curve(top)
    layers, biases = [], []
    # More is too much for 32 bits with any weight.
    ones = np.minimum(np.rint(network.ones * top / clip_range), 2.0**31)
    ones = ones.astype(np.int64)
    layer_inputs = _LayerInputs(
        np.concatenate([inputs.low, 0 * ones]),
        np.concatenate([inputs.high, ones]),
        np.concatenate([inputs.offset, network.zeros * top / clip_range]),
        clip_range / top,
        network.groups,
    )
    for depth in range(network.n_layers):
        is_hidden = depth < len(activation_ranges)
        bound = activation_ranges[depth] if is_hidden else np.inf
        layer, of_members = _make_layer(
            network, depth, layer_inputs, top, curve, bound, by_shifts
        )
        layers.append(layer)
        biases.append(of_members)
        same = np.ones(network.layout.sizes[depth + 1], dtype=np.int64)
        low, high, _, scale, offset = layer.answers
        layer_inputs = _LayerInputs(low * same, high * same, offset * same, scale)
    answers = layers[-1].answers
    largest = max(-answers.low, answers.high) * len(network.members)
    return IntProgram(
        network=network,
        bits=bits,
        kind=reader.kind,
        inputs=inputs,
        categories=Categories(network.groups, ones),
        layers=layers,
        biases=[list(member) for member in zip(*biases, strict=True)],
        curve=curve,
        output_bits=_bits_of(largest),
    )


def _bits_of(largest: int) -> int:
    """Bits of numbers up to a size and its negative."""
    if largest >= 2**31:
        raise ValueError(
            f"sums of this network reach {largest}, which 32 bits cannot hold: lower "
            'activation_bits, n_bits or w_max, or use arithmetic="float32"'
        )
    return 16 if largest < 2**15 else 32


def _make_layer(
    network: Network,
    depth: int,
    layer_inputs: _LayerInputs,
    top: int,
    curve: TanhTable,
    activation_range: float,
    by_shifts: bool,
) -> tuple[Layer, list[NDArray[np.int64]]]:
    """Layer, and the biases of each member."""
    unit = network.steps[depth] * layer_inputs.scale
    is_last = depth == network.n_layers - 1
    activation = network.out_activation if is_last else network.activation
    if is_last and network.answers_raw:
        activation = "raw"
    elif is_last and activation == "relu":
        activation = "positive"
    answers = _answers(activation, top, activation_range)
    by_shifts = by_shifts and activation in UNBOUNDED
    power = 0
    if by_shifts:
        power = _power(answers.scale / unit, top)
        answers = answers._replace(scale=unit * 2.0**power)
    own_ratio = network.own_steps[depth] * answers.scale / unit
    members = [member[depth] for member in network.members]
    biases = [
        _biases(codes, layer_inputs, answers.offset * own_ratio) for codes in members
    ]
    sums = _bound(members, biases, layer_inputs, answers, own_ratio, top)
    rescale, threshold = None, 0
    if activation in CURVED:
        ratio = unit / curve.step * STEP_FRACTIONS / (1 if activation == "tanh" else 2)
        rescale = make_rescale(ratio, sums.total, curve.end, 2 * top)
    elif activation == "softmax":
        # Differences of two sums.
        ratio = unit / POWERS.step * STEP_FRACTIONS
        rescale = make_rescale(ratio, 2 * sums.total, 2**16 - 1, 2**12)
    elif by_shifts:
        rescale = make_shift(power, sums.total, top)
    elif activation in UNBOUNDED:
        rescale = make_rescale(unit / answers.scale, sums.total, top, 2 * top)
    elif activation == "step":
        threshold = int(min(network.tie / unit, sums.total))
    else:
        low = 0 if activation == "positive" else -sums.total
        answers = OutputQuantization(low, sums.total, 0, unit, 0)
    layer = Layer(
        activation=activation,
        accumulator_bits=sums.bits,
        answers=answers,
        rescale=rescale,
        own_rescale=sums.own_rescale,
        threshold=threshold,
    )
    return layer, biases


def _power(ratio: float, top: int) -> int:
    """Power of two that divides sums to outputs of about a scale."""
    # A sixth of the `activation_ranges` is a margin; a sum of one is never cut.
    min_shift = -int(np.log2(top))
    return int(np.clip(np.ceil(np.log2(ratio) - 0.25), min_shift, 30))


def _answers(activation: str, top: int, activation_range: float) -> OutputQuantization:
    """Outputs of an activation; of sums, what is known before these are."""
    if activation == "tanh":
        return OutputQuantization(-top, top, 0, 1.0 / top, 0)
    if activation == "logistic":
        # Half of one more than a hyperbolic tangent, the part of one in the biases.
        return OutputQuantization(-top, top, -top, 0.5 / top, top)
    if activation in UNBOUNDED:
        low = 0 if activation == "relu" else -top
        return OutputQuantization(low, top, 0, activation_range / top, 0)
    if activation == "softmax":
        return OutputQuantization(0, ONE, 0, 1.0 / ONE, 0)
    return OutputQuantization(0, 1, 0, 1.0, 0)


def _biases(
    codes: Codes, layer_inputs: _LayerInputs, own_offset: float
) -> NDArray[np.int64]:
    """Biases in the unit of the sums, with the offsets of the inputs."""
    biases = codes.biases / layer_inputs.scale + codes.weights @ layer_inputs.offset
    if codes.own is not None:
        biases = biases + own_offset * codes.own.sum(axis=1)
    return np.rint(biases).astype(np.int64)


def _bound(
    members: list[Codes],
    biases: list[NDArray[np.int64]],
    layer_inputs: _LayerInputs,
    answers: OutputQuantization,
    own_ratio: float,
    top: int,
) -> _Sums:
    """Bound of the sums, whatever the inputs are."""
    largest = own_largest = 0
    for codes, bias in zip(members, biases, strict=True):
        bounds = layer_inputs.low, layer_inputs.high, layer_inputs.groups
        ends = _ends(codes.weights, *bounds)
        largest = max(largest, *(int(np.abs(bias + end).max()) for end in ends))
        if codes.own is not None:
            ends = _ends(codes.own, answers.low, answers.high)
            own_largest = max(own_largest, *(int(np.abs(end).max()) for end in ends))
    if members[0].own is None:
        return _Sums(largest, _bits_of(largest), None)
    _bits_of(own_largest)
    rescale = make_rescale(own_ratio, own_largest, 2**31 - 1, 4 * top)
    total = largest + int(rescale(np.int64(own_largest)))
    return _Sums(total, _bits_of(max(total, own_largest)), rescale)


def _ends(
    codes: NDArray[np.integer],
    low: NDArray | int,
    high: NDArray | int,
    groups: tuple[int, ...] = (),
) -> list[NDArray]:
    """Smallest and largest sums of inputs within bounds, one of each group."""
    products = codes * low, codes * high
    last = codes.shape[1] - np.cumsum(groups[::-1], dtype=np.int64)[::-1]
    ends = []
    for most in (np.minimum, np.maximum):
        numbers, *ones = np.split(most(*products), last, axis=1)
        ends.append(numbers.sum(axis=1) + sum(most.reduce(one, axis=1) for one in ones))
    return ends
