"""Cards, the 1,326 hands of two cards, ranges, and exchanges of suits.

A card is a number, 4 * rank + suit, in the order 2s 2h 2d 2c 3s ... Ac. A hand is a
number, too: the index of the pair of cards in the order 2s2h, 2s2d, 2s2c, 2s3s, ...,
which is the order of OpenSpiel's `handReaches`.

A **range** gives the weight of each hand. As a text it is a list of entries separated
by commas: "QQ+,AKs,A5s:0.5,AhKh:0.3,random". An entry is a hand (AhKh), a type of hands
(QQ, AKs, AKo, AK) or a run of types (QQ+, 75s+, TT-77, A5s-A2s), with an optional
weight. The last entry for a hand wins.

An **exchange of suits** is a permutation of the suits that changes neither the initial
board nor the ranges. Exchanges of a history are played alike, so all exchanges of an
information state are one infoset. Its representative is built card by card, in the
order of the deal with the private hand at the end: each card becomes the smallest that
is possible without changing the earlier cards. Perfect recall is preserved, because
every prefix of a representative is one, too.
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
"""Names with the higher card first: "AhKh"."""

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
    names = re.findall(r"..", re.sub(r"[\s,]", "", text) + " ")
    names = [name[0].upper() + name[1].lower() for name in names]
    for name in names:
        if name not in DECK:
            raise ValueError(
                f"{where}={text!r}: unknown card {name!r}. Expected a rank of {RANKS} "
                f"and a suit of {SUITS}, e.g. Ah."
            )
        if names.count(name) > 1:
            raise ValueError(
                f"{where}={text!r} contains {name} twice. Cards must be different."
            )
    return [DECK.index(name) for name in names]


def hand(text: str) -> int:
    """The number of a hand such as "AhKh", with the cards in any order.

    Raises:
        ValueError: the text is not a hand of two cards.
    """
    cards = cards_of(text, "hand")
    if len(cards) != 2:
        raise ValueError(f"hand={text!r} has {len(cards)} cards, expected two.")
    return int(HAND_OF[cards[0], cards[1]])


# --- ranges: how likely a player is to hold each hand, in the notation of players -----


Range = str | Sequence[float] | np.ndarray
"""A text, or `[1326]` weights in the order of `cards.HANDS`."""

_KIND = rf"([{RANKS}])([{RANKS}])([so]?)"
_ENTRY = re.compile(rf"{_KIND}(?:(\+)|-{_KIND})?")

_HIGH, _LOW = HANDS[:, 1] // 4, HANDS[:, 0] // 4
_IS_SUITED = HANDS[:, 0] % 4 == HANDS[:, 1] % 4


class RangeError(ValueError):
    """A range is invalid; the message names the entry."""


def weights_of(given: Range, where: str) -> np.ndarray:
    """`[1326]` the weights of a range.

    Args:
        given: text or weights. In a text ";" may replace ",", and a list of 1,326
            numbers gives the weights of all hands.
        where: name of the argument, for messages.

    Raises:
        RangeError: an entry is unknown, a weight is negative or not finite, or the
            number of weights is not 1,326.
    """
    if isinstance(given, str):
        entries = [entry.strip() for entry in re.split(r"[,;]", given)]
        if len(entries) != len(HANDS):
            return _read([entry for entry in entries if entry], where)
        given = [_number(entry, entry, where) for entry in entries]
    try:
        weights = np.array(given, np.float64)
    except (TypeError, ValueError) as error:
        raise RangeError(f"{where} must be a text or 1,326 weights.") from error
    if weights.shape != (len(HANDS),):
        raise RangeError(
            f"{where} has the shape {weights.shape}, expected a text or 1,326 weights, "
            "one per hand (2s2h, 2s2d, 2s2c, 2s3s, ...)."
        )
    invalid = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(invalid):
        raise RangeError(
            f"{where}: the weight {weights[invalid[0]]} of hand {invalid[0]} must "
            "be finite and non-negative."
        )
    return weights


def text_of(weights: np.ndarray) -> str:
    """A text without commas that `weights_of` reads back exactly."""
    return ";".join(
        repr(int(weight) if weight == int(weight) else weight)
        for weight in weights.tolist()
    )


def _read(entries: Sequence[str], where: str) -> np.ndarray:
    """The weights of a list of entries."""
    weights = np.zeros(len(HANDS))
    for entry in entries:
        name, colon, number = entry.partition(":")
        weight = _number(number, entry, where) if colon else 1.0
        weights[_hands_of(name.strip(), entry, where)] = weight
    return weights


def _number(text: str, entry: str, where: str) -> float:
    """The weight in a text."""
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight < np.inf:
        raise RangeError(
            f"{where}: the weight {text!r} in {entry!r} must be a number from 0 up."
        )
    return weight


def _hands_of(name: str, entry: str, where: str) -> np.ndarray:
    """The hands that an entry names."""
    if name.lower() == "random":
        return np.arange(len(HANDS))
    if len(name) == 4:
        cards = [name[k].upper() + name[k + 1].lower() for k in (0, 2)]
        if {*cards} <= {*DECK}:
            if cards[0] == cards[1]:
                raise RangeError(f"{where}: {entry!r} contains a card twice.")
            return HAND_OF[DECK.index(cards[0]), DECK.index(cards[1]), None]
    kinds = re.sub(rf"(?i)[{RANKS}]", lambda rank: rank[0].upper(), name)
    match = _ENTRY.fullmatch(kinds)
    if match is None:
        raise RangeError(
            f"{where}: unknown entry {entry!r}. Expected QQ, AKs, AKo, AK, AhKh, QQ+, "
            "75s+, TT-77, A5s-A2s, random or the like, with an optional weight after a "
            "colon."
        )
    high, low, suits, has_plus, *other = match.groups()
    first = _ordered(high, low)
    pairs = [first]
    # A run ends with aces for pairs, else with the second card just below the first.
    if has_plus:  # all higher pairs, or all higher second cards (75s, 76s)
        last = (12, 12) if first[0] == first[1] else (first[0], first[0] - 1)
        pairs = [*_between(first, last)]
    elif other[0]:
        pairs = [*_between(first, _ordered(other[0], other[1]))]
        if not pairs or suits != other[2]:
            raise RangeError(
                f"{where}: {entry!r} is not a run. Both ends must be pairs (TT-77), "
                "share the higher card (A5s-A2s) or have the same gap (T9s-65s), and "
                "both must be suited, offsuit or neither."
            )
    if suits and any(a == b for a, b in pairs):
        raise RangeError(
            f"{where}: {entry!r}: a pair must not be suited or offsuit. Omit {suits}."
        )
    chosen = np.zeros(len(HANDS), bool)
    for ranks in pairs:
        chosen |= (ranks[0] == _HIGH) & (ranks[1] == _LOW)
    if suits:
        chosen &= (suits == "s") == _IS_SUITED
    return np.flatnonzero(chosen)


def _ordered(first: str, second: str) -> tuple[int, int]:
    """Two ranks as numbers, the higher first."""
    low, high = sorted((RANKS.index(first), RANKS.index(second)))
    return high, low


def _between(
    first: tuple[int, int], second: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """The types of hands from one end of a run to the other; empty if the ends form no
    run.

    A run has equal higher cards (A5s-A2s), or equal gaps (T9s-65s).
    """
    (high, low), (top, bottom) = sorted((first, second))
    if high == top and (high == low) == (top == bottom):
        yield from ((high, rank) for rank in range(low, bottom + 1))
    elif high - low == top - bottom:
        yield from ((high + k, low + k) for k in range(top - high + 1))


# --- exchanges of suits that change nothing in a subgame, and what they make equal ----


_SUITS = 4


def exchanges(board: Sequence[int], ranges: np.ndarray) -> np.ndarray:
    """`[K, 52]` the cards after each exchange of suits; the first exchange changes
    nothing.

    Args:
        board: initial board, in any order.
        ranges: `[2, 1326]` weights. exchanges preserve these weights exactly.
    """
    rank, suit = np.divmod(np.arange(len(HAND_OF)), _SUITS)
    permutations = []
    for order in itertools.permutations(range(_SUITS)):
        cards = _SUITS * rank + np.array(order)[suit]
        moved = HAND_OF[tuple(cards[HANDS].T)]
        if {*cards[[*board]]} == {*board} and (ranges[:, moved] == ranges).all():
            permutations.append(cards)
    return np.array(permutations)


def canonical_deal(
    stabilizer: np.ndarray, deal: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """The exchange that maps a deal to its representative.

    Args:
        found: `[K, 52]` all exchanges.
        deal: cards dealt since the start of the subgame, in order.

    Returns:
        `[52]` the exchange, and `[k, 52]` the exchanges that keep the representative.
    """
    exchange = stabilizer[0]
    # Invariant: `exchange` maps the earlier cards to the representatives, and
    # `stabilizer` has the exchanges that keep these. An iteration picks the exchange in
    # the stabilizer that maps the next card to the smallest card.
    for card in deal:
        cards = stabilizer[:, exchange[card]]
        exchange = stabilizer[cards.argmin()][exchange]
        stabilizer = stabilizer[stabilizer[:, exchange[card]] == exchange[card]]
    return exchange, stabilizer


def representatives(
    hands: np.ndarray | int, exchange: np.ndarray, stabilizer: np.ndarray
) -> np.ndarray:
    """Representatives of hands, given a deal.

    Args:
        hands: numbers of hands.
        exchange, stabilizer: results of `canonical_deal`.
    """
    cards = stabilizer[:, exchange[HANDS[hands]]]
    return HAND_OF[cards[..., 0], cards[..., 1]].min(axis=0)
