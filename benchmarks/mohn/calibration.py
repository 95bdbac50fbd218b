"""Calibration: how often 90 % intervals hold, by the default MOHNRegressor.

Three tables. Noise: targets that no column has to do with, of 50 to 400 columns (-1 and
+1, 0/1/2, numbers, all three) and 10 to 100 rows. Functions: sparse, dense and numeric
ones with three ratios of their variance to that of the noise, and a tenth of all values
unknown in no rows, in training rows, in test rows or in both. Measured: small training
parts of real tables, those that are found in the folder named by SKMOHN_DATA.

Printed are the fraction of test targets within the intervals and the mean squared error
relative to that of the mean of the training targets. Intervals are those of
`predict_quantiles`; where test rows have missing values, the quantiles of draws
(`sample_y`), since one unknown input of two values has two results and not a bell of
them. Aimed at are fractions of 0.85 to 0.95; of noise also an error of at most 1.05,
and that most fits list no significant term.

x264 misses, to the safe side: it has next to no noise (test errors are about 1 % of its
standard deviation), and priors that keep inputs from mattering by chance imply more.
"""

import warnings
from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from benchmarks.shared import common, measured, results
from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh

LOWEST, HIGHEST = 0.85, 0.95
WORST_ERROR = 1.05
KINDS = ("signs", "counts", "numbers", "mixed")
COLUMNS = (50, 100, 200, 400)
ROWS = (10, 30, 100)
RATIOS = (1, 3, 10)
MISSING = ("none", "training", "test", "both")
GAP_SHARE = 0.1
N_TRAIN, N_TEST = 150, 500
N_DRAWS = 200
ENDS = 0.05, 0.95
MEASURED = (("Poelwijk", 150), ("CR6261-H1", 188), ("x264", 115), ("Apache", 57))
TABLES = (
    "Housing",
    "Bwages",
    "GSOEP9402",
    "Ornstein",
    "ais",
    "biomass",
    "births14",
    "evals",
    "gpa1",
    "hprice2",
    "penguins",
    "wage1",
)
TABLE_ROWS = (50, 150)


def make_columns(kind, shape, rng):
    """Return a table of columns that mean nothing."""
    if kind == "numbers":
        return rng.standard_normal(shape)
    if kind == "mixed":
        parts = np.array_split(np.arange(shape[1]), 3)
        return np.hstack(
            [
                make_columns(part, (shape[0], len(columns)), rng)
                for part, columns in zip(KINDS, parts, strict=False)
            ]
        )
    return rng.choice([-1.0, 1.0] if kind == "signs" else [0.0, 1.0, 2.0], shape)


def sparse_function(n_rows, seed):
    """Return rows and values of eight weights of 30 inputs."""
    data = make_sparse_walsh(30, {1: 4, 2: 4}, n_samples=n_rows, random_state=seed)
    return data.X, data.y


def dense_function(n_rows, seed):
    """Return rows and values of a function in which all of ten inputs matter."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, 10))
    first, second, third = (rng.standard_normal((10,) * k) for k in (1, 2, 3))
    y = X @ first + np.einsum("di,ij,dj->d", X, second, X) / 3.0
    return X, y + np.einsum("di,ijk,dj,dk->d", X, third, X, X) / 15.0


def numeric_function(n_rows, seed):
    """Return rows and values of Friedman's first function."""
    return make_friedman1(n_rows, noise=0.0, random_state=seed)


FUNCTIONS = {
    "sparse": sparse_function,
    "dense": dense_function,
    "numeric": numeric_function,
}


def interval(model, X):
    """Return predictions and the ends of their 90 % intervals."""
    low, high = model.predict_quantiles(X, ENDS).T
    incomplete = np.flatnonzero(pd.isna(pd.DataFrame(X)).any(axis=1))
    if len(incomplete):
        part = X.iloc[incomplete] if hasattr(X, "iloc") else X[incomplete]
        draws = model.sample_y(part, N_DRAWS)
        low[incomplete], high[incomplete] = np.quantile(draws, ENDS, axis=1)
    return model.predict(X), low, high


