"""The published stochastic algorithm solves the published problems with every seed.

MOHNRegressor(strategy="msda") learns three problems at the published sample counts,
each seed on its own instance. Printed are the exact ones (terms equal, weights right to
1e-6), the median and the longest seconds, the seconds of MOHNRegressor() on the same
data, and the seconds that the author of the algorithm measured on another machine.
"""

from statistics import median

from benchmarks.shared import common
from benchmarks.shared.problems import SEED_PROBLEMS
from skmohn import MOHNRegressor

NAMES = ("Ising 10x10 pm1", "4-trap 40", "5-trap 25")


def main():
    """Print one row for each problem."""
    options = common.parse_options(__doc__, instances=10, quick_instances=3)
    common.warm_up()
    table = common.Table(
        'strategy="msda"',
        "problem samples exact median max pursuit published",
    )
    for problem in (SEED_PROBLEMS[name] for name in NAMES):
        seconds, pursuit_seconds, exact, details = [], [], 0, []
        for i in range(options.instances):
            data = problem.make(
                n_samples=problem.published_samples, random_state=options.seed + i
            )
            model = MOHNRegressor("msda", random_state=i)
            seconds.append(common.timed_fit(model, data.X, data.y))
            if common.is_exact(model, data):
                exact += 1
            else:
                details.append(f"seed {i}: {common.what_differs(model, data)}")
            pursuit_seconds.append(common.timed_fit(MOHNRegressor(), data.X, data.y))
        table.row(
            problem.name,
            problem.published_samples,
            f"{exact}/{options.instances}",
            median(seconds),
            max(seconds),
            median(pursuit_seconds),
            problem.published_seconds,
            met=exact == options.instances,
            details=details,
        )
    table.close()


if __name__ == "__main__":
    main()
