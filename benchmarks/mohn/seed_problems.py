"""Seed problems at the published sample counts: exact on every instance, and how fast.

For each problem MOHNRegressor() learns fresh instances. Printed are the instances whose
terms are equal and whose weights are right to 1e-6, the median and the longest seconds
and the median aimed at; where there are figures, the seconds of the published algorithm
in the same run (strategy="msda", first instances only) with the ratio to ours and the
ratio aimed at, and the seconds that its author measured on another machine.
"""

from statistics import median

from benchmarks.shared import common
from benchmarks.shared.problems import SEED_PROBLEMS
from skmohn import MOHNRegressor


def main():
    """Print one row for each problem."""
    options = common.parse_options(
        __doc__,
        instances=20,
        quick_instances=3,
        add_arguments=lambda parser: parser.add_argument(
            "--msda-instances",
            type=int,
            default=3,
            help="of those, by msda (default 3)",
        ),
    )
    n_msda = 1 if options.quick else options.msda_instances
    common.warm_up()
    table = common.Table(
        "Published sample counts",
        "problem samples exact median max aim msda exact ratio aim published",
    )
    for problem in SEED_PROBLEMS.values():
        seconds, exact, details = [], 0, []
        msda_seconds, msda_exact = [], 0
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
            if problem.speed_up and i < n_msda:
                model = MOHNRegressor("msda", random_state=i)
                msda_seconds.append(common.timed_fit(model, data.X, data.y))
                msda_exact += common.is_exact(model, data)
        msda = (None, None, None)
        fast_enough = median(seconds) <= problem.seconds
        if msda_seconds:
            ratio = median(msda_seconds) / median(seconds)
            msda = median(msda_seconds), f"{msda_exact}/{len(msda_seconds)}", ratio
            fast_enough &= ratio >= problem.speed_up
        table.row(
            problem.name,
            problem.published_samples,
            f"{exact}/{options.instances}",
            median(seconds),
            max(seconds),
            problem.seconds,
            *msda,
            problem.speed_up,
            problem.published_seconds,
            met=exact == options.instances and fast_enough,
            details=details,
        )
    table.close()


if __name__ == "__main__":
    main()
