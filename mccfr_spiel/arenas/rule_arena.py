"""The arena of compiled rules: walks keep the infosets that they meet, and no nodes."""

from typing import Any

import numpy as np
import pyspiel

from mccfr_spiel.arenas.arena import ArenaTable, Engine, WalkSpec
from mccfr_spiel.arenas.infosets import loading
from mccfr_spiel.arenas.infosets.lock import changes
from mccfr_spiel.arenas.infosets.names import KeyNames
from mccfr_spiel.arenas.rule_growth import RuleGrowth
from mccfr_spiel.arenas.rules.description import BoundRules
from mccfr_spiel.arenas.rules.store import RuleStore
from mccfr_spiel.arenas.sharing import GroupedWalks
from mccfr_spiel.arenas.tree.game_tree import NewState
from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.tables import Tables, Task, TreeArrays, Walk


class RuleArena(ArenaTable):
    """Walks over the compiled rules of a game or of its twin.

    Attributes:
        rules: the rules.
        known: the infosets that walks have met.
        walk_limit: about how many nodes the first walk may visit; None for no limit.
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
        """No infosets, and each player's empty sequence.

        Args:
            source: the game as it was given.
            rules: over which walks go.
            budget: the bytes that the arena may take.
            max_nodes: of trees that are made beside it.
            twin: whether the twin may be used there.
            new_state: makes the state of the root; by default the game's own.
            walk_limit: see the attribute.

        Raises:
            MemoryBudgetError: not even a few infosets fit the budget.
        """
        super().__init__(source, budget, max_nodes=max_nodes, twin=twin)
        self.rules, self.walk_limit = rules, walk_limit
        self.new_state = new_state or self.game.new_initial_state
        self.known = RuleStore(rules, budget)
        self._updated: np.ndarray | None = None  # the records at the last update
        self.update()

    @property
    def longest_history(self) -> int:
        """The moves beyond which a history is taken for endless."""
        return loading.longest_history(self.game)

    def _kept_in_words(self) -> str:
        return "no nodes kept"

    def room(self) -> tuple[int, int]:
        """The numbers of infosets and sequences for which tables need rows now."""
        return self.known.room()

    def update(self) -> None:
        """Takes over what walks have met, for a caller under the lock."""
        known = self.known
        if known.infosets is self._updated and known.sizes() == self.sizes():
            return
        num_infosets, num_sequences = known.sizes()
        infosets, keys = known.infosets[:num_infosets], known.keys()
        # In this order, an exception in between leaves sizes that differ from those of
        # the store, so that the next call repeats the update.
        self.infoset_names = KeyNames(self.rules, keys, infosets["player"])
        self.infosets = infosets
        self.actions = known.known.actions[:num_sequences]
        self._updated = known.infosets

    # --- what solvers need ----------------------------------------------------

    def walks(self, spec: WalkSpec) -> Engine:
        """Runs walks over the rules."""
        return RuleWalks(self, spec)

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """See Arena.

        Infosets are taken from the file and not met again, so the header has no hash.
        """
        return {"rules": None, "store": "none"}, self.known.saved()

    @changes
    def recall(self, arrays: dict[str, np.ndarray]) -> bool:
        """Takes over the arrays of `saved`; returns whether they fit the game.

        Raises:
            MemoryBudgetError: they do not fit the budget.
        """
        fits = self.known.recall(arrays)
        self.update()
        return fits


class RuleWalks(Engine):
    """Runs walks over compiled rules.

    Attributes:
        groups: runs batches in groups; None if they are not cut into groups.
    """

    def __init__(self, arena: RuleArena, spec: WalkSpec) -> None:
        """Makes a path that stands at the root.

        Raises:
            MemoryBudgetError: it does not fit the budget.
        """
        self._known = arena.known
        self.kernel = arena.known.make_iterate(spec.rule, spec.sampled)
        self.groups: GroupedWalks | None = None
        if spec.shares and spec.is_batched and spec.initial_regret == 0.0:
            self.groups = GroupedWalks(arena, arena.known, spec)
            self.bytes_per_row = self.groups.bytes_per_row
        self._path, self._node = arena.known.new_path(), arena.known.tree_of_node()
        self.growth = RuleGrowth(arena, spec, arena.known, self._path)

    def tree_arrays(self) -> TreeArrays:
        """See Engine; of one node."""
        return self._node._replace(infosets=self._known.infosets)

    def held(self) -> tuple[Any, ...]:
        """See Engine."""
        return self._known.infosets, self._known.known

    def frame_of(self, task: Task, tables: Tables, walk: Walk) -> np.ndarray:
        """See Engine."""
        return self._known.frame_of(task, self._node, tables, walk, self._path)

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """Runs the kernel, and groups where they are due; returns a status."""
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
                # One thread says in which walk, which it comes to by the same draws.
                groups.drop(state.tables, state.walk)
                state.job[layout.HAS_GROUPS] = 0
