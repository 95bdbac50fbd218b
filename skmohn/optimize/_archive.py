"""Points of a black box and their values, as they came."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class ArchiveConstants:
    """Differences of values that are rounding errors."""

    # Up to this fraction of the spread of the better half of the values.
    rounding: float = tuned(1e-8, "rounding")
    # Up to this fraction of the largest value: that of sums.
    relative: float = tuned(1e-15, "rounding")


_ARCHIVE = ArchiveConstants()


class _Column:
    """Rows of an array in use, to which one is appended in constant time."""

    def __init__(self, length: str) -> None:
        # Name of the attribute that counts the rows.
        self._length = length

    def __set_name__(self, owner: type, name: str) -> None:
        self._buffer = f"_{name}"

    def __get__(self, archive: "Archive", owner: type) -> NDArray[Any]:
        return vars(archive)[self._buffer][: vars(archive)[self._length]]

    def append(self, archive: "Archive", value: ArrayLike) -> None:
        """Write the row after those in use; their number is for the caller to raise."""
        buffer, n_rows = vars(archive)[self._buffer], vars(archive)[self._length]
        if n_rows == len(buffer):
            # Twice as many rows each time: copies of all are seldom.
            spare = np.empty_like(buffer, shape=(n_rows + 1, *buffer.shape[1:]))
            buffer = vars(archive)[self._buffer] = np.concatenate([buffer, spare])
        buffer[n_rows] = value


class Archive:
    """Points and values, to be minimized; values of the same point are averaged."""

    # Points as they came, and their values, NaN where there was none.
    evaluated = _Column("_n_evaluated")
    outcomes = _Column("_n_evaluated")
    # Distinct points that had a value; means of their values, sums of the squared
    # deviations from these, and how many there are.
    states = _Column("_n_points")
    values = _Column("_n_points")
    squares = _Column("_n_points")
    counts = _Column("_n_points")
    # Whether these satisfy the constraints; are drawn uniformly or by the user, so
    # that sparse models may learn from them; and are drawn uniformly.
    is_feasible = _Column("_n_points")
    is_sample = _Column("_n_points")
    is_drawn = _Column("_n_points")

    def __init__(self, n_variables: int) -> None:
        self._n_evaluated = self._n_points = 0
        self._evaluated = np.empty((0, n_variables), dtype=np.int64)
        self._states = self._evaluated
        self._outcomes = self._values = self._squares = np.empty(0)
        self._counts = np.empty(0, dtype=int)
        self._is_feasible = self._is_sample = self._is_drawn = np.empty(0, dtype=bool)
        self.index = {}  # indices of points, by their keys

    def __len__(self) -> int:
        return self._n_points

    @property
    def observed(self) -> NDArray[np.integer]:
        """Points as they came, where they had a value."""
        return self.evaluated[~np.isnan(self.outcomes)]

    @property
    def observations(self) -> NDArray[np.float64]:
        """Values as they came."""
        return self.outcomes[~np.isnan(self.outcomes)]

    def add_failure(self, state: NDArray[np.integer]) -> None:
        """Add an evaluation that has no value."""
        self._append("_n_evaluated", {"evaluated": state, "outcomes": np.nan})

    def _append(self, length: str, row: Mapping[str, ArrayLike]) -> None:
        """Append values to the columns of these names."""
        for name, value in row.items():
            vars(Archive)[name].append(self, value)
        vars(self)[length] += 1

    def add(
        self,
        state: NDArray[np.integer],
        value: float,
        is_feasible: bool,
        is_sample: bool,
        is_drawn: bool = False,
    ) -> None:
        """Add one evaluation."""
        self._append("_n_evaluated", {"evaluated": state, "outcomes": value})
        i = self.index.setdefault(state.tobytes(), len(self))
        if i == len(self):
            row = {"states": state, "values": value, "squares": 0.0, "counts": 1}
            row |= {"is_feasible": is_feasible, "is_sample": is_sample}
            self._append("_n_points", {**row, "is_drawn": is_drawn})
            return
        self.counts[i] += 1
        before = value - self.values[i]
        self.values[i] += before / self.counts[i]
        self.squares[i] += before * (value - self.values[i])

    def order(self, deviation: float = 0.0) -> NDArray[np.integer]:
        """Indices of feasible points from the best to the worst."""
        order = np.argsort(self._bounds(deviation), kind="stable")
        return order[self.is_feasible[order]]

    def best(self, deviation: float = 0.0) -> int | None:
        """First index of :meth:`order`, in less time; None where there is none."""
        if not self.is_feasible.any():
            return None
        bounds = np.where(self.is_feasible, self._bounds(deviation), np.inf)
        return int(np.argmin(bounds))

    def _bounds(self, deviation: float) -> NDArray[np.float64]:
        """Values; with a deviation of the noise, worse by their standard errors."""
        return self.values + deviation / np.sqrt(self.counts)

    def deviation(self) -> float:
        """Standard deviation of values of the same point; 0 where none was repeated."""
        freedom = np.sum(self.counts - 1)
        return float(np.sqrt(self.squares.sum() / freedom)) if freedom else 0.0

    def rounding(self) -> float:
        """Size up to which differences of values are rounding errors."""
        # Of the distinct values the better half counts, so that penalties, which are
        # far worse than all others, do not hide what these differ by.
        distinct = np.unique(self.values)
        spread = np.median(distinct) - distinct[0]
        largest = np.max(np.abs(self.values))
        return float(max(_ARCHIVE.rounding * spread, _ARCHIVE.relative * largest))
