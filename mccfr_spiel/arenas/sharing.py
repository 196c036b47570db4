"""Walks that several threads share, as a solver runs them.

Whether they are shared, and by how many threads, changes no bit. So it is decided anew
for each call of a kernel, by how long the walks have turned out to be.

Batches of walks over compiled rules are walked in groups. `rules/grouped.py` has the
compiled side. Whether a batch is cut into groups changes its sums by roundings, so that
follows from the batch and the nodes touched so far. How many threads walk the groups
changes no bit.
"""

import operator
from typing import Any

import numpy as np

from mccfr_spiel.arenas.arena import ArenaTable, WalkSpec
from mccfr_spiel.arenas.rules import grouped, kernel
from mccfr_spiel.arenas.rules.store import RuleStore
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.tree.whole import cut_for_batches
from mccfr_spiel.common.arrays import sequences_at, spans
from mccfr_spiel.kernels import shared_walks, teams
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.apply import plain_walks_at
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.shared_walks import make_shared_iterate
from mccfr_spiel.kernels.switches import Sampled
from mccfr_spiel.kernels.walk import LARGE

LEAST_NODES = 1000
"""Sharing gains something if a player's walks visit this many nodes for each thread."""

SMALL_TREE, LEAST_NODES_IN_SMALL = LARGE, 20_000
"""A tree of no more nodes than the first number stays in a core's own cache, where a
node takes a fraction of the time; there the second number replaces LEAST_NODES."""

LEAST_NODES_AT_ONCE = 20_000
"""The nodes that a call must visit for it to pay that threads are woken."""

LEAST_TREE = 2**20
"""In trees of fewer nodes a single walk is too short to be shared. Without batches
nothing is prepared for threads there, and no memory is taken."""

_NODES_OF_SLICE = 512, 2**17
"""The nodes that the walks of a slice should visit, unless that makes too few slices;
and the most that they may, since signals are heard only between stretches."""

_HEIGHT, _ROOM = 256, 2**12
"""The room at first: the nodes of a stack, and the entries of each kind in a log."""

_MOST_ROOM = 2**17
"""Walks that log more stay in one thread; all logs have 0.2 GB then."""

_ALONE = np.array([1, shared_walks.ALL_STAGES, 0, 1], np.int64)


def pace_of(
    task: layout.Task, walk: layout.Walk, num_players: int
) -> tuple[int, float]:
    """The walks for each player in the present iteration, and the mean of the nodes of
    all walks so far; 0 before the first."""
    given, counts = int(task.job[layout.BATCH]), walk.cursor.tolist()
    player = counts[layout.PLAYER]
    present = counts[layout.ITERATION] + (player == 0)
    before, batch = plain_walks_at(given, present)
    num_walks = num_players * before + player * batch
    return batch, counts[layout.NODES_TOUCHED] / num_walks if num_walks else 0.0


def is_between_updates(walk: layout.Walk) -> bool:
    """Whether no walk for the next update has begun."""
    marks = walk.marks
    names = layout.TOP, layout.WALK, layout.NUM_MET, layout.TOUCHED
    is_first = marks[layout.WALKER] == walk.cursor[layout.PLAYER]
    return bool(is_first and not marks[list(names)].any())


def drop_met(
    infosets: np.ndarray,
    tables: layout.Tables,
    walk: layout.Walk,
    met: np.ndarray,
    num_players: int,
) -> None:
    """Throws away what walks for the next update have found at the infosets met."""
    marks = walk.marks
    tables.is_met[met] = 0
    tables.gradient[sequences_at(infosets[met])] = 0
    tables.gradient[:num_players] = 0
    marks[[layout.NUM_MET, layout.TOUCHED, layout.WALK]] = 0
    marks[layout.WALKER] = walk.cursor[layout.PLAYER]


