"""Batches of walks over compiled rules that several threads share.

Whether they are shared, and by how many threads, changes no bit. So it is decided anew
for each call of a kernel, by how long the walks have turned out to be.
"""

from typing import Any

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.arrays import INFOSET
from mccfr_spiel.compiled import teams
from mccfr_spiel.kernels import forks
from mccfr_spiel.rules import kernel, key_table, threaded_walks, walk_logs, walks
from mccfr_spiel.rules.store import RuleStore
from mccfr_spiel.solving.batch_sizes import (
    batch_of,
    is_at_root,
    nodes_of_call,
    nodes_of_walk,
    walks_of_ticket,
)
from mccfr_spiel.tree.game_tree import GameTree

LEAST_NODES = 250
"""The nodes of a player's walks for each thread from which on sharing gains something.
"""

LEAST_NODES_AT_ONCE = 5_000
"""The same for a call, for which the threads must be woken."""

_NODES_OF_TICKET = 256, 2**17
"""How many nodes the walks of a ticket should have, unless the tickets would be few,
and the most: after each segment signals are heard."""

_HEIGHT, _ROOM, _SPARE = 256, 2**10, 2.0
"""What there is room for at first: the nodes in a stack, and the entries of each kind
in a log; more if the walks of a ticket have as many nodes, times the third number."""

_SEQUENCES, _VALUES = 4, 16
"""The sequences and the numbers of keys that a log's own store has room for, for each
infoset."""

_BYTES = 300
"""What an entry of a log takes with the infoset for which it has room."""

_MOST_BYTES, _MOST_SHARE = 2**30, 4
"""What all logs take at most; and one part of so many of the memory that the tree and
its solvers may take."""


