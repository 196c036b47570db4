"""Heads-up no-limit hold'em from a flop, turn or river on, solved exactly.

    cards.py      cards and hands of two cards
    ranges.py     ranges in the notation of players
    suits.py      exchanges of suits, and representatives of equal deals
    betting.py    legal bets, and the betting tree without cards
    subgames.py   a subgame as a value, and as an OpenSpiel game
    endgames.py   reads the endgames of Libratus
    study.py      frequencies, equities and EVs of a policy, hand by hand

The stub `__init__.pyi` lists the public names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
