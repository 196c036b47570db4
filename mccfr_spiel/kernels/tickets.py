"""Tickets by which threads share pieces of work."""

from typing import Any

import numpy as np

from mccfr_spiel.kernels.atomics import give_way, load, replace
from mccfr_spiel.kernels.jit import inlined, pasted

_APART = 8
"""Numbers that different threads change lie in different lines of the cache."""

OPENED, CLAIMED, FINISHED, HELPED, CLOSED, FAILED, FIRST, _FREE = range(
    0, 8 * _APART, _APART
)
"""The places on a desk: the tickets opened, claimed and finished so far; those that
helpers have claimed; whether no more will be opened; whether a thread has failed, so
that its ticket is never finished; and what to add to an open ticket's number to get the
piece of work that it stands for."""

NOTES = _FREE
"""The first of the places where a leader may note what the open tickets are about."""


def new_desk(num_notes: int = 0) -> np.ndarray:
    """`[NOTES + num_notes]` int64, a desk without tickets."""
    return np.zeros(NOTES + num_notes, np.int64)


@inlined
def add_one(desk: np.ndarray, place: int) -> Any:
    """Adds 1 to a number; returns what it was."""
    while True:
        number = load(desk, place)
        if replace(desk, place, number, number + 1):
            return np.int64(number)


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
    desk[FIRST] = first - opened
    replace(desk, OPENED, opened, opened + end - first)


@inlined
def next_ticket(desk: np.ndarray, leads: bool) -> Any:
    """Waits for an open ticket and claims it.

    Returns:
        -1 when there is none to wait for: for a leader, when all that were opened are
        finished, for the others, when the desk is closed; for all, when one failed.
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


# What these call by its argument `do` is long. They are pasted, since LLVM optimizes it
# once more for each inlined helper that calls it.


@pasted
def take_pieces(do: Any, what: Any, desk: np.ndarray, leads: bool) -> None:
    """Does pieces of work by `do(what, desk, piece)` for as long as there are any.

    A leader returns when all that are open are finished, or one has failed; the others
    when the desk is closed.
    """
    while True:
        ticket = next_ticket(desk, leads)
        if ticket < 0:
            break
        do(what, desk, ticket + desk[FIRST])
        add_one(desk, FINISHED)


@pasted
def share(do: Any, what: Any, desk: np.ndarray, first: int, end: int) -> None:
    """Has the pieces `first .. end - 1` done, by all threads that come to help.

    Only a leader calls it. The pieces may be done in any order, or at once.
    """
    if end - first == 1:  # not worth a ticket
        do(what, desk, np.int64(first))
    else:
        open_tickets(desk, first, end)
        take_pieces(do, what, desk, True)
