"""Rows of sequences, one step after the other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn.blm._device.network import Network


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
