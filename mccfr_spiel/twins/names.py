"""Strings of many infosets of a twin, spelled from their keys by compiled code."""

from collections.abc import Iterator

import numpy as np

from mccfr_spiel.compiled.jit import jit
from mccfr_spiel.rules.description import SPARE, BoundRules
from mccfr_spiel.rules.kernel import SPELL, call, callable_rules
from mccfr_spiel.rules.key_table import RowTable

_BATCH = 1 << 24
"""The bytes that strings spelled at a time may take."""


@jit
def _spell_all(spell, settings, values, rows, first, stop, key, text, ends):
    """Spells the strings of infosets first .. stop - 1, one behind the other."""
    at = 0
    for infoset in range(first, stop):
        start = rows[infoset]["start"]
        length = rows[infoset + 1]["start"] - start - 1
        for k in range(length):
            key[k] = values[start + 1 + k]
        arguments = settings, np.int64(values[start]), key, length, text[at:]
        at += call(spell, SPELL, arguments)
        ends[infoset - first] = at


def spelled(rules: BoundRules, keys: RowTable, count: int) -> Iterator[str]:
    """The strings of the first `count` infosets.

    Args:
        rules: of a twin.
        keys: of the infosets, each with the player before it.
        count: how many.
    """
    spell = callable_rules(rules)[SPELL]
    size = len(rules.new_text())
    key = np.zeros(len(rules.sizes.key) + SPARE, np.int64)
    # One pass spells a batch of strings, so that no more text is in memory.
    batch = max(_BATCH // size, 1)
    for first in range(0, count, batch):
        stop = min(first + batch, count)
        text = np.zeros((stop - first) * size, np.uint8)
        ends = np.zeros(stop - first, np.int64)
        numbers = keys.values, keys.rows, first, stop, key
        _spell_all(spell, rules.settings, *numbers, text, ends)
        whole, start = text[: ends[-1]].tobytes().decode("ascii"), 0
        for end in ends.tolist():
            yield whole[start:end]
            start = end
