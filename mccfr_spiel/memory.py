"""What a solver takes, by what it is for; docs/memory.md has it in numbers."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.game_tree import GameTree


class Memory(NamedTuple):
    """Bytes that are reserved, room to grow included.

    Arrays that are full become half as long again, and for a moment there are both.

    Attributes:
        nodes: the tree's nodes, chance distributions and payoffs. 16 bytes a node, and
            4 more where pyspiel expands it.
        states: where pyspiel expands the tree, up to 1,000 states from which histories
            are played again: 300 bytes each, and what the game itself keeps in one,
            which is not counted (1 KB or so in most of OpenSpiel's).
        infosets: what the tree knows of them: 24 bytes an infoset and 8 a sequence,
            and where pyspiel expands it 16 more an infoset.
        names: their strings and the dictionary of them, or the keys of compiled rules.
        tables: the solver's: 32 bytes a sequence and 13 an infoset; 8 more a sequence
            with balanced outcome sampling, 8 more an infoset with FTRL and OMD.
        passes: of algorithms that sample nothing: for each player 8 bytes a leaf and 4
            more for each other player, 16 bytes a sequence, 4 an infoset.
        num_nodes, num_infosets, num_sequences: that the tree has now.
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
        """Bytes of the tree's nodes, for each."""
        return self.nodes / self.num_nodes

    @property
    def bytes_per_sequence(self) -> float:
        """Bytes of all else, which no `max_nodes` bounds, for each sequence."""
        return (self.total - self.nodes - self.states) / self.num_sequences


def memory_of(
    tree: GameTree,
    tables: kernels.Tables,
    walk: kernels.Walk,
    whole: Iterable[np.ndarray],
) -> Memory:
    """What a tree takes together with a solver's arrays on it."""
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
