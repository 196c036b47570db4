"""Runs a solver to given numbers of iterations or nodes, in short slices."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

COUNTERS = {"iteration": "num_iterations", "nodes_touched": "nodes_touched"}
"""What a solver calls the columns by which rows may be due."""

SLICE_SECONDS = 0.25
"""Compiled code cannot be interrupted, so work runs in slices of about this many
seconds, and between them Ctrl-C is noticed and progress is shown."""


def reached(
    solver: Any,
    column: str,
    dues: Iterator[int],
    watch: Callable[[int], object] = lambda done: None,
) -> Iterator[int]:
    """Runs the solver and yields each due number when it has reached it; of several
    that one iteration has passed, the largest.

    Args:
        solver: is not beyond the first due number.
        column: the name in COUNTERS of what is counted.
        dues: ascending.
        watch: is called with what is done before each due number and a few times a
            second. The run ends if it returns something true.
    """
    due, size = next(dues, None), 1
    # One pass runs the solver for a slice, at most up to the next due number.
    while due is not None:
        began = time.perf_counter()
        done = getattr(solver, COUNTERS[column])
        if column == "iteration":
            solver.iterate(min(size, due - done))
        else:
            solver.iterate_until(min(due, done + size))
        done = getattr(solver, COUNTERS[column])
        size = next_slice(size, time.perf_counter() - began)
        if done >= due:
            passed = due
            while due is not None and due <= done:
                passed, due = due, next(dues, None)
            yield passed
        # Only now, when the caller has the row: `watch` may save a checkpoint, which
        # must not lack it.
        if watch(done):
            return


def next_slice(size: int, seconds: float) -> int:
    """The size of a slice after one that took so long."""
    if seconds < SLICE_SECONDS / 2:
        return min(2 * size, 2**40)
    return max(size // 2, 1) if seconds > 2 * SLICE_SECONDS else size


def log_spaced(first: int, last: int, per_decade: int) -> Iterator[int]:
    """The integers 10 ** (k / per_decade), rounded, from `first` on; then `last`."""
    due = first - 1
    while (due := _next_power(due, per_decade)) < last:
        yield due
    yield last


def _next_power(previous: int, per_decade: int) -> int:
    """The next integer that is 10 ** (k / per_decade), rounded, for some integer k."""
    # Where at least two powers are rounded to the next integer, no search is needed.
    per_decade = min(per_decade, 2**53)
    if per_decade * math.log10((previous + 1.5) / (previous + 0.5)) > 2:
        return previous + 1
    # Many small powers are rounded to the same integer, so the search begins at the
    # first k whose power may be larger than `previous`, and skips those that are not.
    power = max(math.floor(per_decade * math.log10(previous + 0.5)) - 1, 0)
    while (due := round(10 ** (power / per_decade))) <= previous:
        power += 1
    return due
