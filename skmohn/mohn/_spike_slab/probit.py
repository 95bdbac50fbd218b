"""Spike-and-slab class models, by message passing with a third belief."""

# It has the class of each row, and replaces it by a normal pseudo-target for the belief
# that has the columns. The class is the sign of the latent function plus normal noise
# with variance 1, so that all its moments are closed forms.
#
# Sources: Schniter, Rangan and Fletcher, Vector approximate message passing for the
# generalized linear model, arXiv:1612.01186; Rasmussen and Williams, Gaussian Processes
# for Machine Learning, 2006, Eq 3.82 to 3.87 (the moments).

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtri

from skmohn._core._tuned import tuned
from skmohn._core._units import binary_units
from skmohn.mohn._models import JOINT, PRIOR
from skmohn.mohn._spike_slab.fit import (
    SPIKE_SLAB,
    rank_runs,
    standardize_columns,
    starts_for,
)
from skmohn.mohn._spike_slab.model import Candidates, Term, find_discoveries
from skmohn.mohn._spike_slab.posterior import NormalPosterior
from skmohn.mohn._spike_slab.prior import Denoised, SpikeSlab
from skmohn.mohn._spike_slab.vamp import Observed, Spectrum, Start, State, Vamp, blend
from skmohn.mohn._table.left_out import leave_groups_out, leave_observations_out

# The evidence chooses among the runs, see `fit.STARTS`. The noise is its fraction of
# the variance of latent function and noise.
STARTS = tuple(
    Start(inclusion, noise, is_centered)
    for inclusion in (0.02, 0.08)
    for noise in (0.05, 0.3)
    for is_centered in (True, False)
)


@dataclass(frozen=True)
class ProbitConstants:
    """Messages of classes."""

    # Change of means and sites at which a run has converged: the scale of a latent
    # function that separates most rows continues to drift, and a calibration link
    # replaces it.
    tolerance: float = tuned(3e-3, "benchmarks/ablation.py")
    # Nats subtracted from a run that has not converged: it counts only where none has.
    charge_not_converged: float = tuned(1e9, "rounding")
    # Least variance of a belief, and least fraction of a precision that it leaves.
    min_variance: float = tuned(1e-12, "rounding")
    min_site_fraction: float = tuned(1e-9, "rounding")
    # Bits of inputs beside the largest of their column.
    n_bits: int = tuned(24, "rounding")


_PROBIT = ProbitConstants()
# Normal density of the log variance of the latent function relative to the noise:
# center and standard deviation, as broad as those of other models.
_LOG_POWER = math.log(4.0), 2.0


@dataclass(frozen=True)
class ClassState(State):
    """Beliefs in runs from several starts; see `State`, whose noise is the sites'."""

    # (n_rows, n_starts); pseudo-targets: replacements of the classes.
    sites: NDArray[np.float64]
    # (n_rows, n_starts); prior means of the latent function in the belief about the
    # classes.
    cavity: NDArray[np.float64]
    cavity_variance: NDArray[np.float64]  # (n_starts,)

    @property
    def has_converged(self) -> NDArray[np.bool_]:
        """Mask of runs that have converged, (n_starts,)."""
        return self.change <= _PROBIT.tolerance


