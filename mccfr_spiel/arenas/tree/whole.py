"""What one pass over all nodes of a tree tells, before solvers begin, and the pieces
into which passes over a complete tree are cut for several threads.

The leaves of a complete tree are listed for each sequence that leads to them. A whole
pass (arenas/full_pass.py) reads this list from beginning to end in place of
walking the tree, which is several times faster.

*Ceilings* are the most that is paid below each node of a complete tree of two players.
Regret-based pruning (kernels/regret_pruning.py) takes them for the values of actions
that it leaves out.

`kernels/passes.py` explains the cut.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_spiel.common import refusals
from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.common.limits import num_cores
from mccfr_spiel.kernels.passes import (
    INNER,
    MOST_BLOCKS,
    ROOT,
    find_blocks,
    find_cuts,
    leaves_walk,
    mark_kinds,
    walk_whole,
)
from mccfr_spiel.kernels.regret_pruning import Ceilings, survey_nodes
from mccfr_spiel.kernels.sampling import count_sequences
from mccfr_spiel.kernels.shared_walks import Cut
from mccfr_spiel.kernels.tables import WORK_OF_SEQUENCE, Blocks, Passes, TreeArrays

MOST_SEARCHED = 2_000_000
"""The number of open nodes at which a search gives up."""


class TooManyError(ValueError):
    """A search would meet too many nodes."""


def levels(
    tree: TreeArrays,
    node: int,
    policy: np.ndarray,
    player: int = TERMINAL,
    taken: Sequence[int] = (),
    most: float = MOST_SEARCHED,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The nodes below one, level by level, itself first, as far as a policy `[S]` goes.

    Yields for each level the nodes `[n]`, and the probabilities `[n]` with which the
    policy and chance reach them from the first.

    If a player is given, of its moves only the sequences `taken` are followed, with
    probability 1; then all moves of others are followed, also those of probability 0.

    Raises:
        TooManyError: a level has more than `most` nodes.
    """
    nodes, weights = np.array([node], np.int64), np.ones(1)
    while len(nodes):
        if len(nodes) > most:
            raise TooManyError(
                f"More than {most:,} histories would have to be looked at."
            )
        yield nodes, weights
        children, parents, moves = _below(tree.nodes, nodes)
        above = tree.nodes[nodes[parents]]
        entries = above["start"].astype(np.int64) + moves
        is_chance, own = (above["player"] == one for one in (CHANCE_NODE, player))
        odds = np.empty(len(parents))
        odds[is_chance] = tree.chance_probs[entries[is_chance]]
        odds[~is_chance] = policy[entries[~is_chance]]
        odds[own] = 1.0
        weights = weights[parents] * odds
        keep = weights > 0 if player < 0 else ~own | np.isin(entries, taken)
        nodes, weights = children[keep], weights[keep]


