"""Traverses a tree level by level."""

from collections.abc import Iterator, Sequence

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.tables import TreeArrays

MOST_SEARCHED = 2_000_000
"""Maximum number of nodes in a level of a search."""


class TooManyError(ValueError):
    """A level of a search has too many nodes."""


def levels(
    tree: TreeArrays,
    node: int,
    policy: np.ndarray,
    player: int = TERMINAL,
    taken: Sequence[int] = (),
    most: float = MOST_SEARCHED,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The nodes below a node, level by level, as far as a policy reaches them.

    Args:
        tree: arrays of the tree.
        node: first node.
        policy: `[S]` policy of all players.
        player: a player whose moves are restricted to `taken`. All moves of the others
            are then followed, including moves of probability 0.
        taken: sequences of `player` to follow, with probability 1.
        most: maximum number of nodes in a level.

    Yields:
        The nodes `[n]` of each level, beginning with the first node itself, and the
        probabilities `[n]` with which policy and chance reach them from there.

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
    """The children of the nodes in a level.

    Returns:
        Node numbers of the children, index of each child's parent in the level, and
        index of each child among its siblings. Unexpanded nodes have no children.
    """
    above = nodes[level]
    is_inner = (above["player"] >= 0) | (above["player"] == CHANCE_NODE)
    sizes = np.where(is_inner, above["num_children"], 0).astype(np.int64)
    parents = np.repeat(np.arange(len(level)), sizes)
    moves = np.arange(len(parents)) - (np.cumsum(sizes) - sizes)[parents]
    return above["first_child"][parents] + moves, parents, moves


def depth_of(nodes: np.ndarray) -> int:
    """Number of moves in the longest history, including chance."""
    level, depth = np.zeros(1, np.int64), -1
    while len(level):
        (level, _, _), depth = _below(nodes, level), depth + 1
    return depth
