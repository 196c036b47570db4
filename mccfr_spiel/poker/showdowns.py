"""Equities: shares of the pot that hands win if nobody bets any more."""

import itertools
from collections.abc import Sequence

import numpy as np

from mccfr_spiel.arenas.worlds.hand_strength import TABLES, strengths_with
from mccfr_spiel.common.display import counted
from mccfr_spiel.kernels.preflop import play_all_boards
from mccfr_spiel.poker.cards import DECK, HAND_OF, HANDS, cards_of
from mccfr_spiel.poker.ranges import Range, RangeError, pair_of, weights_off
from mccfr_spiel.poker.subgames import compatible
from mccfr_spiel.poker.suits import exchanges

_MOST_GROUPS = 8
"""Number of different ranges after exchanges of suits up to which one board of each
orbit is played for each of them. There are 19 times as many boards as orbits."""


def equities(board: str, ranges: Sequence[Range]) -> np.ndarray:
    """`[2, 1326]` share of the pot that each hand wins if nobody bets any more.

    It is 0 for hands with probability 0.

    Args:
        board: 3 to 5 cards, or "" before the flop, which takes up to a minute for large
            ranges.
        ranges: a range per player, as for `subgame`.

    Raises:
        ValueError: the board or a range is invalid, or no two hands are compatible.
    """
    cards, weights = _checked(board, ranges)
    if cards:
        shares = [equities_against(cards, weights[1 - player]) for player in range(2)]
    else:
        shares = _before_the_flop(weights)
    possible = weights * (compatible() @ weights[::-1].T).T > 0
    return np.where(possible, np.nan_to_num(shares), 0.0)


def equity(board: str, ranges: Sequence[Range]) -> np.ndarray:
    """`[2]` share of the pot that each range wins if nobody bets any more.

    See `equities` for arguments and errors.
    """
    _, weights = _checked(board, ranges)
    masses = weights * (compatible() @ weights[::-1].T).T
    return (masses * equities(board, ranges)).sum(axis=1) / masses[0].sum()


def equities_against(board: Sequence[int], opponent: np.ndarray) -> np.ndarray:
    """`[1326]` equity of each hand against weighted hands, over all runouts.

    It is NaN for hands that meet no hand of positive weight, or with a card of the
    board.

    Args:
        board: 3 to 5 cards.
        opponent: `[1326]` weights of the other player's hands.
    """
    wins, totals = np.zeros((2, len(HANDS)))
    rest = [card for card in range(len(DECK)) if card not in board]
    # Two hands leave the same number of runouts, so sums over runouts need no weights.
    for runout in itertools.combinations(rest, 5 - len(board)):
        _add_showdown([*board, *runout], opponent, wins, totals)
    result = np.full(len(HANDS), np.nan)
    return np.divide(wins, totals, out=result, where=totals > 1e-12 * totals.max())


def _before_the_flop(weights: np.ndarray) -> np.ndarray:
    """`[2, 1326]` equities over all boards; 0 for hands that meet no hand.

    Exchanges of suits that change the ranges are averaged over.
    """
    every = exchanges((), np.ones_like(weights))
    moved = HAND_OF[every[:, HANDS[:, 0]], every[:, HANDS[:, 1]]]
    wins, totals = np.zeros_like(weights), np.zeros_like(weights)
    # Ranges that different exchanges make equal have equal showdowns.
    groups: dict[bytes, list[np.ndarray]] = {}
    for places in moved:
        groups.setdefault(weights[:, places].tobytes(), []).append(places)
    if len(groups) > _MOST_GROUPS:  # playing all boards once is faster
        groups, every = {b"": [moved[0]]}, every[:1]
    for places, *others in groups.values():
        given = weights[:, places]
        held = np.flatnonzero(given.any(axis=0))
        won, total = np.zeros((2, len(held))), np.zeros((2, len(held)))
        chosen = np.ascontiguousarray(given[:, held])
        play_all_boards(HANDS[held], chosen, every, *TABLES, won, total)
        for back in (places, *others):
            wins[:, back[held]] += won
            totals[:, back[held]] += total
    return np.divide(wins, totals, out=np.zeros_like(wins), where=totals > 0)


def _add_showdown(
    board: Sequence[int], opponent: np.ndarray, wins: np.ndarray, totals: np.ndarray
) -> None:
    """Adds the results of all hands on a complete board.

    Args:
        board: 5 cards.
        opponent: `[1326]` weights of the other player's hands.
        wins: `[1326]` receives the weight of beaten hands and half of that of ties.
        totals: `[1326]` receives the weight of all compatible hands.
    """
    held = np.flatnonzero(~np.isin(HANDS, board).any(axis=1))
    strengths, hands = strengths_with(HANDS[held], board), HANDS[held]
    order = np.argsort(strengths, kind="stable")
    held, strengths, hands = held[order], strengths[order], hands[order]
    weights = opponent[held]
    # Column k of a row of sums has the weight of the k weakest hands: all of them in
    # the last row, those with a card in the card's row.
    sums = np.zeros((len(DECK) + 1, len(held) + 1))
    positions = np.arange(1, len(held) + 1)
    for card in hands.T:
        sums[card, positions] = weights
    sums[-1, 1:] = weights
    np.cumsum(sums, axis=1, out=sums)
    weaker = np.searchsorted(strengths, strengths, side="left")
    weaker_or_equal = np.searchsorted(strengths, strengths, side="right")

    def compatible_below(count: np.ndarray | int) -> np.ndarray:
        return sums[-1, count] - sums[hands[:, 0], count] - sums[hands[:, 1], count]

    # A hand shares both cards with itself, and ties with itself.
    losers, total = compatible_below(weaker), compatible_below(-1) + weights
    ties = compatible_below(weaker_or_equal) + weights - losers
    wins[held] += losers + ties / 2
    totals[held] += total


def _checked(board: str, ranges: Sequence[Range]) -> tuple[list[int], np.ndarray]:
    """The cards of the board, and `[2, 1326]` weights without hands on the board.

    Raises:
        ValueError: see `equities`.
    """
    cards = cards_of(board, "board") if board != "" else []
    if len(cards) not in (0, 3, 4, 5):
        raise ValueError(
            f"board={board!r} has {counted(len(cards), 'card')}, expected none "
            "(before the flop), 3 (flop), 4 (turn) or 5 (river)."
        )
    pair = enumerate(pair_of(ranges))
    weights = np.stack([weights_off(cards, given, f"range{k}") for k, given in pair])
    if not weights[0] @ (compatible() @ weights[1]) > 0:
        raise RangeError(
            "ranges: no hand of player 0 is compatible with a hand of player 1 on the "
            f"board {board}. Use larger ranges."
        )
    return cards, weights
