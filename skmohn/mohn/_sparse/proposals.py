"""Candidate weights of the stochastic search."""

# One distribution over orders, one over inputs that is reshaped while a set is drawn,
# and a table of the sets that are in use or discarded.
#
# [S1] K. Swingler, "Structure discovery in mixed order hyper networks", Big Data
# Analytics 1:8, 2016. The equation numbers are those of this article.

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import flatten_sets
from skmohn.mohn._design.terms import count_orders
from skmohn.mohn._options import MSDAOptions
from skmohn.mohn._sparse import proposal_kernels as kernels

# Replaces numbers of sets that cannot be counted.
_COUNTLESS: Final = 2**62


@dataclass(frozen=True)
class ProposalConstants:
    """Draws of sets."""

    # Members that one call of the sampling kernel may draw.
    n_members: int = tuned(1 << 16, "cost")


_PROPOSALS = ProposalConstants()


# Sizes of weights, offsets and members of their sets, offsets and weights by input.
Linked: TypeAlias = tuple[
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.intp],
]


def laplace_orders(mode: int, width: float, max_order: int) -> NDArray[np.float64]:
    """Discrete Laplace distribution over the orders 1 to max_order ([S1] Eq 9)."""
    orders = np.arange(1, max_order + 1)
    density = np.exp(-np.abs(mode - orders) / width)
    return density / density.sum()


def updated_orders(
    orders: NDArray[np.float64],
    model_orders: NDArray[np.intp],
    mode: int,
    control: MSDAOptions,
) -> NDArray[np.float64]:
    """Mix the past, the orders in the model and a Laplace at the mode ([S1] Eq 10)."""
    # All of shape (max_order,). Without weights in the model their fraction goes to the
    # other two. The mode is the lowest order with untried weights.
    alpha, beta = control.order_share, control.mode_share
    mixed = (1.0 - alpha - beta) * orders
    mixed = mixed + alpha * model_orders / max(model_orders.sum(), 1)
    mixed += beta * laplace_orders(mode, control.order_width, len(orders))
    total = mixed.sum()
    return mixed / total if total > 0.0 else orders


def first_inputs(
    prior: NDArray[np.float64], contribution: NDArray[np.float64], exploitation: float
) -> NDArray[np.float64]:
    """Distribution of a set's first input ([S1] Eq 11 to 13)."""
    # `prior` replaces the article's uniform ``1 / n``; `contribution` are the sums of
    # the sizes of the weights that contain each input. `exploitation` is from -1
    # (prefer unused inputs) to 1 (prefer those used most).
    total = contribution.sum()
    if total == 0.0:
        return prior
    fraction = contribution / total
    if exploitation > 0.0:
        return (1.0 - exploitation) * prior + exploitation * fraction
    mixed = (1.0 + exploitation) * prior - exploitation * (1.0 - fraction)
    return mixed / mixed.sum()


