"""Names of made hands and draws, for filters and reports."""

from collections.abc import Sequence

import numpy as np

from mccfr_spiel.arenas.worlds.hand_strength import CLASS_UNIT, strengths_with
from mccfr_spiel.poker.cards import HANDS

CLASSES = (
    *("no pair", "pair", "two pair", "three of a kind", "straight", "flush"),
    *("full house", "four of a kind", "straight flush"),
)
"""Names of the classes of poker hands, from the weakest on."""

MADE = (
    *(*CLASSES[:0:-1][:-1], "overpair", "top pair", "middle pair"),
    *("low pair", "ace high", "no made hand"),
)
"""All names of made hands, from the strongest on."""

DRAWS = ("flush and straight draw", "flush draw", "open-ended", "gutshot", "no draw")
"""All names of draws. "open-ended" includes double gutshots."""


def made_hands(hands: np.ndarray, board: Sequence[int]) -> list[str]:
    """The made hand of each hand, an element of `MADE`.

    A hand whose class is that of the board alone, such as any hand without a pair on a
    paired board, counts as "ace high" or "no made hand". Pairs are named by their rank
    among the ranks of the board: above all of them, equal to the highest, between the
    highest and the lowest, or lower.

    Args:
        hands: `[n]` numbers of hands, see `cards.HANDS`.
        board: 3 to 5 cards that no hand contains.
    """
    classes = strengths_with(HANDS[hands], board) // CLASS_UNIT
    on_board = int(strengths_with(np.array([board[:2]]), board[2:])[0]) // CLASS_UNIT
    ranks = sorted({card // 4 for card in board}, reverse=True)
    return [
        _made(int(kind), on_board, (pair // 4).tolist(), ranks)
        for kind, pair in zip(classes, HANDS[hands], strict=True)
    ]


def _made(kind: int, on_board: int, held: list[int], ranks: list[int]) -> str:
    """The name of a made hand.

    Args:
        kind: class of the hand with the board.
        on_board: class of the board alone.
        held: ranks of the two private cards.
        ranks: distinct ranks of the board, descending.
    """
    paired = [rank for rank in held if rank in ranks or held[0] == held[1]]
    if kind == on_board or not (paired or kind >= CLASSES.index("straight")):
        return "ace high" if 12 in held and kind <= 1 else "no made hand"
    # With a paired board, a single paired card makes two pairs; players call it a pair.
    if kind > 2 or (kind == 2 and on_board == 0 and held[0] != held[1]):
        return CLASSES[kind]
    best = max(paired)
    if held[0] == held[1] and best > ranks[0]:
        return "overpair"
    if best >= ranks[0]:
        return "top pair"
    return "middle pair" if best > ranks[-1] else "low pair"


def draws(hands: np.ndarray, board: Sequence[int]) -> list[str]:
    """The draw of each hand, an element of `DRAWS`; "no draw" on the river.

    A flush draw lacks one card, and a private card has the suit. A straight draw lacks
    one rank, and the board with this rank has no straight. Hands that have a flush or
    straight already draw to nothing of the same kind.

    Args:
        hands: `[n]` numbers of hands, see `cards.HANDS`.
        board: 3 to 5 cards that no hand contains.
    """
    if len(board) == 5:
        return ["no draw"] * len(hands)
    return [_draw(pair.tolist(), board) for pair in HANDS[hands]]


def _draw(held: list[int], board: Sequence[int]) -> str:
    suits = [card % 4 for card in (*held, *board)]
    has_flush = any(suits.count(card % 4) == 4 for card in held)
    common = {card // 4 for card in board}
    ranks = common | {card // 4 for card in held}
    outs = 0
    if not _is_straight(ranks):
        outs = sum(
            _is_straight(ranks | {rank}) and not _is_straight(common | {rank})
            for rank in range(13)
        )
    if has_flush:
        return "flush and straight draw" if outs else "flush draw"
    return ("no draw", "gutshot", "open-ended")[min(outs, 2)]


def _is_straight(ranks: set[int]) -> bool:
    """Whether a set of ranks contains five consecutive ones; an ace is also low."""
    low = {rank + 1 for rank in ranks} | ({0} if 12 in ranks else set())
    return any(low.issuperset(range(rank, rank + 5)) for rank in range(10))
