"""Sampling of which weights of collinear columns are zero: message passing is off."""

# Message passing has one precision for all weights, and so takes each of several
# columns that are nearly the same for what only one of them may be. Sampling needs no
# such assumption; it starts from the run that message passing chose.
#
# The weights are integrated out: only which of them are zero is sampled, and on which
# side those of an own center are. So a collinear column may come in while the other one
# still is, and then the other one may go; with weights drawn one given all others, of
# 300 rows with columns of 4% to 50% ones 3.5% of the weights with inclusions above 0.99
# were zero. Each step changes one weight, chosen by its odds, so that none is refused.
# At first, noise and priors are drawn as well, with the pseudo-counts by which message
# passing learns them; then they stay at the medians of what was drawn.
#
# Sources: George and McCulloch, Approaches for Bayesian variable selection, Statistica
# Sinica 7, 1997 (weights integrated out); Zanella, Informed proposals for local MCMC in
# discrete spaces, Journal of the American Statistical Association 115, 2020 (steps by
# their odds); Zanella and Roberts, Scalable importance tempering and Bayesian variable
# selection, Journal of the Royal Statistical Society B 81, 2019 (averages of inclusions
# given all others).

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned
from skmohn.mohn._spike_slab.prior import SLAB, SpikeSlab
from skmohn.mohn._spike_slab.sampling_kernels import walk
from skmohn.mohn._spike_slab.vamp import State, Vamp


@dataclass(frozen=True)
class SamplingConstants:
    """Sampling of the weights of collinear columns."""

    # Correlation from which columns are collinear: of random even columns, 100 rows
    # have one such pair among a million.
    min_correlation: float = tuned(0.5, "benchmarks/ablation.py")
    # Weights that are sampled at most; others keep the posterior of message passing.
    max_sampled: int = tuned(2000, "cost")
    # Steps between two draws of noise and priors, a round; rounds at least and at most,
    # and the fraction of these by which noise and priors are learned.
    n_steps: int = tuned(100, "benchmarks/ablation.py")
    min_rounds: int = tuned(80, "benchmarks/ablation.py")
    max_rounds: int = tuned(400, "benchmarks/ablation.py")
    learning_fraction: float = tuned(0.25, "benchmarks/ablation.py")
    # Rough nanoseconds of a step: for each weight, and for each of these and of the
    # weights that are not zero.
    work_per_weight: float = tuned(16.0, "cost")
    work_per_product: float = tuned(0.5, "cost")
    # Least variance of a slab, and least probability of either kind.
    min_variance: float = tuned(1e-12, "rounding")


_SAMPLING = SamplingConstants()


class WeightMarginals(NamedTuple):
    """Posterior of each weight, and the hyperparameters."""

    mean: NDArray  # (n_weights,)
    variance: NDArray  # (n_weights,)
    inclusion: NDArray  # (n_weights,)
    noise: float  # variance
    priors: tuple[SpikeSlab, ...]  # one for each class


def count_rounds(inclusion: NDArray, max_work: float) -> int:
    """Rounds of sampling in ``max_work`` nanoseconds, by inclusions; 0 if too few."""
    sampled = np.sort(inclusion)[-_SAMPLING.max_sampled :]
    of_weight = float(sampled.sum()) * _SAMPLING.work_per_product
    of_step = len(sampled) * (_SAMPLING.work_per_weight + of_weight)
    affordable = max_work / (_SAMPLING.n_steps * of_step)
    n_rounds = int(min(affordable, _SAMPLING.max_rounds))
    return n_rounds if n_rounds >= _SAMPLING.min_rounds else 0


def find_collinear(vamp: Vamp, inclusion: NDArray) -> NDArray[np.bool_]:
    """Which columns are collinear with another one that likely matters."""
    likely = np.flatnonzero(inclusion > 0.5)
    squares = np.einsum("jr,jr->j", vamp.columns, vamp.columns, dtype=np.float64)
    roots = np.sqrt(squares)
    products = np.abs(vamp.columns[likely] @ vamp.columns.T)
    products /= roots[likely, None] * roots
    products[np.arange(len(likely)), likely] = 0.0
    return (products > _SAMPLING.min_correlation).any(axis=0)


