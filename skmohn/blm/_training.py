"""Training runs: where they start, how they go on, when they end."""

import time
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np
from joblib import Parallel, delayed

from skmohn.blm import _kernels as kernels
from skmohn.blm._codec import grid_step
from skmohn.blm._search import (
    WORST,
    draw_codes,
    explored_share,
    go_on,
    perturbed,
    start_search,
)

# Moves per weight between two looks at the loss, the clock and the validation samples.
MOVES_PER_EPOCH = 10
# Seconds between two looks at the clock, about, where there is a time limit.
_GLANCE = 0.02


@dataclass
class Run:
    """One training run; it can be sent to another process and go on there.

    Attributes
    ----------
    search : Search
        Codes and state of the search.
    rng : Generator
        For what is drawn at the start and at local minima.
    loss : float
        Loss of the codes on the training samples.
    best_codes : ndarray of shape (n_weights,), int32
        Those with the lowest validation loss, or the last ones without validation.
    best_loss : float
        What they are judged by.
    reference : float
        The last loss that was an improvement by more than `tol`.
    records : list of dict
        One for each epoch.
    patience_used : int
        Epochs without improvement.
    reason : str or None
        Why it has ended; None while it goes on.
    home : tuple of (codes, loss) or None
        The best local minimum so far.
    """

    search: object
    rng: np.random.Generator
    loss: float
    best_codes: np.ndarray
    best_loss: float = np.inf
    reference: float = np.inf
    records: list = field(default_factory=list)
    patience_used: int = 0
    reason: str | None = None
    home: tuple | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to train.

    Parameters
    ----------
    problem : Problem
        The training samples.
    validation : Problem or None
        Further samples that say which codes are best and when to stop.
    moves : Moves
    start : Start
    w_max : ndarray of shape (n_layers,)
        Largest weight of each layer.
    perturbation : float
        Fraction of the weights that are drawn anew at a local minimum; 0 ends the run.
    max_flips : int
        Most moves tried in a run.
    tol : float
        Improvement of the loss that counts, as a fraction of it.
    n_iter_no_change : int
        Epochs without such an improvement that end a run.
    """

    problem: object
    validation: object
    moves: object
    start: object
    w_max: np.ndarray
    perturbation: float
    max_flips: int
    tol: float
    n_iter_no_change: int

    @cached_property
    def step(self):
        """What one unit of a code stands for, shape (n_weights,)."""
        step = grid_step(self.moves.n_bits, self.w_max)
        return self.problem.layout.spread(step)

    def begin(self, seed, codes=None):
        """Start a run, from given codes or at random."""
        rng = np.random.default_rng(seed)
        if codes is None:
            codes = draw_codes(rng, self.moves, self.start, self.step)
        loss = _finite(self.problem.evaluate(codes * self.step))
        seed = int(rng.integers(2**63))
        search = start_search(codes, loss, self.moves, seed, self.moves.first_step)
        run = Run(search, rng, loss, search.codes.copy())
        self._record(run)
        return run

    def advance(self, run, max_moves=None, seconds=inf):
        """Go on for an epoch; return the run itself, for other processes."""
        deadline = time.perf_counter() + seconds
        state = run.search.state[0]
        if max_moves is None:
            max_moves = MOVES_PER_EPOCH * len(run.search.codes)
        end = min(int(state.tried) + max_moves, self.max_flips)
        net = self.problem.connect(run.search.codes * self.step)
        self.problem.refresh(net)
        at_minimum = self._descend(run, net, end, deadline)
        while at_minimum and self.perturbation and state.tried < end:
            self._keep_best(run)
            self._perturb(run, net)
            at_minimum = self._descend(run, net, end, deadline)
        self._record(run)
        if at_minimum and not self.perturbation:
            run.reason = "local minimum: no move improves"
        elif state.tried >= self.max_flips:
            run.reason = "max_flips"
        elif run.patience_used >= self.n_iter_no_change:
            run.reason = "no improvement: the loss no longer falls by more than tol"
        return run

    def _descend(self, run, net, end, deadline):
        """Search until ``end`` moves have been tried; return whether none improves."""
        search, more = run.search, True
        # Who has set a time gets it: so many moves that the clock is seen in between.
        n_moves = self.max_flips if deadline == inf else 1
        while more and (left := end - int(search.state[0].tried)) > 0:
            started = time.perf_counter()
            if started >= deadline:
                break
            more = self.problem.search(search, net, self.step, min(n_moves, left))
            if time.perf_counter() - started < _GLANCE:
                n_moves *= 2
        # Free of the rounding errors that single moves leave behind.
        run.loss = search.state[0].loss = _finite(self.problem.refresh(net))
        return not more

    def _perturb(self, run, net):
        """Change some weights of the best local minimum and go on from there."""
        search = run.search
        if run.home is None or run.loss < run.home[1]:
            run.home = search.codes.copy(), run.loss
        how = self.perturbation, self.moves, self.start, self.step
        codes = perturbed(run.rng, run.home[0], *how)
        net.weights[:] = codes * self.step
        run.loss = _finite(self.problem.refresh(net))
        go_on(search, codes, run.loss, self.moves.first_step)

    def _keep_best(self, run):
        """Keep the codes when they are the best so far; return what judges them."""
        loss = run.loss
        if self.validation is not None:
            loss = _finite(self.validation.evaluate(run.search.codes * self.step))
        if loss < run.best_loss:
            run.best_loss, run.best_codes = float(loss), run.search.codes.copy()
        return loss

    def _record(self, run):
        """Record the epoch."""
        state, loss, codes = run.search.state[0], run.loss, run.search.codes
        judged = self._keep_best(run)
        if run.home is not None and run.home[1] < loss:
            codes, loss = run.home
        widened = run.records and run.records[-1]["bits"] < int(state.bits)
        # Small gains add up until they count.
        enough = run.best_loss < run.reference - self.tol * abs(run.reference)
        if enough or widened or not run.records:
            run.reference, run.patience_used = run.best_loss, 0
        else:
            run.patience_used += 1
        error = max(loss - self.problem.price(codes * self.step), 0.0)
        is_squared = self.problem.loss in (kernels.SQUARED, kernels.LOGISTIC_SQUARED)
        run.records.append(
            {
                "loss": float(loss),
                "rmse": float(np.sqrt(2.0 * error)) if is_squared else None,
                "validation_loss": None if self.validation is None else judged,
                "bits": int(state.bits),
                "explored": explored_share(run.search),
                "flips": int(state.tried),
                "accepted": int(state.accepted),
            }
        )


def train(plan, runs, n_jobs, report, deadline=inf):
    """Advance all runs, epoch by epoch, until each has ended.

    Parameters
    ----------
    plan : Plan

    runs : list of Run

    n_jobs : int or None
        Runs that advance at a time.

    report : callable
        Called after each epoch with the best run; stops all when it returns true.

    deadline : float, default=inf
        Reading of `time.perf_counter` at which all runs end.

    Returns
    -------
    runs : list of Run
        The best first.
    """
    # Kernels let other threads run; processes would compile anew.
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    while any(run.reason is None for run in runs):
        going = [k for k, run in enumerate(runs) if run.reason is None]
        left = deadline - time.perf_counter()
        advanced = parallel(delayed(plan.advance)(runs[k], None, left) for k in going)
        for k, run in zip(going, advanced, strict=True):
            runs[k] = run
        stop = report(min(runs, key=_merit))
        late = time.perf_counter() >= deadline
        if stop or late:
            for run in runs:
                run.reason = run.reason or ("a callback" if stop else "max_time")
    return sorted(runs, key=_merit)


def _finite(loss):
    """A loss that can be compared; what is no number is as bad as can be."""
    return loss if loss < WORST else WORST


def _merit(run):
    return run.best_loss
