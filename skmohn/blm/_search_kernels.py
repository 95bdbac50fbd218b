"""Compiled local search on integer codes, which depends on nothing but losses.

:func:`ask` names a weight and a new code for it, :func:`improves` takes the loss that
this would give and decides; :func:`succeed` or :func:`fail` follows. Two searches: the
Gray-bit search of [S4], and an adaptive one that gives each weight a signed step of its
own and falls back on Gray bits to prove a local minimum.

[S4] Brunato and Battiti, "A telescopic binary learning machine for training neural
networks", IEEE TNNLS 28 (2017).
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from skmohn._core._kernel_args import Borrowable, borrower_of
from skmohn._core._numba import jit

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
_S27, _S30, _S31, _S32 = (np.uint64(shift) for shift in (27, 30, 31, 32))


STATE = np.dtype(
    [
        ("n_weights", np.int64),  # P
        ("rng", np.uint64),
        ("loss", np.float64),
        ("loss_forth", np.float64),  # after the step forth
        ("best_loss", np.float64),  # of the best move
        ("mean_tried", np.float64),  # moving average of moves tried per success
        ("next_move", np.int64),  # index in moves
        ("next_in_order", np.int64),  # index in order
        ("kind", np.int64),  # of the question, with its weight and code
        ("weight", np.int64),
        ("code", np.int64),
        ("best_weight", np.int64),  # the best move so far; -1 for none
        ("best_code", np.int64),
        ("bits", np.int64),  # movable bits of each weight
        ("n_since_success", np.int64),  # moves tried since the last success
        ("tried", np.int64),  # moves tried in all
        ("accepted", np.int64),  # successes in all
        ("proving", np.bool_),  # whether the Gray moves prove a minimum
        ("on_zeros", np.bool_),  # whether it is the turn of the zeros
        ("hopeful", np.bool_),  # whether another sweep may succeed
        ("moving", np.bool_),  # whether the weight in hand has moved
        # What follows stays as it is.
        ("n_bits", np.int64),
        ("binary", np.bool_),  # freeze low binary bits, not low Gray bits
        ("adaptive", np.bool_),
        ("best", np.bool_),  # make the best move of all, not the first that improves
        ("sparse", np.bool_),  # zeros move only when nothing else improves
        ("telescopic", np.int64),
        ("phi", np.float64),  # more bits when fewer moves than this improve
        ("eta", np.float64),  # decay of the moving average
        ("min_gain", np.float64),  # fraction of the loss that may be rounding error
    ],
    align=True,
)


@dataclass(eq=False)
class Search(Borrowable):
    """Search over P codes: all that its kernels take, by its address."""

    codes: NDArray[np.int32]  # (P,)
    steps: NDArray[np.int32]  # (P,), signed, of the adaptive search
    order: NDArray[np.int32]  # (P,), weights as the adaptive search visits them
    moves: NDArray[np.int32]  # (P n_bits,), Gray neighborhood, shuffled as it goes
    state: Annotated[np.recarray, STATE]  # the variables

    def __post_init__(self) -> None:
        # Another process may hand them over read-only.
        for name, array in list(vars(self).items()):
            setattr(self, name, np.require(array, requirements=["C", "W"]))
        self.state["n_weights"] = len(self.codes)


_search_at = borrower_of(Search)


@jit
def _below(state, n):
    """Random integer below ``n < 2 ** 31``, by splitmix64. O(1)."""
    state.rng += _GOLDEN
    z = state.rng
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    # A product of halves is faster than a remainder.
    return np.int64(((z ^ (z >> _S31)) >> _S32) * np.uint64(n) >> _S32)


@jit
def _draw(items, first, n, state):
    """Next item of a shuffle that is made as it is used. O(1)."""
    other = first + _below(state, n - first)
    item = items[other]
    items[other] = items[first]
    items[first] = item
    return item


@jit
def _neighbor(code, bit, movable, n_bits, binary):
    """Flip a bit of the Gray code of ``code``; bit ``n_bits - 1`` is the highest.

    With ``binary`` the bits below the ``movable`` highest binary ones stay as they are.
    """
    flipped = -1 if bit == n_bits - 1 else (1 << bit + 1) - 1
    if binary:
        flipped &= -(1 << (n_bits - movable))
    return code ^ flipped


@jit
def _expected_tries(n_good, n_moves):
    """Moves tried before a good one is met, drawing without replacement.

    The closed form of [S4] Eq 3 to 5.
    """
    return (n_moves - n_good) / (n_good + 1.0)


@jit
def _begin(search):
    state = search.state
    for k in range(state.n_weights * state.bits):
        search.moves[k] = k
    state.mean_tried = 0.0
    state.n_since_success = 0
    _begin_sweep(state)


@jit
def restart(search):
    """Begin with the whole neighborhood again. O(P n_bits)."""
    _begin(_search_at(search))


@jit
def _begin_sweep(state):
    state.next_move = state.next_in_order = 0
    state.proving = state.on_zeros = state.hopeful = state.moving = False
    state.kind = NEXT
    state.best_weight = -1


@jit
def _widen(search):
    """Let one more bit of each weight move."""
    search.state.bits += 1
    _begin(search)


@jit
def _question(state, kind, weight, code):
    state.kind, state.weight, state.code = kind, weight, code
    return weight, code


@jit
def _ask_gray(search):
    """Next move of the Gray neighborhood; -1 at a local minimum of all bits."""
    state, codes, moves = search.state, search.codes, search.moves
    while True:
        movable = state.bits
        n_moves = state.n_weights * movable
        while state.next_move < n_moves:
            move = _draw(moves, state.next_move, n_moves, state)
            state.next_move += 1
            weight = move // movable
            code = codes[weight]
            if state.sparse and (code == 0) != state.on_zeros:
                continue
            bit = state.n_bits - 1 - move % movable
            code = _neighbor(code, bit, movable, state.n_bits, state.binary)
            return _question(state, GRAY, weight, code)
        if state.best and state.best_weight >= 0:
            return _question(state, BEST_MOVE, state.best_weight, state.best_code)
        if state.sparse and not state.on_zeros:
            state.on_zeros = True
            state.next_move = 0
        elif movable < state.n_bits:
            _widen(search)
        else:
            return -1, 0


@jit
def _unit(state):
    """Smallest step that the movable bits allow."""
    return 1 << (state.n_bits - state.bits)


@jit
def _reach(search, weight, step):
    """Code after a step, or as near to it as the range and the frozen bits allow."""
    state = search.state
    code, unit = search.codes[weight], _unit(state)
    top = 1 << (state.n_bits - 1)
    if step > 0:
        room = (top - 1 - code) & -unit
        return code + (step if step < room else room)
    room = (code + top) & -unit
    return code - (-step if -step < room else room)


@jit
def _halve(search, weight):
    """Shorten a step that failed; a step that is not the shortest may yet succeed."""
    state, steps = search.state, search.steps
    unit = _unit(state)
    step = steps[weight]
    size = abs(step)
    state.hopeful |= size > unit
    size = (size >> 1) & -unit
    size = size if size > unit else unit
    steps[weight] = size if step > 0 else -size
    state.kind = NEXT


@jit
def _visit(search):
    """Take the next weight of the sweep in hand; return whether there is one."""
    state, codes, order = search.state, search.codes, search.order
    while state.next_in_order < state.n_weights:
        weight = _draw(order, state.next_in_order, state.n_weights, state)
        state.next_in_order += 1
        if state.sparse and (codes[weight] == 0) != state.on_zeros:
            continue
        state.moving = False
        state.loss_forth = np.inf
        is_random = _below(state, _RANDOM_EVERY) == 0
        state.kind, state.weight = RANDOM if is_random else FORTH, weight
        return True
    return False


@jit
def _end_sweep(search):
    """Begin another sweep, or to prove a minimum."""
    state = search.state
    zeros_next = state.sparse and not state.on_zeros
    if not state.hopeful and not zeros_next:
        if state.bits == state.n_bits:
            _begin_sweep(state)
            state.proving = True
            return
        _widen(search)
    on_zeros = zeros_next and not state.hopeful
    _begin_sweep(state)
    state.on_zeros = on_zeros


@jit
def ask(search):
    """Name a weight and a code to try; weight -1 when no move improves. O(1)."""
    s = _search_at(search)
    state, codes, steps = s.state, s.codes, s.steps
    # Go on with the weight in hand, else visit the next one.
    while state.adaptive and not state.proving:
        kind, weight = state.kind, state.weight
        if kind == RANDOM:
            bit = state.n_bits - 1 - _below(state, state.bits)
            code = _neighbor(codes[weight], bit, state.bits, state.n_bits, state.binary)
            return _question(state, RANDOM, weight, code)
        if kind == VERTEX:
            return _question(state, VERTEX, weight, state.code)
        if kind != NEXT:
            step = steps[weight] if kind == FORTH else -steps[weight]
            code = _reach(s, weight, step)
            if code != codes[weight]:
                return _question(state, kind, weight, code)
            # The end of the range: turn round, or give up on this weight for now.
            if kind == FORTH and not state.moving:
                state.kind = BACK
            else:
                _halve(s, weight)
        elif not _visit(s):
            _end_sweep(s)
    return _ask_gray(s)


# --------------------------------------------------------------------------- answers


@jit
def improves(search, loss):
    """Whether the loss of the last question is low enough for its move. O(1)."""
    state = _search_at(search).state
    state.tried += 1
    is_lower = loss < state.loss - state.min_gain * abs(state.loss)
    if state.best and state.kind == GRAY:
        if is_lower and (state.best_weight < 0 or loss < state.best_loss):
            state.best_loss = loss
            state.best_weight, state.best_code = state.weight, state.code
        return False
    return is_lower


@jit
def succeed(search, loss):
    """Make the move; more bits when successes have become rare."""
    s = _search_at(search)
    state, codes, steps = s.state, s.codes, s.steps
    kind, weight, code = state.kind, state.weight, state.code
    gone = code - codes[weight]
    codes[weight] = code
    state.loss = loss
    state.accepted += 1
    state.mean_tried *= state.eta
    state.mean_tried += (1.0 - state.eta) * state.n_since_success
    state.n_since_success = 0
    if kind in (FORTH, BACK):
        widest = 1 << (state.n_bits - 1)
        size = 2 * abs(steps[weight])
        size = size if size < widest else widest
        steps[weight] = size if gone > 0 else -size
        state.kind = FORTH
        state.hopeful = state.moving = True
    elif kind == VERTEX:
        steps[weight] = gone
        state.kind = NEXT
        state.hopeful = True
    elif kind == RANDOM:
        state.kind = NEXT
        state.hopeful = True
    else:
        _begin_sweep(state)
    if state.telescopic == AT_THRESHOLD and state.bits < state.n_bits:
        n_moves = state.n_weights * state.bits
        n_good = np.floor(state.phi * n_moves)
        if state.mean_tried >= _expected_tries(n_good, n_moves):
            _widen(s)


@jit
def fail(search, loss):
    """Decide what to try next of the weight in hand."""
    s = _search_at(search)
    state, codes, steps = s.state, s.codes, s.steps
    state.n_since_success += 1
    kind, weight = state.kind, state.weight
    if kind == FORTH and not state.moving:
        state.loss_forth = loss
        state.kind = BACK
    elif kind == BACK:
        bend = loss + state.loss_forth - 2.0 * state.loss
        step, unit = steps[weight], _unit(state)
        whole = _reach(s, weight, step) - _reach(s, weight, -step) == 2 * step
        state.kind = VERTEX
        state.code = codes[weight]
        if whole and bend > 0.0:
            jump = np.rint(0.5 * step * (loss - state.loss_forth) / bend / unit)
            # Where the three losses are all but equal, or one is infinite, the parabola
            # means nothing.
            if abs(jump) * unit < abs(step):
                state.code += np.int64(jump) * unit
        if state.code == codes[weight]:
            _halve(s, weight)
    elif kind in (FORTH, VERTEX):
        _halve(s, weight)
    elif kind == RANDOM:
        state.hopeful |= abs(steps[weight]) > _unit(state)
        state.kind = NEXT
    elif kind == BEST_MOVE:
        # It was luck, of a loss that is another one each time.
        state.best_weight = -1
