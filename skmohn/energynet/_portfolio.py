"""Densities above the layers: members that held-out samples weigh."""

# An RBM needs hundreds of units for relations that a tree has in its edges, such as
# those of indicators of one category; where relations are diffuse a tree is the worse.
# So a hidden Chow-Liu tree is fitted beside the layers, and the density is a mixture of
# both, with the weights that make samples likeliest which neither has seen.

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from skmohn._core._fitting import one_blas_thread
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._groups import Groups
from skmohn.energynet._growth_held_out import hold_out
from skmohn.energynet._hidden_tree import UNKNOWN, HiddenChowLiuTree
from skmohn.energynet._missing import MissingMask
from skmohn.energynet._rbm import RBM_LIMITS, random_stream
from skmohn.energynet._table import Encoded

LAYERS, TREE = "layers", "tree"


@dataclass(frozen=True)
class PortfolioConstants:
    """Choice of a hidden tree, and weights of members."""

    # Hidden states of each column that are tried in turn, from independent columns on,
    # while held-out samples become likelier by so many nats.
    n_hidden: tuple[int, ...] = tuned(
        (1, 4, 16, 32, 64), "benchmarks/energynet/public_density.py"
    )
    min_gain: float = tuned(0.05, "benchmarks/energynet/public_density.py")
    # Epochs, and those without a gain before training ends.
    n_epochs: int = tuned(30, "benchmarks/energynet/public_density.py")
    patience: int = tuned(3, "benchmarks/energynet/public_density.py")
    # Most states of all columns, between pairs of which the information is found.
    max_states: int = tuned(4000, "cost")
    # Members of less weight are left out of the mixture.
    min_weight: float = tuned(1e-3, "cost")
    # Steps to the weights, whose likelihood is concave.
    n_steps: int = tuned(200, "rounding")


_PORTFOLIO = PortfolioConstants()


@dataclass(frozen=True, eq=False)
class DensityPortfolio:
    """Mixture of the density of layers and of a hidden tree of the same units."""

    weights: dict[str, float]  # of members, by name; their sum is 1
    held_out: dict[str, float]  # mean log-likelihoods of held-out samples by each
    tree: HiddenChowLiuTree | None  # None where it has no weight

    @classmethod
    @one_blas_thread
    def learn(
        cls,
        encoded: Encoded,  # in the layout that is learned from
        held_out: NDArray[np.float64],  # log-likelihoods by layers; see `hold_out`
        seed: int,
    ) -> Self:
        """Fit a tree, and weigh it and the layers by the samples held out."""
        n_states = encoded.groups.sizes + 1
        if not len(n_states) or n_states.max() * len(n_states) > _PORTFOLIO.max_states:
            return cls({LAYERS: 1.0}, {LAYERS: float(held_out.mean())}, None)
        states, (held, kept) = _draw_states(encoded, seed), hold_out(len(encoded))
        found = _TreeSearch(states[kept], states[held], n_states, seed)
        table = {LAYERS: held_out, TREE: found.log_likelihood}
        means = {name: float(values.mean()) for name, values in table.items()}
        weights = stacking_weights(np.stack(list(table.values()), axis=1))
        weights = dict(zip(table, weights.tolist(), strict=True))
        rows = np.concatenate([held, kept])
        tree = found.refit(states[rows]) if weights[TREE] else None
        return cls(weights, means, tree)

    def mix(
        self,
        layers: NDArray[np.float64],  # (n_rows,); log-likelihoods by the layers
        tree: NDArray[np.float64],  # (n_rows,); those by the tree
    ) -> NDArray[np.float64]:
        """Log-likelihoods of rows by the mixture."""
        weights = np.array([self.weights[LAYERS], self.weights[TREE]])
        found: Any = logsumexp([layers, tree], axis=0, b=weights[:, None])
        return found

    @property
    def has_layers(self) -> bool:
        """Whether the density of the layers counts."""
        return self.weights[LAYERS] > 0.0


class _TreeSearch:
    """Hidden tree whose number of states and epochs makes held-out rows likeliest."""

    def __init__(
        self,
        states: NDArray[np.int16],
        held: NDArray[np.int16],
        n_states: NDArray[np.intp],
        seed: int,
    ) -> None:
        self.n_states, self.seed = n_states, seed
        self.n_hidden, self.n_epochs, best = 1, 0, -np.inf
        for n_hidden in _PORTFOLIO.n_hidden:
            tree = HiddenChowLiuTree.start(states, n_states, n_hidden, seed)
            found = self._train(tree, states, held)
            if found[0].mean() < best + _PORTFOLIO.min_gain:
                break
            self.n_hidden, (self.log_likelihood, self.n_epochs) = n_hidden, found
            best = self.log_likelihood.mean()

    def _train(
        self, tree: HiddenChowLiuTree, states: NDArray, held: NDArray
    ) -> tuple[NDArray[np.float64], int]:
        """Log-likelihoods of held-out rows after the best number of epochs."""
        best, epoch = np.full(len(held), -np.inf), 0
        trees = tree.fit_epochs(states, _PORTFOLIO.n_epochs, self.seed)
        for k, trained in enumerate(trees, 1):
            found = trained.log_likelihood(held)
            if found.mean() > best.mean():
                best, epoch = found, k
            elif k >= epoch + _PORTFOLIO.patience:
                break
        return best, epoch

    def refit(self, states: NDArray[np.int16]) -> HiddenChowLiuTree:
        """Train as long on all rows."""
        tree = HiddenChowLiuTree.start(states, self.n_states, self.n_hidden, self.seed)
        trees = tree.fit_epochs(states, _PORTFOLIO.n_epochs, self.seed)
        for _ in range(self.n_epochs):
            tree = next(trees)
        return tree


def _draw_states(encoded: Encoded, seed: int) -> NDArray[np.int16]:
    """States of columns, with bits drawn from probabilities, some rows at once."""
    stream, parts = random_stream(seed), []
    for rows in equal_slices(len(encoded), RBM_LIMITS.max_rows):
        bits = np.empty_like(encoded.units[rows])
        kernels.bernoulli(encoded.units[rows], stream, bits)
        missing = encoded.missing and encoded.missing.take(rows)
        parts.append(read_states(bits, missing, encoded.groups))
    return np.concatenate(parts)


def read_states(
    units: NDArray, missing: MissingMask | None, groups: Groups
) -> NDArray[np.int16]:
    """States of columns from 0 on, of bits of their units; -1 for unknown ones."""
    ordered = groups.of_units(groups.is_ordered)
    values = np.where(ordered, 1, groups.offsets + 1).astype(np.float32)
    values = units * values
    if missing is None:
        return np.add.reduceat(values, groups.starts, axis=1).astype(np.int16)
    rows = missing.rows
    unknown = missing.unknown_at(rows)
    values[rows] = np.where(unknown, 0.0, values[rows])
    states = np.add.reduceat(values, groups.starts, axis=1).astype(np.int16)
    states[rows] = np.where(unknown[:, groups.starts], UNKNOWN, states[rows])
    return states


def stacking_weights(
    log_likelihoods: NDArray[np.float64],  # (n_rows, n_members)
) -> NDArray[np.float64]:
    """Weights of the mixture of densities that makes rows likeliest."""
    weights = np.full(log_likelihoods.shape[1], 1.0 / log_likelihoods.shape[1])
    for _ in range(_PORTFOLIO.n_steps):
        with np.errstate(divide="ignore"):
            logits = log_likelihoods + np.log(weights)
        weights = softmax(logits, axis=1).mean(axis=0)
    weights[weights < _PORTFOLIO.min_weight] = 0.0
    return weights / weights.sum()
