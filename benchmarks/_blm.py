"""What the scripts about skmohn.blm share: tables, peers, scores.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository.
"""

import _common as common  # noqa: I001  # before numpy

import csv
import gzip
import os
import warnings
from pathlib import Path

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.preprocessing import StandardScaler

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
FILES = {
    "abalone": "abalone.csv",
    "yeast": "yeast.csv",
    "house": "house_16H.csv.gz",
}


def load(name):
    """Return inputs and target of a table; None with a printed line if it is missing.

    Inputs are scaled to [-1, 1]; a target that is a number is scaled to [0, 1].
    """
    path = Path(os.environ.get("SKMOHN_DATA", DEFAULT_FOLDER)) / FILES[name]
    if not path.exists():
        print(f"{name}: left out, no {path.name}; set SKMOHN_DATA to its folder\n")
        return None
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    target = np.array([row[-1] for row in rows])
    columns = [np.array(column) for column in zip(*rows, strict=True)][:-1]
    X = np.column_stack([_numbers(column) for column in columns])
    X = 2 * scaled_to_unit(X) - 1
    if name == "yeast":
        return X, target
    return X, scaled_to_unit(target.astype(float))


def _numbers(column):
    """One column of numbers, or one for each label."""
    try:
        return column.astype(float)
    except ValueError:
        return (column[:, None] == np.unique(column)).astype(float)


def scaled_to_unit(values):
    """Map each column's range to [0, 1]."""
    low, high = values.min(axis=0), values.max(axis=0)
    return (values - low) / (high - low)


def rmse(target, output):
    """Root of the mean squared error, over all outputs."""
    return float(np.sqrt(np.mean((target - output) ** 2)))


def fitted(estimator, X, y):
    """Fit without warnings about the end of the time; return model and seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, model = common.timed(estimator.fit, X, y)
    return model, seconds


def with_error(differences):
    """Return a mean as text, its standard error as text, and the mean."""
    differences = np.asarray(differences)
    mean = differences.mean()
    if len(differences) < 2:
        return f"{mean:+.5f}", "-", mean
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{mean:+.5f}", f"{error:.5f}", mean


class ELM(RegressorMixin, BaseEstimator):
    """Extreme learning machine: random tanh units and a ridge regression on them.

    Parameters
    ----------
    n_units : int
    random_state : int
    """

    def __init__(self, n_units=1000, random_state=0):
        self.n_units = n_units
        self.random_state = random_state

    def fit(self, X, y):
        """Draw the units and fit their weights; the penalty by leave-one-out."""
        rng = np.random.default_rng(self.random_state)
        self.scaler_ = StandardScaler().fit(X)
        self.coef_ = rng.standard_normal((X.shape[1], self.n_units))
        self.coef_ /= np.sqrt(X.shape[1])
        self.intercept_ = rng.uniform(-1, 1, self.n_units)
        units = self._units(X)
        self.middle_, self.mean_ = units.mean(axis=0), y.mean(axis=0)
        units -= self.middle_
        gap = y - self.mean_
        # What RidgeCV does, by one eigendecomposition of the smaller matrix.
        sizes, axes = eigh(units.T @ units, driver="evd")
        turned = units @ axes
        target = turned.T @ gap
        squares, best = turned**2, np.inf
        for penalty in np.logspace(-4, 4, 17):
            shrunk = 1.0 / (np.maximum(sizes, 0.0) + penalty)
            weights = (target.T * shrunk).T
            left = 1.0 - squares @ shrunk - 1.0 / len(X)
            error = np.mean(((gap - turned @ weights).T / left) ** 2)
            if error < best:
                best, self.alpha_, self.weights_ = error, penalty, axes @ weights
        return self

    def predict(self, X):
        """Predict targets."""
        return (self._units(X) - self.middle_) @ self.weights_ + self.mean_

    def _units(self, X):
        return np.tanh(self.scaler_.transform(X) @ self.coef_ + self.intercept_)
