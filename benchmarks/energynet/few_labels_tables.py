"""Few labels on small tables: features learned from all rows, beside scikit-learn's.

Digits, wine, breast cancer, German credit with its categories and 4000 images of MNIST.
Seven tenths of the rows train, without labels; then 5, 10 or 30 labels a class are
drawn from them (fewer where a class has no more), and logistic regression and a support
vector machine, both with their defaults, learn from these alone. The other rows, 2000
of them at most, are the test.

Features: the columns as they are, PCA (0.95 of the variance), Nystroem's map and
BernoulliRBM with 200 components, RandomTreesEmbedding; the table in indicators and
standardized numbers for all of these, in [0, 1] for BernoulliRBM. All features stand
beside these columns. Ours takes tables as they are, and puts their columns beside its
own features by `passthrough=True`: the default growth, `growth="description_length"`,
and 200 units. The units of the default growth alone are shown as well. Features that
are not indicators are standardized on the unlabeled rows.

Printed are mean accuracies over the splits, the standard error of the difference
between the default growth and 200 units, and mean ranks of the peers with one of ours
at a time. Aimed at is the first mean rank, and grown within 0.01 of 200 units.
"""

import warnings
from itertools import product

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVC

from benchmarks.shared import common, energynet, results
from skmohn import EnergyNetTransformer

LABELS = 5, 10, 30
UNITS, MAX_TEST, MAX_LOSS = 200, 2000, 0.01
OURS, FEW, FIXED, ALONE = "ours", "few units", f"{UNITS} units", "units alone"


def problems():
    """Each table as a data frame and its classes, by name."""
    for name, load in (
        ("wine", load_wine),
        ("cancer", load_breast_cancer),
        ("digits", load_digits),
    ):
        X, y = load(return_X_y=True)
        yield name, pd.DataFrame(X / 16.0 if name == "digits" else X), y
    path = common.find_data("german_categorical.csv")
    if path is not None:
        german = pd.read_csv(path)
        y = german.pop(german.columns[-1])
        yield "german", german, y.to_numpy()
    images = energynet.mnist(4000, 1)
    if images is not None:
        yield "mnist", pd.DataFrame(images[0].astype(float)), images[1]


def features(train, seed):
    """Return transformers of tables, not fitted, by name."""
    is_text = make_column_selector(dtype_exclude="number")(train)
    coder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), is_text),
        remainder=StandardScaler(),
    )
    peers = {
        "PCA": make_pipeline(PCA(0.95, random_state=seed), StandardScaler()),
        "Nystroem": make_pipeline(
            Nystroem(
                gamma=1 / train.shape[1],
                n_components=min(UNITS, len(train)),
                random_state=seed,
            ),
            StandardScaler(),
        ),
        "trees": make_pipeline(RandomTreesEmbedding(random_state=seed), MaxAbsScaler()),
        "BernoulliRBM": make_pipeline(
            MinMaxScaler(clip=True),
            BernoulliRBM(UNITS, learning_rate=0.05, n_iter=30, random_state=seed),
            StandardScaler(),
        ),
    }
    ours = {
        OURS: {"passthrough": True},
        FEW: {"passthrough": True, "growth": "description_length"},
        FIXED: {"passthrough": True, "n_components": UNITS, "max_layers": 1},
    }
    raw = FunctionTransformer()
    coded = {"raw": raw} | {name: make_union(raw, peer) for name, peer in peers.items()}
    return {name: make_pipeline(coder, peer) for name, peer in coded.items()} | {
        name: make_pipeline(
            EnergyNetTransformer(
                handle_unknown="missing", random_state=seed, **parameters
            ),
            StandardScaler(),
        )
        for name, parameters in ours.items()
    }


def learners():
    """What learns from the labels alone, by name."""
    return {"LR": LogisticRegression(max_iter=1000), "SVM": SVC()}


def some_of_each(y, n_labels, rng):
    """Rows of so many labels of each class, or of all where there are fewer."""
    of_class = [np.flatnonzero(y == label) for label in np.unique(y)]
    return np.concatenate(
        [rng.choice(rows, min(n_labels, len(rows)), replace=False) for rows in of_class]
    )


def accuracies(X, y, seed):
    """Accuracy on test rows, by number of labels, classifier and features."""
    X = X.rename(columns=str)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=0.7, stratify=y, random_state=seed
    )
    X_train = X_train.loc[:, X_train.nunique() > 1]
    X_test, y_test = X_test[X_train.columns][:MAX_TEST], y_test[:MAX_TEST]
    rng = np.random.default_rng(seed)
    labeled = {n: some_of_each(y_train, n, rng) for n in LABELS}
    found = {}
    for name, transformer in features(X_train, seed).items():
        known, asked = transformer.fit_transform(X_train), transformer.transform(X_test)
        blocks = {name: slice(None)}
        if name == OURS:
            # The columns come last.
            blocks[ALONE] = slice(transformer[0].n_components_per_layer_[-1])
        for (block, columns), (n, rows), (kind, model) in product(
            blocks.items(), labeled.items(), learners().items()
        ):
            model.fit(known[rows][:, columns], y_train[rows])
            score = model.score(asked[:, columns], y_test)
            found[f"{n} {kind} {block}"] = float(score)
    return found


def add_arguments(parser):
    """Add the options of this script."""
    common.add_keep(parser)
    parser.add_argument(
        "--mnist-instances", type=int, default=2, help="of MNIST (default 2)"
    )


def main():
    """Print a line for each table, number of labels and classifier, and mean ranks."""
    options = common.parse_options(
        __doc__, instances=10, quick_instances=1, add_arguments=add_arguments
    )
    common.warm_up()
    warnings.simplefilter("ignore")
    table, rows = None, []
    for problem, X, y in problems():
        n_splits = options.instances
        if problem == "mnist":
            if options.quick:
                continue
            n_splits = options.mnist_instances
        runs = pd.DataFrame(
            common.kept(
                options.keep, (problem, seed),
                lambda X=X, y=y, seed=seed: accuracies(X, y, seed),
            )
            for seed in range(options.seed, options.seed + n_splits)
        )  # fmt: skip
        runs.columns = pd.MultiIndex.from_tuples(key.split(" ", 2) for key in runs)
        for (n, kind), scores in runs.T.groupby(level=[0, 1], sort=False):
            scores = scores.droplevel([0, 1])
            row = scores.mean(axis=1)
            error = (scores.loc[OURS] - scores.loc[FIXED]).sem()
            table = table or common.Table(
                "Accuracy",
                "table splits labels classifier "
                + " ".join(name.replace(" ", "_") for name in row.index)
                + " error",
                width=12,
            )
            met = row[OURS] >= row[FIXED] - MAX_LOSS
            cells = (f"{value:.3f}" for value in row)
            table.row(problem, n_splits, n, kind, *cells, error, met=met)
            rows.append(row)
    all_ours = (OURS, FEW, FIXED, ALONE)
    for grown in all_ours:
        others = [name for name in all_ours if name != grown]
        ranks = pd.DataFrame(rows).drop(columns=others).round(3)
        ranks = ranks.rank(axis=1, ascending=False).mean()
        met = grown != OURS or ranks[OURS] == ranks.min()
        cells = [
            f"{ranks[name]:.2f}" if name in ranks else "" for name in rows[0].index
        ]
        table.row("mean rank", "", "", "", *cells, "", met=met)
    table.close()


if __name__ == "__main__":
    results.record(main)
