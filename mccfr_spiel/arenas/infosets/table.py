"""InfosetTable: the information sets of a game, with names and lookup by string.

A policy is a vector over the sequences of a table. Every arena has a table: a
`GameTree` is a table with nodes, and other arenas are tables without nodes. A policy
that is read from a file has a table too (policies/frozen_table.py).
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.infosets.lock import TreeLock, reads
from mccfr_spiel.arenas.infosets.names import InfosetNames, KeyNames
from mccfr_spiel.arenas.infosets.string_checks import own_string
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
"""A function (state, player) -> string. States with equal strings belong to the same
information set; the strings replace the game's information-state strings."""


def completed_rounds(state: pyspiel.State, player: int) -> str:
    """The moves of all completed rounds, as an abstraction for games without strings.

        ms.Solver("markov_soccer", abstraction=ms.completed_rounds)

    The result is correct if players observe everything except the simultaneous moves of
    the current round. In games where players move in turn, the string contains all
    moves. In the turn-based form of a simultaneous game, `state.history_str()` would be
    wrong, because it contains the hidden moves of the current round.

    Args:
        state: state of the game or of its turn-based form.
        player: ignored, because all players observe the same moves.

    Raises:
        ValueError: a wrapper hides the turn-based form, so rounds are unknown.
    """
    if hasattr(state, "simultaneous_game_state"):
        return state.simultaneous_game_state().history_str()
    if "turn_based_simultaneous_game(" in str(state.get_game()):
        raise ValueError(
            f"completed_rounds cannot find the rounds of {brief(state.get_game())}, "
            "because a wrapper hides the turn-based form. Apply the wrapper before "
            "converting the game to turns."
        )
    return state.history_str()


def reader_of(abstraction: Abstraction | None) -> Abstraction:
    """The function (state, player) -> string that a table calls for an abstraction.

    If the abstraction is None or `pyspiel.State.information_state_string`, the result
    is `own_string`, which returns the game's own strings.
    """
    if abstraction in (None, pyspiel.State.information_state_string):
        return own_string
    return abstraction


class InfosetTable:
    """Information sets of a game: all of them, or those that have been visited so far.

    Shapes: I infosets, S sequences of all players, P players.

    Attributes:
        source: the game as the user passed it.
        game: turn-based form of the game.
        num_players: P.
        abstraction: function that replaces information-state strings, or None.
        read_string: function (state, player) that returns the string of a state, under
            the abstraction if there is one.
        lock: lock of all methods that read or change the table.
        infosets: `[I]` records of dtype INFOSET.
        actions: `[S]` OpenSpiel's action of each sequence; -1 for empty sequences.
        infoset_names: strings of the infosets, with lookup by string.
        store: "tree", "worlds" or "none", see `Solver`; empty for a table that belongs
            to no arena.
        maker: function (game, max_nodes) that builds the whole tree of a game, for
            tables that outlive their arena; None if there is no such function.
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
        """Stores the game; subclasses add the information sets.

        Args:
            source: the game as the user passed it.
            game: turn-based form of the game.
            abstraction: function that replaces information-state strings, or None.
        """
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
        """Text for `repr` about the contents besides infosets, such as the number of
        worlds."""
        return ""

    # --- sizes ---------------------------------------------------------------

    @property
    def num_infosets(self) -> int:
        """I, the number of infosets."""
        return len(self.infosets)

    @property
    def num_sequences(self) -> int:
        """S, the number of sequences of all players, including empty ones."""
        return len(self.actions)

    def sizes(self) -> tuple[int, int]:
        """`num_infosets` and `num_sequences`."""
        return self.num_infosets, self.num_sequences

    @property
    def knows_all_infosets(self) -> bool:
        """Whether the table contains every information set of the game."""
        return False

    # --- names ---------------------------------------------------------------

    @property
    @reads
    def info_states(self) -> list[str]:
        """`[I]` information-state strings."""
        return self.infoset_names.strings()

    @property
    @reads
    def shared_strings(self) -> set[str]:
        """The information-state strings that infosets of several players have in
        common."""
        return self.infoset_names.shared()

    def info_state(self, infoset: int) -> str:
        """The information-state string of an infoset."""
        if not 0 <= infoset < self.num_infosets:
            raise IndexError(
                f"infoset={infoset} must be in 0 .. {self.num_infosets - 1}."
            )
        return self.infoset_names.info_state(infoset)

    # --- lookup --------------------------------------------------------------

    def find(self, info_state: str, player: int | None = None) -> int:
        """The infoset with an information-state string; -1 if it is not in the table.

        Args:
            info_state: information-state string.
            player: player of the infoset; only needed for strings in `shared_strings`.
        """
        return self.infoset_names.find(info_state, player)

    def actions_at(self, infoset: int) -> list[int]:
        """OpenSpiel's legal actions at an infoset."""
        _, start, _, count, _ = self.infosets[infoset].item()
        return self.actions[start : start + count].tolist()

    def find_at(self, state: pyspiel.State, player: int) -> int:
        """The infoset of a state where a player acts; -1 if it is not in the table.

        States of compiled rules are looked up by their information key, so that no
        index of strings has to be built.
        """
        names: InfosetNames = self.infoset_names
        if isinstance(state, RulesState) and isinstance(names, KeyNames):
            return names.find_key(player, state.rules.info_key(state.vector, player))
        return self.find(self.string_of(state, player), player)

    def string_of(self, state: pyspiel.State, player: int) -> str:
        """The string of the infoset of a state, under the abstraction if there is one.

        Args:
            state: state of `game` where the player acts.
            player: the player.

        Raises:
            ValueError: there is no such player, or the abstraction does not return a
                string.
        """
        if self.abstraction is None:
            player = refusals.player(player, self.num_players)
            return self.read_string(state, player)
        info_state = self.read_string(state, player)
        if not isinstance(info_state, str):
            raise ValueError(
                f"The abstraction must return a string, but returned {info_state!r} "
                f"for player {player} after the history {state.history()} of "
                f"{brief(self.game)}."
            )
        return info_state

    @reads
    def digest(self) -> str:
        """A hash (128 bits, hexadecimal) of the numbering of infosets with their
        players, parents, seeds of random draws, and actions."""
        digest = hashlib.blake2b(self.infosets.view(np.uint8).data, digest_size=16)
        digest.update(self.actions.view(np.uint8).data)
        return digest.hexdigest()

    # --- optional methods -----------------------------------------------------

    def whole(self, max_nodes: int) -> "InfosetTable | None":
        """A table of the same game whose methods `states` and `reaches` give results.

        Args:
            max_nodes: maximum number of nodes of a tree that is expanded for this.

        Returns:
            This table if its methods give results; otherwise another table; None if no
            such table can be built.
        """
        return None

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State | None]:
        """A state of each given infoset; None where no state is known."""
        return (None for _ in infosets)

    def reaches(self, policy: np.ndarray) -> np.ndarray | None:
        """`[I]` probability of reaching each infoset if all players follow a policy
        `[S]`; None if the table cannot compute it."""
        return None
