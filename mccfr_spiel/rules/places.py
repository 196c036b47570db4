"""The places of infosets, by which draws go (see compiled/randomness.py).

A game of compiled rules has an infoset's place by its information key, for which no
string is needed. A twin plays one of OpenSpiel's games, whose places are hashes of the
player and the information-state string, so it spells the string.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.hashing import SCRATCH, hash_of_text
from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.rules.calls import SPELL, call
from mccfr_spiel.rules.description import SPARE, BoundRules

UNKNOWN = np.uint64(0)
"""The place in the record of an infoset whose string nobody has spelled yet. Should a
string have this hash, it is spelled each time anew."""

PREFIX = 24
"""The most bytes before the string: the player and a space."""


def new_text(rules: BoundRules) -> np.ndarray:
    """A buffer for the longest text that is hashed, uint8; of length 0 without one."""
    size = 0 if rules.spell is None else rules.text_size + PREFIX + 8 * SPARE
    return np.zeros(size, np.uint8)


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


@jit
def _fill(spell, settings, values, rows, first, infosets, key, text, scratch):
    for infoset in range(first, len(infosets)):
        if infosets[infoset]["place"] == UNKNOWN:
            start = rows[infoset]["start"]
            length = rows[infoset + 1]["start"] - start
            for k in range(length):
                key[k] = values[start + k]
            infosets[infoset]["place"] = place_of(
                spell, settings, key, length, UNKNOWN, text, scratch
            )


def fill_places(
    rules: BoundRules,
    spell: Any,
    values: np.ndarray,
    rows: np.ndarray,
    infosets: np.ndarray,
    first: int = 0,
) -> None:
    """Writes those places into infosets' records that are UNKNOWN there.

    Args:
        rules: of a game whose places are hashes of strings.
        spell: what `callable_rules` gives for them.
        values, rows: the infosets' keys, each with the player before it.
        infosets: `[I]` of dtype INFOSET.
        first: the first infoset to look at.
    """
    _fill(
        *(spell, rules.settings, values, rows, first, infosets),
        np.zeros(1 + len(rules.sizes.key) + SPARE, np.int64),
        new_text(rules),
        np.zeros(SCRATCH, np.uint64),
    )
