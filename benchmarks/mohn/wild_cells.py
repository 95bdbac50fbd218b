"""One wild cell: what MOHNRegressor() and others learn from the rest of the rows.

Rows of three numeric columns, of standard normal numbers or of settings on a scale of
powers of ten ("decades", a level in each row where there are few), have targets that
depend on the first, by its logarithm if it is a setting, and on the product of the
other two. The first cell of the first column of numbers is then --wild times the
standard deviation, as after an entry error; settings stay as they are. Printed is the
test R2 on other rows that are right, mean over --instances problems, and of "kept" that
of MOHNRegressor() which keeps all values as they are: where the rule for lone values
costs something, on few settings, it is above "MOHN".
"""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common, results
from skmohn import MOHNRegressor
from skmohn._core import _quantiles

N_TEST, NOISE = 500, 0.3
# Kind of columns, rows, and the wild cell.
CASES = [
    *(("normal", 150, wild) for wild in (0.0, 10.0, 20.0, 1e3, 1e6)),
    *(("normal", n, 1e3) for n in (12, 30)),
    *(("decades", n, 0.0) for n in (5, 7, 9, 12, 30)),
]
LEARNERS = {
    "MOHN": lambda seed: MOHNRegressor(random_state=seed),
    "kept": lambda seed: MOHNRegressor(random_state=seed),
    "boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "ridge": lambda seed: make_pipeline(StandardScaler(), RidgeCV()),
}


def sample_problem(kind, n_rows, wild, seed):
    """Draw training rows, one of them wild, and test rows without noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows + N_TEST, 3))
    first = X[:, 0].copy()
    if kind == "decades":
        levels = np.arange(min(n_rows, 7)) - 3.0
        first = rng.choice(levels, len(X))
        first[: len(levels)] = levels
        X[:, 0] = 10.0**first
    f = 1.5 * first + X[:, 1] * X[:, 2]
    y = f[:n_rows] + NOISE * rng.standard_normal(n_rows)
    if wild:
        X[0, 0] = wild
    return X[:n_rows], y, X[n_rows:], f[n_rows:]


def measure(name, seed, X, y, X_test, f_test):
    """Return the test R2 of a learner."""
    constants = _quantiles._QUANTILES
    if name == "kept":
        _quantiles._QUANTILES = replace(constants, min_lone_distance=np.inf)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return LEARNERS[name](seed).fit(X, y).score(X_test, f_test)
    finally:
        _quantiles._QUANTILES = constants


def main():
    """Print a row for each case."""
    options = common.parse_options(__doc__, instances=8, quick_instances=1)
    common.warm_up()
    table = common.Table(
        "Test R2 beside one wild cell", "columns rows wild " + " ".join(LEARNERS), 10
    )
    for kind, n_rows, wild in CASES[:2] if options.quick else CASES:
        runs = [
            [
                measure(name, seed, *sample_problem(kind, n_rows, wild, seed))
                for name in LEARNERS
            ]
            for seed in range(options.seed, options.seed + options.instances)
        ]
        scores = [f"{score:.3f}" for score in np.mean(runs, axis=0)]
        table.row(kind, n_rows, f"{wild:g}", *scores)


if __name__ == "__main__":
    results.record(main)
