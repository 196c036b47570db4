"""Blocks of infosets, by which threads share passes and batches of walks.

**Passes.** A *block* is a range of infosets with consecutive numbers, so a thread reads
leaves, infosets and policies in memory order. The infosets of one player in a block are
a *piece*. Each infoset has a kind:

| kind | meaning | processed by |
|---|---|---|
| IN_TOP | some infoset below it is in another block | one thread |
| ROOT | not in the top, and no parent or the parent is in the top | its block |
| INNER | all others | its block |

Upward, all pieces run in parallel: no infoset of a piece is above or below an infoset
of another piece. A root must not add its value to the parent sequence, which belongs to
the top. It leaves the value in its own first sequence, which nobody reads any more.
Then one thread processes the top and moves each root's value at its turn. So every sum
has the same terms in the same order as with a single block, and results are equal to
the bit. Downward, the top comes first, then all pieces in parallel. The cut depends on
the tree only, never on the number of threads.

**Batches of walks** need blocks of whole subtrees of one player, see `find_blocks`.
"""

import numpy as np

from mccfr_spiel.kernels.jit import jit

INNER, ROOT, IN_TOP = range(3)
"""The kinds of infosets."""

THE_TOP = -1
"""Index that stands for the top in place of a piece."""

MOST_BLOCKS = 32
"""Maximum number of blocks.

With more blocks, more infosets are in the top or are roots, which one thread processes.
"""

_WINDOW = 0.25
"""Maximum distance of a cut from its ideal position, in mean block lengths."""


def find_cuts(above: np.ndarray, work: np.ndarray, most: int) -> np.ndarray:
    """Cuts a list of items, such as infosets, into blocks.

    The first blocks have three times the work of the last ones, so that all threads
    finish at about the same time. Within a window, each cut is placed where the fewest
    items behind it have their parent before it.

    Args:
        above: `[N]` index of each item's parent, an earlier item; -1 for none.
        work: `[N]` cumulative work of the items.
        most: maximum number of blocks.

    Returns:
        `[B + 1]` the first item of each block, and N.
    """
    count, total = len(above), int(work[-1]) if len(work) else 0
    # After the cumulative sum, jumps[k] counts the items from k on whose parent is
    # before k: the number of roots that a cut at k would add.
    jumps = np.bincount(above[above >= 0] + 1, minlength=count + 1)
    jumps[1:] -= above >= 0
    jumps = np.cumsum(jumps)
    cuts = {0, count}
    for k in range(1, most):
        goal = (1.5 - 0.5 * k / most) * k / most
        window = total * np.array((goal - _WINDOW / most, goal + _WINDOW / most))
        first, last = np.searchsorted(work, window)
        if first < last:
            cuts.add(int(first + np.argmin(jumps[first:last])))
    return np.array(sorted(cuts), np.int64)


@jit
def mark_kinds(
    infosets: np.ndarray, owner: np.ndarray, ends: np.ndarray, kinds: np.ndarray
) -> None:
    """Determines the kind of each infoset.

    Args:
        infosets: infosets of a complete tree.
        owner: `[S]` infoset of each sequence, -1 for empty sequences.
        ends: boundaries of the blocks, as in `Blocks`.
        kinds: `[I]` output; zeros at first.
    """
    # Bottom-up: when an infoset is reached, all infosets right below it have set its
    # kind to IN_TOP if they are in the top or in another block.
    for block in range(len(ends) - 2, -1, -1):
        for infoset in range(ends[block + 1] - 1, ends[block] - 1, -1):
            above = owner[infosets[infoset]["parent"]]
            if above >= 0 and (kinds[infoset] == IN_TOP or above < ends[block]):
                kinds[above] = IN_TOP
    for infoset in range(len(infosets)):
        above = owner[infosets[infoset]["parent"]]
        if kinds[infoset] != IN_TOP and (above < 0 or kinds[above] == IN_TOP):
            kinds[infoset] = ROOT


@jit
def find_blocks(
    infosets: np.ndarray,
    members: np.ndarray,
    member_ends: np.ndarray,
    work: np.ndarray,
    most: int,
    owner: np.ndarray,
    block_of: np.ndarray,
    is_root: np.ndarray,
    player_ends: np.ndarray,
) -> None:
    """Finds blocks of whole subtrees for batches of walks, each of one player.

    A subtree with little work is put into a block as a whole, together with
    neighbouring subtrees until the block is full. Infosets with more work are in the
    player's top.

    Results are written into arguments. A returned array would become a Python object,
    and a KeyboardInterrupt at that moment would turn into a SystemError.

    Args:
        infosets: infosets of a complete tree.
        members: as in `Passes`.
        member_ends: as in `Passes`.
        work: `[I]` work of an infoset and all infosets below it.
        most: maximum work of a subtree that is not cut.
        owner: `[S]` infoset of each sequence, -1 for empty sequences.
        block_of: `[I]` int32 output, the block of each infoset, -1 for the top.
        is_root: `[I]` bool output, true where the subtree of a block begins; false at
            first.
        player_ends: `[P + 1]` output; the blocks of player p are
            `player_ends[p] .. player_ends[p + 1] - 1`.
    """
    # Infosets come top-down, so the block of the parent is known. `room` is the work
    # that still fits into the last block of the player.
    num_blocks = 0
    player_ends[0] = 0
    for player in range(len(member_ends) - 1):
        room = 0
        for m in range(member_ends[player], member_ends[player + 1]):
            infoset = members[m]
            above = owner[infosets[infoset]["parent"]]
            if above >= 0 and block_of[above] >= 0:
                block_of[infoset] = block_of[above]
            elif work[infoset] > most:
                block_of[infoset] = -1
            else:
                if work[infoset] > room:
                    num_blocks += 1
                    room = most
                room -= work[infoset]
                block_of[infoset] = num_blocks - 1
                is_root[infoset] = True
        player_ends[player + 1] = num_blocks
