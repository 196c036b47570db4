"""The driver of a cluster: it has workers make the walks of a solver's batches.

The driver holds the tables, as every worker does, and makes the same updates. So it can
be saved at any time, does the work of a worker that is lost, and tells a new one where
it stands.
"""

import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_spiel import kernels
from mccfr_spiel.algorithms import Algorithm, OwnRule
from mccfr_spiel.cluster.crews import Cluster, Crew, LostWorkerError, Parcel
from mccfr_spiel.cluster.workers import Recipe, State, Turn
from mccfr_spiel.compiled.interruptions import signals_deferred
from mccfr_spiel.solving import files
from mccfr_spiel.solving.sharing import batch_of, nodes_of_walk

is_at_root = None
from mccfr_spiel.solving.splitting import Place, Records, Segment, WalkLog
from mccfr_spiel.solving.state import SolverState, sampled_by
from mccfr_spiel.storage.checkpoint import Contents
from mccfr_spiel.tree.game_tree import GameTree
from mccfr_spiel.tree.loading import load_game

LEAST_NODES = 200_000
"""The nodes of a player's batch from which on workers make its walks; the driver makes
shorter ones alone, which takes less time than asking."""

_NODES_OF_TICKET = 2**16
"""The most nodes that a ticket should have: longer batches go in several segments."""

_ATTEMPTS = 3
"""How often in a row a worker may be lost before it is given up."""

_A_MOMENT = 0.02
"""Seconds between two looks at whether the workers are there."""

_OF_TREE = "text", "ends", "infosets", "actions"
"""The arrays of a checkpoint that are not tables."""


def check_can_split(tree: GameTree, algorithm: Algorithm) -> None:
    """Raises ValueError, in words, unless a cluster can split the batches of an
    algorithm on a tree."""
    if not algorithm.sampling.is_sampled:
        raise ValueError(
            f"A cluster splits batches of walks, and {algorithm} samples nothing. Use "
            "threads=..., or an algorithm that samples, with a batch."
        )
    if algorithm.batch == 1:
        raise ValueError(
            f"A cluster splits batches of walks, and {algorithm} makes one walk at a "
            "time. Give it a batch, such as algorithm._replace(batch=512)."
        )
    if not sampled_by(algorithm).can_be_shared:
        raise ValueError(
            f"In batches of {algorithm.sampling} each walk reads what the one before "
            "has written, so a cluster cannot split them. Use external or outcome "
            "sampling without a baseline."
        )
    if tree.abstraction is not None:
        raise ValueError(
            "With an abstraction, infosets share policies, which a cluster cannot "
            "split; drop cluster or the abstraction."
        )
    if not getattr(algorithm.minimizer, "compiled", True):
        raise ValueError(
            f"A cluster runs compiled rules, and {algorithm.minimizer} is plain Python."
        )
    try:
        load_game(str(tree.source))
    except ValueError as error:
        raise ValueError(
            "Each worker of a cluster makes the game from its string, which for "
            f"{tree.source} is not enough. {error}"
        ) from error


class Traffic(NamedTuple):
    """What was exchanged so far.

    Attributes:
        segments: how often.
        log_bytes: of all logs, each counted once: every process gets all of them but
            its own.
        table_bytes: of the tables that workers got when they joined.
    """

    segments: int = 0
    log_bytes: int = 0
    table_bytes: int = 0


class _Asked(NamedTuple):
    """A turn that a worker is making."""

    nth: int
    first: int
    end: int
    parcel: Parcel


class _Last(NamedTuple):
    """The last segment, and the logs of all its tickets."""

    segment: Segment
    parcels: Sequence[Parcel]


