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
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from mccfr_spiel.kernels.interruptions import signals_deferred
from mccfr_spiel.kernels.jit import PASTED, inlined, pasted

# --- the desk ------------------------------------------------------------------------


_APART = 8
"""Numbers that different threads change lie in different lines of the cache."""

OPENED, CLAIMED, FINISHED, HELPED, CLOSED, FAILED, FIRST, _FREE = range(
    0, 8 * _APART, _APART
)
"""The places on a desk: the tickets opened, claimed and finished so far; those that
helpers have claimed; whether no more will be opened; whether a thread has failed, so
that its ticket is never finished; and what to add to an open ticket's number to get the
piece of work that it stands for."""

NOTES = _FREE
"""The first of the places where a leader may note what the open tickets are about."""


def new_desk(num_notes: int = 0) -> np.ndarray:
    """`[NOTES + num_notes]` int64, a desk without tickets."""
    return np.zeros(NOTES + num_notes, np.int64)


# --- single steps ----------------------------------------------------------------

_LOCK = threading.RLock()

if hasattr(os, "register_at_fork"):  # a forked child must find the lock free
    os.register_at_fork(
        before=_LOCK.acquire,
        after_in_child=_LOCK.release,
        after_in_parent=_LOCK.release,
    )


def load(desk: np.ndarray, place: int) -> int:
    """The number at a place, as it is now."""
    return int(desk[place])


def replace(desk: np.ndarray, place: int, old: int, new: int) -> bool:
    """Sets a number that is still `old` to `new`; returns whether it was. Who reads the
    new one sees all that was written before."""
    with _LOCK:
        if desk[place] != old:
            return False
        desk[place] = new
        return True


def give_way() -> None:
    """Lets other threads have the processor for a moment."""
    time.sleep(0)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emits the address of a place on a desk, the first two arguments."""
    desk, place = signature.args[:2]
    data = context.make_array(desk)(context, builder, arguments[0]).data
    at = context.cast(builder, arguments[1], place, types.intp)
    return cgutils.gep(builder, data, at)


def _emit_load(_: Any, desk: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, *call: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, *call), "seq_cst", 8)

    return types.int64(desk, place), generate


def _emit_replace(_: Any, desk: Any, place: Any, old: Any, new: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _pointer(context, builder, signature, arguments)
        numbers = [
            context.cast(builder, arguments[k], signature.args[k], types.int64)
            for k in (2, 3)
        ]
        pair = builder.cmpxchg(at, *numbers, "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(desk, place, old, new), generate


_load: Any = intrinsic(_emit_load)
_replace: Any = intrinsic(_emit_replace)


@overload(load, jit_options=PASTED)
def _compiled_load(desk, place):
    return lambda desk, place: _load(desk, place)


@overload(replace, jit_options=PASTED)
def _compiled_replace(desk, place, old, new):
    return lambda desk, place, old, new: _replace(desk, place, old, new)


_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
_is_known = llvmlite.binding.address_of_symbol(_YIELD) is not None
_yield: Any = types.ExternalFunction(_YIELD, types.int32())


@overload(give_way, jit_options=PASTED)
def _compiled_give_way():
    if not _is_known:  # then threads that wait are busy until their turn ends
        return lambda: None

    def call():
        _yield()

    return call


# --- tickets -----------------------------------------------------------------------


@inlined
def add_one(desk: np.ndarray, place: int) -> Any:
    """Adds 1 to a number; returns what it was."""
    while True:
        number = load(desk, place)
        if replace(desk, place, number, number + 1):
            return np.int64(number)


@inlined
def claim(desk: np.ndarray) -> Any:
    """Takes the next open ticket; -1 if there is none now.

    A ticket is only claimed while it is open, and the leader waits for those that are
    claimed. So whatever the leader noted when it opened the ticket still stands.
    """
    while True:
        ticket = load(desk, CLAIMED)
        if ticket >= load(desk, OPENED):
            return np.int64(-1)
        if replace(desk, CLAIMED, ticket, ticket + 1):
            return ticket


@inlined
def open_tickets(desk: np.ndarray, first: int, end: int) -> None:
    """Opens a ticket for each of the pieces `first .. end - 1`; all earlier tickets are
    finished. A piece's number is its ticket's plus what is noted at FIRST."""
    opened = load(desk, OPENED)
    desk[FIRST] = first - opened
    replace(desk, OPENED, opened, opened + end - first)


@inlined
def next_ticket(desk: np.ndarray, leads: bool) -> Any:
    """Waits for an open ticket and claims it.

    Returns:
        -1 when there is none to wait for: for a leader, when all that were opened are
        finished, for the others, when the desk is closed; for all, when one failed.
    """
    while load(desk, CLOSED) == 0 and load(desk, FAILED) == 0:
        ticket = claim(desk)
        if ticket >= 0:
            if not leads:
                add_one(desk, HELPED)
            return ticket
        if leads and load(desk, FINISHED) == load(desk, OPENED):
            return np.int64(-1)
        give_way()
    return np.int64(-1)


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
        do(what, desk, ticket + desk[FIRST])
        add_one(desk, FINISHED)


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
