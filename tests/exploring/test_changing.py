"""Policies that are fixed at some infosets, and solved on from there."""

import numpy as np
import pytest
import scipy.optimize

import mccfr_spiel as ms
from mccfr_spiel.evaluation.metrics import uniform_vector
from mccfr_spiel.exploring.changing import restricted_best_returns, solve_on, with_row
from mccfr_spiel.exploring.visits import MOST_VISITS
from tests.exploring.asking import Page, settled, solved


def restricted_value(game, fixed):
    """Player 0's value by HiGHS when player 0's policy is fixed at some infosets.

    It maximizes the value v of player 1's dual, with a row for each of player 1's
    sequences, over player 0's plans; what is fixed is a linear equation between plans.

    Args:
        game: a two-player zero-sum game.
        fixed: player 0's information-state string -> probabilities.
    """
    tree = ms.GameTree(game).expand_all()
    nodes, infosets = tree.nodes, tree.infosets
    count = tree.num_sequences
    payoff = np.zeros((count, count))
    stack = [(0, 1.0, 0, 1)]
    while stack:
        node, weight, mine, theirs = stack.pop()
        first, start, _, size, player = nodes[node].item()
        if player == -4:
            payoff[mine, theirs] += weight * tree.utilities[start, 0]
        for child in range(size):
            chance = float(tree.chance_probs[start + child]) if player == -1 else 1.0
            stack.append(
                (
                    first + child,
                    weight * chance,
                    start + child if player == 0 else mine,
                    start + child if player == 1 else theirs,
                )
            )
    # Variables: plans of player 0 [S], then a value for each infoset of player 1.
    first_value = count
    num = count + tree.num_infosets + 1  # the last one is the value of the game
    equal, right = [], []
    for i, (_, start, parent, size, player) in enumerate(infosets.tolist()):
        if player == 0:
            row = np.zeros(num)
            row[start : start + size], row[parent] = 1, -1
            equal.append(row)
            right.append(0.0)
            for k, p in enumerate(fixed.get(tree.info_state(i), ())):
                row = np.zeros(num)
                row[start + k], row[parent] = 1, -p
                equal.append(row)
                right.append(0.0)
    row = np.zeros(num)
    row[0] = 1
    equal.append(row)
    right.append(1.0)
    atmost = []
    sequences = [1]
    owner = {1: num - 1}
    for i, (_, start, _, size, player) in enumerate(infosets.tolist()):
        if player == 1:
            sequences += range(start, start + size)
            owner |= dict.fromkeys(range(start, start + size), first_value + i)
    for sequence in sequences:
        row = np.zeros(num)
        row[owner[sequence]] += 1
        for i, (_, _, parent, _, player) in enumerate(infosets.tolist()):
            if player == 1 and parent == sequence:
                row[first_value + i] -= 1
        row[:count] -= payoff[:, sequence]
        atmost.append(row)
    cost = np.zeros(num)
    cost[-1] = -1
    bounds = [(0, None)] * count + [(None, None)] * (num - count)
    found = scipy.optimize.linprog(
        cost, atmost, np.zeros(len(atmost)), equal, right, bounds=bounds
    )
    return -found.fun


@pytest.mark.parametrize(
    "fixed",
    [{"0": [0.0, 1.0]}, {"0": [0.5, 0.5], "1pb": [1.0, 0.0]}],
)
def test_solving_on_reaches_the_value_of_the_restricted_game(fixed):
    tree = ms.GameTree("kuhn_poker").expand_all()
    policy, numbers = uniform_vector(tree), set()
    for name, row in fixed.items():
        numbers.add(tree.find(name, 0))
        policy = with_row(tree, policy, [tree.find(name, 0)], row)
    found = solve_on(tree, policy, frozenset(numbers), 2_000)
    value = restricted_value("kuhn_poker", fixed)
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
    value = restricted_value("kuhn_poker", {"0": [0.0, 1.0]})
    assert after["returns"][0] == pytest.approx(value, abs=2e-3)
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
