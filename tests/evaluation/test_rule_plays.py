"""Plays over compiled rules return what plays through pyspiel return, to the bit."""

import importlib
import itertools

import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.arenas.infosets.loading import turn_based
from mccfr_spiel.arenas.tree import twin_choice
from mccfr_spiel.evaluation import plays, responses
from mccfr_spiel.evaluation.plays import returns_by_rules
from tests.arenas.rules.twins.broken import take_places_from_keys

importlib.import_module("mccfr_spiel.games")

PLAYS = 30
GAMES = [
    "kuhn_poker(players=3)",
    "leduc_poker(suit_isomorphism=True)",
    "goofspiel(num_cards=3,imp_info=True)",  # moves at once
    "python_one_card_poker(cards=4)",
    "python_goofspiel(num_cards=3,points_order=random)",
]


@pytest.fixture(autouse=True)
def twins_are_there(monkeypatch):
    monkeypatch.setitem(twin_choice.LEAST_NODES, "walking", 0)


def through_pyspiel(monkeypatch, *arguments, **options):
    with monkeypatch.context() as patch:
        patch.setattr(plays, "returns_by_rules", lambda *_: None)
        return ms.sampled_returns(*arguments, **options)


@pytest.mark.parametrize(
    ("text", "store"),
    [*zip(GAMES, itertools.cycle(["tree", "none"]), strict=False), (GAMES[1], "tree")],
)
def test_the_same_returns(text, store, monkeypatch):
    game = pyspiel.load_game(text)
    solver = ms.Solver(game, ms.EXTERNAL_SAMPLING, seed=4, store=store, twin=None)
    solver.iterate(8)  # so not every state has been met
    policy = solver.average_policy()
    assert returns_by_rules(game, [policy] * game.num_players(), 2, 0) is not None
    for seed in (0, 1):
        ours = ms.sampled_returns(game, policy, plays=PLAYS, seed=seed)
        theirs = through_pyspiel(monkeypatch, game, policy, plays=PLAYS, seed=seed)
        assert ours == theirs
        assert ours[0].half_width > 0


# --- learning responses ----------------------------------------------------------


def learned(monkeypatch, *arguments, **options):
    """A learned response, the solver that has learned it, and what it has learned."""
    solvers = []

    def noted(*arguments, **options):
        solvers.append(ms.Solver(*arguments, **options))
        return solvers[-1]

    with monkeypatch.context() as patch:
        patch.setattr(responses, "Solver", noted)
        found = ms.learned_response(*arguments, plays=PLAYS, **options)
    solver = solvers[-1]
    average = solver.average_vector()
    rows = zip(solver.tree.info_states, solver.tree.infosets.tolist(), strict=True)
    tables = {
        name: average[start : start + count].tobytes()
        for name, (_, start, _, count, _) in rows
    }
    return found, solver, tables


RESPONSES = [
    ("kuhn_poker(players=3)", "EXTERNAL"),
    ("leduc_poker(suit_isomorphism=True)", "OUTCOME"),
    ("goofspiel(num_cards=3,imp_info=True,points_order=random)", "OUTCOME"),
    ("python_one_card_poker(cards=4)", "EXTERNAL"),
]


@pytest.mark.parametrize(("text", "sampling"), RESPONSES)
def test_walks_over_rules_learn_what_walks_through_pyspiel_learn(
    text, sampling, monkeypatch
):
    monkeypatch.setattr(responses, "EXTERNAL", getattr(ms, sampling))
    take_places_from_keys(monkeypatch)
    game = turn_based(pyspiel.load_game(text))
    solver = ms.Solver(game, ms.EXTERNAL_SAMPLING, seed=4, twin=False)
    solver.iterate(5)  # so not every state has been met
    policy, twin = solver.average_policy(), None if "python" in text else True
    arguments = game, policy, 1
    options = {"iterations": 30, "seed": 2}
    mine = learned(monkeypatch, *arguments, **options, twin=twin)
    monkeypatch.setattr(responses, "rules_faced", lambda *_: None)
    theirs = learned(monkeypatch, *arguments, **options, twin=False)
    assert (mine[1].store, theirs[1].store) == ("none", "tree")
    assert mine[1].nodes_touched == theirs[1].nodes_touched
    assert mine[2] == theirs[2]
    assert len(mine[2]) > 3
    assert mine[0][:4] == theirs[0][:4]
    seats = [policy] * game.num_players()
    seats[1] = mine[0].response
    assert returns_by_rules(game, seats, 2, 0, twin) is not None


def test_what_is_no_table_of_the_game_is_played_through_pyspiel():
    game = pyspiel.load_game(GAMES[0])
    policy = ms.Solver(game, seed=1).average_policy()
    assert returns_by_rules(game, [policy.to_dict()] * 3, 2, 0) is None
    other = pyspiel.load_game("kuhn_poker(players=2)")
    assert returns_by_rules(other, [policy] * 2, 2, 0) is None
    plain = pyspiel.load_game("tic_tac_toe")
    solver = ms.Solver(plain, ms.OUTCOME_SAMPLING, seed=1)
    solver.iterate(3)
    assert returns_by_rules(plain, [solver.average_policy()] * 2, 2, 0) is None
