"""The arrays that a game becomes, and how their rows are numbered.

Three rules of numbering hold for every tree, and every compiled loop rests on them:

- a node's children are contiguous and have larger numbers than the node;
- information sets ("infosets") are numbered by first visit, so that an ancestor comes
  before its descendants;
- a *sequence* is an (infoset, action) pair or a player's empty sequence. The empty ones
  come first (sequence p is player p's), and an infoset's actions are contiguous.
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

`player` is the one who acts, or CHANCE_NODE, TERMINAL, UNEXPANDED. The children are
`first_child .. first_child + num_children - 1`, in the order of `legal_actions()` or
`chance_outcomes()`. `start` is the infoset's first sequence at a decision, the first
entry in `chance_probs` at chance, the row of `utilities` at a terminal node. A chance
node with more than MAX_CHILDREN children, which only a tree that grows may have, says 0
for them, and minus their number in place of the infoset.
"""

INFOSET = np.dtype(
    {
        "names": ["place", "first_sequence", "parent", "num_actions", "player"],
        "formats": ["<u8", "<i4", "<i4", "<i4", "<i4"],
    }
)
"""An infoset, 24 bytes.

`place` seeds its draws (see kernels/randomness.py), `first_sequence` is the first of
its `num_actions` sequences, `player` acts there, and `parent` is that player's last
sequence before it.
"""

MAX_CHILDREN = np.iinfo(np.uint16).max
MAX_INDEX = np.iinfo(np.int32).max

_LARGE_STORE = 2**16


def reserve(store: np.ndarray, size: int, used: int | None = None) -> np.ndarray:
    """Returns `store`, or if it has fewer rows than `size` a larger copy of it.

    Args:
        store: the rows.
        size: how many there must be.
        used: how many of them may not be 0; all by default. Others are not copied,
            since memory that nobody has touched takes neither room nor time.
    """
    if size <= len(store):
        return store
    grown = np.zeros((grown_size(len(store), size), *store.shape[1:]), store.dtype)
    used = len(store) if used is None else min(used, len(store))
    grown[:used] = store[:used]
    return grown


def spans(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The numbers `first .. first + count - 1` of each pair, one after another."""
    before = np.cumsum(counts, dtype=np.int64) - counts
    return np.repeat(firsts - before, counts) + np.arange(counts.sum(dtype=np.int64))


def sequences_at(infosets: np.ndarray) -> np.ndarray:
    """The sequences that end at some infosets, one after another."""
    return spans(infosets["first_sequence"], infosets["num_actions"])


def grown_size(length: int, size: int) -> int:
    """The rows to give a store of `length` rows that needs `size`.

    A large store grows by an eighth, a small one by half: while rows are copied the old
    store and the new one are both in memory.
    """
    more = length // 2 if length < _LARGE_STORE else length // 8
    return max(size, length + more)
