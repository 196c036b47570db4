"""The tree on demand: expands the nodes at which a compiled walk stops.

Where the walk follows all moves at a node, their nodes surely come next and are
expanded at once. Where it draws a move, it says itself, by stopping again, where it
went. A walk that adds to each sequence once has no order to keep, so it goes on
elsewhere when it comes to a missing node, and stops when it has met some (see
`sampling.MOST_ASIDE`).
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
from mccfr_spiel.common import limits
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import MemoryBudgetError
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.iterations import begin_again
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.tables import Tables, Walk

_FEW, _MANY = 2**10, 2**13
"""After `_FEW` nodes expanded for one walk, the length of its history is checked; after
`_MANY`, its size is estimated."""

_MOST_OPEN = 1024
"""The most nodes whose states are kept because the walk goes to children of them; for
children of others the moves are made again from the root on."""

_SAMPLED = 64
"""The number of stops for each one at which uncounted memory is measured."""


class Growth:
    """Grows a tree for the walks of one kind of sampling.

    Its methods are called under the tree's lock.

    Attributes:
        lock: the tree's.
        generation: that of the nodes which the walk has on its stack.
    """

    def __init__(self, tree: GameTree, sampled: Sampled, epsilon: float) -> None:
        """Grows a tree.

        Args:
            tree: the tree.
            sampled: what the walks sample.
            epsilon: the share of the uniform policy in draws of the updated player.
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
        """Says that a walk which was left in the middle goes on.

        Others may have filled the tree meanwhile. Then it may be emptied a second time
        for the same walk.
        """
        self._restarted = None

    def refit(self, walk: Walk) -> None:
        """Begins the walk again if its nodes were dropped since it stopped.

        Another solver on the tree has then dropped them and may have reused their
        numbers.
        """
        if self._tree.generation == self.generation:
            return
        forgets = self._tree.abstraction is not None
        begin_again(walk, drops_met=self._met_once or forgets)
        self._open.clear()
        self.generation = self._tree.generation

    def must_finish(self, walk: Walk) -> bool:
        """Whether the tree was emptied for the present walk, which must end first.

        Otherwise others could fill the tree again, and the walk would never end.
        """
        return self._restarted == present_walk(walk)

    def grow(self, tables: Tables, walk: Walk) -> None:
        """Expands the nodes at which the walk stopped and what surely comes below.

        If the tree is full, all its nodes are dropped and the walk begins again.

        Raises:
            WalkTooLargeError: the walk alone meets more nodes than the tree's
                `max_nodes`, or than fit its `max_memory`. If there are far more, that
                is found out before they are expanded.
            MemoryBudgetError: the infosets met fill the tree's `max_memory`.
            ValueError: a history does not end; and see `GameTree.expand`.
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
        except limits.TreeFullError as error:
            is_bytes = isinstance(error, MemoryBudgetError)
            if was_empty or self.must_finish(walk):
                # Either the walk is too large, or the infosets met before it fill the
                # budget.
                budget = self._tree.budget
                nodes = budget.held(NODES) + budget.held(UNCOUNTED)
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

    def _expand_measured(self, tables: Tables, walk: Walk) -> None:
        """As `_expand`, but also measures the memory that cannot be counted.

        That is mostly what the game keeps in states. The growth of the process counts
        only during such a stop, since between stops the process does other things, and
        each measured stop stands for `_SAMPLED` of them. If an array has grown, the
        growth of the process says nothing about states.
        """
        budget, storage = self._tree.budget, self._tree.storage
        if budget.left < 0:
            raise MemoryBudgetError("The process has grown by more than was counted.")
        before, left = limits.resident(), budget.left
        self._expand(tables, walk)
        if all(map(operator.is_, storage, self._tree.storage)):
            uncounted = limits.resident() - before - (left - budget.left)
            self._uncounted += _SAMPLED * uncounted
            budget.measured(UNCOUNTED, max(self._uncounted, 0))

    @steps
    def _expand(self, tables: Tables, walk: Walk) -> None:
        tree, opens, marks = self._tree, self._open, walk.marks
        player, top = marks.item(layout.WALKER), marks.item(layout.TOP)
        draws = self._draws[player]
        missing = walk.node[top - marks.item(layout.TO_GROW) : top].tolist()

        def look(state: pyspiel.State) -> int:
            self._look(tables, walk, state, player)
            # If others wait, the walk will stop again at what is left.
            return -1 if self.lock.waiting else self._look_at

        if tree.node_store.generation != self.generation:
            return  # a signal handler dropped the nodes just now
        for node in reversed(missing):
            place = self._place_of(node, draws)
            expand_below(tree, node, place, draws, self._look_at, look, opens)
            if self.lock.waiting:
                break
        if len(opens) > _MOST_OPEN:
            del opens[:-_MOST_OPEN]

    def _place_of(self, node: int, draws: list[bool]) -> Place:
        """The place of a node, mostly a child of one that was expanded just now."""
        opens = self._open
        k = bisect.bisect(opens, [node + 1]) - 1
        if k >= 0:
            opened = opens[k]
            child, count = node - opened[0], len(opened[2])
            if child < count:
                # Where a move is drawn, the walk goes to one of the children only.
                is_last = draws[opened[3]] or child + 1 == count
                if is_last:
                    del opens[k]
                return child_of(opened, child, is_last=is_last)
        return self._tree.state_at_held(node)

    def _look(self, tables: Tables, walk: Walk, state: Any, player: int) -> None:
        """Looks, every `_FEW` nodes, whether the walk's histories end; and when it has
        expanded `_MANY`, and twice as many, and so on, whether it is far too large."""
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

    def look(self, tables: Tables, walk: Walk) -> None:
        """Nothing: a walk that is too large is found out as the tree grows."""

    def _check_size(self, tables: Tables, walk: Walk) -> None:
        """Raises WalkTooLargeError if the present walk is far too large."""
        tree = self._tree
        room = (tree.budget.left + tree.budget.held(NODES)) // 2
        most = max(min(tree.max_nodes, room // limits.NODE_BYTES), 1)
        probes = PROBES * (self._many // _MANY)  # cheap beside the expansions
        if self._sizes.surely_exceed(most, tables, walk, probes):
            raise self._too_large("far more", is_hopeless=True)

    def _too_large(self, size: str, *, is_hopeless: bool = False) -> WalkTooLargeError:
        tree = self._tree
        if self._sizes.follows_one:
            why = "although this sampling follows one history"
            advice = "Use a shorter game"
        else:
            why = "since this sampling follows all of a player's actions"
            advice = "Use outcome sampling, which follows one history"
        # Raising the limits is no way out for a walk of 10^250 nodes.
        larger = ""
        if not is_hopeless:
            larger = ", or raise max_nodes or max_memory if memory and time allow"
        return WalkTooLargeError(
            f"At most max_nodes={tree.max_nodes} nodes are kept, within "
            f"{tree.budget.in_words()}, but a single walk over {brief(tree.source)} "
            f"meets {size}, {why}. {advice}{larger}."
        )
