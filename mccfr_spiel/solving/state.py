"""The learned state of a solver: its tables and the progress of the current walk.

Tables have one row per infoset or per sequence, so they grow with the tree. Kernels
receive all arrays in a single array, the frame (see kernels/frame.py). All methods run
under the tree's lock.
"""

import functools
import hashlib
import operator
from typing import Any

import numpy as np

from mccfr_spiel.algorithms import (
    AUTO,
    Algorithm,
    EntropyMinimizer,
    OwnAveraging,
    OwnEstimator,
    OwnRule,
)
from mccfr_spiel.arenas.arena import Arena, Engine, WalkSpec
from mccfr_spiel.arenas.full_pass import FullPass
from mccfr_spiel.arenas.infosets.lock import reads, steps
from mccfr_spiel.arenas.needs import sampled_by
from mccfr_spiel.arenas.tree_pass import PrunedEngine
from mccfr_spiel.common.arrays import reserve, sequences_at
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.memory import num_cores
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.batches import GROWING
from mccfr_spiel.kernels.entropy_rules import dilate
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.lazy_average import normalize
from mccfr_spiel.kernels.minimizers import make_start_tables
from mccfr_spiel.kernels.own_rules import FAULT
from mccfr_spiel.kernels.sampling import count_sequences
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.solving.average_vectors import average_of
from mccfr_spiel.solving.estimating import EstimatorEngine
from mccfr_spiel.solving.kernel_task import kernel_name, optional_tables, task_of
from mccfr_spiel.solving.locking import Locks, with_locks
from mccfr_spiel.solving.restored_tables import (
    check_cursor,
    check_payments,
    check_policy,
    copy_table,
)
from mccfr_spiel.solving.table_memory import take_tables

_OPTIONAL_BYTES = 9
"""Bytes per row of an optional table of `layout.Tables`: 8 for a number, and 1/8 of it
for the free rows of a table that has grown."""

Records = tuple[layout.Task, layout.TreeArrays, layout.Tables, layout.Walk]

HEIGHT = 256
"""The initial capacity of a walk's stack."""

MOST_NOTES = 2**24
"""The largest number of notes (24 bytes each) in a batch, see kernels/baselines.py."""

_LARGEST_SUM = 1e300
"""The largest absolute entry of a table whose sum over a tree still fits a double."""


