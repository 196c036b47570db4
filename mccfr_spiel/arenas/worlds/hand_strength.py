"""The strengths of hands of cards with a board.

A set of ranks is a number of 13 bits, so tables of 8,192 rows answer which ranks of a
set are highest and whether it contains a straight.
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
    """The strengths of hands of up to 7 cards; the larger wins, equal strengths tie.

    The best five cards count, or all cards if there are fewer. A strength consists of
    its class, the ranks of the combination, and the ranks that break ties.

    Args:
        cards: `[..., K]` different cards, 4 * rank + suit, K at most 7.

    Returns:
        `[...]` int32 strengths.
    """
    ranks, suits = _ONES[cards // 4], cards % 4
    sets: list[np.ndarray] = [
        np.bitwise_or.reduce(np.where(suits == k, ranks, 0), axis=-1) for k in range(4)
    ]
    s, h, d, c = sets
    # Ranks held at least once, twice, three and four times decide the best five cards.
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
    # Rows: a class, main ranks (0 if the cards lack the class), and tie breakers. The
    # best class wins, since strengths of higher classes are larger.
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
    """`[H]` strengths of hands `[H, C]` with a board; cards are suits * rank + suit."""
    public = np.broadcast_to(np.array(board, np.int64), (len(hands), len(board)))
    cards = np.hstack((hands, public))
    return strengths(4 * (cards // suits) + cards % suits)


def _top(count: int) -> np.ndarray:
    """`[8192]` for each set of ranks, its `count` highest ranks, or all if there are
    fewer.
    """
    from_above = np.cumsum((_MASKS & _ONES > 0)[:, ::-1], axis=1)[:, ::-1]
    return ((_MASKS & _ONES > 0) & (from_above <= count)) @ _ONES


def _straight() -> np.ndarray:
    """`[8192]` for each set of ranks, 2 + the lowest rank of its best straight; 1 for
    A2345, 0 without a straight.
    """
    best = (_MASKS[:, 0] & _WHEEL == _WHEEL).astype(np.int32)
    for lowest in range(9):
        five = 0b11111 << lowest
        best[_MASKS[:, 0] & five == five] = lowest + 2
    return best


_TOP = [_top(count) for count in range(6)]
_STRAIGHT = _straight()
