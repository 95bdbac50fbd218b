"""Anomalies: how well densities tell rows of other classes, beside scikit-learn.

Seven tenths of the rows of the normal class train, without labels; the others and all
rows of the other classes are told apart by the density. Digits 0 to 7 against 8 and 9
(gray levels in [0, 1]); each class of wine, the benign of cancer; good loans of german,
with categories; a class each of three tables of the data folder. Printed is the area
under the ROC curve, its mean over the splits, and the mean rank.

Ours: `EnergyNetTransformer` with the defaults, and with whitened numbers. Peers:
`IsolationForest`, `LocalOutlierFactor`, `GaussianMixture` with the covariance type and
number of components of the least BIC, `OneClassSVM`; the last three on standardized
columns, with indicators of categories.

Aimed at is that ours with the defaults has the first or second mean rank, and nowhere
less than 0.9 of the best.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM

from benchmarks.shared import common, results
from skmohn import EnergyNetTransformer

OURS, WHITENED = "ours", "whitened"
MAX_ROWS = 2000
# Table of the data folder, and its normal class.
FILES = {"magic": "g", "satimage": 1, "segment": 1}
TRAIN_FRACTION, MIN_RATIO = 0.7, 0.9


def problems():
    """Each table as a data frame, with which rows are normal, by name."""
    digits, wine, cancer = load_digits(), load_wine(), load_breast_cancer()
    yield "digits", pd.DataFrame(digits.data / 16.0), digits.target < 8
    for k in range(3):
        yield f"wine {k}", pd.DataFrame(wine.data), wine.target == k
    yield "cancer", pd.DataFrame(cancer.data), cancer.target == 1
    path = common.find_data("german_categorical.csv")
    if path is not None:
        german = pd.read_csv(path)
        label = german.pop(german.columns[-1])
        yield "german", german, (label == label.mode()[0]).to_numpy()
    for name, normal in FILES.items():
        path = common.find_data(f"tables/classification/{name}.csv")
        if path is not None:
            table = pd.read_csv(path).dropna()
            table = table.sample(min(len(table), MAX_ROWS), random_state=0)
            label = table.pop(table.columns[-1])
            yield name, table, (label == normal).to_numpy()


class Mixture:
    """The Gaussian mixture of the least BIC."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X):
        """Compare covariance types and numbers of components."""
        self.best = min(
            (
                GaussianMixture(
                    k, covariance_type=kind, reg_covar=1e-4, random_state=self.seed
                ).fit(X)
                for k in range(1, 6)
                for kind in ("full", "diag")
            ),
            key=lambda mixture: mixture.bic(X),
        )
        return self

    def score_samples(self, X):
        """Log density of each row."""
        return self.best.score_samples(X)


def models(seed):
    """Ours, which take tables as they are, and the peers."""
    ours = {
        name: EnergyNetTransformer(
            whiten=name == WHITENED, handle_unknown="missing", random_state=seed
        )
        for name in (OURS, WHITENED)
    }
    return ours, {
        "isolation": IsolationForest(random_state=seed),
        "neighbors": LocalOutlierFactor(novelty=True),
        "mixture": Mixture(seed),
        "SVM": OneClassSVM(),
    }


def areas(X, is_normal, seed):
    """Area under the ROC curve by model, and seconds of ours."""
    rng = np.random.default_rng(seed)
    normal = rng.permutation(np.flatnonzero(is_normal))
    known, rest = np.split(normal, [int(TRAIN_FRACTION * len(normal))])
    new = np.concatenate([rest, np.flatnonzero(~is_normal)])
    X = X.rename(columns=str)
    X = X.loc[:, X.iloc[known].nunique() > 1]
    train, test, is_odd = X.iloc[known], X.iloc[new], ~is_normal[new]
    is_text = make_column_selector(dtype_exclude="number")(train)
    coder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), is_text),
        remainder=StandardScaler(),
    ).fit(train)
    coded = coder.transform(train), coder.transform(test)
    ours, peers = models(seed)
    found = {}
    for name, model in (ours | peers).items():
        seen, asked = (train, test) if name in ours else coded
        seconds, _ = common.timed(model.fit, seen)
        found[name] = roc_auc_score(is_odd, -model.score_samples(asked))
        if name == OURS:
            found["seconds"] = seconds
    return found


def main():
    """Print a line for each problem, and mean ranks."""
    options = common.parse_options(__doc__, instances=5, quick_instances=1)
    common.clock = common.CLOCKS["cpu"]
    common.warm_up()
    warnings.simplefilter("ignore", ConvergenceWarning)
    shown = common.Table(
        f"{options.instances} splits",
        "table ours whitened isolation neighbors mixture SVM seconds",
    )
    rows = []
    for name, X, is_normal in problems():
        seeds = range(options.seed, options.seed + options.instances)
        runs = pd.DataFrame([areas(X, is_normal, seed) for seed in seeds]).mean()
        seconds = runs.pop("seconds")
        rows.append(runs)
        met = runs[OURS] >= MIN_RATIO * runs.max()
        shown.row(name, *(f"{area:.3f}" for area in runs), f"{seconds:.1f}", met=met)
    ranks = pd.DataFrame(rows).drop(columns=WHITENED).rank(axis=1, ascending=False)
    means = ranks.mean()
    met = means[OURS] <= means.nsmallest(2).max()
    cells = [f"{means[name]:.2f}" if name in means else "" for name in rows[0].index]
    shown.row("mean rank", *cells, "", met=met)
    shown.close()


if __name__ == "__main__":
    results.record(main)
