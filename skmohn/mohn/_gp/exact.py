"""Exact posterior: a Cholesky factor of the covariance of all rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import tick
from skmohn._core._rows import TILE, row_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._gp.cholesky import CholeskyFactor
from skmohn.mohn._gp.marginal_likelihood import AggregatedData
from skmohn.mohn._gp.sobol import PairVariance
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import EncodedRows, members_of, pair_blocks
from skmohn.mohn._table.variables import Variable


@dataclass(frozen=True)
class SinglePrecisionConstants:
    """Factors of many rows in single precision."""

    # Rows whose factor is in double precision, whatever the noise.
    max_rows_double: int = tuned(2000, "cost")
    # Least noise, relative to the norm of rounding errors. Of latent variances they are
    # 3 % there.
    min_noise_ratio: float = tuned(300.0, "rounding")
    # Steps that make the dual coefficients those of double precision, and how large one
    # is, relative to them, after which they are: the next would be its square.
    max_refinements: int = tuned(2, "rounding")
    small_refinement: float = tuned(1e-3, "rounding")


_SINGLE = SinglePrecisionConstants()


@dataclass(frozen=True)
class ExactPosterior:
    """Posterior of all weights, exact for the data."""

    covariance: Covariance
    sample: AggregatedData
    alpha: np.ndarray  # (n_rows,); inverse covariance of the targets times the targets

    @classmethod
    def condition(
        cls,
        covariance: Covariance,
        sample: AggregatedData,
        gram: NDArray[np.float64] | None = None,
    ) -> Self:
        """Condition the prior on a sample. O(n_rows^3)."""
        # `gram` is the covariance of the rows, which is overwritten; None computes it.
        return cls._solve(covariance, sample, _factorize(covariance, sample, gram))

    @classmethod
    def _solve(
        cls, covariance: Covariance, sample: AggregatedData, factor: CholeskyFactor
    ) -> Self:
        alpha = factor.solve(sample.target)
        if factor.is_single:
            alpha = _refine(covariance, sample, factor, alpha)
        posterior = cls(covariance, sample, alpha)
        vars(posterior)["factor"] = factor
        return posterior

    @cached_property
    def factor(self) -> CholeskyFactor:
        """Cholesky factor of the covariance of the targets."""
        return _factorize(self.covariance, self.sample)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is made again: the factor alone grows as n_rows^2."""
        made = "factor", "precisions"
        return {name: part for name, part in vars(self).items() if name not in made}

    def compact(self) -> Self:
        """Copy without a factor, which is made again where it is needed."""
        return replace(self)

    def update(self, more: AggregatedData) -> "ExactPosterior":
        """Condition on a further sample by extending the factor. O(n_rows^2) a row."""
        old, new = self.sample.rows, more.rows
        link = self._whiten(self.covariance.between(old, new))
        corner = self.covariance.between(new, new)
        corner.ravel()[:: len(corner) + 1] += more.noise(self.covariance.prior)
        factor = self.factor.extend(link, corner - link.T @ link)
        joined = self.sample.join(more)
        return ExactPosterior._solve(self.covariance, joined, factor)

    def log_evidence(self) -> float:
        """Log density of all targets."""
        value = -self.factor.half_log_determinant()
        value -= 0.5 * len(self.alpha) * math.log(2.0 * math.pi)
        value *= self.sample.n_targets
        value -= 0.5 * float(np.vdot(self.sample.target, self.alpha))
        return float(value + self.sample.log_density_of_rest(self.covariance.prior))

    def mean_variance(self, variables: list[Variable] | None = None) -> PairVariance:
        """Variance of the posterior mean over independent variables, and its parts."""
        return PairVariance(self.covariance, *self.dual_coefficients(), variables)

    def latent_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior mean of the function at rows."""
        mean = np.empty(len(rows))
        for part in pair_blocks(len(rows), len(self.alpha)):
            cross = self.covariance.between(rows.take(part), self.sample.rows)
            mean[part] = cross @ self.alpha
        return mean

    def fitted(self) -> NDArray[np.float64]:
        """Posterior mean of the function at the rows of the sample. O(n_rows)."""
        noise = self.sample.noise(self.covariance.prior)
        return self.sample.target - (noise * self.alpha.T).T

    def latent_variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior variance of the function at rows."""
        variance = self.covariance.own(rows)
        for part in pair_blocks(len(rows), len(self.alpha)):
            known = self._whiten(
                self.covariance.between(self.sample.rows, rows.take(part))
            )
            variance[part] -= np.einsum("dt,dt->t", known, known)
        return np.maximum(variance, 0.0)

    def covariance_at(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior covariance of the function at rows, (n_rows, n_rows)."""
        known = self._whiten(self.covariance.between(self.sample.rows, rows))
        return self.covariance.between(rows, rows) - known.T @ known

    def sample_latent(
        self, rows: EncodedRows, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Joint draws of the function at rows."""
        return draw_normal(
            self.latent_mean(rows), self.covariance_at(rows), n_draws, rng
        )

    def weights_of(
        self, terms: Sequence[Term]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior means and variances of weights, each (n_terms,)."""
        # Categories of categoricals are numbered after the inputs, see
        # `Covariance.split`.
        cross = self._cross(terms)
        known = self._whiten(cross.T)
        split, of_weight = self.covariance.split, self.covariance.of_weight
        variances = [of_weight(*split(term)) for term in terms]
        variances -= np.einsum("dj,dj->j", known, known)
        return cross @ self.alpha, np.maximum(variances, 0.0)

    def means_of(self, terms: Sequence[Term]) -> NDArray[np.float64]:
        """Means of :meth:`weights_of` alone, which take less time."""
        return self._cross(terms) @ self.alpha

    def _cross(self, terms: Sequence[Term]) -> NDArray[np.float64]:
        """Covariances of weights with the values at the rows, (n_terms, n_rows)."""
        rows, covariance = self.sample.rows, self.covariance
        cross = [covariance.with_weight(rows, *covariance.split(t)) for t in terms]
        return np.reshape(cross, (len(terms), len(rows)))

    def spread(
        self, cross: NDArray[np.float64], prior: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Posterior variances of sums of values."""
        # `cross` are their covariances with the values at the rows of :meth:`support`,
        # `prior` their variances before any data are seen.
        return np.maximum(prior - self.squares(cross), 0.0)

    def dual_coefficients(self) -> tuple[EncodedRows, NDArray[np.float64]]:
        """Rows x_d and dual coefficients a_d: E[w_Q] = sum_d a_d Cov(w_Q, f(x_d))."""
        return self.sample.rows, self.alpha

    @cached_property
    def precisions(self) -> NDArray[np.float64]:
        """Inverse variances of targets given all others. O(n_rows^3)."""
        return self.factor.inverse_diagonal()

    def precision(self, index: NDArray[np.intp]) -> NDArray[np.float64]:
        """Inverse variances of some targets given all others. O(n_rows^2) each."""
        # Of all it takes as long as of a third.
        if "precisions" in vars(self) or 3 * len(index) > len(self.alpha):
            return self.precisions[index]
        precision = np.empty(len(index))
        for part in pair_blocks(len(index), len(self.alpha)):
            units = np.zeros((len(self.alpha), len(index[part])))
            units[index[part], np.arange(units.shape[1])] = 1.0
            known = self._whiten(units)
            precision[part] = np.einsum("dt,dt->t", known, known)
        return precision

    def leave_one_out(
        self, targets: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and variances of targets given all others."""
        # Sundararajan, Keerthi 2001. Of those that belong to a group, given those
        # outside of it. Other targets may be passed for the same rows.
        alpha = self.alpha if targets is None else self.solve(targets)
        group = self.sample.rows.group
        if group is not None:
            return leave_groups_out(alpha, group, self.factor.inverse())
        return (alpha.T / self.precisions).T, 1.0 / self.precisions

    def solve(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inverse covariance of the targets times columns."""
        return self.factor.solve(columns)

    def squares(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """``u' K^-1 u`` of columns, K being the covariance of the targets."""
        known = self._whiten(columns)
        return np.einsum("dj,dj->j", known, known)

    def _whiten(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.factor.whiten(columns)


def leave_groups_out(
    alpha: NDArray[np.float64],
    group: NDArray[np.intp],
    root: NDArray[np.float64],
    less: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leave all targets of a group out at once, see `ExactPosterior.leave_one_out`."""
    # The inverse covariance is ``root.T @ root``, smaller by ``less @ less.T``.
    residual, variance = np.empty_like(alpha), np.empty(len(alpha))
    for members in members_of(group):
        precision = root[:, members].T @ root[:, members]
        if less is not None:
            precision -= less[members] @ less[members].T
        covariance = np.linalg.inv(precision)
        residual[members] = covariance @ alpha[members]
        variance[members] = np.diagonal(covariance)
    return residual, variance


def _factorize(
    covariance: Covariance,
    sample: AggregatedData,
    gram: NDArray[np.float64] | None = None,
) -> CholeskyFactor:
    """Factor of the covariance of the targets; `gram` is that of the function."""
    noise = sample.noise(covariance.prior)
    dtype = _precision_for(covariance, sample)

    def columns(part: slice) -> NDArray[Any]:
        if gram is None:
            own = _columns(covariance, sample.rows, part, dtype)
        else:
            own = np.ascontiguousarray(gram[part.start :, part])
        own.ravel()[:: own.shape[1] + 1][: own.shape[1]] += noise[part].astype(
            own.dtype
        )
        return own

    return CholeskyFactor.factorize(len(sample), columns)


def _columns(
    covariance: Covariance, rows: EncodedRows, part: slice, dtype: type
) -> NDArray[Any]:
    """Covariances of some rows with themselves and all after."""
    if part.stop - part.start == len(rows):
        return covariance.between(rows, rows, dtype)
    after = rows.take(slice(part.start, None))
    return covariance.between(after, rows.take(part), dtype)


def _precision_for(covariance: Covariance, sample: AggregatedData) -> type:
    """Precision of a factor: single where there are many rows and much noise."""
    if len(sample) <= _SINGLE.max_rows_double:
        return np.float64
    # Rounding errors are like a random matrix, of which this is the norm.
    size = np.mean(covariance.own(sample.rows)) * math.sqrt(len(sample))
    error = np.finfo(np.float32).eps * size
    min_noise = np.min(sample.noise(covariance.prior))
    return np.float32 if min_noise >= _SINGLE.min_noise_ratio * error else np.float64


def _refine(
    covariance: Covariance,
    sample: AggregatedData,
    factor: CholeskyFactor,
    alpha: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Dual coefficients in double precision, from those of a factor in single."""
    for _ in range(_SINGLE.max_refinements):
        step = factor.solve(sample.target - _multiply(covariance, sample, alpha))
        alpha = alpha + step
        if np.abs(step).max() <= _SINGLE.small_refinement * np.abs(alpha).max():
            break
    return alpha


def _multiply(
    covariance: Covariance, sample: AggregatedData, alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Covariance of the targets times columns, in double precision."""
    product = (sample.noise(covariance.prior) * alpha.T).T
    # Beside a factor there is hardly room for more than some columns.
    for part in row_slices((len(sample), len(sample)), TILE):
        tick()
        own = _columns(covariance, sample.rows, part, np.float64)
        width = own.shape[1]
        product[part.start :] += own @ alpha[part]
        product[part] += own[width:].T @ alpha[part.stop :]
    return product


def draw_normal(
    mean: NDArray[np.float64],
    covariance: NDArray[np.float64],
    n_draws: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw from a normal distribution whose covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean[:, None] + root @ rng.standard_normal((len(mean), n_draws))
