"""The infosets of a public tree, and the lists that passes over hands read."""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arenas.worlds.checking import check_probabilities
from mccfr_spiel.arenas.worlds.hand_boards import (
    Boards,
    check_tree,
    list_boards,
    sum_of_pairs,
)
from mccfr_spiel.arenas.worlds.hand_gradients import CARD, OFFSET, Hands
from mccfr_spiel.arenas.worlds.public_tree import (
    DECISION,
    FOLD,
    LOSES,
    SHOWDOWN,
    TIES,
    WINS,
    PublicTree,
)
from mccfr_spiel.common.arrays import INFOSET, MAX_INDEX
from mccfr_spiel.common.budget import (
    Budget,
    MemoryBudgetError,
)
from mccfr_spiel.kernels.blocks import MOST_BLOCKS, find_cuts
from mccfr_spiel.kernels.jit import jit

HANDS = "the infosets of hands"
"""Name of the infosets and lists of hands in a budget."""


_BYTES_OF_HAND = 32
"""Bytes per hand in a list."""

LEAST_BLOCK = 2**21
"""Smallest average number of sequences per block; see kernels/passes.py."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiples of this number are distinct places, see kernels/randomness.py."""


class HandInfosets(NamedTuple):
    """The infosets of a public tree: one per decision and possible hand.

    Attributes:
        records: `[I]` of dtype INFOSET, decision by decision.
        actions: `[S]` action per sequence.
        first: `[N]` first infoset per decision; at other nodes, of the next decision.
        members: per row of `Boards.offsets`, the hands with an infoset of their own, in
            order.
        rows: `[N]` row of the acting player per decision.
        hands: lists for passes.
    """

    records: np.ndarray
    actions: np.ndarray
    first: np.ndarray
    members: list[np.ndarray]
    rows: np.ndarray
    hands: Hands

    def node_and_hand(self, infoset: int) -> tuple[int, int]:
        """Decision and hand (row of `hole_cards`) of an infoset."""
        node = int(np.searchsorted(self.first, infoset, "right")) - 1
        return node, int(self.members[self.rows[node]][infoset - self.first[node]])


def list_hands(
    public: PublicTree, budget: Budget, name: str = "the game"
) -> HandInfosets:
    """Makes the infosets and lists of a public tree.

    Args:
        public: the tree.
        budget: bytes for the infosets and lists.
        name: name of the game, for messages.

    Raises:
        MemoryBudgetError: the lists do not fit the budget.
        ValueError: no two hands are compatible.
        GameError: the tree contradicts itself.
    """
    boards, rows, first, begins = _count(public)
    num_infosets, num_sequences = int(first[-1]), int(begins[-1])
    num_decisions = int((public.kind == DECISION).sum())
    summary = (
        f"{num_infosets:,} infosets of hands at {num_decisions:,} public decisions of "
        f"{name} have {num_sequences:,} sequences. Use fewer bet sizes or smaller "
        "ranges, or begin on a later street. They"
    )
    if num_sequences > MAX_INDEX:
        raise MemoryBudgetError(f"{summary} are more than {MAX_INDEX:,}.")
    size = _bytes_of_lists(boards, num_infosets, num_sequences)
    budget.require(size, f"{summary} take")
    budget.record(HANDS, size)
    records = np.empty(num_infosets, INFOSET)
    actions = np.empty(num_sequences, np.int64)
    last, chance = np.empty((public.num_nodes, 2, 3), np.int32), public.chance.copy()
    actions[:2] = -1
    player = np.where(public.kind == DECISION, public.player, -1)
    columns = public.first_child, public.num_children, player, first[:-1], begins[:-1]
    nodes, members = np.column_stack((*columns, rows)), np.concatenate(boards.members)
    ends = np.append(0, np.cumsum([*map(len, boards.members)]))
    offsets, action = boards.offsets, public.action
    _fill(nodes, offsets, members, ends, action, records, actions, last, chance)
    hands = _list_entries(
        public, boards, last, chance, *_cut(public, first, begins, last)
    )
    check_probabilities(hands, records, num_sequences, budget, name)
    return HandInfosets(records, actions, first[:-1], boards.members, rows, hands)


