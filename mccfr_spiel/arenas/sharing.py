"""SharedWalks: runs walks over a complete tree in several threads.

The number of threads changes no bit of the result. Therefore each call decides from the
mean length of past walks how many threads to use. kernels/shared_walks.py has the
compiled code.
"""

from typing import Any

import numpy as np

from mccfr_spiel.arenas.tree.cutting import cut_for_batches
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.common.arrays import sequences_at, spans
from mccfr_spiel.kernels import shared_walks, teams
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.batches import plain_walks_at
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.progress import LARGE
from mccfr_spiel.kernels.switches import Sampled

LEAST_NODES = 1000
"""Minimum number of nodes per thread in a player's walks for sharing to save time."""

SMALL_TREE, LEAST_NODES_IN_SMALL = LARGE, 20_000
"""Trees with at most SMALL_TREE nodes fit into a core's cache, where visiting a node is
several times faster. LEAST_NODES_IN_SMALL replaces LEAST_NODES for them."""

LEAST_NODES_AT_ONCE = 20_000
"""Minimum number of nodes in a call for which waking up threads saves time."""

LEAST_TREE = 2**20
"""Smallest tree in which single walks are long enough to be shared. Without batches,
threads are not prepared for smaller trees, which saves memory."""

_NODES_OF_SLICE = 512, 2**17
"""Minimum and maximum number of nodes in a slice of a batch. The minimum gives way if
there would be too few slices. The maximum bounds the delay of signal handlers, which
run between stretches."""

STACK_HEIGHT, _ROOM = 256, 2**12
"""Initial capacity: nodes of a stack, and entries of each type in a log."""

_MOST_ROOM = 2**17
"""Maximum capacity of a log, at which all logs take 0.2 GB. Larger walks run in one
thread."""

_ALONE = np.array([1, shared_walks.ALL_STAGES, 0, 1], np.int64)


def pace_of(
    task: layout.Task, walk: layout.Walk, num_players: int
) -> tuple[int, float]:
    """Walks per player in the current iteration, and mean nodes per walk so far (0
    before the first walk)."""
    full_batch, counts = int(task.job[layout.BATCH]), walk.cursor.tolist()
    player = counts[layout.PLAYER]
    iteration = counts[layout.ITERATION] + (player == 0)
    before, batch = plain_walks_at(full_batch, iteration)
    num_walks = num_players * before + player * batch
    return batch, counts[layout.NODES_TOUCHED] / num_walks if num_walks else 0.0


def is_between_updates(walk: layout.Walk) -> bool:
    """Whether no walk has begun since the last update."""
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
    """Discards the results of walks since the last update.

    Args:
        infosets: `[I]` infoset records.
        tables: tables of the solver.
        walk: walk state of the solver.
        met: infosets that these walks have met.
        num_players: number of players.
    """
    marks = walk.marks
    tables.is_met[met] = 0
    tables.gradient[sequences_at(infosets[met])] = 0
    tables.gradient[:num_players] = 0
    marks[[layout.NUM_MET, layout.TOUCHED, layout.WALK]] = 0
    marks[layout.WALKER] = walk.cursor[layout.PLAYER]


