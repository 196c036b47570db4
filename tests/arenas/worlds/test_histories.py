"""Passes over all histories, for which nothing is stored but infosets."""

import copy

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability

import mccfr_spiel as ms
from mccfr_spiel.arenas.evaluating import complete_table
from mccfr_spiel.arenas.infosets.loading import load_game
from mccfr_spiel.arenas.tree.game_tree import GameTree
from mccfr_spiel.arenas.worlds import histories
from tests.arenas.worlds.test_worlds import random_policy

GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards={},"
    "points_order={}))"
)
GAMES = (
    GOOFSPIEL.format(3, "random"),
    GOOFSPIEL.format(4, "descending"),
    "leduc_poker(suit_isomorphism=true)",
    "kuhn_poker(players=3)",
    "python_dark_hex(num_rows=2,num_cols=2,abrupt=true)",
)


@pytest.fixture(scope="module")
def game(request):
    return load_game(request.param)


@pytest.mark.parametrize(
    ("game", "kind"),
    [
        *((game, "random") for game in GAMES),
        (GAMES[0], "uniform"),
        (GAMES[1], "deterministic"),
    ],
    indirect=["game"],
)
def test_values_and_best_responses_are_openspiels(game, kind):
    policy = random_policy(game, kind)
    each: list[openspiel_policy.Policy] = [policy] * game.num_players()
    expected = expected_game_score.policy_value(game.new_initial_state(), each)
    found = ms.expected_returns(game, policy, store="none")
    assert found == pytest.approx(expected, abs=1e-12)
    expected = exploitability.nash_conv(game, policy)
    assert ms.nash_conv(game, policy, store="none") == pytest.approx(
        expected, abs=1e-12
    )


@pytest.mark.compiled
def test_goofspiel_of_four_random_cards_has_openspiels_values():
    game = load_game(GOOFSPIEL.format(4, "random"))
    table = random_policy(game, "random")
    expected = pyspiel.nash_conv(game, pyspiel.TabularPolicy(table.to_dict()))
    tree = complete_table(game, twin=True, store="none")
    assert ms.nash_conv(tree, table, store="none") == pytest.approx(expected, abs=1e-12)
    assert tree.store == "none"
    whole = GameTree(game).expand_all()
    ends = (whole.nodes["player"] == -4).sum()
    assert isinstance(tree.worlds, histories.Histories)
    assert tree.worlds.size.tolist() == [whole.num_nodes, ends]


@pytest.mark.parametrize(
    "algorithm",
    [ms.CFR, ms.PCFR_PLUS, ms.CFR_PLUS._replace(alternating=False)],
    ids=str,
)
@pytest.mark.parametrize("game", [GAMES[3]], indirect=True)
def test_solvers_go_the_way_of_those_on_trees(game, algorithm):
    over_histories, on_tree = (
        ms.Solver(game, algorithm, store=store) for store in ("none", "tree")
    )
    for solver in (over_histories, on_tree):
        solver.iterate(6)
    assert (over_histories.store, on_tree.store) == ("none", "tree")
    assert 0 < over_histories.nodes_touched <= on_tree.nodes_touched
    found, expected = (
        solver.average_policy().to_dict() for solver in (over_histories, on_tree)
    )
    assert found.keys() == expected.keys()
    for name, row in found.items():
        assert row == pytest.approx(expected[name], abs=1e-9), name


@pytest.mark.parametrize("game", [GAMES[3]], indirect=True)
def test_a_solver_stopped_in_the_midst_of_a_pass_goes_on_with_equal_bits(
    game, monkeypatch, tmp_path
):
    whole = ms.Solver(game, ms.CFR_PLUS, store="none")
    whole.iterate(4)
    monkeypatch.setattr(histories, "SLICE", 100)
    solver, calls = ms.Solver(game, ms.CFR_PLUS, store="none"), []
    follow = histories.follow_histories

    def interrupted(*arguments):
        calls.append(0)
        if len(calls) % 15 == 0:
            raise KeyboardInterrupt
        return follow(*arguments)

    monkeypatch.setattr(histories, "follow_histories", interrupted)
    solvers = [solver]
    while solver.num_iterations < 4:
        try:
            solver.iterate(4 - solver.num_iterations)
        except KeyboardInterrupt:
            if len(solvers) == 1:
                solver.save(tmp_path / "solver")
                solvers += [ms.Solver.load(tmp_path / "solver"), copy.copy(solver)]
    monkeypatch.setattr(histories, "follow_histories", follow)
    assert len(solvers) == 3
    for one in solvers:
        one.iterate(4 - one.num_iterations)
        assert one.store == "none"
        np.testing.assert_array_equal(one.average_vector(), whole.average_vector())


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="has no compiled rules"):
        ms.nash_conv("tic_tac_toe", {}, store="none")
    with pytest.raises(ValueError, match="store='none' keeps no tree"):
        ms.Solver(GAMES[2], ms.algorithms.PRUNED_CFR, store="none")
    tree = complete_table(GAMES[3], store="none")
    with pytest.raises(ValueError, match="keeps no nodes"):
        ms.Solver(tree, ms.CFR, store="tree")
