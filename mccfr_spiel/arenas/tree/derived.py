"""DerivedLists: arrays computed from a complete tree on first use, and cached."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mccfr_spiel.arenas.tree import cutting, whole_lists
from mccfr_spiel.common.budget import Budget
from mccfr_spiel.common.display import brief
from mccfr_spiel.kernels.regret_pruning import Ceilings
from mccfr_spiel.kernels.tables import Blocks, Passes

LEAVES, BLOCKS = "the leaves of a pass", "the blocks of a pass in threads"
CEILINGS = "the ceilings of regret-based pruning"
CHANCE = "the probabilities of chance at leaves"
"""Names under which the budget counts the bytes of the lists."""


class DerivedLists:
    """The lists that full passes read instead of nodes.

    `leaves`, `blocks`, `chance` and `ceilings` raise MemoryBudgetError if a list does
    not fit `max_memory`, and ValueError if the tree is not complete. Callers hold the
    lock of the tree.

    The tree is an argument of these methods. If it were an attribute, tree and lists
    would refer to each other, and their memory would only be freed by the garbage
    collector.
    """

    def __init__(self, budget: Budget) -> None:
        """Creates an empty cache; `budget` is the memory budget of the tree."""
        self._budget = budget
        self._lists: dict[str, Any] = {}

    def keep_leaves(self, leaves: Passes) -> None:
        """Adds a list of leaves that was read from disk to the cache."""
        self._lists[LEAVES] = leaves

    def leaves(self, tree: Any) -> Passes:
        """The leaves of the tree. Each leaf is listed once per player, at the player's
        last sequence before the leaf."""
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
        """The infosets, cut into blocks that threads process in parallel."""
        args = tree.infosets, self.leaves(tree)
        size = cutting.bytes_of_blocks(*tree.sizes())
        return self._keep(BLOCKS, size, cutting.cut_into_blocks, *args)

    def chance(self, tree: Any) -> np.ndarray:
        """The probability of chance up to the leaf of each row of `leaves`."""
        leaves = self.leaves(tree)
        size = leaves.payoffs.nbytes + leaves.others.nbytes  # the latter for a while
        return self._keep(CHANCE, size, whole_lists.list_chance, tree.arrays, leaves)

    def ceilings(self, tree: Any) -> Ceilings:
        """Upper bounds on the payoffs below each node, for regret-based pruning of
        games for two players."""
        self.leaves(tree)
        args = tree.arrays, tree.num_sequences
        size = whole_lists.bytes_of_ceilings(tree.num_nodes, tree.num_sequences)
        return self._keep(CEILINGS, size, whole_lists.list_ceilings, *args)

    def forget(self) -> None:
        """Empties the cache and returns the bytes of the lists to the budget."""
        self._lists = {}
        for name in CEILINGS, CHANCE, LEAVES, BLOCKS:
            self._budget.record(name, 0)

    def _keep(
        self, name: str, size: int, compute: Callable[..., Any], *args: Any
    ) -> Any:
        if name not in self._lists:
            self._budget.hold(name, size)
            self._lists[name] = compute(*args)
        return self._lists[name]
