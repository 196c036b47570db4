"""The leaves of a complete tree, listed for each sequence that leads to them.

A whole pass (tree/full_pass.py) reads this list from beginning to end in place of
walking the tree, which is several times faster.
"""

import numpy as np

from mccfr_spiel.arrays import TERMINAL
from mccfr_spiel.kernels.tables import Passes, TreeArrays
from mccfr_spiel.kernels.whole_walks import LeafRows, walk_leaves


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
    counted = LeafRows(counts, others, payoffs, fill=False)
    walk_leaves(tree, counted)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    others = np.empty((ends[-1], num_players - 1), np.int32)
    payoffs = np.empty(ends[-1])
    rows = LeafRows(ends[:-1].copy(), others, payoffs, fill=True)
    walk_leaves(tree, rows)
    players = tree.infosets["player"]
    members = np.argsort(players, kind="stable").astype(np.int32)
    counts = np.bincount(players, minlength=num_players)
    member_ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return Passes(
        ends=ends,
        others=others,
        payoffs=payoffs,
        members=members,
        member_ends=member_ends,
    )


def bytes_of_leaves(tree: TreeArrays, num_sequences: int) -> int:
    """The bytes of the list, and of the vectors that a pass over it needs.

    Of the vectors, which take 64 bytes a sequence while the list is made, an
    evaluation's stay: 24 bytes a sequence (see `GameTree.take_vectors`).
    """
    num_players = tree.utilities.shape[1]
    num_leaves = int((tree.nodes["player"] == TERMINAL).sum())
    vectors = 64 * num_sequences + 16 * len(tree.infosets)
    return num_leaves * num_players * (8 + 4 * (num_players - 1)) + vectors
