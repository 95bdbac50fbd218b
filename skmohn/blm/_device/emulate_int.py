"""Integers in numpy: equal to what the C computes in every bit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn.blm._device.fixed_point import ONE, exponential
from skmohn.blm._device.network import StatesOf, answer
from skmohn.blm._device.quantize import CURVED, IntProgram, Layer


def run_int(
    program: IntProgram,
    raw: NDArray,  # (n_rows, n_inputs); inputs of the device
    # (n_sequences,); rows of each; read by recurrent networks alone.
    lengths: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Outputs of a program in integers."""

    def step(rows: NDArray, states: list[NDArray] | None) -> NDArray:
        codes = program.codes(rows)
        total: Any = sum(
            _member(program, m, codes, StatesOf(states, program.network, m))
            for m in range(len(program.network.members))
        )
        return total

    zero_points = [layer.answers.zero_point for layer in program.layers[:-1]]
    return answer(program.network, step, raw, lengths, zero_points)


def _member(
    program: IntProgram, member: int, inputs: NDArray, states: StatesOf
) -> NDArray:
    """Outputs of one network."""
    for depth, layer in enumerate(program.layers):
        codes = program.network.members[member][depth]
        # Doubles hold these sums exactly, and multiply fast.
        sums = inputs.astype(float) @ codes.weights.T.astype(float)
        sums = sums.astype(np.int64) + program.biases[member][depth]
        if codes.own is not None and layer.own_rescale is not None:
            sums = sums + layer.own_rescale.signed(states[depth] @ codes.own.T)
        inputs = _activate(program, layer, sums)
        if codes.own is not None:
            states[depth] = inputs
    return inputs


def _activate(program: IntProgram, layer: Layer, sums: NDArray) -> NDArray:
    """Outputs of a layer, given its sums."""
    kind, rescale = layer.activation, layer.rescale
    if kind == "step":
        return (sums > layer.threshold).astype(np.int64)
    if kind == "positive":
        return np.maximum(sums, 0)
    if rescale is None:
        return sums
    if kind in CURVED:
        return np.sign(sums) * program.curve(rescale(np.abs(sums)))
    if kind == "softmax":
        falls = sums.max(axis=1, keepdims=True) - sums
        parts = exponential(rescale(falls))
        total = parts.sum(axis=1, keepdims=True)
        return (parts * ONE + total // 2) // total
    if kind == "relu":
        return np.where(sums > 0, rescale(np.abs(sums)), 0)
    return rescale.signed(sums)