class SharedWalks:
    """Runs the walks of one solver on a complete tree in several threads, where they
    are long enough.

    Attributes:
        num_threads: the most threads that may share.
        cut, slots: see kernels/shared_walks.py; None until they are needed.
        bytes_per_row: for an infoset and for a sequence, what the cut takes, and what
            is needed to make it.
    """

    bytes_per_row = 12, 16

    def __init__(
        self, tree: GameTree, sampled: Sampled, rule: str, num_threads: int
    ) -> None:
        """Makes nothing yet.

        Args:
            tree: the game's, complete.
            sampled, rule: see `make_shared_iterate`.
            num_threads: the most threads that may share.
        """
        self._tree, self._sampled, self._rule = tree, sampled, rule
        self.num_threads = num_threads
        self.cut: shared_walks.Cut | None = None
        self.slots: shared_walks.Slots | None = None
        self._kernel: Any = None
        self._is_too_large = self._is_begun = self._is_torn = False

    def get_ready(self) -> shared_walks.Cut:
        """Compiles the kernel and cuts the tree, at the first call."""
        if self.cut is None:
            sampled = self._sampled._replace(batched=True)
            self._kernel = make_shared_iterate(self._rule, sampled)
            tree = self._tree
            cut = cut_for_batches(tree.infosets, tree.num_players, tree.num_sequences)
            self.slots = _new_slots(cut, _HEIGHT, _ROOM)
            self.cut = cut
        return self.cut

    def pays(self, task: layout.Task, walk: layout.Walk) -> bool:
        """Whether threads should do what a kernel is about to be called for."""
        if self._is_begun or self._is_torn:
            return True
        if self._is_too_large or not is_between_updates(walk):
            return False
        job, cursor = task.job.view(np.int64), walk.cursor
        left = float(job[layout.LAST_ITERATION] - cursor[layout.ITERATION])
        by_nodes = float(job[layout.NODE_LIMIT] - cursor[layout.NODES_TOUCHED])
        batch, mean = pace_of(task, walk, self._tree.num_players)
        nodes = min(left * batch * mean * self._tree.num_players, by_nodes)
        return nodes >= LEAST_NODES_AT_ONCE and self._useful_threads(batch * mean) > 1

    def run(
        self,
        task: layout.Task,
        arrays: layout.TreeArrays,
        tables: layout.Tables,
        walk: layout.Walk,
        plan: np.ndarray | None = None,
    ) -> int:
        """Runs iterations up to the job's limits.

        Args:
            task, arrays, tables, walk: of the solver.
            plan: what else to do, see `shared_walks.PLAN_SIZE`.

        Returns:
            A status; NEEDS_ONE_THREAD if the kernel for one thread must go on, with
            nothing found yet for the next update.
        """
        if self._is_torn:
            self.drop(tables, walk)
        cut = self.get_ready()
        plan = _ALONE.copy() if plan is None else plan
        while True:
            batch, mean = pace_of(task, walk, self._tree.num_players)
            plan[shared_walks.WALKS_OF_SLICE] = _walks_of_slice(batch, max(mean, 1.0))
            records = task, arrays, tables, walk, cut, self.slots
            self._is_torn = True  # should Ctrl-C, or an error, take the status away
            status = teams.run(
                self._kernel,
                max(self._useful_threads(batch * mean), 1),
                shared_walks.SHARED_LAYOUT.frame_of(*records),
                plan,
                notes=shared_walks.NUM_SHARING_NOTES,
                keep=records,
            )
            self._is_begun = status == layout.PAUSED
            if status in (layout.DONE, layout.PAUSED):
                self._is_torn = False
                return status
            self.drop(tables, walk)
            if status == layout.TOO_UNLIKELY:
                return layout.NEEDS_ONE_THREAD  # which says in which walk
            assert self.slots is not None
            room = 2 * self.slots.leaf.shape[1]
            if room > _MOST_ROOM:
                self._is_too_large = True
                return layout.NEEDS_ONE_THREAD
            self.slots = _new_slots(cut, 2 * self.slots.node.shape[1], room)

    def drop(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Throws away what has been found for the next update."""
        if self.cut is not None:
            cut, tree = self.cut, self._tree
            in_top = cut.top[: walk.marks[layout.NUM_MET]]
            in_blocks = cut.met[spans(cut.ends[:-1], cut.num_met)]
            met = np.concatenate((in_top, in_blocks))
            drop_met(tree.arrays.infosets, tables, walk, met, tree.num_players)
            cut.num_met[:] = 0
        self._is_begun = self._is_torn = False

    def _useful_threads(self, nodes: float) -> int:
        """How many threads pay for walks of one player that visit a number of nodes."""
        is_small = self._tree.num_nodes <= SMALL_TREE
        least = LEAST_NODES_IN_SMALL if is_small else LEAST_NODES
        return int(min(self.num_threads, nodes // least))


def _walks_of_slice(batch: int, mean: float) -> int:
    """The walks of a slice of a batch, for the mean of their nodes."""
    least, most = _NODES_OF_SLICE
    enough = min(-(-batch // 8), -(-least // mean))
    walks = max(-(-batch // shared_walks.NUM_SLICES), enough)
    return int(min(walks, max(most // mean, 1)))


def _new_slots(cut: shared_walks.Cut, height: int, room: int) -> shared_walks.Slots:
    """Stacks and logs with room for the given numbers of nodes and entries."""
    num_blocks = len(cut.num_met)
    rows = shared_walks.NUM_SLICES + num_blocks
    return new_record(shared_walks.Slots, R=rows, H=height, C=room, K=num_blocks)


# --- batches of walks over rules, in groups -------------------------------------------


_ROOM_OF_GROUP = 2**8
"""The infosets for which a group has room at first, a power of two."""

_SEQUENCES, _VALUES = 4, 16
"""For each infoset that a group has room for, the room for sequences and for numbers
of keys."""

_SMALL = 4
"""Groups may take 1 / _SMALL of a budget even if less is left. The store takes its room
in advance, and it is the store that should report that the budget is full."""

_NO_TASK = layout.Task(np.zeros(0, np.uint64), np.zeros(0), np.zeros(0))


class GroupedWalks:
    """Runs the batches of one solver over rules in groups.

    Attributes:
        num_threads: the most threads that may share.
        bytes_per_row: for an infoset and for a sequence, what each thread's gradient
            and list take.
    """

    def __init__(self, table: ArenaTable, store: RuleStore, spec: WalkSpec) -> None:
        """Makes nothing yet.

        Args:
            table: of the game.
            store: the infosets that walks over the rules have met.
            spec: what the walks are like.
        """
        self._tree, self._store = table, store
        self._sampled, self._rule = spec.sampled, spec.rule
        self.num_threads = min(spec.threads, grouped.NUM_GROUPS)
        self.bytes_per_row = 5 * self.num_threads, 8 * self.num_threads
        self._kernel: Any = None
        self._plan = np.zeros(grouped.PLAN_SIZE, np.int64)
        self._height, self._room = _HEIGHT, _ROOM_OF_GROUP
        self._groups: grouped.Groups | None = None
        self._own: list[Any] = []
        self._frames = np.zeros((0, 0), np.int64)
        self._framed: tuple[np.ndarray, ...] = ()
        self._is_paused = self._is_torn = False

    @property
    def is_begun(self) -> bool:
        """Whether a batch has been walked in part, which only groups may go on with."""
        return bool(self._plan[grouped.WALKED]) or self._is_paused or self._is_torn

    def run(self, frame: np.ndarray, tables: layout.Tables, walk: layout.Walk) -> int:
        """Runs iterations up to the job's limits.

        Args:
            frame: of the kernel for one thread.
            tables, walk: the solver's.

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
        row = int(self._plan[grouped.MERGED])
        count, num_sequences = self._groups.sizes[row, : kernel.CURSOR_SIZE].tolist()
        num_values = int(self._groups.rows[row, count]["start"])
        self._store.ask_for(count, num_sequences, num_values)

    def drop(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Throws away what has been found for the next update."""
        met = walk.met[: walk.marks[layout.NUM_MET]]
        num_players = self._tree.num_players
        drop_met(self._store.infosets, tables, walk, met, num_players)
        self._plan[:] = 0
        self._is_paused = self._is_torn = False

    def _frame(self, tables: layout.Tables) -> None:
        """Makes frames for the threads if arrays were replaced since the last time."""
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
        # Last: Ctrl-C may come in between.
        self._frames, self._framed, self._groups = np.array(frames), framed, groups

    def _new_groups(self) -> grouped.Groups:
        """Room for what groups find; raises MemoryBudgetError if it does not fit."""
        room, budget = self._room, self._tree.budget
        sizes = {"S": _SEQUENCES * room, "V": _VALUES * room, "T": 2 * room}
        # Zeros, which take memory when they are first written to.
        groups = new_record(grouped.Groups, (), C=room, **sizes)
        what, size = "what the groups of a batch find", sum(a.nbytes for a in groups)
        is_small = size - budget.held(what) <= budget.limit // _SMALL
        (budget.measured if is_small else budget.hold)(what, size)
        return groups
