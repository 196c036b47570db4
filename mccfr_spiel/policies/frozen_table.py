"""The infosets of a policy, independent of the arena that met them."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.infosets.names import TextNames
from mccfr_spiel.arenas.infosets.table import Abstraction, InfosetTable
from mccfr_spiel.common import checkpoint

Maker = Callable[[pyspiel.Game, int], InfosetTable | None]
"""Expands the whole tree of a game up to a number of nodes; returns None if it is
larger."""


class FrozenTable(InfosetTable):
    """A fixed infoset table with its strings, in a few arrays.

    Policies use it when they are saved, pickled or read from a file. The field `place`
    of its infosets is 0, because a policy draws nothing.
    """

    def __init__(
        self,
        source: pyspiel.Game,
        arrays: dict[str, np.ndarray],
        abstraction: Abstraction | None = None,
        maker: Maker | None = None,
    ) -> None:
        """Keeps the arrays.

        Args:
            source: the game.
            arrays: `infosets` `[I]` of dtype INFOSET; `actions` `[S]`; and the strings
                as packed by `pack_strings`.
            abstraction: the abstraction of the arena; None if there is none.
            maker: expands the tree that gives `SequencePolicy.table` an order and
                reaches; None for tables that lack reaches.
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
        """See InfosetTable."""
        if self.maker is None or self.abstraction is not None:
            return None
        return self.maker(self.source, max_nodes)


def frozen(tree: Any, num_infosets: int, num_sequences: int) -> FrozenTable:
    """Copies the first infosets of a table; returns a FrozenTable unchanged."""
    if isinstance(tree, FrozenTable):
        return tree
    infosets = tree.infosets[:num_infosets].copy()
    infosets["place"] = 0
    # An iterator, because a list of all strings might not fit into memory.
    strings = itertools.islice(tree.infoset_names, num_infosets)
    arrays = {"infosets": infosets, "actions": tree.actions[:num_sequences]}
    arrays |= checkpoint.pack_strings(strings)
    return FrozenTable(tree.source, arrays, tree.abstraction, tree.maker)
