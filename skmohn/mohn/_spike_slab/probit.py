"""Spike-and-slab models of classes, by message passing with a third belief.

It knows the class of each row, and replaces it by a normal pseudo-target for the belief
that knows the columns. The class is the sign of the latent function plus normal noise
with variance 1, so that all its moments are closed forms.

Sources: Schniter, Rangan and Fletcher, Vector approximate message passing for the
generalized linear model, arXiv:1612.01186; Rasmussen and Williams, Gaussian Processes
for Machine Learning, 2006, Eq 3.82 to 3.87 (the moments).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtri

from skmohn.mohn._models import CONSTANT_VARIANCE
from skmohn.mohn._spike_slab.fit import (
    ONE_STRENGTH,
    best_run,
    standardize_columns,
    starts_for,
)
from skmohn.mohn._spike_slab.model import Candidates, Term
from skmohn.mohn._spike_slab.posterior import NormalPosterior
from skmohn.mohn._spike_slab.prior import SpikeSlab
from skmohn.mohn._spike_slab.vamp import (
    Observed,
    Spectrum,
    Start,
    State,
    Vamp,
    blend,
)
from skmohn.mohn._table.left_out import leave_groups_out, leave_observations_out

# Starts are told apart by their evidence; see `fit.STARTS`. The noise is the part that
# it has of the latent function's variance with it.
STARTS = tuple(
    Start(inclusion, noise, is_centered)
    for inclusion in (0.02, 0.08)
    for noise in (0.05, 0.3)
    for is_centered in (True, False)
)
# Change of means and sites with which a run has converged: the scale of the latent
# function goes on to drift where it separates most rows, and a link replaces it.
_TOLERANCE = 3e-3
# Nats by which a run that has not converged is behind: it counts only where none has.
_BEHIND = 1e9
# Normal density of the logarithm of the latent function's variance, in that of the
# noise: center and standard deviation, as broad as those of other models.
_LOG_POWER = math.log(4.0), 2.0
# Least variance of a belief, and least fraction of a precision that it leaves.
_LEAST_VARIANCE, _LEAST_SITE = 1e-12, 1e-9


@dataclass(frozen=True)
class ClassState(State):
    """Beliefs in the runs from several starts; see `State`, whose noise is the sites'.

    Attributes
    ----------
    sites : ndarray of shape (n_rows, n_starts)
        Pseudo-targets: what stands for the classes.

    cavity : ndarray of shape (n_rows, n_starts)
        Means of the latent function that the belief about the classes starts from.

    cavity_variance : ndarray of shape (n_starts,)
    """

    sites: NDArray
    cavity: NDArray
    cavity_variance: NDArray

    @property
    def has_converged(self) -> NDArray:
        """Which of the runs have come to rest, ndarray of shape (n_starts,), bool."""
        return self.change <= _TOLERANCE


class ProbitVamp(Vamp):
    """Runs of message passing on the classes of one data set.

    Parameters
    ----------
    columns : ndarray of shape (n_weights, n_rows)
        Of mean 0 and mean square 1, times the square roots of the weights.

    spectrum : Spectrum
        Of these.

    weight : ndarray of shape (n_rows,)

    is_success : ndarray of shape (n_rows,), bool

    classes : sequence of slice
        Weights of one class have one prior.

    priors : sequence of SpikeSlab, default=None
        As they are known; None to learn them.
    """

    def __init__(
        self,
        columns: NDArray,
        spectrum: Spectrum,
        weight: NDArray,
        is_success: NDArray,
        classes: Sequence[slice],
        priors: Sequence[SpikeSlab] | None = None,
    ):
        observed = Observed(np.zeros(len(spectrum.values)), 0.0, 0.0)
        super().__init__(spectrum, observed, classes, least_noise=0.0)
        self.directions = columns.T @ spectrum.vectors / np.sqrt(spectrum.values)
        self.roots, self.weight = np.sqrt(weight)[:, None], weight[:, None]
        self.total = float(weight.sum())
        self.sign = np.where(is_success, 1.0, -1.0)[:, None]
        self.priors = priors

    def begin(self, starts: Sequence[Start]) -> ClassState:
        """The state before the first iteration."""
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
        power = np.maximum(np.sum(powers, axis=0), _LEAST_VARIANCE)
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

    def _sites(self, cavity, variance):
        """Pseudo-targets that move a belief as the classes do, and their variance."""
        _, mean, left = tilt(self.sign, cavity, variance)
        left = np.sum(self.weight * left, axis=0) / self.total
        least = _LEAST_SITE / variance
        precision = np.maximum(1.0 / left - 1.0 / variance, least)
        return (mean / left - cavity / variance) / precision, 1.0 / precision

    def constant(self, state: ClassState) -> NDArray:
        """Posterior mean of the constant, whose prior is flat here."""
        return np.sum(self.weight * state.sites, axis=0) / self.total

    def _target(self, state):
        centered = state.sites - self.constant(state)
        return self.directions.T @ (self.roots * centered)

    def latent(self, state: ClassState) -> NDArray:
        """Posterior mean of the function in all rows."""
        residual, total = self.residual(state)
        return self._latent(state, residual, total)

    def _latent(self, state, residual, total):
        along = self._project(state.data)
        along += self.values / state.precision * residual / total
        return self.directions @ along / self.roots + self.constant(state)

    def _observe(self, state, residual, total, damping, is_held):
        noise = state.noise
        latent = self._latent(state, residual, total)
        variance = np.sum(self.values / state.precision * noise / total, axis=0) + noise
        variance /= self.total
        precision = np.maximum(1.0 / variance - 1.0 / noise, _LEAST_SITE / variance)
        cavity = (latent / variance - state.sites / noise) / precision
        sites, found = self._sites(cavity, 1.0 / precision)
        return {
            "sites": damping * sites + (1.0 - damping) * state.sites,
            "noise": blend(found, noise, damping),
            "cavity": cavity,
            "cavity_variance": 1.0 / precision,
        }

    def _learn(self, priors, parts):
        return super()._learn(priors, parts) if self.priors is None else priors

    def _log_data(self, state):
        """Log probability of the classes, and what the beliefs have in common."""
        noise, constant, n_rows = state.noise, self.constant(state), self.total
        residual, total = self.residual(state)
        apart = np.sum(self.weight * (state.sites - constant) ** 2, axis=0)
        others = np.maximum(apart - np.sum(self._target(state) ** 2, axis=0), 0.0)
        wide = noise + n_rows * CONSTANT_VARIANCE
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


def tilt(
    sign: NDArray, mean: NDArray, variance: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Log chance of a class under a normal belief, then mean and variance given it.

    Parameters
    ----------
    sign : ndarray of shape (n_rows, 1)
        Of the latent function plus standard normal noise.

    mean : ndarray of shape (n_rows, n_starts)

    variance : ndarray of shape (n_starts,)

    Returns
    -------
    log_chance, tilted_mean, tilted_variance : ndarrays of shape (n_rows, n_starts)
    """
    root = np.sqrt(1.0 + variance)
    at = sign * mean / root
    log_chance = log_ndtr(at)
    # Of normal density and distribution; at many standard deviations, too.
    hazard = math.sqrt(2.0 / math.pi) / erfcx(-at / math.sqrt(2.0))
    moved = mean + sign * hazard * variance / root
    less = (variance / root) ** 2 * np.clip(hazard * (at + hazard), 0.0, 1.0)
    return log_chance, moved, np.maximum(variance - less, _LEAST_VARIANCE)


