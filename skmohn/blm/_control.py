"""Training on black-box objectives: stages, runs, and restarts until one succeeds.

Source: Brunato and Battiti, "A telescopic binary learning machine for training neural
networks", IEEE TNNLS 28 (2017), section V.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from skmohn.blm._curriculum import call_objective
from skmohn.blm._policy import Layout, make_policy
from skmohn.blm._search import (
    WORST,
    Moves,
    Start,
    ask,
    draw_codes,
    explored_share,
    go_on,
    perturbed,
    start_search,
    tell,
)

# Times that noisy weights are judged again before they are believed.
_AFRESH = 10
# A run has streams of random numbers for what does not depend on each other.
_STARTS, _MINIMA, _OBJECTIVES, _SEARCHES = range(4)


@dataclass
class ControlRun:
    """One training run; it can be sent to another process and go on there.

    Attributes
    ----------
    index : int
        Which restart it is.
    seed : int
        Of all that it draws.
    search : Search or None
        Codes and state of the search; None before the first evaluation.
    stage : int
        Which stage it is in.
    n_done : int
        Stages that have come to their goals, or to their ends without one.
    evaluations, in_stage : int
        Evaluations so far, without those of the validation; those of this stage.
    n_evaluations : int
        How often the present weights have been judged, where objectives are noisy.
    home : tuple of (codes, loss, n_evaluations) or None
        The best local minimum of this stage.
    reference_evaluation : tuple of (stage, codes, place, loss) or None
        The latest judgement that had no incumbent to give up at.
    validated : ndarray of shape (n_weights,), int32, or None
        Codes that the validation objective has judged last.
    best_codes : ndarray of shape (n_weights,), int32
        Those with the lowest validation loss; without validation, the best ones of the
        latest stage.
    best_loss : float
        What they are judged by.
    best_stage : int
        The stage whose loss that is; the last one with validation.
    records : list of dict
        One for each epoch.
    reason : str or None
        Why it has ended; None while it goes on.
    succeeded : bool
        Whether it has reached what was wanted.
    """

    index: int
    seed: int
    search: object = None
    stage: int = 0
    n_done: int = 0
    evaluations: int = 0
    in_stage: int = 0
    n_evaluations: int = 1
    home: tuple | None = None
    reference_evaluation: tuple | None = None
    validated: np.ndarray | None = None
    best_codes: np.ndarray | None = None
    best_loss: float = inf
    best_stage: int = 0
    records: list = field(default_factory=list)
    reason: str | None = None
    succeeded: bool = False

    @property
    def loss(self):
        """Loss of the best weights of this stage."""
        return min(float(self.search.state[0].loss), self.home[1] if self.home else inf)

    @property
    def rank(self):
        """The smaller the better."""
        return -self.best_stage, self.best_loss, self.index


@dataclass(frozen=True, kw_only=True)
class ControlPlan:
    """How to train a controller.

    Parameters
    ----------
    stages : tuple of Stage
    validation : callable or None
        An objective that says which weights are kept.
    validation_goal : float or None
        Validation loss that is good enough.
    validation_seed : int
        The same for all runs.
    layout : Layout
    activation, out_activation : str
    moves : Moves
    start : Start
    step : ndarray of shape (n_weights,)
        What one unit of each code stands for.
    perturbation : float
        Fraction of the weights that are drawn anew at a local minimum; 0 ends the
        stage.
    noisy : bool
        Whether the same weights give another loss each time.
    epoch : int
        Evaluations between two looks at the validation objective and the clock.
    """

    stages: tuple
    validation: Callable | None
    validation_goal: float | None
    validation_seed: int
    layout: Layout
    activation: str
    out_activation: str
    moves: Moves
    start: Start
    step: np.ndarray
    perturbation: float
    noisy: bool
    epoch: int

    def policy(self, codes):
        """The controller with these codes."""
        return make_policy(
            self.layout.sizes,
            codes * self.step,
            recurrent=self.layout.recurrent,
            activation=self.activation,
            out_activation=self.out_activation,
        )

    def advance(self, run, seconds=inf):
        """Go on for an epoch; return the run itself, for other processes."""
        deadline = time.perf_counter() + seconds
        if run.search is None:
            rng = np.random.default_rng([run.seed, _STARTS])
            codes = draw_codes(rng, self.moves, self.start, self.step)
            self._enter(run, codes)
        policy = self.policy(run.search.codes)
        if self.noisy:
            self._reevaluate(run, policy)
        end = run.evaluations + self.epoch
        self._end_stage_if_due(run, policy)
        while run.reason is None and run.evaluations < end:
            if time.perf_counter() >= deadline:
                break
            self._try_one(run, policy)
            self._end_stage_if_due(run, policy)
        self._record(run)
        return run

    def expected_loss(self, run):
        """Loss of the best weights; that of noisy ones owes nothing to their choice."""
        if not self.noisy or self.validation is not None or run.best_loss >= WORST:
            return run.best_loss
        # The run itself may go on as if nothing had been asked.
        run = replace(run, stage=run.best_stage)
        return self._judge_afresh(run, self.policy(run.best_codes))

    # --------------------------------------------------------------------- going on

    def is_consistent(self, run):
        """Whether the objectives still say what this run has heard of them."""
        stage, *question = run.reference_evaluation
        heard = [(self.stages[stage].objective, *question)]
        if not self.noisy:
            stage, state = self.stages[run.stage], run.search.state[0]
            place = [run.seed, _OBJECTIVES, run.stage]
            heard.append((stage.objective, run.search.codes, place, float(state.loss)))
        if self.validation is not None:
            place = [self.validation_seed]
            heard.append((self.validation, run.best_codes, place, run.best_loss))
        return (self.validation is None) == (run.validated is None) and all(
            min(self._evaluate(*question), WORST) == min(loss, WORST)
            for *question, loss in heard
        )

    def reevaluate(self, run):
        """Begin the stage of a run again, from the best of the weights it has found."""
        found = [run.search.codes, run.best_codes]
        found += [] if run.home is None else [run.home[0]]
        judge = self._judge_afresh if self.noisy else self._judge_start
        losses = [judge(run, self.policy(codes)) for codes in found]
        self._enter(run, found[np.argmin(losses)].copy())
        run.succeeded = False
        run.validated, run.best_codes, run.best_loss = None, None, inf
        self._keep_best(run)

    def _evaluate(self, objective, codes, place):
        """What an objective says of weights when it is not to give up."""
        return call_objective(objective, self.policy(codes), place, inf, "warm_start")

    # --------------------------------------------------------------------- one move

    def _try_one(self, run, policy):
        """Try the next move of the search, or leave a local minimum."""
        search = run.search
        weight, code = ask(search)
        if weight < 0:
            self._leave_minimum(run, policy)
            return
        incumbent = float(search.state[0].loss)
        policy.weights[weight] = code * self.step[weight]
        loss = self._judge(run, policy, incumbent)
        n_evaluations = 1
        # Luck is not enough: judged as often, its mean has to be lower.
        while (
            self.noisy
            and loss < incumbent
            and n_evaluations < max(run.n_evaluations, 2)
        ):
            bound = incumbent + n_evaluations * (incumbent - loss)
            loss += (self._judge(run, policy, bound) - loss) / (n_evaluations + 1)
            n_evaluations += 1
        # How early an objective gave up must not matter.
        if tell(search, loss if loss < incumbent else inf):
            run.n_evaluations = n_evaluations
        else:
            policy.weights[weight] = search.codes[weight] * self.step[weight]

    def _reevaluate(self, run, policy):
        """Judge the present weights once more, so that luck does not last."""
        state = run.search.state[0]
        state.loss, run.n_evaluations = self._mean(
            run, policy, state.loss, run.n_evaluations
        )

    def _mean(self, run, policy, mean, n_evaluations):
        """Mean with one more judgement, and the number of judgements."""
        loss = min(self._judge(run, policy, inf), WORST)
        return float(mean + (loss - mean) / (n_evaluations + 1)), n_evaluations + 1

    def _judge_afresh(self, run, policy):
        """Mean of judgements that no choice of weights has heard of."""
        mean, n_evaluations = 0.0, 0
        while n_evaluations < _AFRESH:
            mean, n_evaluations = self._mean(run, policy, mean, n_evaluations)
        return mean

    def _leave_minimum(self, run, policy):
        """Go on from the best local minimum with some weights drawn anew."""
        search = run.search
        if not self.perturbation:
            self._end_stage(run, policy, "local minimum: no move improves")
            return
        self._keep_best(run)
        here = search.codes.copy(), float(search.state[0].loss), run.n_evaluations
        if run.home is not None and self.noisy:
            codes, *heard = run.home
            policy.weights[:] = codes * self.step
            run.home = codes, *self._mean(run, policy, *heard)
        if run.home is None or here[1] < run.home[1]:
            run.home = here
        rng = np.random.default_rng([run.seed, _MINIMA, run.evaluations])
        how = self.perturbation, self.moves, self.start, self.step
        codes = perturbed(rng, run.home[0], *how)
        policy.weights[:] = codes * self.step
        go_on(search, codes, self._judge_start(run, policy), self.moves.first_step)

    def _judge(self, run, policy, incumbent):
        """Loss of a policy in the stage of the run."""
        run.evaluations += 1
        run.in_stage += 1
        # The same random numbers each time, unless every time is to differ.
        place = [run.seed, _OBJECTIVES, run.stage] + [run.evaluations] * self.noisy
        stage = self.stages[run.stage]
        where = f"stage {run.stage + 1}, evaluation {run.in_stage}"
        loss = call_objective(stage.objective, policy, place, incumbent, where)
        if incumbent == inf:
            codes = np.rint(policy.weights / self.step).astype(np.int32)
            run.reference_evaluation = run.stage, codes, place, loss
        return loss

    def _judge_start(self, run, policy):
        """Loss of a policy, finite."""
        run.n_evaluations = 1
        return min(self._judge(run, policy, inf), WORST)

    # ------------------------------------------------------------------------ stages

    def _enter(self, run, codes):
        """Begin the stage of the run from these codes, with few bits again."""
        run.in_stage, run.home = 0, None
        loss = self._judge_start(run, self.policy(codes))
        rng = np.random.default_rng([run.seed, _SEARCHES, run.stage])
        seed = int(rng.integers(2**63))
        run.search = start_search(codes, loss, self.moves, seed, self.moves.first_step)

    def _end_stage_if_due(self, run, policy):
        """Go to the next stage at the goal or the limit of this one."""
        while run.reason is None:
            stage = self.stages[run.stage]
            if stage.goal is not None and self._reaches(run, policy, stage.goal):
                self._end_stage(run, policy, "goal")
            elif run.in_stage >= stage.max_evaluations:
                self._end_stage(run, policy, "max_evaluations")
            else:
                return

    def _reaches(self, run, policy, goal):
        """Whether the best weights of this stage reach a goal, and not by luck."""
        state = run.search.state[0]
        if self.noisy and state.loss <= goal:
            state.loss, run.n_evaluations = self._judge_afresh(run, policy), _AFRESH
        elif self.noisy and run.loss <= goal:
            home = self.policy(run.home[0])
            run.home = run.home[0], self._judge_afresh(run, home), _AFRESH
        return run.loss <= goal

    def _end_stage(self, run, policy, reason):
        """Begin the next stage, or end the run."""
        stage, is_last = self.stages[run.stage], run.stage == len(self.stages) - 1
        missed = stage.goal is not None and reason != "goal"
        run.n_done += not missed
        if missed or is_last:
            place = "" if len(self.stages) == 1 else f" in stage {run.stage + 1}"
            run.reason = reason + place
            run.succeeded = reason == "goal"
            return
        codes, loss = run.search.codes, float(run.search.state[0].loss)
        if run.home is not None and run.home[1] < loss:
            codes = run.home[0]
        run.stage += 1
        self._enter(run, codes.copy())
        policy.weights[:] = codes * self.step

    def _keep_best(self, run):
        """Keep the present weights when they are the best so far."""
        codes, loss, stage = (
            run.search.codes,
            float(run.search.state[0].loss),
            run.stage,
        )
        # A mean over luck may have risen since; what was kept may owe it to luck too.
        is_better = self.noisy and (run.home is None or loss < run.home[1])
        if self.validation is not None:
            if np.array_equal(codes, run.validated):
                return
            run.validated, stage = codes.copy(), len(self.stages) - 1
            seeds, bound = [self.validation_seed], run.best_loss
            loss = call_objective(
                self.validation, self.policy(codes), seeds, bound, "validation"
            )
            is_better = False
        is_better |= stage > run.best_stage or loss < run.best_loss
        if is_better or run.best_codes is None:
            run.best_codes, run.best_loss, run.best_stage = codes.copy(), loss, stage

    def _record(self, run):
        """Record the epoch; end the run when it is good enough."""
        self._keep_best(run)
        if self.validation_goal is not None:
            run.succeeded = run.best_loss <= self.validation_goal
            if run.succeeded and run.reason is None:
                run.reason = "validation_goal"
        state = run.search.state[0]
        run.records.append(
            {
                "restart": run.index,
                "stage": run.stage,
                "evaluations": run.evaluations,
                "loss": run.loss,
                "validation_loss": run.best_loss if self.validation else None,
                "bits": int(state.bits),
                "explored": explored_share(run.search),
                "accepted": int(state.accepted),
            }
        )


def train_controller(plan, runs, seeds, n_jobs, report, max_time=None):
    """Train restart after restart until one succeeds; several at a time.

    Which one is the result does not depend on how many run at a time: it is the first
    that succeeds, by its index and not by the clock, or else the best of all.

    Parameters
    ----------
    plan : ControlPlan

    runs : list of ControlRun
        Those that an earlier call has begun.

    seeds : sequence of int
        One for each restart.

    n_jobs : int or None
        Restarts that run at a time.

    report : callable
        Called after each epoch of each run with the run and the best one; stops all
        when it returns true.

    max_time : float, default=None
        Seconds after which all runs are left as they are.

    Returns
    -------
    runs : list of ControlRun
        The first one is the result, the others follow by their index.

    why : str or None
        What has stopped runs that had not ended.
    """
    # Large arrays would come as files that cannot be written to.
    parallel = Parallel(n_jobs=n_jobs, max_nbytes=None)
    deadline = inf if max_time is None else time.perf_counter() + max_time
    runs, why, n_workers = list(runs), None, effective_n_jobs(n_jobs)
    while why is None:
        winner = min((r.index for r in runs if r.succeeded), default=len(seeds))
        runs = [run for run in runs if run.index <= winner]
        going = [place for place, run in enumerate(runs) if run.reason is None]
        while len(going) < n_workers and len(runs) < min(len(seeds), winner):
            going.append(len(runs))
            runs.append(ControlRun(len(runs), seeds[len(runs)]))
        if not going:
            break
        left = deadline - time.perf_counter()
        advanced = parallel(delayed(plan.advance)(runs[k], left) for k in going)
        for k, run in zip(going, advanced, strict=True):
            runs[k] = run
        begun = [run for run in runs if run.records]
        for k in going:
            if report(runs[k], min(begun, key=lambda run: run.rank)):
                why = "a callback"
        if time.perf_counter() >= deadline:
            why = "max_time"
    best = min(runs, key=lambda run: (not run.succeeded, run.rank))
    return [best, *(run for run in runs if run is not best)], why
