"""Heads-up no-limit hold'em, from a flop, a turn or a river on, solved exactly.

cards.py     cards, hands of two, and how strong they are
ranges.py    ranges in the notation of players
betting.py   which bets are legal where
subgames.py  all of it as one game
"""

from mccfr_spiel.poker.ranges import RangeError
from mccfr_spiel.poker.subgames import load_endgame, subgame

__all__ = ["RangeError", "load_endgame", "subgame"]
