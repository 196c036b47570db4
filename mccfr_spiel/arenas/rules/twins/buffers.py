"""Compiled helpers of the twins: sets of small numbers, keys and lists of actions.

A *set* is stored in consecutive integers of an array, with MEMBERS bits in each.
"""

from mccfr_spiel.arenas.rules.game_description import compiled

MEMBERS = 16
"""Number of bits of a set in each integer, because elements of keys have 16 bits."""


@compiled
def parts_of(members):
    """Returns the number of integers that store a set with up to `members` members."""
    return (members + MEMBERS - 1) // MEMBERS


@compiled
def has_member(numbers, first, member):
    """Returns whether the set that begins at numbers[first] contains `member`."""
    return numbers[first + member // MEMBERS] >> member % MEMBERS & 1 != 0


@compiled
def add_member(numbers, first, member):
    """Adds `member` to the set that begins at numbers[first]."""
    numbers[first + member // MEMBERS] |= 1 << member % MEMBERS


@compiled
def write_range(actions, count, start, stop):
    """Writes start .. stop - 1 to `actions` from index `count` on; returns the new
    count.
    """
    for action in range(start, stop):
        actions[count] = action
        count += 1
    return count


@compiled
def copy_range(state, start, stop, key, length):
    """Writes state[start:stop] to `key` from index `length` on; returns the new end."""
    for k in range(start, stop):
        key[length] = state[k]
        length += 1
    return length
