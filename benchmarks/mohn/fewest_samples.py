"""The fewest samples with which every fresh instance is exact.

MOHNRegressor() learns fresh instances of the seed problems from the number of samples
that must be enough and, where one is set, from the smaller number that is aimed at.
Printed are the instances whose terms are equal and whose weights are right to 1e-6, the
median and the longest seconds. No peer: lasso_peers.py has a row at the same counts.
"""

from statistics import median

from benchmarks.shared import common, results
from benchmarks.shared.problems import SEED_PROBLEMS
from skmohn import MOHNRegressor


def main():
    """Print one or two rows for each problem."""
    options = common.parse_options(__doc__, instances=20, quick_instances=2)
    common.warm_up()
    table = common.Table("Fewest samples", "problem samples must exact median max")
    for problem in SEED_PROBLEMS.values():
        for n_samples in sorted({problem.fewest, problem.fewest_aim}, reverse=True):
            seconds, exact, details = [], 0, []
            for i in range(options.instances):
                data = problem.make(n_samples=n_samples, random_state=options.seed + i)
                model = MOHNRegressor()
                seconds.append(common.timed_fit(model, data.X, data.y))
                if common.is_exact(model, data):
                    exact += 1
                else:
                    details.append(f"instance {i}: {common.what_differs(model, data)}")
            table.row(
                problem.name,
                n_samples,
                "yes" if n_samples == problem.fewest else "aim",
                f"{exact}/{options.instances}",
                median(seconds),
                max(seconds),
                met=exact == options.instances,
                details=details,
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
