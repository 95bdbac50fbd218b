"""Compiled kernels that draw candidate sets of inputs, and the record of used sets.

The record keeps one 64-bit key per set, the XOR of random keys of its members, in a
hash table with open addressing and a power of two of places; 0 marks a free place. Two
of a million sets share a key with probability 3e-8, and the cost would be one
candidate left out for a while.
"""

import numpy as np

from skmohn._core._numba import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = (np.uint64(shift) for shift in (11, 27, 30, 31))
_FREE = np.uint64(0)

# --------------------------------------------------------------- random numbers


@jit
def _next(state):
    """Next 64 random bits of splitmix64; ``state`` is a uint64 array of shape (1,)."""
    state[0] += _GOLDEN
    z = state[0]
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@jit
def random_keys(state, out):
    """Fill a uint64 array with random bits. O(len(out))."""
    for i in range(out.shape[0]):
        out[i] = _next(state)


@jit
def _draw(weights, state):
    """Draw an index in proportion to ``weights`` (n,); -1 when all are 0. O(n)."""
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i]
    rest = total * (np.float64(_next(state) >> _S11) * 2.0**-53)
    last = -1
    for i in range(weights.shape[0]):
        if weights[i] > 0.0:
            last = i
            rest -= weights[i]
            if rest < 0.0:
                return i
    # Rounding may leave a rest at the end.
    return last


# ------------------------------------------------------------------- the record


@jit
def _index(table, key):
    """Index of ``key``, or for it, in the hash table. O(1) while it is half free."""
    mask = table.shape[0] - 1
    index = np.int64(key & np.uint64(mask))
    while table[index] != _FREE and table[index] != key:
        index = (index + 1) & mask
    return index


@jit
def insert(table, key):
    """Insert a key; return whether it is new."""
    index = _index(table, key)
    new = table[index] == _FREE
    table[index] = key
    return new


@jit
def insert_all(table, keys):
    """Insert keys that are not `_FREE`; ``table`` has a power of two of places."""
    for key in keys:
        if key != _FREE:
            insert(table, key)


@jit
def keys_of(keys, indptr, members, out):
    """Key of each set: the XOR of the keys of its members. O(number of members)."""
    for j in range(out.shape[0]):
        key = _FREE
        for e in range(indptr[j], indptr[j + 1]):
            key ^= keys[members[e]]
        out[j] = key


@jit
def unused_sets(keys, table, members, out):
    """List the sets of one order that are not in the table, in lexicographic order.

    ``keys`` (n,) uint64, ``members`` (order,) int64 the first set, ``out`` (size,
    order) int32; returns how many there are, of which the first ``size`` are stored.
    O(C(n, order)).
    """
    n, order = keys.shape[0], members.shape[0]
    found = 0
    while True:
        key = _FREE
        for e in range(order):
            key ^= keys[members[e]]
        if table[_index(table, key)] == _FREE:
            if found < out.shape[0]:
                for e in range(order):
                    out[found, e] = members[e]
            found += 1
        e = order - 1
        while e >= 0 and members[e] == n - order + e:
            e -= 1
        if e < 0:
            return found
        members[e] += 1
        for f in range(e + 1, order):
            members[f] = members[f - 1] + 1


# --------------------------------------------------------------------- sampling


@jit
def _mix_clique(inputs, clique, delta):
    """Turn the next input towards the company of those picked ([S1] Eq 14). O(n)."""
    total = 0.0
    clique_total = 0.0
    for i in range(inputs.shape[0]):
        total += inputs[i]
        clique_total += clique[i]
    if clique_total == 0.0 or total == 0.0:
        return
    for i in range(inputs.shape[0]):
        inputs[i] = (1.0 - delta) * inputs[i] / total + delta * clique[i] / clique_total


@jit
def _draw_set(state, keys, table, first, model, delta, chosen, seen, stamp, room):
    """Draw one unused set of ``len(chosen)`` inputs into ``chosen``.

    ``first`` (n,) is the distribution of the first input, ``model`` the weights' sizes,
    their members in compressed form and, in compressed form too, the weights that
    contain each input; ``seen`` (p,) marks with ``stamp`` the weights that touch an
    input already chosen; ``room`` (2, n) is scratch. Returns the set's key, 0 when no
    input would do.
    O(n order + weights touched).
    """
    sizes, indptr, members, input_indptr, input_weights = model
    inputs, clique = room[0], room[1]
    for i in range(inputs.shape[0]):
        inputs[i], clique[i] = first[i], 0.0
    key = _FREE
    for k in range(chosen.shape[0]):
        if k > 0:
            _mix_clique(inputs, clique, delta)
        if k == chosen.shape[0] - 1:
            for i in range(inputs.shape[0]):
                if inputs[i] > 0.0 and table[_index(table, key ^ keys[i])] != _FREE:
                    inputs[i] = 0.0
        pick = _draw(inputs, state)
        if pick < 0:
            return _FREE
        chosen[k] = pick
        key ^= keys[pick]
        for f in range(input_indptr[pick], input_indptr[pick + 1]):
            j = input_weights[f]
            if seen[j] != stamp:
                seen[j] = stamp
                for e in range(indptr[j], indptr[j + 1]):
                    clique[members[e]] += sizes[j]
        for e in range(k + 1):
            inputs[chosen[e]] = 0.0
            clique[chosen[e]] = 0.0
    return key


@jit
def _sort(members):
    """Sort a few integers in place; numba's own sort takes seconds to compile."""
    for k in range(1, members.shape[0]):
        member = members[k]
        index = k
        while index > 0 and members[index - 1] > member:
            members[index] = members[index - 1]
            index -= 1
        members[index] = member


@jit
def draw_sets(
    state,
    keys,
    table,
    tried_table,
    used,
    tried,
    limits,
    orders,
    first,
    model,
    delta,
    n_wanted,
    seen,
    room,
    out_indptr,
    out_members,
):
    """Draw unused sets one after the other, marking each as used.

    ``used``, ``tried`` and ``limits`` (max_order,) int64 count the sets per order: used
    now, tried ever, and used when the order is closed. ``orders`` (max_order,) float64
    are the fractions of the orders: those that are closed become 0. ``seen`` (p,)
    int64, zeros, and ``room`` (2, n) are scratch. The sets go in compressed form to
    ``out_indptr`` (n_wanted + 1,) and ``out_members``. Returns how many were drawn:
    fewer than wanted when that is full, when all orders are closed, or when ten draws
    for each set wanted met no unused set.
    """
    size = 0
    out_indptr[0] = 0
    for attempt in range(1, 11 * n_wanted + 100):
        if size == n_wanted:
            break
        for o in range(orders.shape[0]):
            if used[o] >= limits[o]:
                orders[o] = 0.0
        o = _draw(orders, state)
        start = out_indptr[size]
        if o < 0 or start + o + 1 > out_members.shape[0]:
            break
        chosen = out_members[start : start + o + 1]
        key = _draw_set(
            state, keys, table, first, model, delta, chosen, seen, attempt, room
        )
        if key != _FREE:
            _sort(chosen)
            insert(table, key)
            used[o] += 1
            tried[o] += insert(tried_table, key)
            size += 1
            out_indptr[size] = start + o + 1
    return size
