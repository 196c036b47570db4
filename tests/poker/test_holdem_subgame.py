"""python_holdem_subgame as an OpenSpiel game, and its arguments."""

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel.poker.cards import DECK, HAND_OF, HANDS

pytestmark = pytest.mark.interpreted


TURN: dict[str, Any] = {
    "board": "9s8h3s2d",
    "pot": 100,
    "stacks": 100,
    "ranges": ("AhKh,QhQd:0.5", "JhJd,TsTd,Th9h:0.25"),
    "bets": "50%,a",
    "raises": "50%,a",
}


def turn(**more):
    arguments: dict[str, Any] = {**TURN, **more}
    return ms.poker.subgame(**arguments)


def at(state, name):
    """The legal action with a name."""
    legal = state.legal_actions()
    return next(a for a in legal if state.action_to_string(a) == name)


def played(game, *names):
    state = game.new_initial_state()
    for name in names:
        state.apply_action(at(state, name))
    return state


def test_deals_are_products_of_weights():
    game = turn(ranges=("AhKh:0.3,AhQh,9hTh", "AhJh:0.5,KhQh:2,7c7d:0.1,2d2h"))
    weights = {}
    first, second = game.subgame.ranges
    for one, other in itertools.product(range(1326), range(1326)):
        if first[one] and second[other] and not {*HANDS[one]} & {*HANDS[other]}:
            weights[one, other] = first[one] * second[other]
    assert len(weights) == 5
    total = sum(weights.values())
    found = {}
    state = game.new_initial_state()
    for one, chance in state.chance_outcomes():
        for other, after in state.child(one).chance_outcomes():
            found[one, other] = chance * after
    assert found == pytest.approx({pair: w / total for pair, w in weights.items()})


def test_strings_and_action_names():
    game = turn()
    state = played(game, "AhKh", "JdJh", "Check", "Bet 50", "Call", "As")
    assert state.information_state_string(0) == (
        "AhKh 9s8h3s2d: Check, Bet 50, Call / As:"
    )
    assert state.information_state_string(1).startswith("JdJh 9s8h3s2d: Check")
    assert [state.action_to_string(a) for a in state.legal_actions()] == [
        *("Check", "All-in 50")
    ]
    outcomes = played(game, "AhKh", "JdJh", "All-in 100", "Call").chance_outcomes()
    assert len(outcomes) == 44
    assert {chance for _, chance in outcomes} == {1 / 44}


@pytest.mark.parametrize(
    ("names", "rake", "returns"),
    [
        (("AhKh", "JdJh", "Check", "Bet 50", "Fold"), (0.05, 30), (-50, 45)),
        (("AhKh", "JdJh", "All-in 100", "Call", "7s"), (0.05, 9), (-150, 141)),
        (("QdQh", "JdJh", "Bet 50", "Call", "7s", "Check", "Check"), None, (100, -100)),
        (("AhKh", "Th9h", "Check", "Check", "Qs", "Check", "Check"), None, (-50, 50)),
    ],
)
def test_returns_subtract_half_of_the_pot_and_rake(names, rake, returns):
    state = played(turn(rake=rake), *names)
    assert state.is_terminal()
    assert state.returns() == pytest.approx(returns)


def test_a_tie_costs_half_of_the_rake():
    game = ms.poker.subgame(
        board="AsKsQsJsTs",
        pot=100,
        stacks=9,
        ranges=("22", "33"),
        bets="",
        raises="",
        rake=(0.1, 1000),
    )
    state = played(game, "2h2s", "3h3s", "Check", "Check")
    assert state.returns() == [-5, -5]
    assert game.get_type().utility == pyspiel.GameType.Utility.GENERAL_SUM


