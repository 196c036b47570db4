"""Growth: expands the nodes at which a compiled walk stops.

Compiled walks cannot call pyspiel. They stop at unexpanded nodes, and Python expands
these nodes. If the walk follows all moves at an expanded node, it surely visits all
children, so they are expanded as well before the walk continues. If the walk samples
one move, it continues and stops again at the sampled child.

The order in which a walk visits nodes is irrelevant if it visits each infoset at most
once. Such a walk postpones unexpanded nodes and only stops when it has collected
several of them (`kernels.stack.MAX_POSTPONED`), or when no other nodes remain.
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
"""`_FEW`: number of expanded nodes between two checks of the length of a history.
`_MANY`: number of nodes expanded for one walk after which its size is estimated."""

_MOST_OPEN = 1024
"""Maximum number of expanded nodes whose states are cached, so that the states of their
children are obtained by a single move. States of other nodes are replayed from the
root."""

_SAMPLED = 64
"""Every `_SAMPLED`-th stop of a walk measures the memory of the process."""


class Growth:
    """Grows a tree for walks under one sampling scheme.

    Callers hold the tree's lock.

    Attributes:
        lock: lock of the tree.
        generation: value of `GameTree.generation` when the nodes on the walk's stack
            were created.
    """

    def __init__(self, tree: GameTree, sampled: Sampled, epsilon: float) -> None:
        """Stores the arguments.

        Args:
            tree: tree whose nodes are expanded.
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
        """Prepares the continuation of an interrupted walk.

        Other solvers may have filled the tree in the meantime, so `grow` may empty the
        tree for the same walk once more.
        """
        self._restarted = None

    def refit(self, walk: layout.Walk) -> None:
        """Restarts the walk if its nodes were dropped since it stopped.

        Other solvers on the same tree may have dropped all nodes and expanded others
        with the same numbers.
        """
        if self._tree.generation == self.generation:
            return
        forgets = self._tree.abstraction is not None
        begin_again(walk, drops_met=self._met_once or forgets)
        self._open.clear()
        self.generation = self._tree.generation

    def must_finish(self, walk: layout.Walk) -> bool:
        """Whether other solvers of the tree must wait until the walk has ended.

        True if the tree was emptied for this walk. Otherwise other solvers could fill
        the tree again and again, and the walk would never end.
        """
        return self._restarted == present_walk(walk)

    def grow(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Expands the nodes at which the walk stopped, and their descendants that the
        walk surely visits.

        If the tree is full, all its nodes are dropped and the walk restarts.

        Raises:
            WalkTooLargeError: the walk alone visits more nodes than `max_nodes` or
                `max_memory` allow. Walks that are far too large are usually detected
                by an estimate, before so many nodes are expanded.
            MemoryBudgetError: the infosets of all walks so far fill the tree's
                `max_memory`.
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
                # The tree contained only nodes of this walk, so dropping them does not
                # help. Either this walk is too large, or the infosets of earlier walks,
                # which are never dropped, fill the budget.
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
        """Calls `_expand` and measures memory that the budget cannot count, mostly game
        states.

        The memory of the process is compared before and after this one expansion,
        because between stops other code may allocate memory too. The difference counts
        `_SAMPLED` times, because the other stops are not measured. If an array was
        enlarged meanwhile, the measurement is discarded.
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
            # If other threads wait for the lock, interrupt the expansion. The walk
            # continues later and stops again at nodes that are still unexpanded.
            return -1 if self.lock.waiting else self._look_at

        if tree.node_store.generation != self.generation:
            # A signal handler has dropped all nodes; `refit` will restart the walk.
            return
        for node in reversed(missing):
            place = self._place_of(node, draws)
            expand_below(tree, node, place, draws, self._look_at, look, opens)
            if self.lock.waiting:
                break
        if len(opens) > _MOST_OPEN:
            del opens[:-_MOST_OPEN]

    def _place_of(self, node: int, draws: list[bool]) -> Place:
        """The state of a node, and each player's last sequence before the node.

        The state is usually derived from the cached state of the parent.

        Args:
            node: the node.
            draws: for each acting player, and last for chance, whether the walk samples
                a single move.
        """
        opens = self._open
        k = bisect.bisect(opens, [node + 1]) - 1
        if k >= 0:
            opened = opens[k]
            child, count = node - opened[0], len(opened[2])
            if child < count:
                # If the walk samples a move at the parent, it visits no other child, so
                # the parent's state may be modified.
                is_last = draws[opened[3]] or child + 1 == count
                if is_last:
                    del opens[k]
                return child_of(opened, child, is_last=is_last)
        return self._tree.state_at_held(node)

    def _look(
        self, tables: layout.Tables, walk: layout.Walk, state: Any, player: int
    ) -> None:
        """Checks during an expansion that the walk can finish.

        The length of the history is checked every `_FEW` nodes. The size of the walk is
        estimated after `_MANY`, 2 `_MANY`, 4 `_MANY`, ... nodes expanded for it.

        Raises:
            WalkTooLargeError: the walk surely exceeds the limits of the tree.
            ValueError: a history is far longer than the game declares.
        """
        tree, present = self._tree, present_walk(walk)
        tree.budget.check_time()
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
        """Checks during a long walk whether it can finish; does nothing here, because
        `grow` checks."""

    def _check_size(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Estimates the size of the current walk.

        Raises:
            WalkTooLargeError: the walk surely visits more nodes than fit the tree.
        """
        tree = self._tree
        room = (tree.budget.left + tree.budget.held[NODES]) // 2
        most = max(min(tree.max_nodes, room // forecasts.NODE_BYTES), 1)
        # More histories are followed each time. They cost little compared with the
        # expansion of the nodes since the last estimate.
        probes = PROBES * (self._many // _MANY)
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
        # For a walk of, say, 10^250 nodes the message does not suggest higher limits.
        larger = ""
        if not is_hopeless:
            larger = ", or raise max_nodes or max_memory if memory and time allow"
        return WalkTooLargeError(
            f"At most max_nodes={tree.max_nodes} nodes are kept, within "
            f"{tree.budget.in_words()}, but a single walk over {brief(tree.source)} "
            f"visits {size}, {reason}. {advice}{larger}."
        )
