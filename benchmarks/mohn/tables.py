"""Small real tables: MOHNRegressor() beside forests, boosting and linear models.

22 tables of 141 to 3010 rows and 2 to 100 columns, numbers and categories with gaps.
Everybody learns the same random rows, two thirds of a table and --rows at most, and is
scored on the others. All have their default parameters; ours and CatBoost take columns
of categories and gaps as they are, boosting takes them as scikit-learn's categorical
features, and for forest, ridge and nearest neighbors they are imputed and one-hot.
Printed are the mean test R2, the ranks of these and the share of the test targets in
our 90 % intervals. The defaults of MOHNRegressor were chosen on these tables among
others, so that the ranks may flatter it.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository. --draw FILE draws the figures afterwards.
"""

import warnings
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.shared import common, measured
from benchmarks.shared.tables import catboost, prepared, read_table
from skmohn import MOHNRegressor

MOST_TEST = 1000
SHARE_OF_ROWS = 2 / 3
LOWEST_DRAWN = -0.1
TIGHT = {"frameon": False, "columnspacing": 1.0, "handletextpad": 0.1}


LEARNERS = {
    "MOHN": lambda seed: MOHNRegressor(random_state=seed, handle_unknown="missing"),
    "CatBoost": partial(catboost, "CatBoostRegressor"),
    "boosting": lambda seed: HistGradientBoostingRegressor(
        categorical_features="from_dtype", random_state=seed
    ),
    "forest": lambda seed: prepared(RandomForestRegressor(random_state=seed)),
    "ridge": lambda seed: prepared(RidgeCV(np.logspace(-3, 4, 15))),
    "neighbors": lambda seed: prepared(KNeighborsRegressor()),
}


def measure(X, y, n_rows, seed, names):
    """Return the R2 and the seconds of each learner, and the coverage of ours."""
    n_train = min(n_rows, int(SHARE_OF_ROWS * len(X)))
    X_train, X_test, y_train, y_test = train_test_split(
        X,
        y,
        train_size=n_train,
        test_size=min(MOST_TEST, len(X) - n_train),
        random_state=seed,
    )
    scores, seconds = [], []
    for name in names:
        learner = LEARNERS[name](seed)
        with warnings.catch_warnings():
            # Of unknown categories and of rare ones.
            warnings.simplefilter("ignore")
            seconds.append(common.timed_fit(learner, X_train, y_train))
            scores.append(r2_score(y_test, learner.predict(X_test)))
            if name == "MOHN":
                mean, std = learner.predict(X_test, return_std=True)
                is_within = np.abs(y_test - mean) < measured.SPREAD_90 * std
    return scores, seconds, is_within.mean()


def draw(path, scores):
    """Draw the R2 of every learner, a row for each table, the easiest at the top."""
    plt = import_module("matplotlib.pyplot")
    scores = scores.loc[scores["MOHN"].sort_values().index]
    figure, ax = plt.subplots(figsize=(7.2, 5.6), layout="constrained")
    colors = ["#c8553d", "#2e6f95", "#7a8450", "#8d6a9f", "#b9b4a7", "#d9d5cb"]
    rows = np.arange(len(scores))
    ax.hlines(rows, LOWEST_DRAWN, 1.0, color="#eeebe4", zorder=0)
    for name, color in reversed(list(zip(scores, colors, strict=False))):
        is_ours = name == "MOHN"
        ax.scatter(
            scores[name].clip(lower=LOWEST_DRAWN),
            rows,
            s=70 if is_ours else 34,
            color=color,
            label="MOHNRegressor()" if is_ours else name,
            zorder=3 if is_ours else 2,
        )
    ax.set_yticks(rows, scores.index)
    ax.set_xlabel(f"test R2 (drawn at {LOWEST_DRAWN} where it is lower)")
    ax.set_xlim(LOWEST_DRAWN - 0.02, 1.02)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles[::-1], labels[::-1], loc="outside upper center", ncols=6, **TIGHT
    )
    figure.savefig(path, dpi=130)


def main():
    """Print one row for each table, then the mean ranks."""
    options = common.parse_options(
        __doc__,
        instances=3,
        quick_instances=1,
        add_arguments=lambda parser: (
            parser.add_argument("--rows", type=int, default=500),
            parser.add_argument("--only", nargs="+", metavar="NAME"),
            parser.add_argument("--draw", metavar="FILE"),
        ),
    )
    n_rows = min(options.rows, 150) if options.quick else options.rows
    paths = sorted((common.data_folder() / "tables" / "regression").glob("*.csv"))
    if not paths:
        print("No tables; set SKMOHN_DATA to the folder that holds them")
        return
    common.warm_up()
    names = list(LEARNERS)
    try:
        LEARNERS["CatBoost"](0)
    except ImportError:
        print("CatBoost: left out, it is not installed\n")
        names.remove("CatBoost")
    table = common.Table(
        f"Test R2, means over {options.instances} splits",
        f"data rows {' '.join(names)} coverage rank",
        width=18,
    )
    means, ranks, all_seconds = {}, {}, []
    for path in paths:
        if options.only and path.stem not in options.only:
            continue
        X, y = read_table(path)
        y = y.to_numpy(float)
        if options.quick and X.shape[1] > 15:
            continue
        seeds = range(options.seed, options.seed + options.instances)
        runs = [measure(X, y, n_rows, seed, names) for seed in seeds]
        scores, seconds, coverage = (np.array(part) for part in zip(*runs, strict=True))
        mean = scores.mean(axis=0)
        means[path.stem] = dict(zip(names, mean, strict=True))
        ranks[path.stem] = rankdata(-mean)
        all_seconds.append(np.median(seconds, axis=0))
        table.row(
            path.stem,
            min(n_rows, int(SHARE_OF_ROWS * len(X))),
            *(f"{value:.3f}" for value in mean),
            f"{coverage.mean():.2f}",
            f"{ranks[path.stem][0]:.1f}",
        )
    print()
    mean_ranks = np.mean(list(ranks.values()), axis=0)
    median_seconds = np.median(all_seconds, axis=0)
    for name, rank, seconds in zip(names, mean_ranks, median_seconds, strict=True):
        print(f"{name:10} mean rank {rank:.2f}, median seconds of a fit {seconds:.3g}")
    if options.draw:
        draw(options.draw, pd.DataFrame(means).T)


if __name__ == "__main__":
    main()
