"""Heads-up no-limit hold'em, from a flop, a turn or a river on, solved exactly.

cards.py     cards, hands of two, ranges, and what suits change
subgames.py  which bets are legal where, and all of it as one game
study.py     what a policy does and is worth, hand by hand

What users need of these files is in the stub `__init__.pyi`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
