"""ArenaRequest: the game, requirements and limits that candidates for an arena read."""

from typing import Any, NamedTuple

import pyspiel

from mccfr_spiel.arenas.infosets.table import InfosetTable
from mccfr_spiel.arenas.needs import Needs
from mccfr_spiel.arenas.tree.game_tree import DEFAULT_MAX_NODES, GameTree
from mccfr_spiel.common.budget import (
    Budget,
    MaxMemory,
)

STORES = "auto", "tree", "none", "worlds", "blocks"
"""The values of the argument `store`, see `Solver`."""

Game = pyspiel.Game | str | InfosetTable
"""A game, its load string, or an arena of it, such as a GameTree."""


class Limits(NamedTuple):
    """Limits of a new arena; the fields are arguments of `GameTree`."""

    max_nodes: int = DEFAULT_MAX_NODES
    max_memory: MaxMemory = None
    twin: bool | None = None


class ArenaRequest(NamedTuple):
    """The input of every row in the table of candidates.

    Attributes:
        tree: tree of the game, unexpanded unless the user passed an expanded tree.
        needs: requirements of the algorithm.
        store: one of STORES.
        is_given: whether the user passed the tree. Then arenas must not use its memory
            budget, see `new_budget`.
    """

    tree: GameTree
    needs: Needs
    store: str
    is_given: bool

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments of the constructors of arenas without nodes."""
        return {"max_nodes": self.tree.max_nodes, "twin": self.tree.twin}

    def new_budget(self) -> Budget:
        """Memory budget of an arena without nodes: the budget of the tree, or if the
        user passed the tree, a new budget with the same limit."""
        return self.tree.budget.renewed() if self.is_given else self.tree.budget

    def asks_for(self, *stores: str) -> bool:
        """Whether `store` is one of the arguments."""
        return self.store in stores
