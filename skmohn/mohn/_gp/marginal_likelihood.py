"""Maximum evidence: hyperparameters of the product prior, learned from the data."""

# The log marginal likelihood of a Gaussian process (Rasmussen and Williams, Gaussian
# Processes for Machine Learning, 2006, Eq 5.8 and 5.9) and a weak prior on the rates,
# climbed by L-BFGS-B. Many rows are climbed in stages, the first ones on a part of
# them.

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, solve_triangular
from scipy.optimize import LbfgsInvHessProduct, OptimizeResult, minimize
from scipy.sparse import block_diag, csr_array, diags_array

from skmohn._core._fitting import tick
from skmohn._core._tuned import tuned
from skmohn.mohn._gp.covariance_function import FixedInputs, GramMatrix, Prior
from skmohn.mohn._models import PRIOR
from skmohn.mohn._table.rows import (
    Categorical,
    EncodedRows,
    count_observations,
    distinct_rows,
    group_distinct_rows,
    sizes_of,
)


@dataclass(frozen=True)
class HyperpriorConstants:
    """Densities and bounds of hyperparameters."""

    # Least variance of a function of products, in that of the target.
    min_signal_variance: float = tuned(1e-6, "rounding")
    # Log-normal densities, as mean and standard deviation of the logarithm, in units of
    # the target's variance. They matter when rows are few: wider ones let inputs matter
    # by chance. The rates are around one over their number; that of `linear` is flat
    # within its bounds, because many functions have no use for it.
    log_rate_std: float = tuned(1.0, "benchmarks/ablation.py")
    # Of the categories of a categorical around their mean, which has the spread of a
    # rate. With many categories a wider one lets the evidence explain each row by
    # categories of its own.
    log_category_std: float = tuned(0.3, "benchmarks/ablation.py")


HYPERPRIOR = HyperpriorConstants()


@dataclass(frozen=True)
class EvidenceSearchConstants:
    """Search of the hyperparameters."""

    # Noise at which a climb begins.
    first_noise: float = tuned(0.1, "benchmarks/ablation.py")
    # A climb begins on a part of the rows when they are more than twice as many, and
    # ends on all up to a number, beyond which fewer iterations on a larger part must
    # do.
    max_rows_first: int = tuned(300, "cost")
    max_rows_all: int = tuned(1000, "cost")
    max_rows_second: int = tuned(1600, "cost")
    max_iter: int = tuned(60, "cost")
    max_iter_second: int = tuned(10, "cost")
    # Evaluations of a line search, at most: more are asked for only where rounding,
    # above all in single precision, hides that nothing is left to gain.
    max_line_search: int = tuned(6, "cost")
    # From how many steps a climb learns the curvature, and what is believed of its
    # inverse.
    n_corrections: int = tuned(30, "cost")
    inverse_curvature_range: tuple[float, float] = tuned((1e-3, 4.0), "cost")
    # Below, single precision cannot tell the noise from rounding: the largest
    # eigenvalues are about the number of rows.
    min_noise_single: float = tuned(2e-3, "rounding")
    # Products of two rows in a column up to which a step in double precision takes
    # about 0.02 seconds: so few rows are not worth the rounding.
    max_products: int = tuned(40_000_000, "cost")
    # Loss where rounding leaves no positive covariance: high, but a line search that
    # interpolates it must not come to a standstill.
    not_positive_loss: float = tuned(1e8, "rounding")


EVIDENCE_SEARCH = EvidenceSearchConstants()
_BOUNDS = {
    "rate": (1e-8, 8.0),
    "scale": (HYPERPRIOR.min_signal_variance, 1e4),
    "linear": (1e-8, 1e4),
}
# Bounds within which every hyperparameter can be computed with, as logarithms.
LOG_BOUNDS = (math.log(PRIOR.min_noise_variance) - 5.0, math.log(1e4))


_PER_ROW = ("target", "weight", "count", "within", "excess")


