"""Scores of anomalies: which rows to trim, neighbors, tails, and a threshold."""

# A cluster of anomalies, or a far one, changes none of the scores: distances are to the
# rows that a trimmed fit has kept, and tails are those of the bulk of the scores,
# continued. That of distances is no shorter than the median of trimmed rows that are
# not grossly unlikely.

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

from skmohn._core._quantiles import pull_in
from skmohn._core._rows import order_of
from skmohn._core._tuned import tuned
from skmohn._core._units import binary_units
from skmohn.energynet._coding import CATEGORY, UnitCoding


@dataclass(frozen=True)
class AnomalyConstants:
    """Scores of anomalies and their threshold."""

    # Upper part of the scores that may be anomalies: the tail below it is continued.
    tail_fraction: float = tuned(0.2, "benchmarks/energynet/outliers.py")
    # Probability that of clean rows, whose scores have exponential tails, any has a
    # score so low that it does not count where tails and the threshold are sought.
    gross_probability: float = tuned(0.001, "benchmarks/energynet/outliers.py")
    # Rows among which neighbors are sought.
    max_neighbor_rows: int = tuned(10_000, "cost")
    # Farthest that a number counts, in standard deviations: squares do not overflow.
    max_deviation: float = tuned(1e9, "rounding")
    # Distance of equal rows whose numbers were rounded, in standard deviations, also
    # the skewness of symmetric columns, and as a fraction of the mean distance to the
    # other neighbors: to six digits or single precision.
    rounding: float = tuned(1e-8, "rounding")
    relative_rounding: float = tuned(1e-3, "rounding")


ANOMALY = AnomalyConstants()


def trimming_scores(
    density: NDArray[np.float64],  # (n_rows,), of a fit to all or some of the rows
    values: NDArray,  # (n_rows, n_features)
    coding: UnitCoding,
) -> NDArray[np.float64]:
    """Score rows of a fit by densities and by tails, (2, n_rows): anomalies are low."""
    # In the tails of columns a cluster of anomalies that the density has learned may
    # still be. Not by neighbors, which rows of a cluster are to each other. Normal
    # scores have no units.
    ranks = rankdata([density, -_tails_of_columns(values, coding)], axis=1)
    return ndtri((ranks - 0.5) / len(values))


def _tails_of_columns(values: NDArray, coding: UnitCoding) -> NDArray[np.float64]:
    """How far rows are in the tails of their columns, each taken alone."""
    # Li et al., ECOD: Unsupervised outlier detection using empirical cumulative
    # distribution functions, 2022, equations 5 to 8: sums over columns of minus log
    # probabilities. Theirs are on the left, on the right, and on the longer side, and
    # depend on the signs of columns; these are on the shorter and on the longer side.
    sums = np.zeros((2, len(values)))
    for column, kind in zip(values.T, coding.kind, strict=True):
        if kind == CATEGORY:
            # Of categories as rare; the side is the same.
            _, index, counts = np.unique(
                column, return_inverse=True, return_counts=True
            )
            sums -= np.log(rankdata(counts[index], "max") / len(values))
            continue
        column = column.astype(np.float64)
        sides = np.log(rankdata([column, -column], "max", axis=1) / len(values))
        skewness = _skewness(column)
        if abs(skewness) <= ANOMALY.rounding:
            # Neither is longer.
            sides[:] = sides.min(axis=0)
        sums -= sides[::-1] if skewness < 0.0 else sides
    return sums.max(axis=0)


