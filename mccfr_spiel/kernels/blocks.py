"""How a pass over a complete tree is cut into pieces for several threads.

Each player's infosets form a forest. Where a subtree has little work it goes into a
*block* as a whole, with its neighbours until the block has enough work. What has more
work lies above all blocks, in the player's *top*. The cut follows the tree's shape
alone, never the number of threads.

A pass goes up through all blocks at once, since no infoset of a block is above or below
one of another block. The root of a subtree does not add its value to its parent
sequence, which belongs to the top, but leaves it in its own first sequence, which its
update has just cleared. Then one thread goes up through the top. It adds the roots'
values where their turn comes. So every sum has the same terms in the same order as in a
pass of one thread, and the same bits. Plans are made downward: the top, then all blocks
at once.
"""

import numpy as np

from mccfr_spiel.compiled.jit import jit

WORK_OF_SEQUENCE = 8
"""A sequence costs a pass about as much as so many rows of leaves."""


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
    """Finds the block of each infoset.

    Args:
        infosets: of a whole tree.
        members, member_ends: see `Passes`.
        work: `[I]` from `weigh_infosets`.
        most: subtrees of more work are cut.
        owner: `[S]` int32, -1 at first; gets the infoset of each sequence.
        block_of: `[I]` int32; gets the block, -1 for the top.
        is_root: `[I]` bool, false at first; true where a block's subtree begins.
        player_ends: `[P + 1]` see `Blocks`; is set.
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


@jit
def sort_blocks(
    members: np.ndarray,
    block_of: np.ndarray,
    is_root: np.ndarray,
    next_place: np.ndarray,
    sorted_members: np.ndarray,
) -> None:
    """Writes the infosets of all blocks, each block in the order of `members`.

    Args:
        members: see `Passes`.
        block_of, is_root: from `find_blocks`.
        next_place: `[B]` int64, where each block begins; is changed.
        sorted_members: `[I']` int32, is set; see `Blocks`.
    """
    for m in range(len(members)):
        infoset = members[m]
        block = block_of[infoset]
        if block >= 0:
            sorted_members[next_place[block]] = (
                ~infoset if is_root[infoset] else infoset
            )
            next_place[block] += 1
