"""Makes the infosets of a public tree, and the lists that passes over hands read."""

import collections
from typing import NamedTuple

import numpy as np

from mccfr_spiel.arrays import INFOSET, MAX_INDEX
from mccfr_spiel.limits.budget import Budget, MemoryBudgetError
from mccfr_spiel.rules.declared import GameError
from mccfr_spiel.worlds.hands import CARD, GROUP_SIZE, PLACE, Hands
from mccfr_spiel.worlds.public_tree import (
    DECISION,
    FOLD,
    LOSES,
    MOST_CARDS,
    SHOWDOWN,
    TIES,
    WINS,
    PublicTree,
)

HANDS = "the infosets of hands"
"""Under this name a budget holds them."""


_BYTES_OF_HAND = 32
"""What a hand in a list takes."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiples of it are places (see compiled/randomness.py), all of them different."""


class HandInfosets(NamedTuple):
    """The infosets of a public tree: one for each decision, and each hand there.

    Attributes:
        records: `[I]` of dtype INFOSET, decision by decision.
        actions: `[S]` the action of each sequence.
        first: `[N]` a decision's first infoset, at other nodes that of the next.
        members: for each row of `Hands.places` the hands that it counts, in order.
        rows: `[N]` the row that counts the hands of who acts at a decision.
        hands: what passes read.
    """

    records: np.ndarray
    actions: np.ndarray
    first: np.ndarray
    members: list[np.ndarray]
    rows: np.ndarray
    hands: Hands

    def node_and_hand(self, infoset: int) -> tuple[int, int]:
        """The decision of an infoset and the hand (its row in `hole_cards`)."""
        node = int(np.searchsorted(self.first, infoset, "right")) - 1
        return node, int(self.members[self.rows[node]][infoset - self.first[node]])


class _Boards(NamedTuple):
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


def list_hands(
    public: PublicTree, budget: Budget, name: str = "the game"
) -> HandInfosets:
    """Makes the infosets and the lists of a public tree.

    Args:
        public: the tree.
        budget: the bytes that they may take.
        name: the game's, for messages.

    Raises:
        MemoryBudgetError: they do not fit.
        ValueError: no two hands go together.
        GameError: the tree contradicts itself.
    """
    _check(public)
    boards = _list_boards(public)
    is_decision = public.kind == DECISION
    rows = np.where(is_decision, public.player, 0) * len(boards.lists) + boards.of
    sizes = np.array([len(members) for members in boards.members])
    counts = np.where(is_decision, sizes[rows], 0)
    first = np.append(0, np.cumsum(counts))
    begins = 2 + np.append(0, np.cumsum(counts * public.num_children))
    _hold(public, boards, int(first[-1]), int(begins[-1]), budget, name)
    records = np.zeros(first[-1], INFOSET)
    actions = np.full(begins[-1], -1, np.int64)
    # Each player's last sequences before a node: the first hand's, how far those of
    # hands are apart, and the row that counts these hands. All are one in the empty
    # sequence.
    last = np.zeros((public.num_nodes, 2, 3), np.int32)
    last[:, 1, 0] = 1
    chance = np.ones(public.num_nodes)
    for node in np.flatnonzero(public.num_children):
        count, child = public.num_children[node], public.first_child[node]
        children = slice(child, child + count)
        last[children] = last[node]
        chance[children] = chance[node] * public.chance[children]
        if public.kind[node] != DECISION:
            continue
        player, row = public.player[node], rows[node]
        before, stride, counted = last[node, player]
        mine = records[first[node] : first[node + 1]]
        mine["parent"] = before + stride * boards.places[counted, boards.members[row]]
        mine["first_sequence"] = np.arange(begins[node], begins[node + 1], count)
        mine["num_actions"], mine["player"] = count, player
        actions[begins[node] : begins[node + 1]] = np.tile(
            public.action[children], len(mine)
        )
        last[children, player, 0] = begins[node] + np.arange(count)
        last[children, player, 1:] = count, row
    records["place"] = np.arange(first[-1], dtype=np.uint64) * _ODD
    hands = _list_entries(public, boards, last, chance)
    return HandInfosets(records, actions, first[:-1], boards.members, rows, hands)


def _check(public: PublicTree) -> None:
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


def _list_boards(public: PublicTree) -> _Boards:
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
    return _Boards(of.ravel(), lists, levels, held, places, members)


def _strengths_of_boards(
    public: PublicTree, of: np.ndarray, num_boards: int
) -> list[np.ndarray | None]:
    """The strengths of hands at each board that has a showdown, None at others."""
    ends = np.flatnonzero(public.kind == SHOWDOWN)
    rows = np.full(num_boards, -1)
    rows[of.ravel()[ends]] = public.strength_row[ends]
    if (rows[of.ravel()[ends]] != public.strength_row[ends]).any():
        raise GameError("Two showdowns at one board have different strengths of hands.")
    return [None if row < 0 else public.strengths[row] for row in rows]


