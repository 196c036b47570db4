"""Games whose rules are small compiled functions; see docs/own_game.md."""

from mccfr_spiel.arenas.rules.description import (
    CHANCE,
    TERMINAL,
    BoundRules,
    Description,
    GameError,
    Parameter,
    Rules,
    Sizes,
    Words,
    compiled,
    rules_of,
)
from mccfr_spiel.arenas.rules.game import register

__all__ = [
    "CHANCE",
    "TERMINAL",
    "BoundRules",
    "Description",
    "GameError",
    "Parameter",
    "Rules",
    "Sizes",
    "Words",
    "compiled",
    "register",
    "rules_of",
]
