"""Runs a solver to given numbers of iterations or nodes, in short slices.

A number of iterations (or touched nodes) at which a row of metrics must be recorded is
called a due number.
"""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

COUNTERS = {"iteration": "num_iterations", "nodes_touched": "nodes_touched"}
"""Column of a row -> name of the solver's attribute with its value. Due numbers may
refer to these columns."""

SLICE_SECONDS = 0.25
"""Target duration of a slice in seconds. Compiled code cannot be interrupted, so Ctrl-C
is handled and progress is shown between slices only."""


def reached(
    solver: Any,
    column: str,
    dues: Iterator[int],
    watch: Callable[[int], object] = lambda done: None,
) -> Iterator[int]:
    """Runs a solver and yields each due number when the solver has reached it.

    If one iteration passes several due numbers, only the largest of them is yielded.
    The generator ends after the last due number.

    Args:
        solver: a solver that is not beyond the first due number.
        column: the counted quantity, a name in COUNTERS.
        dues: the due numbers in ascending order.
        watch: called after each slice with the present count, several times per second
            unless a single iteration takes longer. If it returns a true value, the
            generator ends early.
    """
    due, size = next(dues, None), 1
    # Each iteration of this loop runs one slice, which ends at the next due number or
    # before. `due` is None when `dues` is exhausted.
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
        # Called after the yield: if `watch` saves a checkpoint, it must include the row
        # that the caller has just recorded.
        if watch(done):
            return


def next_slice(size: int, seconds: float) -> int:
    """The size of the next slice, for a duration near SLICE_SECONDS.

    Args:
        size: the size of the last slice, in iterations or nodes.
        seconds: the duration of the last slice.
    """
    if seconds < SLICE_SECONDS / 2:
        return min(2 * size, 2**40)
    return max(size // 2, 1) if seconds > 2 * SLICE_SECONDS else size


def log_spaced(first: int, last: int, per_decade: int) -> Iterator[int]:
    """Yields logarithmically spaced integers in ascending order.

    These are the values 10 ** (k / per_decade) for integers k, rounded, without
    duplicates, from `first` to `last - 1`, and finally `last`.
    """
    due = first - 1
    while (due := _next_power(due, per_decade)) < last:
        yield due
    yield last


def _next_power(previous: int, per_decade: int) -> int:
    """The smallest rounded 10 ** (k / per_decade), k an integer, above `previous`."""
    # No search is needed if two or more of the powers round to `previous + 1`.
    per_decade = min(per_decade, 2**53)
    if per_decade * math.log10((previous + 1.5) / (previous + 0.5)) > 2:
        return previous + 1
    # Small powers often round to the same integer. The search begins with the smallest
    # k whose power can exceed `previous`.
    power = max(math.floor(per_decade * math.log10(previous + 0.5)) - 1, 0)
    while (due := round(10 ** (power / per_decade))) <= previous:
        power += 1
    return due
