"""Settings: common values of numbers that are equal but for rounding or jitter."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skmohn._core._quantiles import inner_ends
from skmohn._core._rows import row_slices
from skmohn._core._tuned import tuned
from skmohn._core._units import power_of_two_scale


@dataclass(frozen=True)
class SettingConstants:
    """Repeats of a setting."""

    # Fractions of the range of a column, but for its lowest and its highest number:
    # beside a wild one, all others would be equal. Sums of decimal fractions differ by
    # rounding of 1e-16 times their size, which 1e7 of them or a far origin make 1e-9.
    rounding: float = tuned(1e-9, "rounding")
    # Repeats of a setting that differ by more, as measured inputs or oversampled rows
    # do, show by their number: at least two on average, ...
    jitters: tuple[float, ...] = tuned((1e-4, 1e-5), "benchmarks/ablation.py")
    min_repeats: float = tuned(2.0, "benchmarks/ablation.py")
    # ... and by the distance of settings, in jitters, of which the largest is sought.
    min_distance: float = tuned(100.0, "benchmarks/ablation.py")


_SETTINGS = SettingConstants()


class Settings(NamedTuple):
    """Settings: common values of numbers that differ by rounding or jitter."""

    # (n_settings,); increasing; numbers without near neighbors are not among them.
    values: NDArray
    tolerance: float  # distance up to which a number is a setting

    @classmethod
    def find(cls, numbers: NDArray) -> Self | None:
        """Find settings among finite numbers; None where all differ."""
        distinct, counts = np.unique(numbers, return_counts=True)
        if len(distinct) < 2:
            return None
        unit = power_of_two_scale(distinct)
        scaled = distinct / unit
        differences, (low, high) = np.diff(scaled), inner_ends(numbers / unit)
        extent = high - low
        # Where rounding explains the repeats, jitter would join other numbers, too.
        fractions = (_SETTINGS.rounding, *_SETTINGS.jitters, _SETTINGS.rounding)
        for k, fraction in enumerate(fractions):
            tolerance = fraction * extent
            first = np.flatnonzero(np.append(True, differences > tolerance))
            last = np.append(first[1:], len(distinct)) - 1
            if not tolerance:
                return None
            is_plain = np.all(scaled[last] - scaled[first] <= tolerance)
            if is_plain and k < len(fractions) - 1:
                if len(first) == len(distinct):
                    continue
                # There are two settings at least, since the tolerance is less than all.
                distance = np.median(scaled[first[1:]] - scaled[last[:-1]])
                is_plain = len(distinct) >= _SETTINGS.min_repeats * len(first)
                is_plain &= distance >= _SETTINGS.min_distance * tolerance
            if is_plain:
                rounding = unit * (_SETTINGS.rounding * extent)
                values = _choose_values(distinct, counts, first, last, rounding)
                return cls(values, unit * tolerance) if len(values) else None
        return None

    def round(self, numbers: NDArray) -> NDArray:
        """Replace numbers near a setting by it."""
        above = np.searchsorted(self.values, numbers).clip(max=len(self.values) - 1)
        below = np.maximum(above - 1, 0)
        with np.errstate(over="ignore"):
            apart = np.abs(numbers - self.values[above])
            is_below = np.abs(numbers - self.values[below]) < apart
        nearest = self.values[np.where(is_below, below, above)]
        with np.errstate(over="ignore"):
            is_near = np.abs(numbers - nearest) <= self.tolerance
        return np.where(is_near, nearest, numbers)


def find_settings(X: NDArray) -> dict[int, Settings]:
    """Settings of the columns in which some numbers are equal but for rounding."""
    # NaN and infinite numbers are left out. Integers are what they are.
    values = X.astype(np.float64, copy=False)
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        is_integer = np.all((values == np.rint(values)) | ~known, axis=0)
    settings = {}
    for j in np.flatnonzero(~is_integer).tolist():
        found = Settings.find(values[known[:, j], j])
        if found is not None:
            settings[j] = found
    return settings


def find_flags(X: NDArray) -> NDArray[np.bool_]:
    """Mask of the columns whose numbers are two, but for rounding or jitter."""
    low, high = np.fmin.reduce(X), np.fmax.reduce(X)
    # Halves, since a range may be no float.
    tolerance = 2.0 * min(_SETTINGS.jitters) * (0.5 * high - 0.5 * low)
    is_flag = low < high
    for rows in row_slices(X.shape):
        with np.errstate(over="ignore"):
            apart = np.minimum(X[rows] - low, high - X[rows])
        is_flag &= np.all(apart <= tolerance, axis=0)
    return is_flag


def _choose_values(
    distinct: NDArray,  # increasing
    counts: NDArray,  # of each
    first: NDArray,  # where the numbers of each setting begin
    last: NDArray,  # their last one
    rounding: float,  # distance of numbers that are equal but for rounding
) -> NDArray:
    """Value of each setting of several numbers, or of one beside an integer."""
    # It is the most frequent one, or the integer that they are around or round to:
    # flags of 0 and 1 would else be no flags.
    group = np.repeat(np.arange(len(first)), last - first + 1)
    chosen = np.lexsort((-counts, group))[first]
    values, integers = distinct[chosen], np.rint(distinct[chosen]) + 0.0
    is_around = (distinct[first] <= integers) & (integers <= distinct[last])
    is_integer = is_around & (counts[chosen] == 1)
    is_integer |= np.abs(integers - values) <= rounding
    is_setting = (last > first) | (is_integer & (integers != values))
    return np.where(is_integer, integers, values)[is_setting]
