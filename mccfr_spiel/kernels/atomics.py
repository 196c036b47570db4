"""Numbers that threads share: counters, and tickets for pieces of work.

Compiled code that runs in several threads at once must not wait for Python, whose lock
it has released. So threads agree by a few integers, the *desk*, which they read and
change in steps that no other thread can come between. Pieces of work are numbered by
tickets 0, 1, 2, ... One thread, the leader, opens tickets; any thread claims the next
open one, does the work and counts it as finished. The leader opens more only when all
that are open are finished. Nobody waits for a thread to arrive: a thread that comes
late finds less work, or none.

With the JIT off the same functions run as plain Python under a lock.

Asking the processor for memory before it is needed.

Which node a walk visits next depends on the draw at the present one. In a tree much
larger than the processor's caches it would wait for memory at every step. So all
children are asked for before the draw is made, and arrive while it is.
"""

import sys
import threading
import time
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from mccfr_spiel.kernels.jit import PASTED, inlined

_APART = 8
"""Numbers that different threads change lie in different lines of the cache."""

OPENED, CLAIMED, FINISHED, HELPED, CLOSED, FAILED, FIRST, STATUS, _FREE = range(
    0, 9 * _APART, _APART
)
"""The places on a desk: the tickets opened, claimed and finished so far, those that
others than the leader have claimed, whether there will be no more, whether a thread
failed, so that its ticket is never finished, the piece of work that the first open
ticket stands for, less that ticket's number, and what `close` was told."""

NOTES = _FREE
"""The first of the places where a leader may note what the open tickets are about."""


def new_desk(num_notes: int = 0) -> np.ndarray:
    """`[NOTES + num_notes]` int64, a desk without tickets."""
    return np.zeros(NOTES + num_notes, np.int64)


# --- single steps ----------------------------------------------------------------

_LOCK = threading.Lock()


def load(desk: np.ndarray, place: int) -> int:
    """The number at a place, as it is now."""
    return int(desk[place])


def store(desk: np.ndarray, place: int, number: int) -> None:
    """Sets a number; who reads it sees all that was written before."""
    desk[place] = number


def add_one(desk: np.ndarray, place: int) -> None:
    """Adds 1 to a number."""
    with _LOCK:
        desk[place] += 1


def replace(desk: np.ndarray, place: int, old: int, new: int) -> bool:
    """Sets a number that is still `old` to `new`; returns whether it was."""
    with _LOCK:
        if desk[place] != old:
            return False
        desk[place] = new
        return True


def give_way() -> None:
    """Lets other threads have the processor for a moment."""
    time.sleep(0)


def _step(emit: Any, result: Any, num_numbers: int) -> Any:
    """An intrinsic of a desk, a place and some numbers.

    Args:
        emit: `emit(builder, pointer, numbers)` gives the value to return.
        result: its type.
        num_numbers: how many numbers there are.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        desk, place = signature.args[:2]
        data = context.make_array(desk)(context, builder, arguments[0]).data
        at = context.cast(builder, arguments[1], place, types.intp)
        numbers = [
            context.cast(builder, value, kind, types.int64)
            for value, kind in zip(arguments[2:], signature.args[2:], strict=True)
        ]
        made = emit(builder, cgutils.gep(builder, data, at), numbers)
        return context.get_dummy_value() if made is None else made

    def of_none(context: Any, desk: Any, place: Any) -> Any:
        return result(desk, place), generate

    def of_one(context: Any, desk: Any, place: Any, number: Any) -> Any:
        return result(desk, place, number), generate

    def of_two(context: Any, desk: Any, place: Any, old: Any, new: Any) -> Any:
        return result(desk, place, old, new), generate

    return intrinsic((of_none, of_one, of_two)[num_numbers])


def _emit_load(builder: Any, pointer: Any, numbers: Any) -> Any:
    return builder.load_atomic(pointer, "seq_cst", 8)


def _emit_store(builder: Any, pointer: Any, numbers: Any) -> None:
    builder.store_atomic(numbers[0], pointer, "seq_cst", 8)


def _emit_add_one(builder: Any, pointer: Any, numbers: Any) -> None:
    one = pointer.type.pointee(1)
    builder.atomic_rmw("add", pointer, one, "seq_cst")


def _emit_replace(builder: Any, pointer: Any, numbers: Any) -> Any:
    old, new = numbers
    pair = builder.cmpxchg(pointer, old, new, "seq_cst", "seq_cst")
    return builder.extract_value(pair, 1)


_load = _step(_emit_load, types.int64, 0)
_store = _step(_emit_store, types.void, 1)
_add_one = _step(_emit_add_one, types.void, 0)
_replace = _step(_emit_replace, types.boolean, 2)


@overload(load, jit_options=PASTED)
def _compiled_load(desk, place):
    return lambda desk, place: _load(desk, place)


@overload(store, jit_options=PASTED)
def _compiled_store(desk, place, number):
    return lambda desk, place, number: _store(desk, place, number)


@overload(add_one, jit_options=PASTED)
def _compiled_add_one(desk, place):
    return lambda desk, place: _add_one(desk, place)


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
    store(desk, FIRST, first - opened)
    store(desk, OPENED, opened + end - first)


@inlined
def close(desk: np.ndarray, status: int) -> None:
    """Says that there will be no more tickets, and what the call is to return."""
    desk[STATUS] = status
    store(desk, CLOSED, 1)


@inlined
def is_idle(desk: np.ndarray) -> bool:
    """Whether all tickets that were opened are finished."""
    return load(desk, FINISHED) == load(desk, OPENED)


@inlined
def is_over(desk: np.ndarray) -> bool:
    """Whether there will be no more tickets, or none that could be finished."""
    return load(desk, CLOSED) != 0 or load(desk, FAILED) != 0


@inlined
def next_ticket(desk: np.ndarray, leads: bool) -> Any:
    """Waits for an open ticket and claims it.

    Returns:
        -1 when there is none to wait for: for a leader, when all that were opened are
        finished, for the others, when the desk is closed; for all, when one failed.
    """
    while not is_over(desk):
        ticket = claim(desk)
        if ticket >= 0:
            if not leads:
                add_one(desk, HELPED)
            return ticket
        if leads and is_idle(desk):
            return np.int64(-1)
        give_way()
    return np.int64(-1)


# --- asking the processor for memory before it is needed ------------------------------


def prefetch(array, index):
    """Starts to load an entry of an array into the caches, and does nothing else."""


def _emit(context: Any, array: Any, index: Any) -> Any:
    integer = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *[integer] * 3])
    to_read, to_be_kept, data = 0, 3, 1

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        entry = builder.gep(view.data, [arguments[1]])
        function = cgutils.get_or_insert_function(
            builder.module, kind, "llvm.prefetch.p0i8"
        )
        hints = [ir.Constant(integer, hint) for hint in (to_read, to_be_kept, data)]
        builder.call(function, [builder.bitcast(entry, cgutils.voidptr_t), *hints])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


_prefetch: Any = intrinsic(_emit)


@overload(prefetch, jit_options=PASTED)
def _compiled_prefetch(array, index):
    return lambda array, index: _prefetch(array, index)
