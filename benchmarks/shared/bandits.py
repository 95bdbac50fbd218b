"""A neural network tuned by Gaussian-process bandits, as in the EnergyNet paper."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skopt import gp_minimize
from skopt.space import Categorical, Integer, Real


def tuned_network(X, y, n_candidates, seed, *, layers=None, largest=None):
    """Tune a network by Gaussian-process bandits, over the ranges of the paper.

    Candidates are judged by their accuracy on a fifth of the rows.

    Parameters
    ----------
    X, y : ndarrays
    n_candidates : int
        At least 4.
    seed : int
    layers : tuple of int, default=None
        Widths; None to search one to three layers of 16 to `largest` units, too.
    largest : int, default=None

    Returns
    -------
    model : Pipeline
        The best one, fitted to all rows.
    """
    split = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    space = [Real(1e-4, 0.5, prior="log-uniform"), Categorical([16, 32, 64, 128])]
    if layers is None:
        most = int(np.log2(largest))
        space += [Integer(1, 3), *(Integer(4, most) for _ in range(3))]

    def network(point):
        rate, batch_size, *shape = point
        widths = layers or tuple(2 ** int(k) for k in shape[1 : 1 + shape[0]])
        mlp = MLPClassifier(
            widths, learning_rate_init=rate, batch_size=int(batch_size),
            early_stopping=True, max_iter=200, random_state=seed,
        )  # fmt: skip
        return make_pipeline(StandardScaler(), mlp)

    def error(point):
        try:
            model = _fitted(network(point), split[0], split[2])
        except ValueError:
            # The learning rate was too high: weights are no longer finite.
            return 1.0
        return 1.0 - model.score(split[1], split[3])

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The objective has been evaluated at point")
        found = gp_minimize(
            error, space, n_calls=n_candidates, acq_func="EI", random_state=seed,
            n_initial_points=max(n_candidates // 3, 2),
        )  # fmt: skip
    return _fitted(network(found.x), X, y)


def _fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)
