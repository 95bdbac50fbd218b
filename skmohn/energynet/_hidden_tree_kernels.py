"""Compiled passes of messages over a tree of hidden variables.

Columns are in an order in which each comes after its parent, the root first. Each has
a hidden variable of K states, which depends on that of its parent, and gives the state
of the column. Arrays are C-contiguous; rows are taken in blocks, so that what a block
needs stays in the processor's cache, and the products of matrices are BLAS's.
"""

import numpy as np

from skmohn._core._numba import jit

# Rows of a block.
_N_ROWS = 128


@jit
def _pass_up(states, parents, transition, emission, up, message, log_scale):
    """Messages from the leaves to the root: O(rows columns K^2)."""
    n_rows, n_columns = states.shape
    n_states = transition.shape[2]
    up[:] = 1.0
    log_scale[:] = 0.0
    for j in range(n_columns - 1, -1, -1):
        for r in range(n_rows):
            x = states[r, j]
            if x >= 0:
                for k in range(n_states):
                    up[j, r, k] *= emission[j, x, k]
        np.dot(up[j, :n_rows], transition[j].T, message[j, :n_rows])
        parent = parents[j]
        if parent < 0:
            for r in range(n_rows):
                log_scale[r] += np.log(message[j, r, 0])
            continue
        # Many children would be too small a product.
        for r in range(n_rows):
            total = up[parent, r, 0] * message[j, r, 0]
            up[parent, r, 0] = total
            for k in range(1, n_states):
                up[parent, r, k] *= message[j, r, k]
                total += up[parent, r, k]
            for k in range(n_states):
                up[parent, r, k] /= total
            log_scale[r] += np.log(total)


@jit
def _pass_down(parents, transition, up, message, ratio, posterior, n_rows):
    """Posteriors of the hidden variables, from the root: O(rows columns K^2)."""
    # In `ratio` is that of the parent, over what the column has sent to it.
    for j in range(len(parents)):
        of_block, of_ratio = posterior[j, :n_rows], ratio[j, :n_rows]
        if parents[j] < 0:
            of_ratio[:] = 0.0
            of_ratio[:, 0] = 1.0 / message[j, :n_rows, 0]
        else:
            of_ratio[:] = posterior[parents[j], :n_rows] / message[j, :n_rows]
        np.dot(of_ratio, transition[j], of_block)
        of_block *= up[j, :n_rows]


@jit
def log_likelihoods(states, parents, transition, emission, found):
    """Log-likelihood of the known states of rows, in O(rows columns K^2).

    `states` int16 (n, d), -1 where unknown; `parents` int64 (d,), -1 of the root;
    `transition` (d, K, K), of each parent's state and each of the column's, the root's
    rows all alike; `emission` (d, S, K). All floats are of one type; `found` (n,) is
    written.
    """
    n_rows, n_columns = states.shape
    shape = n_columns, min(n_rows, _N_ROWS), transition.shape[2]
    up, message = np.empty(shape, found.dtype), np.empty(shape, found.dtype)
    for first in range(0, n_rows, _N_ROWS):
        last = min(first + _N_ROWS, n_rows)
        part = states[first:last]
        _pass_up(part, parents, transition, emission, up, message, found[first:last])


@jit
def count(states, parents, transition, emission, transitions, emissions, log_scale):
    """Add expected counts of rows to those given, in O(rows columns K^2).

    As `log_likelihoods`, which are written to `log_scale` (n,); `transitions` (d, K, K)
    and `emissions` (d, S, K) are added to. Unknown states count nowhere.
    """
    n_rows, n_columns = states.shape
    n_states = transition.shape[2]
    shape = n_columns, min(n_rows, _N_ROWS), n_states
    dtype = log_scale.dtype
    up, message = np.empty(shape, dtype), np.empty(shape, dtype)
    ratio, posterior = np.empty(shape, dtype), np.empty(shape, dtype)
    pairs = np.empty((n_states, n_states), dtype)
    for first in range(0, n_rows, _N_ROWS):
        last = min(first + _N_ROWS, n_rows)
        size = last - first
        part, of_part = states[first:last], log_scale[first:last]
        _pass_up(part, parents, transition, emission, up, message, of_part)
        _pass_down(parents, transition, up, message, ratio, posterior, size)
        for j in range(n_columns):
            np.dot(ratio[j, :size].T, up[j, :size], pairs)
            transitions[j] += transition[j] * pairs
            for r in range(size):
                x = part[r, j]
                if x >= 0:
                    emissions[j, x] += posterior[j, r]
