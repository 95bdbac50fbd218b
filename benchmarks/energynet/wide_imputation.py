"""Imputation of tables with more columns than rows, beside scikit-learn's imputers.

Columns are sums of one or three normal factors and of noise that has seven tenths of
the standard deviation of a factor; a fifth of the cells is unknown, each by itself.
Printed are the errors, the root of the mean square in standard deviations of each
column, their means over the instances.

Ours: `EnergyNetImputer` with the defaults, and by the same fit its transformer alone,
with the weight of the Gaussian with factors. Peers: the mean, `KNNImputer` and
`IterativeImputer` with `BayesianRidge` on the 20 nearest columns, both on standardized
columns.

Aimed at is an error of ours below that of the means and of all peers.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common, results
from skmohn import EnergyNetImputer

# Rows, columns and factors.
SIZES = (30, 60, 1), (50, 60, 3), (50, 150, 1)
NOISE_STD, MISSING_FRACTION = 0.7, 0.2


def table(n_rows, n_columns, n_factors, seed):
    """Rows of factors, and the same with unknown cells."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, n_factors))
    X = factors @ rng.normal(size=(n_factors, n_columns))
    X += NOISE_STD * rng.normal(size=X.shape)
    return X, np.where(rng.random(X.shape) < MISSING_FRACTION, np.nan, X)


def errors(size, seed):
    """Error by imputer, the weight of factors and seconds of ours."""
    complete, X = table(*size, seed)
    unknown, std = np.isnan(X), complete.std(axis=0)

    def error(filled):
        return np.sqrt(np.mean(((filled - complete) / std)[unknown] ** 2))

    ours = EnergyNetImputer(random_state=seed)
    seconds, _ = common.timed(ours.fit, X)
    found = {
        "ours": error(ours.transform(X)),
        "transformer": error(ours.transformer_.impute(X)),
    }
    peers = {
        "mean": SimpleImputer(),
        "neighbors": KNNImputer(),
        "ridge": IterativeImputer(n_nearest_features=20, random_state=seed),
    }
    for name, imputer in peers.items():
        model = make_pipeline(StandardScaler(), imputer)
        filled = model.fit_transform(X)
        found[name] = error(model[0].inverse_transform(filled))
    return found | {"weight": ours.factor_weight_, "seconds": seconds}


def main():
    """Print a line for each size."""
    options = common.parse_options(__doc__, instances=2, quick_instances=1)
    common.clock = common.CLOCKS["cpu"]
    common.warm_up()
    warnings.simplefilter("ignore", ConvergenceWarning)
    shown = common.Table(
        f"normalized root mean square error, {options.instances} instances",
        "table ours transformer mean neighbors ridge weight seconds",
    )
    for size in SIZES[: 1 if options.quick else None]:
        seeds = range(options.seed, options.seed + options.instances)
        means = pd.DataFrame([errors(size, seed) for seed in seeds]).mean()
        weight, seconds = means.pop("weight"), means.pop("seconds")
        cells = [f"{error:.3f}" for error in means]
        shown.row(
            "{} x {}, {} factors".format(*size), *cells, f"{weight:.2f}",
            f"{seconds:.1f}", met=means["ours"] < means.drop("transformer")[1:].min(),
        )  # fmt: skip
    shown.close()


if __name__ == "__main__":
    results.record(main)
