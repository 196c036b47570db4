"""The pieces into which passes over a complete tree are cut for several threads.

`kernels/blocks.py` explains the cut.
"""

import itertools
from typing import Any

import numpy as np

from mccfr_spiel import refusals
from mccfr_spiel.compiled.teams import num_cores
from mccfr_spiel.kernels.blocks import (
    INNER,
    ROOT,
    WORK_OF_SEQUENCE,
    find_blocks,
    mark_kinds,
    weigh_infosets,
)
from mccfr_spiel.kernels.scratch import Cut
from mccfr_spiel.kernels.tables import Blocks, Passes

LEAST_WORK = 2**17
"""The work for each thread of a pass from which on sharing gains something, in rows of
leaves: about a quarter of a millisecond."""

LEAST_WORK_AT_ONCE = 2**20
"""The same for a single pass, for which the threads must be woken each time."""

MOST_BLOCKS = 32
LEAST_BLOCK = 2**14
"""How many blocks there should be at most, and the least work of one on average, in
rows of leaves. The more there are, the more infosets are in the top or are roots, whose
values one thread passes on."""

_WINDOW = 0.25
"""How far a cut may be from where it should be, in lengths of an average block."""

NUM_BLOCKS_OF_BATCH, LEAST_BLOCK_OF_BATCH = 32, 64
"""How many blocks each player should have for a batch of walks, and the least work of
one."""


def work_of(passes: Passes) -> int:
    """The work of a pass for all players, in rows of leaves."""
    return len(passes.payoffs) + WORK_OF_SEQUENCE * (len(passes.ends) - 1)


def one_block(passes: Passes) -> Blocks:
    """All infosets in one block, for one thread."""
    num_players = len(passes.member_ends) - 1
    return Blocks(
        ends=np.array((0, len(passes.members)), np.int64),
        starts=passes.member_ends,
        kinds=np.zeros(0, np.uint8),
        top=np.zeros(0, np.int32),
        top_ends=np.zeros(num_players + 1, np.int64),
    )


def cut_into_blocks(infosets: np.ndarray, passes: Passes) -> Blocks:
    """Cuts the infosets of a complete tree.

    The first blocks have three times the work of the last ones, so that all threads end
    at about the same time. A cut is moved to where the fewest infosets behind it follow
    on one before it.

    Args:
        infosets: of the tree.
        passes: the list of its leaves.
    """
    count, num_players = len(infosets), len(passes.member_ends) - 1
    owner = np.repeat(np.arange(count, dtype=np.int32), infosets["num_actions"])
    owner = np.concatenate((np.full(num_players, -1, np.int32), owner))
    above = owner[infosets["parent"]]
    jumps = np.bincount(above[above >= 0] + 1, minlength=count + 1)
    jumps[1:] -= above >= 0
    jumps = np.cumsum(jumps)
    stops = infosets["first_sequence"] + infosets["num_actions"]
    work = passes.ends[stops] + WORK_OF_SEQUENCE * stops
    total = int(work[-1]) if count else 0
    most = max(min(MOST_BLOCKS, total // LEAST_BLOCK), 1)
    cuts = {0, count}
    for k in range(1, most):
        goal = (1.5 - 0.5 * k / most) * k / most
        window = total * np.array((goal - _WINDOW / most, goal + _WINDOW / most))
        first, last = np.searchsorted(work, window)
        if first < last:
            cuts.add(int(first + np.argmin(jumps[first:last])))
    ends = np.array(sorted(cuts), np.int64)
    kinds = np.zeros(count, np.uint8)
    mark_kinds(infosets, owner, ends, kinds)
    return _blocks_of(passes, ends, kinds)


def _blocks_of(passes: Passes, ends: np.ndarray, kinds: np.ndarray) -> Blocks:
    """The blocks with these ends and kinds of infosets."""
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

    Args:
        infosets: of the tree.
        num_players: how many players there are.
        num_sequences: of all of them.
    """
    work = np.empty(len(infosets), np.int64)
    below = np.zeros(num_sequences, np.int64)
    no_leaves = np.zeros(num_sequences + 1, np.int64)  # only sequences count
    weigh_infosets(infosets, no_leaves, below, work)
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
    find_blocks(
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
    return 64 * num_infosets + 4 * num_sequences


def checked_threads(threads: Any) -> int | None:
    """The number of threads that was given, None for one for each core.

    Raises:
        ValueError: it is no number above 0.
    """
    return None if threads is None else refusals.integer(threads, "threads", 1)


def useful_threads(threads: int | None, passes: Passes, least_work: int) -> int:
    """How many threads a pass should have.

    Args:
        threads: at most so many; None for one for each core.
        passes: of the tree.
        least_work: of each thread, such as LEAST_WORK.
    """
    most = num_cores() if threads is None else threads
    return max(min(most, work_of(passes) // least_work), 1)
