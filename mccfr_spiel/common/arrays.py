"""The record types of nodes and infosets, and functions for arrays that grow.

All trees number nodes, infosets and sequences by three rules, on which compiled loops
rely:

- The children of a node are contiguous and have larger numbers than the node.
- Information sets ("infosets") are numbered by first visit, so ancestors precede
descendants.
- A *sequence* is an (infoset, action) pair or a player's empty sequence. Number p is
the empty sequence of player p. The sequences of an infoset are contiguous.
"""

import numpy as np

CHANCE_NODE = -1
UNEXPANDED = -3
TERMINAL = -4

NODE = np.dtype(
    {
        "names": ["first_child", "start", "infoset", "num_children", "player"],
        "formats": ["<i4", "<i4", "<i4", "<u2", "<i2"],
    }
)
"""The type of a node, 16 bytes.

first_child: number of the first child. Children are numbered `first_child` to
`first_child + num_children - 1`, in the order of `legal_actions()` or
`chance_outcomes()`.
start: at a decision, the first sequence of the infoset; at a chance node, the index of
its first probability in `chance_probs`; at a terminal node, its row in `utilities`.
infoset: number of the infoset at a decision.
num_children: number of children.
player: the acting player, or CHANCE_NODE, TERMINAL or UNEXPANDED.

A growing tree may have chance nodes with more than MAX_CHILDREN children. For these,
`num_children` is 0 and `infoset` is minus the number of children.
"""

INFOSET = np.dtype(
    {
        "names": ["place", "first_sequence", "parent", "num_actions", "player"],
        "formats": ["<u8", "<i4", "<i4", "<i4", "<i4"],
    }
)
"""The type of an infoset, 24 bytes.

place: key of the random draws at the infoset: a hash of player and information-state
string, see kernels/randomness.py.
first_sequence: number of the infoset's first sequence.
parent: number of the acting player's last sequence before the infoset.
num_actions: number of legal actions, which is also the number of sequences.
player: the acting player.
"""

MAX_CHILDREN = np.iinfo(np.uint16).max
MAX_INDEX = np.iinfo(np.int32).max

_LARGE_STORE = 2**16


def reserve(array: np.ndarray, size: int, used: int | None = None) -> np.ndarray:
    """Returns `array`, or a larger copy if it has fewer than `size` rows.

    Args:
        array: `[rows, ...]` the array.
        size: the required number of rows.
        used: number of leading rows to copy; all by default. The operating system
            allocates memory for a new array when it is written, so rows that are not
            copied cost nothing yet.
    """
    if size <= len(array):
        return array
    grown = np.zeros((grown_size(len(array), size), *array.shape[1:]), array.dtype)
    used = len(array) if used is None else min(used, len(array))
    grown[:used] = array[:used]
    return grown


def spans(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Concatenates the ranges `first` to `first + count - 1`.

    Args:
        firsts: `[K]` the first number of each range.
        counts: `[K]` the length of each range.
    """
    before = np.cumsum(counts, dtype=np.int64) - counts
    return np.repeat(firsts - before, counts) + np.arange(counts.sum(dtype=np.int64))


def sequences_at(infosets: np.ndarray) -> np.ndarray:
    """Returns the numbers of all sequences of some infosets, in order.

    Args:
        infosets: records of dtype INFOSET.
    """
    return spans(infosets["first_sequence"], infosets["num_actions"])


def grown_size(length: int, size: int) -> int:
    """Returns the new number of rows for an array that must grow.

    Small arrays grow by half. Large arrays grow by an eighth, because the old and the
    new array exist at the same time during the copy.

    Args:
        length: the present number of rows.
        size: the required number of rows.
    """
    extra = length // 2 if length < _LARGE_STORE else length // 8
    return max(size, length + extra)
