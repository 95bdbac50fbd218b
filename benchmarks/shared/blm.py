"""What the scripts about skmohn.blm share: tables, peers, scores.

The tables are read from the folder named by the environment variable SKMOHN_DATA, else
from shared/data next to the repository.
"""

import csv
import gzip
import warnings

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, label_binarize

from benchmarks.shared import common
from skmohn import BLMClassifier, BLMRegressor
from skmohn.blm._network import forward

FILES = {
    "abalone": "abalone.csv",
    "yeast": "yeast.csv",
    "house": "house_16H.csv.gz",
}
# The paper's search on all tables and on the spirals; it ends at a local minimum of all
# bits, and nowhere else.
PUBLISHED_SEARCH = {
    "n_bits": 12,
    "search": "gray",
    "perturbation": 0,
    "standardize": False,
    "tol": 0,
    "n_iter_no_change": 10**9,
    "max_flips": 10**9,
}


def load(name):
    """Return inputs and target of a table; None and a printed line if it is missing."""
    path = common.find_data(FILES[name])
    if path is None:
        return None
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    target = np.array([row[-1] for row in rows])
    columns = [np.array(column) for column in zip(*rows, strict=True)][:-1]
    X = np.column_stack([_numbers(column) for column in columns])
    return X, target if name == "yeast" else target.astype(float)


def split(X, y, seed):
    """Draw 70 % of the rows to train on; the scales are learned on these alone.

    Inputs are scaled to [-1, 1], a target of floats to [0, 1].

    Returns
    -------
    X_train, X_test, y_train, y_test : ndarrays
    """
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=0.7, random_state=seed
    )
    scaler = MinMaxScaler((-1, 1)).fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    if y.dtype.kind == "f":
        low, high = y_train.min(), y_train.max()
        y_train, y_test = ((part - low) / (high - low) for part in (y_train, y_test))
    return X_train, X_test, y_train, y_test


def _numbers(column):
    """One column of numbers, or one for each label."""
    try:
        return column.astype(float)
    except ValueError:
        return (column[:, None] == np.unique(column)).astype(float)


def rmse(target, output):
    """Root of the mean squared error, over all outputs."""
    return float(np.sqrt(np.mean((target - output) ** 2)))


def fitted(estimator, X, y):
    """Fit without warnings about the end of the time; return model and seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, model = common.timed(estimator.fit, X, y)
    return model, seconds


def warm_up():
    """Compile what our networks need, before any timing."""
    X = np.linspace(-1, 1, 20)[:, None]
    for search in ("adaptive", "gray"):
        options = {"hidden_layer_sizes": (2,), "search": search, "max_flips": 200}
        fitted(BLMRegressor(**options), X, X.ravel())
        fitted(BLMClassifier(**options), X, X.ravel() > 0)


class Watch:
    """Callback that looks at a network after each epoch.

    Parameters
    ----------
    look : callable
        Takes the network; the fit ends once it returns true.
    """

    def __init__(self, look):
        self.look = look

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do before an epoch."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        """Return whether to stop."""
        return bool(self.look(fitted_estimator))


def with_error(differences):
    """Return a mean as text, its standard error as text, and the mean."""
    differences = np.asarray(differences)
    mean = differences.mean()
    if len(differences) < 2:
        return f"{mean:+.5f}", "-", mean
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{mean:+.5f}", f"{error:.5f}", mean


class RandomUnits(TransformerMixin, BaseEstimator):
    """Logistic units with weights and biases drawn from [-1, 1].

    Parameters
    ----------
    n_units : int
    random_state : int
    """

    def __init__(self, n_units, random_state):
        self.n_units = n_units
        self.random_state = random_state

    def fit(self, X, y=None):
        """Draw the units."""
        rng = np.random.default_rng(self.random_state)
        self.coef_ = rng.uniform(-1, 1, (X.shape[1], self.n_units))
        self.intercept_ = rng.uniform(-1, 1, self.n_units)
        return self

    def transform(self, X):
        """Compute their outputs."""
        return expit(X @ self.coef_ + self.intercept_)


def make_elm(n_units, penalty, random_state):
    """Make an extreme learning machine: a ridge regression on random units."""
    ridge = Ridge(alpha=penalty, fit_intercept=False, solver="cholesky")
    return make_pipeline(RandomUnits(n_units, random_state), ridge)


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
        adam = _Adam(parameters)
        n_batches = -(-len(X) // self.n_batch)
        moments = np.linspace(0, np.pi, self.n_epochs * n_batches)
        rates = iter(self.rate * (1 + np.cos(moments)) / 2)
        self.loss_ = np.inf
        for _ in range(self.n_epochs):
            for rows in np.array_split(rng.permutation(len(X)), n_batches):
                gradients = self._gradients(parameters, X[rows], target[rows], len(X))
                adam.step(gradients, next(rates))
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


class _Adam:
    """Adam with the constants of its authors (Kingma and Ba 2015, algorithm 1)."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.means = [np.zeros_like(each) for each in parameters]
        self.squares = [np.zeros_like(each) for each in parameters]
        self.n_steps = 0

    def step(self, gradients, rate):
        """Change the parameters in place."""
        self.n_steps += 1
        rate *= np.sqrt(1 - 0.999**self.n_steps) / (1 - 0.9**self.n_steps)
        moments = zip(self.parameters, self.means, self.squares, gradients, strict=True)
        for parameter, mean, square, gradient in moments:
            mean[...] = 0.9 * mean + (1 - 0.9) * gradient
            square[...] = 0.999 * square + (1 - 0.999) * gradient**2
            parameter -= rate * mean / (np.sqrt(square) + 1e-8)
