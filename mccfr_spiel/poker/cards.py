"""Cards, the 1,326 hands of two cards, and how strong they are with a board.

A card is a number: 4 * rank + suit, in the order 2s 2h 2d 2c 3s ... Ac. A hand is a
number, too: its place among the pairs of cards, first card major (2s2h, 2s2d, 2s2c,
2s3s, ...), which is the order of OpenSpiel's `handReaches`.

**Ranges** say how likely a player is to hold each hand. A range is a list of entries,
separated by commas: "QQ+,AKs,A5s:0.5,AhKh:0.3,random". An entry is one hand (AhKh), a
kind of hands (QQ, AKs, AKo, AK), or several kinds (QQ+, 75s+, TT-77, A5s-A2s), and may
end with a weight. The last entry for a hand wins.

**Exchanges of suits.** An exchange is a permutation of the four suits that leaves the
first board and both ranges as they are. Whatever it makes of a history is played alike,
so all that it makes of an information state is one. Of the cards that are dealt one
after the other the smallest possible ones stand for all: the first is the smallest that
exchanges make of it, the next the smallest that those make of it which keep the first,
and so on, and a hand comes last. So a player still remembers all cards and moves.
"""

import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np

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
    """The cards of a text such as "4s8hTc9h2s" or "Qs, Jh, 2h".

    Args:
        text: what to read.
        where: what it is called, for messages.

    Raises:
        ValueError: it is no list of cards, or a card stands there twice.
    """
    if not isinstance(text, str):
        raise ValueError(f"{where}={text!r} is no text of cards, such as Ks7d4c.")
    names = re.findall(r"..", re.sub(r"[\s,]", "", text) + " ")
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


# --- ranges: how likely a player is to hold each hand, in the notation of players -----


Range = str | Sequence[float] | np.ndarray
"""A text, or `[1326]` weights in the order of `cards.HANDS`."""

_KIND = rf"([{RANKS}])([{RANKS}])([so]?)"
_ENTRY = re.compile(rf"{_KIND}(?:(\+)|-{_KIND})?")

_HIGH, _LOW = HANDS[:, 1] // 4, HANDS[:, 0] // 4
_IS_SUITED = HANDS[:, 0] % 4 == HANDS[:, 1] % 4


class RangeError(ValueError):
    """What was given as a range is none; the message names the entry."""


def weights_of(given: Range, where: str) -> np.ndarray:
    """`[1326]` the weight of each hand.

    Args:
        given: the range. In a text ";" may stand for the comma, and 1,326 numbers are
            taken as they are.
        where: what it is called, for messages.

    Raises:
        RangeError: an entry is none, a weight is negative or no number, or there are
            not 1,326 weights.
    """
    if isinstance(given, str):
        entries = [entry.strip() for entry in re.split(r"[,;]", given)]
        if len(entries) != len(HANDS):
            return _read([entry for entry in entries if entry], where)
        given = [_number(entry, entry, where) for entry in entries]
    try:
        weights = np.array(given, np.float64)
    except (TypeError, ValueError) as error:
        raise RangeError(f"{where} is neither a text nor 1,326 weights.") from error
    if weights.shape != (len(HANDS),):
        raise RangeError(
            f"{where} has the shape {weights.shape}; a range is a text or 1,326 "
            "weights, one for each hand (2s2h, 2s2d, 2s2c, 2s3s, ...)."
        )
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(wrong):
        raise RangeError(
            f"{where}: the weight {weights[wrong[0]]} of hand {wrong[0]} is no number "
            "from 0 up."
        )
    return weights


def text_of(weights: np.ndarray) -> str:
    """A text without commas that `weights_of` reads back to the bit."""
    return ";".join(
        repr(int(weight) if weight == int(weight) else weight)
        for weight in weights.tolist()
    )


def _read(entries: Sequence[str], where: str) -> np.ndarray:
    weights = np.zeros(len(HANDS))
    for entry in entries:
        name, colon, number = entry.partition(":")
        weight = _number(number, entry, where) if colon else 1.0
        weights[_hands_of(name.strip(), entry, where)] = weight
    return weights


def _number(text: str, entry: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < np.inf:
        raise RangeError(f"{where}: {text!r} in {entry!r} is no weight from 0 up.")
    return number


def _hands_of(name: str, entry: str, where: str) -> np.ndarray:
    """The hands that an entry names."""
    if name.lower() == "random":
        return np.arange(len(HANDS))
    if len(name) == 4:
        cards = [name[k].upper() + name[k + 1].lower() for k in (0, 2)]
        if {*cards} <= {*DECK}:
            if cards[0] == cards[1]:
                raise RangeError(f"{where}: {entry!r} has one card twice.")
            return HAND_OF[DECK.index(cards[0]), DECK.index(cards[1]), None]
    kinds = re.sub(rf"(?i)[{RANKS}]", lambda rank: rank[0].upper(), name)
    found = _ENTRY.fullmatch(kinds)
    if found is None:
        raise RangeError(
            f"{where}: {entry!r} is no hand, such as QQ, AKs, AKo, AK, AhKh, QQ+, "
            "75s+, TT-77, A5s-A2s or random, each with a weight behind a colon if it "
            "is not 1."
        )
    high, low, suits, plus, *other = found.groups()
    first = _ordered(high, low)
    pairs = [first]
    if plus:  # all higher pairs, or all higher second cards (75s, 76s)
        last = (12, 12) if first[0] == first[1] else (first[0], first[0] - 1)
        pairs = [*_between(first, last)]
    elif other[0]:
        pairs = [*_between(first, _ordered(other[0], other[1]))]
        if not pairs or suits != other[2]:
            raise RangeError(
                f"{where}: {entry!r} is no run of hands. A run is of pairs (TT-77), or "
                "of hands that share the higher card (A5s-A2s) or are equally far "
                "apart (T9s-65s), all suited, all offsuit, or all both."
            )
    if suits and any(a == b for a, b in pairs):
        raise RangeError(f"{where}: {entry!r}: a pair is neither suited nor offsuit.")
    chosen = np.zeros(len(HANDS), bool)
    for one in pairs:
        chosen |= (one[0] == _HIGH) & (one[1] == _LOW)
    if suits:
        chosen &= (suits == "s") == _IS_SUITED
    return np.flatnonzero(chosen)


def _ordered(one: str, other: str) -> tuple[int, int]:
    """Two ranks as numbers, the higher one first."""
    low, high = sorted((RANKS.index(one), RANKS.index(other)))
    return high, low


def _between(one: tuple[int, int], other: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The hands of a run, from either end; none if it is no run."""
    (high, low), (top, bottom) = sorted((one, other))
    if high == top and (high == low) == (top == bottom):
        yield from ((high, rank) for rank in range(low, bottom + 1))
    elif high - low == top - bottom:
        yield from ((high + k, low + k) for k in range(top - high + 1))


# --- exchanges of suits that change nothing in a subgame, and what they make equal ----


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
