"""HandArena: card games solved for all private hands at once.

The public tree of a card game has a node for each sequence of public events: bets and
public cards. A pass keeps a vector over private hands at each public node.
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.infosets.names import InfosetNames
from mccfr_spiel.arenas.rules.game import replayed
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.arenas.world_arenas import ArenaWithoutNodes, WorldPass
from mccfr_spiel.arenas.worlds.hand_lists import list_hands
from mccfr_spiel.arenas.worlds.public_tree import DECISION, PublicTree
from mccfr_spiel.arenas.worlds.public_tree_reader import (
    read_public_tree,
)
from mccfr_spiel.common.budget import (
    Budget,
)
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import (
    num_cores,
)
from mccfr_spiel.kernels.tables import Blocks


class HandArena(ArenaWithoutNodes):
    """A card game for two players, solved for all private hands at once.

    An infoset is a decision node of the public tree together with a hand.

    Attributes:
        infoset_names: information-state strings, which the public tree generates.
        worlds: the lists of hands that passes read.
    """

    name, store = "hands of cards", "worlds"
    infoset_names: "HandNames"

    def __init__(
        self,
        source: pyspiel.Game,
        budget: Budget,
        *,
        max_nodes: int,
        twin: bool | None = None,
    ) -> None:
        """Lists the possible hands at each public node; for the arguments see
        ArenaTable.

        Raises:
            ValueError: the game has no supported public tree, see `read_public_tree`.
            MemoryBudgetError: the lists do not fit the budget.
        """
        super().__init__(source, budget, max_nodes=max_nodes, twin=twin)
        public = read_public_tree(self.game)
        listed = list_hands(public, budget, brief(source))
        self.infosets, self.actions = listed.records, listed.actions
        self.infoset_names = HandNames(public, listed)
        self.worlds, self.utilities = listed.hands, listed.hands.payoffs

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State]:
        """A state of each given infoset."""
        public, found = self.infoset_names.public, self.infoset_names.found
        for infoset in infosets:
            yield replayed(self.game, public.history(*found.node_and_hand(infoset)))

    def passes(self, threads: int | None, *, updated: int | None = None) -> FullPass:
        """See Arena.

        The infosets are cut into blocks. A thread computes the part of one player's
        gradient in one block at a time, so more threads than such parts are not used.
        """
        num_blocks = self.worlds.num_blocks
        max_threads = (updated or self.num_players) * num_blocks
        threads = cutting.checked_threads(threads) or num_cores()
        return HandPass(self, min(threads, max_threads), num_blocks)


class HandPass(WorldPass):
    """Passes over vectors of hands at the nodes of a public tree."""

    @functools.cached_property
    def blocks(self) -> Blocks:
        """See FullPass. Several threads use the blocks into which the lists of hands
        are cut."""
        if self.num_threads == 1:
            return cutting.one_block(self.arrays)
        return cutting.cut_at(self.table.infosets, self.arrays, self.table.worlds.cuts)


class HandNames(InfosetNames):
    """Names of the infosets of a public tree.

    Attributes:
        public: the public tree.
        found: the infosets of the public tree, which map an infoset to a node and a
            hand: HandInfosets, or the Numbering of a BlockArena.
    """

    def __init__(self, public: PublicTree, found: Any) -> None:
        super().__init__(found.records["player"])
        self.public, self.found = public, found

    def __iter__(self) -> Iterator[str]:
        return map(self.info_state, range(len(self)))

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self.public.info_state(*self.found.node_and_hand(infoset))

    def find(self, info_state: str, player: int | None = None) -> int:
        """See InfosetNames. If the public tree can parse strings, no index of strings
        is built."""
        if self.public.locate is None:
            return super().find(info_state, player)
        try:
            node, hand = self.public.locate(info_state)
        except ValueError:
            return -1
        members = self.found.members[self.found.rows[node]]
        places = np.flatnonzero(members == hand)
        is_its = player in (None, self.public.player[node]) and len(places) > 0
        if not is_its or self.public.kind[node] != DECISION:
            return -1
        infoset = int(self.found.first[node] + places[0])
        return infoset if self.info_state(infoset) == info_state else -1

    def shared(self) -> set[str]:
        """The strings that infosets of several players have in common; assumed to be
        none if the public tree can parse strings."""
        return super().shared() if self.public.locate is None else set()
