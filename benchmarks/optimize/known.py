"""Functions with known optima: what searching finds, and in how many seconds.

Traps: learned from samples, then one pass of weight satisfaction search from one random
point. Ising 10x10: couplings of +-1 with stored optima, learned from 1200 samples, and
Gaussian ones, learned from 800, whose optima make_ising computes by itself; the model
that was learned is minimized by "auto" within 2 seconds. Tori: stored couplings and
optima, nothing learned, 60 seconds. MaxCut: graphs of the G-set with the best cuts in
the literature, 60 seconds; aimed at are 99.9 % of them. A search is stopped when it has
reached what is known to be the best. Printed are how many instances reached their aim,
the largest part that was missing, and the median and longest seconds.

The instances are read from the folder named by the environment variable SKMOHN_DATA,
else from shared/data next to the repository.
"""

from statistics import median

import numpy as np

from benchmarks.shared import common, results
from benchmarks.shared.problems import SEED_PROBLEMS
from skmohn import MOHNRegressor
from skmohn.datasets import make_ising
from skmohn.optimize import maximize, minimize

TRAPS = (
    ("4-trap 40", 2000),
    ("4-trap 80", 10000),
    ("5-trap 25", 1000),
    ("5-trap 50", 20000),
)
# Spins, instances that must reach the optimum out of those stored.
TORI = ((225, 5), (400, 5), (784, 3))
GRAPHS = ("G1", "G11", "G14", "G43")
GAUSSIAN = 12
ISING_SECONDS, LIMIT = 2.0, 60.0
SHARE_OF_CUT = 0.999
COLUMNS = "problem instances reached gap median max"


def load(name):
    """Read a file of instances; None, and a message, where there is none."""
    path = common.find_data(name)
    return None if path is None else np.load(path)


def stop_at(target, sign):
    """Return a callback that ends a search once a value is reached."""

    def callback(intermediate_result):
        if sign * intermediate_result.fun >= sign * target - 1e-6:
            raise StopIteration

    return callback


def add_row(table, name, reached, gaps, seconds, met):
    """Print what the instances of one problem came to."""
    table.row(
        name,
        len(seconds),
        sum(reached),
        float(max(gaps)),
        median(seconds),
        max(seconds),
        met=met,
    )


def traps(options):
    """One pass of weight satisfaction search on learned traps."""
    table = common.Table("Traps, learned, one pass", COLUMNS)
    for name, n_samples in TRAPS:
        reached, gaps, seconds = [], [], []
        for i in range(options.instances):
            data = SEED_PROBLEMS[name].make(
                n_samples=n_samples, random_state=options.seed + i
            )
            model = MOHNRegressor().fit(data.X, data.y)
            spent, result = common.timed(
                maximize, model, "weight_satisfaction", n_restarts=1, random_state=i
            )
            seconds.append(spent)
            gaps.append(1 - result.fun / data.maximum)
            reached.append(bool((result.x == data.x_maximum).all()))
        add_row(table, name, reached, gaps, seconds, all(reached))
    table.close()


def torus_terms(instances, key):
    """Terms of the energy of a stored torus, and its minimum."""
    edges = instances[f"{key}_edges"]
    terms = {(int(i), int(j)): -float(strength) for i, j, strength in edges}
    return terms, float(instances[f"{key}_energy"])


def torus_keys(instances, n_spins):
    """Names of the stored tori of one size."""
    ends = sorted(k for k in instances if k.startswith(f"pm_{n_spins}_"))
    return [k.removesuffix("_energy") for k in ends if k.endswith("_energy")]


def ising(options):
    """Learned Ising models, minimized in two seconds."""
    table = common.Table("Ising 10x10, learned, auto", COLUMNS)
    rng = np.random.default_rng(options.seed)
    problems = {"pm1": [], "gaussian": []}
    if instances := load("bench_ising_torus.npz"):
        for key in torus_keys(instances, 100):
            terms, lowest = torus_terms(instances, key)
            X = rng.choice([-1.0, 1.0], (1200, 100))
            y = sum(w * X[:, i] * X[:, j] for (i, j), w in terms.items())
            problems["pm1"].append((X, y, lowest))
    for i in range(2 if options.quick else GAUSSIAN):
        data = make_ising(
            (10, 10),
            couplings="gaussian",
            n_samples=800,
            optimum=True,
            random_state=options.seed + i,
        )
        problems["gaussian"].append((data.X, data.y, data.minimum))
    for name, rows in problems.items():
        reached, gaps, seconds = [], [], []
        for X, y, lowest in rows:
            model = MOHNRegressor().fit(X, y)
            spent, result = common.timed(minimize, model, random_state=0)
            seconds.append(spent)
            gaps.append(1 - result.fun / lowest)
            reached.append(abs(gaps[-1]) < 1e-6 and spent <= ISING_SECONDS)
        if rows:
            add_row(table, name, reached, gaps, seconds, all(reached))
    table.close()


def tori(options):
    """Stored tori, 60 seconds each."""
    if (instances := load("bench_ising_torus.npz")) is None:
        return
    table = common.Table("Torus, couplings given, auto", COLUMNS)
    for n_spins, wanted in TORI:
        reached, gaps, seconds = [], [], []
        for key in torus_keys(instances, n_spins):
            terms, lowest = torus_terms(instances, key)
            spent, result = common.timed(
                minimize,
                terms,
                time_limit=LIMIT,
                callback=stop_at(lowest, -1),
                random_state=options.seed,
            )
            seconds.append(spent)
            gaps.append(1 - result.fun / lowest)
            reached.append(result.fun <= lowest + 1e-6)
        add_row(table, n_spins, reached, gaps, seconds, sum(reached) >= wanted)
    table.close()


def cuts(options):
    """Largest cuts of graphs, 60 seconds each."""
    if (instances := load("bench_maxcut_gset.npz")) is None:
        return
    table = common.Table("MaxCut, auto", COLUMNS)
    for name in GRAPHS:
        best = float(instances[f"{name}_best"])
        # An edge is cut when its ends differ: w (1 - s_i s_j) / 2.
        terms = {(): 0.0}
        for i, j, weight in instances[f"{name}_edges"].tolist():
            terms[int(i), int(j)] = -weight / 2
            terms[()] += weight / 2
        spent, result = common.timed(
            maximize,
            terms,
            time_limit=5.0 if options.quick else LIMIT,
            callback=stop_at(best, 1),
            random_state=options.seed,
        )
        met = result.fun >= SHARE_OF_CUT * best
        add_row(table, name, [met], [1 - result.fun / best], [spent], met)
    table.close()


PARTS = {"traps": traps, "ising": ising, "tori": tori, "cuts": cuts}


def main():
    """Print one table for each kind of problem."""
    options = common.parse_options(
        __doc__,
        instances=20,
        quick_instances=2,
        add_arguments=lambda parser: parser.add_argument(
            "--part", choices=PARTS, help="only this one"
        ),
    )
    common.warm_up()
    for name, part in PARTS.items():
        if options.part in (None, name):
            part(options)


if __name__ == "__main__":
    results.record(main)
