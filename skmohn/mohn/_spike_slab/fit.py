"""Fit of a spike-and-slab model: candidates, and several starts, by their evidence."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from skmohn._core._fitting import tick
from skmohn._core._rows import row_slices
from skmohn._core._tuned import tuned
from skmohn.mohn._design.design import make_design
from skmohn.mohn._models import PRIOR, integrate_r2, occam_factor
from skmohn.mohn._sparse.exact_fit import rounding_variance
from skmohn.mohn._spike_slab.model import Candidates, SpikeSlabModel
from skmohn.mohn._spike_slab.posterior import NormalPosterior
from skmohn.mohn._spike_slab.prior import SpikeSlab
from skmohn.mohn._spike_slab.sampling import (
    WeightMarginals,
    count_rounds,
    find_collinear,
    sample_weights,
)
from skmohn.mohn._spike_slab.vamp import VAMP, Observed, Spectrum, Start, State, Vamp
from skmohn.mohn._table.rows import count_observations, standardize
from skmohn.mohn._table.target import UNCHANGED, Transform, Unchanged, sum_log_slope

# The runs end in different fixed points, whose evidence differs by tens to hundreds of
# nats where one of them is the true function.
STARTS = tuple(
    Start(inclusion, noise, is_centered)
    for inclusion in (0.02, 0.08)
    for noise in (1e-3, 0.05, 0.35)
    for is_centered in (True, False)
)


@dataclass(frozen=True)
class SpikeSlabConstants:
    """Starts and choice of runs."""

    # Least expected number of nonzero weights of a start.
    min_expected_weights: float = tuned(2.0, "benchmarks/ablation.py")
    # Sets per row to which a start's inclusion refers at most: the same fraction of
    # more sets would be more weights than rows can identify, and runs from there fit
    # noise (a polynomial of order 3 from 150 rows and 10,700 sets: R2 0.04 instead of
    # 0.97).
    max_sets_per_row: float = tuned(10.0, "benchmarks/ablation.py")
    # Log-evidence gain that weights of one strength must exceed. Where weights are of
    # that kind they gain tens to hundreds of nats, and less is chance: of 20 glasses
    # with ties of up to 3 nats the slab around zero predicted 18 better or as well.
    min_gain_one_strength: float = tuned(3.0, "benchmarks/ablation.py")
    # Change in the last iteration up to which a run is near a fixed point: where the
    # number of nonzero weights is hardly identified, learning it takes hundreds of
    # iterations.
    near_tolerance: float = tuned(1e-2, "benchmarks/ablation.py")
    # Variance of a column below which it is constant but for rounding.
    min_variance: float = tuned(1e-9, "rounding")
    # Bytes of an entry of the columns: itself, directions, and half of that twice.
    n_bytes_per_entry: int = tuned(8 * 4, "cost")


SPIKE_SLAB = SpikeSlabConstants()


def memory_of(n_terms: int, n_rows: int) -> float:
    """Rough bytes of a fit."""
    smaller = min(n_terms, n_rows)
    return SPIKE_SLAB.n_bytes_per_entry * (
        float(n_terms) * n_rows + 2.0 * float(smaller) ** 2
    )


def fit_spike_slab(
    inputs: NDArray,
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    max_order: int,
    starts: Sequence[Start] = STARTS,
    seed: int = 0,
    max_work: float = math.inf,
) -> SpikeSlabModel | None:
    """Learn the posterior of all sets up to an order; None if all runs diverge."""
    # By message passing from `starts`, averaged by their evidence; where the columns of
    # likely sets are collinear, weights are sampled from the best end, within
    # `max_work` nanoseconds, by `seed`. The evidence is that of the best end. Inputs
    # are in [-1, 1], and y is not constant. Integer weights are repeats, others inverse
    # variances relative to a mean of 1.
    sample = _Standard.of(inputs, y, sample_weight, max_order)
    tick()
    vamp = Vamp(
        sample.spectrum,
        sample.observed,
        sample.candidates.classes,
        sample.min_noise_variance,
    )
    classes = sample.candidates.classes
    charge = partial(_charge, classes, sample.n_observed)
    starts = starts_for(starts, len(sample.candidates.terms), sample.n_observed)
    runs = rank_runs(vamp, starts, charge, SPIKE_SLAB.near_tolerance, VAMP.max_behind)
    if not runs:
        return None
    _, state, evidence = runs[0]
    precision, log_occam_factor = float(state.precision[0]), charge(state)
    found = _sample_collinear(vamp, state, sample.n_observed, max_work, seed)
    if found is None:
        found = average_runs(sample.mean_of, runs)
    data = sample.data_of(found.mean, precision, found.noise)
    model = sample.model(
        found.priors, found.noise, precision, data, evidence, log_occam_factor
    )
    return replace(model, marginals=(found.inclusion, found.variance))


def _sample_collinear(
    vamp: Vamp, state: State, n_observed: float, max_work: float, seed: int
) -> WeightMarginals | None:
    """Sample weights; None if no likely column is collinear, or it takes too long."""
    inclusion = state.inclusion[:, 0]
    n_rounds = count_rounds(inclusion, max_work)
    if not n_rounds:
        return None
    is_collinear = find_collinear(vamp, inclusion)
    if not is_collinear.any():
        return None
    rng = np.random.default_rng(seed)
    return sample_weights(vamp, state, n_observed, is_collinear, n_rounds, rng)


def starts_for(starts: Sequence[Start], n_sets: int, n_observed: float) -> list[Start]:
    """Starts for a number of sets and of observations."""
    among = min(1.0, SPIKE_SLAB.max_sets_per_row * n_observed / n_sets)
    starts = [start._replace(inclusion=among * start.inclusion) for start in starts]
    # With few sets, starts that expect hardly any weight are redundant.
    min_inclusion = min(
        SPIKE_SLAB.min_expected_weights / n_sets,
        max(start.inclusion for start in starts),
    )
    return [start for start in starts if start.inclusion >= min_inclusion]


def fit_additive(
    inputs: NDArray,
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    transform: Transform = UNCHANGED,
) -> SpikeSlabModel:
    """Learn one normal prior for the weights of all inputs: a slab without a spike."""
    # This is ridge regression on standardized columns, whose R2 `integrate_r2` learns.
    # Of a transformed target, predictions stay in the range of the targets. The other
    # parameters are those of `fit_spike_slab`.
    sample = _Standard.of(inputs, transform.forward(y), sample_weight, 1)
    values, observed = sample.spectrum.values, sample.observed
    n_terms = len(sample.candidates.terms)
    found = integrate_r2(
        values / n_terms,
        observed.along,
        observed.others,
        sample.n_observed - 1.0,
        sample.min_noise_variance,
    )
    noise, variance = found.noise, np.array([found.signal / n_terms])
    prior = SpikeSlab(*np.array([[1.0], variance, [0.0]]))
    model = sample.model(
        (prior,),
        noise,
        float(1.0 / variance[0]),
        np.zeros(n_terms),
        found.evidence + sum_log_slope(transform, y, sample_weight),
        found.log_occam_factor,
    )
    if isinstance(transform, Unchanged):
        return model
    low, high = float(np.min(y)), float(np.max(y))
    return replace(model, transform=transform, y_min=low, y_max=high)


class _Standard(NamedTuple):
    """Standardized columns and target."""

    candidates: Candidates
    spectrum: Spectrum  # of the columns
    observed: Observed
    n_observed: float  # number of observations
    weight_sum: float
    min_noise_variance: float
    center: float  # of the target
    scale: float  # of the target
    n_inputs: int
    log_weight: float  # sum of the logarithms of weights that are precisions

    @classmethod
    def of(
        cls,
        inputs: NDArray,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        max_order: int,
    ) -> "_Standard":
        """Standardize columns of all sets and the target, see `fit_spike_slab`."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        standard, center, scale = standardize(y, sample_weight)
        n_inputs = inputs.shape[1]
        candidates, columns = standardize_columns(inputs, weight, max_order)
        target = np.sqrt(weight) * standard
        tick()
        spectrum = Spectrum.of(columns)
        along = spectrum.vectors.T @ (columns @ target) / np.sqrt(spectrum.values)
        n_observed = float(count_observations(weight).sum())
        observed = Observed(
            along,
            n_observed - 1.0 - len(along),
            max(float(target @ target - along @ along), 0.0),
        )
        log_weight = 0.0
        if sample_weight is not None and n_observed == len(y):
            log_weight = float(np.sum(np.log(weight)))
        return cls(
            candidates,
            spectrum,
            observed,
            n_observed,
            float(weight.sum()),
            max(PRIOR.min_noise_variance, rounding_variance(standard)),
            float(center),
            float(scale),
            n_inputs,
            log_weight,
        )

    def model(
        self,
        priors: tuple[SpikeSlab, ...],
        noise: float,
        precision: float,
        data: NDArray[np.float64],
        evidence: float,
        log_occam_factor: float,
    ) -> SpikeSlabModel:
        """Model at some hyperparameters, whose evidence is without the constant's."""
        # The constant is normal a priori, and orthogonal to all columns.
        of_constant = self.n_observed * PRIOR.constant_variance + noise
        evidence -= 0.5 * math.log(2.0 * math.pi * of_constant)
        evidence -= self.n_observed * math.log(self.scale)
        evidence += 0.5 * self.log_weight
        return SpikeSlabModel(
            self.candidates,
            self._condition(data, precision, noise),
            data,
            priors,
            self.center,
            self.scale,
            self.n_inputs,
            evidence,
            log_occam_factor,
            self.n_observed,
        )

    def data_of(self, mean: NDArray, precision: float, noise: float) -> NDArray:
        """Means of a normal prior with which the weights have a posterior mean."""
        (values, vectors), along = self.spectrum, self.observed.along
        roots = np.sqrt(values)
        step = vectors @ (roots * (along - roots * (vectors.T @ mean)))
        return mean - step / (noise * precision)

    def mean_of(self, state: State) -> NDArray[np.float64]:
        """Posterior mean of the weights in one run."""
        data, precision, noise = state.data[:, 0], state.precision[0], state.noise[0]
        return self._mean_of(data, precision, noise)

    def _mean_of(self, data: NDArray, precision: float, noise: float) -> NDArray:
        """Posterior mean of weights with a normal prior around `data`."""
        (values, vectors), along = self.spectrum, self.observed.along
        roots = np.sqrt(values)
        step = roots * (along - roots * (vectors.T @ data))
        return data + vectors @ (step / (values + noise * precision))

    def _condition(
        self, data: NDArray[np.float64], precision: float, noise: float
    ) -> NormalPosterior:
        """Normal posterior of all weights and of the constant."""
        values, vectors = self.spectrum
        mean = np.append(self._mean_of(data, precision, noise), 0.0)
        values = np.append(
            values, self.weight_sum * PRIOR.constant_variance * precision
        )
        wider = np.zeros((len(mean), len(values)))
        wider[:-1, :-1], wider[-1, -1] = vectors, 1.0
        return NormalPosterior(mean, Spectrum(values, wider), precision, noise)


