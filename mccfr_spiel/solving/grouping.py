"""Batches of walks over compiled rules, which are walked in groups by several threads.

`rules/grouped.py` has the compiled side. Whether a batch is cut into groups changes its
sums by roundings, so that follows from the batch and the nodes touched so far. How many
threads walk the groups changes no bit.
"""

import operator
import weakref
from typing import Any

import numpy as np

from mccfr_spiel.common.limits import Budget
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels import teams
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.walk import Sampled
from mccfr_spiel.rules import grouped, kernel, played
from mccfr_spiel.rules.store import RuleStore
from mccfr_spiel.tree.game_tree import GameTree

_HEIGHT, _ROOM = 256, 2**8
"""What there is room for at first: the nodes in a stack, and the infosets of a group, a
power of two."""

_SEQUENCES, _VALUES = 4, 16
"""The sequences and the numbers of keys that a group has room for, for each infoset."""

_SMALL = 4
"""This part of a budget may be taken though it is not left: the store takes room in
advance, and it is the store that shall be found to be full."""

BYTES_PER_INFOSET, BYTES_PER_SEQUENCE = 5, 8
"""What each thread's gradient and list take."""

_NO_TASK = layout.Task(np.zeros(0, np.uint64), np.zeros(0), np.zeros(0))


class GroupedWalks:
    """Runs the batches of one solver over rules in groups.

    Attributes:
        num_threads: at most so many.
    """

    def __init__(
        self,
        tree: GameTree,
        store: RuleStore,
        sampled: Sampled,
        rule: str,
        num_threads: int,
    ) -> None:
        """Makes nothing yet.

        Args:
            tree, store: where the infosets are that walks have met.
            sampled, rule: see `grouped.make_grouped_iterate`.
            num_threads: at most so many.
        """
        self._tree, self._store = tree, store
        self._sampled, self._rule = sampled, rule
        self.num_threads = min(num_threads, grouped.NUM_GROUPS)
        self._kernel: Any = None
        self._plan = np.zeros(grouped.PLAN_SIZE, np.int64)
        self._height, self._room = _HEIGHT, _ROOM
        self._groups: grouped.Groups | None = None
        self._own: list[tuple[np.ndarray, ...]] = []
        self._frames = np.zeros((0, 0), np.int64)
        self._framed: tuple[np.ndarray, ...] = ()
        self._is_paused = self._is_torn = False
        self._taken = [0]  # of the tree's budget, for the groups
        end = weakref.finalize(self, _give_back, tree.budget, self._taken)
        end.atexit = False

    @property
    def is_begun(self) -> bool:
        """Whether a batch has been walked in part, which only groups may go on with."""
        return bool(self._plan[grouped.WALKED]) or self._is_paused or self._is_torn

    def run(
        self, task: layout.Task, frame: np.ndarray, tables: layout.Tables, walk: Any
    ) -> int:
        """Runs iterations up to the job's limits.

        Args:
            task, tables, walk: the solver's.
            frame: of the kernel for one thread.

        Returns:
            A status; after NEEDS_ONE_THREAD the kernel for one thread must go on.
        """
        if self._kernel is None:
            self._kernel = grouped.make_grouped_iterate(self._rule, self._sampled)
        if self._is_torn:
            self.drop(tables, walk)
        while True:
            self._frame(tables)
            assert self._groups is not None
            self._is_torn = True  # should Ctrl-C, or an error, take the status away
            status = teams.run(
                self._kernel,
                self.num_threads,
                frame,
                self._frames,
                grouped.GROUP_LAYOUT.frame_of(self._groups),
                self._store.called,
                self._plan,
                notes=grouped.NUM_GROUP_NOTES,
                keep=(tables, walk, self._own, self._groups, self._framed),
            )
            self._is_paused = status == layout.PAUSED
            if status == layout.GROW:
                self._ask_for_room()
            if status == layout.STACK_FULL:
                self._height *= 2
            elif status == layout.LOG_FULL:
                self._room *= 2
            else:
                self._is_torn = False
                return status
            self._plan[grouped.WALKED] = 0  # the stretch is walked again
            self._groups = None

    def _ask_for_room(self) -> None:
        """Asks the store for room for all infosets of the group to be merged next."""
        assert self._groups is not None
        row, counts = int(self._plan[grouped.MERGED]), self._groups.sizes
        sizes = counts.reshape(grouped.NUM_GROUPS, -1)[row]
        count = int(sizes[kernel.INFOSETS])
        rows = self._groups.rows.reshape(grouped.NUM_GROUPS, -1)[row]
        num_sequences, num_values = (
            int(sizes[kernel.SEQUENCES]),
            int(rows[count]["start"]),
        )
        self._store.ask_for(count, num_sequences, num_values)

    def drop(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Throws away what has been found for the next update."""
        marks, infosets = walk.marks, self._store.infosets
        for infoset in walk.met[: marks[layout.NUM_MET]].tolist():
            start = infosets[infoset]["first_sequence"]
            count = infosets[infoset]["num_actions"]
            tables.is_met[infoset] = 0
            tables.gradient[start : start + count] = 0
        tables.gradient[: self._tree.num_players] = 0
        for name in (layout.NUM_MET, layout.TOUCHED, layout.WALK):
            marks[name] = 0
        marks[layout.WALKER] = walk.cursor[layout.PLAYER]
        self._plan[:] = 0
        self._is_paused = self._is_torn = False

    def _frame(self, tables: layout.Tables) -> None:
        """Makes frames for the threads if arrays were replaced since the last time."""
        store = self._store
        framed = (store.infosets, *store.known, *tables)
        is_same = len(framed) == len(self._framed) and all(
            map(operator.is_, framed, self._framed)
        )
        if is_same and self._groups is not None:
            return
        if self._groups is None:
            self._groups = self._new_groups()
        room, frames, self._own = self._room, [], []
        for _ in range(self.num_threads):
            arrays = self._tree.arrays._replace(
                infosets=store.infosets, **store.node_arrays()
            )
            num_infosets = len(tables.is_met) + room
            own = tables._replace(
                gradient=np.zeros(len(tables.gradient) + _SEQUENCES * room),
                is_met=np.zeros(num_infosets, np.uint8),
            )
            stack = layout.empty_walk(self._height, num_infosets)
            path = store.new_path(is_counted=False)
            records = _NO_TASK, arrays, own, stack, store.game, store.known, path
            frames.append(played.frame_of(*records))
            self._own += records
        self._frames, self._framed = np.array(frames), framed

    def _new_groups(self) -> grouped.Groups:
        """Room for what groups find; raises MemoryBudgetError if it does not fit."""
        room, budget = self._room, self._tree.budget
        groups = new_record(
            grouped.Groups,
            G=grouped.NUM_GROUPS,
            C=room,
            R=room + 1,
            S=_SEQUENCES * room,
            V=_VALUES * room,
            T=2 * room,
            NUM_COUNTS=grouped.NUM_COUNTS,
        )  # zeros, which take memory when they are first written to
        more = sum(array.nbytes for array in groups) - self._taken[0]
        if more > budget.limit // _SMALL:
            budget.require(more, "What the groups of a batch find takes")
        budget.take(more)
        self._taken[0] += more
        return groups


def _give_back(budget: Budget, taken: list[int]) -> None:
    budget.take(-taken[0])
