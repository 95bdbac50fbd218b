"""Annealed importance sampling: from independent units to a Boltzmann machine."""

# Sources: Neal, "Annealed importance sampling", Statistics and Computing 11 (2001);
# Salakhutdinov and Murray, "On the quantitative analysis of deep belief networks", ICML
# 2008.

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skmohn.energynet import _kernels as kernels
from skmohn.energynet._rbm import RBM, draw_hidden, draw_visible

_1 = np.float32(1.0)


@dataclass(frozen=True, kw_only=True)
class AnnealingPath:
    """Path of distributions from independent units to an RBM."""

    # Rows of float32 are one for all chains, or one for each.
    rbm: RBM
    # (n_rows, n_hidden), instead of that of the RBM: known visible units may add to it.
    hidden_bias: NDArray[np.float32]
    visible_start: NDArray[np.float32]  # (n_rows, n_visible), logits at the start
    hidden_start: NDArray[np.float32]  # (n_rows, n_hidden), the same of hidden units
    # (n_chains, n_visible): which are drawn, None: all; the others count as zero.
    unknown: NDArray[np.bool_] | None = None
    # Its hidden units, at most 12, are there at the start and fade: the visible ones
    # then are those of a sample of it.
    reference_rbm: RBM | None = None


def anneal(
    path: AnnealingPath, n_chains: int, n_temperatures: int, stream: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Anneal chains along a path; return their log-weights, (n_chains,)."""
    # The stream of random numbers is one for all chains, shape (1,), or one for each.
    # The mean of the exponentials of the log-weights is the ratio of the partition
    # functions of the ends.
    rbm, start = path.rbm, path.reference_rbm
    slope = rbm.visible_bias - path.visible_start
    if path.unknown is not None:
        slope = np.where(path.unknown, slope, np.float32(0.0))
    visible, visible_logits = np.zeros((2, n_chains, rbm.n_visible), np.float32)
    hidden, hidden_logits = np.empty((2, n_chains, rbm.n_hidden), np.float32)
    fading = np.empty((n_chains, 0), np.float32)
    if start is not None:
        fading = draw_hidden(start, n_chains, np.random.default_rng(stream))
        np.dot(fading, start.weights, out=visible_logits)
    _draw_unknown(path, visible_logits, path.visible_start, stream, visible)
    log_weight = np.zeros(n_chains)
    temperatures = np.linspace(0.0, 1.0, n_temperatures + 1, dtype=np.float32)
    for before, after in pairwise(temperatures):
        log_weight += float(after - before) * _products(visible, slope)
        np.dot(visible, rbm.weights.T, out=hidden_logits)
        kernels.anneal(
            hidden_logits, path.hidden_bias, path.hidden_start, before, after, stream,
            log_weight, hidden,
        )  # fmt: skip
        np.dot(hidden, rbm.weights, out=visible_logits)
        visible_logits *= after
        if start is not None:
            left_before, left = _1 - before, _1 - after
            kernels.anneal(
                visible @ start.weights.T, start.hidden_bias[None],
                np.zeros((1, start.n_hidden), np.float32), left_before, left, stream,
                log_weight, fading,
            )  # fmt: skip
            visible_logits += left * (fading @ start.weights)
        bias = path.visible_start + after * slope
        _draw_unknown(path, visible_logits, bias, stream, visible)
    return log_weight


def _products(visible: NDArray, slope: NDArray) -> NDArray:
    """Scalar product of each row with the row, or one of the rows, of a table."""
    if len(slope) == 1:
        return visible @ slope[0]
    return np.einsum("ij,ij->i", visible, slope)


def _draw_unknown(
    path: AnnealingPath,
    logits: NDArray[np.float32],
    bias: NDArray[np.float32],
    stream: NDArray[np.uint64],
    visible: NDArray[np.float32],
) -> None:
    """Draw the visible units that are unknown, in place; the logits are overwritten."""
    if len(bias) > 1:
        logits += bias
        bias = np.zeros((1, len(bias[0])), np.float32)
    draw_visible(logits, bias[0], path.rbm.groups, stream, visible)
    if path.unknown is not None:
        visible *= path.unknown
