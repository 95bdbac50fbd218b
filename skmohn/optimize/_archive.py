"""Points of a black box and their values, as they came."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned


@dataclass(frozen=True)
class ArchiveConstants:
    """Differences of values that are rounding errors."""

    # Up to this fraction of the spread of the better half of the values.
    rounding: float = tuned(1e-8, "rounding")
    # Up to this fraction of the largest value: that of sums.
    relative: float = tuned(1e-15, "rounding")


_ARCHIVE = ArchiveConstants()


class Archive:
    """Points and values, to be minimized; values of the same point are averaged."""

    def __init__(self, n_variables: int) -> None:
        # Points as they came, and their values, NaN where there was none.
        self.evaluated = np.empty((0, n_variables), dtype=np.int64)
        self.outcomes = np.empty(0)
        # Distinct points that had a value; means of their values, sums of the squared
        # deviations from these, and how many there are.
        self.states = np.empty((0, n_variables), dtype=np.int64)
        self.values = self.squares = np.empty(0)
        self.counts = np.empty(0, dtype=int)
        # Whether these satisfy the constraints; are drawn uniformly or by the user, so
        # that sparse models may learn from them; and are drawn uniformly.
        self.is_feasible = self.is_sample = self.is_drawn = np.empty(0, dtype=bool)
        self.index = {}  # indices of points, by their keys

    def __len__(self) -> int:
        return len(self.values)

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
        self._append(state, np.nan)

    def _append(self, state: NDArray[np.integer], value: float) -> None:
        self.evaluated = np.concatenate([self.evaluated, state[None]])
        self.outcomes = np.append(self.outcomes, value)

    def add(
        self,
        state: NDArray[np.integer],
        value: float,
        is_feasible: bool,
        is_sample: bool,
        is_drawn: bool = False,
    ) -> None:
        """Add one evaluation."""
        self._append(state, value)
        i = self.index.setdefault(state.tobytes(), len(self))
        if i == len(self):
            self.states = np.concatenate([self.states, state[None]])
            self.values = np.append(self.values, value)
            self.counts = np.append(self.counts, 1)
            self.squares = np.append(self.squares, 0.0)
            self.is_feasible = np.append(self.is_feasible, is_feasible)
            self.is_sample = np.append(self.is_sample, is_sample)
            self.is_drawn = np.append(self.is_drawn, is_drawn)
            return
        self.counts[i] += 1
        before = value - self.values[i]
        self.values[i] += before / self.counts[i]
        self.squares[i] += before * (value - self.values[i])

    def order(self, deviation: float = 0.0) -> NDArray[np.integer]:
        """Indices of feasible points from the best to the worst."""
        # With a deviation of the noise, a mean counts as worse by its standard error.
        values = self.values + deviation / np.sqrt(self.counts)
        order = np.argsort(values, kind="stable")
        return order[self.is_feasible[order]]

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
