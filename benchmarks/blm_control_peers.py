"""Derivative-free peers on the position-only pendulum: successes and time for each.

The same recurrent network of 10 units, the same compiled simulations and the same
curriculum for all. CMA-ES (the package cma) and nevergrad's choice of optimiser search
the weights as real numbers, first steps of 1, and of .1 between hidden units (the best
of six settings tried); each stage begins at the best weights of the last one, and a run
ends at a goal that is missed. Peers may spend 2000 evaluations in each stage, which
suits them better than fewer and more restarts.
All search again and again until their seconds are over. A success is an error below
.05 on 50 fresh starts of 1000 s without a fall; testing is not timed. Aimed at are half
the seconds per success of the best peer.
"""

import warnings

import _common as common
import _control as control
import numpy as np

from skmohn import BLMController

RATIO = 2
SIZES = (2, 10, 1)
# Evaluations in each stage.
OUR_LIMITS = 200, 150, 200, 120
PEER_LIMITS = 2000, 2000, 2000, 1200
# Of the last stage: five times better than asked for.
GOAL = 0.01


def by_us(seed, _):
    """Make one run; return its policy."""
    controller = BLMController((10,), recurrent=True, random_state=seed)
    stages = control.curriculum("positions", GOAL, OUR_LIMITS)
    control.timed_fit(controller, stages)
    return controller.policy_


def start_and_scale(seed):
    """Return black box weights to begin with and what one unit of each stands for."""
    layout = control.Black(None, SIZES, recurrent=True).layout
    scale = layout.spread([1.0, 1.0], [0.1, 0.1])
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.01, 0.01, layout.n_weights) / scale, scale


def by_stages(seed, search):
    """Let a peer search stage after stage; return the policy."""
    weights, scale = start_and_scale(seed)
    for stage in control.curriculum("positions", GOAL, PEER_LIMITS):
        black = control.Black(stage.objective, SIZES, recurrent=True)
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
    """Search by nevergrad's own choice of optimiser."""
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
    """Return the searches that are installed; say which are not."""
    found = {"ours": None}
    for name, search in PEERS.items():
        try:
            __import__(name)
            found[name] = search
        except ImportError:
            print(f"{name}: left out, not installed")
    return found


def main():
    """Print one row for each search."""
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
    by_us(0, None)
    table = common.Table(
        f"Position-only pendulum, {seconds:g} s each",
        "search runs successes rate seconds seconds_per_success ratio",
        width=10,
    )
    ours = None
    for name, search in searches.items():
        run = by_us if search is None else by_stages
        spent, runs, successes = 0.0, 0, 0
        while spent < seconds:
            seed = options.seed + runs
            more, policy = common.timed(run, seed, search)
            error, falls = control.tested(policy, "positions", seed)
            spent, runs = spent + more, runs + 1
            successes += error < control.SUCCESS and falls == 0
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


if __name__ == "__main__":
    main()
