"""Passes over the leaves of a complete tree."""

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
    """Passes over the leaves of a complete tree."""

    table: GameTree

    @functools.cached_property
    def arrays(self) -> Passes:
        """The list of the leaves."""
        return self.table.list_leaves()

    @functools.cached_property
    def blocks(self) -> Blocks:
        """The pieces into which the work of `values` and `respond` is cut."""
        if self.num_threads == 1:
            return cutting.one_block(self.arrays)
        return self.table.list_blocks()

    def tree_arrays(self) -> TreeArrays:
        """The tree's arrays with room to spare."""
        return TreeArrays(*self.table.storage)

    def held(self) -> tuple[np.ndarray, ...]:
        """As in FullPass."""
        return self.table.storage

    def start_gradient(self, plan: np.ndarray, players: range) -> GradientPass:
        """As in FullPass; complete at once."""
        gradient = np.zeros_like(plan)
        for player in players:
            infosets = self.table.infosets
            plans.fill_gradient(infosets, self.arrays, player, plan, gradient)
        return Gradient(gradient, len(players) * self.table.num_nodes)

    def reaches(self, plan: np.ndarray) -> np.ndarray:
        """As in FullPass."""
        reaches = np.zeros(self.table.num_infosets)
        traversal.add_reaches(self.table.arrays, plan, reaches)
        return reaches

    def after_sequences(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As in FullPass, by one thread: several leave other numbers at the roots of
        blocks."""
        return TreePass(self.table).evaluated(policy)[1:]

    def evaluated(
        self, policy: np.ndarray, choice: np.ndarray = NO_CHOICE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As in FullPass, in one pass over the leaves."""
        policy, infosets = np.ascontiguousarray(policy, np.float64), self.table.infosets
        vectors = np.empty_like(policy), np.empty_like(policy), np.empty_like(policy)
        work = Evaluation(infosets, self.arrays, self.blocks, policy, *vectors, choice)
        teams.run(evaluate, self.num_threads, work, notes=passes.NUM_NOTES)
        return vectors


class PrunedEngine(PassEngine):
    """Runs passes over a complete tree of two players that prune by regret."""

    full_pass: TreePass

    def __init__(self, full_pass: Any) -> None:
        """Lists the ceilings of the tree of a TreePass."""
        super().__init__(full_pass, regret_pruning.iterate_pruned)
        ceilings = full_pass.table.list_ceilings()
        self.stack_height = int(ceilings.height[0])
        self._records = *self._records, ceilings

    def frame_of(self, task: Task, tables: Tables, walk: Walk) -> np.ndarray:
        """See Engine."""
        own = task, self.tree_arrays(), tables, walk
        return regret_pruning.LAYOUT.frame_of(*own, *self._records)
