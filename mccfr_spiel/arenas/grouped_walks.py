"""GroupedWalks: runs batches of walks over compiled rules in groups, in several
threads.

Cutting a batch into groups changes the rounding of sums. Therefore the cut depends only
on the batch and on the number of nodes touched so far. The number of threads that walk
the groups changes no bit. rules/grouped.py has the compiled code.
"""

import operator
from typing import Any

import numpy as np

from mccfr_spiel.arenas.arena import ArenaTable, WalkSpec
from mccfr_spiel.arenas.rules.group_nodes import (
    GROUP_LAYOUT,
    MERGED,
    NUM_GROUP_NOTES,
    PLAN_SIZE,
    WALKED,
    Groups,
)
from mccfr_spiel.arenas.rules.grouped import make_grouped_iterate
from mccfr_spiel.arenas.rules.rule_records import CURSOR_SIZE
from mccfr_spiel.arenas.rules.rule_store import RuleStore
from mccfr_spiel.arenas.sharing import STACK_HEIGHT, drop_met
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels import teams
from mccfr_spiel.kernels.batches import NUM_GROUPS
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.sobol import NO_POINTS

_ROOM_OF_GROUP = 2**8
"""Initial capacity of a group in infosets, a power of two."""

_SEQUENCES, _VALUES = 4, 16
"""Capacity per infoset for sequences and for entries of keys."""

_SMALL = 4
"""Groups may take `1 / _SMALL` of the budget even if less memory is free. The store of
infosets then fails first, with the more useful message."""

_NO_TASK = layout.Task(np.zeros(0, np.uint64), np.zeros(0), np.zeros(0), NO_POINTS)


class GroupedWalks:
    """Runs the batches of one solver over compiled rules in groups.

    Attributes:
        num_threads: maximum number of threads.
        bytes_per_row: bytes per infoset and per sequence for the threads' gradients and
            lists.
    """

    def __init__(self, table: ArenaTable, store: RuleStore, spec: WalkSpec) -> None:
        """Stores the arguments; allocates nothing yet.

        Args:
            table: table of the arena.
            store: infosets that walks over the rules have met.
            spec: parameters of the walks.
        """
        self._tree, self._store = table, store
        self._sampled, self._rule = spec.sampled, spec.rule
        self.num_threads = min(spec.threads, NUM_GROUPS)
        self.bytes_per_row = 5 * self.num_threads, 8 * self.num_threads
        self._kernel: Any = None
        self._plan = np.zeros(PLAN_SIZE, np.int64)
        self._height, self._room = STACK_HEIGHT, _ROOM_OF_GROUP
        self._groups: Groups | None = None
        self._own: list[Any] = []
        self._frames = np.zeros((0, 0), np.int64)
        self._framed: tuple[np.ndarray, ...] = ()
        self._is_paused = self._is_torn = False

    @property
    def is_begun(self) -> bool:
        """Whether a batch is partly walked, so that only groups can continue it."""
        return bool(self._plan[WALKED]) or self._is_paused or self._is_torn

    def run(self, frame: np.ndarray, tables: layout.Tables, walk: layout.Walk) -> int:
        """Runs iterations up to the limits in the job.

        Args:
            frame: frame of the single-threaded kernel.
            tables, walk: records of the solver.

        Returns:
            A status. After NEEDS_ONE_THREAD the single-threaded kernel must continue.
        """
        if self._kernel is None:
            self._kernel = make_grouped_iterate(self._rule, self._sampled)
        if self._is_torn:
            self.drop(tables, walk)
        # Each pass calls the kernel. If a stack or a group is full, the next pass walks
        # the current stretch again with twice the capacity. Any other status
        # ends the loop.
        while True:
            self._frame(tables)
            assert self._groups is not None
            self._is_torn = True  # assume torn until the call returns a status
            status = teams.run(
                self._kernel,
                self.num_threads,
                frame,
                self._frames,
                GROUP_LAYOUT.frame_of(self._groups),
                self._store.called,
                self._plan,
                notes=NUM_GROUP_NOTES,
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
            self._plan[WALKED] = 0  # repeat the stretch
            self._groups = None

    def _ask_for_room(self) -> None:
        """Requests rows in the store for all infosets of the next group to merge."""
        assert self._groups is not None
        row = int(self._plan[MERGED])
        count, num_sequences = self._groups.sizes[row, :CURSOR_SIZE].tolist()
        num_values = int(self._groups.rows[row, count]["start"])
        self._store.ask_for(count, num_sequences, num_values)

    def drop(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Discards the results of all walks since the last update."""
        met = walk.met[: walk.marks[layout.NUM_MET]]
        num_players = self._tree.num_players
        drop_met(self._store.infosets, tables, walk, met, num_players)
        self._plan[:] = 0
        self._is_paused = self._is_torn = False

    def _frame(self, tables: layout.Tables) -> None:
        """Builds the threads' frames if an array was replaced since the last call."""
        store = self._store
        framed = (store.infosets, *store.known, *tables)
        if self._groups is not None and all(map(operator.is_, framed, self._framed)):
            return
        groups = self._groups or self._new_groups()
        room, frames, self._own = self._room, [], []
        for _ in range(self.num_threads):
            num_infosets = len(tables.is_met) + room
            own = tables._replace(
                gradient=np.zeros(len(tables.gradient) + _SEQUENCES * room),
                is_met=np.zeros(num_infosets, np.uint8),
            )
            stack = layout.empty_walk(self._height, num_infosets)
            path = store.new_path(is_counted=False)
            records = _NO_TASK, store.tree_of_node(), own, stack, path
            frames.append(store.frame_of(*records))
            self._own += records
        # Assigned together at the end, so that Ctrl-C leaves a consistent state.
        self._frames, self._framed, self._groups = np.array(frames), framed, groups

    def _new_groups(self) -> Groups:
        """Allocates the groups; raises MemoryBudgetError if they do not fit."""
        room, budget = self._room, self._tree.budget
        sizes = {"S": _SEQUENCES * room, "V": _VALUES * room, "T": 2 * room}
        # The operating system provides pages of zeros when they are first written to.
        groups = new_record(Groups, (), G=NUM_GROUPS, C=room, **sizes)
        what, size = "what the groups of a batch find", sum(a.nbytes for a in groups)
        is_small = size - budget.held[what] <= budget.limit // _SMALL
        (budget.record if is_small else budget.hold)(what, size)
        return groups
