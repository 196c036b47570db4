"""The leaves of games whose returns depend on what is private, as a search lists them.

Returns depend on the world where the game ends and on the *class* of each entry, a
small number: how many dice match the bid, which ships are sunk.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.compiled.frame import Entry
from mccfr_spiel.kernels.tables import FLAG, FLOAT, INT

MOST_CLASSES = 64
"""The classes of one player's entries at a leaf."""


class Leaves(NamedTuple):
    """The worlds where a game ends. Z is how many, T how many entries they have."""

    steps: Annotated[
        np.ndarray,
        Entry(INT, "[T]", "the last sequences of player 0's entries, then of 1's"),
    ]
    classes: Annotated[np.ndarray, Entry(FLAG, "[T]", "the classes of the entries")]
    weights: Annotated[np.ndarray, Entry(FLOAT, "[T]", "how chance deals the entries")]
    lengths: Annotated[np.ndarray, Entry(INT, "[Z, 2]", "the players' entries there")]
    sizes: Annotated[np.ndarray, Entry(INT, "[Z, 2]", "one more than their classes")]
    returns: Annotated[
        np.ndarray,
        Entry(FLOAT, "[R, 2]", "what pairs of classes pay, player 1's fastest"),
    ]

    @property
    def num_worlds(self) -> int:
        """How many worlds are kept."""
        return len(self.lengths)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        return np.unique(self.returns, axis=0)
