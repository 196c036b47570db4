"""Runs a solver to given numbers of iterations or nodes, in short slices."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

COUNTERS = {"iteration": "num_iterations", "nodes_touched": "nodes_touched"}
"""Column of a row -> attribute of a solver, for the columns that decide when rows are
due."""

SLICE_SECONDS = 0.25
"""Target duration of a slice in seconds. Between slices Ctrl-C is noticed and progress
is shown, because compiled code cannot be interrupted."""


def reached(
    solver: Any,
    column: str,
    dues: Iterator[int],
    watch: Callable[[int], object] = lambda done: None,
) -> Iterator[int]:
    """Runs a solver and yields each due number once the solver has reached it.

    If one iteration passes several due numbers, only the largest is yielded.

    Args:
        solver: a solver that is not beyond the first due number.
        column: the counted quantity, a name in COUNTERS.
        dues: the due numbers in ascending order.
        watch: called with the present count before each due number and several times
            per second. The run ends if it returns a true value.
    """
    due, size = next(dues, None), 1
    # Each pass runs a slice that ends at the due number or before. The loop ends with
    # the dues, or when `watch` returns a true value.
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
    """The size of the next slice after one that took `seconds`."""
    if seconds < SLICE_SECONDS / 2:
        return min(2 * size, 2**40)
    return max(size // 2, 1) if seconds > 2 * SLICE_SECONDS else size


def log_spaced(first: int, last: int, per_decade: int) -> Iterator[int]:
    """The integers 10 ** (k / per_decade), rounded, from `first` on, and finally
    `last`."""
    due = first - 1
    while (due := _next_power(due, per_decade)) < last:
        yield due
    yield last


def _next_power(previous: int, per_decade: int) -> int:
    """The smallest rounded 10 ** (k / per_decade), k an integer, above `previous`."""
    # A search is unnecessary if two or more powers round to the integer after
    # `previous`.
    per_decade = min(per_decade, 2**53)
    if per_decade * math.log10((previous + 1.5) / (previous + 0.5)) > 2:
        return previous + 1
    # Small powers often round to the same integer. The search begins with the smallest
    # k whose power can exceed `previous`.
    power = max(math.floor(per_decade * math.log10(previous + 0.5)) - 1, 0)
    while (due := round(10 ** (power / per_decade))) <= previous:
        power += 1
    return due
