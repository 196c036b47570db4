"""Makes the infosets of a public tree, and the lists that passes over hands read."""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arenas.rules.description import GameError
from mccfr_spiel.arenas.worlds.checking import check_probabilities
from mccfr_spiel.arenas.worlds.passes import CARD, PLACE, Hands
from mccfr_spiel.arenas.worlds.public_tree import (
    DECISION,
    FOLD,
    LOSES,
    MOST_CARDS,
    SHOWDOWN,
    TIES,
    WINS,
    PublicTree,
)
from mccfr_spiel.common.arrays import INFOSET, MAX_INDEX
from mccfr_spiel.common.limits import Budget, MemoryBudgetError
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.passes import MOST_BLOCKS, find_cuts

HANDS = "the infosets of hands"
"""Under this name a budget holds them."""


_BYTES_OF_HAND = 32
"""What a hand in a list takes."""

LEAST_BLOCK = 2**21
"""The least sequences of a block on average; see kernels/passes.py."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiples of it are places (see kernels/randomness.py), all of them different."""


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
    boards, rows, first, begins = _count(public)
    num_infosets, num_sequences = int(first[-1]), int(begins[-1])
    num_decisions = int((public.kind == DECISION).sum())
    what = (
        f"{num_infosets:,} infosets of hands at {num_decisions:,} public decisions of "
        f"{name} have {num_sequences:,} sequences. Use fewer bet sizes or smaller "
        "ranges, or begin on a later street. They"
    )
    if num_sequences > MAX_INDEX:
        raise MemoryBudgetError(f"{what} are more than {MAX_INDEX:,}.")
    size = _bytes_of_lists(boards, num_infosets, num_sequences)
    budget.require(size, f"{what} take")
    budget.measured(HANDS, size)
    records = np.empty(num_infosets, INFOSET)
    actions = np.empty(num_sequences, np.int64)
    last, chance = np.empty((public.num_nodes, 2, 3), np.int32), public.chance.copy()
    actions[:2] = -1
    player = np.where(public.kind == DECISION, public.player, -1)
    columns = public.first_child, public.num_children, player, first[:-1], begins[:-1]
    nodes, members = np.column_stack((*columns, rows)), np.concatenate(boards.members)
    ends = np.append(0, np.cumsum([*map(len, boards.members)]))
    places, action = boards.places, public.action
    _fill(nodes, places, members, ends, action, records, actions, last, chance)
    hands = _list_entries(
        public, boards, last, chance, *_cut(public, first, begins, last)
    )
    check_probabilities(hands, records, num_sequences, budget, name)
    return HandInfosets(records, actions, first[:-1], boards.members, rows, hands)


def sizes_of(public: PublicTree) -> tuple[int, int, int, int]:
    """How many infosets and sequences a public tree has, the bytes of what `list_hands`
    makes, and the hands at leaves that a pass for both players looks at."""
    boards, _, first, begins = _count(public)
    num_infosets, num_sequences = int(first[-1]), int(begins[-1])
    size = _bytes_of_lists(boards, num_infosets, num_sequences)
    lengths = np.array([*map(len, boards.lists)])
    steps = 2 * int(lengths[boards.of[public.num_children == 0]].sum())
    return num_infosets, num_sequences, size, steps


def _count(public: PublicTree) -> tuple[_Boards, np.ndarray, np.ndarray, np.ndarray]:
    """The boards; `[N]` the row that counts the hands of who acts at a decision; and
    `[N + 1]` its first infoset and first sequence, at other nodes those of the next."""
    _check(public)
    boards = _list_boards(public)
    is_decision = public.kind == DECISION
    rows = np.where(is_decision, public.player, 0) * len(boards.lists) + boards.of
    sizes = np.array([len(members) for members in boards.members])
    counts = np.where(is_decision, sizes[rows], 0)
    first = np.append(0, np.cumsum(counts))
    begins = 2 + np.append(0, np.cumsum(counts * public.num_children))
    return boards, rows, first, begins


