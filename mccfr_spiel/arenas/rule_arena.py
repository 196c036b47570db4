"""RuleArena: walks over compiled rules; only the infosets that walks visit are stored,
no nodes."""

from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.arena import ArenaTable, Engine, WalkSpec
from mccfr_spiel.arenas.grouped_walks import GroupedWalks
from mccfr_spiel.arenas.infosets.lock import changes
from mccfr_spiel.arenas.infosets.names import KeyNames
from mccfr_spiel.arenas.infosets.string_checks import longest_history
from mccfr_spiel.arenas.rule_growth import RuleGrowth
from mccfr_spiel.arenas.rules.bound_rules import BoundRules
from mccfr_spiel.arenas.rules.rule_store import RuleStore
from mccfr_spiel.arenas.tree.tree_table import NewState
from mccfr_spiel.common.budget import Budget
from mccfr_spiel.kernels import tables as layout


class RuleArena(ArenaTable):
    """An arena that offers walks over the compiled rules of a game or of its twin.

    Attributes:
        rules: the compiled rules.
        known: the infosets that walks have visited.
        walk_limit: approximate maximum number of nodes that a walk before the first
            update may visit; None for no limit.
    """

    name, store = "compiled rules", "none"

    def __init__(
        self,
        source: pyspiel.Game,
        rules: BoundRules,
        budget: Budget,
        *,
        max_nodes: int,
        twin: bool | None = None,
        new_state: NewState | None = None,
        walk_limit: int | None = None,
    ) -> None:
        """Creates an arena without infosets.

        Args:
            source: the game as passed by the user.
            rules: the compiled rules.
            budget: the memory budget.
            max_nodes: maximum number of nodes of auxiliary trees, for example for
                evaluation.
            twin: argument `twin` of auxiliary trees, see `GameTree`.
            new_state: returns the initial state; defaults to that of the game.
            walk_limit: see the class.

        Raises:
            MemoryBudgetError: the budget is too small for a minimal table.
        """
        super().__init__(source, budget, max_nodes=max_nodes, twin=twin)
        self.rules, self.walk_limit = rules, walk_limit
        self.new_state = new_state or self.game.new_initial_state
        self.known = RuleStore(rules, budget)
        # The array `known.infosets` that `update` has read.
        self._updated: np.ndarray | None = None
        self.update()

    @property
    def longest_history(self) -> int:
        """Number of moves from which on a history counts as endless."""
        return longest_history(self.game)

    def _kept_in_words(self) -> str:
        return "no nodes kept"

    def room(self) -> tuple[int, int]:
        """Numbers of infosets and sequences for which a solver's tables must have rows:
        the capacity of the store, because a walk adds infosets without returning."""
        return self.known.room()

    def update(self) -> None:
        """Copies the infosets that walks have added to the store into this table. The
        caller holds the lock."""
        known = self.known
        if known.infosets is self._updated and known.sizes() == self.sizes():
            return
        num_infosets, num_sequences = known.sizes()
        infosets, keys = known.infosets[:num_infosets], known.keys()
        # `self.actions` is assigned near the end, because `self.sizes()` reads its
        # length. If Ctrl-C interrupts these assignments, `self.sizes()` differs from
        # the sizes of the store, so the next call repeats the update.
        self.infoset_names = KeyNames(self.rules, keys, infosets["player"])
        self.infosets = infosets
        self.actions = known.known.actions[:num_sequences]
        self._updated = known.infosets

    # --- what solvers need ----------------------------------------------------

    def walks(self, spec: WalkSpec) -> Engine:
        """See Arena."""
        return RuleWalks(self, spec)

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """See Arena.

        The header needs no hash of the infosets, because the arrays contain them.
        """
        return {"rules": None, "store": "none"}, self.known.saved()

    @changes
    def recall(self, arrays: dict[str, np.ndarray]) -> bool:
        """Restores infosets from the arrays that `saved` returned.

        Returns:
            False if the arrays do not contain a valid key of the game for each infoset.

        Raises:
            MemoryBudgetError: the arrays exceed the budget.
        """
        fits = self.known.recall(arrays)
        self.update()
        return fits


class RuleWalks(Engine):
    """Runs walks over compiled rules.

    Attributes:
        groups: runs large batches of walks in groups, in several threads; None if
            threads must not divide the walks.
    """

    def __init__(self, arena: RuleArena, spec: WalkSpec) -> None:
        """Creates the engine and the arrays of a walk, which begins at the root.

        Raises:
            MemoryBudgetError: the arrays of the walk exceed the budget.
        """
        self._known = arena.known
        self.kernel = arena.known.make_iterate(spec.rule, spec.sampled)
        self.groups: GroupedWalks | None = None
        if spec.shares and spec.is_batched and spec.initial_regret == 0.0:
            self.groups = GroupedWalks(arena, arena.known, spec)
            self.bytes_per_row = self.groups.bytes_per_row
        self._path, self._node = arena.known.new_path(), arena.known.tree_of_node()
        self.growth = RuleGrowth(arena, spec, arena.known, self._path)

    def tree_arrays(self) -> layout.TreeArrays:
        """See Engine. Besides the infosets, the arrays contain the chance distribution
        and the returns of the current node of a walk."""
        return self._node._replace(infosets=self._known.infosets)

    def held(self) -> tuple[Any, ...]:
        """See Engine."""
        return self._known.infosets, self._known.known

    def frame_of(
        self, task: layout.Task, tables: layout.Tables, walk: layout.Walk
    ) -> np.ndarray:
        """See Engine."""
        return self._known.frame_of(task, self._node, tables, walk, self._path)

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """See Engine.

        The single-threaded kernel returns NEEDS_GROUPS at each batch that is large
        enough for groups, see `kernels.batches.walks_of_group`. `GroupedWalks` then
        runs this batch.
        """
        groups, called = self.groups, self._known.called
        state.job[layout.HAS_GROUPS] = groups is not None
        # Each pass runs the single-threaded kernel, unless groups are in the middle of
        # a batch, and then the groups. The loop ends when either of them is done, or
        # when Python must act: handle signals (PAUSED), enlarge arrays (GROW, ...) or
        # raise an error.
        while True:
            if groups is None or not groups.is_begun:
                status = kernel(frame, called)
                if groups is None or status != layout.NEEDS_GROUPS:
                    return status
            status = groups.run(frame, state.tables, state.walk)
            if status in (layout.DONE, layout.PAUSED, layout.GROW):
                return status
            if status != layout.NEEDS_ONE_THREAD or groups.is_begun:
                # A walk has failed, or the groups have returned in the middle of a
                # batch. The batch is repeated in one thread. The draws are the same, so
                # the kernel stops at the same walk and reports the error.
                groups.drop(state.tables, state.walk)
                state.job[layout.HAS_GROUPS] = 0
