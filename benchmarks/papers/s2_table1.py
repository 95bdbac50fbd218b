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
search that knows nothing of neighbors. The last rows of each problem are ours: pursuit
with the same samples and with the number of samples that must be enough. Seconds are
those of learning and searching; the ratio is to ours with the same samples, in the same
run.
"""

import warnings
from statistics import mean, median

from sklearn.exceptions import ConvergenceWarning

from benchmarks.shared import common, results
from benchmarks.shared.problems import SEED_PROBLEMS, function_of, searches_until_best
from benchmarks.shared.report import Report
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
MOST_SEARCHES = 10


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
        report.table(columns, rows(name, range(options.seed, options.seed + n)))


def rows(name, seeds):
    """Yield what was published, then what is measured."""
    for algorithm, (evaluations, seconds) in PUBLISHED[name].items():
        yield (
            *(f"{algorithm}, published", None, None, None, None),
            *(f"{evaluations:,}", seconds, None),
        )
    problem = SEED_PROBLEMS[name]
    published, fewest = problem.published_samples, problem.fewest
    printed = solve(problem, published, seeds, as_printed, held_out=published // 10)
    theirs = solve(
        problem, published, seeds, lambda i: MOHNRegressor("msda", random_state=i)
    )
    ours = solve(problem, published, seeds, lambda i: MOHNRegressor())
    least = solve(problem, fewest, seeds, lambda i: MOHNRegressor())
    yield "MOHN, search as printed", *printed, printed[-1] / ours[-1]
    yield "MOHN, with least squares beside it", *theirs, theirs[-1] / ours[-1]
    yield "ours, same samples", *ours, 1.0
    yield "ours, fewest samples", *least, None


def as_printed(seed):
    """Return the estimator with the search of the paper."""
    options = MSDAOptions.published()
    return MOHNRegressor("msda", msda_options=options, random_state=seed)


def solve(problem, samples, seeds, make, held_out=0):
    """Learn and search; return numbers of trials, mean evaluations, median seconds."""
    exact, solved, evaluations, seconds = [], [], [], []
    found, wrong = [], []
    for seed in seeds:
        data = problem.make(n_samples=samples, random_state=seed)
        model = make(seed)
        train, held = slice(samples - held_out), slice(samples - held_out, None)
        validation = {"X_val": data.X[held], "y_val": data.y[held]} if held_out else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learning, _ = common.timed(
                model.fit, data.X[train], data.y[train], **validation
            )
        found.append(len(set(model.terms_) & set(data.terms)))
        wrong.append(len(model.terms_) - found[-1])
        searching, tested = common.timed(searches_until_solved, model, data)
        exact.append(common.is_exact(model, data))
        solved.append(tested is not None)
        evaluations.append(samples + (tested or MOST_SEARCHES))
        seconds.append(learning + searching)
    n = len(seeds)
    return (
        f"{sum(exact)} of {n}",
        f"{mean(found):.0f} of {len(data.terms)}",
        f"{mean(wrong):.1f}",
        f"{sum(solved)} of {n}",
        f"{mean(evaluations):,.0f}",
        median(seconds),
    )


def searches_until_solved(model, data):
    """Search the model until the function has its optimum at the end."""

    def search(seed):
        found = maximize(model, "weight_satisfaction", n_restarts=1, random_state=seed)
        return found.x

    return searches_until_best(search, function_of(data), data.maximum, MOST_SEARCHES)


if __name__ == "__main__":
    results.record(main)
