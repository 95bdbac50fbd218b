"""Seed problems at the published sample counts: exact on every instance, and how fast.

For each problem MOHNRegressor() learns fresh instances. Printed are the instances whose
terms are equal and whose weights are right to 1e-6, the median and the longest seconds
and the median aimed at. The published algorithm learns the same problems in
benchmarks/papers: s2_figure1.py, s2_figure2.py, s2_figure4.py and s2_table1.py.
"""

from statistics import median

from benchmarks.shared import common, results
from benchmarks.shared.problems import SEED_PROBLEMS
from skmohn import MOHNRegressor


def main():
    """Print one row for each problem."""
    options = common.parse_options(__doc__, instances=20, quick_instances=3)
    common.warm_up()
    table = common.Table(
        "Published sample counts", "problem samples exact median max aim"
    )
    for problem in SEED_PROBLEMS.values():
        seconds, exact, details = [], 0, []
        for i in range(options.instances):
            data = problem.make(
                n_samples=problem.published_samples, random_state=options.seed + i
            )
            model = MOHNRegressor()
            seconds.append(common.timed_fit(model, data.X, data.y))
            if common.is_exact(model, data):
                exact += 1
            else:
                details.append(f"instance {i}: {common.what_differs(model, data)}")
        table.row(
            problem.name,
            problem.published_samples,
            f"{exact}/{options.instances}",
            median(seconds),
            max(seconds),
            problem.seconds,
            met=exact == options.instances and median(seconds) <= problem.seconds,
            details=details,
        )
    table.close()


if __name__ == "__main__":
    results.record(main)
