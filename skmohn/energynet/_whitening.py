"""Numbers that vary together, made uncorrelated before they are cut into levels."""

# Each column is given the power that makes it most nearly normal, then all are rotated
# to uncorrelated coordinates of variance 1, those nearest to the columns. The normal
# distribution behind this also says what an unknown number could be, given the known
# ones of its row: draws of it, weighed by how much likelier an RBM finds them, stand
# for the row.
#
# Source: Kessy, Lewin and Strimmer, Optimal whitening and decorrelation, The American
# Statistician 72, 2018 (ZCA-cor).

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve, solve_triangular
from scipy.special import logsumexp
from scipy.stats import norm, rankdata
from sklearn.covariance import empirical_covariance, shrunk_covariance
from sklearn.model_selection import KFold
from sklearn.preprocessing import PowerTransformer

from skmohn._core._powers import YeoJohnson
from skmohn._core._quantiles import pull_in
from skmohn._core._rows import order_of
from skmohn._core._tuned import tuned
from skmohn._core._units import binary_units


@dataclass(frozen=True)
class WhiteningConstants:
    """Shrunk correlations of numbers, and draws of unknown ones."""

    # Weights of the identity in the place of correlations, of which the likeliest for
    # other rows is taken.
    shrinkages: tuple[float, ...] = tuned(
        (1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.0),
        "benchmarks/ablation.py",
    )
    # Rows are held out in so many folds; fewer rows than the next have no correlations.
    n_folds: int = tuned(5, "benchmarks/ablation.py")
    min_rows: int = tuned(4, "rounding")
    # The quantile of distances from what is expected by which rows are compared.
    distance_quantile: float = tuned(0.9, "benchmarks/ablation.py")
    # Rows that are compared; with missing values every pattern takes a solution of
    # equations.
    max_rows: int = tuned(10_000, "cost")
    max_rows_missing: int = tuned(2000, "cost")
    # With missing values: least shrinkage while covariances are sought, most steps, and
    # changes of variances of about 1 that end it.
    min_shrinkage: float = tuned(0.01, "benchmarks/ablation.py")
    max_iter: int = tuned(20, "benchmarks/ablation.py")
    tol: float = tuned(1e-3, "benchmarks/ablation.py")
    # Draws of the unknown numbers of a row, by which all is averaged that it could be.
    n_completions: int = tuned(100, "benchmarks/ablation.py")
    # Fraction of these that must count at least.
    min_effective_fraction: float = tuned(0.3, "benchmarks/energynet/imputation.py")
    # Halvings of the interval in which the power of their weights is sought.
    n_halvings: int = tuned(20, "rounding")
    # Standard deviations from the mean: sums stay finite.
    max_distance: float = tuned(1e50, "rounding")


WHITENING = WhiteningConstants()


