"""Derivative-free peers: how low a training loss they reach, and when ours is there.

The same network, squared loss and seconds (of one thread) for CMA-ES (the
package cma) and for the optimizer that nevergrad chooses (NGOpt, when it is installed),
both on the float64 weights, from weights of the same size as ours at the start; their
objective is the compiled evaluation of our network on all samples. Ours is the default
search. Problems: 70 % of abalone on 10-20-1 with standardized inputs and target, and
the two spirals on 2-20-20-1 with squared error of a logistic output; no penalty.
Printed are the medians over the seeds of the final training RMSE of both, of the
seconds that ours takes to what the peer has found at the end, and of the ratio. Aimed
at is a ratio of at least 20.
"""

import warnings
from statistics import median

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import blm, common, results
from benchmarks.shared.spirals import spirals
from skmohn.blm import _kernels as kernels
from skmohn.blm._codec import grid_step
from skmohn.blm._local_search import Trainer
from skmohn.blm._network import DatasetProblem, Layout, refresh
from skmohn.blm._search import InitOptions, MoveOptions

RATIO = 20


def make_problem(name):
    """Return a network on its data; None when the table is missing."""
    if name == "spirals":
        X, y = spirals()
        layout, loss = Layout((2, 20, 20, 1)), kernels.LOGISTIC_SQUARED
        y = y[:, None]
    else:
        data = blm.load(name)
        if data is None:
            return None
        rows = np.random.default_rng(0).permutation(len(data[0]))
        rows = rows[: len(rows) * 7 // 10]
        X, y = data[0][rows], StandardScaler().fit_transform(data[1][rows, None])
        layout, loss = Layout((10, 20, 1)), kernels.SQUARED
    X, y = (a.astype(np.float32) for a in (StandardScaler().fit_transform(X), y))
    weights = np.ones(len(X), dtype=np.float32)
    step = layout.spread(grid_step(12, np.full(len(layout.sizes) - 1, 6.0)))
    return DatasetProblem(
        layout=layout,
        step=step,
        activation="tanh",
        loss=loss,
        X=X,
        y=y,
        sample_weight=weights,
    )


class Objective:
    """Training loss of given weights; keeps the best so far and the time."""

    def __init__(self, problem, seconds):
        self.net = problem.connect(np.zeros(problem.layout.n_weights))
        self.best = np.inf
        self.end = common.clock() + seconds

    def __call__(self, weights):
        """Evaluate the network on all samples."""
        self.net.weights[:] = weights
        loss = refresh(self.net)
        # Weights that overflow float32 are as bad as any.
        loss = loss if np.isfinite(loss) else 1e30
        self.best = min(self.best, loss)
        return loss

    @property
    def late(self):
        """Whether the time is over."""
        return common.clock() >= self.end


def by_cma(problem, seconds, seed, start):
    """Minimize by CMA-ES, restarted when it stops early; return the lowest loss."""
    import cma

    objective = Objective(problem, seconds)
    while not objective.late:
        options = {"seed": seed + 1, "verbose": -9}
        strategy = cma.CMAEvolutionStrategy(start, 0.3, options)
        while not strategy.stop() and not objective.late:
            asked = strategy.ask()
            strategy.tell(asked, [objective(weights) for weights in asked])
        seed += 1000
    return objective.best


def by_nevergrad(problem, seconds, seed, start):
    """Minimize by nevergrad's own choice of optimizer; return the lowest loss."""
    import nevergrad

    objective = Objective(problem, seconds)
    # Its choice depends on the evaluations it may make: those of the time.
    spent, _ = common.timed(objective, start, repeats=20)
    space = nevergrad.p.Array(init=start)
    space.random_state.seed(seed)
    budget = max(int(seconds / (spent + 1e-4)), 100)
    optimizer = nevergrad.optimizers.NGOpt(space, budget=budget)
    while not objective.late:
        asked = optimizer.ask()
        optimizer.tell(asked, objective(asked.value))
    return objective.best


PEERS = {"cma": by_cma, "nevergrad": by_nevergrad}


def by_us(problem, seconds, seed):
    """Train within the time; return the losses and the seconds they were reached at."""
    limits = {"max_flips": 500 * problem.layout.n_weights, "tol": 1e-4}
    if problem.loss == kernels.LOGISTIC_SQUARED:
        limits = {"max_flips": 600_000, "tol": 0.0}
    trainer = Trainer(
        problem=problem,
        validation=None,
        moves=MoveOptions(),
        init=InitOptions(),
        perturbation=0.01,
        # A look at the loss after every move of each weight.
        epoch=problem.layout.n_weights,
        n_iter_no_change=100,
        **limits,
    )
    start = common.clock()
    best, losses, times = np.inf, [], []
    while common.clock() - start < seconds:
        state = trainer.begin([seed])
        while state.stopping_reason is None and common.clock() - start < seconds:
            trainer.advance(state)
            best = min(best, state.loss)
            losses.append(best)
            times.append(common.clock() - start)
        seed += 1000
    return np.array(losses), np.array(times)


def importable():
    """Return the peers that are installed, and name those that are not."""
    found = {}
    for name, peer in PEERS.items():
        try:
            __import__(name)
            found[name] = peer
        except ImportError:
            results.leave_out(f"{name}: not installed")
    return found


def main():
    """Print one row for each problem and peer."""
    options = common.parse_options(
        __doc__,
        instances=3,
        quick_instances=1,
        add_arguments=lambda parser: parser.add_argument(
            "--seconds", type=float, help="of each search (default 8, quick 3)"
        ),
    )
    seconds = options.seconds or (3.0 if options.quick else 8.0)
    warnings.simplefilter("ignore")
    peers = importable()
    common.warm_up()
    table = common.Table(
        f"Training RMSE after {seconds:g} s, and when ours is as good as the peer's",
        "problem weights peer peer_RMSE our_RMSE at ratio aim",
        width=10,
    )
    for name in ("abalone", "spirals"):
        problem = make_problem(name)
        if problem is None:
            continue
        by_us(problem, 0.01, 0)
        seeds = range(options.seed, options.seed + options.instances)
        runs = [by_us(problem, seconds, seed) for seed in seeds]
        for peer, search in peers.items():
            bests, times = [], []
            for seed, (losses, at) in zip(seeds, runs, strict=True):
                rng = np.random.default_rng(seed)
                start = rng.uniform(-1, 1, problem.layout.n_weights)
                bests.append(search(problem, seconds, seed, start))
                reached = losses <= bests[-1]
                times.append(at[reached.argmax()] if reached.any() else np.inf)
            ratio = seconds / median(times)
            table.row(
                name,
                problem.layout.n_weights,
                peer,
                f"{np.sqrt(2 * median(bests)):.4f}",
                f"{np.sqrt(2 * median(losses[-1] for losses, _ in runs)):.4f}",
                f"{median(times):.3f}",
                ratio,
                RATIO,
                met=ratio >= RATIO,
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
