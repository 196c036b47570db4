"""The names of the infosets of a public tree, which its source spells on demand."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyspiel

from mccfr_spiel.tree.names import InfosetNames
from mccfr_spiel.worlds.hand_lists import HandInfosets
from mccfr_spiel.worlds.public_tree import PublicTree


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

    def states(self, game: pyspiel.Game) -> Iterator[pyspiel.State]:
        """`[I]` a state of each infoset."""
        for infoset in range(len(self)):
            state = game.new_initial_state()
            for action in self.public.history(*self.found.node_and_hand(infoset)):
                state.apply_action(action)
            yield state

    def _source(self) -> Sequence[np.ndarray]:
        return (*self.found.members, *self.public[:12])