def sizes_of(public: PublicTree) -> tuple[int, int, int, int]:
    """Numbers of infosets and sequences of a public tree, bytes of `list_hands`, and
    hands at leaves that a pass for both players reads.
    """
    boards, _, first, begins = _count(public)
    num_infosets, num_sequences = int(first[-1]), int(begins[-1])
    size = _bytes_of_lists(boards, num_infosets, num_sequences)
    lengths = np.array([*map(len, boards.lists)])
    steps = 2 * int(lengths[boards.node_board[public.num_children == 0]].sum())
    return num_infosets, num_sequences, size, steps


def _count(public: PublicTree) -> tuple[Boards, np.ndarray, np.ndarray, np.ndarray]:
    """Boards and numbering of a public tree.

    Returns:
        The boards; `[N]` the acting player's row at each decision; `[N + 1]` the first
        infoset and `[N + 1]` the first sequence of each decision. Other nodes have the
        numbers of the next decision.
    """
    check_tree(public)
    boards = list_boards(public)
    is_decision = public.kind == DECISION
    rows = (
        np.where(is_decision, public.player, 0) * len(boards.lists) + boards.node_board
    )
    sizes = np.array([len(members) for members in boards.members])
    counts = np.where(is_decision, sizes[rows], 0)
    first = np.append(0, np.cumsum(counts))
    begins = 2 + np.append(0, np.cumsum(counts * public.num_children))
    return boards, rows, first, begins


def _bytes_of_lists(boards: Boards, num_infosets: int, num_sequences: int) -> int:
    """Bytes of the infosets and lists."""
    size = INFOSET.itemsize * num_infosets + 8 * num_sequences + boards.offsets.nbytes
    return size + _BYTES_OF_HAND * sum(map(len, boards.lists))


@jit
def _fill(nodes, offsets, members, member_ends, action, records, actions, last, chance):
    """Writes the infosets of a public tree, decision by decision.

    Args:
        nodes: `[N, 6]` first child, number of children, acting player (-1 elsewhere
            than at decisions), first infoset, first sequence, row of offsets.
        offsets: see `Boards`.
        members: concatenated members of all rows.
        member_ends: starts of the rows in `members`, and the length of `members`.
        action: see `PublicTree`.
        records, actions: see `HandInfosets`; written.
        last: `[N, 2, 3]` each player's last sequences before a node: that of offset 0,
            the distance between those of neighbouring offsets, and the row of the
            offsets. With distance 0 all hands are at the empty sequence. Written.
        chance: `[N]` as in `PublicTree`; becomes the probability of all public cards.
    """
    last[0, :, :] = 0
    last[0, 1, 0] = 1
    # Parents precede children. Invariant: `last` and `chance` of a node are complete
    # when the loop reaches it. An iteration passes them on to the children, and at a
    # decision writes an infoset per member of the row. The loop ends after the last
    # node.
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
        parent, stride = last[node, player, 0], last[node, player, 1]
        parent_row = last[node, player, 2]
        for member in range(member_ends[row], member_ends[row + 1]):
            offset = offsets[parent_row, members[member]]
            records[infoset]["place"] = np.uint64(infoset) * _ODD
            records[infoset]["first_sequence"] = sequence
            records[infoset]["parent"] = parent + stride * offset
            records[infoset]["num_actions"] = count
            records[infoset]["player"] = player
            for k in range(count):
                actions[sequence + k] = action[first + k]
            infoset += 1
            sequence += count


