"""Inputs as a device reads them, and as the first layer takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn.blm._device.categories import numbers_of
from skmohn.blm._device.network import Network

RANGES = {"uint8": (0, 255), "int16": (-(2**15), 2**15 - 1)}
TYPES = (*RANGES, "float32")
# Categories that a number can tell, and that there is none of them.
MAX_CATEGORIES = {"uint8": 255, "int16": 2**15 - 1, "float32": 2**24}
# Largest factor: numbers of 16 bits are quick to multiply.
_MAX_FACTOR: Final = 2**16 - 1


@dataclass(frozen=True)
class InputSpec:
    """Inputs of a device."""

    kind: str  # "uint8", "int16" or "float32"
    # (n_numbers,); value of 1 in each column of the table that is no category.
    unit: np.ndarray
    # (n_columns,); columns of the table in the order of the device: numbers, then
    # categories.
    columns: np.ndarray
    groups: tuple = ()  # columns of each category
    indicators: Sequence[int] | NDArray = ()  # columns that are 0 or 1 in any unit

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest number."""
        highest = float(np.finfo(np.float32).max)
        return RANGES.get(self.kind, (-highest, highest))

    def read(self, X: NDArray[np.float64]) -> NDArray:
        """Table as the device gets it: rounded to units, within the type's range."""
        numbers = self._rounded(self._numbers(X))
        if not self.groups:
            return numbers
        columns = self.columns[len(self.unit) :]
        found = numbers_of(X[:, columns], columns, self.groups)
        return np.hstack([numbers, found.astype(numbers.dtype)])

    def read_drawn(
        self, rows: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray:
        """Rows in the order of the device, with categories drawn, the unknown too."""
        numbers = self._rounded(rows[:, : len(self.unit)])
        drawn = [rng.integers(0, size + 1, len(rows)) for size in self.groups]
        return np.column_stack([numbers, *drawn]).astype(numbers.dtype)

    def cut(self, X: NDArray) -> NDArray:
        """Columns of a table with numbers beyond the type's range."""
        low, high = self.ends
        scaled = self._in_units(self._numbers(X))
        is_cut = np.any((scaled < low) | (scaled > high), axis=0)
        return self.columns[: len(is_cut)][is_cut]

    def steps(
        self, mean: NDArray[np.float64], spread: NDArray[np.float64]
    ) -> NDArray[np.floating]:
        """Steps between the numbers that the device is given, in units of the table."""
        unit = self.unit[: len(mean)]
        if self.kind != "float32":
            return np.where(self.are_indicators(len(mean)), 0.0, unit)
        return float_steps((np.abs(mean) + spread) / unit) * unit

    def are_indicators(self, n: int) -> NDArray[np.bool_]:
        """Whether the first inputs are 0 or 1, which each type holds."""
        return np.isin(self.columns[:n], self.indicators)

    def _numbers(self, X: NDArray) -> NDArray:
        return np.take(X, self.columns[: len(self.unit)], axis=1)

    def _in_units(self, numbers: NDArray) -> NDArray:
        with np.errstate(over="ignore"):
            scaled = numbers / self.unit
        return scaled if self.kind == "float32" else np.rint(scaled)

    def _rounded(self, numbers: NDArray) -> NDArray:
        scaled = np.clip(self._in_units(numbers), *self.ends)
        return scaled.astype(np.float32 if self.kind == "float32" else np.int64)

    def largest(self, network: Network) -> float:
        """Largest size of an input of the network that the type can hold."""
        ends = np.multiply.outer(RANGES[self.kind], self.unit)
        mean, spread = network.input_mean, network.input_scale
        n = network.n_numbers
        return np.abs((ends - mean[:n]) / spread[:n]).max()


def float_steps(numbers: NDArray[np.float64]) -> NDArray[np.float32]:
    """Distances from numbers to the next ones in single precision."""
    return np.spacing(numbers.astype(np.float32))


def cut(numbers: NDArray, limit: float | np.floating) -> NDArray:
    """Clip numbers to +-limit; NaN becomes 0, the mean of its column."""
    return np.where(
        np.isnan(numbers), numbers.dtype.type(0), numbers.clip(-limit, limit)
    )


class IntInputs(NamedTuple):
    """Conversion of integers to codes: ``((u - center) * factor + half) >> shift``."""

    center: np.ndarray  # (n_inputs,)
    factor: np.ndarray
    shift: np.ndarray
    low: np.ndarray  # smallest code
    high: np.ndarray  # largest code
    offset: np.ndarray  # what all codes lack to be inputs, for the biases
    top: int  # codes beyond +-top are cut

    def codes(self, raw: NDArray) -> NDArray[np.int64]:
        """Codes of a table of integers."""
        return np.clip(self.uncut(raw), -self.top, self.top)

    def uncut(self, raw: Any) -> NDArray[np.int64]:
        """Codes before those beyond the range are cut."""
        half = (1 << self.shift) >> 1
        return ((raw - self.center) * self.factor + half) >> self.shift


def int_inputs(
    reader: InputSpec,
    network: Network,
    scale: float,  # of one unit of a code
    top: int,  # largest code
) -> IntInputs:
    """Quantize the inputs of a network as integers."""
    lowest, highest = RANGES[reader.kind]
    n = network.n_numbers
    mean, width = network.input_mean[:n], network.input_scale[:n] * scale
    center = np.clip(np.rint(mean / reader.unit), lowest, highest)
    center = center.astype(np.int64)
    # A step that is larger than the whole range is cut anyway.
    ratio = np.minimum(reader.unit / width, top)
    farthest = np.maximum(center - lowest, highest - center)
    shift = _largest_shifts(ratio, farthest)
    # One shift for all inputs is shorter and quicker, by whole bytes above all, if
    # rounding a factor moves no code by more than one.
    common = [shift.min(initial=30) // 8 * 8, shift.min(initial=30)]
    precise = [
        s for s in common if 2.0 * np.rint(ratio * 2.0**s).min(initial=top) >= top
    ]
    shift[:] = precise[:1] or shift
    factor = np.rint(ratio * 2.0**shift).astype(np.int64)
    power = int(factor[0]).bit_length() - 1 if n else 0
    if n and np.all(factor == 2**power) and np.all(shift == shift[0]):
        # Shifts alone will do.
        factor[:] = 2 ** max(power - shift[0], 0)
        shift[:] = max(shift[0] - power, 0)
    offset = (center * reader.unit - mean) / width
    inputs = IntInputs(center, factor, shift, center, center, offset, top)
    ends = [np.full_like(center, end) for end in (lowest, highest)]
    low, high = (inputs.codes(end) for end in ends)
    return inputs._replace(low=low, high=high)


def _largest_shifts(ratio: NDArray[np.float64], farthest: NDArray) -> NDArray[np.int64]:
    """Shifts at which products just fit 32 bits, and factors 16."""
    shifts = np.zeros(len(ratio), dtype=np.int64)
    for shift in range(1, 31):
        factor = np.rint(ratio * 2.0**shift)
        fits = farthest * factor + 2.0 ** (shift - 1) < 2.0**31
        shifts[fits & (factor <= _MAX_FACTOR)] = shift
    return shifts


class FloatInputs(NamedTuple):
    """Conversion of numbers to codes: ``floor((v - start) * inverse)``."""

    start: np.ndarray  # (n_inputs,) float32
    inverse: np.ndarray
    low: np.ndarray  # smallest code
    high: np.ndarray
    offset: np.ndarray  # zeros
    top: int

    def codes(self, raw: NDArray) -> NDArray[np.int64]:
        """Codes of a table of numbers in single precision."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (raw - self.start) * self.inverse
        return np.floor(cut(scaled, np.float32(self.top))).astype(np.int64)


def float_inputs(
    reader: InputSpec, network: Network, scale: float, top: int
) -> FloatInputs:
    """Prepare numbers in single precision as inputs; see :func:`int_inputs`."""
    n = network.n_numbers
    width = network.input_scale[:n] * scale
    start = ((network.input_mean[:n] - width / 2.0) / reader.unit).astype(np.float32)
    inverse = (reader.unit / width).astype(np.float32)
    high = np.full(len(start), top)
    return FloatInputs(start, inverse, -high, high, np.zeros(len(start)), top)


def standardized(
    reader: InputSpec, network: Network
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and inverse scale of inputs of the network: ``(v - mean) * inverse``."""
    n = network.n_numbers
    mean = (network.input_mean[:n] / reader.unit).astype(np.float32)
    return mean, (reader.unit / network.input_scale[:n]).astype(np.float32)
