"""Games whose rules are small compiled functions; see docs/own_game.md.

| module | content |
|---|---|
| `game_description` | a game as a record of functions |
| `bound_rules` | these functions with given parameters of the game |
| `declarations`, `state_checks` | declared bounds of a game, and checks against them |
| `game` | OpenSpiel games made from descriptions |
| `plain_rules` | rules in plain Python, which checks indices |
| `rule_calls` | calls of rules by the addresses of their machine code |
| `rule_faults` | statuses and messages for rules that contain errors |
| `row_table` | the hash table of information keys |
| `spelling` | compiled functions that write information-state strings |
| `rule_records`, `rule_infosets`, `played` | records and steps of loops over rules |
| `rule_store` | the infosets that walks have found so far |
| `rule_expansion` | the expansion of the whole tree |
| `walks` | rules as a source of nodes for walks |
| `following` | the same, for games in which some players follow fixed policies |
| `group_nodes`, `group_merging`, `grouped` | batches of walks shared by threads |
| `twins` | compiled versions ("twins") of some of OpenSpiel's own games |
"""

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
