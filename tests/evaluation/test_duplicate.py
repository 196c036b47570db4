"""Duplicate play: swapped seats, the same chance, intervals that hold the truth."""

import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score
from open_spiel.python.policy import UniformRandomPolicy

import mccfr_spiel as ms
from mccfr_spiel.evaluation import duplicate_returns

pytestmark = pytest.mark.interpreted

LEDUC = pyspiel.load_game("leduc_poker")


def exact(first, second):
    """By OpenSpiel: the mean over both seats of what the first gets."""
    root = LEDUC.new_initial_state()
    one = expected_game_score.policy_value(root, [first, second])[0]
    return (one + expected_game_score.policy_value(root, [second, first])[1]) / 2


def always(word):
    class Always(UniformRandomPolicy):
        def action_probabilities(self, state, player_id=None):
            legal = state.legal_actions()
            wanted = 2 if word == "raise" and 2 in legal else 1
            return {wanted: 1.0}

    return Always(LEDUC)


def test_intervals_hold_openspiels_values():
    uniform = UniformRandomPolicy(LEDUC)
    for word in ("call", "raise"):
        found = duplicate_returns(LEDUC, word, "uniform", deals=1500, seed=2)
        assert found.low < exact(always(word), uniform) < found.high
        single = ms.sampled_returns(LEDUC, [always(word), uniform], plays=3000)[0]
        assert found.half_width < 0.9 * single.half_width


def test_against_oneself_every_deal_ends_even():
    found = duplicate_returns(LEDUC, "call", always("call"), deals=50)
    assert (found.mean, found.half_width) == (0, 0)


def test_bots_play_and_both_sides_agree():
    bots = [pyspiel.make_uniform_random_bot(seat, 5) for seat in range(2)]
    found = duplicate_returns(LEDUC, "raise", bots, deals=800, seed=3)
    assert found.low < exact(always("raise"), UniformRandomPolicy(LEDUC)) < found.high
    one = duplicate_returns(LEDUC, "raise", "call", deals=100)
    other = duplicate_returns(LEDUC, "call", "raise", deals=100)
    assert one.mean == -other.mean


def test_what_cannot_be_played_is_refused_in_words():
    for given, words in (
        ({"deals": 1}, "deals=1 "),
        ({"confidence": 1}, "confidence=1 "),
        ({"first": ms.Solver("kuhn_poker").average_policy()}, "is for kuhn_poker"),
        ({"game": "kuhn_poker(players=3)"}, "3 players"),
        ({"game": "tic_tac_toe"}, "name of poker"),
        ({"second": [UniformRandomPolicy(LEDUC)] * 2}, "no list of two bots"),
    ):
        with pytest.raises(ValueError, match=words):
            duplicate_returns(
                **{"game": LEDUC, "first": "call", "second": "call", **given}
            )
