"""Blocks of infosets: how threads share passes and batches of walks."""

import numpy as np

from mccfr_spiel.kernels.jit import jit

INNER, ROOT, IN_TOP = range(3)
"""The kinds of infosets."""

THE_TOP = -1
"""The piece that is the top."""

MOST_BLOCKS = 32
"""The most blocks there should be. The more blocks, the more infosets are in the top or
are roots, whose values one thread passes on."""

_WINDOW = 0.25
"""How far a cut may be from where it should be, in lengths of an average block."""


def find_cuts(above: np.ndarray, work: np.ndarray, most: int) -> np.ndarray:
    """Cuts a list of items, such as infosets, into blocks.

    The first blocks have three times the work of the last ones, so that all threads end
    at about the same time. Each cut is moved to where the fewest items behind it come
    from an item before it.

    Args:
        above: `[N]` the earlier item from which each comes, -1 for none.
        work: `[N]` of each item and all before it.
        most: the most blocks.

    Returns:
        `[B + 1]` the first item of each block, and N.
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

    What is found is not returned, since a signal's exception would end as a SystemError
    if it came while numba makes objects of Python of the arrays.

    Args:
        infosets: of a whole tree.
        members, member_ends: see `Passes`.
        work: `[I]` of an infoset and all below it.
        most: subtrees of more work are cut.
        owner: `[S]` the infoset of each sequence, -1 for the empty ones.
        block_of: `[I]` int32; gets the block, -1 for the top.
        is_root: `[I]` bool, false at first; true where a block's subtree begins.
        player_ends: `[P + 1]` is set; player p has the blocks from its entry to the
            next one.
    """
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
