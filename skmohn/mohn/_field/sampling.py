"""Gibbs chains of a field, and annealed importance sampling of its constant."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._field.layout import FieldLayout, mark_members, multiply


@dataclass(frozen=True)
class AnnealingConstants:
    """Annealed importance sampling (Neal 2001) from independent columns."""

    n_chains: int = tuned(200, "cost")
    n_temperatures: int = tuned(500, "cost")
    # Chains that count, below which a warning is due.
    min_effective: float = tuned(10.0, "cost")
    # Sweeps at the field's own temperature, after those that led there.
    n_sweeps: int = tuned(100, "cost")


ANNEALING = AnnealingConstants()


@dataclass(frozen=True)
class FieldChains:
    """Weights of a field and of independent columns, where chains begin."""

    layout: FieldLayout
    terms: Sequence[Term]
    weights: NDArray[np.float64]
    base: NDArray[np.float64]  # (n_inputs,); weights of independent columns

    @classmethod
    def of(
        cls,
        layout: FieldLayout,
        terms: Sequence[Term],
        weights: NDArray[np.float64],
        means: NDArray[np.float64],  # (n_inputs,); within (-1, 1)
    ) -> "FieldChains":
        """Begin with independent columns of these means."""
        base = np.arctanh(means)
        for group in layout.several:
            base[group] = 0.5 * np.log1p(means[group])
        return cls(layout, terms, weights, base)

    def log_partition_of_base(self) -> float:
        """Logarithm of the constant of independent columns."""
        value = np.logaddexp(self.base, -self.base)[self.layout.single].sum()
        for group in self.layout.several:
            own = self.base[group]
            value += np.logaddexp.reduce(2.0 * own) - own.sum()
        return float(value)

    def anneal(
        self, n_chains: int, schedule: NDArray[np.float64], rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sweep chains from independent columns on; return states and log weights."""
        # The schedule rises from 0 to 1: parts of the field's own weights.
        n_inputs, part = len(self.base), 0.0
        terms = [*((i,) for i in range(n_inputs)), *self.terms]
        has = mark_members(terms, n_inputs).tocsc()
        of_input = np.split(has.indices, has.indptr[1:-1])
        signs = np.empty((n_inputs, n_chains))
        noise = self._draw_noise(n_chains, rng)
        for group in self.layout.groups:
            signs[group] = _choose(self.base[group, None], noise[group])
        products = multiply(signs.T, terms).T
        change = np.concatenate([-self.base, self.weights])
        log_weights = np.zeros(n_chains)
        for following in schedule.tolist():
            log_weights += (following - part) * (change @ products)
            part = following
            weights = np.concatenate([(1.0 - part) * self.base, part * self.weights])
            noise = self._draw_noise(n_chains, rng)
            for group in self.layout.groups:
                sums = [weights[of_input[i]] @ products[of_input[i]] for i in group]
                chosen = _choose(signs[group] * np.array(sums), noise[group])
                for i, flip in zip(group, signs[group] * chosen, strict=True):
                    products[of_input[i]] *= flip
                signs[group] = chosen
        return signs.T, log_weights

    def _draw_noise(
        self, n_chains: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Noise of fields by which the states of columns are drawn in a sweep."""
        noise = rng.logistic(scale=0.5, size=(len(self.base), n_chains))
        for group in self.layout.several:
            noise[group] = rng.gumbel(scale=0.5, size=(len(group), n_chains))
        return noise

    def estimate_log_partition(
        self, rng: np.random.Generator
    ) -> tuple[float, float, float]:
        """Log partition function, its standard error, and the chains that count."""
        schedule = np.linspace(0.0, 1.0, ANNEALING.n_temperatures + 1)[1:]
        _, log_weights = self.anneal(ANNEALING.n_chains, schedule, rng)
        total = np.logaddexp.reduce(log_weights)
        normalized = np.exp(log_weights - total)
        n = len(normalized)
        error = float(np.std(n * normalized, ddof=1) / np.sqrt(n))
        value = self.log_partition_of_base() + float(total - np.log(n))
        return value, error, 1.0 / float(normalized @ normalized)

    def sample(self, n_samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Inputs of new rows, each the end of a chain of its own."""
        rise = np.linspace(0.0, 1.0, ANNEALING.n_sweeps + 1)[1:]
        schedule = np.concatenate([rise, np.ones(ANNEALING.n_sweeps)])
        return self.anneal(n_samples, schedule, rng)[0]


def _choose(
    fields: NDArray[np.float64], noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Inputs of a column given the others, (n_inputs, n_chains)."""
    noisy = fields + noise
    if len(noisy) == 1:
        return np.where(noisy > 0.0, 1.0, -1.0)
    # The largest of logarithms with Gumbel noise is drawn by their probabilities.
    return np.where(np.arange(len(noisy))[:, None] == noisy.argmax(axis=0), 1.0, -1.0)