def standardize_columns(
    inputs: NDArray, weight: NDArray[np.float64], max_order: int
) -> tuple[Candidates, NDArray[np.float64]]:
    """Standardize columns, and multiply them by the square roots of the weights."""
    # Of all sets up to an order whose columns vary, (n_terms, n_rows).
    n_inputs = inputs.shape[1]
    sizes = range(1, min(max_order, n_inputs) + 1)
    sets = tuple(chain.from_iterable(combinations(range(n_inputs), k) for k in sizes))
    design = make_design(inputs)
    columns = np.empty((len(sets), len(inputs)))
    for part in row_slices(columns.shape):
        packed: Any = design.columns(sets[part])
        columns[part] = design.unpack(packed, np.float64)
    total = weight.sum()
    means = columns @ weight / total
    columns -= means[:, None]
    stds = np.sqrt(np.einsum("jr,jr,r->j", columns, columns, weight) / total)
    vary = stds > math.sqrt(SPIKE_SLAB.min_variance)
    columns = columns[vary]
    columns *= np.sqrt(weight)
    columns /= stds[vary, None]
    terms = tuple(sets[j] for j in np.flatnonzero(vary))
    return Candidates(terms, means[vary], stds[vary]), columns


class Run(NamedTuple):
    """Run of message passing."""

    key: float  # minus its description length, by which runs compare
    state: State
    evidence: float  # its logarithm


