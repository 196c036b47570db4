"""Heads-up no-limit hold'em, from a flop, a turn or a river on, solved exactly.

cards.py     cards, hands of two, and how strong they are
ranges.py    ranges in the notation of players
betting.py   which bets are legal where
subgames.py  all of it as one game
suits.py     which boards and hands are played alike
study.py     what a policy does and is worth, hand by hand
"""

from mccfr_spiel.poker.cards import hand
from mccfr_spiel.poker.ranges import RangeError
from mccfr_spiel.poker.study import Decision, Study, equities, equity, values
from mccfr_spiel.poker.subgames import load_endgame, subgame
from mccfr_spiel.tree.costs import Cost, cost

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
