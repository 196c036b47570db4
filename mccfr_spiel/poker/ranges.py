"""Ranges of hands in the notation of players.

A **range** gives the weight of each hand. As a text it is a list of entries separated
by commas: "QQ+,AKs,A5s:0.5,AhKh:0.3,random". An entry is a hand (AhKh), a type of hands
(QQ, AKs, AKo, AK) or a run of types (QQ+, 75s+, TT-77, A5s-A2s), with an optional
weight. The last entry for a hand wins. "20%" has the best fifth of all hands, by their
equity against a random hand before the flop.
"""

import re
import reprlib
from collections.abc import Iterator, Sequence

import numpy as np

from mccfr_spiel.poker.cards import DECK, HAND_OF, HANDS, RANKS

Range = str | Sequence[float] | np.ndarray
"""A text, or `[1326]` weights in the order of `cards.HANDS`."""

_KIND = rf"([{RANKS}])([{RANKS}])([so]?)"
_ENTRY = re.compile(rf"{_KIND}(?:(\+)|-{_KIND})?")

_HIGH, _LOW = HANDS[:, 1] // 4, HANDS[:, 0] // 4
_IS_SUITED = HANDS[:, 0] % 4 == HANDS[:, 1] % 4


_PERCENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)%")

BY_EQUITY = (
    "AA KK QQ JJ TT 99 88 AKs 77 AQs AJs AKo ATs AQo AJo KQs 66 A9s ATo KJs A8s "
    "KTs KQo A7s A9o KJo 55 QJs K9s A5s A6s A8o KTo QTs A4s A7o K8s A3s QJo K9o "
    "A5o A6o Q9s K7s JTs A2s QTo 44 A4o K6s K8o Q8s A3o K5s J9s Q9o JTo K7o A2o "
    "K4s Q7s K6o K3s T9s J8s 33 Q6s Q8o K5o J9o K2s Q5s T8s K4o J7s Q4s Q7o T9o "
    "J8o K3o Q6o Q3s 98s T7s J6s K2o 22 Q2s Q5o J5s T8o J7o Q4o 97s J4s T6s J3s "
    "Q3o 98o 87s T7o J6o 96s J2s Q2o T5s J5o T4s 97o 86s J4o T6o 95s T3s 76s J3o "
    "87o T2s 85s 96o J2o T5o 94s 75s T4o 93s 86o 65s 84s 95o T3o 92s 76o 74s T2o "
    "54s 85o 64s 83s 94o 75o 82s 73s 93o 65o 53s 63s 84o 92o 43s 74o 72s 54o 64o "
    "52s 62s 83o 42s 82o 73o 53o 63o 32s 43o 72o 52o 62o 42o 32o "
)
"""All types of hands, by descending equity against a random hand before the flop."""


SMALLEST, LARGEST = 1e-9, 1e9
"""Limits of the largest weight of a range. Solvers compute with float32 numbers, whose
products with weights outside of these limits would overflow or vanish."""


class RangeError(ValueError):
    """A range is invalid; the message names the entry."""


def weights_of(given: Range, where: str) -> np.ndarray:
    """`[1326]` the weights of a range.

    Args:
        given: text or weights. In a text ";" may replace ",", and a list of 1,326
            numbers gives the weights of all hands.
        where: name of the argument, for messages.

    Raises:
        RangeError: an entry is unknown, a weight is negative or not finite, the largest
            weight is positive but extreme, or the number of weights is not 1,326.
    """
    if isinstance(given, str):
        entries = [entry.strip() for entry in re.split(r"[,;]", given)]
        if len(entries) != len(HANDS):
            weights = _read([entry for entry in entries if entry], where)
            return _moderate(weights, where)
        given = [_number(entry, entry, where) for entry in entries]
    try:
        if np.iscomplexobj(given) or not np.ndim(given):
            raise TypeError
        weights = np.array(given, np.float64)
    except (TypeError, ValueError) as error:
        raise RangeError(
            f"{where}={reprlib.repr(given)} must be a text, such as QQ+,AKs:0.5, or "
            "1,326 weights."
        ) from error
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
    return _moderate(weights, where)


def _moderate(weights: np.ndarray, where: str) -> np.ndarray:
    """Returns the weights, unless the largest weight is extreme."""
    largest = weights.max()
    if largest > 0 and not SMALLEST <= largest <= LARGEST:
        raise RangeError(
            f"{where}: the largest weight {largest:g} must be between {SMALLEST:g} and "
            f"{LARGEST:g}. Only ratios of weights matter: multiply all weights of the "
            "range by the same number."
        )
    return weights


def weights_off(board: Sequence[int], given: Range, where: str) -> np.ndarray:
    """`[1326]` the weights of a range without hands that contain a card of the board.

    Raises:
        RangeError: see `weights_of`, or no weight is positive.
    """
    weights = weights_of(given, where)
    if not weights.any():
        raise RangeError(f"{where} is empty: no hand has a weight above 0.")
    weights[np.isin(HANDS, board).any(axis=1)] = 0.0
    if not weights.any():
        cards = "".join(DECK[card] for card in board)
        raise RangeError(
            f"{where} is empty: all hands contain a card of the board {cards}."
        )
    return weights


def pair_of(ranges: Sequence[Range]) -> Sequence[Range]:
    """Returns the two ranges.

    Raises:
        RangeError: these are not two ranges.
    """
    is_several = isinstance(ranges, Sequence | np.ndarray)
    if isinstance(ranges, str) or not is_several or len(ranges) != 2:
        raise RangeError(
            f"ranges={reprlib.repr(ranges)} must be a pair, one range per player, such "
            'as ("QQ+,AKs", "TT-77").'
        )
    return ranges


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
            f"{where}: the weight {text!r} in {entry!r} must be a number from 0 up, "
            "e.g. 0.5."
        )
    return weight


def _hands_of(name: str, entry: str, where: str) -> np.ndarray:
    """The hands that an entry names."""
    if name.lower() == "random":
        return np.arange(len(HANDS))
    if percent := _PERCENT.fullmatch(name):
        return _best_hands(float(percent[1]), entry, where)
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
            "75s+, TT-77, A5s-A2s, 20%, random or the like, with an optional weight "
            "after a colon. Separate entries by commas."
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


def _best_hands(percent: float, entry: str, where: str) -> np.ndarray:
    """The best hands that make up at most a percentage of all hands."""
    if not 0 < percent <= 100:
        raise RangeError(f"{where}: {entry!r} must be more than 0% and at most 100%.")
    chosen: list[int] = []
    for kind in BY_EQUITY.split():
        hands = _hands_of(kind, kind, where).tolist()
        if len(chosen) + len(hands) > percent / 100 * len(HANDS) + 1e-9:
            break
        chosen += hands
    return np.array(chosen, np.int64)


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
