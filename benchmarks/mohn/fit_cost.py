"""What a default fit costs: seconds of MOHNRegressor() beside boosting and a forest.

Four kinds of tables: 1000 rows of 20 numbers, 1000 rows of numbers, bits and
categories, 115 rows of 1069 bits that come in families and repeat each other, and
10,000 rows of 20 numbers (left out with --quick). The numbers are those of Friedman's
first function. All learners have their default parameters. Aimed at are 5, 5, 3 and
30 s of processor time (BENCHMARK_CLOCK=cpu), and 120 evaluations of the evidence.

Then the median milliseconds of one evaluation with its gradient, at 1000 rows and 20
columns: lines or lines and 16 levels, in both precisions. Aimed at are 45 ms for lines.
"""

from unittest import mock

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score

from benchmarks.mohn.tables import LEARNERS
from benchmarks.shared import common, results
from skmohn.mohn._gp.marginal_likelihood import Evidence, join_equal_rows, start_prior
from skmohn.mohn._table.rows import Categorical, EncodedRows

NAMES = ("MOHN", "CatBoost", "boosting", "forest")
MAX_EVALUATIONS, MAX_MILLISECONDS = 120, 45
N_TEST = 1000
N_ROWS, N_COLUMNS, N_LEVELS = 1000, 20, 16


def numbers(n_rows, seed):
    """Return columns and targets of Friedman's first function."""
    X, y = make_friedman1(n_rows + N_TEST, n_features=20, noise=1.0, random_state=seed)
    return pd.DataFrame(X).add_prefix("x"), y


def mixed(n_rows, seed):
    """Return ten numbers, five bits, five columns of letters, and targets."""
    rng = np.random.default_rng(seed)
    n_all = n_rows + N_TEST
    X, y = make_friedman1(n_all, noise=1.0, random_state=seed)
    table = pd.DataFrame(X).add_prefix("x")
    for i in range(5):
        table[f"bit{i}"] = rng.integers(0, 2, n_all)
    for i, size in enumerate((3, 4, 5, 6, 8)):
        letters = np.array(list("abcdefgh"))[rng.integers(0, size, n_all)]
        table[f"letter{i}"] = pd.Categorical(letters)
    first, last = (table[f"letter{i}"].cat.codes.to_numpy() for i in (0, 4))
    one, two, three = (table[f"bit{i}"].to_numpy() for i in range(3))
    y = y + 2.0 * one * (first == 1) + two * (1 - three)
    return table, y + 3.0 * np.sin(2.0 * last) * X[:, 0]


def families(n_rows, seed, n_columns=1069):
    """Return rare bits, alike within families of rows, and targets."""
    rng = np.random.default_rng(seed)
    n_families, n_distinct, n_all = 40, 500, n_rows + 100
    share = rng.beta(0.6, 2.0, n_distinct)
    typical = rng.uniform(size=(n_families, n_distinct)) < share
    bits = typical[rng.integers(0, n_families, n_all)]
    bits ^= rng.uniform(size=bits.shape) < 0.05
    weights = rng.standard_normal(n_distinct) * (rng.uniform(size=n_distinct) < 0.1)
    y = bits @ weights / np.std(bits @ weights)
    y = y + 0.5 * np.tanh(2.0 * y) * bits[:, 3] + 0.7 * rng.standard_normal(n_all)
    X = bits[:, rng.integers(0, n_distinct, n_columns)]
    return pd.DataFrame(X.astype(float)).add_prefix("x"), y


KINDS = (
    ("numbers", numbers, 1000, 5),
    ("mixed", mixed, 1000, 5),
    ("families", families, 115, 3),
    ("numbers", numbers, 10_000, 30),
)


def counted_fit(learner, X, y):
    """Return the seconds of a fit and how often it has evaluated an evidence."""
    plain = Evidence.value_and_slope
    with mock.patch.object(Evidence, "value_and_slope", autospec=True) as counted:
        counted.side_effect = plain
        return common.timed_fit(learner, X, y), counted.call_count


def fit_costs(options, names):
    """Print one row for each kind of table."""
    table = common.Table(
        "Seconds of a default fit, and test R2",
        f"data rows columns aim evaluations {' '.join(names)} R2: {' '.join(names)}",
        width=10,
    )
    for kind, make, n_rows, aim in KINDS:
        if options.quick and n_rows > 1000:
            continue
        seconds, scores, evaluations = [], [], []
        for seed in range(options.seed, options.seed + options.instances):
            X, y = make(n_rows, seed)
            for name in names:
                learner = LEARNERS[name](seed)
                found = counted_fit(learner, X[:n_rows], y[:n_rows])
                seconds.append(found[0])
                scores.append(r2_score(y[n_rows:], learner.predict(X[n_rows:])))
                evaluations.append(found[1])
        seconds, scores, evaluations = (
            np.reshape(part, (-1, len(names)))
            for part in (seconds, scores, evaluations)
        )
        typical, most = np.median(seconds, axis=0), int(evaluations[:, 0].max())
        table.row(
            kind,
            n_rows,
            X.shape[1],
            aim,
            most,
            *(f"{value:.2f}" for value in typical),
            "",
            *(f"{value:.3f}" for value in scores.mean(axis=0)),
            met=typical[0] <= aim and most <= MAX_EVALUATIONS,
        )
    table.close()


def evaluation_costs(options):
    """Print the milliseconds of an evaluation."""
    rng = np.random.default_rng(options.seed)
    inputs = rng.uniform(-1.0, 1.0, (N_ROWS, N_COLUMNS))
    levels = rng.integers(0, N_LEVELS, inputs.shape)
    y = rng.standard_normal(N_ROWS)
    table = common.Table("An evaluation", "columns precision milliseconds aim", width=8)
    for kind, n_levels in (("lines", 0), ("levels", N_COLUMNS)):
        alphabets = (Categorical(N_LEVELS, True),) * n_levels
        sample = join_equal_rows(EncodedRows(inputs, levels[:, :n_levels]), y)
        prior = start_prior(N_COLUMNS, alphabets)
        for dtype in ("float64", "float32"):
            evidence = Evidence(sample, alphabets, dtype)
            seconds, _ = common.timed(evidence.value_and_slope, prior, repeats=9)
            aim = MAX_MILLISECONDS if kind == "lines" else None
            found = 1e3 * seconds
            table.row(kind, dtype, found, aim, met=aim is None or found <= aim)
    table.close()


def main():
    """Print both tables."""
    options = common.parse_options(__doc__, instances=3, quick_instances=1)
    common.warm_up()
    names = list(NAMES)
    try:
        LEARNERS["CatBoost"](0)
    except ImportError:
        results.leave_out("CatBoost: not installed")
        names.remove("CatBoost")
    evaluation_costs(options)
    fit_costs(options, names)


if __name__ == "__main__":
    results.record(main)
