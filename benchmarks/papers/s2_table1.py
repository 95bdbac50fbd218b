"""Table 1: evaluations and seconds to solve the mk-traps.

Sums of traps of four and of five bits. The published search gets the published number
of samples, learns by the lasso with the settings of the paper (batches of a third of
the samples, discards forgotten every 15 iterations), and its model is searched by one
pass of weight satisfaction. It is run as printed (`MSDAOptions.published()`), and with
what is added by default. As printed, the model has the weights of the lasso, and the
search ends when their error is zero, on a tenth of the samples that are held out; with
a penalty it never is, so that all 200 iterations are run. Rows of other algorithms are
as published, by the papers that this one cites; their seconds, and those of the
published MOHN, are of other machines. BOA: Bayesian optimization algorithm; DBM-EDA and
RBM-EDA: Boltzmann machines, deep and restricted; LTGA: linkage tree genetic algorithm.

What is added is as in Figures 2 and 3. The paper leaves the lasso's penalty open: 2.5
standard errors of a weight at the model's error here, as printed a quarter of one at
the spread of the target. "Wrong" is the mean number of terms that are not the
function's. The paper counts as evaluations the samples alone. Here one is added for
each end of a search that is tested on the function until the optimum is found; ten at
most. Its traps are not said to be shuffled; these are, which makes no difference to a
search that uses no neighbors. The last rows of each problem are ours: pursuit
with the same samples and with the number of samples that must be enough. Seconds are
those of learning and searching; the ratio is to ours with the same samples, in the same
run.

**Unexplained:** how the error of the published search becomes zero. As printed it finds
the true terms and wrong ones beside them, and runs until its iterations are used; least
squares beside it makes it exact. The seconds that are printed are of other machines.
"""

import warnings
from statistics import median
from typing import NamedTuple

from sklearn.exceptions import ConvergenceWarning

from benchmarks.shared import common, results
from benchmarks.shared.problems import SEED_PROBLEMS, function_of, searches_until_best
from benchmarks.shared.report import Report, mean_sd
from skmohn import MOHNRegressor, MSDAOptions
from skmohn.optimize import maximize

# Evaluations and seconds.
PUBLISHED = {
    "4-trap 40": {
        "BOA": (13_673, 2_728),
        "DBM-EDA": (47_231, 2_201),
        "RBM-EDA": (16_000, 150),
        "MOHN": (2_000, 22),
    },
    "4-trap 80": {
        "BOA": (43_777, 43_935),
        "DBM-EDA": (153_278, 13_271),
        "RBM-EDA": (160_000, 1_100),
        "MOHN": (10_000, 170),
    },
    "5-trap 25": {
        "BOA": (14_924, 1_384),
        "DBM-EDA": (13_291, 566),
        "LTGA": (15_069, None),
        "MOHN": (1_000, 8),
    },
    "5-trap 50": {
        "BOA": (47_904, 20_199),
        "DBM-EDA": (49_886, 3_060),
        "RBM-EDA": (63_000, 300),
        "LTGA": (43_933, None),
        "MOHN": (20_000, 295),
    },
}
QUICK = "4-trap 40", "5-trap 25"
MAX_SEARCHES = 10


def main():
    """Print a table for each problem."""
    report = Report(
        instances=10,
        quick_instances=3,
        add_arguments=lambda parser: parser.add_argument(
            "--large", type=int, help="repetitions of the problems of 50 and 80 bits"
        ),
    )
    common.warm_up(quiet=True)
    options = report.options
    for name in QUICK if options.quick else PUBLISHED:
        n = options.instances
        if name not in QUICK and options.large is not None:
            n = options.large
        report.text(f"**{name}**, trials of ours: {n}")
        columns = (
            *("algorithm", "exact", "true terms", "wrong", "solved"),
            *("evaluations", "seconds", "ratio"),
        )
        seeds = range(options.seed, options.seed + n)
        report.table(columns, rows(name, seeds, report))


def rows(name, seeds, report):
    """Yield what was published, then what is measured."""
    for algorithm, (evaluations, seconds) in PUBLISHED[name].items():
        yield (
            *(f"{algorithm}, published", None, None, None, None),
            *(f"{evaluations:,}", seconds, None),
        )
    problem = SEED_PROBLEMS[name]
    published, fewest = problem.published_samples, problem.fewest
    ways = {
        "ours, same samples": (published, lambda i: MOHNRegressor(), 0),
        "ours, fewest samples": (fewest, lambda i: MOHNRegressor(), 0),
        "MOHN, with least squares beside it": (
            *(published, lambda i: MOHNRegressor("msda", random_state=i), 0),
        ),
        "MOHN, search as printed": (published, as_printed, published // 10),
    }
    first = None
    for way, (samples, make, held_out) in ways.items():
        runs = [solve(problem, samples, seed, make, held_out) for seed in seeds]
        for seed, run in zip(seeds, runs, strict=True):
            report.run(f"{name}: {way}", seed, **run._asdict())
        row = summary(runs)
        first = first or row[-1]
        yield way, *row, row[-1] / first if samples == published else None


def as_printed(seed):
    """Return the estimator with the search of the paper."""
    options = MSDAOptions.published()
    return MOHNRegressor("msda", msda_options=options, random_state=seed)


class Run(NamedTuple):
    """What came of learning and searching one instance."""

    exact: bool
    true_terms: int
    terms: int  # of the function
    wrong: int
    solved: bool
    evaluations: int
    seconds: float


def solve(problem, samples, seed, make, held_out):
    """Learn and search one instance."""
    data = problem.make(n_samples=samples, random_state=seed)
    model = make(seed)
    train, held = slice(samples - held_out), slice(samples - held_out, None)
    validation = {"X_val": data.X[held], "y_val": data.y[held]} if held_out else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learning, _ = common.timed(
            model.fit, data.X[train], data.y[train], **validation
        )
    searching, tested = common.timed(searches_until_solved, model, data)
    found = len(set(model.terms_) & set(data.terms))
    return Run(
        exact=common.is_exact(model, data),
        true_terms=found,
        terms=len(data.terms),
        wrong=len(model.terms_) - found,
        solved=tested is not None,
        evaluations=samples + (tested or MAX_SEARCHES),
        seconds=learning + searching,
    )


def summary(runs):
    """Return numbers of trials, means with their spreads, and median seconds."""
    n = len(runs)
    return (
        f"{sum(run.exact for run in runs)} of {n}",
        f"{mean_sd([run.true_terms for run in runs])} of {runs[0].terms}",
        mean_sd([run.wrong for run in runs]),
        f"{sum(run.solved for run in runs)} of {n}",
        mean_sd([run.evaluations for run in runs], 5),
        median(run.seconds for run in runs),
    )


def searches_until_solved(model, data):
    """Search the model until the function has its optimum at the end."""

    def search(seed):
        found = maximize(model, "weight_satisfaction", n_restarts=1, random_state=seed)
        return found.x

    return searches_until_best(search, function_of(data), data.maximum, MAX_SEARCHES)


if __name__ == "__main__":
    results.record(main)
