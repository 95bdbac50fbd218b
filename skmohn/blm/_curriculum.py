"""Black-box objectives: what a user passes, and training on it in stages."""

# Source: Brunato and Battiti, "A telescopic binary learning machine for training neural
# networks", IEEE TNNLS 28 (2017), section V.

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import inf, isnan
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn.blm._local_search import Trainer
from skmohn.blm._network import Layout
from skmohn.blm._policy import make_policy
from skmohn.blm._policy_kernels import Policy
from skmohn.blm._search import WORST, ask, explored_fraction, tell
from skmohn.blm._training_state import Codes, Evaluated, Stream, TrainingState

# Called with a policy, random numbers and the loss to beat; returns a loss.
Objective = Callable[[Policy, np.random.Generator, float], float]


@dataclass(frozen=True)
class NoiseConstants:
    """Noisy objectives."""

    # Evaluations after which the loss of noisy weights is believed.
    n_evaluations: int = tuned(10, "benchmarks/ablation.py")


_NOISE = NoiseConstants()


@dataclass(frozen=True)
class Stage:
    """One stage of a curriculum.

    Parameters
    ----------
    objective : callable
        Called as ``objective(policy, rng, incumbent)``; returns the loss.
    goal : float, default=None
        Loss at which the next stage starts. A run that misses it within
        `max_evaluations` ends. None means that all evaluations are used.
    max_evaluations : int, default=None
        Maximum number of evaluations; None for that of the estimator.

    Examples
    --------
    >>> from skmohn.blm import Stage
    >>> from skmohn.datasets import InvertedPendulum
    >>> short = InvertedPendulum(duration=2.0, transient=0.0, n_simulations=16)
    >>> [Stage(short, goal=0.1, max_evaluations=1500), Stage(InvertedPendulum())]
    [Stage(...), Stage(...)]
    """

    objective: Objective
    goal: float | None = None
    max_evaluations: int | None = None


def read_stages(
    objective: Objective | Stage | Sequence[Objective | Stage],
    goal: float | None,
    max_evaluations: int,
) -> tuple[Stage, ...]:
    """Curriculum of a user, with every limit filled in; `goal` is of the last."""
    is_single = callable(objective) or isinstance(objective, Stage)
    try:
        given = [objective] if is_single else list(cast(Sequence[Any], objective))
    except TypeError:
        raise TypeError(
            "objective must be callable, a Stage or a sequence of these, got "
            f"{objective!r}"
        ) from None
    if not given:
        raise ValueError("objective has no stages")
    stages = []
    for number, stage in enumerate(given, start=1):
        if not isinstance(stage, Stage):
            stage = Stage(
                cast(Objective, stage), goal if number == len(given) else None
            )
        if not callable(stage.objective):
            raise TypeError(
                f"the objective of stage {number} must be callable, got "
                f"{stage.objective!r}"
            )
        limit = stage.max_evaluations
        limit = max_evaluations if limit is None else limit
        if not isinstance(limit, Integral) or limit < 1:
            raise ValueError(
                f"max_evaluations of stage {number} must be a positive integer, got "
                f"{limit!r}"
            )
        stages.append(replace(stage, max_evaluations=limit))
    return tuple(stages)


def read_size(name: str, size: int | None, stages: Sequence[Stage]) -> int:
    """Number of inputs or outputs: that of the user, of the objectives, or both."""
    for number, stage in enumerate(stages, start=1):
        found = getattr(stage.objective, name, None)
        if found is None:
            continue
        if size is not None and found != size:
            what = "observations" if name == "n_inputs" else "actions"
            raise ValueError(
                f"{what} of stage {number} have shape {(found,)}, but those of the "
                f"controller {(size,)}: change {name}"
            )
        size = found
    if size is None:
        raise ValueError(
            f"{name}=None, but the objective has no attribute of that name: pass "
            f"{name} to the estimator"
        )
    return int(size)


def call_objective(
    objective: Objective,
    policy: Policy,
    seeds: Sequence[int],
    incumbent: float,
    where: str,
) -> float:
    """Value of an objective, which has to be a number; NaN is the worst of all."""
    try:
        loss = objective(policy, np.random.default_rng(seeds), incumbent)
    except Exception as error:
        error.add_note(f"Raised by the objective ({where}).")
        raise
    try:
        loss = float(loss)
    except (TypeError, ValueError):
        raise TypeError(
            f"the objective must return a number, got {loss!r} ({where})"
        ) from None
    return inf if isnan(loss) else loss


