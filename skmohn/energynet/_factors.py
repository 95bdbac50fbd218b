"""Gaussian with factors: a density of numbers where rows are few for the columns."""

# Columns are sums of a few factors that they have in common and of noise of their own:
# x = mean + loadings z + noise. Unknown values are left out of each row, so that the
# expectation maximization is exact (Rubin and Thayer, Psychometrika 47, 1982).

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class FactorConstants:
    """Expectation maximization of factors, and their number."""

    # Numbers of factors that are compared by held-out cells; none are column means.
    ranks: tuple[int, ...] = tuned(
        (0, 1, 2, 3, 5, 8), "benchmarks/energynet/wide_imputation.py"
    )
    # Folds of the known cells, and how many of these are held out in turn.
    n_folds: int = tuned(10, "benchmarks/energynet/wide_imputation.py")
    n_folds_compared: int = tuned(5, "cost")
    max_iter: int = tuned(100, "benchmarks/energynet/wide_imputation.py")
    # Least variance of a column's noise, of its variance.
    min_noise: float = tuned(1e-3, "rounding")
    # Standard deviations below this fraction of the mean are rounding errors.
    min_std: float = tuned(1e-12, "rounding")
    # Precision of the normal prior of loadings, in noise variances.
    precision: float = tuned(1.0, "benchmarks/energynet/wide_imputation.py")


FACTORS = FactorConstants()


