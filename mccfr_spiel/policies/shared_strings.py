r"""Spellings of information-state strings: with a player, with or without the turn.

kind of game                             spelling
two players share a string               "player 1: " + string
turn-based form of simultaneous moves    "Current player: 1\n" + string
"""

import re
from typing import NoReturn

import pyspiel

OWNED = re.compile(r"player (\d+): (.*)", re.DOTALL)
"""Matches the result of `owned`; the groups are the player and the string."""


def owned(info_state: str, player: int) -> str:
    """The key of a player's information state whose string players share."""
    return f"player {player}: {info_state}"


def raise_shared(info_state: str) -> NoReturn:
    """Raises ValueError for a string that players share."""
    raise ValueError(
        f"More than one player has the information state {info_state!r}, which a "
        "pyspiel policy cannot represent. Use the policy itself or to_tabular(), which "
        "accept states."
    )


def without_turn(name: str) -> str:
    """Removes the turn from a string of the turn-based form."""
    return name.partition("\n")[2]


def with_turn(player: int, info_state: str) -> str:
    """Adds the turn, as OpenSpiel's turn-based form of a game does."""
    return f"Current player: {player}\n{info_state}"


def is_turn_based(game: pyspiel.Game) -> bool:
    """Whether a game is OpenSpiel's turn-based form of another game."""
    return game.get_type().short_name == "turn_based_simultaneous_game"
