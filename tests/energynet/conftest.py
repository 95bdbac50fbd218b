"""Small RBMs whose every state can be listed."""

import numpy as np
import pytest
from support import all_states

from skmohn.energynet import RBM


def check_possible(V, groups):
    """Which rows have each column in a state of its own, by definition."""
    columns = np.split(V, np.cumsum(groups.sizes)[:-1], axis=1)
    return np.all(
        [
            (np.diff(column, axis=1) <= 0).all(axis=1)
            if is_ordered
            else column.sum(axis=1) <= 1
            for column, is_ordered in zip(columns, groups.is_ordered, strict=True)
        ],
        axis=0,
    )


class Listed:
    """An RBM with the exact probability of each joint state, by definition."""

    def __init__(self, rbm):
        self.rbm = rbm
        self.W = rbm.weights.astype(np.float64)
        self.b = rbm.hidden_bias.astype(np.float64)
        self.c = rbm.visible_bias.astype(np.float64)
        self.V, self.H = all_states(rbm.n_visible), all_states(rbm.n_hidden)
        if rbm.groups is not None:
            self.V = self.V[check_possible(self.V, rbm.groups)]
        exponent = (
            (self.V @ self.c)[:, None]
            + self.H @ self.b
            + np.einsum("vi,ji,hj->vh", self.V, self.W, self.H)
        )
        top = exponent.max()
        total = np.exp(exponent - top).sum()
        self.log_z = top + np.log(total)
        self.joint = np.exp(exponent - top) / total

    @property
    def log_likelihood(self):
        """Of every visible state."""
        return np.log(self.joint.sum(axis=1))


def random_rbm(n_visible, n_hidden, seed, scale=1.0, groups=None):
    rng = np.random.default_rng(seed)
    return RBM(
        rng.normal(0, scale, (n_hidden, n_visible)),
        rng.normal(size=n_hidden),
        rng.normal(size=n_visible),
        groups,
    )


@pytest.fixture(scope="session")
def are_possible():
    """Function that says which rows have each column in a state of its own."""
    return check_possible


@pytest.fixture(scope="session")
def list_states():
    """Function that makes a random RBM and lists its states."""
    return lambda *shape, seed, **options: Listed(
        random_rbm(*shape, seed=seed, **options)
    )


@pytest.fixture(scope="session")
def listed(list_states):
    """RBM of 5 visible and 4 hidden units."""
    return list_states(5, 4, seed=0)
