"""Batches of walks that several threads share, as a solver runs them.

Whether a batch is shared, and by how many threads, changes no bit. So it is decided
anew for each call of a kernel, by how long the batches have turned out to be.
"""

import operator
from typing import Any

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.compiled import teams
from mccfr_spiel.tree.blocks import cut_for_batches
from mccfr_spiel.tree.game_tree import GameTree

LEAST_NODES = 1000
"""The nodes of a batch for each thread from which on sharing it gains something."""

LEAST_NODES_AT_ONCE = 20_000
"""The same for a call, for which the threads must be woken."""

_NODES_OF_TICKET = 512, 2**13
"""How many nodes a ticket should have, unless the tickets would be few, and the most:
the logs of a segment should fit a cache."""

_NODES_OF_ADDING = 1000
"""The nodes whose leaves a ticket adds up, unless there would be few tickets."""

HEIGHT, ROOM = 256, 2**12
"""What a slot has room for at first: nodes in its stack, leaves in its log."""

MOST_ROOM = 2**17
"""Walks with more leaves stay in one thread; all logs have 0.2 GB then."""

BYTES_PER_INFOSET, BYTES_PER_SEQUENCE = 8, 16
"""What the cut takes, and what is needed to make it."""


class SharedBatches:
    """Runs the batches of one solver in several threads, where they are long enough.

    Attributes:
        num_threads: at most so many.
        cut, slots: see `kernels.Cut` and `kernels.Slots`; None until they are needed.
    """

    def __init__(
        self, tree: GameTree, sampled: kernels.Sampled, rule: str, num_threads: int
    ) -> None:
        """Makes nothing yet.

        Args:
            tree: the game's, complete.
            sampled, rule: see `kernels.make_batches_in_threads`.
            num_threads: at most so many.
        """
        self._tree, self._sampled, self._rule = tree, sampled, rule
        self.num_threads = num_threads
        self.cut: kernels.Cut | None = None
        self.slots: kernels.Slots | None = None
        self._kernel: Any = None
        self._frame = np.zeros(0, np.int64)
        self._framed: tuple[Any, ...] = ()
        self._is_too_large = False

    def arrays(self) -> list[np.ndarray]:
        """All arrays that were made."""
        return [*(self.cut or ()), *(self.slots or ())]

    def get_ready(self, task: kernels.Task, walk: kernels.Walk) -> None:
        """Compiles the kernel and cuts the tree if batches are long enough to be
        shared."""
        if self.cut is None and self._useful_threads(task, walk) > 1:
            self._kernel = kernels.make_batches_in_threads(self._sampled, self._rule)
            tree = self._tree
            cut = cut_for_batches(tree.infosets, tree.num_players, tree.num_sequences)
            self.slots = new_slots(len(cut.num_met), HEIGHT, ROOM)
            self.cut = cut

    def pays(self, task: kernels.Task, walk: kernels.Walk) -> bool:
        """Whether threads should do what a kernel is about to be called for."""
        if self.cut is None or self._is_too_large or not is_at_root(walk):
            return False
        job, cursor = task.job.view(np.int64), walk.cursor
        one = self._nodes_of_batch(task, walk)
        more = one * float(job[kernels.LAST_ITERATION] - cursor[kernels.ITERATION])
        left = float(job[kernels.NODE_LIMIT] - cursor[kernels.NODES_TOUCHED])
        # An iteration that was begun is finished whatever the limits are.
        nodes = one * int(cursor[kernels.TOP]) + max(min(more, left), 0.0)
        return nodes >= LEAST_NODES_AT_ONCE and self._useful_threads(task, walk) > 1

    def run(
        self,
        task: kernels.Task,
        arrays: kernels.TreeArrays,
        tables: kernels.Tables,
        walk: kernels.Walk,
    ) -> int:
        """Runs iterations up to the job's limits, where a call pays.

        Returns:
            A status; NEEDS_ONE_THREAD if the kernel for one thread must go on.
        """
        assert self.cut is not None
        threads = self._useful_threads(task, walk)
        while True:
            assert self.slots is not None
            records = (task, arrays, tables, walk, self.cut, self.slots)
            framed = *arrays, *tables, *walk, *self.slots
            if len(framed) != len(self._framed) or not all(
                map(operator.is_, framed, self._framed)
            ):
                self._frame, self._framed = kernels.frame_of_batch(*records), framed
            status = teams.run(
                self._kernel,
                threads,
                self._frame,
                self._walks_of_ticket(task, walk),
                self._blocks_of_ticket(task, walk),
                notes=kernels.NUM_BATCH_NOTES,
                keep=records,
            )
            if status != kernels.LOG_FULL:
                return status
            room = 2 * len(self.slots.leaf) // kernels.NUM_SLOTS
            if room > MOST_ROOM:
                self._is_too_large = True
                return kernels.NEEDS_ONE_THREAD
            height = 2 * len(self.slots.node) // kernels.NUM_SLOTS
            self.slots = new_slots(len(self.cut.num_met), height, room)

    def _useful_threads(self, task: kernels.Task, walk: kernels.Walk) -> int:
        most = self._nodes_of_batch(task, walk) / self._tree.num_players // LEAST_NODES
        return int(min(self.num_threads, most))

    def _nodes_of_batch(self, task: kernels.Task, walk: kernels.Walk) -> float:
        """The nodes that an iteration is likely to touch; 0 if nothing is known yet."""
        num_players = self._tree.num_players
        mean = nodes_of_walk(task, walk, num_players)
        return mean * batch_of(task, walk) * num_players

    def _walks_of_ticket(self, task: kernels.Task, walk: kernels.Walk) -> int:
        batch = batch_of(task, walk)
        mean = max(nodes_of_walk(task, walk, self._tree.num_players), 1.0)
        least, most = _NODES_OF_TICKET
        enough = min(-(-batch // 8), -(-least // mean))
        return int(
            min(max(-(-batch // kernels.NUM_SLOTS), enough), max(most // mean, 1))
        )

    def _blocks_of_ticket(self, task: kernels.Task, walk: kernels.Walk) -> int:
        assert self.cut is not None
        num_players = self._tree.num_players
        num_blocks = -(-len(self.cut.num_met) // num_players)
        tickets = self._nodes_of_batch(task, walk) / num_players // _NODES_OF_ADDING
        return -(-num_blocks // int(min(max(tickets, 8), num_blocks)))


def batch_of(task: kernels.Task, walk: kernels.Walk) -> int:
    """The walks of a batch in the next iteration."""
    iteration = int(walk.cursor[kernels.ITERATION]) + 1
    return kernels.plain_batch_at(int(task.job[kernels.BATCH]), iteration)


def nodes_of_walk(task: kernels.Task, walk: kernels.Walk, num_players: int) -> float:
    """The mean of the nodes of all walks so far; 0 before the first."""
    cursor, given = walk.cursor, int(task.job[kernels.BATCH])
    iteration, player = cursor[[kernels.ITERATION, kernels.PLAYER]].tolist()
    if cursor[kernels.TOP] == 0:
        iteration += 1
    batch = kernels.plain_batch_at(given, iteration)
    num_walks = num_players * (kernels.plain_walk_number(given, iteration, 0) - 1)
    num_walks += player * batch + int(cursor[kernels.WALK])
    return float(cursor[kernels.NODES_TOUCHED]) / num_walks if num_walks else 0.0


def is_at_root(walk: kernels.Walk) -> bool:
    """Whether the walk of one thread stands between two walks."""
    cursor = walk.cursor
    top = cursor[kernels.TOP]
    return top == 0 or bool(
        top == 1
        and walk.node[0] == 0
        and cursor[kernels.NUM_UNDO] == 0
        and cursor[kernels.NUM_MET] == cursor[kernels.NUM_MET_BEFORE]
        and cursor[kernels.NODES_TOUCHED] == cursor[kernels.NODES_TOUCHED_BEFORE]
    )


def new_slots(num_blocks: int, height: int, room: int) -> kernels.Slots:
    """Empty slots with room for so many blocks, nodes in a stack, leaves in a log."""
    count = kernels.NUM_SLOTS
    return kernels.Slots(
        node=np.zeros(count * height, np.int32),
        sequence=np.zeros(count * height, np.int32),
        weight=np.zeros(count * height),
        place=np.zeros(count * height, np.uint64),
        event=np.zeros(count * room, kernels.VISIT),
        visit=np.zeros(count * room, kernels.VISIT),
        leaf=np.zeros(count * room, kernels.LEAF),
        run=np.zeros(count * room, kernels.RUN),
        order=np.zeros(count * room, np.int32),
        part_ends=np.zeros(count * (num_blocks + 3), np.int64),
        counts=np.zeros(count * kernels.NUM_COUNTS, np.int64),
    )
