"""Values and reaches of a policy in blocks, computed segment by segment on demand."""

import functools
import threading
from typing import NamedTuple

import numpy as np

from mccfr_spiel.arenas.hand_arena import BlockArena
from mccfr_spiel.arenas.hand_sweeps import BlockTables, HandSweeps, numbers_of
from mccfr_spiel.kernels.hand_decisions import AVERAGE, MODE, UPDATED
from mccfr_spiel.kernels.hand_layout import (
    EDGE,
    FIRST_CHILD,
    NUM_CHILDREN,
    PLAYER,
    ROW,
)

_MOST_SEGMENTS = 64
"""Number of segments whose values are kept. A path has at most three segments."""


class SegmentValues(NamedTuple):
    """Reaches and values in a segment, by player p and local node.

    Attributes:
        reach: `[2][n, H]` reach of player p's representatives, without chance; written
            only at the nodes to which column `ROW + 1 - p` of `nodes` refers.
        values: `[2][n, H]` counterfactual values of player p's representatives: sums
            over the opponent's hands of reach times return.
    """

    reach: tuple[np.ndarray, np.ndarray]
    values: tuple[np.ndarray, np.ndarray]


class BlockValues:
    """Values of a policy at all public nodes of a game.

    Attributes:
        arena: the arena.
        table: the policy as a table, see `BlockPolicy.weights`.
        returns: `[2]` expected returns.
        best: `[2]` returns of best responses.
    """

    def __init__(self, arena: BlockArena, table: np.ndarray) -> None:
        """Evaluates the policy at the root."""
        self.arena, self.table = arena, table
        self._tables = BlockTables(
            table, table, np.zeros(0, table.dtype), np.zeros(0, np.uint8)
        )
        self._sweeps = HandSweeps(arena.blocks, 1)
        self.returns, self.best = self._sweeps.evaluated(self._tables, numbers_of())
        # Evaluations share the buffers of `_sweeps`, also those of different threads,
        # such as the requests of a page.
        self._lock = threading.RLock()
        self._kept = functools.lru_cache(_MOST_SEGMENTS)(self._segment)

    def _segment(self, segment: int) -> SegmentValues:
        """Evaluates the subtree of a segment, for both players."""
        with self._lock:
            return self._evaluated(segment)

    def _evaluated(self, segment: int) -> SegmentValues:
        """Evaluates a subtree; the caller holds the lock."""
        blocks, sweeps = self.arena.blocks, self._sweeps
        layout, parent = blocks.layout, int(blocks.segments.parent[segment])
        starts = [weights.astype(float) for weights in blocks.weights]
        if parent >= 0:
            starts = [self._reach_below(segment, parent, p) for p in (0, 1)]
        template, board = layout.template[segment], layout.board[segment]
        num_nodes = int(layout.starts[template + 1] - layout.starts[template])
        num_hands = layout.rep_starts[:, board + 1] - layout.rep_starts[:, board]
        reach, values = [], []
        for p in (0, 1):
            sweeps.start(segment, p, starts[1 - p], np.ones(num_hands[p]))
            numbers = numbers_of()
            numbers[MODE], numbers[UPDATED] = AVERAGE, p
            sweeps.run(self._tables, numbers[None], segment)
            buffers = sweeps.buffers
            reach.append(buffers.reach[0, 0, :num_nodes, : num_hands[1 - p]].copy())
            values.append(buffers.value[0, 0, :num_nodes, : num_hands[p]].copy())
        # A pass of player p computes the opponent's reach.
        return SegmentValues((reach[1], reach[0]), (values[0], values[1]))

    def _reach_below(self, segment: int, parent: int, player: int) -> np.ndarray:
        """Reach of a player's representatives at the first node of a segment."""
        layout = self.arena.blocks.layout
        deals = layout.child[layout.segment_deals[parent] :]
        deal = int(np.searchsorted(deals, segment, "right")) - 1
        template, link = layout.template[parent], layout.link[segment]
        local = layout.deals[layout.deal_starts[template] + deal]
        # The row of the opponent of player 1 is that of player 0's own reach.
        row = layout.nodes[layout.starts[template] + local, ROW + 1 - player]
        start, stop = layout.link_starts[player, link : link + 2]
        return self._kept(parent).reach[player][row, layout.above[player, start:stop]]

    def at_root(self, player: int) -> np.ndarray:
        """Counterfactual values of a player's representatives at the root."""
        return self._kept(0).values[player][0]

    def policy_at(self, node: int) -> np.ndarray:
        """`[H, A]` probabilities of the actions at a public decision, for the acting
        player's representatives."""
        segment, player, edge, _, count, num_hands = self._at(node)
        begin = self.arena.blocks.layout.base[segment, player] + edge * num_hands
        table = self.table[begin : begin + count * num_hands].astype(float)
        table = table.reshape(count, num_hands)
        total = table.sum(axis=0)
        policy = np.full(table.shape, 1 / count)
        return np.divide(table, total, out=policy, where=total > 0).T

    def actions_at(self, node: int) -> np.ndarray:
        """`[H, A]` counterfactual values of the actions at a public decision, for the
        acting player's representatives."""
        segment, player, _, first, count, _ = self._at(node)
        return self._kept(segment).values[player][first : first + count].T

    def values_at(self, node: int, player: int) -> np.ndarray:
        """`[H]` counterfactual values of a player's representatives at a public
        node."""
        segment, local = self.arena.blocks.segments.node[node].tolist()
        return self._kept(segment).values[player][local]

    def _at(self, node: int) -> tuple[int, int, int, int, int, int]:
        """Segment, player, first edge, first child, actions and hands of a decision."""
        segment, local = self.arena.blocks.segments.node[node].tolist()
        layout, board = (
            self.arena.blocks.layout,
            self.arena.blocks.layout.board[segment],
        )
        row = layout.nodes[layout.starts[layout.template[segment]] + local].tolist()
        player = row[PLAYER]
        starts = layout.rep_starts[player]
        num_hands = int(starts[board + 1] - starts[board])
        return (
            segment,
            player,
            row[EDGE],
            row[FIRST_CHILD],
            row[NUM_CHILDREN],
            num_hands,
        )