class RuleThreads:
    """Runs the batches of one solver in several threads, where they are long enough.

    Attributes:
        num_threads: at most so many.
        logs: see `walk_logs.RuleLogs`; None until they are needed.
    """

    def __init__(
        self,
        tree: GameTree,
        store: RuleStore,
        sampled: kernels.Sampled,
        rule: str,
        num_threads: int,
        *,
        tables: tuple[str, ...],
    ) -> None:
        """Makes nothing yet.

        Args:
            tree, store: where the infosets are that walks have met.
            sampled, rule: see `threaded_walks.make_rules_in_threads`.
            num_threads: at most so many.
            tables: the optional tables that the rule needs.
        """
        self._tree, self._store = tree, store
        self._sampled, self._rule, self._tables = sampled, rule, tables
        self.num_threads = min(num_threads, kernels.NUM_SLOTS)
        self.logs: walk_logs.RuleLogs | None = None
        self._kernel: Any = None
        self._height, self._room = _HEIGHT, _ROOM
        self._frames = np.zeros((0, 0), np.int64)
        self._kept: list[tuple[np.ndarray, ...]] = []
        self._is_too_large = False

    def arrays(self) -> list[np.ndarray]:
        """All arrays that were made."""
        return [array for record in self._kept for array in record]

    def get_ready(self, task: kernels.Task, walk: kernels.Walk) -> None:
        """Compiles the kernel and makes the logs if walks are long enough for that."""
        if self.logs is None and self._useful_threads(task, walk) > 1:
            self._kernel = threaded_walks.make_rules_in_threads(
                self._sampled, self._rule
            )
            nodes = nodes_of_walk(task, walk, self._tree.num_players)
            nodes *= self._walks_of_ticket(task, walk, kernels.NUM_SLOTS)
            while self._room < _SPARE * nodes and self._num_logs(2 * self._room):
                self._room *= 2
            self._make_logs()

    def run(
        self, task: kernels.Task, frame: np.ndarray, walk: kernels.Walk, keep: object
    ) -> int:
        """Runs iterations up to the job's limits, if a call pays.

        Args:
            task: what is to be done.
            frame: of the solver, see `walks.frame_of`.
            walk: the solver's.
            keep: what holds the other arrays of the frame.

        Returns:
            A status; NEEDS_ONE_THREAD if the kernel for one thread must go on. Then it
            will pause soon.
        """
        threads = self._useful_threads(task, walk)
        if self.logs is None or self._is_too_large or threads < 2:
            return kernels.NEEDS_ONE_THREAD
        while self._pays(task, walk):
            store, num_logs = self._store, len(self._frames)
            frames = threaded_walks.Frames(frame, self._frames)
            held = (keep, store.infosets, store.known, walk, self._kept, frames)
            status = teams.run(
                self._kernel,
                threads,
                threaded_walks.frame_of_logs(self.logs, frames),
                store.called,
                self._walks_of_ticket(task, walk, num_logs),
                threads,
                notes=forks.NUM_FORK_NOTES,
                keep=held,
            )
            if status == kernels.NEEDS_ONE_THREAD:
                self._pause_soon(task, walk)
                return status
            if status != kernels.LOG_FULL:
                return status
            if not self._num_logs(2 * self._room):
                self._is_too_large = True
                return kernels.NEEDS_ONE_THREAD
            self._room, self._height = 2 * self._room, 2 * self._height
            self._make_logs()
        if not is_at_root(walk):
            self._pause_soon(task, walk)
        return kernels.NEEDS_ONE_THREAD

    def _pause_soon(self, task: kernels.Task, walk: kernels.Walk) -> None:
        """Lets one thread make a walk or two before threads are asked again, or, since
        it may pause in mid-walk, finish the iteration."""
        limits, touched = task.job.view(np.int64), walk.cursor[kernels.NODES_TOUCHED]
        more = 2 * nodes_of_walk(task, walk, self._tree.num_players) + 1
        soon = int(touched) + int(more)
        limits[kernels.PAUSE_LIMIT] = min(limits[kernels.PAUSE_LIMIT], soon)
        limits[kernels.NODE_LIMIT] = min(limits[kernels.NODE_LIMIT], touched + 1)

    def _pays(self, task: kernels.Task, walk: kernels.Walk) -> bool:
        """Whether threads should do what a kernel is about to be called for."""
        if not is_at_root(walk):
            return False
        one = self._nodes_of_batch(task, walk) * self._tree.num_players
        return nodes_of_call(task, walk, one) >= LEAST_NODES_AT_ONCE

    def _nodes_of_batch(self, task: kernels.Task, walk: kernels.Walk) -> float:
        """The nodes that a player's walks in an iteration are likely to touch; 0 if
        nothing is known yet."""
        mean = nodes_of_walk(task, walk, self._tree.num_players)
        return mean * batch_of(task, walk)

    def _useful_threads(self, task: kernels.Task, walk: kernels.Walk) -> int:
        most = min(
            self._nodes_of_batch(task, walk) // LEAST_NODES, batch_of(task, walk)
        )
        return int(min(self.num_threads, most))

    def _walks_of_ticket(
        self, task: kernels.Task, walk: kernels.Walk, num_logs: int
    ) -> int:
        num_players = self._tree.num_players
        return walks_of_ticket(task, walk, num_players, num_logs, _NODES_OF_TICKET)

    # --- the logs ------------------------------------------------------------

    def _num_logs(self, room: int) -> int:
        """How many logs with room for so many entries fit; 0 if there are too few."""
        most = min(_MOST_BYTES, self._tree.budget.limit // _MOST_SHARE)
        fitting = most // (_BYTES * room)
        return min(fitting, kernels.NUM_SLOTS) if fitting >= self.num_threads else 0

    def _make_logs(self) -> None:
        num_logs, room = max(self._num_logs(self._room), self.num_threads), self._room
        entries = num_logs * room
        self.logs = None  # the old ones are not needed any more
        self._kept = []
        frames = []
        task = kernels.Task(np.zeros(0, np.uint64), np.zeros(0), np.zeros(0))
        for _ in range(num_logs):
            # The threads, of which there are no more than logs, have one of these each.
            records = self._own_records(self._height)
            path = self._store.new_path(is_counted=False)
            frames.append(
                walks.frame_of(task, *records[:3], self._store.game, records[3], path)
            )
            self._kept += [task, *records, path]
        self._frames = np.array(frames)
        logs = walk_logs.RuleLogs(
            event=np.zeros(entries, np.int32),
            leaf=np.zeros(entries, kernels.LEAF),
            end=np.zeros(entries, walk_logs.WALK_END),
            shared_infoset=np.zeros(entries, np.int32),
            shared_sequence=np.zeros(_SEQUENCES * entries, np.int32),
            counts=np.zeros(num_logs * kernels.NUM_COUNTS, np.int64),
        )
        self._kept.append(logs)
        self.logs = logs

    def _own_records(
        self, height: int
    ) -> tuple[kernels.TreeArrays, kernels.Tables, kernels.Walk, walks.Known]:
        """The store of a log, and a stack of so many nodes."""
        room, none = self._room, np.zeros(0)
        arrays = self._tree.arrays._replace(
            infosets=np.zeros(room, INFOSET), **self._store.node_arrays()
        )
        tables = kernels.empty_tables(
            room, _SEQUENCES * room, self._tree.num_players, self._tables
        )
        # What the start of a rule does not look at.
        tables = tables._replace(
            gradient=none, average=none, paid=none, is_met=np.zeros(0, np.uint8)
        )
        walk = kernels.empty_walk(height, 0, 0)
        known = walks.Known(
            actions=np.zeros(_SEQUENCES * room, np.int64),
            values=np.zeros(_VALUES * room, walks.KEY),
            rows=np.zeros(room + 1, kernel.ROW),
            table=np.zeros(2 * room, key_table.SLOT),
            counts=np.zeros(kernel.CURSOR_SIZE, np.int64),
        )
        return arrays, tables, walk, known