class ClusterBatches:
    """Runs the batches of one solver on a cluster.

    Attributes:
        crew: the workers.
        traffic: what was exchanged.
    """

    def __init__(
        self,
        cluster: Cluster,
        tree: GameTree,
        algorithm: Algorithm,
        seed: int,
        state: SolverState,
    ) -> None:
        """Connects to the cluster; workers are begun with the first long batch.

        Args:
            cluster: where they are.
            tree: the game's, complete.
            algorithm, seed: what is run.
            state: of the solver, made with `splits`.

        Raises:
            ValueError: the cluster cannot be had.
        """
        self._cluster, self._tree, self._state = cluster, tree, state
        self._algorithm, self._seed = algorithm, seed
        self._least_nodes = LEAST_NODES
        self.crew: Crew = cluster.connect()
        self.traffic = Traffic()
        self._begun = False
        self._away: set[int] = set()  # begun, but not told of the tables yet
        self._present: set[int] = set()
        self._losses = [0] * self.crew.num_workers  # in a row
        self._last: _Last | None = None
        self._most_walks = 2**62
        self._is_too_large = False

    def pays(self) -> bool:
        """Whether workers should make the walks of the next batch."""
        task, _, _, walk = self._state.records()
        if self._is_too_large or not is_at_root(walk):
            return False
        nodes = nodes_of_walk(task, walk, self._tree.num_players)
        return nodes > 0 and nodes * batch_of(task, walk) >= self._least_nodes

    def get_ready(self) -> None:
        """Compiles, begins the workers and waits for them for a while, once batches are
        long enough."""
        if not self._begun and self.pays():
            splitting = self._state.splitting
            assert splitting is not None
            splitting.get_ready()
            self._begin_all()

    def run(self) -> int:
        """Runs iterations up to the job's limits.

        Returns:
            DONE, PAUSED, or NEEDS_ONE_THREAD if this process must go on alone.
        """
        splitting = self._state.splitting
        assert splitting is not None
        self.get_ready()
        records = self._state.records()
        began = Place.of(records.walk)
        segment = self._next(records, began, began)
        asked: list[_Asked] | None = None
        # One pass gets the logs of a segment and adds them up. Before the driver adds,
        # it asks for the next segment, so that workers and driver add at once. A Ctrl-C
        # between any two lines leaves the state as it was before the segment or as it
        # is behind it; workers that are elsewhere then say so.
        while isinstance(segment, Segment):
            if asked is None:
                asked = self._ask(segment, joins=True)
            logs, parcels = self._gather(records, segment, asked)
            status = max(log.status for log in logs)
            if status == kernels.LOG_FULL and segment.walks > 1:
                self._most_walks = segment.walks // 2
                segment, asked = self._next(records, segment.place, began), None
                continue
            if status != kernels.DONE:
                self._is_too_large = status == kernels.LOG_FULL
                return kernels.NEEDS_ONE_THREAD
            touched = sum(log.nodes_touched for log in logs)
            self._note(logs)
            self._last = _Last(segment, parcels)
            after = segment.place_after(
                touched, self._batch(segment.iteration), self._tree.num_players
            )
            following = self._next(records, after, began)
            asked = None
            if isinstance(following, Segment) and not self._look_for_workers():
                asked = self._ask(following, joins=False)
            splitting.add(records, segment, logs)
            segment = following
        return segment

    # --- segments ------------------------------------------------------------

    def _batch(self, iteration: int) -> int:
        return kernels.plain_batch_at(self._state.batch, iteration)

    def _next(self, records: Records, place: Place, began: Place) -> Segment | int:
        """The segment at a place, or the status with which the run ends there.

        Args:
            records: of the state, which is there or a segment before.
            place: where the next segment begins.
            began: where the call began.
        """
        limits = records.task.job.view(np.int64)
        iteration = place.iteration
        if not place.is_begun:
            is_end = iteration == limits[kernels.LAST_ITERATION]
            if is_end or place.nodes_touched >= limits[kernels.NODE_LIMIT]:
                return kernels.DONE
            iteration += 1
        elif place != began and place.nodes_touched >= limits[kernels.PAUSE_LIMIT]:
            return kernels.PAUSED
        mean = nodes_of_walk(records.task, records.walk, self._tree.num_players)
        left = self._batch(iteration) - place.nth
        most = min(int(_NODES_OF_TICKET / max(mean, 1.0)), self._most_walks)
        walks = min(-(-left // kernels.NUM_SLOTS), max(most, 1))
        end = place.nth + min(left, walks * kernels.NUM_SLOTS)
        return Segment(place, iteration, place.player, place.nth, end, walks)

    @signals_deferred()
    def _ask(self, segment: Segment, *, joins: bool) -> list[_Asked]:
        """Asks the workers for the walks of a segment; does not wait.

        Args:
            segment: the next one.
            joins: whether the state is at its place, so that new workers can be told.
        """
        joining: set[int] = set()
        if joins and self._look_for_workers():
            joining = {nth for nth in sorted(self._away) if self._is_ready(nth)}
        self._present |= joining
        self._away -= joining
        tables = self._state.saved() if joining else {}
        parcel = self.crew.parcel(tables) if joining else None
        members, count = sorted(self._present), segment.num_tickets
        asked = []
        for k, nth in enumerate(members):
            first, end = (count * at // len(members) for at in (k, k + 1))
            is_new = nth in joining
            last, logs = (None, ()) if is_new or not self._last else self._last
            turn = Turn(last, segment, first, end)
            answer = self.crew.turn(nth, turn, parcel if is_new else None, logs)
            asked.append(_Asked(nth, first, end, answer))
        self._note_tables(len(joining), tables)
        return asked

    def _gather(
        self, records: Records, segment: Segment, asked: list[_Asked]
    ) -> tuple[list[WalkLog], list[Parcel]]:
        """The logs of all tickets of a segment, at whose place the state is, in order.

        What a worker does not answer, the driver walks itself.
        """
        splitting = self._state.splitting
        assert splitting is not None
        logs, parcels = [], []
        for nth, first, end, parcel in asked or [
            _Asked(-1, 0, segment.num_tickets, None)
        ]:
            log = self._answer(nth, parcel) if nth >= 0 else None
            if log is None:
                log = splitting.walk(records, segment, first, end)
                parcel = self.crew.parcel(log)
            logs.append(log)
            parcels.append(parcel)
        return logs, parcels

    def _note(self, logs: list[WalkLog]) -> None:
        sent = sum(log.nbytes for log in logs)
        segments, log_bytes, table_bytes = self.traffic
        self.traffic = Traffic(segments + 1, log_bytes + sent, table_bytes)

    def _note_tables(self, times: int, tables: State) -> None:
        sent = times * sum(array.nbytes for array in tables.values())
        old = self.traffic
        self.traffic = old._replace(table_bytes=old.table_bytes + sent)

    # --- workers ---------------------------------------------------------------

    def _begin_all(self) -> None:
        """Begins all workers, and waits for them for a while."""
        recipe = self._recipe()
        for nth in range(self.crew.num_workers):
            self.crew.begin(nth, recipe)
            self._away.add(nth)
        self._begun = True
        last = time.monotonic() + self._cluster.patience
        while time.monotonic() < last and not all(map(self._is_ready, {*self._away})):
            time.sleep(_A_MOMENT)

    def _recipe(self) -> Recipe:
        tree, minimizer = self._tree, self._algorithm.minimizer
        header, arrays = files.contents_of(
            tree, self._algorithm, self._seed, 0.0, self._state
        )
        of_tree = {name: arrays[name] for name in _OF_TREE if name in arrays}
        return Recipe(
            Contents(header, of_tree),
            tree.num_nodes,
            minimizer if isinstance(minimizer, OwnRule) else None,
            self._cluster.threads,
            self._cluster.prepare,
            tree.twin,
        )

    def _look_for_workers(self) -> bool:
        """Whether a worker is ready that is not told of the tables yet."""
        return any(self._is_ready(nth) for nth in sorted(self._away))

    def _is_ready(self, nth: int) -> bool:
        """Whether a worker is ready; one that was lost on the way is begun again.

        Raises:
            ValueError: it cannot be made.
        """
        try:
            return self.crew.is_ready(nth)
        except LostWorkerError as error:
            self._replace_worker(nth, error)
            return False
        except Exception as error:
            self._begun = False  # all are begun anew if the solver is called again
            self._away.clear()
            self._present.clear()
            raise ValueError(
                f"A worker of the cluster cannot be made. {type(error).__name__}: "
                f"{error}"
            ) from error

    def _answer(self, nth: int, parcel: Parcel) -> WalkLog | None:
        """The log that a worker was asked for; None if it is lost or elsewhere."""
        try:
            log = self.crew.opened(parcel)
        except LostWorkerError as error:
            self._replace_worker(nth, error)
            return None
        self._losses[nth] = 0
        if log is None:  # after a Ctrl-C, or since this process has gone on alone
            self._away.add(nth)  # first: Ctrl-C may come in between
            self._present.discard(nth)
        return log

    @signals_deferred()
    def _replace_worker(self, nth: int, error: Exception) -> None:
        """Begins a worker that is lost again, unless it was lost too often."""
        self._present.discard(nth)
        self._away.discard(nth)
        self._losses[nth] += 1
        if self._losses[nth] <= _ATTEMPTS:
            self.crew.begin(nth, self._recipe())
            self._away.add(nth)
        else:
            warnings.warn(
                f"Worker {nth} of the cluster was lost {self._losses[nth]} times in a "
                f"row and is given up; the others do its work. {error}",
                RuntimeWarning,
                stacklevel=2,
            )
