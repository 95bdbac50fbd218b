"""Coverage of intervals from multiple imputation, beside scikit-learn's imputer.

A hundred rows of three columns: a target y, and what it depends on, x and z. In
`normal` all are normal and y is linear; in `mixed` z is one of three categories, each
with its own mean of y; in `bent` y has the square of x. A third of y and a tenth of x
are unknown: by chance alone (MCAR), or where z, which is always known, is high (MAR).
Estimated are the mean of y and the coefficients of x and of z, or of x squared, in the
regression that is true. Printed are how many of the 95 % intervals hold the truth, and
the mean of their widths over those of complete tables.

Ours: `EnergyNetImputer(sample_posterior=True)` in `analyze_imputations`, which fits to
rows drawn with replacement for each imputation, and, as `one_fit`, draws of a single
fit, which leave out what rows leave open of the imputer. Peers: `IterativeImputer` with
`BayesianRidge` and `sample_posterior=True`, also in `analyze_imputations` without that
resampling, as its draws include the uncertainty of coefficients; and rows without
unknown values alone.

Aimed at are 0.93 to 0.97 for ours.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from benchmarks.shared import common, results
from skmohn import EnergyNetImputer
from skmohn.inspection import analyze_imputations, combine_estimates

N_ROWS, N_IMPUTATIONS = 100, 5
KINDS, MECHANISMS = ("normal", "mixed", "bent"), ("MCAR", "MAR")
# Coefficients of x, and of z or of the square of x.
SLOPE, OTHER = 0.7, 0.5
LOWEST, HIGHEST = 0.93, 0.97


def table(kind, rng):
    """Rows of y, x and z."""
    z = rng.normal(size=N_ROWS)
    if kind == "mixed":
        z = rng.integers(0, 3, N_ROWS).astype(float) - 1.0
    x = 0.5 * z + rng.normal(size=N_ROWS)
    y = SLOPE * x + OTHER * (x**2 if kind == "bent" else z)
    return np.column_stack([y + rng.normal(size=N_ROWS), x, z])


def truth(kind):
    """Mean of y, and its coefficients."""
    # The variance of x is 1.25.
    return np.array([OTHER * 1.25 if kind == "bent" else 0.0, SLOPE, OTHER])


def holes(X, mechanism, rng):
    """The rows with unknown values of y and of x."""
    z = X[:, 2]
    chance = np.full(len(X), 1.0 / 3.0)
    if mechanism == "MAR":
        chance = 0.66 / (1.0 + np.exp(-2.0 * z))
    found = X.copy()
    found[rng.random(len(X)) < chance, 0] = np.nan
    found[rng.random(len(X)) < 0.3 * chance, 1] = np.nan
    return found


def analysis(kind):
    """Function from a complete table to estimates and their variances."""

    def run(rows):
        y, x, z = np.asarray(rows, float).T
        design = np.column_stack([x, x**2 if kind == "bent" else z, np.ones(len(x))])
        inverse = np.linalg.inv(design.T @ design)
        coefficients = inverse @ design.T @ y
        residuals = y - design @ coefficients
        variance = residuals @ residuals / (len(y) - 3) * np.diag(inverse)
        mean = y.mean(), y.var(ddof=1) / len(y)
        return [np.append(*parts) for parts in zip(
            mean, (coefficients[:2], variance[:2]), strict=True
        )]  # fmt: skip

    return run


def intervals(kind, X, holed, seed):
    """Intervals by method, and those of the complete table."""
    analyze, df = analysis(kind), N_ROWS - 3

    def of_one(rows):
        estimates, variances = analyze(rows)
        # The same twice: nothing is missing.
        both = [estimates] * 2, [variances] * 2
        return combine_estimates(*both, complete_df=len(rows) - 3)

    options = {"n_imputations": N_IMPUTATIONS, "complete_df": df, "random_state": seed}
    ours = EnergyNetImputer(sample_posterior=True, random_state=seed)
    ridge = IterativeImputer(sample_posterior=True, skip_complete=True)
    draws = (
        EnergyNetImputer(random_state=seed)
        .fit(holed)
        .transformer_.impute(holed, n_draws=N_IMPUTATIONS, random_state=seed)
    )
    parts = zip(*map(analyze, draws), strict=True)
    found = {
        "ours": analyze_imputations(analyze, ours, holed, **options),
        "one_fit": combine_estimates(*parts, complete_df=df),
        "ridge": analyze_imputations(analyze, ridge, holed, bootstrap=False, **options),
        "known_rows": of_one(holed[~np.isnan(holed).any(axis=1)]),
        "complete": of_one(X),
    }
    return {name: np.array(of.confidence_interval()) for name, of in found.items()}


def main():
    """Print a line for each kind of table and of missing values."""
    options = common.parse_options(__doc__, instances=100, quick_instances=2)
    warnings.simplefilter("ignore", ConvergenceWarning)
    methods = ["ours", "one_fit", "ridge", "known_rows", "complete"]
    shown = common.Table(
        f"95 % intervals that hold the truth, {options.instances} tables of "
        f"{N_ROWS} rows, {N_IMPUTATIONS} imputations; then relative widths",
        "table missing estimate "
        + " ".join(methods)
        + " "
        + " ".join(f"width-{name}" for name in methods[:-1]),
    )
    held, names = [], ("mean", "slope", "other")
    for kind in KINDS:
        for mechanism in MECHANISMS:
            found = []
            for seed in range(options.seed, options.seed + options.instances):
                rng = np.random.default_rng(seed)
                X = table(kind, rng)
                of_table = intervals(kind, X, holes(X, mechanism, rng), seed)
                found.append(np.stack([of_table[name] for name in methods]))
            low, high = np.moveaxis(np.array(found), 2, 0)
            inside = (low <= truth(kind)) & (truth(kind) <= high)
            widths = (high - low).mean(axis=0)
            held.append(inside.mean(axis=0))
            for j, name in enumerate(names):
                rates = [f"{rate:.3f}" for rate in held[-1][:, j]]
                ratios = [f"{w:.2f}" for w in widths[:-1, j] / widths[-1, j]]
                shown.row(kind, mechanism, name, *rates, *ratios)
    means = np.mean(held, axis=(0, 2))
    met = LOWEST <= means[0] <= HIGHEST
    shown.row("mean", "", "", *(f"{m:.3f}" for m in means), *[""] * 4, met=met)
    shown.close()


if __name__ == "__main__":
    results.record(main)
