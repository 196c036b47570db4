"""Ctrl-C at random moments, and errors in the middle of an iteration, for the tests of
what threads share."""

import signal
from typing import Any

import numpy as np

from mccfr_spiel import Solver
from mccfr_spiel.storage.checkpoint import Contents


def iterate_interrupted(solver: Solver) -> int:
    """Runs a solver, interrupted again and again; returns how often it was."""
    generator = np.random.default_rng(7)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interruptions = 0
    try:
        for _ in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, generator.uniform(1e-5, 3e-3))
                for _ in range(10_000):
                    solver.iterate(1)
            except KeyboardInterrupt:
                interruptions += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    return interruptions


def contents_midway(solver: Any) -> Contents:
    """The contents of a solver that an error keeps from finishing its iteration."""
    kernel, run = solver.kernel, solver.state.run_shared

    def fail(*_):
        raise RuntimeError

    solver.kernel = solver.state.run_shared = fail
    contents = solver.contents()
    solver.kernel, solver.state.run_shared = kernel, run
    return contents
