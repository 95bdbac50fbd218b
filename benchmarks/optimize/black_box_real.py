"""Measured black boxes: evaluations to the best of all rows, and to the best 1 %.

Configurable systems (x264 and SQLite: seconds; Apache: the largest load) and protein
landscapes (Poelwijk 2019 and CR6261, two values at each site; GB1, 20 letters at four
sites). All methods begin with the same 16 random measured points, and evaluations are
those from there on. Seeds differ in these points and in all else. Aimed at is, for
both, at most .7 of the best peer's median.

Only some configurations were measured. Ours is given these rows as its space. The peers
get the value of the nearest row. Evaluations are distinct measured rows, for all. The
few variants of proteins that were not measured are as bad as the worst. Random is
without replacement. For the peers and the other columns see `black_box.py`.
"""

import numpy as np

from benchmarks.shared import black_box_runs as bench
from benchmarks.shared import common
from benchmarks.shared.black_box_runs import Limits
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
    "NGOpt": Limits(1000, 1, 5),
    "Discrete(1+1)": Limits(1000, 1, 5),
    "TPE": Limits(300, 1, 5),
    "TPE joint": Limits(300, 1, 5),
    bench.OURS_BY_OPTUNA: Limits(OURS_BUDGET, 1, 3),
    bench.OURS: Limits(OURS_BUDGET, 1, 10**9),
}
QUICK = "Apache", "CR6261"
QUICK_METHODS = "random", "hill climb", "fast GA", "P3", bench.OURS
AIM = 0.7


def since_start(evaluation):
    """Return how many evaluations it was after the common ones; None: not reached."""
    return None if evaluation is None else max(0, evaluation - N_START)


def compare(name, methods, options):
    """Print the rows of one data set; return the medians of all methods."""
    table = common.Table(
        name,
        "method hits median upper hits_1% median_1% upper_1% seconds budget",
        width=14,
    )
    medians = {}
    for method in methods:
        results, budget = bench.runs(
            REAL[name],
            name,
            method,
            options,
            options.budget or BUDGETS[name],
            n_start=N_START,
            limits=LIMITS,
        )
        cells, medians[method] = [], []
        for key in ("hit", "good"):
            found = [since_start(result[key]) for result in results]
            _, middle, upper = bench.quartiles(found)
            medians[method].append(middle)
            cells += [
                f"{sum(e is not None for e in found)}/{len(found)}",
                bench.as_text(middle, budget),
                bench.as_text(upper, budget),
            ]
        seconds = float(np.median([result["seconds"] for result in results]))
        table.row(method, *cells, seconds, budget)
    print()
    return medians


def main():
    """Print a table for each data set, and one of the ratios."""
    options = common.parse_options(
        __doc__,
        instances=1,
        quick_instances=1,
        add_arguments=lambda parser: bench.add_arguments(parser, REAL),
    )
    options.seeds = options.seeds or (3 if options.quick else 20)
    names = options.problems or (QUICK if options.quick else list(REAL))
    methods = options.methods or (
        QUICK_METHODS if options.quick else list(bench.METHODS)
    )
    if bench.OURS in methods:
        common.warm_up()
    found = {name: compare(name, methods, options) for name in names}
    if bench.OURS not in methods or len(methods) == 1:
        return
    table = common.Table(
        "Median evaluations, ours to the best peer's",
        "data what ours best_peer peer's ratio",
        width=10,
    )
    for name, medians in found.items():
        for k, what in enumerate(("best", "best 1%")):
            ours = medians[bench.OURS][k]
            best, theirs = min(
                ((m, e[k]) for m, e in medians.items() if "ours" not in m),
                key=lambda pair: pair[1],
            )
            # Both may have been at it when they began.
            ratio = ours / max(theirs, 1) if np.isfinite(ours) else np.inf
            table.row(
                name,
                what,
                bench.as_text(ours, OURS_BUDGET),
                best,
                bench.as_text(theirs, BUDGETS[name]),
                ratio,
                met=ratio <= AIM,
            )
    table.close()


if __name__ == "__main__":
    main()
