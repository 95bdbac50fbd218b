"""Compiled searches over functions of spins, moved by single flips.

Every search keeps, beside the spins, what each flip would gain; a flip then changes the
gains of the variables that share a term with it and of no others ([S2] 3.2). All
searches maximise.

[S2] Swingler, "Learning and searching pseudo-Boolean surrogate functions from small
samples", Evolutionary Computation 28 (2020).
"""

from typing import NamedTuple

import numpy as np

from skmohn._core._jit import borrow, jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S32, _S56 = (
    np.uint64(shift) for shift in (11, 27, 30, 31, 32, 56)
)
_ONE = np.uint64(1)
_TO_UNIT = 2.0**-53
# A flip that loses more than this many temperatures is never accepted: the logarithm
# of the smallest random number above 0.
_NEVER = -53.0 * np.log(2.0)
# -log(k / 256): where the first eight bits of a random number decide, there is no need
# for an exponential.
_LOGS = np.append(np.inf, -np.log(np.arange(1, 257) / 256.0))


class Polynomial(NamedTuple):
    """``f(s) = sum_j coef_j prod_{i in Q_j} s_i`` of n spins; p terms.

    Terms of one variable are in its gain and need nothing else. Terms of two are listed
    with both their variables; those of three and more keep their value.
    """

    term_ptr: np.ndarray  # (p + 1,) int64
    members: np.ndarray  # uint32, the variables of each term
    coef: np.ndarray  # (p,) float64
    pair_ptr: np.ndarray  # (n + 1,) int64
    pair_other: np.ndarray  # uint32, whom a variable shares a term of two with
    pair_coef: np.ndarray  # float64, and the weight of that term
    high_ptr: np.ndarray  # (n + 1,) int64
    high_terms: np.ndarray  # uint32, its terms of three and more


class State(NamedTuple):
    """Where a search is, and the best it has seen."""

    spins: np.ndarray  # (n,) int8, -1 or +1
    gains: np.ndarray  # (n,) float64, what flipping each would add
    values: np.ndarray  # (p,) float64, of the terms of three and more
    best: np.ndarray  # (n,) int8
    totals: np.ndarray  # (2,) float64, of the spins and of the best
    rng: np.ndarray  # (1,) uint64, state of splitmix64


class Memory(NamedTuple):
    """What tabu search remembers; n variables, L more than the longest tenure."""

    free: np.ndarray  # (2 m,) float64, tree of maxima: gains of the free variables
    taboo: np.ndarray  # (2 m,) float64, the same of the others
    expiry: np.ndarray  # (n,) int64, step at which a variable is free again
    first: np.ndarray  # (L,) int64, first entry that ends at a step, modulo L
    after: np.ndarray  # (L,) int64, next entry that ends at the same step
    entry: np.ndarray  # (L,) int64, variable made tabu at a step, modulo L
    trail: np.ndarray  # (n,) int32, flips since the best was stored
    clock: np.ndarray  # (2,) int64: step, length of the trail (-1: too long)


# ------------------------------------------------------------------ chance and flips


@jit
def _mix(z):
    """Random 64 bits from the state of splitmix64. O(1)."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@jit
def _below(z, n):
    """Random integer below ``n < 2 ** 31`` from the state of splitmix64. O(1)."""
    return np.int64((_mix(z) >> _S32) * np.uint64(n) >> _S32)


@jit
def _shuffle(items, z):
    """Shuffle in place; return the new state of splitmix64. O(n)."""
    for place in range(items.shape[0] - 1, 0, -1):
        z += _GOLDEN
        other = _below(z, place + 1)
        items[place], items[other] = items[other], items[place]
    return z


@jit
def refresh(polynomial, state):
    """Compute values, gains and the total from the spins. O(number of members)."""
    total = 0.0
    for i in range(state.gains.shape[0]):
        state.gains[i] = 0.0
    for j in range(polynomial.coef.shape[0]):
        first, end = polynomial.term_ptr[j], polynomial.term_ptr[j + 1]
        value = polynomial.coef[j]
        for e in range(first, end):
            value *= state.spins[polynomial.members[e]]
        state.values[j] = value
        total += value
        for e in range(first, end):
            state.gains[polynomial.members[e]] -= 2.0 * value
    state.totals[0] = total


@jit
def _flip(p, spins, gains, values, i):
    """Flip one spin; return what that gains. O(variables in the terms of i)."""
    gain = gains[i]
    spin = -spins[i]
    spins[i] = spin
    step = -4.0 * spin
    for e in range(p.pair_ptr[i], p.pair_ptr[i + 1]):
        k = p.pair_other[e]
        gains[k] += step * p.pair_coef[e] * spins[k]
    for e in range(p.high_ptr[i], p.high_ptr[i + 1]):
        j = p.high_terms[e]
        value = -values[j]
        values[j] = value
        for m in range(p.term_ptr[j], p.term_ptr[j + 1]):
            gains[p.members[m]] -= 4.0 * value
    gains[i] = -gain
    return gain


@jit
def flip_all(polynomial, state, variables):
    """Flip variables one after the other. O(their neighbours)."""
    p, s = borrow(polynomial), borrow(state)
    for i in variables:
        s.totals[0] += _flip(p, s.spins, s.gains, s.values, i)


@jit
def _copy(source, target):
    """Copy an array; numba takes seconds to compile an assignment of slices. O(n)."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@jit
