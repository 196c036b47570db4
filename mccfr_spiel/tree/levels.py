"""The levels of a tree, and what one pass over them tells of every node.

Nodes know their children only. A pass from the root down, one level at a time, gives
each node its parent, and with vectors of NumPy it takes a fraction of a microsecond a
node. It is for looking at trees; solvers do not need it.

The leaves of a complete tree are listed for each sequence that leads to them. A whole
pass (tree/full_pass.py) reads this list from beginning to end in place of
walking the tree, which is several times faster.

*Ceilings* are the most that is paid below each node of a complete tree of two players.
Regret-based pruning (kernels/regret_pruning.py) takes them for the values of actions
that it leaves out.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.passes import LeafRows, walk_leaves
from mccfr_spiel.kernels.regret_pruning import Ceilings, survey_nodes
from mccfr_spiel.kernels.tables import Passes, TreeArrays


class Levels(NamedTuple):
    """The nodes of a tree by their distance from the root.

    Attributes:
        parents: `[N]` the number of each node's parent, -1 at the root.
        moves: `[N]` which of its parent's children a node is, 0 at the root.
        levels: for each distance the nodes there. Siblings stand together, in the order
            of moves, and their parents in the order of the level above.
    """

    parents: np.ndarray
    moves: np.ndarray
    levels: list[np.ndarray]

    @property
    def depth(self) -> int:
        """The moves in the longest history, chance's included."""
        return len(self.levels) - 1


def levels_of(nodes: np.ndarray) -> Levels:
    """Finds the levels of a tree; nodes that were not expanded count as its ends.

    Args:
        nodes: `[N]` of dtype NODE.
    """
    parents = np.full(len(nodes), -1, np.int64)
    moves = np.zeros(len(nodes), np.int64)
    levels = [np.zeros(1, np.int64)]
    # One pass goes from a level to the next one.
    while True:
        above = levels[-1]
        players = nodes["player"][above]
        above = above[(players >= 0) | (players == CHANCE_NODE)]
        sizes = nodes["num_children"][above].astype(np.int64)
        if not sizes.sum():
            return Levels(parents, moves, levels)
        before = np.cumsum(sizes) - sizes
        which = np.arange(sizes.sum()) - np.repeat(before, sizes)
        below = np.repeat(nodes["first_child"][above].astype(np.int64), sizes) + which
        parents[below] = np.repeat(above, sizes)
        moves[below] = which
        levels.append(below)


def probabilities(
    nodes: np.ndarray, levels: Levels, chance_probs: np.ndarray, policy: np.ndarray
) -> np.ndarray:
    """`[N]` the probability of the move that leads to each node, 1 at the root.

    Args:
        nodes: `[N]` of dtype NODE.
        levels: theirs.
        chance_probs: `[C]` the tree's chance distributions.
        policy: `[S]` the policy of all players.
    """
    found = np.ones(len(nodes))
    children = np.flatnonzero(levels.parents >= 0)
    above = nodes[levels.parents[children]]
    entry = above["start"] + levels.moves[children]
    is_chance = above["player"] == CHANCE_NODE
    found[children[is_chance]] = chance_probs[entry[is_chance]]
    found[children[~is_chance]] = policy[entry[~is_chance]]
    return found


def reaches(levels: Levels, moves: np.ndarray) -> np.ndarray:
    """`[N]` the probability that play reaches each node.

    Args:
        levels: of the tree.
        moves: `[N]` what `probabilities` returned.
    """
    found = moves.copy()
    for nodes in levels.levels[1:]:
        found[nodes] *= found[levels.parents[nodes]]
    return found


def depth_first(levels: Levels) -> np.ndarray:
    """`[N]` the place of each node in the order in which a depth-first walk meets them.

    A tree that was expanded depth first has its infosets in that order already; one
    that walks have grown has not.
    """
    sizes = np.ones(len(levels.parents), np.int64)  # of the subtree below each node
    for nodes in reversed(levels.levels[1:]):
        np.add.at(sizes, levels.parents[nodes], sizes[nodes])
    places = np.zeros(len(sizes), np.int64)
    for nodes in levels.levels[1:]:
        before = np.cumsum(sizes[nodes]) - sizes[nodes]
        is_first = levels.moves[nodes] == 0
        first = np.maximum.accumulate(np.where(is_first, np.arange(len(nodes)), 0))
        places[nodes] = places[levels.parents[nodes]] + 1 + before - before[first]
    return places


# --- the leaves of a complete tree, listed for each sequence that leads to them -------


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
