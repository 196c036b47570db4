"""Lists made of a complete tree."""

import numpy as np

from mccfr_spiel.common.arrays import TERMINAL
from mccfr_spiel.kernels.regret_pruning import Ceilings, survey_nodes
from mccfr_spiel.kernels.tables import Passes, TreeArrays
from mccfr_spiel.kernels.traversal import (
    leaves_walk,
    walk_whole,
)


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
