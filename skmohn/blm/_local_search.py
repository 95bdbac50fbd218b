"""Training by iterated local search: what data sets and black boxes have in common."""

# Source: Brunato and Battiti, "A telescopic binary learning machine for training neural
# networks", IEEE TNNLS 28 (2017), sections III and V.

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from skmohn._core._types import effective_n_jobs
from skmohn.blm._search import (
    InitOptions,
    MoveOptions,
    draw_codes,
    perturb,
    resume,
    start_search,
)
from skmohn.blm._training_state import Codes, Evaluated, Stream, TrainingState

LOCAL_MINIMUM = "local minimum: no move improves"


class Problem(Protocol):
    """Problem of learning: it evaluates codes and has the random numbers."""

    @property
    def step(self) -> NDArray[np.float64]:
        """Weight of one unit of each code, shape (n_weights,)."""
        ...

    @property
    def is_noisy(self) -> bool:
        """Whether equal codes have another loss each time."""
        ...

    @property
    def last_stage(self) -> int:
        """Index of the last stage."""
        ...

    def rng(self, state: TrainingState, stream: Stream) -> np.random.Generator:
        """Random numbers for a purpose, at the present stage of a run."""
        ...

    def prepare(self, state: TrainingState) -> None:
        """Make the network of the present codes."""
        ...

    def restart(self, state: TrainingState, codes: Codes) -> float:
        """Set other codes of the network; return their loss, finite."""
        ...

    def reevaluate(self, state: TrainingState, codes: Evaluated) -> Evaluated:
        """Add one evaluation to the mean, of noisy objectives only."""
        ...

    def descend(self, state: TrainingState, end: float, deadline: float) -> bool:
        """Try moves up to `end` evaluations; return whether none improves."""
        ...

    def next_stage(self, state: TrainingState, reason: str | None) -> bool:
        """End the stage for a reason, or if it is due; return whether one follows."""
        ...

    def record(self, state: TrainingState) -> dict[str, Any]:
        """Record of an epoch for the history."""
        ...


class Validation(Protocol):
    """Validation that decides which codes are kept."""

    def evaluate(self, codes: Codes, bound: float = inf) -> float:
        """Loss of codes; those that exceed a bound may have any above it."""
        ...


ProblemType = TypeVar("ProblemType", bound=Problem)