@dataclass(frozen=True, kw_only=True)
class BlackBoxProblem:
    """Curriculum of objectives, with one stream of random numbers for each purpose."""

    stages: tuple[Stage, ...]
    layout: Layout
    activation: str
    out_activation: str
    step: NDArray[np.float64]  # (n_weights,); weight of one unit of each code
    is_noisy: bool  # equal weights have another loss each time; means are then compared

    @property
    def last_stage(self) -> int:
        """Index of the last stage."""
        return len(self.stages) - 1

    def policy(self, codes: Codes) -> Policy:
        """Controller with these codes."""
        return make_policy(
            self.layout.sizes,
            codes * self.step,
            recurrent=self.layout.recurrent,
            activation=self.activation,
            out_activation=self.out_activation,
        )

    def rng(self, state: TrainingState, stream: Stream) -> np.random.Generator:
        """Random numbers for a purpose, at the present stage of a run."""
        position = {
            Stream.STARTS: (),
            Stream.MINIMA: (state.evaluations,),
            Stream.SEARCHES: (state.stage,),
        }[stream]
        return np.random.default_rng([*state.seed, int(stream), *position])

    def prepare(self, state: TrainingState) -> None:
        """Make the policy of the present codes."""
        self._set_codes(state, state.search.codes)

    def restart(self, state: TrainingState, codes: Codes) -> float:
        """Set other codes of the policy; return their loss, finite."""
        self._set_codes(state, codes)
        state.n_evaluations = 1
        return min(self._evaluate(state, inf), WORST)

    def reevaluate(self, state: TrainingState, codes: Evaluated) -> Evaluated:
        """Add one evaluation to the mean, of noisy objectives only."""
        if not self.is_noisy:
            return codes
        self._set_codes(state, codes.codes)
        return self._add_evaluation(state, codes)

    def descend(self, state: TrainingState, end: float, deadline: float) -> bool:
        """Try moves until the stage may be due; return whether none improves."""
        while state.evaluations < end and time.perf_counter() < deadline:
            if not self._try_move(state):
                return True
            if self._may_end(state):
                break
        return False

    def next_stage(self, state: TrainingState, reason: str | None) -> bool:
        """End the stage for a reason, or if it is due; return whether one follows."""
        stage = self.stages[state.stage]
        if reason is None and self._may_end(state):
            reason = "goal" if self._reaches_goal(state) else None
            if reason is None and self._is_exhausted(state):
                reason = "max_evaluations"
        if reason is None:
            return False
        missed = stage.goal is not None and reason != "goal"
        state.n_stages_done += not missed
        if missed or state.stage == self.last_stage:
            where = f" in stage {state.stage + 1}" if self.last_stage else ""
            state.stopping_reason = reason + where
            state.succeeded = reason == "goal"
            return False
        state.stage += 1
        return True

    def record(self, state: TrainingState) -> dict[str, Any]:
        """Record of an epoch for the history."""
        search = state.search.state[0]
        return {
            "restart": state.index,
            "stage": state.stage,
            "evaluations": state.evaluations,
            "loss": state.lowest.loss,
            "validation_loss": None if state.validated is None else state.best_loss,
            "bits": int(search.bits),
            "explored": explored_fraction(state.search),
            "accepted": int(search.accepted),
        }

    def fresh_loss(self, state: TrainingState, codes: Codes) -> float:
        """Mean of evaluations that no choice of weights has depended on."""
        self._set_codes(state, codes)
        found = Evaluated(codes, 0.0, 0)
        for _ in range(_NOISE.n_evaluations if self.is_noisy else 1):
            found = self._add_evaluation(state, found)
        return found.loss

    def expected_loss(self, state: TrainingState) -> float:
        """Loss of the best weights; a fresh evaluation if the loss is noisy."""
        if not self.is_noisy or state.best_loss >= WORST:
            return state.best_loss
        # The state itself stays as it is.
        state = copy(state)
        state.stage = state.best_stage
        return self.fresh_loss(state, state.best_codes)

    def is_consistent(self, state: TrainingState) -> bool:
        """Whether the objectives still return what they did in this run."""
        assert state.reference_evaluation is not None  # the first evaluation is one
        known = [state.reference_evaluation]
        if not self.is_noisy:
            seeds = self._objective_seeds(state)
            known.append((state.stage, state.search.codes, seeds, state.loss))
        for stage, codes, seeds, loss in known:
            objective, policy = self.stages[stage].objective, self.policy(codes)
            found = call_objective(objective, policy, seeds, inf, "warm_start")
            if min(found, WORST) != min(loss, WORST):
                return False
        return True

    def _set_codes(self, state: TrainingState, codes: Codes) -> None:
        """Set these codes of the policy: the same object each time."""
        if state.network is None:
            state.network = self.policy(codes)
        state.network.weights[:] = codes * self.step

    def _objective_seeds(self, state: TrainingState) -> list[int]:
        """Seeds of an evaluation: equal ones, unless each time is to differ."""
        own = [state.evaluations] if self.is_noisy else []
        return [*state.seed, int(Stream.OBJECTIVES), state.stage, *own]

    def _evaluate(self, state: TrainingState, bound: float) -> float:
        """Loss of the policy in the present stage."""
        state.evaluations += 1
        state.stage_evaluations += 1
        seeds, policy = self._objective_seeds(state), state.network
        where = f"stage {state.stage + 1}, evaluation {state.stage_evaluations}"
        objective = self.stages[state.stage].objective
        loss = call_objective(objective, policy, seeds, bound, where)
        if bound == inf:
            codes = np.rint(policy.weights / self.step).astype(np.int32)
            state.reference_evaluation = state.stage, codes, seeds, loss
        return loss

    def _add_evaluation(self, state: TrainingState, found: Evaluated) -> Evaluated:
        """Mean with one more evaluation of the policy."""
        loss, n = min(self._evaluate(state, inf), WORST), found.n_evaluations + 1
        return Evaluated(found.codes, float(found.loss + (loss - found.loss) / n), n)

    def _try_move(self, state: TrainingState) -> bool:
        """Try the next move of the search; return False if none improves."""
        search, policy = state.search, state.network
        weight, code = ask(search)
        if weight < 0:
            return False
        incumbent = state.loss
        policy.weights[weight] = code * self.step[weight]
        loss, n_evaluations = self._evaluate(state, incumbent), 1
        # Accept only if the mean over equally many evaluations is lower.
        n_wanted = max(state.n_evaluations, 2) if self.is_noisy else 1
        while loss < incumbent and n_evaluations < n_wanted:
            bound = incumbent + n_evaluations * (incumbent - loss)
            loss += (self._evaluate(state, bound) - loss) / (n_evaluations + 1)
            n_evaluations += 1
        # How early an objective gave up must not matter.
        if tell(search, loss if loss < incumbent else inf):
            state.n_evaluations = n_evaluations
        else:
            policy.weights[weight] = search.codes[weight] * self.step[weight]
        return True

    def _may_end(self, state: TrainingState) -> bool:
        """Whether the stage has reached its limit or, up to noise, its goal."""
        stage = self.stages[state.stage]
        is_low = stage.goal is not None and state.lowest.loss <= stage.goal
        return is_low or self._is_exhausted(state)

    def _is_exhausted(self, state: TrainingState) -> bool:
        """Whether the stage has had its evaluations."""
        limit = self.stages[state.stage].max_evaluations
        return limit is not None and state.stage_evaluations >= limit

    def _reaches_goal(self, state: TrainingState) -> bool:
        """Whether the lowest loss reaches the goal; noisy codes are evaluated anew."""
        goal, minimum = self.stages[state.stage].goal, state.best_minimum
        if goal is None or state.lowest.loss > goal:
            return False
        if self.is_noisy and state.loss <= goal:
            state.loss = self.fresh_loss(state, state.search.codes)
            state.n_evaluations = _NOISE.n_evaluations
        elif self.is_noisy and minimum is not None:
            loss = self.fresh_loss(state, minimum.codes)
            state.best_minimum = Evaluated(minimum.codes, loss, _NOISE.n_evaluations)
            self._set_codes(state, state.search.codes)
        return state.lowest.loss <= goal


