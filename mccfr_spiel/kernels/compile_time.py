"""Clocks that measure or exclude compilation."""

import contextlib
import gc
import threading
import time
from collections.abc import Iterator


class _Compiling(threading.local):
    """How long a thread has compiled.

    Attributes:
        seconds: in all.
        began: when it began with what it compiles now; None if it compiles nothing.
    """

    seconds: float = 0.0
    began: float | None = None


_compiling = _Compiling()


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """Adds to the thread's seconds; what one function compiles for another counts
    once.

    Numba makes millions of objects, of which few are garbage, so the garbage collector
    pauses meanwhile: that takes a seventh off the time.
    """
    if _compiling.began is not None:
        yield
        return
    _compiling.began = time.perf_counter()
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
            gc.collect(0)  # it would come with the next object that is made
        _compiling.seconds += time.perf_counter() - _compiling.began
        _compiling.began = None


def seconds_compiled() -> float:
    """The seconds that this thread has spent on compiling, or loading compiled code."""
    return _compiling.seconds


def working_clock() -> float:
    """`time.perf_counter()`, which stands still while this thread compiles."""
    return time.perf_counter() - _compiling.seconds
