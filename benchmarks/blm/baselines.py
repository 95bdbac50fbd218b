"""Default networks beside linear models, from no noise to nothing but noise.

Generated: 10 columns, a linear function, a product of two and Friedman's first, each
with noise of 0 to 10 times its standard deviation, 60 and 300 rows, the latter two also
with 2400; two of 40 columns; and the one factor that 15 columns measure. Public: the
tables of the data folder, 70 % of the rows, 600 at most, with targets as they are and
as classes (above the median). The other rows, 3000 at most, are the test. Numbers are
standardized and categories one-hot for all.

Beside the default are the fixed penalty `alpha=3`, ridge regression and, for classes,
logistic regression, both with the penalty that cross-validation chooses. Printed are
test R2 (at least -1) or log losses, means over the instances, and `alpha_`; then, how
many are behind the linear model and the best constant, by more than 0.02. The last
table has the means of one instance with other constants of the choice.
"""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss, r2_score
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common, results
from benchmarks.shared.tables import prepared, read_table
from skmohn import BLMClassifier, BLMRegressor
from skmohn.blm import _penalty

NOISES, N_ROWS = (0.0, 0.3, 1.0, 3.0, 10.0), (60, 300)
# Of many rows.
MANY, MANY_NOISES, MANY_FUNCTIONS = 2400, (0.0, 1.0), ("product", "friedman")
N_TEST, MAX_ROWS, TRAIN_FRACTION = 3000, 600, 0.7
FIXED, MAX_LOSS = 3.0, 0.02
CONSTANTS = (
    {}, {"of_reals": 0.16, "of_classes": 0.07}, {"of_reals": 0.66, "of_classes": 0.28},
    {"max_counted": 300}, {"max_counted": 10**9},
    {"min_noise": 0.0}, {"min_noise": 0.1}, {"min_signal": 0.001}, {"min_signal": 0.1},
    {"gammas": (0.5,)}, {"gammas": ()}, {"resolution": 1e-6}, {"resolution": 1e-2},
)  # fmt: skip


def linear(rng, n_rows, n_columns=10):
    """Columns, and a linear function of them."""
    X = rng.normal(size=(n_rows, n_columns))
    return X, X @ rng.normal(size=n_columns)


def few_of_many(rng, n_rows):
    """Forty columns, of which two count."""
    X = rng.normal(size=(n_rows, 40))
    return X, X[:, 0] + X[:, 1]


def product(rng, n_rows):
    """Ten columns, and the product of two."""
    X = rng.normal(size=(n_rows, 10))
    return X, X[:, 0] * X[:, 1]


def one_factor(rng, n_rows):
    """Fifteen columns that measure one number, which is the target."""
    factor = rng.normal(size=n_rows)
    return factor[:, None] + 0.33 * rng.normal(size=(n_rows, 15)), factor


def friedman(rng, n_rows):
    """Friedman's first function."""
    return make_friedman1(n_rows, random_state=int(rng.integers(2**31)))


FUNCTIONS = {
    "linear": linear,
    "product": product,
    "friedman": friedman,
    "two_of_40": few_of_many,
    "one_factor": one_factor,
}


def generated(function, noise, n_train, seed):
    """Training and test rows of a function with noise."""
    rng = np.random.default_rng(seed)
    X, y = FUNCTIONS[function](rng, n_train + N_TEST)
    y = StandardScaler().fit_transform(y[:, None]).ravel()
    y = y + noise * rng.normal(size=len(y))
    return X[:n_train], X[n_train:], y[:n_train], y[n_train:]


def public(path, seed):
    """Training and test rows of a table."""
    X, y = read_table(path)
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(int(TRAIN_FRACTION * len(y)), MAX_ROWS)
    train, test = np.split(order[: n_train + N_TEST], [n_train])
    X_train, X_test = X.iloc[train], X.iloc[test]
    columns = prepared("passthrough")[:-1].fit(X_train)
    y = y.to_numpy(float)
    return columns.transform(X_train), columns.transform(X_test), y[train], y[test]


def scores_of_reals(split, seed):
    """Test R2 of the default, the fixed penalty and ridge regression."""
    X, X_test, y, y_test = split
    scale = StandardScaler().fit(X)
    linear_model = RidgeCV(np.logspace(-2, 5, 30)).fit(scale.transform(X), y)
    score = lambda predicted: max(r2_score(y_test, predicted), -1.0)  # noqa: E731
    default, fixed = (
        BLMRegressor(alpha=alpha, random_state=seed).fit(X, y)
        for alpha in ("auto", FIXED)
    )
    return {
        "ours": score(default.predict(X_test)),
        "fixed": score(fixed.predict(X_test)),
        "linear": score(linear_model.predict(scale.transform(X_test))),
        "constant": score(np.full(len(y_test), y.mean())),
        "alpha": default.alpha_,
    }


