"""Recognizes paths of game files, which users may pass in place of a game's name."""

import os
import pathlib

ENDINGS = (".efg", ".nfg")
"""Endings of Gambit's extensive and strategic games."""


def is_game_file(game: str) -> bool:
    """Whether a game's name is the path of a game file, judged by the ending."""
    return game.lower().endswith(ENDINGS)


def absolute_path(game: str) -> str:
    """Expands `~` in the path of a game file and makes the path absolute."""
    return os.path.abspath(os.path.expanduser(game))


def short_name(game: str) -> str:
    """The file's name without folders if `game` is a game file, otherwise `game`."""
    return pathlib.Path(game).name if is_game_file(game) else game
