"""Compiled local search on integer codes, which knows nothing but losses.

:func:`ask` names a weight and a new code for it, :func:`tell` hears the loss that this
would give and decides. Two searches: the Gray-bit search of [S4], and an adaptive one
that gives each weight a signed step of its own and falls back on Gray bits to prove a
local minimum.

Kernels of other files call these, and numba does not notice a change here: after an
edit, ``make clean`` removes what it has compiled.

[S4] Brunato and Battiti, "A telescopic binary learning machine for training neural
networks", IEEE TNNLS 28 (2017).
"""

from typing import NamedTuple

import numpy as np

from skmohn._core._jit import jit

# How the number of movable bits grows, beside at a local minimum.
NEVER, AT_MINIMUM, AT_THRESHOLD = range(3)
# What a question is about: a Gray bit in order, the best of them, a random one; a step
# of the adaptive search, its opposite, the lowest point of a parabola through both.
GRAY, BEST_MOVE, RANDOM, FORTH, BACK, VERTEX, NEXT = range(7)
# Every so many visits of a weight a random Gray bit is tried instead.
_RANDOM_EVERY = 10

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = (np.uint64(shift) for shift in (27, 30, 31))


class Search(NamedTuple):
    """State of a search over P codes; arrays of one element are variables."""

    codes: np.ndarray  # (P,) int32
    steps: np.ndarray  # (P,) int32, signed, of the adaptive search
    order: np.ndarray  # (P,) int32, weights as the adaptive search visits them
    moves: np.ndarray  # (P n_bits,) int32, the Gray neighbourhood, shuffled as it goes
    rng: np.ndarray  # uint64
    loss: np.ndarray  # float64: now, after the step forth, of the best move
    mean_tried: np.ndarray  # float64, moving average of moves tried per success
    place: np.ndarray  # int64: in moves, in order
    asked: np.ndarray  # int64: kind, weight and code of the question; the best move
    bits: np.ndarray  # int64, movable bits of each weight
    tried: np.ndarray  # int64: since the last success, in all, and successes in all
    flags: np.ndarray  # bool: proving a minimum, on zeros, sweep not in vain, moving
    n_bits: int
    binary: bool  # freeze low binary bits, not low Gray bits
    adaptive: bool
    best: bool  # make the best move of the neighbourhood, not the first that improves
    sparse: bool  # zeros move only when nothing else improves
    telescopic: int
    share: float  # phi: more bits when fewer moves than this share improve
    decay: float  # eta, of the moving average
    least_gain: float  # share of the loss below which a gain is rounding error


