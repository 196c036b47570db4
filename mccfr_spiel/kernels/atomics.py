"""Atomic operations on integers that threads share.

Compiled code that runs in several threads has released Python's global lock (GIL) and
must not wait for it. So the threads communicate through an array of int64, the *desk*
(tickets.py), by operations that no other thread can interrupt. If compilation is
disabled (NUMBA_DISABLE_JIT=1), the Python versions below use a lock.
"""

import os
import sys
import threading
import time
from typing import Any

import llvmlite.binding
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from mccfr_spiel.kernels.drafts import PASTED

_LOCK = threading.RLock()

# A forked child must find the lock free. Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LOCK.acquire,
        after_in_child=_LOCK.release,
        after_in_parent=_LOCK.release,
    )


def load(desk: np.ndarray, entry: int) -> int:
    """Returns `desk[entry]`, read atomically."""
    return int(desk[entry])


def replace(desk: np.ndarray, entry: int, old: int, new: int) -> bool:
    """Sets `desk[entry]` to `new` if its value is `old`; returns whether it was.

    A thread that reads the new value also sees all earlier writes of this thread.
    """
    with _LOCK:
        if desk[entry] != old:
            return False
        desk[entry] = new
        return True


def give_way() -> None:
    """Yields the processor to other threads."""
    time.sleep(0)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emits code for the address of `desk[entry]`; returns the pointer.

    `desk` and `entry` are the first two of the `arguments`.
    """
    desk, entry = signature.args[:2]
    data = context.make_array(desk)(context, builder, arguments[0]).data
    at = context.cast(builder, arguments[1], entry, types.intp)
    return cgutils.gep(builder, data, at)


# Sequentially consistent operations: a thread that reads a value also sees all earlier
# writes of the thread that stored the value.


def _emit_load(_: Any, desk: Any, entry: Any) -> Any:
    def generate(context: Any, builder: Any, *call: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, *call), "seq_cst", 8)

    return types.int64(desk, entry), generate


def _emit_replace(_: Any, desk: Any, entry: Any, old: Any, new: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _pointer(context, builder, signature, arguments)
        numbers = [
            context.cast(builder, arguments[k], signature.args[k], types.int64)
            for k in (2, 3)
        ]
        # The instruction returns the old value and whether the exchange took place.
        pair = builder.cmpxchg(at, *numbers, "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(desk, entry, old, new), generate


_load: Any = intrinsic(_emit_load)
_replace: Any = intrinsic(_emit_replace)


@overload(load, jit_options=PASTED)
def _compiled_load(desk, entry):
    return lambda desk, entry: _load(desk, entry)


@overload(replace, jit_options=PASTED)
def _compiled_replace(desk, entry, old, new):
    return lambda desk, entry, old, new: _replace(desk, entry, old, new)


_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
_is_known = llvmlite.binding.address_of_symbol(_YIELD) is not None
_yield: Any = types.ExternalFunction(_YIELD, types.int32())


@overload(give_way, jit_options=PASTED)
def _compiled_give_way():
    if not _is_known:  # waiting threads are busy until the scheduler stops them
        return lambda: None

    def call():
        _yield()

    return call
