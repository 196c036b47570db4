"""Checks that a game has information-state strings, and limits on the length of its
histories."""

from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.declarations import (
    is_of_pyspiel,
)
from mccfr_spiel.common.display import brief

STRINGS_WAY_OUT = (
    "Pass an abstraction, a function (state, player) -> string, to mccfr_spiel.Solver, "
    "or --abstraction=MODULE:FUNCTION on the command line. If players see everything "
    "except the simultaneous moves of the current round, use "
    "mccfr_spiel.Solver(game, abstraction=mccfr_spiel.completed_rounds), or "
    "--abstraction=mccfr_spiel:completed_rounds. NashConv needs the game's own "
    "strings; ms.sampled_returns does not."
)
"""Advice in error messages about games without information-state strings."""

_FEW_MOVES = 1000
"""Number of moves that every game may have before a history counts as endless."""


def own_string(state: pyspiel.State, player: int) -> str:
    """The game's own information-state string, without an abstraction.

    The function `pyspiel.State.information_state_string` would ignore a method of the
    same name in a Python class of states; this function calls that method.
    """
    return state.information_state_string(player)


def check_strings(game: pyspiel.Game, abstraction: Any = None) -> None:
    """Checks that a game has information-state strings or an abstraction.

    Args:
        game: the game.
        abstraction: function (state, player) -> string that replaces the strings; None
            if there is none.

    Raises:
        ValueError: the game declares that it has no strings and there is no
            abstraction; or it is a Python game without a method that returns strings.
    """
    has_strings = game.get_type().provides_information_state_string
    if abstraction is None and not has_strings:
        is_alone = game.num_players() == 1  # abstractions require two players
        way_out = "Games of one player need it." if is_alone else STRINGS_WAY_OUT
        raise ValueError(
            f"{brief(game)} gives no information-state string, which solvers need to "
            "identify information sets (GameType.provides_information_state_string). "
            f"{way_out}"
        )
    if is_of_pyspiel(game) or hasattr(game, "make_py_observer"):
        return
    class_name = type(game).__name__
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        raise ValueError(
            f"{brief(game)} declares simultaneous moves but has no make_py_observer: "
            "OpenSpiel reads the strings of its turn-based form from an observer. "
            f"Define {class_name}.make_py_observer, or declare "
            "GameType.dynamics SEQUENTIAL if players already move in turn."
        )
    state = type(game.new_initial_state())
    if state.information_state_string == pyspiel.State.information_state_string:
        raise ValueError(
            f"{brief(game)} declares provides_information_state_string without a "
            f"method for it: define {state.__name__}.information_state_string(player), "
            f"or {class_name}.make_py_observer."
        )


def declared_length(game: pyspiel.Game) -> int:
    """Maximum number of moves in a history, including chance moves, that the game
    declares."""
    return game.max_game_length() + max(game.max_chance_nodes_in_history(), 0)


def longest_history(game: pyspiel.Game) -> int:
    """Number of moves from which on a history counts as endless.

    It is much larger than `declared_length`, because histories of some of OpenSpiel's
    own games have three times as many chance nodes as the games declare.
    """
    return 4 * declared_length(game) + _FEW_MOVES


def check_length(game: pyspiel.Game, length: int, name: str = "") -> None:
    """Raises ValueError if a history is far longer than the game declares.

    Args:
        game: the game.
        length: number of moves in the history.
        name: name of the game in the message; its load string if empty.
    """
    if length >= longest_history(game):
        raise ValueError(
            f"{name or brief(game)} does not end: a history has {length:,} moves, but "
            "max_game_length and max_chance_nodes_in_history allow at most "
            f"{declared_length(game):,}. End the game earlier or correct these numbers."
        )


def pot_of(game: pyspiel.Game) -> float:
    """Chips in the pot at the root of a poker subgame; 0 for other games."""
    pot = getattr(game, "pot", None)
    return float(game.get_parameters().get("potSize", 0) if pot is None else pot)
