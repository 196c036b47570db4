"""Exchanges of suits that keep a subgame, and the representatives of equal deals.

An **exchange of suits** is a permutation of the suits that changes neither the initial
board nor the ranges. Exchanges of a history are played alike, so all exchanges of an
information state are one infoset. Its representative is built card by card, in the
order of the deal with the private hand at the end: each card becomes the smallest that
is possible without changing the earlier cards. Perfect recall is preserved, because
every prefix of a representative is one, too.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from mccfr_spiel.poker.cards import HAND_OF, HANDS

_SUITS = 4


def exchanges(board: Sequence[int], ranges: np.ndarray) -> np.ndarray:
    """`[K, 52]` the cards after each exchange of suits; row 0 changes nothing.

    Args:
        board: initial board, in any order.
        ranges: `[2, 1326]` weights, which exchanges preserve exactly.
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
        stabilizer: `[K, 52]` all exchanges, the stabilizer of no cards.
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
