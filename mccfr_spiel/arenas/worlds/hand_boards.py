"""The boards of a public tree, and the hands that players may hold there."""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.declarations import (
    GameError,
)
from mccfr_spiel.arenas.worlds.public_tree import (
    FOLD,
    MOST_CARDS,
    SHOWDOWN,
    PublicTree,
)


class Boards(NamedTuple):
    """The boards of a public tree.

    Shapes: N nodes, H hands. Row `player * number of boards + board` of `offsets` and
    `members` belongs to that player and board. A decision has one infoset per
    representative hand (see `PublicTree.orbits`) that the acting player may hold.

    Attributes:
        node_board: `[N]` number of each node's board.
        lists: per board, the hands that either player may hold, in ascending strength.
        levels: per board, the strengths of the hands in `lists`.
        held: `[2, boards, H]` whether a player may hold a hand at a board, together
            with some hand of the opponent.
        offsets: `[rows, H]` position of a hand's infoset among the infosets of a
            decision at this board; -1 for hands that the player cannot hold.
        members: per row, the representative hands, in the order of their infosets.
    """

    node_board: np.ndarray
    lists: list[np.ndarray]
    levels: list[np.ndarray]
    held: np.ndarray
    offsets: np.ndarray
    members: list[np.ndarray]


def check_tree(public: PublicTree) -> None:
    """Checks the properties of a public tree that are cheap to check.

    Raises:
        GameError: the tree contradicts itself.
    """
    cards, weights = public.hole_cards, public.weights
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise GameError("PublicTree.weights must be finite and non-negative.")
    if cards.max(initial=0) >= MOST_CARDS and public.board.any():
        raise GameError(
            f"PublicTree.hole_cards has the card {cards.max()}; with public "
            f"cards, all cards must be below {MOST_CARDS}."
        )
    inner = np.flatnonzero(public.num_children)
    if (public.first_child[inner] <= inner).any():
        raise GameError("PublicTree.first_child: parents must precede their children.")
    is_end = np.isin(public.kind, (FOLD, SHOWDOWN))
    if ((public.num_children == 0) != is_end).any():
        raise GameError(
            "PublicTree: exactly the folds and showdowns must have no children."
        )


def _as_sets(cards: np.ndarray) -> np.ndarray:
    """Returns `[H]` uint64 the set of cards of each hand, as bits.

    With cards from `MOST_CARDS` on the game has no public cards, so all sets may be
    empty.
    """
    if cards.max(initial=0) >= MOST_CARDS:
        return np.zeros(len(cards), np.uint64)
    return np.bitwise_or.reduce(np.uint64(1) << cards.astype(np.uint64), axis=1)


def sums_that_fit(public: PublicTree, values: np.ndarray) -> np.ndarray:
    """Returns for each hand the sum of the values of all hands without a common card.

    The sum is computed as a difference of sums, so it is exact for integers only.

    Args:
        public: tree with the hands.
        values: `[H]` values of the hands; 0 for hands that share a card with the board.

    Returns:
        `[H]` the sums.
    """
    cards = public.hole_cards
    with_card = np.zeros(cards.max(initial=0) + 1, values.dtype)
    for column in cards.T:
        np.add.at(with_card, column, values)
    twice = values if cards.shape[1] == 2 else np.zeros_like(values)
    return values.sum() - with_card[cards].sum(axis=1) + twice


def list_boards(public: PublicTree) -> Boards:
    """Lists the hands that players may hold at each board.

    Raises:
        ValueError: no hand of player 0 is compatible with a hand of player 1.
    """
    masks, nodes, node_board = np.unique(
        public.board, return_index=True, return_inverse=True
    )
    sets = _as_sets(public.hole_cards)
    fits = (sets & masks[:, None]) == 0
    held = (public.weights[:, None] > 0) & fits
    for board in range(len(masks)):
        counts = held[:, board].astype(np.int64)
        for player in (0, 1):
            # A player can hold a hand only if the opponent can hold some hand without
            # a common card.
            others = sums_that_fit(public, counts[1 - player])
            held[player, board] &= others > 0
    if not held[:, node_board[0]].any():
        raise ValueError(
            "No hand of player 0 is compatible with a hand of player 1: every pair "
            "shares a card, or a hand contains a card of the board. Use larger ranges."
        )
    strengths = _strengths_of_boards(public, node_board, len(masks))
    offsets = np.full((2 * len(masks), public.num_hands), -1, np.int32)
    lists, levels, members = [], [], []
    for board, strength in enumerate(strengths):
        hands = np.flatnonzero(held[:, board].any(axis=0))
        if strength is None:
            strength = np.zeros(public.num_hands, np.int32)
        hands = hands[np.argsort(strength[hands], kind="stable")]
        lists.append(hands)
        levels.append(strength[hands])
    for player in (0, 1):
        for board, node in enumerate(nodes):
            hands = lists[board][held[player, board, lists[board]]]
            # Hands that differ by an exchange of suits share the infoset of their
            # representative hand.
            representative = np.arange(public.num_hands)
            if public.orbits is not None:
                representative = public.orbits(int(node))
            members_here = hands[representative[hands] == hands]
            row = offsets[len(members)]
            row[members_here] = np.arange(len(members_here))
            row[hands] = row[representative[hands]]
            members.append(members_here)
    return Boards(node_board, lists, levels, held, offsets, members)


def _strengths_of_boards(
    public: PublicTree, node_board: np.ndarray, num_boards: int
) -> list[np.ndarray | None]:
    """Returns per board the `[H]` strengths of hands; None at boards without a
    showdown.

    Raises:
        GameError: two showdowns at one board disagree.
    """
    showdowns = np.flatnonzero(public.kind == SHOWDOWN)
    rows = np.full(num_boards, -1)
    rows[node_board[showdowns]] = public.strength_row[showdowns]
    if (rows[node_board[showdowns]] != public.strength_row[showdowns]).any():
        raise GameError(
            "PublicTree.strength_row: two showdowns at one board use different rows."
        )
    return [None if row < 0 else public.strengths[row] for row in rows]


def sum_of_pairs(public: PublicTree, held: np.ndarray) -> float:
    """Returns Z of `PublicTree.weights`, which normalizes the probabilities of pairs.

    Z is the sum over all pairs of hands without a common card of the product of their
    weights.

    Args:
        public: the tree.
        held: `[2, H]` whether each player may hold a hand at the root.
    """
    first, second = (np.flatnonzero(row) for row in held)
    total, cards = 0.0, public.hole_cards
    for hand in first:
        is_shared = cards[hand][None, :, None] == cards[second][:, None, :]
        opponents = public.weights[1, second[~is_shared.any(axis=(1, 2))]]
        total += public.weights[0, hand] * opponents.sum()
    return float(total)