def rank_runs(
    vamp: Vamp,
    starts: Sequence[Start],
    charge: Callable[[State], float],
    at_rest: float,
    behind: float,
) -> list[Run]:
    """Runs that did not diverge, the one with the shortest description first."""
    # `charge` is the log Occam factor of a run's hyperparameters. The evidence of a run
    # whose last change exceeds `at_rest` is less exact: `behind` is subtracted.
    runs = []
    for state in vamp.run(starts):
        evidence = vamp.log_evidence(state)
        for k in range(len(state.noise)):
            part = state.take(np.array([k]))
            key = float(evidence[k]) + charge(part)
            if part.change[0] > at_rest:
                key -= behind
            runs.append(Run(key, part, float(evidence[k])))
    runs = [run for run in runs if np.isfinite(run.key)]
    return sorted(runs, key=lambda run: -run.key)


def average_runs(
    mean_of: Callable[[State], NDArray[np.float64]], runs: Sequence[Run]
) -> WeightMarginals:
    """Average runs by their evidence; noise and priors are those of the first."""
    # Runs are modes of one posterior: where several fit about as well, one of them
    # alone has too small standard errors. `mean_of` has the posterior mean of a run.
    # Source: Hoeting, Madigan, Raftery and Volinsky, Bayesian model averaging: a
    # tutorial, Statistical Science 14, 1999.
    best, probability = runs[0].state, softmax([run.key for run in runs])
    means = np.stack([mean_of(run.state) for run in runs], axis=1)
    inclusion, variance = (
        np.concatenate([getattr(run.state, name) for run in runs], axis=1)
        for name in ("inclusion", "variance")
    )
    mean = means @ probability
    return WeightMarginals(
        mean,
        (variance + (means - mean[:, None]) ** 2) @ probability,
        inclusion @ probability,
        float(best.noise[0]),
        tuple(best.priors),
    )


