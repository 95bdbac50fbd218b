"""Exact optima of sparse Walsh functions by eliminating one variable at a time."""

from heapq import heappop, heappush

import numpy as np

# Table entries that may be visited. The first is a blink, and enough for whatever 20
# variables do; the second is a few seconds and at most a gigabyte, enough for the
# 10 x 10 torus.
WORK = {"auto": 2**21, True: 2**26}


def find_optima(function, *, optimum):
    """Find the minimum and the maximum, within a budget of work.

    Dynamic programming (nonserial dynamic programming, bucket elimination): maximize
    over one variable for every setting of the variables it shares a term with, which
    leaves a table over those; go on until none is left; read the choices backwards.
    The cost is 2**width, where the width is that of the graph of shared terms, not
    the number of variables: a ring of any length is cheap.

    Parameters
    ----------
    function : WalshFunction
    optimum : {"auto", True, False}

    Returns
    -------
    minimum, maximum : tuple of (float, ndarray of shape (n_features,))
        The value and an input of -1 and +1 that has it; (None, None) where the work
        is not allowed.

    Raises
    ------
    ValueError
        If `optimum` is True and the work too much.
    """
    unknown = (None, None), (None, None)
    if optimum is False:
        return unknown
    schedule = _schedule(function, WORK[optimum])
    if schedule is not None:
        inputs = (_maximize(function, schedule, sign) for sign in (-1.0, 1.0))
        return tuple((function.value_at(x), x) for x in inputs)
    if optimum is True:
        raise ValueError(
            "optimum=True: the interactions of this function are too entangled for an "
            f"exact optimum with at most {WORK[True]} table entries. "
            'Use optimum="auto" or optimum=False.'
        )
    return unknown


def _schedule(function, max_work):
    """Map each variable, in order of elimination, to the variables it then meets.

    The one with the fewest neighbors goes first; None once max_work is exceeded.
    """
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


def _maximize(function, schedule, sign):
    """Return x in {-1, +1}^n that maximizes sign * f."""
    rank = {i: r for r, i in enumerate(schedule)}
    terms = {i: [] for i in schedule}
    for term, weight in zip(function.terms, function.weights.tolist(), strict=True):
        terms[min(term, key=rank.get)].append((term, sign * weight))
    # Tables that wait for a variable: whom they are about, and the values. Axes are
    # ordered by rank: the variable to go is the first, and nothing is transposed.
    waiting = {i: [] for i in schedule}
    choices = {}
    for i, neighbors in schedule.items():
        others = sorted(neighbors, key=rank.get)
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


def _table(terms, scope):
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
