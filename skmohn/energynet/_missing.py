"""Missing units, and Gibbs chains over their states."""

# In training each sample keeps states of its missing units. They take others from step
# to step by Gibbs sampling: of the hidden units given all the visible ones, then of the
# missing ones given these. With the states as they are at a time the sample is
# complete.

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn.energynet import _kernels as kernels
from skmohn.energynet._annealing import AnnealingPath, anneal
from skmohn.energynet._groups import (
    Groups,
    list_states,
    log_state_sums,
    unit_probabilities,
)
from skmohn.energynet._rbm import (
    RBM,
    RBM_LIMITS,
    draw_visible,
    free_energies,
    hidden_means,
    sides_of,
)


@dataclass(frozen=True)
class MissingConstants:
    """Chains over missing values."""

    # Draws of the missing values by which units are valued, and steps between.
    n_draws: int = tuned(10, "benchmarks/ablation.py")
    n_thinning: int = tuned(2, "benchmarks/ablation.py")
    # Annealing over the missing values: chains of a sample, and temperatures.
    n_chains: int = tuned(4, "benchmarks/ablation.py")
    n_temperatures: int = tuned(50, "benchmarks/ablation.py")
    # Steps before a trained RBM learns from samples that it has not seen.
    n_burn_in: int = tuned(10, "benchmarks/ablation.py")
    # Rows of chains that are in memory at once.
    max_rows: int = tuned(20_000, "cost")


MISSING = MissingConstants()


