"""Moves, deals and what players know, as people say them."""

import random

import pyspiel
import pytest

from mccfr_spiel.arenas.infosets.loading import said_at, said_info_state

HOLDEM = (
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=2,blind=10 5,"
    "firstPlayer=2 1,stack=100 100,numSuits=4,numRanks=13,numHoleCards=2,"
    "numBoardCards=0 3,bettingAbstraction=fullgame)"
)
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"


def state_after(name, history):
    state = pyspiel.load_game(name).new_initial_state()
    for action in history:
        state.apply_action(action)
    return state


MOVES = [
    ("kuhn_poker", [], ["deals Jack", "deals Queen", "deals King"]),
    ("kuhn_poker", [0, 1], ["Pass", "Bet"]),
    ("leduc_poker", [0, 2], ["Check", "Bet"]),
    ("leduc_poker", [0, 2, 2], ["Fold", "Call", "Raise"]),
    (
        "liars_dice(dice_sides=3)",
        [0, 0],
        ["one 1", "one 2", "one 3", "two 1s", "two 2s", "two 3s"],
    ),
    ("liars_dice(dice_sides=3)", [], ["rolls 1", "rolls 2", "rolls 3"]),
]


@pytest.mark.parametrize(("name", "history", "words"), MOVES)
def test_moves_and_deals(name, history, words):
    state = state_after(name, history)
    player = state.current_player()
    moves = state.legal_actions()
    assert said_at(state, player, moves)[: len(words)] == words


KNOWN = [
    ("kuhn_poker", [0, 1, 0, 1], "J | pass, bet"),
    ("leduc_poker", [0, 3, 2, 1, 5], "J\u2660 | bet, call | K\u2665"),
    ("leduc_poker", [0, 3, 1, 1, 5, 1], "Q\u2665 | check, check | K\u2665 | check"),
]


@pytest.mark.parametrize(("name", "history", "words"), KNOWN)
def test_what_a_player_knows(name, history, words):
    state = state_after(name, history)
    player = state.current_player()
    known = state.information_state_string(player)
    assert said_info_state(state.get_game(), player, known) == words


@pytest.mark.parametrize(
    "name",
    [
        *("kuhn_poker", "leduc_poker", "liars_dice(dice_sides=2)", GOOFSPIEL, HOLDEM),
        *("tic_tac_toe", "first_sealed_auction(max_value=3)", "python_dark_hex"),
    ],
)
def test_words_tell_moves_and_infosets_apart(name):
    """Along 200 random histories, as OpenSpiel's strings do."""
    game = pyspiel.load_game(name)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    found = {}
    draws = random.Random(0)
    for _ in range(200):
        state = game.new_initial_state()
        while not state.is_terminal():
            player, moves = state.current_player(), state.legal_actions()
            words = said_at(state, player, moves)
            assert len(set(words)) == len(moves)
            assert all(words)
            if player >= 0:
                known = state.information_state_string(player)
                said = player, said_info_state(game, player, known)
                assert found.setdefault(said, known) == known
            state.apply_action(draws.choice(moves))
