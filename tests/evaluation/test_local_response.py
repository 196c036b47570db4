"""Local best responses and duplicate play.

Local best responses are compared with exact best responses and an enumeration;
intervals of duplicate play with OpenSpiel's values.
"""

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
    """Folds to any bet and checks otherwise."""

    def action_probabilities(self, state, player_id=None):
        return {min(state.legal_actions()): 1.0}


KUHN = {
    0.230833333333333: {
        **{"0": 0.6, "1": 0.1, "2": 0.2, "0p": 0.7, "1p": 0.3, "2p": 1.0},
        **{"0b": 0.1, "1b": 0.2, "2b": 0.9, "0pb": 0.4, "1pb": 0.9, "2pb": 1.0},
    },
    0.175: {
        **{"0": 0.0, "1": 0.0, "2": 0.3, "0p": 0.0, "1p": 0.1, "2p": 0.9},
        **{"0b": 0.0, "1b": 0.1, "2b": 1.0, "0pb": 0.0, "1pb": 0.0, "2pb": 1.0},
    },
}
"""Expected return of the local best response -> policy (string -> probability of a
bet).

The returns come from an enumeration: the mean over seats and deals of a response that
bets or calls where this beats checking or folding, assuming that the players then check
and call to the end."""


@pytest.mark.parametrize("value", KUHN)
def test_kuhn_poker_equals_enumeration(value):
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
def test_bound_is_positive_and_below_best_response(game, kind):
    policy = kind(pyspiel.load_game(game))
    found = local_best_response(game, policy, deals=400, seed=2)
    assert 0 < found.low < exploit(game, policy)
    # Against such weak players, looking one move ahead comes close to a best response.
    assert found.high > 0.7 * exploit(game, policy)


@pytest.mark.compiled
@pytest.mark.compiled
def test_no_response_beats_an_equilibrium():
    """Catches responses that use hidden information, such as the opponent's cards."""
    solver = ms.Solver("leduc_poker", ms.CFR_PLUS)
    solver.iterate(300)
    policy = solver.average_policy()
    found = local_best_response("leduc_poker", policy, deals=600)
    assert found.low < ms.exploitability("leduc_poker", policy) < 0.01


def test_folding_player_loses_the_blinds():
    for game, value in (("kuhn_poker", 1), ("leduc_poker", 1), (LIMIT, 7.5)):
        policy = Folds(pyspiel.load_game(game))
        found = local_best_response(game, policy, deals=3)
        assert (found.mean, found.half_width) == (value, 0)


def test_local_response_refuses_other_games():
    for game, policy, words in (
        ("tic_tac_toe", "uniform", "contain no check or call"),
        ("liars_dice", "uniform", "contain no check or call"),
        ("kuhn_poker(players=3)", "uniform", "3 players"),
        ("catch", "uniform", r"catch\(\) has 1 players"),
        ("kuhn_poker", ms.Solver("leduc_poker").average_policy(), "for leduc_poker"),
        ("kuhn_poker", [Silent(), Silent()], "pass a policy, or bots"),
    ):
        with pytest.raises(ValueError, match=words):
            local_best_response(game, policy, deals=2)


def test_command_plays_a_local_best_response(capsys):
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
    """A bot that provides no policy."""

    def __init__(self):
        pyspiel.Bot.__init__(self)

    def provides_policy(self):
        return False


# --- duplicate play ----------------------------------------------------------


LEDUC = pyspiel.load_game("leduc_poker")


def exact(first, second):
    """The first policy's mean return over both seats, by OpenSpiel."""
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


def test_intervals_contain_openspiels_values():
    uniform = UniformRandomPolicy(LEDUC)
    for word in ("call", "raise"):
        found = duplicate_returns(LEDUC, word, "uniform", deals=1500, seed=2)
        assert found.low < exact(always(word), uniform) < found.high
        single = ms.sampled_returns(LEDUC, [always(word), uniform], plays=3000)[0]
        assert found.half_width < 0.9 * single.half_width


def test_deals_against_oneself_end_even():
    found = duplicate_returns(LEDUC, "call", always("call"), deals=50)
    assert (found.mean, found.half_width) == (0, 0)


def test_swapped_bots_give_opposite_returns():
    bots = [pyspiel.make_uniform_random_bot(seat, 5) for seat in range(2)]
    found = duplicate_returns(LEDUC, "raise", bots, deals=800, seed=3)
    assert found.low < exact(always("raise"), UniformRandomPolicy(LEDUC)) < found.high
    one = duplicate_returns(LEDUC, "raise", "call", deals=100)
    other = duplicate_returns(LEDUC, "call", "raise", deals=100)
    assert one.mean == -other.mean


def test_invalid_duplicate_play_is_refused():
    for given, words in (
        ({"deals": 1}, "deals=1 "),
        ({"confidence": 1, "deals": 10**7}, "confidence=1 "),  # before it plays
        ({"first": ms.Solver("kuhn_poker").average_policy()}, "is for kuhn_poker"),
        ({"game": "kuhn_poker(players=3)"}, "3 players"),
        ({"game": "tic_tac_toe"}, "contain no check or call"),
        ({"second": [UniformRandomPolicy(LEDUC)] * 2}, "expected a list of two bots"),
        (
            {"second": ms.bot(UniformRandomPolicy(LEDUC), 1)},
            "expected a list of two bots",
        ),
        ({"second": "fold"}, "'fold' is no file: expected a path, 'uniform'"),
        ({"second": ms.Solver(LEDUC).average_vector()}, "vector over the sequences"),
    ):
        how = {"game": LEDUC, "first": "call", "second": "call", **given}
        with pytest.raises(ValueError, match=words):
            duplicate_returns(**how)
