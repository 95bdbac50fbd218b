"""Order and signs of visible units, which do not depend on those of the columns."""

# Training draws weights and bits one after another, so that the same columns in another
# order, or 0 and 1 exchanged, would train another RBM. So units are in a layout
# that follows from the values of the columns, and the trained RBM is written in that of
# the columns afterwards: the same probabilities, other signs.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._units import binary_units
from skmohn.energynet._groups import Groups
from skmohn.energynet._rbm import RBM, RBM_LIMITS


@dataclass(frozen=True)
class LayoutConstants:
    """The order of columns by their moments."""

    # Digits of moments that are compared: more would show rounding errors.
    n_digits: int = tuned(6, "rounding")
    # Rows that are written in another layout at once.
    n_rows_per_batch: int = tuned(256, "cost")


_LAYOUT = LayoutConstants()


def sort_columns(
    X: NDArray, is_number: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Order and signs of columns that do not depend on those they have."""
    # Columns are distinguished by their own moments, and by those with the sum of
    # squares of all columns, which has neither order nor sign. Where these are equal,
    # as of balanced designs, columns keep the order and the sign that they have. Signs
    # are 1 or -1. Categories, which are no numbers, have no sign; their frequencies
    # count.
    n_features = X.shape[1]
    frequencies = {
        j: _category_frequencies(X[:, j]) for j in np.flatnonzero(~is_number)
    }
    low, extent, unit = _ends(X)

    def read(rows: slice) -> NDArray:
        values = (X[rows].astype(np.float64) / unit - low) / extent
        for j, frequency in frequencies.items():
            values[:, j] = frequency[rows]
        return values

    rows = list(equal_slices(len(X), RBM_LIMITS.max_rows))
    n_known = np.maximum(sum(np.sum(~np.isnan(X[part]), axis=0) for part in rows), 1)
    mean = sum(np.nansum(read(part), axis=0) for part in rows) / n_known
    square = sum(np.nansum((read(part) - mean) ** 2, axis=0) for part in rows)
    std = np.sqrt(square / n_known)
    # Of frequencies that are all equal rounding errors are left.
    std = np.where(std > 10.0**-_LAYOUT.n_digits * np.abs(mean), std, np.inf)
    third, fourth, cross, cross_square = np.zeros((4, n_features))
    for part in rows:
        z = np.nan_to_num((read(part) - mean) / std)
        power = np.sum(z**2, axis=1)[:, None] / n_features
        third += np.sum(z**3, axis=0)
        fourth += np.sum(z**4, axis=0)
        cross += np.sum(z * power, axis=0)
        cross_square += np.sum(z**2 * power, axis=0)
    moments = np.stack([third, cross, fourth, cross_square]) / n_known
    moments = np.round(moments, _LAYOUT.n_digits)
    odd = np.where(moments[0] != 0.0, moments[0], moments[1])
    sign = np.where(is_number & (odd < 0.0), -1.0, 1.0)
    # Signs are turned, so that the first two have none.
    return np.lexsort([*np.abs(moments[::-1]), n_known]), sign


def _ends(X: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Lowest value and range of columns in units of their largest one, and units."""
    # What is small beside its distance from zero varies as much as all else does.
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    ends = np.stack([low, high]).astype(np.float64)
    unit = binary_units(ends)
    low, high = ends / unit
    return low, np.where(high > low, high - low, 1.0), unit


def _category_frequencies(values: NDArray) -> NDArray[np.float64]:
    """Frequency of the category of each sample; NaN where it is unknown."""
    known = ~np.isnan(values)
    frequencies = np.full(len(values), np.nan)
    _, index, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    frequencies[known] = counts[index] / known.sum()
    return frequencies


def sort_categories(
    X: NDArray,
    sizes: Mapping[int, int],  # number of categories of each column that has any
) -> dict[int, NDArray[np.intp]]:
    """Order of the categories of columns that does not depend on their names."""
    # The most frequent comes first. Of equally frequent ones, those whose rows are
    # closer to the means of all columns, or else go with fewer categories of other
    # columns.
    counts, found = {}, {}
    for j, size in sizes.items():
        known = X[~np.isnan(X[:, j]), j].astype(int)
        counts[j] = np.bincount(known, minlength=size)
    tied = [j for j in counts if len(np.unique(counts[j])) < len(counts[j])]
    norms = _squared_norms(X, list(sizes)) if tied else np.zeros(0)
    for j in counts:
        keys = [counts[j]]
        if j in tied:
            rows = np.flatnonzero(~np.isnan(X[:, j]))
            category = X[rows, j].astype(int)
            for power in (1, 2):
                sums = np.bincount(category, norms[rows] ** power, len(counts[j]))
                keys.append(
                    np.round(-sums / np.maximum(counts[j], 1), _LAYOUT.n_digits)
                )
            if len(np.unique(keys, axis=1).T) < len(counts[j]):
                keys.append(_concentrations(X, j, sizes))
        found[j] = np.lexsort([-key for key in keys[::-1]])
    return found


def _squared_norms(X: NDArray, categorical: Sequence[int]) -> NDArray[np.float64]:
    """Squared length of each row of standardized columns, frequencies of categories."""
    norms = np.zeros(len(X))
    for j in range(X.shape[1]):
        values = X[:, j].astype(np.float64)
        if j in categorical:
            values = _category_frequencies(values)
        low, extent, unit = _ends(values)
        values = (values / unit - low) / extent
        values -= np.nanmean(values)
        std = np.nanstd(values)
        if std > 0.0:
            norms += np.nan_to_num(values / std) ** 2
    return norms / X.shape[1]


def _concentrations(
    X: NDArray, j: int, sizes: Mapping[int, int]
) -> NDArray[np.float64]:
    """Concentration of categories of other columns by the category of a column."""
    found = np.zeros(sizes[j])
    for k in sizes:
        both = X[:, [j, k]]
        both = both[~np.isnan(both).any(axis=1)].astype(int)
        pairs, counts = np.unique(both @ [sizes[k], 1], return_counts=True)
        index = np.asarray(pairs // sizes[k], dtype=np.intp)
        found += np.bincount(index, counts**2.0, sizes[j])
    return found


@dataclass(frozen=True)
class Layout:
    """Order and orientation of visible units while an RBM is trained."""

    order: np.ndarray  # (n_units,), int; number of each unit among those of the columns
    # (n_units,), bool; in this order: 1 where those of the columns are 0.
    is_turned: np.ndarray
    groups: Groups  # units of each column in this order

    @classmethod
    def of(
        cls,
        n_units: NDArray[np.intp],  # (n_features,), int; of each column
        is_ordered: NDArray[np.bool_],  # (n_features,), bool; see `Groups`
        order: NDArray[np.intp],  # (n_features,); see :func:`sort_columns`
        sign: NDArray[np.float64],  # (n_features,); see :func:`sort_columns`
    ) -> Self:
        """Lay out the units of columns."""
        parts = np.split(np.arange(n_units.sum()), np.cumsum(n_units)[:-1])
        # The last threshold is the first of what is turned.
        units = [parts[j][:: int(sign[j])] for j in order.tolist()]
        order = order[n_units[order] > 0]
        groups = Groups(n_units[order], is_ordered[order])
        return cls(np.concatenate(units), groups.of_units(sign[order] < 0.0), groups)

    def arrange(self, units: NDArray) -> NDArray:
        """Reorder the units of columns, (n_samples, n_units), in place."""
        for rows in equal_slices(len(units), _LAYOUT.n_rows_per_batch):
            units[rows] = _turn(units[rows][:, self.order], self.is_turned)
        return units

    def restore(self, arranged: NDArray) -> NDArray:
        """Copy of units in this layout as those of columns."""
        units = np.empty_like(arranged)
        units[:, self.order] = arranged
        return _turn(units, self.order[self.is_turned])

    def arrange_rbm(self, rbm: RBM) -> RBM:
        """RBM of the units of columns in this layout."""
        arranged = RBM(
            rbm.weights[:, self.order],
            rbm.hidden_bias,
            rbm.visible_bias[self.order],
            self.groups,
        )
        return self._turn_rbm(arranged, self.groups)

    def restore_rbm(
        self,
        arranged: RBM,
        groups: Groups,  # units of the columns
    ) -> RBM:
        """RBM of the units of columns, from one in this layout."""
        turned = self._turn_rbm(arranged, self.groups)
        back = np.argsort(self.order)
        return RBM(
            turned.weights[:, back],
            turned.hidden_bias,
            turned.visible_bias[back],
            groups,
        )

    def log_volume(self, arranged: RBM) -> float:
        """Difference of log partition functions in this layout and in the other."""
        return float(arranged.visible_bias[self.is_turned].sum(dtype=np.float64))

    def _turn_rbm(self, rbm: RBM, groups: Groups) -> RBM:
        """RBM whose turned units are 1 where those of the other are 0."""
        sign = np.where(self.is_turned, np.float32(-1.0), np.float32(1.0))
        turned = rbm.weights[:, self.is_turned].sum(axis=1, dtype=np.float64)
        bias = (rbm.hidden_bias + turned).astype(np.float32)
        return RBM(rbm.weights * sign, bias, rbm.visible_bias * sign, groups)


def _turn(units: NDArray, which: NDArray) -> NDArray:
    """Exchange 0 and 1 of some units, where they are."""
    units[:, which] = 1.0 - units[:, which]
    return units
