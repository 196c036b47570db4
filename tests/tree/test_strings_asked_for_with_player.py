"""Games whose information_state_string needs the player, as Python games may."""

import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from tests import small_games

KEYS = ("external_sampling", "outcome_sampling", "cfr", "chance_sampling")


class _NeedsPlayer(small_games._SmallState):
    def information_state_string(self, player):  # pyright: ignore
        assert player == self.current_player()
        return self.tree.info_state


class _Game(small_games._SmallGame):
    def new_initial_state(self):
        return _NeedsPlayer(self, self.root)


@pytest.fixture
def game():
    like = small_games.uneven_deal()
    info = pyspiel.GameInfo(
        num_distinct_actions=10,
        max_chance_outcomes=10,
        num_players=2,
        min_utility=-1000.0,
        max_utility=1000.0,
        max_game_length=20,
    )
    return _Game(like.get_type(), info, like.root)


@pytest.mark.parametrize("name", KEYS)
def test_it_is_solved_and_evaluated_as_openspiel_does(game, name):
    solver = ms.Solver(game, ms.ALGORITHMS[name])
    solver.iterate(30)
    policy = solver.average_policy()
    conv = exploitability.nash_conv(game, policy)
    assert ms.nash_conv(game, policy) == pytest.approx(conv, abs=1e-12)
    table = policy.to_tabular()
    assert ms.nash_conv(game, table) == pytest.approx(conv, abs=1e-12)


def test_every_other_function_takes_it(game, tmp_path):
    policy = ms.Solver(game, ms.CFR).average_policy()
    response = ms.best_response_policy(game, policy, 0)
    assert (
        ms.expected_returns(game, response)[0] >= ms.expected_returns(game, policy)[0]
    )
    learned = ms.learned_response(game, policy, 0, iterations=50, plays=50)
    assert learned.iterations == 50
    assert len(ms.sampled_returns(game, policy, plays=10)) == 2

    class ByState(type(policy).__mro__[1]):
        def action_probabilities(self, state, player_id=None):
            legal = state.legal_actions()
            return dict.fromkeys(legal, 1 / len(legal))

    uniform = ByState(game, [0, 1])
    assert ms.nash_conv(game, uniform) == pytest.approx(ms.nash_conv(game, policy))
    bot = ms.OnlineOutcomeSamplingBot(game, 1)
    state = game.new_initial_state()
    while not state.is_terminal():
        mine = state.current_player() == 1
        state.apply_action(bot.step(state) if mine else state.legal_actions()[0])
    bot.observe_outcome(state.returns()[1])
    assert bot.num_infosets == 1
