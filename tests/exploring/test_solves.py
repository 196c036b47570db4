"""Solves that pages start: one at a time per server, bounded, and stoppable."""

import re
import time

import pytest

import mccfr_spiel as ms
from mccfr_spiel.exploring import page_api, visits
from tests.exploring.asking import Page, solved


def until_idle(page):
    end = time.monotonic() + 60
    while page.ask("visit")["solving"]:
        assert time.monotonic() < end, "The solve did not end."
        time.sleep(0.01)
    return page.ask("visit")


def num_solving(page):
    return sum(visit.is_solving for visit in page.answers.visits.values())


def test_one_solve_runs_per_server_and_stops_when_told():
    page = Page(solved("leduc_poker"))
    page.ask("overview")
    most = visits.MOST_ITERATIONS
    # As many pages as an attacker likes: the first one solves, the others are refused.
    replies = [page.do("solve", iterations=most, visit=f"v{k}") for k in range(8)]
    assert [reply.status for reply in replies] == [200, *[400] * 7]
    assert "Another page of this server is solving" in replies[1].text
    assert "still solving" in page.do("solve", visit="v0").text
    assert num_solving(page) == 1
    page.visit = "v1"
    assert page.do("stop_solving").status == 200  # has none of its own
    assert num_solving(page) == 1
    page.visit = "v0"
    while not page.ask("visit")["done"]:
        time.sleep(0.01)
    assert page.do("stop_solving").status == 200
    view = until_idle(page)
    assert re.fullmatch(r"Solved for [\d,]+ iterations of 100,000", *view["changes"])
    # What was found is kept, and is what as many iterations of CFR+ give.
    change = page.answers.visits["v0"].changes[-1]
    tree = page.tree
    solver = ms.Solver(tree, "cfr_plus")
    solver.iterate(change.iterations)
    assert (change.candidate.policy == solver.average_vector()).all()
    assert page.do("solve", iterations=5, visit="v1").status == 200


def test_solves_have_limits_of_iterations_and_seconds(monkeypatch):
    page = Page(solved("kuhn_poker"))
    page.ask("overview")
    most = visits.MOST_ITERATIONS
    for wrong in (0, most + 1):
        assert page.do("solve", iterations=wrong).status == 400
    page.do("solve", iterations=10)
    assert until_idle(page)["changes"] == ["Solved for 10 iterations"]
    reply = page.do("solve", iterations=most)  # begins anew, with 10 more
    assert reply.status == 400
    assert "after the 10 before" in reply.text
    monkeypatch.setattr(visits, "MOST_SECONDS", 0.2)
    page.do("solve", iterations=most - 10)
    words = until_idle(page)["changes"][-1]
    assert re.fullmatch(r"Solved for [\d,]+ iterations of 100,000", words)


@pytest.mark.parametrize("how", ["forgotten", "closed"])
def test_a_solve_ends_when_its_page_is_forgotten_or_the_server_stops(how):
    page = Page(solved("leduc_poker"))
    page.ask("overview")
    assert page.do("solve", iterations=visits.MOST_ITERATIONS).status == 200
    visit = page.answers.visits[page.visit]
    assert visit.is_solving
    if how == "closed":
        page.answers.stop()
    else:
        for k in range(page_api.MOST_VISITS):
            assert visit.is_solving
            page.ask("visit", visit=f"later{k}")
        assert page.visit not in page.answers.visits
    end = time.monotonic() + 30
    while visit.is_solving:
        assert time.monotonic() < end
        time.sleep(0.01)
