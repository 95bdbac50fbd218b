"""In which order variables are eliminated, and which ones are left out."""

import heapq
from typing import NamedTuple

import numpy as np

from skmohn.mohn._design.design import flatten_sets
from skmohn.optimize import _elimination_kernels as kernels

# Table entries, some nanoseconds each, that are not worth a search for a better order.
_CHEAP = 2**14
# Orders that differ by chance have widths that differ by less than this.
_LUCK = 8


class Plan(NamedTuple):
    """An order of elimination.

    Attributes
    ----------
    scopes : dict of int to set of int
        Each variable that is eliminated, in order, and those it then meets.

    held : set of int
        Variables that are not eliminated: they keep their values.

    width : int
        The size of the largest scope.

    cost : int
        Table entries to compute.
    """

    scopes: dict
    held: set
    width: int
    cost: int


def neighbors_of(graph, n_variables):
    """The variables that each variable shares a term with, as a list of sets."""
    neighbors = [set() for _ in range(n_variables)]
    for term in graph.terms:
        for i in term:
            neighbors[i].update(term)
    for i, others in enumerate(neighbors):
        others.discard(i)
    return neighbors


def exceeds_treewidth(neighbors, rng, max_width):
    """Whether no order, however lucky, can be expected to be that narrow."""
    if len(neighbors) <= max_width + 1:
        return False
    return bool(make_plan(neighbors, rng, max_width=max_width + _LUCK).held)


def cheapest_plan(neighbors, rng, *, held=(), n_plans=16, max_width=25):
    """Return the cheapest of some orders that eliminate all variables but those held.

    Parameters
    ----------
    neighbors : list of sets of int
        As from :func:`neighbors_of`.

    rng : Generator

    held : sequence of int, default=()

    n_plans : int, default=16
        How many to compare.

    max_width : int, default=25
        There is only one of them when this is out of reach, or when one will do.

    Returns
    -------
    plan : Plan
    """
    plan = make_plan(neighbors, rng, held=held)
    if plan.cost > _CHEAP and plan.width <= max_width + _LUCK:
        others = (make_plan(neighbors, rng, held=held) for _ in range(n_plans - 1))
        plan = min(plan, *others, key=lambda plan: plan.cost)
    return plan


def make_plan(neighbors, rng, *, max_width=None, held=()):
    """Eliminate the variable with the fewest neighbors, over and over.

    Parameters
    ----------
    neighbors : list of sets of int
        As from :func:`neighbors_of`.

    rng : Generator
        Decides between variables that have equally many.

    max_width : int, default=None
        Largest scope. Where every variable left has more neighbors, one with many is
        held. None sets no limit.

    held : sequence of int, default=()
        Variables to hold in any case.

    Returns
    -------
    plan : Plan
    """
    near = [set(others) for others in neighbors]
    keys = rng.random(len(near)).tolist()
    left = set(range(len(near)))
    queue = [(len(others), keys[i], i) for i, others in enumerate(near)]
    heapq.heapify(queue)
    scopes = {}

    def leave(i):
        left.discard(i)
        for j in near[i]:
            near[j].discard(i)

    def requeue(variables):
        for j in variables:
            heapq.heappush(queue, (len(near[j]), keys[j], j))

    for i in held:
        leave(i)
        requeue(near[i])
    kept = set(held)
    while queue:
        degree, _, i = heapq.heappop(queue)
        if i not in left or degree != len(near[i]):
            continue  # an entry from before the degree changed
        if max_width is not None and degree > max_width:
            hub = max((i, *near[i]), key=lambda j: (len(near[j]), keys[j]))
            kept.add(hub)
            leave(hub)
            requeue(near[hub])
            if hub != i:
                requeue([i])
            continue
        leave(i)
        scopes[i] = scope = near[i]
        if len(scope) == len(left):
            # All that are left meet each other: any order is as good.
            for j in sorted(left):
                left.discard(j)
                scopes[j] = set(left)
            break
        for j in scope:
            near[j] |= scope
            near[j].discard(j)
        requeue(scope)
    scopes = {i: scope - kept for i, scope in scopes.items()}
    sizes = [len(scope) for scope in scopes.values()]
    cost = sum(2 ** (size + 1) for size in sizes)
    return Plan(scopes, kept, max(sizes, default=0), cost)


