"""Counts of skewed columns: how far predictions of products may leave the fitted rates.

Two to eight columns are small counts, lognormal or normal numbers. The logarithm of the
rate, which is at most 6, grows with the exponential of two columns, or is a sum of
columns and products of pairs; half of the tables are overdispersed. Products in corners
of the table, and beyond its ranges, multiply rates that no row has had. Printed are the
geometric means over --instances tables for which MOHNGLMRegressor found products, of
ratios of the Poisson deviance of 1500 fresh rows: to that of Poisson regression whose
penalty is chosen by 5 folds, by the factor by which predictions may be beyond the
fitted rates, with the worst and the best ratio to that without such a limit.
"""

import math
from dataclasses import replace

import numpy as np
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common, results
from skmohn import MOHNGLMRegressor

FACTORS = (1.0, 2.0, 4.0, 8.0, math.inf)
N_TEST = 1500
MAX_LOG_RATE = 6.0
KINDS = {
    "counts": lambda rng, shape: rng.poisson(0.7, shape),
    "lognormal": lambda rng, shape: np.exp(rng.standard_normal(shape)),
    "normal": lambda rng, shape: rng.standard_normal(shape),
}


def make_table(seed):
    """Return training rows and counts, then those of the test."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(50, 400)), int(rng.integers(2, 9))
    shape = n_rows + N_TEST, n_columns
    kinds = rng.choice(list(KINDS), n_columns)
    drawn = [KINDS[kind](rng, shape[0]) for kind in kinds]
    X = np.column_stack(drawn).astype(float)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    if rng.random() < 0.5:
        f = np.exp(0.7 * standard[:, 0] + 0.5 * standard[:, 1])
    else:
        f = standard @ rng.standard_normal(n_columns)
        for _ in range(n_columns // 2):
            i, j = rng.permutation(n_columns)[:2]
            f += rng.standard_normal() * standard[:, i] * standard[:, j]
    size = rng.choice([0.3, 0.6, 1.0]) / f.std()
    rates = np.exp(np.minimum(1.0 + size * (f - f.mean()), MAX_LOG_RATE))
    if rng.random() < 0.5:
        rates *= rng.gamma(2.0, 0.5, len(rates))
    y = rng.poisson(rates).astype(float)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def deviances(seed):
    """Return those of each factor and of Poisson regression; None without products."""
    X, y, X_test, y_test = make_table(seed)
    learner = MOHNGLMRegressor(random_state=seed).fit(X, y)
    if max(map(len, learner.terms_), default=0) < 2:
        return None
    model, found = learner.model_, []
    free = replace(model, log_rate_range=(-math.inf, math.inf))
    learner.model_ = free
    fitted = np.log(learner.predict(X))
    for factor in FACTORS:
        reach = math.log(factor)
        bounds = float(fitted.min()) - reach, float(fitted.max()) + reach
        learner.model_ = replace(model, log_rate_range=bounds)
        found.append(mean_poisson_deviance(y_test, learner.predict(X_test)))
    grid = {"poissonregressor__alpha": np.logspace(-4, 2, 7)}
    poisson = make_pipeline(StandardScaler(), PoissonRegressor(max_iter=1000))
    peer = GridSearchCV(poisson, grid, scoring="neg_mean_poisson_deviance").fit(X, y)
    return [*found, mean_poisson_deviance(y_test, peer.predict(X_test))]


def main():
    """Print a row for each factor."""
    options = common.parse_options(__doc__, instances=60, quick_instances=6)
    seeds = range(options.seed, options.seed + options.instances)
    rows = [row for seed in seeds if (row := deviances(seed)) is not None]
    *ours, peer = np.log(rows).T
    table = common.Table(
        f"Poisson deviance by the largest factor beyond the fitted rates, {len(rows)} "
        f"of {options.instances} tables",
        "factor to_poisson worst best",
        width=12,
    )
    for factor, own in zip(FACTORS, ours, strict=True):
        change = own - ours[-1]
        numbers = (own - peer).mean(), change.max(), change.min()
        table.row(factor, *(f"{np.exp(number):.3f}" for number in numbers))
    table.close()


if __name__ == "__main__":
    results.record(main)
