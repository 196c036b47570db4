"""DerivedLists: arrays computed from a complete tree on first use and kept with it."""

from collections.abc import Callable
from typing import Any

from mccfr_spiel.arenas.tree import cutting, whole_lists
from mccfr_spiel.common.budget import (
    Budget,
)
from mccfr_spiel.common.display import brief
from mccfr_spiel.kernels.regret_pruning import Ceilings
from mccfr_spiel.kernels.tables import Blocks, Passes

LEAVES, BLOCKS = "the leaves of a pass", "the blocks of a pass in threads"
CEILINGS = "the ceilings of regret-based pruning"
"""Names under which the budget holds the bytes of the lists."""


class DerivedLists:
    """The lists that full passes read instead of nodes.

    Every method raises MemoryBudgetError if a list does not fit `max_memory`, and
    ValueError if the tree is not complete. Callers hold the tree's lock. The tree is
    passed to each method, because a reference to it would be a cycle, which delays
    freeing its memory until a garbage collection.
    """

    def __init__(self, budget: Budget) -> None:
        """Computes nothing yet."""
        self._budget = budget
        self._lists: dict[str, Any] = {}

    def keep_leaves(self, leaves: Passes) -> None:
        """Keeps leaves that were read from disk."""
        self._lists[LEAVES] = leaves

    def leaves(self, tree: Any) -> Passes:
        """The leaves, listed for each sequence that leads to them."""
        if LEAVES in self._lists:
            return self._lists[LEAVES]
        if not tree.is_complete:
            raise ValueError(
                f"The tree of {brief(tree.game)} is only expanded where walks went; "
                "call tree.expand_all() first."
            )
        args = tree.arrays, tree.num_sequences
        size = whole_lists.bytes_of_leaves(*args)
        return self._keep(LEAVES, size, whole_lists.list_leaves, *args)

    def blocks(self, tree: Any) -> Blocks:
        """The infosets, cut into blocks for threads."""
        args = tree.infosets, self.leaves(tree)
        size = cutting.bytes_of_blocks(*tree.sizes())
        return self._keep(BLOCKS, size, cutting.cut_into_blocks, *args)

    def ceilings(self, tree: Any) -> Ceilings:
        """Bounds on payoffs for regret-based pruning; for two players only."""
        self.leaves(tree)
        args = tree.arrays, tree.num_sequences
        size = whole_lists.bytes_of_ceilings(tree.num_nodes, tree.num_sequences)
        return self._keep(CEILINGS, size, whole_lists.list_ceilings, *args)

    def forget(self) -> None:
        """Drops all lists and returns their bytes to the budget."""
        self._lists = {}
        for name in CEILINGS, LEAVES, BLOCKS:
            self._budget.record(name, 0)

    def _keep(
        self, name: str, size: int, compute: Callable[..., Any], *args: Any
    ) -> Any:
        if name not in self._lists:
            self._budget.hold(name, size)
            self._lists[name] = compute(*args)
        return self._lists[name]