class Proposals:
    """Sampler of sets of inputs that were not tried recently."""

    def __init__(
        self,
        n_features: int,
        control: MSDAOptions,
        seed: int,  # determines all draws
        max_order: int | None = None,  # at most `n_features`, or None for it
    ) -> None:
        self.control = control
        self.n_features = n_features
        self.max_order = n_features if max_order is None else max_order
        # Number of sets of each order, from order 1.
        self.possible = [math.comb(n_features, o + 1) for o in range(self.max_order)]
        self.limits = np.array(
            [_fraction_of(control.mopping_threshold, count) for count in self.possible]
        )
        # (max_order,); distribution over orders, before exhausted orders are excluded.
        self.orders = self._initial_orders()
        self.prior = self._initial_inputs()
        self._state = np.array([seed % 2**64], dtype=np.uint64)
        self._keys = np.empty(n_features, dtype=np.uint64)
        kernels.random_keys(self._state, self._keys)
        self._shuffle = np.random.default_rng(seed)
        # (max_order,), int64; sets by order that are in the model or discarded.
        self.used = np.zeros(self.max_order, dtype=np.int64)
        # (max_order,), int64; sets by order that were proposed at any time.
        self.tried = np.zeros(self.max_order, dtype=np.int64)
        self._table = np.zeros(1024, dtype=np.uint64)
        self._tried_table = np.zeros(1024, dtype=np.uint64)

    @property
    def open_orders(self) -> NDArray[np.float64]:
        """Distribution over the orders that have unused sets; zeros when none has."""
        left = np.array(
            [used < n for used, n in zip(self.used, self.possible, strict=True)]
        )
        orders = np.where(left, self.orders, 0.0)
        total = orders.sum()
        return orders / total if total > 0.0 else orders

    def update(self, sets: Sequence[Term]) -> None:
        """Reshape the distribution over orders after the model changed."""
        unused = [o + 1 for o, n in enumerate(self.possible) if self.used[o] < n]
        mode = unused[0] if unused else self.max_order
        counts = count_orders(sets, self.max_order)
        self.orders = updated_orders(self.orders, counts, mode, self.control)

    def propose(
        self,
        n_wanted: int,
        n_most: int,
        sets: Sequence[Term],
        coef: NDArray[np.float64],
    ) -> list[Term]:
        """Sample new sets, given the model; mark them as used."""
        # Samples `n_wanted` sets, and adds those left of nearly exhausted orders, at
        # most `n_most` in all. Sets are sorted, and none was used before.
        self._reserve(n_most)
        proposed = self._mop_up(n_most)
        n_wanted = min(n_wanted, n_most - len(proposed))
        if n_wanted > 0:
            proposed += self._sample(n_wanted, sets, coef)
            # The sample may have closed further orders.
            proposed += self._mop_up(n_most - len(proposed))
        return proposed

    def start_from(self, sets: Sequence[Term]) -> None:
        """Mark the sets of a given model as used and tried."""
        longest = max(map(len, sets), default=0)
        if longest > self.max_order:
            raise ValueError(
                f"a term has order {longest}, but max_order is {self.max_order}"
            )
        self._reserve(len(sets))
        self._mark(sets)

    def forget_discarded(self, sets: Sequence[Term]) -> None:
        """Clear the discarded sets: only those of the model stay used."""
        self._table[:] = 0
        self.used = count_orders(sets, self.max_order)
        kernels.insert_all(self._table, self._keys_of(sets))

    def _initial_orders(self) -> NDArray[np.float64]:
        given = self.control.initial_orders
        if given is None:
            return laplace_orders(1, self.control.order_width, self.max_order)
        return _distribution("initial_orders", given, self.max_order, "order")

    def _initial_inputs(self) -> NDArray[np.float64]:
        given = self.control.initial_inputs
        if given is None:
            return np.full(self.n_features, 1.0 / self.n_features)
        return _distribution("initial_inputs", given, self.n_features, "input")

    def _sample(
        self, n_wanted: int, sets: Sequence[Term], coef: NDArray[np.float64]
    ) -> list[Term]:
        sampled = []
        orders = self.open_orders
        model = _linked(self.n_features, sets, coef)
        first = first_inputs(
            self.prior, _contribution(self.n_features, model), self.control.exploitation
        )
        while len(sampled) < n_wanted:
            size = n_wanted - len(sampled)
            indptr = np.empty(size + 1, dtype=np.int64)
            room = min(max(_PROPOSALS.n_members, self.max_order), size * self.max_order)
            members = np.empty(room, dtype=np.int32)
            found = kernels.draw_sets(
                self._state,
                self._keys,
                self._table,
                self._tried_table,
                self.used,
                self.tried,
                self.limits,
                orders,
                first,
                model,
                self.control.clique_share,
                size,
                np.zeros(len(sets), dtype=np.int64),
                np.empty((2, self.n_features)),
                indptr,
                members,
            )
            if not found:
                break
            bounds = indptr[: found + 1].tolist()
            members = members[: bounds[-1]].tolist()
            sampled += [
                tuple(members[start:stop]) for start, stop in itertools.pairwise(bounds)
            ]
        return sampled

    def _mop_up(self, n_most: int) -> list[Term]:
        """Take the last sets of the orders that are nearly exhausted."""
        mopped = []
        for o, possible in enumerate(self.possible):
            left = possible - int(self.used[o])
            room = n_most - len(mopped)
            if self.used[o] < self.limits[o] or left == 0 or room <= 0:
                continue
            rest = np.empty((left, o + 1), dtype=np.int32)
            first = np.arange(o + 1)
            found = kernels.unused_sets(self._keys, self._table, first, rest)
            if found > room:
                rest = rest[self._shuffle.choice(found, room, replace=False)]
            batch = [tuple(members) for members in rest[:found].tolist()]
            self._mark(batch)
            mopped += batch
        return mopped

    def _keys_of(self, sets: Sequence[Term]) -> NDArray[np.uint64]:
        indptr, members = flatten_sets(sets)
        keys = np.empty(len(sets), dtype=np.uint64)
        kernels.keys_of(self._keys, indptr, members, keys)
        return keys

    def _mark(self, sets: Sequence[Term]) -> None:
        keys = self._keys_of(sets)
        for key, members in zip(keys, sets, strict=True):
            self.used[len(members) - 1] += kernels.insert(self._table, key)
            self.tried[len(members) - 1] += kernels.insert(self._tried_table, key)

    def _reserve(self, n_more: int) -> None:
        """Keep the tables at least half free after n_more insertions."""
        self._table = _grown(self._table, int(self.used.sum()) + n_more)
        self._tried_table = _grown(self._tried_table, int(self.tried.sum()) + n_more)


def _fraction_of(fraction: float, count: int) -> int:
    return math.ceil(fraction * count) if count < _COUNTLESS else _COUNTLESS


def _distribution(
    name: str, given: Sequence[float], size: int, owner: str
) -> NDArray[np.float64]:
    if len(given) != size:
        raise ValueError(
            f"{name} of MSDAOptions must have {size} numbers, one for each {owner}, "
            f"got {len(given)}"
        )
    return np.array(given) / np.sum(given)


def _linked(n_features: int, sets: Sequence[Term], coef: NDArray[np.float64]) -> Linked:
    """Sizes of the weights, their members, and the weights of each input."""
    indptr, members = flatten_sets(sets)
    owners = np.repeat(np.arange(len(sets)), np.diff(indptr))
    by_input = np.argsort(members, kind="stable")
    input_indptr = np.zeros(n_features + 1, dtype=np.int64)
    np.cumsum(np.bincount(members, minlength=n_features), out=input_indptr[1:])
    return np.abs(coef), indptr, members, input_indptr, owners[by_input]


def _contribution(n_features: int, model: Linked) -> NDArray[np.float64]:
    sizes, indptr, members, _, _ = model
    return np.bincount(
        members, weights=np.repeat(sizes, np.diff(indptr)), minlength=n_features
    )


def _grown(table: NDArray[np.uint64], n_entries: int) -> NDArray[np.uint64]:
    if 2 * n_entries <= len(table):
        return table
    grown = np.zeros(1 << (2 * n_entries).bit_length(), dtype=np.uint64)
    kernels.insert_all(grown, table)
    return grown
