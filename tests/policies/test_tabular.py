"""The tables handed to OpenSpiel, above all where two players have one string."""

import pickle

import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score

import mccfr_spiel as ms
from tests.policies.test_policy import states_of
from tests.reference import random_policy
from tests.vectors import vector_of

SHARED = [
    "goofspiel(num_cards=3)",
    "goofspiel(num_cards=2,imp_info=True,points_order=ascending)",
    "matrix_rps",
    "blotto(coins=3,fields=2)",
]


def policy_of(game, seed=0):
    """A random policy, different for each player, of a game."""
    tree = ms.GameTree(game).expand_all()
    return ms.SequencePolicy(tree, vector_of(tree, random_policy(tree.game, seed)))


def decisions(game):
    """(state, player) for all that somebody decides in a game."""
    for state in states_of(game):
        if state.is_simultaneous_node():
            yield from ((state, player) for player in range(game.num_players()))
        else:
            yield state, state.current_player()


@pytest.mark.parametrize("game", SHARED)
def test_a_table_gives_each_player_what_the_policy_does(game):
    game = pyspiel.load_game(game)
    policy = policy_of(game)
    table = policy.to_tabular()
    copied = pickle.loads(pickle.dumps(table))
    for state, player in decisions(game):
        mine = policy.action_probabilities(state, player)
        assert table.action_probabilities(state, player) == mine
        assert copied.action_probabilities(state, player) == mine
    start = game.new_initial_state()
    if not start.is_chance_node():
        theirs = expected_game_score.policy_value(start, table)
        assert theirs == pytest.approx(ms.expected_returns(game, policy), abs=1e-12)
    assert ms.nash_conv(game, table) == pytest.approx(
        ms.nash_conv(game, policy), abs=1e-12
    )


@pytest.mark.parametrize("game", ["matrix_rps", "goofspiel(num_cards=3)"])
def test_a_compiled_table_is_right_in_the_simultaneous_game_or_refused(game):
    game = pyspiel.load_game(game)
    policy = policy_of(game)
    names: list[set[str]] = [set(), set()]
    for state, player in decisions(game):
        names[player].add(state.information_state_string(player))
    if names[0] & names[1]:
        with pytest.raises(ValueError, match="More than one player"):
            policy.to_pyspiel()
        return
    compiled = policy.to_pyspiel()
    theirs = pyspiel.expected_returns(game.new_initial_state(), compiled, -1, False)
    assert theirs == pytest.approx(ms.expected_returns(game, policy), abs=1e-12)
