"""The infosets of a public tree, and the list `Hands` from which passes compute
gradients.

An infoset is a pair of a decision (a public node where a player acts) and a
representative hand of this player. The hands at one decision get consecutive infosets,
and each infoset has as many sequences as the decision has actions. So the sequence of
an action is `first + stride * offset`, where `first` is the sequence of this action at
the decision's first infoset, `stride` the number of actions, and `offset` the position
of the hand among the hands at the decision. Lists store `first`, `stride` and a row of
offsets instead of one sequence per hand.
"""

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
from mccfr_spiel.common.budget import Budget, MemoryBudgetError
from mccfr_spiel.kernels.blocks import MOST_BLOCKS, find_cuts
from mccfr_spiel.kernels.jit import jit

HANDS = "the infosets of hands"
"""Name of the infosets and lists of hands in a budget."""


_BYTES_OF_HAND = 32
"""Bytes per hand in a list."""

LEAST_BLOCK = 2**21
"""Smallest average number of sequences per block; see kernels/blocks.py."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Odd factor that spreads the infosets' numbers over 64 bits. The products are
distinct; they are the hashes `place` that seed the random draws at infosets, see
kernels/randomness.py.
"""


class HandInfosets(NamedTuple):
    """The infosets of a public tree: one per decision and representative hand.

    Attributes:
        records: `[I]` of dtype INFOSET, decision by decision.
        actions: `[S]` action per sequence.
        first: `[N]` per decision, its first infoset; for other nodes, the first infoset
            of the next decision.
        members: per row of `Boards.offsets`, the representative hands in the order of
            their infosets.
        rows: `[N]` per decision, the acting player's row in `members`.
        hands: the list from which passes compute gradients.
    """

    records: np.ndarray
    actions: np.ndarray
    first: np.ndarray
    members: list[np.ndarray]
    rows: np.ndarray
    hands: Hands

    def node_and_hand(self, infoset: int) -> tuple[int, int]:
        """Returns the decision and the hand (row of `hole_cards`) of an infoset."""
        node = int(np.searchsorted(self.first, infoset, "right")) - 1
        return node, int(self.members[self.rows[node]][infoset - self.first[node]])


def list_hands(
    public: PublicTree, budget: Budget, name: str = "the game"
) -> HandInfosets:
    """Makes the infosets of a public tree, and the list for passes.

    Args:
        public: the tree.
        budget: memory budget, in which the infosets and lists are recorded.
        name: name of the game, for messages.

    Raises:
        MemoryBudgetError: the lists do not fit the budget, or there are too many
        sequences.
        ValueError: no hand of player 0 is compatible with a hand of player 1.
        GameError: the tree contradicts itself.
    """
    boards, rows, first, begins = count_hands(public)
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
    """Returns the size of a public tree without making its lists.

    Returns:
        The number of infosets; the number of sequences; the bytes of the result of
            `list_hands`; and the number of hands, summed over leaves, that a pass for
            both players reads.
    """
    boards, _, first, begins = count_hands(public)
    num_infosets, num_sequences = int(first[-1]), int(begins[-1])
    size = _bytes_of_lists(boards, num_infosets, num_sequences)
    lengths = np.array([*map(len, boards.lists)])
    steps = 2 * int(lengths[boards.node_board[public.num_children == 0]].sum())
    return num_infosets, num_sequences, size, steps


