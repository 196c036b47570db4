"""Writing text in compiled code, byte by byte.

A twin spells its infosets' strings by these functions. Each writes at a position of
`text` and returns the position behind what it has written. The text must be long
enough: `Twin.text_size` says how long.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined, jit


def word(text: str) -> np.ndarray:
    """A constant text (ASCII) in the form that `put` takes, `[length]` uint8."""
    return np.frombuffer(text.encode("ascii"), np.uint8)


@inlined
def put(text, at, constant):
    """Writes a constant made by `word`."""
    # An unsigned index cannot count from the end, so several bytes are written at once.
    start = np.uint64(at)
    for k in range(len(constant)):
        text[start + np.uint64(k)] = constant[k]
    return at + len(constant)


@inlined
def put_number(text, at, number):
    """Writes an integer in decimal digits at a position; returns that behind it."""
    if 0 <= number < 10:
        text[at] = 48 + number
        return at + 1
    if 10 <= number < 100:
        tens = number // 10
        text[at] = 48 + tens
        text[at + 1] = 48 + number - 10 * tens
        return at + 2
    return _put_long(text, at, number)


@jit
def _put_long(text, at, number):
    """As `put_number`, for any number."""
    if number < 0:
        text[at] = 45  # a minus sign
        at += 1
        number = -number
    digits = 1
    rest = number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for k in range(digits):
        text[at + digits - 1 - k] = 48 + number % 10
        number //= 10
    return at + digits
