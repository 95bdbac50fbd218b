"""Groups of visible units: the units of a column, and the states they can be in."""

# A column of L values has L - 1 units and L states. Those of an ordered column are a
# thermometer, of which only the first so many can be 1; of the units of categories at
# most one is 1, and none of them for the category that comes first. Every sum over
# states, and every draw, is over these. A bit is a group of a single unit of either
# kind.

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._validation import read_vector


@dataclass(frozen=True, eq=False)
class Groups:
    """Units of each column, and the states that they can be in."""

    # A thermometer of 3 units and a category of 2, ``Groups([3, 2], [True, False])``,
    # have 4 * 3 states. ValueError is raised if sizes are no numbers of units, at least
    # 1 each, or the lengths differ.

    # (n_columns,); number of units of each column, which are adjacent.
    sizes: np.ndarray
    # (n_columns,); True where only the first few units of a column can be 1, False
    # where at most one can. None for True throughout.
    is_ordered: Any = None

    def __post_init__(self) -> None:
        sizes: Any = self.sizes
        if getattr(sizes, "dtype", None) != np.int64 or sizes.ndim != 1:
            sizes = read_vector(sizes, "sizes")
        if not np.all((sizes >= 1) & (sizes == np.rint(sizes))):
            raise ValueError(
                f"sizes must be numbers of units, at least 1 each, got {self.sizes!r}"
            )
        ordered = np.ones(len(sizes), bool)
        if self.is_ordered is not None:
            ordered = np.asarray(self.is_ordered)
        if ordered.shape != sizes.shape or ordered.dtype != bool:
            raise ValueError(
                f"is_ordered must be a bool for each of {len(sizes)} columns, got "
                f"{self.is_ordered!r}"
            )
        object.__setattr__(self, "sizes", sizes.astype(np.int64))
        object.__setattr__(self, "is_ordered", ordered)

    @classmethod
    def bits(cls, n_units: int) -> Self:
        """Make groups of a single unit each."""
        return cls(np.ones(n_units, np.int64))

    @property
    def n_units(self) -> int:
        """Units of all columns."""
        return int(self.sizes.sum())

    @property
    def n_states(self) -> int:
        """States of all columns together."""
        # Python's integers have no largest one.
        return math.prod((self.sizes + 1).tolist())

    @property
    def are_bits(self) -> bool:
        """Whether each column has a single unit."""
        return bool(np.all(self.sizes == 1))

    @property
    def starts(self) -> NDArray[np.intp]:
        """First unit of each column."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Place of each unit in its column, from 0."""
        return np.arange(self.n_units) - np.repeat(self.starts, self.sizes)

    def of_units(self, of_columns: NDArray) -> NDArray:
        """Repeat an array of columns, (..., n_columns), for each of their units."""
        return np.repeat(of_columns, self.sizes, axis=-1)

    def take(self, which: NDArray[np.bool_] | list[int] | slice) -> "Groups":
        """Select the groups of some columns."""
        return Groups(self.sizes[which], self.is_ordered[which])

    def within(
        self,
        units: NDArray[np.bool_],  # (n_units,)
    ) -> "Groups":
        """Select the groups of some units, those of whole columns."""
        return self.take(units[self.starts])


def list_states(groups: Groups, start: int, stop: int) -> NDArray[np.float64]:
    """List possible states of the units of all columns, by their number."""
    # Returned are (stop - start, n_units), in the order of numbers whose first digit is
    # the least; `start` and `stop` are at most the number of all states.
    sizes, offsets = groups.sizes, groups.offsets
    bases = np.cumprod(np.append(1, sizes[:-1] + 1))
    state = np.arange(start, stop)[:, None] // bases % (sizes + 1)
    state = groups.of_units(state)
    ordered = groups.of_units(groups.is_ordered)
    units = np.where(ordered, state > offsets, state == offsets + 1)
    return units.astype(np.float64)


def state_probabilities(
    mean: NDArray[np.float64], groups: Groups
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Fraction of the samples in each state, from the means of the units."""
    # Returned are, for each unit, the fraction of samples at its level or category, and
    # that one level below or at the first category; for each column that of samples of
    # which no unit is 1.
    is_first = groups.offsets == 0
    ordered = groups.of_units(groups.is_ordered)
    above = np.where(np.roll(is_first, -1), 0.0, np.roll(mean, -1))
    at = np.where(ordered, mean - above, mean)
    first = 1.0 - np.add.reduceat(at, groups.starts)
    below = np.where(is_first, 1.0, np.roll(mean, 1)) - mean
    return at, np.where(ordered, below, groups.of_units(first)), first


def log_state_sums(active: NDArray, groups: Groups) -> NDArray[np.float64]:
    """Logarithm of the sum over all possible states of exp(active . state)."""
    if groups.are_bits:
        return np.logaddexp(0.0, active, dtype=np.float64).sum(axis=1)
    _, log_total = _log_weights(active, groups)
    return log_total.sum(axis=1)


def unit_probabilities(active: NDArray, groups: Groups) -> NDArray:
    """Probability that each unit is 1, with the logits `active` of the units."""
    log_weight, log_total = _log_weights(active, groups)
    at = np.exp(log_weight - groups.of_units(log_total))
    offsets, reached = groups.offsets, at.copy()
    ordered = groups.of_units(groups.is_ordered)
    # A unit of a thermometer is 1 at its level and at those above it.
    for offset in range(1, groups.sizes[groups.is_ordered].max(initial=0)):
        inside = (offsets[offset:] >= offset) & ordered[offset:]
        reached[:, :-offset] += np.where(inside, at[:, offset:], 0.0)
    return np.minimum(reached, 1.0).astype(np.float32)


def state_logits(active: NDArray, groups: Groups) -> NDArray[np.float64]:
    """Logit of the state of each unit, against that in which all units are 0."""
    # Of a level it is the sum of the units up to it, of a category that of its unit.
    active = np.asarray(active, np.float64)
    if groups.are_bits:
        return active
    starts = groups.starts
    height = np.cumsum(active, axis=1)
    before = height[:, starts] - active[:, starts]
    return np.where(
        groups.of_units(groups.is_ordered), height - groups.of_units(before), active
    )


def _log_weights(
    active: NDArray, groups: Groups
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-weights of states above the first, whose own is 0, and of all together."""
    starts = groups.starts
    height = state_logits(active, groups)
    top = np.maximum(np.maximum.reduceat(height, starts, axis=1), 0.0)
    weight = np.exp(height - groups.of_units(top))
    total = np.exp(-top) + np.add.reduceat(weight, starts, axis=1)
    return height, top + np.log(total)
