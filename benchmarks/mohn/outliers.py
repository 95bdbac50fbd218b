"""Outliers and heavy tails: MOHNRegressor() beside robust and plain learners.

300 rows of 30 columns of -1 and +1, a function of 5 columns and 10 pairs, and noise of
a tenth of its variance. A fraction of the targets has an error of 15 standard
deviations of the noise on average, or one target is an entry error of 10^6; or the
noise has Student's distribution with 2 degrees of freedom, or is skewed as a lognormal.
"kept" is ours with outliers="keep". Linear peers get explicit columns of all pairs,
trees the columns. Printed are means over instances of R2 on 2000 fresh rows without
noise (at least -1), how many outliers were left out, and seconds.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.shared import common, results
from skmohn import MOHNRegressor
from skmohn.datasets import make_sparse_walsh

N_COLUMNS, ORDERS = 30, {1: 5, 2: 10}
N_ROWS, N_TEST = 300, 2000
RATIO, LARGE, WILD = 10.0, 15.0, 1e6
LEAST_R2 = -1.0
NOISES = (
    "normal",
    "1 wild",
    "1 %",
    "3 %",
    "6 %",
    "9 %",
    "20 %",
    "Student 2",
    "lognormal",
)


def draw_noise(kind: str, size: int, rng: np.random.Generator) -> NDArray:
    """Noise whose regular part has about unit variance."""
    if kind == "Student 2":
        return rng.standard_t(2.0, size)
    if kind == "lognormal":
        noise = np.exp(rng.standard_normal(size))
        return noise - np.exp(0.5)
    noise = rng.standard_normal(size)
    if kind == "1 wild":
        noise[0] = WILD
    elif kind.endswith("%"):
        bad = rng.permutation(size)[: round(size * float(kind[:-1]) / 100.0)]
        noise[bad] += LARGE * rng.standard_normal(len(bad))
    return noise


def with_pairs(model) -> object:
    """A linear model on explicit columns of all pairs."""
    return make_pipeline(PolynomialFeatures(2, interaction_only=True), model)


def learners(seed: int) -> dict[str, object]:
    """Ours and the peers."""
    return {
        "MOHN": MOHNRegressor(random_state=seed),
        "kept": MOHNRegressor(outliers="keep", random_state=seed),
        "lasso": with_pairs(LassoCV(random_state=seed)),
        "Huber": with_pairs(HuberRegressor(alpha=1.0, max_iter=1000)),
        "boosting": GradientBoostingRegressor(loss="huber", random_state=seed),
        "forest": RandomForestRegressor(random_state=seed),
    }


def sparse_reference(kind: str, seed: int) -> dict[str, tuple[float, float, float]]:
    """R2, number of outliers left out and seconds of each learner."""
    data = make_sparse_walsh(
        N_COLUMNS, ORDERS, n_samples=N_ROWS + N_TEST, random_state=seed
    )
    rng = np.random.default_rng(seed)
    std = np.sqrt(np.sum(np.square(data.weights)) / RATIO)
    y = data.y[:N_ROWS] + std * draw_noise(kind, N_ROWS, rng)
    X, fresh, function = data.X[:N_ROWS], data.X[N_ROWS:], data.y[N_ROWS:]
    found = {}
    for name, learner in learners(seed).items():
        seconds, _ = common.timed(learner.fit, X, y)
        error = np.mean((learner.predict(fresh) - function) ** 2)
        r2 = max(1.0 - float(error / np.var(function)), LEAST_R2)
        found[name] = r2, float(np.sum(getattr(learner, "outliers_", 0))), seconds
    return found


def main() -> None:
    """Print a row for each kind of noise, and the seconds."""
    options = common.parse_options(__doc__, instances=5, quick_instances=1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    common.warm_up()
    names = list(learners(0))
    table = common.Table(
        f"R2, means of {options.instances} instances",
        " ".join(["noise", *names, "left_out"]),
    )
    seconds = []
    for kind in NOISES:
        seeds = range(options.seed, options.seed + options.instances)
        found = [sparse_reference(kind, seed) for seed in seeds]
        means = [np.mean([each[name][0] for each in found]) for name in names]
        left_out = np.mean([each["MOHN"][1] for each in found])
        table.row(kind.replace(" ", "_"), *means, left_out)
        seconds += [[each[name][2] for name in names] for each in found]
    table.close()
    costs = common.Table("Seconds of a fit, medians", " ".join(names))
    costs.row(*np.median(seconds, axis=0))
    costs.close()


if __name__ == "__main__":
    results.record(main)
