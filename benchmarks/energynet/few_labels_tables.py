"""Few labels on small tables: features learned from all rows, beside scikit-learn's.

Digits, wine, breast cancer, German credit with its categories and 4000 images of MNIST.
Seven tenths of the rows train, without labels; then 5, 10 or 30 labels a class are
drawn from them (fewer where a class has no more), and logistic regression and a support
vector machine, both with their defaults, learn from these alone. The other rows, 2000
of them at most, are the test.

Features: the columns as they are, PCA (.95 of the variance), Nystroem's map and
BernoulliRBM with 200 components, RandomTreesEmbedding; the table in indicators and
standardized numbers for all of these, in [0, 1] for BernoulliRBM. Ours takes tables as
they are: the default growth, `growth="description_length"`, and 200 units. Features
that are not indicators are standardized on the unlabeled rows.

Printed are mean accuracies over the splits, and mean ranks of the peers with one of
ours at a time. Aimed at is the first mean rank, and grown within .01 of 200 units.
"""

import warnings

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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVC

from benchmarks.shared import common, energynet
from skmohn import EnergyNetTransformer

LABELS = 5, 10, 30
UNITS, MOST_TEST, MOST_LOST = 200, 2000, 0.01
OURS, FEW, FIXED = "ours", "few units", f"{UNITS} units"


def problems():
    """Each table as a data frame and its classes, by name."""
    for name, load in (
        ("wine", load_wine),
        ("cancer", load_breast_cancer),
        ("digits", load_digits),
    ):
        X, y = load(return_X_y=True)
        yield name, pd.DataFrame(X / 16.0 if name == "digits" else X), y
    path = energynet.path_of("german_categorical.csv")
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
        "raw": FunctionTransformer(),
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
        OURS: {},
        FEW: {"growth": "description_length"},
        FIXED: {"n_components": UNITS, "max_layers": 1},
    }
    return {name: make_pipeline(coder, peer) for name, peer in peers.items()} | {
        name: make_pipeline(
            EnergyNetTransformer(
                handle_unknown="missing", random_state=seed, **parameters
            ),
            StandardScaler(),
        )
        for name, parameters in ours.items()
    }


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
    X_test, y_test = X_test[X_train.columns][:MOST_TEST], y_test[:MOST_TEST]
    rng = np.random.default_rng(seed)
    labeled = {n: some_of_each(y_train, n, rng) for n in LABELS}
    found = {}
    for name, transformer in features(X_train, seed).items():
        known, asked = transformer.fit_transform(X_train), transformer.transform(X_test)
        for n, rows in labeled.items():
            for kind, model in (
                ("LR", LogisticRegression(max_iter=1000)),
                ("SVM", SVC()),
            ):
                model.fit(known[rows], y_train[rows])
                found[f"{n} {kind} {name}"] = float(model.score(asked, y_test))
    return found


def main():
    """Print a line for each table, number of labels and classifier, and mean ranks."""
    options = common.parse_options(
        __doc__, instances=5, quick_instances=1, add_arguments=common.add_keep
    )
    common.warm_up()
    warnings.simplefilter("ignore")
    seeds = range(options.seed, options.seed + options.instances)
    table, rows = None, []
    for problem, X, y in problems():
        if options.quick and problem == "mnist":
            continue
        means = pd.DataFrame(
            common.kept(
                options.keep, (problem, seed),
                lambda X=X, y=y, seed=seed: accuracies(X, y, seed),
            )
            for seed in seeds
        ).mean()  # fmt: skip
        means.index = pd.MultiIndex.from_tuples(
            key.split(" ", 2) for key in means.index
        )
        for (n, kind), row in means.groupby(level=[0, 1], sort=False):
            row = row.droplevel([0, 1])
            table = table or common.Table(
                f"Accuracy, {len(seeds)} splits",
                "table labels classifier "
                + " ".join(name.replace(" ", "_") for name in row.index),
                width=14,
            )
            met = row[OURS] >= row[FIXED] - MOST_LOST
            table.row(problem, n, kind, *(f"{value:.3f}" for value in row), met=met)
            rows.append(row)
    for grown in (OURS, FEW, FIXED):
        others = [name for name in (OURS, FEW, FIXED) if name != grown]
        ranks = pd.DataFrame(rows).drop(columns=others).round(3)
        ranks = ranks.rank(axis=1, ascending=False).mean()
        met = grown != OURS or ranks[OURS] == ranks.min()
        cells = [
            f"{ranks[name]:.2f}" if name in ranks else "" for name in rows[0].index
        ]
        table.row("mean rank", "", "", *cells, met=met)
    table.close()


if __name__ == "__main__":
    main()
