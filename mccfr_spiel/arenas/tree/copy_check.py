"""check_copies: checks that copies of a game's states are independent."""

import random

import pyspiel

from mccfr_spiel.arenas.infosets.identity import seen_at
from mccfr_spiel.arenas.rules.declarations import (
    GameError,
)
from mccfr_spiel.arenas.rules.state_checks import tell_history
from mccfr_spiel.common.display import brief

_MOVES_OF_COPIES = 100
"""Maximum number of moves in the history that `check_copies` plays."""


def check_copies(game: pyspiel.Game) -> None:
    """Checks that a move in a copy of a state does not change the original.

    The check plays one random history. It applies each move to a copy first and
    compares the original before and after. Then it replays the history, which must lead
    through equal states.

    Raises:
        GameError: a copy shares data with the original, or the replay differs.
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
        except Exception:  # any error of the game; expansion will report it
            break
        if repr(seen_at(state, with_strings)[0]) != views[-1]:
            raise _alias(
                game, state, f"action {move} in a copy changes the original state"
            )
        history.append(move)
        state.apply_action(move)
    state = game.new_initial_state()
    for length, view in enumerate(views):
        if length:
            state.apply_action(history[length - 1])
        if repr(seen_at(state, with_strings)[0]) != view:
            raise _alias(game, state, "replaying these moves leads to another state")


def _alias(game: pyspiel.Game, state: pyspiel.State, fault: str) -> GameError:
    error = GameError(
        f"{brief(game)}: {fault}. States must not share data that moves change, such "
        "as a list of the class: create it in __init__ and copy it in clone()."
    )
    tell_history(error, state)
    return error
