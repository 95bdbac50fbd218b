"""Small real tables: MOHNRegressor() beside forests, boosting, processes and networks.

22 tables of 141 to 3010 rows and 2 to 100 columns, numbers and categories with missing
values. Everybody learns the same random rows, two thirds of a table and --rows at most,
and is scored on the others. All have their default parameters. Ours, CatBoost, boosting
and EBM take categories as they are; for others they are one-hot and missing values
imputed.

Printed are the mean test R2, and the mean log density of test rows. Ours and the
Gaussian process have a density of their own; that of the others is normal, with the
standard deviation that they are off by in three folds of the training rows. Then come
mean ranks, how often a learner is within a standard error (of splits) of the best, and
the fraction of the test targets in our 90 % intervals. The defaults of MOHNRegressor
were chosen on these tables among others, so that the ranks may flatter it.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository. --missing makes a fraction of all cells
unknown, --draw FILE draws the figures afterwards.
"""

import warnings
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata, sem
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LassoCV
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common, results
from benchmarks.shared.tables import catboost, prepared, read_table, with_missing_inputs
from skmohn import MOHNRegressor

MAX_TEST = 1000
TRAIN_FRACTION = 2 / 3
FOLDS = 3
MIN_COVERAGE, MAX_COVERAGE = 0.85, 0.95
MIN_DRAWN = -0.1
OURS, GP = "MOHN", "GP"
TIGHT = {"frameon": False, "columnspacing": 1.0, "handletextpad": 0.1}


class LengthScales(GaussianProcessRegressor):
    """A Gaussian process with one length scale for each column."""

    def fit(self, X, y):
        lengths = np.full(X.shape[1], np.sqrt(X.shape[1]))
        self.kernel = ConstantKernel() * RBF(lengths, (1e-2, 1e4))
        self.kernel += WhiteKernel(0.1, (1e-6, 1e1))
        return super().fit(X, y)


def _lightgbm(seed):
    module = import_module("lightgbm")
    return module.LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1)


def _ebm(seed):
    module = import_module("interpret.glassbox")
    return module.ExplainableBoostingRegressor(random_state=seed, n_jobs=1)


LEARNERS = {
    OURS: lambda seed: MOHNRegressor(random_state=seed, handle_unknown="missing"),
    "CatBoost": partial(catboost, "CatBoostRegressor"),
    "LightGBM": _lightgbm,
    "boosting": lambda seed: HistGradientBoostingRegressor(
        categorical_features="from_dtype", random_state=seed
    ),
    "forest": lambda seed: prepared(RandomForestRegressor(random_state=seed)),
    "EBM": _ebm,
    "lasso": lambda seed: prepared(LassoCV()),
    GP: lambda seed: prepared(LengthScales(normalize_y=True, random_state=seed)),
    "MLP": lambda seed: TransformedTargetRegressor(
        prepared(MLPRegressor(random_state=seed)), transformer=StandardScaler()
    ),
}
PACKAGES = {"CatBoost": "catboost", "LightGBM": "lightgbm", "EBM": "interpret.glassbox"}


def measure(X, y, n_rows, seed, name):
    """Return a learner's R2, log density, seconds, and coverage if it is ours."""
    n_train = min(n_rows, int(TRAIN_FRACTION * len(X)))
    X_train, X_test, y_train, y_test = train_test_split(
        X,
        y,
        train_size=n_train,
        test_size=min(MAX_TEST, len(X) - n_train),
        random_state=seed,
    )
    learner = LEARNERS[name](seed)
    with warnings.catch_warnings():
        # Of unknown categories, rare ones, and climbs that end early.
        warnings.simplefilter("ignore")
        seconds = common.timed_fit(learner, X_train, y_train)
        coverage = np.nan
        if name == OURS:
            mean = learner.predict(X_test)
            density = learner.log_density(X_test, y_test).mean()
            low, high = learner.predict_quantiles(X_test, [0.05, 0.95]).T
            coverage = np.mean((low < y_test) & (y_test < high))
        else:
            mean, std = _predict(name, learner, X_train, y_train, X_test)
            density = norm.logpdf(y_test, mean, std).mean()
    return [float(v) for v in (r2_score(y_test, mean), density, seconds, coverage)]


def measured(path, X, y, n_rows, seed, options, name):
    """Return what `measure` does, or has done before."""
    return common.kept(
        options.keep,
        (path.stem, name, n_rows, options.missing, seed),
        partial(measure, X, y, n_rows, seed, name),
    )


def _predict(name, learner, X_train, y_train, X_test):
    """Predict test rows, and how far off they may be."""
    if name == GP:
        return learner.predict(X_test, return_std=True)
    again = cross_val_predict(learner, X_train, y_train, cv=FOLDS)
    return learner.predict(X_test), np.sqrt(np.mean((y_train - again) ** 2))


