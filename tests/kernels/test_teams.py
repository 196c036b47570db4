"""Threads process each ticket once; neither errors nor missing threads block them."""

import threading

import numpy as np
import pytest

from mccfr_spiel.kernels import teams
from mccfr_spiel.kernels.atomics import load
from mccfr_spiel.kernels.jit import jit
from mccfr_spiel.kernels.tickets import (
    CLAIMED,
    FAILED,
    FINISHED,
    add_one,
    next_ticket,
    open_tickets,
)

pytestmark = pytest.mark.both


@jit(nogil=True)
def count_tickets(done, rounds, desk, leads):
    """Opens one ticket per entry of `done`, in several rounds."""
    opened = 0
    while True:
        ticket = next_ticket(desk, leads)
        if ticket < 0:
            if not leads or opened == rounds or load(desk, FAILED) != 0:
                return opened
            opened += 1
            open_tickets(desk, 0, len(done))
            continue
        done[ticket % len(done)] += 1
        add_one(desk, FINISHED)


@jit(nogil=True)
def wait_for_ticket(desk, leads):
    """Calls `next_ticket` from Python, with the lock released for other threads."""
    return next_ticket(desk, leads)


@pytest.mark.parametrize("threads", [1, 3])
def test_each_ticket_is_processed_once_per_round(threads):
    for _ in range(20):
        done = np.zeros(50, np.int64)
        assert teams.run(count_tickets, threads, done, 30) == 30
        assert done.tolist() == [30] * 50


def test_leader_works_alone_if_no_thread_starts(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(teams, "submit", refuse)
    done = np.zeros(9, np.int64)
    assert teams.run(count_tickets, 3, done, 2) == 2
    assert done.tolist() == [2] * 9
    parts: list[tuple[int, int]] = []
    teams.in_parts(3, 7, parts.append)
    assert sorted(parts) == [(0, 2), (2, 4), (4, 7)]


class OddError(Exception):
    pass


def test_error_of_a_helper_is_raised():
    def work(desk, leads):
        if not leads:
            assert wait_for_ticket(desk, leads) == 0
            raise OddError
        open_tickets(desk, 0, 1)
        while load(desk, CLAIMED) == 0:  # wait until the helper has it
            pass
        assert wait_for_ticket(desk, leads) == -1
        return 0

    for _ in range(3):
        with pytest.raises(OddError):
            teams.run(work, 2)


def test_error_of_the_leader_ends_helpers():
    begun, ended = threading.Event(), threading.Event()

    def work(desk, leads):
        if leads:
            assert begun.wait(60)
            raise OddError
        begun.set()
        assert wait_for_ticket(desk, leads) == -1
        assert load(desk, FAILED) == 0
        ended.set()
        return 0

    with pytest.raises(OddError):
        teams.run(work, 2)
    assert ended.wait(60)
