"""The learned state of a solver whose tables are blocks of hands.

It has the interface of `SolverState`. The tables are updated in place, one player at a
time, so a solver is always between two updates when Python code runs.
"""

from typing import Any

import numpy as np

from mccfr_spiel.algorithms import Algorithm, PredictiveRegretMatchingPlus
from mccfr_spiel.arenas.arena import Engine, NoGrowth
from mccfr_spiel.arenas.hand_arena import BlockArena
from mccfr_spiel.arenas.hand_sweeps import BlockTables, HandSweeps, bytes_of_solver
from mccfr_spiel.arenas.infosets.lock import reads
from mccfr_spiel.common.checkpoint import DamagedError
from mccfr_spiel.common.memory import num_cores
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.hand_decisions import (
    OTHERS,
    POSITIVE,
    PREDICTS,
    TREMBLE,
    UPDATED,
)
from mccfr_spiel.kernels.hand_sweep import sweep
from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.policies.block_policy import BlockPolicy
from mccfr_spiel.solving.block_rates import numbers_at
from mccfr_spiel.solving.locking import Locks, rows_of_locks
from mccfr_spiel.solving.restored_tables import check_cursor
from mccfr_spiel.solving.table_memory import take_tables

_NO_FRAME = np.zeros(0, np.int64)


