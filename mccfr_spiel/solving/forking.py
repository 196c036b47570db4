"""Walks that several threads share, as a solver runs them.

Whether they are shared, and by how many threads, changes no bit. So it is decided anew
for each call of a kernel, by how long the walks have turned out to be.
"""

import operator
from typing import Any

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.compiled import teams
from mccfr_spiel.kernels import walks
from mccfr_spiel.solving.batch_sizes import (
    batch_of,
    is_at_root,
    nodes_of_call,
    nodes_of_walk,
    walks_of_ticket,
)
from mccfr_spiel.tree.blocks import cut_for_batches
from mccfr_spiel.tree.game_tree import GameTree

LEAST_NODES = 1000
"""The nodes of a player's walks for each thread from which on sharing gains something.
"""

SMALL_TREE, LEAST_NODES_IN_SMALL = walks.LARGE, 20_000
"""A tree of no more nodes than the first number stays in a core's own cache, where a
node takes a fraction of the time. There the second number is in the place of
LEAST_NODES."""

LEAST_NODES_AT_ONCE = 20_000
"""The same for a call, for which the threads must be woken."""

LEAST_TREE = 2**20
"""Trees of fewer nodes have no single walks that are long enough. Without batches
nothing is made ready for threads there, and no memory taken."""

_NODES_OF_TICKET = 512, 2**17
"""How many nodes the walks of a ticket should have, unless the tickets would be few,
and the most: after each segment signals are heard."""

_NODES_OF_BLOCKS = 1000
"""The nodes that the walks of a ticket touch in its blocks, unless there would be few
tickets."""

_HEIGHT, _ROOM = 256, 2**12
"""What there is room for at first: the nodes in a stack, and the entries of each kind
in a log. A queue is at least _NODES_IN_QUEUE times as long as a stack is high."""

_NODES_IN_QUEUE = 16

LEAST_QUEUED_TREE = 2**20
"""Trees of fewer nodes fit the caches that cores share. There queues take longer than
stacks."""

_MOST_ROOM = 2**17
"""Walks that log more stay in one thread; all logs have 0.3 GB then."""

BYTES_PER_INFOSET, BYTES_PER_SEQUENCE = 8, 24
"""What the cut and the kept gradient take, and what is needed to make the cut."""