def count_hands(
    public: PublicTree,
) -> tuple[Boards, np.ndarray, np.ndarray, np.ndarray]:
    """Lists the boards of a public tree, and numbers infosets and sequences.

    Returns:
        The boards; `[N]` the acting player's row of `Boards.offsets` at each decision;
            `[N + 1]` the first infoset of each decision, and the number of infosets;
            `[N + 1]` the first sequence of each decision, and the number of sequences.
            Other nodes have the numbers of the next decision.
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
    """Returns an estimate of the bytes of the infosets and lists."""
    size = INFOSET.itemsize * num_infosets + 8 * num_sequences + boards.offsets.nbytes
    return size + _BYTES_OF_HAND * sum(map(len, boards.lists))


@jit
def _fill(nodes, offsets, members, member_ends, action, records, actions, last, chance):
    """Writes the infosets of a public tree, decision by decision.

    Args:
        nodes: `[N, 6]` first child, number of children, acting player (-1 at nodes
            other than decisions), first infoset, first sequence, row of `offsets`.
        offsets: see `Boards`.
        members: `Boards.members`, concatenated.
        member_ends: start of each row in `members`, and the length of `members`.
        action: see `PublicTree`.
        records, actions: see `HandInfosets`; written.
        last: `[N, 2, 3]` written: the last sequences of each player before a node, as a
            triple (first, stride, row). A hand has the last sequence `first + stride *
            offsets[row, hand]`. With stride 0 all hands are at the player's empty
            sequence.
        chance: `[N]` as in `PublicTree`; each value is multiplied by the values of all
            ancestors, so that it becomes the probability of all public cards on the
            path.
    """
    last[0, :, :] = 0
    last[0, 1, 0] = 1
    # Parents precede children. Invariant: `last` and `chance` of a node are complete
    # when the loop reaches the node. Each pass of the loop copies both to the children,
    # and at a decision writes one infoset per representative hand.
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
    """Cuts the infosets into blocks, which different threads process.

    A small tree gets a single block. Arguments are those of `count_hands` and `_fill`.

    Returns:
        `[B + 1]` first infoset of each block, and the number of infosets; `[B + 1]`
            first sequence of each block, and the number of sequences.
    """
    nodes = np.arange(public.num_nodes)
    parent = last[nodes, np.maximum(public.player, 0), 0]
    parent_node = np.searchsorted(begins, parent, "right") - 1
    parent_node[np.diff(begins) == 0] = -1  # not a decision, or no hands
    max_blocks = max(min(MOST_BLOCKS, int(begins[-1]) // LEAST_BLOCK), 1)
    # The work of a block is its number of sequences. The two empty sequences, which
    # belong to no infoset, are subtracted.
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
    """Lists the leaves once for each player, in groups as described in
    hand_gradients.py.

    Args:
        public: the tree.
        boards: boards of the tree.
        last: `[N, 2, 3]` each player's last sequences before a node, see `_fill`.
        chance: `[N]` probability of the public cards on the path to each node.
        cuts: `[B + 1]` first infoset of each block, see `_cut`.
        first_sequences: `[B + 1]` first sequence of each block, see `_cut`.
    """
    # At a board where no player can hold a hand, decisions have no infosets, and their
    # first sequence in `last` belongs to a later decision or is out of range. Leaves at
    # such boards cannot be reached and are dropped.
    is_reached = np.array([len(hands) > 0 for hands in boards.lists])[boards.node_board]
    leaves = np.flatnonzero((public.num_children == 0) & is_reached)
    scale = chance[leaves] / sum_of_pairs(public, boards.held[:, boards.node_board[0]])
    is_showdown = public.kind[leaves] == SHOWDOWN
    board, num_blocks = boards.node_board[leaves], len(cuts) - 1
    offset_rows, reached_by = _rows_at_leaves(boards, last[leaves], board)
    steps, pays, groups, entry_counts, group_counts = [], [], [], [], []
    for player in (0, 1):
        own, opponent = reached_by[:, player], reached_by[:, 1 - player]
        block = np.searchsorted(first_sequences, own[:, 0], "right") - 1
        block = np.maximum(block, 0)  # of the empty sequences
        group, leads, compares = _group(block, board, opponent[:, 0], is_showdown)
        entries = np.argsort(group, kind="stable")
        steps.append(own[entries])
        pays.append(_payoffs(public, leaves, player, scale)[entries])
        groups.append(np.column_stack((board[leads], opponent[leads], compares)))
        entry_counts.append(np.bincount(group))
        group_counts.append(np.bincount(block[leads], minlength=num_blocks))
    listed = np.concatenate(boards.lists)
    num_cards = int(public.hole_cards.max()) + 1
    cards = np.full((len(listed), 2), num_cards, CARD)
    cards[:, : public.hole_cards.shape[1]] = public.hole_cards[listed]
    weights = [
        np.where(boards.held[:, number, hands], public.weights[:, hands], 0.0)
        for number, hands in enumerate(boards.lists)
    ]
    payoffs = [
        public.pays[public.kind == FOLD, 0],
        public.pays[public.kind == SHOWDOWN],
    ]
    return Hands(
        steps=np.concatenate(steps),
        pays=np.concatenate(pays),
        entry_ends=np.append(0, np.cumsum(np.concatenate(entry_counts))),
        groups=np.concatenate(groups).astype(np.int32),
        group_ends=np.append(0, np.cumsum(np.concatenate(group_counts))),
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


def _rows_at_leaves(
    boards: Boards, last: np.ndarray, board: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Makes the rows of offsets that map the hands listed at a leaf to sequences.

    The hands of a leaf are those of its board. Their offsets are those of the player's
    last decision, which may have another board and so other hands.

    Args:
        boards: boards of the tree.
        last: `[leaves, 2, 3]` each player's last sequences, see `_fill`.
        board: `[leaves]` board of each leaf.

    Returns:
        A list with one row of offsets per combination of a row in `Boards.offsets` and
            a board of a leaf; and a copy of `last` in which the row number is replaced
            by the start of the new row in the concatenated list.
    """
    num_boards = len(boards.lists)
    pairs, row = np.unique(
        last[:, :, 2] * num_boards + board[:, None], return_inverse=True
    )
    offset_rows = [
        boards.offsets[row_number, boards.lists[board_number]]
        for row_number, board_number in zip(*np.divmod(pairs, num_boards), strict=True)
    ]
    starts = np.append(0, np.cumsum([*map(len, offset_rows)]))
    reached_by = last.copy()
    reached_by[:, :, 2] = starts[row.reshape(-1, 2)]
    return offset_rows, reached_by


