"""The levels of a tree, and what one pass over them tells of every node.

Nodes know their children only. A pass from the root down, one level at a time, gives
each node its parent, and with vectors of NumPy it takes a fraction of a microsecond a
node. It is for looking at trees; solvers do not need it.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arrays import CHANCE_NODE


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