def measure(X_train, y_train, X_test, y_test):
    """Return coverage, squared errors of model and mean, and if nothing stood out."""
    model = MOHNRegressor(random_state=0, handle_unknown="missing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # A test row may have a value that few training rows did not have.
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X_train, y_train)
        mean, low, high = interval(model, X_test)
    return (
        np.mean((low <= y_test) & (y_test <= high)),
        np.mean((y_test - mean) ** 2),
        np.mean((y_test - np.mean(y_train)) ** 2),
        "nothing is significant" in model.stopping_reason_,
    )


def measure_noise(kind, n_columns, n_rows, seed):
    """Measure one fit of noise."""
    rng = np.random.default_rng([seed, n_columns, n_rows])
    X = make_columns(kind, (n_rows + N_TEST, n_columns), rng)
    y = rng.standard_normal(len(X))
    return measure(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def measure_function(make, ratio, missing, seed):
    """Measure one fit of a function with noise and missing values."""
    X, y = make(N_TRAIN + N_TEST, seed)
    # Noise and missing values of their own for each cell: no cell owes its luck to
    # another.
    rng = np.random.default_rng([seed, ratio, MISSING.index(missing)])
    y = y + np.std(y) / np.sqrt(ratio) * rng.standard_normal(len(y))
    hidden = rng.random(X.shape) < GAP_SHARE
    hidden[:N_TRAIN] &= missing in ("training", "both")
    hidden[N_TRAIN:] &= missing in ("test", "both")
    X = np.where(hidden, np.nan, X)
    return measure(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])


def read_table(name):
    """Return columns and target of a table; None, with a printed line, without it."""
    path = common.find_data(f"tables/regression/{name}.csv")
    if path is None:
        return None
    table = pd.read_csv(path)
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy(float)


def measure_split(X, y, n_train, seed):
    """Measure one fit of a random part of a table."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_train, random_state=seed
    )
    return measure(X_train, y_train, X_test[:N_TEST], y_test[:N_TEST])


def add_row(table, options, cells, run, is_noise=False):
    """Print the means over the instances of one cell."""
    found = np.array([run(options.seed + i) for i in range(options.instances)], float)
    coverage, own, of_mean, nothing = found.mean(axis=0)
    error = own / of_mean
    missed = []
    if not LOWEST <= round(coverage, 3) <= HIGHEST:
        missed.append("coverage")
    if is_noise and error > WORST_ERROR:
        missed.append("error")
    if is_noise and nothing <= 0.5:
        missed.append("something stood out")
    table.row(
        *cells,
        f"{coverage:.3f}",
        f"{error:.3f}",
        f"{nothing:.2f}",
        met=not missed,
        details=[f"missed: {', '.join(missed)}"] if missed else [],
    )


def main():
    """Print the three tables."""
    options = common.parse_options(__doc__, instances=20, quick_instances=2)
    common.warm_up()
    quick = options.quick
    end = "coverage error nothing"
    table = common.Table("Noise", f"columns number rows {end}", width=10)
    for kind in KINDS:
        for n_columns in COLUMNS[:1] if quick else COLUMNS:
            for n_rows in ROWS[1:2] if quick else ROWS:
                run = partial(measure_noise, kind, n_columns, n_rows)
                add_row(table, options, (kind, n_columns, n_rows), run, is_noise=True)
    table.close()
    table = common.Table("Functions", f"function ratio missing {end}", width=10)
    for name, make in FUNCTIONS.items():
        for ratio in RATIOS[1:2] if quick else RATIOS:
            for missing in MISSING[::3] if quick else MISSING:
                run = partial(measure_function, make, ratio, missing)
                add_row(table, options, (name, ratio, missing), run)
    table.close()
    table = common.Table("Measured", f"data rows {end}", width=10)
    for name, n_train in MEASURED[-2:] if quick else MEASURED:
        data = measured.read_measured(name)
        if data is not None:
            run = partial(measure_split, *data, n_train)
            add_row(table, options, (name, n_train), run)
    for name in TABLES[:2] if quick else TABLES:
        data = read_table(name)
        for n_train in [] if data is None else TABLE_ROWS:
            n_train = min(n_train, int(0.6 * len(data[1])))
            run = partial(measure_split, *data, n_train)
            add_row(table, options, (name, n_train), run)
    table.close()


if __name__ == "__main__":
    results.record(main)
