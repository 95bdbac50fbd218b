"""Chow-Liu trees: densities of categorical columns, each given one other."""

# The tree has the largest mutual information between columns (Chow and Liu, IEEE
# Transactions on Information Theory 14, 1968).

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn.energynet import _chow_liu_kernels as kernels

# State of a column that is unknown.
UNKNOWN: Final = -1
# Observations of each pair of columns that are added to all rows.
_PAIR_OBSERVATIONS: Final = 1.0


@dataclass(frozen=True)
class ChowLiuConstants:
    """Counts of pairs of states."""

    # Rows that are added to the counts of pairs: as often as in all rows, and with
    # independent columns.
    pseudocount: float = tuned(1.0, "benchmarks/energynet/public_density.py")


_CHOW_LIU = ChowLiuConstants()


@dataclass(frozen=True, eq=False)
class ChowLiuTree:
    """Tree of columns, whose states depend on those of their parents."""

    # Below, columns are numbered so that each comes after its parent: (d,), their
    # numbers in the table.
    order: np.ndarray
    parents: np.ndarray  # (d,), int; of each in this order, -1 of the root, the first
    # (d, S, S), logarithms of the probabilities of states given those of the parent;
    # all rows of the root are alike.
    log_transition: np.ndarray

    def log_likelihood(
        self,
        # (n_rows, d), int; states of columns from 0 on, -1 where unknown.
        states: NDArray[np.int16],
    ) -> NDArray[np.float64]:
        """Log-likelihood of the known values of rows, in nats."""
        found = np.empty(len(states))
        kernels.log_likelihoods(
            states, self.order, self.parents, self.log_transition, found
        )
        return found


class _Counts(NamedTuple):
    """Kernel arguments of weighted rows."""

    products: np.ndarray  # (n_indicators, n_indicators); weighed sums of products
    first: np.ndarray
    known: np.ndarray
    n_states: np.ndarray
    prior: np.ndarray  # (d, S); pairs of rows, multiplied, are added to counts of pairs


@dataclass(frozen=True, eq=False)
class PairCounter:
    """Counts of pairs of states, of rows that are weighed."""

    # Pairs of which one state is unknown do not count.
    n_states: np.ndarray  # (d,), int64
    # (n_rows, n_indicators), float32: of the states of columns from 1 on, then of what
    # is known, a column 1 where all is.
    indicators: np.ndarray
    first: np.ndarray  # (d,), int64; the indicator of each column's state 1
    known: np.ndarray  # (d,), int64; the indicator of what is known of each column
    frequencies: np.ndarray  # (d, S), of states; each row sums to 1

    @classmethod
    def of(cls, states: NDArray[np.int16], n_states: NDArray[np.intp]) -> Self:
        """Code rows."""
        (n_rows, d), n_max = states.shape, int(n_states.max())
        is_known = states != UNKNOWN
        is_complete = bool(is_known.all())
        column, state = np.nonzero(np.arange(1, n_max) < n_states[:, None])
        n_others = len(column)
        shape = n_rows, n_others + (1 if is_complete else d)
        indicators = np.ones(shape, np.float32)
        np.equal(states[:, column], state + 1, out=indicators[:, :n_others])
        if not is_complete:
            indicators[:, n_others:] = is_known
        first = np.cumsum(np.append(0, n_states[:-1] - 1)).astype(np.int64)
        known = np.full(d, n_others) if is_complete else n_others + np.arange(d)
        counts = np.zeros((d, n_max))
        total = indicators.sum(axis=0, dtype=np.float64)
        counts[column, state + 1] = total[:n_others]
        counts[:, 0] = total[known] - counts.sum(axis=1)
        exists = np.arange(n_max) < n_states[:, None]
        counts += exists * (_PAIR_OBSERVATIONS / n_states[:, None])
        frequencies = counts / counts.sum(axis=1, keepdims=True)
        return cls(n_states.astype(np.int64), indicators, first, known, frequencies)

    def fit_tree(self, weights: NDArray[np.float64]) -> ChowLiuTree:
        """Chow-Liu tree of rows of these weights."""
        counts = self._counts(weights)
        order, parents = chow_liu_tree(self._information(counts))
        log_transition = np.empty((*self.frequencies.shape, self.frequencies.shape[1]))
        kernels.transitions_of_tree(*counts, order, parents, log_transition)
        return ChowLiuTree(order, parents, log_transition)

    def information(self) -> NDArray[np.float64]:
        """Mutual information of columns in nats, (d, d)."""
        return self._information(self._counts(np.ones(len(self.indicators))))

    def _information(self, counts: _Counts) -> NDArray[np.float64]:
        information = np.empty((len(self.n_states), len(self.n_states)))
        kernels.information_of_pairs(*counts, information)
        return information

    def _counts(self, weights: NDArray[np.float64]) -> _Counts:
        """Count rows of these weights."""
        weighed = self.indicators * weights[:, None].astype(np.float32)
        products = (weighed.T @ self.indicators).astype(np.float64)
        prior = np.sqrt(_CHOW_LIU.pseudocount) * self.frequencies
        return _Counts(products, self.first, self.known, self.n_states, prior)


def chow_liu_tree(
    information: NDArray[np.float64],  # (d, d); mutual information of columns
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tree of the largest information: an order of columns, and the parent of each."""
    # Parents are numbered in this order, and come first; -1 for that of the root, which
    # has the most information about all.
    # A fit makes thousands of trees, and scipy's `minimum_spanning_tree` would take as
    # long as all else of each.
    root = int(information.sum(axis=1).argmax())
    order, parents = np.empty((2, len(information)), np.int64)
    kernels.spanning_tree(information, root, order, parents)
    return order, parents