def _keep_best(s, total, tolerance):
    """Store the spins if they are the best. O(n)."""
    if total > s.totals[1] + tolerance:
        s.totals[1] = total
        _copy(s.spins, s.best)


# ----------------------------------------------------------------- searches by flips


@jit
def climb(polynomial, state, order, tolerance, max_looks):
    """Set each variable to what its terms ask for until none changes ([S2] Eq 9, 10).

    ``order`` (n,) int32 is shuffled before every pass. Returns the variables looked at
    and whether the last pass changed any. O(1) for each look, and what the flips cost.
    """
    p, s = borrow(polynomial), borrow(state)
    total, z, looks = s.totals[0], s.rng[0], 0
    improved = True
    while improved and looks < max_looks:
        improved = False
        z = _shuffle(order, z)
        for i in order:
            if s.gains[i] > tolerance:
                total += _flip(p, s.spins, s.gains, s.values, i)
                improved = True
        looks += order.shape[0]
    s.totals[0], s.rng[0] = total, z
    _keep_best(s, total, tolerance)
    return looks, improved


@jit
def is_accepted(loss, z):
    """Whether a random number is below ``exp(-loss)``. O(1)."""
    bits = _mix(z)
    octet = bits >> _S56
    if loss > _LOGS[octet]:
        return False
    if loss <= _LOGS[octet + _ONE]:
        return True
    return np.float64(bits >> _S11) * _TO_UNIT < np.exp(-loss)


@jit
def anneal(polynomial, state, inverse_temperatures, tolerance):
    """Sweep once at each temperature by Metropolis' rule.

    The spins at the end of each sweep compete for the best. O(n) a sweep, and what the
    accepted flips cost.
    """
    p, s = borrow(polynomial), borrow(state)
    spins, gains, values = s.spins, s.gains, s.values
    total, z = s.totals[0], s.rng[0]
    for beta in inverse_temperatures:
        lowest = _NEVER / beta if beta > 0.0 else -np.inf
        for i in range(gains.shape[0]):
            gain = gains[i]
            if gain < lowest:
                continue
            if gain < 0.0:
                z += _GOLDEN
                if not is_accepted(-beta * gain, z):
                    continue
            total += _flip(p, spins, gains, values, i)
        _keep_best(s, total, tolerance)
    s.totals[0], s.rng[0] = total, z


@jit
def _settle(p, s, first, end, tolerance):
    """Climb on the variables of one term; return the looks. O(size) a pass."""
    total, looks = 0.0, 0
    improved = True
    while improved:
        improved = False
        for e in range(first, end):
            i = p.members[e]
            if s.gains[i] > tolerance:
                total += _flip(p, s.spins, s.gains, s.values, i)
                improved = True
        looks += end - first
    s.totals[0] += total
    return looks, total > 0.0


@jit
def _enumerate(p, s, first, size, tolerance):
    """Give the variables of one term their best setting, by a Gray code. O(2^size)."""
    gain, best_gain, best_code = 0.0, tolerance, 0
    n_codes = 1 << size
    for count in range(1, n_codes):
        bit = 0
        while not (count >> bit) & 1:
            bit += 1
        gain += _flip(p, s.spins, s.gains, s.values, p.members[first + bit])
        if gain > best_gain:
            best_gain, best_code = gain, count ^ (count >> 1)
    # The last code has only its highest bit set.
    back = best_code ^ (n_codes >> 1)
    for bit in range(size):
        if (back >> bit) & 1:
            gain += _flip(p, s.spins, s.gains, s.values, p.members[first + bit])
    if best_code:
        s.totals[0] += gain
    return n_codes - 1, best_code != 0


@jit
def satisfy(polynomial, state, order, max_order, tolerance, max_looks):
    """Give the variables of each term their best setting, once ([S2] Algorithm 2).

    ``order`` (p,) int32 is shuffled first. Terms longer than ``max_order`` are climbed
    on. Returns the settings tried and whether anything changed. O(2^order) flips for
    each term.
    """
    p, s = borrow(polynomial), borrow(state)
    s.rng[0] = _shuffle(order, s.rng[0])
    looks, changed = 0, False
    for j in order:
        first, end = p.term_ptr[j], p.term_ptr[j + 1]
        if end - first <= max_order:
            more, better = _enumerate(p, s, first, end - first, tolerance)
        else:
            more, better = _settle(p, s, first, end, tolerance)
        looks += more
        changed |= better
        if looks >= max_looks:
            break
    _keep_best(s, s.totals[0], tolerance)
    return looks, changed


# -------------------------------------------------------------------------- tabu


