"""Lists computed from all nodes of a complete tree.

    list_leaves     leaves by sequence, which full passes read instead of nodes
    list_ceilings   upper bounds ("ceilings") on the payoffs below each node

Full passes (arenas/tree_pass.py) read the list of leaves in order, which is several
times faster than visiting nodes. The ceilings exist for two-player trees only.
kernels/regret_pruning.py uses them to bound the values of actions that it skips.
"""

import numpy as np

from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.kernels.regret_pruning import Ceilings, survey_nodes
from mccfr_spiel.kernels.tables import Passes, TreeArrays
from mccfr_spiel.kernels.traversal import (
    leaves_walk,
    walk_whole,
)


def members_of(infosets: np.ndarray, num_players: int) -> tuple[np.ndarray, np.ndarray]:
    """Groups the infosets by player.

    Returns:
        The fields `members` and `member_ends` of `kernels.tables.Passes`: infosets
        grouped by player, and the boundaries of the groups.
    """
    players = infosets["player"]
    members = np.argsort(players, kind="stable").astype(np.int32)
    return members, np.searchsorted(players[members], np.arange(num_players + 1))


def list_leaves(tree: TreeArrays, num_sequences: int) -> Passes:
    """Lists the leaves of a complete tree, by each player's last sequence before the
    leaf, and the infosets of each player.

    Args:
        tree: arrays of the tree.
        num_sequences: number of sequences of all players.
    """
    num_players = tree.utilities.shape[1]
    # One traversal counts the leaves of each sequence. A second traversal writes the
    # leaves at the offsets that follow from the counts.
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
    """Bytes of the list of leaves, and of the vectors that a pass over it allocates."""
    num_players = tree.utilities.shape[1]
    num_leaves = int((tree.nodes["player"] == TERMINAL).sum())
    vectors = 64 * num_sequences + 16 * len(tree.infosets)
    return num_leaves * num_players * (8 + 4 * (num_players - 1)) + vectors


def list_ceilings(tree: TreeArrays, num_sequences: int) -> Ceilings:
    """Computes the upper bounds of payoffs in a complete tree of two players.

    Args:
        tree: arrays of the tree.
        num_sequences: number of sequences of both players.
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
    """Bytes of the result of `list_ceilings` and of the arrays that it needs."""
    return (16 + 36) * num_nodes + 16 * num_sequences
