"""Densities above the layers: members that held-out samples weigh."""

# An RBM needs hundreds of units for relations that a tree has in its edges, such as
# those of indicators of one category; where relations are diffuse a tree is the worse,
# and where rows are of several kinds each of these has relations of its own. So a
# hidden Chow-Liu tree and a mixture of trees are fitted beside the layers, and the
# density is a mixture of all, with the weights that make samples likeliest which none
# has seen.

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from skmohn._core._fitting import one_blas_thread
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._chow_liu import UNKNOWN, PairCounter
from skmohn.energynet._groups import Groups
from skmohn.energynet._growth_held_out import hold_out
from skmohn.energynet._hidden_tree import HiddenChowLiuTree
from skmohn.energynet._missing import MissingMask
from skmohn.energynet._rbm import RBM_LIMITS, random_stream
from skmohn.energynet._table import Encoded
from skmohn.energynet._tree_mixture import (
    TreeMixture,
    improve_mixture,
    start_responsibilities,
)

LAYERS, TREE, MIXTURE = "layers", "tree", "tree_mixture"


@dataclass(frozen=True)
class PortfolioConstants:
    """Choice of a hidden tree and of a mixture of trees, and weights of members."""

    # Hidden states of each column that are tried in turn, from independent columns on,
    # while held-out samples become likelier by so many nats.
    n_hidden: tuple[int, ...] = tuned(
        (1, 4, 16, 32, 64), "benchmarks/energynet/public_density.py"
    )
    min_gain: float = tuned(0.02, "benchmarks/energynet/public_density.py")
    # Epochs, and those without a gain before training ends.
    n_epochs: int = tuned(30, "benchmarks/energynet/public_density.py")
    patience: int = tuned(3, "benchmarks/energynet/public_density.py")
    # Numbers of components of the mixture that are tried in turn, as above, and the
    # most multiplications of a step.
    n_components: tuple[int, ...] = tuned(
        (4, 16, 32, 64), "benchmarks/energynet/public_density.py"
    )
    max_work: float = tuned(5e10, "cost")
    # Mixtures from starts of their own, whose mean is the density: the first number for
    # each number of components, more for the best one, as above, and the most
    # multiplications of a step of all.
    n_starts: tuple[int, ...] = tuned(
        (4, 8, 16, 32), "benchmarks/energynet/public_density.py"
    )
    max_work_starts: float = tuned(1.2e10, "cost")
    # Steps, and the nats that held-out samples must gain by `patience` of them.
    n_mixture_steps: int = tuned(40, "cost")
    min_step_gain: float = tuned(0.002, "cost")
    # Steps from the mixture that was found, with the samples held out among the others.
    n_final_steps: int = tuned(3, "cost")
    # Most states of all columns, between pairs of which the information is found.
    max_states: int = tuned(4000, "cost")
    # Members of less weight are left out of the mixture.
    min_weight: float = tuned(1e-3, "cost")
    # Steps to the weights, whose likelihood is concave.
    n_steps: int = tuned(200, "rounding")


_PORTFOLIO = PortfolioConstants()


@dataclass(frozen=True, eq=False)
class DensityPortfolio:
    """Mixture of the density of layers and of those of trees of the same units."""

    weights: dict[str, float]  # of members, by name; their sum is 1
    held_out: dict[str, float]  # mean log-likelihoods of held-out samples by each
    trees: dict[str, TreeMixture]  # members beside the layers that have a weight

    @classmethod
    @one_blas_thread
    def learn(
        cls,
        encoded: Encoded,  # in the layout that is learned from
        held_out: NDArray[np.float64],  # log-likelihoods by layers; see `hold_out`
        seed: int,
    ) -> Self:
        """Fit trees, and weigh them and the layers by the samples held out."""
        n_states = encoded.groups.sizes + 1
        if not len(n_states) or n_states.max() * len(n_states) > _PORTFOLIO.max_states:
            return cls({LAYERS: 1.0}, {LAYERS: float(held_out.mean())}, {})
        states = _draw_states(encoded, seed)
        has_missing = encoded.missing is not None
        held, kept = hold_out(len(encoded), encoded.copies, has_missing=has_missing)
        split = _Split(states[kept], states[held], n_states, seed)
        searches: dict[str, _TreeSearch | _MixtureSearch] = {TREE: _TreeSearch(split)}
        if sizes := _affordable_sizes(len(kept), n_states):
            searches[MIXTURE] = _MixtureSearch(split, sizes)
        table = {LAYERS: held_out}
        table |= {name: of.log_likelihood for name, of in searches.items()}
        means = {name: float(values.mean()) for name, values in table.items()}
        weights = stacking_weights(np.stack(list(table.values()), axis=1))
        weights = dict(zip(table, weights.tolist(), strict=True))
        rows = np.concatenate([held, kept])
        trees = {
            name: of.refit(states[rows])
            for name, of in searches.items()
            if weights[name]
        }
        return cls(weights, means, trees)

    def mix(
        self,
        found: dict[str, NDArray[np.float64]],  # (n_rows,); by members that count
    ) -> NDArray[np.float64]:
        """Log-likelihoods of rows by the mixture, of those by its members."""
        weights = np.array([self.weights[name] for name in found])
        mixed: Any = logsumexp([*found.values()], axis=0, b=weights[:, None])
        return mixed

    @property
    def has_layers(self) -> bool:
        """Whether the density of the layers counts."""
        return self.weights[LAYERS] > 0.0


