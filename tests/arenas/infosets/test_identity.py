"""Games of one string are told apart: by evaluation, policies and checkpoints."""

import itertools
import json
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score, exploitability

import mccfr_spiel as ms
from mccfr_spiel.arenas.infosets.loading import (
    has_name,
    load_game,
    same_game,
    same_name,
)
from mccfr_spiel.common.checkpoint import CheckpointError
from mccfr_spiel.common.folders import POLICY
from mccfr_spiel.policies.policy import SequencePolicy
from mccfr_spiel.solving.reading import write_policy
from tests.small_games import chance, leaf, move, small_game

pytestmark = pytest.mark.compiled

FIRST = [[3.0, -1.0], [0.0, 1.0]]
SECOND = [[-1.0, 2.0], [4.0, -3.0]]


def matrix_game(rows, name="m"):
    columns = [[-value for value in row] for row in rows]
    return pyspiel.create_matrix_game(name, name, ["a", "b"], ["c", "d"], rows, columns)


def efg_game(payoff, string="1"):
    return pyspiel.load_efg_game(
        'EFG 2 R "Game" { "P1" "P2" } ""\n'
        f'p "r" 1 1 "{string}" {{ "a" "b" }} 0\n'
        f't "" 1 "o1" {{ {payoff}, {-payoff} }}\n'
        f't "" 2 "o2" {{ 1, -1 }}\n'
    )


def one_move(first, second, probability=0.5, info_state="a"):
    ends = move(0, info_state, leaf(first, -first), leaf(second, -second))
    return small_game(
        chance((probability, ends), (1 - probability, leaf(0, 0))), name="one_move"
    )


PAIRS = {
    "matrix": (matrix_game(FIRST), matrix_game(SECOND)),
    "efg": (efg_game(7), efg_game(-7)),
    "name of a registered game": (
        matrix_game(FIRST, "matrix_mp"),
        pyspiel.load_game("matrix_mp"),
    ),
    "payoffs": (one_move(1, 2), one_move(2, 1)),
    "chance": (one_move(1, 2), one_move(1, 2, probability=0.25)),
}


def openspiels(game, policy) -> tuple[Any, Any]:
    """NashConv and returns by OpenSpiel's own routines."""
    form = game
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        form = pyspiel.convert_to_turn_based(game)
    policies = [policy] * form.num_players()
    state = form.new_initial_state()
    returns = expected_game_score.policy_value(state, policies)
    return exploitability.nash_conv(form, policy), returns


@pytest.mark.parametrize(
    ("pair", "algorithm"),
    [*zip(PAIRS, itertools.cycle([ms.CFR, ms.EXTERNAL_SAMPLING]), strict=False)],
)
def test_a_policy_is_evaluated_in_the_game_that_is_asked_for(pair, algorithm):
    for one, other in (PAIRS[pair], reversed(PAIRS[pair])):
        solver = ms.Solver(one, algorithm, seed=1)
        solver.iterate(20)
        policy = solver.average_policy()
        for game in (one, other, one):
            nash_conv, returns = openspiels(game, policy)
            assert ms.nash_conv(game, policy) == pytest.approx(nash_conv, abs=1e-12)
            assert ms.expected_returns(game, policy) == pytest.approx(returns)
            best = ms.evaluation.best_response_policy(game, policy, 0)
            gain = ms.expected_returns(game, best)[0] - returns[0]
            assert -1e-12 <= gain <= nash_conv + 1e-12


def test_a_policy_is_refused_in_a_game_of_other_information_states():
    one = ms.Solver(one_move(1, 2), seed=1)
    one.iterate(5)
    other = one_move(1, 2, info_state="b")
    with pytest.raises(ValueError, match="'a', which"):
        ms.nash_conv(other, one.average_policy())


# --- files and pickles -------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "algorithm"),
    [*zip(PAIRS, itertools.cycle([ms.EXTERNAL_SAMPLING, ms.CFR]), strict=False)],
)
def test_a_file_is_not_loaded_for_another_game_of_the_same_string(
    pair, algorithm, tmp_path
):
    for one, other in (PAIRS[pair], reversed(PAIRS[pair])):
        solver = ms.Solver(one, algorithm, seed=1)
        solver.iterate(10)
        solver.save(tmp_path / "solver")
        solver.average_policy().save(tmp_path / "policy")
        for load in (ms.Solver.load, ms.Solver.load_newest):
            with pytest.raises(CheckpointError, match="of another game with the name"):
                load(tmp_path / "solver", other)
            again = load(tmp_path / "solver", one)
            again.iterate(10)
        with pytest.raises(CheckpointError, match="of another game with the name"):
            ms.Solver.load(tmp_path / "solver", ms.GameTree(other).expand_all())
        for game in (one, other):  # a policy has no payoffs
            policy = SequencePolicy.load(tmp_path / "policy", game)
            nash_conv, _ = openspiels(game, policy)
            assert ms.nash_conv(game, policy) == pytest.approx(nash_conv, abs=1e-12)
        solver.iterate(10)
        np.testing.assert_array_equal(solver.average_vector(), again.average_vector())


