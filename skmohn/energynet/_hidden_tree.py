"""Hidden Chow-Liu tree: a density of categorical columns."""

# Each column has a hidden variable of K states, which alone gives the column's state.
# The hidden variables form the tree that has the largest mutual information between
# columns (Chow and Liu, IEEE Transactions on Information Theory 14, 1968), and all else
# is learned by expectation maximization. Sums over hidden and unknown states are exact.

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from skmohn._core._tuned import tuned
from skmohn.energynet import _hidden_tree_kernels as kernels

# State of a column that is unknown.
UNKNOWN: Final = -1


@dataclass(frozen=True)
class HiddenTreeConstants:
    """Expectation maximization of hidden trees."""

    # Rows of an update, fewer where an epoch would have less than so many updates, and
    # its step size, which falls linearly to the last one.
    batch_size: int = tuned(256, "benchmarks/energynet/public_density.py")
    n_updates: int = tuned(5, "benchmarks/energynet/public_density.py")
    first_step: float = tuned(0.5, "benchmarks/energynet/public_density.py")
    last_step: float = tuned(0.05, "benchmarks/energynet/public_density.py")
    # Rows that are added to the counts of each hidden variable, spread evenly.
    pseudocount: float = tuned(1.0, "benchmarks/energynet/public_density.py")
    # Standard deviation of the logarithms of initial parameters.
    initial_std: float = tuned(1.0, "benchmarks/energynet/public_density.py")


_TREE = HiddenTreeConstants()


