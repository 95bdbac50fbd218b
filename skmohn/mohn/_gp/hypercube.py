"""Posterior on the whole cube: conjugate gradients with Walsh-Hadamard products."""

# With few two-valued inputs and many rows, a function is its 2^n values or its 2^n
# weights, and a fast transform leads from one to the other. The covariance of all
# values is ``H diag(variances) H``, so that multiplying by it costs O(n 2^n) and no
# matrix is ever stored. Conjugate gradients are preconditioned by the weights that vary
# the most, treated exactly, and all others, treated as noise; the normal equations of
# the former need one transform, because the product of two parities is a parity.
#
# Source of the log determinant: Gardner et al., GPyTorch, NeurIPS 2018, section 4
# (stochastic Lanczos quadrature with a preconditioner).

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh_tridiagonal

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import Term, lapack
from skmohn._core._walsh import walsh_transform
from skmohn.mohn._gp.marginal_likelihood import AggregatedData
from skmohn.mohn._gp.sobol import CubeVariance
from skmohn.mohn._gp.weight_prior import Covariance
from skmohn.mohn._table.rows import EncodedRows
from skmohn.mohn._table.variables import Variable


@dataclass(frozen=True)
class HypercubeConstants:
    """Conjugate gradients on a hypercube."""

    # Largest prior variances whose part of the trace is exact; probes estimate the
    # rest.
    n_exact_weights: int = tuned(2048, "benchmarks/ablation.py")
    tolerance: float = tuned(1e-10, "rounding")
    # The error of a variance is quadratic in this.
    variance_tolerance: float = tuned(1e-4, "rounding")
    max_iter: int = tuned(500, "rounding")
    n_probes: int = tuned(16, "benchmarks/ablation.py")
    # Numbers in a batch of cubes that are transformed together.
    n_numbers_per_batch: int = tuned(1 << 21, "cost")


_HYPERCUBE = HypercubeConstants()


