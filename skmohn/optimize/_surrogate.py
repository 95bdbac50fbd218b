"""Surrogate of a black box: all weights at once, from few evaluations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata
from sklearn.metrics import r2_score

from skmohn._core._tuned import tuned
from skmohn.mohn._engine import (
    Covariance,
    ExactPosterior,
    join_equal_rows,
    learn_prior,
    standardize,
)
from skmohn.optimize._space import Space, keys_of


@dataclass(frozen=True)
class SurrogateConstants:
    """The Gaussian process that proposes points."""

    # Hyperparameters are learned again when the evaluations have grown by this factor.
    growth: float = tuned(1.15, "cost")
    # More evaluations are not compared with each other: the best ones and the latest
    # are kept, half of each. Of fewer still the hyperparameters are learned.
    max_rows: int = tuned(800, "cost")
    max_rows_learned: int = tuned(300, "cost")
    max_iter: int = tuned(30, "cost")
    min_skill: float = tuned(0.1, "benchmarks/ablation.py")
    # Points whose improvement is computed before the best of them are improved in turn.
    n_drawn: int = tuned(100, "benchmarks/ablation.py")
    n_centers: int = tuned(5, "benchmarks/ablation.py")
    n_starts: int = tuned(3, "benchmarks/ablation.py")
    max_enumerated: int = tuned(1500, "cost")
    # Fraction of the values that keep their differences where some are far worse than
    # all others.
    kept_fraction: float = tuned(0.2, "benchmarks/ablation.py")
    # Multiplications that one proposal may take, roughly.
    max_work: float = tuned(4e8, "cost")


_SURROGATE = SurrogateConstants()


class Surrogate:
    """Posterior of the product prior over all weights, given the evaluations."""

    def __init__(self, space: Space) -> None:
        self.space = space
        # Of the standardized values; None before the first evaluations.
        self.posterior: Any = None
        # Fraction of the variance that each evaluation's others predict, from 0 to 1.
        self.skill = 0.0
        self._n_learned = self._n_known = 0
        self._known: Any = None
        self._scores: Any = None
        self._worst = np.inf

    def update(
        self,
        states: NDArray[np.integer],
        values: NDArray[np.float64],
        seed: int,
        *,
        by_rank: bool = False,
        is_tailed: bool = False,
    ) -> bool:
        """Learn from evaluations; earlier ones come first and are the same."""
        # NaN, where a point had no value, counts as the worst value of all: points near
        # it often have none either. With `by_rank` only the order of the values counts:
        # they are replaced by normal scores. With `is_tailed` some values are far worse
        # than all others, as penalties are: they count as no worse than the best fifth,
        # which they would drown. Returned is whether the hyperparameters were learned
        # again, which takes longest.
        n_known = len(values)
        if n_known == self._n_known:
            return False
        values = np.where(np.isnan(values), np.nanmax(values), values)
        is_anew = (
            self.posterior is None or n_known >= _SURROGATE.growth * self._n_learned
        )
        if is_anew or by_rank or self._scores is not None:
            self._known, self._scores = _ranked(values) if by_rank else (None, None)
            self._worst = (
                np.quantile(values, _SURROGATE.kept_fraction) if is_tailed else np.inf
            )
            self._learn(states, self.scored(values), seed)
            self._n_learned = n_known
        else:
            self.posterior = self.believing(
                states[self._n_known :], self.scored(values[self._n_known :])
            )
        self._n_known = n_known
        posterior: Any = self.posterior
        target = posterior.sample.target
        residual, _ = posterior.leave_one_out()
        self.skill = r2(target, target - residual)
        return is_anew

    def _learn(
        self, states: NDArray[np.integer], values: NDArray[np.float64], seed: int
    ) -> None:
        kept = _kept(values, _SURROGATE.max_rows)
        standard, self._center, self._scale = standardize(values[kept])
        sample = join_equal_rows(self.space.rows(states[kept]), standard)
        part = sample
        if len(sample) > _SURROGATE.max_rows_learned:
            drawn = np.random.default_rng(seed).permutation(len(sample))
            part = sample.take(drawn[: _SURROGATE.max_rows_learned])
        # Hyperparameters that explain nothing are no good place to begin from.
        start = None
        if self.skill >= _SURROGATE.min_skill:
            start = self.posterior.covariance.prior
        prior = learn_prior(
            part, self.space.alphabets, start, _SURROGATE.max_iter, seed
        ).prior
        covariance = Covariance(prior, self.space.alphabets)
        self.posterior = ExactPosterior.condition(covariance, sample)

    def believing(
        self, states: NDArray[np.integer], values: NDArray[np.float64]
    ) -> ExactPosterior:
        """Posterior if these had these values, as they are scored."""
        more = join_equal_rows(
            self.space.rows(states), (values - self._center) / self._scale
        )
        return self.posterior.update(more)

    def scored(self, values: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Scores of values: themselves, if not far worse, or normal scores."""
        if self._scores is None:
            return np.minimum(values, self._worst)
        return np.interp(values, self._known, self._scores)

    def mean(self, states: NDArray[np.integer]) -> NDArray[np.float64]:
        """Expected scores of points."""
        mean = self.posterior.latent_mean(self.space.rows(states))
        return self._center + self._scale * mean

    def propose(
        self,
        best: NDArray[np.integer],
        lowest: float,
        taken: set[bytes],
        pending: NDArray[np.integer],
        is_noisy: bool,
        rng: np.random.Generator,
    ) -> NDArray[np.integer] | None:
        """Point from which the largest improvement is expected."""
        # `best` are the best points so far, the best first, and `lowest` is the best
        # value, as it is scored. Keys of `taken` are not proposed; values of `pending`
        # are not known yet. With `is_noisy` the same point may have another value.
        posterior = self.posterior
        if len(pending):
            posterior = self.believing(pending, self.mean(pending))
        target = (lowest - self._center) / self._scale
        # Without noise, what the weights do not explain is each point's own.
        own = 0.0 if is_noisy else posterior.covariance.prior.noise_variance

        def score(states: NDArray[np.integer]) -> NDArray[np.float64]:
            rows = self.space.rows(states)
            deviation = np.sqrt(posterior.latent_variance(rows) + own)
            return log_improvement(target - posterior.latent_mean(rows), deviation)

        states = not_taken(self._candidates(best, rng), taken)
        if not len(states):
            return None
        scores = score(states)
        if self.space.listed is not None:
            return states[np.argmax(scores)]
        n_rows, n_free = len(posterior.alpha), len(self.space.free)
        work_of_step = n_rows * (n_rows + n_free) * self.space.n_moves
        n_steps = int(_SURROGATE.max_work / (work_of_step * _SURROGATE.n_starts))
        found = []
        for start in np.argsort(-scores, kind="stable")[: _SURROGATE.n_starts]:
            state, height = states[start], scores[start]
            for _ in range(min(n_steps, n_free)):
                near = not_taken(self.space.neighbors(state, rng), taken)
                if not len(near):
                    break
                heights = score(near)
                k = int(np.argmax(heights))
                if heights[k] <= height:
                    break
                state, height = near[k], heights[k]
            found.append((height, state))
        return max(found, key=lambda pair: pair[0])[1]

    def _candidates(
        self, best: NDArray[np.integer], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Points to begin with: near the best, mixtures of two of them, any."""
        space = self.space
        near = [space.neighbors(state, rng) for state in best[: _SURROGATE.n_centers]]
        if space.listed is not None:
            some = rng.permutation(len(space.listed))[: _SURROGATE.max_enumerated]
            return np.unique(np.concatenate([space.listed[some], *near]), axis=0)
        pairs = rng.integers(len(best), size=(2, _SURROGATE.n_drawn))
        mask = rng.random((_SURROGATE.n_drawn, space.n_variables)) < 0.5
        mixed = np.where(mask, best[pairs[0]], best[pairs[1]])
        mixed = mixed[space.is_feasible(mixed)]
        drawn = space.draw(_SURROGATE.n_drawn, rng, best)
        return np.unique(np.concatenate([drawn, mixed, *near]), axis=0)


def r2(values: NDArray[np.float64], predictions: NDArray[np.float64]) -> float:
    """Fraction of the variance of values that was predicted, from 0 to 1."""
    return max(float(r2_score(values, predictions)), 0.0)


def log_improvement(
    gain: NDArray[np.float64], deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logarithm of the expected improvement, also where it is tiny."""
    # Of a normal variable of mean `gain` and standard deviation `deviation`, the mean
    # of its positive part.
    deviation = np.maximum(deviation, 1e-12)
    z = gain / deviation
    value = norm.pdf(z) + z * norm.cdf(z)
    # Far below, by the asymptotic series of Mills' ratio.
    safe = np.where(z < -5.0, z, -5.0)
    tail = norm.logpdf(safe) - 2.0 * np.log(-safe)
    near = np.log(np.maximum(value, 1e-300))
    return np.log(deviation) + np.where(z < -5.0, tail, near)


def _ranked(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct values in order, and normal scores with their mean and spread."""
    scores = norm.ppf((rankdata(values) - 0.5) / len(values))
    known, first = np.unique(values, return_index=True)
    return known, np.mean(values) + np.std(values) * scores[first]


def _kept(values: NDArray[np.float64], limit: int) -> NDArray[np.intp]:
    """Indices of the best values and the latest ones, in their order."""
    if len(values) <= limit:
        return np.arange(len(values))
    best = np.argsort(values, kind="stable")[: limit // 2]
    others = np.setdiff1d(np.arange(len(values)), best)
    return np.sort(np.concatenate([best, others[-(limit - len(best)) :]]))


def not_taken(states: NDArray[np.integer], taken: set[bytes]) -> NDArray[np.integer]:
    """Points whose keys are not in a set."""
    return states[[key not in taken for key in keys_of(states)]]
