"""Policies that are fixed at some infosets, and solved on from there."""

import pytest

import mccfr_spiel as ms
from mccfr_spiel.evaluation.metrics import uniform_vector
from mccfr_spiel.exploring.changing import restricted_best_returns, solve_on, with_row
from mccfr_spiel.exploring.visits import MOST_VISITS
from tests.exploring.asking import Page, settled, solved


@pytest.mark.parametrize(
    ("fixed", "value"),
    [({"0": [0.0, 1.0]}, -5 / 18), ({"0": [0.5, 0.5], "1pb": [1.0, 0.0]}, -1 / 6)],
)
def test_solving_on_reaches_the_value_of_the_restricted_game(fixed, value):
    """The values are those of linear programs with the fixed rows as equations, which
    HiGHS has solved."""
    tree = ms.GameTree("kuhn_poker").expand_all()
    policy, numbers = uniform_vector(tree), set()
    for name, row in fixed.items():
        numbers.add(tree.find(name, 0))
        policy = with_row(tree, policy, [tree.find(name, 0)], row)
    found = solve_on(tree, policy, frozenset(numbers), 2_000)
    assert ms.expected_returns(tree, found)[0] == pytest.approx(value, abs=2e-3)
    best = restricted_best_returns(tree, found, frozenset(numbers))
    # Each player's best response within what is fixed is near the value, too.
    assert best == pytest.approx([value, -value], abs=5e-3)
    for name, row in fixed.items():
        start = tree.infosets[tree.find(name, 0)]["first_sequence"]
        assert found[start : start + 2].tolist() == row


def test_the_page_fixes_solves_and_undoes():
    page = Page(solved("kuhn_poker", 2_000))
    before = page.ask("overview")
    number = page.tree.find("0", 0)
    view = page.do("fix", policy="0", number=number, row=[0, 3]).json()
    assert (view["fixed"], view["changes"]) == ([number], ["Fixed J"])
    assert page.ask("state", history="0,1", policy="mine")["infoset"][
        "probabilities"
    ] == [0.0, 1.0]
    page.do("solve", policy="0", iterations=1_000)
    assert settled(page)["changes"] == ["Fixed J", "Solved for 1,000 iterations"]
    after = page.ask("overview", policy="mine")
    assert after["returns"][0] == pytest.approx(-5 / 18, abs=2e-3)
    assert page.ask("overview", policy="0") == before
    page.do("fix", policy="0", number=number, row=None)
    assert page.ask("visit")["fixed"] == []
    for left in (2, 1, 0):
        assert len(page.do("undo").json()["changes"]) == left
    other = Page(solved("kuhn_poker"), visit="another")
    assert other.ask("visit")["changes"] == []


def test_two_pages_have_changes_of_their_own():
    page = Page(solved("kuhn_poker"))
    page.do("fix", policy="0", number=3, row=[1, 0])
    assert len(page.ask("visit")["changes"]) == 1
    assert page.ask("visit", visit="another")["changes"] == []
    assert page.do("undo", visit="another").status == 400
    assert len(page.ask("visit")["changes"]) == 1


def test_pages_that_were_looked_at_least_lately_make_room_for_others():
    page = Page(solved("kuhn_poker"))
    names = [f"page {number}" for number in range(2 * MOST_VISITS)]
    for name in names:
        page.do("fix", visit=name, number=0, row=[1, 0])
    kept = [bool(page.ask("visit", visit=name)["changes"]) for name in names[::-1]]
    assert kept == [True] * MOST_VISITS + [False] * MOST_VISITS
