"""Clocks that measure compilation, or exclude it from measurements."""

import contextlib
import gc
import threading
import time
from collections.abc import Iterator


class _Compiling(threading.local):
    """The time that a thread has spent on compilation.

    Attributes:
        seconds: total time of completed compilations.
        began: start of the current compilation; None if the thread is not compiling.
    """

    seconds: float = 0.0
    began: float | None = None


_compiling = _Compiling()


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """Adds the duration of a `with` block to the thread's compile time.

    Nested blocks count once. The garbage collector is off during the block, which saves
    a seventh of the time, because numba creates millions of objects of which few are
    garbage.
    """
    if _compiling.began is not None:  # nested: the outer block measures
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
            gc.collect(0)  # otherwise the next allocation would start a collection
        _compiling.seconds += time.perf_counter() - _compiling.began
        _compiling.began = None


def seconds_compiled() -> float:
    """Returns the seconds that this thread has spent on compiling and loading code."""
    return _compiling.seconds


def working_clock() -> float:
    """Returns `time.perf_counter()` minus the compile time of this thread."""
    return time.perf_counter() - _compiling.seconds
