"""Traverses a tree level by level, in order of the number of moves from a node."""

from collections.abc import Iterator, Sequence

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.tables import TreeArrays

MOST_SEARCHED = 2_000_000
"""Maximum number of nodes in a level of a search."""


class TooManyError(ValueError):
    """A level of a search has more nodes than allowed."""


def levels(
    tree: TreeArrays,
    node: int,
    policy: np.ndarray,
    player: int = TERMINAL,
    taken: Sequence[int] = (),
    most: float = MOST_SEARCHED,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Iterates over the nodes below a node, level by level.

    Without `player`, only nodes that have positive probability are visited.

    Args:
        tree: arrays of the tree.
        node: the node at which the search starts.
        policy: `[S]` policy of all players.
        player: a player whose moves are restricted to `taken`; TERMINAL for none. All
            moves of the other players and of chance are then followed, including those
            of probability 0.
        taken: sequences of `player` that are followed; their probability counts as 1.
        most: maximum number of nodes in a level.

    Yields:
        For each level of n nodes, beginning with the start node alone: node numbers
        `[n]`, and the probabilities `[n]` with which policy and chance reach these
        nodes from the start node.

    Raises:
        TooManyError: a level has more than `most` nodes.
    """
    nodes, weights = np.array([node], np.int64), np.ones(1)
    while len(nodes):
        if len(nodes) > most:
            raise TooManyError(
                f"The search exceeds its limit of {most:,} histories per level."
            )
        yield nodes, weights
        children, parents, moves = _below(tree.nodes, nodes)
        above = tree.nodes[nodes[parents]]
        entries = above["start"].astype(np.int64) + moves
        is_chance, own = above["player"] == CHANCE_NODE, above["player"] == player
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
    """The children of the nodes in a level; unexpanded nodes have none.

    Args:
        nodes: `[N]` records of dtype NODE.
        level: numbers of the nodes in the level.

    Returns:
        Three arrays with an entry per child: its node number, the index of its parent
        in `level`, and its index among its siblings.
    """
    above = nodes[level]
    is_inner = (above["player"] >= 0) | (above["player"] == CHANCE_NODE)
    sizes = np.where(is_inner, above["num_children"], 0).astype(np.int64)
    parents = np.repeat(np.arange(len(level)), sizes)
    moves = np.arange(len(parents)) - (np.cumsum(sizes) - sizes)[parents]
    return above["first_child"][parents] + moves, parents, moves


def depth_of(nodes: np.ndarray) -> int:
    """Number of moves, including chance moves, from the root to the deepest node."""
    level, depth = np.zeros(1, np.int64), -1
    while len(level):
        (level, _, _), depth = _below(nodes, level), depth + 1
    return depth
