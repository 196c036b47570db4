"""Names of actions and chance outcomes, as OpenSpiel's `action_to_string` returns them.

A name may depend on the state, and trees store no states. Callers therefore pass a
state of the infoset, which a tree replays from the root. Compiled rules name actions
without a state.
"""

import re
from collections.abc import Sequence

import pyspiel

from mccfr_spiel.arenas.rules.bound_rules import (
    rules_of,
)

_NO_NAME = re.compile(r"Action\(id=\d+, player=-?\d+\)")
"""Name that OpenSpiel's base class of games returns if a game can only name actions at
a state."""


def names_at(state: pyspiel.State, player: int, actions: Sequence[int]) -> list[str]:
    """Names of a player's actions, or of chance outcomes, at a state.

    Raises:
        ValueError: a name is not valid UTF-8 text.
    """
    try:
        return [state.action_to_string(player, action) for action in actions]
    except RuntimeError as error:  # pybind11's message does not contain the name
        raise ValueError(
            f"{state.get_game()} must name the actions {list(actions)} of player "
            f"{player} in valid UTF-8; a name has a lone surrogate or is not text: "
            f"{error}"
        ) from error


def names_anywhere(
    game: pyspiel.Game,
    player: int,
    actions: Sequence[int],
    state: pyspiel.State | None = None,
) -> list[str]:
    """Names of a player's actions, even if no state is known.

    If the game has compiled rules, they name the actions. Otherwise the names are those
    at `state`. Without a state they are the names that the game uses at every state, or
    if there are none, the action numbers.

    Args:
        game: the game.
        player: the player.
        actions: actions of the player.
        state: a state where the player has these actions; None if no such state is
            known.

    Raises:
        ValueError: see `names_at`.
    """
    rules = rules_of(game)
    if rules is not None:
        names = rules.description.words
        return [names.action(rules.parameters, player, action) for action in actions]
    if state is not None:
        return names_at(state, player, actions)
    return [_plain_name(game, player, action) for action in actions]


def _plain_name(game: pyspiel.Game, player: int, action: int) -> str:
    try:
        name = game.action_to_string(player, action)
    except Exception:  # games raise arbitrary exceptions
        return str(action)
    return str(action) if _NO_NAME.fullmatch(name) else name
