"""A measured protein: the brightest variant found, and predictions, by measurements.

All 8192 variants of 13 sites have been measured (`skmohn.datasets.load_fluorescence`),
so that each method can be given as many as a laboratory could afford. In the first part
optimizers ask for one variant after another, from the same 16 random ones on; printed
is how many of all variants are brighter than the best measured one. TPE takes all sites
together (multivariate). In the second part learners get random variants, the same for
all, and predict the others. Seeds differ in these variants and in all else.
"""

import warnings
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.shared import black_box_runs as bench
from benchmarks.shared import common, results
from benchmarks.shared.black_boxes import BlackBox
from skmohn import MOHNRegressor
from skmohn.datasets import load_fluorescence

N_START = 16
MEASURED = 20, 30, 40, 60, 80, 100
ROWS = 50, 100, 200, 400, 800
METHODS = "random", "hill climb", "fast GA", "P3", "NGOpt", "TPE joint", bench.OURS


def lasso(order: int):
    """Lasso on all products of sites as -1 and 1, up to an order."""
    expand = PolynomialFeatures(order, interaction_only=True, include_bias=False)
    return make_pipeline(expand, LassoCV())


LEARNERS = {
    "MOHNRegressor": lambda seed: MOHNRegressor(random_state=seed),
    "lasso, pairs": lambda seed: lasso(2),
    "lasso, triples": lambda seed: lasso(3),
    "boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "forest": lambda seed: RandomForestRegressor(random_state=seed),
}


def black_box(X, y, instance: int) -> BlackBox:
    """Minus the brightness of a variant, for optimizers that minimize."""
    places = 2 ** np.arange(X.shape[1])[::-1]

    def f(x):
        return -float(y[int(x @ places)])

    return BlackBox("protein", instance, X.shape[1], f, -float(y.max()))


def best_after(result: dict, measured: int) -> float:
    """Lowest value of a run after a number of evaluations."""
    return min(value for n, value in result["improvements"] if n <= measured)


def find_brightest(X, y, options) -> None:
    """Print the rank of the best variant by measurements, for each method."""
    table = common.Table(
        "Variants brighter than the best measured one, of 8192",
        "measured method runs lower median upper best_1%",
        width=12,
    )
    methods = options.methods or METHODS
    runs = {}
    for method in methods:
        runs[method], _ = bench.runs(
            partial(black_box, X, y), "protein", method, options, MEASURED[-1],
            n_start=N_START, limits={},
        )  # fmt: skip
    for measured in MEASURED:
        for method in methods:
            best = np.array([best_after(result, measured) for result in runs[method]])
            ranks = (y > -best[:, None]).sum(axis=1)
            lower, median, upper = np.quantile(ranks, [0.25, 0.5, 0.75])
            within = f"{np.sum(ranks < 0.01 * len(y))}/{len(ranks)}"
            table.row(measured, method, len(ranks), lower, median, upper, within)
    table.close()


def predict_others(X, y, options) -> None:
    """Print R2 on variants that were not measured, for each number of rows."""
    table = common.Table(
        "Test R2 by variants measured",
        "rows learner n R2 lowest highest seconds",
        width=14,
    )
    for n_rows in ROWS[:3] if options.quick else ROWS:
        for name, make in LEARNERS.items():
            scores, seconds = [], []
            for seed in range(options.seeds):
                order = np.random.default_rng([seed, 1]).permutation(len(y))
                train, test = order[:n_rows], order[n_rows:]
                learner = make(seed)
                spent, _ = common.timed(learner.fit, X[train], y[train])
                scores.append(learner.score(X[test], y[test]))
                seconds.append(spent)
            table.row(
                n_rows, name, len(scores), np.mean(scores), min(scores), max(scores),
                np.median(seconds),
            )  # fmt: skip
    table.close()


def main() -> None:
    """Print both parts."""
    options = bench.parse_options(
        __doc__,
        problems=["protein"],
        methods=METHODS,
        quick_methods=("random", "hill climb", bench.OURS),
        instances=1,
        seeds=20,
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = load_fluorescence(return_X_y=True)
    find_brightest(X, y, options)
    predict_others(2 * X - 1, y, options)


if __name__ == "__main__":
    results.record(main)
