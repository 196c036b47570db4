r"""Keys for information-state strings that need the player in addition.

situation                                           key for player 1
several players have the same string                "player 1: " + string
turn-based form of a game with simultaneous moves   "Current player: 1\n" + string

OpenSpiel's turn-based form makes the second kind of string itself.
"""

import re
from typing import NoReturn

import pyspiel

OWNED = re.compile(r"player (\d+): (.*)", re.DOTALL)
"""Matches a key that `owned` made. The groups are the player and the string."""


def owned(info_state: str, player: int) -> str:
    """The key of a player's information state if other players have the same string."""
    return f"player {player}: {info_state}"


def raise_shared(info_state: str) -> NoReturn:
    """Raises ValueError for a string that several players have."""
    raise ValueError(
        f"More than one player has the information state {info_state!r}, which a "
        "pyspiel policy cannot represent. Use the policy itself or to_tabular(), which "
        "accept states."
    )


def without_turn(name: str) -> str:
    """Removes the line with the player from a string of the turn-based form."""
    return name.partition("\n")[2]


def with_turn(player: int, info_state: str) -> str:
    """Adds the line with the player, as OpenSpiel's turn-based form of a game does."""
    return f"Current player: {player}\n{info_state}"


def is_turn_based(game: pyspiel.Game) -> bool:
    """Whether a game is OpenSpiel's turn-based form of another game."""
    return game.get_type().short_name == "turn_based_simultaneous_game"
