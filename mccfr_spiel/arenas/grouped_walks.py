"""GroupedWalks: runs batches of walks over compiled rules in several threads.

A batch of walks is cut into groups; each thread processes one group at a time. Groups
are processed in *stretches* of up to NUM_GROUPS groups, and one thread merges the
gradients and the new infosets of a stretch in the order of the groups.

Cutting a batch into groups changes the rounding of sums. Therefore the size of groups
depends only on the batch and on the mean length of earlier walks, and results are
bit-identical for any number of threads. rules/grouped.py contains the compiled code.
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
"""Initial capacity of a group: number of infosets that its walks may visit. It is a
power of two, because hash tables have twice this size."""

_SEQUENCES, _VALUES = 4, 16
"""Initial capacity of a group, per infoset: number of sequences, and number of integers
in information keys."""

_SMALL = 4
"""Groups may allocate `1 / _SMALL` of the memory limit even if less of it is left. Then
the store of infosets is the first to exceed the limit, and its error message is more
useful."""

_NO_TASK = layout.Task(np.zeros(0, np.uint64), np.zeros(0), np.zeros(0), NO_POINTS)
"""Placeholder in the frames of the threads, which read the task from the solver's
frame."""


class GroupedWalks:
    """Runs the batches of one solver over compiled rules in groups.

    Attributes:
        num_threads: maximum number of threads.
        bytes_per_row: bytes per infoset and bytes per sequence that all threads
            together allocate for gradients and lists of infosets.
    """

    def __init__(self, table: ArenaTable, store: RuleStore, spec: WalkSpec) -> None:
        """Stores the arguments; `run` allocates the groups and the threads' arrays.

        Args:
            table: table of the arena.
            store: infosets that walks over the rules have visited.
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
        """Whether groups have begun a batch whose update is not done yet, so that the
        single-threaded kernel cannot continue it."""
        return bool(self._plan[WALKED]) or self._is_paused or self._is_torn

    def run(self, frame: np.ndarray, tables: layout.Tables, walk: layout.Walk) -> int:
        """Runs iterations up to the limits in the solver's job.

        Args:
            frame: frame of the single-threaded kernel.
            tables, walk: records of the solver.

        Returns:
            A status of `kernels.tables`: DONE; PAUSED between stretches; GROW if the
            store of infosets must grow before a group is merged; NEEDS_ONE_THREAD if
            the single-threaded kernel must continue; or an error of a walk.
        """
        if self._kernel is None:
            self._kernel = make_grouped_iterate(self._rule, self._sampled)
        if self._is_torn:
            self.drop(tables, walk)
        # Each pass calls the kernel. If a stack or a group is full, the walks of the
        # current stretch are repeated with twice the capacity. The loop ends with any
        # other status.
        while True:
            self._frame(tables)
            assert self._groups is not None
            # True unless the call returns a status: after an exception, the results are
            # incomplete, and `run` discards them when it is called again.
            self._is_torn = True
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
            self._plan[WALKED] = 0  # repeat all groups of the stretch
            self._groups = None

    def _ask_for_room(self) -> None:
        """Requests capacity in the store for all new infosets of the group that is
        merged next."""
        assert self._groups is not None
        row = int(self._plan[MERGED])
        count, num_sequences = self._groups.sizes[row, :CURSOR_SIZE].tolist()
        num_values = int(self._groups.rows[row, count]["start"])
        self._store.ask_for(count, num_sequences, num_values)

    def drop(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Discards the results of all walks since the last update of policies."""
        met = walk.met[: walk.marks[layout.NUM_MET]]
        num_players = self._tree.num_players
        drop_met(self._store.infosets, tables, walk, met, num_players)
        self._plan[:] = 0
        self._is_paused = self._is_torn = False

    def _frame(self, tables: layout.Tables) -> None:
        """Builds the frames of the threads, arrays of addresses that kernels read.

        Existing frames are reused unless the groups, the store or the tables have been
        replaced.
        """
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
        # Assigned at the end by one statement, so that Ctrl-C cannot leave new frames
        # with old groups.
        self._frames, self._framed, self._groups = np.array(frames), framed, groups

    def _new_groups(self) -> Groups:
        """Allocates the arrays of all groups.

        Raises:
            MemoryBudgetError: the arrays exceed the budget.
        """
        room, budget = self._room, self._tree.budget
        sizes = {"S": _SEQUENCES * room, "V": _VALUES * room, "T": 2 * room}
        # Zeroed arrays use no physical memory until they are written to, so this
        # allocation is fast.
        groups = new_record(Groups, (), G=NUM_GROUPS, C=room, **sizes)
        what, size = "what the groups of a batch find", sum(a.nbytes for a in groups)
        is_small = size - budget.held[what] <= budget.limit // _SMALL
        (budget.record if is_small else budget.hold)(what, size)
        return groups
