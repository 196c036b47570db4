"""Names of actions."""

import re
from collections.abc import Sequence

import pyspiel

from mccfr_spiel.arenas.rules.bound_rules import (
    rules_of,
)

#
# A name may depend on the state, of which a tree keeps only how to get there, so a
# state of each infoset is replayed from the root. Compiled rules need none.


_NO_NAME = re.compile(r"Action\(id=\d+, player=-?\d+\)")
"""How OpenSpiel's base class calls the actions of games that do not name them without
a state."""


def names_at(state: pyspiel.State, player: int, actions: Sequence[int]) -> list[str]:
    """The names of a player's actions, or of chance's outcomes, at a state.

    Raises:
        ValueError: a name is no text, or has a lone surrogate.
    """
    try:
        return [state.action_to_string(player, action) for action in actions]
    except RuntimeError as error:  # pybind11's, which does not say what it was given
        raise ValueError(
            f"{state.get_game()} names one of the actions {list(actions)} of player "
            f"{player} by what is no text in UTF-8, such as a lone surrogate: {error}"
        ) from error


def names_anywhere(
    game: pyspiel.Game,
    player: int,
    actions: Sequence[int],
    state: pyspiel.State | None = None,
) -> list[str]:
    """The names of a player's actions by compiled rules, which need no state; of other
    games those at a state, or without one those that the game gives whatever the state,
    else numbers.

    Args:
        game, player, actions: whose names, and of what.
        state: one where the player has these actions; None if there is none.
    """
    rules = rules_of(game)
    if rules is not None:
        words = rules.description.words
        return [words.action(rules.parameters, player, action) for action in actions]
    if state is not None:
        return names_at(state, player, actions)
    return [_plain_name(game, player, action) for action in actions]


def _plain_name(game: pyspiel.Game, player: int, action: int) -> str:
    try:
        name = game.action_to_string(player, action)
    except Exception:  # games raise what they like
        return str(action)
    return str(action) if _NO_NAME.fullmatch(name) else name