class BlockState:
    """The tables of a solver in blocks, and its counters.

    Attributes:
        arena, tree, algorithm, seed: as in SolverState.
        lock: the lock of the arena.
        tables: the tables, see `BlockTables`.
        engine: runs the iterations.
        walks: False.
        gradients: None, because blocks have no gradients to average.
        leaves_digest: None, because the game's load string determines the payoffs.
        counts, marks, job: as in SolverState.
    """

    walks, leaves_digest, walk, gradients = False, None, None, None

    def __init__(
        self,
        arena: BlockArena,
        algorithm: Algorithm,
        seed: int,
        threads: int | None,
        locked: Locks | None,
    ) -> None:
        """Makes the tables; policies are uniform, except those that are fixed.

        Raises:
            MemoryBudgetError: the tables do not fit the arena's budget.
            ValueError: see `rows_of_locks`.
        """
        self.arena, self.tree, self.lock = arena, arena, arena.lock
        self.algorithm, self.seed = algorithm, seed
        self._cursor = np.zeros(layout.CURSOR_SIZE, np.int64)
        self.counts = self._cursor.data
        self.marks = np.zeros(layout.MARKS_SIZE, np.int64).data
        self.job = np.zeros(layout.JOB_SIZE, np.uint64).data
        num_entries = arena.blocks.num_entries
        rule = algorithm.minimizer
        is_predictive = isinstance(rule, PredictiveRegretMatchingPlus)
        has_ahead = is_predictive and rule.prediction > 0
        threads = num_cores() if threads is None else threads
        num_tables, is_fixed = 2 + has_ahead, bool(locked)
        size = bytes_of_solver(arena.blocks, threads, num_tables, is_fixed=is_fixed)
        take_tables(arena.budget, self, size, 0, lambda: (1, 0), is_fixed=True)
        self.tables = BlockTables(
            np.zeros(num_entries, np.float32),
            np.zeros(num_entries, np.float32),
            np.zeros(num_entries if has_ahead else 0, np.float32),
            np.zeros(num_entries if locked else 0, np.uint8),
        )
        for infoset, row in rows_of_locks(arena, locked or {}).items():
            entries = arena.entries_of(infoset)
            self.tables.fixed[entries] = 1
            self.tables.regret[entries] = self.tables.average[entries] = row
        self.engine = BlockEngine(HandSweeps(arena.blocks, threads))

    @property
    def num_iterations(self) -> int:
        """The number of finished iterations."""
        return self.counts[layout.ITERATION] - (self.counts[layout.PLAYER] > 0)

    def check_own_rule(self) -> None:
        """Does nothing: users' own rules have other tables."""

    def start_infosets(self) -> None:
        """Does nothing: all infosets are known."""

    def weigh_ahead(self, done: int, last: int) -> int:
        """Returns `last`: formulas of the package weight the iterations."""
        return last

    def frame(self) -> np.ndarray:
        """An empty frame: the engine passes arrays instead."""
        return _NO_FRAME

    # --- policies -------------------------------------------------------------

    def _numbers(self) -> np.ndarray:
        """The numbers of the next iteration, which define the current policy."""
        return numbers_at(self.algorithm, self.num_iterations + 1)

    def policy_vector(self, *, is_current: bool = False) -> np.ndarray:
        """`[S]` the average policy, or the current one.

        Raises:
            MemoryBudgetError: the vector does not fit the arena's budget.
        """
        if not is_current:
            return self.arena.policy_of(self.tables.average)
        rest = self._numbers()[[POSITIVE, PREDICTS, TREMBLE]].tolist()
        return self.arena.policy_of(self.tables.regret, self.tables.ahead, *rest)

    def regret_vector(self) -> np.ndarray:
        """`[S]` the cumulative regrets."""
        return self.arena.vector_of(self.tables.regret)

    def policy(self, *, is_current: bool = False) -> BlockPolicy:
        """A copy of the average policy, or of the current one."""
        if is_current:
            vector = self.policy_vector(is_current=True)
            return BlockPolicy(self.arena, self.arena.table_of(vector))
        size = self.tables.average.nbytes
        self.arena.budget.require(size, "A copy of the average policy takes")
        return BlockPolicy(self.arena, self.tables.average.copy())

    @reads
    def returns(self, *, is_current: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """`[2]` returns of a policy and `[2]` returns of best responses against it,
        computed from the tables."""
        return self.engine.sweeps.evaluated(
            self.tables, self._numbers(), is_current=is_current
        )

    # --- saving ---------------------------------------------------------------

    def saved(self) -> dict[str, np.ndarray]:
        """The arrays of a checkpoint."""
        arrays = {"cursor": self._cursor, **self.tables._asdict()}
        return {name: array for name, array in arrays.items() if len(array)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Copies the arrays of a checkpoint into the tables.

        Raises:
            DamagedError: the arrays are not those of a solver on this game.
            KeyError: an array is missing.
        """
        if "fixed" in arrays:
            fixed = np.zeros(self.arena.blocks.num_entries, np.uint8)
            self.tables = self.tables._replace(fixed=fixed)
        for name, table in self.saved().items():
            source = arrays[name]
            if source.dtype != table.dtype or source.shape != table.shape:
                raise DamagedError(
                    f"Table {name!r} of the checkpoint is {source.dtype} "
                    f"{source.shape}, expected {table.dtype} {table.shape}."
                )
            table[:] = source
            if not np.isfinite(table).all():
                raise DamagedError(
                    f"Table {name!r} of the checkpoint contains non-finite entries."
                )
        if (self.tables.average < 0).any():
            raise DamagedError("The checkpoint's average contains negative entries.")
        check_cursor(self._cursor, 2)


class BlockEngine(Engine):
    """Runs iterations by passes over blocks.

    Attributes:
        sweeps: the passes.
    """

    kernel = sweep

    def __init__(self, sweeps: HandSweeps) -> None:
        self.sweeps, self.growth = sweeps, NoGrowth()
        self.num_threads = 1  # the slices need not compile the kernel in advance
        # As in a HandArena, an update counts each leaf once per player.
        self._num_leaves = 2 * int((sweeps.blocks.public.num_children == 0).sum())

    def run(self, state: Any, kernel: Any, frame: np.ndarray) -> int:
        """See Engine. One call makes all updates up to the limits of the job.

        Returns:
            PAUSED if the node limit is reached within an iteration, else DONE.
        """
        counts, job, rows = state.counts, state.job, []
        iteration, player = counts[layout.ITERATION], counts[layout.PLAYER]
        touched, status = counts[layout.NODES_TOUCHED], layout.DONE
        # Each pass plans the update of one player.
        while True:
            is_enough = touched >= job[layout.NODE_LIMIT]
            if player == 0 and (is_enough or iteration >= job[layout.LAST_ITERATION]):
                break
            if is_enough and rows:
                status = layout.PAUSED
                break
            iteration += player == 0
            numbers = numbers_at(state.algorithm, iteration)
            numbers[UPDATED] = player
            if player == 1:
                following = numbers_at(state.algorithm, iteration + 1)
                numbers[OTHERS] = following[POSITIVE]
            rows.append(numbers)
            touched, player = touched + self._num_leaves, 1 - player
        if not rows:
            return status
        with signals_deferred():
            self.sweeps.start_at_root()
            self.sweeps.run(state.tables, np.array(rows))
            counts[layout.NODES_TOUCHED] = touched
            counts[layout.ITERATION], counts[layout.PLAYER] = iteration, player
        return status