@jit
def _set_key(tree, i, key):
    """Change a leaf of a tree of maxima. O(log n), less when a maximum stays."""
    node = (tree.shape[0] >> 1) + i
    tree[node] = key
    while node > 1:
        other = tree[node ^ 1]
        if other > key:
            key = other
        node >>= 1
        if tree[node] == key:
            break
        tree[node] = key


@jit
def _find_best(tree, z):
    """Leaf of the largest key; ``z`` decides between equal ones. O(log n)."""
    bits = _mix(z)
    node, half = 1, tree.shape[0] >> 1
    while node < half:
        node *= 2
        left, right = tree[node], tree[node + 1]
        if right > left or (right == left and bits & _ONE):
            node += 1
        bits >>= _ONE
    return node - half


@jit
def _update_key(free, taboo, expiry, gains, i, step):
    """Bring the key of a variable up to date. O(log n)."""
    if expiry[i] > step:
        _set_key(taboo, i, gains[i])
    else:
        _set_key(free, i, gains[i])


@jit
def _store_best(s, m, total):
    """Store the best; the flips since the last time say where it differs.

    O(flips since then), or O(n) when these were too many to list.
    """
    s.totals[1] = total
    if m.clock[1] < 0:
        _copy(s.spins, s.best)
    else:
        for e in range(m.clock[1]):
            i = m.trail[e]
            s.best[i] = s.spins[i]
    m.clock[1] = 0


@jit
def _release(m, gains, step):
    """Free the variables whose time has come. O(log n) each."""
    length = m.first.shape[0]
    entry = m.first[step % length]
    m.first[step % length] = -1
    while entry >= 0:
        i = m.entry[entry]
        if m.expiry[i] == step:
            _set_key(m.taboo, i, -np.inf)
            _set_key(m.free, i, gains[i])
        entry = m.after[entry]


@jit
def _forbid(m, gains, i, step, expiry):
    """Make a variable tabu until a step. O(log n)."""
    length = m.first.shape[0]
    if m.expiry[i] <= step:
        _set_key(m.free, i, -np.inf)
    m.expiry[i] = expiry
    m.entry[step % length] = i
    m.after[step % length] = m.first[expiry % length]
    m.first[expiry % length] = step % length
    _set_key(m.taboo, i, gains[i])


def start_tabu(state, memory):
    """Fill the trees and forget what was tabu; not compiled. O(n)."""
    free, n = memory.free, len(state.gains)
    half = len(free) // 2
    memory.taboo[:], free[:] = -np.inf, -np.inf
    free[half : half + n] = state.gains
    while half > 1:
        # Level by level: a node is the larger of the two below it.
        below, half = half, half // 2
        free[half:below] = free[below : 2 * below].reshape(half, 2).max(axis=1)
    memory.expiry[:] = 0
    memory.first[:] = -1
    memory.clock[:] = 1, -1


@jit
def tabu(polynomial, state, memory, n_steps, shortest, longest, tolerance):
    """Make the best flip that is not tabu, over and over ([1]_).

    What was flipped stays tabu for a random number of steps from ``shortest`` to
    ``longest``, unless flipping it gives the best value yet. O(log n) a step for each
    variable that shares a term with the one flipped.

    .. [1] Glover, "Tabu search, part I", ORSA Journal on Computing 1 (1989).
    """
    p, s, m = borrow(polynomial), borrow(state), borrow(memory)
    spins, gains, values = s.spins, s.gains, s.values
    free, taboo, expiry = m.free, m.taboo, m.expiry
    total, z = s.totals[0], s.rng[0]
    for step in range(m.clock[0], m.clock[0] + n_steps):
        _release(m, gains, step)
        z += _GOLDEN
        if taboo[1] > free[1] and total + taboo[1] > s.totals[1] + tolerance:
            i = _find_best(taboo, z)
        elif free[1] > -np.inf:
            i = _find_best(free, z)
        else:
            continue
        total += _flip(p, spins, gains, values, i)
        for e in range(p.pair_ptr[i], p.pair_ptr[i + 1]):
            _update_key(free, taboo, expiry, gains, p.pair_other[e], step)
        for e in range(p.high_ptr[i], p.high_ptr[i + 1]):
            j = p.high_terms[e]
            for k in range(p.term_ptr[j], p.term_ptr[j + 1]):
                _update_key(free, taboo, expiry, gains, p.members[k], step)
        z += _GOLDEN
        tenure = shortest + _below(z, longest - shortest + 1)
        if tenure:
            _forbid(m, gains, i, step, step + tenure)
        else:
            _set_key(free, i, gains[i])
        if m.clock[1] == m.trail.shape[0]:
            m.clock[1] = -1
        if m.clock[1] >= 0:
            m.trail[m.clock[1]] = i
            m.clock[1] += 1
        if total > s.totals[1] + tolerance:
            _store_best(s, m, total)
    m.clock[0] += n_steps
    s.totals[0], s.rng[0] = total, z