@dataclass(frozen=True, kw_only=True)
class BlackBoxValidation:
    """Objective that decides which weights are kept; equal seeds for all of them."""

    objective: Objective
    problem: BlackBoxProblem  # makes the policies
    seed: int

    def evaluate(self, codes: Codes, bound: float = inf) -> float:
        """Loss of codes; above a bound the objective may give up."""
        policy = self.problem.policy(codes)
        return call_objective(self.objective, policy, [self.seed], bound, "validation")

    def is_consistent(self, state: TrainingState) -> bool:
        """Whether the objective still returns what it did of the best codes."""
        if state.validated is None:
            return False
        loss = self.evaluate(state.best_codes)
        return min(loss, WORST) == min(state.best_loss, WORST)


def is_consistent(trainer: Trainer[BlackBoxProblem], state: TrainingState) -> bool:
    """Whether objectives and validation still return what they did in a run."""
    validation = trainer.validation
    if isinstance(validation, BlackBoxValidation):
        is_known = validation.is_consistent(state)
    else:
        is_known = state.validated is None
    return is_known and trainer.problem.is_consistent(state)


def restart_stage(trainer: Trainer[BlackBoxProblem], state: TrainingState) -> None:
    """Begin the stage of a run again, from the best of its codes, evaluated anew."""
    found = [state.search.codes, state.best_codes]
    found += [] if state.best_minimum is None else [state.best_minimum.codes]
    losses = [trainer.problem.fresh_loss(state, codes) for codes in found]
    trainer.enter_stage(state, found[int(np.argmin(losses))].copy())
    state.succeeded, state.validated = False, None
    state.best_loss, state.best_stage = inf, -1
    trainer.keep_best(state)
    state.network = None
