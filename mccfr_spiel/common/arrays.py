"""The records of nodes and infosets, and the numbering of rows.

Three rules hold for every tree, and all compiled loops rely on them:

- The children of a node are contiguous and have larger numbers than the node.
- Information sets ("infosets") are numbered by first visit, so ancestors precede
descendants.
- A *sequence* is an (infoset, action) pair or a player's empty sequence. Sequence p is
the empty one of player p; the sequences of an infoset are contiguous.
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
"""A node, 16 bytes.

first_child: the first child. Children are numbered `first_child` to `first_child +
num_children - 1`, in the order of `legal_actions()` or `chance_outcomes()`.
start: at a decision the first sequence of the infoset, at chance the first entry in
`chance_probs`, at a terminal node the row of `utilities`.
infoset: the infoset at a decision.
num_children: the number of children.
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
"""An infoset, 24 bytes.

place: a hash that seeds the draws at the infoset, see kernels/randomness.py.
first_sequence: the first sequence of the infoset.
parent: the acting player's last sequence before the infoset.
num_actions: the number of legal actions, and of sequences.
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
        used: number of leading rows to copy; all by default. Copying untouched rows
            would allocate memory for them.
    """
    if size <= len(array):
        return array
    grown = np.zeros((grown_size(len(array), size), *array.shape[1:]), array.dtype)
    used = len(array) if used is None else min(used, len(array))
    grown[:used] = array[:used]
    return grown


def spans(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Concatenates the ranges `first` to `first + count - 1` of each pair."""
    before = np.cumsum(counts, dtype=np.int64) - counts
    return np.repeat(firsts - before, counts) + np.arange(counts.sum(dtype=np.int64))


def sequences_at(infosets: np.ndarray) -> np.ndarray:
    """Concatenates the sequences of some infosets (records of dtype INFOSET)."""
    return spans(infosets["first_sequence"], infosets["num_actions"])


def grown_size(length: int, size: int) -> int:
    """The new number of rows for an array of `length` rows that needs `size`.

    Small arrays grow by half. Large ones grow by an eighth, because the old and the new
    array exist at the same time during the copy.
    """
    extra = length // 2 if length < _LARGE_STORE else length // 8
    return max(size, length + extra)
