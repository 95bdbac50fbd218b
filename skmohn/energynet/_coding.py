"""How columns of a table become visible units, and back."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from skmohn._core._quantiles import quantile_thresholds
from skmohn._core._units import binary_units
from skmohn._core._validation import require_memory
from skmohn.energynet._rbm import ROWS_AT_ONCE

PROBABILITY = "probability"
MINMAX = "minmax"
THERMOMETER = "thermometer"
# Share of the variance of a bit that its probability must tell.
_LEAST_KNOWN = 0.4
# Nats that a value loses at most by its distance, so that sums are within range.
_FARTHEST = 1e100


@dataclass(frozen=True)
class UnitCoding:
    """How each column became visible units.

    Attributes
    ----------
    kind : ndarray of shape (n_features,), str
        ``"probability"`` (a number in [0, 1], one unit), ``"minmax"`` (its range
        becomes [0, 1], one unit) or ``"thermometer"`` (a unit for each threshold, 1
        where the value reaches it; none when the column is constant).

    low, high : ndarrays of shape (n_features,)
        Values that become 0 and 1; for thermometers, the ends of the range.

    thresholds : list of ndarrays
        Thresholds of each column; empty except for thermometers.

    levels : list of ndarrays
        Mean value of each level, one more than there are thresholds; empty except for
        thermometers.

    strict : bool
        Whether numbers outside [0, 1] are refused instead of clipped.
    """

    kind: np.ndarray
    low: np.ndarray
    high: np.ndarray
    thresholds: list
    levels: list
    strict: bool

    @classmethod
    def learn(cls, X, coding, n_bins, names=None):
        """Look at the values of each column.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        coding : {"auto", "thermometer", "minmax", "probability"}

        n_bins : int
            Most levels of a thermometer.

        names : sequence of str, default=None
            Column names for errors; None for their numbers.

        Returns
        -------
        coding : UnitCoding

        Raises
        ------
        ValueError
            If columns leave [0, 1] and are meant for probabilities, or none varies.
        """
        low, high = X.min(axis=0), X.max(axis=0)
        if not np.any(low < high):
            raise ValueError(
                "no column of X varies in these samples: there is nothing to learn"
            )
        strict = coding == PROBABILITY
        if strict:
            _require_probabilities(X, names)
        if coding == "auto":
            kind = np.where(_are_bits_or_likely(X, low, high), PROBABILITY, THERMOMETER)
        else:
            kind = np.full(X.shape[1], coding)
        low = np.where(kind == PROBABILITY, 0.0, low)
        high = np.where(kind == PROBABILITY, 1.0, high)
        nothing = [np.zeros(0)] * len(kind)
        found = cls(kind, low, high, list(nothing), list(nothing), strict)
        for j in np.flatnonzero(kind == THERMOMETER):
            found.thresholds[j] = quantile_thresholds(X[:, j], n_bins)
            level = np.searchsorted(found.thresholds[j], X[:, j], side="right")
            sums = np.bincount(level, X[:, j] / found.scale[j])
            found.levels[j] = sums / np.bincount(level) * found.scale[j]
        return found

    @property
    def scale(self):
        """Power of two near the ends of each column: differences of values by it are
        within range."""
        return binary_units(np.stack([self.low, self.high]).astype(np.float64))

    @property
    def n_units(self):
        """Visible units of each column, ndarray of shape (n_features,)."""
        n_thresholds = [len(thresholds) for thresholds in self.thresholds]
        return np.where(self.kind == THERMOMETER, n_thresholds, 1)

    @property
    def thermometers(self):
        """Those numbers of columns that have units, as a machine wants them."""
        return self.n_units[self.n_units > 0]

    def encode(self, X, names=None):
        """Turn values into states of visible units.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        names : sequence of str, default=None
            Column names for errors.

        Returns
        -------
        units : ndarray of shape (n_samples, n_units), float32
            In [0, 1]. Those of NaN say nothing.
        """
        if self.strict:
            _require_probabilities(X, names)
        ends = np.cumsum(self.n_units)
        require_memory(
            4.0 * len(X) * ends[-1],
            f"X as visible units, {len(X)} x {ends[-1]},",
            "lower n_bins or select columns first",
        )
        units = np.empty((len(X), ends[-1]), np.float32)
        single = np.flatnonzero(self.kind != THERMOMETER)
        for rows in gen_batches(len(X), ROWS_AT_ONCE):
            place = self._on_line(X[rows][:, single], single)
            units[rows, ends[single] - 1] = np.clip(place, 0.0, 1.0)
        for j in np.flatnonzero(self.kind == THERMOMETER):
            reached = X[:, [j]] >= self.thresholds[j]
            units[:, ends[j] - self.n_units[j] : ends[j]] = reached
        return units

    def log_density(self, X):
        """Log-density of values, given the states of their visible units.

        Between two thresholds it is uniform. Below the first and above the last it
        falls exponentially, from the mean distance of the values seen there. Beyond
        [0, 1] a value on the line of a single unit loses its distance in nats.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            With NaN for unknown values, which add nothing.

        Returns
        -------
        ndarray of shape (n_samples,), float64
            In nats, of thermometers in the units of X.
        """
        single = np.flatnonzero(self.kind != THERMOMETER)
        total = np.empty(len(X))
        for rows in gen_batches(len(X), ROWS_AT_ONCE):
            place = self._on_line(X[rows][:, single], single)
            beyond = np.minimum(np.abs(place - np.clip(place, 0.0, 1.0)), _FARTHEST)
            total[rows] = -np.nansum(beyond, axis=1)
        for j in np.flatnonzero(self.n_units * (self.kind == THERMOMETER)):
            total += self._log_density_of(j, X[:, j])
        return total

    def _log_density_of(self, j, values):
        """Log-density of values of a thermometer, given its level."""
        scale = self.scale[j]
        with np.errstate(over="ignore"):
            x = values / scale
        edges, levels = self.thresholds[j] / scale, self.levels[j] / scale
        level = np.searchsorted(edges, x, side="right")
        # Of the outermost levels the mean distance from the threshold, which is 0
        # where all values are at it.
        ends = levels[[0, -1]]
        tails = np.maximum(np.abs(ends - edges[[0, -1]]), np.spacing(np.abs(ends)))
        widths = np.maximum(np.diff(edges), np.finfo(np.float64).tiny)
        found = -np.log(np.concatenate([tails[:1], widths, tails[1:]]))[level]
        with np.errstate(over="ignore"):
            below, above = (edges[0] - x) / tails[0], (x - edges[-1]) / tails[1]
        beyond = np.where(level == 0, below, np.where(level == len(edges), above, 0.0))
        found -= np.minimum(beyond, _FARTHEST) + np.log(scale)
        return np.where(np.isnan(x), 0.0, found)

    def decode(self, units):
        """Turn states or probabilities of visible units into values.

        Parameters
        ----------
        units : ndarray of shape (n_samples, n_units)
            In [0, 1].

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), float64
            Of a thermometer the mean level, units being taken for probabilities.
        """
        ends = np.cumsum(self.n_units)
        X = np.empty((len(units), len(self.kind)))
        single = np.flatnonzero(self.kind != THERMOMETER)
        low, high = (end[single] / self.scale[single] for end in (self.low, self.high))
        X[:, single] = low + units[:, ends[single] - 1] * (high - low)
        for j in np.flatnonzero(self.kind == THERMOMETER):
            reached = units[:, ends[j] - self.n_units[j] : ends[j]]
            levels = self.levels[j] / self.scale[j]
            X[:, j] = levels[0] + reached @ np.diff(levels)
        return X * self.scale

    def _on_line(self, X, columns):
        """Values of columns on the lines through their ends; 0 of constant ones."""
        scale = self.scale[columns]
        low, high = self.low[columns] / scale, self.high[columns] / scale
        with np.errstate(over="ignore"):
            place = (X / scale - low) / np.where(low < high, high - low, 1.0)
        return np.where((low < high) | np.isnan(X), place, 0.0)


def _are_bits_or_likely(X, low, high):
    """Which columns are bits, or numbers within [0, 1] that are as good as bits.

    A bit drawn with a probability x has the variance m (1 - m), m the mean of x, of
    which that of x is known. It is known by .8 of the grey levels of MNIST, .5 of the
    digits, and 1/3 of numbers that are uniform: where it is less than .4, units
    would learn the chance of the draw. Columns within [0, 1] are of one kind and are
    judged together.
    """
    inside = (low >= 0.0) & (high <= 1.0)
    graded = inside & ((X != 0.0) & (X != 1.0)).any(axis=0)
    mean, variance = X[:, graded].mean(axis=0), X[:, graded].var(axis=0)
    known = variance.sum() >= _LEAST_KNOWN * (mean * (1.0 - mean)).sum()
    return inside if known else inside & ~graded


def _require_probabilities(X, names):
    outside = np.flatnonzero(((X < 0.0) | (X > 1.0)).any(axis=0))
    if len(outside):
        j = outside[0]
        column = f"column {j if names is None else repr(str(names[j]))}"
        further = f" and {len(outside) - 1} more columns" if len(outside) > 1 else ""
        worst = X[np.argmax(np.abs(X[:, j] - 0.5)), j]
        raise ValueError(
            f'coding="probability" needs numbers from 0 to 1, but {column} has '
            f'{worst:g}{further}; use coding="auto", "thermometer" or "minmax"'
        )
