"""Walks that several threads share, as a solver runs them.

Whether they are shared, and by how many threads, changes no bit. So it is decided anew
for each call of a kernel, by how long the walks have turned out to be.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels import shared_walks, teams
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.apply import plain_batch_at, plain_walk_number
from mccfr_spiel.kernels.shared_walks import make_shared_iterate
from mccfr_spiel.kernels.walk import FORK, LARGE, LEAF, Sampled
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.whole import cut_for_batches

LEAST_NODES = 1000
"""The nodes of a player's walks for each thread from which on sharing gains something.
"""

SMALL_TREE, LEAST_NODES_IN_SMALL = LARGE, 20_000
"""A tree of no more nodes than the first number stays in a core's own cache, where a
node takes a fraction of the time. There the second number is in the place of
LEAST_NODES."""

LEAST_NODES_AT_ONCE = 20_000
"""The same for a call, for which the threads must be woken."""

LEAST_TREE = 2**20
"""Trees of fewer nodes have no single walks that are long enough. Without batches
nothing is made ready for threads there, and no memory taken."""

_NODES_OF_SLICE = 512, 2**17
"""How many nodes the walks of a slice should have, unless the slices would be few, and
the most: after each stretch signals are heard."""

_HEIGHT, _ROOM = 256, 2**12
"""What there is room for at first: the nodes in a stack, and the entries of each kind
in a log."""

_MOST_ROOM = 2**17
"""Walks that log more stay in one thread; all logs have 0.2 GB then."""

BYTES_PER_INFOSET, BYTES_PER_SEQUENCE = 12, 16
"""What the cut takes, and what is needed to make it."""

_ALONE = np.array([1, shared_walks.ALL_STAGES, 0, 1], np.int64)


def batch_of(task: layout.Task, walk: layout.Walk) -> int:
    """The walks for each player in the present iteration."""
    return plain_batch_at(int(task.job[layout.BATCH]), _present_iteration(walk))


def _present_iteration(walk: layout.Walk) -> int:
    cursor = walk.cursor
    return int(cursor[layout.ITERATION]) + (cursor[layout.PLAYER] == 0)


def nodes_of_walk(task: layout.Task, walk: layout.Walk, num_players: int) -> float:
    """The mean of the nodes of all walks so far; 0 before the first."""
    given, present = int(task.job[layout.BATCH]), _present_iteration(walk)
    num_walks = num_players * (plain_walk_number(given, present, 0) - 1)
    num_walks += int(walk.cursor[layout.PLAYER]) * plain_batch_at(given, present)
    touched = float(walk.cursor[layout.NODES_TOUCHED])
    return touched / num_walks if num_walks else 0.0


def is_between_updates(walk: layout.Walk) -> bool:
    """Whether no walk for the next update has begun."""
    marks = walk.marks
    names = layout.TOP, layout.WALK, layout.NUM_MET, layout.TOUCHED
    is_first = marks[layout.WALKER] == walk.cursor[layout.PLAYER]
    return bool(is_first and not marks[list(names)].any())


class SharedWalks:
    """Runs the walks of one solver on a complete tree in several threads, where they
    are long enough.

    Attributes:
        num_threads: at most so many.
        cut, slots: see kernels/shared_walks.py; None until they are needed.
    """

    def __init__(
        self, tree: GameTree, sampled: Sampled, rule: str, num_threads: int
    ) -> None:
        """Makes nothing yet.

        Args:
            tree: the game's, complete.
            sampled, rule: see `make_shared_iterate`.
            num_threads: at most so many.
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
        nodes = min(left * self._nodes_of_batch(task, walk), by_nodes)
        return nodes >= LEAST_NODES_AT_ONCE and self._useful_threads(task, walk) > 1

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
        cut, threads = self.get_ready(), max(self._useful_threads(task, walk), 1)
        plan = _ALONE.copy() if plan is None else plan
        while True:
            plan[shared_walks.WALKS_OF_SLICE] = self._walks_of_slice(task, walk)
            records = task, arrays, tables, walk, cut, self.slots
            self._is_torn = True  # should Ctrl-C, or an error, take the status away
            status = teams.run(
                self._kernel,
                threads,
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
            room = 2 * len(self.slots.leaf) // shared_walks.NUM_SLICES
            if room > _MOST_ROOM:
                self._is_too_large = True
                return layout.NEEDS_ONE_THREAD
            rows = len(self.slots.counts) // shared_walks.NUM_COUNTS
            self.slots = _new_slots(cut, 2 * len(self.slots.node) // rows, room)

    def drop(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Throws away what has been found for the next update."""
        if self.cut is not None:
            tree = self._tree
            shared_walks.drop_shared(
                tree.arrays.infosets, tables, walk, self.cut, tree.num_players
            )
        self._is_begun = self._is_torn = False

    def _useful_threads(self, task: layout.Task, walk: layout.Walk) -> int:
        is_small = self._tree.num_nodes <= SMALL_TREE
        least = LEAST_NODES_IN_SMALL if is_small else LEAST_NODES
        most = self._nodes_of_batch(task, walk) / self._tree.num_players // least
        return int(min(self.num_threads, most))

    def _nodes_of_batch(self, task: layout.Task, walk: layout.Walk) -> float:
        """The nodes that an iteration is likely to touch; 0 if nothing is known yet."""
        num_players = self._tree.num_players
        mean = nodes_of_walk(task, walk, num_players)
        return mean * batch_of(task, walk) * num_players

    def _walks_of_slice(self, task: layout.Task, walk: layout.Walk) -> int:
        batch = batch_of(task, walk)
        mean = max(nodes_of_walk(task, walk, self._tree.num_players), 1.0)
        least, most = _NODES_OF_SLICE
        enough = min(-(-batch // 8), -(-least // mean))
        walks = max(-(-batch // shared_walks.NUM_SLICES), enough)
        return int(min(walks, max(most // mean, 1)))


def _new_slots(cut: shared_walks.Cut, height: int, room: int) -> shared_walks.Slots:
    """Room for so many nodes in a stack, and so many entries in a log."""
    num_blocks, slices = len(cut.num_met), shared_walks.NUM_SLICES
    rows, entries = slices + num_blocks, slices * room
    return shared_walks.Slots(
        node=np.zeros(rows * height, np.int32),
        sequence=np.zeros(rows * height, np.int32),
        weight=np.zeros(rows * height),
        place=np.zeros(rows * height, np.uint64),
        counts=np.zeros(rows * shared_walks.NUM_COUNTS, np.int64),
        event=np.zeros(entries, np.int32),
        leaf=np.zeros(entries, LEAF),
        fork=np.zeros(entries, FORK),
        order=np.zeros(entries, np.int32),
        order_ends=np.zeros(slices * (num_blocks + 1), np.int64),
    )
