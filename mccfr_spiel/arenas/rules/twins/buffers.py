"""Compiled functions that read and write sets, keys and lists of actions.

A *set* of small numbers is stored in consecutive integers, with MEMBERS bits in each.
"""

from mccfr_spiel.arenas.rules.game_description import compiled

MEMBERS = 16
"""Bits per number of a set that is stored in a key or state."""


@compiled
def parts_of(members):
    """Number of integers that store a set of up to `members` members."""
    return (members + MEMBERS - 1) // MEMBERS


@compiled
def has_member(numbers, first, member):
    """Whether the set that starts at numbers[first] contains a member."""
    return numbers[first + member // MEMBERS] >> member % MEMBERS & 1 != 0


@compiled
def add_member(numbers, first, member):
    """Adds a member to the set that starts at numbers[first]."""
    numbers[first + member // MEMBERS] |= 1 << member % MEMBERS


@compiled
def write_range(actions, count, start, stop):
    """Appends start .. stop - 1 to `count` actions; returns the new count."""
    for action in range(start, stop):
        actions[count] = action
        count += 1
    return count


@compiled
def copy_range(state, start, stop, key, length):
    """Appends state[start:stop] to a key of a given length; returns the new length."""
    for k in range(start, stop):
        key[length] = state[k]
        length += 1
    return length
