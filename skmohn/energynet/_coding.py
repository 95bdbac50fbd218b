"""How columns of a table become visible units, and back."""

from dataclasses import dataclass

import numpy as np

from skmohn._core._quantiles import quantile_thresholds
from skmohn._core._validation import require_memory

PROBABILITY = "probability"
MINMAX = "minmax"
THERMOMETER = "thermometer"


@dataclass(frozen=True)
class UnitCoding:
    """What each column of a table says of visible units.

    Attributes
    ----------
    kind : ndarray of shape (n_features,), str
        ``"probability"`` (a number in [0, 1], one unit), ``"minmax"`` (its range
        becomes [0, 1], one unit) or ``"thermometer"`` (a unit for each threshold, 1
        where the value reaches it; none when the column is constant).

    low, high : ndarrays of shape (n_features,)
        The values that become 0 and 1; of thermometers the ends of their range.

    thresholds : list of ndarrays
        Of each column; empty but for thermometers.

    levels : list of ndarrays
        Means of the values between thresholds, one more than there are thresholds;
        empty but for thermometers.

    strict : bool
        Whether numbers outside [0, 1] are refused rather than clipped.
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
            inside = (low >= 0.0) & (high <= 1.0)
            kind = np.where(inside, PROBABILITY, THERMOMETER)
        else:
            kind = np.full(X.shape[1], coding)
        low = np.where(kind == PROBABILITY, 0.0, low)
        high = np.where(kind == PROBABILITY, 1.0, high)
        nothing = [np.zeros(0)] * len(kind)
        found = cls(kind, low, high, list(nothing), list(nothing), strict)
        for j in np.flatnonzero(kind == THERMOMETER):
            found.thresholds[j] = quantile_thresholds(X[:, j], n_bins)
            level = np.searchsorted(found.thresholds[j], X[:, j], side="right")
            found.levels[j] = np.bincount(level, X[:, j]) / np.bincount(level)
        return found

    @property
    def n_units(self):
        """Visible units of each column, ndarray of shape (n_features,)."""
        n_thresholds = [len(thresholds) for thresholds in self.thresholds]
        return np.where(self.kind == THERMOMETER, n_thresholds, 1)

    def states(self, j):
        """List the states that the visible units of column j can be in.

        Returns
        -------
        ndarray of shape (n_states, n_units), float32
            Of a thermometer from the lowest level to the highest one.
        """
        n = self.n_units[j]
        return np.tri(n + 1, n, -1, dtype=np.float32)

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
        units[:, ends[single] - 1] = np.clip(self._on_line(X, single), 0.0, 1.0)
        for j in np.flatnonzero(self.kind == THERMOMETER):
            reached = X[:, [j]] >= self.thresholds[j]
            units[:, ends[j] - self.n_units[j] : ends[j]] = reached
        return units

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
        low, high = self.low[single], self.high[single]
        X[:, single] = low + units[:, ends[single] - 1] * (high - low)
        for j in np.flatnonzero(self.kind == THERMOMETER):
            reached = units[:, ends[j] - self.n_units[j] : ends[j]]
            X[:, j] = self.levels[j][0] + reached @ np.diff(self.levels[j])
        return X

    def _on_line(self, X, columns):
        """Values of columns on the lines through their ends; 0 of constant ones."""
        low, high = self.low[columns], self.high[columns]
        span = np.where(low < high, high - low, 1.0)
        return (X[:, columns] - low) / span


def _require_probabilities(X, names):
    outside = np.flatnonzero(((X < 0.0) | (X > 1.0)).any(axis=0))
    if len(outside):
        j = outside[0]
        column = f"column {j if names is None else repr(str(names[j]))}"
        further = f" and {len(outside) - 1} more columns" if len(outside) > 1 else ""
        worst = X[np.argmax(np.abs(X[:, j] - 0.5)), j]
        raise ValueError(
            f'coding="probability" takes numbers from 0 to 1: {column} has {worst:g}'
            f'{further}; use coding="auto", "thermometer" or "minmax"'
        )