class ProbitVamp(Vamp):
    """Runs of message passing on the classes of one data set."""

    def __init__(
        self,
        # (n_weights, n_rows); of mean 0 and mean square 1, times the square roots of
        # the weights.
        columns: NDArray[np.float64],
        spectrum: Spectrum,  # of these
        weight: NDArray[np.float64],  # (n_rows,)
        is_success: NDArray[np.bool_],  # (n_rows,), bool
        classes: Sequence[slice],  # weights of one class have one prior
        priors: Sequence[SpikeSlab] | None = None,  # known priors; None to learn them
    ) -> None:
        observed = Observed(np.zeros(len(spectrum.values)), 0.0, 0.0)
        super().__init__(spectrum, observed, classes, min_noise_variance=0.0)
        self.directions = columns.T @ spectrum.vectors / np.sqrt(spectrum.values)
        self.roots, self.weight = np.sqrt(weight)[:, None], weight[:, None]
        self.total = float(weight.sum())
        self.sign = np.where(is_success, 1.0, -1.0)[:, None]
        self.priors = priors

    def begin(self, starts: Sequence[Start]) -> ClassState:
        """State before the first iteration."""
        state, priors = super().begin(starts), self.priors
        if priors is None:
            # In units of the noise instead of the target.
            _, noise, _ = np.transpose(starts)
            priors = [
                replace(
                    p, variance=p.variance / noise, center=p.center / np.sqrt(noise)
                )
                for p in state.priors
            ]
        sizes = [part.stop - part.start for part in self.classes]
        powers = [n * p.power for n, p in zip(sizes, priors, strict=True)]
        power = np.maximum(np.sum(powers, axis=0), _PROBIT.min_variance)
        success = float(np.sum(self.weight * (self.sign > 0.0))) / self.total
        cavity = np.tile(ndtri(success) * np.sqrt(1.0 + power), (len(self.sign), 1))
        sites, variance = self._sites(cavity, power)
        return ClassState(
            **{
                **vars(state),
                "precision": len(self.columns) / power,
                "priors": list(priors),
                "noise": variance,
            },
            sites=sites,
            cavity=cavity,
            cavity_variance=power,
        )

    def _sites(
        self, cavity: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Pseudo-targets that move a belief as the classes do, and their variance."""
        _, mean, left = tilt(self.sign, cavity, variance)
        left = np.sum(self.weight * left, axis=0) / self.total
        min_precision = _PROBIT.min_site_fraction / variance
        precision = np.maximum(1.0 / left - 1.0 / variance, min_precision)
        return (mean / left - cavity / variance) / precision, 1.0 / precision

    def constant(self, state: ClassState) -> NDArray[np.float64]:
        """Posterior mean of the constant, whose prior is flat here."""
        return np.sum(self.weight * state.sites, axis=0) / self.total

    # Beliefs of these runs are a ClassState.
    def _target(self, state: Any) -> NDArray[np.float64]:
        centered = state.sites - self.constant(state)
        return self.directions.T @ (self.roots * centered)

    def latent(self, state: ClassState) -> NDArray[np.float64]:
        """Posterior mean of the function in all rows."""
        residual, total = self.residual(state)
        return self._latent(state, residual, total)

    def _latent(
        self,
        state: ClassState,
        residual: NDArray[np.float64],
        total: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        along = self._project(state.data)
        along += self.values / state.precision * residual / total
        return self.directions @ along / self.roots + self.constant(state)

    def _observe(
        self,
        state: Any,
        residual: NDArray[np.float64],
        total: NDArray[np.float64],
        damping: float,
        is_held: bool,
    ) -> dict[str, Any]:
        noise = state.noise
        latent = self._latent(state, residual, total)
        variance = np.sum(self.values / state.precision * noise / total, axis=0) + noise
        variance /= self.total
        precision = np.maximum(
            1.0 / variance - 1.0 / noise, _PROBIT.min_site_fraction / variance
        )
        cavity = (latent / variance - state.sites / noise) / precision
        sites, found = self._sites(cavity, 1.0 / precision)
        return {
            "sites": damping * sites + (1.0 - damping) * state.sites,
            "noise": blend(found, noise, damping),
            "cavity": cavity,
            "cavity_variance": 1.0 / precision,
        }

    def _learn(self, priors: list[SpikeSlab], parts: list[Denoised]) -> list[SpikeSlab]:
        return super()._learn(priors, parts) if self.priors is None else priors

    def _log_data(self, state: Any) -> NDArray[np.float64]:
        """Log probability of the classes, and the overlap of the beliefs."""
        noise, constant, n_rows = state.noise, self.constant(state), self.total
        residual, total = self.residual(state)
        apart = np.sum(self.weight * (state.sites - constant) ** 2, axis=0)
        others = np.maximum(apart - np.sum(self._target(state) ** 2, axis=0), 0.0)
        wide = noise + n_rows * PRIOR.constant_variance
        log_sites = -0.5 * (
            np.sum(residual**2 / total + np.log(2.0 * np.pi * total), axis=0)
            + others / noise
            + (n_rows - 1.0 - len(self.values)) * np.log(2.0 * np.pi * noise)
            + n_rows * constant**2 / wide
            + np.log(2.0 * np.pi * wide)
        )
        log_chance, _, _ = tilt(self.sign, state.cavity, state.cavity_variance)
        spread = state.cavity_variance + noise
        apart = np.sum(self.weight * (state.cavity - state.sites) ** 2, axis=0)
        log_both = -0.5 * (apart / spread + n_rows * np.log(2.0 * np.pi * spread))
        return log_sites + np.sum(self.weight * log_chance, axis=0) - log_both

    def _max_evidence(self, state: Any) -> NDArray[np.float64]:
        """Classes have no probability above 1."""
        return np.zeros_like(state.noise)


def tilt(
    sign: NDArray[np.float64], mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Log probability of a class; mean and variance of the function given it."""
    # The belief about the function is normal. `sign` is that of the latent function
    # plus standard normal noise, (n_rows, 1); means are (n_rows, n_starts), variances
    # (n_starts,).
    root = np.sqrt(1.0 + variance)
    at = sign * mean / root
    log_chance = log_ndtr(at)
    # Ratio of normal density and distribution, without underflow in the tails.
    hazard = math.sqrt(2.0 / math.pi) / erfcx(-at / math.sqrt(2.0))
    moved = mean + sign * hazard * variance / root
    less = (variance / root) ** 2 * np.clip(hazard * (at + hazard), 0.0, 1.0)
    return log_chance, moved, np.maximum(variance - less, _PROBIT.min_variance)


@dataclass(frozen=True)
class ProbitModel:
    """Latent function of one class against all others."""

    terms: tuple[Term, ...]
    weights: NDArray[np.float64]  # (n_terms,); posterior means
    # (n_terms,); probabilities that a weight is not zero.
    inclusion: NDArray[np.float64]
    root: NDArray[np.float64]  # (n_terms, n_terms); see `NormalPosterior.root`
    # Where all products are zero, if the function has mean zero in the data.
    constant: float
    # (n_observations,); leave-one-out or leave-one-group-out posterior mean at each
    # observation, less the constant of the fit.
    left_out: NDArray[np.float64]
    priors: tuple[SpikeSlab, ...]  # of the sets of each order
    length: float  # nats of the classes and of the choice of the hyperparameters

    @property
    def learned(self) -> tuple[SpikeSlab, ...]:
        """Hyperparameters, for further data."""
        return self.priors

    @property
    def is_likely(self) -> NDArray[np.bool_]:
        """Mask of weights that are likely nonzero, see `find_discoveries`."""
        return find_discoveries(self.inclusion)


@dataclass(frozen=True)
class ProbitSample:
    """Standardized columns of all sets up to an order, for the classes of all rows."""

    candidates: Candidates
    # (n_terms, n_rows); times the square roots of the weights.
    columns: NDArray[np.float64]
    spectrum: Spectrum
    weight: NDArray[np.float64]  # (n_rows,); weight of an observation
    # (n_rows,); weight of one of its repeats, which is left out at a time.
    unit: NDArray[np.float64]
    group: NDArray[np.intp] | None  # (n_rows,), int; rows that are left out together

    @classmethod
    def of(
        cls,
        inputs: NDArray,
        weight: NDArray[np.float64],
        unit: NDArray[np.float64],
        group: NDArray[np.intp] | None,
        max_order: int,
    ) -> "ProbitSample":
        """Standardize the columns of all sets of inputs, some of which vary."""
        candidates, columns = standardize_columns(
            _round_inputs(inputs), weight, max_order
        )
        return cls(candidates, columns, Spectrum.of(columns), weight, unit, group)

    def learn(
        self, is_success: NDArray[np.bool_], priors: Sequence[SpikeSlab] | None = None
    ) -> ProbitModel | None:
        """Learn the posterior of all weights; None if all runs diverge."""
        # Both classes occur. `priors` None: they are learned.
        classes = self.candidates.classes
        vamp = ProbitVamp(
            self.columns, self.spectrum, self.weight, is_success, classes, priors
        )
        starts = STARTS[:1]
        if priors is None:
            n_observed = float(np.sum(self.weight / self.unit))
            starts = starts_for(STARTS, len(self.columns), n_observed)
        runs = rank_runs(
            vamp,
            starts,
            partial(_charge, classes),
            _PROBIT.tolerance,
            _PROBIT.charge_not_converged,
        )
        if not runs:
            return None
        _, state, evidence = runs[0]
        posterior = self._condition(vamp, state)
        candidates = self.candidates
        weights = posterior.mean / candidates.stds
        return ProbitModel(
            candidates.terms,
            weights,
            state.inclusion[:, 0],
            (posterior.root(JOINT.max_joint).T / candidates.stds).T,
            -float(weights @ candidates.means),
            self._leave_out(vamp, state, posterior),
            tuple(state.priors),
            -evidence - _charge(classes, state),
        )

    def _condition(self, vamp: ProbitVamp, state: State) -> NormalPosterior:
        """Belief about all weights that has the data."""
        residual, total = vamp.residual(state)
        noise, precision = float(state.noise[0]), float(state.precision[0])
        along = np.sqrt(vamp.values) * residual / total
        mean = state.data + self.spectrum.vectors @ along / precision
        return NormalPosterior(mean[:, 0], self.spectrum, precision, noise)

    def _leave_out(
        self, vamp: ProbitVamp, state: Any, posterior: NormalPosterior
    ) -> NDArray[np.float64]:
        latent, constant = vamp.latent(state)[:, 0], float(vamp.constant(state)[0])
        pull = (state.sites[:, 0] - latent) / posterior.noise
        # The constant has a flat prior, and is orthogonal to all columns.
        known = posterior.noise / vamp.total
        if self.group is None:
            columns = self.columns / vamp.roots.T
            variance, _ = posterior.variance_at(columns)
            found = leave_observations_out(
                latent, variance + known, self.unit / posterior.noise, self.unit * pull
            )
        else:
            found = leave_groups_out(
                latent,
                lambda some: (
                    posterior.covariance_at(self.columns[:, some] / vamp.roots[some].T)
                    + known
                ),
                self.weight / posterior.noise,
                self.weight * pull,
                self.group,
            )
        return found - constant


def _round_inputs(inputs: NDArray) -> NDArray[np.float64]:
    """Inputs to single precision, so that rounding errors of other units are none."""
    # The scale of a latent function that separates most rows drifts; where a run of
    # two strengths ends on its way follows from the last bits of its columns.
    unit = binary_units(inputs) * 2.0**-_PROBIT.n_bits
    return np.rint(inputs / unit) * unit


def _charge(classes: Sequence[slice], state: State) -> float:
    """Log Occam factor of the hyperparameters."""
    sizes = [part.stop - part.start for part in classes]
    power = sum(
        size * float(prior.power[0])
        for size, prior in zip(sizes, state.priors, strict=True)
    )
    center, deviation = _LOG_POWER
    away = (math.log(max(power, _PROBIT.min_variance)) - center) / deviation
    charge = -0.5 * away**2
    # Inclusion and size of the weights of a class cost half the logarithm of the number
    # that each is learned from (Schwarz 1978), as in the ensemble's measured figures.
    for count, prior in zip(sizes, state.priors, strict=True):
        number = count * float(prior.inclusion[0])
        narrow = float(prior.center[0] ** 2 / prior.variance[0])
        charge -= 0.5 * (math.log(count) + math.log1p(number))
        charge -= 0.5 * math.log1p(number * narrow)
    if any(prior.center[0] for prior in state.priors):
        charge -= SPIKE_SLAB.min_gain_one_strength
    return charge