def _sum_of_pairs(public: PublicTree, held: np.ndarray) -> float:
    """Z, the sum of the products of the weights over all pairs that fit each other."""
    first, second = (np.flatnonzero(one) for one in held)
    total, cards = 0.0, public.hole_cards
    for hand in first:
        ours = cards[hand][None, :, None] == cards[second][:, None, :]
        others = public.weights[1, second[~ours.any(axis=(1, 2))]]
        total += public.weights[0, hand] * others.sum()
    return float(total)


def _hold(
    public: PublicTree,
    boards: _Boards,
    num_infosets: int,
    num_sequences: int,
    budget: Budget,
    name: str,
) -> None:
    """Takes the bytes of all arrays from the budget, before they are made."""
    num_decisions = int((public.kind == DECISION).sum())
    what = (
        f"{num_infosets:,} infosets of hands at {num_decisions:,} public decisions of "
        f"{name} have {num_sequences:,} sequences. Use fewer bet sizes or smaller "
        "ranges, or begin on a later street. They"
    )
    if num_sequences > MAX_INDEX:
        raise MemoryBudgetError(f"{what} are more than {MAX_INDEX:,}.")
    size = INFOSET.itemsize * num_infosets + 8 * num_sequences + boards.places.nbytes
    size += _BYTES_OF_HAND * sum(map(len, boards.lists))
    budget.require(size, f"{what} take")
    budget.measured(HANDS, size)


def _list_entries(
    public: PublicTree, boards: _Boards, last: np.ndarray, chance: np.ndarray
) -> Hands:
    """Lists the leaves for both players, grouped as `Hands` says.

    Args:
        public: the tree.
        boards: its boards.
        last: `[N, 2, 3]` each player's last sequences before a node.
        chance: `[N]` how likely chance deals the public cards on the way to a node.
    """
    leaves = np.flatnonzero(public.num_children == 0)
    scale = chance[leaves] / _sum_of_pairs(public, boards.held[:, boards.of[0]])
    is_fold = (public.kind[leaves] == FOLD)[:, None]
    groups, ends, steps, pays, group_ends = [], [0], [], [], [0]
    rows = _Rows(boards)
    for player in (0, 1):
        wins, loses = (WINS, LOSES) if player == 0 else (LOSES, WINS)
        mine = public.pays[leaves, :, player]
        win, tie, lose = mine[:, wins], mine[:, TIES], mine[:, loses]
        paid = np.stack((lose, win - tie, tie - lose), axis=1)
        paid = np.where(is_fold, mine[:, :1] * (1.0, 0.0, 0.0), paid)
        paid = np.column_stack((paid, scale))
        together: dict[tuple[int, ...], list[int]] = collections.defaultdict(list)
        for k, leaf in enumerate(leaves.tolist()):
            together[boards.of[leaf], *last[leaf, 1 - player].tolist()].append(k)
        for (board, first, stride, row), entries in together.items():
            begin = rows.begin_of(row, board)
            compares = int(not is_fold[entries].all())
            groups.append((board, first, stride, begin, compares))
            for first, stride, row in last[leaves[entries], player].tolist():
                steps.append((first, stride, rows.begin_of(row, board)))
            pays.append(paid[entries])
            ends.append(ends[-1] + len(entries))
        group_ends.append(len(groups))
    listed = np.concatenate(boards.lists)
    num_cards = int(public.hole_cards.max()) + 1
    cards = np.full((len(listed), 2), num_cards, CARD)
    cards[:, : public.hole_cards.shape[1]] = public.hole_cards[listed]
    weights = [
        np.where(boards.held[:, board, one], public.weights[:, one], 0.0)
        for board, one in enumerate(boards.lists)
    ]
    kinds = [public.pays[public.kind == FOLD, 0], public.pays[public.kind == SHOWDOWN]]
    places = rows.places()
    return Hands(
        steps=np.array(steps, np.int32),
        pays=np.concatenate(pays),
        entry_ends=np.array(ends),
        groups=np.array(groups, np.int32).reshape(-1, GROUP_SIZE),
        group_ends=np.array(group_ends),
        list_ends=np.append(0, np.cumsum([len(one) for one in boards.lists])),
        levels=np.concatenate(boards.levels).astype(np.int32),
        cards=cards,
        weights=np.ascontiguousarray(np.concatenate(weights, axis=1)),
        places=places,
        num_cards=np.array([num_cards]),
        returns=np.unique(np.concatenate([k.reshape(-1, 2) for k in kinds]), axis=0),
    )


class _Rows:
    """The rows of places that entries and groups read, each once."""

    def __init__(self, boards: _Boards) -> None:
        self._boards = boards
        self._begins: dict[tuple[int, int], int] = {}
        self._rows: list[np.ndarray] = []
        self._size = 0

    def begin_of(self, row: int, board: int) -> int:
        """Where the row begins for the hands at a board that a decision counts by a row
        of `_Boards.places`."""
        begin = self._begins.setdefault((row, board), self._size)
        if begin == self._size:
            found = self._boards.places[row, self._boards.lists[board]]
            self._rows.append(np.maximum(found, 0).astype(PLACE))
            self._size += len(found)
        return begin

    def places(self) -> np.ndarray:
        """All of them."""
        return np.concatenate(self._rows)
