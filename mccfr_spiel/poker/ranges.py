"""Ranges of hands in the notation of players.

A **range** gives the weight of each hand. As a text it is a list of entries separated
by commas: "QQ+,AKs,A5s:0.5,AhKh:0.3,random". An entry is a hand (AhKh), a type of hands
(QQ, AKs, AKo, AK) or a run of types (QQ+, 75s+, TT-77, A5s-A2s), with an optional
weight. The last entry for a hand wins.
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