@dataclass(frozen=True, kw_only=True)
class Trainer(Generic[ProblemType]):
    """Trainer of a problem: options of training."""

    problem: ProblemType
    validation: Validation | None
    moves: MoveOptions
    init: InitOptions
    # Fraction of the weights drawn anew at a local minimum; 0 ends the stage there.
    perturbation: float
    epoch: int  # evaluations between two records
    max_flips: float = inf  # maximum number of moves of a run
    tol: float = 0.0  # improvement of the loss that counts, as a fraction of it
    n_iter_no_change: float = inf  # epochs without such an improvement that end a run
    validation_goal: float | None = None  # validation loss that ends a run with success

    def begin(
        self, seed: Sequence[int], codes: Codes | None = None, index: int = 0
    ) -> TrainingState:
        """Start a run, from given codes or at random."""
        state = TrainingState(seed, index)
        self._start(state, codes)
        self._record(state)
        state.network = None
        return state

    def advance(
        self,
        state: TrainingState,
        n_evaluations: int | None = None,
        seconds: float = inf,
    ) -> TrainingState:
        """Train for an epoch; return the state itself, for other processes."""
        deadline = time.perf_counter() + seconds
        if not state.is_begun:
            self._start(state, None)
        problem = self.problem
        problem.prepare(state)
        # So that a lucky evaluation of noisy codes does not last.
        _, state.loss, state.n_evaluations = problem.reevaluate(state, state.present)
        end = min(state.evaluations + (n_evaluations or self.epoch), self.max_flips)
        self._end_stages(state)
        while (
            state.stopping_reason is None
            and state.evaluations < end
            and time.perf_counter() < deadline
        ):
            at_minimum = problem.descend(state, end, deadline)
            if at_minimum and self.perturbation and state.evaluations < end:
                self._perturb(state)
            is_final = at_minimum and not self.perturbation
            self._end_stages(state, LOCAL_MINIMUM if is_final else None)
        self._record(state)
        self._stop_if_due(state)
        state.network = None
        return state

    def enter_stage(self, state: TrainingState, codes: Codes) -> None:
        """Begin the stage of a run from these codes, with few bits again."""
        state.stage_evaluations, state.best_minimum = 0, None
        loss = self.problem.restart(state, codes)
        seed = int(self.problem.rng(state, Stream.SEARCHES).integers(2**63))
        first_step = self.moves.first_step
        state.search = start_search(codes, loss, self.moves, seed, first_step)

    def keep_best(self, state: TrainingState) -> None:
        """Keep the present codes if they are the best so far."""
        codes, loss, _ = state.present
        stage, minimum = state.stage, state.best_minimum
        # A mean over noise may have risen since; what was kept may owe it to noise too.
        is_better = self.problem.is_noisy and (minimum is None or loss < minimum.loss)
        if self.validation is not None:
            known = state.validated
            if known is None or not np.array_equal(codes, known.codes):
                loss = self.validation.evaluate(codes, state.best_loss)
                known = state.validated = Evaluated(codes.copy(), loss)
            loss, stage, is_better = known.loss, self.problem.last_stage, False
        if is_better or stage > state.best_stage or loss < state.best_loss:
            state.best_codes, state.best_loss = codes.copy(), float(loss)
            state.best_stage = stage

    def _start(self, state: TrainingState, codes: Codes | None) -> None:
        """Evaluate the first codes of a run."""
        if codes is None:
            rng = self.problem.rng(state, Stream.STARTS)
            codes = draw_codes(rng, self.moves, self.init, self.problem.step)
        self.enter_stage(state, codes)

    def _perturb(self, state: TrainingState) -> None:
        """Resume from the best local minimum with some weights drawn anew."""
        self.keep_best(state)
        minimum, problem = state.present, self.problem
        minimum = minimum._replace(codes=minimum.codes.copy())
        if state.best_minimum is not None:
            state.best_minimum = problem.reevaluate(state, state.best_minimum)
        if state.best_minimum is None or minimum.loss < state.best_minimum.loss:
            state.best_minimum = minimum
        rng = problem.rng(state, Stream.MINIMA)
        options = self.perturbation, self.moves, self.init, problem.step
        codes = perturb(rng, state.best_minimum.codes, *options)
        loss = problem.restart(state, codes)
        resume(state.search, codes, loss, self.moves.first_step)

    def _end_stages(self, state: TrainingState, reason: str | None = None) -> None:
        """End the stage for a reason, and each that is due."""
        while self.problem.next_stage(state, reason):
            self.enter_stage(state, state.lowest.codes.copy())
            reason = None

    def _record(self, state: TrainingState) -> None:
        """Record the epoch, and whether it has improved the loss."""
        self.keep_best(state)
        record = self.problem.record(state)
        widened = state.records and state.records[-1]["bits"] < record["bits"]
        # Small improvements add up until they count.
        min_improvement = self.tol * abs(state.reference_loss) if self.tol else 0.0
        improved = state.best_loss < state.reference_loss - min_improvement
        if improved or widened or not state.records:
            state.reference_loss, state.patience_used = state.best_loss, 0
        else:
            state.patience_used += 1
        state.records.append(record)

    def _stop_if_due(self, state: TrainingState) -> None:
        """End a run that is good enough, or whose budget or patience is used."""
        reason = None
        if self.validation_goal is not None:
            state.succeeded = state.best_loss <= self.validation_goal
            reason = "validation_goal" if state.succeeded else None
        if reason is None and state.evaluations >= self.max_flips:
            reason = "max_flips"
        if reason is None and state.patience_used >= self.n_iter_no_change:
            reason = "no improvement: the loss no longer falls by more than tol"
        state.stopping_reason = state.stopping_reason or reason


def train(
    trainer: Trainer[ProblemType],
    # By index; with "until_success" some need not have begun.
    states: Sequence[TrainingState],
    *,
    order: Literal["parallel", "until_success"],
    n_jobs: int | None,
    # Called after each round with the advanced states and the best of all; stops when
    # it returns true.
    report: Callable[[list[TrainingState], TrainingState], object],
    deadline: float = inf,  # reading of `time.perf_counter` at which all stop
) -> tuple[list[TrainingState], str | None]:
    """Advance runs, epoch by epoch, until each has ended."""
    # Neither order lets the result depend on `n_jobs`: with "until_success" it is the
    # first run that succeeds, by its index and not by the clock. "parallel" runs all
    # together in threads, which kernels leave free; "until_success" runs as many as
    # `n_jobs` at a time in processes, and no further ones after a success. Returned are
    # the states that have begun, the best first, and what has stopped runs that had not
    # ended.
    prefer = "threads" if order == "parallel" else None
    # Large arrays would come as files that cannot be written to.
    parallel = Parallel(n_jobs=n_jobs, prefer=prefer, max_nbytes=None)
    n_slots = len(states) if order == "parallel" else effective_n_jobs(n_jobs)
    states, reason = list(states), None
    while reason is None:
        first = min((state.index for state in states if state.succeeded), default=inf)
        states = [state for state in states if state.index <= first]
        open_states = [k for k, s in enumerate(states) if s.stopping_reason is None]
        going = [k for k in open_states if states[k].is_begun]
        waiting = [k for k in open_states if not states[k].is_begun]
        going += waiting[: max(n_slots - len(going), 0)]
        if not going:
            break
        left = deadline - time.perf_counter()
        advanced: Any = parallel(
            delayed(trainer.advance)(states[k], None, left) for k in going
        )
        for k, state in zip(going, advanced, strict=True):
            states[k] = state
        best = min((s for s in states if s.is_begun), key=lambda state: state.rank)
        if report([states[k] for k in going], best):
            reason = "a callback"
        elif time.perf_counter() >= deadline:
            reason = "max_time"
    begun = [state for state in states if state.is_begun]
    return sorted(begun, key=lambda state: (not state.succeeded, state.rank)), reason