class ForkedWalks:
    """Runs the walks of one solver in several threads, where they are long enough.

    Attributes:
        num_threads: at most so many.
        cut, forks: see `kernels.Cut` and `kernels.Forks`; None until they are needed.
    """

    def __init__(
        self, tree: GameTree, sampled: kernels.Sampled, rule: str, num_threads: int
    ) -> None:
        """Makes nothing yet.

        Args:
            tree: the game's, complete.
            sampled, rule: see `kernels.make_forks_in_threads`.
            num_threads: at most so many.
        """
        self._tree, self._sampled, self._rule = tree, sampled, rule
        self.num_threads = num_threads
        self.cut: kernels.Cut | None = None
        self.forks: kernels.Forks | None = None
        self._kernel: Any = None
        self._frame = np.zeros(0, np.int64)
        self._framed: tuple[Any, ...] = ()
        self._is_too_large = False
        self._is_large = tree.num_nodes >= LEAST_QUEUED_TREE

    def arrays(self) -> list[np.ndarray]:
        """All arrays that were made."""
        return [*(self.cut or ()), *(self.forks or ())]

    def get_ready(self, task: kernels.Task, walk: kernels.Walk) -> None:
        """Compiles the kernel and cuts the tree if walks are long enough for that."""
        if self.cut is None and self._useful_threads(task, walk) > 1:
            self._kernel = kernels.make_forks_in_threads(
                self._sampled._replace(batched=True), self._rule
            )
            tree = self._tree
            cut = cut_for_batches(tree.infosets, tree.num_players, tree.num_sequences)
            self.forks = self._new_forks(cut, _HEIGHT, _ROOM)
            self.cut = cut

    def pays(self, task: kernels.Task, walk: kernels.Walk) -> bool:
        """Whether threads should do what a kernel is about to be called for."""
        if (
            self.cut is None
            or len(self.cut.num_met) == 0
            or self._is_too_large
            or not is_at_root(walk)
        ):
            return False
        nodes = nodes_of_call(task, walk, self._nodes_of_batch(task, walk))
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
            assert self.forks is not None
            records = (task, arrays, tables, walk, self.cut, self.forks)
            framed = *arrays, *tables, *walk, *self.forks
            if len(framed) != len(self._framed) or not all(
                map(operator.is_, framed, self._framed)
            ):
                self._frame, self._framed = kernels.frame_of_forks(*records), framed
            status = teams.run(
                self._kernel,
                threads,
                self._frame,
                walks_of_ticket(
                    task,
                    walk,
                    self._tree.num_players,
                    kernels.NUM_SLOTS,
                    _NODES_OF_TICKET,
                ),
                self._blocks_of_ticket(task, walk),
                threads,
                notes=kernels.NUM_FORK_NOTES,
                keep=records,
            )
            if status != kernels.LOG_FULL:
                return status
            room = 2 * len(self.forks.leaf) // kernels.NUM_SLOTS
            if room > _MOST_ROOM:
                self._is_too_large = True
                return kernels.NEEDS_ONE_THREAD
            rows = len(self.forks.counts) // kernels.NUM_COUNTS
            height = 2 * len(self.forks.node) // rows
            self.forks = self._new_forks(self.cut, height, room)

    def _new_forks(self, cut: kernels.Cut, height: int, room: int) -> kernels.Forks:
        """Room for so many nodes in a stack, and so many entries in a log."""
        num_blocks, slots = len(cut.num_met), kernels.NUM_SLOTS
        rows, queue = slots + num_blocks, 0
        if self._is_large and self._sampled.player == "all":
            queue = max(_NODES_IN_QUEUE * height, 2 * kernels.LONG_QUEUE)
            queue = 1 << (queue - 1).bit_length()
        return kernels.Forks(
            node=np.zeros(rows * height, np.int32),
            sequence=np.zeros(rows * height, np.int32),
            weight=np.zeros(rows * height),
            place=np.zeros(rows * height, np.uint64),
            counts=np.zeros(rows * kernels.NUM_COUNTS, np.int64),
            queue=np.zeros(num_blocks * queue, kernels.BRANCH),
            event=np.zeros(slots * room, kernels.VISIT),
            leaf=np.zeros(slots * room, kernels.LEAF),
            fork=np.zeros(slots * room, kernels.FORK),
            order=np.zeros(slots * room, np.int32),
            part_ends=np.zeros(slots * (num_blocks + 2), np.int64),
            kept=np.zeros(self._tree.num_sequences),
        )

    def _useful_threads(self, task: kernels.Task, walk: kernels.Walk) -> int:
        is_small = self._tree.num_nodes <= SMALL_TREE
        least = LEAST_NODES_IN_SMALL if is_small else LEAST_NODES
        most = self._nodes_of_batch(task, walk) / self._tree.num_players // least
        return int(min(self.num_threads, most))

    def _nodes_of_batch(self, task: kernels.Task, walk: kernels.Walk) -> float:
        """The nodes that an iteration is likely to touch; 0 if nothing is known yet."""
        num_players = self._tree.num_players
        mean = nodes_of_walk(task, walk, num_players)
        return mean * batch_of(task, walk) * num_players

    def _blocks_of_ticket(self, task: kernels.Task, walk: kernels.Walk) -> int:
        assert self.cut is not None
        num_players = self._tree.num_players
        num_blocks = -(-len(self.cut.num_met) // num_players)
        tickets = self._nodes_of_batch(task, walk) / num_players // _NODES_OF_BLOCKS
        return -(-num_blocks // int(min(max(tickets, 8), num_blocks)))
