"""BLAKE2b with a digest of 8 bytes, compiled (RFC 7693).

Places of infosets (compiled/randomness.py) come from this hash of a string. Python's
hashlib computes it for single strings; compiled code that spells millions of strings
computes it here, with the same result.
"""

import hashlib

import numpy as np
from numba.extending import overload

from mccfr_spiel.compiled.jit import inlined, jit

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
_PARAMETERS = np.uint64(0x01010000 ^ 8)  # no key, 8 bytes of digest
SCRATCH = 24
"""The length of the buffer that `blake2b` works in."""


@inlined
def _turned(x, bits):
    return (x >> np.uint64(bits)) | (x << np.uint64(64 - bits))


@inlined
def _mixed(a, b, c, d, x, y):
    """Four words of the working vector, with two of the block mixed in."""
    a = a + b + x
    d = _turned(d ^ a, 32)
    c = c + d
    b = _turned(b ^ c, 24)
    a = a + b + y
    d = _turned(d ^ a, 16)
    c = c + d
    b = _turned(b ^ c, 63)
    return a, b, c, d


@jit
def _word(text, at):
    """The 8 bytes from a position on as a little-endian number, which is one load."""
    bytes_ = text[at : at + 8]
    word = np.uint64(bytes_[0])
    word |= np.uint64(bytes_[1]) << np.uint64(8)
    word |= np.uint64(bytes_[2]) << np.uint64(16)
    word |= np.uint64(bytes_[3]) << np.uint64(24)
    word |= np.uint64(bytes_[4]) << np.uint64(32)
    word |= np.uint64(bytes_[5]) << np.uint64(40)
    word |= np.uint64(bytes_[6]) << np.uint64(48)
    return word | np.uint64(bytes_[7]) << np.uint64(56)


@inlined
def _round(v, block, order):
    """A round: mixes the columns of the working vector, then its diagonals.

    Args:
        v: the 16 numbers of the vector.
        block: the 16 words of the block.
        order: in which order their words come, 16 constants.
    """
    v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = v
    w = order
    v0, v4, v8, v12 = _mixed(v0, v4, v8, v12, block[w[0]], block[w[1]])
    v1, v5, v9, v13 = _mixed(v1, v5, v9, v13, block[w[2]], block[w[3]])
    v2, v6, v10, v14 = _mixed(v2, v6, v10, v14, block[w[4]], block[w[5]])
    v3, v7, v11, v15 = _mixed(v3, v7, v11, v15, block[w[6]], block[w[7]])
    v0, v5, v10, v15 = _mixed(v0, v5, v10, v15, block[w[8]], block[w[9]])
    v1, v6, v11, v12 = _mixed(v1, v6, v11, v12, block[w[10]], block[w[11]])
    v2, v7, v8, v13 = _mixed(v2, v7, v8, v13, block[w[12]], block[w[13]])
    v3, v4, v9, v14 = _mixed(v3, v4, v9, v14, block[w[14]], block[w[15]])
    return v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15


@jit
def _compress(state, block, counted, is_last):
    """Mixes a block of 16 words into the state of 8.

    The working vector is a 4 x 4 matrix v0 .. v15 of variables, which stay in the
    processor's registers. A round mixes its columns, then its diagonals.
    """
    v0, v1, v2, v3 = state[0], state[1], state[2], state[3]
    v4, v5, v6, v7 = state[4], state[5], state[6], state[7]
    v8, v9, v10, v11 = _IV[0], _IV[1], _IV[2], _IV[3]
    v12, v13, v14, v15 = _IV[4] ^ np.uint64(counted), _IV[5], _IV[6], _IV[7]
    if is_last:
        v14 = ~v14
    v = v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15
    v = _round(v, block, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    v = _round(v, block, (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3))
    v = _round(v, block, (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4))
    v = _round(v, block, (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8))
    v = _round(v, block, (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13))
    v = _round(v, block, (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9))
    v = _round(v, block, (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11))
    v = _round(v, block, (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10))
    v = _round(v, block, (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5))
    v = _round(v, block, (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0))
    v = _round(v, block, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    v = _round(v, block, (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3))
    v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 = v
    state[0] ^= v0 ^ v8
    state[1] ^= v1 ^ v9
    state[2] ^= v2 ^ v10
    state[3] ^= v3 ^ v11
    state[4] ^= v4 ^ v12
    state[5] ^= v5 ^ v13
    state[6] ^= v6 ^ v14
    state[7] ^= v7 ^ v15


@jit
def blake2b(text, length, scratch):
    """The digest of text[:length] as a little-endian number.

    Args:
        text: uint8.
        length: how many bytes of it to hash.
        scratch: `[SCRATCH]` uint64, a buffer to work in.
    """
    state, block = scratch[:8], scratch[8:]
    for k in range(8):
        state[k] = _IV[k]
    state[0] ^= _PARAMETERS
    start = 0
    # Each pass hashes one block. The last may be short and is filled up with zeros.
    while True:
        stop = min(start + _BLOCK, length)
        words = (stop - start) >> 3
        for k in range(words):
            block[k] = _word(text, start + 8 * k)
        for k in range(words, 16):
            block[k] = np.uint64(0)
        for k in range(8 * words, stop - start):
            byte = np.uint64(text[start + k])
            block[words] |= byte << np.uint64(8 * (k & 7))
        _compress(state, block, stop, stop == length)
        if stop == length:
            return state[0]
        start = stop


def hash_of_text(text: np.ndarray, length: int, scratch: np.ndarray) -> int:
    """`blake2b` for code that may run as plain Python, where hashlib computes it."""
    digest = hashlib.blake2b(text[:length].tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@overload(hash_of_text)
def _compiled_hash_of_text(text, length, scratch):
    return lambda text, length, scratch: blake2b(text, length, scratch)
