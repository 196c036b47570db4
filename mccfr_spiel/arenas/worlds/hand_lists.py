"""The infosets of a public tree.

An infoset is a pair of a decision (a public node where a player acts) and a
representative hand of this player. The hands at one decision get consecutive infosets,
and each infoset has as many sequences as the decision has actions. So the sequence of
an action is `first + stride * offset`, where `first` is the sequence of this action at
the decision's first infoset, `stride` the number of actions, and `offset` the position
of the hand among the hands at the decision.
"""

from typing import NamedTuple

import numpy as np

from mccfr_spiel.arenas.worlds.hand_boards import Boards, check_tree, list_boards
from mccfr_spiel.arenas.worlds.public_tree import DECISION, PublicTree
from mccfr_spiel.common.arrays import INFOSET
from mccfr_spiel.kernels.jit import jit

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Odd factor that spreads the infosets' numbers over 64 bits. The products are
distinct; they are the hashes `place` that seed the random draws at infosets, see
kernels/randomness.py.
"""


class Numbering(NamedTuple):
    """The numbers of infosets and sequences.

    Attributes:
        first: `[N + 1]` first infoset of each decision, and the number of infosets;
            other nodes have the number of the next decision.
        begins: `[N + 1]` first sequence of each decision, and the number of sequences.
        members: per row of `Boards.offsets`, the representative hands in the order of
            their infosets.
        rows: `[N]` the acting player's row in `members`, per decision.
        player: `[N]` acting player of each decision.
    """

    first: np.ndarray
    begins: np.ndarray
    members: list[np.ndarray]
    rows: np.ndarray
    player: np.ndarray

    @property
    def num_infosets(self) -> int:
        """The number of infosets."""
        return int(self.first[-1])

    @property
    def num_sequences(self) -> int:
        """The number of sequences, including the empty ones."""
        return int(self.begins[-1])

    def node_and_hand(self, infoset: int) -> tuple[int, int]:
        """Returns the decision and the hand (row of `hole_cards`) of an infoset."""
        node = int(np.searchsorted(self.first[:-1], infoset, "right")) - 1
        return node, int(self.members[self.rows[node]][infoset - self.first[node]])


def number_hands(public: PublicTree) -> tuple[Boards, Numbering]:
    """Lists the boards of a public tree, and numbers its infosets and sequences.

    Raises:
        ValueError: no hand of player 0 is compatible with a hand of player 1.
        GameError: the tree contradicts itself.
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
    return boards, Numbering(first, begins, boards.members, rows, public.player)


def bytes_of_infosets(numbering: Numbering) -> int:
    """The bytes of the result of `list_infosets`."""
    return INFOSET.itemsize * numbering.num_infosets + 8 * numbering.num_sequences


def list_infosets(
    public: PublicTree, boards: Boards, numbering: Numbering
) -> tuple[np.ndarray, np.ndarray]:
    """Lists the infosets of a public tree: one per decision and representative hand.

    Returns:
        `[I]` records of dtype INFOSET, decision by decision; `[S]` action per sequence.
    """
    records = np.empty(numbering.num_infosets, INFOSET)
    actions = np.empty(numbering.num_sequences, np.int64)
    actions[:2] = -1
    player = np.where(public.kind == DECISION, public.player, -1)
    first, begins = numbering.first[:-1], numbering.begins[:-1]
    columns = public.first_child, public.num_children, player, first, begins
    nodes = np.column_stack((*columns, numbering.rows))
    members = np.concatenate(boards.members)
    ends = np.append(0, np.cumsum([*map(len, boards.members)]))
    _fill(nodes, boards.offsets, members, ends, public.action, records, actions)
    return records, actions


@jit
def _fill(nodes, offsets, members, member_ends, action, records, actions):
    """Writes the infosets of a public tree, decision by decision.

    Args:
        nodes: `[N, 6]` first child, number of children, acting player (-1 at nodes
            other than decisions), first infoset, first sequence, row of `offsets`.
        offsets: see `Boards`.
        members: `Boards.members`, concatenated.
        member_ends: start of each row in `members`, and the length of `members`.
        action: see `PublicTree`.
        records, actions: see `list_infosets`; written.
    """
    # The last sequences of each player before a node, as triples (first, stride, row).
    # A hand has the last sequence `first + stride * offsets[row, hand]`. With stride 0
    # all hands are at the player's empty sequence.
    last = np.zeros((len(nodes), 2, 3), np.int32)
    last[0, 1, 0] = 1
    # Parents precede children. Each pass of the loop copies the last sequences of a
    # node to its children, and at a decision writes one infoset per representative
    # hand.
    for node in range(len(nodes)):
        first, count, player = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        infoset, sequence, row = nodes[node, 3], nodes[node, 4], nodes[node, 5]
        for child in range(first, first + count):
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
