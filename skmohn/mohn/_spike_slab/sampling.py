"""Gibbs sampling of the weights where message passing is off: of collinear columns."""

# Message passing has one precision for all weights, and so takes each of several
# columns that are nearly the same for what only one of them may be. Sampling needs no
# such assumption, but stays near where it starts: it starts from the run that message
# passing chose.
#
# A sweep draws each weight given all others, then for each pair of collinear columns of
# which one weight is zero, which of the two that is. At first, noise and priors are
# drawn as well, with the pseudo-counts by which message passing learns them; then they
# stay at the medians of what was drawn.
#
# Source: George and McCulloch, Approaches for Bayesian variable selection, Statistica
# Sinica 7, 1997 (the sampler, and exchanges of two columns).

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._rows import row_slices
from skmohn._core._tuned import tuned
from skmohn.mohn._spike_slab.prior import SLAB, SpikeSlab
from skmohn.mohn._spike_slab.sampling_kernels import exchange, sweep
from skmohn.mohn._spike_slab.vamp import State, Vamp


@dataclass(frozen=True)
class GibbsConstants:
    """Gibbs sampling of collinear columns."""

    # Correlation from which columns are collinear: of random even columns, 100 rows
    # have one such pair among a million.
    min_correlation: float = tuned(0.5, "benchmarks/ablation.py")
    # Sweeps by which noise and priors are learned, then those that are averaged.
    n_burn_in: int = tuned(400, "benchmarks/ablation.py")
    n_sweeps: int = tuned(1100, "benchmarks/ablation.py")
    # Rough nanoseconds of one product of a column with the residual: in all, and for
    # each entry.
    work_per_column: float = tuned(40.0, "cost")
    work_per_entry: float = tuned(0.3, "cost")
    # The same of the correlations.
    work_per_product: float = tuned(0.1, "cost")
    # Least variance of a slab, and least probability of either kind.
    min_variance: float = tuned(1e-12, "rounding")


_GIBBS = GibbsConstants()


class WeightMarginals(NamedTuple):
    """Posterior of each weight, and the hyperparameters."""

    mean: NDArray  # (n_weights,)
    variance: NDArray  # (n_weights,)
    inclusion: NDArray  # (n_weights,)
    noise: float  # variance
    priors: tuple[SpikeSlab, ...]  # one for each class


def sampling_work(n_weights: int, rank: int) -> float:
    """Rough nanoseconds of sampling, from counts alone."""
    of_sweep = n_weights * (_GIBBS.work_per_column + _GIBBS.work_per_entry * rank)
    return (
        _GIBBS.n_burn_in + _GIBBS.n_sweeps
    ) * of_sweep + _GIBBS.work_per_product * n_weights**2 * rank


def has_collinear(vamp: Vamp, inclusion: NDArray) -> bool:
    """Whether a column that likely matters is collinear with another one."""
    likely = np.flatnonzero(inclusion > 0.5)
    squares = _squares(vamp)
    products = np.abs(vamp.columns[likely] @ vamp.columns.T)
    products /= np.sqrt(squares[likely, None] * squares)
    products[np.arange(len(likely)), likely] = 0.0
    return bool((products > _GIBBS.min_correlation).any())


def sample_weights(
    vamp: Vamp, state: State, n_observed: float, rng: np.random.Generator
) -> WeightMarginals:
    """Sample weights from where one run of message passing ended."""
    # O(n_weights * rank) for each of 1500 sweeps.
    columns = np.ascontiguousarray(vamp.columns, dtype=np.float64)
    n_weights, along = len(columns), vamp.observed.along
    squares, pairs = _squares(vamp), _collinear_pairs(vamp)
    products = np.einsum("er,er->e", columns[pairs[:, 0]], columns[pairs[:, 1]])
    first = [prior.take(np.array([0])) for prior in state.priors]
    weights = np.where(state.inclusion[:, 0] > 0.5, state.mean[:, 0], 0.0)
    sides, sums = np.sign(weights), np.zeros((3, n_weights))
    noise, priors, drawn = float(state.noise[0]), first, []
    for k in range(_GIBBS.n_burn_in + _GIBBS.n_sweeps):
        if k == _GIBBS.n_burn_in:
            sums[:] = 0.0
        # From the weights: rounding errors of the sweeps would add up.
        residual = along - weights @ columns
        of_weights = _for_each(priors, vamp.classes)
        uniform = rng.random((2, n_weights + len(pairs)))
        normal = rng.standard_normal(n_weights + len(pairs))
        sweep(
            columns,
            squares,
            noise,
            of_weights,
            uniform[:, :n_weights],
            normal[:n_weights],
            residual,
            weights,
            sides,
            sums,
        )
        exchange(
            columns,
            squares,
            pairs,
            products,
            noise,
            of_weights,
            uniform[:, n_weights:],
            normal[n_weights:],
            residual,
            weights,
            sides,
        )
        if k >= _GIBBS.n_burn_in:
            continue
        square = float(residual @ residual) + vamp.observed.others
        noise = max(0.5 * square / rng.gamma(0.5 * n_observed), vamp.least_noise)
        priors = [
            _draw_prior(before, now, weights[part], sides[part], rng)
            for before, now, part in zip(first, priors, vamp.classes, strict=True)
        ]
        drawn.append(
            [noise, *np.ravel([list(vars(prior).values()) for prior in priors])]
        )
        if k == _GIBBS.n_burn_in - 1:
            noise, *values = np.median(drawn[_GIBBS.n_burn_in // 2 :], axis=0).tolist()
            priors = [SpikeSlab(*v) for v in np.reshape(values, (-1, 3, 1))]
    inclusion, mean, square = sums / _GIBBS.n_sweeps
    variance = np.maximum(square - mean**2, 0.0)
    return WeightMarginals(mean, variance, inclusion, noise, tuple(priors))


def _squares(vamp: Vamp) -> NDArray:
    """Sums of squares of the columns."""
    return np.einsum("jr,jr->j", vamp.columns, vamp.columns, dtype=np.float64)


def _collinear_pairs(vamp: Vamp) -> NDArray[np.int64]:
    """Pairs of collinear columns, ndarray of shape (n_pairs, 2)."""
    columns, roots = vamp.columns, np.sqrt(_squares(vamp))
    found: list[NDArray] = [np.empty((0, 2))]
    for part in row_slices((len(columns), len(columns))):
        products = np.abs(columns[part] @ columns.T)
        j, k = np.nonzero(products > _GIBBS.min_correlation * roots[part, None] * roots)
        j += part.start
        found.append(np.transpose([j, k])[j < k])
    return np.concatenate(found).astype(np.int64)


def _for_each(priors: Sequence[SpikeSlab], classes: Sequence[slice]) -> NDArray:
    """Log odds, variance and center of each weight."""
    values = np.empty((3, classes[-1].stop))
    for prior, part in zip(priors, classes, strict=True):
        odds = np.log(prior.inclusion) - np.log1p(-prior.inclusion)
        values[:, part] = odds, prior.variance, prior.center
    return values


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
        np.clip([inclusion], _GIBBS.min_variance, 1.0 - _GIBBS.min_variance),
        np.maximum(variance, _GIBBS.min_variance),
        center,
    )