@dataclass(frozen=True)
class Whitening:
    """Map of columns to uncorrelated coordinates."""

    columns: np.ndarray  # (n_columns,), int
    # (n_columns,); power of two near the largest value, with its `sign`.
    unit: np.ndarray
    powers: YeoJohnson  # of the columns, in these units
    mean: np.ndarray  # (n_columns,); of their powers
    std: np.ndarray  # (n_columns,)
    # (n_columns, n_columns); of their powers, shrunk towards the identity.
    correlation: np.ndarray
    root: np.ndarray  # (n_columns, n_columns); its symmetric square root
    inverse_root: np.ndarray  # (n_columns, n_columns)
    # Spread of coordinates of other rows by that of the rows learned from, at least 1.
    stretch: float
    # How much further from what is expected, given the other numbers of their row,
    # numbers of other rows are than by the correlations, at least 1.
    inflation: float
    # Fraction of the draws of a row that must count in its means, as an effective
    # sample size: all of them where there were fewer rows than columns, of which no RBM
    # can learn more than correlations.
    min_effective: float

    @classmethod
    def learn(
        cls,
        X: NDArray,  # (n_samples, n_features); NaN: unknown
        columns: NDArray[np.intp],  # none is constant
        seed: int,  # of folds, and of draws for missing values
        sign: NDArray[np.float64] | float = 1.0,  # (n_columns,); factors of the columns
    ) -> Self:
        """Learn powers and correlations of columns."""
        values = X[:, columns].astype(np.float64)
        # The same samples in another order say the same.
        values = values[_order_of_ranks(sign * values)]
        values = pull_in(values)
        unit = sign * binary_units(np.nan_to_num(values))
        values = values / unit
        center, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        standard = (values - center) / scale
        likeliest = PowerTransformer(standardize=False).fit(standard).lambdas_
        # Beyond 0 and 2 not all numbers are powers.
        powers = YeoJohnson(np.clip(likeliest, 0.0, 2.0), center, scale)
        Z = powers.forward(values)
        mean, std = np.nanmean(Z, axis=0), np.nanstd(Z, axis=0)
        std = np.where(std > 0.0, std, 1.0)
        rng = np.random.default_rng(seed)
        shift, factor, correlation, *spreads = _moments((Z - mean) / std, rng)
        mean, std = mean + std * shift, std * factor
        roots = _roots(correlation)
        min_effective = WHITENING.min_effective_fraction
        if len(values) < len(columns):
            min_effective = 1.0
        stretch, inflation = spreads
        return cls(
            columns, unit, powers, mean, std, correlation, *roots, stretch,
            inflation, min_effective,
        )  # fmt: skip

    def forward(
        self,
        # (n_samples, n_features); NaN in any of the columns makes all coordinates NaN.
        X: NDArray,
    ) -> NDArray[np.float64]:
        """Replace the columns of a table by coordinates."""
        coordinates = self._powers_of(X[:, self.columns]) @ self.inverse_root
        X = X.astype(np.float64)
        X[:, self.columns] = coordinates
        return X

    def inverse(self, X: NDArray) -> NDArray[np.float64]:
        """Replace coordinates of a table by its columns."""
        X = X.astype(np.float64)
        X[:, self.columns] = self._values_of(X[:, self.columns] @ self.root)
        return X

    def log_slope(self, X: NDArray) -> NDArray[np.float64]:
        """Logarithm of the volume of coordinates for one of values, (n_samples,)."""
        slopes = self._log_slopes(X[:, self.columns]).sum(axis=1)
        return slopes - np.linalg.slogdet(self.correlation).logabsdet / 2.0

    def incomplete(self, X: NDArray) -> NDArray[np.bool_]:
        """Mask of samples with missing values in these columns, (n_samples,)."""
        return np.isnan(X[:, self.columns]).any(axis=1)

    def fill(self, X: NDArray, seed: int, table: NDArray) -> NDArray:
        """Fill missing values with draws that do not depend on the order of rows."""
        # Rows are distinguished by another `table`.
        rows = np.flatnonzero(self.incomplete(X))
        if not len(rows):
            return X
        rows = rows[_order_of_ranks(table[rows])]
        shape = 1, len(rows), len(self.columns)
        noise = np.random.default_rng(seed).standard_normal(shape)
        tables, _ = self.draw(X[rows], noise)
        X = X.astype(np.float64)
        X[rows] = tables[0]
        return X

    def spread(self, X: NDArray) -> NDArray[np.float64]:
        """Training rows, spread out as if they were unseen ones."""
        coordinates = self.forward(X)
        coordinates[:, self.columns] *= self.stretch
        return self.inverse(coordinates)

    def draw(
        self, X: NDArray, noise: NDArray[np.float64], stretch: float = 1.0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw the missing values of these columns, given the known ones."""
        # The noise is standard normal, (n_draws, n_samples or 1, n_columns); draws are
        # further apart by the factor `stretch` than those of rows that were learned
        # from. Returned are the tables (n_draws, n_samples, n_features), and the
        # log-densities of the draws, in the units of X, (n_draws, n_samples).
        noise = np.broadcast_to(noise, (len(noise), len(X), len(self.columns)))
        given = X[:, self.columns].astype(np.float64)
        Z = self._powers_of(given)
        drawn, missing = np.repeat(Z[None], len(noise), axis=0), np.isnan(given)
        log_density = np.where(missing, norm.logpdf(noise), 0.0).sum(axis=2)
        for rows, unknown in _patterns(missing):
            expected, rest = _given(self.correlation, Z[rows], unknown)
            factor = stretch * np.linalg.cholesky(rest)
            columns = np.flatnonzero(unknown)
            normal = noise[:, rows[:, None], columns]
            drawn[:, rows[:, None], columns] = expected + normal @ factor.T
            log_density[:, rows] -= np.log(np.diag(factor)).sum()
        values = np.where(missing, self._values_of(drawn), given)
        log_density += np.where(missing, self._log_slopes(values), 0.0).sum(axis=2)
        tables = np.repeat(X[None].astype(np.float64), len(noise), axis=0)
        tables[:, :, self.columns] = values
        return tables, log_density

    def _in_units(self, values: NDArray) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            in_units = values.astype(np.float64) / self.unit
        return np.clip(in_units, -WHITENING.max_distance, WHITENING.max_distance)

    def _powers_of(self, values: NDArray) -> NDArray[np.float64]:
        """Powers of values, of mean 0 and variance 1."""
        powers = self.powers.forward(self._in_units(values))
        return (powers - self.mean) / self.std

    def _values_of(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of such powers."""
        # Far out they may be beyond all numbers.
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            values = self.powers.inverse(Z * self.std + self.mean) * self.unit
        return np.clip(values, -largest, largest)

    def _log_slopes(self, values: NDArray) -> NDArray[np.float64]:
        """Logarithms of the slopes of powers, of the shape of the values."""
        slopes = self.powers.log_slope(self._in_units(values))
        return slopes - np.log(self.std) - np.log(np.abs(self.unit))


def _order_of_ranks(X: NDArray) -> NDArray[np.intp]:
    """Order of rows that is the same in other units of the columns."""
    ranks = rankdata(X, method="dense", axis=0, nan_policy="omit")
    # Ranks of float32 are float32, whose bytes have another order.
    return order_of(ranks.astype(np.float64))


def _moments(
    Z: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float, float]:
    """Means, deviations, correlations of standardized columns with missing values."""
    # Correlations are shrunk towards 0 as makes other rows likeliest. `stretch` and
    # `inflation` of a :class:`Whitening` come last.
    max_rows = WHITENING.max_rows_missing if np.isnan(Z).any() else WHITENING.max_rows
    if len(Z) > max_rows:
        Z = Z[rng.choice(len(Z), max_rows, replace=False)]
    mean, covariance = _covariance(Z)
    std = np.sqrt(np.diag(covariance))
    std = np.where(std > 0.0, std, 1.0)
    correlation = covariance / np.outer(std, std)
    shrinkage, stretch, inflation = 1.0, 1.0, 1.0
    if len(Z) >= WHITENING.min_rows:
        seed, n_folds = int(rng.integers(2**31)), min(WHITENING.n_folds, len(Z))
        folds = KFold(n_folds, shuffle=True, random_state=seed)
        standard = (Z - mean) / std
        shrinkage, stretch, inflation = _by_other_rows(standard, folds)
    shrunk = shrunk_covariance(correlation, shrinkage)
    return mean, std, shrunk, stretch, inflation


def _by_other_rows(Z: NDArray[np.float64], folds: KFold) -> tuple[float, float, float]:
    """Shrinkage, stretch and inflation by cross-validation."""
    # The shrinkage is that which makes rows likeliest that correlations were not
    # learned from; then follow how much further from what is expected their numbers are
    # than those of the rows that they were learned from, and than by the correlations.
    # Correlations follow the chance in their rows, the more so the fewer there are. A
    # fraction of the rows is held out at a time, of which the known values count:
    # missing ones would be taken from the correlations that are tested. Columns are
    # independent unless rows contradict by more than a standard error.
    learned = [(_covariance(Z[own]), own, other) for own, other in folds.split(Z)]
    nats = np.zeros((len(WHITENING.shrinkages), len(Z)))
    for (mean, covariance), _, other in learned:
        for found, shrinkage in zip(nats, WHITENING.shrinkages, strict=True):
            shrunk = shrunk_covariance(covariance, shrinkage)
            found[other] = _log_densities(Z[other] - mean, shrunk)
    best = int(np.argmax(nats.sum(axis=1)))
    gains = nats[best] - nats[-1]
    if gains.mean() <= gains.std() / np.sqrt(len(gains)):
        best = -1
    shrinkage = WHITENING.shrinkages[best]
    apart = [], []
    for (mean, covariance), *parts in learned:
        shrunk = shrunk_covariance(covariance, shrinkage)
        for found, rows in zip(apart, parts, strict=True):
            found.append(np.abs(_surprises(Z[rows] - mean, shrunk)))
    own, other = (
        np.quantile(np.concatenate(found), WHITENING.distance_quantile)
        for found in apart
    )
    stretch = float(max(other / own, 1.0)) if own > 0.0 else 1.0
    said = norm.ppf((1.0 + WHITENING.distance_quantile) / 2.0)
    return shrinkage, stretch, float(max(other / said, 1.0))


def _log_densities(
    Z: NDArray[np.float64], covariance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log normal densities of the known values of rows, (n_rows,)."""
    found = np.zeros(len(Z))
    for rows, missing in _kinds_of_rows(np.isnan(Z)):
        if missing.all():
            continue  # Nothing has no density.
        known = Z[np.ix_(rows, ~missing)]
        factor = cholesky(covariance[np.ix_(~missing, ~missing)], lower=True)
        standard = solve_triangular(factor, known.T, lower=True)
        found[rows] = norm.logpdf(standard).sum(axis=0)
        found[rows] -= np.log(np.diag(factor)).sum()
    return found


def _surprises(
    Z: NDArray[np.float64], covariance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Standardized residuals of all known numbers."""
    # Expected given the other known ones of their row.
    found = []
    for rows, missing in _kinds_of_rows(np.isnan(Z)):
        precision = np.linalg.inv(covariance[np.ix_(~missing, ~missing)])
        distances = Z[np.ix_(rows, ~missing)] @ precision / np.sqrt(np.diag(precision))
        found.append(distances.ravel())
    return np.concatenate(found)


def _covariance(
    Z: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and covariance of rows; expectation maximization if values are missing."""
    # Missing values are expected by shrunk correlations: among few rows most are
    # chance, and what follows them would confirm them.
    unknown = np.isnan(Z)
    if not unknown.any():
        return Z.mean(axis=0), empirical_covariance(Z)
    parts = list(_patterns(unknown))
    mean, covariance = np.zeros(Z.shape[1]), np.eye(Z.shape[1])
    for _ in range(WHITENING.max_iter):
        safe = shrunk_covariance(
            covariance, max(_oracle(covariance, len(Z)), WHITENING.min_shrinkage)
        )
        fill, rests = Z.copy(), np.zeros_like(covariance)
        for rows, missing in parts:
            expected, rest = _given(safe, Z[rows] - mean, missing)
            fill[np.ix_(rows, missing)] = expected + mean[missing]
            rests[np.ix_(missing, missing)] += len(rows) * rest
        mean, before = fill.mean(axis=0), covariance
        covariance = empirical_covariance(fill) + rests / len(Z)
        if np.abs(covariance - before).max() < WHITENING.tol:
            break
    return mean, covariance


def _oracle(covariance: NDArray[np.float64], n_rows: int) -> float:
    """Shrinkage of a covariance of normal rows by the oracle approximation."""
    # Chen, Wiesel, Eldar and Hero (2010), for shrunk correlations of little error.
    n_columns = len(covariance)
    square, trace = np.sum(covariance**2), np.trace(covariance)
    apart = (n_rows + 1.0 - 2.0 / n_columns) * (square - trace**2 / n_columns)
    together = (1.0 - 2.0 / n_columns) * square + trace**2
    return min(together / apart, 1.0) if apart > together else 1.0


def _roots(
    covariance: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Symmetric square root, and its inverse."""
    variances, directions = eigh(covariance)
    spread = np.sqrt(variances)
    return (directions * spread) @ directions.T, (directions / spread) @ directions.T


def _kinds_of_rows(
    unknown: NDArray[np.bool_],
) -> list[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Complete rows, which have no missing values, then the :func:`_patterns`."""
    complete = np.flatnonzero(~unknown.any(axis=1))
    return [(complete, np.zeros(unknown.shape[1], bool)), *_patterns(unknown)]


def _patterns(
    unknown: NDArray[np.bool_],
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Rows that have the same missing values, and which columns these are in."""
    incomplete = np.flatnonzero(unknown.any(axis=1))
    kinds, of_rows = np.unique(unknown[incomplete], axis=0, return_inverse=True)
    order = incomplete[np.argsort(of_rows.ravel(), kind="stable")]
    ends = np.cumsum(np.bincount(of_rows.ravel(), minlength=len(kinds)))
    # What is behind the last end is empty.
    for kind, rows in zip(kinds, np.split(order, ends), strict=False):
        yield rows, kind


def _given(
    covariance: NDArray[np.float64], Z: NDArray[np.float64], unknown: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Conditional mean and covariance of the unknown values of normal rows."""
    known = ~unknown
    rest = covariance[np.ix_(unknown, unknown)]
    if not known.any():
        return np.zeros((len(Z), len(rest))), rest
    across = covariance[np.ix_(known, unknown)]
    slopes = solve(covariance[np.ix_(known, known)], across, assume_a="pos")
    return Z[:, known] @ slopes, rest - across.T @ slopes


@dataclass(frozen=True)
class ImportanceSamples:
    """Complete rows: incomplete ones several times, each draw with its density."""

    # (n_draws, n_features); draws of the first row, then of the second, and so on.
    table: np.ndarray
    starts: np.ndarray  # (n_rows,), int; where those of each row begin
    log_density: np.ndarray  # (n_draws,); of the draws; 0 for known values
    min_effective: float  # as of the :class:`Whitening`

    @classmethod
    def of(cls, whitening: Whitening, X: NDArray, n_draws: int, seed: int) -> Self:
        """Draw missing values; the same for the same row."""
        incomplete = whitening.incomplete(X)
        rng = np.random.default_rng(seed)
        half = rng.standard_normal((-(-n_draws // 2), 1, len(whitening.columns)))
        # Each with its opposite: together they are right in the mean.
        noise = np.concatenate([half, -half])[:n_draws]
        inflation = whitening.inflation
        drawn, log_density = whitening.draw(X[incomplete], noise, inflation)
        counts = np.where(incomplete, n_draws, 1)
        table = np.repeat(X.astype(np.float64), counts, axis=0)
        is_drawn = np.repeat(incomplete, counts)
        table[is_drawn] = drawn.swapaxes(0, 1).reshape(-1, X.shape[1])
        densities = np.zeros(len(table))
        densities[is_drawn] = log_density.T.ravel()
        starts = np.cumsum(counts) - counts
        return cls(table, starts, densities, whitening.min_effective)

    @property
    def rows(self) -> NDArray[np.intp]:
        """Number of the row of each draw."""
        counts = np.diff(self.starts, append=len(self.table))
        return np.repeat(np.arange(len(counts)), counts)

    def largest(self, values: NDArray) -> NDArray[np.intp]:
        """Number of the draw of the largest value of each row, (n_rows,)."""
        parts = np.split(values, self.starts[1:])
        return self.starts + np.array([np.argmax(part) for part in parts], int)

    def log_means(
        self,
        log_density: NDArray[np.float64],  # (n_draws,); of the completed rows
    ) -> NDArray[np.float64]:
        """Logarithms of the densities of the known values of the rows, (n_rows,)."""
        gains = log_density - self.log_density
        parts = np.split(gains, self.starts[1:])
        return np.array([logsumexp(part) - np.log(len(part)) for part in parts])

    def normalized_weights(
        self, log_density: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Weights of the draws of each row, (n_draws,), of sum 1; see `log_means`."""
        # Over many columns the likelihood ratios of an RBM and the normal distribution
        # are mostly noise, and one draw would outweigh all others. Ratios of such rows
        # are tempered until as many draws count as a mean needs.
        gains = log_density - self.log_density
        counts = np.diff(self.starts, append=len(gains))
        gains = gains - np.repeat(np.maximum.reduceat(gains, self.starts), counts)
        low, high = np.zeros(len(counts)), np.ones(len(counts))
        power = high
        for _ in range(WHITENING.n_halvings):
            weights = self._tempered(gains, power, counts)
            effective = 1.0 / np.add.reduceat(weights**2, self.starts)
            is_enough = effective >= self.min_effective * counts
            low = np.where(is_enough, power, low)
            high = np.where(is_enough, high, power)
            power = (low + high) / 2.0
        return self._tempered(gains, low, counts)

    def _tempered(
        self,
        gains: NDArray[np.float64],
        power: NDArray[np.float64],
        counts: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """Shares by a power of the likelihood ratios of each row."""
        weights = np.exp(np.repeat(power, counts) * gains)
        return weights / np.repeat(np.add.reduceat(weights, self.starts), counts)

    def chosen(
        self, weights: NDArray[np.float64], uniform: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Draw of each row, by their probabilities and a uniform number, (n_rows,)."""
        counts = np.diff(self.starts, append=len(weights))
        ends = np.cumsum(weights)
        uniform = np.arange(len(counts)) + uniform
        at = np.searchsorted(ends, uniform * (ends[-1] / len(counts)))
        return np.clip(at, self.starts, self.starts + counts - 1)

    def means(
        self, values: NDArray, weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Means of values of the draws for each row, (n_rows, ...)."""
        return np.add.reduceat(weights[:, None] * values, self.starts)
