"""What the scripts about skmohn.blm share: tables, peers, scores.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository.
"""

import csv
import gzip
import warnings

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.neural_network._stochastic_optimizers import AdamOptimizer
from sklearn.preprocessing import StandardScaler, label_binarize

from benchmarks.shared import common
from skmohn.blm._network import forward

FILES = {
    "abalone": "abalone.csv",
    "yeast": "yeast.csv",
    "house": "house_16H.csv.gz",
}


def load(name):
    """Return inputs and target of a table; None with a printed line if it is missing.

    Inputs are scaled to [-1, 1]; a target that is a number is scaled to [0, 1].
    """
    path = common.data_folder() / FILES[name]
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


def to_grid(weights, n_bits, step):
    """Round weights to the multiples of the step that have a code of so many bits."""
    highest = 2 ** (n_bits - 1) - 1
    return np.clip(np.rint(weights / step), -highest - 1, highest) * step


class StraightThrough:
    """Network of tanh units trained by gradients through the rounding of its weights.

    Outputs are computed with rounded weights. Their gradient goes to the weights in
    double precision behind them as if nothing were rounded (straight-through estimator
    of Bengio, Leonard and Courville 2013) and to the step of each layer's grid (learned
    step size quantisation, Esser et al. 2020, Eq 3). Adam on minibatches, with a rate
    that falls to zero as a cosine; kept are the weights of the best epoch. Loss and
    penalty are those of scikit-learn's MLP.

    Parameters
    ----------
    n_bits : int
    alpha : float
    rate : float
        Of Adam, at the start.
    n_epochs : int
    random_state : int or tuple of int
    """

    n_batch = 64

    def __init__(self, n_bits, alpha, rate, n_epochs, random_state):
        self.n_bits = n_bits
        self.alpha = alpha
        self.rate = rate
        self.n_epochs = n_epochs
        self.random_state = random_state

    def fit(self, X, y, mlp, steps):
        """Go on from the network `mlp`, rounded to these steps, one for each layer."""
        rng = np.random.default_rng(self.random_state)
        self.out_activation_ = mlp.out_activation_
        target = y[:, None]
        if is_classifier(mlp):
            target = label_binarize(y, classes=mlp.classes_)
        # A layer is a matrix whose first row has the biases; steps are kept as logs.
        pairs = zip(mlp.intercepts_, mlp.coefs_, strict=True)
        parameters = [*map(np.vstack, pairs), np.log(steps)]
        adam = AdamOptimizer(parameters)
        n_batches = -(-len(X) // self.n_batch)
        moments = np.linspace(0, np.pi, self.n_epochs * n_batches)
        rates = iter(self.rate * (1 + np.cos(moments)) / 2)
        self.loss_ = np.inf
        for _ in range(self.n_epochs):
            for rows in np.array_split(rng.permutation(len(X)), n_batches):
                adam.learning_rate_init = next(rates)
                gradients = self._gradients(parameters, X[rows], target[rows], len(X))
                adam.update_params(parameters, gradients)
            loss = self._loss(parameters, X, target)
            if loss < self.loss_:
                self.loss_, rounded = loss, self._rounded(parameters)
        self.coefs_, self.intercepts_ = _split(rounded)
        return self

    def _rounded(self, parameters):
        *layers, logs = parameters
        return [
            to_grid(layer, self.n_bits, step)
            for layer, step in zip(layers, np.exp(logs), strict=True)
        ]

    def _loss(self, parameters, X, target):
        coefs, intercepts = _split(self._rounded(parameters))
        outputs = forward(X, coefs, intercepts, "tanh", self.out_activation_)
        price = self.alpha / 2 / len(X) * sum((coef**2).sum() for coef in coefs)
        if self.out_activation_ == "softmax":
            return log_loss(target, outputs) + price
        return mean_squared_error(target, outputs) / 2 + price

    def _gradients(self, parameters, X, target, n_samples):
        """Gradient of the loss of a batch, by layers and then by logs of the steps."""
        *layers, logs = parameters
        rounded = self._rounded(parameters)
        coefs, intercepts = _split(rounded)
        units = [X]
        for coef, intercept in zip(coefs[:-1], intercepts[:-1], strict=True):
            units.append(np.tanh(units[-1] @ coef + intercept))
        outputs = forward(
            units[-1], coefs[-1:], intercepts[-1:], "tanh", self.out_activation_
        )
        gap = (outputs - target) / len(X)
        gradients, of_logs = [None] * len(layers), np.empty(len(layers))
        for k in reversed(range(len(layers))):
            gradient = np.vstack([gap.sum(axis=0), units[k].T @ gap])
            gradient[1:] += self.alpha / n_samples * coefs[k]
            gap = gap @ coefs[k].T * (1 - units[k] ** 2)
            # Beyond the ends of the grid only the step makes a difference.
            is_inside = np.abs(layers[k] - rounded[k]) <= np.exp(logs[k]) / 2
            of_logs[k] = np.sum(gradient * (rounded[k] - layers[k] * is_inside))
            gradients[k] = gradient * is_inside
        return [*gradients, of_logs]


def _split(layers):
    """Weights and biases of layers whose first rows are the biases."""
    return [layer[1:] for layer in layers], [layer[0] for layer in layers]