@dataclass(frozen=True)
class AggregatedData:
    """Observations, equal rows joined."""

    rows: EncodedRows  # distinct ones
    # (n_rows,); weighted means of the standardized target; several share one
    # covariance.
    target: np.ndarray
    # (n_rows,); sums of the sample weights: the noise of a row is ``noise * excess /
    # weight``.
    weight: np.ndarray
    count: np.ndarray  # (n_rows,); number of observations that were joined
    # (n_rows,); weighted squares of the target around its mean in the row; of several,
    # summed.
    within: np.ndarray
    excess: np.ndarray  # (n_rows,); noise variance relative to other rows
    # Sum of the logarithms of the weights of all observations; 0 for repeats.
    log_weight: float

    def __len__(self) -> int:
        return len(self.target)

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.target.shape[1] if self.target.ndim > 1 else 1

    def noise(self, prior: Prior) -> NDArray[np.float64]:
        """Noise variance of each target."""
        return prior.noise_variance * self.excess / self.weight

    def take(self, index: NDArray | slice) -> "AggregatedData":
        """Select some of the rows."""
        parts = {name: getattr(self, name)[index] for name in _PER_ROW}
        return replace(self, rows=self.rows.take(index), **parts)

    def join(self, other: "AggregatedData") -> "AggregatedData":
        """Append other rows, whether or not some are equal."""
        parts = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in _PER_ROW
        }
        return replace(
            self,
            rows=self.rows.join(other.rows),
            log_weight=self.log_weight + other.log_weight,
            **parts,
        )

    def join_equal(self) -> "AggregatedData":
        """Join rows that are equal, as :func:`join_equal_rows` does."""
        index, first = distinct_rows(self.rows)
        total = np.bincount(index, self.weight)
        columns = self.target.reshape(len(self), -1).T
        means = [np.bincount(index, self.weight * y) / total for y in columns]
        apart = [
            self.weight * (y - mean[index]) ** 2
            for y, mean in zip(columns, means, strict=True)
        ]
        rows = self.rows.take(first)
        if self.rows.group is not None and len(rows):
            rows = replace(rows, group=group_distinct_rows(index, self.rows.group))
        return AggregatedData(
            rows,
            np.transpose(means).reshape(-1, *self.target.shape[1:]),
            total,
            np.bincount(index, self.count),
            np.bincount(index, self.within + np.sum(apart, axis=0)),
            self.excess[first],
            self.log_weight,
        )

    def log_density_of_rest(self, prior: Prior) -> float:
        """Log density of the targets given their means in each row."""
        noise = prior.noise_variance * self.excess
        single = np.sum((self.count - 1.0) * np.log(2.0 * np.pi * noise))
        single += np.sum(np.log(self.weight)) - self.log_weight
        return -0.5 * (np.sum(self.within / noise) + self.n_targets * single)


def join_equal_rows(
    rows: EncodedRows,
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None = None,
    count: NDArray[np.float64] | None = None,
) -> AggregatedData:
    """Join equal rows into one whose target is their mean; sort them."""
    # Integer weights are repeats of a row; others are precisions, relative to a mean of
    # 1. `count` is the number of observations that each stands for, by default
    # :func:`count_observations`.
    ones = np.ones(len(y))
    weight = ones if sample_weight is None else sample_weight
    count = count_observations(weight) if count is None else count
    single = AggregatedData(
        # The covariance takes an unknown input and the mean of its column alike.
        replace(rows, unknown=None),
        y,
        weight,
        count,
        np.zeros(len(y)),
        ones,
        float(count @ np.log(weight / count)),
    )
    return single.join_equal()


def index_of_rows(rows: EncodedRows) -> NDArray[np.intp]:
    """Index of each row after :func:`join_equal_rows`, (n_rows,)."""
    return distinct_rows(rows)[0]


def find_rows(rows: EncodedRows, among: EncodedRows) -> NDArray[np.intp]:
    """Index of equal rows among distinct ones, -1 for none."""
    index = index_of_rows(among.join(rows))
    first = np.full(index.max(initial=-1) + 1, -1)
    first[index[: len(among)]] = np.arange(len(among))
    return first[index[len(among) :]]


