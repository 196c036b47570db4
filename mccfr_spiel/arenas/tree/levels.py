"""Levels."""

from collections.abc import Iterator, Sequence

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.tables import TreeArrays

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
