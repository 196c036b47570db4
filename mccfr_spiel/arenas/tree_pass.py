"""TreePass: full passes that read the leaves of a complete tree instead of its nodes.

PrunedEngine runs iterations with regret-based pruning on the same leaves.
"""

import functools
from typing import Any

import numpy as np

from mccfr_spiel.arenas.arena import GradientPass
from mccfr_spiel.arenas.full_pass import NO_CHOICE, FullPass, Gradient, PassEngine
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.kernels import passes, plans, regret_pruning, teams, traversal
from mccfr_spiel.kernels.evaluation import Evaluation, evaluate
from mccfr_spiel.kernels.tables import (
    Blocks,
    Passes,
    Tables,
    Task,
    TreeArrays,
    Walk,
)


class TreePass(FullPass):
    """Passes that read the list of leaves of a complete tree in order."""

    table: GameTree

    @functools.cached_property
    def arrays(self) -> Passes:
        """The leaves of the tree, listed for each player by the player's last sequence
        before the leaf, and the infosets of each player."""
        return self.table.list_leaves()

    @functools.cached_property
    def blocks(self) -> Blocks:
        """Partition of the infosets into blocks, which threads process in parallel."""
        if self.num_threads == 1:
            return cutting.one_block(self.arrays)
        return self.table.list_blocks()

    def tree_arrays(self) -> TreeArrays:
        """See FullPass. The arrays include unused rows at their ends."""
        return TreeArrays(*self.table.storage)

    def held(self) -> tuple[np.ndarray, ...]:
        """See FullPass."""
        return self.table.storage

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """See FullPass; the gradient is complete when this returns."""
        gradient = np.zeros_like(plan)
        for player in players:
            infosets = self.table.infosets
            plans.fill_gradient(infosets, self.arrays, player, plan, gradient)
        return Gradient(gradient, len(players) * self.table.num_nodes)

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """See FullPass."""
        reaches = np.zeros(self.table.num_infosets)
        traversal.add_reaches(self.table.arrays, plan, reaches)
        return reaches

    def after_sequences(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See FullPass. Uses a single thread, because with several blocks the value of
        each block's root infoset replaces the value of its first sequence."""
        return TreePass(self.table).evaluated(policy)[1:]

    def evaluated(
        self, policy: np.ndarray, choice: np.ndarray = NO_CHOICE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See FullPass. A single pass over the leaves computes everything."""
        policy, infosets = np.ascontiguousarray(policy, np.float64), self.table.infosets
        vectors = np.empty_like(policy), np.empty_like(policy), np.empty_like(policy)
        work = Evaluation(infosets, self.arrays, self.blocks, policy, *vectors, choice)
        teams.run(evaluate, self.num_threads, work, notes=passes.NUM_NOTES)
        return vectors


class PrunedEngine(PassEngine):
    """Runs iterations of regret-based pruning on a complete tree of two players.

    Pruned passes skip actions with very negative regret, see kernels/regret_pruning.py.
    """

    full_pass: TreePass

    def __init__(self, full_pass: Any) -> None:
        """Computes the bounds on payoffs that pruning needs, see `Ceilings`."""
        super().__init__(full_pass, regret_pruning.iterate_pruned)
        ceilings = full_pass.table.list_ceilings()
        self.stack_height = int(ceilings.height[0])
        self._records = *self._records, ceilings

    def frame_of(self, task: Task, tables: Tables, walk: Walk) -> np.ndarray:
        """See Engine."""
        own = task, self.tree_arrays(), tables, walk
        return regret_pruning.LAYOUT.frame_of(*own, *self._records)
