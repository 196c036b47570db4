"""TreeLock: one lock for a tree and for everything that reads or changes it.

Compiled code does not check indices. If one thread read a table while another thread
enlarged it, the process could crash. Therefore every public method that reads or
changes a tree runs under the tree's lock. A *step* is a change of the tree or of a
solver that must be completed before the tree is used again. A decorator declares what
a method does:

    reads     reads the tree or its solvers
    runs      runs a slice of `Solver.iterate`, which performs several steps
    steps     performs one step
    changes   performs one step that must not be called from inside another call

Other threads wait for the lock. The thread that holds the lock may call a method again:
a signal handler may request a policy from the solver, or a method of the game may call
the solver. If such a nested call waited for the lock, it would wait forever. Therefore
it does not wait. A nested call of a `reads` or `steps` method is admitted unless a step
is in progress. A nested call of a `runs` or `changes` method, or any nested call during
a step, raises TreeInUseError.

CPython runs signal handlers after a call, at the start of a function, and at each pass
of a loop. A `with` statement on a lock of the standard library contains none of these.
Hence Ctrl-C interrupts either before the lock is acquired, or when it is certain to be
released. A context manager written in Python could leave the lock held.

After a fork, the child process has only the thread that forked. Locks that other
threads held are replaced in the child, because no thread would release them. If one of
these threads was changing a tree, the tree stays unusable in the child.
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
"""Values of `TreeLock.level`. Calls add READING or STEPPING to it, so it is at least
STEPPING if and only if a step is in progress."""

_A_MOMENT = 1e-4
"""Seconds that a thread sleeps before it acquires the lock if other threads wait for
it. Otherwise the running thread would acquire the lock again before they wake up."""


class TreeInUseError(RuntimeError):
    """A method was called in the middle of another call of the same thread that it must
    not interrupt."""


class TreeLock:
    """The lock of a tree.

    Attributes:
        mutex: reentrant lock, held by the thread that runs a method.
        level: calls in progress: FREE, plus READING for each call of a `reads` or
            `runs` method, plus STEPPING for each step. It is only modified under the
            mutex. So if a thread has acquired the mutex and the level is above FREE,
            the thread is in a nested call.
        waiting: identifiers of threads that wait or are about to acquire the mutex.
        in_kernel: whether the holder runs a kernel, during which another thread may
            fork the process, because kernels release the interpreter's lock.
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
        """Replaces the mutex if the thread that holds it does not exist in this forked
        child process."""
        self.waiting = set()
        # Succeeds if the mutex is free or held by the thread that forked.
        if self.mutex.acquire(blocking=False):
            self.mutex.release()
            return
        self.mutex = threading.RLock()
        self.was_torn = self.in_kernel or self.level >= STEPPING
        self.level = STEPPING if self.was_torn else FREE

    def refuse(self, doing: str) -> NoReturn:
        """Raises TreeInUseError.

        Args:
            doing: name of the refused method in the message.
        """
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
        refused_from: calls raise TreeInUseError if `TreeLock.level` is at least this
            value.
        raised_by: amount added to the level while the method runs.
        name: name of the method in messages; by default `method.__name__` without outer
            underscores.
    """
    doing = name or method.__name__.strip("_")

    @functools.wraps(method)
    def locked(self: _S, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        lock, thread = self.lock, threading.get_ident()
        try:
            if lock.waiting and not lock.level:
                time.sleep(_A_MOMENT)
            # The thread is added to `waiting` even if the mutex is free, because a
            # concurrent thread may acquire the mutex before the following line.
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
    """Decorates a method that reads a tree. Nested calls during a step are refused."""
    return _under_lock(method, STEPPING, READING)


def runs(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """Decorates a method that runs a slice of `Solver.iterate`. All nested calls are
    refused."""
    return _under_lock(method, READING, READING, "iterate")


def steps(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """Decorates a method that is a step. Nested calls during a step are refused."""
    return _under_lock(method, STEPPING, STEPPING)


def changes(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """Decorates a method that is a step. All nested calls are refused."""
    return _under_lock(method, READING, STEPPING)
