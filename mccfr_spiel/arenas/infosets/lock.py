"""One lock for a tree and for all that reads or changes it: solvers, policies, passes.

Compiled code checks no index, so a table that is read while another thread enlarges it
is a crash. Every public method that touches a tree therefore runs under the tree's lock
and says by its decorator what it does:

- `reads`: leaves the tree and its solvers as they are for everybody else;
- `runs`: is a slice of `Solver.iterate`, which consists of steps. Between two steps all
  tables fit the tree;
- `steps`: is one such step, in the middle of which nothing else may come in;
- `changes`: is one such step from beginning to end.

Other threads wait for the lock. The thread that holds it may call a second time: a
signal handler may ask the solver for a policy, or a game's method may call it. If such
a call waited, it would wait for itself for ever. So it is let in between two steps if
it only reads, and otherwise raises TreeInUseError.

The code below is shaped by signals. CPython runs their handlers after a call, and at
the beginning of a function and of each pass of a loop. `with` on a lock of the standard
library is none of these, so Ctrl-C finds the lock either free, or taken and certain to
be released. A context manager written in Python could be left with the lock held.

A forked child has only the thread that forked. Locks that other threads held are
replaced there, because nobody would release them. A tree that another thread was
changing stays unusable in the child.
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
"""Seconds that a thread leaves the lock to others that wait for it. A running thread
would take a free mutex sooner than one that must be woken up."""


class TreeInUseError(RuntimeError):
    """A call would disturb what its own thread is in the middle of doing."""


class TreeLock:
    """A tree's lock.

    Attributes:
        mutex: held by whoever is inside.
        level: what the holder is doing: FREE; READING for each call of `reads` and
            `runs`, one inside the other; more than that in a step. It is changed under
            the mutex only, so a holder that finds it above FREE is inside twice.
        waiting: the threads that wait, or may have to, by their numbers.
        in_kernel: whether the holder runs a solver's kernel, which may have released
            the interpreter's lock in the middle of a change.
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
        """Replaces the mutex if a thread holds it that does not exist in this child."""
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
            "a signal handler, or by a game or an abstraction. Call it after that one "
            "(such as iterate) has returned; a signal handler can note that it came, "
            "or raise an exception."
        )


_locks: weakref.WeakSet[TreeLock] = weakref.WeakSet()


def _reset_in_child() -> None:
    for lock in list(_locks):
        lock.reset_in_child()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_reset_in_child)


class Locked(Protocol):
    """An object under a tree's lock: the tree itself, or a solver on it."""

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
        method: the method.
        refused_from: calls are refused if the level of the lock is at least this.
        raised_by: is added to the level while the method runs.
        name: what messages call the method, by default its own name.
    """
    doing = name or method.__name__.lstrip("_")

    @functools.wraps(method)
    def locked(self: _S, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        lock, thread = self.lock, threading.get_ident()
        try:
            if lock.waiting and not lock.level:
                time.sleep(_A_MOMENT)
            # Whoever comes between two slices finds the lock free, and then taken.
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
    """A method during which nobody may change the tree.

    It is refused in the middle of a step.
    """
    return _under_lock(method, STEPPING, READING)


def runs(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """A slice of `Solver.iterate`, refused where its own thread is inside already."""
    return _under_lock(method, READING, READING, "iterate")


def steps(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """A step, in the middle of which not even its own thread may come in.

    It is refused in the middle of another step.
    """
    return _under_lock(method, STEPPING, STEPPING)


def changes(method: _Method[_S, _P, _R]) -> _Method[_S, _P, _R]:
    """A step that is refused wherever its own thread is inside already."""
    return _under_lock(method, READING, STEPPING)