class Evidence:
    """Log evidence of a sample as a function of the hyperparameters."""

    def __init__(
        self,
        sample: AggregatedData,
        alphabets: tuple[Categorical, ...] = (),
        # float32 halves the time where the noise is not small.
        dtype: type = np.float64,
        # Inputs that the rows lack, and whose rates are no hyperparameters here.
        fixed: FixedInputs | None = None,
    ) -> None:
        self.sample = sample
        self.pairs = GramMatrix(sample.rows, sample.rows, alphabets, dtype, fixed)
        self.n_categoricals = sample.rows.inputs.shape[1] + len(alphabets)
        self.dtype = np.dtype(dtype)
        self._potrf, self._potrs, self._potri = lapack.get_lapack_funcs(
            ("potrf", "potrs", "potri"), dtype=self.dtype
        )
        (self._syrk,) = blas.get_blas_funcs(("syrk",), dtype=self.dtype)

    @cached_property
    def _memory(self) -> NDArray:
        """Memory of product and covariance: allocating it takes a while."""
        return np.empty((2, len(self.sample), len(self.sample)), self.dtype)

    def value(self, prior: Prior) -> float:
        """Log evidence; minus infinity where the covariance is not positive."""
        found = self._factor(prior, self.pairs.product(prior, self._memory[0]))
        return -np.inf if found is None else self._density(prior, *found)

    def value_and_slope(self, prior: Prior) -> tuple[float, Any]:
        """Log evidence and its gradient in the logarithms of the hyperparameters."""
        product = self.pairs.product(prior, self._memory[0])
        found = self._factor(prior, product)
        if found is None:
            return -np.inf, None
        value = self._density(prior, *found)
        return value, self._slope(prior, product, *found)

    def slopes(
        self, priors: Sequence[Prior]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradients at several hyperparameters, and residuals of each fit."""
        # As :meth:`value_and_slope`; residuals are (n_priors, n_rows * n_targets), 0
        # where the covariance is not positive.
        slopes = np.zeros((len(priors), len(priors[0].to_logs())))
        left = np.zeros((len(priors), self.sample.target.size))
        for k, prior in enumerate(priors):
            product = self.pairs.product(prior, self._memory[0])
            found = self._factor(prior, product)
            if found is not None:
                left[k] = (self.sample.noise(prior) * found[1].T).T.ravel()
                slopes[k] = self._slope(prior, product, *found)
        return slopes, left

    def _factor(
        self, prior: Prior, product: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Cholesky factor and ``K^-1 target``, or None."""
        covariance = self.pairs.join(prior, product, self._memory[1])
        size = len(covariance)
        noise = self.sample.noise(prior)
        covariance.ravel()[:: size + 1] += noise.astype(self.dtype)
        factor, info = self._potrf(covariance.T, lower=1, clean=1, overwrite_a=1)
        if info:
            return None
        target = self.sample.target.astype(self.dtype)
        alpha, _ = self._potrs(factor, target, lower=1)
        return factor, alpha.reshape(target.shape)

    def _outer(
        self, factor: NDArray[np.float64], alpha: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """``alpha alpha' - K^-1``, for sums over pairs; takes the factor's memory."""
        # Of several targets, the sum.
        # Twice the lower half in place of both.
        inverse, _ = self._potri(factor, lower=1, overwrite_c=1)
        columns, beta = alpha.reshape(len(alpha), -1), -2.0 * self.sample.n_targets
        outer = self._syrk(2.0, columns, beta, inverse, lower=1, overwrite_c=1).T
        outer.ravel()[:: len(outer) + 1] *= 0.5
        return outer

    def _slope(
        self,
        prior: Prior,
        product: NDArray[np.float64],
        factor: NDArray[np.float64],
        alpha: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Gradient of the evidence; takes the factor's memory."""
        sample, outer = self.sample, self._outer(factor, alpha)
        slope = self.pairs.slope(prior, product, outer)
        noise = 0.5 * np.diagonal(outer) @ sample.noise(prior)
        noise += 0.5 * np.sum(sample.within / (prior.noise_variance * sample.excess))
        noise -= 0.5 * sample.n_targets * np.sum(sample.count - 1.0)
        return np.append(0.5 * slope, noise)

    def _density(
        self, prior: Prior, factor: NDArray[np.float64], alpha: NDArray[np.float64]
    ) -> float:
        diagonal = np.diagonal(factor).astype(np.float64)
        value = -np.log(diagonal).sum() - 0.5 * len(alpha) * math.log(2.0 * math.pi)
        value *= self.sample.n_targets
        value -= 0.5 * float(np.vdot(self.sample.target, alpha))
        return float(value + self.sample.log_density_of_rest(prior))


def start_prior(n_inputs: int, alphabets: tuple[Categorical, ...] = ()) -> Prior:
    """Start of the search for hyperparameters."""
    n_categoricals = max(n_inputs + len(alphabets), 1)
    return Prior(
        np.full(n_inputs, 1.0 / n_categoricals),
        np.repeat(
            np.array(
                [1.0 / (n_categoricals * alphabet.n_steps) for alphabet in alphabets]
            ),
            np.array(sizes_of(alphabets), dtype=int),
        ),
        1.0,
        1.0,
        EVIDENCE_SEARCH.first_noise,
    )


class Climbable(Protocol):
    """Evidence with its slope, and the covariances between its rows."""

    pairs: GramMatrix

    def value_and_slope(self, prior: Prior) -> tuple[float, Any]: ...


@dataclass(frozen=True)
class Steps:
    """Square matrix: sparse, plus a product of narrow matrices."""

    # Coordinates of an ascent: changes of hyperparameters by a standard deviation. Its
    # columns are the coordinates; the last one alone moves the noise. Columns with many
    # categories or levels have tens of thousands of hyperparameters, so that no square
    # matrix of them is made.

    few: csr_array  # (n_logs, n_logs)
    left: np.ndarray  # (n_logs, rank)
    right: np.ndarray  # (n_logs, rank)

    @classmethod
    def plain(cls, few: csr_array) -> Self:
        """Steps of a sparse matrix."""
        none = np.empty((len(few.indptr) - 1, 0))
        return cls(few, none, none)

    @property
    def of_noise(self) -> float:
        """Change of the noise by the last coordinate."""
        return self.few[-1, -1] + self.left[-1] @ self.right[-1]

    def __matmul__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Changes of the logarithms, of coordinates (n_logs,) or (n_logs, n)."""
        return self.few @ x + self.left @ (self.right.T @ x)

    def gather(self, slope: NDArray[np.float64]) -> NDArray[np.float64]:
        """Slopes along the coordinates, from those of the logarithms, (n_logs,)."""
        return slope @ self.few + (slope @ self.left) @ self.right.T

    def scaled(self, factor: float) -> "Steps":
        """Each step longer by a factor."""
        return Steps(self.few * factor, self.left * factor, self.right)

    def along(
        self, directions: NDArray[np.float64], change: NDArray[np.float64]
    ) -> "Steps":
        """Change the lengths of steps along some orthonormal directions alone."""
        more = self @ (directions @ (change - np.eye(len(change))))
        return self._plus(more, directions)._mirrored()

    def toarray(self) -> NDArray[np.float64]:
        """All numbers, ndarray of shape (n_logs, n_logs)."""
        return self.few.toarray() + self.left @ self.right.T

    def _plus(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> "Steps":
        left, right = np.hstack([self.left, left]), np.hstack([self.right, right])
        return Steps(self.few, left, right)

    def _mirrored(self) -> "Steps":
        """Mirrored such that the last coordinate alone moves the noise."""
        axis = self.gather(np.eye(1, len(self.left), len(self.left) - 1)[0])
        axis[-1] += np.linalg.norm(axis)
        fall = self @ axis * (-2.0 / (axis @ axis))
        mirrored = self._plus(fall[:, None], axis[:, None])
        signs = np.ones(len(axis))
        signs[-1] = -1.0
        few, right = mirrored.few @ diags_array(signs), mirrored.right * signs[:, None]
        return Steps(csr_array(few), mirrored.left, right)


class EvidenceOptimum(NamedTuple):
    """Maximum that an ascent reached, and the curvature that it has met."""

    prior: Prior
    n_evaluations: int
    n_rows: int  # distinct rows used
    steps: Steps  # coordinates of the ascent
    # Of the negative Hessian in these coordinates, as far as it was met.
    inverse: LbfgsInvHessProduct

    def steps_for(self, n_rows: int) -> Steps:
        """Coordinates for a further maximization, on so many rows."""
        # More rows say more.
        return self.learned_steps().scaled(math.sqrt(self.n_rows / n_rows))

    def learned_steps(self) -> Steps:
        """Coordinates for a further ascent on the same rows."""
        if not self.inverse.n_corrs:
            return self.steps
        # All other directions are as they were.
        met, _ = np.linalg.qr(np.vstack([self.inverse.sk, self.inverse.yk]).T)
        values, vectors = np.linalg.eigh(met.T @ (self.inverse @ met))
        root = (
            vectors * np.sqrt(np.clip(values, *EVIDENCE_SEARCH.inverse_curvature_range))
        ) @ vectors.T
        return self.steps.along(met, root)


def maximize_evidence(
    evidence: Climbable,
    start: Prior,
    max_iter: int = EVIDENCE_SEARCH.max_iter,
    tol: float = 1e-4,
    report: Callable[[float, Prior], bool] | None = None,
    *,
    min_noise_variance: float = PRIOR.min_noise_variance,
    ends: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    steps: Steps | None = None,
) -> EvidenceOptimum:
    """Maximize the evidence times the density of the hyperparameters."""
    # Ends when two steps gain less than `tol` nats for each row. `report` is called
    # after each iteration with the logarithm reached and the hyperparameters, and
    # returns whether to stop. Steps change the logarithms by about a standard deviation
    # each.
    n_inputs, n_rates = len(start.ard_rates), len(start.to_logs()) - 3
    bounds = [_BOUNDS["rate"]] * n_rates + [_BOUNDS["scale"], _BOUNDS["linear"]]
    lowest, highest = np.log([*bounds, (min_noise_variance, np.inf)]).T
    alphabets = evidence.pairs.alphabets
    origin = np.clip(start.to_logs(), lowest, highest)
    if steps is None:
        steps = first_steps(n_inputs, alphabets)
    # The noise is often at its bound, other hyperparameters hardly ever.
    fall = (lowest[-1] - origin[-1]) / steps.of_noise

    def index(
        x: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        logs = origin + steps @ x
        inside = np.clip(logs, lowest, highest)
        return inside, logs - inside

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        tick()
        logs, beyond = index(x)
        value, slope = evidence.value_and_slope(Prior.from_logs(logs, n_inputs))
        if not np.isfinite(value):
            return EVIDENCE_SEARCH.not_positive_loss, np.zeros_like(x)
        density, pull = log_density(logs, n_inputs, alphabets, ends)
        # Beyond the bounds all is as at them, but for what leads back.
        slope = np.where(beyond, beyond, -pull - slope)
        return 0.5 * float(beyond @ beyond) - density - value, steps.gather(slope)

    heights, min_gain = [], tol * len(evidence.pairs.left)

    def callback(intermediate_result: OptimizeResult) -> None:
        heights.append(-float(intermediate_result.fun))
        prior = Prior.from_logs(index(intermediate_result.x)[0], n_inputs)
        if report is not None and report(heights[-1], prior):
            raise StopIteration
        # One step alone may be short because it has met the bound of the noise.
        if len(heights) > 2 and heights[-1] - heights[-3] < min_gain:
            raise StopIteration

    found = minimize(
        loss,
        np.zeros(len(origin)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-np.inf, np.inf)] * (n_rates + 2) + [(fall, np.inf)],
        callback=callback,
        options={
            "maxiter": max_iter,
            "ftol": 0.0,
            "maxcor": EVIDENCE_SEARCH.n_corrections,
            "maxls": EVIDENCE_SEARCH.max_line_search,
        },
    )
    prior = Prior.from_logs(index(found.x)[0], n_inputs)
    return EvidenceOptimum(
        prior, found.nfev, len(evidence.pairs.left), steps, found.hess_inv
    )


def first_steps(n_inputs: int, alphabets: tuple[Categorical, ...] = ()) -> Steps:
    """Standard deviations for data as informative as a density of spread 1."""
    parts = []
    for part in _curvatures(n_inputs, alphabets):
        if part.ndim == 1:
            parts.append(diags_array(1.0 / np.sqrt(part + 1.0)))
        else:
            root, one = np.linalg.cholesky(part + np.eye(len(part))), np.eye(len(part))
            parts.append(solve_triangular(root, one, lower=True).T)
    return Steps.plain(csr_array(block_diag(parts)))


def _log_ends() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and standard deviations of the logarithms of all but the rates."""
    pairs = [PRIOR.log_signal_variance, (0.0, np.inf), PRIOR.log_noise_variance]
    center, spread = np.transpose(pairs)
    return center, spread


def log_density(
    logs: NDArray[np.float64],
    n_inputs: int,
    alphabets: tuple[Categorical, ...] = (),
    ends: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> tuple[float, NDArray[np.float64]]:
    """Log density of the hyperparameters, but for a constant, and its gradient."""
    # `ends` are means and standard deviations of the logarithms of `scale`, `linear`,
    # `noise`.
    center = -math.log(max(n_inputs + len(alphabets), 1))
    difference, slope = logs.copy(), np.empty_like(logs)
    difference[:-3] -= center
    ends_center, ends_spread = _log_ends() if ends is None else ends
    difference[-3:] -= ends_center
    slope[:n_inputs] = difference[:n_inputs] / HYPERPRIOR.log_rate_std**2
    slope[-3:] = difference[-3:] / ends_spread**2
    first = n_inputs
    for alphabet in alphabets:
        size = alphabet.size
        categorical = slice(first, first + size)
        difference[categorical] += math.log(alphabet.n_steps)
        mean = difference[categorical].mean()
        slope[categorical] = (
            difference[categorical] - mean
        ) / HYPERPRIOR.log_category_std**2
        slope[categorical] += mean / (size * HYPERPRIOR.log_rate_std**2)
        first += size
    return -0.5 * float(difference @ slope), -slope


def density_curvature(n_inputs: int, alphabets: tuple[Categorical, ...] = ()) -> Any:
    """Negative Hessian of :func:`log_density`, which is the same everywhere."""
    # The flat density of `linear` has the curvature of the normal one that is as high.
    parts = _curvatures(n_inputs, alphabets)
    parts = [diags_array(part) if part.ndim == 1 else part for part in parts]
    return csr_array(block_diag(parts))


def _curvatures(
    n_inputs: int, alphabets: tuple[Categorical, ...]
) -> Iterator[NDArray[np.float64]]:
    """Blocks of that Hessian: (size,) where it is diagonal, else (size, size)."""
    yield np.full(n_inputs, 1.0 / HYPERPRIOR.log_rate_std**2)
    for n_categories in sizes_of(alphabets):
        mean = np.full((n_categories, n_categories), 1.0 / n_categories)
        apart = (np.eye(n_categories) - mean) / HYPERPRIOR.log_category_std**2
        yield apart + mean / (n_categories * HYPERPRIOR.log_rate_std**2)
    ends = 1.0 / _log_ends()[1] ** 2
    width = np.subtract(*np.log(_BOUNDS["linear"]))
    ends[1] = 2.0 * math.pi / width**2
    yield ends


def learn_prior(
    sample: AggregatedData,
    alphabets: tuple[Categorical, ...] = (),
    start: Prior | None = None,
    max_iter: int = EVIDENCE_SEARCH.max_iter,
    seed: int = 0,
    report: Callable[[float, Prior], bool] | None = None,
    min_noise_variance: float = PRIOR.min_noise_variance,
    max_rows: int = EVIDENCE_SEARCH.max_rows_second,
    first: EvidenceOptimum | None = None,
) -> EvidenceOptimum:
    """Learn the hyperparameters of maximum evidence."""
    # `first` is an ascent on some or all rows that has been made already; it replaces
    # `start`. The last stage has up to `max_rows`, which `seed` draws.
    prior = start or start_prior(sample.rows.inputs.shape[1], alphabets)
    n_rows, is_small = len(sample), len(sample) <= 2 * EVIDENCE_SEARCH.max_rows_first
    if is_small and first is None:
        return maximize_evidence(
            Evidence(sample, alphabets),
            prior,
            max_iter,
            report=report,
            min_noise_variance=min_noise_variance,
        )
    drawn = np.random.default_rng(seed).permutation(n_rows)
    if first is None:
        # Reports of a part would not compare with those of more rows.
        first = maximize_evidence(
            Evidence(sample.take(drawn[: EVIDENCE_SEARCH.max_rows_first]), alphabets),
            prior,
            max_iter,
            min_noise_variance=min_noise_variance,
        )
    part = sample
    if n_rows > EVIDENCE_SEARCH.max_rows_all:
        part = sample.take(drawn[:max_rows])
        max_iter = min(max_iter, EVIDENCE_SEARCH.max_iter_second)
    is_cheap = (
        is_small
        and len(part) ** 2 * len(prior.ard_rates) <= EVIDENCE_SEARCH.max_products
    )
    is_exact = is_cheap or first.prior.noise_variance < EVIDENCE_SEARCH.min_noise_single
    evidence = Evidence(part, alphabets, np.float64 if is_exact else np.float32)
    second = maximize_evidence(
        evidence,
        first.prior,
        max_iter,
        report=report,
        min_noise_variance=min_noise_variance,
        steps=first.steps_for(len(part)),
    )
    n_evaluations = first.n_evaluations + second.n_evaluations
    return second._replace(n_evaluations=n_evaluations)