@dataclass(frozen=True, eq=False)
class HiddenChowLiuTree:
    """Tree of hidden variables, one for each column."""

    # Columns are numbered by their depth below: (d,), the number of each column.
    order: np.ndarray
    parents: np.ndarray  # (d,), int; of each in this order, -1 of the root, the first
    # (d, K, K), probabilities of states given those of the parent; all rows of the root
    # are alike.
    transition: np.ndarray
    emission: np.ndarray  # (d, S, K), probabilities of the states of columns
    n_states: np.ndarray  # (d,), int; number of states of each column in this order

    @classmethod
    def start(
        cls,
        # (n_rows, d), int; states of columns from 0 on, -1 where unknown.
        states: NDArray[np.int16],
        n_states: NDArray[np.intp],  # (d,); of each column
        n_hidden: int,  # K
        seed: int,
    ) -> Self:
        """Tree of the largest mutual information, with random parameters."""
        frequencies, information = mutual_information(states, n_states)
        order, parents = chow_liu_tree(information)
        rng = np.random.default_rng(seed)
        shape = len(order), n_hidden, n_hidden
        transition = np.exp(_TREE.initial_std * rng.standard_normal(shape))
        transition[0] = transition[0, 0]
        shape = len(order), n_states.max(), n_hidden
        emission = np.exp(_TREE.initial_std * rng.standard_normal(shape))
        emission *= frequencies[order][:, :, None]
        return cls(
            order,
            parents,
            transition / transition.sum(axis=2, keepdims=True),
            emission / emission.sum(axis=1, keepdims=True),
            n_states[order],
        )

    def fit_epochs(
        self, states: NDArray[np.int16], n_epochs: int, seed: int
    ) -> Iterator["HiddenChowLiuTree"]:
        """Trees after each epoch of expectation maximization by some rows at a time."""
        # Stepwise as in Cappé and Moulines (2009): counts are a moving mean.
        rng, states = np.random.default_rng(seed), self._arrange(states)
        frequencies = self.emission.mean(axis=2)
        tree = self._with_dtype(np.float32)
        transitions, emissions = tree.transition, tree.emission
        n_batches = max(-(-len(states) // _TREE.batch_size), _TREE.n_updates)
        n_batches = min(n_batches, len(states))
        steps = np.linspace(_TREE.first_step, _TREE.last_step, n_epochs * n_batches)
        # Nothing was counted before the first one.
        steps = np.append(1.0, steps[1:]).astype(np.float32)
        for epoch in range(n_epochs):
            parts = np.array_split(rng.permutation(len(states)), n_batches)
            for step, rows in zip(steps[epoch * n_batches :], parts, strict=False):
                counted = tree._expected_counts(states[rows])
                kept, new = 1.0 - step, step / np.float32(len(rows))
                transitions = kept * transitions + new * counted[0]
                emissions = kept * emissions + new * counted[1]
                tree = tree._maximize(transitions, emissions, frequencies, len(states))
            yield tree._with_dtype(np.float64)

    def log_likelihood(self, states: NDArray[np.int16]) -> NDArray[np.float64]:
        """Log-likelihood of what is known of rows, in nats."""
        found = np.empty(len(states))
        kernels.log_likelihoods(self._arrange(states), *self._parameters, found)
        return found

    def _expected_counts(
        self, states: NDArray[np.int16]
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Expected counts of transitions and emissions, of rows in the tree's order."""
        transitions = np.zeros_like(self.transition)
        emissions = np.zeros_like(self.emission)
        log_scale = np.empty(len(states), self.transition.dtype)
        kernels.count(states, *self._parameters, transitions, emissions, log_scale)
        return transitions, emissions

    def _maximize(
        self,
        transitions: NDArray[np.floating],
        emissions: NDArray[np.floating],
        frequencies: NDArray[np.float64],  # (d, S); of the states of columns
        n_rows: int,
    ) -> "HiddenChowLiuTree":
        """Parameters that make mean counts of a row most probable."""
        added = np.float32(_TREE.pseudocount / n_rows / transitions.shape[1])
        transition = transitions + added / transitions.shape[1]
        # All of the root's are from the first state of a parent that there is not.
        transition[0] = transition[0, 0]
        transition /= transition.sum(axis=2, keepdims=True)
        emission = emissions + added * frequencies[:, :, None].astype(np.float32)
        emission /= emission.sum(axis=1, keepdims=True)
        return replace(self, transition=transition, emission=emission)

    @property
    def _parameters(self) -> tuple[NDArray, NDArray, NDArray]:
        """What kernels read."""
        return self.parents, self.transition, self.emission

    def _arrange(self, states: NDArray[np.int16]) -> NDArray[np.int16]:
        """States in the order of the tree."""
        return np.ascontiguousarray(states[:, self.order])

    def _with_dtype(self, dtype: type[np.floating]) -> "HiddenChowLiuTree":
        """Tree whose probabilities have this type, and the sum one in it."""
        transition, emission = (
            self.transition.astype(dtype),
            self.emission.astype(dtype),
        )
        transition /= transition.sum(axis=2, keepdims=True)
        emission /= emission.sum(axis=1, keepdims=True)
        return replace(self, transition=transition, emission=emission)


def chow_liu_tree(
    information: NDArray[np.float64],  # (d, d); mutual information of columns
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Tree of the largest information: an order of columns, and the parent of each."""
    # Parents are numbered in this order, and come first; -1 for that of the root, which
    # has the most information about all.
    root = int(information.sum(axis=1).argmax())
    if len(information) == 1:
        return np.zeros(1, np.intp), np.full(1, -1)
    # No edge may have the length 0, which is none.
    lengths = information.max() - information + 1.0
    np.fill_diagonal(lengths, 0.0)
    tree = minimum_spanning_tree(lengths)
    order, before = breadth_first_order(tree, root, directed=False)
    number = np.empty(len(order) + 1, np.int64)
    number[order] = np.arange(len(order))
    number[-1] = -1
    return order.astype(np.intp), number[np.where(before < 0, -1, before)[order]]


def mutual_information(
    states: NDArray[np.int16], n_states: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequencies of states, (d, S), and mutual information of columns, (d, d)."""
    # Of pairs of columns those rows count of which both are known.
    of_states = [(states == s).astype(np.float32) for s in range(n_states.max())]
    counts = np.stack([indicator.sum(axis=0) for indicator in of_states], axis=1)
    exists = np.arange(n_states.max()) < n_states[:, None]
    # A row more, of which nothing is known: no state is impossible.
    smooth = exists / n_states[:, None]
    frequencies = counts + smooth
    frequencies /= frequencies.sum(axis=1, keepdims=True)
    known = (states != UNKNOWN).astype(np.float32)
    total = (known.T @ known).astype(np.float64) + 1.0
    joint = {
        (s, t): ((a.T @ b) + np.outer(smooth[:, s], smooth[:, t])) / total
        for s, a in enumerate(of_states)
        for t, b in enumerate(of_states)
    }
    every = range(len(of_states))
    of_first = [np.sum([joint[s, t] for t in every], axis=0) for s in every]
    information = np.zeros_like(total)
    for (s, t), p in joint.items():
        apart = of_first[s] * of_first[t].T
        with np.errstate(divide="ignore", invalid="ignore"):
            information += np.where(p > 0.0, p * np.log(p / apart), 0.0)
    return frequencies, information
