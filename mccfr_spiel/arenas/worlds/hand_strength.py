"""Poker strengths of private hands together with public cards.

A set of ranks is a number of 13 bits. Tables of 8,192 rows, one per set, contain the
highest ranks of each set and its best straight.
"""

from collections.abc import Sequence

import numpy as np

CLASS_UNIT = 1 << 26
"""A strength divided by this number is its class: 0 high card, 1 pair, 2 two pairs, 3
three of a kind, 4 straight, 5 flush, 6 full house, 7 four of a kind, 8 straight flush.
"""

_WHEEL = 0b1_0000_0000_1111  # A2345, in which the ace is low
_ONES = np.left_shift(1, np.arange(13), dtype=np.int32)
_MASKS = np.arange(1 << 13, dtype=np.int32)[:, None]
_COUNT = (_MASKS & _ONES > 0).sum(axis=1)


def strengths(cards: np.ndarray) -> np.ndarray:
    """Returns the poker strengths of sets of up to 7 cards.

    The larger strength wins, equal strengths tie. The best five cards count, or all
    cards if there are fewer. The bits of a strength are, from the highest: the class
    (see CLASS_UNIT), the ranks of the combination, and the ranks that break ties.

    Args:
        cards: `[..., K]` distinct cards 4 * rank + suit, with K at most 7.

    Returns:
        `[...]` int32 strengths.
    """
    ranks, suits = _ONES[cards // 4], cards % 4
    sets: list[np.ndarray] = [
        np.bitwise_or.reduce(np.where(suits == k, ranks, 0), axis=-1) for k in range(4)
    ]
    s, h, d, c = sets
    # Sets of the ranks that occur at least once, twice, three times and four times.
    once = s | h | d | c
    twice = (s & h) | (d & c) | ((s | h) & (d | c))
    thrice = (s & h & (d | c)) | (d & c & (s | h))
    quads = s & h & d & c
    suited = np.stack((s, h, d, c))
    flush = np.where(_COUNT[suited] >= 5, suited, 0).max(axis=0)
    trips = _TOP[1][thrice]
    two_pairs = _TOP[2][twice]
    pair = _TOP[1][twice]

    def ranked(kind: int, first: np.ndarray, rest: np.ndarray | int = 0) -> np.ndarray:
        return np.where(first > 0, kind * CLASS_UNIT + (first << 13) + rest, 0)

    best = _TOP[5][once]  # the high card
    # Each row has a class, the ranks of the combination (0 if the cards do not form
    # this class), and the ranks that break ties. The maximum is the strength of the
    # best class, because the class occupies the highest bits.
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
        best = np.maximum(best, ranked(kind, first, rest))
    return best


def strengths_with(
    hands: np.ndarray, board: Sequence[int], suits: int = 4
) -> np.ndarray:
    """Returns the `[H]` strengths of hands together with the same board.

    Args:
        hands: `[H, C]` cards per hand; a card is `suits * rank + suit`.
        board: public cards.
        suits: number of suits, at most 4.
    """
    public = np.broadcast_to(np.array(board, np.int64), (len(hands), len(board)))
    cards = np.hstack((hands, public))
    return strengths(4 * (cards // suits) + cards % suits)


def _top(count: int) -> np.ndarray:
    """Returns for each of the 8,192 sets of ranks the subset of its `count` highest
    ranks.

    A set with fewer ranks is returned unchanged.
    """
    # `from_above[set, r]` is the number of ranks in the set that are r or higher.
    from_above = np.cumsum((_MASKS & _ONES > 0)[:, ::-1], axis=1)[:, ::-1]
    return ((_MASKS & _ONES > 0) & (from_above <= count)) @ _ONES


def _straight() -> np.ndarray:
    """Returns for each of the 8,192 sets of ranks the value of its best straight.

    The value is 2 + the lowest rank of the straight, 1 for A2345, and 0 if the set
    contains no straight.
    """
    best = (_MASKS[:, 0] & _WHEEL == _WHEEL).astype(np.int32)
    for lowest in range(9):
        five = 0b11111 << lowest
        best[_MASKS[:, 0] & five == five] = lowest + 2
    return best


_TOP = [_top(count) for count in range(6)]
_STRAIGHT = _straight()

TABLES = np.array(_TOP, np.int64), np.array(_STRAIGHT, np.int64)
"""`[6, 8192]` the highest ranks of each set, and `[8192]` the best straight."""
