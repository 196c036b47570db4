"""Load strings of games with an added parameter."""

import re

from mccfr_spiel.common.game_files import absolute_path, is_game_file


def load_string(game: str, players: int | None = None) -> str:
    """A game's load string with the parameter `players` added, if it is given.

    The path of a game file becomes absolute, so that a run can be resumed from another
    folder.

    Raises:
        ValueError: the load string has that parameter already, or the game is a file.
    """
    game = game.strip()
    if is_game_file(game):
        game = absolute_path(game)
        if players is not None:
            raise ValueError(
                f"players={players} is given, but the file {game} determines the "
                "number of players. Drop players."
            )
    if players is None:
        return game
    if re.search(r"[(,]\s*players\s*=", game):
        raise ValueError(f"players={players} is given beside {game}; drop one.")
    if game.endswith(")"):
        separator = "" if game.endswith("()") else ","
        return f"{game[:-1]}{separator}players={players})"
    return f"{game}(players={players})"
