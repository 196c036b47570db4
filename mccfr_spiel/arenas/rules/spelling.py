"""Compiled functions that write information-state strings, byte by byte.

Functions whose names begin with `put` write ASCII characters to the uint8 array `text`,
beginning at index `at`, and return the index after the last written character. The
caller must provide an array that is long enough for the longest string, see
`BoundRules.text_size`.
"""

from collections.abc import Iterator

import numpy as np

from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.game_description import SPARE
from mccfr_spiel.arenas.rules.row_table import RowTable
from mccfr_spiel.arenas.rules.rule_calls import SPELL, call, callable_rules
from mccfr_spiel.kernels.jit import inlined, jit

_BATCH = 1 << 24
"""Bytes of the buffer for the strings of one batch."""


def word(text: str) -> np.ndarray:
    """Returns an ASCII string as a constant for `put`, `[length]` uint8."""
    return np.frombuffer(text.encode("ascii"), np.uint8)


@inlined
def put(text, at, constant):
    """Writes a constant made by `word`; returns the index after it."""
    # With an unsigned index numba does not handle negative indices, so the compiler
    # can vectorize the loop.
    start = np.uint64(at)
    for k in range(len(constant)):
        text[start + np.uint64(k)] = constant[k]
    return at + len(constant)


@inlined
def put_labeled(text, at, constant, number):
    """Writes a constant made by `word`, then a number; returns the index after it."""
    return put_number(text, put(text, at, constant), number)


@inlined
def put_number(text, at, number):
    """Writes an integer in decimal digits; returns the index after it."""
    # Nearly all numbers in strings have one or two digits.
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
    """Does the same as `put_number`, without its fast path for 0 to 99."""
    if number < 0:
        text[at] = 45  # minus sign
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
    """Writes the strings of the infosets first .. stop - 1, one after another, to
    `text`.

    Args:
        called: addresses from `callable_rules`.
        settings: parameters of the game.
        values: `[V]`, as in `RowTable`.
        rows: `[R + 1]` ROW, as in `RowTable`.
        first: first infoset.
        stop: last infoset + 1.
        key: buffer for a key.
        text: buffer for the strings.
        ends: `[stop - first]`, receives the end of each string.
    """
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
    """Yields the information-state strings of the first `count` infosets.

    Args:
        rules: rules of a twin (this package's compiled version of an OpenSpiel game),
            with `spell`.
        keys: keys of the infosets, each with the player as its first element.
        count: number of infosets.
    """
    called, size = callable_rules(rules), len(rules.new_text())
    key = np.zeros(len(rules.sizes.key) + SPARE, np.int64)
    # Strings are written in batches to bound the memory for text.
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
