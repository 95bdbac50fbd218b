"""Wild cells and totals: what MOHN and others learn from the rest of the rows.

Rows of three numeric columns, of standard normal numbers, have targets that depend on
the first and on the product of the other two. The first cells of the first column are
then so many times the standard deviation, as after entry errors. Other first columns
are exponentials of these numbers ("lognormal"), or powers of ten ("decades", a setting
in each row where there are few; in "doses" the lowest is 0), of which no cell is wild;
targets depend on their logarithm. Printed is the
test R2 on other rows that are right, mean over --instances problems, and of "kept" that
of MOHNRegressor() which keeps all values as they are: where the rule for lone values
costs something, on few settings, it is above "MOHN".

Counts and totals with a Pareto tail of index 1.5 have a mean that depends on one
column; one of them is then multiplied. Printed are the median errors of the logarithm
of the mean of MOHNGLMRegressor(), and with outliers="keep".
"""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common, results
from skmohn import MOHNGLMRegressor, MOHNRegressor
from skmohn._core import _quantiles

N_TEST, NOISE = 500, 0.3
# Kind of columns, rows, the wild cells, and their number.
CASES = [
    *(("normal", 150, wild, 1) for wild in (0.0, 10.0, 20.0, 1e3, 1e6)),
    *(("normal", 150, 1e3, n_wild) for n_wild in (3, 4)),
    *(("normal", n, 1e3, 2) for n in (30, 60)),
    *(("normal", n, 1e3, 1) for n in (12, 30)),
    *(("lognormal", 150, wild, 1) for wild in (0.0, 100.0, 1e3, 1e6)),
    *(("lognormal", n, 1e3, 1) for n in (12, 30)),
    *((kind, n, 0.0, 1) for kind in ("decades", "doses") for n in (5, 7, 9, 12, 30)),
]
# Kind of totals, rows, and the factor of the wild one.
TOTALS = [
    (kind, n, wild)
    for kind in ("counts", "pareto")
    for n in (20, 150)
    for wild in (1.0, 1e3, 1e9)
]
LEARNERS = {
    "MOHN": lambda seed: MOHNRegressor(random_state=seed),
    "kept": lambda seed: MOHNRegressor(random_state=seed),
    "boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "ridge": lambda seed: make_pipeline(StandardScaler(), RidgeCV()),
}


def sample_problem(kind, n_rows, wild, n_wild, seed):
    """Draw training rows, some of them wild, and test rows without noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows + N_TEST, 3))
    first = X[:, 0].copy()
    if kind in ("decades", "doses"):
        levels = np.arange(min(n_rows, 7)) - 3.0
        first = rng.choice(levels, len(X))
        first[: len(levels)] = levels
        X[:, 0] = 10.0**first
        if kind == "doses":
            X[first == levels[0], 0] = 0.0
    elif kind == "lognormal":
        X[:, 0] = np.exp(first)
    f = 1.5 * first + X[:, 1] * X[:, 2]
    y = f[:n_rows] + NOISE * rng.standard_normal(n_rows)
    if wild:
        X[:n_wild, 0] = wild
    return X[:n_rows], y, X[n_rows:], f[n_rows:]


def measure(name, seed, X, y, X_test, f_test):
    """Return the test R2 of a learner."""
    constants = _quantiles._QUANTILES
    if name == "kept":
        _quantiles._QUANTILES = replace(
            constants, min_lone_distance=np.inf, min_remote_distance=np.inf
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return LEARNERS[name](seed).fit(X, y).score(X_test, f_test)
    finally:
        _quantiles._QUANTILES = constants


def error_of_totals(kind, n_rows, wild, outliers, seed):
    """Median error of the logarithm of means learned from totals, one of them wild."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2))
    log_mean = 1.0 + 0.5 * X[:, 0]
    y = rng.poisson(np.exp(log_mean)).astype(float)
    if kind == "pareto":
        y = np.exp(log_mean) * rng.pareto(1.5, n_rows) / 2.0
    y[0] = max(y[0], 1.0) * wild
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MOHNGLMRegressor(outliers=outliers, random_state=seed).fit(X, y)
    return float(np.median(np.abs(np.log(model.predict(X)) - log_mean)))


def main():
    """Print a row for each case."""
    options = common.parse_options(__doc__, instances=8, quick_instances=1)
    common.warm_up()
    table = common.Table(
        "Test R2 beside wild cells", "columns rows wild cells " + " ".join(LEARNERS), 10
    )
    seeds = range(options.seed, options.seed + options.instances)
    for case in CASES[:2] if options.quick else CASES:
        runs = [
            [measure(name, seed, *sample_problem(*case, seed)) for name in LEARNERS]
            for seed in seeds
        ]
        scores = [f"{score:.3f}" for score in np.mean(runs, axis=0)]
        table.row(*case[:2], f"{case[2]:g}", case[3], *scores)
    table = common.Table(
        "Error of log means beside a wild total", "totals rows wild auto keep", 10
    )
    for case in TOTALS[:1] if options.quick else TOTALS:
        errors = [
            np.mean([error_of_totals(*case, how, seed) for seed in seeds])
            for how in ("auto", "keep")
        ]
        table.row(*case[:2], f"{case[2]:g}", *(f"{error:.2f}" for error in errors))


if __name__ == "__main__":
    results.record(main)
