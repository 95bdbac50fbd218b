"""Portfolio of sources of the next points, which share the evaluations."""

# One source draws uniformly and learns a sparse model from its own points alone,
# because points near the best ones determine single weights poorly; once that model is
# exact, its optimum is the black box's. One asks where the posterior of all weights
# expects the largest improvement. One climbs, from start to start. The first gets more
# the less the second can predict; the others earn their evaluations by improvements.

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import one_blas_thread
from skmohn._core._tuned import tuned
from skmohn.optimize._archive import Archive
from skmohn.optimize._local_search import LocalSearch
from skmohn.optimize._space import Space, keys_of
from skmohn.optimize._sparse_search import (
    SPARSE_SEARCH,
    SparseCandidate,
    SparseModelSearch,
)
from skmohn.optimize._surrogate import Surrogate, not_taken, r2

_Holder = TypeVar("_Holder")
UNIFORM, SURROGATE, LOCAL_SEARCH = "uniform", "surrogate", "local_search"
# Evaluations that no source asked for: of the best point of a sparse model, of a point
# that is known already, of one that the user brought.
VERIFICATION, REPLICATE, EXTERNAL = "verification", "replicate", "external"
SOURCES = {UNIFORM, SURROGATE, LOCAL_SEARCH, VERIFICATION, REPLICATE, EXTERNAL}


@dataclass(frozen=True)
class PortfolioConstants:
    """How the sources of points share the evaluations."""

    # Evaluations before the other sources propose points, at most.
    max_first: int = tuned(20, "benchmarks/ablation.py")
    # The same where sparse models are of little use, and up to which evaluation the
    # other sources then have all.
    max_first_greedy: int = tuned(16, "benchmarks/ablation.py")
    n_greedy: int = tuned(60, "benchmarks/ablation.py")
    # Fraction of a known budget that these first evaluations are at most.
    max_first_fraction: float = tuned(0.5, "benchmarks/ablation.py")
    # Fraction of the source that learns, where the surrogate predicts nothing at all;
    # where there are too few evaluations to learn; and at least. Who has drawn more
    # than sparse functions need without learning one draws fewer.
    learning_fraction: float = tuned(0.8, "benchmarks/ablation.py")
    learning_fraction_short: float = tuned(0.2, "benchmarks/ablation.py")
    min_learning_fraction: float = tuned(0.05, "benchmarks/ablation.py")
    # The same where the other sources have brought nothing for so many evaluations a
    # variable, and where there is noise, which a model averages over all samples.
    learning_fraction_stuck: float = tuned(0.9, "benchmarks/ablation.py")
    n_idle_per_variable: int = tuned(3, "benchmarks/ablation.py")
    # Samples a variable below which there are too few to learn from.
    min_samples_per_variable: int = tuned(12, "benchmarks/ablation.py")
    # A space is small where one point of so many will be seen anyway: exact models come
    # too late there, and climbs from many places find where a surrogate is wrong.
    n_points_per_evaluation: int = tuned(20, "benchmarks/ablation.py")
    # Fraction of the climbs in a small space, once the sources that search have brought
    # nothing for one evaluation a variable.
    small_climb_fraction: float = tuned(0.9, "benchmarks/ablation.py")
    # Without a budget, so many times the evaluations made so far are expected in all.
    n_times_expected: int = tuned(3, "benchmarks/ablation.py")
    # The surrogate must be nearly perfect before uniform samples are not worth drawing:
    # what it predicts of deceptive functions leads away from their optima.
    skill_exponent: int = tuned(4, "benchmarks/ablation.py")
    # Some values are far worse than all others where the worse half reaches further
    # than the better half by this factor, each without its outermost fifth.
    min_tail_ratio: float = tuned(5.0, "benchmarks/ablation.py")
    # Latest predictions of uniform samples from which R2 of the surrogate is computed.
    n_predictions: int = tuned(40, "benchmarks/ablation.py")
    # Each value of a source counts this much less than the next one.
    decay: float = tuned(0.97, "benchmarks/ablation.py")
    min_climb_fraction: float = tuned(0.25, "benchmarks/ablation.py")
    # A surrogate that predicts nearly all of the variance of what is known takes most
    # of the fraction of climbs: local optima are no obstacle to it.
    surrogate_fraction: float = tuned(0.8, "benchmarks/ablation.py")
    trust_exponent: int = tuned(16, "benchmarks/ablation.py")
    # With noise, this part of the evaluations repeats what may be the best point.
    replicate_fraction: float = tuned(0.15, "benchmarks/ablation.py")
    # Odds at which uniform samples that agree with a model exclude a further weight,
    # those at which a model is no chance (see `ExactFitTest`).
    min_odds: float = tuned(1000.0, "benchmarks/ablation.py")
    # Points drawn in search of a new one, before a list is looked through.
    n_tried_draws: int = tuned(50, "cost")


