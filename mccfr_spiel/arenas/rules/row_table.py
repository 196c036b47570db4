"""A hash table of rows of numbers."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import reserve
from mccfr_spiel.kernels.frame import prefetch
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.randomness import ROOT_PLACE, child_place, mix

ROW = np.dtype([("hash", "<u8"), ("start", "<i8")])
"""A row of numbers: its `row_hash`, and where its values start, see RowTable."""


@jit
def row_hash(row, length):
    """A hash of 64 bits that depends on each of the first `length` entries of a row."""
    place = ROOT_PLACE
    for k in range(length):
        place = child_place(place, row[k])
    return mix(place)


def key_place(player: int, key: np.ndarray) -> int:
    """The place (see kernels/randomness.py) of the infoset with an information key.

    Games with compiled rules use it instead of `infoset_place`, because it needs no
    string. Both ways of making their tree do so and hence draw the same numbers.
    """
    row = np.array([player, *key], np.int64)
    return int(row_hash(row, len(row)))


SLOT = np.dtype(np.uint64)
"""A slot: the upper half of the `row_hash` of a key, and the number of its row + 1 in
the lower half; 0 if it is free."""

MOST_USED = 0.75
"""The largest share of slots in use. Looking up a new key then reads about 8 slots,
which lie in one or two lines."""

_HALF, _LOWER, _FREE, _ONE = (np.uint64(x) for x in (32, 2**32 - 1, 0, 1))


class RowTable(NamedTuple):
    """Different rows of numbers, numbered by first visit.

    Attributes:
        values: `[V]` the rows, one after the other.
        rows: `[R + 1]` ROW; row r is values[rows[r].start : rows[r + 1].start].
        table: `[a power of two]` SLOT.
    """

    values: np.ndarray
    rows: np.ndarray
    table: np.ndarray


def new_row_table(dtype: Any, longest: int) -> RowTable:
    """No rows, and room for some of at most a length."""
    return RowTable(np.zeros(longest, dtype), np.zeros(2, ROW), np.zeros(2, SLOT))


def with_room(kept: RowTable, count: int, longest: int) -> RowTable:
    """Rows with room for one more of at most a length, in arrays that may be others."""
    table = kept.table
    if count + 1 > MOST_USED * len(table):
        table = larger_table(table, count + 1)
    values = reserve(kept.values, int(kept.rows["start"][count]) + longest)
    return RowTable(values, reserve(kept.rows, count + 2), table)


def player_and_key(keys: RowTable, infoset: int) -> tuple[int, np.ndarray]:
    """The player and the information key of an infoset, if the rows are keys."""
    start, stop = keys.rows["start"][infoset : infoset + 2]
    row = keys.values[start:stop].astype(np.int64)
    return int(row[0]), row[1:]


@inlined
def ask_for_slot(table, hashed):
    """Starts to load the slot where `find_key` will begin."""
    prefetch(table, np.int64(hashed >> _HALF) & (len(table) - 1))


@jit
def find_key(values, rows, table, hashed, key, length):
    """Looks up key[:length].

    Each pass looks at one slot, from the one that the hash names onwards, until it
    finds the key or a free slot.

    Args:
        values, rows: the keys, as in `RowTable`.
        table: `[a power of two]` SLOT, with free slots.
        hashed: the key's `row_hash`.
        key: int64.
        length: how many of its numbers count.

    Returns:
        The number of its row. If there is none, -1 - the free slot where it belongs.
    """
    mask = len(table) - 1
    half = hashed >> _HALF
    slot = np.int64(half) & mask
    while True:
        entry = table[slot]
        if entry == _FREE:
            return -1 - slot
        if entry >> _HALF == half:
            number = np.int64(entry & _LOWER) - 1
            start = rows[number]["start"]
            if rows[number + 1]["start"] - start == length:
                difference = np.int64(0)
                for k in range(length):
                    difference |= np.int64(values[start + k]) ^ key[k]
                if difference == 0:
                    return number
        slot = (slot + 1) & mask


@jit
def enter_key(table, found, hashed, number):
    """Enters a new row.

    Args:
        table: of `find_key`, which has gained a row.
        found: what `find_key` returned.
        hashed: the key's `row_hash`.
        number: of the row.
    """
    table[-1 - found] = (hashed >> _HALF) << _HALF | (np.uint64(number) + _ONE)


@jit
def number_row(values, rows, table, count, hashed, row, length):
    """The number of row[:length]; a new row is entered and gets the number `count`.

    Returns -1 if the row is new and `with_room` must come first.
    """
    found = find_key(values, rows, table, hashed, row, length)
    if found >= 0:
        return found
    start = rows[count]["start"]
    if (
        count + 1 >= len(rows)
        or start + length > len(values)
        or count >= MOST_USED * len(table)
    ):
        return np.int64(-1)
    for k in range(length):
        values[start + k] = row[k]
    rows[count + 1]["start"] = start + length
    rows[count]["hash"] = hashed
    enter_key(table, found, hashed, count)
    return count


@jit
def _fill(table, slots):
    """Puts what is in some slots into those of an empty table."""
    mask = len(table) - 1
    for entry in slots:
        if entry != _FREE:
            slot = np.int64(entry >> _HALF) & mask
            while table[slot] != _FREE:
                slot = (slot + 1) & mask
            table[slot] = entry


def larger_table(slots: np.ndarray, count: int) -> np.ndarray:
    """A table with free slots for `count` rows in all, of which some have slots already
    in a smaller table, or in any order."""
    table = np.zeros(1 << int(count / MOST_USED).bit_length(), SLOT)
    _fill(table, slots)
    return table
