"""BLAKE2b with a digest of 8 bytes, compiled (RFC 7693).

Places of infosets (compiled/randomness.py) come from this hash of a string. Python's
hashlib computes it for single strings; compiled code that spells millions of strings
computes it here, with the same result.
"""

import hashlib

import numpy as np
from numba.extending import overload

from mccfr_spiel.compiled.jit import jit

_BLOCK = 128  # bytes hashed at a time
_IV = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
_SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    np.int64,
)
_ROUNDS = 12
_COLUMNS = np.array(
    [
        [0, 4, 8, 12],
        [1, 5, 9, 13],
        [2, 6, 10, 14],
        [3, 7, 11, 15],
        [0, 5, 10, 15],
        [1, 6, 11, 12],
        [2, 7, 8, 13],
        [3, 4, 9, 14],
    ],
    np.int64,
)
_PARAMETERS = np.uint64(0x01010000 ^ 8)  # no key, 8 bytes of digest
SCRATCH = 40
"""The length of the buffer that `blake2b` works in."""


@jit
def _turned(x, bits):
    return (x >> np.uint64(bits)) | (x << np.uint64(64 - bits))


@jit
def _compress(scratch, counted, is_last):
    """Mixes the block scratch[24:40] into the state scratch[:8]."""
    for k in range(8):
        scratch[8 + k] = scratch[k]
        scratch[16 + k] = _IV[k]
    scratch[20] ^= np.uint64(counted)
    if is_last:
        scratch[22] = ~scratch[22]
    for round_ in range(_ROUNDS):
        for step in range(8):
            a = 8 + _COLUMNS[step, 0]
            b = 8 + _COLUMNS[step, 1]
            c = 8 + _COLUMNS[step, 2]
            d = 8 + _COLUMNS[step, 3]
            x = scratch[24 + _SIGMA[round_ % 10, 2 * step]]
            y = scratch[24 + _SIGMA[round_ % 10, 2 * step + 1]]
            scratch[a] = scratch[a] + scratch[b] + x
            scratch[d] = _turned(scratch[d] ^ scratch[a], 32)
            scratch[c] = scratch[c] + scratch[d]
            scratch[b] = _turned(scratch[b] ^ scratch[c], 24)
            scratch[a] = scratch[a] + scratch[b] + y
            scratch[d] = _turned(scratch[d] ^ scratch[a], 16)
            scratch[c] = scratch[c] + scratch[d]
            scratch[b] = _turned(scratch[b] ^ scratch[c], 63)
    for k in range(8):
        scratch[k] ^= scratch[8 + k] ^ scratch[16 + k]


@jit
def blake2b(text, length, scratch):
    """The digest of text[:length] as a little-endian number.

    Args:
        text: uint8.
        length: how many bytes of it to hash.
        scratch: `[SCRATCH]` uint64, a buffer to work in.
    """
    for k in range(8):
        scratch[k] = _IV[k]
    scratch[0] ^= _PARAMETERS
    start = 0
    # Each pass hashes one block. The last may be short and is filled up with zeros.
    while True:
        stop = min(start + _BLOCK, length)
        for k in range(24, 40):
            scratch[k] = np.uint64(0)
        for k in range(stop - start):
            byte = np.uint64(text[start + k])
            scratch[24 + (k >> 3)] |= byte << np.uint64(8 * (k & 7))
        _compress(scratch, stop, stop == length)
        if stop == length:
            return scratch[0]
        start = stop


def hash_of_text(text: np.ndarray, length: int, scratch: np.ndarray) -> int:
    """`blake2b` for code that may run as plain Python, where hashlib computes it."""
    digest = hashlib.blake2b(text[:length].tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@overload(hash_of_text)
def _compiled_hash_of_text(text, length, scratch):
    return lambda text, length, scratch: blake2b(text, length, scratch)
