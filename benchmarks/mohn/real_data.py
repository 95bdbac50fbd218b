"""Measured functions: never worse than the linear model on all pairs, by default.

Configurable systems (x264, SQLite, Apache; one-hot groups make aliased columns) and
protein landscapes (Poelwijk 2019, CR6261 to H1). MOHNRegressor("pursuit") and
PolynomialFeatures(2) + LassoCV() learn the same random training rows and are scored on
all others. Printed are the mean test R2 of both, the mean of the paired differences
with its standard error, the median seconds of both with their ratio, and the median
number of terms found. Aimed at is a difference that is not negative; of a negative one
it is said whether it is within a standard error.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository; rows of missing tables are left out. SQLite
takes the peer minutes, so --quick leaves it out, and training sets above 1000 rows.
"""

from statistics import median

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.shared import common, results
from skmohn import MOHNRegressor

ROWS = (
    ("x264", "config_x264.csv", 115),
    ("Apache", "config_apache.csv", 57),
    ("SQLite", "config_sqlite.csv", 455),
    ("SQLite", "config_sqlite.csv", 1365),
    ("Poelwijk", "poelwijk2019_fluorescence.csv", 819),
    ("Poelwijk", "poelwijk2019_fluorescence.csv", 2457),
    ("CR6261-H1", "phillips2021_cr6261_h1.csv", 188),
    ("CR6261-H1", "phillips2021_cr6261_h1.csv", 566),
)


def read_table(path):
    """Return the columns but the last one, and the last one."""
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    return values[:, :-1], values[:, -1]


def compare(X, y, n_train, n_splits, seed):
    """Return scores and seconds of both for each split, and our numbers of terms."""
    scores, seconds, n_terms = [], [], []
    for i in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, train_size=n_train, random_state=seed + i
        )
        ours = MOHNRegressor("pursuit")
        peer = make_pipeline(PolynomialFeatures(2, include_bias=False), LassoCV())
        seconds.append([common.timed_fit(m, X_train, y_train) for m in (ours, peer)])
        scores.append([m.score(X_test, y_test) for m in (ours, peer)])
        n_terms.append(len(ours.terms_))
    return np.array(scores), np.array(seconds), n_terms


def main():
    """Print one row for each table and number of training rows."""
    options = common.parse_options(
        __doc__,
        instances=10,
        quick_instances=3,
        add_arguments=lambda parser: parser.add_argument(
            "--only", nargs="+", metavar="NAME", help="these data, such as x264 SQLite"
        ),
    )
    common.warm_up()
    table = common.Table(
        "Test R2 of pursuit and of PolynomialFeatures(2) + LassoCV()",
        "data rows ours peer difference error within seconds peer ratio terms",
        width=10,
    )
    for name, file, n_train in ROWS:
        if options.quick and (name == "SQLite" or n_train > 1000):
            continue
        if options.only and name not in options.only:
            continue
        path = common.find_data(file)
        if path is None:
            continue
        X, y = read_table(path)
        scores, seconds, n_terms = compare(
            X, y, n_train, options.instances, options.seed
        )
        gains = scores[:, 0] - scores[:, 1]
        gain = gains.mean()
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        ours, peer = np.median(seconds, axis=0)
        table.row(
            name,
            n_train,
            *(f"{score:.4f}" for score in scores.mean(axis=0)),
            f"{gain:+.4f}",
            f"{error:.4f}",
            "-" if gain >= 0 else "error" if gain > -error else "no",
            ours,
            peer,
            peer / ours,
            int(median(n_terms)),
            met=gain >= 0,
        )
    table.close()


if __name__ == "__main__":
    results.record(main)
