"""Bots of policies in OpenSpiel's match runners."""

import collections
import math

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy

import mccfr_spiel as ms

GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending)"


def solved(game, algorithm=ms.EXTERNAL_SAMPLING):
    solver = ms.Solver(game, algorithm, seed=1)
    solver.iterate(300)
    return solver.average_policy()


@pytest.mark.parametrize("name", ["leduc_poker", GOOFSPIEL])
def test_match_payoffs_equal_expected_returns(name):
    game = pyspiel.load_game(name)
    policy = solved(name, ms.CFR)  # a dictionary must have all states
    bots = [ms.bot(policy, 0, seed=3), ms.bot(policy.to_dict(), 1, seed=3)]

    def payoffs(bots, matches):
        start, seeds = game.new_initial_state, range(matches)
        return np.array([pyspiel.evaluate_bots(start(), bots, k) for k in seeds])

    returns = payoffs(bots, 1_000)
    expected = ms.expected_returns(game, policy)
    error = returns[:, 0].std() / math.sqrt(len(returns))
    assert abs(returns[:, 0].mean() - expected[0]) < 4 * error
    uniform = openspiel_policy.UniformRandomPolicy(game)
    gained = payoffs([bots[0], ms.bot(uniform, 1)], 300)[:, 0].mean()
    assert gained > expected[0] + 0.2  # the opponent is uniform now


def test_bot_samples_from_the_policy_of_its_seat():
    policy = solved("kuhn_poker", ms.CFR)
    state = pyspiel.load_game("kuhn_poker").new_initial_state()
    for action in (1, 2):
        state.apply_action(action)
    bot = ms.bot(policy, 0)
    pairs = bot.get_policy(state)
    assert dict(pairs) == policy.action_probabilities(state)
    steps = [bot.step_with_policy(state) for _ in range(4_000)]
    assert all(found == pairs for found, _ in steps)
    counts = collections.Counter(action for _, action in steps)
    for action, probability in pairs:
        assert counts[action] / 4_000 == pytest.approx(probability, abs=0.035)
    assert bot.player_id() == 0
    assert bot.provides_policy()


@pytest.mark.parametrize(
    ("policy", "player", "seed", "words"),
    [
        (None, 2, 0, "player=2 must be in 0 .. 1"),
        (None, 0, -1, "seed=-1"),
        (np.ones(3), 0, 0, "a vector over the sequences"),
        ("kuhn_poker", 0, 0, "'kuhn_poker' is not a policy"),
    ],
)
def test_invalid_arguments_are_refused(policy, player, seed, words):
    policy = solved("kuhn_poker") if policy is None else policy
    with pytest.raises(ValueError, match=words):
        ms.bot(policy, player, seed=seed)