def vertices(inputs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Index of each row of -1 and +1: bit i is set where input i is -1."""
    return (inputs < 0) @ (1 << np.arange(inputs.shape[1]))


def is_on_cube(rows: EncodedRows) -> NDArray[np.bool_]:
    """Mask of rows that have only -1 and +1."""
    return np.all(np.abs(rows.inputs) == 1.0, axis=1)


@dataclass(frozen=True)
class WalshPosterior:
    """Posterior of all weights given values at vertices of the cube."""

    covariance: Covariance
    sample: AggregatedData  # its rows are distinct and on the cube
    alpha: np.ndarray  # (n_rows,); inverse covariance of the targets times the targets
    weights: np.ndarray  # (2 ** n_inputs,); posterior mean of every weight
    # (2 ** n_inputs,); posterior mean of the function at every vertex.
    values: np.ndarray
    n_iter: int  # of the conjugate gradients

    @classmethod
    def condition(
        cls,
        covariance: Covariance,
        sample: AggregatedData,
        start: NDArray[np.float64] | None = None,
    ) -> Self:
        """Condition the prior on a sample. O(n_iter n 2^n)."""
        system = _System(covariance, sample)
        alpha, n_iter = system.solve(sample.target[None], start)
        weights = system.variances * walsh_transform(system.scatter(alpha))
        values = walsh_transform(weights)
        return cls(covariance, sample, alpha[0], weights[0], values[0], n_iter)

    def update(self, more: AggregatedData) -> Self:
        """Condition on a further sample; the solution so far is where it starts."""
        joined = self.sample.join(more).join_equal()
        cube = np.zeros(len(self.weights))
        cube[vertices(self.sample.rows.inputs)] = self.alpha
        start = cube[vertices(joined.rows.inputs)]
        return self.condition(self.covariance, joined, start[None])

    def log_evidence(self) -> float:
        """Log density of all targets, by quadrature with fixed probes."""
        system = _System(self.covariance, self.sample)
        value = -0.5 * float(self.sample.target @ self.alpha)
        value -= 0.5 * system.log_determinant(np.random.default_rng(0))
        value -= 0.5 * len(self.alpha) * math.log(2.0 * math.pi)
        return float(value + self.sample.log_density_of_rest(self.covariance.prior))

    def mean_variance(self, variables: list[Variable] | None = None) -> CubeVariance:
        """Variance of the posterior mean over independent variables, and its parts."""
        # On the cube all variables are inputs of -1 and +1.
        return CubeVariance(self.weights, variables)

    def latent_mean(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior mean of the function at rows."""
        on_cube = is_on_cube(rows)
        mean = np.empty(len(rows))
        mean[on_cube] = self.values[vertices(rows.inputs[on_cube])]
        if not on_cube.all():
            mean[~on_cube] = self._mean_elsewhere(rows.inputs[~on_cube])
        return mean

    def _mean_elsewhere(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate all weights at rows with unknown or other values. O(2^n) a row."""
        mean = np.empty(len(inputs))
        for d, row in enumerate(inputs):
            table = self.weights
            for x in row[::-1]:
                half = len(table) // 2
                table = table[:half] + x * table[half:]
            mean[d] = table[0]
        return mean

    def latent_variance(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior variance of the function at rows, one solution a distinct row."""
        distinct, index = np.unique(rows.inputs, axis=0, return_inverse=True)
        distinct = EncodedRows(distinct, np.empty((len(distinct), 0), dtype=int))
        variance = self.covariance.own(distinct)
        system = _System(self.covariance, self.sample)
        for part in system.batches(len(distinct)):
            cross = self.covariance.between(distinct.take(part), self.sample.rows)
            solution, twice = system.explain(cross)
            variance[part] -= np.einsum("td,td->t", solution, twice)
        return np.maximum(variance, 0.0)[index.ravel()]

    def covariance_at(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Posterior covariance of the function at rows, (n_rows, n_rows)."""
        system = _System(self.covariance, self.sample)
        cross = self.covariance.between(rows, self.sample.rows)
        solution, twice = system.explain(cross)
        known = solution @ twice.T
        return self.covariance.between(rows, rows) - (known + known.T) / 2.0

    def sample_latent(
        self, rows: EncodedRows, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Joint draws of the function at rows on the cube, by Matheron's rule."""
        # A draw from the prior, corrected by what the posterior mean makes of its
        # difference to the targets.
        system = _System(self.covariance, self.sample)
        noise = np.sqrt(self.sample.noise(self.covariance.prior))
        root = np.sqrt(system.variances)
        at = vertices(rows.inputs)
        draws = np.empty((len(rows), n_draws))
        for j in range(n_draws):
            drawn = root * rng.standard_normal(len(root))
            pretended = walsh_transform(drawn)[system.at]
            pretended += noise * rng.standard_normal(len(noise))
            difference = self.sample.target - pretended
            solution, _ = system.solve(difference[None])
            drawn = drawn + system.variances * walsh_transform(system.scatter(solution))
            draws[:, j] = walsh_transform(drawn[0])[at]
        return draws

    def weights_of(
        self, terms: Sequence[Term]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior means and variances of weights."""
        # Variances are approximate: weights that vary least a priori are taken for
        # noise.
        system = _System(self.covariance, self.sample)
        inverse, _ = lapack.dtrtri(system.factor, lower=1)
        variances = system.variances.copy()
        variances[system.top] = np.einsum("ij,ij->j", inverse, inverse)
        index = [sum(1 << i for i in term) for term in terms]
        return self.weights[index], variances[index]

    def spread(
        self, cross: NDArray[np.float64], prior: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Posterior variances of sums of values, see `ExactPosterior.spread`."""
        system, found = _System(self.covariance, self.sample), prior.copy()
        for part in system.batches(len(prior)):
            solution, twice = system.explain(cross[:, part].T)
            found[part] -= np.einsum("td,td->t", solution, twice)
        return np.maximum(found, 0.0)

    def dual_coefficients(self) -> tuple[EncodedRows, NDArray[np.float64]]:
        """Rows x_d and dual coefficients a_d: E[w_Q] = sum_d a_d Cov(w_Q, f(x_d))."""
        return self.sample.rows, self.alpha


class _System:
    """Linear system of a sample: product, preconditioner, solution."""

    def __init__(self, covariance: Covariance, sample: AggregatedData) -> None:
        self.variances = covariance.all_weights()
        self.at = vertices(sample.rows.inputs)
        self.noise = sample.noise(covariance.prior)
        n_exact = min(_HYPERCUBE.n_exact_weights, len(self.variances))
        self.top = np.argpartition(-self.variances, n_exact - 1)[:n_exact]
        rest = self.variances.sum() - self.variances[self.top].sum()
        self.spread = self.noise + max(rest, 0.0)
        # u_Q' diag(1 / spread) u_R depends on the symmetric difference of Q and R.
        sums = walsh_transform(self.scatter(1.0 / self.spread[None]))[0]
        gram = sums[np.bitwise_xor.outer(self.top, self.top)]
        gram.ravel()[:: n_exact + 1] += 1.0 / self.variances[self.top]
        self.factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def scatter(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put values of the rows at their vertices. (..., n_rows) -> (..., 2 ** n)."""
        cube = np.zeros((*columns.shape[:-1], len(self.variances)))
        cube[..., self.at] = columns
        return cube

    def multiply(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply each row of `columns` by the covariance of the targets."""
        weights = self.variances * walsh_transform(self.scatter(columns))
        return walsh_transform(weights)[..., self.at] + self.noise * columns

    def precondition(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply by the inverse of an approximate covariance of the targets."""
        scaled = columns / self.spread
        small = walsh_transform(self.scatter(scaled))[..., self.top]
        small = cho_solve((self.factor, True), small.T, check_finite=False).T
        return scaled - self._from_top(small) / self.spread

    def _from_top(self, small: NDArray[np.float64]) -> NDArray[np.float64]:
        cube = np.zeros((*small.shape[:-1], len(self.variances)))
        cube[..., self.top] = small
        return walsh_transform(cube)[..., self.at]

    def solve(
        self,
        right: NDArray[np.float64],
        start: NDArray[np.float64] | None = None,
        tol: float = _HYPERCUBE.tolerance,
        trace: list | None = None,
    ) -> tuple[NDArray[np.float64], int]:
        """Solve for several right sides at once, each a row of `right`."""
        # `tol` is the norm of the residual, relative to that of the right side. The
        # trace, if given, gets the step lengths and the ratios of each iteration.
        solution = np.zeros_like(right) if start is None else start.copy()
        residual = right - self.multiply(solution) if start is not None else right
        goal = tol * np.linalg.norm(right, axis=1)
        direction = image = self.precondition(residual)
        product = np.einsum("sd,sd->s", residual, image)
        for n_iter in range(_HYPERCUBE.max_iter):
            if np.all(np.linalg.norm(residual, axis=1) <= goal):
                return solution, n_iter
            moved = self.multiply(direction)
            curve = np.einsum("sd,sd->s", direction, moved)
            step = product / np.where(curve > 0.0, curve, 1.0)
            solution = solution + step[:, None] * direction
            residual = residual - step[:, None] * moved
            image = self.precondition(residual)
            last, product = product, np.einsum("sd,sd->s", residual, image)
            ratio = product / np.where(last > 0.0, last, 1.0)
            direction = image + ratio[:, None] * direction
            if trace is not None:
                trace.append((step, ratio))
        return solution, _HYPERCUBE.max_iter

    def explain(
        self, cross: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two factors of what the sample explains of covariances with its rows."""
        # The second is twice the linear term less the quadratic one: an error of the
        # solution enters squared.
        solution, _ = self.solve(cross, tol=_HYPERCUBE.variance_tolerance)
        return solution, 2.0 * cross - self.multiply(solution)

    def log_determinant(self, rng: np.random.Generator) -> float:
        """Log determinant of the covariance of the targets, with random probes."""
        # That of the preconditioner is exact; of the ratio of both, probes with the
        # covariance of the preconditioner take quadratic forms of the logarithm, read
        # off the tridiagonal matrix that conjugate gradients build.
        exact = np.sum(np.log(self.spread)) + np.sum(np.log(self.variances[self.top]))
        exact += 2.0 * np.sum(np.log(np.diagonal(self.factor)))
        ratio = 0.0
        for part in self.batches(_HYPERCUBE.n_probes):
            size = part.stop - part.start
            small = rng.standard_normal((size, len(self.top)))
            probes = self._from_top(small * np.sqrt(self.variances[self.top]))
            probes += np.sqrt(self.spread) * rng.standard_normal(probes.shape)
            ratio += self._log_forms(probes)
        return float(exact + ratio / _HYPERCUBE.n_probes)

    def _log_forms(self, probes: NDArray[np.float64]) -> float:
        """Sum of the probes' quadratic forms of the logarithm of the ratio."""
        norms = np.einsum("sd,sd->s", probes, self.precondition(probes))
        trace = []
        self.solve(probes, tol=1e-6, trace=trace)
        steps, ratios = (np.array(parts) for parts in zip(*trace, strict=True))
        total = 0.0
        for j in range(len(probes)):
            diagonal = 1.0 / steps[:, j]
            diagonal[1:] += ratios[:-1, j] / steps[:-1, j]
            side = np.sqrt(ratios[:-1, j]) / steps[:-1, j]
            values, vectors = eigh_tridiagonal(diagonal, side)
            total += norms[j] * (vectors[0] ** 2 @ np.log(values))
        return total

    def batches(self, n_sides: int) -> Iterator[slice]:
        """Slices of right sides that are solved for together."""
        size = max(_HYPERCUBE.n_numbers_per_batch // len(self.variances), 1)
        return equal_slices(n_sides, size)
