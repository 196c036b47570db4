"""How strong hands of cards are with a board."""

from collections.abc import Sequence

import numpy as np

CLASS_UNIT = 1 << 26
"""A strength divided by this is its class: high card (0), pair, two pairs, three of a
kind, straight, flush, full house, four of a kind, straight flush."""

_WHEEL = 0b1_0000_0000_1111  # A2345, in which the ace is low
_ONES = np.left_shift(1, np.arange(13), dtype=np.int32)
_MASKS = np.arange(1 << 13, dtype=np.int32)[:, None]
_COUNT = (_MASKS & _ONES > 0).sum(axis=1)


def strengths(cards: np.ndarray) -> np.ndarray:
    """Strengths of hands of up to 7 cards; the larger one wins, equal ones tie.

    Cards are numbers, 4 * rank + suit; the best five count, or as many as there are.

    A set of ranks is a number of 13 bits. The sets that each suit has, and the sets of
    ranks that are there at least two, three and four times, decide the best five of the
    cards. A strength has its class in front, then the ranks that matter, then those
    that break ties.

    Args:
        cards: `[..., K]` different cards, K at most 7.

    Returns:
        `[...]` int32 strengths.
    """
    ranks, suits = _ONES[cards // 4], cards % 4
    sets: list[np.ndarray] = [
        np.bitwise_or.reduce(np.where(suits == k, ranks, 0), axis=-1) for k in range(4)
    ]
    s, h, d, c = sets
    once = s | h | d | c
    twice = (s & h) | (d & c) | ((s | h) & (d | c))
    thrice = (s & h & (d | c)) | (d & c & (s | h))
    quads = s & h & d & c
    suited = np.stack((s, h, d, c))
    flush = np.where(_COUNT[suited] >= 5, suited, 0).max(axis=0)
    trips = _TOP[1][thrice]
    two_pairs = _TOP[2][twice]
    pair = _TOP[1][twice]

    def made(kind: int, first: np.ndarray, rest: np.ndarray | int = 0) -> np.ndarray:
        return np.where(first > 0, kind * CLASS_UNIT + (first << 13) + rest, 0)

    found = _TOP[5][once]  # the high card
    for kind, first, rest in (
        (1, pair, _TOP[3][once & ~pair]),
        (2, np.where(_COUNT[twice] > 1, two_pairs, 0), _TOP[1][once & ~two_pairs]),
        (3, trips, _TOP[2][once & ~trips]),
        (4, _STRAIGHT[once], 0),
        (5, _TOP[5][flush], 0),
        (6, np.where(twice & ~trips > 0, trips, 0), _TOP[1][twice & ~trips]),
        (7, quads, _TOP[1][once & ~quads]),
        (8, _STRAIGHT[flush], 0),
    ):
        found = np.maximum(found, made(kind, first, rest))
    return found


def strengths_with(
    hands: np.ndarray, board: Sequence[int], suits: int = 4
) -> np.ndarray:
    """`[H]` strengths of hands `[H, C]` with a board; cards are suits * rank + suit."""
    public = np.broadcast_to(np.array(board, np.int64), (len(hands), len(board)))
    cards = np.hstack((hands, public))
    return strengths(4 * (cards // suits) + cards % suits)


def _top(count: int) -> np.ndarray:
    """`[8192]` for each set of ranks its `count` highest ones, or all of fewer."""
    from_above = np.cumsum((_MASKS & _ONES > 0)[:, ::-1], axis=1)[:, ::-1]
    return ((_MASKS & _ONES > 0) & (from_above <= count)) @ _ONES


def _straight() -> np.ndarray:
    """`[8192]` for each set of ranks 1 + the rank at which its best straight begins,
    where that of A2345 counts as 1; 0 if it has none."""
    found = (_MASKS[:, 0] & _WHEEL == _WHEEL).astype(np.int32)
    for low in range(9):
        five = 0b11111 << low
        found[_MASKS[:, 0] & five == five] = low + 2
    return found


_TOP = [_top(count) for count in range(6)]
_STRAIGHT = _straight()
