"""The places of infosets, by which draws go (see compiled/randomness.py).

A game of compiled rules has an infoset's place by its information key, for which no
string is needed. A twin plays one of OpenSpiel's games, whose places are hashes of the
player and the information-state string, so it spells the string.
"""

import numpy as np

from mccfr_spiel.compiled.hashing import hash_of_text
from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.rules.calls import SPELL, call
from mccfr_spiel.rules.description import SPARE, BoundRules

PREFIX = 24
"""The most bytes before the string: the player and a space."""


def new_text(rules: BoundRules) -> np.ndarray:
    """A buffer for the longest text that is hashed, uint8; of length 0 without one."""
    size = 0 if rules.spell is None else rules.text_size + PREFIX + 8 * SPARE
    return np.zeros(size, np.uint8)


@jit
def put_number(text, at, number):
    """Writes an integer in decimal digits at a position; returns that behind it."""
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


@jit
def place_of(spell, settings, key, length, hashed, text, scratch):
    """The place of an infoset.

    Args:
        spell: what `callable_rules` gives for `BoundRules.spell`.
        settings: the values of the game's parameters.
        key: int64, the player and the information key.
        length: of both.
        hashed: the `row_hash` of both.
        text: what `new_text` made.
        scratch: `[SCRATCH]` uint64, a buffer for the hash.
    """
    if len(text) == 0:
        return hashed
    at = put_number(text, 0, key[0])
    text[at] = 32  # a space
    at += 1
    arguments = settings, key[0], key[1:], length - 1, text[at:]
    at += call(spell, SPELL, arguments)
    return hash_of_text(text, at, scratch)