def _below(
    nodes: np.ndarray, level: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The children of the nodes of a level: their numbers, the places of their parents
    in the level, and their numbers among their siblings. Unexpanded nodes have none."""
    above = nodes[level]
    goes_on = (above["player"] >= 0) | (above["player"] == CHANCE_NODE)
    sizes = np.where(goes_on, above["num_children"], 0).astype(np.int64)
    parents = np.repeat(np.arange(len(level)), sizes)
    moves = np.arange(len(parents)) - (np.cumsum(sizes) - sizes)[parents]
    return above["first_child"][parents] + moves, parents, moves


def depth_of(nodes: np.ndarray) -> int:
    """The moves in the longest history, chance's included."""
    level, depth = np.zeros(1, np.int64), -1
    while len(level):
        (level, _, _), depth = _below(nodes, level), depth + 1
    return depth


# --- the leaves of a complete tree, listed for each sequence that leads to them -------


def members_of(infosets: np.ndarray, num_players: int) -> tuple[np.ndarray, np.ndarray]:
    """`members` and `member_ends` of `Passes`."""
    players = infosets["player"]
    members = np.argsort(players, kind="stable").astype(np.int32)
    return members, np.searchsorted(players[members], np.arange(num_players + 1))


def list_leaves(tree: TreeArrays, num_sequences: int) -> Passes:
    """Lists a complete tree's leaves and each player's infosets.

    Args:
        tree: its arrays.
        num_sequences: the sequences of all players.
    """
    num_players = tree.utilities.shape[1]
    # The tree is walked twice: the first walk counts each sequence's leaves, so that
    # the second can write them where they belong.
    counts = np.zeros(num_sequences, np.int64)
    others = np.empty((0, num_players - 1), np.int32)
    payoffs = np.empty(0)
    walk_whole(leaves_walk, tree, counts, others, payoffs, False)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    others = np.empty((ends[-1], num_players - 1), np.int32)
    payoffs = np.empty(ends[-1])
    walk_whole(leaves_walk, tree, ends[:-1].copy(), others, payoffs, True)
    return Passes(ends, others, payoffs, *members_of(tree.infosets, num_players))


def bytes_of_leaves(tree: TreeArrays, num_sequences: int) -> int:
    """The bytes of the list, and of the vectors that a pass over it needs."""
    num_players = tree.utilities.shape[1]
    num_leaves = int((tree.nodes["player"] == TERMINAL).sum())
    vectors = 64 * num_sequences + 16 * len(tree.infosets)
    return num_leaves * num_players * (8 + 4 * (num_players - 1)) + vectors


# --- the most that is paid below each node of a complete tree of two players ----------


def list_ceilings(tree: TreeArrays, num_sequences: int) -> Ceilings:
    """Makes the ceilings of a complete tree of two players.

    Args:
        tree: its arrays.
        num_sequences: the sequences of both players.
    """
    num_nodes = len(tree.nodes)
    ceilings = Ceilings(
        highest=np.empty((num_nodes, 2)),
        step=np.full(num_sequences, np.inf),
        num_nodes=np.zeros(num_sequences, np.int64),
        height=np.zeros(1, np.int64),
    )
    last, lowest = np.empty((num_nodes, 2), np.int32), np.empty((num_nodes, 2))
    survey_nodes(tree, last, lowest, ceilings)
    return ceilings


def bytes_of_ceilings(num_nodes: int, num_sequences: int) -> int:
    """The bytes of the ceilings, and of what is needed to make them."""
    return (16 + 36) * num_nodes + 16 * num_sequences


# --- the pieces into which passes over a complete tree are cut for several threads ----


LEAST_WORK = 2**17
"""The least work for each thread with which sharing a pass pays, in rows of leaves:
about a quarter of a millisecond."""

LEAST_WORK_AT_ONCE = 2**20
"""The least work for each thread of a single pass, for which threads must be woken."""

LEAST_BLOCK = 2**14
"""The least work of a block on average, in rows of leaves."""

NUM_BLOCKS_OF_BATCH, LEAST_BLOCK_OF_BATCH = 32, 64
"""The blocks that each player should have for a batch of walks, and the least work of a
block."""


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

    Args:
        infosets: of the tree.
        passes: the list of its leaves.
    """
    owner = _owners(infosets, len(passes.member_ends) - 1)
    stops = infosets["first_sequence"] + infosets["num_actions"]
    work = passes.ends[stops] + WORK_OF_SEQUENCE * stops
    total = int(work[-1]) if len(infosets) else 0
    most = max(min(MOST_BLOCKS, total // LEAST_BLOCK), 1)
    return cut_at(infosets, passes, find_cuts(owner[infosets["parent"]], work, most))


def _owners(infosets: np.ndarray, num_players: int) -> np.ndarray:
    """`[S]` the infoset of each sequence, -1 for the empty ones."""
    owner = np.repeat(np.arange(len(infosets), dtype=np.int32), infosets["num_actions"])
    return np.append(np.full(num_players, -1, np.int32), owner)


def cut_at(infosets: np.ndarray, passes: Passes, ends: np.ndarray) -> Blocks:
    """Cuts the infosets of a complete tree at these, the first of each block and their
    number."""
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

    Args:
        infosets: of the tree.
        num_players: how many players there are.
        num_sequences: of all of them.
    """
    counts = np.ones(num_sequences)
    count_sequences(infosets, counts)
    starts = infosets["first_sequence"]
    work = (WORK_OF_SEQUENCE * np.add.reduceat(counts, starts)).astype(np.int64)
    total = WORK_OF_SEQUENCE * int(counts[:num_players].sum() - num_players)
    most = max(total // (num_players * NUM_BLOCKS_OF_BATCH), LEAST_BLOCK_OF_BATCH)
    members, member_ends = members_of(infosets, num_players)
    owner = _owners(infosets, num_players)
    block_of = np.empty(len(infosets), np.int32)
    is_root = np.zeros(len(infosets), np.bool_)
    player_ends = np.zeros(num_players + 1, np.int64)
    found = block_of, is_root, player_ends
    find_blocks(infosets, members, member_ends, work, most, owner, *found)
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
        threads: the most threads to use; None for one for each core.
        passes: of the tree.
        least_work: of each thread, such as LEAST_WORK.
    """
    most = num_cores() if threads is None else threads
    return max(min(most, passes.work // least_work), 1)