# --- looking changes nothing -------------------------------------------------


def test_evaluation_leaves_a_grown_tree_as_it_is():
    solver = ms.Solver("leduc_poker", seed=1, max_nodes=3000)
    solver.iterate(30)
    tree, policy = solver.tree, solver.average_policy()
    before = tree.num_nodes, tree.digest(), tree.nodes.tobytes()
    table = policy.to_tabular()
    loaded = pyspiel.load_game("leduc_poker")
    expected: Any = exploitability.nash_conv(loaded, table)
    for game in ("leduc_poker", loaded, tree):
        assert ms.nash_conv(game, policy) == pytest.approx(expected, abs=1e-12)
        assert ms.exploitability(game, policy) == pytest.approx(expected / 2, abs=1e-12)
    ms.evaluation.best_response_policy(tree, policy, 1)
    ms.solve_lp("kuhn_poker")
    assert ms.nash_conv(tree, solver.average_vector()) == ms.nash_conv(tree, policy)
    assert (tree.num_nodes, tree.digest(), tree.nodes.tobytes()) == before


@pytest.mark.parametrize(
    ("game", "algorithm"),
    [
        ("kuhn_poker", ms.CFR),
        ("python_search(turns=3)", ms.EXTERNAL_SAMPLING),
        ("python_kuhn_poker", ms.CFR),
    ],
)
def test_a_loop_of_evaluations_expands_once(game, algorithm, expansions):
    for made in (game, pyspiel.load_game(game)):
        solver = ms.Solver(made, algorithm, seed=1)
        before = len(expansions)
        for _ in range(4):
            solver.iterate(3)
            ms.nash_conv(made, solver.average_policy())
        assert len(expansions) - before <= 1


# --- what is surely the same -------------------------------------------------


def test_instances_of_a_python_class_are_the_same_if_their_attributes_are():
    one, other = (pyspiel.load_game("python_kuhn_poker") for _ in range(2))
    assert same_game(one, other)
    other.rake = 1
    assert not same_game(one, other)


def test_openspiel_is_not_asked_for_a_game_without_the_parameters_it_needs(capfd):
    game = pyspiel.load_game("normal_form_extensive_game(game=kuhn_poker())")
    ms.Solver(game, ms.CFR)
    stages = map(pyspiel.load_game, ("matrix_pd", "matrix_sh"))
    games = [pyspiel.create_repeated_game(s, {"num_repetitions": 2}) for s in stages]
    assert [same_name(*games), same_game(*games)] == [True, False]
    ms.GameTree(games[0], abstraction=pyspiel.State.information_state_string)
    assert not capfd.readouterr().err


# --- two strings, one game ---------------------------------------------------

WRITTEN_OUT = [
    ("kuhn_poker", "kuhn_poker(players=2)"),
    ("python_leduc_ranks", "python_leduc_ranks(ranks=3)"),
    ("nim(pile_sizes=4)", "nim(pile_sizes=4,is_misere=True)"),
]
"""A default that is not given, and the same default given. OpenSpiel's own `load_game`
takes the 4 for a number, and refuses it, though nim calls itself so."""


@pytest.mark.parametrize(("first", "second"), WRITTEN_OUT)
def test_a_default_written_out_is_the_same_game(first, second, tmp_path):
    one, other = load_game(first), load_game(second)
    assert all(same(one, other) for same in (same_name, same_game))
    solver = ms.Solver(first, ms.EXTERNAL_SAMPLING, seed=1)
    solver.iterate(10)
    policy = solver.average_policy()
    nash_conv, _ = openspiels(other, policy)  # it asks with states of that game
    solver.save(tmp_path / "solver")
    again = ms.Solver.load(tmp_path / "solver", second)
    np.testing.assert_array_equal(again.average_vector(), solver.average_vector())
    policy.save(tmp_path / "binary")
    write_policy(tmp_path, policy)
    as_json = json.loads((tmp_path / "policy.json").read_text())
    loaded = [ms.load_policy(tmp_path / name, second) for name in ("binary", POLICY)]
    for made in (policy, as_json, *loaded):
        assert ms.nash_conv(second, made) == pytest.approx(nash_conv, abs=1e-12)


OTHERS = [
    ("kuhn_poker", "kuhn_poker(players=3)"),
    ("goofspiel(num_cards=3)", "goofspiel(num_cards=3,imp_info=True)"),
    ("misere(game=kuhn_poker())", "misere(game=leduc_poker())"),
    ("liars_dice_ir", "liars_dice_ir(recall_length=4)"),
]


@pytest.mark.parametrize("pair", OTHERS, ids=lambda pair: pair[1])
def test_other_parameters_are_another_game(pair, tmp_path):
    one, other = map(pyspiel.load_game, pair)
    told = same_name(one, other), same_game(one, other), has_name(one, str(other))
    assert told == (False, False, False)
