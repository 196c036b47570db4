"""GrowingTree and WholeTree: arenas whose nodes are stored in a GameTree."""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.arena import Arena, Engine, WalkSpec
from mccfr_spiel.arenas.sharing import LEAST_TREE, SharedWalks
from mccfr_spiel.arenas.tree import cutting
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.growth import Growth
from mccfr_spiel.arenas.tree_pass import TreePass
from mccfr_spiel.common.infoset_arrays import pack_strings
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.stored import make_iterate


class GrowingTree(Arena):
    """A tree that is expanded at the nodes that walks visit."""

    name = "growing tree"

    def __init__(self, tree: GameTree) -> None:
        """Stores the tree, without a copy."""
        self._tree = tree

    @property
    def table(self) -> GameTree:
        """The tree, which is also the table of infosets."""
        return self._tree

    def walks(self, spec: WalkSpec) -> Engine:
        """A new engine whose walks expand missing nodes, in a single thread."""
        return TreeWalks(self.table, spec, None)

    def saved(
        self, *, is_made_whole: bool
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """See Arena.

        The header contains a hash of the infosets. The arrays contain the infosets
        unless the loading solver can reproduce their numbering.
        """
        tree, arrays = self.table, dict[str, np.ndarray]()
        if not is_made_whole and not tree.is_repeatable:
            arrays = pack_strings(tree.info_states)
            arrays |= {"infosets": tree.infosets, "actions": tree.actions}
        return {"rules": tree.digest()}, arrays


class WholeTree(GrowingTree):
    """A tree with all nodes of the game."""

    name = "whole tree"
    has_gradients = True

    def walks(self, spec: WalkSpec) -> Engine:
        """A new engine. Several threads divide the walks if that saves time."""
        tree, shared = self.table, None
        is_large = spec.is_sampled and tree.num_nodes >= LEAST_TREE
        pays = spec.is_batched or is_large
        if spec.shares and pays and (spec.threads > 1 or spec.splits):
            shared = SharedWalks(tree, spec.sampled, spec.rule, spec.threads)
        return TreeWalks(tree, spec, shared)

    def passes(self, threads: int | None, *, updated: int | None = None) -> TreePass:
        """See Arena. Passes read the leaves of the tree."""
        threads, leaves = cutting.checked_threads(threads), self.table.list_leaves()
        least_work = (
            cutting.LEAST_WORK_AT_ONCE if updated is None else cutting.LEAST_WORK
        )
        useful = cutting.useful_threads(threads, leaves, least_work)
        return TreePass(self.table, useful)


class TreeWalks(Engine):
    """Engine of walks over the nodes of a tree.

    Attributes:
        shared: runs walks in several threads; None if all walks run in one thread.
    """

    def __init__(
        self, tree: GameTree, spec: WalkSpec, shared: SharedWalks | None
    ) -> None:
        """Creates the engine. numba compiles the kernel at its first call."""
        self._tree, self.shared = tree, shared
        self.kernel = make_iterate(spec.rule, spec.sampled)
        self.growth = Growth(tree, spec.sampled, spec.epsilon)
        if shared is not None:
            self.bytes_per_row = shared.bytes_per_row

    @property
    def num_nodes(self) -> int:
        """See Engine."""
        return self._tree.num_nodes

    def tree_arrays(self) -> layout.TreeArrays:
        """See Engine."""
        return layout.TreeArrays(*self._tree.storage)

    def held(self) -> tuple[Any, ...]:
        """See Engine."""
        return self._tree.storage

    def frame_of(
        self, task: layout.Task, tables: layout.Tables, walk: layout.Walk
    ) -> np.ndarray:
        """See Engine."""
        return layout.frame_of(task, self.tree_arrays(), tables, walk)

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """See Engine. Uses several threads if that saves time."""
        status = layout.NEEDS_ONE_THREAD
        if self.shared is not None and self.shared.pays(state.task, state.walk):
            status = self.shared.run(*state.records())
        return kernel(frame) if status == layout.NEEDS_ONE_THREAD else status