def symmetric_variables(graph, neighbors):
    """Variables that may have any value in an optimum, as a list: one or none.

    Where all terms have even orders, flipping all variables changes nothing.
    """
    if np.any(np.diff(graph.indptr) % 2):
        return []
    return [max(range(len(neighbors)), key=lambda i: len(neighbors[i]))]


def make_schedule(graph, plan):
    """Lay out a plan for the kernel.

    Parameters
    ----------
    graph : WalshPolynomial

    plan : Plan

    Returns
    -------
    schedule : Schedule
    """
    order = list(plan.scopes)
    rank = {i: r for r, i in enumerate(order)}
    scopes = [sorted(scope, key=rank.get) for scope in plan.scopes.values()]
    received = [[] for _ in order]
    places = []
    for v, scope in enumerate(scopes):
        if scope:
            receiver = rank[scope[0]]
            received[receiver].append(v)
            bits = {i: b + 1 for b, i in enumerate(scopes[receiver])}
            places.append([bits.get(i, 0) for i in scope])
        else:
            places.append([])
    added = [[] for _ in order]
    for term, coef in zip(graph.terms, graph.coef.tolist(), strict=True):
        free = [i for i in term if i in rank]
        if free:
            first = min(free, key=rank.get)
            held = [i for i in term if i not in rank]
            added[rank[first]].append((free, coef, held))
    masks = []
    for v, terms in enumerate(added):
        bits = {i: 2 << b for b, i in enumerate(scopes[v])}
        bits[order[v]] = 1
        masks.extend(sum(bits[i] for i in free) for free, _, _ in terms)
    scope_ptr, scope = flatten_sets(scopes)
    _, place = flatten_sets(places)
    message_ptr, messages = flatten_sets(received)
    held_ptr, held = flatten_sets([held for terms in added for _, _, held in terms])
    sizes = np.diff(scope_ptr)
    return kernels.Schedule(
        order=np.array(order, dtype=np.int32),
        scope_ptr=scope_ptr,
        scope=scope,
        place=place.astype(np.int64),
        message_ptr=message_ptr,
        messages=messages,
        term_ptr=np.cumsum([0, *(len(terms) for terms in added)], dtype=np.int64),
        masks=np.array(masks, dtype=np.int64),
        coef=np.array([coef for terms in added for _, coef, _ in terms], dtype=float),
        held_ptr=held_ptr,
        held=held,
        choice_ptr=np.concatenate([[0], np.cumsum(2**sizes)]).astype(np.int64),
        slot=_slots(sizes, received),
        size=len(order),
    )


def _slots(sizes, received):
    """Where each message is kept; memory of those received is used again.

    Free memory is kept in pieces by their size, all powers of two. O(v log m).
    """
    n_kinds = int(sizes.max(initial=0)) + 1
    free, end = [[] for _ in range(n_kinds)], 0
    slots = np.zeros(len(sizes), dtype=np.int64)
    for v, size in enumerate(sizes):
        for child in received[v]:
            free[sizes[child]].append(slots[child])
        larger = next((k for k in range(size, n_kinds) if free[k]), None)
        if larger is None:
            slots[v], end = end, end + 2**size
        else:
            slots[v] = free[larger].pop()
            for k in range(size, larger):
                free[k].append(slots[v] + 2**k)
    return slots


def eliminate(schedule, ties, spins):
    """Give the variables of a schedule the values that are best together.

    Parameters
    ----------
    schedule : Schedule

    ties : ndarray of shape (n_eliminated,), bool
        Which of two equal values is taken.

    spins : ndarray of shape (n_variables,), int8
        Those that are held. The others are changed in place.

    Returns
    -------
    n_entries : int
        Table entries computed.
    """
    sizes = np.diff(schedule.scope_ptr)
    widest = 2 ** int(sizes.max(initial=0))
    room = kernels.Room(
        ties=ties.view(np.int8),
        spins=spins,
        choices=np.empty(schedule.choice_ptr[-1], dtype=np.int8),
        messages=np.empty((schedule.slot + 2**sizes).max(initial=0)),
        table=np.empty(2 * widest),
        low=np.empty(2**kernels.LOW_BITS, dtype=np.int64),
        high=np.empty(1 + 2 * widest // 2**kernels.LOW_BITS, dtype=np.int64),
    )
    return kernels.eliminate(schedule.address, room.address)
