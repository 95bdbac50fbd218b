"""Exact optima of sparse Walsh functions by eliminating one variable at a time."""

from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from skmohn._core._types import Term
from skmohn.datasets._walsh import WalshFunction

# Table entries that may be visited. The first is a blink, and enough for whatever 20
# variables do; the second is a few seconds and at most a gigabyte, enough for the
# 10 x 10 torus.
WORK: dict[bool | str, int] = {"auto": 2**21, True: 2**26}
# Minimum and maximum: the value and an input of -1 and +1 that has it, or None twice.
Optima: TypeAlias = tuple[
    tuple[float | None, NDArray[np.float64] | None],
    tuple[float | None, NDArray[np.float64] | None],
]
# Each variable, in order of elimination, with the variables that it then meets.
_Schedule: TypeAlias = dict[int, set[int]]


def find_optima(function: WalshFunction, *, optimum: bool | str) -> Optima:
    """Minimum and maximum of a function, within a budget of work."""
    # Nonserial dynamic programming, or bucket elimination: maximize over one variable
    # for every setting of the variables it shares a term with, which leaves a table
    # over those; go on until none is left; read the choices backwards. The cost is
    # 2**width, where the width is that of the graph of shared terms, not the number of
    # variables: a ring of any length is cheap. Refused where `optimum` is True and the
    # work too much.
    unknown = (None, None), (None, None)
    if optimum is False:
        return unknown
    schedule = _schedule(function, WORK[optimum])
    if schedule is not None:
        low, high = (_maximize(function, schedule, sign) for sign in (-1.0, 1.0))
        return (function.value_at(low), low), (function.value_at(high), high)
    if optimum is True:
        raise ValueError(
            "optimum=True: the interactions of this function are too entangled for an "
            f"exact optimum with at most {WORK[True]} table entries. "
            'Use optimum="auto" or optimum=False.'
        )
    return unknown


def _schedule(function: WalshFunction, max_work: int) -> _Schedule | None:
    """Order of elimination: each variable, and those that it then meets."""
    # The one with the fewest neighbors goes first; None once max_work is exceeded.
    neighbors = {i: set() for i in range(function.n_features)}
    for term in function.terms:
        for i in term:
            neighbors[i].update(term)
    for i, others in neighbors.items():
        others.discard(i)
    schedule = {}
    queue = sorted((len(others), i) for i, others in neighbors.items())
    while queue:
        degree, i = heappop(queue)
        if i in schedule or degree != len(neighbors[i]):
            continue  # an entry from before the degree changed
        max_work -= 2 ** (degree + 1)
        if max_work < 0:
            return None
        schedule[i] = scope = neighbors[i]
        for j in scope:
            neighbors[j] |= scope
            neighbors[j] -= {i, j}
            heappush(queue, (len(neighbors[j]), j))
    return schedule


def _maximize(
    function: WalshFunction, schedule: _Schedule, sign: float
) -> NDArray[np.float64]:
    """Find x in {-1, +1}^n that maximizes sign * f."""
    rank = {i: r for r, i in enumerate(schedule)}
    terms = {i: [] for i in schedule}
    for term, weight in zip(function.terms, function.weights.tolist(), strict=True):
        terms[min(term, key=rank.__getitem__)].append((term, sign * weight))
    # Tables that wait for a variable: whom they are about, and the values. Axes are
    # ordered by rank: the variable to go is the first, and nothing is transposed.
    waiting = {i: [] for i in schedule}
    choices = {}
    for i, neighbors in schedule.items():
        others = sorted(neighbors, key=rank.__getitem__)
        table = np.zeros((2,) * (len(others) + 1))
        table += _table(terms[i], [i, *others])
        for members, values in waiting.pop(i):
            table += values.reshape([2 if j in members else 1 for j in (i, *others)])
        choices[i] = others, table[1] > table[0]
        if others:
            waiting[others[0]].append((neighbors, np.maximum(table[0], table[1])))
    positive = {}
    for i, (others, choice) in reversed(choices.items()):
        positive[i] = int(choice[tuple(positive[j] for j in others)])
    return np.array([2.0 * positive[i] - 1.0 for i in range(function.n_features)])


def _table(terms: list[tuple[Term, float]], scope: list[int]) -> NDArray[np.float64]:
    """Sum terms at every setting of a scope; axes that do not matter have length 1."""
    if not (terms and scope):
        return np.full((1,) * len(scope), sum(weight for _, weight in terms), float)
    first, *rest = scope
    fixed = _table([t for t in terms if first not in t[0]], rest)
    flipped = [t for t in terms if first in t[0]]
    if not flipped:
        return fixed[None]
    change = _table(flipped, rest)
    return np.stack([fixed - change, fixed + change])
