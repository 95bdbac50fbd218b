"""Structure discovery by pursuit: propose, solve and prune until the model is exact."""

# A round proposes the weights that correlate best with the residual, among all sets of
# order one and two and all sets that extend a term found, solves least squares and
# prunes. When none is significant, three remedies follow, the cheapest first: screening
# a higher order exhaustively, message passing over all candidates together, and a lower
# threshold.

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import last_of, tick
from skmohn._core._rows import row_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design
from skmohn.mohn._design.terms import in_order, with_kept
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.exact_fit import exact_error
from skmohn.mohn._sparse.message_passing import bytes_of_candidate, infer_structure
from skmohn.mohn._sparse.pair_cache import PairCacheView
from skmohn.mohn._sparse.term_screening import (
    BASE_ORDER,
    SCREENING,
    TermScreening,
    chance_thresholds,
)
from skmohn.mohn._sparse.variant_pairs import VARIANTS, VariantPairs


@dataclass(frozen=True)
class PursuitConstants:
    """Rounds of the pursuit."""

    # With more weights than this fraction of the samples a perfect fit is no evidence.
    max_weights_fraction: float = tuned(0.8, "benchmarks/ablation.py")
    # Standard errors below which a weight is dropped between rounds, at most.
    max_prune_ratio: float = tuned(2.5, "benchmarks/ablation.py")
    # Columns with a larger correlation are collinear: together none of them may be
    # significant, so they enter one at a time.
    max_correlation: float = tuned(0.7, "benchmarks/ablation.py")
    # Rounds in which a dropped term does not enter again.
    n_tabu_rounds: int = tuned(3, "benchmarks/ablation.py")
    # Terms that enter in a round.
    max_batch: int = tuned(1000, "benchmarks/ablation.py")
    # Weak candidates do not wait if they exceed the chance threshold by this factor.
    min_ratio_significant: float = tuned(2.0, "benchmarks/ablation.py")
    # Factor of the chance threshold at which the pursuit ends.
    min_threshold: float = tuned(0.7, "benchmarks/ablation.py")
    # Runs of message passing.
    max_amp_runs: int = tuned(4, "benchmarks/ablation.py")
    # Ratio by which a run must lower the error for another one.
    max_error_ratio: float = tuned(0.98, "benchmarks/ablation.py")
    # Rounds at one threshold.
    max_rounds: int = tuned(10, "benchmarks/ablation.py")
    # Fractions of the largest weight up to which others are zero in an exact model: the
    # first that leaves it exact.
    zero_fractions: tuple[float, ...] = tuned((1e-7, 1e-10, 1e-13), "rounding")
    # Nanoseconds of a solution, by the cubed number of weights and by entries of
    # columns.
    work_per_cubed_weight: float = tuned(0.1, "cost")
    work_per_entry: float = tuned(5.0, "cost")
    # Screening an order that costs less than this comes before message passing.
    max_cheap_screen: float = tuned(3e7, "cost")
    # A pass over all pairs that costs more waits for significant ones.
    max_cheap_pass: float = tuned(1e9, "cost")


PURSUIT = PursuitConstants()


@dataclass(frozen=True)
class PursuitControl:
    """Limits of a pursuit."""

    max_order: int  # largest number of inputs in a weight
    max_rounds: int = 200  # of proposing and pruning
    # Cost of the exhaustive screening of orders 3 and up, roughly in nanoseconds,
    # computed from counts: it is the same on every computer.
    work_budget: float = 1e9
    memory_budget: float = 1e9  # bytes that message passing may use for its columns
    # Highest order that is screened exhaustively; None for `max_order`.
    max_screened: int | None = None
    always: tuple[Term, ...] = ()  # weights that are in every model

    @staticmethod
    def memory_of(n_candidates: float, n_samples: int) -> float:
        """Bytes that message passing needs for so many candidates."""
        return n_candidates * bytes_of_candidate(n_samples)


