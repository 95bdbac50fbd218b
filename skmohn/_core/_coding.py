"""How columns of a table become inputs in [-1, 1]."""

import warnings
from dataclasses import dataclass

import numpy as np

CONSTANT = "constant"
TWO_VALUED = "two-valued"
NUMERIC = "numeric"

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class InputCoding:
    """The line that maps each column onto [-1, 1].

    Attributes
    ----------
    kind : ndarray of shape (n_features,), str
        ``"constant"`` (at most one known value: ignored), ``"two-valued"`` (its values
        become -1 and +1) or ``"numeric"`` (its range becomes [-1, 1]).

    low, high : ndarrays of shape (n_features,)
        The values that become -1 and +1; NaN when none is known.
    """

    kind: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def learn(cls, X):
        """Look at the values of each column.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            NaN stands for an unknown value.

        Returns
        -------
        coding : InputCoding
        """
        known = np.isfinite(X)
        low = np.min(X, axis=0, where=known, initial=np.inf)
        high = np.max(X, axis=0, where=known, initial=-np.inf)
        inside = (low < X) & (high > X)
        kind = np.where(inside.any(axis=0), NUMERIC, TWO_VALUED)
        kind[~(low < high)] = CONSTANT
        unknown = ~known.any(axis=0)
        return cls(
            kind, np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)
        )

    @property
    def usable(self):
        """Indices of the columns that vary."""
        return np.flatnonzero(self.kind != CONSTANT)

    def encode(self, X, names=None):
        """Map the usable columns on their lines; unknown values become 0.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        names : sequence of str, default=None
            Column names for the warning; None for their numbers.

        Returns
        -------
        inputs : ndarray of shape (n_samples, n_usable)
            The values seen in :meth:`learn` lie in [-1, 1].

        Warns
        -----
        UserWarning
            When a two-valued column holds a further value.
        """
        columns = self.usable
        inputs = np.empty((len(X), len(columns)))
        new_values = {}
        # Some rows at a time: what is computed on the way is as large as its rows.
        for start in range(0, len(X), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            inputs[rows] = self._encode_rows(X[rows, columns], columns, new_values)
        if new_values:
            _warn_of_new_values(new_values, names)
        return inputs

    def _encode_rows(self, values, columns, new_values):
        """Encode rows; note the first further value of each two-valued column."""
        low, high = self.low[columns], self.high[columns]
        known = ~np.isnan(values)
        # Written so that the two ends become -1 and +1 without rounding error.
        inputs = ((values - low) - (high - values)) / (high - low)
        new = known & (np.abs(inputs) != 1) & (self.kind[columns] == TWO_VALUED)
        for j in np.flatnonzero(new.any(axis=0)):
            new_values.setdefault(int(columns[j]), values[new[:, j], j][0])
        return np.where(known, inputs, 0.0)

    def decode(self, column, sign):
        """The value of a column that is coded as -1 or +1."""
        return float(self.low[column] if sign < 0 else self.high[column])


def _warn_of_new_values(new_values, names):
    found = (
        f"column {column if names is None else repr(str(names[column]))} has {value:g}"
        for column, value in new_values.items()
    )
    warnings.warn(
        "values that were not there in fit are mapped on the line through the two that "
        f"were: {'; '.join(found)}",
        UserWarning,
        stacklevel=4,
    )
