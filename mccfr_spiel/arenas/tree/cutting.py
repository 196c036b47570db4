"""Cuts the infosets of a complete tree into blocks that threads can process
independently.

    one_block         all infosets in one block, for a single thread
    cut_into_blocks   blocks for full passes
    cut_at            blocks with given boundaries
    cut_for_batches   blocks for batches of walks

Infosets above several blocks belong to none of them. They form the *top* of the tree,
which a single thread processes; kernels/blocks.py explains how. The unit of work is the
time that a pass needs for one leaf and one player (a row of the list of leaves).
"""

import itertools
from typing import Any

import numpy as np

from mccfr_spiel.arenas.tree.whole_lists import members_of
from mccfr_spiel.common import refusals
from mccfr_spiel.common.memory import num_cores
from mccfr_spiel.kernels.blocks import (
    INNER,
    MOST_BLOCKS,
    ROOT,
    find_blocks,
    find_cuts,
    mark_kinds,
)
from mccfr_spiel.kernels.sampling import count_sequences
from mccfr_spiel.kernels.shared_walks import Cut
from mccfr_spiel.kernels.tables import WORK_OF_SEQUENCE, Blocks, Passes

LEAST_WORK = 2**17
"""Minimum work per thread for which several threads save time in the passes of a
solver; about a quarter of a millisecond."""

LEAST_WORK_AT_ONCE = 2**20
"""The same minimum for a single pass, such as an evaluation. It is larger because the
threads have to be woken up first."""

LEAST_BLOCK = 2**14
"""Minimum mean work per block of a pass."""

NUM_BLOCKS_OF_BATCH, LEAST_BLOCK_OF_BATCH = 32, 64
"""For batches of walks: approximate number of blocks per player, and least capacity of
a block in units of work, if the tree is too small for so many blocks."""


def one_block(passes: Passes) -> Blocks:
    """All infosets in one block, for a single thread.

    Args:
        passes: infosets by player, and the leaves if there are any.
    """
    num_players = len(passes.member_ends) - 1
    return Blocks(
        ends=np.array((0, len(passes.members)), np.int64),
        starts=passes.member_ends,
        kinds=np.zeros(0, np.uint8),
        top=np.zeros(0, np.int32),
        top_ends=np.zeros(num_players + 1, np.int64),
    )


def cut_into_blocks(infosets: np.ndarray, passes: Passes) -> Blocks:
    """Cuts the infosets of a complete tree into blocks for full passes.

    The first blocks have more work than the last blocks, so that all threads finish at
    about the same time, see `kernels.blocks.find_cuts`.

    Args:
        infosets: `[I]` records of dtype INFOSET.
        passes: infosets by player, and the leaves of the tree if there are any.
    """
    owner = _owners(infosets, len(passes.member_ends) - 1)
    stops = infosets["first_sequence"] + infosets["num_actions"]
    work = WORK_OF_SEQUENCE * stops
    if len(passes.payoffs):
        work += passes.ends[stops]
    total = int(work[-1]) if len(infosets) else 0
    max_blocks = max(min(MOST_BLOCKS, total // LEAST_BLOCK), 1)
    cuts = find_cuts(owner[infosets["parent"]], work, max_blocks)
    return cut_at(infosets, passes, cuts)


def _owners(infosets: np.ndarray, num_players: int) -> np.ndarray:
    """`[S]` the infoset of each sequence's action; -1 for empty sequences."""
    owner = np.repeat(np.arange(len(infosets), dtype=np.int32), infosets["num_actions"])
    return np.append(np.full(num_players, -1, np.int32), owner)


def cut_at(infosets: np.ndarray, passes: Passes, ends: np.ndarray) -> Blocks:
    """Cuts the infosets of a complete tree at given boundaries.

    Args:
        infosets: `[I]` records of dtype INFOSET.
        passes: infosets by player, and the leaves if there are any.
        ends: `[B + 1]` first infoset of each of the B blocks, followed by I.
    """
    kinds = np.zeros(len(infosets), np.uint8)
    mark_kinds(infosets, _owners(infosets, len(passes.member_ends) - 1), ends, kinds)
    starts = [np.zeros(1, np.int64)]
    for first, last in itertools.pairwise(passes.member_ends):
        starts.append(first + np.searchsorted(passes.members[first:last], ends[1:]))
    top = passes.members[kinds[passes.members] != INNER]
    tops = np.cumsum(np.append(0, kinds[passes.members] != INNER))
    is_root = kinds[top] == ROOT
    return Blocks(
        ends=ends,
        starts=np.concatenate(starts),
        kinds=kinds,
        top=np.where(is_root, ~top, top),
        top_ends=tops[passes.member_ends],
    )


def cut_for_batches(infosets: np.ndarray, num_players: int, num_sequences: int) -> Cut:
    """Cuts the infosets of a complete tree for batches of walks.

    Each block consists of subtrees of one player's infosets. Their work is estimated by
    the number of sequences.

    Args:
        infosets: `[I]` records of dtype INFOSET.
        num_players: number of players.
        num_sequences: number of sequences of all players.
    """
    counts = np.ones(num_sequences)
    count_sequences(infosets, counts)
    starts = infosets["first_sequence"]
    work = (WORK_OF_SEQUENCE * np.add.reduceat(counts, starts)).astype(np.int64)
    total = WORK_OF_SEQUENCE * int(counts[:num_players].sum() - num_players)
    max_work = max(total // (num_players * NUM_BLOCKS_OF_BATCH), LEAST_BLOCK_OF_BATCH)
    members, member_ends = members_of(infosets, num_players)
    owner = _owners(infosets, num_players)
    block_of = np.empty(len(infosets), np.int32)
    is_root = np.zeros(len(infosets), np.bool_)
    player_ends = np.zeros(num_players + 1, np.int64)
    outputs = block_of, is_root, player_ends
    find_blocks(infosets, members, member_ends, work, max_work, owner, *outputs)
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
    """Bytes of the blocks and of the arrays needed to compute them."""
    return 64 * num_infosets + 4 * num_sequences


def checked_threads(threads: Any) -> int | None:
    """Validates the argument `threads` of public functions and returns it.

    Args:
        threads: a positive integer, or None for one thread per core.

    Raises:
        ValueError: `threads` is not a positive integer.
    """
    return None if threads is None else refusals.integer(threads, "threads", 1)


def useful_threads(threads: int | None, passes: Passes, least_work: int) -> int:
    """Number of threads for which a pass is probably fastest, at least 1.

    Args:
        threads: maximum number of threads; None for one thread per core.
        passes: leaves of the tree.
        least_work: minimum work per thread, such as LEAST_WORK.
    """
    available = num_cores() if threads is None else threads
    return max(min(available, passes.work // least_work), 1)
