"""The hash table by which walks over compiled rules find an infoset's key.

Most slots that a walk looks at are not in the processor's caches, so a lookup should
touch few lines of memory. A slot holds half of the key's hash beside the infoset's
number. Other keys are told by it without a look at them, and a key that is new costs a
single line. The same half of the hash names the slot, so a larger table is filled from
the slots of a smaller one alone, almost in their order.
"""

import numpy as np

from mccfr_spiel.compiled.jit import inlined, jit
from mccfr_spiel.compiled.prefetch import prefetch

SLOT = np.dtype(np.uint64)
"""A slot: the upper half of the `row_hash` of a key, and the number of its row + 1 in
the lower half; 0 if it is free."""

MOST_USED = 0.75
"""The largest share of slots in use. A key that is new then takes some 8 slots, which
lie in one or two lines."""

_HALF, _LOWER, _FREE, _ONE = (np.uint64(x) for x in (32, 2**32 - 1, 0, 1))


@inlined
def ask_for_slot(table, hashed):
    """Starts to load the slot where `find_key` will begin."""
    prefetch(table, np.int64(hashed >> _HALF) & (len(table) - 1))


@inlined
def likely_row(table, hashed):
    """The row that `find_key` will look at first if its slot has the key's half of the
    hash; else -1."""
    half = hashed >> _HALF
    entry = table[np.int64(half) & (len(table) - 1)]
    if entry != _FREE and entry >> _HALF == half:
        return np.int64(entry & _LOWER) - 1
    return np.int64(-1)


@jit
def find_key(values, rows, table, hashed, key, length):
    """Looks up key[:length].

    Each pass looks at one slot, from the one that the hash names onwards, until it
    finds the key or a free slot.

    Args:
        values, rows: the keys, as in a `kernel.Pool`.
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
def refill(table, smaller):
    """Enters all rows of a table into a larger one, which is empty."""
    mask = len(table) - 1
    for entry in smaller:
        if entry != _FREE:
            slot = np.int64(entry >> _HALF) & mask
            while table[slot] != _FREE:
                slot = (slot + 1) & mask
            table[slot] = entry


@jit
def forget_keys(table, rows, count):
    """Frees the slots of a table with the rows 0 .. count - 1, in which no others are.

    A row is found by its number. Slots freed on the way to it are passed by.
    """
    mask = len(table) - 1
    for number in range(count):
        slot = np.int64(rows[number]["hash"] >> _HALF) & mask
        while table[slot] & _LOWER != np.uint64(number) + _ONE:
            slot = (slot + 1) & mask
        table[slot] = _FREE
