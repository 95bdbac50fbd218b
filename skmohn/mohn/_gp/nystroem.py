"""Approximate posterior for many rows: all information passes through some of them."""

# The function is known by its values at m inducing rows, a part of the data; what they
# do not explain is left out of the likelihood and kept in the variance.
#
# Source: Titsias, Variational learning of inducing variables in sparse Gaussian
# processes, AISTATS 2009, Eq 6, 9 and 10.

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

from skmohn._core._fitting import one_blas_thread, tick
from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._gp.exact import draw_normal
from skmohn.mohn._gp.marginal_likelihood import AggregatedData
from skmohn.mohn._gp.sobol import PairVariance
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import EncodedRows, members_of, row_blocks
from skmohn.mohn._table.variables import Variable


@dataclass(frozen=True)
class NystroemConstants:
    """Inducing rows."""

    # Relative to the mean variance of the inducing values, for their Cholesky factor.
    jitter: float = tuned(1e-10, "rounding")
    # Of a row's own error; less tells rounding errors.
    min_residual_fraction: float = tuned(1e-9, "rounding")


_NYSTROEM = NystroemConstants()


@dataclass(frozen=True)
class NystroemPosterior:
    """Posterior of all weights through the values at inducing rows."""

    # `target_square`, `log_rest` and `lost` are sums over the data for the evidence.

    covariance: Covariance
    inducing: EncodedRows
    # (m, m); lower Cholesky factor of the data's precision of the whitened inducing
    # values plus the identity.
    root: np.ndarray
    # (m,); whitened covariances with the targets, over the noise, times the targets.
    projection: np.ndarray
    target_square: float  # weighted squares
    log_rest: float  # terms that do not depend on the inducing values
    lost: float  # variance that the inducing values leave unexplained

    @classmethod
    def condition(
        cls,
        covariance: Covariance,
        sample: AggregatedData,
        n_inducing: int,
        seed: int = 0,
    ) -> Self:
        """Condition the prior on a sample. O(n_rows n_inducing^2)."""
        rng = np.random.default_rng(seed)
        n_inducing = min(n_inducing, len(sample))
        drawn = np.sort(rng.choice(len(sample), n_inducing, replace=False))
        nothing = cls(
            covariance,
            sample.rows.take(drawn),
            np.eye(n_inducing),
            np.zeros((n_inducing, *sample.target.shape[1:])),
            0.0,
            0.0,
            0.0,
        )
        return nothing.update(sample)

    @cached_property
    @one_blas_thread
    def factor(self) -> NDArray[np.float64]:
        """Lower Cholesky factor of the covariance of the inducing values, (m, m)."""
        K = self.covariance.between(self.inducing, self.inducing)
        K.ravel()[:: len(K) + 1] += _NYSTROEM.jitter * np.trace(K) / len(K)
        return cholesky(K.T, lower=True, overwrite_a=True, check_finite=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is made again, and half of the other matrix: zeros."""
        made = "factor", "_alpha"
        state = {name: part for name, part in vars(self).items() if name not in made}
        return {**state, "root": self.root[np.tril_indices(len(self.root))]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Write out the matrix of which half was stored."""
        n_inducing = len(state["inducing"])
        root = np.zeros((n_inducing, n_inducing), state["root"].dtype, order="F")
        root[np.tril_indices(n_inducing)] = state["root"]
        vars(self).update(state, root=root)

    def compact(self) -> Self:
        """Copy for variances alone, without a factor and in single precision."""
        # The matrix grows as n_inducing^2; no eigenvalue of its square is less than 1.
        return replace(self, root=self.root.astype(np.float32))

    def update(self, more: AggregatedData) -> Self:
        """Condition on a further sample. O(n_inducing^2) a row and a factorisation."""
        noise = more.noise(self.covariance.prior)
        precision, projection = self.root @ self.root.T, self.projection.copy()
        lost = self.lost
        own = self.covariance.own(more.rows)
        for part in row_blocks(len(more)):
            tick()
            known = self._whiten(more.rows.take(part))
            lost += np.sum(
                (own[part] - np.einsum("md,md->d", known, known)) / noise[part]
            )
            projection += known @ (more.target[part].T / noise[part]).T
            known /= np.sqrt(noise[part])
            precision += known @ known.T
        log_rest = more.log_density_of_rest(self.covariance.prior)
        log_rest -= 0.5 * more.n_targets * np.sum(np.log(2.0 * math.pi * noise))
        posterior = type(self)(
            self.covariance,
            self.inducing,
            cholesky(precision.T, lower=True, overwrite_a=True, check_finite=False),
            projection,
            self.target_square + float(np.sum(more.target.T**2 / noise)),
            self.log_rest + float(log_rest),
            float(lost),
        )
        vars(posterior)["factor"] = self.factor
        return posterior

    def log_evidence(self) -> float:
        """Lower bound of the log density of all targets."""
        solved = solve_triangular(
            self.root, self.projection, lower=True, check_finite=False
        )
        value = self.log_rest - 0.5 * (self.target_square - np.vdot(solved, solved))
        single = np.sum(np.log(np.diagonal(self.root))) + 0.5 * self.lost
        n_targets = self.projection.shape[1] if self.projection.ndim > 1 else 1
        return float(value - n_targets * single)

    def leave_one_out(
        self, sample: AggregatedData
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and variances of its targets given all others; inducing rows stay."""
        center, residual = self._center(), np.empty_like(sample.target)
        kept = np.empty(len(sample))
        noise = sample.noise(self.covariance.prior)
        for part in row_blocks(len(sample)):
            known = self._whiten(sample.rows.take(part))
            left = solve_triangular(self.root, known, lower=True, check_finite=False)
            kept[part] = 1.0 - np.einsum("mt,mt->t", left, left) / noise[part]
            residual[part] = sample.target[part] - known.T @ center
        kept = np.maximum(kept, _NYSTROEM.min_residual_fraction)
        return (residual.T / kept).T, noise / kept

    def leave_groups_out(
        self, sample: AggregatedData, group: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same, given those outside of the group of each."""
        residual, variance = np.empty_like(sample.target), np.empty(len(sample))
        small = []
        for members in members_of(group):
            if len(members) < len(self.root):
                small.append(members)
                continue
            tick()
            found = self._leave_many_out(sample.take(members))
            residual[members], variance[members] = found
        starts = np.cumsum([0, *map(len, small)])
        for part in row_blocks(starts[-1]):
            tick()
            some = slice(*np.searchsorted(starts, (part.start, part.stop)))
            for members, *found in self._leave_few_out(sample, small[some]):
                residual[members], variance[members] = found
        return residual, variance

    def _leave_few_out(
        self, sample: AggregatedData, groups: Sequence[NDArray[np.intp]]
    ) -> Iterator[tuple[NDArray[Any], ...]]:
        """Of some groups, by the inverse covariances of their targets."""
        together = np.concatenate([*groups, np.empty(0, dtype=np.intp)])
        data, first = sample.take(together), 0
        noise, known = data.noise(self.covariance.prior), self._whiten(data.rows)
        left = solve_triangular(self.root, known, lower=True, check_finite=False)
        off = data.target - known.T @ self._center()
        for members in groups:
            own = slice(first, first + len(members))
            first += len(members)
            precision = np.diag(noise[own]) - left[:, own].T @ left[:, own]
            inverse = np.linalg.inv(precision)
            residual = (noise[own] * (inverse @ off[own]).T).T
            yield members, residual, noise[own] ** 2 * np.diagonal(inverse)

    def _leave_many_out(
        self, group: AggregatedData
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of one group, by the precision of the inducing values without it."""
        noise = group.noise(self.covariance.prior)
        precision, projection = self.root @ self.root.T, self.projection.copy()
        for part in row_blocks(len(group)):
            known = self._whiten(group.rows.take(part))
            projection -= known @ (group.target[part].T / noise[part]).T
            known /= np.sqrt(noise[part])
            precision -= known @ known.T
        root = cholesky(precision, lower=True, check_finite=False)
        rest = replace(self, root=root, projection=projection)
        vars(rest)["factor"] = self.factor
        variance = noise.copy()
        center, residual = rest._center(), np.empty_like(group.target)
        for part in row_blocks(len(group)):
            known = self._whiten(group.rows.take(part))
            left = solve_triangular(root, known, lower=True, check_finite=False)
            variance[part] += np.einsum("mt,mt->t", left, left)
            residual[part] = group.target[part] - known.T @ center
        return residual, variance

    def dual_coefficients(self) -> tuple[EncodedRows, NDArray[np.float64]]:
        """Rows x_d and dual coefficients a_d: E[w_Q] = sum_d a_d Cov(w_Q, f(x_d))."""
        return self.inducing, self._alpha

    @cached_property
    def _alpha(self) -> NDArray[np.float64]:
        return np.asarray(
            solve_triangular(
                self.factor, self._center(), lower=True, trans=1, check_finite=False
            )
        )

    def mean_variance(self, variables: list[Variable] | None = None) -> PairVariance:
        """Variance of the posterior mean over independent variables, and its parts."""
        return PairVariance(self.covariance, *self.dual_coefficients(), variables)

    def latent_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior mean of the function at rows."""
        _, alpha = self.dual_coefficients()
        mean = np.empty(len(rows))
        for part in row_blocks(len(rows)):
            mean[part] = self.covariance.between(rows.take(part), self.inducing) @ alpha
        return mean

    def latent_variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior variance of the function at rows."""
        variance = self.covariance.own(rows)
        for part in row_blocks(len(rows)):
            variance[part] += self._gain(self._whiten(rows.take(part)))
        return np.maximum(variance, 0.0)

    def covariance_at(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior covariance of the function at rows, (n_rows, n_rows)."""
        known = self._whiten(rows)
        left = solve_triangular(self.root, known, lower=True, check_finite=False)
        return self.covariance.between(rows, rows) - known.T @ known + left.T @ left

    def sample_latent(
        self, rows: EncodedRows, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Joint draws of the function at rows, (n_rows, n_draws)."""
        return draw_normal(
            self.latent_mean(rows), self.covariance_at(rows), n_draws, rng
        )

    def weights_of(
        self, terms: Sequence[Term]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior means and variances of weights, ndarrays of shape (n_terms,)."""
        split, of_weight = self.covariance.split, self.covariance.of_weight
        cross = [self.covariance.with_weight(self.inducing, *split(t)) for t in terms]
        cross = np.reshape(cross, (len(terms), len(self.inducing))).T
        known = solve_triangular(self.factor, cross, lower=True, check_finite=False)
        variances = np.array([of_weight(*split(term)) for term in terms])
        variances = np.maximum(variances + self._gain(known), 0.0)
        return known.T @ self._center(), variances

    def spread(
        self, cross: NDArray[np.float64], prior: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Posterior variances of sums of values, see `ExactPosterior.spread`."""
        known = solve_triangular(self.factor, cross, lower=True, check_finite=False)
        return np.maximum(prior + self._gain(known), 0.0)

    def _whiten(self, rows: EncodedRows) -> NDArray[np.float64]:
        cross = self.covariance.between(self.inducing, rows)
        return solve_triangular(self.factor, cross, lower=True, check_finite=False)

    def _center(self) -> NDArray[np.float64]:
        """Posterior mean of the whitened inducing values."""
        return cho_solve((self.root, True), self.projection, check_finite=False)

    def _gain(self, known: NDArray[np.float64]) -> NDArray[np.float64]:
        """Part of the explained variance that is left, less what it was."""
        left = solve_triangular(self.root, known, lower=True, check_finite=False)
        return np.einsum("mt,mt->t", left, left) - np.einsum("mt,mt->t", known, known)