class _Split(NamedTuple):
    """States of the rows that trees learn from, and of those held out."""

    states: NDArray[np.int16]
    held: NDArray[np.int16]
    n_states: NDArray[np.intp]  # of each column
    seed: int


class _TreeSearch:
    """Hidden tree whose number of states and epochs makes held-out rows likeliest."""

    def __init__(self, split: _Split) -> None:
        states, held, n_states, seed = split
        self.n_states, self.seed = n_states, seed

        counter = PairCounter.of(states, n_states)

        def learn(n_hidden: int) -> tuple[NDArray[np.float64], int]:
            tree = HiddenChowLiuTree.start(counter, n_hidden, seed)
            return self._train(tree, states, held)

        self.n_hidden, (self.log_likelihood, self.n_epochs) = _search_size(
            learn, _PORTFOLIO.n_hidden
        )

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

    def refit(self, states: NDArray[np.int16]) -> TreeMixture:
        """Train as long on all rows."""
        counter = PairCounter.of(states, self.n_states)
        tree = HiddenChowLiuTree.start(counter, self.n_hidden, self.seed)
        trees = tree.fit_epochs(states, _PORTFOLIO.n_epochs, self.seed)
        for _ in range(self.n_epochs):
            tree = next(trees)
        return TreeMixture(np.ones(1), (tree,))


class _MixtureSearch:
    """Mixtures of trees whose number of components makes held-out rows likeliest."""

    def __init__(self, split: _Split, sizes: Sequence[int]) -> None:
        states, held, self.n_states, seed = split
        counter = PairCounter.of(states, self.n_states)
        trained = {n_components: [] for n_components in sizes}

        def learn(
            n_components: int, n_starts: int
        ) -> tuple[NDArray[np.float64], list[TreeMixture]]:
            mixtures = trained[n_components]
            for start in range(len(mixtures), n_starts):
                first = start_responsibilities(states, n_components, seed + start)
                improved = improve_mixture(counter, states, first)
                mixtures.append(self._train(improved, held))
            return TreeMixture.mean(mixtures).log_likelihood(held), [*mixtures]

        every = _PORTFOLIO.n_starts
        work = _work_per_component(len(states), self.n_states)
        first = max(1, min(every[0], _max_starts(sizes[-1] * work)))
        size, _ = _search_size(lambda n: learn(n, first), sizes)
        more = [n for n in every if first < n <= _max_starts(size * work)]
        _, (self.log_likelihood, self.mixtures) = _search_size(
            lambda n: learn(size, n), [first, *more]
        )

    def _train(
        self, mixtures: Iterator[TreeMixture], held: NDArray[np.int16]
    ) -> TreeMixture:
        """Mixture that makes held-out rows likeliest."""
        best, n_without = next(mixtures), 0
        height = best.log_likelihood(held).mean()
        for mixture in islice(mixtures, _PORTFOLIO.n_mixture_steps):
            found = mixture.log_likelihood(held).mean()
            if found >= height + _PORTFOLIO.min_step_gain:
                best, height, n_without = mixture, found, 0
            elif (n_without := n_without + 1) >= _PORTFOLIO.patience:
                break
        return best

    def refit(self, states: NDArray[np.int16]) -> TreeMixture:
        """Go on with all rows."""
        counter, refitted = PairCounter.of(states, self.n_states), []
        for mixture in self.mixtures:
            start = softmax(mixture.log_joint(states), axis=1)
            steps = improve_mixture(counter, states, start)
            *_, last = islice(steps, _PORTFOLIO.n_final_steps)
            refitted.append(last)
        return TreeMixture.mean(refitted)


def _affordable_sizes(n_rows: int, n_states: NDArray[np.intp]) -> list[int]:
    """Numbers of components of a mixture that cost no more than allowed."""
    max_components = _PORTFOLIO.max_work / _work_per_component(n_rows, n_states)
    return [n for n in _PORTFOLIO.n_components if n <= max_components]


def _max_starts(work: int) -> int:
    """Number of mixtures that cost no more than allowed, if one costs so much."""
    return int(_PORTFOLIO.max_work_starts / work)


def _work_per_component(n_rows: int, n_states: NDArray[np.intp]) -> int:
    """Multiplications of a step: counts of pairs of indicators."""
    return n_rows * int(np.sum(n_states - 1)) ** 2


def _search_size(
    # Returns log-likelihoods of held-out rows by a size, and what was learned.
    learn: Callable[[int], tuple[NDArray[np.float64], Any]],
    sizes: Sequence[int],  # increasing
) -> tuple[int, tuple[NDArray[np.float64], Any]]:
    """Try sizes in turn, while held-out rows become likelier."""
    size, best = sizes[0], learn(sizes[0])
    for larger in sizes[1:]:
        found = learn(larger)
        if found[0].mean() < best[0].mean() + _PORTFOLIO.min_gain:
            break
        size, best = larger, found
    return size, best


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
