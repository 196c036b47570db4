"""Compiled twins of OpenSpiel's own games; see docs/large_games.md.

`twin_of` finds the twin of a game. It trusts the game's name and parameters, so callers
make sure that these tell the game (`infosets.loading.told_by_string`). `difference_to`
plays both and compares all that solvers see.
"""

import inspect
import random
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.description import CHANCE, TERMINAL
from mccfr_spiel.arenas.rules.twins import (
    battleship,
    bidding,
    goofspiel,
    hidden_board,
    kuhn_poker,
    leduc_poker,
    oshi_zumo,
    sheriff,
    tiny_bridge,
)
from mccfr_spiel.arenas.rules.twins.twin import BoundTwin, Maker

__all__ = ["TWINS", "BoundTwin", "difference_to", "twin_of"]

TWINS: dict[str, Maker] = {
    "battleship": battleship.twin,
    "dark_hex": hidden_board.dark_hex,
    "goofspiel": goofspiel.twin,
    "kuhn_poker": kuhn_poker.twin,
    "leduc_poker": leduc_poker.twin,
    "liars_dice": bidding.liars_dice,
    "oshi_zumo": oshi_zumo.twin,
    "phantom_ttt": hidden_board.phantom_ttt,
    "python_liars_poker": bidding.liars_poker,
    "sheriff": sheriff.twin,
    "tiny_bridge_2p": tiny_bridge.twin,
}
"""OpenSpiel's name of a game -> what makes its twin."""

TURN_BASED = "turn_based_simultaneous_game"
"""OpenSpiel's name of the game in which simultaneous moves are made in turn."""


def twin_of(game: pyspiel.Game) -> BoundTwin | None:
    """The twin of a game; None if it has none for these parameters.

    Args:
        game: in its turn-based form.
    """
    name, parameters = game.get_type().short_name, game.get_parameters()
    if name == TURN_BASED:
        parameters = dict(parameters["game"])
        name = parameters.pop("name")
    if name not in TWINS:
        return None
    known = inspect.signature(TWINS[name]).parameters
    twin = TWINS[name](**parameters) if known.keys() == parameters.keys() else None
    return None if twin is None else BoundTwin(name, twin, game)


def difference_to(
    game: pyspiel.Game,
    twin: BoundTwin,
    *,
    histories: int,
    moves: int | None = None,
    seed: int | None = None,
) -> str | None:
    """Plays random histories of a game and of its twin.

    At every state it compares who acts, the legal actions and the information-state
    string, or chance's outcomes and their probabilities to the bit; and at the end the
    returns, to the bit.

    Args:
        game: in its turn-based form.
        twin: its twin.
        histories: how many to play.
        moves: the number of moves in all after which to stop; None for no limit.
        seed: of the random histories; None for other ones at each call.

    Returns:
        The first difference in words, with the history that leads there; None if there
        is none.
    """
    generator = random.Random(seed)
    left = float("inf") if moves is None else moves
    for _ in range(histories):
        state, vector = game.new_initial_state(), twin.start()
        while True:
            what, theirs, ours, actions = _seen(state, twin, vector)
            if theirs != ours:
                return (
                    f"after the history {state.history()} {what} {theirs}, but "
                    f"{ours} in the twin"
                )
            if not actions or left <= 0:
                break
            left -= 1
            action = generator.choice(actions)
            state.apply_action(action)
            twin.apply_action(vector, action)
    return None


def _seen(
    state: pyspiel.State, twin: BoundTwin, vector: Any
) -> tuple[str, Any, Any, list[int]]:
    """What to compare at a state: its name, both values of it, and the moves."""
    acting, player = twin.acting(vector), state.current_player()
    if acting != player:
        return "who acts is", player, acting, []
    if player == TERMINAL:
        theirs, ours = _bits(state.returns()), _bits(twin.returns(vector))
        return "the returns are", theirs, ours, []
    if player == CHANCE:
        outcomes = state.chance_outcomes()
        moves = [outcome for outcome, _ in outcomes]
        return "chance has", outcomes, twin.chance_outcomes(vector), moves
    moves = state.legal_actions()
    theirs = moves, state.information_state_string(player)
    key = twin.info_key(vector, player)
    ours = twin.legal_actions(vector), twin.info_state(player, key)
    return "the actions and the information state are", theirs, ours, moves


def _bits(returns: Any) -> list[str]:
    """The returns as text that tells all bits, but for the sign of a zero."""
    return [repr(value + 0.0) for value in returns]