class Pursuit:
    """Run of structure discovery on one data set."""

    def __init__(
        self,
        design: Design,
        y: NDArray[np.float64],  # (n_samples,)
        control: PursuitControl,
        # Called with the search after each round; a true return value stops it.
        on_round: Callable[["Pursuit"], object] | None = None,
        start: Sequence[Term] = (),  # weights to begin with
        pairs: PairCacheView | None = None,  # cached pairs of a wide table
    ) -> None:
        self.design = design
        self.control = control
        self.on_round = on_round
        self.model = ActiveSet(design, y, control.always)
        self.scale = self.model.rms
        self.tolerance = exact_error(y, self.scale)
        self.proposed = self.removed = 0
        self.learned_rms = self.scale
        self.stopped = False
        self.frontier = TermScreening(
            design, control.max_order, control.work_budget, control.max_screened, pairs
        )
        self.variant_pairs = VariantPairs.of(design)
        self.max_weights = int(PURSUIT.max_weights_fraction * design.weight_sum)
        self.bar = 1.0
        self.is_thorough = True
        self.round = 0
        self.tabu: dict[Term, float] = {}
        self.likely: set[Term] = set()
        self.passes = 0
        # The candidates of message passing did not fit in memory.
        self.is_too_wide = False
        self._screened: tuple[NDArray[np.float64] | None, list[Term]] = None, []
        # Of the same residual: sets with their scores, and pairs of variants.
        self._scored: tuple[list[Term], Any] = [], None
        self._joined: dict[int, Any] = {}
        start = [term for term in start if term]
        start = start[: max(self.max_weights - len(self.model), 0)]
        if start:
            self.model.add(start)
            self.model.solve()
            self._prune()

    # ------------------------------------------------------------------ the loop

    def run(self) -> str:
        """Search until exact or stalled; return the stopping reason."""
        return last_of(self.steps())

    def steps(self) -> Generator[float, None, str]:
        """Run in parts, so that a caller can defer the rest."""
        # Yields the cost of each part, roughly in nanoseconds, from counts.
        while self.round < self.control.max_rounds:
            if self.is_exact():
                self._drop_zeros()
                return "exact"
            if self.stopped:
                return "stopped"
            proposed = yield from self._look()
            if proposed:
                self._accept(proposed)
                yield self._cost_of_solving()
            elif not (
                (yield from self._raise_order(PURSUIT.max_cheap_screen))
                or (yield from self._pass_messages())
                or (yield from self._raise_order(math.inf))
                or self._lower_bar()
            ):
                return "stalled"
        return "max_rounds"

    def descend(
        self, bar: float, is_thorough: bool = True
    ) -> Generator[float, None, list[Term]]:
        """Lower the threshold to a bar; yield costs, return the significant terms."""
        # `is_thorough` makes passes over all pairs of a wide table, so that none is
        # missed.
        self.bar, self.is_thorough = bar, is_thorough
        for _ in range(PURSUIT.max_rounds):
            proposed = yield from self._look()
            if proposed:
                self._accept(proposed)
            elif not (yield from self._raise_order(math.inf)):
                break
        return self.significant_terms()

    def significant_terms(self) -> list[Term]:
        """Remove the weights below the bar and return the terms of the rest."""
        self._prune(strict=True)
        return [term for term in self.model.terms if term]

    @property
    def n_banned(self) -> int:
        """Number of sets that are tabu at present."""
        return sum(until >= self.round for until in self.tabu.values())

    @property
    def coverage(self) -> list[dict[str, Any]]:
        """Possible, tried and kept sets of each order."""
        terms = self.model.terms
        return with_kept(self.frontier.coverage(terms), terms)

    def is_exact(self) -> bool:
        """Whether the model explains the target up to rounding."""
        return self.model.rms <= self.tolerance and len(self.model) <= self.max_weights

    def _drop_zeros(self) -> None:
        """Drop the weights that are rounding errors, if the model stays exact."""
        # Small weights beside a large one are none.
        whole = self.model
        coef = np.abs(whole.coef)
        for fraction in PURSUIT.zero_fractions:
            self.model = copy(whole)
            self.model.keep(coef > fraction * coef[1:].max(initial=0.0))
            self.model.solve()
            if self.is_exact():
                return
        self.model = whole

    # ---------------------------------------------------------------- proposing

    def _look(self) -> Generator[float, None, list[Term]]:
        """Propose weights, from all pairs if none is significant; yield costs."""
        tick()
        pairs = self.frontier.pairs
        if pairs is not None and pairs.is_empty:
            yield from self._rescan(pairs)
        chosen = self._propose()
        yield self._cost_of_proposing()
        if pairs is None or chosen or not self.is_thorough:
            return chosen
        if self._may_miss(pairs):
            # Below the chance threshold one pass suffices: fitted noise makes more of
            # the rest significant.
            self.is_thorough = self.bar >= 1
            yield from self._rescan(pairs)
            chosen = self._propose()
        return chosen

    def _rescan(self, pairs: PairCacheView) -> Generator[float, None, None]:
        """Request a pass over all pairs with the residual."""
        pairs.request(self.model.residual)
        yield self.design.screening_cost(2)
        pairs.wait()
        self._screened = None, []

    def _may_miss(self, pairs: PairCacheView) -> bool:
        """Whether a pair that is not cached may be significant."""
        if not self._batch():
            return False
        min_score = self.bar * self._thresholds([(0, 1)], set())[0] * self.model.noise
        return pairs.bound(self.model.residual) > min_score

    def _propose(self) -> list[Term]:
        """Weights whose scores exceed the bar."""
        batch = self._batch()
        if not batch:
            return []
        residuals = [self.model.residual]
        # When the bar is lowered, the residual is often unchanged.
        if self._screened[0] is not self.model.residual:
            size = batch
            if self.variant_pairs is not None:
                size = max(batch, VARIANTS.n_screened)
            found = self.frontier.screen_low_orders(residuals, size)
            self._screened = self.model.residual, found
            self._scored, self._joined = ([], None), {}
        found = list(self._screened[1])
        chosen = self._select(found, batch)
        # Extending all weights costs more than screening the base orders, so it waits
        # until these are hardly productive.
        if len(chosen) > 0.1 * len(self.model):
            return chosen
        children = self.frontier.screen_children(
            residuals, self.model.terms, batch, self.model.columns
        )
        return self._select(found + children, batch) if children else chosen

    def _cost_of_proposing(self) -> float:
        n_children = len(self.model) * self.design.n_features
        return self.design.screening_cost(2) + n_children * self.design.score_cost

    def _cost_of_solving(self) -> float:
        n = len(self.model)
        return (
            PURSUIT.work_per_cubed_weight * n**3
            + PURSUIT.work_per_entry * n * self.design.n_samples
        )

    def _batch(self) -> int:
        """Most weights that one round may add."""
        wanted = np.clip(int(self.design.weight_sum / 8), 8, PURSUIT.max_batch)
        return max(min(int(wanted), self.max_weights - len(self.model)), 0)

    def _select(self, found: Iterable[Term], batch: int) -> list[Term]:
        """Score candidates exactly; keep those above the bar and near the best."""
        present = set(self.model.terms)
        # Of collinear candidates, the smallest set comes first.
        found = in_order([q for q in found if q not in present and self._may_enter(q)])
        if not found:
            return []
        if found != self._scored[0]:
            self._scored = found, self._score(found, present)
        score = self._scored[1]
        subsets = [[term] for term in found]
        if self.variant_pairs is not None:
            subsets, score = self.variant_pairs.join(
                found,
                score,
                self.model.terms,
                self.bar,
                self._weigh,
                self._may_enter,
                self._joined,
            )
        near = min(
            SCREENING.min_score_fraction * score.max(), PURSUIT.min_ratio_significant
        )
        chosen = np.flatnonzero((score > self.bar) & (score >= near))
        chosen = chosen[np.argsort(-score[chosen], kind="stable")][:batch]
        return self._drop_collinear([subsets[j] for j in chosen])[:batch]

    def _score(self, found: list[Term], present: set[Term]) -> NDArray[np.float64]:
        """Scores of candidates relative to the chance thresholds of their rivals."""
        product, square = np.empty((2, len(found)))
        # Some at a time: all take many times the memory of the table.
        for part in row_slices((len(found), self.design.n_samples)):
            columns: Any = self.design.columns(found[part])
            product[part] = self.design.project(columns, self.model.residual)
            square[part] = self.design.spread(columns)
        score = np.abs(product) / (np.sqrt(square) * max(self.model.noise, 1e-300))
        score /= self._thresholds(found, present)
        # Scores of collinear columns differ by rounding.
        return np.round(score, 9)

    def _weigh(
        self, columns: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Inner products of columns with the residual and each other; see `join`."""
        columns = columns - columns.mean(axis=2, keepdims=True)
        noise = max(self.model.noise, 1e-300)
        inner = columns @ self.model.residual / noise
        return inner, columns @ columns.transpose(0, 2, 1)

    def _may_enter(self, term: Term) -> bool:
        return self.tabu.get(term, -1) < self.round

    def _drop_collinear(self, subsets: list[list[Term]]) -> list[Term]:
        """Members of subsets that are not collinear with a kept one before them."""
        terms = [term for subset in subsets for term in subset]
        owners = np.repeat(np.arange(len(subsets)), [len(subset) for subset in subsets])
        columns: Any = self.design.columns(terms)
        sums = self.design.project(columns, np.ones(self.design.n_samples))
        inner = self.design.gram(columns, columns)
        inner -= np.outer(sums, sums) / self.design.weight_sum
        squares = np.outer(*2 * [np.diag(inner)])
        is_alike = (inner**2 > PURSUIT.max_correlation**2 * squares) & (
            owners[:, None] > owners
        )
        unlike = np.ones(len(subsets), dtype=bool)
        for j in np.flatnonzero(is_alike.any(axis=1)):
            unlike[owners[j]] &= not unlike[owners[is_alike[j]]].any()
        return [term for term, own in zip(terms, owners, strict=True) if unlike[own]]

    def _thresholds(
        self, terms: Sequence[Term], present: set[Term]
    ) -> NDArray[np.float64]:
        return chance_thresholds(terms, present, self.design.n_features)

    # ------------------------------------------------------------------ solving

    def _accept(self, proposed: list[Term]) -> None:
        """Add weights, solve and prune until every weight is significant."""
        self.round += 1
        self.model.add(proposed)
        for term in set(proposed) - set(self.model.terms):
            self.tabu[term] = math.inf  # aliased with the model's weights
        self.model.solve()
        self.learned_rms = self.model.rms
        self.proposed = len(proposed)
        self.removed = self._prune()
        if self.on_round is not None:
            self.stopped = bool(self.on_round(self))

    def _prune(self, strict: bool = False) -> int:
        """Remove weak weights: below the bar if strict, else clearly below it."""
        removed = 0
        while len(self.model) > 1 and not self.is_exact():
            present = set(self.model.terms)
            chance = self._thresholds(self.model.terms, present)
            min_ratio = self.bar * chance
            if not strict:
                min_ratio = np.minimum(PURSUIT.max_prune_ratio, 0.8 * min_ratio)
            errors = self.model.standard_errors()
            weak = np.abs(self.model.coef) < min_ratio * errors
            if self.variant_pairs is not None:
                ratios, is_spare = self.variant_pairs.joint_ratios(self.model, errors)
                weak = is_spare | (weak & (ratios * chance < min_ratio))
            weak[: self.model.n_fixed] = False
            if not weak.any():
                break
            for j in np.flatnonzero(weak):
                self.tabu[self.model.terms[j]] = self.round + PURSUIT.n_tabu_rounds
            removed += int(weak.sum())
            self.model.keep(~weak)
            self.model.solve()
        return removed

    # ----------------------------------------------------------------- remedies

    def _raise_order(self, max_work: float) -> Generator[float, None, bool]:
        """Screen the next order in full, within the budget; add significant weights."""
        # Costs are yielded; returned is whether anything was added.
        batch, model = self._batch(), self.model
        raised = self.frontier.raise_order(
            [model.residual], model.rms, batch, max_work, model.terms
        )
        for order, found in raised:
            bar, self.bar = self.bar, SCREENING.min_ratio
            chosen = self._select(found, batch)
            self.bar = bar
            if chosen:
                self.frontier.has_given(order)
                self._accept(chosen)
                yield self._cost_of_solving()
                return True
            yield self.design.screening_cost(order)
        return False

    def _pass_messages(self) -> Generator[float, None, bool]:
        """Weigh all candidates together and restart from the likely ones."""
        # Costs are yielded; returned is whether it restarted.
        if self.passes == PURSUIT.max_amp_runs:
            return False
        seeds = self.likely.union(self.model.terms)
        likely = yield from infer_structure(
            self.design,
            self.model.y,
            seeds,
            base=min(BASE_ORDER, self.control.max_order),
            max_order=self.control.max_order,
            memory_budget=self.control.memory_budget,
            heredity=self.passes > 0,
        )
        self.is_too_wide = likely is None
        # No model has more, and sets that extend two of them become candidates next.
        likely = (likely or [])[: self.max_weights - 1]
        self.passes += 1
        if not likely or self.likely == set(likely):
            self.passes = PURSUIT.max_amp_runs
            return False
        self.likely = set(likely)
        self.tabu.clear()
        before, level = self.model.terms, self.model.rms
        self.model.clear()
        self._accept(likely)
        yield self._cost_of_solving()
        if self.model.rms > PURSUIT.max_error_ratio * level:
            # No gain: the rest is noise, or the columns are too collinear.
            self.passes = PURSUIT.max_amp_runs
        if self.model.rms > level:
            self.model.clear()
            self._accept(before[self.model.n_fixed :])
        return True

    def _lower_bar(self) -> bool:
        """Lower the bar; whether it is above its limit."""
        self.bar *= 0.9
        # Terms within chance are searched for among the cached pairs, the last time
        # among all, unless these are so many that most new ones would be due to chance.
        is_last = 0.9 * self.bar <= PURSUIT.min_threshold
        self.is_thorough = (
            is_last and self.design.screening_cost(2) <= PURSUIT.max_cheap_pass
        )
        return self.bar > PURSUIT.min_threshold
