"""Runs a solver's kernel in short calls, called slices.

A slice takes about a quarter of a second. Compiled code cannot be interrupted; between
two slices Ctrl-C is handled, progress is shown, and other threads can acquire the
tree's lock.
"""

from typing import Any

import numpy as np

from mccfr_spiel.algorithms import OwnEstimator, OwnRule, most_iterations
from mccfr_spiel.arenas.infosets.lock import runs, steps
from mccfr_spiel.common.display import brief
from mccfr_spiel.kernels import tables as layout
from mccfr_spiel.kernels.compile_time import (
    working_clock,
)
from mccfr_spiel.kernels.jit import (
    IS_COMPILED,
)
from mccfr_spiel.kernels.own_rules import (
    FAULT,
)
from mccfr_spiel.kernels.passes import compile_for_threads
from mccfr_spiel.kernels.recording import (
    MAX_WEIGHT,
)
from mccfr_spiel.solving import due_rows
from mccfr_spiel.solving.state import SolverState

ENDLESS = 2**62
"""A number of iterations or nodes that no run reaches, for use as no limit."""


class SliceRunner:
    """Runs the iterations of one solver.

    Attributes:
        state: the state of the solver.
        lock: the lock of the tree.
        kernel: the function that runs iterations; compiled, unless numba is disabled or
            the update rule is a user's function in plain Python.
        cluster: a `ClusterBatches`; None without a cluster.
        size: number of nodes to touch in the next slice, adapted to the machine.
        seconds: total running time, without compilation.
        most_iterations: largest number of iterations before the weights of the average
            overflow.
    """

    def __init__(self, state: SolverState, cluster: Any) -> None:
        """Prepares the runner; compiles the kernel now if it will run in several
        threads."""
        self.state, self.lock, self.cluster = state, state.lock, cluster
        algorithm = state.algorithm
        self.kernel = state.engine.kernel
        self.size = 100_000
        self.seconds = 0.0
        self.most_iterations = most_iterations(algorithm.averaging)
        self._growth = state.engine.growth
        is_estimated = isinstance(algorithm.sampling, OwnEstimator)
        is_compiled = IS_COMPILED and getattr(algorithm.minimizer, "compiled", True)
        self._hears_signals = not (is_compiled or is_estimated)
        self._has_own_rule = isinstance(algorithm.minimizer, OwnRule)
        if state.engine.num_threads > 1:
            compile_for_threads(self.kernel)

    def check_iterations(self, num_iterations: int) -> None:
        """Raises ValueError if the weights of the average overflow before the total
        number of iterations reaches `num_iterations`."""
        if num_iterations > self.most_iterations:
            gamma = self.state.algorithm.averaging.gamma
            raise ValueError(
                f"The weights t ** {gamma:g} of the average overflow after "
                f"{self.most_iterations} iterations, of which "
                f"{self.state.num_iterations} are done. Make the solver with a "
                "smaller gamma (polynomial)."
            )

    def _run(self, most_iterations: int, most_nodes: int) -> int:
        """Runs one slice under the lock; returns how many iterations it finished.

        A slice may end in the middle of a walk, which the next slice continues. The
        learned tables are then those after the last update.

        Args:
            most_iterations: the largest number of iterations in this slice.
            most_nodes: once the solver has touched this number of nodes in total, no
                further iteration begins.

        Raises:
            ValueError: see `Solver.iterate`.
        """
        state = self.state
        state.check_own_rule()
        if self.cluster is not None:
            self.cluster.get_ready()
        began = working_clock()
        counts, job, done = state.counts, state.job, state.num_iterations
        if state.marks[layout.TOP]:
            self._growth.go_on()
        self.check_iterations(done + 1)
        last = min(done + most_iterations, self.most_iterations)
        job[layout.LAST_ITERATION] = state.weigh_ahead(done, last)
        gradients = state.gradients
        if gradients is not None:
            job[layout.LAST_ITERATION] = gradients.begin(job[layout.LAST_ITERATION])
        touched = counts[layout.NODES_TOUCHED]
        job[layout.NODE_LIMIT] = min(touched + self.size, most_nodes)
        job[layout.PAUSE_LIMIT] = touched + state.marks[layout.TOUCHED] + 2 * self.size
        # The kernel returns when the slice is complete, or when it needs Python: to
        # expand nodes, to enlarge the stack, or to handle Ctrl-C during a long walk.
        # If it needs Python, it is called again afterwards. All its progress is in
        # `state`, so the slice may also end after any call.
        while (status := self._call_kernel()) != layout.DONE:
            if status == layout.GROW:
                self._growth.grow(state.tables, state.walk)
                # If other threads wait for the lock, the slice ends when its time is
                # over. Reading the clock in every iteration of this loop would be slow.
                limit = due_rows.SLICE_SECONDS
                is_due = self.lock.waiting and working_clock() - began > limit
                if is_due and not self._growth.must_finish(state.walk):
                    break
            elif status == layout.STACK_FULL:
                state.raise_stack()
            elif status == layout.PAUSED:
                self._growth.look(state.tables, state.walk)
                if not self._growth.must_finish(state.walk):
                    break
                job[layout.PAUSE_LIMIT] += 2 * self.size
            elif status != layout.TOO_UNLIKELY:
                self._growth.raise_broken(status)
            else:
                raise ValueError(
                    f"Outcome sampling met a history of {brief(state.tree.source)} "
                    f"with a probability below {1 / MAX_WEIGHT:.0e}, or a payoff that "
                    f"exceeds {MAX_WEIGHT:.0e} when divided by it: an unbiased "
                    "estimate no longer fits a floating-point number. Use a shorter "
                    "game or smaller payoffs."
                )
        state.arena.update()
        seconds = working_clock() - began
        self.seconds += seconds
        # Slices that end early because a gradient is due say nothing about the size.
        if gradients is None or counts[layout.NODES_TOUCHED] - touched >= self.size:
            self.size = due_rows.next_slice(self.size, seconds)
        return state.num_iterations - done

    run = runs(_run)

    def _call_kernel(self) -> int:
        """Calls the kernel, or the cluster if that is faster; returns the status.

        Raises:
            ValueError: the user's own rule has failed.
        """
        state, lock = self.state, self.lock
        frame = state.frame()
        self._growth.refit(state.walk)
        status = layout.NEEDS_ONE_THREAD
        lock.in_kernel = True
        try:
            if self.cluster is not None and self.cluster.pays():
                status = self.cluster.run()
            if status == layout.NEEDS_ONE_THREAD:
                run = self._run_python if self._hears_signals else self._run_engine
                status = run(self.kernel, frame)
        except BaseException:  # a rule in plain Python may raise KeyboardInterrupt
            if self._has_own_rule:
                state.tables.memory[FAULT] = -1.0
            raise
        finally:
            lock.in_kernel = False
        state.check_own_rule()
        return status

    @steps
    def _run_python(self, kernel: Any, frame: np.ndarray) -> int:
        """Runs a kernel in plain Python, during which signal handlers may run.

        Because of `steps`, TreeInUseError is raised if a handler calls the solver.
        """
        return self._run_engine(kernel, frame)

    def _run_engine(self, kernel: Any, frame: np.ndarray) -> int:
        return self.state.engine.run(self.state, kernel, frame)
