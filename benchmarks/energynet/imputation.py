"""Imputation beside scikit-learn's imputers: cells unknown at random, and in blocks.

Wine, cancer, diabetes and digits (gray levels in [0, 1]) of scikit-learn; german,
which has numbers and categories. Three quarters of the rows train. In both parts 20 %
of the cells are unknown: each by itself, or in half of the rows two fifths of the
columns, side by side. Printed for the test rows is the error, its mean over the
splits: of numbers the root of the mean square in standard deviations, of categories
the fraction of wrong ones, the mean of both where a table has both; and how often 90 %
intervals of ours, of 100 draws, hold the number. Where draws are equal to it, as those
of gray levels, which are bits, an interval of whole values holds more than 90 % of
them; so such a number takes a place among its equals by chance, as in the randomized
probability integral transform, and is held where that is within the middle 90 %.

Peers: the mean or the most frequent category; `KNNImputer` on standardized columns;
`IterativeImputer` with `BayesianRidge` and with a forest. They see categories as
indicators, of which the largest is taken.

Aimed at is an error that is the lowest, or within a standard error of it over the
splits, on at least half of the rows, and intervals that hold 0.85 to 0.95.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
)
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common, results
from skmohn import EnergyNetImputer

SHARE, BLOCK = 0.2, 0.4
N_DRAWS = 100
OURS = "ours"


def tables():
    """Each table by its name, as a data frame; without those whose file is missing."""
    loaders = {
        "wine": load_wine,
        "cancer": load_breast_cancer,
        "diabetes": load_diabetes,
        "digits": load_digits,
    }
    found = {name: pd.DataFrame(load().data) for name, load in loaders.items()}
    found["digits"] /= 16.0
    path = common.find_data("german_categorical.csv")
    if path is not None:
        german = pd.read_csv(path)
        found["german"] = german.drop(columns=german.columns[-1])
    return {name: _with_types(X) for name, X in found.items()}


def _with_types(X):
    """Columns of text as categories, the others as numbers that vary."""
    X = X.loc[:, X.nunique() > 1].rename(columns=str)
    text = X.select_dtypes(exclude="number").columns
    return X.astype({name: "category" if name in text else float for name in X})


def holes(shape, in_blocks, rng):
    """Which cells are unknown."""
    if not in_blocks:
        return rng.random(shape) < SHARE
    found = np.zeros(shape, bool)
    width = max(round(BLOCK * shape[1]), 1)
    for row in np.flatnonzero(rng.random(shape[0]) < SHARE / BLOCK):
        start = rng.integers(shape[1] - width + 1)
        found[row, start : start + width] = True
    return found


class Indicators:
    """Imputes a table as numbers: standardized columns, indicators of categories."""

    def __init__(self, imputer):
        self.imputer, self.scaler = imputer, StandardScaler()

    def fit_impute(self, train, test):
        """Learn from a table; return the other one without gaps."""
        known, new = self._coded(train, self.scaler.fit), self._coded(test)
        filled = self.imputer.fit(known).transform(new)
        numbers, text = _kinds(test)
        found = test.copy()
        found[numbers] = self.scaler.inverse_transform(filled[:, : len(numbers)])
        start = len(numbers)
        for name in text:
            kinds = test[name].cat.categories
            codes = filled[:, start : start + len(kinds)].argmax(axis=1)
            found[name] = pd.Categorical.from_codes(codes, kinds)
            start += len(kinds)
        return found

    def _coded(self, X, look=None):
        numbers, text = _kinds(X)
        if look:
            look(X[numbers])
        blocks = [self.scaler.transform(X[numbers])]
        for name in text:
            is_there = pd.get_dummies(X[name], dtype=float)
            blocks.append(is_there.mask(X[name].isna()))
        return np.hstack(blocks)


def _kinds(X):
    """Names of the columns of numbers, and of categories."""
    text = list(X.select_dtypes("category").columns)
    return [name for name in X if name not in text], text


def peers(seed):
    """Imputers of scikit-learn by their names."""
    forest = ExtraTreesRegressor(20, random_state=seed)
    imputers = {
        "mean": SimpleImputer(),
        "neighbors": KNNImputer(),
        "ridge": IterativeImputer(random_state=seed),
        "forest": IterativeImputer(forest, max_iter=3, random_state=seed),
    }
    return {name: Indicators(imputer) for name, imputer in imputers.items()}


def error_of(found, test, unknown, scale):
    """Root mean square in deviations, and rate of wrong categories; their mean."""
    squares, wrong = [], []
    for j, name in enumerate(test):
        rows = unknown[:, j]
        if test[name].dtype == "category":
            wrong.append((found[name].astype(str) != test[name].astype(str))[rows])
        else:
            error = found[name].astype(float) - test[name]
            squares.append((error[rows] / scale[name]) ** 2)
    errors = []
    if squares:
        errors.append(np.sqrt(np.concatenate(squares).mean()))
    if wrong:
        errors.append(np.concatenate(wrong).mean())
    return float(np.mean(errors))


def held(draws, test, unknown, rng):
    """How many numbers are within the 90 % intervals of draws."""
    inside = []
    for j, name in enumerate(test):
        if test[name].dtype != "category":
            values = np.stack(
                [draw[name].astype(float)[unknown[:, j]] for draw in draws]
            )
            inside.append(are_held(values, test[name][unknown[:, j]].to_numpy(), rng))
    return float(np.concatenate(inside).mean())


def are_held(values, truth, rng):
    """Which numbers have a rank among draws, (n_draws, n), that is in the middle."""
    n_below, n_equal = (values < truth).sum(axis=0), (values == truth).sum(axis=0)
    # A number has any place from before the first of its equals to after the last.
    rank = n_below + rng.random(len(truth)) * (n_equal + 1)
    return np.abs(rank / (len(values) + 1) - 0.5) <= 0.45


def measure(X, in_blocks, seed):
    """Errors by imputer, how much intervals hold, and seconds of ours."""
    train, test = train_test_split(X, test_size=0.25, random_state=seed)
    train, test = train.reset_index(drop=True), test.reset_index(drop=True)
    rng = np.random.default_rng(seed)
    known = train.mask(holes(train.shape, in_blocks, rng))
    unknown = holes(test.shape, in_blocks, rng)
    new, scale = test.mask(unknown), train.std(numeric_only=True)
    scale = scale.where(scale > 0, 1.0)
    found = {}
    ours = EnergyNetImputer(random_state=seed).set_output(transform="pandas")
    seconds, filled = common.timed(lambda: ours.fit(known).transform(new))
    found[OURS] = error_of(filled, test, unknown, scale)
    net = ours.transformer_.set_output(transform="pandas")
    draws = net.impute(new, n_draws=N_DRAWS, random_state=seed)
    found["held"], found["seconds"] = held(draws, test, unknown, rng), seconds
    for name, peer in peers(seed).items():
        found[name] = error_of(peer.fit_impute(known, new), test, unknown, scale)
    return found


def main():
    """Print a line for each table and kind of missing values."""
    options = common.parse_options(
        __doc__,
        instances=5,
        quick_instances=1,
        add_arguments=lambda parser: parser.add_argument(
            "--tables", nargs="*", help="these tables alone"
        ),
    )
    common.clock = common.CLOCKS["cpu"]
    common.warm_up()
    warnings.simplefilter("ignore", ConvergenceWarning)
    shown = common.Table(
        f"{options.instances} splits",
        "table gaps ours mean neighbors ridge forest held seconds",
    )
    seeds = range(options.seed, options.seed + options.instances)
    met = []
    for name, X in tables().items():
        if options.tables and name not in options.tables:
            continue
        for in_blocks in (False, True):
            runs = pd.DataFrame([measure(X, in_blocks, seed) for seed in seeds])
            holds, seconds = runs.pop("held").mean(), runs.pop("seconds").mean()
            means, best = runs.mean(), runs.mean().idxmin()
            error = (runs[OURS] - runs[best]).sem() if len(runs) > 1 else 0.0
            met.append(means[OURS] <= means[best] + error)
            shown.row(
                name,
                "blocks" if in_blocks else "cells",
                *(f"{mean:.3f}" for mean in means),
                f"{holds:.3f}",
                f"{seconds:.1f}",
                met=met[-1] and 0.85 <= holds <= 0.95,
            )
    shown.close()
    print(f"The best or level with it on {sum(met)} of {len(met)} rows")


if __name__ == "__main__":
    results.record(main)
