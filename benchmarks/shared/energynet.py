"""What the scripts about skmohn.energynet share: data, peers, likelihoods.

MNIST and the tables are read from the folder named by the environment variable
SKMOHN_DATA, else from shared/data next to the repository.
"""

import csv
import warnings

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM
from sklearn.preprocessing import StandardScaler

from benchmarks.shared import common
from skmohn import EnergyNetTransformer, InfiniteRBMOptions
from skmohn.energynet import RBM, annealed_importance_sampling

# The four sets of Kristiansen and Gonzalvo (2017) with their Gamma; tables have columns
# of any range, images pixels.
TABLES = {"german": "german_numeric.csv", "diabetes": "pima.csv"}
IMAGES = {"mnist": "mnist.npz", "cifar-10": "cifar10_subset.npz"}
GAMMA = {"german": 0.1, "diabetes": 0.1, "mnist": 0.8, "cifar-10": 0.1}
# An estimate of a partition function by fewer effective chains is not to be trusted.
MIN_ESS = 10.0


def mnist(n_train=10_000, n_test=10_000):
    """Return the first images in [0, 1] and labels of both sets; None if missing."""
    path = common.find_data("mnist.npz")
    if path is None:
        return None
    with np.load(path) as arrays:
        return (
            as_rows(arrays["X_train"][:n_train]),
            arrays["y_train"][:n_train],
            as_rows(arrays["X_test"][:n_test]),
            arrays["y_test"][:n_test],
        )


def published_set(report, name, n_rows=None, part="train"):
    """Return rows and labels of a set of the paper; end the script without it.

    Parameters
    ----------
    report : Report
    name : str
        One of ``GAMMA``.
    n_rows : int, default=None
        The most images; None for all that there are.
    part : {"train", "test"}, default="train"
        Which images.

    Returns
    -------
    X, y : ndarrays
        Images are in [0, 1].
    """
    path = report.data((TABLES | IMAGES)[name])
    if name in IMAGES:
        with np.load(path) as arrays:
            rows = as_rows(arrays[f"X_{part}"][:n_rows])
            return rows, arrays[f"y_{part}"][:n_rows]
    with open(path, newline="", encoding="utf-8") as file:
        rows = np.array(list(csv.reader(file))[1:], dtype=float)
    return rows[:, :-1], rows[:, -1].astype(int)


def published_growth(name, batch_size, seed, **parameters):
    """Return the estimator that grows layers as the paper does.

    Parameters
    ----------
    name : str
        One of ``GAMMA``.
    batch_size : int
        What the paper leaves open.
    seed : int
    **parameters : dict
        Further ones of EnergyNetTransformer.

    Returns
    -------
    net : EnergyNetTransformer
    """
    control = InfiniteRBMOptions(beta=1.01, threshold=GAMMA[name], p=2.0)
    net = EnergyNetTransformer(
        "infinite_rbm",
        max_layers=10,
        learning_rate=0.01,
        batch_size=batch_size,
        n_final_epochs=0,
        coding="minmax",
        infinite_rbm_options=control,
        n_temperatures=1000,
        random_state=seed,
    )
    return net.set_params(**parameters)


def as_layers(widths):
    """Write widths of layers as the paper does."""
    return ", ".join(map(str, widths))


def as_rows(images):
    """Turn images of bytes into rows of numbers in [0, 1], float32."""
    return images.reshape(len(images), -1).astype(np.float32) / 255


def digits_bits(seed):
    """Return training and test rows of scikit-learn's digits, as bits."""
    X = (load_digits().data >= 8).astype(np.float32)
    return train_test_split(X, test_size=0.25, random_state=seed)


def mnist_bits(n_train, n_test, seed):
    """Return training and test rows of MNIST, each intensity a probability of 1."""
    data = mnist(n_train, n_test)
    if data is None:
        return None
    rng = np.random.default_rng(seed)
    return [(rng.random(X.shape, np.float32) < X).astype(np.float32) for X in data[::2]]


