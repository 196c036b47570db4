"""The arena of games of cards: a public tree, with a vector of hands at each node."""

import functools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.infosets.names import InfosetNames
from mccfr_spiel.arenas.rules.game import replayed
from mccfr_spiel.arenas.tree import whole
from mccfr_spiel.arenas.world_arenas import ArenaWithoutNodes, WorldPass
from mccfr_spiel.arenas.worlds.hand_lists import HandInfosets, list_hands, sizes_of
from mccfr_spiel.arenas.worlds.public_tree import (
    DECISION,
    PublicTree,
    has_public_tree,
    read_public_tree,
)
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import Budget, in_words, num_cores
from mccfr_spiel.kernels.tables import BYTES_OF_TABLES, Blocks


class HandArena(ArenaWithoutNodes):
    """A game of cards, played with all hands at once.

    Attributes:
        infoset_names: the strings, which the public tree spells.
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
        """Lists the hands; see ArenaTable.

        Raises:
            ValueError: the game is not taken by hands, see `read_public_tree`.
            MemoryBudgetError: the lists do not fit the budget.
        """
        super().__init__(source, budget, max_nodes=max_nodes, twin=twin)
        public = read_public_tree(self.game)
        listed = list_hands(public, budget, brief(source))
        self.infosets, self.actions = listed.records, listed.actions
        self.infoset_names = HandNames(public, listed)
        self.worlds, self.utilities = listed.hands, listed.hands.payoffs

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State]:
        """A state of each of the infosets."""
        public, found = self.infoset_names.public, self.infoset_names.found
        for infoset in infosets:
            yield replayed(self.game, public.history(*found.node_and_hand(infoset)))

    def passes(self, threads: int | None, *, updated: int | None = None) -> FullPass:
        """Passes over the hands, in which each block of a gradient has a thread."""
        num_blocks = self.worlds.num_blocks
        most = (updated or self.num_players) * num_blocks
        threads = whole.checked_threads(threads) or num_cores()
        return HandPass(self, min(threads, most), num_blocks)


class HandPass(WorldPass):
    """Passes over hands of cards, cut into blocks for threads."""

    @functools.cached_property
    def blocks(self) -> Blocks:
        """The pieces into which the work on infosets is cut."""
        if self.num_threads == 1:
            return whole.one_block(self.arrays)
        return whole.cut_at(self.table.infosets, self.arrays, self.table.worlds.cuts)


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


# --- what it takes to solve a game of cards by hands, known before that is made -------


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
