"""InfosetTable: the information sets of a game, with names and lookup by string.

Policies are vectors over the sequences of such a table and need nothing else. Every
arena has one: a `GameTree` is a table with nodes, other arenas are tables without.
A policy that was read from a file has a table of its own (policies/names.py).
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.loading import own_string
from mccfr_spiel.arenas.infosets.lock import TreeLock, reads
from mccfr_spiel.arenas.infosets.names import InfosetNames, KeyNames
from mccfr_spiel.arenas.rules.game import RulesState
from mccfr_spiel.common import refusals
from mccfr_spiel.common.display import (
    brief,
    counted,
    html_line,
    line,
    never_raises,
    title,
)

Abstraction = Callable[[pyspiel.State, int], str]
"""A function (state, player) -> string. The string replaces the information state."""


def completed_rounds(state: pyspiel.State, player: int) -> str:
    """The moves of all completed rounds, as an abstraction for games without strings.

        ms.Solver("markov_soccer", abstraction=ms.completed_rounds)

    It is right where players see everything except the simultaneous moves of the
    current round, and all moves where players move in turn. `state.history_str()` is
    not: a turn-based form also lists the moves that others made in the current round.

    Args:
        state: a state of the game, or of its turn-based form.
        player: ignored, because all players see the same.

    Raises:
        ValueError: a wrapper hides the turn-based form, whose rounds are then unknown.
    """
    if hasattr(state, "simultaneous_game_state"):
        return state.simultaneous_game_state().history_str()
    if "turn_based_simultaneous_game(" in str(state.get_game()):
        raise ValueError(
            f"completed_rounds cannot tell the rounds of {brief(state.get_game())}. "
            "Wrap the game before it becomes turn-based."
        )
    return state.history_str()


def reader_of(abstraction: Abstraction | None) -> Abstraction:
    """The function that gives the strings of a tree with this abstraction.

    `pyspiel.State.information_state_string` stands for a game's own strings.
    """
    if abstraction in (None, pyspiel.State.information_state_string):
        return own_string
    return abstraction


class InfosetTable:
    """The information sets of a game, or those met so far.

    Shapes: I information sets, S sequences of all players, P players.

    Attributes:
        source: the game as it was given.
        game: its turn-based form.
        num_players: P.
        abstraction: replaces the game's information-state strings; None if there is
            none.
        read_string: the function (state, player) -> string that is used.
        lock: held by every method that reads or changes the table.
        infosets: `[I]` records of dtype INFOSET.
        actions: `[S]` OpenSpiel's action of each sequence, -1 for the empty ones.
        infoset_names: the strings.
        store: "tree", "worlds" or "none", see `Solver`; "" without an arena.
        maker: makes the whole tree of the game up to a number of nodes, for tables that
            outlive their arena; None if nothing can.
    """

    infosets: Any
    actions: Any
    infoset_names: Any
    maker: Any = None
    store = ""

    def __init__(
        self,
        source: pyspiel.Game,
        game: pyspiel.Game,
        abstraction: Abstraction | None = None,
    ) -> None:
        """Knows the game and no information set; subclasses have those."""
        self.source, self.game, self.abstraction = source, game, abstraction
        self.read_string = reader_of(abstraction)
        self.num_players: int = game.num_players()
        self.lock = TreeLock()

    @never_raises
    def __repr__(self) -> str:
        size = counted(self.num_infosets, "infoset")
        return line(self, title(self.source), size, self._kept_in_words())

    @never_raises
    def _repr_html_(self) -> str:
        return html_line(repr(self))

    def _kept_in_words(self) -> str:
        """What the table keeps besides information sets."""
        return ""

    # --- sizes ---------------------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """I, the information sets."""
        return len(self.infosets)

    @property
    def num_sequences(self) -> int:
        """S, the sequences of all players, empty ones included."""
        return len(self.actions)

    def sizes(self) -> tuple[int, int]:
        """`num_infosets` and `num_sequences`."""
        return self.num_infosets, self.num_sequences

    @property
    def knows_all_infosets(self) -> bool:
        """Whether every information set of the game is in the table."""
        return False

    # --- names ---------------------------------------------------------------

    @property
    @reads
    def info_states(self) -> list[str]:
        """`[I]` the information-state strings."""
        return self.infoset_names.strings()

    @property
    @reads
    def shared_strings(self) -> set[str]:
        """The information-state strings that more than one player has."""
        return self.infoset_names.shared()

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if not 0 <= infoset < self.num_infosets:
            raise IndexError(
                f"There is no infoset {infoset} among {self.num_infosets}."
            )
        return self.infoset_names.info_state(infoset)

    # --- lookup --------------------------------------------------------------

    def find(self, info_state: str, player: int | None = None) -> int:
        """The infoset with a string; -1 if it is not in the table.

        Args:
            info_state: the information-state string.
            player: the owner; needed only if several players have the string.
        """
        return self.infoset_names.find(info_state, player)

    def find_at(self, state: pyspiel.State, player: int) -> int:
        """The infoset of a state where a player acts; -1 if it is not in the table.

        Infosets of compiled rules are found by their keys, without an index of strings.
        """
        names: InfosetNames = self.infoset_names
        if isinstance(state, RulesState) and isinstance(names, KeyNames):
            return names.find_key(player, state.rules.info_key(state.vector, player))
        return self.find(self.string_of(state, player), player)

    def string_of(self, state: pyspiel.State, player: int) -> str:
        """The string of a state of `game` where a player acts.

        Raises:
            ValueError: the abstraction returns something else than a string.
        """
        if self.abstraction is None:
            player = refusals.player(player, self.num_players)
            return self.read_string(state, player)
        info_state = self.read_string(state, player)
        if not isinstance(info_state, str):
            raise ValueError(
                f"The abstraction gives {info_state!r}, no string, for player {player} "
                f"at the state {state.history()} of {brief(self.game)}."
            )
        return info_state

    @reads
    def digest(self) -> str:
        """A hash of the infosets, their players, pasts, names and actions."""
        digest = hashlib.blake2b(self.infosets.view(np.uint8).data, digest_size=16)
        digest.update(self.actions.view(np.uint8).data)
        return digest.hexdigest()

    # --- what an arena may supply ---------------------------------------------

    def whole(self, max_nodes: int) -> "InfosetTable | None":
        """A table of the same game that supplies `states` and `reaches`.

        Args:
            max_nodes: the most nodes that may be expanded for it.

        Returns:
            This table if it supplies both; None if no such table can be made.
        """
        return None

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State | None]:
        """A state of each of the infosets; None where none is known."""
        return (None for _ in infosets)

    def reaches(self, policy: np.ndarray) -> np.ndarray | None:
        """`[I]` the probability that a play by the policy `[S]` reaches each infoset;
        None if the table cannot tell."""
        return None