def _charge(classes: Sequence[slice], n_observed: float, state: State) -> float:
    """Log Occam factor of the hyperparameters."""
    # Noise and signal variance have the densities of other models. The information on
    # the signal variance is that of the slabs, see `charge_priors`.
    sizes = [members.stop - members.start for members in classes]
    power = sum(
        size * float(prior.power[0])
        for size, prior in zip(sizes, state.priors, strict=True)
    )
    variances = np.array([float(state.noise[0]), max(power, PRIOR.min_noise_variance)])
    centers, deviations = np.transpose(
        [PRIOR.log_noise_variance, PRIOR.log_signal_variance]
    )
    apart = (np.log(variances) - centers) / deviations
    charge = occam_factor(
        -0.5 * float(apart @ apart),
        np.diag(deviations**-2.0),
        0.5 * np.diag([n_observed, 0.0]),
    )
    return charge + charge_priors(state, classes)


def charge_priors(state: State, classes: Sequence[slice]) -> float:
    """Log Occam factor of the spikes and slabs of one run, see `_charge`."""
    # The number of nonzero weights of a class is log-uniform up to all of them. Its
    # information is that of the inclusions, and that of the variance is by how much the
    # squares of the weights differ from their expectation: where all are weak there is
    # hardly any, and learning them costs nothing. The center costs half the logarithm
    # of the number that it is learned from.
    # Sources: Schwarz, Estimating the dimension of a model, Annals of Statistics 6,
    # 1978; Louis, Finding the observed information matrix when using the EM algorithm,
    # Journal of the Royal Statistical Society B 44, 1982 (the information on mixture
    # weights).
    charge = 0.0
    squares = state.variance[:, 0] + state.mean[:, 0] ** 2
    for members, prior in zip(classes, state.priors, strict=True):
        count = members.stop - members.start
        # Scores of the log odds of inclusion and of the log variance.
        inclusion = state.inclusion[members, 0]
        of_inclusion = inclusion - prior.inclusion[0]
        square = prior.variance[0] + prior.center[0] ** 2
        of_variance = 0.5 * (squares[members] / square - inclusion)
        wide = math.log(max(count, 2)) ** 2 / (2.0 * math.pi)
        charge -= 0.5 * math.log1p(wide * float(of_inclusion @ of_inclusion))
        charge -= 0.5 * math.log1p(2.0 * float(of_variance @ of_variance))
        # Information on a center: its square relative to the variance of the weights.
        narrow = float(prior.center[0] ** 2 / prior.variance[0])
        number = count * float(prior.inclusion[0])
        charge -= 0.5 * math.log1p(number * narrow)
    if any(prior.center[0] for prior in state.priors):
        charge -= SPIKE_SLAB.min_gain_one_strength
    return charge
