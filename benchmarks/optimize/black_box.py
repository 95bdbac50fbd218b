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
is the last column. The source is the part of ours that found most of the optima.
"""

from collections import Counter

import numpy as np

from benchmarks.shared import black_box_runs as bench
from benchmarks.shared import common, results
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


def compare(name, options):
    """Print the rows of one problem; return medians, and whether ours hit in all."""
    table = common.Table(
        name, "method hits lower median upper seconds budget", width=14
    )
    medians, all_hit = {}, False
    for method in options.methods:
        budget = budget_of(name, method, options)
        results, budget = bench.runs(MADE[name], name, method, options, budget)
        hits = [result["hit"] for result in results]
        medians[method] = bench.quartiles(hits)[1], budget
        details = []
        if method == bench.OURS:
            all_hit = None not in hits
            sources = Counter(r["source"] for r in results if r["hit"] is not None)
            details = [f"found by {dict(sources)}"]
        table.row(
            method,
            *bench.as_cells(hits, budget),
            float(np.median([result["seconds"] for result in results])),
            budget,
            details=details,
        )
    print()
    return medians, all_hit


def main():
    """Print a table for each problem, and one of the ratios."""
    options = bench.parse_options(
        __doc__, problems=MADE, quick_problems=QUICK, quick_methods=QUICK_METHODS
    )
    found = {}
    for name in options.problems:
        medians, all_hit = compare(name, options)
        if row := bench.against_peers(medians):
            found[name] = row, all_hit
    if not found:
        return
    table = common.Table(
        "Median evaluations, ours to the best peer's",
        "problem ours best_peer peer's ratio aim",
        width=20,
    )
    others = []
    for name, (row, all_hit) in found.items():
        ratio = row[-1]
        if name in STRUCTURED:
            aim, met = HALF, ratio <= HALF and all_hit
        else:
            aim, met = SOME, ratio <= SOME
            others.append(ratio < 1)
        table.row(name, *row, aim, met=met)
    if others:
        print(f"Others: ours is lower on {sum(others)} of {len(others)}")
    table.close()


if __name__ == "__main__":
    results.record(main)