def sample_weights(
    vamp: Vamp,
    state: State,
    n_observed: float,
    is_collinear: NDArray[np.bool_],  # (n_weights,)
    n_rounds: int,
    rng: np.random.Generator,
) -> WeightMarginals:
    """Sample weights from where one run of message passing ended."""
    sampled = choose_sampled(state.inclusion[:, 0], is_collinear)
    columns = np.asarray(vamp.columns, dtype=np.float64)
    # Other weights stay at the means that message passing found. Where the prior is
    # learned they count as zero, as nearly all of them are.
    others = state.mean[:, 0].copy()
    others[sampled] = 0.0
    first = priors = [prior.take(np.array([0])) for prior in state.priors]
    of_each = _for_each(priors, vamp.classes)[:, sampled]
    sides = np.where(of_each[2] > 0.0, np.sign(state.mean[sampled, 0]), 1.0)
    chain = Chain(
        columns[sampled],
        vamp.observed.along - others @ columns,
        np.where(state.inclusion[sampled, 0] > 0.5, sides, 0.0),
    )
    noise, drawn = float(state.noise[0]), []
    n_learning = round(_SAMPLING.learning_fraction * n_rounds)
    for _ in range(n_learning):
        chain.walk(noise, of_each, rng)
        drawn_weights, drawn_sides = np.zeros((2, len(columns)))
        drawn_weights[sampled] = chain.draw(noise, of_each, rng)
        drawn_sides[sampled] = chain.sides
        square = chain.square_left(drawn_weights[sampled]) + vamp.observed.others
        noise = max(0.5 * square / rng.gamma(0.5 * n_observed), vamp.min_noise_variance)
        priors = [
            _draw_prior(before, now, drawn_weights[part], drawn_sides[part], rng)
            for before, now, part in zip(first, priors, vamp.classes, strict=True)
        ]
        of_each = _for_each(priors, vamp.classes)[:, sampled]
        drawn.append(
            [noise, *np.ravel([list(vars(prior).values()) for prior in priors])]
        )
    noise, *values = np.median(drawn[n_learning // 2 :], axis=0).tolist()
    priors = [SpikeSlab(*v) for v in np.reshape(values, (-1, 3, 1))]
    of_each = _for_each(priors, vamp.classes)[:, sampled]
    chain.sums[:] = 0.0
    for _ in range(n_learning, n_rounds):
        chain.walk(noise, of_each, rng)
    mean, variance, inclusion = (
        values[:, 0].copy() for values in (state.mean, state.variance, state.inclusion)
    )
    inclusion[sampled], mean[sampled], square = chain.sums[:3] / chain.sums[3]
    variance[sampled] = np.maximum(square - mean[sampled] ** 2, 0.0)
    return WeightMarginals(mean, variance, inclusion, noise, tuple(priors))


class Chain:
    """Which weights are not zero, a state of the chain, and sums over its steps."""

    def __init__(
        self,
        columns: NDArray[np.float64],  # (n_weights, rank)
        target: NDArray[np.float64],  # (rank,)
        sides: NDArray[np.float64],  # (n_weights,); 0, or -1 and 1, where it starts
    ) -> None:
        self.columns, self.target, self.sides = columns, target, sides
        self.gram, self.moment = columns @ columns.T, columns @ target
        # Inclusions, means and mean squares times the time, and the time.
        self.sums = np.zeros((4, len(columns)))

    def walk(
        self,
        noise: float,  # variance
        of_each: NDArray[np.float64],  # (3, n_weights); as `_for_each` returns them
        rng: np.random.Generator,
    ) -> None:
        """Take a round of steps, and go back to one of its states, as likely as it."""
        active, lower, root, mean = self._condition(noise, of_each)
        prior_precision = 1.0 / of_each[1]
        n_active = len(active)
        size = min(len(self.sides), n_active + _SAMPLING.n_steps)
        toward = self.gram[:, active] / noise
        precision = np.diag(self.gram) / noise + prior_precision
        precision -= np.square(toward @ root).sum(axis=1)
        wide, wider = np.zeros((size, size)), np.zeros((2, size))
        wide[:n_active, :n_active] = lower
        wider[:, :n_active] = np.square(root).sum(axis=1), mean
        kept = self.sides.copy()
        walk(
            self.gram,
            noise,
            side_priors(of_each),
            np.maximum(precision, prior_precision),
            self.moment / noise - toward @ mean,
            np.append(active, np.zeros(size - n_active, dtype=np.int64)),
            n_active,
            wide,
            wider[0],
            wider[1],
            self.sides,
            rng.random((_SAMPLING.n_steps, 2)),
            self.sums,
            kept,
        )
        self.sides = kept

    def draw(
        self, noise: float, of_each: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw the weights."""
        active, _, root, mean = self._condition(noise, of_each)
        weights = np.zeros(len(self.sides))
        weights[active] = mean + root @ rng.standard_normal(len(active))
        return weights

    def square_left(self, weights: NDArray[np.float64]) -> float:
        """Sum of squares of the residuals."""
        residual = self.target - weights @ self.columns
        return float(residual @ residual)

    def _condition(
        self, noise: float, of_each: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray, NDArray, NDArray]:
        """Active weights; factor of their precision, root of their covariance, mean."""
        active = np.flatnonzero(self.sides).astype(np.int64)
        _, variance, center = of_each[:, active]
        precision = self.gram[np.ix_(active, active)] / noise
        precision[np.diag_indices(len(active))] += 1.0 / variance
        data = self.moment[active] / noise + self.sides[active] * center / variance
        lower = np.linalg.cholesky(precision)
        root = np.linalg.inv(lower).T
        return active, lower, root, root @ (root.T @ data)


def choose_sampled(
    inclusion: NDArray[np.float64], is_collinear: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Weights to sample: those of collinear columns, and the likeliest."""
    first = np.where(is_collinear, 1.0, inclusion)
    return np.sort(np.argsort(-first, kind="stable")[: _SAMPLING.max_sampled])


def _for_each(
    priors: Sequence[SpikeSlab], classes: Sequence[slice]
) -> NDArray[np.float64]:
    """Log odds, variance and center of each weight."""
    values = np.empty((3, classes[-1].stop))
    for prior, part in zip(priors, classes, strict=True):
        odds = np.log(prior.inclusion) - np.log1p(-prior.inclusion)
        values[:, part] = odds, prior.variance, prior.center
    return values


def side_priors(of_each: NDArray[np.float64]) -> NDArray[np.float64]:
    """Priors of either side of each weight as `walk` has them."""
    log_odds, variance, center = of_each
    side = log_odds - 0.5 * (np.log(variance) + center**2 / variance)
    side -= np.where(center > 0.0, np.log(2.0), 0.0)
    return np.array([side, 1.0 / variance, center / variance])


def _draw_prior(
    before: SpikeSlab,
    now: SpikeSlab,
    weights: NDArray,
    sides: NDArray,
    rng: np.random.Generator,
) -> SpikeSlab:
    """Draw the prior of a class given its weights."""
    # Pseudo-counts are those of `SpikeSlab.learn`, at the hyperparameters learned
    # before.
    included = float(np.count_nonzero(sides))
    # Pseudo-counts of both kinds, so that neither has a probability of zero.
    inclusion = rng.beta(
        SLAB.n_included + included,
        SLAB.n_counted - SLAB.n_included + len(weights) - included,
    )
    is_apart = bool(before.center[0])
    center = now.center
    if is_apart:
        count = included + SLAB.slab_counts[1]
        mean = (float(weights @ sides) + SLAB.slab_counts[1] * before.center) / count
        center = np.abs(mean + np.sqrt(now.variance / count) * rng.standard_normal(1))
    kept = SLAB.slab_counts[1] if is_apart else SLAB.slab_counts[0]
    square = float(np.sum((weights - center * sides) ** 2)) + kept * before.variance
    variance = 0.5 * square / rng.gamma(0.5 * (included + kept))
    return SpikeSlab(
        np.clip([inclusion], _SAMPLING.min_variance, 1.0 - _SAMPLING.min_variance),
        np.maximum(variance, _SAMPLING.min_variance),
        center,
    )
