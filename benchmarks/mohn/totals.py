"""Totals that are often zero: MOHNGLMRegressor(loss="tweedie") beside its peers.

A total is the sum of a Poisson number of gamma amounts, as rain or the costs of claims
are: a Tweedie distribution with --power, about means as in ``counts.py``. Axes are the
training rows and the dispersion, thus the fraction of zeros. Printed are the mean
Tweedie deviance of 2000 fresh rows and its standard error over --instances problems;
and for ours, whose power is given, the fractions of them at most the 95 % quantile.
Penalties of Tweedie regression on columns and on pairs are chosen by 5 folds from 7
values. Boosting has Poisson's loss; it and least squares (clipped at a tenth of the
smallest positive total) have their defaults.
"""

import warnings
from functools import partial

import numpy as np
from scipy.stats import sem
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import TweedieRegressor
from sklearn.metrics import make_scorer, mean_tweedie_deviance
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.mohn.counts import sample_means
from benchmarks.shared import common, results
from skmohn import MOHNGLMRegressor, MOHNRegressor

OURS = "tweedie"
MEAN = 3.0
# Rows and dispersion.
CASES = [*((n, 3.0) for n in (50, 150, 500, 2000)), (500, 1.0), (500, 10.0)]
QUANTILE = 0.95


def penalized(power, *steps):
    """Return Tweedie regression whose penalty is chosen by folds."""
    grid = {"tweedieregressor__alpha": np.logspace(-4, 2, 7)}
    scoring = make_scorer(mean_tweedie_deviance, greater_is_better=False, power=power)
    model = TweedieRegressor(power=power, link="log", max_iter=1000)
    return GridSearchCV(
        make_pipeline(*steps, StandardScaler(), model), grid, scoring=scoring
    )


LEARNERS = {
    OURS: lambda power, seed: MOHNGLMRegressor(
        loss="tweedie", power=power, random_state=seed
    ),
    "mean": lambda power, seed: DummyRegressor(),
    "main": lambda power, seed: penalized(power),
    "pairs": lambda power, seed: penalized(
        power, PolynomialFeatures(2, interaction_only=True, include_bias=False)
    ),
    "boosting": lambda power, seed: HistGradientBoostingRegressor(
        loss="poisson", random_state=seed
    ),
    "squares": lambda power, seed: MOHNRegressor(random_state=seed),
}


def sample_totals(n_rows, dispersion, power, seed):
    """Draw training and test rows, their totals, and the true means of the latter."""
    X, means = sample_means(n_rows, MEAN, seed)
    rng = np.random.default_rng([seed, 1])
    expected = means ** (2.0 - power) / ((2.0 - power) * dispersion)
    scale = (power - 1.0) * dispersion * means ** (power - 1.0)
    shape = (2.0 - power) / (power - 1.0)
    y = scale * rng.standard_gamma(shape * rng.poisson(expected))
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], means[n_rows:]


def measure(name, power, seed, X, y, X_test, y_test):
    """Return the deviance, seconds, and how many totals are at most the quantile."""
    learner = LEARNERS[name](power, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = common.timed_fit(learner, X, y)
        means = learner.predict(X_test)
    if name == "squares":
        means = np.maximum(means, 0.1 * y[y > 0].min())
    below = np.nan
    if name == OURS:
        ends = learner.predict_quantiles(X_test, [QUANTILE])[:, 0]
        below = float(np.mean(y_test <= ends))
    return [float(mean_tweedie_deviance(y_test, means, power=power)), seconds, below]


def main():
    """Print deviances by case, then seconds and the quantiles' probability."""
    options = common.parse_options(
        __doc__,
        instances=4,
        quick_instances=1,
        add_arguments=lambda parser: (
            parser.add_argument("--power", type=float, default=1.5),
            common.add_keep(parser),
        ),
    )
    common.warm_up()
    table = common.Table(
        f"Mean Tweedie deviance of test rows (standard error), power {options.power}",
        "rows dispersion zeros truth " + " ".join(LEARNERS) + " below s:ours",
        width=15,
    )
    for case in CASES[:1] if options.quick else CASES:
        runs, floors, zeros = [], [], []
        for seed in range(options.seed, options.seed + options.instances):
            *data, means = sample_totals(*case, options.power, seed)
            deviance = mean_tweedie_deviance(data[3], means, power=options.power)
            floors.append(deviance)
            zeros.append(np.mean(data[3] == 0.0))
            key = *case, options.power, seed
            runs.append(
                [
                    common.kept(
                        options.keep,
                        (name, *key),
                        partial(measure, name, options.power, seed, *data),
                    )
                    for name in LEARNERS
                ]
            )
        runs = np.array(runs)  # (n_instances, n_learners, 3)
        means, errors = runs[:, :, 0].mean(axis=0), np.zeros(len(LEARNERS))
        if len(runs) > 1:
            errors = sem(runs[:, :, 0], axis=0)
        cells = [f"{m:.3f}({e:.3f})" for m, e in zip(means, errors, strict=True)]
        lost = []
        best = list(LEARNERS)[int(np.argmin(means))]
        if best != OURS:
            lost = [f"{OURS} loses {means[0] - means.min():.3f} to {best}"]
        ours = f"{runs[:, 0, 2].mean():.3f}", f"{np.median(runs[:, 0, 1]):.2f}"
        shown = f"{np.mean(zeros):.2f}", f"{np.mean(floors):.3f}"
        table.row(*case, *shown, *cells, *ours, details=lost)


if __name__ == "__main__":
    results.record(main)
