"""Mixtures of trees: densities of categorical columns."""

# Rows come from one of some components, each of which has a tree of columns of its own
# (Meila and Jordan, Journal of Machine Learning Research 1, 2000). Expectation
# maximization weighs rows by the probabilities of their components; the tree of a
# component is then that of Chow and Liu. Sums over unknown states are exact.

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from skmohn.energynet._chow_liu import ChowLiuTree, PairCounter
from skmohn.energynet._hidden_tree import HiddenChowLiuTree


@dataclass(frozen=True, eq=False)
class TreeMixture:
    """Mixture of trees of the same columns."""

    weights: np.ndarray  # (n_components,); their sum is 1
    trees: tuple[ChowLiuTree | HiddenChowLiuTree, ...]

    @classmethod
    def mean(cls, mixtures: Sequence[Self]) -> Self:
        """Mixture of mixtures with the same weights."""
        weights = np.concatenate([mixture.weights for mixture in mixtures])
        trees = tuple(tree for mixture in mixtures for tree in mixture.trees)
        return cls(weights / len(mixtures), trees)

    def log_likelihood(self, states: NDArray[np.int16]) -> NDArray[np.float64]:
        """Log-likelihood of the known values of rows, in nats."""
        found: Any = logsumexp(self.log_joint(states), axis=1)
        return found

    def log_joint(self, states: NDArray[np.int16]) -> NDArray[np.float64]:
        """Log-likelihoods of rows and each component, (n_rows, n_components)."""
        found = np.stack([tree.log_likelihood(states) for tree in self.trees], axis=1)
        return found + np.log(self.weights)


def start_responsibilities(
    states: NDArray[np.int16], n_components: int, seed: int
) -> NDArray[np.float64]:
    """Probabilities of components, by the distance of rows from some of them."""
    # Components that begin alike would stay so.
    distinct = np.unique(states, axis=0)
    rng = np.random.default_rng(seed)
    n_centers = min(n_components, len(distinct))
    centers = distinct[rng.choice(len(distinct), n_centers, replace=False)]
    distance = [np.sum(states != center, axis=1) for center in centers]
    return softmax(-np.stack(distance, axis=1).astype(np.float64), axis=1)


def improve_mixture(
    counter: PairCounter,
    states: NDArray[np.int16],  # those that are counted
    responsibilities: NDArray[np.float64],  # (n_rows, n_components)
) -> Iterator[TreeMixture]:
    """Mixtures after each step of expectation maximization, without an end."""
    while True:
        # One row more, of which it is not known where it is from.
        total = responsibilities.sum(axis=0) + 1.0 / responsibilities.shape[1]
        trees = tuple(counter.fit_tree(weights) for weights in responsibilities.T)
        mixture = TreeMixture(total / total.sum(), trees)
        yield mixture
        responsibilities = softmax(mixture.log_joint(states), axis=1)
