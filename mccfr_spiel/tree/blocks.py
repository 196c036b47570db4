"""The pieces into which passes over a complete tree are cut for several threads.

`kernels/blocks.py` explains the cut.
"""

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.compiled.teams import num_cores

BLOCK_WORK = 2**14
"""The work of a block, in rows of leaves: about 40 microseconds. It is a hundred times
what a thread needs to fetch its next block, and small enough that all threads end at
about the same time."""

BLOCKS_PER_THREAD = 4
"""The blocks for each player from which on another thread gains something."""


def cut_into_blocks(
    tree: kernels.TreeArrays,
    passes: kernels.Passes,
    num_sequences: int,
    most_work: int = BLOCK_WORK,
) -> kernels.Blocks:
    """Cuts the infosets of a complete tree.

    Args:
        tree: its arrays.
        passes: the list of its leaves.
        num_sequences: the sequences of all players.
        most_work: of a block, in rows of leaves.
    """
    infosets, members = tree.infosets, passes.members
    num_players = len(passes.member_ends) - 1
    work = np.empty(len(infosets), np.int64)
    below = np.zeros(num_sequences, np.int64)
    kernels.weigh_infosets(infosets, passes.ends, below, work)
    del below
    owner = np.full(num_sequences, -1, np.int32)
    block_of = np.empty(len(infosets), np.int32)
    is_root = np.zeros(len(infosets), np.bool_)
    player_ends = np.zeros(num_players + 1, np.int64)
    kernels.find_blocks(
        infosets,
        members,
        passes.member_ends,
        work,
        most_work,
        owner,
        block_of,
        is_root,
        player_ends,
    )
    counts = np.bincount(block_of[block_of >= 0], minlength=player_ends[-1])
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    sorted_members = np.empty(ends[-1], np.int32)
    kernels.sort_blocks(members, block_of, is_root, ends[:-1].copy(), sorted_members)
    is_top = (block_of[members] < 0) | is_root[members]
    top = members[is_top]
    top[is_root[top]] = ~top[is_root[top]]
    num_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(is_top)))
    return kernels.Blocks(
        members=sorted_members,
        ends=ends,
        player_ends=player_ends,
        top=top,
        top_ends=num_before[passes.member_ends],
    )


def bytes_of_blocks(num_infosets: int, num_sequences: int) -> int:
    """The bytes of the blocks, and of what is needed to find them."""
    return 32 * num_infosets + 12 * num_sequences


def useful_threads(threads: int | None, blocks: kernels.Blocks) -> int:
    """How many threads a pass should have.

    Args:
        threads: at most so many; None for one for each core.
        blocks: of the tree.
    """
    num_blocks = int(np.diff(blocks.player_ends).max())
    most = num_cores() if threads is None else threads
    return max(min(most, num_blocks // BLOCKS_PER_THREAD), 1)


def may_gain(threads: int | None, passes: kernels.Passes) -> bool:
    """Whether `useful_threads` may be above 1, which is told without making blocks."""
    num_rows, num_sequences = len(passes.payoffs), len(passes.ends) - 1
    least_work = 2 * BLOCKS_PER_THREAD * BLOCK_WORK * (len(passes.member_ends) - 1)
    return threads != 1 and num_rows + 8 * num_sequences >= least_work
