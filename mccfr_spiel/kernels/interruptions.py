"""Defers Python signal handlers during code that must not be interrupted.

Ctrl-C raises KeyboardInterrupt between any two steps of Python code. If this happens in
numba's compiler, for example while a module registers functions, the registration
remains incomplete and cannot be repeated. Every later compilation in the process would
fail ("duplicate registration", "generator raised StopIteration").
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_SIGNALS = sorted(map(int, signal.valid_signals()))

_handler_of: Callable[[int], object] = getattr(signal, "_signal", signal).getsignal
"""Returns the handler of a signal. This is CPython's C function, ten times as fast as
`signal.getsignal`, which converts the result to an enumeration."""


class _Noted:
    """A signal handler that records signals instead of handling them.

    When the block of `signals_deferred` has ended, it calls the original handlers
    instead of recording. This matters if an exception in one original handler prevents
    that the others are reinstalled: their signals still arrive here.

    Attributes:
        frames: for each signal number that arrived, the Python frame in which it
            arrived first.
        handlers: the original handlers, by signal number.
        is_over: whether the block has ended.
    """

    def __init__(self) -> None:
        self.frames: dict[int, FrameType | None] = {}
        self.handlers: dict[int, Callable[..., object]] = {}
        self.is_over = False

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if self.is_over:
            self.handlers[signum](signum, frame)
        else:
            self.frames.setdefault(signum, frame)

    def deliver(self) -> None:
        """Calls the handlers of recorded signals, even if some of them raise."""
        for signum in list(self.frames)[:1]:
            frame = self.frames.pop(signum)
            try:
                self.handlers[signum](signum, frame)
            finally:
                self.deliver()


def _deliver_in_child() -> None:
    """Ends all deferrals in a forked child process.

    The child may never reach the ends of the blocks in which the parent was.
    """
    for handler in map(_handler_of, _SIGNALS):
        if isinstance(handler, _Noted):
            handler.is_over = True


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_deliver_in_child)


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Runs a block to completion before any Python signal handler is called.

    After the block, the handler of each signal that arrived is called once, in order of
    arrival. Exceptions of handlers, usually KeyboardInterrupt, propagate from the
    `with` statement. Ignored signals and signals with a default action of the operating
    system are not affected. In threads other than the main thread this does nothing,
    because only the main thread runs handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted = _Noted()
    try:
        of_python = [n for n in _SIGNALS if callable(_handler_of(n))]
        for signum in of_python:
            handler = _handler_of(signum)
            if isinstance(handler, _Noted) and handler.is_over:
                handler = handler.handlers[signum]
            if not callable(handler) or isinstance(handler, _Noted):
                continue  # a default action, or deferred by an enclosing block
            noted.handlers[signum] = handler
            try:
                signal.signal(signum, noted)
            except ValueError:  # in a subinterpreter, which receives no signals
                break
        yield
    finally:
        try:
            noted.is_over = True  # from now on signals are forwarded and may raise
            for signum, handler in noted.handlers.items():
                signal.signal(signum, handler)
        finally:
            noted.deliver()
