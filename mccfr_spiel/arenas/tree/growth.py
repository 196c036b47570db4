"""Growth: expands the nodes at which a compiled walk stops.

If a walk follows all moves at a node, its children are surely visited next and are
expanded at once. If it samples a move, the walk stops again at the sampled child. Walks
that visit each infoset at most once need no fixed order: they postpone missing nodes
and stop when they have collected some (`stack.MAX_POSTPONED`).
"""

import bisect
import operator
from typing import Any

import pyspiel

from mccfr_spiel.arenas.infosets.lock import steps
from mccfr_spiel.arenas.infosets.walk_sizes import (
    PROBES,
    WalkSizes,
    WalkTooLargeError,
    infosets_fill,
    present_walk,
)
from mccfr_spiel.arenas.tree.expansion import Opened, Place, child_of, expand_below
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.nodes import NODES, UNCOUNTED
from mccfr_spiel.common import forecasts
from mccfr_spiel.common.budget import MemoryBudgetError, TreeFullError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import resident
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.iterations import begin_again
from mccfr_spiel.kernels.switches import Sampled

_FEW, _MANY = 2**10, 2**13
"""Number of nodes expanded for one walk after which the length of its history is
checked, and after which its size is estimated."""

_MOST_OPEN = 1024
"""Maximum number of expanded nodes whose states are cached for their children. States
of other nodes are replayed from the root."""

_SAMPLED = 64
"""Every `_SAMPLED`-th stop measures the growth of the process."""


