"""What one pass over all nodes of a tree tells, before solvers begin.

The leaves of a complete tree are listed for each sequence that leads to them. A whole
pass (tree/full_pass.py) reads this list from beginning to end in place of
walking the tree, which is several times faster.

*Ceilings* are the most that is paid below each node of a complete tree of two players.
Regret-based pruning (kernels/regret_pruning.py) takes them for the values of actions
that it leaves out.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mccfr_spiel.common.arrays import CHANCE_NODE, TERMINAL
from mccfr_spiel.kernels.passes import leaves_walk
from mccfr_spiel.kernels.regret_pruning import Ceilings, survey_nodes
from mccfr_spiel.kernels.tables import Passes, TreeArrays

MOST_SEARCHED = 2_000_000
"""A search gives up when so many nodes are open at once."""


class TooManyError(ValueError):
    """A search would meet too many nodes."""


class Level(NamedTuple):
    """Nodes that as many moves lead to.

    Attributes:
        nodes: `[n]` their numbers.
        weights: `[n]` the probability of the moves that lead there.
        parents: `[n]` the place of each one's parent in the level before.
        moves: `[n]` which of its parent's children each is.
    """

    nodes: np.ndarray
    weights: np.ndarray
    parents: np.ndarray
    moves: np.ndarray


def levels(
    tree: TreeArrays,
    node: int,
    policy: np.ndarray,
    player: int = TERMINAL,
    taken: Sequence[int] = (),
    most: float = MOST_SEARCHED,
) -> Iterator[Level]:
    """The nodes from one on, level by level, as far as a policy `[S]` leads there.

    Of the moves of a player, if one is given, only the sequences `taken` are followed,
    as if it had no choice; of all others' moves then also those that are never made.

    Raises:
        TooManyError: a level has more than `most` nodes.
    """
    nodes, weights = np.array([node], np.int64), np.ones(1)
    parents = moves = np.zeros(1, np.int64)
    while len(nodes):
        if len(nodes) > most:
            raise TooManyError(
                f"More than {most:,} histories would have to be looked at."
            )
        yield Level(nodes, weights, parents, moves)
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
        parents, moves = parents[keep], moves[keep]


def _below(
    nodes: np.ndarray, level: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The children of nodes: for each which node it is, the place of its parent, and
    which child of it it is. Nodes that were not expanded count as ends."""
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
    leaves_walk(tree, (counts, others, payoffs, False))
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    others = np.empty((ends[-1], num_players - 1), np.int32)
    payoffs = np.empty(ends[-1])
    leaves_walk(tree, (ends[:-1].copy(), others, payoffs, True))
    return Passes(ends, others, payoffs, *members_of(tree.infosets, num_players))


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
