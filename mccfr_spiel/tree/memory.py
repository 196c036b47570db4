"""The bytes that a solver takes, by what they are for; docs/scaling.md has figures."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mccfr_spiel.kernels.tables import Tables, Walk
from mccfr_spiel.tree.game_tree import GameTree


class Memory(NamedTuple):
    """The bytes reserved, room to grow included.

    An array that is full grows by half, a large one by an eighth. While it is copied
    there are both the old array and the new one.

    Attributes:
        nodes: the tree's nodes, chance distributions and payoffs: 16 bytes a node, and
            4 more if pyspiel expands the tree.
        states: if pyspiel expands the tree, up to 1,000 states from which histories
            are replayed: 300 bytes each, and what the game itself keeps in them. The
            latter cannot be counted; it is what the process grew by beyond what was.
        infosets: what the tree knows of them: 24 bytes an infoset and 8 a sequence. If
            pyspiel expands the tree, 16 more an infoset, and for each different list of
            legal actions 250 bytes and 16 to 48 an action.
        names: their strings and the dictionary of them, or the keys of compiled rules.
        tables: the solver's: 32 bytes a sequence and 13 an infoset; 8 more a sequence
            with balanced outcome sampling, 8 more a sequence for each player with
            baselines (and once more in external sampling), 8 more an infoset with FTRL
            and OMD.
        passes: for algorithms that sample nothing: for each player 8 bytes a leaf and 4
            more for each other player, 16 bytes a sequence, 4 an infoset. Once NashConv
            or expected returns were computed, 24 more a sequence, which the next one
            writes to, and with threads 1 to 5 more an infoset.
        num_nodes, num_infosets, num_sequences: what the tree has now.
    """

    nodes: int
    states: int
    infosets: int
    names: int
    tables: int
    passes: int
    num_nodes: int
    num_infosets: int
    num_sequences: int

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(self[: self._fields.index("num_nodes")])

    @property
    def bytes_per_node(self) -> float:
        """What each node takes."""
        return self.nodes / self.num_nodes

    @property
    def bytes_per_sequence(self) -> float:
        """What all else takes for each sequence; `max_nodes` does not bound it."""
        return (self.total - self.nodes - self.states) / self.num_sequences


def memory_of(
    tree: GameTree,
    tables: Tables,
    walk: Walk,
    whole: Iterable[np.ndarray],
) -> Memory:
    """What a tree and a solver's arrays take together."""
    return Memory(
        **tree.memory(),
        tables=_sum(tables) + _sum(walk),
        passes=_sum(whole),
        num_nodes=tree.num_nodes,
        num_infosets=tree.num_infosets,
        num_sequences=tree.num_sequences,
    )


def _sum(arrays: Iterable[np.ndarray]) -> int:
    return sum(array.nbytes for array in arrays)
