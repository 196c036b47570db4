"""Exchanges of suits that change nothing in a subgame, and what they make equal.

An exchange is a permutation of the four suits that leaves the first board and both
ranges as they are. Whatever it makes of a history is played alike, so all that it makes
of an information state is one. Of the cards that are dealt one after the other the
smallest possible ones stand for all: the first is the smallest that exchanges make of
it, the next the smallest that those make of it which keep the first, and so on, and a
hand comes last. So a player still remembers all cards and moves.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from mccfr_spiel.poker.cards import HAND_OF, HANDS

_SUITS = 4


def exchanges(board: Sequence[int], ranges: np.ndarray) -> np.ndarray:
    """`[K, 52]` what each exchange makes of the cards; the first one changes nothing.

    Args:
        board: the cards on the table, in any order.
        ranges: `[2, 1326]` weights, which must be equal to the last bit.
    """
    rank, suit = np.divmod(np.arange(len(HAND_OF)), _SUITS)
    found = []
    for order in itertools.permutations(range(_SUITS)):
        cards = _SUITS * rank + np.array(order)[suit]
        moved = HAND_OF[tuple(cards[HANDS].T)]
        if {*cards[[*board]]} == {*board} and (ranges[:, moved] == ranges).all():
            found.append(cards)
    return np.array(found)


def kept(found: np.ndarray, deal: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """`[52]` the exchange that leads cards, dealt in this order, to those that stand
    for them; and `[k, 52]` the exchanges that leave these as they are.

    Args:
        found: `[K, 52]` all exchanges.
        deal: the cards, from the start of the subgame.
    """
    way = found[0]
    for card in deal:
        cards = found[:, way[card]]
        way = found[cards.argmin()][way]
        found = found[found[:, way[card]] == way[card]]
    return way, found


def stand_for(hands: np.ndarray | int, way: np.ndarray, left: np.ndarray) -> np.ndarray:
    """The hands that stand for some hands, where `kept` gave `way` and `left`."""
    cards = left[:, way[HANDS[hands]]]
    return HAND_OF[cards[..., 0], cards[..., 1]].min(axis=0)
