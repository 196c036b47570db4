"""Clocks that measure compilation, or exclude it from measurements."""

import contextlib
import gc
import threading
import time
from collections.abc import Iterator


class _Compiling(threading.local):
    """The compile time of a thread.

    Attributes:
        seconds: total time.
        began: start of the current compilation, None outside of compilations.
    """

    seconds: float = 0.0
    began: float | None = None


_compiling = _Compiling()


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """Adds the time of a block to the thread's compile time; nested blocks count once.

    The garbage collector is off meanwhile, which saves a seventh of the time, because
    numba creates millions of objects of which few are garbage.
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
            gc.collect(0)  # would otherwise happen during the next allocation
        _compiling.seconds += time.perf_counter() - _compiling.began
        _compiling.began = None


def seconds_compiled() -> float:
    """Returns the seconds that this thread has spent on compiling and loading code."""
    return _compiling.seconds


def working_clock() -> float:
    """Returns `time.perf_counter()` minus the compile time of this thread."""
    return time.perf_counter() - _compiling.seconds
