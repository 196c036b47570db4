"""Games whose information_state_string needs the player, as Python games may."""

import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import mccfr_spiel as ms
from tests import small_games

KEYS = ("external_sampling", "cfr")


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
