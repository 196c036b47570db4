"""HandSweeps: passes over the blocks of a public tree."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_spiel.arenas.worlds.hand_blocks import HandBlocks
from mccfr_spiel.kernels import teams
from mccfr_spiel.kernels.hand_decisions import (
    AVERAGE,
    BEST,
    BEST_OF_CURRENT,
    CURRENT,
    NUM_NUMBERS,
)
from mccfr_spiel.kernels.hand_layout import LANES, HandBuffers
from mccfr_spiel.kernels.hand_sweep import NUM_NOTES, sweep
from mccfr_spiel.kernels.interruptions import signals_deferred


class BlockTables(NamedTuple):
    """The tables of a solver; T entries in the blocks of all segments.

    Attributes:
        regret: `[T]` cumulative regrets.
        average: `[T]` weighted sums of policies.
        ahead: `[T]` last regrets of rules that predict; otherwise empty.
        fixed: `[T]` 1 where the policy is fixed and stored in `regret`; empty if it is
            fixed nowhere.
    """

    regret: np.ndarray
    average: np.ndarray
    ahead: np.ndarray
    fixed: np.ndarray


class HandSweeps:
    """Passes over the blocks of a public tree.

    Attributes:
        blocks: the blocks.
        num_threads: number of threads; results do not depend on it.
    """

    def __init__(self, blocks: HandBlocks, num_threads: int = 1) -> None:
        """Allocates the buffers."""
        self.blocks = blocks
        num_tasks = most_tasks(blocks)
        self.num_threads = max(1, min(num_threads, num_tasks))
        self.buffers = _new_buffers(blocks, self.num_threads, num_tasks)

    def start(self, segment: int, player: int, reach: Any, own: Any) -> None:
        """Sets the reaches at the first node for passes of a player.

        Args:
            segment: the first segment of later passes.
            player: the updated player.
            reach: reaches of the opponent's representatives.
            own: reaches of the player's own representatives.
        """
        start = self.buffers.start
        start[player] = 0
        start[player, 0, : len(reach)] = reach
        start[player, 1, : len(own)] = own

    def start_at_root(self) -> None:
        """Sets the reaches for passes over the whole tree."""
        for p in (0, 1):
            weights = self.blocks.weights
            self.start(0, p, weights[1 - p], np.ones(len(weights[p])))

    def run(self, tables: BlockTables, passes: np.ndarray, segment: int = 0) -> None:
        """Makes passes over the subtree of a segment.

        Args:
            tables: the tables.
            passes: `[U, 9]` see `hand_decisions.MODE`.
            segment: the first segment.
        """
        arguments = self.blocks.layout, tuple(tables), passes, segment, self.buffers
        teams.run(sweep, self.num_threads, *arguments, notes=NUM_NOTES)

    def values_at_root(self, player: int) -> np.ndarray:
        """The values of a player's representatives after a pass over the whole tree."""
        weights = self.blocks.weights[player]
        return self.buffers.value[0, 0, 0, : len(weights)]

    def evaluated(
        self, tables: BlockTables, numbers: np.ndarray, *, is_current: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """`[2]` returns under a policy of the tables, and `[2]` of best responses.

        Args:
            tables: the tables.
            numbers: `[9]` factors of the rule for the next iteration, which define the
                current policy.
            is_current: whether to evaluate the current policy, not the average.
        """
        modes = (CURRENT, BEST_OF_CURRENT) if is_current else (AVERAGE, BEST)
        returns = np.zeros((2, 2))
        for k, mode in enumerate(modes):
            for p in (0, 1):
                row = numbers.copy()
                row[:2] = mode, p
                with signals_deferred():  # a handler may use the same buffers
                    self.start_at_root()
                    self.run(tables, row[None])
                    returns[k, p] = self.return_of(p)
        return returns[0], returns[1]

    def return_of(self, player: int) -> float:
        """The expected return of a player after a pass over the whole tree."""
        blocks = self.blocks
        weights = blocks.weights[player] * blocks.sizes[player]
        return float(weights @ self.values_at_root(player) / blocks.total)


def most_tasks(blocks: HandBlocks) -> int:
    """The largest number of segments directly below one segment."""
    layout = blocks.layout
    starts = layout.child[layout.segment_deals]
    return int(np.diff(starts).max(initial=0))


def bytes_of_buffers(blocks: HandBlocks, num_threads: int) -> int:
    """The bytes of the buffers of a HandSweeps."""
    levels, nodes, hands = _sizes(blocks)
    size = num_threads * (4 * levels * nodes * hands + 16 * hands)
    return 8 * (size + most_tasks(blocks) * hands)


def bytes_of_solver(
    blocks: HandBlocks, num_threads: int, num_tables: int, *, is_fixed: bool = False
) -> int:
    """The bytes of a solver's tables and buffers.

    Args:
        blocks: the blocks.
        num_threads: number of threads.
        num_tables: number of tables of float32.
        is_fixed: whether the policy is fixed somewhere.
    """
    size = blocks.num_entries * (4 * num_tables + is_fixed)
    return size + bytes_of_buffers(blocks, num_threads)


def steps_of(blocks: HandBlocks) -> int:
    """The number of hands that the sums at leaves of one iteration read or write."""
    layout, steps = blocks.layout, 0
    num_reps = np.diff(layout.rep_starts)[:, layout.board]
    num_hands = np.diff(layout.hand_starts)[:, layout.board]
    for p in (0, 1):
        batches = np.diff(layout.batch_starts[p])[layout.template]
        steps += int((batches * (num_reps[p] + 2 * num_hands[1 - p])).sum())
    return steps


def _sizes(blocks: HandBlocks) -> tuple[int, int, int]:
    """Levels, nodes of the largest template, and hands of the longest list."""
    layout, levels, segment = blocks.layout, 0, np.arange(len(blocks.layout.board))
    while len(segment):
        levels += 1
        segment = blocks.segments.parent[segment]
        segment = segment[segment >= 0]
    nodes = int(np.diff(layout.starts).max())
    lists = np.diff(layout.rep_starts), np.diff(layout.hand_starts)
    return levels, nodes, max(1, *(int(x.max()) for x in lists))


def _new_buffers(blocks: HandBlocks, num_threads: int, num_tasks: int) -> HandBuffers:
    levels, nodes, hands = _sizes(blocks)
    levels = max(levels, 2)  # kernels always name the second level
    shape, num_cards = (num_threads, levels, nodes, hands), blocks.layout.num_cards[0]
    return HandBuffers(
        start=np.zeros((2, 2, hands)),
        reach=np.zeros(shape),
        own=np.zeros(shape),
        value=np.zeros(shape),
        policy=np.zeros(shape),
        below=np.zeros((max(num_tasks, 1), hands)),
        reaches=np.zeros((num_threads, hands + 1, LANES)),
        seen=np.zeros((num_threads, num_cards + 2, LANES)),
        sums=np.zeros((num_threads, 3, hands + 1, LANES)),
        position=np.zeros((num_threads, levels, 3), np.int64),
    )


def numbers_of(
    positive: float = 1.0,
    negative: float = 1.0,
    decay: float = 1.0,
    *,
    floors: bool = False,
    predicts: float = 0.0,
) -> np.ndarray:
    """`[9]` numbers of a pass, with mode and player 0 and without trembles; see
    `hand_decisions.MODE`."""
    numbers = np.zeros(NUM_NUMBERS)
    numbers[2:8] = positive, negative, decay, floors, predicts, positive
    return numbers
