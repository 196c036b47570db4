"""Plays over compiled rules return what plays through pyspiel return, to the bit."""

import importlib

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.compiled.jit import IS_COMPILED
from mccfr_spiel.evaluation import rule_plays, sampled
from mccfr_spiel.evaluation.rule_plays import returns_by_rules
from mccfr_spiel.tree.twin_trees import known_twin

importlib.import_module("mccfr_spiel.games")

PLAYS = 300 if IS_COMPILED else 30
GAMES = [
    "kuhn_poker(players=3)",
    "leduc_poker(suit_isomorphism=True)",
    "goofspiel(num_cards=4,imp_info=True)",  # moves at once
    "python_one_card_poker(cards=4)",
    "python_goofspiel(num_cards=3,points_order=random)",
]


@pytest.fixture(autouse=True)
def twins_are_there(monkeypatch):
    monkeypatch.setattr(rule_plays, "is_compiled", lambda twin: True)


def through_pyspiel(monkeypatch, *arguments, **options):
    with monkeypatch.context() as patch:
        patch.setattr(sampled, "returns_by_rules", lambda *_: None)
        return ms.sampled_returns(*arguments, **options)


@pytest.mark.parametrize("store", ["none", "tree"])
@pytest.mark.parametrize("text", GAMES)
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


def test_each_seat_has_its_own_policy(monkeypatch):
    game = pyspiel.load_game(GAMES[1])
    policies = []
    for algorithm in (ms.EXTERNAL_SAMPLING, ms.OUTCOME_SAMPLING):
        solver = ms.Solver(game, algorithm, seed=4, store="none")
        solver.iterate(5)
        policies.append(solver.average_policy())
    for seats in (policies, policies[::-1]):
        ours = ms.sampled_returns(game, seats, plays=PLAYS)
        assert ours == through_pyspiel(monkeypatch, game, seats, plays=PLAYS)
    assert returns_by_rules(game, policies, 2, 0) is not None


def test_a_response_is_played_before_what_it_follows_elsewhere(monkeypatch):
    game = pyspiel.load_game("leduc_poker(players=2,suit_isomorphism=True)")
    policy = ms.Solver(game, seed=1).average_policy()
    bound = ms.learned_response(game, policy, 1, iterations=5, plays=PLAYS)
    seats = [policy, bound.response]
    assert returns_by_rules(game, seats, 2, 0) is not None
    with monkeypatch.context() as patch:
        patch.setattr(sampled, "returns_by_rules", lambda *_: None)
        other = ms.learned_response(game, policy, 1, iterations=5, plays=PLAYS)
    assert (bound.value, bound.own, bound.gain) == (
        other.value,
        other.own,
        other.gain,
    )


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


def test_a_policy_that_is_no_distribution_is_told_in_words():
    game = pyspiel.load_game(GAMES[0])
    solver = ms.Solver(game, ms.EXTERNAL_SAMPLING, seed=1)
    solver.iterate(5)
    policy = ms.SequencePolicy(solver.tree, solver.average_vector() / 2)
    assert known_twin(game) is not None
    with pytest.raises(ValueError, match=r"policy gives .* at the state"):
        ms.sampled_returns(game, policy, plays=20)


def test_exact_returns_lie_in_the_interval():
    game = pyspiel.load_game(GAMES[2])
    solver = ms.Solver(game, ms.EXTERNAL_SAMPLING, seed=4, store="none")
    solver.iterate(20)
    policy = solver.average_policy()
    plays = 20_000 if IS_COMPILED else 50
    found = ms.sampled_returns(game, policy, plays=plays, confidence=0.9999)
    exact = ms.expected_returns(game, policy)
    for estimate, value in zip(found, exact, strict=True):
        assert estimate.low <= value <= estimate.high
    assert np.isfinite(exact).all()
