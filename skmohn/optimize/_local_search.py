"""Climbs from end to end: the source that goes from points to better neighbors."""

# They order neighbors by what a surrogate expects, and leave local optima by the
# interactions that were learned so far.

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._walsh import WalshPolynomial
from skmohn.optimize._archive import Archive
from skmohn.optimize._polynomial import combine, make_polynomial
from skmohn.optimize._space import Space, keys_of
from skmohn.optimize._surrogate import Surrogate, not_taken


@dataclass(frozen=True)
class LocalSearchConstants:
    """Climbs of a black box, and how they leave local optima."""

    # Kicks from a local optimum without success before a climb starts anywhere.
    max_kicks: int = tuned(8, "benchmarks/ablation.py")
    # Kicks that are drawn in search of a point that is new.
    n_tried_kicks: int = tuned(20, "cost")
    # Points drawn anywhere, of which a climb begins at the most promising one.
    n_drawn_starts: int = tuned(10, "benchmarks/ablation.py")
    # The best points, of which the first one whose neighbors are not all known is
    # looked for.
    max_widened: int = tuned(50, "cost")
    # Evaluations a variable before a surrogate excludes neighbors.
    n_evaluations_per_variable: int = tuned(5, "benchmarks/ablation.py")
    # Local optima that are remembered for crossings.
    max_optima: int = tuned(20, "benchmarks/ablation.py")


_LOCAL_SEARCH = LocalSearchConstants()


