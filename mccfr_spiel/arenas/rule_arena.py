"""The arena of compiled rules, which stores infosets met by walks but no nodes."""

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
        known: the infosets met by walks.
        walk_limit: approximate maximum number of nodes in the first walk, or None.
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
            max_nodes: maximum size of auxiliary trees, for example for evaluation.
            twin: option for auxiliary trees, see `GameTree`.
            new_state: returns the initial state; defaults to that of the game.
            walk_limit: see the class.

        Raises:
            MemoryBudgetError: the budget is too small for a minimal table.
        """
        super().__init__(source, budget, max_nodes=max_nodes, twin=twin)
        self.rules, self.walk_limit = rules, walk_limit
        self.new_state = new_state or self.game.new_initial_state
        self.known = RuleStore(rules, budget)
        self._updated: np.ndarray | None = None  # records at the last update
        self.update()

    @property
    def longest_history(self) -> int:
        """Number of moves above which a history is considered endless."""
        return longest_history(self.game)

    def _kept_in_words(self) -> str:
        return "no nodes kept"

    def room(self) -> tuple[int, int]:
        """Numbers of infosets and sequences that tables must provide rows for."""
        return self.known.room()

    def update(self) -> None:
        """Updates the infoset table after walks; the caller must hold the lock."""
        known = self.known
        if known.infosets is self._updated and known.sizes() == self.sizes():
            return
        num_infosets, num_sequences = known.sizes()
        infosets, keys = known.infosets[:num_infosets], known.keys()
        # The order matters: if an exception interrupts these assignments, the sizes
        # differ from those of the store, so that the next call repeats the update.
        self.infoset_names = KeyNames(self.rules, keys, infosets["player"])
        self.infosets = infosets
        self.actions = known.known.actions[:num_sequences]
        self._updated = known.infosets

    # --- what solvers need ----------------------------------------------------

    def walks(self, spec: WalkSpec) -> Engine:
        """Returns an engine for walks over the rules."""
        return RuleWalks(self, spec)

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """See Arena.

        The header has no hash of the rules, because infosets are read from the file.
        """
        return {"rules": None, "store": "none"}, self.known.saved()

    @changes
    def recall(self, arrays: dict[str, np.ndarray]) -> bool:
        """Restores the arrays of `saved`; returns False if they do not match the game.

        Raises:
            MemoryBudgetError: the arrays exceed the budget.
        """
        fits = self.known.recall(arrays)
        self.update()
        return fits


class RuleWalks(Engine):
    """Runs walks over compiled rules.

    Attributes:
        groups: runner of batches in groups, or None.
    """

    def __init__(self, arena: RuleArena, spec: WalkSpec) -> None:
        """Creates an engine at the root of the game.

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
        """See Engine. The arrays contain a single node."""
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
        """Runs the kernel, and batches in groups when due; returns a status."""
        groups, called = self.groups, self._known.called
        state.job[layout.HAS_GROUPS] = groups is not None
        while True:
            if groups is None or not groups.is_begun:
                status = kernel(frame, called)
                if groups is None or status != layout.NEEDS_GROUPS:
                    return status
            status = groups.run(frame, state.tables, state.walk)
            if status in (layout.DONE, layout.PAUSED, layout.GROW):
                return status
            if status != layout.NEEDS_ONE_THREAD or groups.is_begun:
                # Repeat the batch in one thread: it reaches the same walk by the same
                # draws and reports the error there.
                groups.drop(state.tables, state.walk)
                state.job[layout.HAS_GROUPS] = 0
