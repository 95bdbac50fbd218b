"""Weights as small integers: the grid they lie on, their Gray code, their bytes."""

import numpy as np


def grid_step(n_bits, w_max):
    """Weight that one unit of a code stands for (Brunato and Battiti 2017, Eq 1)."""
    return w_max / max(2 ** (n_bits - 1) - 1, 1)


def code_range(n_bits):
    """Smallest and largest code, in two's complement."""
    return -(2 ** (n_bits - 1)), 2 ** (n_bits - 1) - 1


def encode(weights, n_bits, w_max):
    """Round weights to the nearest codes.

    Parameters
    ----------
    weights : ndarray of shape (n_weights,)
    n_bits : int
    w_max : float

    Returns
    -------
    codes : ndarray of shape (n_weights,), int32
    """
    codes = np.rint(np.asarray(weights) / grid_step(n_bits, w_max))
    return np.clip(codes, *code_range(n_bits)).astype(np.int32)


def gray_bits(codes, n_bits):
    """Bits of the Gray codes, the highest first: shape (n_weights, n_bits), uint8."""
    natural = np.asarray(codes, dtype=np.int64) & (2**n_bits - 1)
    gray = natural ^ (natural >> 1)
    return ((gray[:, None] >> np.arange(n_bits - 1, -1, -1)) & 1).astype(np.uint8)


def pack(codes, n_bits):
    """Put codes into bytes, ``n_bits`` a code."""
    return np.packbits(gray_bits(codes, n_bits)).tobytes()


def unpack(packed, n_weights, n_bits):
    """Read codes that :func:`pack` has written."""
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=n_weights * n_bits)
    natural = np.bitwise_xor.accumulate(bits.reshape(n_weights, n_bits), axis=1)
    values = natural @ (1 << np.arange(n_bits - 1, -1, -1, dtype=np.int64))
    return np.where(natural[:, 0], values - 2**n_bits, values).astype(np.int32)
