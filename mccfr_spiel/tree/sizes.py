"""What the parts of a tree cost in bytes, and under which names its budget holds them.

The sizes were measured on 64-bit CPython and rounded up. They are counted *before* the
memory is taken, so that a tree which does not fit is refused while there is still room
to say so. What is small, or cannot be counted, such as the game's states and the lists
of moves, is measured by how much the process grows.
"""

import sys

NODES, LEAVES, UNCOUNTED = "nodes", "the leaves of a pass", "what cannot be counted"
BLOCKS = "the blocks of a pass in threads"
CEILINGS = "the ceilings of regret-based pruning"
"""What a tree's budget is held for, besides infosets."""

BYTES_PER_INFOSET = 220
"""What the tree takes for an infoset, besides its string: its record, twice while the
array grows; its entry in the dictionary of names, likewise; its number; its past."""

BYTES_PER_SEQUENCE = 17


def bytes_of_string(info_state: str) -> int:
    """The bytes of an infoset's string, and of the copy of it that saving makes."""
    return sys.getsizeof(info_state) + len(info_state)
