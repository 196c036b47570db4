"""Equities: shares of the pot that hands win if nobody bets any more."""

import itertools
from collections.abc import Sequence

import numpy as np

from mccfr_spiel.arenas.worlds.hand_strength import strengths_with
from mccfr_spiel.poker.cards import DECK, HANDS, cards_of
from mccfr_spiel.poker.ranges import Range, RangeError, weights_of
from mccfr_spiel.poker.subgames import compatible


def equities(board: str, ranges: Sequence[Range]) -> np.ndarray:
    """`[2, 1326]` share of the pot that each hand wins if nobody bets any more.

    It is 0 for hands with probability 0.

    Args:
        board: 3 to 5 cards.
        ranges: a range per player, as for `subgame`.

    Raises:
        ValueError: the board or a range is invalid, or no two hands are compatible.
    """
    cards, weights = _checked(board, ranges)
    shares = [equities_against(cards, weights[1 - player]) for player in range(2)]
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
    cards = cards_of(board, "board")
    if not 3 <= len(cards) <= 5:
        raise ValueError(
            f"board={board!r} has {len(cards)} cards, expected 3 (flop), 4 (turn) or 5 "
            "(river)."
        )
    if isinstance(ranges, str) or len(ranges) != 2:
        raise ValueError("ranges must be a pair, one range per player.")
    weights = np.stack([weights_of(ranges[k], f"range{k}") for k in range(2)])
    weights[:, np.isin(HANDS, cards).any(axis=1)] = 0.0
    if not weights[0] @ (compatible() @ weights[1]) > 0:
        raise RangeError(
            "ranges: no hand of player 0 is compatible with a hand of player 1 on the "
            f"board {board}. Use larger ranges."
        )
    return cards, weights
