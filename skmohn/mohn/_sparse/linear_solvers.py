"""Learning rules: the weights of a fixed set of columns."""

# The model is ``f(x) = intercept + sum_j coef_j u_j(x)``. Least squares and the lasso
# need no rows once the second moments of the columns are known (:class:`Moments`); the
# delta rule goes through the rows one by one. The intercept is never penalized.
#
# [S1] K. Swingler, "Structure discovery in mixed order hyper networks", Big Data
# Analytics 1:8, 2016. The equation numbers are those of this article.

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from skmohn._core._tuned import tuned
from skmohn._core._types import Term, lapack
from skmohn.mohn._design.design import Design, flatten_sets
from skmohn.mohn._sparse import solver_kernels as _learning_kernels


@dataclass(frozen=True)
class ColumnConstants:
    """Columns of least squares."""

    # Columns whose variance is below this fraction of their mean square are constant.
    min_variance_fraction: float = tuned(1e-14, "rounding")


_COLUMNS = ColumnConstants()


class Moments(NamedTuple):
    """Weighted second moments of centered columns and of a centered target."""

    # (n_columns, n_columns); ``sum_d w_d (u_i - mean_i)(u_j - mean_j)``; rows of
    # constant columns are 0.
    gram: np.ndarray
    projection: np.ndarray  # (n_columns,); ``sum_d w_d (u_j - mean_j)(y - mean)``
    means: np.ndarray  # (n_columns,); weighted means of the columns
    target_mean: float  # weighted mean of the target
    target_square: float  # ``sum_d w_d (y - mean)^2``
    weight_sum: float  # ``sum_d w_d``

    def extend(
        self, design: Design, columns: Any, added: Any, y: NDArray[np.float64]
    ) -> "Moments":
        """Append columns of a design to these columns, whose target is y."""
        means = design.project(added, np.ones(design.n_samples)) / self.weight_sum
        # The centered target sums to zero: the columns need not be centered for it.
        projection = design.project(added, y - self.target_mean)
        n_old, n_all = len(columns), len(columns) + len(added)
        gram = np.empty((n_all, n_all))
        gram[:n_old, :n_old] = self.gram
        for block, start, mean in ((columns, 0, self.means), (added, n_old, means)):
            part = design.gram(added, block)
            # By rows: the whole product is often larger than the cache.
            for row, own in zip(part, self.weight_sum * means, strict=True):
                row -= own * mean
            gram[n_old:, start : start + len(block)] = part
        constant = (
            np.diagonal(gram)[n_old:]
            <= _COLUMNS.min_variance_fraction * self.weight_sum
        )
        gram[n_old:][constant] = 0.0
        gram[:, n_old:][:, constant] = 0.0
        projection[constant] = 0.0
        gram[:n_old, n_old:] = gram[n_old:, :n_old].T
        return self._replace(
            gram=gram,
            projection=np.append(self.projection, projection),
            means=np.append(self.means, means),
        )

    def select(self, keep: NDArray[np.intp]) -> "Moments":
        """Keep columns, given by their indices."""
        return self._replace(
            gram=self.gram[np.ix_(keep, keep)],
            projection=self.projection[keep],
            means=self.means[keep],
        )

    def intercept(self, coef: NDArray[np.float64]) -> float:
        """Intercept for which the mean residual is 0."""
        return float(self.target_mean - self.means @ coef)

    def residual_square(self, coef: NDArray[np.float64]) -> float:
        """Compute ``sum_d w_d (y - f(x))^2``, at least 0."""
        # The error is about 1e-15 of `target_square`: too coarse to detect an exact
        # model.
        explained = coef @ (2.0 * self.projection - self.gram @ coef)
        return max(float(self.target_square - explained), 0.0)


def moments(design: Design, columns: Any, y: NDArray[np.float64]) -> Moments:
    """Second moments of a design's columns and a target, by its sample weights."""
    weights = np.ones(design.n_samples) if design.weights is None else design.weights
    mean = float(weights @ y) / design.weight_sum
    square = float(weights @ (y - mean) ** 2)
    nothing = Moments(
        np.empty((0, 0)), np.empty(0), np.empty(0), mean, square, design.weight_sum
    )
    return nothing.extend(design, columns[:0], columns, y)


def first_estimate(moments: Moments) -> NDArray[np.float64]:
    """Slope of the regression on each column alone ([S1] Eq 5); 0 if it is constant."""
    # For columns of -1 and +1, half the difference between the means of the target over
    # ``u = 1`` and over ``u = -1``; defined for fractional columns too.
    spread = np.diagonal(moments.gram)
    safe = np.where(spread > 0.0, spread, 1.0)
    return np.where(spread > 0.0, moments.projection / safe, 0.0)


class OLSFit(NamedTuple):
    """Least squares coefficients, the intercept and the rank of the columns."""

    coef: np.ndarray
    intercept: float
    rank: int


