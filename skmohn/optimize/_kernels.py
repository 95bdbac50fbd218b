"""Compiled searches over functions of spins, moved by single flips.

Every search keeps, beside the spins, what each flip would gain; a flip then changes the
gains of the variables that share a term with it and of no others ([S2] 3.2). All
searches maximize.

[S2] Swingler, "Learning and searching pseudo-Boolean surrogate functions from small
samples", Evolutionary Computation 28 (2020).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._kernel_args import Borrowable, borrower_of
from skmohn._core._numba import jit

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


@dataclass(frozen=True)
class FlipTables(Borrowable):
    """``f(s) = sum_j coef_j prod_{i in Q_j} s_i`` of n spins; p terms.

    Terms of one variable are in its gain and need nothing else. Terms of two are listed
    with both their variables; those of three and more keep their value.
    """

    term_ptr: NDArray[np.int64]  # (p + 1,)
    members: NDArray[np.uint32]  # the variables of each term
    coef: NDArray[np.float64]  # (p,)
    pair_ptr: NDArray[np.int64]  # (n + 1,)
    pair_other: NDArray[np.uint32]  # whom a variable shares a term of two with
    pair_coef: NDArray[np.float64]  # and the weight of that term
    high_ptr: NDArray[np.int64]  # (n + 1,)
    high_terms: NDArray[np.uint32]  # its terms of three and more
    n_variables: int
    n_terms: int


@dataclass(frozen=True)
class State(Borrowable):
    """State of a search, and the best that it has seen."""

    spins: NDArray[np.int8]  # (n,), -1 or +1
    gains: NDArray[np.float64]  # (n,), what flipping each would add
    values: NDArray[np.float64]  # (p,), of the terms of three and more
    best: NDArray[np.int8]  # (n,)
    totals: NDArray[np.float64]  # (2,), of the spins and of the best
    rng: NDArray[np.uint64]  # (1,), state of splitmix64
    n_variables: int


@dataclass(frozen=True)
class Memory(Borrowable):
    """Memory of tabu search; n variables, L more than the longest tenure."""

    free: NDArray[np.float64]  # (2 m,), tree of maxima: gains of free variables
    taboo: NDArray[np.float64]  # (2 m,), the same of the others
    expiry: NDArray[np.int64]  # (n,), step at which a variable is free again
    first: NDArray[np.int64]  # (L,), first entry that ends at a step, modulo L
    after: NDArray[np.int64]  # (L,), next entry that ends at the same step
    entry: NDArray[np.int64]  # (L,), variable made tabu at a step, modulo L
    trail: NDArray[np.int32]  # (n,), flips since the best was stored
    clock: NDArray[np.int64]  # (2,): step, length of the trail (-1: too long)
    n_leaves: int  # m
    length: int  # L


# The kernels take the address of each; inside, pointers are handed on.
_polynomial_at = borrower_of(FlipTables)
_state_at = borrower_of(State)
_memory_at = borrower_of(Memory)


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
    for index in range(len(items) - 1, 0, -1):
        z += _GOLDEN
        other = _below(z, index + 1)
        items[index], items[other] = items[other], items[index]
    return z


@jit
def refresh(polynomial, state):
    """Compute values, gains and the total from the spins. O(number of members)."""
    p, s = _polynomial_at(polynomial), _state_at(state)
    total = 0.0
    for i in range(p.n_variables):
        s.gains[i] = 0.0
    for j in range(p.n_terms):
        first, end = p.term_ptr[j], p.term_ptr[j + 1]
        value = p.coef[j]
        for e in range(first, end):
            value *= s.spins[p.members[e]]
        s.values[j] = value
        total += value
        for e in range(first, end):
            s.gains[p.members[e]] -= 2.0 * value
    s.totals[0] = total


@jit
def _flip(p, spins, gains, values, i):
    """Flip one spin; return the gain. O(variables in the terms of i)."""
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
    """Flip variables one after the other. O(their neighbors)."""
    p, s = _polynomial_at(polynomial), _state_at(state)
    for i in variables:
        s.totals[0] += _flip(p, s.spins, s.gains, s.values, i)


@jit
def _copy_best(s):
    """Store the spins. O(n)."""
    for i in range(s.n_variables):
        s.best[i] = s.spins[i]


@jit
def _keep_best(s, total, tolerance):
    """Store the spins if they are the best. O(n)."""
    if total > s.totals[1] + tolerance:
        s.totals[1] = total
        _copy_best(s)


# ----------------------------------------------------------------- searches by flips


@jit
def climb(polynomial, state, order, tolerance, max_evaluations):
    """Set each variable to what its terms ask for until none changes ([S2] Eq 9, 10).

    ``order`` (n,) int32 is shuffled before every pass. Returns the variables visited
    and whether the last pass changed any. O(1) for each visit, and what the flips cost.
    """
    p, s = _polynomial_at(polynomial), _state_at(state)
    total, z, n_evaluations = s.totals[0], s.rng[0], 0
    improved = True
    while improved and n_evaluations < max_evaluations:
        improved = False
        z = _shuffle(order, z)
        for i in order:
            if s.gains[i] > tolerance:
                total += _flip(p, s.spins, s.gains, s.values, i)
                improved = True
        n_evaluations += p.n_variables
    s.totals[0], s.rng[0] = total, z
    _keep_best(s, total, tolerance)
    return n_evaluations, improved


@jit
def _is_accepted(loss, z):
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
    p, s = _polynomial_at(polynomial), _state_at(state)
    spins, gains, values = s.spins, s.gains, s.values
    total, z = s.totals[0], s.rng[0]
    for beta in inverse_temperatures:
        lowest = _NEVER / beta if beta > 0.0 else -np.inf
        for i in range(p.n_variables):
            gain = gains[i]
            if gain < lowest:
                continue
            if gain < 0.0:
                z += _GOLDEN
                if not _is_accepted(-beta * gain, z):
                    continue
            total += _flip(p, spins, gains, values, i)
        _keep_best(s, total, tolerance)
    s.totals[0], s.rng[0] = total, z


@jit
def _settle(p, s, first, end, tolerance):
    """Climb on the variables of one term; count visits. O(size) a pass."""
    total, n_evaluations = 0.0, 0
    improved = True
    while improved:
        improved = False
        for e in range(first, end):
            i = p.members[e]
            if s.gains[i] > tolerance:
                total += _flip(p, s.spins, s.gains, s.values, i)
                improved = True
        n_evaluations += end - first
    s.totals[0] += total
    return n_evaluations, total > 0.0


@jit
def _enumerate(p, s, first, size, tolerance):
    """Set the variables of one term to their best values, by a Gray code. O(2^size)."""
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
def satisfy(polynomial, state, order, max_order, tolerance, max_evaluations):
    """Give the variables of each term their best setting, once ([S2] Algorithm 2).

    ``order`` (p,) int32 is shuffled first. Terms longer than ``max_order`` are climbed
    on. Returns the settings tried and whether anything changed. O(2^order) flips for
    each term.
    """
    p, s = _polynomial_at(polynomial), _state_at(state)
    s.rng[0] = _shuffle(order, s.rng[0])
    n_evaluations, changed = 0, False
    for j in order:
        first, end = p.term_ptr[j], p.term_ptr[j + 1]
        if end - first <= max_order:
            more, better = _enumerate(p, s, first, end - first, tolerance)
        else:
            more, better = _settle(p, s, first, end, tolerance)
        n_evaluations += more
        changed |= better
        if n_evaluations >= max_evaluations:
            break
    _keep_best(s, s.totals[0], tolerance)
    return n_evaluations, changed


# -------------------------------------------------------------------------- tabu


@jit
def _set_key(tree, n_leaves, i, key):
    """Change a leaf of a tree of maxima. O(log n), less when a maximum stays."""
    node = n_leaves + i
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
def _find_best(tree, n_leaves, z):
    """Leaf of the largest key; ``z`` decides between equal ones. O(log n)."""
    bits = _mix(z)
    node = 1
    while node < n_leaves:
        node *= 2
        left, right = tree[node], tree[node + 1]
        if right > left or (right == left and bits & _ONE):
            node += 1
        bits >>= _ONE
    return node - n_leaves


@jit
def _update_key(m, gains, i, step):
    """Bring the key of a variable up to date. O(log n)."""
    tree = m.taboo if m.expiry[i] > step else m.free
    _set_key(tree, m.n_leaves, i, gains[i])


@jit
def _store_best(s, m, total):
    """Store the best; it differs by the flips since the last time.

    O(flips since then), or O(n) when these were too many to list.
    """
    s.totals[1] = total
    if m.clock[1] < 0:
        _copy_best(s)
    else:
        for e in range(m.clock[1]):
            i = m.trail[e]
            s.best[i] = s.spins[i]
    m.clock[1] = 0


@jit
def _release(m, gains, step):
    """Free the variables whose time has come. O(log n) each."""
    entry = m.first[step % m.length]
    m.first[step % m.length] = -1
    while entry >= 0:
        i = m.entry[entry]
        if m.expiry[i] == step:
            _set_key(m.taboo, m.n_leaves, i, -np.inf)
            _set_key(m.free, m.n_leaves, i, gains[i])
        entry = m.after[entry]


@jit
def _forbid(m, gains, i, step, expiry):
    """Make a variable tabu until a step. O(log n)."""
    if m.expiry[i] <= step:
        _set_key(m.free, m.n_leaves, i, -np.inf)
    m.expiry[i] = expiry
    index, last = step % m.length, expiry % m.length
    m.entry[index] = i
    m.after[index] = m.first[last]
    m.first[last] = index
    _set_key(m.taboo, m.n_leaves, i, gains[i])


def start_tabu(state, memory):
    """Fill the trees and clear the tabu list; not compiled. O(n)."""
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
    p, s, m = _polynomial_at(polynomial), _state_at(state), _memory_at(memory)
    spins, gains, values = s.spins, s.gains, s.values
    free, taboo = m.free, m.taboo
    total, z = s.totals[0], s.rng[0]
    for step in range(m.clock[0], m.clock[0] + n_steps):
        _release(m, gains, step)
        z += _GOLDEN
        if taboo[1] > free[1] and total + taboo[1] > s.totals[1] + tolerance:
            i = _find_best(taboo, m.n_leaves, z)
        elif free[1] > -np.inf:
            i = _find_best(free, m.n_leaves, z)
        else:
            continue
        total += _flip(p, spins, gains, values, i)
        for e in range(p.pair_ptr[i], p.pair_ptr[i + 1]):
            _update_key(m, gains, p.pair_other[e], step)
        for e in range(p.high_ptr[i], p.high_ptr[i + 1]):
            j = p.high_terms[e]
            for k in range(p.term_ptr[j], p.term_ptr[j + 1]):
                _update_key(m, gains, p.members[k], step)
        z += _GOLDEN
        tenure = shortest + _below(z, longest - shortest + 1)
        if tenure:
            _forbid(m, gains, i, step, step + tenure)
        else:
            _set_key(free, m.n_leaves, i, gains[i])
        if m.clock[1] == p.n_variables:
            m.clock[1] = -1
        if m.clock[1] >= 0:
            m.trail[m.clock[1]] = i
            m.clock[1] += 1
        if total > s.totals[1] + tolerance:
            _store_best(s, m, total)
    m.clock[0] += n_steps
    s.totals[0], s.rng[0] = total, z