@jit
def _below(rng, n):
    """Random integer below ``n``, by splitmix64. O(1)."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return np.int64((z ^ (z >> _S31)) % np.uint64(n))


@jit
def _draw(items, place, n, rng):
    """Next item of a shuffle that is made as it is used. O(1)."""
    other = place + _below(rng, n - place)
    item = items[other]
    items[other] = items[place]
    items[place] = item
    return item


@jit
def neighbour(code, bit, movable, n_bits, binary):
    """Flip a bit of the Gray code of ``code``; bit ``n_bits - 1`` is the highest.

    With ``binary`` the bits below the ``movable`` highest binary ones stay as they are.
    """
    flipped = -1 if bit == n_bits - 1 else (1 << bit + 1) - 1
    if binary:
        flipped &= -(1 << (n_bits - movable))
    return code ^ flipped


@jit
def expected_tries(n_good, n_moves):
    """Moves tried before a good one is met, drawing without replacement.

    The closed form of [S4] Eq 3 to 5.
    """
    return (n_moves - n_good) / (n_good + 1.0)


@jit
def restart(search):
    """Begin with the whole neighbourhood again. O(P n_bits)."""
    for k in range(search.codes.shape[0] * search.bits[0]):
        search.moves[k] = k
    search.mean_tried[0] = 0.0
    search.tried[0] = 0
    _begin_sweep(search)


@jit
def _begin_sweep(search):
    search.place[:] = 0
    search.flags[:] = False
    search.asked[0] = NEXT
    search.asked[3] = -1


@jit
def _widen(search):
    """Let one more bit of each weight move."""
    search.bits[0] += 1
    restart(search)


@jit
def _question(search, kind, weight, code):
    search.asked[0], search.asked[1], search.asked[2] = kind, weight, code
    return weight, code


@jit
def _ask_gray(search):
    """Next move of the Gray neighbourhood; -1 at a local minimum of all bits."""
    while True:
        movable = search.bits[0]
        n_moves = search.codes.shape[0] * movable
        while search.place[0] < n_moves:
            move = _draw(search.moves, search.place[0], n_moves, search.rng)
            search.place[0] += 1
            weight = move // movable
            code = search.codes[weight]
            if search.sparse and (code == 0) != search.flags[1]:
                continue
            bit = search.n_bits - 1 - move % movable
            code = neighbour(code, bit, movable, search.n_bits, search.binary)
            return _question(search, GRAY, weight, code)
        if search.best and search.asked[3] >= 0:
            return _question(search, BEST_MOVE, search.asked[3], search.asked[4])
        if search.sparse and not search.flags[1]:
            search.flags[1] = True
            search.place[0] = 0
        elif movable < search.n_bits:
            _widen(search)
        else:
            return -1, 0


@jit
def _unit(search):
    """Smallest step that the movable bits allow."""
    return 1 << (search.n_bits - search.bits[0])


@jit
def _reach(search, weight, step):
    """Code after a step, or as near to it as the range and the frozen bits allow."""
    code, unit, top = search.codes[weight], _unit(search), 1 << (search.n_bits - 1)
    if step > 0:
        return code + min(step, (top - 1 - code) // unit * unit)
    return code - min(-step, (code + top) // unit * unit)


@jit
def _halve(search, weight):
    """Shorten a step that failed; a step that is not the shortest may yet succeed."""
    step, unit = search.steps[weight], _unit(search)
    size = abs(step)
    search.flags[2] |= size > unit
    size = max(size // 2 // unit * unit, unit)
    search.steps[weight] = size if step > 0 else -size
    search.asked[0] = NEXT


@jit
def _visit(search):
    """Take the next weight of the sweep in hand; return whether there is one."""
    while search.place[1] < search.codes.shape[0]:
        weight = _draw(search.order, search.place[1], search.codes.shape[0], search.rng)
        search.place[1] += 1
        if search.sparse and (search.codes[weight] == 0) != search.flags[1]:
            continue
        search.flags[3] = False
        search.loss[1] = np.inf
        is_random = _below(search.rng, _RANDOM_EVERY) == 0
        search.asked[0], search.asked[1] = RANDOM if is_random else FORTH, weight
        return True
    return False


@jit
def _end_sweep(search):
    """What follows a sweep; return whether it is another one of the same kind."""
    zeros_next = search.sparse and not search.flags[1]
    if not search.flags[2] and not zeros_next:
        if search.bits[0] == search.n_bits:
            _begin_sweep(search)
            search.flags[0] = True
            return False
        _widen(search)
    on_zeros = zeros_next and not search.flags[2]
    _begin_sweep(search)
    search.flags[1] = on_zeros
    return True


@jit
def _ask_adaptive(search):
    """Go on with the weight in hand, else visit the next one."""
    while True:
        kind, weight = search.asked[0], search.asked[1]
        if kind == RANDOM:
            bit = search.n_bits - 1 - _below(search.rng, search.bits[0])
            code = neighbour(
                search.codes[weight], bit, search.bits[0], search.n_bits, search.binary
            )
            return _question(search, RANDOM, weight, code)
        if kind == VERTEX:
            return _question(search, VERTEX, weight, search.asked[2])
        if kind != NEXT:
            step = search.steps[weight] if kind == FORTH else -search.steps[weight]
            code = _reach(search, weight, step)
            if code != search.codes[weight]:
                return _question(search, kind, weight, code)
            # The end of the range: turn round, or give up on this weight for now.
            if kind == FORTH and not search.flags[3]:
                search.asked[0] = BACK
            else:
                _halve(search, weight)
        elif not _visit(search) and not _end_sweep(search):
            return _ask_gray(search)


@jit
def ask(search):
    """Name a weight and a code to try; weight -1 when no move improves. O(1)."""
    if search.adaptive and not search.flags[0]:
        return _ask_adaptive(search)
    return _ask_gray(search)


# --------------------------------------------------------------------------- answers


@jit
def _succeed(search, loss):
    """Make the move; more bits when successes have become rare."""
    kind, weight, code = search.asked[0], search.asked[1], search.asked[2]
    gone = code - search.codes[weight]
    search.codes[weight] = code
    search.loss[0] = loss
    search.tried[2] += 1
    search.mean_tried[0] *= search.decay
    search.mean_tried[0] += (1.0 - search.decay) * search.tried[0]
    search.tried[0] = 0
    if kind in (FORTH, BACK):
        widest = 1 << (search.n_bits - 1)
        size = min(2 * abs(search.steps[weight]), widest)
        search.steps[weight] = size if gone > 0 else -size
        search.asked[0] = FORTH
        search.flags[2] = search.flags[3] = True
    elif kind == VERTEX:
        search.steps[weight] = gone
        search.asked[0] = NEXT
        search.flags[2] = True
    elif kind == RANDOM:
        search.asked[0] = NEXT
        search.flags[2] = True
    else:
        _begin_sweep(search)
    if search.telescopic == AT_THRESHOLD and search.bits[0] < search.n_bits:
        n_moves = search.codes.shape[0] * search.bits[0]
        if search.mean_tried[0] >= expected_tries(
            np.floor(search.share * n_moves), n_moves
        ):
            _widen(search)


@jit
def _fail(search, loss):
    """Decide what to try next of the weight in hand."""
    kind, weight = search.asked[0], search.asked[1]
    if kind == FORTH and not search.flags[3]:
        search.loss[1] = loss
        search.asked[0] = BACK
    elif kind == BACK:
        bend = loss + search.loss[1] - 2.0 * search.loss[0]
        step, unit = search.steps[weight], _unit(search)
        whole = _reach(search, weight, step) - _reach(search, weight, -step) == 2 * step
        search.asked[0] = VERTEX
        search.asked[2] = search.codes[weight]
        if whole and 0.0 < bend < np.inf:
            jump = np.rint(0.5 * step * (loss - search.loss[1]) / bend / unit)
            # Where the three losses are all but equal the parabola means nothing.
            if abs(jump) * unit < abs(step):
                search.asked[2] += np.int64(jump) * unit
        if search.asked[2] == search.codes[weight]:
            _halve(search, weight)
    elif kind in (FORTH, VERTEX):
        _halve(search, weight)
    elif kind == RANDOM:
        search.flags[2] |= abs(search.steps[weight]) > _unit(search)
        search.asked[0] = NEXT


@jit
def tell(search, loss):
    """Hear the loss of the last question; return whether its move is made. O(1)."""
    search.tried[1] += 1
    improves = loss < search.loss[0] - search.least_gain * abs(search.loss[0])
    if search.best and search.asked[0] == GRAY:
        if improves and (search.asked[3] < 0 or loss < search.loss[2]):
            search.loss[2] = loss
            search.asked[3], search.asked[4] = search.asked[1], search.asked[2]
        improves = False
    if improves:
        _succeed(search, loss)
    else:
        search.tried[0] += 1
        _fail(search, loss)
    return improves