class Growth:
    """Grows a tree for walks under one sampling scheme.

    Callers hold the tree's lock.

    Attributes:
        lock: lock of the tree.
        generation: generation of the nodes on the walk's stack, see
            `GameTree.generation`.
    """

    def __init__(self, tree: GameTree, sampled: Sampled, epsilon: float) -> None:
        """Stores the arguments.

        Args:
            tree: tree to grow.
            sampled: sampling scheme of the walks.
            epsilon: exploration rate of the updated player.
        """
        self._tree, self._met_once = tree, sampled.meets_once
        self.lock = tree.lock
        self.generation = tree.generation
        self._sizes = WalkSizes(tree, sampled, epsilon)
        self._draws = self._sizes.draws
        self._restarted: tuple[int, int, int] | None = None
        self._walk: tuple[int, int, int] | None = None
        self._look_at = self._began_at = self._many = 0
        self._open: list[Opened] = []
        self._stops = 0
        self._uncounted = 0

    def go_on(self) -> None:
        """Announces that an interrupted walk continues.

        Other solvers may have filled the tree in the meantime, so it may be emptied
        again for the same walk.
        """
        self._restarted = None

    def refit(self, walk: layout.Walk) -> None:
        """Restarts the walk if its nodes were dropped since it stopped.

        Another solver on the same tree may have dropped the nodes and reused their
        numbers.
        """
        if self._tree.generation == self.generation:
            return
        forgets = self._tree.abstraction is not None
        begin_again(walk, drops_met=self._met_once or forgets)
        self._open.clear()
        self.generation = self._tree.generation

    def must_finish(self, walk: layout.Walk) -> bool:
        """Whether the tree was emptied for the current walk, which must then finish
        first.

        Otherwise other solvers could fill the tree again, and the walk would never end.
        """
        return self._restarted == present_walk(walk)

    def grow(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Expands the nodes at which the walk stopped, and descendants that are surely
        visited.

        If the tree is full, all its nodes are dropped and the walk restarts.

        Raises:
            WalkTooLargeError: the walk alone visits more nodes than `max_nodes` or
                `max_memory` allow. Much larger walks are detected before they are
                expanded.
            MemoryBudgetError: the infosets met fill the tree's `max_memory`.
            ValueError: a history does not end, or `expand` refuses a state.
        """
        was_empty = self._tree.node_store.count == 1
        try:
            self._stops += 1
            if self._stops % _SAMPLED:
                self._expand(tables, walk)
            else:
                self._expand_measured(tables, walk)
        except WalkTooLargeError:
            raise
        except TreeFullError as error:
            is_bytes = isinstance(error, MemoryBudgetError)
            if was_empty or self.must_finish(walk):
                # Dropping nodes does not help: either this walk is too large, or the
                # infosets of earlier walks fill the budget.
                budget = self._tree.budget
                nodes = budget.held[NODES] + budget.held[UNCOUNTED]
                if not is_bytes:
                    raise self._too_large("more") from error
                if nodes + budget.left > budget.limit // 2:
                    raise self._too_large("more than fit") from error
                raise infosets_fill(self._tree) from error
            self._tree.forget_nodes()
            if is_bytes:
                self._tree.give_back()
                self._uncounted = 0
            self._restarted = present_walk(walk)

    def _expand_measured(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Calls `_expand` and measures memory that cannot be counted, mostly game
        states.

        The process only counts during this stop, because it does other things between
        stops. Each measured stop represents `_SAMPLED` stops. If an array was enlarged,
        the measurement is discarded.
        """
        budget, storage = self._tree.budget, self._tree.storage
        if budget.left < 0:
            raise MemoryBudgetError("The memory of the process exceeds the budget.")
        before, left = resident(), budget.left
        self._expand(tables, walk)
        if all(map(operator.is_, storage, self._tree.storage)):
            uncounted = resident() - before - (left - budget.left)
            self._uncounted += _SAMPLED * uncounted
            budget.record(UNCOUNTED, max(self._uncounted, 0))

    @steps
    def _expand(self, tables: layout.Tables, walk: layout.Walk) -> None:
        tree, opens, marks = self._tree, self._open, walk.marks
        player, top = marks.item(layout.WALKER), marks.item(layout.TOP)
        draws = self._draws[player]
        missing = walk.node[top - marks.item(layout.TO_GROW) : top].tolist()

        def look(state: pyspiel.State) -> int:
            self._look(tables, walk, state, player)
            # If other threads wait, stop here; the walk stops again at missing nodes.
            return -1 if self.lock.waiting else self._look_at

        if tree.node_store.generation != self.generation:
            return  # a signal handler has dropped the nodes
        for node in reversed(missing):
            place = self._place_of(node, draws)
            expand_below(tree, node, place, draws, self._look_at, look, opens)
            if self.lock.waiting:
                break
        if len(opens) > _MOST_OPEN:
            del opens[:-_MOST_OPEN]

    def _place_of(self, node: int, draws: list[bool]) -> Place:
        """The state and sequences of a node, usually a child of a recently expanded
        node."""
        opens = self._open
        k = bisect.bisect(opens, [node + 1]) - 1
        if k >= 0:
            opened = opens[k]
            child, count = node - opened[0], len(opened[2])
            if child < count:
                # If the walk samples a move, it visits only this child.
                is_last = draws[opened[3]] or child + 1 == count
                if is_last:
                    del opens[k]
                return child_of(opened, child, is_last=is_last)
        return self._tree.state_at_held(node)

    def _look(
        self, tables: layout.Tables, walk: layout.Walk, state: Any, player: int
    ) -> None:
        """Checks every `_FEW` nodes that histories end, and at `_MANY`, 2 `_MANY`, 4
        `_MANY`, ... nodes of a walk that the walk is not far too large."""
        tree, present = self._tree, present_walk(walk)
        if present != self._walk:
            self._walk, self._many = present, _MANY
            self._began_at = tree.num_nodes
        else:
            tree.check_length(state)
            expanded = tree.num_nodes - self._began_at
            if expanded > self._many and not self._sizes.follows_one:
                self._check_size(tables, walk)
                self._many *= 2
        self._look_at = tree.num_nodes + _FEW

    # --- walks that are too large ------------------------------------------

    def look(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Does nothing: walks that are too large are detected while the tree grows."""

    def _check_size(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Raises WalkTooLargeError if the current walk is far too large."""
        tree = self._tree
        room = (tree.budget.left + tree.budget.held[NODES]) // 2
        most = max(min(tree.max_nodes, room // forecasts.NODE_BYTES), 1)
        probes = PROBES * (self._many // _MANY)  # cheap beside the expansions
        if self._sizes.surely_exceed(most, tables, walk, probes):
            raise self._too_large("far more", is_hopeless=True)

    def _too_large(self, size: str, *, is_hopeless: bool = False) -> WalkTooLargeError:
        tree = self._tree
        if self._sizes.follows_one:
            reason = "although this sampling follows one history"
            advice = "Use a shorter game"
        else:
            reason = "because this sampling follows all of a player's actions"
            advice = "Use outcome sampling, which follows one history"
        # Higher limits do not help a walk of 10^250 nodes.
        larger = ""
        if not is_hopeless:
            larger = ", or raise max_nodes or max_memory if memory and time allow"
        return WalkTooLargeError(
            f"At most max_nodes={tree.max_nodes} nodes are kept, within "
            f"{tree.budget.in_words()}, but a single walk over {brief(tree.source)} "
            f"visits {size}, {reason}. {advice}{larger}."
        )