class SolverState:
    """The learned tables of a solver and the progress of its walk.

    Args:
        arena: the arena in which the algorithm runs.
        algorithm: the algorithm.
        seed: any integer.
        threads: the largest number of threads; None for one per core.
        splits: whether processes of a cluster share the batches.
        locked: see `Solver`.

    Raises:
        MemoryBudgetError: the tables do not fit the arena's budget.
        ValueError: the algorithm's weights overflow on this game.

    Attributes:
        arena, algorithm, seed: as given.
        tree: the arena's information sets.
        sampled: how walks sample, see `kernels.switches.Sampled`.
        rule: the name by which kernels identify the update rule.
        lock: the lock of the arena.
        tables, walk: see `layout.Tables` and `layout.Walk`. Other code may write to
            these arrays, but only this object replaces them, by larger ones.
        engine: runs the iterations.
        full_pass: computes gradients of the whole game; None for algorithms that walk.
        gradients: PlayedGradients of `Solver.track_cce`, or None.
        batch: walks per player and iteration; `GROWING` for a number that grows with
            the iterations.
        walks: whether the algorithm walks through the tree; otherwise it passes over
            the whole game.
        task: the numbers of the algorithm, for kernels.
        counts: a `memoryview` of `walk.cursor`, faster to read than the array:
            iteration, next player and touched nodes. It changes only when an update is
            complete. The array is never replaced.
        marks: a `memoryview` of `walk.marks`, the progress of the walks for the next
            update.
        job: a `memoryview` of `task.job`, the limits of the next call of a kernel and
            other integers, see `layout.JOB_SIZE`.
    """

    def __init__(
        self,
        arena: Arena,
        algorithm: Algorithm,
        seed: int,
        threads: int | None = 1,
        *,
        splits: bool = False,
        locked: Locks | None = None,
    ) -> None:
        """Makes tables for the infosets of the arena; policies are uniform."""
        self.arena, self.tree = arena, arena.table
        self.algorithm, self.seed = algorithm, seed
        self.lock = self.tree.lock
        sampling, minimizer = algorithm.sampling, algorithm.minimizer
        self._forgets = self.tree.abstraction is not None
        self.sampled = sampled_by(algorithm)._replace(forgets=self._forgets)
        self.rule = kernel_name(minimizer)
        self.batch = GROWING if algorithm.batch == AUTO else int(algorithm.batch)
        self.task = task_of(algorithm, seed, self.batch, self.tree.num_players)
        self.job = self.task.job.data
        self._frame = np.zeros(0, np.int64)
        self._framed: tuple[Any, ...] = ()  # the arrays in the frame
        self.walks = sampling.is_sampled or sampling.prune is True or self._forgets
        self._optional_tables = optional_tables(algorithm, walks=self.walks)
        self.full_pass: FullPass | None = None
        self.gradients: Any = None
        self.engine = self._new_engine(threads, splits=splits)
        needed = ("note",) if sampling.baseline else ()
        if self._forgets:
            needed += "visit", "gain"
        height = max(HEIGHT, self.engine.stack_height)
        self.walk = layout.empty_walk(height, HEIGHT, needed)
        self.counts, self.marks = self.walk.cursor.data, self.walk.marks.data
        self.tables = self._new_tables()
        self._note_room()
        self._start_tables = make_start_tables(self.rule)
        self._start_tables(
            self.task, self.tree.arrays.infosets, self.tables, self.walk.known
        )
        if locked:
            self.tables = with_locks(self.tree, self.tables, locked)
        if self.full_pass is not None:
            self.tables.plan[:] = self.full_pass.plan(self.tables.policy)

    def _new_engine(self, threads: int | None, *, splits: bool) -> Engine:
        """Makes the engine, which runs the iterations of the algorithm in the arena.

        Args:
            threads: the largest number of threads; None for one per core.
            splits: whether processes of a cluster share the batches.
        """
        algorithm, sampling = self.algorithm, self.algorithm.sampling
        # Threads share work by blocks of infosets that are subtrees. Under an
        # abstraction, infosets do not form a tree. Rules in plain Python run in a
        # single thread.
        shares = not self._forgets and getattr(algorithm.minimizer, "compiled", True)
        if self.walks:
            spec = WalkSpec(
                sampled=self.sampled,
                rule=self.rule,
                epsilon=sampling.epsilon,
                threads=num_cores() if threads is None else threads,
                shares=shares and self.sampled.can_be_shared,
                is_sampled=sampling.is_sampled,
                is_batched=algorithm.batch != 1,
                splits=splits,
                initial_regret=getattr(algorithm.minimizer, "initial_regret", 0.0),
            )
            return self.arena.walks(spec)
        updated = 1 if algorithm.alternating else self.tree.num_players
        threads = threads if shares and not sampling.prunes_by_regret else 1
        self.full_pass = passes = self.arena.passes(threads, updated=updated)
        if isinstance(sampling, OwnEstimator):
            return EstimatorEngine(passes, self.rule, sampling)
        if sampling.prunes_by_regret:
            return PrunedEngine(passes)
        return passes.engine(self.rule)

    @property
    def num_iterations(self) -> int:
        """The number of finished iterations."""
        return self.counts[layout.ITERATION] - (self.counts[layout.PLAYER] > 0)

    def next_players(self) -> range:
        """The players of the next update; empty if the limits in `job` are reached."""
        counts, job = self.counts, self.job
        player = counts[layout.PLAYER]
        is_last = counts[layout.ITERATION] == job[layout.LAST_ITERATION]
        is_end = is_last or counts[layout.NODES_TOUCHED] >= job[layout.NODE_LIMIT]
        if player == 0 and is_end:
            return range(0)
        stop = player + 1 if job[layout.ALTERNATING] else self.tree.num_players
        return range(player, stop)

    def records(self) -> Records:
        """The records that kernels read, with the present arrays."""
        self.frame()
        return self.task, self.engine.tree_arrays(), self.tables, self.walk

    # --- making tables -------------------------------------------------------

    @reads
    def _new_tables(self) -> layout.Tables:
        """Allocates the tables after their bytes have been taken from the budget.

        Raises:
            MemoryBudgetError: the tables do not fit the budget.
            ValueError: the weights of an entropy overflow on this game.
        """
        tree, minimizer = self.tree, self.algorithm.minimizer
        rates = self._bytes_per_row()
        take_tables(tree.budget, self, *rates, self.arena.room)
        sizes = dict(zip("ISP", (*self.arena.room(), tree.num_players), strict=True))
        tables = new_record(layout.Tables, self._optional_tables, **sizes)
        tables.policy[: tree.num_players] = 1
        if isinstance(minimizer, EntropyMinimizer) and minimizer.weights == "kroer":
            below = np.zeros(tree.num_sequences)
            dilate(tree.infosets, below, tables.weight)
            if not np.isfinite(tables.weight).all():
                raise ValueError(
                    'weights="kroer" double with each decision of a player, and '
                    f"overflow in the long histories of {brief(tree.source)}. Use "
                    'weights="constant".'
                )
        if self.algorithm.sampling.player == "balanced":
            tables.balance[:] = 1
            count_sequences(tree.infosets, tables.balance)
            normalize(tree.infosets, tables.balance)
        return tables

    def _bytes_per_row(self) -> tuple[int, int]:
        """Bytes of the tables and the engine: (per infoset, per sequence)."""
        per_infoset, per_sequence = layout.BYTES_OF_TABLES
        for name in self._optional_tables:
            if name in layout.PER_INFOSET:
                per_infoset += _OPTIONAL_BYTES
            else:
                # The bytes of `plan` are included in the bytes of the full pass.
                columns = {"baseline": self.tree.num_players, "plan": 0}.get(name, 1)
                per_sequence += _OPTIONAL_BYTES * columns
        engine_bytes = self.engine.bytes_per_row
        return per_infoset + engine_bytes[0], per_sequence + engine_bytes[1]

    def locked_sequences(self) -> np.ndarray:
        """Returns the numbers of all sequences at infosets with a fixed policy."""
        return sequences_at(self.tree.infosets[np.flatnonzero(self.tables.locked)])

    @reads
    def start_infosets(self) -> None:
        """Initializes the rows of infosets that were added to the tree since the last
        call."""
        self.arena.update()
        self._fit_tables()
        tree, tables = self.tree.arrays, self.tables
        self._start_tables(self.task, tree.infosets, tables, self.walk.known)

    # --- errors --------------------------------------------------------------

    def check_own_rule(self) -> None:
        """Raises ValueError if the user's own rule has failed, now or earlier."""
        rule = self.algorithm.minimizer
        if not isinstance(rule, OwnRule) or not (
            fault := int(self.tables.memory[FAULT])
        ):
            return
        did = "was stopped by an exception"
        if fault > 0:
            self.arena.update()
            infoset = self.tree.infosets[fault - 1]
            start, count = int(infoset["first_sequence"]), int(infoset["num_actions"])
            row = self.tables.memory[start : start + count].tolist()
            did = (
                f"left the policy {row} at the information state "
                f"{self.tree.info_state(fault - 1)!r}, or returned a number that is "
                "not finite; expected nonnegative probabilities with sum 1"
            )
        raise ValueError(
            f"{rule.name} {did}. The solver is in the middle of that update and cannot "
            "continue. Make a new solver, or load a checkpoint."
        )

    def settled(self) -> layout.Tables:
        """Returns the tables, with initialized rows for all infosets of the tree.

        Raises:
            ValueError: sums overflow, or the user's own rule has failed. Sums overflow
                only in outcome sampling, whose weights are unbounded, with payoffs
                or step sizes beyond 1e18.
        """
        self.start_infosets()
        self.check_own_rule()
        for table in (self.tables.memory, self.tables.average):
            used = table[: self.tree.num_sequences]
            if (
                len(used)
                and not -_LARGEST_SUM < used.min() <= used.max() < _LARGEST_SUM
            ):
                raise ValueError(
                    f"The sums of the solver for {brief(self.tree.source)} no longer "
                    "fit a floating-point number, so there is no policy. Return to an "
                    "earlier checkpoint, and scale the payoffs, use a smaller step "
                    "size, or sample less."
                )
        return self.tables

    def weigh_ahead(self, done: int, last: int) -> int:
        """Writes weights of the average from the user's function into the settings.

        Does nothing if a formula of the package weights the iterations.

        Args:
            done: the number of finished iterations.
            last: the last iteration that the caller wants to run.

        Returns:
            The last iteration, at most `last`, whose weight is available.
        """
        averaging, settings = self.algorithm.averaging, self.task.settings
        if not isinstance(averaging, OwnAveraging):
            return last
        first, ahead = int(settings[layout.WEIGHTS_FROM]), layout.WEIGHTS_AHEAD
        if not 1 <= first <= done + 1 < first + ahead // 2:
            first = done + 1
            settings[layout.NUM_SETTINGS :] = averaging.weights(first, ahead)
            settings[layout.WEIGHTS_FROM] = first
        return min(last, first + ahead - 1)

    # --- policies -------------------------------------------------------------

    def policy_vector(self, *, is_current: bool = False) -> np.ndarray:
        """`[S]` the average policy, or the current one."""
        num_sequences, tables = self.tree.num_sequences, self.settled()
        if is_current:
            return tables.policy[:num_sequences].copy()
        return average_of(self, tables)

    def policy(self, *, is_current: bool = False) -> SequencePolicy:
        """A copy of the average policy, or of the current one."""
        return SequencePolicy(self.tree, self.policy_vector(is_current=is_current))

    def regret_vector(self) -> np.ndarray:
        """`[S]` the cumulative regrets."""
        regrets = self.settled().memory[: self.tree.num_sequences].copy()
        regrets[: self.tree.num_players] = 0
        return regrets

    def returns(self, *, is_current: bool = False) -> None:
        """None: metrics evaluate the policy as a vector instead."""

    # --- growing -------------------------------------------------------------

    def _fit_tables(self) -> None:
        """Enlarges the tables if the arena needs more rows."""
        num_infosets, num_sequences = self.arena.room()
        if num_infosets > self._room[0] or num_sequences > self._room[1]:
            self._enlarge_tables(num_infosets, num_sequences)

    @steps
    def _enlarge_tables(self, num_infosets: int, num_sequences: int) -> None:
        # The arrays in the frame are kept alive by `_framed`. Emptying it releases each
        # old table as soon as the larger copy exists.
        self._framed = ()
        rows = tuple(zip((num_infosets, num_sequences), self.tree.sizes(), strict=True))
        # Tables are enlarged one at a time, because the old and the new copy exist at
        # the same time. The new capacity is recorded at the end: if Ctrl-C interrupts
        # the loop, the next call enlarges the remaining tables.
        for name in self.tables._fields:
            if name not in layout.OPTIONAL or name in self._optional_tables:
                is_per_infoset = name in layout.PER_INFOSET
                size, used = rows[0 if is_per_infoset else 1]
                larger = reserve(getattr(self.tables, name), size, used)
                self.tables = self.tables._replace(**{name: larger})
        met, settled = self.walk.met, self.walk.settled
        self.walk = self.walk._replace(
            met=reserve(met, num_infosets), settled=reserve(settled, num_infosets)
        )
        self._note_room()

    def _note_room(self) -> None:
        num_infosets = min(len(self.tables.paid), len(self.walk.met))
        self._room = num_infosets, len(self.tables.policy)

    @steps
    def raise_stack(self) -> None:
        """More than doubles the capacity of the walk's stack, notes and visits.

        Raises:
            MemoryBudgetError: the visits and their gains do not fit the budget.
            ValueError: the batch has too many decisions for a baseline.
        """
        walk = self.walk
        size = 2 * (
            walk.visit.nbytes + walk.gain.nbytes
        )  # these two arrays hold all decisions of a batch, so they can become large
        self.tree.budget.require(size, "The decisions of walks before an update take")
        names = ("node", "sequence", "weight", "place", "debt", "note", "visit", "gain")
        for name in names:
            old = getattr(walk, name)
            if len(old):
                height = 2 * len(old) + 2**16
                walk = walk._replace(**{name: reserve(old, height)})
        if self.batch != 1 and len(walk.note) > MOST_NOTES:
            raise ValueError(
                f"A batch of walks on {brief(self.tree.source)} makes more than "
                f"{MOST_NOTES:,} decisions, the limit with a baseline. Use smaller "
                "batches, or no baseline."
            )
        self.walk = walk

    def frame(self) -> np.ndarray:
        """The frame for the next call of a kernel: addresses and shapes of all arrays.

        Another thread may have expanded the tree since the last call, so tables are
        enlarged first. If no array was replaced, the previous frame is returned.
        """
        self.arena.update()
        self._fit_tables()
        engine, job, tables, walk = self.engine, self.job, self.tables, self.walk
        job[layout.NUM_NODES] = engine.num_nodes
        job[layout.NUM_INFOSETS] = self.tree.num_infosets
        held = *engine.held(), tables, walk
        if not self._framed or not all(map(operator.is_, held, self._framed)):
            self._frame = engine.frame_of(self.task, tables, walk)
            self._framed = held  # assigned last, in case Ctrl-C interrupts
        return self._frame

    # --- saving --------------------------------------------------------------

    def saved(self) -> dict[str, np.ndarray]:
        """The arrays of a checkpoint, without unused rows at the end of tables.

        Results of an unfinished walk are left out: the gradient is not saved.
        """
        num_infosets, num_sequences = self.tree.sizes()
        used = {"cursor": self.walk.cursor, "clock": self.walk.clock}
        for name, table in self.tables._asdict().items():
            is_kept = name == "is_met" and self.algorithm.sampling.prunes_by_regret
            if name in layout.SCRATCH and not is_kept:
                continue
            if name in ("plan", "locked") and not len(table):
                continue
            is_per_infoset = name in layout.PER_INFOSET
            used[name] = table[: num_infosets if is_per_infoset else num_sequences]
        return used

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Copies the arrays of a checkpoint into the tables.

        The tree must have the same infosets as the saved solver's.

        Args:
            arrays: the result of `saved`, or the arrays of an untrusted file.

        Raises:
            DamagedError: the arrays are not those of a solver on this tree.
            KeyError: an array is missing.
        """
        if "locked" in arrays:
            is_locked = np.zeros(self.tree.num_infosets, np.uint8)
            self.tables = self.tables._replace(locked=is_locked)
        for name, table in self.saved().items():
            copy_table(name, arrays[name], table)
        check_policy(self.tables.policy)
        if self.walks and not self._forgets:
            check_payments(self.tree.infosets, self.tables)
        alternating = self.algorithm.alternating
        check_cursor(self.walk.cursor, self.tree.num_players if alternating else 1)
        self.walk.marks[layout.WALKER] = self.walk.cursor[layout.PLAYER]

    @functools.cached_property
    def leaves_digest(self) -> str | None:
        """A hash of the arrays of `full_pass`, which determine all payoffs.

        None if the algorithm walks, because there are no such arrays then.
        """
        if self.full_pass is None:
            return None
        digest = hashlib.blake2b(digest_size=16)
        for array in self.full_pass.lists:
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()