def draw(path, scores):
    """Draw the R2 of every learner, a row for each table, the easiest at the top."""
    plt = import_module("matplotlib.pyplot")
    scores = scores.loc[scores["MOHN"].sort_values().index]
    figure, ax = plt.subplots(figsize=(7.2, 5.6), layout="constrained")
    colors = ["#c8553d", "#2e6f95", "#7a8450", "#8d6a9f", "#d9a441", "#4b8f8c"]
    colors += ["#b9b4a7", "#5b5b5b", "#d9d5cb"]
    rows = np.arange(len(scores))
    ax.hlines(rows, MIN_DRAWN, 1.0, color="#eeebe4", zorder=0)
    for name, color in reversed(list(zip(scores, colors, strict=False))):
        is_ours = name == "MOHN"
        ax.scatter(
            scores[name].clip(lower=MIN_DRAWN),
            rows,
            s=70 if is_ours else 34,
            color=color,
            label="MOHNRegressor()" if is_ours else name,
            zorder=3 if is_ours else 2,
        )
    ax.set_yticks(rows, scores.index)
    ax.set_xlabel(f"test R2 (drawn at {MIN_DRAWN} where it is lower)")
    ax.set_xlim(MIN_DRAWN - 0.02, 1.02)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles[::-1], labels[::-1], loc="outside upper center", ncols=4, **TIGHT
    )
    figure.savefig(path, dpi=130)


def main():
    """Print one row for each table, then the mean ranks."""
    options = common.parse_options(
        __doc__,
        instances=5,
        quick_instances=1,
        add_arguments=lambda parser: (
            parser.add_argument("--rows", type=int, default=500),
            parser.add_argument("--only", nargs="+", metavar="NAME"),
            parser.add_argument(
                "--missing", type=float, default=0.0, metavar="FRACTION"
            ),
            parser.add_argument("--methods", nargs="+", choices=LEARNERS),
            parser.add_argument("--draw", metavar="FILE"),
            common.add_keep(parser),
        ),
    )
    n_rows = min(options.rows, 150) if options.quick else options.rows
    paths = sorted((common.data_folder() / "tables" / "regression").glob("*.csv"))
    if not paths:
        results.leave_out("all: no tables in SKMOHN_DATA")
        return
    common.warm_up()
    chosen = {OURS, *(options.methods or LEARNERS)}
    names = [name for name in LEARNERS if name in chosen]
    for name in [name for name in names if name in PACKAGES]:
        try:
            import_module(PACKAGES[name])
        except ImportError:
            results.leave_out(f"{name}: not installed")
            names.remove(name)
    headings = "data", "rows", *names, "coverage", "rank"
    table = common.Table(
        f"Test R2, means over {options.instances} splits",
        " ".join(headings),
        width=18,
    )
    scores, seconds, coverages = {}, [], {}
    for path in paths:
        if options.only and path.stem not in options.only:
            continue
        X, y = read_table(path)
        X = with_missing_inputs(X, options.missing, options.seed)
        y = y.to_numpy(float)
        if options.quick and X.shape[1] > 15:
            continue
        seeds = range(options.seed, options.seed + options.instances)
        found = np.array(
            [
                [measured(path, X, y, n_rows, seed, options, name) for name in names]
                for seed in seeds
            ]
        )
        scores[path.stem] = found[..., :2]
        seconds.append(np.median(found[..., 2], axis=0))
        coverages[path.stem] = np.mean(found[..., names.index(OURS), 3])
        means = found[..., 0].mean(axis=0)
        table.row(
            path.stem,
            min(n_rows, int(TRAIN_FRACTION * len(X))),
            *(f"{value:.3f}" for value in means),
            f"{coverages[path.stem]:.2f}",
            f"{rankdata(-means)[0]:.1f}",
        )
    summarize(names, scores, np.median(seconds, axis=0))
    held = np.array(list(coverages.values()))
    inside = np.sum((held >= MIN_COVERAGE) & (held <= MAX_COVERAGE))
    print(f"\n90 % intervals hold 85 to 95 % on {inside} of {len(held)} tables")
    if options.draw:
        means = {name: part[..., 0].mean(axis=0) for name, part in scores.items()}
        draw(options.draw, pd.DataFrame(means, index=names).T)


def summarize(names, scores, seconds):
    """Print mean ranks, and how far each learner is from the best."""
    table = common.Table(
        "Over all tables",
        "learner rank_R2 near_best R2 behind rank_density near_best density seconds",
        width=13,
    )
    parts = np.array(list(scores.values()))
    columns = []
    for k in range(2):
        means = parts[..., k].mean(axis=1)
        ranks = rankdata(-means, axis=1).mean(axis=0)
        best = means.max(axis=1)
        chosen = means.argmax(axis=1)
        lost = [
            part[:, c, None] - part
            for part, c in zip(parts[..., k], chosen, strict=True)
        ]
        error = sem(lost, axis=1) if parts.shape[1] > 1 else np.zeros_like(means)
        near = np.mean(best[:, None] - means <= error, axis=0)
        columns += [ranks, near, means.mean(axis=0)]
        if not k:
            columns.append((best[:, None] - means).mean(axis=0))
    for name, *cells, cost in zip(names, *columns, seconds, strict=True):
        table.row(name, *(f"{cell:.3f}" for cell in cells), f"{cost:.3g}")


if __name__ == "__main__":
    results.record(main)
