"""Threads that run one compiled function together.

The function is compiled with `jit(nogil=True)` and called as `work(*arguments, desk,
leads)` by every thread; `atomics` explains the desk. The thread that asks is the
leader. It does what must be done in order, and has the rest done by `share`, piece by
piece. All that the others do is `take_pieces`. The leader never waits for another
thread to start, so a busy machine, or a limit of threads, makes a call slower and
nothing else. Where there is one thread, `share` is a loop over the pieces.

Signals are deferred while the threads are dealt with. A KeyboardInterrupt inside of
ThreadPoolExecutor may leave one of its locks held, and whoever asks for it next would
wait for ever.
"""

import concurrent.futures
import contextlib
import functools
import itertools
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mccfr_spiel.kernels.atomics import (
    CLOSED,
    FAILED,
    FINISHED,
    FIRST,
    add_one,
    is_over,
    load,
    new_desk,
    next_ticket,
    open_tickets,
)
from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.kernels.jit import pasted


def num_cores() -> int:
    """The cores that this process may use."""
    with contextlib.suppress(AttributeError, OSError):  # not on every system
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


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


@signals_deferred()
def run_each(
    num_threads: int, task: Callable[[Any], Any], items: Iterable[Any]
) -> list[Any]:
    """What a function that lets other threads run, as NumPy's do, gives for each item.

    Args:
        num_threads: the caller's thread included; it does the last item.
        task: the function.
        items: at least one.
    """
    *others, last = items
    found = []
    for item in others:
        try:
            found.append(submit(num_threads, task, item).result)
        except RuntimeError:  # no more threads
            found.append(functools.partial(task, item))
    at_last = task(last)
    return [*(result() for result in found), at_last]


def in_parts(
    num_threads: int | None,
    size: int,
    least: int,
    task: Callable[[tuple[int, int]], Any],
) -> list[Any]:
    """What a function that lets other threads run gives for the parts of a range.

    Args:
        num_threads: at most so many parts; None for one for each core.
        size: the range is 0 .. size - 1.
        least: the least size of a part, if there are several.
        task: the function of a part, its begin and its end.
    """
    most = num_cores() if num_threads is None else num_threads
    count = max(min(most, size // least), 1)
    ends = [size * k // count for k in range(count + 1)]
    parts = list(itertools.pairwise(ends))
    return list(map(task, parts)) if count == 1 else run_each(count, task, parts)


# --- for compiled code -------------------------------------------------------------

# What these call by its argument `do` is long. They are pasted, since LLVM optimizes it
# once more for each inlined helper that calls it.


@pasted
def take_pieces(do: Any, what: Any, desk: np.ndarray, leads: bool) -> None:
    """Does pieces of work by `do(what, desk, piece)` for as long as there are any.

    A leader returns when all that are open are finished, or one has failed; the others
    when the desk is closed.
    """
    while True:
        ticket = next_ticket(desk, leads)
        if ticket < 0:
            break
        do(what, desk, ticket + load(desk, FIRST))
        add_one(desk, FINISHED)


@pasted
def serve(do: Any, direct: Any, what: Any, desk: np.ndarray, leads: bool) -> None:
    """Does pieces of work by `do(what, desk, piece)` until the desk is closed.

    Whenever all that are open are finished, the leader calls `direct(what, desk)`,
    which opens more or closes the desk.
    """
    while not is_over(desk):
        ticket = next_ticket(desk, leads)
        if ticket >= 0:
            do(what, desk, ticket + load(desk, FIRST))
            add_one(desk, FINISHED)
        elif leads and not is_over(desk):
            direct(what, desk)


@pasted
def share(do: Any, what: Any, desk: np.ndarray, first: int, end: int) -> None:
    """Has the pieces `first .. end - 1` done, by all threads that come to help.

    Only a leader calls it. The pieces may be done in any order, or at once.
    """
    if end - first == 1:  # not worth a ticket
        do(what, desk, np.int64(first))
    else:
        open_tickets(desk, first, end)
        take_pieces(do, what, desk, True)


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
        work: sees to it that the same is done by however many threads.
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
