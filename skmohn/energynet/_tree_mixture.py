"""Mixtures of trees: densities of categorical columns."""

# Rows come from one of some components, each of which has a tree of columns of its own
# (Meila and Jordan, Journal of Machine Learning Research 1, 2000). Expectation
# maximization weighs rows by the probabilities of their components; the tree of a
# component is then that of Chow and Liu. Sums over unknown states are exact.

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax, xlogy

from skmohn._core._tuned import tuned
from skmohn.energynet._hidden_tree import (
    UNKNOWN,
    HiddenChowLiuTree,
    chow_liu_tree,
)


@dataclass(frozen=True)
class TreeMixtureConstants:
    """Expectation maximization of mixtures of trees."""

    # Rows that are added to the counts of each component: as often as in all rows, and
    # with independent columns.
    pseudocount: float = tuned(1.0, "benchmarks/energynet/public_density.py")


_MIXTURE = TreeMixtureConstants()
# Observations of each pair of columns that are added to all rows.
_PAIR_OBSERVATIONS: Final = 1.0


@dataclass(frozen=True, eq=False)
class TreeMixture:
    """Mixture of trees of the same columns."""

    weights: np.ndarray  # (n_components,); their sum is 1
    trees: tuple[HiddenChowLiuTree, ...]

    @classmethod
    def mean(cls, mixtures: Sequence[Self]) -> Self:
        """Mixture of mixtures with the same weights."""
        weights = np.concatenate([mixture.weights for mixture in mixtures])
        trees = tuple(tree for mixture in mixtures for tree in mixture.trees)
        return cls(weights / len(mixtures), trees)

    def log_likelihood(self, states: NDArray[np.int16]) -> NDArray[np.float64]:
        """Log-likelihood of what is known of rows, in nats."""
        found: Any = logsumexp(self.log_joint(states), axis=1)
        return found

    def log_joint(self, states: NDArray[np.int16]) -> NDArray[np.float64]:
        """Log-likelihoods of rows and each component, (n_rows, n_components)."""
        found = np.stack([tree.log_likelihood(states) for tree in self.trees], axis=1)
        return found + np.log(self.weights)


@dataclass(frozen=True, eq=False)
class PairCounter:
    """Counts of pairs of states, of rows that are weighed."""

    # Pairs of which one state is unknown do not count.
    n_states: np.ndarray  # (d,), int
    # (n_rows, n_indicators), float32: of the states of columns from 1 on, then of what
    # is known, a column 1 where all is.
    indicators: np.ndarray
    # (n_indicators, d S), which makes indicators of all states of these.
    expansion: csr_array
    prior: np.ndarray  # (d, S, d, S), of independent columns; each pair sums to 1

    @classmethod
    def of(cls, states: NDArray[np.int16], n_states: NDArray[np.intp]) -> Self:
        """Code rows, whose frequencies are the prior."""
        (n_rows, d), n_max = states.shape, int(n_states.max())
        known = states != UNKNOWN
        is_complete = bool(known.all())
        column, state = np.nonzero(np.arange(1, n_max) < n_states[:, None])
        state += 1
        of_known = np.ones((n_rows, 1)) if is_complete else known
        indicators = np.hstack([states[:, column] == state, of_known])
        # The first state is what is known and none of the others.
        every, n_others = np.arange(d), len(column)
        which = n_others + (np.zeros(d, int) if is_complete else every)
        others = np.arange(n_others)
        rows = np.concatenate([others, which, others])
        columns = [column * n_max + state, every * n_max, column * n_max]
        values = np.repeat([1.0, 1.0, -1.0], [n_others, d, n_others])
        shape = indicators.shape[1], d * n_max
        expansion = csr_array((values, (rows, np.concatenate(columns))), shape)
        frequencies = np.arange(n_max) < n_states[:, None]
        frequencies = frequencies * (_PAIR_OBSERVATIONS / n_states[:, None])
        frequencies += (indicators.sum(axis=0) @ expansion).reshape(d, n_max)
        frequencies /= frequencies.sum(axis=1, keepdims=True)
        prior = np.multiply.outer(frequencies, frequencies)
        return cls(n_states, indicators.astype(np.float32), expansion, prior)

    def fit_tree(self, weights: NDArray[np.float64]) -> HiddenChowLiuTree:
        """Chow-Liu tree of rows of these weights."""
        weighed = self.indicators * weights[:, None].astype(np.float32)
        gram = (weighed.T @ self.indicators).astype(np.float64)
        counts: Any = self.expansion.T @ (self.expansion.T @ gram).T
        joint = np.maximum(counts.reshape(self.prior.shape), 0.0)
        joint += _MIXTURE.pseudocount * self.prior
        joint /= joint.sum(axis=(1, 3), keepdims=True)
        margin = joint.sum(axis=3)
        entropy = -xlogy(margin, margin).sum(axis=1)
        information = xlogy(joint, joint).sum(axis=(1, 3)) + entropy + entropy.T
        return self._tree(joint, *chow_liu_tree(information))

    def _tree(
        self,
        joint: NDArray[np.float64],  # (d, S, d, S), probabilities of pairs
        order: NDArray[np.intp],
        parents: NDArray[np.int64],
    ) -> HiddenChowLiuTree:
        """Tree whose hidden states are those of the columns."""
        n_max = joint.shape[1]
        transition = joint[order[parents], :, order, :]
        transition[0] = joint[order[0], :, order[0], :].sum(axis=0)
        total = transition.sum(axis=2, keepdims=True)
        # A parent has fewer states than another column.
        even = np.full_like(transition, 1.0 / n_max)
        transition = np.divide(transition, total, out=even, where=total > 0.0)
        emission = np.repeat(np.eye(n_max)[None], len(order), axis=0)
        return HiddenChowLiuTree(
            order, parents, transition, emission, self.n_states[order]
        )


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
