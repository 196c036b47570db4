"""A fixed table of infosets, for policies that are used without their tree."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.infosets.names import TextNames
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.common.infoset_arrays import pack_strings

Maker = Callable[[pyspiel.Game, int], InfosetTable | None]
"""The type of functions (game, max_nodes) that expand the whole tree of a game. They
return None if the tree has more nodes than `max_nodes`."""


class FrozenTable(InfosetTable):
    """A table of infosets that does not change, stored with its strings in arrays.

    Policies use it when they are saved, pickled or read from a file. The field `place`
    of the infosets, which identifies random draws of walks, is 0.
    """

    def __init__(
        self,
        source: pyspiel.Game,
        arrays: dict[str, np.ndarray],
        abstraction: Abstraction | None = None,
        maker: Maker | None = None,
    ) -> None:
        """Stores the arguments.

        Args:
            source: the game.
            arrays: `infosets` `[I]` of dtype INFOSET; `actions` `[S]`; and the strings
                as packed by `pack_strings`.
            abstraction: the abstraction with which the policy was computed; None if
                there was none.
            maker: a function that expands the whole tree, from which
                `SequencePolicy.table` computes the order of its rows and the
                probabilities of reaching infosets. None if this is not possible.
        """
        super().__init__(source, turn_based(source), abstraction)
        self.arrays, self.maker = arrays, maker
        self.infosets = arrays["infosets"]
        self.actions = arrays["actions"]
        players = self.infosets["player"]
        self.infoset_names = TextNames(arrays["text"], arrays["ends"], players)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenTable, (self.source, self.arrays, self.abstraction, self.maker)

    @property
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings."""
        return self._info_states

    @functools.cached_property
    def _info_states(self) -> list[str]:
        return self.infoset_names.strings()

    @property
    def shared_strings(self) -> set[str]:
        """The information-state strings that belong to several players."""
        return self._shared_strings

    @functools.cached_property
    def _shared_strings(self) -> set[str]:
        return self.infoset_names.shared()

    def whole(self, max_nodes: int) -> InfosetTable | None:
        """Expands the whole tree, see `InfosetTable.whole`. None if this fails."""
        if self.maker is None or self.abstraction is not None:
            return None
        return self.maker(self.source, max_nodes)


def frozen(tree: Any, num_infosets: int, num_sequences: int) -> FrozenTable:
    """Copies the first infosets of a table into a FrozenTable.

    Args:
        tree: an infoset table, which may grow later. A FrozenTable is returned
            unchanged.
        num_infosets, num_sequences: the numbers of infosets and sequences to copy.
    """
    if isinstance(tree, FrozenTable):
        return tree
    infosets = tree.infosets[:num_infosets].copy()
    infosets["place"] = 0
    # `islice` avoids a list of all strings, which might not fit into memory.
    strings = itertools.islice(tree.infoset_names, num_infosets)
    arrays = {"infosets": infosets, "actions": tree.actions[:num_sequences]}
    arrays |= pack_strings(strings)
    return FrozenTable(tree.source, arrays, tree.abstraction, tree.maker)
