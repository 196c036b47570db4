"""Games against a policy, and grids by private cards."""

import random
import re

import pyspiel
import pytest
from open_spiel.python import policy

from mccfr_spiel.exploring.visits import Hand
from tests.exploring.asking import Page, solved


def first(options):
    return options[0]["action"]


@pytest.mark.parametrize(
    ("game", "seat"),
    [
        ("leduc_poker", 0),
        ("kuhn_poker(players=3)", 1),
        ("goofspiel(num_cards=3,points_order=descending,imp_info=True)", 1),
    ],
)
def test_a_hand_played_to_its_end_is_one_of_openspiels_games(game, seat):
    page = Page(solved(game))
    page.ask("overview")
    view = page.do("deal", seat=seat).json()
    played = []
    while not view["over"]:
        assert all(one["name"] for one in view["log"] if one["player"] == seat)
        played.append(first(view["moves"]))
        view = page.do("move", action=played[-1]).json()
    state = page.answers.subject.game.new_initial_state()
    own = []
    for action in view["history"]:
        if state.current_player() == seat:
            own.append(action)
        state.apply_action(action)
    assert (own, view["returns"]) == (played, state.returns())
    review = page.ask("review")
    assert len(review["decisions"]) == len(played)
    if played:
        beliefs = [row["belief"] for row in review["hands"]]
        assert sum(beliefs) == pytest.approx(1)
        last = review["decisions"][-1]
        # What the hands are worth, weighted by the belief, is the value of the move.
        worth = sum(row["belief"] * row["value"] for row in review["hands"])
        assert worth == pytest.approx(last["values"][last["chosen"]], abs=1e-12)
    assert page.do("move", action=0).status == 400


def test_the_page_is_told_nothing_that_the_player_does_not_see():
    page = Page(solved("kuhn_poker"))
    for _ in range(10):
        view = page.do("deal", seat=0).json()
        mine, theirs = view["log"]
        assert mine["name"] in ("deals Jack", "deals Queen", "deals King")
        assert theirs["name"] is None
        assert view["knows"] == mine["name"].split()[1][0]
        assert "history" not in view
        assert "text" not in view
    moves = page.do("move", action=7)
    assert moves.status == 400
    assert page.do("deal", seat=2).status == 400


def test_hands_are_drawn_by_the_odds_of_chance_and_of_the_policy():
    """1,000 hands of seat 1 against a policy that bets with the highest card only."""
    rules = {"0": 0.0, "1": 0.0, "2": 1.0}

    def ask(state):
        bets = rules[state.information_state_string(0)]
        return {0: 1 - bets, 1: bets}

    game = pyspiel.load_game("kuhn_poker")
    generator = random.Random(0)
    hands = [Hand(game, 1, ask, generator).state.history() for _ in range(1_000)]
    assert {(h[0] == 2) == (h[2] == 1) for h in hands} == {True}
    share = sum(h[0] == 2 for h in hands) / len(hands)
    assert share == pytest.approx(1 / 3, abs=0.05)


def test_the_grid_of_kuhn_poker_has_every_card():
    solver = solved("kuhn_poker", 2_000)
    page = Page(solver)
    page.ask("overview")
    grid = page.ask("grid", history="0,1,0,1")  # player 0 after pass and bet
    policy = solver.average_policy()
    assert [row["label"] for row in grid["rows"]] == ["J", "Q", "K"]
    for card, row in enumerate(grid["rows"]):
        odds = policy[f"{card}pb"]
        assert row["probabilities"] == pytest.approx(list(odds.values()))


def test_the_grid_of_leduc_keeps_the_public_card():
    solver = solved("leduc_poker")
    page = Page(solver)
    page.ask("overview")
    grid = page.ask("grid", history="0,1,1,1,2")
    assert len(grid["rows"]) == 5  # the sixth card is on the table
    state = pyspiel.load_game("leduc_poker").new_initial_state()
    for action in (4, 1, 1, 1, 2):
        state.apply_action(action)
    odds = solver.average_policy().action_probabilities(state)
    assert grid["rows"][3]["probabilities"] == pytest.approx(list(odds.values()))


def test_games_without_cards_have_no_grid():
    page = Page(solved("kuhn_poker"))
    assert "walk to one" in page.ask("grid", history="")["none"]
    matching = "goofspiel(num_cards=3,points_order=descending,imp_info=True)"
    page = Page(solved(matching))
    assert "does not begin by dealing" in page.ask("grid", history="")["none"]


HOLDEM = (
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=2,blind=1 2,numSuits=4,"
    "firstPlayer=1 1,numRanks=13,numHoleCards=2,numBoardCards=0 3,stack=20 20)"
)


class ByHand(policy.Policy):
    """Calls more often the higher the lower rank is, and with suited hands."""

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        words = state.information_state_string(player)
        cards = re.findall(r"([2-9TJQKA])([cdhs])", words.split("[Private: ")[1])[:2]
        calls = chance_of_call(*sorted(RANKS.index(rank) for rank, _ in cards))
        if cards[0][1] == cards[1][1]:
            calls += 0.01
        first, *others = state.legal_actions()
        return {first: calls, **{one: (1 - calls) / len(others) for one in others}}


RANKS = "23456789TJQKA"


def chance_of_call(low, high):
    return 0.3 if low == high else 0.4 + 0.03 * low + 0.002 * high


def test_the_grid_of_ranks_has_each_hand_in_its_place():
    if "universal_poker" not in pyspiel.registered_names():
        pytest.skip("This OpenSpiel has no universal_poker.")
    game = pyspiel.load_game(HOLDEM)
    state = game.new_initial_state()
    for card in (51, 3, 20, 8):
        state.apply_action(card)
    history = ",".join(map(str, state.history()))
    ranks = Page(ByHand(game, [0, 1])).ask("grid", history=history)["ranks"]
    assert "".join(ranks["labels"]) == RANKS[::-1]
    for i, row in enumerate(ranks["cells"]):
        for j, cell in enumerate(row):
            low, high = sorted((12 - i, 12 - j))
            wanted = chance_of_call(low, high) + (0.01 if i < j else 0)
            assert cell[0] == pytest.approx(wanted, abs=1e-12), (i, j)