class SharedWalks:
    """Runs the walks of one solver on a complete tree, in several threads if that saves
    time.

    Attributes:
        num_threads: maximum number of threads.
        cut: partition of the infosets, see kernels/shared_walks.py; None before the
            first call.
        slots: stacks and logs of the slices; None before the first call.
        bytes_per_row: bytes per infoset and per sequence for the cut and its
            computation.
    """

    bytes_per_row = 12, 16

    def __init__(
        self, tree: GameTree, sampled: Sampled, rule: str, num_threads: int
    ) -> None:
        """Stores the arguments; allocates nothing yet.

        Args:
            tree: complete tree of the game.
            sampled: sampling scheme of the walks.
            rule: name of the update rule.
            num_threads: maximum number of threads.
        """
        self._tree, self._sampled, self._rule = tree, sampled, rule
        self.num_threads = num_threads
        self.cut: shared_walks.Cut | None = None
        self.slots: shared_walks.Slots | None = None
        self._kernel: Any = None
        self._is_too_large = self._is_begun = self._is_torn = False

    def get_ready(self) -> shared_walks.Cut:
        """Compiles the kernel and cuts the tree at the first call."""
        if self.cut is None:
            sampled = self._sampled._replace(batched=True)
            self._kernel = shared_walks.make_shared_iterate(self._rule, sampled)
            tree = self._tree
            cut = cut_for_batches(tree.infosets, tree.num_players, tree.num_sequences)
            self.slots = _new_slots(cut, STACK_HEIGHT, _ROOM)
            self.cut = cut
        return self.cut

    def pays(self, task: layout.Task, walk: layout.Walk) -> bool:
        """Whether several threads save time in the next call of a kernel."""
        if self._is_begun or self._is_torn:
            return True
        if self._is_too_large or not is_between_updates(walk):
            return False
        job, cursor = task.job.view(np.int64), walk.cursor
        iterations = float(job[layout.LAST_ITERATION] - cursor[layout.ITERATION])
        most_nodes = float(job[layout.NODE_LIMIT] - cursor[layout.NODES_TOUCHED])
        batch, mean = pace_of(task, walk, self._tree.num_players)
        nodes = min(iterations * batch * mean * self._tree.num_players, most_nodes)
        return nodes >= LEAST_NODES_AT_ONCE and self._useful_threads(batch * mean) > 1

    def run(
        self,
        task: layout.Task,
        arrays: layout.TreeArrays,
        tables: layout.Tables,
        walk: layout.Walk,
        plan: np.ndarray | None = None,
    ) -> int:
        """Runs iterations up to the limits in the job.

        Args:
            task, arrays, tables, walk: records of the solver.
            plan: additional instructions, see `shared_walks.PLAN_SIZE`.

        Returns:
            A status. After NEEDS_ONE_THREAD the single-threaded kernel must continue;
            the results since the last update are discarded.
        """
        if self._is_torn:
            self.drop(tables, walk)
        cut = self.get_ready()
        plan = _ALONE.copy() if plan is None else plan
        # Each pass calls the kernel. If a stack or log is full, all walks since the
        # last update are discarded, and the next pass repeats them with twice the room.
        # The loop ends when the kernel is done or pauses, when a walk is too unlikely,
        # or when the logs would exceed _MOST_ROOM.
        while True:
            batch, mean = pace_of(task, walk, self._tree.num_players)
            plan[shared_walks.WALKS_OF_SLICE] = _walks_of_slice(batch, max(mean, 1.0))
            records = task, arrays, tables, walk, cut, self.slots
            self._is_torn = True  # assume torn until the call returns a status
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
                return layout.NEEDS_ONE_THREAD  # that kernel reports which walk
            assert self.slots is not None
            room = 2 * self.slots.leaf.shape[1]
            if room > _MOST_ROOM:
                self._is_too_large = True
                return layout.NEEDS_ONE_THREAD
            self.slots = _new_slots(cut, 2 * self.slots.node.shape[1], room)

    def drop(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Discards the results of all walks since the last update."""
        if self.cut is not None:
            cut, tree = self.cut, self._tree
            in_top = cut.top[: walk.marks[layout.NUM_MET]]
            in_blocks = cut.met[spans(cut.ends[:-1], cut.num_met)]
            met = np.concatenate((in_top, in_blocks))
            drop_met(tree.arrays.infosets, tables, walk, met, tree.num_players)
            cut.num_met[:] = 0
        self._is_begun = self._is_torn = False

    def _useful_threads(self, nodes: float) -> int:
        """Number of threads that save time if a player's walks visit `nodes` nodes in
        total."""
        is_small = self._tree.num_nodes <= SMALL_TREE
        least = LEAST_NODES_IN_SMALL if is_small else LEAST_NODES
        return int(min(self.num_threads, nodes // least))


def _walks_of_slice(batch: int, mean: float) -> int:
    """Number of walks per slice, for walks with `mean` nodes on average."""
    min_nodes, max_nodes = _NODES_OF_SLICE
    enough = min(-(-batch // 8), -(-min_nodes // mean))
    walks = max(-(-batch // shared_walks.NUM_SLICES), enough)
    return int(min(walks, max(max_nodes // mean, 1)))


def _new_slots(cut: shared_walks.Cut, height: int, room: int) -> shared_walks.Slots:
    """Stacks of `height` nodes and logs of `room` entries."""
    num_blocks = len(cut.num_met)
    rows = shared_walks.NUM_SLICES + num_blocks
    return new_record(shared_walks.Slots, R=rows, H=height, C=room, K=num_blocks)
