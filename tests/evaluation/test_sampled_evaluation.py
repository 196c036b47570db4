"""Estimates by play against exact values, and bounds that must be bounds."""

import importlib

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.expected_game_score import policy_value
from open_spiel.python.policy import Policy, TabularPolicy, UniformRandomPolicy

import mccfr_spiel as ms
from mccfr_spiel.evaluation import learned_response, responses, sampled_returns
from mccfr_spiel.evaluation.plays import ChanceMoves
from tests.small_games import chance, leaf, move, small_game

importlib.import_module("mccfr_spiel.games")  # registers them

LEDUC = pyspiel.load_game("leduc_poker")
KUHN_3 = pyspiel.load_game("kuhn_poker(players=3)")
GOOFSPIEL = pyspiel.load_game("goofspiel(num_cards=3,imp_info=True)")


@pytest.fixture(scope="module")
def trained():
    """A policy of Leduc poker that is neither uniform nor good."""
    solver = ms.Solver(LEDUC, ms.EXTERNAL_SAMPLING, seed=1)
    solver.iterate(300)
    return solver.average_policy()


TURNS = pyspiel.convert_to_turn_based(GOOFSPIEL)
FORMS = {"string": str(GOOFSPIEL), "game": GOOFSPIEL, "turns": TURNS}


def own_string(state, player):
    return state.information_state_string(player)


def abstracted():
    """A policy of goofspiel that answers states of its turn-based form only."""
    solver = ms.Solver(GOOFSPIEL, ms.CFR, abstraction=own_string)
    solver.iterate(3)
    return solver.average_policy()


@pytest.mark.parametrize("form", FORMS)
def test_plays_convert_games_as_solvers_do(form):
    game = FORMS[form]
    policy, tabular = abstracted(), TabularPolicy(GOOFSPIEL)
    for policies in (policy, [tabular, policy], [policy, tabular]):
        pair = policies if isinstance(policies, list) else [policies] * 2
        in_turn: list[Policy] = [
            TabularPolicy(TURNS) if p is tabular else p for p in pair
        ]
        exact = policy_value(TURNS.new_initial_state(), in_turn)
        found = sampled_returns(game, policies, plays=2000, seed=1)
        for estimate, value in zip(found, exact, strict=True):
            assert abs(estimate.mean - value) < 2 * estimate.half_width
    learned = learned_response(game, policy, 0, iterations=200, plays=500)
    assert learned.gain.high > 0
    duplicate = ms.evaluation.duplicate_returns(game, policy, "uniform", deals=500)
    assert duplicate.low > 0


@pytest.mark.parametrize("form", FORMS)
def test_plays_of_simultaneous_games_are_the_same_in_every_form(form):
    solver = ms.Solver(GOOFSPIEL, ms.CFR)
    solver.iterate(3)
    policy = solver.average_policy()
    in_turn = ms.Solver(TURNS, ms.CFR)
    in_turn.iterate(3)
    expected = sampled_returns(GOOFSPIEL, policy, plays=100)
    for one in policy, in_turn.average_policy(), policy.to_dict():
        assert sampled_returns(FORMS[form], one, plays=100) == expected


@pytest.mark.compiled
@pytest.mark.parametrize("game", [KUHN_3, GOOFSPIEL], ids=str)
def test_95_percent_of_the_intervals_hold_the_exact_value(game):
    policy = ms.Solver(game, ms.CFR).average_policy()
    exact = ms.expected_returns(game, policy)
    runs = 150
    inside = np.zeros(len(exact))
    for seed in range(runs):
        estimates = sampled_returns(game, policy, plays=150, seed=seed)
        inside += [e.low <= x <= e.high for e, x in zip(estimates, exact, strict=True)]
    # Binomial with 0.95: outside of these once in 10^4.
    assert (inside / runs > 0.87).all()
    assert (inside / runs < 1).all()


@pytest.mark.compiled
def test_a_learned_response_gets_less_than_a_best_response_and_nearly_as_much(trained):
    player = 1
    best = ms.evaluation.best_response_policy(LEDUC, trained, player)
    most = ms.expected_returns(LEDUC, best)[player]
    own = ms.expected_returns(LEDUC, trained)[player]
    learned = []
    for iterations in (10, 20_000):
        bound = learned_response(LEDUC, trained, player, iterations=iterations, seed=2)
        assert bound.iterations == iterations
        assert bound.own.low <= own <= bound.own.high
        assert bound.value.low <= most
        assert bound.gain.mean == pytest.approx(bound.value.mean - bound.own.mean)
        exact = ms.expected_returns(LEDUC, [trained, bound.response])[player]
        assert exact <= most + 1e-12
        assert abs(exact - bound.value.mean) < 2 * bound.value.half_width
        learned.append(exact)
    assert learned[1] > learned[0]
    assert learned[1] > most - 0.02 * (most - own)


class ManyDeals:
    """A first node with 3,000 outcomes, of which every third is impossible."""

    def __init__(self):
        self.listed = 0

    def history(self):
        return []

    def chance_outcomes(self):
        self.listed += 1
        return [(7 * k, (k % 3 > 0) / 2000) for k in range(3000)]


@pytest.mark.parametrize("row", [{0: 1.5, 1: -0.5}, {0: 0.5, 7: 0.5}, {0: 0.5, 1: 0}])
def test_what_is_no_distribution_over_the_legal_actions_is_refused(row):
    tree = ms.GameTree("kuhn_poker").expand_all()
    vector = np.array([1.0, 1.0, *[row[0], row.get(1, 0.0)] * tree.num_infosets])
    table = dict.fromkeys(tree.info_states, row)
    policy = ms.SequencePolicy(tree, vector)
    words = "policy gives .*, whose legal actions are"
    for wrong, twin in ((table, None), (policy, True), (policy, False)):
        with pytest.raises(ValueError, match=words):
            sampled_returns("kuhn_poker", wrong, plays=20, twin=twin)


def test_a_wrong_confidence_is_refused_before_a_response_is_learned(monkeypatch):
    monkeypatch.setattr(responses, "Solver", None)
    policy = UniformRandomPolicy(KUHN_3)
    with pytest.raises(ValueError, match="confidence=1 is not between"):
        learned_response(KUHN_3, policy, 0, plays=2, confidence=1)


def test_deals_are_listed_once_and_drawn_by_their_probabilities():
    state, chance = ManyDeals(), ChanceMoves()
    numbers = np.random.default_rng(3).random(4000)
    drawn = [chance.draw(state, number) for number in numbers]
    assert state.listed == 1
    possible = [move for move, prob in state.chance_outcomes() if prob > 0]
    assert drawn == [possible[int(2000 * number)] for number in numbers]
    assert chance.draw(state, np.nextafter(1.0, 0.0)) == possible[-1]


def test_a_game_of_one_player_has_a_response():
    names = enumerate("ab")
    moves = [move(0, name, *map(leaf, np.eye(2)[right])) for right, name in names]
    game = small_game(chance(*((0.5, one) for one in moves)), 1)
    policy = ms.Solver(game, seed=1).average_policy()
    found = learned_response(game, policy, 0, iterations=10, plays=20)
    assert (found.value.mean, found.own.mean < 1) == (1.0, True)
