"""Bucket elimination: orders of variables, and the best values by an order."""

# Sources: Bertele and Brioschi, Nonserial dynamic programming (1972); Dechter, Bucket
# elimination, Artificial Intelligence 113 (1999). The cost is exponential in the width
# of the order, not in the number of variables: a ring of any length is cheap.

import heapq
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core import _elimination_kernels as kernels
from skmohn._core._tuned import tuned
from skmohn._core._validation import require_memory
from skmohn._core._walsh import WalshPolynomial, flatten_sets


@dataclass(frozen=True)
class OrderConstants:
    """Search of an order of elimination."""

    # Table entries, some nanoseconds each, that are not worth a search for a better
    # order.
    max_cheap_cost: int = tuned(2**14, "cost")
    # Orders that differ by chance have widths that differ by less than this.
    max_width_difference: int = tuned(8, "cost")
    n_orders: int = tuned(16, "cost")


_ORDER = OrderConstants()


class EliminationOrder(NamedTuple):
    """Order in which variables are eliminated, and those that are not."""

    # Each variable that is eliminated, in order, and its neighbors then.
    scopes: dict[int, set[int]]
    held: set[int]  # variables that are not eliminated: they keep their values
    width: int  # size of the largest scope
    cost: int  # table entries to compute


def find_neighbors(polynomial: WalshPolynomial, n_variables: int) -> list[set[int]]:
    """Variables that each variable shares a term with."""
    neighbors: list[set[int]] = [set() for _ in range(n_variables)]
    for term in polynomial.terms:
        for i in term:
            neighbors[i].update(term)
    for i, others in enumerate(neighbors):
        others.discard(i)
    return neighbors


def exceeds_treewidth(
    neighbors: Sequence[AbstractSet[int]], rng: np.random.Generator, max_width: int
) -> bool:
    """Whether no order, however lucky, can be expected to be that narrow."""
    if len(neighbors) <= max_width + 1:
        return False
    return bool(
        order_by_degree(
            neighbors, rng, max_width=max_width + _ORDER.max_width_difference
        ).held
    )


def cheapest_order(
    neighbors: Sequence[AbstractSet[int]],
    rng: np.random.Generator,
    *,
    held: Collection[int],
    max_width: int,
) -> EliminationOrder:
    """Find the cheapest of some orders of all variables but those held."""
    # There is only one of them where one will do, or where `max_width` is out of reach.
    order = order_by_degree(neighbors, rng, held=held)
    if (
        order.cost > _ORDER.max_cheap_cost
        and order.width <= max_width + _ORDER.max_width_difference
    ):
        others = (
            order_by_degree(neighbors, rng, held=held)
            for _ in range(_ORDER.n_orders - 1)
        )
        order = min(order, *others, key=lambda order: order.cost)
    return order


def order_by_degree(
    neighbors: Sequence[AbstractSet[int]],
    rng: np.random.Generator | None = None,
    *,
    max_width: int | None = None,
    held: Collection[int] = (),
) -> EliminationOrder:
    """Eliminate the variable with the fewest neighbors, over and over."""
    # Of equally many, the generator chooses, or without it the index. Where every
    # variable left has more than `max_width` neighbors, one with many is held.
    near = [set(others) for others in neighbors]
    keys = range(len(near)) if rng is None else rng.random(len(near)).tolist()
    left = set(range(len(near)))
    queue = [(len(others), keys[i], i) for i, others in enumerate(near)]
    heapq.heapify(queue)
    scopes: dict[int, set[int]] = {}

    def leave(i: int) -> None:
        left.discard(i)
        for j in near[i]:
            near[j].discard(i)

    def requeue(variables: Iterable[int]) -> None:
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
    return EliminationOrder(scopes, kept, max(sizes, default=0), cost)


def symmetric_variables(
    polynomial: WalshPolynomial, neighbors: Sequence[AbstractSet[int]]
) -> list[int]:
    """Variables that may have any value in an optimum: one or none."""
    # Where all terms have even orders, flipping all variables changes nothing.
    if np.any(np.diff(polynomial.indptr) % 2):
        return []
    return [max(range(len(neighbors)), key=lambda i: len(neighbors[i]))]


def maximize_by_order(
    polynomial: WalshPolynomial, order: EliminationOrder, sign: int, advice: str
) -> NDArray[np.int8]:
    """Best values of all variables; those held, and one of equal values, get `sign`."""
    # `advice` ends the message where the tables do not fit in memory.
    require_memory(
        order.cost / 2 + 64.0 * 2**order.width,
        f"elimination with tables over {order.width} variables",
        advice,
    )
    schedule = make_schedule(polynomial, order)
    spins = np.full(len(order.scopes) + len(order.held), sign, dtype=np.int8)
    eliminate(schedule, np.full(schedule.size, sign < 0), spins)
    return spins


