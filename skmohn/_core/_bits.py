"""Bits of many samples as words of 64, padded with zeros."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

# Words are handled in blocks of 8, so that loops over them have no scalar remainder.
_BLOCK: Final = 8 * 64


def pack_bits(bits: NDArray) -> NDArray[np.uint64]:
    """Pack rows of bool, shape (n, D), into words, shape (n, W), padded with 0."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    return words_of(packed, bits.shape[1])


def row_bits(n_samples: int) -> NDArray[np.uint64]:
    """Words, shape (n_words,), of as many set bits as there are samples."""
    return pack_bits(np.ones((1, n_samples), dtype=bool))[0]


def words_of(packed: NDArray, n_samples: int) -> NDArray[np.uint64]:
    """Bytes of bits, shape (n, at least D / 8), as words; bits past D are 0."""
    padded = np.zeros((len(packed), -(-n_samples // _BLOCK) * _BLOCK // 8), np.uint8)
    n_bytes = -(-n_samples // 8)
    padded[:, :n_bytes] = packed[:, :n_bytes]
    if n_samples % 8:
        padded[:, n_bytes - 1] &= (1 << n_samples % 8) - 1
    return padded.view(np.uint64)


def unpack_bits(words: NDArray[np.uint64], n_samples: int) -> NDArray[np.uint8]:
    """Inverse of :func:`pack_bits`, as uint8."""
    return np.unpackbits(
        words.view(np.uint8), axis=1, bitorder="little", count=n_samples
    )