def ols(moments: Moments, *, tol: float = 1e-12, in_order: bool = False) -> OLSFit:
    """Least squares by a pivoted Cholesky factor of the Gram matrix."""
    # A column is aliased when those chosen before it explain all but a fraction `tol`
    # of its square: the Gram matrix has lost what is much smaller. Aliased and constant
    # columns have coefficient 0. Of collinear columns LAPACK chooses the one kept; with
    # `in_order`, which is slower where there are any, it is the first.
    coef = np.zeros(len(moments.projection))
    usable = np.flatnonzero(np.diagonal(moments.gram))
    if not len(usable):
        return OLSFit(coef, moments.intercept(coef), 0)
    # With unit columns one tolerance fits columns of every size.
    scale = 1.0 / np.sqrt(np.diagonal(moments.gram)[usable])
    gram = moments.gram[np.ix_(usable, usable)]
    gram *= scale
    gram *= scale[:, None]
    factor, pivots, rank, _ = lapack.dpstrf(
        gram.T, tol=tol, lower=1, overwrite_a=not in_order
    )
    chosen = pivots[:rank] - 1
    if in_order and rank < len(gram):
        factor, chosen = np.zeros_like(gram), np.empty(len(gram), dtype=np.int64)
        rank = _learning_kernels.cholesky_in_order(gram, tol, factor, chosen)
        chosen = chosen[:rank]
    right = moments.projection[usable[chosen]] * scale[chosen]
    solution = cho_solve((factor[:rank, :rank], True), right, check_finite=False)
    coef[usable[chosen]] = solution * scale[chosen]
    return OLSFit(coef, moments.intercept(coef), int(rank))


class LassoFit(NamedTuple):
    """Lasso coefficients, intercept, sweeps and violation."""

    # `violation` is the largest breach of the optimality conditions, as a correlation
    # with the target.

    coef: np.ndarray
    intercept: float
    n_iter: int
    violation: float


def lasso(
    moments: Moments,
    alpha: float,
    *,
    coef: NDArray[np.float64] | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> LassoFit:
    """Lasso by coordinate descent on the Gram matrix, from `coef` or zeros."""
    # Minimizes scikit-learn's objective ``sum_d w_d (y - f(x))^2 / (2 sum_d w_d) +
    # alpha * sum_j |coef_j|`` until no optimality condition is breached by more than
    # `tol` times the norms of column and target, in at most `max_iter` sweeps.
    threshold = alpha * moments.weight_sum
    scale = np.sqrt(np.diagonal(moments.gram) * moments.target_square)
    if coef is None:
        coef = np.zeros(len(scale))
        gradient = moments.projection.copy()
    else:
        coef = np.where(scale > 0.0, coef, 0.0)
        gradient = moments.projection - moments.gram @ coef
    n_columns = len(coef)
    n_iter, violation = _learning_kernels.lasso_descent(
        np.ravel(moments.gram),
        threshold,
        scale,
        coef,
        gradient,
        tol,
        max_iter,
        np.empty(n_columns, dtype=np.int64),
        np.empty(n_columns**2),
        *np.empty((3, n_columns)),
    )
    return LassoFit(coef, moments.intercept(coef), n_iter, violation)


class DeltaFit(NamedTuple):
    """Coefficients and intercept of the delta rule, and the training RMSE per epoch."""

    coef: np.ndarray
    intercept: float
    rmse: np.ndarray


def longest_step(
    n_weights: int, sample_weight: NDArray[np.float64] | None = None
) -> float:
    """Longest step of the delta rule that never overshoots on inputs of -1 and +1."""
    # `n_weights` is without the intercept.
    largest = 1.0 if sample_weight is None else max(sample_weight.max(), 1.0)
    return 1.0 / ((n_weights + 1) * largest)


def delta_rule(
    inputs: NDArray,
    y: NDArray[np.float64],
    sets: Sequence[Term],
    coef: NDArray[np.float64],
    intercept: float,
    *,
    learning_rate: float | str = "auto",
    longest: float = np.inf,
    n_epochs: int = 1,
    rng: np.random.Generator | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> DeltaFit:
    """Correct the weights after every row, in proportion to the error ([S1] Eq 4)."""
    # ``w_j <- w_j + learning_rate * sample_weight * (y - f(x)) u_j(x)``, and the same
    # with ``u = 1`` for the intercept. Inputs are in [-1, 1]. "auto" is
    # :func:`longest_step`; from twice that on the rule diverges on inputs of -1 and +1.
    # The learning rate times the weight of a row is clipped to `longest`. `rng`
    # shuffles the rows in each epoch; None keeps their order. Errors of an epoch are
    # those before each correction. ValueError is raised when the weights diverge.
    inputs = np.ascontiguousarray(inputs, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    coef = np.array(coef, dtype=np.float64)
    constant = np.array([intercept], dtype=np.float64)
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if learning_rate == "auto":
        learning_rate = longest_step(len(coef), weights)
    indptr, members = flatten_sets(sets)
    rows = np.arange(len(y))
    rmse, products = np.empty(n_epochs), np.empty(len(coef))
    for epoch in range(n_epochs):
        if rng is not None:
            rng.shuffle(rows)
        squares = _learning_kernels.delta_epoch(
            inputs,
            y,
            weights,
            rows,
            indptr,
            members,
            learning_rate,
            longest,
            coef,
            constant,
            products,
        )
        if not (np.isfinite(squares) and np.isfinite(coef).all()):
            raise ValueError(
                f"the delta rule diverged in epoch {epoch + 1}: learning_rate is "
                f"{learning_rate:.3g}, and with {len(coef)} weights it should stay "
                f"well below {2.0 / ((len(coef) + 1) * weights.max()):.3g}"
            )
        rmse[epoch] = np.sqrt(squares / weights.sum())
    return DeltaFit(coef, float(constant[0]), rmse)
