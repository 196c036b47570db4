"""The value of a game lies within the bounds that any policy gives."""

import pytest

import mccfr_spiel as ms
from mccfr_spiel.evaluation import game_value
from mccfr_spiel.evaluation.metrics import known_value
from tests.small_games import leaf, move, small_game

VALUES = {
    "kuhn_poker": -1 / 18,
    "leduc_poker": -0.085606424078,
    "matrix_rps": 0.0,
    "goofspiel(num_cards=4,imp_info=True,points_order=descending)": 0.0,
}
"""Published, or known by symmetry."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.compiled if name == "leduc_poker" else ())
        for name in VALUES
    ],
)
@pytest.mark.parametrize("algorithm", [ms.CFR_PLUS, ms.EXTERNAL_SAMPLING])
def test_the_bounds_hold_the_value_and_are_nash_conv_apart(name, algorithm):
    solver = ms.Solver(name, algorithm)
    widths = []
    for _ in range(4):
        solver.iterate(30)
        policy = solver.average_policy()
        value = game_value(name, policy)
        assert value.low - 1e-9 <= VALUES[name] <= value.high + 1e-9
        conv = ms.nash_conv(name, policy)
        assert value.high - value.low == pytest.approx(conv, abs=1e-12)
        widths.append(value.half_width)
    assert widths[-1] < widths[0] or name == "matrix_rps"


def test_each_bound_comes_from_the_policy_of_one_player():
    uniform = ms.Solver("kuhn_poker", ms.CFR).average_policy()
    best = ms.solve_lp("kuhn_poker").policy
    value = game_value("kuhn_poker", [best, uniform])
    assert value.low == pytest.approx(-1 / 18)
    assert value.high > 0.1


def test_a_constant_sum_is_taken_into_account():
    game = small_game(move(0, "a", leaf(3.0, 7.0), leaf(4.0, 6.0)))
    uniform = ms.Solver(game, ms.CFR).average_policy()
    assert game_value(game, uniform) == (3.5, 4.0)


def test_games_without_a_value_are_refused():
    for name in ("kuhn_poker(players=3)", "first_sealed_auction(max_value=3)"):
        policy = ms.Solver(name, ms.CFR).average_policy()
        assert known_value(name, policy) is None
        with pytest.raises(ValueError, match="not a two-player constant-sum game"):
            game_value(name, policy)
