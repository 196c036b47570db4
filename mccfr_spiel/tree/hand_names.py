"""The names of the infosets of a public tree, which its source spells on demand."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyspiel

from mccfr_spiel.tree.names import InfosetNames
from mccfr_spiel.worlds.hand_lists import HandInfosets
from mccfr_spiel.worlds.public_tree import DECISION, PublicTree


class HandNames(InfosetNames):
    """The names of a public tree's infosets.

    Attributes:
        public: the tree.
        found: its infosets.
    """

    def __init__(self, public: PublicTree, found: HandInfosets) -> None:
        super().__init__(found.records["player"])
        self.public, self.found = public, found

    def __iter__(self) -> Iterator[str]:
        return map(self.info_state, range(len(self)))

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        return self.public.info_state(*self.found.node_and_hand(infoset))

    def find(self, info_state: str, player: int | None = None) -> int:
        """As in InfosetNames, but without hashes if the source can read strings."""
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
        """The strings that more than one player has."""
        return super().shared() if self.public.locate is None else set()

    def states(self, game: pyspiel.Game) -> Iterator[pyspiel.State]:
        """`[I]` a state of each infoset."""
        for infoset in range(len(self)):
            state = game.new_initial_state()
            for action in self.public.history(*self.found.node_and_hand(infoset)):
                state.apply_action(action)
            yield state

    def _source(self) -> Sequence[np.ndarray]:
        return (*self.found.members, *self.public[:12])
