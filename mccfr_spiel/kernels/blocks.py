"""Blocks of infosets, by which threads share passes and batches of walks.

**Passes over a complete tree** (passes.py). A *block* is a range of infosets with
consecutive numbers, so a thread reads leaves, infosets and policies in memory order.
The infosets of one player in a block form a *piece*, which one thread processes.
Infosets with descendants in another block cannot be processed independently. They are
taken out of their blocks and form the *top*. Each infoset has a kind:

| kind | meaning | processed by |
|---|---|---|
| IN_TOP | some infoset below it is in another block | one thread, with the whole top |
| ROOT | not in the top, and without a parent or with a parent in the top | its piece |
| INNER | all others | its piece |

The upward pass (children before parents) processes all pieces in parallel. This is
possible because no infoset of a piece is above or below an infoset of another piece. A
root must not add its value to its parent sequence, because that sequence belongs to the
top. Instead it stores the value at its own first sequence, whose gradient is not needed
any more. Then one thread processes the top and, in the order of infosets, moves the
value of each root to the parent sequence. So every sum has the same terms in the same
order as with a single block, and results are equal to the bit. The downward pass
processes the top first, then all pieces in parallel. The partition depends on the tree
only, never on the number of threads.

**Batches of walks** need other blocks: whole subtrees of one player's infosets, see
`find_blocks`.
"""

import numpy as np

from mccfr_spiel.kernels.jit import jit

INNER, ROOT, IN_TOP = range(3)
"""The kinds of infosets."""

THE_TOP = -1
"""Value of the argument `piece` that stands for the top."""

MOST_BLOCKS = 32
"""Maximum number of blocks.

With more blocks, more infosets are in the top or are roots, which one thread processes.
"""

_WINDOW = 0.25
"""Maximum distance of a boundary from its ideal position, in units of a block's mean
work."""


def find_cuts(above: np.ndarray, work: np.ndarray, max_blocks: int) -> np.ndarray:
    """Divides a list of items, such as infosets, into blocks of consecutive items.

    The first blocks have three times the work of the last blocks, so that all threads
    finish at about the same time. Near its ideal position, each boundary is placed
    where it separates the fewest items from their parents.

    Args:
        above: `[N]` index of each item's parent, which is an earlier item; -1 if an
            item has no parent.
        work: `[N]` work of each item and all earlier items.
        max_blocks: maximum number of blocks.

    Returns:
        `[B + 1]` the first item of each block, then N.
    """
    count, total = len(above), int(work[-1]) if len(work) else 0
    # jumps[k] is the number of items from k on whose parent is before k. A boundary at
    # k would separate them from their parents.
    jumps = np.bincount(above[above >= 0] + 1, minlength=count + 1)
    jumps[1:] -= above >= 0
    jumps = np.cumsum(jumps)
    cuts = {0, count}
    for k in range(1, max_blocks):
        goal = (1.5 - 0.5 * k / max_blocks) * k / max_blocks
        window = total * np.array(
            (goal - _WINDOW / max_blocks, goal + _WINDOW / max_blocks)
        )
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
        ends: boundaries of the blocks, see `Blocks.ends`.
        kinds: `[I]` output: INNER, ROOT or IN_TOP. The caller passes zeros.
    """
    # Bottom-up: an infoset is in the top if one of its children is in the top or in
    # another block.
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
    max_work: int,
    owner: np.ndarray,
    block_of: np.ndarray,
    is_root: np.ndarray,
    player_ends: np.ndarray,
) -> None:
    """Finds blocks of whole subtrees for batches of walks, each of one player.

    A subtree whose work is at most `max_work` belongs to one block as a whole. A block
    has several neighbouring subtrees if their total work is at most `max_work`.
    Infosets with more work, including the work below them, form the player's top.

    Results are written into arguments. A returned array would become a Python object,
    and a KeyboardInterrupt at that moment would turn into a SystemError.

    Args:
        infosets: infosets of a complete tree.
        members: see `Passes.members`.
        member_ends: see `Passes.member_ends`.
        work: `[I]` work of an infoset and all infosets below it.
        max_work: maximum work of a block.
        owner: `[S]` infoset of each sequence, -1 for empty sequences.
        block_of: `[I]` int32 output: the block of each infoset, -1 for the top.
        is_root: `[I]` bool output: True for infosets of a block whose parent is not in
            the block. The caller passes False for all.
        player_ends: `[P + 1]` output: the blocks of player p are
            `player_ends[p] .. player_ends[p + 1] - 1`.
    """
    # Ancestors come first, so the block of an infoset's parent is known. `room` is the
    # amount of work that the last block can still receive before it reaches `max_work`.
    num_blocks = 0
    player_ends[0] = 0
    for player in range(len(member_ends) - 1):
        room = 0
        for m in range(member_ends[player], member_ends[player + 1]):
            infoset = members[m]
            above = owner[infosets[infoset]["parent"]]
            if above >= 0 and block_of[above] >= 0:
                block_of[infoset] = block_of[above]
            elif work[infoset] > max_work:
                block_of[infoset] = -1
            else:
                if work[infoset] > room:
                    num_blocks += 1
                    room = max_work
                room -= work[infoset]
                block_of[infoset] = num_blocks - 1
                is_root[infoset] = True
        player_ends[player + 1] = num_blocks
