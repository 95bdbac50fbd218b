"""Samples: can a classifier tell them from rows that are held out?

Digits as bits and the categories of german; three quarters of the rows train. As many
rows are drawn as are held out, and a forest, cross-validated, tells the two apart.
Printed is its area under the ROC curve, the mean over the splits: 0.5 is the best.

Ours: `EnergyNetTransformer()`, one layer, and 200 units. Peers: a
mixture of independent columns, of the number of components of the least BIC
(expectation maximization, by us), independent columns, and `BernoulliRBM` with 200
units after as many steps of Gibbs sampling as ours; for german on indicators, of those
that are 1, or of all where none is, one at random.

Aimed at is that ours is nearer to 0.5 than all peers.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.neural_network import BernoulliRBM
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from benchmarks.shared import common, energynet, results
from skmohn import EnergyNetTransformer

N_STEPS, N_UNITS = 1000, 200
OURS = {
    "ours": {"max_layers": 1},
    "ours, 200 units": {"n_components": N_UNITS},
}


def tables():
    """Each table of states, numbered from 0, by its name."""
    yield "digits", (load_digits().data >= 8).astype(int)
    path = common.find_data("german_categorical.csv")
    if path is not None:
        german = pd.read_csv(path).select_dtypes(exclude="number")
        yield "german", OrdinalEncoder().fit_transform(german).astype(int)


def told_apart(rows, drawn, seed):
    """Area under the ROC curve of a forest that tells samples from rows."""
    X = OneHotEncoder(drop="if_binary").fit_transform(np.concatenate([rows, drawn]))
    y = np.repeat([0, 1], [len(rows), len(drawn)])
    forest = RandomForestClassifier(300, min_samples_leaf=3, random_state=seed)
    chance = cross_val_predict(forest, X, y, cv=5, method="predict_proba")[:, 1]
    return roc_auc_score(y, chance)


def by_bernoulli_rbm(train, n_levels, n_samples, seed):
    """Samples of scikit-learn's machine."""
    is_bits, rng = n_levels.max() == 2, np.random.default_rng(seed)
    encoder = OneHotEncoder(sparse_output=False).fit(train)
    X = train if is_bits else encoder.transform(train)
    machine = BernoulliRBM(N_UNITS, learning_rate=0.05, n_iter=100, random_state=seed)
    machine.fit(X)
    states = X[rng.integers(len(X), size=n_samples)]
    for _ in range(N_STEPS):
        states = machine.gibbs(states)
    if is_bits:
        return states.astype(int)
    some = states + rng.random(states.shape)
    parts = np.split(some, np.cumsum(n_levels)[:-1], axis=1)
    return np.stack([part.argmax(axis=1) for part in parts], axis=1)


def measure(X, seed):
    """Areas by model."""
    train, test = train_test_split(X, test_size=0.25, random_state=seed)
    categories, n_levels = list(range(X.shape[1])), X.max(axis=0) + 1
    found = {}
    for name, options in OURS.items():
        net = EnergyNetTransformer(
            categorical_features=categories, random_state=seed, **options
        )
        drawn = net.fit(train).sample(len(test), N_STEPS, random_state=seed)
        found[name] = drawn.astype(int)
    mixtures = energynet.mixtures_of_levels(train, n_levels, seed)
    found["mixture"] = min(mixtures, key=lambda one: one.bic).sample(len(test))
    found["independent"] = mixtures[0].sample(len(test))
    found["BernoulliRBM"] = by_bernoulli_rbm(train, n_levels, len(test), seed)
    return {name: told_apart(test, drawn, seed) for name, drawn in found.items()}


def main():
    """Print a line for each table."""
    options = common.parse_options(__doc__, instances=5, quick_instances=1)
    common.warm_up()
    columns = "table ours ours-200-units mixture independent BernoulliRBM"
    shown = common.Table(f"{options.instances} splits", columns)
    for name, X in tables():
        seeds = range(options.seed, options.seed + options.instances)
        means = pd.DataFrame([measure(X, seed) for seed in seeds]).mean()
        far = (means - 0.5).abs()
        met = far["ours"] <= far.drop(list(OURS)).min()
        shown.row(name, *(f"{mean:.3f}" for mean in means), met=met)
    shown.close()


if __name__ == "__main__":
    results.record(main)
