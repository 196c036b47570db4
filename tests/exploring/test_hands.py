"""Games against a policy, and grids by private cards."""

import pytest

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


def test_the_grid_of_kuhn_poker_has_every_card_and_every_pair():
    solver = solved("kuhn_poker", 2_000)
    page = Page(solver)
    page.ask("overview")
    grid = page.ask("grid", history="0,1,0,1")  # player 0 after pass and bet
    policy = solver.average_policy()
    assert [row["label"] for row in grid["rows"]] == ["J", "Q", "K"]
    for card, row in enumerate(grid["rows"]):
        odds = policy[f"{card}pb"]
        assert row["probabilities"] == pytest.approx(list(odds.values()))
        for column, value in enumerate(grid["cells"][card]):
            if column == card:
                assert value is None
                continue
            sign = 1 if card > column else -1
            assert value == pytest.approx(odds[0] * -1 + odds[1] * 2 * sign)
