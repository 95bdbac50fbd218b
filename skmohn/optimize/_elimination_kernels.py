"""Compiled elimination of spins: tables over the neighbours of one variable at a time.

A table over k variables has 2^k entries; bit b of an entry's index is set where the
b-th variable is -1. The variable to be eliminated is bit 0.
"""

from typing import NamedTuple

import numpy as np

from skmohn._core._jit import borrow, jit


class Schedule(NamedTuple):
    """Eliminations in order; v of them, every array in compressed form.

    The scope of an elimination are the variables it meets, in the order in which they
    go themselves. A message is the table over the scope that an elimination leaves; the
    variable that goes first among them receives it.
    """

    order: np.ndarray  # (v,) int32, the variables
    scope_ptr: np.ndarray  # (v + 1,) int64
    scope: np.ndarray  # int32, variables
    place: np.ndarray  # int64, their bits in the table of the receiver
    message_ptr: np.ndarray  # (v + 1,) int64
    messages: np.ndarray  # int32, the eliminations whose messages are received
    term_ptr: np.ndarray  # (v + 1,) int64, terms that each elimination adds
    masks: np.ndarray  # int64, their variables as bits of the table
    coef: np.ndarray  # float64
    held_ptr: np.ndarray  # int64, for each of these terms
    held: np.ndarray  # int32, its variables that are not eliminated
    choice_ptr: np.ndarray  # (v + 1,) int64, start of the table of choices


@jit
def _is_odd(bits):
    """Whether an odd number of the lower 32 bits is set. O(1)."""
    bits ^= bits >> 16
    bits ^= bits >> 8
    bits ^= bits >> 4
    return (0x6996 >> (bits & 15)) & 1


@jit
def _walsh(table):
    """Walsh-Hadamard transform in place. O(m log m)."""
    half = 1
    while half < table.shape[0]:
        for start in range(0, table.shape[0], 2 * half):
            for b in range(start, start + half):
                left, right = table[b], table[b + half]
                table[b], table[b + half] = left + right, left - right
        half *= 2


@jit
def _add_terms(s, v, spins, table):
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
            for b in range(table.shape[0]):
                table[b] += weight * (1.0 - 2.0 * _is_odd(b & mask))
        else:
            table[mask] += weight
    if not few:
        _walsh(table)


@jit
def _spread(place, first, table):
    """Index into a message for every setting of some bits of the receiver's table.

    ``table`` (2^q,) covers the bits from ``first`` on. O(2^q).
    """
    table[0] = 0
    size, bit = 1, first
    while size < table.shape[0]:
        value = 0
        for e in range(place.shape[0]):
            if place[e] == bit:
                value = 1 << e
        for b in range(size):
            table[size + b] = table[b] + value
        size, bit = 2 * size, bit + 1


@jit
def _add_message(place, message, table, low, high):
    """Add a message where its variables have the same values. O(m)."""
    block = min(low.shape[0], table.shape[0])
    n_blocks = table.shape[0] // block
    _spread(place, 0, low[:block])
    n_bits = 0
    while 1 << n_bits < block:
        n_bits += 1
    _spread(place, n_bits, high[:n_blocks])
    for h in range(n_blocks):
        base, start = high[h], h * block
        for b in range(block):
            table[start + b] += message[base + low[b]]


@jit
def eliminate(schedule, ties, spins):
    """Give the variables of a schedule the values that are best together.

    Nonserial dynamic programming ([1]_): maximise over one variable for every setting
    of those it meets, go on with the table that this leaves, and read the choices
    backwards. ``spins`` (n,) int8 holds the other variables and gets the values;
    ``ties`` (v,) bool says which of two equal ones is taken. Returns the table entries
    computed, the sum of ``2^(size of scope + 1)``, which is the cost.

    .. [1] Bertele and Brioschi, "Nonserial dynamic programming" (1972).
    """
    s = borrow(schedule)
    n = s.order.shape[0]
    choices = np.empty(s.choice_ptr[n], np.bool_)
    nothing = np.empty(0)
    messages = [nothing for _ in range(n)]
    widest = 0
    for v in range(n):
        widest = max(widest, s.scope_ptr[v + 1] - s.scope_ptr[v])
    low = np.empty(1 << min(8, widest + 1), np.int64)
    high = np.empty(1 << max(0, widest + 1 - 8), np.int64)
    entries = 0
    for v in range(n):
        size = 1 << (s.scope_ptr[v + 1] - s.scope_ptr[v])
        table = np.zeros(2 * size)
        entries += 2 * size
        _add_terms(s, v, spins, table)
        for e in range(s.message_ptr[v], s.message_ptr[v + 1]):
            child = s.messages[e]
            place = s.place[s.scope_ptr[child] : s.scope_ptr[child + 1]]
            _add_message(place, messages[child], table, low, high)
            messages[child] = nothing
        message = np.empty(size)
        choice = choices[s.choice_ptr[v] : s.choice_ptr[v + 1]]
        for b in range(size):
            up, down = table[2 * b], table[2 * b + 1]
            choice[b] = down > up or (down == up and ties[v])
            message[b] = max(up, down)
        messages[v] = message
    for v in range(n - 1, -1, -1):
        setting = s.choice_ptr[v]
        for e in range(s.scope_ptr[v], s.scope_ptr[v + 1]):
            if spins[s.scope[e]] < 0:
                setting += 1 << (e - s.scope_ptr[v])
        spins[s.order[v]] = -1 if choices[setting] else 1
    return entries
