"""A hash table of distinct rows of integers, numbered by first insertion.

Walks over compiled rules look up infosets by their keys. The expansion of a whole tree
also keeps distinct chance distributions and vectors of returns, as the bits of their
doubles.

Most slots that a walk reads are not in the processor's caches, so a lookup should touch
few cache lines. A slot stores the upper half of the row's hash next to the row number.
This half rejects other rows without reading them, so the insertion of a new row usually
touches one cache line of slots. It also determines the slot, so a larger table is
filled from the slots of a smaller one alone, almost in their order.
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import reserve
from mccfr_spiel.kernels.jit import inlined, jit
from mccfr_spiel.kernels.prefetching import (
    prefetch,
)
from mccfr_spiel.kernels.randomness import ROOT_PLACE, child_place, mix

ROW = np.dtype([("hash", "<u8"), ("start", "<i8")])
"""A row: `row_hash` of its values, and index of the first value in `RowTable.values`.
"""


@jit
def row_hash(row, length):
    """64-bit hash of row[:length]."""
    place = ROOT_PLACE
    for k in range(length):
        place = child_place(place, row[k])
    return mix(place)


def key_place(player: int, key: np.ndarray) -> int:
    """The place (see kernels/randomness.py) of the infoset with an information key.

    It replaces `infoset_place` for games with compiled rules, because it needs no
    string. Trees that are expanded through pyspiel and through compiled rules both use
    it, so they draw the same random numbers.
    """
    row = np.array([player, *key], np.int64)
    return int(row_hash(row, len(row)))


SLOT = np.dtype(np.uint64)
"""A slot: upper half of the `row_hash`, and row number + 1 in the lower half; 0 if the
slot is free."""

MOST_USED = 0.75
"""Largest share of used slots. At this load, a search for a new row reads 8.5 slots on
average (Knuth, The Art of Computer Programming 3, section 6.4, linear probing). They
lie in one or two cache lines."""

_HALF, _LOWER, _FREE, _ONE = (np.uint64(x) for x in (32, 2**32 - 1, 0, 1))


class RowTable(NamedTuple):
    """Distinct rows of integers, numbered by first insertion.

    Attributes:
        values: `[V]` concatenated rows.
        rows: `[R + 1]` ROW; row r is values[rows[r].start : rows[r + 1].start].
        table: `[power of two]` SLOT.
    """

    values: np.ndarray
    rows: np.ndarray
    table: np.ndarray


def new_row_table(dtype: Any, longest: int) -> RowTable:
    """An empty table with space for one row of at most `longest` values."""
    return RowTable(np.zeros(longest, dtype), np.zeros(2, ROW), np.zeros(2, SLOT))


def with_room(kept: RowTable, count: int, longest: int) -> RowTable:
    """The table with space for one more row of at most `longest` values.

    Arrays that are too small are replaced by larger copies.
    """
    table = kept.table
    if count + 1 > MOST_USED * len(table):
        table = larger_table(table, count + 1)
    values = reserve(kept.values, int(kept.rows["start"][count]) + longest)
    return RowTable(values, reserve(kept.rows, count + 2), table)


def player_and_key(keys: RowTable, infoset: int) -> tuple[int, np.ndarray]:
    """The player and the information key of an infoset in a table of keys."""
    start, stop = keys.rows["start"][infoset : infoset + 2]
    row = keys.values[start:stop].astype(np.int64)
    return int(row[0]), row[1:]


@inlined
def ask_for_slot(table, hashed):
    """Prefetches the first slot that `find_key` will read."""
    prefetch(table, np.int64(hashed >> _HALF) & (len(table) - 1))


@jit
def find_key(values, rows, table, hashed, key, length):
    """Looks up key[:length] by linear probing.

    Args:
        values: `[V]` concatenated rows, as in `RowTable`.
        rows: `[R + 1]` ROW, as in `RowTable`.
        table: `[power of two]` SLOT, with at least one free slot.
        hashed: `row_hash` of the key.
        key: int64.
        length: number of entries of the key.

    Returns:
        The row number. If there is no such row, -1 - the free slot for it.
    """
    mask = len(table) - 1
    half = hashed >> _HALF
    slot = np.int64(half) & mask
    # Each pass reads one slot. The loop ends at the row or at a free slot.
    while True:
        entry = table[slot]
        if entry == _FREE:
            return -1 - slot
        if entry >> _HALF == half:
            number = np.int64(entry & _LOWER) - 1
            start = rows[number]["start"]
            if rows[number + 1]["start"] - start == length:
                # Accumulated differences need no branch for each value.
                difference = np.int64(0)
                for k in range(length):
                    difference |= np.int64(values[start + k]) ^ key[k]
                if difference == 0:
                    return number
        slot = (slot + 1) & mask


@jit
def enter_key(table, found, hashed, number):
    """Writes the slot of a new row.

    Args:
        table: `[power of two]` SLOT.
        found: result of `find_key` for the row.
        hashed: `row_hash` of the row.
        number: row number.
    """
    table[-1 - found] = (hashed >> _HALF) << _HALF | (np.uint64(number) + _ONE)


@jit
def number_row(values, rows, table, count, hashed, row, length):
    """The number of row[:length]; a new row is appended with the number `count`.

    Returns -1, without a change, if the row is new and the arrays are full. Enlarge
    them by `with_room` and call again.
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
    """Inserts the used slots of another table into an empty table."""
    mask = len(table) - 1
    for entry in slots:
        if entry != _FREE:
            slot = np.int64(entry >> _HALF) & mask
            while table[slot] != _FREE:
                slot = (slot + 1) & mask
            table[slot] = entry


def larger_table(slots: np.ndarray, count: int) -> np.ndarray:
    """A table for `count` rows at a load of at most MOST_USED.

    Args:
        slots: SLOT, entries of a smaller table, or of any list.
        count: total number of rows, those in `slots` included.
    """
    table = np.zeros(1 << int(count / MOST_USED).bit_length(), SLOT)
    _fill(table, slots)
    return table
