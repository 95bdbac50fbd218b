"""Structure discovery by pursuit: propose, solve and prune until the model is exact.

A round proposes the weights that go best with the residual, among all sets of order
one and two and all sets that extend a weight already found, solves least squares and
prunes. When nothing is significant, three remedies follow, the cheapest first:
screening a higher order exhaustively, message passing over all candidates together, and
a lower bar.
"""

import math
from dataclasses import dataclass

import numpy as np

from skmohn._core._fitting import last_of
from skmohn.mohn._design.terms import in_order, with_kept
from skmohn.mohn._sparse.active_set import ActiveSet
from skmohn.mohn._sparse.exact_fit import exact_error
from skmohn.mohn._sparse.message_passing import infer_structure
from skmohn.mohn._sparse.term_screening import (
    BASE_ORDER,
    NEAR_BEST,
    SCREEN_BAR,
    TermScreening,
    chance_thresholds,
)
from skmohn.mohn._sparse.variant_pairs import SCREENED, VariantPairs

# With more weights than this fraction of the samples a perfect fit proves nothing.
MOST_WEIGHTS = 0.8
_PRUNE = 2.5
# Columns with a larger correlation say much the same: together none of them may stand
# out, so they come one at a time.
_ALIKE = 0.7
_BAN_ROUNDS = 3
_LARGEST_BATCH = 1000
# Weak candidates do not wait if they pass the threshold so many times over that chance
# cannot explain it.
_SIGNIFICANT = 2.0
_LOWEST_BAR = 0.7
_MOST_PASSES = 4
_GAIN = 0.98
_ROUNDS_PER_BAR = 10
# Nanoseconds of solving, by the cubed number of weights and by entries of the columns.
_COST_OF_CUBE, _COST_OF_ENTRY = 0.1, 5.0
# Screening an order that costs less than this comes before message passing.
_CHEAP_SCREEN = 3e7
# A pass over all pairs that costs more waits for significant ones.
_CHEAP_PASS = 1e9


@dataclass(frozen=True)
class PursuitControl:
    """What bounds a pursuit.

    Parameters
    ----------
    max_order : int
        Largest number of inputs in a weight.

    max_rounds : int, default=200
        Rounds of proposing and pruning.

    work_budget : float, default=1e9
        How much the exhaustive screening of orders 3 and up may cost, roughly in
        nanoseconds. It is computed from counts, so it is the same on every computer.

    memory_budget : float, default=1e9
        Bytes that message passing may use for its columns.

    max_screened : int, default=None
        Highest order that is screened exhaustively; None for `max_order`.

    always : tuple of tuples of int, default=()
        Weights that are in every model.
    """

    max_order: int
    max_rounds: int = 200
    work_budget: float = 1e9
    memory_budget: float = 1e9
    max_screened: int | None = None
    always: tuple = ()


