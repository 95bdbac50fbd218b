"""Vector approximate message passing that learns its prior and noise."""

# It alternates between two beliefs about all weights: a normal one, which has the data
# and replaces the prior by ``N(data, 1 / precision)``, and one that has the prior of
# each weight and replaces the data by pseudo-data. At a fixed point they have the same
# means and, on average, the same variances, and an approximation of the evidence
# follows. Several starts run together, since each iteration is two products of one
# matrix.
#
# All weights have one precision in the normal belief, which is exact for many columns
# that are random and even. With 36 to 78 columns that are signs of an autoregressive
# process, inclusions differ by up to 0.16 from Gibbs sampling, with columns of 4% to
# 50% ones by up to 0.6, where a rare column and its products differ in few rows:
# weights of such columns are sampled, see `sampling`.
#
# Sources: Rangan, Schniter and Fletcher, Vector approximate message passing, IEEE
# Transactions on Information Theory 65, 2019; Fletcher and Schniter, Learning and free
# energies for vector approximate message passing, arXiv:1602.08207 (the learning);
# Opper and Winther, Expectation consistent approximate inference, JMLR 6, 2005 (the
# evidence); MacKay, Bayesian interpolation, Neural Computation 4, 1992, Eq 4.8 (the
# noise).

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import tick
from skmohn._core._tuned import tuned
from skmohn.mohn._spike_slab.prior import SLAB, Denoised, SpikeSlab


@dataclass(frozen=True)
class VAMPConstants:
    """Vector approximate message passing."""

    # Damping and its number of iterations; runs that have not converged go on with the
    # next.
    damping: tuple[tuple[float, int], ...] = tuned(
        ((0.7, 120), (0.3, 120)), "benchmarks/ablation.py"
    )
    # Iterations until the prior and the noise are learned: before, the pseudo-data are
    # those of the start rather than of the weights.
    n_iter_fixed_prior: int = tuned(30, "benchmarks/ablation.py")
    # Change of the means, relative to their length, at which a run has converged, and
    # the weight of a change of the log noise beside it.
    tolerance: float = tuned(1e-4, "benchmarks/ablation.py")
    noise_change_weight: float = tuned(1e-2, "benchmarks/ablation.py")
    # Least fraction of a precision that one belief leaves to the other: means are
    # divided by it, and those of the normal belief are products in single precision.
    min_data_fraction: float = tuned(1e-3, "rounding")
    min_pseudo_fraction: float = tuned(1e-9, "rounding")
    # Largest precision of a weight, whose target has a variance of 1.
    max_precision: float = tuned(1e12, "rounding")
    # Entries of columns from which products are in single precision: below, they take
    # less time than the rest, and weighted and repeated rows would differ by rounding.
    min_entries_single: int = tuned(2**17, "cost")
    # Nats below the best run that has converged within which others go on.
    max_behind: float = tuned(10.0, "benchmarks/ablation.py")
    # Iterations after which runs are compared, and the distance of their means,
    # relative to their length, at which they have met and one of them goes on.
    n_iter_compared: int = tuned(10, "cost")
    met_distance: float = tuned(1e-2, "cost")
    # Length of all weights beyond which a run has diverged; that of a function is about
    # 1. Runs that begin with too little noise pass 1e3 and return, or not, by rounding.
    max_length: float = tuned(1e6, "rounding")
    # Eigenvalues below this fraction of the largest one are rounding errors.
    rounding: float = tuned(1e-8, "rounding")


VAMP = VAMPConstants()


class Spectrum(NamedTuple):
    """Nonzero singular values of the matrix of the columns."""

    # (rank,); squares of the singular values, the eigenvalues of the Gram matrices.
    values: NDArray[np.float64]
    # (n_weights, rank); orthonormal: directions of the weights.
    vectors: NDArray[np.float64]

    @classmethod
    def of(cls, columns: NDArray[np.float64]) -> "Spectrum":
        """Decompose columns, (n_weights, n_rows), by the smaller Gram matrix."""
        # O(n_weights n_rows min(n_weights, n_rows)).
        n_weights, n_rows = columns.shape
        is_flat = n_rows < n_weights
        gram = columns.T @ columns if is_flat else columns @ columns.T
        values, vectors = np.linalg.eigh(gram)
        kept = values > VAMP.rounding * max(values.max(initial=0.0), 1e-300)
        values, vectors = values[kept], vectors[:, kept]
        if is_flat:
            vectors = (columns @ vectors) / np.sqrt(values)
        return cls(values, vectors)