def make_schedule(
    polynomial: WalshPolynomial, elimination: EliminationOrder
) -> kernels.Schedule:
    """Lay out an order for the kernel."""
    order = list(elimination.scopes)
    rank = {i: r for r, i in enumerate(order)}
    scopes = [
        sorted(scope, key=rank.__getitem__) for scope in elimination.scopes.values()
    ]
    received: list[list[int]] = [[] for _ in order]
    bits = []
    for v, scope in enumerate(scopes):
        if scope:
            receiver = rank[scope[0]]
            received[receiver].append(v)
            own = {i: b + 1 for b, i in enumerate(scopes[receiver])}
            bits.append([own.get(i, 0) for i in scope])
        else:
            bits.append([])
    added: list[list[tuple[list[int], float, list[int]]]] = [[] for _ in order]
    for term, coef in zip(polynomial.terms, polynomial.weights.tolist(), strict=True):
        free = [i for i in term if i in rank]
        if free:
            first = min(free, key=rank.__getitem__)
            held = [i for i in term if i not in rank]
            added[rank[first]].append((free, coef, held))
    masks = []
    for v, terms in enumerate(added):
        own = {i: 2 << b for b, i in enumerate(scopes[v])}
        own[order[v]] = 1
        masks.extend(sum(own[i] for i in free) for free, _, _ in terms)
    scope_ptr, scope = flatten_sets(scopes)
    message_ptr, messages = flatten_sets(received)
    held_ptr, held = flatten_sets([held for terms in added for _, _, held in terms])
    sizes = np.diff(scope_ptr)
    return kernels.Schedule(
        order=np.array(order, dtype=np.int32),
        scope_ptr=scope_ptr,
        scope=scope,
        bit=flatten_sets(bits)[1].astype(np.int64),
        message_ptr=message_ptr,
        messages=messages,
        term_ptr=np.cumsum([0, *(len(terms) for terms in added)], dtype=np.int64),
        masks=np.array(masks, dtype=np.int64),
        coef=np.array([coef for terms in added for _, coef, _ in terms], dtype=float),
        held_ptr=held_ptr,
        held=held,
        choice_ptr=np.concatenate([[0], np.cumsum(2**sizes)]).astype(np.int64),
        offset=_find_offsets(sizes, received),
        size=len(order),
    )


def _find_offsets(
    sizes: NDArray[np.int64], received: Sequence[Sequence[int]]
) -> NDArray[np.int64]:
    """Offset of each message; memory of received ones is used again."""
    # Free memory is kept in pieces by their size, all powers of two. O(v log m).
    n_kinds = int(sizes.max(initial=0)) + 1
    free: list[list[int]] = [[] for _ in range(n_kinds)]
    end = 0
    offsets = np.zeros(len(sizes), dtype=np.int64)
    for v, size in enumerate(sizes):
        for child in received[v]:
            free[sizes[child]].append(offsets[child])
        larger = next((k for k in range(size, n_kinds) if free[k]), None)
        if larger is None:
            offsets[v], end = end, end + 2**size
        else:
            offsets[v] = free[larger].pop()
            for k in range(size, larger):
                free[k].append(offsets[v] + 2**k)
    return offsets


def eliminate(
    schedule: kernels.Schedule, ties: NDArray[np.bool_], spins: NDArray[np.int8]
) -> int:
    """Set the variables of a schedule to the values that are best together."""
    # `ties` chooses -1 of two equal values of each; `spins` has those held, the others
    # are changed in place. Returned is the number of table entries computed.
    sizes = np.diff(schedule.scope_ptr)
    widest = 2 ** int(sizes.max(initial=0))
    workspace = kernels.Workspace(
        ties=ties.view(np.int8),
        spins=spins,
        choices=np.empty(schedule.choice_ptr[-1], dtype=np.int8),
        messages=np.empty((schedule.offset + 2**sizes).max(initial=0)),
        table=np.empty(2 * widest),
        low=np.empty(2**kernels.LOW_BITS, dtype=np.int64),
        high=np.empty(1 + 2 * widest // 2**kernels.LOW_BITS, dtype=np.int64),
    )
    return kernels.eliminate(schedule.address, workspace.address)
