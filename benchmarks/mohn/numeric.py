"""Tables of numbers: MOHNRegressor() beside forests, boosting, Gaussian processes.

All learn the same random training rows and are scored on all others, 5000 at most.
Friedman's three problems are generated and diabetes comes with scikit-learn; abalone
and house_16H (the logarithm of its price) are read from the folder named by the
environment variable SKMOHN_DATA, else from shared/data next to the repository, if they
are there. "lines" is ours with numeric="multilinear". Aimed at is to be the best or
within one standard error of the best, and above "lines" or within its standard error.
"""

from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common, measured, results
from skmohn import GPOptions, MOHNRegressor

MAX_TEST = 5000
PEERS = ["forest", "boosting", "LightGBM", "pairs", "GP"]


def read(file, target):
    """Return a reader of one table of the folder; text becomes inputs of 0 and 1."""
    folder = common.data_folder()
    table = pd.read_csv(folder / file)
    inputs = pd.get_dummies(table.iloc[:, :-1], drop_first=True)
    return inputs.to_numpy(float), target(table.iloc[:, -1].to_numpy(float))


ROWS = {
    "friedman1": (300, partial(make_friedman1, 3000, noise=1.0, random_state=0)),
    "friedman2": (300, partial(make_friedman2, 3000, noise=100.0, random_state=0)),
    "friedman3": (300, partial(make_friedman3, 3000, noise=0.1, random_state=0)),
    "diabetes": (300, partial(load_diabetes, return_X_y=True)),
    "abalone": (1000, partial(read, "abalone.csv", np.asarray)),
    "house_16H": (900, partial(read, "house_16H.csv.gz", np.log1p)),
}


def splits(X, y, n_train, n_splits, seed):
    """Yield the seed, training and test inputs, training and test targets."""
    for i in range(seed, seed + n_splits):
        yield (
            i,
            *train_test_split(
                X,
                y,
                train_size=n_train,
                test_size=min(MAX_TEST, len(X) - n_train),
                random_state=i,
            ),
        )


def main():
    """Print one row for each table."""
    # Of a common scale, as the Gaussian process needs it.
    gaussian_process = measured.PEERS["GP"]
    measured.PEERS["GP"] = lambda shape, seed: (
        None
        if gaussian_process(shape, seed) is None
        else make_pipeline(StandardScaler(), gaussian_process(shape, seed))
    )
    measured.PEERS["lines"] = lambda shape, seed: MOHNRegressor(
        gp_options=GPOptions(numeric="multilinear")
    )
    options, peers = measured.begin(__doc__, peers=PEERS)
    table = common.Table(
        f"Test R2, means over {options.instances} splits",
        f"data rows ours coverage lines {' '.join(peers)} best gain error",
        width=10,
    )
    for name, (n_train, make) in ROWS.items():
        try:
            X, y = make()
        except FileNotFoundError as error:
            results.leave_out(f"{name}: no {error.filename} in SKMOHN_DATA")
            continue
        scores, seconds, coverage = measured.compare(
            splits(X, y, n_train, options.instances, options.seed),
            MOHNRegressor,
            ["lines", *peers],
            r2_score,
        )
        best, gain, error = measured.gain_over_best(scores)
        ours, *others = (f"{values.mean():.4f}" for values in scores.values())
        table.row(
            name,
            n_train,
            ours,
            f"{coverage:.2f}",
            *others,
            best,
            f"{gain:+.5f}",
            f"{error:.5f}",
            met=measured.is_no_worse(gain, error),
            details=[measured.seconds_line(seconds)],
        )
    table.close()


if __name__ == "__main__":
    results.record(main)
