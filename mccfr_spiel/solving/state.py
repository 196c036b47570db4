"""The state of a solver: its tables, where its walk is, and the frame of both.

Tables have a row for each infoset or sequence that the tree has met, so they grow with
the tree. Everything here runs under the tree's lock.
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
    Minimizer,
    OwnAveraging,
    OwnEstimator,
    OwnRule,
)
from mccfr_spiel.arenas.arena import Arena, Engine, WalkSpec
from mccfr_spiel.arenas.full_pass import FullPass, PrunedEngine
from mccfr_spiel.arenas.infosets.lock import reads, steps
from mccfr_spiel.arenas.needs import sampled_by
from mccfr_spiel.common.arrays import reserve, sequences_at
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.display import brief
from mccfr_spiel.common.limits import num_cores
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.apply import GROWING, normalize
from mccfr_spiel.kernels.entropy_rules import dilate
from mccfr_spiel.kernels.frame import new_record
from mccfr_spiel.kernels.minimizers import FAULT, make_start_tables, name_of_own
from mccfr_spiel.kernels.sampling import count_sequences
from mccfr_spiel.solving.estimating import EstimatorEngine
from mccfr_spiel.solving.locking import Locks, with_locks

_OPTIONAL_BYTES = 9
"""What an optional table of `layout.Tables` takes for each of its rows."""

Records = tuple[layout.Task, layout.TreeArrays, layout.Tables, layout.Walk]

HEIGHT = 256
"""The height of a new walk's stack."""

MOST_NOTES = 2**24
"""The most notes for baselines that the walks of a batch may take, of 24 bytes each."""


_LARGEST_SUM = 1e300
"""The largest sum that a table may hold; what a whole tree adds up still fits a double.
"""


def _task_of(algorithm: Algorithm, seed: int, batch: int) -> layout.Task:
    """What kernels are told of an algorithm."""
    sampling, averaging = algorithm.sampling, algorithm.averaging
    is_own = isinstance(averaging, OwnAveraging)
    settings = np.zeros(layout.NUM_SETTINGS + layout.WEIGHTS_AHEAD * is_own)
    settings[layout.EPSILON] = sampling.epsilon
    settings[layout.THRESHOLD] = sampling.threshold
    settings[layout.BONUS] = sampling.bonus
    settings[layout.PRUNE_BELOW] = sampling.prune_below or 0.0
    settings[layout.BASELINE_RATE] = sampling.baseline_rate
    settings[layout.GAMMA] = averaging.gamma
    settings[layout.GAMMA_CHANGE] = averaging.change
    settings[layout.HORIZON] = averaging.horizon
    job = np.zeros(layout.JOB_SIZE, np.uint64)
    job[layout.SEED] = seed % 2**64
    job[layout.ALTERNATING] = algorithm.alternating
    job[layout.BATCH] = batch
    return layout.Task(
        job=job,
        settings=settings,
        parameters=np.array(algorithm.minimizer.parameters, np.float64),
    )


def kernel_name(minimizer: Minimizer) -> str:
    """The name by which kernels know a rule."""
    if isinstance(minimizer, OwnRule):
        return name_of_own(minimizer.update, minimizer.compiled)
    return minimizer.rule


def _optional_tables(algorithm: Algorithm, *, walks: bool) -> tuple[str, ...]:
    """The names of the optional tables that an algorithm keeps."""
    names, sampling = algorithm.minimizer.tables, algorithm.sampling
    if not walks:
        names += ("plan",)
    if sampling.player == "balanced":
        names += ("balance",)
    if sampling.baseline:
        names += ("baseline",)
    if sampling.prunes_by_regret:
        names += "seen", "known", "best", "below", "got", "skips"
    return names


_NOT_NEGATIVE = "policy", "average", "paid", "plan", "balance"
"""Tables without negative numbers. Regrets and predictions may be negative."""

_ROUNDING = 1e-6
"""How far a probability may exceed 1."""

MOST_COUNTED = 2**50
"""The largest plausible count of iterations or nodes in a file: years of work."""


