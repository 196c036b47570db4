"""A hash table of distinct rows of integers, numbered by first insertion.

A row is, for example, the information key of an infoset, by which walks over compiled
rules look up the infoset. The expansion of a whole tree also uses such tables for
distinct chance distributions and vectors of returns, whose doubles are stored as
integers with the same bits.

The table is an array of *slots*, searched by linear probing. A slot contains a row
number and the upper half of the row's 64-bit hash. Most slots that a walk reads are not
in the processor's caches, so a lookup should touch few cache lines. The stored half of
the hash rejects most other rows without reading them, so inserting a new row usually
touches one cache line of slots. The same half determines where the probing starts. So a
larger table can be filled from the slots of a smaller table alone, without reading
rows.
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
"""Record of a row: `row_hash` of its values, and index of its first value in
`RowTable.values`.
"""


@jit
def row_hash(row, length):
    """Returns the 64-bit hash of row[:length]."""
    place = ROOT_PLACE
    for k in range(length):
        place = child_place(place, row[k])
    return mix(place)


def key_place(player: int, key: np.ndarray) -> int:
    """Returns the place of an infoset, given its player and information key.

    The place is the 64-bit hash that selects the random numbers drawn at the infoset
    (kernels/randomness.py). For games with compiled rules, this function replaces
    `infoset_place`, because it needs no string. Trees of such games use it even if they
    are expanded through pyspiel, so the draws are the same in both cases.
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
    """Returns an empty table with capacity for one row of at most `longest` values."""
    return RowTable(np.zeros(longest, dtype), np.zeros(2, ROW), np.zeros(2, SLOT))


def with_room(kept: RowTable, count: int, longest: int) -> RowTable:
    """Returns a table with the same rows and capacity for one more row.

    Arrays that are too small are replaced by larger copies.

    Args:
        kept: the table.
        count: number of rows in the table.
        longest: largest number of values of the next row.
    """
    table = kept.table
    if count + 1 > MOST_USED * len(table):
        table = larger_table(table, count + 1)
    values = reserve(kept.values, int(kept.rows["start"][count]) + longest)
    return RowTable(values, reserve(kept.rows, count + 2), table)


def player_and_key(keys: RowTable, infoset: int) -> tuple[int, np.ndarray]:
    """Returns the player and the information key of an infoset.

    In the table `keys`, each row consists of a player and an information key.
    """
    start, stop = keys.rows["start"][infoset : infoset + 2]
    row = keys.values[start:stop].astype(np.int64)
    return int(row[0]), row[1:]


@inlined
def ask_for_slot(table, hashed):
    """Prefetches the first slot that `find_key` will read."""
    prefetch(table, np.int64(hashed >> _HALF) & (len(table) - 1))


@jit
def find_key(values, rows, table, hashed, key, length):
    """Returns the number of the row that equals key[:length], if there is one.

    Args:
        values: `[V]` concatenated rows, as in `RowTable`.
        rows: `[R + 1]` ROW, as in `RowTable`.
        table: `[power of two]` SLOT, with at least one free slot.
        hashed: `row_hash` of the key.
        key: int64 values; only the first `length` are read.
        length: number of values.

    Returns:
        The row number; if the row is not in the table, -1 - slot, where `slot` is the
            free slot in which `enter_key` may insert it.
    """
    mask = len(table) - 1
    half = hashed >> _HALF
    slot = np.int64(half) & mask
    # Linear probing: each pass of the loop reads one slot. It ends at the slot of the
    # key or at a free slot; MOST_USED guarantees that there are free slots.
    while True:
        entry = table[slot]
        if entry == _FREE:
            return -1 - slot
        if entry >> _HALF == half:
            candidate = np.int64(entry & _LOWER) - 1
            start = rows[candidate]["start"]
            if rows[candidate + 1]["start"] - start == length:
                # The loop compares all values without a branch, so that the compiler
                # can vectorize it.
                difference = np.int64(0)
                for k in range(length):
                    difference |= np.int64(values[start + k]) ^ key[k]
                if difference == 0:
                    return candidate
        slot = (slot + 1) & mask


@jit
def enter_key(table, lookup, hashed, number):
    """Writes a new row's slot to the hash table.

    Args:
        table: `[power of two]` SLOT.
        lookup: negative result of `find_key` for the row.
        hashed: `row_hash` of the row.
        number: row number.
    """
    table[-1 - lookup] = (hashed >> _HALF) << _HALF | (np.uint64(number) + _ONE)


@jit
def number_row(values, rows, table, count, hashed, row, length):
    """Returns the number of row[:length], and appends the row if it is new.

    Args:
        values, rows, table: the table, see `RowTable`.
        count: number of rows in the table, and so the number of a new row.
        hashed: `row_hash` of the row.
        row: values of the row; only the first `length` are read.
        length: number of values.

    Returns:
        The row number; -1 if the row is new and the arrays are full. Then nothing is
            changed; enlarge the arrays by `with_room` and call again.
    """
    lookup = find_key(values, rows, table, hashed, row, length)
    if lookup >= 0:
        return lookup
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
    enter_key(table, lookup, hashed, count)
    return count


@jit
def _fill(table, slots):
    """Inserts the used slots of another table into an empty table."""
    # The stored half of the hash suffices to find a slot, so rows are not read.
    mask = len(table) - 1
    for entry in slots:
        if entry != _FREE:
            slot = np.int64(entry >> _HALF) & mask
            while table[slot] != _FREE:
                slot = (slot + 1) & mask
            table[slot] = entry


def larger_table(slots: np.ndarray, count: int) -> np.ndarray:
    """Returns a larger hash table that contains the given slots.

    It has room for `count` rows at a load of at most MOST_USED.

    Args:
        slots: SLOT, the slots of a smaller table.
        count: total number of rows, those in `slots` included.
    """
    # A power of two that is at least count / MOST_USED.
    table = np.zeros(1 << int(count / MOST_USED).bit_length(), SLOT)
    _fill(table, slots)
    return table
