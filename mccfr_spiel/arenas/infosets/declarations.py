"""Checks and numbers that follow from what a game declares about itself."""

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
"""Advice for games without information-state strings."""

_FEW_MOVES = 1000


def own_string(state: pyspiel.State, player: int) -> str:
    """The information-state string that a game itself gives a player.

    Unlike `pyspiel.State.information_state_string`, it calls a Python game's method.
    """
    return state.information_state_string(player)


def check_strings(game: pyspiel.Game, abstraction: Any = None) -> None:
    """Raises ValueError if a game declares no information-state strings and there is no
    abstraction, or if it has no method that makes them."""
    has_strings = game.get_type().provides_information_state_string
    if abstraction is None and not has_strings:
        is_alone = game.num_players() == 1  # where abstractions are refused
        way_out = "Games of one player need it." if is_alone else STRINGS_WAY_OUT
        raise ValueError(
            f"{brief(game)} gives no information-state string, by which solvers tell "
            "information sets apart (GameType.provides_information_state_string). "
            f"{way_out}"
        )
    if is_of_pyspiel(game) or hasattr(game, "make_py_observer"):
        return
    kind = type(game).__name__
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        raise ValueError(
            f"{brief(game)} declares simultaneous moves but has no make_py_observer: "
            "OpenSpiel asks its observer for information-state strings once moves are "
            f"made in turn. Define {kind}.make_py_observer, or declare "
            "GameType.dynamics SEQUENTIAL if players already move in turn."
        )
    state = type(game.new_initial_state())
    if state.information_state_string == pyspiel.State.information_state_string:
        raise ValueError(
            f"{brief(game)} declares provides_information_state_string but has no "
            f"method for it: define {state.__name__}.information_state_string(player), "
            f"or {kind}.make_py_observer."
        )


def declared_length(game: pyspiel.Game) -> int:
    """The most moves in a history, chance's included, by a game's own words."""
    return game.max_game_length() + max(game.max_chance_nodes_in_history(), 0)


def longest_history(game: pyspiel.Game) -> int:
    """The moves beyond which a history is taken for endless.

    That is far more than the game declares, since some of OpenSpiel's own games have
    three times as many chance nodes as they declare.
    """
    return 4 * declared_length(game) + _FEW_MOVES


def check_length(game: pyspiel.Game, length: int, name: str = "") -> None:
    """Raises ValueError if a history of that many moves is far longer than a game says
    it can be; `name` is what the message calls the game."""
    if length >= longest_history(game):
        raise ValueError(
            f"{name or brief(game)} does not end: a history of {length:,} moves was "
            "followed, but by its max_game_length and max_chance_nodes_in_history none "
            f"has more than {declared_length(game):,}. Let the game end, or correct "
            "these numbers."
        )


def pot_of(game: pyspiel.Game) -> float:
    """Chips in the pot with which a subgame of poker begins; 0 for other games."""
    own = getattr(game, "pot", None)
    return float(game.get_parameters().get("potSize", 0) if own is None else own)