def test_openspiel_checks_pass():
    game = turn(rake=(0.05, 30))
    pyspiel.random_sim_test(game, num_sims=10, serialize=True, verbose=False)
    assert ms.check_game(game).longest >= 6
    state = played(game, "AhKh", "JdJh", "Check")
    for other in (
        copy.deepcopy(state),
        pickle.loads(pickle.dumps(state)),
        state.clone(),
    ):
        assert str(other) == str(state) == "AhKh JdJh 9s8h3s2d: Check"
        other.apply_action(at(other, "Bet 50"))
        assert len(state.history()) == 3


@pytest.mark.parametrize(
    "more",
    [
        {"pot": 1 / 3, "stacks": (97.5, 98), "min_bet": 0.1, "rake": (0.05, 30)},
        {"bets": ("50%/a", "120c"), "donk": "", "max_raises": 0, "first": 1},
        {"ranges": np.random.default_rng(4).random((2, 1326))},
    ],
)
def test_game_string_loads_the_same_game(more):
    game = turn(**more)
    again = pyspiel.load_game(str(game))
    assert str(again) == str(game)
    assert again.subgame.betting == game.subgame.betting
    assert again.subgame.nodes == game.subgame.nodes
    assert (again.subgame.ranges == game.subgame.ranges).all()


@pytest.mark.parametrize("board", ["9S,8H,3S,2D", " 9s 8h 3s 2d", "9s8H3s2D"])
def test_spellings_of_a_board_give_the_same_game(board):
    assert str(turn(board=board)) == str(turn())
    ms.poker.cost(str(turn(board=board)))  # loads the string


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"board": "9s8h"}, "has 2 cards"),
        ({"ranges": None}, "ranges=None must be a pair"),
        ({"ranges": ("", "AA")}, "range0 is empty: no hand"),
        ({"ranges": ("AhKh", "AhQh,KhQh")}, "all hands of player 0 share a card"),
        ({"ranges": ("AA,K", "AA")}, "range0: unknown entry 'K'"),
        ({"stacks": 1.5, "min_bet": 2}, r"stacks=1.5 must be at least min_bet=2"),
        ({"stacks": (1, 2, 3)}, "must be one number or two"),
        ({"board": ["9s", "8h", "3s"]}, "board=.*must be a text of cards"),
        ({"bets": "50"}, "bets: unknown size '50'"),
        ({"bets": None}, "bets=None must be a text"),
        ({"rake": 0.05}, "rake=0.05 must be a share"),
        ({"rake": (2, 30)}, "rake=2"),
        ({"rake": (0.05,)}, r"rake=\(0.05,\) must be a share"),
        ({"ranges": ("AA:1e-160", "KK")}, "range0: the largest weight 1e-160"),
        ({"rake": (0.05, -1)}, "largest rake must be at least 0"),
    ],
)
def test_invalid_arguments_are_refused(more, message):
    with pytest.raises(ValueError, match=message):
        turn(**more)


def test_endgame_file_gives_arguments(tmp_path):
    reach = np.zeros(2652)
    kings = HAND_OF[DECK.index("Kh"), DECK.index("Kd")]
    reach[[1325, 1326 + kings]] = 0.5, 3
    path = tmp_path / "endgame.txt"
    lines = f"-round 4\n-board 4s8hTc9h2s\n-pot 501\n-reach {' '.join(map(str, reach))}"
    path.write_text(lines)
    found = ms.poker.load_endgame(path)
    game = ms.poker.subgame(**found, bets="a", raises="a", min_bet=100)
    assert game.subgame.betting.stack == 20_000 - 250.5
    assert game.subgame.betting.first == 1
    assert game.subgame.ranges[:, [1325, kings]].tolist() == [[1, 0], [0, 1]]
    for bad, message in (
        ("-round 4", "the line -board is missing"),
        (lines.replace("0.5", "0.5 1"), "2653 weights"),
        (lines.replace("0.5", "x"), "damaged"),
        (lines.replace("-round 4", "-round 5"), "-round 5 must be 3"),
    ):
        path.write_text(bad)
        with pytest.raises(ValueError, match=message):
            ms.poker.load_endgame(path)