class Observed(NamedTuple):
    """Target along the directions of a spectrum."""

    along: NDArray[np.float64]  # (rank,); its components
    # Directions in which all columns are zero, except that of the constant.
    n_others: float
    others: float  # sum of squares in these


class Start(NamedTuple):
    """Initial values of a run, in units of the variance of the target."""

    inclusion: float  # fraction of the weights that are not zero
    noise: float  # variance of the noise; weights have the rest
    is_centered: bool  # slabs are around zero; if not, around two strengths


@dataclass(frozen=True)
class State:
    """Beliefs about all weights in the runs from several starts."""

    # (n_weights, n_starts); means of the normal prior that replaces the priors of the
    # weights in the belief that has the data.
    data: NDArray[np.float64]
    precision: NDArray[np.float64]  # (n_starts,); its precision
    # (n_weights, n_starts); replacement of the data in the belief that has the priors.
    pseudo_data: NDArray[np.float64]
    pseudo_precision: NDArray[np.float64]  # (n_starts,)
    noise: NDArray[np.float64]  # (n_starts,); variance of the noise
    priors: list[SpikeSlab]  # one for each class
    # (n_weights, n_starts); of the belief that has the priors.
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]  # (n_weights, n_starts)
    inclusion: NDArray[np.float64]  # (n_weights, n_starts); of the same belief
    # (n_starts,); of means and noise in the last iteration, infinite until the noise is
    # learned.
    change: NDArray[np.float64]

    @property
    def has_converged(self) -> NDArray[np.bool_]:
        """Mask of runs that have converged, (n_starts,)."""
        return self.change <= VAMP.tolerance

    def take(self, starts: NDArray[np.intp]) -> "State":
        """Runs from some of the starts."""
        arrays = {k: v[..., starts] for k, v in vars(self).items() if k != "priors"}
        return replace(self, **arrays, priors=[p.take(starts) for p in self.priors])


