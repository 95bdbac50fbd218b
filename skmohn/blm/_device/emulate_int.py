"""Integers in numpy: equal to what the C computes in every bit."""

import numpy as np

from skmohn.blm._device.fixed_point import ONE, exponential
from skmohn.blm._device.quantize import CURVED
from skmohn.blm._device.recurrence import StatesOf, answer


def run_whole(program, raw, lengths):
    """Outputs of a program in integers.

    Parameters
    ----------
    program : WholeProgram
    raw : ndarray of shape (n_rows, n_inputs)
        What the device reads.
    lengths : ndarray of shape (n_sequences,)
        Rows of each sequence; only recurrent networks look at it.

    Returns
    -------
    outputs : ndarray of shape (n_rows, n_outputs), int64
    """

    def step(rows, states):
        codes = program.codes(rows)
        return sum(
            _member(program, m, codes, StatesOf(states, program.network, m))
            for m in range(len(program.network.members))
        )

    silent = [layer.answers.silent for layer in program.layers[:-1]]
    return answer(program.network, step, raw, lengths, silent)


def _member(program, member, heard, states):
    """Outputs of one network."""
    for depth, layer in enumerate(program.layers):
        codes = program.network.members[member][depth]
        # Doubles hold these sums exactly, and multiply fast.
        sums = heard.astype(float) @ codes.weights.T.astype(float)
        sums = sums.astype(np.int64) + program.biases[member][depth]
        if codes.own is not None:
            sums = sums + layer.own_rescale.signed(states[depth] @ codes.own.T)
        heard = _activate(program, layer, sums)
        if codes.own is not None:
            states[depth] = heard
    return heard


def _activate(program, layer, sums):
    """Outputs of a layer, given its sums."""
    kind = layer.activation
    if kind in CURVED:
        sizes = layer.rescale(np.abs(sums))
        return np.sign(sums) * program.curve(sizes)
    if kind == "softmax":
        falls = sums.max(axis=1, keepdims=True) - sums
        parts = exponential(layer.rescale(falls))
        total = parts.sum(axis=1, keepdims=True)
        return (parts * ONE + total // 2) // total
    if kind == "relu":
        return np.where(sums > 0, layer.rescale(np.abs(sums)), 0)
    if kind == "identity":
        return layer.rescale.signed(sums)
    if kind == "step":
        return (sums > layer.threshold).astype(np.int64)
    if kind == "positive":
        return np.maximum(sums, 0)
    return sums
