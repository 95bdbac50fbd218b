"""Measured black boxes: evaluations to the best of all rows, and to the best 1 %.

Configurable systems (x264 and SQLite: seconds; Apache: the largest load) and protein
landscapes (Poelwijk 2019 and CR6261, two values at each site; GB1, 20 letters at four
sites). All methods begin with the same 16 random measured points, and evaluations are
those from there on. Seeds differ in these points and in all else; instances do not
differ. Aimed at is, for both, at most 0.7 of the best peer's median.

Only some configurations were measured. Ours is given these rows as its space. The peers
get the value of the nearest row. Evaluations are distinct measured rows, for all. The
few variants of proteins that were not measured are as bad as the worst. Random is
without replacement. For the peers and the other columns see `black_box.py`.
"""

import numpy as np

from benchmarks.shared import black_box_runs as bench
from benchmarks.shared import common, results
from benchmarks.shared.black_boxes import REAL

N_START = 16
BUDGETS = {
    "x264": 1152,
    "SQLite": 1000,
    "Apache": 192,
    "Poelwijk": 3000,
    "CR6261": 1887,
    "GB1": 5000,
}
OURS_BUDGET = 500
LIMITS = {
    "NGOpt": bench.Limits(1000, 1, 5),
    "Discrete(1+1)": bench.Limits(1000, 1, 5),
    "TPE": bench.Limits(300, 1, 5),
    "TPE joint": bench.Limits(300, 1, 5),
    bench.OURS_BY_OPTUNA: bench.Limits(OURS_BUDGET, 1, 3),
    bench.OURS: bench.Limits(OURS_BUDGET, 1, 10**9),
}
QUICK = "Apache", "CR6261"
QUICK_METHODS = "random", "hill climb", "fast GA", "P3", bench.OURS
AIM = 0.7
# What is reached, and its name in a run.
REACHED = {"best": "hit", "best 1%": "good"}


def since_start(evaluation):
    """Return how many evaluations it was after the common ones; None: not reached."""
    return None if evaluation is None else max(0, evaluation - N_START)


def compare(name, options):
    """Print the rows of one data set; return the medians of what is reached."""
    table = common.Table(
        name,
        "method hits median upper hits_1% median_1% upper_1% seconds budget",
        width=14,
    )
    medians = {what: {} for what in REACHED}
    for method in options.methods:
        results, budget = bench.runs(
            REAL[name],
            name,
            method,
            options,
            options.budget or BUDGETS[name],
            n_start=N_START,
            limits=LIMITS,
        )
        cells = []
        for what, key in REACHED.items():
            found = [since_start(result[key]) for result in results]
            medians[what][method] = bench.quartiles(found)[1], budget
            hits, _, middle, upper = bench.as_cells(found, budget)
            cells += [hits, middle, upper]
        seconds = float(np.median([result["seconds"] for result in results]))
        table.row(method, *cells, seconds, budget)
    print()
    return medians


def main():
    """Print a table for each data set, and one of the ratios."""
    options = bench.parse_options(
        __doc__,
        problems=REAL,
        quick_problems=QUICK,
        quick_methods=QUICK_METHODS,
        instances=1,
        seeds=20,
        quick_seeds=3,
    )
    rows = []
    for name in options.problems:
        for what, medians in compare(name, options).items():
            if found := bench.against_peers(medians):
                rows.append((name, what, *found))
    if not rows:
        return
    table = common.Table(
        "Median evaluations, ours to the best peer's",
        "data what ours best_peer peer's ratio",
        width=10,
    )
    for row in rows:
        table.row(*row, met=row[-1] <= AIM)
    table.close()


if __name__ == "__main__":
    results.record(main)
