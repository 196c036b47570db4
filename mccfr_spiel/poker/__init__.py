"""Heads-up no-limit hold'em, from a flop, a turn or a river on, solved exactly.

cards.py     cards, hands of two, ranges, and what suits change
subgames.py  which bets are legal where, and all of it as one game
study.py     what a policy does and is worth, hand by hand
"""

from mccfr_spiel.poker.cards import RangeError, hand
from mccfr_spiel.poker.study import Decision, Study, equities, equity, values
from mccfr_spiel.poker.subgames import load_endgame, subgame
from mccfr_spiel.tree.full_pass import Cost, cost

__all__ = [
    "Cost",
    "Decision",
    "RangeError",
    "Study",
    "cost",
    "equities",
    "equity",
    "hand",
    "load_endgame",
    "subgame",
    "values",
]
