"""Fixed-point arithmetic: scaling, tanh, powers of two."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._tuned import tuned

# Steps of a table between which there is a straight line; positions within a step.
_STEPS = [2.0**-k for k in range(3, 6)]


@dataclass(frozen=True)
class TanhConstants:
    """Tables of functions."""

    # Error, in units of the last place, that lines between the entries may cause.
    max_error: float = tuned(0.4, "rounding")


_TANH = TanhConstants()

# Positions between two entries of a table: a byte.
STEP_FRACTIONS: Final = 256
# Halves of 1 in sixteen steps: e^-d = 2^-(d / ln 2), of which the whole part shifts.
ONE: Final = 2**15 - 1


class Requantize(NamedTuple):
    """``((size >> pre) * factor + half) >> shift``, and `top` from `limit` on."""

    pre: int
    factor: int
    shift: int
    limit: int | None  # None: it is never reached
    top: int

    def __call__(self, size: Any) -> Any:
        """Sizes, none of them negative, in other units."""
        half = (1 << self.shift) >> 1
        scaled = ((size >> self.pre) * self.factor + half) >> self.shift
        if self.limit is None:
            return scaled
        return np.where(size >= self.limit, self.top, scaled)

    def signed(self, numbers: NDArray) -> NDArray:
        """Rescale numbers of either sign."""
        return np.sign(numbers) * self(np.abs(numbers))


def make_rescale(
    ratio: float,
    largest: int,  # largest size
    top: int,  # largest result
    precision: int,  # least factor: its rounding is then harmless
) -> Requantize:
    """Rescale sizes by a ratio, in 32 bits."""
    # From here on the result is top.
    most = min(largest, int(np.ceil(min((top + 1.0) / ratio, 2.0**32))))
    pre = max(0, most.bit_length() - 16)
    # To shift by whole bytes is to leave them out; what is left of sizes still tells
    # results from each other.
    whole_bytes = -(-pre // 8) * 8
    if most >> whole_bytes >= top:
        pre = whole_bytes
    found = [_with_shift(ratio, pre, shift, largest, top) for shift in range(31)]
    found = [rescale for rescale in found if rescale is not None]
    if not found:
        raise ValueError(
            "the sums cannot be scaled in 32 bits, because some weights are "
            f"{ratio:.3g} times as large as others: use a smaller w_max or "
            'arithmetic="float32"'
        )
    quick = [one for one in found[::-1] if one.shift % 8 == 0]
    return next((one for one in quick if one.factor >= precision), found[-1])


def _with_shift(
    ratio: float, pre: int, shift: int, largest: int, top: int
) -> Requantize | None:
    """Rescale with a shift, None if it does not fit in 32 bits."""
    factor, half = int(ratio * 2.0 ** (pre + shift)), (1 << shift) >> 1
    limit = largest + 1
    if factor:
        limit = min(limit, -(-((top << shift) - half) // factor) << pre)
    most = (limit - 1) >> pre
    if max(factor, most) >= 2**16 or most * factor + half >= 2**32:
        return None
    return Requantize(pre, factor, shift, limit if limit <= largest else None, top)


def make_shift(
    power: int,  # below zero, sizes grow
    largest: int,
    top: int,
) -> Requantize:
    """Rescale sizes by ``2 ** -power``, without a product."""
    factor, shift = 2 ** max(-power, 0), max(power, 0)
    half = (1 << shift) >> 1
    limit = -(-((top << shift) - half) // factor)
    return Requantize(0, factor, shift, limit if limit <= largest else None, top)


class TanhTable(NamedTuple):
    """Straight lines between points; one step is `STEP_FRACTIONS` positions wide."""

    step: float
    points: np.ndarray

    @property
    def end(self) -> int:
        """Position of the last point."""
        return (len(self.points) - 1) * STEP_FRACTIONS

    def __call__(self, positions: NDArray) -> Any:
        """Values at positions from 0 to the end, which has the last value."""
        index, part = np.divmod(positions, STEP_FRACTIONS)
        index = np.minimum(index, len(self.points) - 1)
        after = self.points[np.minimum(index + 1, len(self.points) - 1)]
        rise = after - self.points[index]
        # Curves rise or fall: of either, the product is of one sign.
        between = (np.abs(rise) * part + STEP_FRACTIONS // 2) // STEP_FRACTIONS
        return self.points[index] + np.sign(rise) * between


def tanh_curve(top: int) -> TanhTable:
    """Hyperbolic tangent from zero on, as integers up to `top`."""
    # Lines are at most step^2 / 8 max|tanh''| below the curve: points half of that
    # above it divide the error.
    bends = [0.77 * step**2 / 16.0 * top for step in _STEPS]
    step = next(
        (s for s, bend in zip(_STEPS, bends, strict=True) if bend <= _TANH.max_error),
        _STEPS[-1],
    )
    n_steps = int(np.ceil(np.arctanh(1.0 - 0.5 / top) / step))
    x = step * np.arange(n_steps + 1)
    t = np.tanh(x)
    points = np.rint(top * (t + step**2 / 8.0 * t * (1.0 - t**2)))
    points = np.minimum(points, top).astype(np.int64)
    points[-1] = top
    return TanhTable(step, points)


POWERS = TanhTable(
    np.log(2.0) / 16.0, np.rint(ONE * 2.0 ** -(np.arange(17) / 16)).astype(np.int64)
)


def exponential(positions: NDArray) -> NDArray:
    """Fall of e^-d, as integers up to `ONE`, at positions of `POWERS`."""
    whole, part = np.divmod(positions, POWERS.end)
    return POWERS(part) >> whole
