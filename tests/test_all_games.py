"""Games of every kind: solved, or refused in words that name the reason."""

import time

import numpy as np
import open_spiel.python.games
import open_spiel.python.mfg.games  # noqa: F401
import pyspiel
import pytest

import mccfr_spiel as ms
from mccfr_spiel import Solver
from mccfr_spiel.arenas.infosets.walk_sizes import WalkTooLargeError
from mccfr_spiel.kernels.jit import IS_COMPILED

SOLVED = (
    "kuhn_poker(players=4)",
    "matrix_sh",  # simultaneous, general sum
    "matching_pennies_3p",
    "oshi_zumo(coins=3,horizon=4)",
    "goofspiel(num_cards=3)",
    "first_sealed_auction",
    "tiny_hanabi",  # cooperative
    "sheriff(item_penalty=2.0,item_value=5.0,max_bribe=2,max_items=2,num_rounds=1)",
    "blackjack",  # one player
    "liars_dice(dice_sides=3)",
    "tic_tac_toe",
    "nim(pile_sizes=1;2)",
    "python_kuhn_poker",
    "latent_ttt",  # both players have the same string
    "start_at(game=kuhn_poker(),history=0;1)",
    "misere(game=nim(pile_sizes=1;2))",
    "turn_based_simultaneous_game(game=matrix_rps())",
)
REFUSED = {
    "2048": "gives no information-state string.*Games of one player need it",
    "python_iterated_prisoners_dilemma": "gives no information-state string",
    "mfg_crowd_modelling": "mean field game",
    "python_mfg_predator_prey": "mean field game",
    "tarok": "sampled stochastic chance",
    "phantom_ttt_ir": "imperfect recall",
    "dark_hex": "imperfect recall",
    "go_fish": "imperfect recall",
    "efg_game": "cannot load 'efg_game'.*Its parameters: filename",
    "nfg_game": "cannot load 'nfg_game'.*Its parameters: filename",
    "kuhn_pocker": "no game named 'kuhn_pocker'.*Near it: kuhn_poker",
    "kuhn_poker(players=99)": "cannot load",
}
LARGE = ("chess", "go", "cursor_go", "hive")
"""Where a walk of external sampling has no end."""


@pytest.mark.parametrize("game", SOLVED)
def test_a_game_of_every_kind_is_sampled(game):
    for algorithm in (ms.EXTERNAL_SAMPLING, ms.OUTCOME_SAMPLING):
        solver = Solver(game, algorithm)
        solver.iterate(5 if "latent" in game or not IS_COMPILED else 50)
        assert solver.average_policy().to_dict()


def test_a_game_whose_first_state_has_broken_copies_is_sampled():
    solver = Solver("python_hangman", ms.OUTCOME_SAMPLING)
    solver.iterate(50)
    assert solver.tree.num_infosets > 100


@pytest.mark.parametrize("game", REFUSED)
def test_a_game_that_cannot_be_solved_is_refused_by_its_reason(game):
    for algorithm in (ms.EXTERNAL_SAMPLING, ms.OUTCOME_SAMPLING):
        with pytest.raises(ValueError, match=REFUSED[game]):
            Solver(game, algorithm, seed=1).iterate(1000)


STARTS = {
    "history=9,game=kuhn_poker()": "move 1, '9', .*Legal moves: \\[0, 1, 2\\]",
    "history=0;1;7,game=kuhn_poker()": r"move 3, '7', is not legal.*after \[0, 1\]",
    "history=0;1;1;1;0,game=kuhn_poker()": r"move 5, '0', .*Legal moves: \[\]",
    "history=0;;1,game=kuhn_poker()": "move 2, ''",
    "history=-1,game=kuhn_poker()": "move 1, '-1'",
    "history=0;0,game=python_kuhn_poker()": "move 2, '0'",
    "history=9,game=goofspiel(num_cards=3)": "move 1, '9'",
    "history=2,game=start_at(history=0;1,game=kuhn_poker())": "move 1, '2'",
    "history=0,game=start_at(history=9,game=kuhn_poker())": "move 1, '9'",
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("wrapped", ["start_at({})", "misere(game=start_at({}))"])
def test_a_start_after_an_impossible_history_is_refused(start, wrapped):
    # OpenSpiel crashes the process, or begins at a state that is not in the game.
    with pytest.raises(ValueError, match=STARTS[start]):
        Solver(wrapped.format(start))


def test_a_start_after_a_history_is_the_subgame():
    # After the deal 0, 1 and a pass: pass, or bet and the other one answers.
    tree = ms.GameTree("start_at(history=0;1;0,game=kuhn_poker())").expand_all()
    assert (tree.num_nodes, tree.num_infosets) == (5, 2)
    joint = "start_at(history=2;5,game=goofspiel(num_cards=3,imp_info=True))"
    assert ms.GameTree(joint).expand_all().num_infosets > 0


@pytest.mark.parametrize("game", LARGE)
def test_a_walk_without_end_is_refused_soon(game):
    solver = Solver(game, ms.EXTERNAL_SAMPLING)
    began = time.process_time()
    for _ in range(2):  # and again when it goes on
        with pytest.raises(WalkTooLargeError, match="Use outcome sampling"):
            solver.iterate(1)
    assert time.process_time() - began < 60
    assert solver.tree.num_nodes < 10**6
    solver = Solver(game, ms.OUTCOME_SAMPLING)
    if game == "go":  # some 360 moves of a player, each one of hundreds
        for _ in range(2):
            with pytest.raises(ValueError, match=r"probability below 1e-290"):
                solver.iterate(1)
    else:
        solver.iterate(1)
        assert solver.num_iterations == 1
    assert np.isfinite(solver.average_vector()).all()


def test_a_walk_that_is_large_but_fits_is_not_refused():
    solver = Solver("phantom_ttt", ms.EXTERNAL_SAMPLING)
    solver.iterate(1)
    assert solver.nodes_touched > 200_000


def test_every_registered_game_is_known_by_its_kind():
    # `turn_based` decides by the game's type, before any state is made.
    for kind in pyspiel.registered_games():
        if not kind.default_loadable or kind.short_name in ("python_dynamic_routing",):
            continue
        if not kind.provides_information_state_string:
            with pytest.raises(ValueError, match=r"no information-state|sampled|mean"):
                ms.GameTree(kind.short_name)
