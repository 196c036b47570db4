"""TreeLock: one lock for a tree and for everything that reads or changes it.

Compiled code does not check indices. A table that one thread reads while another thread
enlarges it would crash the process. Therefore every public method that touches a tree
runs under the tree's lock, and a decorator declares what the method does:

    reads     leaves the tree and its solvers unchanged
    runs      a slice of `Solver.iterate`, which consists of steps
    steps     one step, which no other call may interrupt
    changes   one step, only allowed if its own thread is not inside the lock already

Other threads wait for the lock. The thread that holds the lock may call again: a signal
handler may ask the solver for a policy, or a method of the game may call the solver. If
such a call waited, it would wait for itself forever. Therefore it is admitted between
two steps if it only reads, and otherwise raises TreeInUseError.

CPython runs signal handlers after a call, at the start of a function, and at each pass
of a loop. `with` on a lock of the standard library is none of these, so Ctrl-C finds
the lock either free, or taken and certain to be released. A context manager written in
Python could leave the lock held.

After a fork, the child has only the thread that forked. Locks that other threads held
are replaced in the child, because nobody would release them. A tree that another thread
was changing stays unusable in the child.
"""

import functools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

FREE, READING = 0, 1
STEPPING = 1 << 30

_A_MOMENT = 1e-4
"""Seconds for which a thread yields the lock to waiting threads. Otherwise a running
thread would take the free mutex before a waiting thread wakes up."""


class TreeInUseError(RuntimeError):
    """A call would interfere with a call of its own thread that is still running."""


class TreeLock:
    """The lock of a tree.

    Attributes:
        mutex: reentrant lock of the thread inside.
        level: what the holder is doing: FREE, plus READING for each nested call of
            `reads` and `runs`, plus STEPPING in a step. Only modified under the mutex,
            so a holder that finds it above FREE is in a nested call.
        waiting: identifiers of threads that wait or may have to wait.
        in_kernel: whether the holder runs a kernel, which may have released the
            interpreter's lock in the middle of a change.
        was_torn: whether another thread was changing the tree when this process was
            forked.
    """

    __slots__ = (
        *("__weakref__", "in_kernel", "level", "mutex", "waiting"),
        "was_torn",
    )

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.level = FREE
        self.waiting: set[int] = set()
        self.in_kernel = self.was_torn = False
        _locks.add(self)

    def reset_in_child(self) -> None:
        """Replaces the mutex if its holder does not exist in this forked child."""
        self.waiting = set()
        if self.mutex.acquire(blocking=False):  # free, or held by the forking thread
            self.mutex.release()
            return
        self.mutex = threading.RLock()
        self.was_torn = self.in_kernel or self.level >= STEPPING
        self.level = STEPPING if self.was_torn else FREE

    def refuse(self, doing: str) -> NoReturn:
        """Raises TreeInUseError."""
        if self.was_torn:
            raise TreeInUseError(
                f"{doing} was called in a forked child, but another thread of the "
                "parent was changing the tree during the fork, so its tables are "
                'unusable here. Start processes with the "spawn" method, or fork while '
                "no other thread runs a solver on this tree."
            )
        raise TreeInUseError(
            f"{doing} was called from inside a call that is changing the same tree: by "
            "a signal handler, a game or an abstraction. Wait until the outer call "
            "(such as iterate) returns. A signal handler can set a flag or raise "
            "an exception instead."
        )


_locks: weakref.WeakSet[TreeLock] = weakref.WeakSet()


def _reset_in_child() -> None:
    for lock in list(_locks):
        lock.reset_in_child()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_reset_in_child)


class Locked(Protocol):
    """An object with a tree's lock: the tree itself, or a solver on it."""

    @property
    def lock(self) -> TreeLock: ...


_S = TypeVar("_S", bound=Locked)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_Method = Callable[Concatenate[_S, _P], _R]


def _under_lock(
    method: _Method[_S, _P, _R],
    refused_from: int,
    raised_by: int,
    name: str | None = None,
) -> _Method[_S, _P, _R]:
    """Wraps a method so that it runs under the lock of its object.

    Args:
        method: method to wrap.
        refused_from: lock level from which calls are refused.
        raised_by: amount added to the level while the method runs.
        name: name of the method in messages; its own name by default.
    """
    doing = name or method.__name__.strip("_")

    @functools.wraps(method)
    def locked(self: _S, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        lock, thread = self.lock, threading.get_ident()
        try:
            if lock.waiting and not lock.level:
                time.sleep(_A_MOMENT)
            # Announced before waiting, because the lock may be free now, between two
            # slices, and taken a moment later.
            lock.waiting.add(thread)
            with lock.mutex:
                lock.waiting.discard(thread)
                before = lock.level
                if before >= refused_from:
                    lock.refuse(doing)
                lock.level = before + raised_by
                try:
                    return method(self, *args, **kwargs)
                finally:
                    lock.level = before
        finally:
            lock.waiting.discard(thread)

    return locked


def reads(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """A method that needs an unchanged tree; refused in the middle of a step."""
    return _under_lock(method, STEPPING, READING)


def runs(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """A slice of `Solver.iterate`; refused if its own thread is inside the lock
    already."""
    return _under_lock(method, READING, READING, "iterate")


def steps(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """A step, which no other call may interrupt; refused in the middle of another
    step."""
    return _under_lock(method, STEPPING, STEPPING)


def changes(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """A step that is refused if its own thread is inside the lock already."""
    return _under_lock(method, READING, STEPPING)
