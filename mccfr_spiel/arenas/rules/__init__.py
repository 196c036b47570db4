"""Games whose rules are small compiled functions; see docs/own_game.md.

| module | content |
|---|---|
| `game_description`, `bound_rules` | a game as functions; these with given parameters |
| `declarations`, `state_checks` | declared bounds of a game, and checks against them |
| `game` | OpenSpiel games made from descriptions |
| `plain_rules` | rules in plain Python, which checks indices |
| `rule_calls` | calls of rules by the addresses of their machine code |
| `rule_faults` | statuses and messages of wrong rules |
| `row_table` | the hash table of information keys |
| `spelling` | compiled functions that write information-state strings |
| `rule_records`, `rule_infosets`, `played` | records and steps of loops over rules |
| `rule_store` | the infosets that walks have met |
| `rule_expansion` | the expansion of the whole tree |
| `walks`, `following` | rules as a source of nodes for walks; with fixed policies |
| `group_nodes`, `group_merging`, `grouped` | batches of walks shared by threads |
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
