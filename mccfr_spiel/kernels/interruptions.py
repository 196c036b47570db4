"""Keeps signals out of code that must not be left in the middle.

Ctrl-C raises KeyboardInterrupt between any two steps of Python code. Numba's compiler
is not made for that: its registries are filled by imports and generators, which cannot
be repeated once they were interrupted. Every later compilation in the process would
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
"""The handler of a signal, as the C function of CPython has it. `signal.getsignal` adds
members of an enumeration, for which it takes ten times as long for each signal."""


class _Noted:
    """A signal handler that only notes which signals arrived, and where.

    Once the block is over, it calls the handler in whose place it stands. What a
    handler raises may keep the others from being put back, and those must still be
    heard.
    """

    def __init__(self) -> None:
        self.frames: dict[int, FrameType | None] = {}
        self.handlers: dict[int, Callable[..., object]] = {}
        self.is_over = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.is_over:
            self.handlers[number](number, frame)
        else:
            self.frames.setdefault(number, frame)

    def deliver(self) -> None:
        """Calls the handlers that became due, however many of them raise."""
        for number in list(self.frames)[:1]:
            frame = self.frames.pop(number)
            try:
                self.handlers[number](number, frame)
            finally:
                self.deliver()


def _deliver_in_child() -> None:
    """Ends deferrals in a forked child, where their blocks may never end."""
    for handler in map(_handler_of, _SIGNALS):
        if isinstance(handler, _Noted):
            handler.is_over = True


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_deliver_in_child)


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Runs a block to its end before any Python signal handler is called.

    Handlers that became due are called right after the block, each once, in the order
    in which the signals arrived. What they raise, usually KeyboardInterrupt, leaves the
    block. Signals that are ignored, or that end the process without Python code, are
    not affected. Only the main thread runs handlers, so in others there is nothing to
    do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted = _Noted()
    try:
        of_python = [n for n in _SIGNALS if callable(_handler_of(n))]
        for number in of_python:
            handler = _handler_of(number)
            if isinstance(handler, _Noted) and handler.is_over:
                handler = handler.handlers[number]
            if not callable(handler) or isinstance(handler, _Noted):
                continue  # no Python code, or deferred by a block around this one
            noted.handlers[number] = handler
            try:
                signal.signal(number, noted)
            except ValueError:  # in a subinterpreter, where no signals arrive either
                break
        yield
    finally:
        try:
            noted.is_over = True  # from here on, what is heard may raise at any step
            for number, handler in noted.handlers.items():
                signal.signal(number, handler)
        finally:
            noted.deliver()
