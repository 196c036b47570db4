"""Ranges: how likely a player is to hold each hand, in the notation of players.

A range is a list of entries, separated by commas: "QQ+,AKs,A5s:0.5,AhKh:0.3,random". An
entry is one hand (AhKh), a kind of hands (QQ, AKs, AKo, AK), or several kinds (QQ+,
75s+, TT-77, A5s-A2s), and may end with a weight. The last entry for a hand wins.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from mccfr_spiel.poker.cards import DECK, HAND_OF, HANDS, RANKS

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
    if plus:
        pairs = [*_upward(*first)]
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


def _upward(high: int, low: int) -> Iterator[tuple[int, int]]:
    """What "+" stands for: all higher pairs, or all higher second cards (75s, 76s)."""
    if high == low:
        yield from ((rank, rank) for rank in range(low, 13))
    else:
        yield from ((high, rank) for rank in range(low, high))


def _between(one: tuple[int, int], other: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The hands of a run, from either end; none if it is no run."""
    (high, low), (top, bottom) = sorted((one, other))
    if high == top and (high == low) == (top == bottom):
        yield from ((high, rank) for rank in range(low, bottom + 1))
    elif high - low == top - bottom:
        yield from ((high + k, low + k) for k in range(top - high + 1))