def _skewness(values: NDArray[np.float64]) -> float:
    """Third standardized moment, in any order of rows; 0 of a constant."""
    pulled = pull_in(np.sort(values)[:, None])
    scaled = pulled / binary_units(pulled)
    scaled -= scaled.mean()
    std = float(scaled.std())
    return float(np.mean((scaled / std) ** 3)) if std > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class NeighborDistances:
    """Mean distance of a row to its nearest neighbors among rows that were kept."""

    is_category: np.ndarray  # (n_features,), bool; the others are numbers
    # Of numbers: a power of two near the largest, and mean and deviation in its units.
    unit: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    levels: tuple[np.ndarray, ...]  # of each category column, the numbers of categories
    rows: np.ndarray  # (n_kept, n_encoded), the same array as the index has
    index: NearestNeighbors

    @classmethod
    def learn(
        cls,
        values: NDArray,  # (n_rows, n_features); NaN as in `measure`
        kept: NDArray[np.bool_],
        coding: UnitCoding,
        n_neighbors: int,
        seed: int,
    ) -> Self:
        """Scale the columns by the kept rows, and index these."""
        is_category = coding.kind == CATEGORY
        numbers = values[:, ~is_category].astype(np.float64)
        # Beside a lone value far off, squares of the others would be 0.
        numbers = pull_in(numbers)
        unit = binary_units(numbers)
        numbers = numbers / unit
        std, of_all = numbers[kept].std(axis=0), numbers.std(axis=0)
        # What is the same in all kept rows is compared by how others vary.
        std = np.where(std > 0.0, std, np.where(of_all > 0.0, of_all, 1.0))
        columns = np.flatnonzero(is_category).tolist()
        levels = tuple(coding.levels[j] for j in columns)
        mean = numbers[kept].mean(axis=0)
        index = NearestNeighbors(algorithm="kd_tree")
        found = cls(is_category, unit, mean, std, levels, np.empty((0, 0)), index)
        rows = found._encode(values[kept])
        if len(rows) > ANOMALY.max_neighbor_rows:
            # The same ones whatever order the rows are in.
            chosen = np.random.default_rng(seed).permutation(len(rows))
            rows = rows[order_of(values[kept])][chosen[: ANOMALY.max_neighbor_rows]]
        # One more: the row itself, if it is among them.
        index.set_params(n_neighbors=min(n_neighbors + 1, len(rows)))
        index.fit(rows)
        return replace(found, rows=rows)

    def measure(self, values: NDArray) -> NDArray[np.float64]:
        """Mean distances of rows; NaN is a category that no kept row has."""
        # A row at no distance, but for rounding, is the row itself, so that a training
        # row is measured as a new one is.
        distances: Any = self.index.kneighbors(self._encode(values))[0]
        nearest, others = distances[:, 0], distances[:, 1:].mean(axis=1)
        reach = np.maximum(ANOMALY.rounding, ANOMALY.relative_rounding * others)
        return np.where(nearest <= reach, others, distances[:, :-1].mean(axis=1))

    def split(self, values: NDArray) -> NDArray[np.float64]:
        """Fractions of columns in the squared distances of rows to their neighbors."""
        # (n_rows, n_features); 0 where the neighbors are equal to the row.
        if not len(values):
            return np.zeros(values.shape)
        encoded = self._encode(values)
        neighbors = self.index.kneighbors(encoded, return_distance=False)
        apart = encoded[:, None] - self.rows[neighbors]
        squares = (apart**2).sum(axis=1)
        columns = np.r_[
            np.flatnonzero(~self.is_category),
            np.repeat(np.flatnonzero(self.is_category), list(map(len, self.levels))),
        ]
        found = np.zeros(values.shape)
        np.add.at(found.T, columns, squares.T)
        total = found.sum(axis=1, keepdims=True)
        return found / np.where(total > 0.0, total, 1.0)

    def _encode(self, values: NDArray) -> NDArray[np.float64]:
        """Standardized numbers, and an indicator of each category."""
        far = ANOMALY.max_deviation
        numbers = values[:, ~self.is_category].astype(np.float64)
        with np.errstate(over="ignore"):
            numbers = (numbers / self.unit - self.mean) / self.std
        blocks = [np.clip(numbers, -far, far)]
        for j, levels in zip(
            np.flatnonzero(self.is_category), self.levels, strict=True
        ):
            blocks.append((values[:, [j]] == levels).astype(np.float64))
        return np.hstack(blocks)


@dataclass(frozen=True, eq=False)
class TailProbabilities:
    """Log probabilities of scores as high as some or higher, by those of other rows."""

    scores: np.ndarray  # (n_scores,), of the bulk; increasing
    log_probabilities: np.ndarray  # of scores as high as each or higher
    decay: float  # mean excess of scores beyond: the tail is exponential

    @classmethod
    def learn(
        cls,
        scores: NDArray[np.float64],  # (n_rows,)
        tail_fraction: float,  # of rows that may be anomalies
    ) -> Self:
        """Count scores of the bulk, and continue its upper half exponentially."""
        n_rows, ordered = len(scores), np.sort(scores)
        middle, end = np.quantile(ordered, [0.5, 1.0 - tail_fraction])
        bulk = np.unique(ordered[ordered <= end])
        n_below = np.searchsorted(ordered, bulk, side="left")
        log_probabilities = np.log((n_rows - n_below) / (n_rows + 1.0))
        decay = float(end - middle) / np.log(0.5 / tail_fraction)
        if not decay > 0.0:
            # More than half of the bulk is one number.
            decay = float(np.mean(ordered[-1] - bulk)) or 1.0
        return cls(bulk, log_probabilities, decay)

    def reach(self, scores: NDArray[np.float64]) -> Self:
        """Lengthen the tail, if too short, to the median of scores beyond the bulk."""
        beyond = scores[scores > self.scores[-1]] - self.scores[-1]
        if not len(beyond):
            return self
        decay = float(np.median(beyond)) / np.log(2.0)
        return replace(self, decay=max(self.decay, decay))

    def log_survival(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the probability of scores as high or higher."""
        found = np.interp(scores, self.scores, self.log_probabilities)
        return found - np.maximum(scores - self.scores[-1], 0.0) / self.decay


def gross_rows(
    log_probabilities: NDArray[np.float64],  # (n_rows,), of tails
) -> NDArray[np.bool_]:
    """Mask of rows in tails so far that clean rows hardly ever are there."""
    # Rows of a cluster need not be as far as a lone one: so many are not by chance.
    # Benjamini and Hochberg, Controlling the false discovery rate, 1995.
    n_rows = len(log_probabilities)
    limits = np.log(ANOMALY.gross_probability * np.arange(1, n_rows + 1) / n_rows)
    ordered = np.sort(log_probabilities)
    return log_probabilities <= ordered[ordered <= limits].max(initial=-np.inf)


def alarm_threshold(
    scores: NDArray[np.float64],  # (n_rows,); mean log tail probabilities
    false_alarm_rate: float,
) -> float:
    """Find the score that so many of the clean rows are below, whatever the others."""
    # Conformal: of n clean rows and a new one the new one is as likely to have any
    # rank. Anomalies among the rows, but gross ones, make it rarer.
    # Laxhammar and Falkman, Conformal prediction for distribution-independent anomaly
    # detection, 2010; Bates et al., Testing for outliers with conformal p-values, 2023.
    clean = np.sort(scores[~gross_rows(scores)])
    rank = int(false_alarm_rate * (len(clean) + 1))
    return float(clean[max(rank, 1) - 1])
