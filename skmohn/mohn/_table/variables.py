"""What varies on its own in a table: inputs, categoricals, and inputs with levels."""

from typing import NamedTuple

import numpy as np


class Variable(NamedTuple):
    """What varies on its own: an input, a categorical, or an input with its levels.

    Attributes
    ----------
    input, categorical : int or None
        Which ones; at least one of them.

    share : ndarray of shape (n_levels,)
        Probability of each category; of an input without a categorical, of its only
        level.

    mean, square : ndarrays of shape (n_levels,)
        Mean and mean square of the coded input in each; its mean over all is 0.
    """

    input: int | None
    categorical: int | None
    share: np.ndarray
    mean: np.ndarray
    square: np.ndarray


def make_input(i, spread=1.0):
    """An input by itself, of mean 0 and some variance: 1 for -1 and +1."""
    return Variable(i, None, np.ones(1), np.zeros(1), np.full(1, spread))


def make_categorical(k, n_categories):
    """A categorical whose categories are equally probable."""
    nothing = np.zeros(n_categories)
    return Variable(
        None, k, np.full(n_categories, 1.0 / n_categories), nothing, nothing
    )


def make_levels(i, k, thresholds):
    """An input that is uniform over [-1, 1], with levels that begin at thresholds."""
    edges = np.clip(np.concatenate([[-1.0], thresholds, [1.0]]), -1.0, 1.0)
    low, high = edges[:-1], edges[1:]
    square = (low**2 + low * high + high**2) / 3.0
    return Variable(i, k, (high - low) / 2.0, (low + high) / 2.0, square)


def make_variables(n_inputs, alphabets=()):
    """Inputs of -1 and +1 and categoricals, each by itself."""
    inputs = [make_input(i) for i in range(n_inputs)]
    return inputs + [
        make_categorical(k, alphabet.size) for k, alphabet in enumerate(alphabets)
    ]