class Vamp:
    """Runs of message passing on one data set."""

    def __init__(
        self,
        spectrum: Spectrum,  # of columns whose mean square is 1
        observed: Observed,  # target of variance 1
        classes: Sequence[slice],  # weights of one class have one prior
        min_noise_variance: float,  # least variance of the noise
    ) -> None:
        self.values = spectrum.values[:, None]
        # Products take half of the time, and half of that in single precision.
        scaled = spectrum.vectors * np.sqrt(spectrum.values)
        is_large = scaled.size >= VAMP.min_entries_single
        self.columns = scaled.astype(np.float32 if is_large else np.float64)
        self.observed, self.classes = observed, classes
        self.along = observed.along[:, None]
        self.min_noise_variance = min_noise_variance

    def run(self, starts: Sequence[Start]) -> list[State]:
        """Infer all weights from several starts; return runs that did not diverge."""
        # O(n_weights * rank * n_starts) for each of at most 240 iterations.
        state, ended, first = self.begin(starts), [], 0
        for damping, n_iter in VAMP.damping:
            for iteration in range(first, first + n_iter):
                tick()
                state = self.iterate(
                    state, damping, iteration < VAMP.n_iter_fixed_prior
                )
                # False for NaN, too.
                is_sound = np.linalg.norm(state.mean, axis=0) < VAMP.max_length
                done = is_sound & state.has_converged
                if done.any():
                    new = self._apart(state.take(np.flatnonzero(done)), ended)
                    ended += [new] if len(new.noise) else []
                if not np.all(is_sound & ~done):
                    state = state.take(np.flatnonzero(is_sound & ~done))
                if (
                    iteration >= VAMP.n_iter_fixed_prior
                    and not (iteration - VAMP.n_iter_fixed_prior) % VAMP.n_iter_compared
                ):
                    state = self._apart(state, ended)
                if not len(state.noise):
                    return ended
            first += n_iter
            state = self._promising(state, ended)
            if not len(state.noise):
                break
        return [*ended, state]

    def _apart(self, state: State, ended: list[State]) -> State:
        """Drop runs that have met another or one that has ended."""
        # Runs with slabs around zero and those with slabs around two strengths never
        # meet.
        runs = [state, *ended]
        means = np.concatenate([run.mean for run in runs], axis=1)
        centers = np.concatenate([run.priors[0].center for run in runs])
        is_centered = centers == 0.0
        squares = np.einsum("js,js->s", means, means)
        distances = squares[:, None] + squares - 2.0 * (means.T @ means)
        has_met = distances <= VAMP.met_distance**2 * squares
        has_met &= is_centered[:, None] == is_centered
        has_met[: len(state.noise), : len(state.noise)] &= np.tri(
            len(state.noise), k=-1, dtype=bool
        )
        return state.take(np.flatnonzero(~has_met[: len(state.noise)].any(axis=1)))

    def _promising(self, state: State, ended: list[State]) -> State:
        """Runs that may yet exceed the evidence of those that have converged."""
        if not ended:
            return state
        best = max(self.log_evidence(other).max() for other in ended)
        return state.take(
            np.flatnonzero(self.log_evidence(state) > best - VAMP.max_behind)
        )

    def begin(self, starts: Sequence[Start]) -> State:
        """State before the first iteration."""
        n_weights = len(self.columns)
        shape = n_weights, len(starts)
        inclusion, noise, is_centered = np.transpose(starts)
        power = (1.0 - noise) / (inclusion * n_weights)
        square = power / (1.0 + SLAB.variance_ratio)
        variance = np.where(is_centered, power, SLAB.variance_ratio * square)
        center = np.where(is_centered, 0.0, np.sqrt(square))
        prior = SpikeSlab(inclusion, variance, center)
        zeros, ones = np.zeros(shape), np.ones(len(starts))
        return State(
            data=zeros,
            precision=n_weights * ones,
            pseudo_data=zeros,
            pseudo_precision=0.0 * ones,
            noise=noise,
            priors=[prior for _ in self.classes],
            mean=zeros,
            variance=zeros,
            inclusion=zeros,
            change=np.inf * ones,
        )

    def iterate(self, state: State, damping: float, is_held: bool) -> State:
        """One exchange between both beliefs."""
        residual, total = self.residual(state)
        pseudo, pseudo_precision = self._linear(state, residual, total)
        if state.pseudo_precision.all():
            pseudo = damping * pseudo + (1.0 - damping) * state.pseudo_data
            pseudo_precision = blend(pseudo_precision, state.pseudo_precision, damping)
        parts = [
            prior.denoise(pseudo[members], 1.0 / pseudo_precision)
            for prior, members in zip(state.priors, self.classes, strict=True)
        ]
        mean, variance, inclusion = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("mean", "variance", "inclusion")
        )
        both = 1.0 / np.maximum(variance.mean(axis=0), 1e-300)
        precision = np.clip(
            both - pseudo_precision, VAMP.min_data_fraction * both, VAMP.max_precision
        )
        data = (both * mean - pseudo_precision * pseudo) / precision
        observed = self._observe(state, residual, total, damping, is_held)
        priors, settled = state.priors, np.inf
        if not is_held:
            priors = self._learn(priors, parts)
            settled = VAMP.noise_change_weight * np.abs(
                np.log(observed["noise"] / state.noise)
            )
        length = np.linalg.norm(mean, axis=0)
        change = np.linalg.norm(mean - state.mean, axis=0)
        return replace(
            state,
            data=damping * data + (1.0 - damping) * state.data,
            precision=blend(precision, state.precision, damping),
            pseudo_data=pseudo,
            pseudo_precision=pseudo_precision,
            priors=priors,
            mean=mean,
            variance=variance,
            inclusion=inclusion,
            change=np.maximum(change / np.maximum(length, 1e-300), settled),
            **observed,
        )

    def residual(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Target less the mean of the normal prior, and its prior variance."""
        residual = self._target(state) - self._project(state.data)
        return residual, state.noise + self.values / state.precision

    def _target(self, state: State) -> NDArray[np.float64]:
        """Target along the directions."""
        return self.along

    def _observe(
        self,
        state: State,
        residual: NDArray[np.float64],
        total: NDArray[np.float64],
        damping: float,
        is_held: bool,
    ) -> dict[str, Any]:
        """Attributes of the state that describe the data, updated."""
        if is_held:
            return {"noise": state.noise}
        noise = self._noise(state.noise, residual, total)
        return {"noise": blend(noise, state.noise, damping)}

    def _learn(self, priors: list[SpikeSlab], parts: list[Denoised]) -> list[SpikeSlab]:
        """One step of expectation maximization."""
        return [p.learn(part) for p, part in zip(priors, parts, strict=True)]

    def _linear(
        self, state: State, residual: NDArray[np.float64], total: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Pseudo-data of the belief that has the data."""
        n_weights, precision = len(self.columns), state.precision
        # The posterior mean, less the mean of the normal prior, and its variance.
        step = self._combine(residual / total) / precision
        spread = len(self.columns) - len(self.values)
        variance = (spread + (state.noise / total).sum(axis=0)) / (
            precision * n_weights
        )
        both = 1.0 / variance
        pseudo_precision = np.clip(
            both - precision, VAMP.min_pseudo_fraction * both, VAMP.max_precision
        )
        return state.data + step * (both / pseudo_precision), pseudo_precision

    def log_evidence(self, state: State) -> NDArray[np.float64]:
        """Expectation-consistent log evidence, without the constant's direction."""
        # Minus infinity where it exceeds what any weights reach: the run has diverged.
        log_prior = sum(
            prior.log_density(state.pseudo_data[members], 1.0 / state.pseudo_precision)
            for prior, members in zip(state.priors, self.classes, strict=True)
        )
        spread = 1.0 / state.precision + 1.0 / state.pseudo_precision
        apart = np.sum((state.pseudo_data - state.data) ** 2, axis=0) / spread
        log_both = -0.5 * (apart + len(self.columns) * np.log(2.0 * np.pi * spread))
        found = log_prior + self._log_data(state) - log_both
        return np.where(found <= self._max_evidence(state), found, -np.inf)

    def _max_evidence(self, state: State) -> NDArray[np.float64]:
        """Log density of the target under the weights that fit it best."""
        observed, noise = self.observed, state.noise
        n_directions = len(self.values) + observed.n_others
        log_volume = n_directions * np.log(2.0 * np.pi * noise)
        return -0.5 * (observed.others / noise + log_volume)

    def _log_data(self, state: State) -> NDArray[np.float64]:
        """Log density of the target under the normal prior."""
        observed, noise = self.observed, state.noise
        residual, total = self.residual(state)
        return -0.5 * (
            np.sum(residual**2 / total + np.log(2.0 * np.pi * total), axis=0)
            + observed.others / noise
            + observed.n_others * np.log(2.0 * np.pi * noise)
        )

    def _noise(
        self,
        noise: NDArray[np.float64],
        residual: NDArray[np.float64],
        total: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Noise at which the expected residuals match the observed ones."""
        observed = self.observed
        found = np.sum((residual / total) ** 2, axis=0) + observed.others / noise**2
        expected = np.sum(1.0 / total, axis=0) + observed.n_others / noise
        return np.maximum(noise * found / expected, self.min_noise_variance)

    def _project(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        dtype = self.columns.dtype
        return (weights.T.astype(dtype) @ self.columns).T.astype(np.float64)

    def _combine(self, along: NDArray[np.float64]) -> NDArray[np.float64]:
        dtype = self.columns.dtype
        return (self.columns @ along.astype(dtype)).astype(np.float64)


def blend(
    new: NDArray[np.float64], old: NDArray[np.float64], damping: float
) -> NDArray[np.float64]:
    """Damped geometric mean."""
    return np.exp(damping * np.log(new) + (1.0 - damping) * np.log(old))
