"""What the parts of a tree cost in bytes, and under which names its budget holds them.

The sizes were measured on 64-bit CPython and rounded up. They are counted *before* the
memory is taken, so that a tree which does not fit is refused while there is still room
to say so.
"""

import sys

NODES, LEAVES, UNCOUNTED = "nodes", "the leaves of a pass", "what cannot be counted"
BLOCKS = "the blocks of a pass in threads"
CEILINGS = "the ceilings of regret-based pruning"
LISTS = "distributions and returns"
"""What a tree's budget is held for, besides infosets."""

BYTES_PER_INFOSET = 220
"""What the tree takes for an infoset, besides its string: its record, twice while the
array grows; its entry in the dictionary of names, likewise; its number; its past."""

BYTES_PER_SEQUENCE = 17

BYTES_OF_INT = 32
_BYTES_OF_LIST = 250
"""A list or tuple that is kept once, as a key of a table, without its numbers."""
_LARGEST_SHARED_INT = 256  # CPython keeps one object for each integer up to this one


def bytes_of_string(info_state: str) -> int:
    """The bytes of an infoset's string, and of the copy of it that saving makes."""
    return sys.getsizeof(info_state) + len(info_state)


def bytes_of_tuple(count: int) -> int:
    """The bytes of a tuple of floats, in a table and in the arrays it is copied to."""
    return _BYTES_OF_LIST + 64 * count


def bytes_of_actions(actions: list[int]) -> int:
    """The bytes of a list of legal actions (ascending) that is kept once."""
    size = _BYTES_OF_LIST + 16 * len(actions)
    if actions[-1] > _LARGEST_SHARED_INT:
        size += BYTES_OF_INT * len(actions)
    return size