def _bytes_of_lists(boards: _Boards, num_infosets: int, num_sequences: int) -> int:
    size = INFOSET.itemsize * num_infosets + 8 * num_sequences + boards.places.nbytes
    return size + _BYTES_OF_HAND * sum(map(len, boards.lists))


@jit
def _fill(nodes, places, members, member_ends, action, records, actions, last, chance):
    """Writes the infosets of a public tree, decision by decision.

    Args:
        nodes: `[N, 6]` the first child, and how many there are; who acts, -1 at others
            than decisions; a decision's first infoset and sequence, and its row.
        places, members, member_ends: see `_Boards`, here the members of all rows.
        action: see `PublicTree`.
        records, actions: see `HandInfosets`; are set.
        last: `[N, 2, 3]` each player's last sequences before a node: the first hand's,
            how far those of hands are apart, and the row that counts these hands. All
            are one in the empty sequence. Is set.
        chance: `[N]` as in `PublicTree`; becomes the probability of all public cards.
    """
    last[0, :, :] = 0
    last[0, 1, 0] = 1
    # One pass of this loop is at one node, whose own entries of `last` and `chance` the
    # pass at its parent has written.
    for node in range(len(nodes)):
        first, count, player = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        infoset, sequence, row = nodes[node, 3], nodes[node, 4], nodes[node, 5]
        for child in range(first, first + count):
            chance[child] *= chance[node]
            last[child, :, :] = last[node, :, :]
            if player >= 0:
                last[child, player, 0] = sequence + child - first
                last[child, player, 1], last[child, player, 2] = count, row
        if player < 0:
            continue
        before, stride = last[node, player, 0], last[node, player, 1]
        counted = last[node, player, 2]
        for member in range(member_ends[row], member_ends[row + 1]):
            place = places[counted, members[member]]
            records[infoset]["place"] = np.uint64(infoset) * _ODD
            records[infoset]["first_sequence"] = sequence
            records[infoset]["parent"] = before + stride * place
            records[infoset]["num_actions"] = count
            records[infoset]["player"] = player
            for k in range(count):
                actions[sequence + k] = action[first + k]
            infoset += 1
            sequence += count


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
    return _Boards(of, lists, levels, held, places, members)


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


def _sum_of_pairs(public: PublicTree, held: np.ndarray) -> float:
    """Z, the sum of the products of the weights over all pairs that fit each other."""
    first, second = (np.flatnonzero(one) for one in held)
    total, cards = 0.0, public.hole_cards
    for hand in first:
        ours = cards[hand][None, :, None] == cards[second][:, None, :]
        others = public.weights[1, second[~ours.any(axis=(1, 2))]]
        total += public.weights[0, hand] * others.sum()
    return float(total)


