"""Strings that compiled functions spell from information keys."""

from collections.abc import Iterator

import numpy as np

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.game_description import SPARE
from mccfr_spiel.arenas.rules.row_table import RowTable
from mccfr_spiel.arenas.rules.rule_calls import SPELL, call, callable_rules
from mccfr_spiel.kernels.jit import inlined, jit

_BATCH = 1 << 24
"""The bytes that the strings spelled in one pass may take."""


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
def put_labeled(text, at, constant, number):
    """Writes a constant made by `word` and behind it a number."""
    return put_number(text, put(text, at, constant), number)


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
def _spell_all(called, settings, values, rows, first, stop, key, text, ends):
    """Spells the strings of infosets first .. stop - 1, one behind the other."""
    at = 0
    for infoset in range(first, stop):
        start = rows[infoset]["start"]
        length = rows[infoset + 1]["start"] - start - 1
        for k in range(length):
            key[k] = values[start + 1 + k]
        arguments = settings, np.int64(values[start]), key, length, text[at:]
        at += call(called, SPELL, arguments)
        ends[infoset - first] = at


def spelled(rules: BoundRules, keys: RowTable, count: int) -> Iterator[str]:
    """The strings of the first `count` infosets.

    Args:
        rules: of a twin.
        keys: of the infosets, each with the player before it.
        count: how many.
    """
    called, size = callable_rules(rules), len(rules.new_text())
    key = np.zeros(len(rules.sizes.key) + SPARE, np.int64)
    # One pass spells a batch of strings, so that no more text is in memory.
    batch = max(_BATCH // size, 1)
    for first in range(0, count, batch):
        stop = min(first + batch, count)
        text = np.zeros((stop - first) * size, np.uint8)
        ends = np.zeros(stop - first, np.int64)
        numbers = keys.values, keys.rows, first, stop, key
        _spell_all(called, rules.settings, *numbers, text, ends)
        whole, start = text[: ends[-1]].tobytes().decode("ascii"), 0
        for end in ends.tolist():
            yield whole[start:end]
            start = end
