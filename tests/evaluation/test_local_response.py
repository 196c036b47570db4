"""Local best responses: below the best response, above nothing, and as by hand;
duplicate play: swapped seats, the same chance, intervals that hold the truth."""

import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score, exploitability
from open_spiel.python.policy import UniformRandomPolicy

import mccfr_spiel as ms
from mccfr_spiel.command_line.main import main
from mccfr_spiel.evaluation import duplicate_returns, local_best_response

SMALL = (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,"
    "firstPlayer=1 1,maxRaises=2 2,numSuits=2,numRanks=4,numHoleCards=1,"
    "numBoardCards=0 1)"
)
LIMIT = (
    "universal_poker(betting=limit,numPlayers=2,numRounds=4,blind=10 5,"
    "raiseSize=10 10 20 20,firstPlayer=2 1 1 1,maxRaises=3 4 4 4,numSuits=4,"
    "numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1)"
)


class Folds(UniformRandomPolicy):
    """Folds to any bet, and checks otherwise."""

    def action_probabilities(self, state, player_id=None):
        return {min(state.legal_actions()): 1.0}


KUHN = {  # card and moves before -> how often it bets; what an enumeration gave
    0.230833333333333: {
        **{"0": 0.6, "1": 0.1, "2": 0.2, "0p": 0.7, "1p": 0.3, "2p": 1.0},
        **{"0b": 0.1, "1b": 0.2, "2b": 0.9, "0pb": 0.4, "1pb": 0.9, "2pb": 1.0},
    },
    0.175: {
        **{"0": 0.0, "1": 0.0, "2": 0.3, "0p": 0.0, "1p": 0.1, "2p": 0.9},
        **{"0b": 0.0, "1b": 0.1, "2b": 1.0, "0pb": 0.0, "1pb": 0.0, "2pb": 1.0},
    },
}
"""By the mean over both seats and all deals of a response that looks one move ahead:
it bets or calls where that beats checking or folding, if all is called from then on."""


@pytest.mark.parametrize("value", KUHN)
def test_kuhn_poker_as_by_hand(value):
    policy = {one: {0: 1 - bet, 1: bet} for one, bet in KUHN[value].items()}
    found = local_best_response(
        "kuhn_poker", policy, deals=6_000, seed=1, confidence=0.999
    )
    assert found.low < value < found.high
    assert found.half_width < 0.06
    assert value <= exploit("kuhn_poker", policy) + 1e-12


def exploit(game, policy):
    """By OpenSpiel."""
    loaded = pyspiel.load_game(game)
    if isinstance(policy, dict):
        policy = pyspiel.TabularPolicy(
            {state: sorted(row.items()) for state, row in policy.items()}
        )
        return pyspiel.nash_conv(loaded, policy) / 2
    return float(exploitability.nash_conv(loaded, policy)) / 2  # pyright: ignore


@pytest.mark.parametrize("game", ["leduc_poker", SMALL])
@pytest.mark.parametrize("kind", [UniformRandomPolicy])
def test_the_bound_is_positive_and_below_the_best_response(game, kind):
    policy = kind(pyspiel.load_game(game))
    found = local_best_response(game, policy, deals=400, seed=2)
    assert 0 < found.low < exploit(game, policy)
    # One move ahead is not far from all of them against players as weak as these.
    assert found.high > 0.7 * exploit(game, policy)


@pytest.mark.compiled
@pytest.mark.compiled
def test_nobody_beats_an_equilibrium():
    """A player who saw the other's cards, or drew on what it cannot know, would."""
    solver = ms.Solver("leduc_poker", ms.CFR_PLUS)
    solver.iterate(300)
    policy = solver.average_policy()
    found = local_best_response("leduc_poker", policy, deals=600)
    assert found.low < ms.exploitability("leduc_poker", policy) < 0.01


def test_a_player_who_folds_loses_what_folding_costs():
    for game, value in (("kuhn_poker", 1), ("leduc_poker", 1), (LIMIT, 7.5)):
        policy = Folds(pyspiel.load_game(game))
        found = local_best_response(game, policy, deals=3)
        assert (found.mean, found.half_width) == (value, 0)


def test_what_is_no_poker_is_refused_in_words():
    for game, policy, words in (
        ("tic_tac_toe", "uniform", "name of poker"),
        ("liars_dice", "uniform", "name of poker"),
        ("kuhn_poker(players=3)", "uniform", "3 players"),
        ("catch", "uniform", r"catch\(\) has 1 players"),
        ("kuhn_poker", ms.Solver("leduc_poker").average_policy(), "for leduc_poker"),
        ("kuhn_poker", [Silent(), Silent()], "bots that tell their policies"),
    ):
        with pytest.raises(ValueError, match=words):
            local_best_response(game, policy, deals=2)


def test_the_program_plays_a_local_best_response(capsys):
    flags = ["--iterations=10", "--seed=3", "--deals=20", "--against=lbr"]
    assert main(["play", "kuhn_poker", *flags]) == 0
    solver = ms.Solver("kuhn_poker", ms.EXTERNAL_SAMPLING, seed=3)
    solver.iterate(10)
    policy = solver.average_policy()
    estimate = local_best_response("kuhn_poker", policy, deals=20, seed=3)
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("Local best response (a lower bound on the best response): ")
    assert f" {estimate} per play" in line


class Silent(pyspiel.Bot):
    """Plays and tells nothing."""

    def __init__(self):
        pyspiel.Bot.__init__(self)

    def provides_policy(self):
        return False


# --- duplicate play ----------------------------------------------------------


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
        ({"confidence": 1, "deals": 10**7}, "confidence=1 "),  # before it plays
        ({"first": ms.Solver("kuhn_poker").average_policy()}, "is for kuhn_poker"),
        ({"game": "kuhn_poker(players=3)"}, "3 players"),
        ({"game": "tic_tac_toe"}, "name of poker"),
        ({"second": [UniformRandomPolicy(LEDUC)] * 2}, "no list of two bots"),
        ({"second": ms.bot(UniformRandomPolicy(LEDUC), 1)}, "no list of two bots"),
        ({"second": "fold"}, "'fold' is no file, and none of uniform"),
        ({"second": ms.Solver(LEDUC).average_vector()}, "vector over the sequences"),
    ):
        how = {"game": LEDUC, "first": "call", "second": "call", **given}
        with pytest.raises(ValueError, match=words):
            duplicate_returns(**how)
