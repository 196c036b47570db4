"""What a search lists of the worlds of a game, for passes to read.

Of most games that is the mover's *steps* along each edge. Where returns depend on what
is private, it is the worlds where the game ends. Returns depend there on the *class* of
each entry, a small number: how many dice match the bid, which ships are sunk.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mccfr_spiel.kernels.frame import Entry
from mccfr_spiel.kernels.tables import FLAG, FLOAT, INT, LONG

MOST_ACTIONS = 62
"""The actions of a world are a set of bits."""

MOST_CLASSES = 64
"""The classes of one player's entries at a leaf."""


class Worlds(NamedTuple):
    """The worlds of a game, depth first; those where the game ends are edges only."""

    steps: Annotated[
        np.ndarray, Entry(INT, "[T]", "the mover's sequences along each edge")
    ]
    lengths: Annotated[np.ndarray, Entry(INT, "[E]", "how many steps an edge has")]
    ends: Annotated[np.ndarray, Entry(FLAG, "[E]", "whether the game ends there")]
    returns: Annotated[np.ndarray, Entry(FLOAT, "[E, 2]", "the returns if it does")]
    actors: Annotated[np.ndarray, Entry(FLAG, "[W]", "who acts at a world")]
    edges: Annotated[np.ndarray, Entry(FLAG, "[W]", "how many edges it has")]
    height: Annotated[np.ndarray, Entry(LONG, "[1]", "the most worlds on a path")]

    @property
    def num_worlds(self) -> int:
        """How many worlds are kept."""
        return len(self.edges)

    @property
    def payoffs(self) -> np.ndarray:
        """`[N, 2]` the returns that there are, each once."""
        return np.unique(self.returns[self.ends > 0], axis=0)


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
