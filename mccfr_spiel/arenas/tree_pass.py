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
from mccfr_spiel.common.budget import MemoryBudgetError
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
        gradient = self._summed(self.arrays, plan, players)
        return Gradient(gradient, len(players) * self.table.num_nodes)

    def _summed(self, leaves: Passes, plan: np.ndarray, players: range) -> np.ndarray:
        """`[S]` gradients of some players from a list of leaves."""
        gradient, infosets = np.zeros_like(plan), self.table.infosets
        for player in players:
            plans.fill_gradient(infosets, leaves, player, plan, gradient)
        return gradient

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """See FullPass. Visits the nodes, which is several times slower, if the
        probabilities of chance at the leaves do not fit into memory."""
        try:
            leaves = self.arrays._replace(payoffs=self.table.list_chance())
        except MemoryBudgetError:
            reaches = np.zeros(self.table.num_infosets)
            traversal.add_reaches(self.table.arrays, plan, reaches)
            return reaches
        players = range(self.table.num_players)
        return self.reaches_of(self._summed(leaves, plan, players))

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
