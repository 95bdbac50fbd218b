"""Many rows: MOHNRegressor() beside boosting, up to 100,000 rows of a mixed table.

The generated table has ten numbers (Friedman's first function), five bits and five
columns of letters that interact, and noise of variance 1.
The real ones are the largest at hand: house prices (16 numbers), abalone (7 numbers and
a category), SQLite (39 bits) and the protein GB1 (4 sites of 20 letters, logarithm of
the fitness). All learners have their default parameters and a fresh process each.

Printed are seconds of a fit and of predicting 2000 other rows, the peak memory of the
process, kilobytes of a pickle, the test R2, the mean log density of test targets that
ours gives and the way that it took; then by which powers of the number of rows the
seconds and the memory of ours grow above 3000 rows of the generated table. Aimed at are
powers of 1.2 at most, and an R2 as high as boosting's up to 10,000 rows.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository. BENCHMARK_CLOCK=cpu gives processor seconds.
"""

import pickle
from importlib import import_module

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score

from benchmarks.mohn.fit_cost import N_TEST as MORE
from benchmarks.mohn.fit_cost import mixed
from benchmarks.mohn.tables import LEARNERS
from benchmarks.shared import common, results
from benchmarks.shared.tables import read_table

N_TEST = 2000
SIZES = (1000, 3000, 10_000, 30_000, 100_000)
FROM, MAX_POWER, LOWER_UP_TO = 3000, 1.2, 10_000
REAL = {
    "abalone": ("abalone.csv", (3000,)),
    "SQLite": ("config_sqlite.csv", (3500,)),
    "house": ("house_16H.csv.gz", (3000, 10_000, 20_000)),
    "GB1": ("wu2016_gb1.csv.gz", (3000, 10_000, 30_000, 100_000)),
}


def lightgbm(seed):
    """Return LightGBM on one core."""
    return import_module("lightgbm").LGBMRegressor(
        n_jobs=1, random_state=seed, verbose=-1
    )


PEERS = {
    "MOHN": LEARNERS["MOHN"],
    "boosting": lambda seed: HistGradientBoostingRegressor(
        categorical_features="from_dtype", random_state=seed
    ),
    "LightGBM": lightgbm,
}


def problem(name, n_rows, seed):
    """Return columns and targets of training and test rows."""
    if name == "mixed":
        X, y = mixed(n_rows + N_TEST - MORE, seed)
    else:
        X, y = read_table(common.data_folder() / REAL[name][0])
        y = y.to_numpy(float)
        if name == "GB1":
            y = np.log(y + 0.01)
        drawn = np.random.default_rng(seed).permutation(len(y))[: n_rows + N_TEST]
        X, y = X.iloc[drawn].reset_index(drop=True), y[drawn]
    return X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]


def measure(name, n_rows, learner, seed):
    """Return seconds of fit and predictions, bytes, R2, log density and way."""
    X, X_test, y, y_test = problem(name, n_rows, seed)
    common.warm_up(quiet=True)
    model = PEERS[learner](seed)
    seconds = common.timed_fit(model, X, y)
    seconds_test, said = common.timed(model.predict, X_test)
    density, way = np.nan, None
    if learner == "MOHN":
        mean, std = model.predict(X_test, return_std=True)
        density = float(norm.logpdf(y_test, mean, std).mean())
        way = model.history_[-1].get("chosen", "gp")
        way = next((r["way"] for r in model.history_ if "way" in r), way)
    stored = len(pickle.dumps(model))
    return seconds, seconds_test, stored, r2_score(y_test, said), density, way


def compare(table, name, n_rows, options, learners):
    """Print a row for each learner; return the seconds and the memory of ours."""
    scores = {}
    for learner in learners:
        runs = []
        for seed in range(options.seed, options.seed + options.instances):
            found, memory = common.in_fresh_process(
                measure, name, n_rows, learner, seed
            )
            runs.append((*found[:-1], memory))
        seconds, seconds_test, stored, score, density, memory = np.mean(runs, axis=0)
        scores[learner] = score
        if learner == "MOHN":
            ours = seconds, memory
        table.row(
            f"{name} {n_rows}",
            learner,
            f"{seconds:.2f}",
            f"{seconds_test:.3f}",
            f"{memory / 1e6:.0f}",
            f"{stored / 1e3:.0f}",
            f"{score:.4f}",
            f"{density:.3f}" if learner == "MOHN" else None,
            found[-1],
            met=learner != "boosting"
            or n_rows > LOWER_UP_TO
            or scores["MOHN"] >= score,
        )
    return ours


def main():
    """Print a row for each problem and learner, then the powers."""
    options = common.parse_options(
        __doc__,
        instances=1,
        quick_instances=1,
        add_arguments=lambda parser: (
            parser.add_argument("--only", nargs="+", metavar="NAME"),
            parser.add_argument("--most", type=int, default=max(SIZES)),
            parser.add_argument("--alone", action="store_true", help="without peers"),
        ),
    )
    learners = ["MOHN"] if options.alone else list(PEERS)
    if "LightGBM" in learners:
        try:
            lightgbm(0)
        except ImportError:
            results.leave_out("LightGBM: not installed")
            learners.remove("LightGBM")
    most = min(options.most, 3000) if options.quick else options.most
    table = common.Table(
        f"Means over {options.instances} runs",
        "data learner fit predict MB pickle_kB R2 log_density way",
        width=14,
    )
    found = {}
    for name, (file, sizes) in {"mixed": (None, SIZES), **REAL}.items():
        if options.only and name not in options.only:
            continue
        if file and common.find_data(file) is None:
            continue
        for n_rows in sizes:
            if n_rows <= most:
                ours = compare(table, name, n_rows, options, learners)
                if name == "mixed" and n_rows >= FROM:
                    found[n_rows] = ours
    table.close()
    if len(found) > 1:
        first, last = min(found), max(found)
        ratio = np.log(np.divide(found[last], found[first]))
        powers = ratio / np.log(last / first)
        print(
            f"From {first} to {last} rows the seconds grow by the power "
            f"{powers[0]:.2f}, the memory by {powers[1]:.2f} (aim {MAX_POWER})"
        )


if __name__ == "__main__":
    results.record(main)
