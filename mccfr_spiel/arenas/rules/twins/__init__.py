"""Twins: compiled versions of some of OpenSpiel's own games; see docs/large_games.md.

`twin_of` looks up the twin of a game by name and parameters. Callers must first verify
that these identify the game (`infosets.identity.told_by_string`). `difference_to` plays
a game and its twin, and compares everything that a solver reads.
"""

import inspect
import random
from typing import Any

import pyspiel

from mccfr_spiel.arenas.rules.game_description import CHANCE, TERMINAL
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
"""OpenSpiel's names of the games that have twins, each with a function from the game's
parameters to the twin.
"""

TURN_BASED = "turn_based_simultaneous_game"
"""OpenSpiel's name of the wrapper that turns simultaneous moves into sequential ones.
"""


def twin_of(game: pyspiel.Game) -> BoundTwin | None:
    """Returns the twin of a game; None if this game, or these parameters, have no twin.

    Args:
        game: the game. A game with simultaneous moves must be in its turn-based form.
    """
    name, parameters = game.get_type().short_name, game.get_parameters()
    if name == TURN_BASED:
        parameters = dict(parameters["game"])
        name = parameters.pop("name")
    if name not in TWINS:
        return None
    accepted = inspect.signature(TWINS[name]).parameters
    twin = TWINS[name](**parameters) if accepted.keys() == parameters.keys() else None
    return None if twin is None else BoundTwin(name, twin, game)


def difference_to(
    game: pyspiel.Game,
    twin: BoundTwin,
    *,
    histories: int,
    moves: int | None = None,
    seed: int | None = None,
) -> str | None:
    """Plays random histories in a game and in its twin, and compares both.

    The acting player must agree at each state. At a decision, the legal actions and the
    information-state string must agree; at a chance node, the outcomes and their
    probabilities; at a terminal state, the returns. Numbers must be equal to the bit.

    Args:
        game: the game, in its turn-based form if it has simultaneous moves.
        twin: the twin.
        histories: number of histories.
        moves: total number of moves after which to stop; None for no limit.
        seed: seed of the random histories; None for different histories at each call.

    Returns:
        A description of the first difference with its history; None if there is none.
    """
    generator = random.Random(seed)
    left = float("inf") if moves is None else moves
    for _ in range(histories):
        state, vector = game.new_initial_state(), twin.start()
        while True:
            subject, expected, actual, actions = _views(state, twin, vector)
            if expected != actual:
                return (
                    f"after the history {state.history()} {subject} {expected}, but "
                    f"{actual} in the twin"
                )
            if not actions or left <= 0:
                break
            left -= 1
            action = generator.choice(actions)
            state.apply_action(action)
            twin.apply_action(vector, action)
    return None


def _views(
    state: pyspiel.State, twin: BoundTwin, vector: Any
) -> tuple[str, Any, Any, list[int]]:
    """Returns the subject of the comparison at a state (for the message), its value in
    the game, its value in the twin, and the moves from here.
    """
    acting, player = twin.acting(vector), state.current_player()
    if acting != player:
        return "who acts is", player, acting, []
    if player == TERMINAL:
        expected, actual = _bits(state.returns()), _bits(twin.returns(vector))
        return "the returns are", expected, actual, []
    if player == CHANCE:
        outcomes = state.chance_outcomes()
        moves = [outcome for outcome, _ in outcomes]
        return "chance has", outcomes, twin.chance_outcomes(vector), moves
    moves = state.legal_actions()
    expected = moves, state.information_state_string(player)
    key = twin.info_key(vector, player)
    actual = twin.legal_actions(vector), twin.info_state(player, key)
    return "the actions and the information state are", expected, actual, moves


def _bits(returns: Any) -> list[str]:
    """Returns the returns as text that identifies each number exactly, except that -0.0
    and 0.0 are equal.
    """
    return [repr(value + 0.0) for value in returns]
