"""Derivative-free peers on the pendulum: successes and time for each.

Two tasks: all four numbers fed back to 5 units, and position and angle alone to a
recurrent layer of 10. The same network, the same compiled simulations and the same
stages for all. CMA-ES (the package cma) and nevergrad's choice of optimizer search the
weights as real numbers, first steps of 1, and of 0.1 between hidden units (the best of
the settings tried); each stage begins at the best weights of the last one, and a run
ends at a goal that is missed. Peers may spend more evaluations in a stage than we do,
which suits them better than more restarts.
All search again and again until their seconds are over. A success is a small error on
50 fresh starts of 1000 s, without a fall; testing is not timed. Aimed at are half the
seconds per success of the best peer.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.shared import common, control, results
from skmohn import BLMController
from skmohn.blm import Stage
from skmohn.datasets import InvertedPendulum

RATIO = 2


@dataclass(frozen=True)
class Problem:
    """What is to be balanced, and by which network.

    Parameters
    ----------
    name : str
    observe : {"all", "positions"}
    hidden : int
    recurrent : bool
    stages : callable
        From most evaluations of each stage to the stages.
    our_limits, peer_limits : tuple of int
    good : float
        Error of a success.
    """

    name: str
    observe: str
    hidden: int
    recurrent: bool
    stages: Callable
    our_limits: tuple
    peer_limits: tuple
    good: float

    @property
    def sizes(self):
        """Units of all layers."""
        return 4 if self.observe == "all" else 2, self.hidden, 1


# Goals are three and five times better than asked for.
PROBLEMS = (
    Problem(
        "all four numbers, 5 units",
        "all",
        5,
        recurrent=False,
        stages=lambda limits: [
            Stage(InvertedPendulum("all", 16, max_start=0.45), 3e-4, *limits)
        ],
        our_limits=(400,),
        peer_limits=(1000,),
        good=1e-3,
    ),
    Problem(
        "position and angle, 10 recurrent units",
        "positions",
        10,
        recurrent=True,
        stages=lambda limits: control.curriculum("positions", 0.01, limits),
        our_limits=(200, 150, 200, 120),
        peer_limits=(2000, 2000, 2000, 1200),
        good=control.SUCCESS,
    ),
)


def by_us(problem, seed, _):
    """Make one run; return its policy."""
    controller = BLMController(
        (problem.hidden,), recurrent=problem.recurrent, random_state=seed
    )
    control.timed_fit(controller, problem.stages(problem.our_limits))
    return controller.policy_


def start_and_scale(problem, seed):
    """Return black box weights to begin with and what one unit of each stands for."""
    layout = control.Black(None, problem.sizes, problem.recurrent).layout
    scale = layout.spread([1.0, 1.0], [0.1, 0.1])
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.01, 0.01, layout.n_weights) / scale, scale


def by_stages(problem, seed, search):
    """Let a peer search stage after stage; return the policy."""
    weights, scale = start_and_scale(problem, seed)
    for stage in problem.stages(problem.peer_limits):
        black = control.Black(stage.objective, problem.sizes, problem.recurrent)
        loss, weights = search(
            lambda w, black=black: black(w * scale),
            weights,
            stage.goal,
            stage.max_evaluations,
            seed,
        )
        if loss > stage.goal:
            break
    black(weights * scale)
    return black.policy


def by_cma(objective, start, goal, limit, seed):
    """Search by CMA-ES; return the best loss and its weights."""
    import cma

    options = {"seed": seed + 1, "verbose": -9, "maxfevals": limit, "ftarget": goal}
    strategy = cma.CMAEvolutionStrategy(start, 1.0, options)
    while not strategy.stop():
        asked = strategy.ask()
        strategy.tell(asked, [objective(weights) for weights in asked])
    return strategy.result.fbest, strategy.result.xbest


def by_nevergrad(objective, start, goal, limit, seed):
    """Search by nevergrad's own choice of optimizer."""
    import nevergrad

    space = nevergrad.p.Array(init=start)
    space.random_state.seed(seed)
    optimizer = nevergrad.optimizers.NGOpt(space, budget=limit)
    best = np.inf, start
    for _ in range(limit):
        asked = optimizer.ask()
        loss = objective(asked.value)
        optimizer.tell(asked, loss)
        if loss < best[0]:
            best = loss, np.array(asked.value)
        if loss <= goal:
            break
    return best


PEERS = {"cma": by_cma, "nevergrad": by_nevergrad}


def importable():
    """Return the searches that are installed, and name those that are not."""
    found = {"ours": None}
    for name, search in PEERS.items():
        try:
            __import__(name)
            found[name] = search
        except ImportError:
            results.leave_out(f"{name}: not installed")
    return found


def compare(problem, searches, seconds, first_seed):
    """Print one row for each search."""
    by_us(problem, 0, None)
    table = common.Table(
        f"{problem.name}, {seconds:g} s each",
        "search runs successes rate seconds seconds_per_success ratio",
        width=10,
    )
    ours = None
    for name, search in searches.items():
        run = by_us if search is None else by_stages
        spent, runs, successes = 0.0, 0, 0
        while spent < seconds:
            seed = first_seed + runs
            more, policy = common.timed(run, problem, seed, search)
            error, falls = control.tested(policy, problem.observe, seed)
            spent, runs = spent + more, runs + 1
            successes += error < problem.good and falls == 0
        each = spent / successes if successes else np.inf
        ours = each if search is None else ours
        table.row(
            name,
            runs,
            successes,
            successes / runs,
            spent,
            each,
            each / ours,
            met=search is None or each >= RATIO * ours,
        )
    table.close()


def main():
    """Print a table for each task."""
    options = common.parse_options(
        __doc__,
        instances=1,
        quick_instances=1,
        add_arguments=lambda parser: parser.add_argument(
            "--seconds", type=float, help="of each search (default 60, quick 10)"
        ),
    )
    seconds = options.seconds or (10.0 if options.quick else 60.0)
    warnings.simplefilter("ignore")
    searches = importable()
    common.warm_up()
    for problem in PROBLEMS:
        compare(problem, searches, seconds, options.seed)


if __name__ == "__main__":
    results.record(main)
