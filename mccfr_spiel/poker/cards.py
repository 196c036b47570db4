"""Cards, the 1,326 hands of two cards, and how strong they are with a board.

A card is a number: 4 * rank + suit, in the order 2s 2h 2d 2c 3s ... Ac. A hand is a
number, too: its place among the pairs of cards, first card major (2s2h, 2s2d, 2s2c,
2s3s, ...), which is the order of OpenSpiel's `handReaches`.
"""

import itertools
import re

import numpy as np

from mccfr_spiel.worlds.strengths import strengths as strengths  # known from here

RANKS, SUITS = "23456789TJQKA", "shdc"

DECK = [rank + suit for rank in RANKS for suit in SUITS]

HANDS = np.array([*itertools.combinations(range(52), 2)])
"""`[1326, 2]` the cards of each hand, the smaller number first."""

HAND_NAMES = [DECK[high] + DECK[low] for low, high in HANDS.tolist()]
"""As players write them, the higher card first: "AhKh"."""

HAND_OF = np.full((52, 52), -1)
"""`[52, 52]` the hand of two cards in any order; -1 on the diagonal."""
HAND_OF[HANDS[:, 0], HANDS[:, 1]] = HAND_OF[HANDS[:, 1], HANDS[:, 0]] = range(1326)


def cards_of(text: str, where: str) -> list[int]:
    """The cards of a text such as "4s8hTc9h2s"; spaces may stand between them.

    Args:
        text: what to read.
        where: what it is called, for messages.

    Raises:
        ValueError: it is no list of cards, or a card stands there twice.
    """
    names = re.findall(r"..", re.sub(r"\s", "", text) + " ")
    names = [name[0].upper() + name[1].lower() for name in names]
    for name in names:
        if name not in DECK:
            raise ValueError(
                f"{where}={text!r}: {name!r} is no card. A card is a rank of {RANKS} "
                f"and a suit of {SUITS}, such as Ah."
            )
        if names.count(name) > 1:
            raise ValueError(f"{where}={text!r} has {name} twice.")
    return [DECK.index(name) for name in names]


def hand(text: str) -> int:
    """The number of a hand such as "AhKh", its cards in any order.

    Raises:
        ValueError: it is no hand of two cards.
    """
    cards = cards_of(text, "hand")
    if len(cards) != 2:
        raise ValueError(f"hand={text!r} has {len(cards)} cards instead of two.")
    return int(HAND_OF[cards[0], cards[1]])