def scores_of_classes(split, seed):
    """Test log loss, negative, of the same with logistic regression."""
    X, X_test, y, y_test = split
    median = np.median(y)
    y, y_test = y > median, y_test > median
    scale = StandardScaler().fit(X)
    chosen = {"cv": 5, "scoring": "neg_log_loss", "max_iter": 500}
    linear_model = LogisticRegressionCV(Cs=np.logspace(-4, 4, 9), **chosen)
    linear_model.fit(scale.transform(X), y)
    default, fixed = (
        BLMClassifier(alpha=alpha, random_state=seed).fit(X, y)
        for alpha in ("auto", FIXED)
    )
    score = lambda probabilities: -log_loss(y_test, probabilities)  # noqa: E731
    return {
        "ours": score(default.predict_proba(X_test)),
        "fixed": score(fixed.predict_proba(X_test)),
        "linear": score(linear_model.predict_proba(scale.transform(X_test))),
        "constant": score(np.full(len(y_test), y.mean())),
        "alpha": default.alpha_,
    }


def problems(options):
    """Names, and what makes the rows of a seed."""

    def of(function, noise, n_rows):
        name = f"{function}, noise {noise:g}, {n_rows} rows"
        return name, partial(generated, function, noise, n_rows)

    noises, sizes = (NOISES, N_ROWS) if not options.quick else ((1.0,), N_ROWS[:1])
    for function in FUNCTIONS:
        for noise in noises:
            for n_rows in sizes:
                yield of(function, noise, n_rows)
    for function in MANY_FUNCTIONS if not options.quick else ():
        for noise in MANY_NOISES:
            yield of(function, noise, MANY)
    folder = common.find_data("tables/regression")
    for path in sorted(folder.glob("*.csv")) if folder else ():
        yield path.stem, partial(public, path)


def with_constants(changed, scores):
    """Function that scores with other constants of the penalty."""
    constants = _penalty._PENALTY

    def run(split, seed):
        _penalty._PENALTY = replace(constants, **changed)
        try:
            return scores(split, seed)
        finally:
            _penalty._PENALTY = constants

    return run


def main():
    """Print a table for numbers and one for classes, and other constants."""
    options = common.parse_options(
        __doc__, instances=3, quick_instances=1, add_arguments=common.add_keep
    )
    common.warm_up()
    warnings.simplefilter("ignore")
    show("Test R2 of numbers", scores_of_reals, options)
    show("Negative test log loss of classes", scores_of_classes, options)
    show_constants(options)


def show(title, scores, options):
    """Print the means of the scores of each problem, and how many are behind."""
    seeds = range(options.seed, options.seed + options.instances)
    shown = common.Table(
        f"{title}, means of {len(seeds)}",
        "problem ours alpha=3 linear constant alpha_",
        width=36,
    )
    means = []
    for name, make in problems(options):
        runs = pd.DataFrame(
            common.kept(
                options.keep, (name, scores.__name__, seed),
                lambda make=make, seed=seed: scores(make(seed), seed),
            )
            for seed in seeds
        )  # fmt: skip
        mean = runs.mean()
        means.append(mean)
        met = mean["ours"] >= mean[["linear", "constant"]].max() - MAX_LOSS
        shown.row(
            name,
            *(f"{value:.3f}" for value in mean[:4]),
            f"{mean['alpha']:.2g}",
            met=met,
        )
    found = pd.DataFrame(means)
    shown.row("mean", *(f"{value:.3f}" for value in found.mean()[:4]), None)
    best = found[["linear", "constant"]].max(axis=1)
    behind = [(found[name] < best - MAX_LOSS).sum() for name in ("ours", "fixed")]
    shown.row(f"behind, of {len(found)}", *behind, None, None, None)
    shown.close()


def show_constants(options):
    """Print means of one instance with other constants."""
    shown = common.Table("Other constants", "constants R2 log_loss", width=36)
    splits = [make(options.seed) for _, make in problems(options)]
    for changed in CONSTANTS[: 1 if options.quick else None]:
        name = ", ".join(f"{key}={value}" for key, value in changed.items())
        cells = []
        for scores in (scores_of_reals, scores_of_classes):
            run = with_constants(changed, scores)
            found = common.kept(
                options.keep, (name, scores.__name__),
                lambda run=run: [run(part, options.seed)["ours"] for part in splits],
            )  # fmt: skip
            cells.append(f"{np.mean(found):.4f}")
        shown.row(name or "those chosen", *cells)
    shown.close()


if __name__ == "__main__":
    results.record(main)