@dataclass(frozen=True, eq=False)
class GaussianFactors:
    """Normal distribution whose covariance is loadings and noise."""

    mean: np.ndarray  # (d,)
    loadings: np.ndarray  # (d, k)
    noise_variance: np.ndarray  # (d,)

    @classmethod
    def learn(
        cls,
        X: NDArray[np.float64],  # (n_rows, d); NaN is unknown
        rank: int,
    ) -> Self:
        """Fit by expectation maximization, from the principal components."""
        known = ~np.isnan(X)
        mean = np.nanmean(X, axis=0)
        filled = np.where(known, X - mean, 0.0)
        variance = (filled**2).sum(axis=0) / known.sum(axis=0)
        # Columns that are constant but for rounding have the noise of others.
        variance = np.maximum(variance, FACTORS.min_noise * variance.mean())
        _, singular, axes = np.linalg.svd(filled / np.sqrt(len(X)), full_matrices=False)
        rank = min(rank, len(singular))
        loadings = (singular[:rank, None] * axes[:rank]).T
        min_noise = FACTORS.min_noise * variance
        noise = np.maximum(variance - (loadings**2).sum(axis=1), min_noise)
        found = cls(mean, loadings, noise)
        for _ in range(FACTORS.max_iter if rank else 0):
            found = found._improve(filled + mean * known, known, min_noise)
        return found

    def expect(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fill NaN with its mean given the known values of the row."""
        known = ~np.isnan(X)
        factors, _ = self._factors(np.where(known, X, 0.0), known)
        return np.where(known, X, self.mean + factors @ self.loadings.T)

    def _factors(
        self, X: NDArray[np.float64], known: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means of the factors of rows, (n, k), and covariances, (n, k, k)."""
        weights = known / self.noise_variance
        scaled = (X - self.mean) * weights
        of_columns = self.loadings[:, :, None] * self.loadings[:, None, :]
        precision = np.eye(self.loadings.shape[1]) + np.tensordot(
            weights, of_columns, axes=1
        )
        covariance = np.linalg.inv(precision)
        return np.einsum("rab,rb->ra", covariance, scaled @ self.loadings), covariance

    def _improve(
        self,
        X: NDArray[np.float64],  # 0 where unknown
        known: NDArray[np.bool_],
        min_noise: NDArray[np.float64],  # (d,); of the noise variances
    ) -> Self:
        """One step of expectation maximization."""
        factors, covariance = self._factors(X, known)
        n_factors, count = factors.shape[1], known.sum(axis=0)
        # A factor more is always 1: its loading is the mean.
        extended = np.column_stack([factors, np.ones(len(X))])
        second = extended[:, :, None] * extended[:, None, :]
        second[:, :n_factors, :n_factors] += covariance
        gram = np.tensordot(known.T.astype(np.float64), second, axes=1)
        across = X.T @ extended
        penalty = FACTORS.precision * np.diag(np.append(np.ones(n_factors), 0.0))
        slopes = np.linalg.solve(gram + penalty, across[:, :, None])[:, :, 0]
        rest = (X**2).sum(axis=0) - 2.0 * np.sum(slopes * across, axis=1)
        rest += np.einsum("ja,jab,jb->j", slopes, gram, slopes)
        noise = np.maximum(rest / count, min_noise)
        return type(self)(slopes[:, -1], slopes[:, :-1], noise)


@dataclass(frozen=True, eq=False)
class FactorBlend:
    """Factors beside another imputer, weighed by held-out cells."""

    factors: GaussianFactors  # of standardized columns
    mean: np.ndarray  # (d,); of the columns
    std: np.ndarray  # (d,)
    weight: float  # of the factors, in [0, 1]
    # Root mean square of held-out cells, in standard deviations; the weight was chosen
    # by these cells.
    error: float

    @classmethod
    def learn(
        cls,
        X: NDArray[np.float64],  # (n_rows, d); NaN is unknown
        # Function that learns from a table with more NaN and returns it completed.
        impute: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        seed: int,
    ) -> Self:
        """Find the number of factors, and the weight, of the least squared error."""
        folds = _folds_of_cells(~np.isnan(X), seed)
        mean, std = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        std = np.where(std > FACTORS.min_std * np.abs(mean), std, 1.0)
        standardized = (X - mean) / std
        ranks = [rank for rank in FACTORS.ranks if rank < min(X.shape)]
        found = {rank: _held_out_means(standardized, folds, rank) for rank in ranks}
        seen = (folds >= 0) & (folds < FACTORS.n_folds_compared)
        errors = {r: np.sum((standardized - of)[seen] ** 2) for r, of in found.items()}
        rank = min(errors, key=errors.__getitem__)
        # Another imputer may take long: it learns once.
        held = folds == 0
        other = ((impute(np.where(held, np.nan, X)) - mean) / std)[held]
        truth = standardized[held]
        apart = found[rank][held] - other
        weight = apart @ (truth - other) / max(apart @ apart, np.finfo(float).tiny)
        weight = float(np.clip(weight, 0.0, 1.0))
        error = float(np.sqrt(np.mean((truth - other - weight * apart) ** 2)))
        factors = GaussianFactors.learn(standardized, rank)
        return cls(factors, mean, std, weight, error)

    def blend(
        self,
        X: NDArray[np.float64],  # NaN is unknown
        other: NDArray[np.float64],  # completed otherwise
    ) -> NDArray[np.float64]:
        """Fill NaN with the weighted mean of both."""
        expected = self.factors.expect((X - self.mean) / self.std)
        expected = self.mean + self.std * expected
        mixed = self.weight * expected + (1.0 - self.weight) * other
        return np.where(np.isnan(X), mixed, X)


def _held_out_means(
    X: NDArray[np.float64], folds: NDArray[np.intp], rank: int
) -> NDArray[np.float64]:
    """Means of cells by factors that were learned without their fold."""
    found = np.zeros_like(X)
    for fold in range(FACTORS.n_folds_compared):
        masked = np.where(folds == fold, np.nan, X)
        expected = GaussianFactors.learn(masked, rank).expect(masked)
        found[folds == fold] = expected[folds == fold]
    return found


def _folds_of_cells(known: NDArray[np.bool_], seed: int) -> NDArray[np.intp]:
    """Number of the fold of each known cell, spread evenly in each column."""
    rng, folds = np.random.default_rng(seed), np.full(known.shape, -1, np.intp)
    for j in range(known.shape[1]):
        rows = rng.permutation(np.flatnonzero(known[:, j]))
        # A single cell stays.
        folds[rows, j] = np.arange(len(rows)) % FACTORS.n_folds if len(rows) > 1 else -1
    return folds
