"""Cards, and the 1,326 hands of two cards.

A card is a number, 4 * rank + suit, in the order 2s 2h 2d 2c 3s ... Ac. A hand is a
number, too: the index of the pair of cards in the order 2s2h, 2s2d, 2s2c, 2s3s, ...,
which is the order of OpenSpiel's `handReaches`.
"""

import itertools
import re

import numpy as np

from mccfr_spiel.common.display import counted

RANKS, SUITS = "23456789TJQKA", "shdc"

DECK = [rank + suit for rank in RANKS for suit in SUITS]

HANDS = np.array([*itertools.combinations(range(52), 2)])
"""`[1326, 2]` the cards of each hand, the smaller number first."""

HAND_NAMES = [DECK[high] + DECK[low] for low, high in HANDS.tolist()]
"""Names with the higher card first: "AhKh"."""

_KIND = re.compile(rf"(?i)[{RANKS}]{{2}}[so]?")

HAND_OF = np.full((52, 52), -1)
"""`[52, 52]` the hand of two cards in any order; -1 on the diagonal."""
HAND_OF[HANDS[:, 0], HANDS[:, 1]] = HAND_OF[HANDS[:, 1], HANDS[:, 0]] = range(1326)


def cards_of(text: str, where: str) -> list[int]:
    """The cards of a text such as "4s8hTc9h2s" or "Qs, Jh, 2h".

    Args:
        text: cards, optionally separated by commas or spaces.
        where: name of the argument, for messages.

    Raises:
        ValueError: the text contains anything but cards, or a card twice.
    """
    if not isinstance(text, str):
        raise ValueError(f"{where}={text!r} must be a text of cards, e.g. Ks7d4c.")
    given = re.findall(r"..?", re.sub(r"[\s,]", "", text))
    names = [name[0].upper() + name[1:].lower() for name in given]
    for part, name in zip(given, names, strict=True):
        if name not in DECK:
            raise ValueError(
                f"{where}={text!r}: unknown card {part!r}. Expected a rank of {RANKS} "
                f"and a suit of {SUITS}, e.g. Ah."
            )
        if names.count(name) > 1:
            raise ValueError(
                f"{where}={text!r} contains {name} twice. Cards must be different."
            )
    return [DECK.index(name) for name in names]


def board_of(text: str) -> str:
    """The usual spelling of a board: "Ks7d4c" for "KS, 7d, 4c".

    Raises:
        ValueError: see `cards_of`.
    """
    return "".join(DECK[card] for card in cards_of(text, "board"))


def hand(text: str) -> int:
    """The number of a hand such as "AhKh", with the cards in any order.

    Raises:
        ValueError: the text is not a hand of two cards.
    """
    if isinstance(text, str) and _KIND.fullmatch(text.strip()):
        raise ValueError(
            f"hand={text!r} is a type of hands. Expected two cards, e.g. AhKh."
        )
    cards = cards_of(text, "hand")
    if len(cards) != 2:
        raise ValueError(
            f"hand={text!r} has {counted(len(cards), 'card')}, expected two, e.g. AhKh."
        )
    return int(HAND_OF[cards[0], cards[1]])
