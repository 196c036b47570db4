"""InfosetTable: the information sets of a game, with names and lookup by string.

Policies are vectors over the sequences of a table and need nothing else. Every arena
has a table: a `GameTree` is a table with nodes, and other arenas are tables without
nodes. A policy read from a file has its own table (policies/names.py).
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
"""A function (state, player) -> string that replaces information-state strings."""


def completed_rounds(state: pyspiel.State, player: int) -> str:
    """The moves of all completed rounds, as an abstraction for games without strings.

        ms.Solver("markov_soccer", abstraction=ms.completed_rounds)

    Correct if players see everything except the simultaneous moves of the current
    round. If players move in turn, the string contains all moves. `state.history_str()`
    would be wrong, because a turn-based form also lists the moves that others have made
    in the current round.

    Args:
        state: state of the game or of its turn-based form.
        player: ignored, because all players see the same.

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
    """The function that returns strings under an abstraction; None is the game's own
    strings.

    `pyspiel.State.information_state_string` is accepted as the game's own strings, too.
    """
    if abstraction in (None, pyspiel.State.information_state_string):
        return own_string
    return abstraction


class InfosetTable:
    """Information sets of a game, or those met so far.

    Shapes: I infosets, S sequences of all players, P players.

    Attributes:
        source: the game as the user passed it.
        game: turn-based form of the game.
        num_players: P.
        abstraction: function that replaces information-state strings, or None.
        read_string: function (state, player) -> string of the table.
        lock: lock of all methods that read or change the table.
        infosets: `[I]` records of dtype INFOSET.
        actions: `[S]` OpenSpiel's action of each sequence; -1 for empty sequences.
        infoset_names: strings of the infosets, with lookup.
        store: "tree", "worlds" or "none", see `Solver`; empty for a table without
            arena.
        maker: function (game, max_nodes) that builds the whole tree, for tables that
            outlive their arena; None if the tree cannot be built.
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
        """Stores the game; subclasses add the information sets."""
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
        """Describes other contents of the table in a repr."""
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
        """The information-state strings that several players share."""
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
        """The infoset with this string; -1 if it is not in the table.

        Args:
            info_state: information-state string.
            player: owner; only needed for strings that several players share.
        """
        return self.infoset_names.find(info_state, player)

    def find_at(self, state: pyspiel.State, player: int) -> int:
        """The infoset of a state where a player acts; -1 if it is not in the table.

        Infosets of compiled rules are found by key, which needs no index of strings.
        """
        names: InfosetNames = self.infoset_names
        if isinstance(state, RulesState) and isinstance(names, KeyNames):
            return names.find_key(player, state.rules.info_key(state.vector, player))
        return self.find(self.string_of(state, player), player)

    def string_of(self, state: pyspiel.State, player: int) -> str:
        """The string of a state of `game` where a player acts.

        Raises:
            ValueError: the abstraction does not return a string.
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
        """A hash of all infosets with their players, parents, seeds and actions."""
        digest = hashlib.blake2b(self.infosets.view(np.uint8).data, digest_size=16)
        digest.update(self.actions.view(np.uint8).data)
        return digest.hexdigest()

    # --- optional methods -----------------------------------------------------

    def whole(self, max_nodes: int) -> "InfosetTable | None":
        """A table of the same game that provides `states` and `reaches`.

        Args:
            max_nodes: maximum number of nodes to expand.

        Returns:
            This table if it provides both; None if no such table can be built.
        """
        return None

    def states(self, infosets: Iterable[int]) -> Iterator[pyspiel.State | None]:
        """A state of each given infoset; None where no state is known."""
        return (None for _ in infosets)

    def reaches(self, policy: np.ndarray) -> np.ndarray | None:
        """`[I]` probability that play under a policy `[S]` reaches each infoset; None
        if unknown."""
        return None
