"""The hands that players may hold at each board of a public tree."""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.arenas.worlds.public_tree import (
    FOLD,
    MOST_CARDS,
    SHOWDOWN,
    PublicTree,
)


class Boards(NamedTuple):
    """The boards of a public tree. Rows of `places` are of player 0 at board 0, 1, ...,
    then of player 1.

    Attributes:
        of: `[N]` the number of each node's board.
        lists: for each board the hands that some player may hold, by strength.
        levels: for each board the strengths of these hands.
        held: `[2, boards, H]` whether a player may hold a hand.
        places, members: see `Hands` and `HandInfosets`.
    """

    of: np.ndarray
    lists: list[np.ndarray]
    levels: list[np.ndarray]
    held: np.ndarray
    places: np.ndarray
    members: list[np.ndarray]


def check_tree(public: PublicTree) -> None:
    """Raises an error unless a tree is one, as far as it is cheap to see."""
    cards, weights = public.hole_cards, public.weights
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise GameError("The weights of hands must be finite, and at least 0.")
    if cards.max(initial=0) >= MOST_CARDS and public.board.any():
        raise GameError(f"With public cards there may be {MOST_CARDS} cards at most.")
    inner = np.flatnonzero(public.num_children)
    if (public.first_child[inner] <= inner).any():
        raise GameError("A node of the public tree comes after its child.")
    ends = np.isin(public.kind, (FOLD, SHOWDOWN))
    if ((public.num_children == 0) != ends).any():
        raise GameError("The ends of the public tree are not its folds and showdowns.")


def _as_sets(cards: np.ndarray) -> np.ndarray:
    """`[H]` uint64 the cards of hands as sets; empty ones if there are too many."""
    if cards.max(initial=0) >= MOST_CARDS:
        return np.zeros(len(cards), np.uint64)
    return np.bitwise_or.reduce(np.uint64(1) << cards.astype(np.uint64), axis=1)


def sums_that_fit(public: PublicTree, values: np.ndarray) -> np.ndarray:
    """`[H]` for each hand the sum of the values of those that share no card with it.

    It is a difference of sums, so only of integers it is exact.

    Args:
        public: for the hands.
        values: `[H]` of hands that fit the board, 0 for others.
    """
    cards = public.hole_cards
    with_card = np.zeros(cards.max(initial=0) + 1, values.dtype)
    for column in cards.T:
        np.add.at(with_card, column, values)
    twice = values if cards.shape[1] == 2 else np.zeros_like(values)
    return values.sum() - with_card[cards].sum(axis=1) + twice


def list_boards(public: PublicTree) -> Boards:
    """Lists the hands that players may hold at each board."""
    masks, nodes, of = np.unique(public.board, return_index=True, return_inverse=True)
    sets = _as_sets(public.hole_cards)
    fits = (sets & masks[:, None]) == 0
    held = (public.weights[:, None] > 0) & fits
    for board in range(len(masks)):
        counts = held[:, board].astype(np.int64)
        for player in (0, 1):
            others = sums_that_fit(public, counts[1 - player])
            held[player, board] &= others > 0
    if not held[:, of[0]].any():
        raise ValueError(
            "No hand of player 0 goes with one of player 1: the ranges share a card in "
            "all pairs, or hold the cards of the board."
        )
    strengths = _strengths_of_boards(public, of, len(masks))
    places = np.full((2 * len(masks), public.num_hands), -1, np.int32)
    lists, levels, members = [], [], []
    for board, values in enumerate(strengths):
        mine = np.flatnonzero(held[:, board].any(axis=0))
        values = np.zeros(public.num_hands, np.int32) if values is None else values
        mine = mine[np.argsort(values[mine], kind="stable")]
        lists.append(mine)
        levels.append(values[mine])
    for player in (0, 1):
        for board, node in enumerate(nodes):
            mine = lists[board][held[player, board, lists[board]]]
            stands_for = np.arange(public.num_hands)
            if public.orbits is not None:
                stands_for = public.orbits(int(node))
            leads = mine[stands_for[mine] == mine]
            row = places[len(members)]
            row[leads] = np.arange(len(leads))
            row[mine] = row[stands_for[mine]]
            members.append(leads)
    return Boards(of, lists, levels, held, places, members)


def _strengths_of_boards(
    public: PublicTree, of: np.ndarray, num_boards: int
) -> list[np.ndarray | None]:
    """The strengths of hands at each board that has a showdown, None at others."""
    ends = np.flatnonzero(public.kind == SHOWDOWN)
    rows = np.full(num_boards, -1)
    rows[of[ends]] = public.strength_row[ends]
    if (rows[of[ends]] != public.strength_row[ends]).any():
        raise GameError("Two showdowns at one board have different strengths of hands.")
    return [None if row < 0 else public.strengths[row] for row in rows]


def sum_of_pairs(public: PublicTree, held: np.ndarray) -> float:
    """Z, the sum of the products of the weights over all pairs that fit each other."""
    first, second = (np.flatnonzero(one) for one in held)
    total, cards = 0.0, public.hole_cards
    for hand in first:
        ours = cards[hand][None, :, None] == cards[second][:, None, :]
        others = public.weights[1, second[~ours.any(axis=(1, 2))]]
        total += public.weights[0, hand] * others.sum()
    return float(total)