@dataclass(frozen=True, eq=False)
class MissingMask:
    """Unknown visible units of samples."""

    index: np.ndarray  # (n_samples,), int; row of `unknown`; -1 for complete samples
    unknown: np.ndarray  # (n_incomplete, n_units), bool

    @classmethod
    def of(
        cls,
        # (n_samples, n_features); NaN: unknown; constant columns do not count.
        X: NDArray,
        n_units: NDArray[np.intp],  # (n_features,), int; units of each column
    ) -> Self | None:
        """Mask of the missing values of samples, or None where all are complete."""
        is_missing = np.isnan(X) & (n_units > 0)
        incomplete = is_missing.any(axis=1)
        if not incomplete.any():
            return None
        index = np.where(incomplete, np.cumsum(incomplete) - 1, -1)
        return cls(index, np.repeat(is_missing[incomplete], n_units, axis=1))

    @property
    def rows(self) -> NDArray[np.intp]:
        """Numbers of the incomplete samples."""
        return np.flatnonzero(self.index >= 0)

    def take(self, rows: NDArray[np.intp] | slice) -> Self | None:
        """Missing values of some samples, or None where these are complete."""
        index = self.index[rows]
        return replace(self, index=index) if np.any(index >= 0) else None

    def take_units(self, order: NDArray[np.intp]) -> Self:
        """Reorder the units."""
        return replace(self, unknown=self.unknown[:, order])

    def unknown_at(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Mask of unknown units of incomplete samples, (n_rows, n_units)."""
        return self.unknown[self.index[rows]]

    def fill_from_donors(
        self,
        units: NDArray,  # (n_samples, n_units), float32
        groups: Groups,
        rng: np.random.Generator,
    ) -> None:
        """Fill missing values with those of other samples, in place."""
        rows = self.rows
        all_unknown = self.unknown_at(rows)
        for start, size in zip(groups.starts, groups.sizes, strict=True):
            unknown = all_unknown[:, start]
            known = np.ones(len(units), bool)
            known[rows[unknown]] = False
            columns = slice(start, start + size)
            donors = np.flatnonzero(known)
            if len(donors):
                drawn = units[rng.choice(donors, np.sum(unknown)), columns]
                # Of probabilities bits.
                units[rows[unknown], columns] = rng.random(drawn.shape) < drawn
            else:
                units[rows[unknown], columns] = 0.0

    def resample(
        self,
        rbm: Any,
        draw_hidden: Callable[[NDArray], NDArray],  # from visible units
        X: NDArray,  # (n_samples, n_units), float32; missing values are replaced
        batch: NDArray[np.intp],  # samples to resample
        data: NDArray,  # (n_batch, n_units), float32; their states, changed likewise
        stream: NDArray[np.uint64],  # (1,); source of random numbers, moved on
    ) -> None:
        """Draw the missing values of some samples anew."""
        at = np.flatnonzero(self.index[batch] >= 0)
        if not len(at):
            return
        unknown = self.unknown_at(batch[at])
        logits = draw_hidden(data[at]) @ rbm.weights
        drawn = np.empty_like(logits)
        draw_visible(logits, rbm.visible_bias, rbm.groups, stream, drawn)
        data[at] = np.where(unknown, drawn, data[at])
        X[batch[at]] = np.where(unknown, drawn, X[batch[at]])

    def burn_in(
        self, rbm: RBM, X: NDArray, n_steps: int, stream: NDArray[np.uint64]
    ) -> None:
        """Take steps with all missing values, in place."""
        rows = self.rows
        for _ in range(n_steps):
            self.resample(rbm, hidden_sampler(rbm, stream), X, rows, X[rows], stream)

    def draws(
        self, rbm: RBM, X: NDArray, stream: NDArray[np.uint64]
    ) -> Iterator[NDArray]:
        """States of the incomplete samples, several times, each some steps later."""
        rows, X = self.rows, X.copy()
        self.burn_in(rbm, X, MISSING.n_burn_in, stream)
        for _ in range(MISSING.n_draws):
            self.burn_in(rbm, X, MISSING.n_thinning, stream)
            yield X[rows]


def hidden_sampler(
    rbm: RBM, stream: NDArray[np.uint64]
) -> Callable[[NDArray], NDArray]:
    """Function that draws the hidden units of an RBM, given visible ones."""

    def draw(V: NDArray) -> NDArray:
        logits = V @ rbm.weights.T
        hidden = np.empty_like(logits)
        kernels.sample(logits, rbm.hidden_bias, stream, hidden)
        return hidden

    return draw


class MissingValueChains:
    """Gibbs chains over missing values, several for each sample, one after another."""

    def __init__(
        self,
        rbm: RBM,
        units: NDArray,
        unknown: NDArray[np.bool_],
        streams: NDArray[np.uint64],
        n_chains: int,
    ) -> None:
        self.rbm, self.streams = rbm, streams
        self.unknown = np.repeat(unknown, n_chains, axis=0)
        self.V = np.repeat(units, n_chains, axis=0)
        # From states of the same weight.
        self._draw(np.zeros_like(self.V), np.zeros_like(rbm.visible_bias))

    def step(self, n_steps: int) -> None:
        """Take Gibbs steps."""
        for _ in range(n_steps):
            hidden = hidden_sampler(self.rbm, self.streams)(self.V)
            self._draw(hidden @ self.rbm.weights, self.rbm.visible_bias)

    def means(self) -> tuple[NDArray, NDArray]:
        """Probabilities of visible units given draws of hidden ones, and of these."""
        # Those of hidden units are given the visible ones as they are.
        hidden = hidden_sampler(self.rbm, self.streams.copy())(self.V)
        return self.rbm.visible_probabilities(hidden), hidden_means(self.rbm, self.V)

    def _draw(self, logits: NDArray, bias: NDArray) -> None:
        drawn = np.empty_like(logits)
        draw_visible(logits, bias, self.rbm.groups, self.streams, drawn)
        self.V = np.where(self.unknown, drawn, self.V)


def known_free_energies(
    rbm: RBM,
    V: NDArray,  # (n_samples, n_visible), float32; bits; missing values are ignored
    missing: MissingMask | None,
    seed: int,
    *,
    n_chains: int = MISSING.n_chains,
    n_temperatures: int = MISSING.n_temperatures,
    # Whether all samples use the same random numbers, so that the result of one does
    # not depend on the others. Means over samples vary less if they do not.
    common_random_numbers: bool = False,
) -> NDArray[np.float64]:
    """Free energies of the known values of samples: missing ones are summed out."""
    # Minus the logarithm of the sum of exp(-free energy) over all completions: exact
    # for up to 12 hidden units, and for no more completions than annealing would meet,
    # else by annealed importance sampling, with as many chains for each sample.
    found = free_energies(rbm, V)
    if missing is None:
        return found
    rows = missing.rows
    unknown = missing.unknown_at(rows)
    known = np.where(unknown, np.float32(0.0), V[rows])
    if rbm.n_hidden <= RBM_LIMITS.max_enumerated_units:
        found[rows] = -_listed(rbm, known, unknown)
        return found
    is_short = have_few_completions(rbm, unknown, n_chains * n_temperatures)
    found[rows[is_short]] = -_completed(rbm, known[is_short], unknown[is_short])
    n_streams = 1 if common_random_numbers else len(rows)
    streams = np.random.default_rng(seed).integers(0, 2**63, (n_streams, n_chains))
    streams = np.repeat(streams, len(rows) // n_streams, axis=0).astype(np.uint64)
    long = np.flatnonzero(~is_short)
    n_rows = max(MISSING.max_rows // n_chains, 1)
    for block in equal_slices(len(long), n_rows):
        part = long[block]
        of_part = known[part], unknown[part], streams[part]
        found[rows[part]] = -_annealed(rbm, *of_part, n_temperatures)
    return found


def have_few_completions(
    rbm: RBM, unknown: NDArray[np.bool_], n_most: int
) -> NDArray[np.bool_]:
    """Mask of samples that could be completed in so many ways at most."""
    groups = sides_of(rbm)[0]
    log_sizes = np.log(groups.sizes + 1.0)
    return unknown[:, groups.starts] @ log_sizes <= np.log(n_most) + 1e-9


def _completed(
    rbm: RBM, known: NDArray, unknown: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Logarithm of the sum over all completions of samples, which are few."""
    groups, found = sides_of(rbm)[0], np.empty(len(known))
    W = rbm.weights.astype(np.float64)
    hidden = known @ W.T + rbm.hidden_bias
    patterns, pattern_of = np.unique(unknown, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        of_pattern = groups.within(pattern)
        states = list_states(of_pattern, 0, of_pattern.n_states)
        active, bias = states @ W[:, pattern].T, states @ rbm.visible_bias[pattern]
        rows = np.flatnonzero(pattern_of == k)
        for part in equal_slices(len(rows), max(MISSING.max_rows // len(states), 1)):
            at = rows[part]
            sums = np.logaddexp(0.0, hidden[at, None] + active).sum(axis=2)
            found[at] = logsumexp(sums + bias, axis=1)
    return found + known @ rbm.visible_bias.astype(np.float64)


def _listed(
    rbm: RBM, known: NDArray, unknown: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Logarithm of the sum over all states of hidden units and missing values."""
    exponent, _, _ = enumerated_exponents(rbm, known, unknown)
    found: Any = logsumexp(exponent, axis=1)
    return found


def enumerated_exponents(
    rbm: RBM, known: NDArray, unknown: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Log-weight of each state of the hidden units, missing values summed out."""
    # The RBM has few hidden units; `known` is 0 at missing values. Returned are the
    # log-weights (n_samples, n_states), the states (n_states, n_hidden), and the logits
    # of the visible units given each state (n_states, n_visible).
    groups, hidden = sides_of(rbm)
    states = list_states(hidden, 0, hidden.n_states)
    weights = rbm.weights.astype(np.float64)
    logits = states @ weights + rbm.visible_bias
    # Of each state and column, the sum over what the column could be.
    sums = np.stack(
        [
            log_state_sums(logits[:, start : start + size], groups.take([k]))
            for k, (start, size) in enumerate(
                zip(groups.starts, groups.sizes, strict=True)
            )
        ]
    )
    exponent = known @ logits.T + states @ rbm.hidden_bias.astype(np.float64)
    exponent += unknown[:, groups.starts].astype(np.float64) @ sums
    return exponent, states, logits


def _annealed(
    rbm: RBM,
    known: NDArray,
    unknown: NDArray[np.bool_],
    streams: NDArray[np.uint64],
    n_temperatures: int,
) -> NDArray[np.float64]:
    """Free energies by annealed importance sampling, chains side by side."""
    # At the start all units are independent: missing ones as the mean of the hidden
    # units given the known ones has them, hidden ones as the mean of these does.
    groups, _ = sides_of(rbm)
    W, n_chains = rbm.weights.astype(np.float64), streams.shape[1]
    hidden_bias = known @ W.T + rbm.hidden_bias
    visible_start = np.where(unknown, rbm.visible_bias + expit(hidden_bias) @ W, 0.0)
    means = unknown * unit_probabilities(visible_start, groups)
    hidden_start = hidden_bias + means @ W.T
    log_z = _log_sums_of_missing(visible_start, unknown, groups)
    log_z += np.logaddexp(0.0, hidden_start).sum(axis=1)
    hidden_bias, visible_start, hidden_start = (
        np.repeat(table.astype(np.float32), n_chains, axis=0)
        for table in (hidden_bias, visible_start, hidden_start)
    )
    path = AnnealingPath(
        rbm=rbm,
        hidden_bias=hidden_bias,
        visible_start=visible_start,
        hidden_start=hidden_start,
        unknown=np.repeat(unknown, n_chains, axis=0),
    )
    log_weight = anneal(path, streams.size, n_temperatures, streams.ravel())
    found: Any = logsumexp(log_weight.reshape(-1, n_chains), axis=1)
    return found - np.log(n_chains) + log_z + known @ rbm.visible_bias.astype(float)


def _log_sums_of_missing(
    logits: NDArray, unknown: NDArray[np.bool_], groups: Groups
) -> NDArray[np.float64]:
    """Logarithms of the sums over the states of the unknown columns, (n_rows,)."""
    total = np.zeros(len(logits))
    for k, start in enumerate(groups.starts):
        rows = unknown[:, start]
        part = logits[rows, start : start + groups.sizes[k]]
        if len(part):
            total[rows] += log_state_sums(part, groups.take([k]))
    return total
