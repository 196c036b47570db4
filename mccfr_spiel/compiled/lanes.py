"""Tickets that come back to the thread that had them last.

What a thread writes stays in the cache of its core until another core asks for it, and
fetching a line from there takes longer than fetching one that nobody has written. So
the tickets of a stage are dealt out to *lanes*, one for each thread, always in the same
way, and a thread takes those of its own lane first. Once they are all claimed it takes
what is left in others.

A lane is one number, so that it is read and changed in one step: the stage, the next
ticket of the lane, and its last one plus one. The tickets of a stage are numbered from
0 on.
"""

from typing import Any

import numpy as np

from mccfr_spiel.compiled.atomics import (
    OPENED,
    give_way,
    is_idle,
    is_over,
    load,
    replace,
    store,
)
from mccfr_spiel.compiled.jit import inlined

_APART = 8
_BITS = 16
_MASK = (1 << _BITS) - 1

MOST_LANES = 64
"""More threads than that share lanes."""

MOST_TICKETS = _MASK
"""The most tickets of a stage."""

ARRIVED, STAGES, NUM_LANES, _FIRST = 0, _APART, _APART + 1, 2 * _APART
"""Where, counted from the first note for lanes, a desk has the number of threads that
have come to help, of the stages so far, of the lanes, and the first lane."""

NUM_LANE_NOTES = _FIRST + MOST_LANES * _APART
"""The notes that lanes take on a desk."""


@inlined
def take_lane(desk: np.ndarray, at: int, leads: bool) -> Any:
    """The lane of a thread: the first one for the leader, the next free for others.

    Args:
        desk: the desk.
        at: the first note for lanes.
        leads: whether the thread is the leader.
    """
    if leads:
        return np.int64(0)
    while True:
        arrived = load(desk, at + ARRIVED)
        if replace(desk, at + ARRIVED, arrived, arrived + 1):
            return np.int64(arrived + 1)


@inlined
def open_lanes(desk: np.ndarray, at: int, num_tickets: Any) -> None:
    """Opens a stage's tickets `0 .. num_tickets - 1`; all earlier ones are finished."""
    desk[at + STAGES] += 1
    lanes = desk[at + NUM_LANES]
    for lane in range(lanes):
        first, end = lane * num_tickets // lanes, (lane + 1) * num_tickets // lanes
        number = (desk[at + STAGES] << 2 * _BITS) + (first << _BITS) + end
        store(desk, at + _FIRST + lane * _APART, number)
    store(desk, OPENED, load(desk, OPENED) + num_tickets)


@inlined
def _claim_in(desk: np.ndarray, place: Any) -> Any:
    """Takes the next ticket of a lane; -1 if there is none."""
    while True:
        number: Any = np.int64(load(desk, place))
        ticket = (number >> _BITS) & _MASK
        if ticket >= number & _MASK:
            return np.int64(-1)
        if replace(desk, place, number, number + (1 << _BITS)):
            return ticket


@inlined
def next_in_lanes(desk: np.ndarray, at: int, lane: Any, leads: bool) -> Any:
    """Waits for an open ticket and claims it.

    Args:
        desk: the desk.
        at: the first note for lanes.
        lane: the thread's.
        leads: whether the thread is the leader.

    Returns:
        As `atomics.next_ticket`.
    """
    seen: Any = np.int64(-1)
    while not is_over(desk):
        opened: Any = np.int64(load(desk, OPENED))
        if opened != seen:  # or what there was has been claimed
            lanes = max(load(desk, at + NUM_LANES), 1)
            for k in range(lanes):
                place = at + _FIRST + (lane + k) % lanes * _APART
                ticket = _claim_in(desk, place)
                if ticket >= 0:
                    return ticket
            seen = opened
        if leads and is_idle(desk):
            return np.int64(-1)
        give_way()
    return np.int64(-1)