@dataclass(frozen=True)
class ProbitModel:
    """A latent function of one class against all others.

    Attributes
    ----------
    terms : tuple of tuples of int

    weights, inclusion : ndarrays of shape (n_terms,)
        Posterior means, and probabilities that a weight is not zero.

    constant : float
        Where all products are zero, if the function has mean zero in the data.

    left_out : ndarray of shape (n_observations,)
        Posterior mean at each observation without it, or without its group, less the
        constant of the fit.

    priors : tuple of SpikeSlab
        Of the sets of each order.

    length : float
        Nats that the classes and the choice of the hyperparameters cost.
    """

    terms: tuple[Term, ...]
    weights: NDArray
    inclusion: NDArray
    constant: float
    left_out: NDArray
    priors: tuple[SpikeSlab, ...]
    length: float

    @property
    def learned(self) -> tuple[SpikeSlab, ...]:
        """The hyperparameters, for further data."""
        return self.priors

    @property
    def is_likely(self) -> NDArray:
        """Which weights are likelier not zero."""
        return self.inclusion > 0.5


@dataclass(frozen=True)
class ProbitSample:
    """Standardized columns of all sets up to an order, for the classes of all rows.

    Attributes
    ----------
    candidates : Candidates

    columns : ndarray of shape (n_terms, n_rows)
        Times the square roots of the weights.

    spectrum : Spectrum

    weight, unit : ndarrays of shape (n_rows,)
        Weight of an observation, and of what is left out: one of its repeats.

    group : ndarray of shape (n_rows,), int, or None
        What is left out together.
    """

    candidates: Candidates
    columns: NDArray
    spectrum: Spectrum
    weight: NDArray
    unit: NDArray
    group: NDArray | None

    @classmethod
    def of(
        cls,
        inputs: NDArray,
        weight: NDArray,
        unit: NDArray,
        group: NDArray | None,
        max_order: int,
    ) -> "ProbitSample":
        """Standardize the columns of all sets of inputs, some of which vary."""
        candidates, columns = standardize_columns(inputs, weight, max_order)
        return cls(candidates, columns, Spectrum.of(columns), weight, unit, group)

    def learn(
        self, is_success: NDArray, priors: Sequence[SpikeSlab] | None = None
    ) -> ProbitModel | None:
        """Learn the posterior of all weights.

        Parameters
        ----------
        is_success : ndarray of shape (n_rows,), bool
            Both values occur.

        priors : sequence of SpikeSlab, default=None
            As they are known; None to learn them.

        Returns
        -------
        model : ProbitModel or None
            None where no run stayed finite.
        """
        classes = self.candidates.classes
        vamp = ProbitVamp(
            self.columns, self.spectrum, self.weight, is_success, classes, priors
        )
        starts = STARTS[:1]
        if priors is None:
            n_observed = float(np.sum(self.weight / self.unit))
            starts = starts_for(STARTS, len(self.columns), n_observed)
        found = best_run(vamp, starts, partial(_charge, classes), _TOLERANCE, _BEHIND)
        if found is None:
            return None
        state, evidence = found
        posterior = self._condition(vamp, state)
        candidates = self.candidates
        weights = posterior.mean / candidates.stds
        return ProbitModel(
            candidates.terms,
            weights,
            state.inclusion[:, 0],
            -float(weights @ candidates.means),
            self._leave_out(vamp, state, posterior),
            tuple(state.priors),
            -evidence - _charge(classes, state),
        )

    def _condition(self, vamp, state):
        """The belief about all weights that knows the data."""
        residual, total = vamp.residual(state)
        noise, precision = float(state.noise[0]), float(state.precision[0])
        along = np.sqrt(vamp.values) * residual / total
        mean = state.data + self.spectrum.vectors @ along / precision
        return NormalPosterior(mean[:, 0], self.spectrum, precision, noise)

    def _leave_out(self, vamp, state, posterior):
        latent, constant = vamp.latent(state)[:, 0], float(vamp.constant(state)[0])
        pull = (state.sites[:, 0] - latent) / posterior.noise
        # The constant has a flat prior, and all columns are at right angles to it.
        known = posterior.noise / vamp.total
        if self.group is None:
            columns = self.columns / vamp.roots.T
            variance, _ = posterior.variance_at(columns)
            found = leave_observations_out(
                latent,
                variance + known,
                self.unit / posterior.noise,
                self.unit * pull,
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


def _charge(classes: Sequence[slice], state: State) -> float:
    """Log fraction of the hyperparameters' density that the data leave."""
    sizes = [part.stop - part.start for part in classes]
    power = sum(
        size * float(prior.power[0])
        for size, prior in zip(sizes, state.priors, strict=True)
    )
    center, deviation = _LOG_POWER
    away = (math.log(max(power, _LEAST_VARIANCE)) - center) / deviation
    charge = -0.5 * away**2
    # How likely and how large weights of a class are costs half a logarithm of what
    # each is learned from (Schwarz 1978), as the figures of the ensemble were measured.
    for count, prior in zip(sizes, state.priors, strict=True):
        number = count * float(prior.inclusion[0])
        narrow = float(prior.center[0] ** 2 / prior.variance[0])
        charge -= 0.5 * (math.log(count) + math.log1p(number))
        charge -= 0.5 * math.log1p(number * narrow)
    if any(prior.center[0] for prior in state.priors):
        charge -= ONE_STRENGTH
    return charge
