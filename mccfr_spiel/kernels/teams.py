"""Threads that run one compiled function together.

Every thread calls `work(*arguments, desk, leads)`, compiled with `jit(nogil=True)`. The
calling thread is the leader: it runs the sequential parts and shares the others by
`tickets.share`. The other threads only run `tickets.take_pieces`. The leader never
waits for a thread to start, so a busy machine or a limit of threads makes a call slower
but has no other effect. With a single thread, `share` is a loop over the pieces.

Signals are deferred meanwhile. A KeyboardInterrupt inside ThreadPoolExecutor may leave
one of its locks held, and the next caller would wait forever.
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
    """Returns the pool of threads other than the caller's.

    A forked process does not inherit the threads of its parent, so each process has its
    own pool.
    """
    return concurrent.futures.ThreadPoolExecutor(num_helpers, "mccfr_spiel")


def submit(num_threads: int, task: Callable[..., Any], *arguments: Any) -> Any:
    """Runs a call in another thread; returns its future.

    Args:
        num_threads: number of threads, including the caller's.
        task: the function to call.
        arguments: its arguments.

    Raises:
        RuntimeError: the system cannot start more threads, or Python is shutting down.
    """
    return _helpers(num_threads - 1, os.getpid()).submit(task, *arguments)


def in_parts(
    num_threads: int, size: int, task: Callable[[tuple[int, int]], object]
) -> None:
    """Splits a range into parts and calls a function for each, in several threads.

    Args:
        num_threads: maximum number of parts; the caller's thread processes the last
            one.
        size: length of the range, at least 1.
        task: called with the begin and end of a part. It should release Python's lock,
            as NumPy does.
    """
    count, waited = min(num_threads, size), []
    *others, last = itertools.pairwise(size * k // count for k in range(count + 1))
    with signals_deferred() if others else contextlib.nullcontext():
        for part in others:
            try:
                waited.append(submit(count, task, part).result)
            except RuntimeError:  # no more threads: the caller does this part
                waited.append(functools.partial(task, part))
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
        notes: number of notes on the desk.
        keep: owner of the arrays whose addresses are in a frame. It must stay alive
            because a thread may still read them after the leader has returned.

    Raises:
        Exception: an exception in any of the threads. The other threads have ended
            then, and the work is incomplete.
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
    # The desk must be closed in all cases, or the helpers would wait forever.
    try:
        with contextlib.suppress(RuntimeError):  # too few threads are fine
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
    for helper in helpers:
        helper.cancel()  # helpers that have not started would find no work
    if has_failed:
        _end(helpers)
        for helper in helpers:
            if not helper.cancelled():
                helper.result()
    return status


def _help(
    work: Callable[..., int], arguments: tuple[Any, ...], desk: np.ndarray, keep: object
) -> None:
    """Runs the work in a thread other than the leader's; keeps `keep` alive."""
    try:
        work(*arguments, desk, False)
    except BaseException:
        desk[FAILED] = 1  # or the leader would wait for this ticket forever
        raise
    finally:
        del keep


def _end(helpers: list[concurrent.futures.Future[None]]) -> None:
    """Waits until all helpers have ended."""
    for helper in helpers:
        helper.cancel()
    concurrent.futures.wait(helpers)
