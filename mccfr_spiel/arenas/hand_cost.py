"""Estimates the memory and time for solving a card game in a HandArena, without
building the arena."""

from typing import NamedTuple

import pyspiel

from mccfr_spiel.arenas.hand_pass import bytes_of_gradients
from mccfr_spiel.arenas.hand_sweeps import bytes_of_solver, steps_of
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.worlds.hand_blocks import lay_out
from mccfr_spiel.arenas.worlds.hand_lists import bytes_of_infosets, number_hands
from mccfr_spiel.arenas.worlds.public_tree_reader import (
    has_public_tree,
    read_public_tree,
)
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import (
    in_words,
)
from mccfr_spiel.kernels.tables import BYTES_OF_TABLES

_BYTES_OF_DISCOUNTS = 18
"""Bytes per infoset of the tables that DCFR needs in addition to BYTES_OF_TABLES."""

_SECONDS_OF_ENTRY, _SECONDS_OF_SUM, _SECONDS_OF_SEGMENT = 1e-9, 8.2e-9, 5e-7
"""Seconds per entry of a table, per hand in a sum at leaves, and per segment, as
measured on a processor of about 2023 with one thread."""

_SECONDS_OF_SEQUENCE = 11e-9
"""Seconds per sequence in an update of vectors of float64."""


class Cost(NamedTuple):
    """Resources that DCFR needs for a card game; CFR and CFR+ need no more.

    Attributes:
        infosets: number of infosets, after equivalent suits have been merged.
        sequences: number of sequences, counted in the same way.
        bytes: upper bound on the bytes of lists and tables, as checked against
            `max_memory`.
        seconds: approximate seconds per iteration on one core. DCFR needs about 90
            iterations for an exploitability of 0.3 % of the pot.
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
    """Estimates the resources for solving a card game, such as a subgame of hold'em.

        print(ms.poker.cost(game))

    The public tree is built, but no tables and no lists of infosets. For a subgame of
    hold'em the forecast is that of `Solver` with the default `store`: tables of float32
    in blocks. It is within 20 % of the bytes that the solver takes, and of the seconds
    on a processor of about 2023.

    Raises:
        ValueError: the game has no supported public tree, see `read_public_tree`.
    """
    game = load_game(game)
    if not has_public_tree(game):
        raise ValueError(
            f"{brief(game)} is not a game of hands of cards; expected a subgame of "
            "hold'em, kuhn_poker or leduc_poker."
        )
    public = read_public_tree(game)
    boards, numbering = number_hands(public)
    infosets, sequences = numbering.num_infosets, numbering.num_sequences
    blocks = lay_out(public, boards, numbering)
    seconds = _SECONDS_OF_ENTRY * blocks.num_entries
    seconds += _SECONDS_OF_SUM * steps_of(blocks)
    seconds += _SECONDS_OF_SEGMENT * len(blocks.layout.board)
    if hasattr(game, "subgame"):
        size = blocks.nbytes + bytes_of_solver(blocks, 1, 2)
        return Cost(infosets, sequences, size, seconds)
    per_infoset, per_sequence = BYTES_OF_TABLES
    size = blocks.nbytes + bytes_of_gradients(blocks) + bytes_of_infosets(numbering)
    size += (per_infoset + _BYTES_OF_DISCOUNTS) * infosets + per_sequence * sequences
    return Cost(infosets, sequences, size, seconds + _SECONDS_OF_SEQUENCE * sequences)
