"""Small real tables with classes: MOHNClassifier() beside forests, boosting and others.

17 tables of 150 to 3000 rows and 2 to 90 columns, 2 to 15 classes. Everybody learns the
same random rows, two thirds of a table and --rows at most, and is judged on the others,
1000 at most. All have their default parameters; for forest, logistic regression,
Gaussian process, nearest neighbors and multilayer perceptron categories are one-hot and
missing values imputed. Printed are the mean log loss of test rows, accuracy and the
expected calibration error: the mean distance of the fraction of right classes from the
mean probability of the predicted one, in ten bins of as many rows each. Aimed at are
the first mean rank in log loss and calibration, and the first or second in accuracy.
The defaults of MOHNClassifier were chosen on tables like these, so that the ranks may
flatter it.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository. --missing makes a fraction of all cells
unknown. A Gaussian process that would take more than --slow rows is left out; its rank
is then the last one.
"""

import warnings
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.shared import common, results
from benchmarks.shared.tables import catboost, prepared, read_table, with_missing_inputs
from skmohn import MOHNClassifier

MAX_TEST = 1000
TRAIN_FRACTION = 2 / 3
BINS = 10
MIN_PROBABILITY = 1e-6
OURS = "MOHN"
GP = "GP"


def lightgbm(seed):
    """Return LightGBM."""
    module = import_module("lightgbm")
    return module.LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


LEARNERS = {
    OURS: lambda seed: MOHNClassifier(random_state=seed, handle_unknown="missing"),
    "gp": lambda seed: MOHNClassifier(
        "gp", random_state=seed, handle_unknown="missing"
    ),
    "CatBoost": partial(catboost, "CatBoostClassifier"),
    "LightGBM": lightgbm,
    "boosting": lambda seed: HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=seed
    ),
    "forest": lambda seed: prepared(RandomForestClassifier(random_state=seed)),
    "logistic": lambda seed: prepared(
        LogisticRegressionCV(
            l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
        )
    ),
    GP: lambda seed: prepared(
        GaussianProcessClassifier(1.0 * RBF(), random_state=seed)
    ),
    "neighbors": lambda seed: prepared(KNeighborsClassifier()),
    "MLP": lambda seed: prepared(MLPClassifier(random_state=seed)),
}


def calibration_error(probabilities, right):
    """Return how far fractions of right answers are from what was promised of them."""
    order = np.array_split(np.argsort(probabilities, kind="stable"), BINS)
    differences = [
        abs(right[part].mean() - probabilities[part].mean()) for part in order
    ]
    return float(np.average(differences, weights=[len(part) for part in order]))


def measure(X, y, n_rows, seed, name):
    """Return a learner's log loss, accuracy, calibration error and seconds."""
    n_train = min(n_rows, int(TRAIN_FRACTION * len(X)))
    X_train, X_test, y_train, y_test = train_test_split(
        X,
        y,
        train_size=n_train,
        test_size=min(MAX_TEST, len(X) - n_train),
        stratify=y,
        random_state=seed,
    )
    learner = LEARNERS[name](seed)
    with warnings.catch_warnings():
        # Of unknown categories, rare ones, and climbs that end early.
        warnings.simplefilter("ignore")
        seconds = common.timed_fit(learner, X_train, y_train)
        chances = np.clip(learner.predict_proba(X_test), MIN_PROBABILITY, None)
    chances /= chances.sum(axis=1, keepdims=True)
    labels = np.unique(y_train)
    said = labels[chances.argmax(axis=1)]
    found = (
        log_loss(y_test, chances, labels=labels),
        accuracy_score(y_test, said),
        calibration_error(chances.max(axis=1), said == y_test),
        seconds,
    )
    return [float(value) for value in found]


def measured(path, X, y, seed, options, name):
    """Return what `measure` does; a process that would take too long is the last."""
    n_train = min(options.rows, int(TRAIN_FRACTION * len(X)))
    if name == GP and n_train > options.slow:
        return [np.inf, -np.inf, np.inf, np.inf]
    return common.kept(
        options.keep,
        (path.stem, name, options.rows, options.missing, seed),
        partial(measure, X, y, options.rows, seed, name),
    )


def main():
    """Print one row for each table and measure, then the mean ranks."""
    options = common.parse_options(
        __doc__,
        instances=5,
        quick_instances=1,
        add_arguments=lambda parser: (
            parser.add_argument("--rows", type=int, default=2000),
            parser.add_argument("--slow", type=int, default=500),
            parser.add_argument("--only", nargs="+", metavar="NAME"),
            parser.add_argument(
                "--missing", type=float, default=0.0, metavar="FRACTION"
            ),
            parser.add_argument("--methods", nargs="+", choices=LEARNERS),
            common.add_keep(parser),
        ),
    )
    if options.quick:
        options.rows = min(options.rows, 150)
    paths = sorted((common.data_folder() / "tables" / "classification").glob("*.csv"))
    if not paths:
        results.leave_out("all: no tables in SKMOHN_DATA")
        return
    common.warm_up()
    names = list(options.methods or LEARNERS)
    for name in ("CatBoost", "LightGBM"):
        try:
            if name in names:
                LEARNERS[name](0)
        except ImportError:
            results.leave_out(f"{name}: not installed")
            names.remove(name)
    table = common.Table(
        f"Means over {options.instances} splits",
        f"data rows {' '.join(names)}",
        width=12,
    )
    means = []
    for path in paths:
        if options.only and path.stem not in options.only:
            continue
        X, y = read_table(path)
        X = with_missing_inputs(X, options.missing, options.seed)
        if options.quick and X.shape[1] > 20:
            continue
        y = pd.factorize(y, sort=True)[0]
        seeds = range(options.seed, options.seed + options.instances)
        runs = [
            [measured(path, X, y, seed, options, name) for name in names]
            for seed in seeds
        ]
        means.append(np.mean(runs, axis=0))
        n_train = min(options.rows, int(TRAIN_FRACTION * len(X)))
        table.row(path.stem, n_train, *(f"{loss:.4f}" for loss in means[-1][:, 0]))
    print()
    means = np.array(means)
    signs = np.array([1.0, -1.0, 1.0])
    ranks = np.mean([rankdata(signs * part[:, :3], axis=0) for part in means], axis=0)
    summary = common.Table(
        "Mean ranks and means",
        "method rank_loss rank_accuracy rank_calibration log_loss accuracy "
        "calibration seconds",
        width=17,
    )
    for k, name in enumerate(names):
        cells = [*ranks[k], *means[:, k, :3].mean(axis=0)]
        summary.row(
            name, *(f"{value:.3f}" for value in cells), float(np.median(means[:, k, 3]))
        )


if __name__ == "__main__":
    results.record(main)
