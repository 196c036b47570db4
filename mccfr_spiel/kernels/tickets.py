"""Tickets, by which threads claim pieces of work.

The threads of a team share a *desk*, an array of a few integers that they change
atomically. A *ticket* is the number 0, 1, 2, ... of a piece of work. One thread, the
leader, *opens* tickets: it offers pieces of work to all threads. Any thread, including
the leader, *claims* the next open ticket, processes the piece, and counts the ticket as
finished. The leader opens more tickets only when all earlier tickets are finished. No
thread waits until another thread starts: a thread that starts late finds less work, or
none.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.atomics import give_way, load, replace
from mccfr_spiel.kernels.jit import inlined, pasted

_APART = 8
"""Distance between the integers of a desk, so that each has its own cache line. Threads
that change different integers then do not slow each other down."""

OPENED, CLAIMED, FINISHED, HELPED, CLOSED, FAILED, FIRST, _FREE = range(
    0, 8 * _APART, _APART
)
"""Indices of a desk.

OPENED: number of tickets opened so far.
CLAIMED: number of tickets claimed so far.
FINISHED: number of tickets finished so far.
HELPED: number of tickets claimed by threads other than the leader.
CLOSED: 1 if no more tickets will be opened.
FAILED: 1 if a thread has failed, so that its ticket will not be finished.
FIRST: number of a piece minus the number of its ticket, for the open tickets.
"""

NOTES = _FREE
"""Index of the leader's first note. Notes are integers that describe the open tickets,
for example the direction of a pass. Kernels define their meaning."""


def new_desk(num_notes: int = 0) -> np.ndarray:
    """Returns a new desk, zeros `[NOTES + num_notes]` of int64."""
    return np.zeros(NOTES + num_notes, np.int64)


@inlined
def add_one(desk: np.ndarray, entry: int) -> Any:
    """Increments `desk[entry]` atomically; returns the old value."""
    # Repeats if another thread has changed the value between the two steps.
    while True:
        count = load(desk, entry)
        if replace(desk, entry, count, count + 1):
            return np.int64(count)


@inlined
def claim(desk: np.ndarray) -> Any:
    """Claims the next open ticket; returns its number, or -1 if no ticket is open.

    The leader changes its notes only after all claimed tickets are finished. So the
    notes stay valid while a thread works on a ticket.
    """
    while True:
        ticket = load(desk, CLAIMED)
        if ticket >= load(desk, OPENED):
            return np.int64(-1)
        if replace(desk, CLAIMED, ticket, ticket + 1):
            return ticket


@inlined
def open_tickets(desk: np.ndarray, first: int, end: int) -> None:
    """Opens a ticket for each of the pieces `first .. end - 1`.

    All earlier tickets must be finished.
    """
    opened = load(desk, OPENED)
    # No ticket is open, so no thread reads FIRST now. `replace` is atomic, so each
    # thread that sees the new tickets also sees the new value of FIRST.
    desk[FIRST] = first - opened
    replace(desk, OPENED, opened, opened + end - first)


@inlined
def next_ticket(desk: np.ndarray, leads: bool) -> Any:
    """Waits until a ticket is open, claims it, and returns its number.

    Args:
        desk: the desk.
        leads: whether the calling thread is the leader.

    Returns:
        The number of the ticket, or -1 if the thread should stop:

        - the leader, when all opened tickets are finished;
        - other threads, when the leader has closed the desk;
        - all threads, when a thread has failed.
    """
    while load(desk, CLOSED) == 0 and load(desk, FAILED) == 0:
        ticket = claim(desk)
        if ticket >= 0:
            if not leads:
                add_one(desk, HELPED)
            return ticket
        if leads and load(desk, FINISHED) == load(desk, OPENED):
            return np.int64(-1)
        give_way()
    return np.int64(-1)


# The following functions are `pasted` (inlined by numba) instead of `inlined` (by LLVM,
# see jit.py). Their argument `process` is a large function, which LLVM would otherwise
# optimize once more as a part of each of them.


@pasted
def take_pieces(process: Any, work: Any, desk: np.ndarray, leads: bool) -> None:
    """Claims tickets and calls `process(work, desk, piece)` for each of their pieces.

    It returns when `next_ticket` returns -1: for the leader (`leads` is True) when all
    opened tickets are finished, for other threads when the desk is closed, and for all
    when a thread has failed.
    """
    while True:
        ticket = next_ticket(desk, leads)
        if ticket < 0:
            break
        process(work, desk, ticket + desk[FIRST])
        add_one(desk, FINISHED)


@pasted
def share(process: Any, work: Any, desk: np.ndarray, first: int, end: int) -> None:
    """Processes the pieces `first .. end - 1` in parallel; called by the leader only.

    It returns when all pieces are processed, or a thread has failed. The result must
    not depend on the order of the pieces.
    """
    if end - first == 1:  # without a ticket, because there is nothing to share
        process(work, desk, np.int64(first))
    else:
        open_tickets(desk, first, end)
        take_pieces(process, work, desk, True)
