"""Threads that run one compiled function together.

The function is compiled with `jit(nogil=True)` and called as `work(*arguments, desk,
leads)` by every thread. The thread that asks is the leader. It does what must be done
in order, and has the rest done by `share`, piece by piece. All that the others do is
`take_pieces`. The leader never waits for another thread to start, so a busy machine, or
a limit of threads, makes a call slower and nothing else. Where there is one thread,
`share` is a loop over the pieces.

Signals are deferred while the threads are dealt with. A KeyboardInterrupt inside of
ThreadPoolExecutor may leave one of its locks held, and whoever asks for it next would
wait for ever.

Compiled code that runs in several threads at once must not wait for Python, whose lock
it has released. So threads agree by a few integers, the *desk*, which they read and
change in steps that no other thread can come between. Pieces of work are numbered by
tickets 0, 1, 2, ... One thread, the leader, opens tickets; any thread claims the next
open one, does the work and counts it as finished. The leader opens more only when all
that are open are finished. Nobody waits for a thread to arrive: a thread that comes
late finds less work, or none. With the JIT off the same functions run as plain Python
under a lock.
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

# --- threads of Python --------------------------------------------------------------


@functools.lru_cache(maxsize=4)
def _helpers(num_helpers: int, process: int) -> concurrent.futures.ThreadPoolExecutor:
    """The threads beside the leader's. A forked process has none of its parent's, so it
    gets its own."""
    return concurrent.futures.ThreadPoolExecutor(num_helpers, "mccfr_spiel")


def submit(num_threads: int, task: Callable[..., Any], *arguments: Any) -> Any:
    """Hands a call to one of the threads beside the caller's; returns its future.

    Raises:
        RuntimeError: the system starts no more threads, or Python is ending.
    """
    return _helpers(num_threads - 1, os.getpid()).submit(task, *arguments)


def in_parts(
    num_threads: int, size: int, task: Callable[[tuple[int, int]], object]
) -> None:
    """Calls a function that lets other threads run, as NumPy's do, for the parts of a
    range.

    Args:
        num_threads: the most parts, of which the caller's thread does the last one.
        size: the range is 0 .. size - 1; at least 1.
        task: the function of a part, its begin and its end.
    """
    count, waited = min(num_threads, size), []
    *others, last = itertools.pairwise(size * k // count for k in range(count + 1))
    with signals_deferred() if others else contextlib.nullcontext():
        for part in others:
            try:
                waited.append(submit(count, task, part).result)
            except RuntimeError:  # no more threads
                waited.append(functools.partial(task, part))
        task(last)
        for result in waited:
            result()


# --- for Python --------------------------------------------------------------------


def run(
    work: Callable[..., int],
    num_threads: int,
    *arguments: Any,
    notes: int = 0,
    keep: object = None,
) -> int:
    """Runs compiled work in some threads; returns what the leader's call returns.

    Args:
        work: does the same with any number of threads.
        num_threads: the caller's thread included.
        arguments: of `work`, before the desk.
        notes: how many notes the desk has room for.
        keep: holds the arrays whose addresses are in a frame. A thread may look at them
            once more when the leader's call has returned.

    Raises:
        Exception: what a call has raised, in whatever thread. The other threads have
            ended then, and the work is unfinished.
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
    try:  # however this block is left, the desk is closed
        with contextlib.suppress(RuntimeError):  # no more threads: fewer will do
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
        helper.cancel()  # one that has not begun would find no work
    if has_failed:
        _end(helpers)
        for helper in helpers:
            if not helper.cancelled():
                helper.result()
    return status


def _help(
    work: Callable[..., int], arguments: tuple[Any, ...], desk: np.ndarray, keep: object
) -> None:
    """What a helper does, until there is no more work; it holds on to `keep`."""
    try:
        work(*arguments, desk, False)
    except BaseException:
        desk[FAILED] = 1  # or the leader would wait for its ticket for ever
        raise
    finally:
        del keep


def _end(helpers: list[concurrent.futures.Future[None]]) -> None:
    """Waits until no helper works any more."""
    for helper in helpers:
        helper.cancel()
    concurrent.futures.wait(helpers)