def _cut(
    public: PublicTree, first: np.ndarray, begins: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`[B + 1]` the first infosets of the blocks that threads share, and their number;
    and the first sequences. Small trees are one block."""
    nodes = np.arange(public.num_nodes)
    before = last[nodes, np.maximum(public.player, 0), 0]
    above = np.searchsorted(begins, before, "right") - 1
    above[np.diff(begins) == 0] = -1  # no decision, or one without hands
    most = max(min(MOST_BLOCKS, int(begins[-1]) // LEAST_BLOCK), 1)
    cuts = find_cuts(above, begins[1:] - 2, most)
    return first[cuts], begins[cuts]


def _list_entries(
    public: PublicTree,
    boards: _Boards,
    last: np.ndarray,
    chance: np.ndarray,
    cuts: np.ndarray,
    first_sequences: np.ndarray,
) -> Hands:
    """Lists the leaves for both players, grouped as `Hands` says.

    Args:
        public: the tree.
        boards: its boards.
        last: `[N, 2, 3]` each player's last sequences before a node.
        chance: `[N]` how likely chance deals the public cards on the way to a node.
        cuts, first_sequences: where blocks begin, see `_cut`.
    """
    # A decision without hands has no sequences: the number of its first one belongs to
    # the next decision, or is one past the end. Leaves that nobody reaches are dropped.
    is_reached = np.array([len(hands) > 0 for hands in boards.lists])[boards.of]
    leaves = np.flatnonzero((public.num_children == 0) & is_reached)
    scale = chance[leaves] / _sum_of_pairs(public, boards.held[:, boards.of[0]])
    is_fold = public.kind[leaves] == FOLD
    board, num_boards = boards.of[leaves], len(boards.lists)
    pairs, row = np.unique(
        last[leaves, :, 2] * num_boards + board[:, None], return_inverse=True
    )
    found = [
        boards.places[k, boards.lists[one]]
        for k, one in zip(*np.divmod(pairs, num_boards), strict=True)
    ]
    begins = np.append(0, np.cumsum([*map(len, found)]))
    before = last[leaves]
    before[:, :, 2] = begins[row.reshape(-1, 2)]
    groups, ends, steps, pays, group_ends = [], [], [], [], [0]
    for player in (0, 1):
        wins, loses = (WINS, LOSES) if player == 0 else (LOSES, WINS)
        mine = public.pays[leaves, :, player]
        win, tie, lose = mine[:, wins], mine[:, TIES], mine[:, loses]
        paid = np.stack((lose, win - tie, tie - lose), axis=1)
        paid = np.where(is_fold[:, None], mine[:, :1] * (1.0, 0.0, 0.0), paid)
        paid = np.column_stack((paid, scale))
        # Groups at one board that compare hands are neighbours, and those that do not.
        others = before[:, 1 - player]
        block = np.searchsorted(first_sequences, before[:, player, 0], "right") - 1
        block = np.maximum(block, 0)  # of the empty sequences
        _, first, group = np.unique(
            (block * num_boards + board) << 32 | others[:, 0],
            return_index=True,
            return_inverse=True,
        )
        compares = np.zeros(len(first), np.int32)
        compares[group[~is_fold]] = 1
        order = np.lexsort((first, compares, board[first], block[first]))
        number = np.argsort(order)[group]
        entries = np.argsort(number, kind="stable")
        first = first[order]
        groups.append(np.column_stack((board[first], others[first], compares[order])))
        steps.append(before[entries, player])
        pays.append(paid[entries])
        ends.append(np.bincount(number))
        sizes = np.bincount(block[first], minlength=len(cuts) - 1)
        group_ends += (group_ends[-1] + np.cumsum(sizes)).tolist()
    listed = np.concatenate(boards.lists)
    num_cards = int(public.hole_cards.max()) + 1
    cards = np.full((len(listed), 2), num_cards, CARD)
    cards[:, : public.hole_cards.shape[1]] = public.hole_cards[listed]
    weights = [
        np.where(boards.held[:, board, one], public.weights[:, one], 0.0)
        for board, one in enumerate(boards.lists)
    ]
    kinds = [public.pays[public.kind == FOLD, 0], public.pays[public.kind == SHOWDOWN]]
    return Hands(
        steps=np.concatenate(steps),
        pays=np.concatenate(pays),
        entry_ends=np.append(0, np.cumsum(np.concatenate(ends))),
        groups=np.concatenate(groups).astype(np.int32),
        group_ends=np.array(group_ends),
        cuts=cuts,
        list_ends=np.append(0, np.cumsum([len(one) for one in boards.lists])),
        levels=np.concatenate(boards.levels).astype(np.int32),
        cards=cards,
        weights=np.ascontiguousarray(np.concatenate(weights, axis=1)),
        places=np.maximum(np.concatenate(found), 0).astype(PLACE),
        num_cards=np.array([num_cards]),
        payoffs=np.unique(np.concatenate([k.reshape(-1, 2) for k in kinds]), axis=0),
    )