class Pursuit:
    """One run of structure discovery on one data set.

    Parameters
    ----------
    design : PackedDesign or DenseDesign

    y : ndarray of shape (n_samples,)

    control : PursuitControl

    on_round : callable, default=None
        Called with the search after each round; a true return value stops it.

    start : sequence of tuples of int, default=()
        Weights to begin with.

    pairs : PairView, default=None
        What is known of the pairs of a wide table.

    Attributes
    ----------
    is_too_wide : bool
        Whether message passing was wanted, and its candidates did not fit.
    """

    def __init__(self, design, y, control, on_round=None, start=(), pairs=None):
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
            design,
            control.max_order,
            control.work_budget,
            control.max_screened,
            pairs,
        )
        self.variant_pairs = VariantPairs.of(design)
        self.most = int(MOST_WEIGHTS * design.weight_sum)
        self.bar = 1.0
        self.is_thorough = True
        self.round = 0
        self.tabu = {}
        self.likely = set()
        self.passes = 0
        self.is_too_wide = False
        self._screened = None, []
        # Of the same residual: sets with their scores, and pairs of variants.
        self._scored, self._joined = ([], None), {}
        start = [term for term in start if term]
        start = start[: max(self.most - len(self.model), 0)]
        if start:
            self.model.add(start)
            self.model.solve()
            self._prune()

    # ------------------------------------------------------------------ the loop

    def run(self):
        """Search until exact or stalled; return why it stopped."""
        return last_of(self.steps())

    def steps(self):
        """The same a part at a time, so that a caller can put off the rest.

        Yields
        ------
        cost : float
            Of the part, roughly in nanoseconds, from counts.
        """
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
                (yield from self._raise_order(_CHEAP_SCREEN))
                or (yield from self._pass_messages())
                or (yield from self._raise_order(math.inf))
                or self._lower_bar()
            ):
                return "stalled"
        return "max_rounds"

    def descend(self, bar, is_thorough=True):
        """Go down to a bar; yield costs, and return the significant terms.

        Parameters
        ----------
        bar : float

        is_thorough : bool, default=True
            Whether, of a wide table, it is made sure that no pair is missed.
        """
        self.bar, self.is_thorough = bar, is_thorough
        for _ in range(_ROUNDS_PER_BAR):
            proposed = yield from self._look()
            if proposed:
                self._accept(proposed)
            elif not (yield from self._raise_order(math.inf)):
                break
        return self.significant_terms()

    def significant_terms(self):
        """Remove the weights below the bar and return the terms of the rest."""
        self._prune(strict=True)
        return [term for term in self.model.terms if term]

    @property
    def n_banned(self):
        """Number of sets that may not be proposed at present."""
        return sum(until >= self.round for until in self.tabu.values())

    @property
    def coverage(self):
        """Per order: how many sets there are, were scored, and are in the model."""
        terms = self.model.terms
        return with_kept(self.frontier.coverage(terms), terms)

    def is_exact(self):
        """Whether the model explains the target up to rounding."""
        return self.model.rms <= self.tolerance and len(self.model) <= self.most

    def _drop_zeros(self):
        coef = np.abs(self.model.coef)
        self.model.keep(coef > 1e-7 * coef.max())
        self.model.solve()

    # ---------------------------------------------------------------- proposing

    def _look(self):
        """Propose weights, among all pairs if need be.

        Yields what each of its parts cost. Where not all pairs are compared each time,
        those that are no longer significant are replaced when none does.
        """
        pairs = self.frontier.pairs
        if pairs is not None and pairs.is_empty:
            yield from self._rescan(pairs)
        chosen = self._propose()
        yield self._cost_of_proposing()
        if not chosen and self.is_thorough and self._may_miss(pairs):
            # Where chance may explain what is found, one look is enough: the better
            # noise is fitted the more of it is significant.
            self.is_thorough = self.bar >= 1
            yield from self._rescan(pairs)
            chosen = self._propose()
        return chosen

    def _rescan(self, pairs):
        """Have all pairs compared with the residual."""
        pairs.ask(self.model.residual)
        yield self.design.screening_cost(2)
        pairs.wait()
        self._screened = None, []

    def _may_miss(self, pairs):
        """Whether a pair that is not kept may be significant."""
        if pairs is None or not self._batch():
            return False
        least = self.bar * self._thresholds([(0, 1)], set())[0] * self.model.noise
        return pairs.bound(self.model.residual) > least

    def _propose(self):
        """The weights that exceed the threshold in the residual."""
        batch = self._batch()
        if not batch:
            return []
        residuals = [self.model.residual]
        # A bar that is lowered often finds the residual as it was.
        if self._screened[0] is not self.model.residual:
            size = batch
            if self.variant_pairs is not None:
                size = max(batch, SCREENED)
            found = self.frontier.screen_low_orders(residuals, size)
            self._screened = self.model.residual, found
            self._scored, self._joined = ([], None), {}
        found = list(self._screened[1])
        chosen = self._select(found, batch)
        # Extending all weights costs more than screening the base orders, so it waits
        # until these have little left to give.
        if len(chosen) > 0.1 * len(self.model):
            return chosen
        children = self.frontier.screen_children(
            residuals, self.model.terms, batch, self.model.columns
        )
        return self._select(found + children, batch) if children else chosen

    def _cost_of_proposing(self):
        n_children = len(self.model) * self.design.n_features
        return self.design.screening_cost(2) + n_children * self.design.score_cost

    def _cost_of_solving(self):
        n = len(self.model)
        return _COST_OF_CUBE * n**3 + _COST_OF_ENTRY * n * self.design.n_samples

    def _batch(self):
        """The most weights that one round may add."""
        wanted = np.clip(int(self.design.weight_sum / 8), 8, _LARGEST_BATCH)
        return max(min(int(wanted), self.most - len(self.model)), 0)

    def _select(self, found, batch):
        """Score candidates exactly; keep those above the bar and near the best."""
        present = set(self.model.terms)
        # Of candidates that say the same, the smallest set comes first.
        found = in_order(
            term for term in found if term not in present and self._may_enter(term)
        )
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
        near = min(NEAR_BEST * score.max(), _SIGNIFICANT)
        chosen = np.flatnonzero((score > self.bar) & (score >= near))
        chosen = chosen[np.argsort(-score[chosen], kind="stable")][:batch]
        return self._drop_collinear([subsets[j] for j in chosen])[:batch]

    def _score(self, found, present):
        """What candidates score over what the best of their rivals would by chance."""
        columns = self.design.columns(found)
        product = self.design.project(columns, self.model.residual)
        length = np.sqrt(self.design.spread(columns))
        score = np.abs(product) / (length * max(self.model.noise, 1e-300))
        score /= self._thresholds(found, present)
        # Columns that say the same differ by rounding.
        return np.round(score, 9)

    def _weigh(self, columns):
        """Inner products of columns with the residual and each other; see `join`."""
        columns = columns - columns.mean(axis=2, keepdims=True)
        noise = max(self.model.noise, 1e-300)
        inner = columns @ self.model.residual / noise
        return inner, columns @ columns.transpose(0, 2, 1)

    def _may_enter(self, term):
        return self.tabu.get(term, -1) < self.round

    def _drop_collinear(self, subsets):
        """The members of subsets that are not much like one before that is kept."""
        terms = [term for subset in subsets for term in subset]
        owners = np.repeat(np.arange(len(subsets)), [len(subset) for subset in subsets])
        columns = self.design.columns(terms)
        sums = self.design.project(columns, np.ones(self.design.n_samples))
        inner = self.design.gram(columns, columns)
        inner -= np.outer(sums, sums) / self.design.weight_sum
        squares = np.outer(*2 * [np.diag(inner)])
        is_alike = (inner**2 > _ALIKE**2 * squares) & (owners[:, None] > owners)
        unlike = np.ones(len(subsets), dtype=bool)
        for j in np.flatnonzero(is_alike.any(axis=1)):
            unlike[owners[j]] &= not unlike[owners[is_alike[j]]].any()
        return [term for term, own in zip(terms, owners, strict=True) if unlike[own]]

    def _thresholds(self, terms, present):
        return chance_thresholds(terms, present, self.design.n_features)

    # ------------------------------------------------------------------ solving

    def _accept(self, proposed):
        """Add weights, solve and prune until every weight is worth its place."""
        self.round += 1
        self.model.add(proposed)
        for term in set(proposed) - set(self.model.terms):
            self.tabu[term] = math.inf  # aliased with weights that are there
        self.model.solve()
        self.learned_rms = self.model.rms
        self.proposed = len(proposed)
        self.removed = self._prune()
        if self.on_round is not None:
            self.stopped = bool(self.on_round(self))

    def _prune(self, strict=False):
        """Remove weak weights: below the bar if strict, else clearly below it."""
        removed = 0
        while len(self.model) > 1 and not self.is_exact():
            present = set(self.model.terms)
            chance = self._thresholds(self.model.terms, present)
            least = self.bar * chance
            if not strict:
                least = np.minimum(_PRUNE, 0.8 * least)
            errors = self.model.standard_errors()
            weak = np.abs(self.model.coef) < least * errors
            if self.variant_pairs is not None:
                ratios, is_spare = self.variant_pairs.joint_ratios(self.model, errors)
                weak = is_spare | (weak & (ratios * chance < least))
            weak[: self.model.n_fixed] = False
            if not weak.any():
                break
            for j in np.flatnonzero(weak):
                self.tabu[self.model.terms[j]] = self.round + _BAN_ROUNDS
            removed += int(weak.sum())
            self.model.keep(~weak)
            self.model.solve()
        return removed

    # ----------------------------------------------------------------- remedies

    def _raise_order(self, most_work):
        """Screen the next order in full, if the budget allows; add what is significant.

        Yields what each of its parts cost, and returns whether it added anything.
        """
        batch, model = self._batch(), self.model
        raised = self.frontier.raise_order(
            [model.residual], model.rms, batch, most_work, model.terms
        )
        for order, found in raised:
            bar, self.bar = self.bar, SCREEN_BAR
            chosen = self._select(found, batch)
            self.bar = bar
            if chosen:
                self.frontier.has_given(order)
                self._accept(chosen)
                yield self._cost_of_solving()
                return True
            yield self.design.screening_cost(order)
        return False

    def _pass_messages(self):
        """Weigh all candidates together and start again from the likely ones.

        Yields what each of its parts cost, and returns whether it started again.
        """
        if self.passes == _MOST_PASSES:
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
        # No model has more, and all that extends two of them would be weighed next.
        likely = (likely or [])[: self.most - 1]
        self.passes += 1
        if not likely or self.likely == set(likely):
            self.passes = _MOST_PASSES
            return False
        self.likely = set(likely)
        self.tabu.clear()
        before, level = self.model.terms, self.model.rms
        self.model.clear()
        self._accept(likely)
        yield self._cost_of_solving()
        if self.model.rms > _GAIN * level:
            # Nothing was gained: what is left is noise, or the columns are too alike.
            self.passes = _MOST_PASSES
        if self.model.rms > level:
            self.model.clear()
            self._accept(before[self.model.n_fixed :])
        return True

    def _lower_bar(self):
        self.bar *= 0.9
        # What chance may well explain is looked for among the pairs that are known; the
        # last time among all, unless they are so many that chance explains most of what
        # would be new.
        is_last = 0.9 * self.bar <= _LOWEST_BAR
        self.is_thorough = is_last and self.design.screening_cost(2) <= _CHEAP_PASS
        return self.bar > _LOWEST_BAR
