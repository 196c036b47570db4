"""Costs of solving a game of cards by hands."""

from typing import NamedTuple

import pyspiel

from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.worlds.hand_lists import sizes_of
from mccfr_spiel.arenas.worlds.public_tree_reader import (
    has_public_tree,
    read_public_tree,
)
from mccfr_spiel.common.memory import (
    in_words,
)
from mccfr_spiel.kernels.tables import BYTES_OF_TABLES

_BYTES_OF_DISCOUNTS = 18
"""The bytes that DCFR takes for an infoset in addition to BYTES_OF_TABLES."""

_SECONDS_OF_STEP, _SECONDS_OF_SEQUENCE = 7e-9, 11e-9
"""Seconds of one core of about 2023 for a hand at a leaf, and for an update of DCFR."""


class Cost(NamedTuple):
    """What DCFR needs for a game of cards; CFR and CFR+ need no more.

    Attributes:
        infosets, sequences: how many there are; suits that change nothing are one.
        bytes: of the lists and tables at most, as a solver asks `max_memory` for them.
        seconds: of an iteration on one core, about. DCFR takes about 90 iterations to
            0.3 % of the pot.
    """

    infosets: int
    sequences: int
    bytes: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.infosets:,} infosets, {self.sequences:,} sequences: up to "
            f"{in_words(self.bytes)}, about {self.seconds:.2g} s an iteration"
        )


def cost(game: pyspiel.Game | str) -> Cost:
    """What it takes to solve a game of cards, such as a subgame of hold'em.

        print(ms.poker.cost(game))

    Its public tree is made, but nothing for each hand.

    Raises:
        ValueError: the game is not taken by hands, see `read_public_tree`.
    """
    game = load_game(game)
    if not has_public_tree(game):
        raise ValueError(f"{game} is no game of hands of cards.")
    infosets, sequences, size, steps = sizes_of(read_public_tree(game))
    per_infoset, per_sequence = BYTES_OF_TABLES
    per_infoset += _BYTES_OF_DISCOUNTS
    return Cost(
        infosets,
        sequences,
        size + per_infoset * infosets + per_sequence * sequences,
        _SECONDS_OF_STEP * steps + _SECONDS_OF_SEQUENCE * sequences,
    )
