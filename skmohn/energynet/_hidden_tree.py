"""Hidden Chow-Liu tree: a density of categorical columns."""

# Each column has a hidden variable of K states, which alone gives the column's state.
# The hidden variables form the tree that has the largest mutual information between
# columns (Chow and Liu, IEEE Transactions on Information Theory 14, 1968), and all else
# is learned by expectation maximization. Sums over hidden and unknown states are exact.

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn.energynet import _hidden_tree_kernels as kernels
from skmohn.energynet._chow_liu import PairCounter, chow_liu_tree


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

    # Below, columns are numbered so that each comes after its parent: (d,), their
    # numbers in the table.
    order: np.ndarray
    parents: np.ndarray  # (d,), int; of each in this order, -1 of the root, the first
    # (d, K, K), probabilities of states given those of the parent; all rows of the root
    # are alike.
    transition: np.ndarray
    emission: np.ndarray  # (d, S, K), probabilities of the states of columns
    # (d, S), of states in the rows that are learned from: the counts that are added to
    # those of emissions are in proportion.
    frequencies: np.ndarray

    @classmethod
    def start(
        cls,
        counter: PairCounter,  # of the rows that are learned from
        n_hidden: int,  # K
        seed: int,
    ) -> Self:
        """Tree of the largest mutual information, with random parameters."""
        order, parents = chow_liu_tree(counter.information())
        rng = np.random.default_rng(seed)
        shape = len(order), n_hidden, n_hidden
        transition = np.exp(_TREE.initial_std * rng.standard_normal(shape))
        transition[0] = transition[0, 0]
        frequencies = counter.frequencies[order]
        shape = *frequencies.shape, n_hidden
        emission = np.exp(_TREE.initial_std * rng.standard_normal(shape))
        emission *= frequencies[:, :, None]
        return cls(
            order,
            parents,
            transition / transition.sum(axis=2, keepdims=True),
            emission / emission.sum(axis=1, keepdims=True),
            frequencies,
        )

    def fit_epochs(
        self,
        # (n_rows, d), int; states of columns from 0 on, -1 where unknown.
        states: NDArray[np.int16],
        n_epochs: int,
        seed: int,
    ) -> Iterator["HiddenChowLiuTree"]:
        """Trees after each epoch of expectation maximization by some rows at a time."""
        # Stepwise as in Cappé and Moulines (2009): counts are a moving mean, that of a
        # few rows while steps are large. So trees are given the counts of the whole
        # epoch: where all is known, columns have the frequencies that they have in all
        # rows, but for what is added to counts, whichever trees these are expected by.
        rng, states = np.random.default_rng(seed), self._arrange(states)
        tree = self._with_dtype(np.float32)
        transitions, emissions = tree.transition, tree.emission
        n_batches = max(-(-len(states) // _TREE.batch_size), _TREE.n_updates)
        n_batches = min(n_batches, len(states))
        steps = np.linspace(_TREE.first_step, _TREE.last_step, n_epochs * n_batches)
        # Nothing was counted before the first one.
        steps = np.append(1.0, steps[1:]).astype(np.float32)
        for epoch in range(n_epochs):
            parts = np.array_split(rng.permutation(len(states)), n_batches)
            # In double precision, whatever the number of rows.
            totals = np.zeros(transitions.shape), np.zeros(emissions.shape)
            for step, rows in zip(steps[epoch * n_batches :], parts, strict=False):
                counted = tree._expected_counts(states[rows])
                for total, of_batch in zip(totals, counted, strict=True):
                    total += of_batch / len(states)
                kept, new = 1.0 - step, step / np.float32(len(rows))
                transitions = kept * transitions + new * counted[0]
                emissions = kept * emissions + new * counted[1]
                tree = tree._maximize(transitions, emissions, len(states))
            yield tree._maximize(*totals, len(states))

    def log_likelihood(self, states: NDArray[np.int16]) -> NDArray[np.float64]:
        """Log-likelihood of the known values of rows, in nats."""
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
        n_rows: int,
    ) -> "HiddenChowLiuTree":
        """Parameters that make mean counts of a row most probable."""
        added = np.float32(_TREE.pseudocount / n_rows / transitions.shape[1])
        transition = transitions + added / transitions.shape[1]
        # All of the root's are from the first state of a parent that there is not.
        transition[0] = transition[0, 0]
        transition /= transition.sum(axis=2, keepdims=True)
        emission = emissions + added * self.frequencies[:, :, None].astype(np.float32)
        emission /= emission.sum(axis=1, keepdims=True)
        return replace(self, transition=transition, emission=emission)

    @property
    def _parameters(self) -> tuple[NDArray, NDArray, NDArray]:
        """Kernel arguments."""
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
