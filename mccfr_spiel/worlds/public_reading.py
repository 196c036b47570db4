"""Reads public trees of OpenSpiel's games of cards."""
from typing import Any

import pyspiel

from mccfr_spiel.worlds.public_tree import PublicTree


def has_public_tree(game: pyspiel.Game) -> bool:
    return hasattr(game, "public_tree")


def read_public_tree(game: Any) -> PublicTree:
    return game.public_tree()