def fitted(estimator, X, y=None):
    """Fit without warnings; return the model and its seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, model = common.timed(estimator.fit, X, y)
    return model, seconds


def as_rbm(model):
    """Return the machine that a fitted BernoulliRBM or our single layer is."""
    if isinstance(model, BernoulliRBM):
        return RBM(model.components_, model.intercept_hidden_, model.intercept_visible_)
    return RBM(model.weights_[0], model.hidden_bias_[0], model.visible_bias_[0])


def for_seconds(make, X, seconds):
    """Fit for as many epochs as the seconds allow.

    Parameters
    ----------
    make : callable
        Returns an estimator for a number of epochs.
    X : ndarray of shape (n_samples, n_features)
    seconds : float

    Returns
    -------
    model : object
    epochs : int
    spent : float
        Seconds of the whole fit.
    """
    few, many = 1, 3
    _, start = fitted(make(few), X)
    _, end = fitted(make(many), X)
    epochs = few
    # The first guess is from short fits and the second from one as long as wanted.
    for _ in range(2):
        # Short fits differ by chance; no epoch takes a tenth of the mean of them all.
        pace = max((end - start) / (many - few), end / many / 10)
        epochs = max(int(few + (seconds - start) / pace), 1)
        model, spent = fitted(make(epochs), X)
        if epochs == few or abs(spent - seconds) < 0.05 * seconds:
            break
        many, end = epochs, spent
    return model, epochs, spent


def log_likelihood(rbm, X_train, X_test, n_temperatures, seed):
    """Return the mean of test rows, its AIS error and effective sample size."""
    z = annealed_importance_sampling(
        rbm, X_train, n_temperatures=n_temperatures, random_state=seed
    )
    mean = float(-rbm.free_energy(X_test).mean()) - z.value
    return mean, z.standard_error, z.effective_sample_size


def layer(n_components, seed, **parameters):
    """Return our estimator of one layer of a given width."""
    return EnergyNetTransformer(None, n_components, random_state=seed, **parameters)


class RandomFeatures(TransformerMixin, BaseEstimator):
    """Logistic units with random weights, standardized as ours are.

    Parameters
    ----------
    n_components : int
    scale : float
        Standard deviation of the activations of a unit on the training rows.
    random_state : int
    """

    def __init__(self, n_components=100, scale=1.0, random_state=0):
        self.n_components = n_components
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y=None):
        """Draw the weights."""
        rng = np.random.default_rng(self.random_state)
        self.weights_ = rng.standard_normal((X.shape[1], self.n_components))
        active = X @ self.weights_
        self.middle_ = active.mean(axis=0)
        self.factor_ = self.scale / active.std(axis=0)
        self.scaler_ = StandardScaler().fit(self._units(X))
        return self

    def transform(self, X):
        """Compute the standardized units."""
        return self.scaler_.transform(self._units(X))

    def _units(self, X):
        return expit((X @ self.weights_ - self.middle_) * self.factor_)


class CategoricalMixture:
    """Mixture of independent columns of levels, by expectation maximization."""

    def __init__(self, n_components, n_levels, seed):
        self.n_components, self.n_levels, self.seed = n_components, n_levels, seed

    def fit(self, levels, n_iter=100):
        """Estimate shares, and level probabilities with half a count more each."""
        one_hot = np.concatenate(
            [np.eye(n)[levels[:, j]] for j, n in enumerate(self.n_levels)], axis=1
        )
        starts = np.cumsum(self.n_levels) - self.n_levels
        rng = np.random.default_rng(self.seed)
        share = rng.dirichlet(np.full(self.n_components, 0.3), len(levels))
        for _ in range(n_iter):
            counts = share.T @ one_hot + 0.5 / self.n_components
            totals = np.repeat(
                np.add.reduceat(counts, starts, axis=1), self.n_levels, axis=1
            )
            self.log_levels = np.log(counts / totals)
            self.log_shares = np.log(share.mean(axis=0) + 1e-12)
            joint = one_hot @ self.log_levels.T + self.log_shares
            share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        self.one_hot_starts = starts
        total = logsumexp(joint, axis=1).sum()
        n_free = self.n_components * (1 + np.sum(np.array(self.n_levels) - 1)) - 1
        self.bic = n_free * np.log(len(levels)) - 2 * total
        return self

    def score_samples(self, levels):
        """Log-probability of each row."""
        places = levels + self.one_hot_starts
        joint = self.log_shares + np.stack(
            [self.log_levels[:, row].sum(axis=1) for row in places]
        )
        return logsumexp(joint, axis=1)

    def sample(self, n_samples):
        """Draw rows of levels."""
        rng = np.random.default_rng(self.seed)
        shares = np.exp(self.log_shares - logsumexp(self.log_shares))
        kinds = rng.choice(self.n_components, n_samples, p=shares)
        ends = self.one_hot_starts + self.n_levels
        columns = [
            [rng.choice(end - start, p=part / part.sum()) for part in parts]
            for start, end in zip(self.one_hot_starts, ends, strict=True)
            for parts in [np.exp(self.log_levels[kinds, start:end])]
        ]
        return np.array(columns).T


def mixtures_of_levels(levels, n_levels, seed=0):
    """Mixtures of 1 to 16 components, the first of which has independent columns."""
    sizes = (1, 2, 3, 4, 6, 8, 12, 16)
    return [CategoricalMixture(k, n_levels, seed).fit(levels) for k in sizes]
