"""Evaluations to the optimum of S2's problems, beside those that it prints.

Swingler (2020), Learning and searching pseudo-Boolean surrogate functions from small
samples, prints in its text and its table: for BMDA's quadratic of 120 variables, BMDA,
a genetic algorithm, and MOHN, a quarter of p (p - 1) samples; for spin glasses of
10 x 10 spins, DEUM's population and MOHN; of 5 x 5 x 5 spins, sDEUM (about) and MOHN;
for traps, BOA, DBM-EDA, RBM-EDA (read from a graph), LTGA and MOHN. All of these are
published, none is run here; other figures are only drawn there.

Ours stops at the optimum. Aimed at are all optima found and a median of at most half of
the published MOHN's.
"""

import numpy as np

from benchmarks.shared import black_box_runs as bench
from benchmarks.shared import common, results
from benchmarks.shared.black_boxes import PUBLISHED

FIGURES = {
    "quadratic 120": {"BMDA": 16_000, "GA": 140_000, "MOHN": 3570},
    "Ising 100": {"DEUM": 30_000, "MOHN": 3000},
    "Ising 5x5x5": {"sDEUM": 20_000, "MOHN": 5000},
    "4-trap 40": {"BOA": 13_673, "DBM-EDA": 47_231, "RBM-EDA": 16_000, "MOHN": 2000},
    "4-trap 80": {
        "BOA": 43_777,
        "DBM-EDA": 153_278,
        "RBM-EDA": 160_000,
        "MOHN": 10_000,
    },
    "5-trap 25": {"BOA": 14_924, "DBM-EDA": 13_291, "LTGA": 15_069, "MOHN": 1000},
    "5-trap 50": {
        "BOA": 47_904,
        "DBM-EDA": 49_886,
        "RBM-EDA": 63_000,
        "LTGA": 43_933,
        "MOHN": 20_000,
    },
}
MAX_EVALUATIONS = 5000
AIM = 0.5
QUICK = ("5-trap 25",)


def main():
    """Print a row for each problem, with what is published below it."""
    options = bench.parse_options(
        __doc__, problems=FIGURES, quick_problems=QUICK, methods=(bench.OURS,)
    )
    table = common.Table(
        "Archive to the optimum",
        "problem hits lower median upper budget MOHN ratio",
        width=14,
    )
    for name in options.problems:
        published = FIGURES[name]
        budget = options.budget or min(MAX_EVALUATIONS, published["MOHN"])
        results, budget = bench.runs(PUBLISHED[name], name, bench.OURS, options, budget)
        hits = [result["hit"] for result in results]
        ratio = bench.quartiles(hits)[1] / published["MOHN"]
        others = [f"{k} {v:,}" for k, v in published.items() if k != "MOHN"]
        table.row(
            name,
            *bench.as_cells(hits, budget),
            budget,
            published["MOHN"],
            float(ratio) if np.isfinite(ratio) else "-",
            met=None not in hits and ratio <= AIM,
            details=["published: " + ", ".join(others)],
        )
    table.close()


if __name__ == "__main__":
    results.record(main)