def _cut(
    public: PublicTree, first: np.ndarray, begins: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Cuts the infosets into the blocks that threads share. Small trees are one block.

    Returns:
        `[B + 1]` the first infosets and the first sequences of the blocks, each with an
        end.
    """
    nodes = np.arange(public.num_nodes)
    parent = last[nodes, np.maximum(public.player, 0), 0]
    parent_node = np.searchsorted(begins, parent, "right") - 1
    parent_node[np.diff(begins) == 0] = -1  # not a decision, or no hands
    max_blocks = max(min(MOST_BLOCKS, int(begins[-1]) // LEAST_BLOCK), 1)
    cuts = find_cuts(parent_node, begins[1:] - 2, max_blocks)
    return first[cuts], begins[cuts]


def _list_entries(
    public: PublicTree,
    boards: Boards,
    last: np.ndarray,
    chance: np.ndarray,
    cuts: np.ndarray,
    first_sequences: np.ndarray,
) -> Hands:
    """Lists the leaves of both players, grouped as `Hands` describes.

    Args:
        public: the tree.
        boards: boards of the tree.
        last: `[N, 2, 3]` each player's last sequences before a node, see `_fill`.
        chance: `[N]` probability of the public cards on the path to each node.
        cuts, first_sequences: starts of the blocks, see `_cut`.
    """
    # A decision without hands has no sequences, so the first sequence belongs to the
    # following decision or is past the end. Leaves below it cannot be reached and are
    # dropped.
    is_reached = np.array([len(hands) > 0 for hands in boards.lists])[boards.node_board]
    leaves = np.flatnonzero((public.num_children == 0) & is_reached)
    scale = chance[leaves] / sum_of_pairs(public, boards.held[:, boards.node_board[0]])
    is_fold = public.kind[leaves] == FOLD
    board, num_boards = boards.node_board[leaves], len(boards.lists)
    pairs, row = np.unique(
        last[leaves, :, 2] * num_boards + board[:, None], return_inverse=True
    )
    offset_rows = [
        boards.offsets[row_number, boards.lists[board_number]]
        for row_number, board_number in zip(*np.divmod(pairs, num_boards), strict=True)
    ]
    begins = np.append(0, np.cumsum([*map(len, offset_rows)]))
    reached_by = last[leaves]
    reached_by[:, :, 2] = begins[row.reshape(-1, 2)]
    groups, ends, steps, pays, group_ends = [], [], [], [], [0]
    # An iteration lists the entries of a player. Payoffs become multiples of three
    # sums: at a showdown lose * all + (win - tie) * weaker + (tie - lose) * not
    # stronger. Entries with equal block, board and opponent's sequence form a group;
    # groups are sorted by block, board and showdown, so that neighbours can share a
    # batch.
    for player in (0, 1):
        wins, loses = (WINS, LOSES) if player == 0 else (LOSES, WINS)
        own_pays = public.pays[leaves, :, player]
        win, tie, lose = own_pays[:, wins], own_pays[:, TIES], own_pays[:, loses]
        paid = np.stack((lose, win - tie, tie - lose), axis=1)
        paid = np.where(is_fold[:, None], own_pays[:, :1] * (1.0, 0.0, 0.0), paid)
        paid = np.column_stack((paid, scale))
        opponent = reached_by[:, 1 - player]
        block = np.searchsorted(first_sequences, reached_by[:, player, 0], "right") - 1
        block = np.maximum(block, 0)  # of the empty sequences
        _, first, group = np.unique(
            (block * num_boards + board) << 32 | opponent[:, 0],
            return_index=True,
            return_inverse=True,
        )
        compares = np.zeros(len(first), np.int32)
        compares[group[~is_fold]] = 1
        order = np.lexsort((first, compares, board[first], block[first]))
        group_number = np.argsort(order)[group]
        entries = np.argsort(group_number, kind="stable")
        first = first[order]
        groups.append(np.column_stack((board[first], opponent[first], compares[order])))
        steps.append(reached_by[entries, player])
        pays.append(paid[entries])
        ends.append(np.bincount(group_number))
        sizes = np.bincount(block[first], minlength=len(cuts) - 1)
        group_ends += (group_ends[-1] + np.cumsum(sizes)).tolist()
    listed = np.concatenate(boards.lists)
    num_cards = int(public.hole_cards.max()) + 1
    cards = np.full((len(listed), 2), num_cards, CARD)
    cards[:, : public.hole_cards.shape[1]] = public.hole_cards[listed]
    weights = [
        np.where(boards.held[:, board, hands], public.weights[:, hands], 0.0)
        for board, hands in enumerate(boards.lists)
    ]
    payoffs = [
        public.pays[public.kind == FOLD, 0],
        public.pays[public.kind == SHOWDOWN],
    ]
    return Hands(
        steps=np.concatenate(steps),
        pays=np.concatenate(pays),
        entry_ends=np.append(0, np.cumsum(np.concatenate(ends))),
        groups=np.concatenate(groups).astype(np.int32),
        group_ends=np.array(group_ends),
        cuts=cuts,
        list_ends=np.append(0, np.cumsum([len(hands) for hands in boards.lists])),
        levels=np.concatenate(boards.levels).astype(np.int32),
        cards=cards,
        weights=np.ascontiguousarray(np.concatenate(weights, axis=1)),
        offsets=np.maximum(np.concatenate(offset_rows), 0).astype(OFFSET),
        num_cards=np.array([num_cards]),
        payoffs=np.unique(
            np.concatenate([rows.reshape(-1, 2) for rows in payoffs]), axis=0
        ),
    )