class SolverState:
    """What a solver has learned, and where it is.

    Args:
        arena: in which the algorithm runs.
        algorithm: what is run.
        seed: any integer.
        threads: the most threads to use; None for one for each core.
        splits: whether processes of a cluster share its batches.
        locked: see `Solver`.

    Raises:
        MemoryBudgetError: they do not fit the arena's budget.
        ValueError: the algorithm's weights overflow on this game.

    Attributes:
        arena, algorithm, seed: as given.
        tree: the arena's information sets.
        sampled, rule: what walks sample, and the rule, as kernels read them.
        lock: the arena's.
        tables, walk: see `layout.Tables` and `layout.Walk`. Others may write into
            these arrays, but only the state itself replaces them, by larger ones.
        engine: runs the iterations.
        full_pass: passes over all of the game; None for algorithms that walk.
        batch: the walks for each player in an iteration, or `GROWING`.
        walks: whether the algorithm walks, and makes no full passes.
        task: what kernels read of the algorithm.
        counts: the walk's cursor, which is never replaced, as a `memoryview`: that is
            quicker to read. Only whole updates move it on.
        marks: a `memoryview` of the walk's marks, which say how far the next update is.
        job: what kernels are to do (see `layout.JOB_SIZE`), as a `memoryview`.
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
        self.task = _task_of(algorithm, seed, self.batch)
        self.job = self.task.job.data
        self._frame = np.zeros(0, np.int64)
        self._framed: tuple[Any, ...] = ()  # the arrays in the frame
        self.walks = sampling.is_sampled or sampling.prune is True or self._forgets
        self._optional_tables = _optional_tables(algorithm, walks=self.walks)
        self.full_pass: FullPass | None = None
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
        """What runs the iterations of the algorithm in the arena.

        Args:
            threads: the most threads to use; None for one for each core.
            splits: whether processes of a cluster share the batches.
        """
        algorithm, sampling = self.algorithm, self.algorithm.sampling
        # Infosets under an abstraction have no subtrees to cut into blocks, and a rule
        # in plain Python runs in one thread at a time.
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

    def next_players(self) -> range:
        """Who is updated next; nobody if the job's limits allow no update."""
        counts, job = self.counts, self.job
        player = counts[layout.PLAYER]
        is_last = counts[layout.ITERATION] == job[layout.LAST_ITERATION]
        is_end = is_last or counts[layout.NODES_TOUCHED] >= job[layout.NODE_LIMIT]
        if player == 0 and is_end:
            return range(0)
        most = player + 1 if job[layout.ALTERNATING] else self.tree.num_players
        return range(player, most)

    def records(self) -> Records:
        """What kernels read and change, with all arrays as they are now."""
        self.frame()
        return self.task, self.engine.tree_arrays(), self.tables, self.walk

    # --- making tables -------------------------------------------------------

    @reads
    def _new_tables(self) -> layout.Tables:
        """The tables, whose bytes are taken from the arena's budget first.

        Raises:
            MemoryBudgetError: they do not fit the budget.
            ValueError: weights overflow.
        """
        tree, minimizer = self.tree, self.algorithm.minimizer
        rates = self._bytes_per_row()
        tree.budget.add_tables(self, *rates, self.arena.room)
        sizes = dict(zip("ISP", (*self.arena.room(), tree.num_players), strict=True))
        tables = new_record(layout.Tables, self._optional_tables, **sizes)
        tables.policy[: tree.num_players] = 1
        if isinstance(minimizer, EntropyMinimizer) and minimizer.weights == "kroer":
            below = np.zeros(tree.num_sequences)
            dilate(tree.infosets, below, tables.weight)
            if not np.isfinite(tables.weight).all():
                raise ValueError(
                    'weights="kroer" double with each of a player\'s decisions on the '
                    f"way, of which {brief(tree.source)} has so many that they "
                    'overflow; use weights="constant".'
                )
        if self.algorithm.sampling.player == "balanced":
            tables.balance[:] = 1
            count_sequences(tree.infosets, tables.balance)
            normalize(tree.infosets, tables.balance)
        return tables

    def _bytes_per_row(self) -> tuple[int, int]:
        """The bytes that tables and engine take for each infoset and each sequence."""
        per_infoset, per_sequence = layout.BYTES_OF_TABLES
        for name in self._optional_tables:
            if name in layout.PER_INFOSET:
                per_infoset += _OPTIONAL_BYTES
            else:
                # The plan's bytes are taken with those of the lists that passes read.
                columns = {"baseline": self.tree.num_players, "plan": 0}.get(name, 1)
                per_sequence += _OPTIONAL_BYTES * columns
        more = self.engine.bytes_per_row
        return per_infoset + more[0], per_sequence + more[1]

    def locked_sequences(self) -> np.ndarray:
        """The sequences of the infosets whose policy stays what it is."""
        return sequences_at(self.tree.infosets[np.flatnonzero(self.tables.locked)])

    @reads
    def start_infosets(self) -> None:
        """Starts the tables of the infosets that the tree has met since last time."""
        self.arena.update()
        self._fit_tables()
        tree, tables = self.tree.arrays, self.tables
        self._start_tables(self.task, tree.infosets, tables, self.walk.known)

    # --- what may have gone wrong --------------------------------------------

    def check_own_rule(self) -> None:
        """Raises ValueError if a rule of the user's own has failed, now or before."""
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
                f"{self.tree.info_state(fault - 1)!r}, or returned no finite number: "
                "probabilities are not below 0, and sum to 1"
            )
        raise ValueError(
            f"{rule.name} {did}. The solver stands in the middle of that update: make "
            "it anew, or load a checkpoint."
        )

    def settled(self) -> layout.Tables:
        """The tables, once those of all infosets have been started.

        Raises:
            ValueError: their sums no longer fit a double, or a rule of the user's own
                has failed. The former can only happen to outcome sampling, whose
                weights have no bound, and only with payoffs or step sizes beyond 1e18.
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
                    f"The sums that the solver keeps for {brief(self.tree.source)} no "
                    "longer fit a floating-point number, so it has no policy. Go back "
                    "to an earlier checkpoint, and scale the payoffs, take a smaller "
                    "step size, or sample less."
                )
        return self.tables

    def weigh_ahead(self, done: int, last: int) -> int:
        """Writes the weights of the iterations after `done`, if they are a user's own;
        returns the last iteration, at most `last`, that may be run by them."""
        averaging, settings = self.algorithm.averaging, self.task.settings
        if not isinstance(averaging, OwnAveraging):
            return last
        first, ahead = int(settings[layout.WEIGHTS_FROM]), layout.WEIGHTS_AHEAD
        if not 1 <= first <= done + 1 < first + ahead // 2:
            first = done + 1
            settings[layout.NUM_SETTINGS :] = averaging.weights(first, ahead)
            settings[layout.WEIGHTS_FROM] = first
        return min(last, first + ahead - 1)

    # --- growing -------------------------------------------------------------

    def _fit_tables(self) -> None:
        """Makes the tables as large as they must be now."""
        num_infosets, num_sequences = self.arena.room()
        if num_infosets > self._room[0] or num_sequences > self._room[1]:
            self._enlarge_tables(num_infosets, num_sequences)

    @steps
    def _enlarge_tables(self, num_infosets: int, num_sequences: int) -> None:
        # The frame would keep all the old tables alive until the next one is made.
        self._framed = ()
        rows = tuple(zip((num_infosets, num_sequences), self.tree.sizes(), strict=True))
        # One pass enlarges one table, so that only one exists twice. The room is noted
        # at the end: should Ctrl-C come in between, the rest is enlarged next time.
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
        tables = self.tables
        num_infosets = min(len(tables.paid), len(self.walk.met))
        self._room = num_infosets, len(tables.policy)

    @steps
    def raise_stack(self) -> None:
        """Makes the stack of the walk, and its notes, about twice as high."""
        walk = self.walk
        size = 2 * (walk.visit.nbytes + walk.gain.nbytes)  # all decisions of a batch
        self.tree.budget.require(size, "What walks visit before an update takes")
        names = ("node", "sequence", "weight", "place", "debt", "note", "visit", "gain")
        for name in names:
            old = getattr(walk, name)
            if len(old):
                height = 2 * len(old) + 2**16
                walk = walk._replace(**{name: reserve(old, height)})
        if self.batch != 1 and len(walk.note) > MOST_NOTES:
            raise ValueError(
                f"The walks of a batch on {brief(self.tree.source)} make more than "
                f"{MOST_NOTES:,} decisions, all of which their baseline must note. Use "
                "smaller batches, or no baseline."
            )
        self.walk = walk

    def frame(self) -> np.ndarray:
        """The frame for the next call of a kernel, of all arrays as they are now.

        Arrays that were not replaced since the last call need no new frame. Others may
        have expanded the tree meanwhile, so tables are made to fit first.
        """
        self.arena.update()
        self._fit_tables()
        engine, job, tables, walk = self.engine, self.job, self.tables, self.walk
        job[layout.NUM_NODES] = engine.num_nodes
        job[layout.NUM_INFOSETS] = self.tree.num_infosets
        held = *engine.held(), tables, walk
        if not self._framed or not all(map(operator.is_, held, self._framed)):
            self._frame = engine.frame_of(self.task, tables, walk)
            self._framed = held  # last: Ctrl-C may come in between
        return self._frame

    # --- saving --------------------------------------------------------------

    def saved(self) -> dict[str, np.ndarray]:
        """The arrays that a file keeps, without the room that they have to spare.

        Of a walk that has not ended nothing is learned: the gradient is no part of it.
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
        """Takes over the arrays of a file, on a tree with the same infosets.

        Args:
            arrays: what `saved` gave, or anything else that a file may hold.

        Raises:
            DamagedError: they are not arrays of a solver on this tree.
            KeyError: one is missing.
        """
        walk = self.walk
        if "locked" in arrays:
            is_locked = np.zeros(self.tree.num_infosets, np.uint8)
            self.tables = self.tables._replace(locked=is_locked)
        for name, table in self.saved().items():
            found = arrays[name]
            if found.dtype != table.dtype or found.shape != table.shape:
                raise DamagedError(
                    f"The checkpoint's table {name!r} is {found.dtype} {found.shape}, "
                    f"not {table.dtype} {table.shape}."
                )
            table[:] = found
            if table.dtype == np.float64 and not np.isfinite(table).all():
                raise DamagedError(
                    f"The checkpoint's table {name!r} has numbers that are not finite."
                )
            if name in _NOT_NEGATIVE and (table < 0).any():
                raise DamagedError(
                    f"The checkpoint's table {name!r} has numbers below 0."
                )
        if (self.tables.policy > 1 + _ROUNDING).any():
            raise DamagedError("The checkpoint's policy has probabilities above 1.")
        if self.walks and not self._forgets and self._has_negative_debts():
            raise DamagedError(
                "The checkpoint's tables 'average' and 'paid' contradict each other."
            )
        if (walk.cursor > MOST_COUNTED).any():
            raise DamagedError(
                f"The checkpoint's counters {walk.cursor.tolist()} are above "
                f"{MOST_COUNTED}."
            )
        player = walk.cursor[layout.PLAYER]
        most = self.tree.num_players if self.algorithm.alternating else 1
        if (walk.cursor < 0).any() or player >= most:
            raise DamagedError(
                f"The checkpoint's cursor {walk.cursor.tolist()} is not that of a "
                "solver between two updates."
            )
        walk.marks[layout.WALKER] = player

    def _has_negative_debts(self) -> bool:
        """Whether an infoset was paid more than its parent sequence has received."""
        infosets, tables = self.tree.infosets, self.tables
        received = tables.average[infosets["parent"]]
        return bool((tables.paid[: len(infosets)] > received * (1 + _ROUNDING)).any())

    @functools.cached_property
    def leaves_digest(self) -> str | None:
        """A hash of what all leaves pay; None if no whole pass has listed them."""
        if self.full_pass is None:
            return None
        digest = hashlib.blake2b(digest_size=16)
        for array in self.full_pass.lists:
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()
