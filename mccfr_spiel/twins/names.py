"""Strings of many infosets of a twin, spelled from their keys by compiled code."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.rules.description import SPARE, SPELL_SIGNATURE, pointer_to
from mccfr_spiel.rules.kernel import Pool
from mccfr_spiel.twins.twin import BoundTwin

_BATCH = 1 << 24
"""The bytes that strings spelled at a time may take."""


@jit
def _read_key(values, rows, infoset, key):
    """Copies an infoset's key; returns the player and the key's length."""
    start = rows[infoset]["start"]
    length = rows[infoset + 1]["start"] - start - 1
    for k in range(length):
        key[k] = values[start + 1 + k]
    return np.int64(values[start]), length


@jit
def _spell_all(spell, settings, values, rows, first, stop, key, text, ends):
    """Spells the strings of infosets first .. stop - 1, one behind the other."""
    at = 0
    for infoset in range(first, stop):
        player, length = _read_key(values, rows, infoset, key)
        at += spell(settings, player, key, length, text[at:])
        ends[infoset - first] = at


def spelled(rules: BoundTwin, keys: Pool, count: int) -> Iterator[str]:
    """The strings of the first `count` infosets."""
    spell: Any = pointer_to("spell", rules.spell, SPELL_SIGNATURE)
    key, size = _new_key(rules), len(rules.new_text())
    # One pass spells a batch of strings, so that no more text is in memory.
    batch = max(_BATCH // size, 1)
    for first in range(0, count, batch):
        stop = min(first + batch, count)
        text = np.zeros((stop - first) * size, np.uint8)
        ends = np.zeros(stop - first, np.int64)
        _spell_all(
            spell,
            rules.settings,
            keys.values,
            keys.rows,
            first,
            stop,
            key,
            text,
            ends,
        )
        whole, start = text[: ends[-1]].tobytes().decode("ascii"), 0
        for end in ends.tolist():
            yield whole[start:end]
            start = end


def key_of(keys: Pool, infoset: int) -> tuple[int, np.ndarray]:
    """The player and the information key of an infoset."""
    start, stop = keys.rows["start"][infoset : infoset + 2]
    row = keys.values[start:stop].astype(np.int64)
    return int(row[0]), row[1:]


def _new_key(rules: BoundTwin) -> np.ndarray:
    return np.zeros(1 + len(rules.sizes.key) + SPARE, np.int64)