class LocalSearch:
    """Local searches in turn, which propose neighbors of the present point."""

    # From a local optimum it goes on, in turn, at a crossing with an earlier one that
    # is better than both as far as interactions are known, and at a kick of variables
    # that interact; in the end, anywhere.

    def __init__(self, space: Space) -> None:
        self.space = space
        self._state: Any = None
        self._best_end: Any = None
        self._value = self._best_end_value = np.inf
        self._queue: list[NDArray[np.integer]] = []
        self._ends: list[NDArray[np.integer]] = []
        self._n_kicks = 0
        # Evaluations of climbs from ends and, in small spaces, from the best points.
        self._n_deep = self._n_wide = 0
        self._is_wide = False
        self._is_hasty = False

    def propose(
        self,
        archive: Archive,
        taken: set[bytes],
        surrogate: Surrogate,
        interactions: WalshPolynomial,
        is_small: bool,
        rng: np.random.Generator,
    ) -> NDArray[np.integer] | None:
        """Next neighbor that is not known, or start of the next search."""
        # The terms of `interactions` are the free variables that interact. Where a good
        # part of all points will be evaluated (`is_small`), searches start more often,
        # evaluate the better half of the neighbors, and half of the evaluations are of
        # all neighbors of the best points.
        self._is_hasty = is_small and len(
            archive
        ) > _LOCAL_SEARCH.n_evaluations_per_variable * len(self.space.free)
        if self._state is None:
            i = int(archive.order()[0])
            self._stand(archive.states[i], archive.values[i], surrogate, rng)
        state = self._next_in_queue(taken)
        if state is None and is_small:
            self._is_wide = self._n_wide <= self._n_deep
            if self._is_wide:
                self._widen(archive, taken, surrogate, rng)
                state = self._next_in_queue(taken)
                self._is_wide = state is not None
        self._n_wide += self._is_wide
        self._n_deep += not self._is_wide
        if state is None:
            state = self._leave(taken, interactions, rng)
        if state is None and is_small:
            state = self._promising(taken, surrogate, rng)
        return state

    def _next_in_queue(self, taken: set[bytes]) -> NDArray[np.integer] | None:
        """Next neighbor that is not known; None where all are."""
        while self._queue:
            state = self._queue.pop()
            if state.tobytes() not in taken:
                return state
        return None

    def _widen(
        self,
        archive: Archive,
        taken: set[bytes],
        surrogate: Surrogate,
        rng: np.random.Generator,
    ) -> None:
        """Stand at the best point whose neighbors are not all known."""
        for i in archive.order()[: _LOCAL_SEARCH.max_widened]:
            state = archive.states[i]
            if not taken.issuperset(keys_of(self.space.neighbors(state, rng))):
                self._stand(state, float(archive.values[i]), surrogate, rng)
                return

    def _promising(
        self, taken: set[bytes], surrogate: Surrogate, rng: np.random.Generator
    ) -> NDArray[np.integer] | None:
        """Best of a few points drawn anywhere, as far as is predicted."""
        drawn = self.space.draw(_LOCAL_SEARCH.n_drawn_starts, rng, self._state[None])
        drawn = not_taken(drawn, taken)
        if surrogate.posterior is None or not len(drawn):
            return None
        return drawn[np.argmin(surrogate.mean(drawn))]

    def learn(
        self,
        state: NDArray[np.integer],
        value: float,
        surrogate: Surrogate,
        rng: np.random.Generator,
    ) -> None:
        """Stand at a point that is better than the one before."""
        if value < self._value:
            self._stand(state, value, surrogate, rng)

    def _stand(
        self,
        state: NDArray[np.integer],
        value: float,
        surrogate: Surrogate,
        rng: np.random.Generator,
    ) -> None:
        self._state, self._value = state, value
        near = self.space.neighbors(state, rng)
        if surrogate.posterior is not None and len(near):
            # The last one comes first.
            near = near[np.argsort(-surrogate.mean(near), kind="stable")]
            if self._is_hasty and not self._is_wide:
                # Where much will be seen, another start is worth more than neighbors
                # that are expected to be among the worse ones.
                near = near[len(near) // 2 :]
        self._queue = list(near)

    def _leave(
        self, taken: set[bytes], interactions: WalshPolynomial, rng: np.random.Generator
    ) -> NDArray[np.integer] | None:
        """Next start after a local optimum; None for anywhere."""
        if np.isfinite(self._value):
            self._ends = [*self._ends, self._state][-_LOCAL_SEARCH.max_optima :]
        if self._value < self._best_end_value:
            self._best_end, self._best_end_value = self._state, self._value
            self._n_kicks = 0
        self._value = np.inf  # the next point is stood at, whatever it is worth
        self._n_kicks += 1
        if self._n_kicks <= _LOCAL_SEARCH.max_kicks:
            if self._n_kicks % 2:
                for state in self._crossings(interactions, rng):
                    if state.tobytes() not in taken:
                        return state
            for _ in range(_LOCAL_SEARCH.n_tried_kicks):
                state = self._kick(interactions, rng)
                if state.tobytes() not in taken:
                    return state
        self._n_kicks, self._best_end_value = 0, np.inf
        return None

    def _crossings(
        self, interactions: WalshPolynomial, rng: np.random.Generator
    ) -> Iterator[NDArray[np.integer]]:
        """Yield children of the best end and others, by partition crossover."""
        free = self.space.free
        if not interactions.terms:
            return
        # It maximizes.
        model = make_polynomial(interactions.times(-1.0), len(free))
        best_end = 2 * self._best_end[free] - 1
        for k in rng.permutation(len(self._ends)):
            child, _ = combine(model, best_end, 2 * self._ends[k][free] - 1)
            state = self._best_end.copy()
            state[free] = (child > 0).astype(np.int64)
            if self.space.is_feasible(state[None])[0]:
                yield state

    def _kick(
        self, interactions: WalshPolynomial, rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Change a few variables of the best end, linked ones if that is known."""
        terms = [term for term in interactions.terms if len(term) > 1]
        if terms:
            term = list(terms[rng.integers(len(terms))])
            state = self._best_end.copy()
            state[self.space.free[term]] ^= 1
            if self.space.is_feasible(state[None])[0]:
                return state
        state = self._best_end
        for _ in range(2 + rng.poisson(1.0)):
            near = self.space.neighbors(state, rng)
            if len(near):
                state = near[0]
        return state
