"""Several targets at once: time and R2 of MOHNRegressor() beside a fit for each target.

Generated tables have 1000 rows of 20 columns and ten targets: sums of the same products
with signs of their own, of bits or of numbers in [-1, 1], and ten different sums of
numbers. Real ones are small tables several of whose columns become targets: body
measures of penguins, blood values of athletes, diameters of bones. Two thirds of a real
table are learned. "together" is a fit to all targets, "each" one for each target; both
are `MOHNRegressor("gp")`, and again the default, which also searches a sparse model
of each target. "shared" is how many targets had the same hyperparameters.

Aimed at: ten targets that share cost at most twice as much as one.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputRegressor

from benchmarks.shared import common, measured, results
from benchmarks.shared.tables import prepared, read_table
from skmohn import MOHNRegressor

N_ROWS, N_COLUMNS, N_TARGETS, N_TEST = 1000, 20, 10, 1000
MAX_RATIO = 2.0
REAL = {
    "penguins": (
        "bill_length_mm bill_depth_mm flipper_length_mm target",
        "species island sex year",
    ),
    "ais": ("rcc wcc hc hg ferr", "bmi ssf lbm ht wt sex sport target"),
    "bdims": (
        "bia_di bii_di bit_di che_de che_di elb_di wri_di kne_di ank_di",
        "sho_gi che_gi wai_gi nav_gi hip_gi thi_gi bic_gi for_gi kne_gi cal_gi ank_gi "
        "wri_gi age hgt sex target",
    ),
}
LEARNERS = {
    "boosting": lambda seed: MultiOutputRegressor(
        HistGradientBoostingRegressor(
            categorical_features="from_dtype", random_state=seed
        )
    ),
    "forest": lambda seed: prepared(RandomForestRegressor(random_state=seed)),
}


def alike(columns, rng):
    """Return ten sums of the same products, with signs of their own."""
    products = [
        columns[:, 0] * columns[:, 1],
        columns[:, 2] * columns[:, 3] * columns[:, 4],
        *columns[:, 5:9].T,
    ]
    signs = rng.choice([-1.0, 1.0], (N_TARGETS, len(products)))
    return np.transpose(products) @ signs.T


def different(columns, rng):
    """Return ten sums of products that hardly have a column in common."""
    targets = []
    for _ in range(N_TARGETS):
        i, j, k, *others = rng.permutation(N_COLUMNS)
        y = columns[:, i] * columns[:, j] + np.sin(3.0 * columns[:, k])
        targets.append(y + columns[:, others[:3]] @ rng.standard_normal(3))
    return np.transpose(targets)


def generated(kind, seed):
    """Return a table of columns and one of targets."""
    rng = np.random.default_rng(seed)
    shape = N_ROWS + N_TEST, N_COLUMNS
    columns = rng.uniform(-1.0, 1.0, shape)
    if kind == "bits":
        columns = np.sign(columns)
    y = (different if kind == "different" else alike)(columns, rng)
    y += 0.5 * y.std(axis=0) * rng.standard_normal(y.shape)
    return pd.DataFrame(columns).add_prefix("x"), y, N_TEST


def real(name, seed):
    """Return columns and targets of a real table, and how many rows are tested."""
    X, y = read_table(common.data_folder() / "tables" / "regression" / f"{name}.csv")
    table = X.assign(target=y)
    targets, columns = (part.split() for part in REAL[name])
    table = table.dropna(subset=targets)
    return table[columns], table[targets].to_numpy(float), len(table) // 3


class Each:
    """A fit for each target, without `MultiOutputRegressor`'s checks of columns."""

    def __init__(self, learner):
        self.learner = learner

    def fit(self, X, y):
        """Fit each target."""
        self.parts = [MOHNRegressor(**self.learner.get_params(False)) for _ in y.T]
        for part, column in zip(self.parts, y.T, strict=True):
            part.fit(X, column)
        return self

    def predict(self, X, return_std=False):
        """Predict each target."""
        found = [part.predict(X, return_std) for part in self.parts]
        if return_std:
            return tuple(np.stack(part, axis=1) for part in zip(*found, strict=True))
        return np.stack(found, axis=1)


def measure(X, y, n_test, seed):
    """Return seconds, R2, coverage and shared targets by learner."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=n_test, random_state=seed
    )
    learners = {}
    for name, strategy in (("gp", "gp"), ("default", "auto")):
        ours = MOHNRegressor(strategy, random_state=seed, handle_unknown="missing")
        learners |= {f"{name} together": ours, f"{name} each": Each(ours)}
    learners |= {name: make(seed) for name, make in LEARNERS.items()}
    found = {}
    for name, learner in learners.items():
        with warnings.catch_warnings():
            # Of unknown categories and of rare ones.
            warnings.simplefilter("ignore")
            seconds = common.timed_fit(learner, X_train, y_train)
            score = r2_score(y_test, learner.predict(X_test))
            covered = np.nan
            if name not in LEARNERS:
                mean, std = learner.predict(X_test, return_std=True)
                covered = np.mean(np.abs(y_test - mean) < measured.SPREAD_90 * std)
        shared = len(getattr(learner, "shared_targets_", []))
        found[name] = seconds, score, covered, shared
    return found


def main():
    """Print a row for each table and learner."""
    options = common.parse_options(__doc__, instances=3, quick_instances=1)
    common.warm_up()
    table = common.Table(
        f"Several targets, means over {options.instances} tables or splits",
        "data targets learner seconds times R2 coverage shared",
        width=16,
    )
    kinds = [(kind, generated) for kind in ("bits", "numbers", "different")]
    for name in REAL:
        if common.find_data(f"tables/regression/{name}.csv"):
            kinds.append((name, real))
    for kind, make in kinds:
        if options.quick and make is generated:
            continue
        runs = []
        for seed in range(options.seed, options.seed + options.instances):
            X, y, n_test = make(kind, seed)
            runs.append(measure(X, y, n_test, seed))
        for name in runs[0]:
            seconds, score, covered, shared = np.mean([r[name] for r in runs], axis=0)
            # In fits of one target.
            way = name.replace("together", "each")
            one = np.mean([r[way][0] for r in runs]) / y.shape[1]
            times = seconds / one
            is_aim = name == "dense together" and kind in ("bits", "numbers")
            table.row(
                kind,
                y.shape[1],
                name,
                f"{seconds:.2f}",
                f"{times:.1f}",
                f"{score:.3f}",
                f"{covered:.3f}",
                f"{shared:.1f}",
                met=not is_aim or times <= MAX_RATIO,
            )
    table.close()


if __name__ == "__main__":
    results.record(main)
