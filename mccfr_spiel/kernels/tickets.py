"""Tickets, by which threads claim pieces of work.

Threads share a *desk*, a few integers that they change atomically. Pieces of work are
numbered by tickets 0, 1, 2, ... One thread, the leader, opens tickets. Any thread
claims the next open ticket, does the work, and counts it as finished. The leader opens
more tickets only when all open ones are finished. No thread waits for another one to
start: a thread that is late finds less work, or none.
"""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.atomics import give_way, load, replace
from mccfr_spiel.kernels.jit import inlined, pasted

_APART = 8
"""Distance of integers that different threads change, so that no two share a cache
line.
"""

OPENED, CLAIMED, FINISHED, HELPED, CLOSED, FAILED, FIRST, _FREE = range(
    0, 8 * _APART, _APART
)
"""The entries of a desk.

OPENED: number of tickets opened so far.
CLAIMED: number of tickets claimed so far.
FINISHED: number of tickets finished so far.
HELPED: number of tickets claimed by threads other than the leader.
CLOSED: 1 if no more tickets will be opened.
FAILED: 1 if a thread has failed, so that its ticket will not be finished.
FIRST: offset from tickets to pieces, for the open tickets.
"""

NOTES = _FREE
"""First of the entries where a leader describes the work of the open tickets."""


def new_desk(num_notes: int = 0) -> np.ndarray:
    """Returns a desk without tickets, `[NOTES + num_notes]`, int64."""
    return np.zeros(NOTES + num_notes, np.int64)


@inlined
def add_one(desk: np.ndarray, place: int) -> Any:
    """Increments an entry of a desk atomically; returns the old value."""
    # Repeats if another thread has changed the entry between the two steps.
    while True:
        count = load(desk, place)
        if replace(desk, place, count, count + 1):
            return np.int64(count)


@inlined
def claim(desk: np.ndarray) -> Any:
    """Claims the next open ticket; returns -1 if no ticket is open.

    The leader waits for all claimed tickets before it opens others. So its notes stay
    valid while a ticket is processed.
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
    # No ticket is open now, so no thread reads FIRST. The atomic step afterwards makes
    # the new value visible to every thread that sees the tickets.
    desk[FIRST] = first - opened
    replace(desk, OPENED, opened, opened + end - first)


@inlined
def next_ticket(desk: np.ndarray, leads: bool) -> Any:
    """Waits for an open ticket and claims it.

    Returns:
        The ticket, or -1 if there is no more work: for a leader when all open tickets
        are finished, for other threads when the desk is closed, for all when one has
        failed.
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


# The argument `do` of the following functions is a large function. They are pasted,
# because LLVM would optimize `do` once more for each `inlined` function that calls it.


@pasted
def take_pieces(do: Any, what: Any, desk: np.ndarray, leads: bool) -> None:
    """Processes pieces by `do(what, desk, piece)` while there are tickets.

    It returns for a leader when all open tickets are finished, for other threads when
    the desk is closed, and for all when a thread has failed.
    """
    while True:
        ticket = next_ticket(desk, leads)
        if ticket < 0:
            break
        do(what, desk, ticket + desk[FIRST])
        add_one(desk, FINISHED)


@pasted
def share(do: Any, what: Any, desk: np.ndarray, first: int, end: int) -> None:
    """Processes the pieces `first .. end - 1` in parallel; only a leader may call it.

    The pieces must not depend on their order.
    """
    if end - first == 1:  # a ticket would cost more than it saves
        do(what, desk, np.int64(first))
    else:
        open_tickets(desk, first, end)
        take_pieces(do, what, desk, True)
