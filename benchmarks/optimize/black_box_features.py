"""The best subset of features for a classifier: 300 evaluations, nested scores.

Breast cancer and digits of scikit-learn and German credit in numbers; linear
discriminant analysis on standardized features. A subset is scored by the accuracy in
five folds of the training rows, the same folds each time; the empty one has 0. Printed
are the mean of that score of the subset that was chosen, and the mean accuracy on the
rows of an outer fold (five, repeated) that nobody has seen, with its standard error,
the number of features chosen, of evaluations, and the median seconds. Aimed at is the
best outer accuracy, or level with the best peer's within a standard error of the
difference, fold by fold. With --instances the outer folds are drawn so often; of all
of them, --seeds many are used.

SequentialFeatureSelector adds features one by one while the score grows; RFECV leaves
out those with the smallest weights. Both take as many evaluations as they need.
"""

import warnings
from functools import partial

import numpy as np
from scipy.stats import sem
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import black_box_runs as bench
from benchmarks.shared import common, results
from benchmarks.shared.black_boxes import BlackBox

EVALUATIONS = 300
INNER = StratifiedKFold(5)
QUICK_METHODS = "all features", "RFECV", "fast GA", bench.OURS


def _german():
    path = common.find_data("german_numeric.csv")
    if path is None:
        return None
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    return values[:, :-1], values[:, -1]


DATA = {
    "breast_cancer": partial(load_breast_cancer, return_X_y=True),
    "digits": partial(load_digits, return_X_y=True),
    "german": _german,
}


def classifier():
    """Return what is trained on each subset."""
    # The default solver fails where all columns are constant in a fold.
    return LinearDiscriminantAnalysis(solver="lsqr")


def inner_score(X, y, subset):
    """Return the mean accuracy in folds of the training rows."""
    if not subset.any():
        return 0.0
    return float(cross_val_score(classifier(), X[:, subset], y, cv=INNER).mean())


def by_black_box(method, X, y, seed, n_evaluations):
    """Return the best subset of those that a method evaluates, and how many."""
    problem = BlackBox(
        "features",
        seed,
        X.shape[1],
        lambda x: -inner_score(X, y, x.astype(bool)),
        -np.inf,
    )
    counted, _ = bench.evaluate(problem, method, seed, n_evaluations)
    k = int(np.argmin(counted.seen))
    return np.array(counted.codes[k], dtype=bool), len(counted.seen)


def all_features(X, y, seed, n_evaluations):
    """Return the subset of everything."""
    return np.ones(X.shape[1], dtype=bool), 1


def sequential(X, y, seed, n_evaluations):
    """Return the subset of scikit-learn's forward selection."""
    selector = SequentialFeatureSelector(
        classifier(), n_features_to_select="auto", tol=1e-6, cv=INNER
    )
    support = selector.fit(X, y).get_support()
    n, chosen = len(support), support.sum()
    return support, sum(n - k for k in range(min(chosen + 1, n - 1)))


def recursive(X, y, seed, n_evaluations):
    """Return the subset of scikit-learn's recursive elimination."""
    return RFECV(classifier(), cv=INNER).fit(X, y).get_support(), X.shape[1]


METHODS = {
    "all features": all_features,
    "sequential": sequential,
    "RFECV": recursive,
    **{
        name: partial(by_black_box, name)
        for name in ("random", "hill climb", "fast GA", "TPE joint", bench.OURS)
    },
}


def select(method, X, y, split, seed, n_evaluations):
    """Choose on the training rows; return what is printed of it."""
    train, test = split
    scaler = StandardScaler().fit(X[train])
    X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    with warnings.catch_warnings():
        # Digits has columns that are constant.
        warnings.simplefilter("ignore")
        seconds, (subset, n) = common.timed(
            METHODS[method], X_train, y[train], seed, n_evaluations
        )
        model = classifier().fit(X_train[:, subset], y[train])
        return {
            "inner": inner_score(X_train, y[train], subset),
            "outer": float(model.score(X_test[:, subset], y[test])),
            "features": int(subset.sum()),
            "evaluations": int(n),
            "seconds": seconds,
        }


def compare(name, options):
    """Print the rows of one data set; return what ours gains on the best peer."""
    data = DATA[name]()
    if data is None:
        return None
    X, y = data
    folds = RepeatedStratifiedKFold(
        n_splits=5, n_repeats=options.instances, random_state=options.seed
    )
    splits = list(folds.split(X, y))[: options.seeds]
    table = common.Table(
        f"{name}, {X.shape[1]} features, {len(splits)} outer folds",
        "method inner outer error features evaluations seconds",
        width=14,
    )
    outer, budget = {}, options.budget or EVALUATIONS
    for method in options.methods:
        rows = []
        for k, split in enumerate(splits):
            compute = partial(select, method, X, y, split, k, budget)
            key = name, options.seed, method, k, budget
            rows.append(common.kept(options.keep, key, compute))
        outer[method] = np.array([row["outer"] for row in rows])
        error = sem(outer[method]) if len(rows) > 1 else 0.0
        table.row(
            method,
            f"{np.mean([row['inner'] for row in rows]):.4f}",
            f"{outer[method].mean():.4f}",
            f"{error:.4f}",
            *(
                float(np.median([row[key] for row in rows]))
                for key in ("features", "evaluations", "seconds")
            ),
        )
    print()
    return _gain(outer)


def _gain(outer):
    ours = outer.pop(bench.OURS, None)
    if ours is None or not outer:
        return None
    best = max(outer, key=lambda method: outer[method].mean())
    gains = ours - outer[best]
    error = sem(gains) if len(gains) > 1 else np.inf
    return best, gains.mean(), error


def main():
    """Print a table for each data set, and one of the differences."""
    options = bench.parse_options(
        __doc__,
        problems=DATA,
        quick_problems=("breast_cancer",),
        methods=METHODS,
        quick_methods=QUICK_METHODS,
        instances=2,
        seeds=10**9,
    )
    rows = [(name, compare(name, options)) for name in options.problems]
    rows = [(name, *gain) for name, gain in rows if gain]
    if not rows:
        return
    table = common.Table(
        "Outer accuracy, ours minus the best peer's", "data best_peer gain error"
    )
    for name, best, gain, error in rows:
        table.row(name, best, f"{gain:+.4f}", f"{error:.4f}", met=gain >= -error)
    table.close()


if __name__ == "__main__":
    results.record(main)
