"""Expensive functions of bits: evaluations to the known optimum, ours and the peers'.

Structured: Ising spin glasses on a torus, traps, NK landscapes with nearest neighbors.
Aimed at are all optima found and a median of at most half of the best peer's. Others:
MaxSAT, NK landscapes with random neighbors, knapsack, vertex cover, MaxCut, W-models.
Aimed at is a median of at most 1.5 times the best peer's on each, and lower than it on
at least half. Instance i is the same for all methods.

Peers: random search; hill climb, first improvement with restarts; fast GA, (1+1) with
heavy-tailed mutation; P3, the parameter-less population pyramid; NGOpt and
Discrete(1+1) of nevergrad on TransitionChoice; TPE of Optuna, univariate and joint
(multivariate). Optuna's Gaussian process needs torch and is not run. Ours is run by
itself and as the sampler of a study of Optuna. What takes long gets fewer evaluations,
instances and seeds, unless --budget is given: see the columns.

Evaluations are distinct points. Printed are the lower quartile, the median and the
upper quartile; a run that did not reach the optimum counts as above its budget, which
is the last column. The stream is the part of ours that found most of the optima.
"""

from collections import Counter

import numpy as np

from benchmarks.shared import black_box_runs as bench
from benchmarks.shared import common
from benchmarks.shared.black_boxes import MADE, STRUCTURED

BUDGET = 10_000
# What ours gets, but for S2's numbers of samples.
OURS_BUDGET = 2000
S2_SAMPLES = {"4-trap 40": 2000, "4-trap 80": 10_000, "5-trap 25": 1000}
QUICK = "Ising 36", "5-trap 25", "uf20"
QUICK_METHODS = "hill climb", "fast GA", "P3", bench.OURS
HALF, SOME = 0.5, 1.5


def budget_of(name, method, options):
    """Evaluations of a run."""
    if options.budget:
        return options.budget
    if method == bench.OURS:
        return S2_SAMPLES.get(name, OURS_BUDGET)
    return BUDGET


def compare(name, make, methods, options):
    """Print the rows of one problem; return the ratio to the best peer, and hits."""
    table = common.Table(
        name, "method hits lower median upper seconds budget", width=14
    )
    medians, all_hit = {}, False
    for method in methods:
        budget = budget_of(name, method, options)
        results, budget = bench.runs(make, name, method, options, budget)
        hits = [result["hit"] for result in results]
        quartiles = bench.quartiles(hits)
        medians[method] = quartiles[1]
        n_hits = sum(hit is not None for hit in hits)
        details = []
        if method == bench.OURS:
            all_hit = n_hits == len(hits)
            streams = Counter(r["stream"] for r in results if r["hit"] is not None)
            details = [f"found by {dict(streams)}"]
        table.row(
            method,
            f"{n_hits}/{len(hits)}",
            *(bench.as_text(q, budget) for q in quartiles),
            float(np.median([result["seconds"] for result in results])),
            budget,
            details=details,
        )
    print()
    medians.pop(bench.OURS_BY_OPTUNA, None)
    ours = medians.pop(bench.OURS, None)
    if ours is None or not medians:
        return None
    best = min(medians, key=medians.get)
    # Neither reached: none is better.
    ratio = ours / medians[best] if np.isfinite(ours) else np.inf
    return best, medians[best], ours, ratio, all_hit


def main():
    """Print a table for each problem, and one of the ratios."""
    options = common.parse_options(
        __doc__,
        instances=5,
        quick_instances=1,
        add_arguments=lambda parser: bench.add_arguments(parser, MADE),
    )
    options.seeds = options.seeds or (2 if options.quick else 10)
    names = options.problems or (QUICK if options.quick else list(MADE))
    methods = options.methods or (
        QUICK_METHODS if options.quick else list(bench.METHODS)
    )
    if bench.OURS in methods:
        common.warm_up()
    found = {name: compare(name, MADE[name], methods, options) for name in names}
    found = {name: row for name, row in found.items() if row}
    if not found:
        return
    table = common.Table(
        "Median evaluations, ours to the best peer's",
        "problem ours best_peer peer's ratio aim",
        width=20,
    )
    for name, (best, theirs, ours, ratio, all_hit) in found.items():
        aim = HALF if name in STRUCTURED else SOME
        table.row(
            name,
            bench.as_text(ours, OURS_BUDGET),
            best,
            bench.as_text(theirs, BUDGET),
            ratio,
            aim,
            met=ratio <= aim and (all_hit or name not in STRUCTURED),
        )
    others = [row[3] < 1 for name, row in found.items() if name not in STRUCTURED]
    if others:
        print(f"Others: ours is lower on {sum(others)} of {len(others)}")
    table.close()


if __name__ == "__main__":
    main()
