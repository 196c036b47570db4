"""Spellings of information-state strings: by player, and with or without the turn."""

import re
from typing import NoReturn

import pyspiel

OWNED = re.compile(r"player (\d+): (.*)", re.DOTALL)
"""What `owned` returns: its groups are the player and the string."""


def owned(info_state: str, player: int) -> str:
    """The key of a player's information state whose string players share."""
    return f"player {player}: {info_state}"


def raise_shared(info_state: str) -> NoReturn:
    """Raises ValueError for a string that several players have."""
    raise ValueError(
        f"More than one player has the information state {info_state!r}; a pyspiel "
        "policy cannot tell them apart. Use the policy itself or its to_tabular(), "
        "which answer states."
    )


def without_turn(name: str) -> str:
    """The game's own string, given the string of its turn-based form."""
    return name.partition("\n")[2]


def with_turn(player: int, info_state: str) -> str:
    """The string as OpenSpiel's turn-based form of the game spells it."""
    return f"Current player: {player}\n{info_state}"


def is_turn_based(game: pyspiel.Game) -> bool:
    """Whether a game is OpenSpiel's turn-based form of another game."""
    return game.get_type().short_name == "turn_based_simultaneous_game"
