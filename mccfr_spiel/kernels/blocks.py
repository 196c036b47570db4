"""How passes over a complete tree are cut into pieces of work for threads.

A *block* has infosets of neighbouring numbers, so that a thread reads the leaves, the
infosets and the policy in the order in which they lie in memory. Of these infosets, a
player's are the *piece* of a pass that is about this player. An infoset that has an
infoset of another block anywhere below it is in the *top*, which one thread does. A
*root* is an infoset below the top, or below nothing, that is not in the top itself. The
cut follows the tree's shape alone, never the number of threads.

A pass goes up through all pieces at once, since no infoset of a piece is above or below
one of another piece. A root does not add its value to its parent sequence, which
belongs to the top, but leaves it in its own first sequence, of which nobody needs to
know anything more. Then one thread goes up through the top, and adds the roots' values
where their turn comes. So every sum has the same terms in the same order as in a pass
over a single block, and the same bits. Downward it goes through the top first, then
through all pieces at once.

Batches of walks are cut in another way, see `find_blocks`.
"""

import numpy as np

from mccfr_spiel.compiled.jit import jit

INNER, ROOT, IN_TOP = range(3)
"""The kinds of infosets."""

THE_TOP = -1
"""The piece that is the top."""

WORK_OF_SEQUENCE = 8
"""A sequence costs a pass about as much as so many rows of leaves."""


MOST_BLOCKS = 32
"""How many blocks there should be at most. The more there are, the more infosets are in
the top or are roots, whose values one thread passes on."""

_WINDOW = 0.25
"""How far a cut may be from where it should be, in lengths of an average block."""


def find_cuts(above: np.ndarray, work: np.ndarray, most: int) -> np.ndarray:
    """Finds where to cut what follows each other, such as infosets: `[B + 1]` the first
    of each block, and their number.

    The first blocks have three times the work of the last ones, so that all threads end
    at about the same time. A cut is moved to where the fewest behind it follow on one
    before it.

    Args:
        above: what each follows on, -1 for nothing.
        work: of each and all before it.
        most: the blocks at most.
    """
    count, total = len(above), int(work[-1]) if len(work) else 0
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
    """Finds which infosets are in the top, and which are roots.

    Args:
        infosets: of a whole tree.
        owner: `[S]` the infoset of each sequence, -1 for the empty ones.
        ends: see `Blocks`.
        kinds: `[I]` zeros; see `Blocks`.
    """
    # Upward: when an infoset's turn comes, all below it have told it whether they are
    # in the top or in another block.
    for block in range(len(ends) - 2, -1, -1):
        for infoset in range(ends[block + 1] - 1, ends[block] - 1, -1):
            above = owner[infosets[infoset]["parent"]]
            if above >= 0 and (kinds[infoset] == IN_TOP or above < ends[block]):
                kinds[above] = IN_TOP
    for infoset in range(len(infosets)):
        above = owner[infosets[infoset]["parent"]]
        if kinds[infoset] != IN_TOP and (above < 0 or kinds[above] == IN_TOP):
            kinds[infoset] = ROOT


# --- for batches of walks ----------------------------------------------------------


@jit
def weigh_infosets(
    infosets: np.ndarray, ends: np.ndarray, below: np.ndarray, work: np.ndarray
) -> None:
    """Sets the work of a pass at each infoset and all below it, in rows of leaves.

    Args:
        infosets: of a whole tree.
        ends: see `Passes`.
        below: `[S]` int64, zeros at first.
        work: `[I]` int64, is set.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        start = infosets[infoset]["first_sequence"]
        total = 0
        for s in range(start, start + infosets[infoset]["num_actions"]):
            total += below[s] + ends[s + 1] - ends[s] + WORK_OF_SEQUENCE
        work[infoset] = total
        below[infosets[infoset]["parent"]] += total


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
    """Finds blocks of whole subtrees, of one player each, for batches of walks.

    Where a subtree has little work it goes into a block as a whole, with its neighbours
    until the block has enough work. What has more work lies in the player's top.

    Args:
        infosets: of a whole tree.
        members, member_ends: see `Passes`.
        work: `[I]` from `weigh_infosets`.
        most: subtrees of more work are cut.
        owner: `[S]` int32, -1 at first; gets the infoset of each sequence.
        block_of: `[I]` int32; gets the block, -1 for the top.
        is_root: `[I]` bool, false at first; true where a block's subtree begins.
        player_ends: `[P + 1]` is set; player p has the blocks from its entry to the
            next one.
    """
    for infoset in range(len(infosets)):
        start = infosets[infoset]["first_sequence"]
        for s in range(start, start + infosets[infoset]["num_actions"]):
            owner[s] = infoset
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
