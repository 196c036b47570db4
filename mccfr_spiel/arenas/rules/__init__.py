"""Games whose rules are small compiled functions; see docs/own_game.md."""

from mccfr_spiel.arenas.rules.bound_rules import BoundRules, rules_of
from mccfr_spiel.arenas.rules.declarations import GameError
from mccfr_spiel.arenas.rules.game import register
from mccfr_spiel.arenas.rules.game_description import (
    CHANCE,
    TERMINAL,
    Description,
    Parameter,
    Rules,
    Sizes,
    Words,
    compiled,
)

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
