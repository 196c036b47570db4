"""The pieces into which passes over a complete tree are cut for several threads.

`kernels/blocks.py` explains the cut.
"""

from typing import Any

import numpy as np

from mccfr_spiel import kernels, refusals
from mccfr_spiel.compiled.teams import num_cores
from mccfr_spiel.kernels.scratch import Cut

LEAST_WORK = 2**17
"""The work for each thread of a pass from which on sharing gains something, in rows of
leaves: about a quarter of a millisecond."""

LEAST_WORK_AT_ONCE = 2**20
"""The same for a single pass, for which the threads must be woken each time."""

NUM_BLOCKS = 64
BLOCK_WORK = (2**13, 2**17)
"""How many blocks each player should have, and the least and the largest work of one.
Small blocks let all threads end at about the same time, and large ones read memory in
longer stretches. The least work is still fifty times what it takes to fetch a block."""

NUM_BLOCKS_OF_BATCH, LEAST_BLOCK_OF_BATCH = 32, 64
"""How many blocks each player should have for a batch of walks, and the least work of
one."""


def work_of(passes: kernels.Passes) -> int:
    """The work of a pass for all players, in rows of leaves."""
    return len(passes.payoffs) + kernels.WORK_OF_SEQUENCE * (len(passes.ends) - 1)


def work_of_block(passes: kernels.Passes) -> int:
    """The most work of a block in a tree of this shape."""
    num_players = len(passes.member_ends) - 1
    least, most = BLOCK_WORK
    return min(max(work_of(passes) // (num_players * NUM_BLOCKS), least), most)


def cut_into_blocks(
    tree: kernels.TreeArrays,
    passes: kernels.Passes,
    num_sequences: int,
    most_work: int,
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


def cut_for_batches(infosets: np.ndarray, num_players: int, num_sequences: int) -> Cut:
    """Cuts the infosets of a complete tree for batches of walks.

    Args:
        infosets: of the tree.
        num_players: how many players there are.
        num_sequences: of all of them.
    """
    work = np.empty(len(infosets), np.int64)
    below = np.zeros(num_sequences, np.int64)
    no_leaves = np.zeros(num_sequences + 1, np.int64)  # only sequences count
    kernels.weigh_infosets(infosets, no_leaves, below, work)
    total = int(below[:num_players].sum())
    most = max(total // (num_players * NUM_BLOCKS_OF_BATCH), LEAST_BLOCK_OF_BATCH)
    members = np.argsort(infosets["player"], kind="stable").astype(np.int32)
    member_ends = np.searchsorted(
        infosets["player"][members], np.arange(num_players + 1)
    )
    owner = np.full(num_sequences, -1, np.int32)
    block_of = np.empty(len(infosets), np.int32)
    is_root = np.zeros(len(infosets), np.bool_)
    player_ends = np.zeros(num_players + 1, np.int64)
    kernels.find_blocks(
        infosets,
        members,
        member_ends,
        work,
        most,
        owner,
        block_of,
        is_root,
        player_ends,
    )
    home = np.where(block_of < 0, -1, 2 * block_of + is_root).astype(np.int32)
    counts = np.bincount(block_of[block_of >= 0], minlength=player_ends[-1])
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    num_top = int(np.count_nonzero((block_of < 0) | is_root))
    return Cut(
        home=np.where(owner < 0, np.int32(-1), home[owner]),
        player_ends=player_ends,
        ends=ends,
        met=np.zeros(ends[-1], np.int32),
        num_met=np.zeros(player_ends[-1], np.int64),
        top=np.zeros(num_top, np.int32),
    )


def bytes_of_blocks(num_infosets: int, num_sequences: int) -> int:
    """The bytes of the blocks, and of what is needed to find them."""
    return 32 * num_infosets + 12 * num_sequences


def checked_threads(threads: Any) -> int | None:
    """The number of threads that was given, None for one for each core.

    Raises:
        ValueError: it is no number above 0.
    """
    return None if threads is None else refusals.integer(threads, "threads", 1)


def useful_threads(threads: int | None, passes: kernels.Passes, least_work: int) -> int:
    """How many threads a pass should have.

    Args:
        threads: at most so many; None for one for each core.
        passes: of the tree.
        least_work: of each thread, such as LEAST_WORK.
    """
    most = num_cores() if threads is None else threads
    return max(min(most, work_of(passes) // least_work), 1)
