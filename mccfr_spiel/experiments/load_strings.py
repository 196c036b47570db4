"""Load strings of games with an added parameter."""

import re


def load_string(game: str, players: int | None = None) -> str:
    """A game's load string with the parameter `players` added, if it is given.

    Raises:
        ValueError: the load string has that parameter already.
    """
    game = game.strip()
    if players is None:
        return game
    if re.search(r"[(,]\s*players\s*=", game):
        raise ValueError(f"players={players} is given beside {game}; drop one.")
    if game.endswith(")"):
        separator = "" if game.endswith("()") else ","
        return f"{game[:-1]}{separator}players={players})"
    return f"{game}(players={players})"
