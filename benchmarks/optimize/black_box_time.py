"""Seconds between ask and tell, by the number of points that were told.

NK landscapes, whose model does not become exact with so few points, so that all sources
work. Between two evaluations ours is told of a point and asked for the next. Printed
are the median, the mean and the longest of the seconds of the last hundred points, and
the longest of all but the first. Aimed at, of the last hundred's mean: 50 ms with 300
points of 30 variables, 0.5 s with 3000 points of 100.
"""

import numpy as np

from benchmarks.shared import common, results
from benchmarks.shared.black_boxes import nk
from skmohn.optimize import BlackBoxOptimizer

# Variables, neighbors, points told, seconds aimed at.
ROWS = ((30, 5, 300, 0.05), (100, 5, 1000, 0.5), (100, 5, 3000, 0.5))
LAST = 100


def waits(problem, n_points, seed):
    """Return the seconds before each evaluation."""
    optimizer = BlackBoxOptimizer(problem.space, random_state=seed)
    seconds, points = [], None
    for _ in range(n_points):

        def step(points=points):
            if points is not None:
                optimizer.tell(points, [problem.f(points[0])])
            return optimizer.ask(1)

        spent, points = common.timed(step)
        seconds.append(spent)
    return seconds


def main():
    """Print a row for each number of variables and points."""
    options = common.parse_options(__doc__, instances=3, quick_instances=1)
    common.warm_up()
    table = common.Table(
        "Seconds between tell and evaluation",
        "problem points runs median mean largest of_all aim",
        width=12,
    )
    for n, k, n_points, aim in ROWS[:1] if options.quick else ROWS:
        found = []
        for i in range(options.seed, options.seed + options.instances):
            problem = nk(n, k, "random", f"NK {n},{k}", i, optimum=False)
            found.append(waits(problem, n_points, i))
        found = np.array(found)
        last = found[:, -LAST:]
        table.row(
            f"NK {n},{k}",
            n_points,
            len(found),
            float(np.median(last)),
            float(last.mean()),
            float(last.max()),
            float(found[:, 1:].max()),
            aim,
            met=last.mean() <= aim,
        )
    table.close()


if __name__ == "__main__":
    results.record(main)
