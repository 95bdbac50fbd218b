"""Weights as small integers: the grid they lie on, their Gray code, their bytes."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Number = TypeVar("_Number", float, NDArray[np.float64])


def grid_step(n_bits: int, w_max: _Number) -> _Number:
    """Weight of one unit of a code (Brunato and Battiti 2017, Eq 1)."""
    # Of one range, or of an array of them.
    return w_max / max(2 ** (n_bits - 1) - 1, 1)


def auto_range(
    n_bits: int,
    fan_in: Sequence[int],  # inputs of a unit of each layer
    # Whether sums over hidden units are to meet standardized targets, for which small
    # changes matter; else outputs are logits, or there are no hidden units.
    is_scaled: bool,
) -> NDArray[np.float64]:
    """Range of each layer's weights that balances the largest and the smallest."""
    # Found by trying ranges on tables of 10 to 64 columns with 2 to 8 bits.
    spread = np.minimum(2.4 / np.sqrt(fan_in), 0.6)
    if is_scaled:
        spread[-1] = 0.48 / np.sqrt(fan_in[-1])
    return np.minimum(6.0, 2.0 ** (n_bits / 2 - 1) * spread)


def auto_bound(fan_in: Sequence[int]) -> NDArray[np.float64]:
    """Largest weight of each layer at the start; less where many inputs add up."""
    return np.minimum(1.0, np.sqrt(20.0 / np.array(fan_in)))


def code_range(n_bits: int) -> tuple[int, int]:
    """Smallest and largest code, in two's complement."""
    return -(2 ** (n_bits - 1)), 2 ** (n_bits - 1) - 1


def encode(
    weights: ArrayLike,  # (n_weights,)
    n_bits: int,
    w_max: _Number,  # (n_weights,)
) -> NDArray[np.int32]:
    """Round weights to the nearest codes."""
    codes = np.rint(np.asarray(weights) / grid_step(n_bits, w_max))
    return np.clip(codes, *code_range(n_bits)).astype(np.int32)


def gray_bits(codes: ArrayLike, n_bits: int) -> NDArray[np.uint8]:
    """Bits of the Gray codes, the highest first: shape (n_weights, n_bits), uint8."""
    natural = np.asarray(codes, dtype=np.int64) & (2**n_bits - 1)
    gray = natural ^ (natural >> 1)
    return ((gray[:, None] >> np.arange(n_bits - 1, -1, -1)) & 1).astype(np.uint8)


def pack(codes: ArrayLike, n_bits: int) -> bytes:
    """Put codes into bytes, ``n_bits`` a code."""
    return np.packbits(gray_bits(codes, n_bits)).tobytes()


def unpack(packed: bytes, n_weights: int, n_bits: int) -> NDArray[np.int32]:
    """Read codes that :func:`pack` has written."""
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=n_weights * n_bits)
    natural = np.bitwise_xor.accumulate(bits.reshape(n_weights, n_bits), axis=1)
    values = natural @ (1 << np.arange(n_bits - 1, -1, -1, dtype=np.int64))
    return np.where(natural[:, 0], values - 2**n_bits, values).astype(np.int32)
