"""Threads that run one compiled function together.

Every thread calls the same function `work(*arguments, desk, leads)`, compiled with
`jit(nogil=True)`. `desk` is an array of integers by which the threads communicate
(tickets.py). `leads` is True in the thread that calls `run`, the *leader*. The leader
runs the sequential parts, and divides the other parts into pieces of work by
`tickets.share`. The other threads, the *helpers*, only process pieces, by
`tickets.take_pieces`. The leader never waits for a helper to start. So if the machine
is busy or limits the number of threads, a call takes longer, but nothing else changes.
With a single thread, `share` is a loop over the pieces.

Signals are deferred during a call. A KeyboardInterrupt inside ThreadPoolExecutor might
leave one of its locks held, and the next caller would wait forever.
"""

import concurrent.futures
import contextlib
import functools
import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.kernels.tickets import CLOSED, FAILED, new_desk


@functools.lru_cache(maxsize=4)
def _helpers(num_helpers: int, process: int) -> concurrent.futures.ThreadPoolExecutor:
    """Returns a pool of threads.

    The argument `process`, the process id, only serves as a key of the cache: a forked
    process does not inherit the threads of its parent, so it needs its own pool.
    """
    return concurrent.futures.ThreadPoolExecutor(num_helpers, "mccfr_spiel")


def submit(num_threads: int, task: Callable[..., Any], *arguments: Any) -> Any:
    """Runs a call in another thread; returns the `concurrent.futures.Future`.

    Args:
        num_threads: size of the team, including the caller's thread. It selects a pool
            with one thread less.
        task: the function to call.
        arguments: arguments of the function.

    Raises:
        RuntimeError: the system cannot start more threads, or Python is shutting down.
    """
    return _helpers(num_threads - 1, os.getpid()).submit(task, *arguments)


def in_parts(
    num_threads: int, size: int, task: Callable[[tuple[int, int]], object]
) -> None:
    """Splits a range into parts and calls a function for each, in several threads.

    It returns when all calls have returned.

    Args:
        num_threads: maximum number of parts and threads. The caller's thread processes
            the last part.
        size: length of the range, at least 1.
        task: called with the start and end of a part. It should release Python's global
            lock (GIL), as NumPy does.
    """
    count, waited = min(num_threads, size), []
    *first_parts, last = itertools.pairwise(size * k // count for k in range(count + 1))
    with signals_deferred() if first_parts else contextlib.nullcontext():
        for part in first_parts:
            try:
                waited.append(submit(count, task, part).result)
            except RuntimeError:  # no thread is available: the caller runs this part
                waited.append(functools.partial(task, part))
        # The caller's thread runs the last part while the pool runs the other parts.
        task(last)
        for result in waited:
            result()


def run(
    work: Callable[..., int],
    num_threads: int,
    *arguments: Any,
    notes: int = 0,
    keep: object = None,
) -> int:
    """Runs compiled work in several threads; returns the status of the leader's call.

    Args:
        work: the function; its result must not depend on the number of threads.
        num_threads: number of threads, including the caller's.
        arguments: arguments of `work` before the desk.
        notes: number of integers on the desk that `work` uses itself, from index
            `tickets.NOTES` on.
        keep: object that owns the arrays whose addresses are in a frame. It is kept
            alive until the last helper ends, because a helper may still read the arrays
            after the leader has returned.

    Raises:
        Exception: any exception that was raised in one of the threads. All threads have
            ended then, and the work is incomplete.
    """
    desk = new_desk(notes)
    if num_threads == 1:
        return work(*arguments, desk, True)
    return _run_in_team(work, num_threads, arguments, desk, keep)


@signals_deferred()
def _run_in_team(
    work: Callable[..., int],
    num_threads: int,
    arguments: tuple[Any, ...],
    desk: np.ndarray,
    keep: object,
) -> int:
    helpers: list[concurrent.futures.Future[None]] = []
    # The desk must be closed in all cases, because helpers run until it is closed.
    try:
        with contextlib.suppress(RuntimeError):  # fewer threads suffice, see above
            for _ in range(num_threads - 1):
                helpers.append(submit(num_threads, _help, work, arguments, desk, keep))
        status = work(*arguments, desk, True)
        has_failed = bool(desk[FAILED])
    except BaseException:
        desk[CLOSED] = 1
        _end(helpers)
        raise
    finally:
        desk[CLOSED] = 1
    # The desk is closed, so running helpers return as soon as they look for work.
    for helper in helpers:
        helper.cancel()  # no work is left for helpers that have not started
    # An exception of a helper is raised only when all helpers have ended.
    if has_failed:
        _end(helpers)
        for helper in helpers:
            if not helper.cancelled():
                helper.result()
    return status


def _help(
    work: Callable[..., int], arguments: tuple[Any, ...], desk: np.ndarray, keep: object
) -> None:
    """Runs `work` in a helper's thread, and keeps `keep` alive until it returns."""
    try:
        work(*arguments, desk, False)
    except BaseException:
        desk[FAILED] = 1  # otherwise the leader would wait for this helper's piece
        raise
    finally:
        del keep


def _end(helpers: list[concurrent.futures.Future[None]]) -> None:
    """Cancels helpers that have not started, and waits until all others have ended."""
    for helper in helpers:
        helper.cancel()
    concurrent.futures.wait(helpers)