_PORTFOLIO = PortfolioConstants()


def _draw(
    space: Space, archive: Archive, taken: set[bytes], rng: np.random.Generator
) -> NDArray[np.integer] | None:
    """Feasible point that is not known; None where none was found."""
    known = archive.states[archive.is_feasible]
    for _ in range(_PORTFOLIO.n_tried_draws):
        state = space.draw(1, rng, known)[0]
        if state.tobytes() not in taken:
            return state
    if space.listed is None:
        return None
    left = not_taken(space.listed, taken)
    return left[rng.integers(len(left))] if len(left) else None


class Portfolio:
    """All sources of points together."""

    def __init__(
        self,
        space: Space,
        noise: float | str,  # standard deviation of the noise of the black box
        seed: int,
    ) -> None:
        self.space = space
        self.noise = noise
        self.seed = seed
        self.archive = Archive(space.n_variables)
        # Source and prediction of the points that were asked for, by their keys.
        self.pending: dict[bytes, tuple[str, float | None]] = {}
        # Sparse model, once there is one, that no value has contradicted.
        self.sparse_candidate: SparseCandidate | None = None
        # The best point of an exact model was evaluated, as predicted.
        self.is_verified = False
        self._rng = np.random.default_rng(seed)
        self._failed: set[bytes] = set()
        self._surrogate = Surrogate(space)
        self._sparse_search = SparseModelSearch(space)
        self._local_search = LocalSearch(space)
        self._asked: dict[str, float] = dict.fromkeys(
            (UNIFORM, SURROGATE, LOCAL_SEARCH), 0.0
        )
        self._earned: dict[str, tuple[float, float]] = {
            SURROGATE: (1.0, 4.0),
            LOCAL_SEARCH: (1.0, 4.0),
        }
        self._predicted: list[tuple[float, float]] = []
        self._first_skill = 0.0
        # Whether the sources that search have all evaluations for the time being.
        self._is_early = False
        # Evaluations of the sources that search since one was the best so far.
        self._n_without_improvement = 0

    def copy(self) -> Self:
        """Independent copy, which shares immutable parts."""
        other = _copy_parts(self)
        other.archive = _copy_parts(self.archive)
        other._local_search = _copy_parts(self._local_search)
        other._surrogate = copy.copy(self._surrogate)
        other._sparse_search = copy.copy(self._sparse_search)
        other._rng = copy.deepcopy(self._rng)
        return other

    def deviation(self) -> float:
        """Standard deviation of the noise, as given or estimated from replicates."""
        if not isinstance(self.noise, str):
            return self.noise
        deviation = self.archive.deviation()
        is_noise = deviation and deviation > self.archive.rounding()
        return deviation if is_noise else 0.0

    def best(self) -> int | None:
        """Index of the best point so far; None where there is none."""
        return self.archive.best(self.deviation())

    def is_exhausted(self) -> bool:
        """Whether every point has a value, or failed to have one."""
        return self._are_all(self.archive.index.keys() | self._failed)

    def _are_all(self, keys: set[bytes]) -> bool:
        """Whether these are the keys of all points there are."""
        listed = self.space.listed
        if listed is None or len(keys) < len(listed):
            return False
        return keys.issuperset(keys_of(listed))

    def is_noiseless(self) -> bool:
        """Whether a point always has the same value."""
        # By noise=0 or, with "auto", if the best points had equal values twice.
        if self.noise != "auto":
            return self.noise == 0.0
        archive = self.archive
        # A single point often has the same value twice, where values are counts or
        # ranks.
        best = islice(self._not_failed(archive.order()), SPARSE_SEARCH.min_samples)
        return not self.deviation() and all(archive.counts[i] > 1 for i in best)

    def is_settled(self) -> bool:
        """Whether the best point is known, as far as that can be."""
        if self.is_verified:
            return self._n_unchecked() <= 0
        return self.is_exhausted() and (self._is_single() or self.is_noiseless())

    def _is_single(self) -> bool:
        """Whether there is one point only, whose noise does not matter."""
        return self.space.n_points == 1.0

    def _n_unchecked(self) -> int:
        """Number of uniform samples missing for verification of the exact model."""
        # Another function whose weights have orders up to k differs from the model at a
        # part of at least 2^-k of all points (Schwartz and Zippel's bound), whatever
        # rows the user has brought. One order more than the model's is allowed for.
        terms = (
            () if self.sparse_candidate is None else self.sparse_candidate.graph.terms
        )
        order = max(map(len, terms), default=0) + 1
        part = 2.0 ** -min(order, len(self.space.free))
        needed = (
            math.ceil(math.log(_PORTFOLIO.min_odds) / -math.log1p(-part))
            if part < 1.0
            else 1
        )
        return needed - int(np.sum(self.archive.is_drawn))

    # ------------------------------------------------------------------------ asking

    @one_blas_thread
    def ask(self, n: int, budget: int | None = None) -> NDArray[np.integer]:
        """Points to be evaluated next; fewer where fewer are left."""
        # `budget` is the number of all evaluations, those of before included; None
        # where that is not known.
        states = []
        for _ in range(n):
            state, source = self._next(budget)
            if state is None:
                break
            self._register_pending(state, source)
            states.append(state)
        return np.array(states, dtype=np.int64).reshape(-1, self.space.n_variables)

    def _next(self, budget: int | None) -> tuple[NDArray[np.integer] | None, str]:
        """Next point and its source."""
        taken = self.archive.index.keys() | self._failed | self.pending.keys()
        sparse_candidate = self.sparse_candidate
        if (
            sparse_candidate is not None
            and sparse_candidate.state.tobytes() not in taken
        ):
            return sparse_candidate.state, VERIFICATION
        if (state := self._next_replicate()) is not None:
            return state, REPLICATE
        if self._are_all(taken):
            return self._to_see_again(), REPLICATE
        is_believed = not self.is_verified or self._n_unchecked() <= 0
        source, state = self._choose(budget) if is_believed else UNIFORM, None
        if source == SURROGATE:
            state = self._ask_surrogate(taken)
        elif source == LOCAL_SEARCH:
            interactions = self._sparse_search.interactions
            state = self._local_search.propose(
                self.archive,
                taken,
                self._surrogate,
                interactions,
                self._is_small(budget),
                self._rng,
            )
        if state is None:
            source = UNIFORM
            state = _draw(self.space, self.archive, taken, self._rng)
        if state is None:
            source, state = REPLICATE, self._to_see_again()
        return state, source

    def _register_pending(self, state: NDArray[np.integer], source: str) -> None:
        """Make a point pending, as one of a source."""
        prediction = None
        if source == UNIFORM and self._surrogate.posterior is not None:
            prediction = float(self._surrogate.mean(state[None])[0])
        self.pending[state.tobytes()] = source, prediction
        if source in self._asked:
            self._asked[source] += 1.0

    def _next_replicate(self) -> NDArray[np.integer] | None:
        """Point that may well be the best, when its value is to be seen again."""
        archive, deviation = self.archive, self.deviation()
        n_observations = len(archive.observations)
        n_repeats = n_observations - len(archive)
        if self.noise == 0.0:
            return None
        if not deviation:
            # Noise that shows seldom is looked for again each time that the evaluations
            # have doubled.
            is_due = n_observations >= SPARSE_SEARCH.min_samples * 2**n_repeats
            return self._to_compare() if is_due else None
        if n_repeats >= _PORTFOLIO.replicate_fraction * n_observations:
            return None
        # Those of which little is known come first.
        i = next(self._not_failed(archive.order(-deviation)), None)
        return None if i is None else self._not_pending(archive.states[i])

    def _to_see_again(self) -> NDArray[np.integer] | None:
        """Point to be repeated where all are known; None where none need be."""
        # With noise by top-two sampling: the point that would be the best if the means
        # were off by their errors, drawn at random, and in half of the cases the one
        # that would be the best besides.
        # Source: Russo, Simple Bayesian algorithms for best-arm identification,
        # Operations Research 68(6), 2020.
        archive, deviation = self.archive, self.deviation()
        if self._is_single() or self.noise == 0.0:
            return None
        if not deviation:
            return self._to_compare()
        indices = [
            i
            for i in self._not_failed(archive.order())
            if self._not_pending(archive.states[i]) is not None
        ]
        if not indices:
            return None
        error = deviation / np.sqrt(archive.counts[indices])
        drawn = self._rng.normal(archive.values[indices], error)
        if len(indices) > 1 and self._rng.random() < 0.5:
            first = np.argmin(drawn)
            drawn = self._rng.normal(archive.values[indices], error)
            drawn[first] = np.inf
        return archive.states[indices[np.argmin(drawn)]]

    def _to_compare(self) -> NDArray[np.integer] | None:
        """Best point whose value was seen once; None where enough were twice."""
        archive = self.archive
        best = islice(self._not_failed(archive.order()), SPARSE_SEARCH.min_samples)
        i = next((i for i in best if archive.counts[i] == 1), None)
        return None if i is None else self._not_pending(archive.states[i])

    def _not_failed(self, indices: Iterable[int]) -> Iterator[int]:
        """Yield indices of points that had a value each time."""
        archive = self.archive
        return (p for p in indices if archive.states[p].tobytes() not in self._failed)

    def _not_pending(self, state: NDArray[np.integer]) -> NDArray[np.integer] | None:
        """Point, unless it is being evaluated."""
        return None if state.tobytes() in self.pending else state

    def _ask_surrogate(self, taken: set[bytes]) -> NDArray[np.integer] | None:
        order = self.archive.order()
        pending = [np.frombuffer(key, dtype=np.int64) for key in self.pending]
        return self._surrogate.propose(
            self.archive.states[order[:10]],
            self._lowest(order),
            taken,
            np.array(pending).reshape(-1, self.space.n_variables),
            self.deviation() > 0.0,
            self._rng,
        )

    def _lowest(self, order: NDArray[np.integer]) -> float:
        """Value to be improved on: with noise, the lowest posterior mean."""
        if self.deviation():
            return float(self._surrogate.mean(self.archive.states[order]).min())
        return float(self._surrogate.scored(self.archive.values[order[0]]))

    def _choose(self, budget: int | None) -> str:
        """Source that lags furthest behind its fraction."""
        archive = self.archive
        n_asked = len(archive) + len(self._failed) + len(self.pending)
        # Where sparse models are of little use, samples are as well.
        is_greedy = not self._has_binary_moves() or self._is_small(budget)
        self._is_early = is_greedy and n_asked < _PORTFOLIO.n_greedy
        max_first = _PORTFOLIO.max_first_greedy if is_greedy else _PORTFOLIO.max_first
        first = int(np.clip(len(self.space.free), SPARSE_SEARCH.min_samples, max_first))
        if budget is not None:
            # Of few evaluations, searches are to have some.
            first = min(first, math.ceil(_PORTFOLIO.max_first_fraction * budget))
        if n_asked < first or not np.any(archive.is_feasible):
            return UNIFORM
        if self._surrogate.posterior is None and np.ptp(archive.values) > 0.0:
            self._learn()
            self._first_skill = self._surrogate.skill
        fractions: dict[str, float] = {UNIFORM: 0.5, LOCAL_SEARCH: 0.5}
        if self._surrogate.posterior is not None:
            if self._is_early:
                is_turn = self._has_binary_moves() and n_asked % 2
                return LOCAL_SEARCH if is_turn else SURROGATE
            fractions = self._fractions(budget)
        n_asked = sum(self._asked.values()) + 1.0
        return max(fractions, key=lambda s: fractions[s] * n_asked - self._asked[s])

    def _fractions(self, budget: int | None) -> dict[str, float]:
        """Part of the evaluations that each source is to have."""
        learning = _PORTFOLIO.min_learning_fraction
        if self._has_binary_moves():
            n_uniform = max(int(self.archive.is_sample.sum()), 1)
            patience = (
                SPARSE_SEARCH.n_samples_per_variable * len(self.space.free) / n_uniform
            )
            unknown = 1.0 - self._skill() ** _PORTFOLIO.skill_exponent
            wanted = self._max_learning(budget) * unknown * min(patience, 1.0)
            learning = max(wanted, learning)
        rates = {name: wins / tries for name, (wins, tries) in self._earned.items()}
        climb = rates[LOCAL_SEARCH] / (rates[LOCAL_SEARCH] + rates[SURROGATE])
        least = _PORTFOLIO.min_climb_fraction
        climb = float(np.clip(climb, least, 1.0 - least))
        trust = self._surrogate.skill**_PORTFOLIO.trust_exponent
        climb *= 1.0 - _PORTFOLIO.surrogate_fraction * trust
        is_stuck = self._n_without_improvement > len(self.space.free)
        if is_stuck and self._is_small(budget):
            climb = _PORTFOLIO.small_climb_fraction
        return {
            UNIFORM: learning,
            SURROGATE: (1.0 - learning) * (1.0 - climb),
            LOCAL_SEARCH: (1.0 - learning) * climb,
        }

    def _max_learning(self, budget: int | None) -> float:
        """Fraction of the source that learns, where the surrogate predicts nothing."""
        n_free = len(self.space.free)
        n_learning = _PORTFOLIO.learning_fraction * self._n_evaluations(budget)
        is_short = n_learning < _PORTFOLIO.min_samples_per_variable * n_free
        # Nor are penalties sums of a few products.
        if is_short or self._is_small(budget) or self._has_outliers():
            return _PORTFOLIO.learning_fraction_short
        is_stuck = self._n_without_improvement > _PORTFOLIO.n_idle_per_variable * n_free
        if is_stuck or self.deviation():
            return _PORTFOLIO.learning_fraction_stuck
        return _PORTFOLIO.learning_fraction

    def _has_binary_moves(self) -> bool:
        """Whether variables have two values, and all their points are in the space."""
        return self.space.is_binary and not self.space.is_table

    def _is_small(self, budget: int | None) -> bool:
        """Whether a good part of all points will be seen."""
        n_evaluations = self._n_evaluations(budget)
        return self.space.n_points <= _PORTFOLIO.n_points_per_evaluation * n_evaluations

    def _has_outliers(self) -> bool:
        """Whether some values are far worse than all others, as penalties are."""
        values = self.archive.values[self.archive.is_sample]
        if not len(values):
            return False
        good, middle, bad = np.quantile(values, [0.1, 0.5, 0.9])
        ratio = _PORTFOLIO.min_tail_ratio
        return middle > good and bad - middle > ratio * (middle - good)

    def _n_evaluations(self, budget: int | None) -> int:
        """Total number of evaluations, earlier ones included."""
        return budget or _PORTFOLIO.n_times_expected * len(self.archive.outcomes)

    def _skill(self) -> float:
        """Fraction of the variance that the surrogate predicts, from 0 to 1."""
        # Of uniform samples before their evaluation or, until there are enough of them,
        # of each of the first evaluations by all others: later ones are near one
        # another.
        if len(self._predicted) < SPARSE_SEARCH.min_samples:
            return self._first_skill
        predictions, values = np.transpose(self._predicted[-_PORTFOLIO.n_predictions :])
        return r2(values, predictions)

    # ----------------------------------------------------------------------- telling

    @one_blas_thread
    def tell(
        self,
        states: NDArray[np.integer],
        values: NDArray[np.float64],
        feasible: NDArray[np.bool_],
        sources: Sequence[str],
    ) -> None:
        """Learn values of points, pending or not; NaN where there is none."""
        evaluations = zip(states, values, feasible, sources, strict=True)
        for state, value, is_feasible, source in evaluations:
            if state.tobytes() not in self.pending:
                self._register_pending(state, source)
            _, prediction = self.pending.pop(state.tobytes())
            if np.isnan(value):
                self._failed.add(state.tobytes())
                self.archive.add_failure(state)
                continue
            lowest = np.inf
            if source in self._earned and (i := self.best()) is not None:
                lowest = float(self.archive.values[i])
            self.archive.add(
                state,
                value,
                is_feasible,
                source in (UNIFORM, EXTERNAL),
                source == UNIFORM,
            )
            if source in self._earned:
                wins, tries = self._earned[source]
                wins = _PORTFOLIO.decay * wins + float(value < lowest)
                self._n_without_improvement += 1
                if value < lowest:
                    self._n_without_improvement = 0
                self._earned[source] = wins, _PORTFOLIO.decay * tries + 1.0
            if source == LOCAL_SEARCH:
                self._local_search.learn(state, value, self._surrogate, self._rng)
            elif source == UNIFORM and prediction is not None:
                score = float(self._surrogate.scored(value))
                self._predicted.append((prediction, score))
            if self.sparse_candidate is not None:
                self._verify(self.sparse_candidate, state, value)
        # A part of the learning for each evaluation, but for that of the surrogate.
        n_parts = len(states)
        if self._surrogate.posterior is not None and self._learn():
            n_parts -= len(self.archive) > _PORTFOLIO.n_greedy
        if self.sparse_candidate is None or not self.sparse_candidate.is_exact:
            found = self._sparse_search.find(
                self.archive, self.deviation(), self.seed, n_parts
            )
            self.sparse_candidate = found or self.sparse_candidate

    def _learn(self) -> bool:
        """Update the surrogate; return whether it has new hyperparameters."""
        archive = self.archive
        # Few values of a table or cube are used by rank: some are far out. With
        # categories, a few that are not like all others are what is looked for.
        by_rank = self._is_early and self.space.is_binary
        return self._surrogate.update(
            archive.evaluated,
            archive.outcomes,
            self.seed,
            by_rank=by_rank,
            is_tailed=self._has_outliers(),
        )

    def _verify(
        self,
        sparse_candidate: SparseCandidate,
        state: NDArray[np.integer],
        value: float,
    ) -> None:
        """Test whether an exact model predicts one more value."""
        if not sparse_candidate.is_exact:
            return
        inputs = self.space.rows(state[None]).inputs
        wrong = abs(float(sparse_candidate.graph.predict(inputs)[0]) - value)
        if wrong > self.archive.rounding():
            self.sparse_candidate, self.is_verified = None, False
        elif np.array_equal(state, sparse_candidate.state):
            self.is_verified = True


def _copy_parts(holder: _Holder) -> _Holder:
    """Copy an object and, without their elements, its containers and arrays."""
    other = copy.copy(holder)
    for name, part in vars(holder).items():
        if isinstance(part, list | dict | set | np.ndarray):
            setattr(other, name, part.copy())
    return other
