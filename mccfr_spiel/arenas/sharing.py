"""Walks that several threads share, as a solver runs them.

Whether they are shared, and by how many threads, changes no bit. So it is decided anew
for each call of a kernel, by how long the walks have turned out to be.

Batches of walks over compiled rules are walked in groups. `rules/grouped.py` has the
compiled side. Whether a batch is cut into groups changes its sums by roundings, so that
follows from the batch and the nodes touched so far. How many threads walk the groups
changes no bit.
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

STACK_HEIGHT, _ROOM = 256, 2**12
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
            self.slots = _new_slots(cut, STACK_HEIGHT, _ROOM)
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
