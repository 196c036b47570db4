"""One policy for each player, of any kind, beside OpenSpiel's own evaluations."""

import json
from typing import Any

import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import best_response, expected_game_score
from open_spiel.python.algorithms import exploitability as openspiel

import mccfr_spiel as ms
from mccfr_spiel.evaluation import (
    best_response_policy,
    learned_response,
    sampled_returns,
)
from mccfr_spiel.policies.policy_json import to_json

GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker(suit_isomorphism=True)"]


def solved(game, iterations, algorithm=ms.CFR):
    solver = ms.Solver(game, algorithm, seed=1)
    solver.iterate(iterations)
    return solver.average_policy()


def kinds(game, policy):
    """One policy in every form that evaluations take."""
    tabular = policy.to_tabular()
    return {
        "SequencePolicy": policy,
        "vector": policy.vector,
        "OpenSpiel": tabular,
        "pyspiel": policy.to_pyspiel(),
        "callable": openspiel_policy.tabular_policy_from_callable(
            game, tabular.action_probabilities
        ),
        "dictionary": policy.to_dict(),
        "JSON": json.loads(json.dumps(policy.to_dict())),
        "policy.json": json.loads(json.dumps(to_json(policy))),
    }


@pytest.mark.parametrize("name", GAMES)
def test_returns_and_nash_conv_of_all_kinds_are_openspiels(name):
    game = pyspiel.load_game(name)
    policies: list[Any] = [
        solved(game, 2 + player) for player in range(game.num_players())
    ]
    expected = expected_game_score.policy_value(game.new_initial_state(), policies)
    merged = openspiel_policy.merge_tabular_policies(
        [policy.to_tabular() for policy in policies], game
    )
    conv = openspiel.nash_conv(game, merged)
    tree = ms.GameTree(game).expand_all()
    for kind in kinds(game, policies[0]):
        each = [kinds(game, policy)[kind] for policy in policies]
        for where in (game, tree):
            assert ms.expected_returns(where, each) == pytest.approx(expected, abs=1e-9)
            assert ms.nash_conv(where, tuple(each)) == pytest.approx(conv, abs=1e-9)


def test_players_may_have_policies_of_different_kinds_and_of_their_own_states_only():
    game = pyspiel.load_game("leduc_poker")
    first, second = solved(game, 3), solved(game, 5)
    mine = {
        name: row
        for name, row in second.to_dict().items()
        if name.startswith("[Observer: 1]")
    }
    assert len(mine) == 468
    start = game.new_initial_state()
    expected = expected_game_score.policy_value(start, [first, second])
    uniform = openspiel_policy.UniformRandomPolicy(game)
    assert ms.expected_returns(game, [first, mine]) == pytest.approx(expected)
    against = expected_game_score.policy_value(start, [uniform, second])
    assert ms.expected_returns(game, [uniform, mine]) == pytest.approx(against)
    with pytest.raises(ValueError, match="lacks the state"):
        ms.expected_returns(game, [mine, first])
    estimate = sampled_returns(game, [first, mine], plays=4_000)[0]
    assert abs(estimate.mean - expected[0]) < 2 * estimate.half_width


def test_a_best_response_to_a_list_is_openspiels():
    game = pyspiel.load_game("leduc_poker(suit_isomorphism=True)")
    first, second = solved(game, 3), solved(game, 4)
    response = best_response_policy(game, [first, second.to_dict()], 0)
    oracle = best_response.BestResponsePolicy(game, 0, second)
    value = oracle.value(game.new_initial_state())
    assert ms.expected_returns(game, response)[0] == pytest.approx(value, abs=1e-12)
    # OpenSpiel's best response answers for its own player only.
    returns = ms.expected_returns(game, [oracle, second])
    assert returns[0] == pytest.approx(value, abs=1e-12)
    learned = learned_response(
        game, [first, second.to_dict()], 0, iterations=300, plays=500
    )
    assert learned.value.low < value
    assert repr(learned).startswith("<LearnedResponse: player 0 gets ")
