"""Writing text in compiled code, byte by byte.

A twin spells its infosets' strings by these functions. Each writes at a position of
`text` and returns the position behind what it has written. The text must be long
enough: `Twin.text_size` says how long.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined
from mccfr_spiel.rules.places import put_number as put_number


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
