"""Columns that go together, and functions that are not sparse: few rows.

120 rows of 20 columns of -1 and +1: `neighbors` are signs of an autoregressive process
with coefficient 0.97; of `copies` each four are one column of which 5 % are flipped;
`rare` have few ones, ever fewer from column to column; `even` are independent. A
`threshold` is 1 where an additive function exceeds its median, a `maximum` is that of
two additive functions, `conjunctions` are six of three columns or their opposites,
`pairs` are sparse: 8 columns and 8 products of two. Noise has a hundredth or a third of
their variance. The rules of strategy "auto" for such data were chosen on other
instances of the same kinds.

Printed is R2 on 1500 rows without noise: of the default, of two of the models that it
compares, of the lasso on all columns and pairs, and of ridge regression. A cell is met
where the default is no more than 0.02 below the better of these two.
"""

import itertools
import warnings
from statistics import fmean

import numpy as np
from scipy.signal import lfilter
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.shared import common, results
from skmohn import MOHNRegressor

N_ROWS, N_TEST, N_COLUMNS = 120, 1500, 20
CORRELATION, BURN_IN = 0.97, 50
RATIOS = 100.0, 3.0
BELOW = 0.02


def neighbors(rng):
    """Signs of an autoregressive process along the columns."""
    steps = rng.standard_normal((N_ROWS + N_TEST, BURN_IN + N_COLUMNS))
    return np.sign(lfilter([1.0], [1.0, -CORRELATION], steps)[:, BURN_IN:])


def copies(rng):
    """Columns of which each four are one, but for flips."""
    columns = rng.choice([-1.0, 1.0], (N_ROWS + N_TEST, N_COLUMNS // 4))
    copied = np.repeat(columns, 4, axis=1)
    return np.where(rng.random(copied.shape) < 0.05, -copied, copied)


def rare(rng):
    """Columns with ever fewer ones."""
    ones = np.minimum(0.5, 1.0 / np.arange(1, N_COLUMNS + 1))
    return np.where(rng.random((N_ROWS + N_TEST, N_COLUMNS)) < ones, 1.0, -1.0)


def even(rng):
    """Columns that are independent and even."""
    return rng.choice([-1.0, 1.0], (N_ROWS + N_TEST, N_COLUMNS))


def additive(X, rng):
    """Additive function of two columns of five."""
    return X @ (rng.standard_normal(N_COLUMNS) * (rng.random(N_COLUMNS) < 0.4))


def threshold(X, rng):
    """Whether an additive function exceeds its median."""
    values = additive(X, rng)
    return (values > np.median(values)).astype(float)


def maximum(X, rng):
    """The larger one of two additive functions."""
    return np.maximum(additive(X, rng), additive(X, rng))


def conjunctions(X, rng):
    """Sum of conjunctions."""
    found = np.zeros(len(X))
    for _ in range(6):
        columns = X[:, rng.choice(N_COLUMNS, 3, replace=False)]
        columns = columns * rng.choice([-1.0, 1.0], 3)
        found += rng.standard_normal() * np.all(columns > 0.0, axis=1)
    return found


def pairs(X, rng):
    """Few columns and few pairs."""
    found = X[:, rng.choice(N_COLUMNS, 8, replace=False)] @ rng.standard_normal(8)
    for _ in range(8):
        i, j = rng.choice(N_COLUMNS, 2, replace=False)
        found += rng.standard_normal() * X[:, i] * X[:, j]
    return found


DESIGNS = neighbors, copies, rare, even
FUNCTIONS = threshold, maximum, conjunctions, pairs


def learners(seed):
    """Ours, two of the models that it compares, and the baselines."""
    expand = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    return {
        "MOHN": MOHNRegressor(random_state=seed),
        "gp": MOHNRegressor("gp", random_state=seed),
        "spike_slab": MOHNRegressor("spike_slab", random_state=seed),
        "lasso": make_pipeline(expand, StandardScaler(), LassoCV()),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))),
    }


def scores(design, function, ratio, seed):
    """R2 of each learner on rows without noise, and seconds of the first."""
    rng = np.random.default_rng(seed)
    X = design(rng)
    f = function(X, rng)
    y = f + np.sqrt(np.var(f) / ratio) * rng.standard_normal(len(f))
    found, seconds = [], []
    for learner in learners(seed).values():
        spent, _ = common.timed(learner.fit, X[:N_ROWS], y[:N_ROWS])
        error = np.mean((learner.predict(X[N_ROWS:]) - f[N_ROWS:]) ** 2)
        found.append(1.0 - error / np.var(f[N_ROWS:]))
        seconds.append(spent)
    return [*found, seconds[0]]


def main():
    """Print a row for each kind of columns, function and noise."""
    options = common.parse_options(__doc__, instances=4, quick_instances=1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    common.warm_up()
    names = list(learners(0))
    table = common.Table(
        "R2 of 120 rows, means over instances",
        "columns function ratio n " + " ".join(names) + " lowest_gain seconds",
        width=13,
    )
    ratios = RATIOS[:1] if options.quick else RATIOS
    cells = itertools.product(DESIGNS, FUNCTIONS, ratios)
    for design, function, ratio in cells:
        seeds = range(options.seed, options.seed + options.instances)
        found = [scores(design, function, ratio, seed) for seed in seeds]
        means = [fmean(column) for column in zip(*found, strict=True)]
        gain = min(row[0] - max(row[3:5]) for row in found)
        met = means[0] >= max(means[3:5]) - BELOW
        table.row(
            design.__name__, function.__name__, ratio, len(found), *means[:-1], gain,
            means[-1], met=met,
        )  # fmt: skip
    table.close()


if __name__ == "__main__":
    results.record(main)
