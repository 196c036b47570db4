"""Checks copies."""

import random

import pyspiel

from mccfr_spiel.arenas.infosets.identity import seen_at
from mccfr_spiel.arenas.rules.declarations import (
    GameError,
)
from mccfr_spiel.arenas.rules.state_checks import tell_history
from mccfr_spiel.common.display import brief

_MOVES_OF_COPIES = 100
"""The most moves in the history that `check_copies` follows."""


def check_copies(game: pyspiel.Game) -> None:
    """Raises GameError if copies of a state share what moves change.

    It follows one random history. A move in a copy must leave the state as it was, and
    the same moves in a new state must show the same again.
    """
    generator, history, views = random.Random(0), [], []
    with_strings = game.get_type().provides_information_state_string
    state = game.new_initial_state()
    while len(history) < _MOVES_OF_COPIES:
        seen, moves = seen_at(state, with_strings)
        views.append(repr(seen))
        if not moves:
            break
        move = generator.choice(moves)
        try:
            state.child(move)
        except Exception:  # games raise what they like; a walk that meets it says so
            break
        if repr(seen_at(state, with_strings)[0]) != views[-1]:
            raise _alias(
                game, state, f"action {move} in a copy changes the state itself"
            )
        history.append(move)
        state.apply_action(move)
    state = game.new_initial_state()
    for number, view in enumerate(views):
        if number:
            state.apply_action(history[number - 1])
        if repr(seen_at(state, with_strings)[0]) != view:
            raise _alias(game, state, "these moves, made again, lead to another state")


def _alias(game: pyspiel.Game, state: pyspiel.State, fault: str) -> GameError:
    error = GameError(
        f"{brief(game)}: {fault}. Its states share something that moves change, such "
        "as a list of the class: make it in __init__, and copy it in clone()."
    )
    tell_history(error, state)
    return error
