"""SharedWalks: runs walks over a complete tree in several threads.

A batch of walks is processed in *stretches*, and each stretch in two steps. First,
threads take *slices* of the walks and follow them from the root through the upper part
of the tree, called the top. Then threads take *blocks*, sets of subtrees of the updated
player's infosets, and continue all walks inside their block. kernels/shared_walks.py
contains the compiled code.

Results are bit-identical for any number of threads. Each call can therefore choose the
number of threads that is probably fastest, given the mean length of past walks.
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
"""Minimum number of nodes per thread, in all walks of one player in an iteration, for
which several threads save time."""

SMALL_TREE, LEAST_NODES_IN_SMALL = LARGE, 20_000
"""Trees with at most SMALL_TREE nodes fit into a core's cache, where visiting a node is
several times faster. LEAST_NODES_IN_SMALL replaces LEAST_NODES for them."""

LEAST_NODES_AT_ONCE = 20_000
"""Minimum number of nodes visited in a call of the kernel for which waking up threads
saves time."""

LEAST_TREE = 2**20
"""Number of nodes from which on a tree is large enough that threads divide even single
walks. Without batches, SharedWalks is not created for smaller trees, which saves
memory."""

_NODES_OF_SLICE = 512, 2**17
"""Desired minimum and maximum number of nodes that the walks of a slice visit. Slices
may be smaller than the minimum so that a batch has about 8 slices. The maximum bounds
the delay of signal handlers, which run between stretches."""

STACK_HEIGHT, _ROOM = 256, 2**12
"""Initial capacities: number of nodes on a walk's stack; and number of leaves, of
infosets and of block roots that the log of a slice can record."""

_MOST_ROOM = 2**17
"""Maximum capacity of a log, at which all logs together take 0.2 GB. Batches that need
more run in one thread."""

_ALONE = np.array([1, shared_walks.ALL_STAGES, 0, 1], np.int64)
"""Plan of a process without a cluster: whole iterations, and share 0 of 1 of the
blocks. `run` replaces the first entry, the number of walks per slice."""


def pace_of(
    task: layout.Task, walk: layout.Walk, num_players: int
) -> tuple[int, float]:
    """The pace of a solver.

    Returns:
        Number of walks per player in the current iteration, and mean number of nodes
        per walk so far; the mean is 0 before the first walk.
    """
    full_batch, counts = int(task.job[layout.BATCH]), walk.cursor.tolist()
    player = counts[layout.PLAYER]
    iteration = counts[layout.ITERATION] + (player == 0)
    before, batch = plain_walks_at(full_batch, iteration)
    num_walks = num_players * before + player * batch
    return batch, counts[layout.NODES_TOUCHED] / num_walks if num_walks else 0.0


def is_between_updates(walk: layout.Walk) -> bool:
    """Whether no walk has begun since the last update of policies."""
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
    """Discards the results of all walks since the last update of policies.

    Args:
        infosets: `[I]` records of dtype INFOSET.
        tables: tables of the solver; their gradient becomes zero.
        walk: walk record of the solver; its marks return to the first walk.
        met: infosets that these walks have visited.
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
        cut: partition of the infosets into the top and blocks, see
            kernels/shared_walks.py; None before the first call.
        slots: stacks and logs of all slices, and stacks of all blocks; None before the
            first call.
        bytes_per_row: bytes per infoset and bytes per sequence of `cut` and of the
            arrays that its computation needs.
    """

    bytes_per_row = 12, 16

    def __init__(
        self, tree: GameTree, sampled: Sampled, rule: str, num_threads: int
    ) -> None:
        """Stores the arguments; `get_ready` allocates the arrays.

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
        """Returns the partition of the infosets.

        The first call computes it, creates the kernel and allocates the slots.
        """
        if self.cut is None:
            sampled = self._sampled._replace(batched=True)
            self._kernel = shared_walks.make_shared_iterate(self._rule, sampled)
            tree = self._tree
            cut = cut_for_batches(tree.infosets, tree.num_players, tree.num_sequences)
            self.slots = _new_slots(cut, STACK_HEIGHT, _ROOM)
            self.cut = cut
        return self.cut

    def pays(self, task: layout.Task, walk: layout.Walk) -> bool:
        """Whether the next iterations should run in several threads: because that saves
        time, or because a batch that threads have begun must be continued."""
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
        """Runs iterations up to the limits in `task.job`.

        Args:
            task, arrays, tables, walk: records of the solver.
            plan: share of the work for this process of a cluster, see
                `shared_walks.PLAN_SIZE`; None without a cluster.

        Returns:
            DONE, PAUSED or NEEDS_ONE_THREAD. In the last case the results since the
            last update have been discarded, and the caller must run the single-threaded
            kernel.
        """
        if self._is_torn:
            self.drop(tables, walk)
        cut = self.get_ready()
        plan = _ALONE.copy() if plan is None else plan
        # Each pass calls the kernel. If a stack or log is full, the results since the
        # last update are discarded, and these walks are repeated with twice the
        # capacity. The loop ends when the kernel is done or pauses, when the weight of
        # a walk is too large (TOO_UNLIKELY), or when the logs would exceed _MOST_ROOM.
        while True:
            batch, mean = pace_of(task, walk, self._tree.num_players)
            plan[shared_walks.WALKS_OF_SLICE] = _walks_of_slice(batch, max(mean, 1.0))
            records = task, arrays, tables, walk, cut, self.slots
            # True unless the call returns a status: after an exception, the results are
            # incomplete, and `run` discards them when it is called again.
            self._is_torn = True
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
                # The single-threaded kernel repeats the walks and stops at the faulty
                # walk, so that the error message can describe it.
                return layout.NEEDS_ONE_THREAD
            assert self.slots is not None
            room = 2 * self.slots.leaf.shape[1]
            if room > _MOST_ROOM:
                self._is_too_large = True
                return layout.NEEDS_ONE_THREAD
            self.slots = _new_slots(cut, 2 * self.slots.node.shape[1], room)

    def drop(self, tables: layout.Tables, walk: layout.Walk) -> None:
        """Discards the results of all walks since the last update of policies."""
        if self.cut is not None:
            cut, tree = self.cut, self._tree
            in_top = cut.top[: walk.marks[layout.NUM_MET]]
            in_blocks = cut.met[spans(cut.ends[:-1], cut.num_met)]
            met = np.concatenate((in_top, in_blocks))
            drop_met(tree.arrays.infosets, tables, walk, met, tree.num_players)
            cut.num_met[:] = 0
        self._is_begun = self._is_torn = False

    def _useful_threads(self, nodes: float) -> int:
        """Number of threads that is probably fastest, if all walks of a player in an
        iteration together visit `nodes` nodes; 0 if there are too few nodes for even
        one share."""
        is_small = self._tree.num_nodes <= SMALL_TREE
        least = LEAST_NODES_IN_SMALL if is_small else LEAST_NODES
        return int(min(self.num_threads, nodes // least))


def _walks_of_slice(batch: int, mean: float) -> int:
    """Number of walks per slice.

    Args:
        batch: number of walks per player in the iteration.
        mean: mean number of nodes per walk.
    """
    min_nodes, max_nodes = _NODES_OF_SLICE
    enough = min(-(-batch // 8), -(-min_nodes // mean))
    walks = max(-(-batch // shared_walks.NUM_SLICES), enough)
    return int(min(walks, max(max_nodes // mean, 1)))


def _new_slots(cut: shared_walks.Cut, height: int, room: int) -> shared_walks.Slots:
    """Allocates stacks for `height` nodes and logs for `room` entries of each type."""
    num_blocks = len(cut.num_met)
    rows = shared_walks.NUM_SLICES + num_blocks
    return new_record(shared_walks.Slots, R=rows, H=height, C=room, K=num_blocks)
