"""Compiled elimination of spins: tables over the neighbors of one variable at a time.

A table over k variables has 2^k entries; bit b of an entry's index is set where the
b-th variable is -1. The variable to be eliminated is bit 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._kernel_args import Borrowable, borrower_of
from skmohn._core._numba import jit
from skmohn._core._walsh_kernels import transform


@dataclass(frozen=True)
class Schedule(Borrowable):
    """Eliminations in order; v of them, every array in compressed form.

    The scope of an elimination are the variables it meets, in the order in which they
    go themselves. A message is the table over the scope that an elimination leaves; the
    variable that goes first among them receives it.
    """

    order: NDArray[np.int32]  # (v,), the variables
    scope_ptr: NDArray[np.int64]  # (v + 1,)
    scope: NDArray[np.int32]  # variables
    bit: NDArray[np.int64]  # that each has in the table of the receiver
    message_ptr: NDArray[np.int64]  # (v + 1,)
    messages: NDArray[np.int32]  # the eliminations whose messages are received
    term_ptr: NDArray[np.int64]  # (v + 1,), terms that each elimination adds
    masks: NDArray[np.int64]  # their variables as bits of the table
    coef: NDArray[np.float64]
    held_ptr: NDArray[np.int64]  # for each of these terms
    held: NDArray[np.int32]  # its variables that are not eliminated
    choice_ptr: NDArray[np.int64]  # (v + 1,), start of the table of choices
    offset: NDArray[np.int64]  # (v,), where the memory of each message begins
    size: int  # v


@dataclass(frozen=True)
class Workspace(Borrowable):
    """Memory of eliminations, the largest with a table of 2m entries."""

    ties: NDArray[np.int8]  # (v,), which of two equal values is taken
    spins: NDArray[np.int8]  # (n,); those that are not held are written
    choices: NDArray[np.int8]  # which value is best, for all tables
    messages: NDArray[np.float64]  # those not received yet
    table: NDArray[np.float64]  # (2m,)
    low: NDArray[np.int64]  # (256,), index into a message, by the lowest bits
    high: NDArray[np.int64]  # (1 + m / 128,), and by the others


_schedule_at = borrower_of(Schedule)
_workspace_at = borrower_of(Workspace)
# Bits of an index that are looked up together.
LOW_BITS = 8


@jit
def _is_odd(bits):
    """Whether an odd number of the lower 32 bits is set. O(1)."""
    bits ^= bits >> 16
    bits ^= bits >> 8
    bits ^= bits >> 4
    return (0x6996 >> (bits & 15)) & 1


@jit
def _add_terms(s, v, spins, table, m):
    """Add the terms of an elimination to its table of m entries.

    O(m) for each term, or O(m log m) for all.
    """
    first, end = s.term_ptr[v], s.term_ptr[v + 1]
    few = end - first <= 8
    for t in range(first, end):
        weight = s.coef[t]
        for e in range(s.held_ptr[t], s.held_ptr[t + 1]):
            weight *= spins[s.held[e]]
        mask = s.masks[t]
        if few:
            for b in range(m):
                table[b] += weight * (1.0 - 2.0 * _is_odd(b & mask))
        else:
            table[mask] += weight
    if not few:
        transform(table, m)


@jit
def _spread(s, child, first, table, m):
    """Index into a message for every setting of some bits of the receiver's table.

    ``table`` (m,) covers the bits from ``first`` on. O(m).
    """
    table[0] = 0
    start, end = s.scope_ptr[child], s.scope_ptr[child + 1]
    size, bit = 1, first
    while size < m:
        value = 0
        for e in range(start, end):
            if s.bit[e] == bit:
                value = 1 << (e - start)
        for b in range(size):
            table[size + b] = table[b] + value
        size, bit = 2 * size, bit + 1


@jit
def _add_message(s, child, r, m):
    """Add a message to a table of m entries where its variables are the same. O(m)."""
    low, high, table, messages = r.low, r.high, r.table, r.messages
    block = m if m < 1 << LOW_BITS else 1 << LOW_BITS
    n_blocks = m // block
    _spread(s, child, 0, low, block)
    _spread(s, child, LOW_BITS, high, n_blocks)
    for h in range(n_blocks):
        base, start = s.offset[child] + high[h], h * block
        for b in range(block):
            table[start + b] += messages[base + low[b]]


@jit
def eliminate(schedule, workspace):
    """Give the variables of a schedule the values that are best together.

    Nonserial dynamic programming ([1]_): maximize over one variable for every setting
    of those it meets, go on with the table that this leaves, and read the choices
    backwards. Returns the table entries computed, the sum of ``2^(size of scope + 1)``,
    which is the cost.

    .. [1] Bertele and Brioschi, "Nonserial dynamic programming" (1972).
    """
    s, r = _schedule_at(schedule), _workspace_at(workspace)
    table, entries = r.table, 0
    for v in range(s.size):
        size = 1 << (s.scope_ptr[v + 1] - s.scope_ptr[v])
        entries += 2 * size
        for b in range(2 * size):
            table[b] = 0.0
        _add_terms(s, v, r.spins, table, 2 * size)
        for e in range(s.message_ptr[v], s.message_ptr[v + 1]):
            _add_message(s, s.messages[e], r, 2 * size)
        offset, first = s.offset[v], s.choice_ptr[v]
        for b in range(size):
            up, down = table[2 * b], table[2 * b + 1]
            r.choices[first + b] = down > up or (down == up and r.ties[v])
            r.messages[offset + b] = up if up > down else down
    for v in range(s.size - 1, -1, -1):
        setting = s.choice_ptr[v]
        for e in range(s.scope_ptr[v], s.scope_ptr[v + 1]):
            if r.spins[s.scope[e]] < 0:
                setting += 1 << (e - s.scope_ptr[v])
        r.spins[s.order[v]] = -1 if r.choices[setting] else 1
    return entries