def _payoffs(
    public: PublicTree, leaves: np.ndarray, player: int, scale: np.ndarray
) -> np.ndarray:
    """Returns a player's payoffs at leaves as multiples of three sums of reach.

    Let `all`, `weaker` and `up_to` be the opponent's reach, summed over all compatible
    hands, over the weaker ones, and over those that are not stronger. A hand then gets
    `lose * all + (win - tie) * weaker + (tie - lose) * up_to` at a showdown, where
    `win`, `tie` and `lose` are the returns, and a multiple of `all` at a fold.

    Args:
        public: the tree.
        leaves: numbers of the leaves.
        player: the player.
        scale: `[leaves]` common factor of the payoffs at each leaf.

    Returns:
        `[leaves, 4]` the multiples of `all`, `weaker` and `up_to`, and `scale`.
    """
    wins, loses = (WINS, LOSES) if player == 0 else (LOSES, WINS)
    pays = public.pays[leaves, :, player]
    win, tie, lose = pays[:, wins], pays[:, TIES], pays[:, loses]
    multiples = np.stack((lose, win - tie, tie - lose), axis=1)
    is_fold = public.kind[leaves, None] == FOLD
    multiples = np.where(is_fold, pays[:, :1] * (1.0, 0.0, 0.0), multiples)
    return np.column_stack((multiples, scale))


def _group(
    block: np.ndarray, board: np.ndarray, opponent: np.ndarray, is_showdown: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups the leaves of a player at which the opponent's reach is the same.

    These are the leaves with equal block, board and last sequences of the opponent.
    Groups are sorted by block, then board, then whether they contain a showdown, so
    that consecutive groups can be summed side by side.

    Args:
        block: `[leaves]` block that contains the player's last sequences.
        board: `[leaves]` number of the board.
        opponent: `[leaves]` the opponent's last sequence for offset 0, which identifies
            all last sequences of the opponent.
        is_showdown: `[leaves]` whether a leaf is a showdown.

    Returns:
        `[leaves]` the group of each leaf; `[groups]` one leaf of each group; and
            `[groups]` 1 if the group contains a showdown, else 0.
    """
    num_boards = int(board.max()) + 1
    _, leads, group = np.unique(
        (block * num_boards + board) << 32 | opponent,
        return_index=True,
        return_inverse=True,
    )
    compares = np.zeros(len(leads), np.int32)
    compares[group[is_showdown]] = 1
    order = np.lexsort((leads, compares, board[leads], block[leads]))
    return np.argsort(order)[group], leads[order], compares[order]
